"""The numbers of a judge: its verdicts are the values of the docs, and are aggregated like all other values.

Three kinds of tasks, one scorer (`Scorer.grader`):
- a verdict is a metric of its own (judge_score);
- `extracts`: what the judge read takes the place of the answer, and the task's own scorer scores it;
- `only_unparsed`: the task's own scorer scores what it can read, and the verdict is the value of the other docs.

Where a task asks for several answers to a doc (`repeats`), each of them is graded by itself, and the doc's value is the mean, or
what the `reduction` of a metric makes of them. A doc whose verdict is missing or can't be read, on one of its answers, has no
value: it is left out of the mean and counted (`ungraded`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from mm_eval.config.judge import JudgeConfig
from mm_eval.config.task_config import TaskConfig
from mm_eval.judge.config import answers_judged, judge_of_task
from mm_eval.scoring.base import Grader, Scorer
from mm_eval.scoring.filters.base import TRUNCATED, UNPARSED, FilterEnsemble, is_unanswered
from mm_eval.scoring.metrics.aggregation import mean
from mm_eval.scoring.metrics.metric import Metric, reduction_named
from mm_eval.scoring.metrics.traits import traits_of
from mm_eval.scoring.number import answers_left
from mm_eval.scoring.of_task import scorers_of
from mm_eval.scoring.process_results import ProcessResultsScorer, declared_metric
from mm_eval.values.errors import ConfigError, MMEvalError, did_you_mean
from mm_eval.values.reasoning.recorded import as_text, parts_of
from mm_eval.values.types import Doc, Instance, JsonObject, ScoredDoc

if TYPE_CHECKING:
    from mm_eval.scoring.asked import Asked


@dataclass(frozen=True)
class DocVerdict:
    """A judge's verdict on an answer. error: why there is none. shown: what samples/ shows of it, an entry a question."""

    value: Any
    error: MMEvalError | None
    shown: list[JsonObject]


class VerdictSource(Protocol):
    """Where verdicts come from: the journal."""

    def of_answer(self, doc_id: int, doc: Doc, answer: str, number: int) -> DocVerdict: ...


def mean_verdict(values: Sequence[Any]) -> object:
    """The mean of several verdicts, of each of their parts where they are mappings or lists; a single one as it is."""
    if len(values) == 1:
        return values[0]
    if all(isinstance(value, Mapping) for value in values):
        names = dict.fromkeys(name for value in values for name in value)
        return {name: mean_verdict([value[name] for value in values if name in value]) for name in names}
    if all(isinstance(value, list) for value in values) and len({len(value) for value in values}) == 1:
        return [mean_verdict(parts) for parts in zip(*values, strict=True)]
    return sum(values) / len(values)


def mean_of_answers(references: object, predictions: Sequence[object]) -> object:
    """The mean of the verdicts on a doc's answers, where its metric states no `reduction`."""
    return mean_verdict(predictions)


def _missing(answer: Any) -> str:
    """Why a question that was asked has no answer (`UNANSWERED`), open reasoning included; empty where it has one."""
    if is_unanswered(answer):
        return str(answer.rule)
    return "" if parts_of(as_text(answer)).closed else TRUNCATED


