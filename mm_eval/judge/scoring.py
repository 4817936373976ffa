"""The numbers of a judge: its verdicts are the values of the docs, and are aggregated like all other values.

Three kinds of tasks, one scorer (`Scorer.grader`):
- a verdict is a metric of its own (judge_score);
- `extracts`: what the judge read takes the place of the answer, and the task's own scorer scores it;
- `only_unparsed`: the task's own scorer scores what it can read, and the verdict is the value of the other docs.

A doc whose verdict is missing or can't be read has no value: it is left out of the mean and counted (`ungraded`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from mm_eval.config.judge import JudgeConfig
from mm_eval.config.task_config import TaskConfig
from mm_eval.judge.config import judge_of_task
from mm_eval.scoring.base import Grader, Scorer
from mm_eval.scoring.filters.base import TRUNCATED, UNPARSED, FilterEnsemble, is_unanswered
from mm_eval.scoring.metrics.metric import Metric
from mm_eval.scoring.of_task import scorers_of
from mm_eval.scoring.process_results import ProcessResultsScorer, declared_metric
from mm_eval.values.errors import ConfigError, MMEvalError, did_you_mean
from mm_eval.values.reasoning.recorded import as_text, parts_of
from mm_eval.values.types import Doc, Instance, ScoredDoc

if TYPE_CHECKING:
    from mm_eval.scoring.asked import Asked


@dataclass(frozen=True)
class DocVerdict:
    """A judge's verdict on one doc. error: why there is none. shown: what samples/ shows of it."""

    value: Any
    error: MMEvalError | None
    shown: Any


class VerdictSource(Protocol):
    """Where verdicts come from: the journal."""

    def of_doc(self, doc_id: int, doc: Doc, answer: str) -> DocVerdict: ...


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
        self.entries = {}
        judged: Mapping[int, list[Instance]] = by_doc
        scored: dict[int, ScoredDoc] = {}
        if self.judge.only_unparsed:
            scored.update(scorer.run_docs(by_doc))
            judged = {doc_id: group for doc_id, group in by_doc.items() if rules_read_nothing(scored[doc_id])}
        texts: dict[int, list[Instance]] = {}
        for doc_id, group in judged.items():
            first = group[0]
            missing = _missing(first.resps[0])
            verdict = self.source.of_doc(doc_id, first.doc, as_text(first.resps[0]))
            self.entries[doc_id] = verdict.shown
            values: dict[str, list[Any]] = {}
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

    def _by_metric(self, metrics: Sequence[Metric[Any, Any]], verdict: Any, missing: str) -> dict[str, Any]:
        """What each metric gets of a verdict. missing: of a missing answer, for which a metric may state its `worst`."""
        named = isinstance(verdict, Mapping)
        names = self.judge.metrics or [metric.name for metric in metrics]
        found = {name: verdict[name] if named else verdict for name in names if not named or name in verdict}
        worst = {metric.name: metric.worst for metric in metrics if missing and metric.worst is not None}
        return {name: worst.get(name, value) for name, value in found.items()}


def rules_read_nothing(doc: ScoredDoc) -> bool:
    """Whether the task's own rules could read none of a doc's answers."""
    return doc.error is None and bool(doc.rules) and all(rule == UNPARSED for rule in doc.rules)


def judge_metrics(config: TaskConfig) -> list[Metric[Any, Any]]:
    """The metrics that a task's judge states; none where its verdicts work on the task's own."""
    judge = judge_of_task(config)
    return [] if judge is None or judge.replaces_rules else [declared_metric(entry) for entry in judge.metric_list]


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
                self.entries[doc_id] = found.shown
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
        else:
            own = [Scorer(name="none", filter=FilterEnsemble("none", []), metrics=judge_metrics(config))]
            own[0].draws = config.draws()
        for scorer in own:
            of_judge = kind(name=f"judge@{name}" if number else "judge", judge=judge, source=source)
            of_judge.reads_answers = judge.replaces_rules and not number  # a further one reads the same answers
            scorer.grader = of_judge
        found += own
    return found
