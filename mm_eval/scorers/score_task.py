"""Scores one task from its recorded answers: filter -> score -> reduce -> aggregate, a chunk of docs at a time.

Nothing of a doc is kept but its reduced scores, so that a hundred thousand docs with long answers fit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from mm_eval.errors import MMEvalError, ModelError, ScoringError
from mm_eval.scorers.base import Scorer
from mm_eval.scorers.categories import CategoryDocs
from mm_eval.scorers.judged import Judged, numbers_of
from mm_eval.scorers.task_scores import TaskScores, remarks_of
from mm_eval.task.task import PromptStyle, Task
from mm_eval.task.video.record import clip_record
from mm_eval.task.video.rule import shown_as
from mm_eval.types import FRAME_MARK, Answer, Instance, Number, ReducedDoc, ScoredDoc, Slot

CHUNK = 512


Lookup = Callable[[Slot], Answer | None]


@dataclass
class TaskScoring:
    """Scores the docs of one task; `samples` streams a row a doc, `scores` sums up after the last."""

    task: Task
    style: PromptStyle
    scorers: Sequence[Scorer]
    lookup: Lookup
    scores: TaskScores = field(default_factory=TaskScores)
    _reduced: dict[str, dict[int, ReducedDoc]] = field(default_factory=dict)
    _clusters: dict[int, Any] = field(default_factory=dict)
    _categories: CategoryDocs = field(init=False)
    _repeats_differ: bool = False
    _without_target: int = 0
    _with_video: int = 0

    def __post_init__(self) -> None:
        self._categories = CategoryDocs(self.task.config.category_levels)
        self.scores.silent.blocks = tuple(self.task.config.prompt_kwargs)

    def samples(self, doc_ids: Sequence[int]) -> Iterator[dict[str, Any]]:
        """Scores the docs and gives one row each, for samples/<task>.jsonl; a row is also a valid replay row."""
        ids = iter(doc_ids)
        at_once = len(doc_ids) if any(scorer.filter.needs_all_docs for scorer in self.scorers) else CHUNK
        while chunk := list(islice(ids, at_once)):
            yield from self._score_chunk(chunk)

    def aggregate(self, bootstrap_iters: int = 100_000) -> TaskScores:
        """The numbers over all docs that `samples` has scored."""
        for scorer in self.scorers:
            scorer.clusters = self._clusters
            scorer.import_reduced(self._reduced.get(scorer.key, {}))
            self.scores.numbers += numbers_of(scorer, scorer.reduced_docs, bootstrap_iters)
            self.scores.higher_is_better.update(scorer.higher_is_better)
            if isinstance(scorer, Judged):
                self._add_judge(scorer)
            self.scores.notes += [note for note in scorer.notes if note not in self.scores.notes]
        same = bool(self._reduced) and not self._repeats_differ
        video = shown_as(self.style.block.video_input, self.style.block.video) if self._with_video else ""
        remarks = remarks_of(self.task.config, self.scores, same, self._without_target, self._with_video, video)
        self.scores.notes += remarks
        self.scores.categories = self._by_category(bootstrap_iters) if self.scores.numbers else {}
        self.scores.notes += self._categories.notes
        return self.scores

    def _add_judge(self, judged: Judged) -> None:
        """Notes the docs without a verdict, and the bounds of the number."""
        failed, bounds = len(judged.failed_docs), judged.bounds(judged.reduced_docs)
        if judged.further:
            self.scores.further_judges.setdefault(judged.further, (failed, bounds))
        else:
            self.scores.judge_bounds = bounds
            self.scores.judged_metric = next((metric.name for metric in judged.metrics or ()), "")
        first = sorted(judged.failed_docs)[:5]
        self.scores.judge_errors[judged.further] = [str(judged.failed_docs[doc_id]) for doc_id in first]

    def _by_category(self, bootstrap_iters: int) -> dict[str, dict[str, TaskScores]]:
        counted = self._categories.found
        numbers = self._categories.numbers(self.scorers, self._reduced, numbers_of, bootstrap_iters)

        def scores(found: list[Number], counts: Mapping[str, int]) -> TaskScores:
            notes = [f"{number.key}: {number.note}" for number in found if number.value is None]
            made = TaskScores(found, notes=notes)
            for count, docs in counts.items():
                setattr(made, count, docs)
            return made

        return {
            level: {name: scores(found, counted[level][name].counts) for name, found in of_level.items()}
            for level, of_level in numbers.items()
        }

    def _score_chunk(self, doc_ids: list[int]) -> Iterator[dict[str, Any]]:
        by_doc = {doc_id: list[Instance]() for doc_id in doc_ids}
        for instance in self.task.instances(doc_ids, self.style, self._turn_pictures):
            by_doc[instance.doc_id].append(instance)
        failures: dict[int, MMEvalError] = {}
        pending: dict[int, MMEvalError] = {}  # docs with a request that was never made
        shown: dict[int, Answer] = {}  # with all pictures of the prompt
        asked_about: dict[int, tuple[str, ...]] = {}  # the question's own, which are what was drawn
        truncated, cut = set(), set()
        for doc_id, instances in by_doc.items():
            for instance in instances:
                found = self.lookup(instance.slot)
                if error := instance.error or (found and found.error):
                    failures[doc_id] = error
                    continue
                if found is None:
                    pending[doc_id] = ModelError("it was not requested.", where=f"{self.task.path} doc {doc_id}")
                    continue
                instance.resps = [found.output]
                if found.images:  # a request may be without: an option on its own, for acc_mutual_info
                    shown[doc_id] = found
                    asked_about[doc_id] = _of_question(found)
                if found.truncated:
                    truncated.add(doc_id)
                if found.cut:
                    cut.add(doc_id)
        self._with_video += sum(any(each.startswith(FRAME_MARK) for each in found.images) for found in shown.values())
        pending = {doc_id: error for doc_id, error in pending.items() if doc_id not in failures}
        whole = {doc_id: instances for doc_id, instances in by_doc.items() if doc_id not in {**failures, **pending}}
        categories = self._categories.of_docs({doc_id: instances[0].doc for doc_id, instances in by_doc.items()})
        scored = self._score_whole(whole, failures)
        self._repeats_differ = self._repeats_differ or any(_differ(instances) for instances in whole.values())
        docs = {doc_id: instances[0].doc for doc_id, instances in whole.items()}
        self._clusters.update(self.task.clusters(docs, asked_about))
        for doc_id, instances in by_doc.items():
            failure = failures.get(doc_id) or pending.get(doc_id)
            status = "failed" if doc_id in failures else "not requested" if failure else "answered"
            row, counts = self._row(doc_id, instances, scored.get(doc_id, {}), failure, status, doc_id in truncated)
            row["cut"] = doc_id in cut
            counts += ["cut"] * row["cut"]
            for judged in (scorer for scorer in self.scorers if isinstance(scorer, Judged) and not failure):
                if doc_id in judged.shown:
                    row[f"judge{judged.suffix}"] = judged.shown[doc_id]
                if doc_id in judged.failed_docs and not judged.further and "judge_failed" not in counts:
                    counts.append("judge_failed")
            for count in counts:
                setattr(self.scores, count, getattr(self.scores, count) + 1)
            self._categories.add(doc_id, categories[doc_id], counts)
            if self._categories.levels:
                row["categories"] = categories[doc_id]
            if doc_id in self._clusters and self._clusters[doc_id] != doc_id:
                row["cluster"] = self._clusters[doc_id]  # so that runs can be compared by what was drawn together
            if doc_id in shown:
                row["images"] = list(shown[doc_id].images)
                if videos := shown[doc_id].videos:
                    row["videos"] = list(map(clip_record, videos))
            yield row

    def _turn_pictures(self, doc_id: int) -> tuple[int, ...] | None:
        found = self.lookup(Slot(self.task.path, doc_id))
        return found.turn_pictures if found else None

    def _score_whole(
        self, whole: Mapping[int, list[Instance]], failures: dict[int, MMEvalError]
    ) -> dict[int, dict[str, tuple[ScoredDoc, ReducedDoc]]]:
        """The scores of the answered docs, by doc and pipeline; a doc that one pipeline can't score joins the failures."""
        found: dict[int, dict[str, tuple[ScoredDoc, ReducedDoc]]] = {doc_id: {} for doc_id in whole}
        for scorer in self.scorers if whole else ():
            own_run = type(scorer).run is not Scorer.run  # a scorer of a user's may have replaced the public method
            flat = [instance for instances in whole.values() for instance in instances] if own_run else []
            scored = scorer.run(flat) if own_run else scorer.run_docs(whole)
            for doc_id, doc in scored.items():
                if doc.error is not None:
                    error = doc.error if isinstance(doc.error, MMEvalError) else ScoringError(str(doc.error))
                    failures.setdefault(doc_id, error)
                else:
                    found[doc_id][scorer.key] = doc, scorer.reduced_docs[doc_id]
        for doc_id in found.keys() - failures.keys():
            for name, (_, values) in found[doc_id].items():
                self._reduced.setdefault(name, {})[doc_id] = values
        return found

    def _row(
        self,
        doc_id: int,
        instances: list[Instance],
        scored: Mapping[str, tuple[ScoredDoc, ReducedDoc]],
        failure: MMEvalError | None,
        status: str,
        truncated: bool,
    ) -> tuple[dict[str, Any], list[str]]:
        """The row of samples/<task>.jsonl, and what the doc is counted as."""
        scores, first = self.scores, instances[0]
        readers = [each for each in self.scorers if not isinstance(each, Judged) or each.inner and not each.further]
        rules = {each.name: list(scored[each.key][0].rules) for each in readers if each.key in scored}
        truncated = truncated or any("truncated" in found for found in rules.values())
        blind = [name for name, found in rules.items() if found and all(rule == "unparsed" for rule in found)]
        tied = failure is None and any(doc.tied for doc, _ in scored.values())
        self._without_target += first.target is None
        counted = {
            "n": True,
            "ties": tied,
            "failed": status == "failed",
            "not_requested": status == "not requested",
            "truncated": truncated,
            "unparsed": failure is None and bool(blind) and len(blind) == len(rules),
        }
        if failure is None:
            scores.silent.add(doc_id, [resp for instance in instances for resp in instance.resps], rules)
            for name in blind:
                scores.unparsed_by[name] = scores.unparsed_by.get(name, 0) + 1
        elif status == "failed" and len(scores.errors) < 5:
            scores.errors.append(str(failure))
        row: dict[str, Any] = {
            "task": self.task.config.row_name,
            "doc_id": doc_id,
            "status": status if failure or not truncated else "truncated",
            "doc": first.doc,
            "prompt": first.context,
            "target": first.target,
            "resps": [resp for instance in instances for resp in instance.resps] if not failure else [],
            "filtered_resps": filtered(instances) if not failure else {},
            "rules": rules,
            "scores": {
                scorer.label(metric): value
                for scorer in self.scorers
                if scorer.key in scored
                for metric, value in scored[scorer.key][1].items()
            },
        }
        if first.continuation is not None and first.request_type == "loglikelihood":
            row["choices"] = [instance.continuation for instance in instances]
        if tied:
            row["ties"] = True
        if failure is not None:
            row["error"] = {"owner": failure.owner, "what": str(failure)}
        return row, [count for count, holds in counted.items() if holds]


def _of_question(answer: Answer) -> tuple[str, ...]:
    """The digests of the question's own pictures: the last turn's, where few-shot examples show pictures before it."""
    if not answer.turn_pictures:
        return answer.images
    return answer.images[len(answer.images) - answer.turn_pictures[-1] :]


def _differ(instances: Sequence[Instance]) -> bool:
    """Whether the repeats of a doc have different answers."""
    return any(instance.resps != instances[0].resps for instance in instances)


def filtered(instances: Iterable[Instance]) -> dict[str, list[Any]]:
    """The filtered answers of a doc by pipeline."""
    found: dict[str, list[Any]] = {}
    for instance in instances:
        for name, answers in instance.filtered_resps.items():
            found.setdefault(name, []).extend(answers)
    return found