@dataclass(kw_only=True)
class JudgeGrader(Grader):
    """Grades the docs of a task by the verdicts of one judge.

    judge: of the task's file. source: where the verdicts are.
    """

    no_value: str = "there is no verdict that could be read."
    judge: JudgeConfig
    source: VerdictSource

    def grade(self, scorer: Scorer, by_doc: Mapping[int, list[Instance]]) -> Mapping[int, ScoredDoc]:
        answers: dict[int, dict[int, Instance]] = {}
        for doc_id, group in by_doc.items():
            for number, instance in enumerate(group):
                answers.setdefault(number, {})[doc_id] = instance
        shown: dict[int, list[object]] = {}
        graded: dict[int, list[ScoredDoc]] = {}
        for number, of_docs in answers.items():
            scored = self._grade_answers(scorer, {doc_id: [each] for doc_id, each in of_docs.items()}, number, shown)
            for doc_id, found in scored.items():
                graded.setdefault(doc_id, []).append(found)
        self.entries = {doc_id: rows[0] if len(rows) == 1 else rows for doc_id, rows in shown.items()}
        return {doc_id: self._together(found) for doc_id, found in graded.items()}

    def _together(self, answers: Sequence[ScoredDoc]) -> ScoredDoc:
        """The doc of its graded answers: a value an answer, or none where one of them has none."""
        first = answers[0]
        if len(answers) == 1:
            return first
        if failed := next((each for each in answers if each.error is not None), None):
            return failed
        names = dict.fromkeys(name for each in answers for name in each.scores)
        scores = {name: [value for each in answers for value in each.scores.get(name, ())] for name in names}
        scores = {} if first.doc_id in self.ungraded else scores
        rules = tuple(rule for each in answers for rule in each.rules)
        return replace(first, scores=scores, rules=rules, tied=any(each.tied for each in answers))

    def _grade_answers(
        self, scorer: Scorer, by_doc: Mapping[int, list[Instance]], number: int, shown: dict[int, list[object]]
    ) -> dict[int, ScoredDoc]:
        """Grades one answer to each doc. number: which of its answers. shown: gets what samples/ shows."""
        judged: Mapping[int, list[Instance]] = by_doc
        scored: dict[int, ScoredDoc] = {}
        if self.judge.only_unparsed:
            scored.update(scorer.run_docs(by_doc))
            judged = {doc_id: group for doc_id, group in by_doc.items() if rules_read_nothing(scored[doc_id])}
        texts: dict[int, list[Instance]] = {}
        for doc_id, group in judged.items():
            first = group[0]
            missing = _missing(first.resps[0])
            verdict = self.source.of_answer(doc_id, first.doc, as_text(first.resps[0]), number)
            shown.setdefault(doc_id, []).extend(verdict.shown)
            values: dict[str, list[object]] = {}
            if verdict.error is not None:
                self.ungraded[doc_id] = verdict.error
                self.ends[doc_id] = self.judge.bounds(first.doc)
            elif self.judge.extracts:
                texts[doc_id] = [
                    replace(first, resps=[first.resps[0] if missing else verdict.value], filtered_resps={})
                ]
            else:
                metrics = scorer.metrics or ()
                values = {name: [value] for name, value in self._by_metric(metrics, verdict.value, missing).items()}
            rules = scored[doc_id].rules if doc_id in scored else (missing,) if missing else ()
            scored[doc_id] = ScoredDoc(doc_id, first.target, values, rules)
        for doc_id, found in scorer.run_docs(texts).items() if texts else ():
            group = texts[doc_id]
            by_doc[doc_id][0].filtered_resps.update(group[0].filtered_resps)
            scored[doc_id] = replace(found, rules=("judge",)) if group[0].resps[0] else found  # read, if not empty
        return scored

    def _by_metric(self, metrics: Sequence[Metric], verdict: Any, missing: str) -> dict[str, object]:
        """What each metric gets of a verdict. missing: of a missing answer, for which a metric may state its `worst`."""
        named = isinstance(verdict, Mapping)
        names = self.judge.metrics or [metric.name for metric in metrics]
        found = {name: verdict[name] if named else verdict for name in names if not named or name in verdict}
        worst = {metric.name: metric.worst for metric in metrics if missing and metric.worst is not None}
        return {name: worst.get(name, value) for name, value in found.items()}


def rules_read_nothing(doc: ScoredDoc) -> bool:
    """Whether the task's own rules could read none of a doc's answers."""
    return doc.error is None and bool(doc.rules) and all(rule == UNPARSED for rule in doc.rules)


def judge_metrics(config: TaskConfig) -> list[Metric]:
    """The metrics that a task's judge states; none where its verdicts work on the task's own."""
    judge = judge_of_task(config)
    if judge is None or judge.replaces_rules:
        return []
    return [replace(declared_metric(entry), reduction=_reduction(entry)) for entry in judge.metric_list]


def _reduction(entry: Mapping[str, Any]) -> Any:
    """What makes one value of the verdicts on several answers: as a metric states, else their mean."""
    stated = entry.get("reduction")
    return mean_of_answers if stated is None else reduction_named(stated)


def check_judge_metrics(config: TaskConfig, scorers: Sequence[Scorer]) -> None:
    """ConfigError where the metrics of a judge are unknown, or also the task's own."""
    judge = judge_of_task(config)
    if judge is None:
        return
    where, own = config.where("judge"), {metric.name for scorer in scorers for metric in scorer.metrics or ()}
    try:
        names = {metric.name for metric in judge_metrics(config)}
    except ConfigError as error:
        raise error.located(where) from None
    if both := sorted(names & own):
        raise ConfigError(f"the metric {both[0]!r} is the judge's and the task's own.", where=where, hint="Rename one.")
    stated = {entry["metric"] for entry in judge.metric_list} if judge.only_unparsed and not judge.extracts else set()
    if unknown := sorted(stated - own):
        what = (
            f"under only_unparsed the verdict is a value of the task's own metrics, and {unknown[0]!r} is none of them."
        )
        raise ConfigError(what, where=where, hint=did_you_mean(unknown[0], own))
    if answers_judged(config) > 1:
        _check_several_answers(config, judge, scorers)


