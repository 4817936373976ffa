"""Scores one task from its recorded answers: filter -> score -> reduce -> aggregate, a chunk of docs at a time.

Nothing of a doc is kept but its reduced scores, so that a hundred thousand docs with long answers fit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice

from mm_eval.prompt.task import PromptStyle, Task
from mm_eval.scoring.answered import AnsweredDoc, Lookup
from mm_eval.scoring.base import Grader, Scorer, bounds_of, run_scorer
from mm_eval.scoring.categories import CategoryDocs
from mm_eval.scoring.metrics.traits import CorpusMetric
from mm_eval.scoring.of_task import counting_the_first_answer
from mm_eval.scoring.sample_row import SampleRow
from mm_eval.scoring.task_scores import IndexTargets, Scores, TaskScores, Ungraded, grader_key, remarks_of
from mm_eval.values.columns import Clusters, ReducedDocs
from mm_eval.values.errors import MMEvalError, ScoringError
from mm_eval.values.types import Number, Slot

CHUNK = 512
OF_ANSWERS = ("filtered", "refused", "truncated", "unanswered")
"""Counts of docs with an answer that ended so."""


@dataclass
class TaskScoring:
    """Scores the docs of one task; `samples` streams a row a doc, `scores` sums up after the last."""

    task: Task
    style: PromptStyle
    scorers: Sequence[Scorer]
    lookup: Lookup
    scores: TaskScores = field(default_factory=TaskScores)
    _reduced: dict[str, ReducedDocs] = field(default_factory=dict)
    _clusters: Clusters = field(default_factory=Clusters)
    _categories: CategoryDocs = field(init=False)
    _unanswered: set[int] = field(default_factory=set)
    _repeats_differ: bool = False
    _without_target: int = 0
    _indices: IndexTargets = field(default_factory=IndexTargets)
    _with_frames: int = 0
    _with_silent_video: int = 0

    def __post_init__(self) -> None:
        self._categories = CategoryDocs(self.task.config.category_levels)
        self.scores.silent.blocks = tuple(self.task.config.prompt_kwargs)
        self.scores.ungraded = {scorer.grader.name: Ungraded() for scorer in self.scorers if scorer.grader}

    def samples(self, doc_ids: Sequence[int]) -> Iterator[SampleRow]:
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
            self._add_without_unanswered(scorer)
            self.scores.numbers += scorer.results(scorer.reduced_docs, bootstrap_iters)
            self.scores.better.update(scorer.higher_is_better)
            if scorer.grader is not None:
                self._note_ungraded(scorer, scorer.grader)
            self.scores.notes += [note for note in scorer.notes if note not in self.scores.notes]
        same = bool(self._reduced) and not self._repeats_differ
        frames = self.style.block.shown_as if self._with_frames else ""
        self.scores.notes += self._indices.remarks()
        self.scores.notes += remarks_of(
            self.task.config,
            self.scores,
            same,
            self._without_target,
            self._with_frames,
            frames,
            self._with_silent_video,
        )
        if said := counting_the_first_answer(
            self.task.config, [scorer for scorer in self.scorers if scorer.grader is None]
        ):
            self.scores.notes.append(said)
        self.scores.categories = self._by_category(bootstrap_iters) if self.scores.numbers else {}
        self.scores.notes += self._categories.notes
        self.scores.warnings = [warning] if (warning := self.scores.silent.warning) else []
        return self.scores

    def _add_without_unanswered(self, scorer: Scorer) -> None:
        """Adds the numbers over the docs that were answered, and names metrics whose worst value is not known."""
        if not self._unanswered:
            return
        answered = {doc_id: doc for doc_id, doc in scorer.reduced_docs.items() if doc_id not in self._unanswered}
        self.scores.without_unanswered += scorer.results(answered, 0, most_calls=1) if answered else []
        for metric in scorer.metrics or ():
            if (
                metric.higher_is_better is False
                and metric.of_missing is None
                and not isinstance(metric.fn, CorpusMetric)
            ):
                value = "a missing answer gets the value of an empty one, but at least 1"
                what = f"{metric.name}: {value}, because `worst` is not stated."
                self.scores.notes += [what] if what not in self.scores.notes else []

    def _note_ungraded(self, scorer: Scorer, grader: Grader) -> None:
        """Notes why docs have no value of a grader, and the bounds of the number."""
        found = self.scores.ungraded[grader.name]
        found.bounds = bounds_of(scorer, scorer.reduced_docs)
        found.metric = next((metric.name for metric in scorer.metrics or ()), "")
        found.errors = [str(grader.ungraded[doc_id]) for doc_id in sorted(grader.ungraded)[:5]]

    def _by_category(self, bootstrap_iters: int) -> dict[str, dict[str, Scores]]:
        counted = self._categories.found
        numbers = self._categories.numbers(self.scorers, self._reduced, bootstrap_iters)
        keys = {grader_key(grader, "failed"): grader for grader in self.scores.ungraded}

        def row(found: list[Number], counts: Mapping[str, int]) -> Scores:
            notes = [f"{number.key}: {number.note}" for number in found if number.value is None]
            made = Scores(numbers=found, notes=notes, better=dict(self.scores.better))
            made.ungraded = {grader: Ungraded() for grader in self.scores.graders}
            for count, docs in counts.items():
                if count not in keys:
                    setattr(made, count, docs)
                elif keys[count] in made.ungraded:
                    made.ungraded[keys[count]].docs = docs
            return made

        return {
            level: {name: row(found, counted[level][name].counts) for name, found in of_level.items()}
            for level, of_level in numbers.items()
        }

    def _score_chunk(self, doc_ids: list[int]) -> Iterator[SampleRow]:
        has_pictures = self.task.has_pictures

        def turns_shown(doc_id: int) -> tuple[str, ...] | None:
            found = self.lookup(Slot(self.task.path, doc_id)) if has_pictures else None
            return found.shown if found else None

        docs: dict[int, AnsweredDoc] = {}
        for instances in self.task.requests(doc_ids, self.style, turns_shown):
            docs[instances[0].doc_id] = AnsweredDoc.of(instances, self.lookup)
            self.task.forget(instances[0].doc_id, self.style)
        categories = self._categories.of_docs({doc_id: doc.instances[0].doc for doc_id, doc in docs.items()})
        whole = {doc_id: doc for doc_id, doc in docs.items() if doc.error is None}
        self._score_whole(whole)
        own_images = {doc_id: doc.own_images for doc_id, doc in whole.items()}
        clusters = self.task.clusters({doc_id: doc.instances[0].doc for doc_id, doc in whole.items()}, own_images)
        self._clusters.update(clusters)
        name = self.task.config.row_name
        for doc_id in doc_ids:
            doc = docs[doc_id]
            rules = doc.rules(self.scorers)
            doc.note_missing(rules)
            self._with_frames += doc.shows_frames
            self._with_silent_video += doc.shows_silent_video
            self._repeats_differ = self._repeats_differ or doc_id in whole and doc.repeats_differ
            self._categories.add(doc_id, categories[doc_id], self._count(doc_id, doc, rules))
            of_doc = categories[doc_id] if self._categories.levels else None
            yield doc.row(name, self.scorers, rules, of_doc, clusters.get(doc_id, doc_id))

    def _score_whole(self, docs: Mapping[int, AnsweredDoc]) -> None:
        """Scores the answered docs; one that a pipeline can't score becomes failed."""
        instances = {doc_id: doc.instances for doc_id, doc in docs.items()}
        for scorer in self.scorers if docs else ():
            for doc_id, found in run_scorer(scorer, instances).items():
                if found.error is None:
                    docs[doc_id].add_scores(scorer.key, found, scorer.reduced_docs[doc_id])
                elif docs[doc_id].failure is None:
                    error = found.error if isinstance(found.error, MMEvalError) else ScoringError(str(found.error))
                    docs[doc_id].failure = error
        for doc_id, doc in docs.items():
            for name, (_, values) in doc.scored.items() if doc.failure is None else ():
                self._reduced.setdefault(name, ReducedDocs()).put(doc_id, values)

    def _count(self, doc_id: int, doc: AnsweredDoc, rules: Mapping[str, list[str]]) -> list[str]:
        """Adds a doc to the counts of the task; returns the names of those that it is in."""
        scores, answered = self.scores, doc.error is None
        too_large = doc.too_large if answered else ()
        unread = [name for name, found in rules.items() if found and set(found) == {"unparsed"}]
        scores.turns += sum(map(len, doc.turns))
        self._without_target += doc.instances[0].target is None and doc.instances[0].error is None
        self._indices.add(doc.instances[0], self.task.config.doc_to_target)
        if answered and doc.unanswered:
            self._unanswered.add(doc_id)
        for answer in doc.answers:
            if answer.model:
                scores.models[answer.model] += 1
        for what in too_large:
            scores.too_large_for[what] = scores.too_large_for.get(what, 0) + 1
        scores.remarked.update(doc.remarks if answered else ())
        names = ["n"]
        if answered:
            scores.silent.add(doc_id, doc.resps, rules)
            for name in unread:
                scores.unparsed_by[name] = scores.unparsed_by.get(name, 0) + 1
            names += [name for name in OF_ANSWERS if getattr(doc, name)]
            names += ["unparsed"] if unread and len(unread) == len(rules) else []
        elif doc.failure is not None:
            names.append("failed")
            if len(scores.errors) < 5:
                scores.errors.append(str(doc.failure))
        else:
            names.append("not_requested")
        names += ["ties"] if doc.tied and answered else []
        names += ["too_large"] if too_large else []
        names += ["cut"] if doc.cut else []
        for name in names:
            setattr(scores, name, getattr(scores, name) + 1)
        graders = [scorer.grader for scorer in self.scorers if scorer.grader and answered]
        without = {grader.name for grader in graders if doc_id in grader.ungraded}
        for grader in without:
            scores.ungraded[grader].docs += 1
        return names + [grader_key(grader, "failed") for grader in without]