def _check_several_answers(config: TaskConfig, judge: JudgeConfig, scorers: Sequence[Scorer]) -> None:
    """ConfigError where nothing says how the verdicts on several answers to a doc become a number."""
    count, metrics = config.times_asked, [m for m in judge_metrics(config) if m.reduction is mean_of_answers]
    if judge.replaces_rules:
        metrics = [metric for scorer in scorers for metric in without_reduction(config, scorer)]
        if any(answers_left(scorer.filter, count)[0] != count for scorer in scorers):
            what = f"each of the {count} answers to a document is judged, and a filter of the task leaves fewer."
            raise ConfigError(what, where=config.where("filter_list"), hint="Leave it out, or say repeats: 1.")
    for metric in metrics:
        if not traits_of(metric.aggregation or mean).is_mean:
            what = f"{metric.name!r} is not a mean, and nothing says how the {count} verdicts on a document are joined."
            hint = f"State it in metric_list, as in {{metric: {metric.name}, reduction: mean}}, or say repeats: 1."
            raise ConfigError(what, where=config.where("judge"), hint=hint)


def without_reduction(config: TaskConfig, scorer: Scorer) -> list[Metric]:
    """The metrics of a scorer for which the task's file states no `reduction`."""
    entries = [entry for pipeline in config.pipelines() for entry in pipeline["metric_list"]]
    stated = [entry.get("metric") for entry in entries if entry.get("reduction") is not None]
    return [metric for metric in scorer.metrics or () if metric.name not in stated]


@dataclass(kw_only=True)
class CodeGrader(JudgeGrader):
    """Grades the docs by the task's function, which reads the judge's replies itself.

    source: a CodeVerdicts (judge/code.py). A doc with a missing reply has no scores, whatever its function would return.
    """

    source: Any

    def grade(self, scorer: Scorer, by_doc: Mapping[int, list[Instance]]) -> Mapping[int, ScoredDoc]:
        assert isinstance(scorer, ProcessResultsScorer)
        scorer.call, self.entries = self.source.call, {}
        scored = scorer.run_docs(by_doc)
        for doc_id in by_doc:
            asked: Asked | None = self.source.asked.pop(doc_id, None)
            if asked is None or scored[doc_id].error is not None:
                continue
            found: DocVerdict = self.source.outcome(doc_id, asked)
            if found.shown:
                self.entries[doc_id] = found.shown[0] if len(found.shown) == 1 else found.shown
            if found.error is not None:
                self.ungraded[doc_id] = found.error
        return scored


def with_judges(config: TaskConfig, scorers: Sequence[Scorer], sources: Mapping[str, VerdictSource]) -> list[Scorer]:
    """The scorers of a task, graded by its judges. sources: by the judges' names, the first judge first.

    scorers: the task's own. A judge whose verdicts replace the rules grades these; without a judge none of them is left then.
    """
    judge = judge_of_task(config)
    if judge is None:
        return list(scorers)
    found = [] if judge.replaces_rules else list(scorers)
    kind = CodeGrader if judge.by_code else JudgeGrader
    for number, (name, source) in enumerate(sources.items()):
        if judge.replaces_rules:
            own = scorers if not number else scorers_of(config)  # each with its own state
            for scorer in own if answers_judged(config) > 1 else ():
                several = without_reduction(config, scorer)
                scorer.metrics = [
                    replace(metric, reduction=mean_of_answers) if metric in several else metric
                    for metric in scorer.metrics or ()
                ]
        else:
            own = [Scorer(name="none", filter=FilterEnsemble("none", []), metrics=judge_metrics(config))]
            own[0].draws = config.draws()
        for scorer in own:
            of_judge = kind(name=f"judge@{name}" if number else "judge", judge=judge, source=source)
            of_judge.reads_answers = judge.replaces_rules and not number  # a further one reads the same answers
            scorer.grader = of_judge
        found += own
    return found
