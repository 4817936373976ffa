"""The numbers of a task, what is counted beside them, and what a reader should know: answers that say nothing, ties, frames.

An answer says nothing if it is empty or no filter pipeline could read it. Where there are many of them a score measures the
prompt, the chat template or the filters, and not the model.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mm_eval.config.task_config import TaskConfig
from mm_eval.engine.generation import GenerationOptions
from mm_eval.scoring.filters.base import UNANSWERED, UNPARSED
from mm_eval.scoring.metrics.bounds import parts_of
from mm_eval.values.errors import did_you_mean
from mm_eval.values.types import Instance, MetricKey, Number
from mm_eval.values.words import counted, of_all

ONE_IN = 5
"""A warning comes where more than one in so many answers says nothing."""
LONGEST = 60
"""Characters of an answer that a warning quotes."""


@dataclass
class SilentAnswers:
    """Counts a task's generated answers, and those that say nothing.

    One that is missing (`UNANSWERED`) is not among the latter: the table counts it by kind.

    quoted: (doc id, answer) of two of them. blocks: the names of the task's prompt blocks.
    """

    answers: int = 0
    silent: int = 0
    quoted: list[tuple[int, str]] = field(default_factory=list)
    blocks: tuple[str, ...] = ()

    def add(self, doc_id: int, resps: Sequence[object], rules: Mapping[str, Sequence[str]]) -> None:
        """The answers to a doc, one a repeat; rules: of each pipeline, the rule that read each of them, or "unparsed"."""
        for place, answer in enumerate(resps):
            if not isinstance(answer, str):
                continue
            self.answers += 1
            said = [rule for found in rules.values() for rule in found[place : place + 1]]
            if not UNANSWERED.isdisjoint(said):
                continue  # the endpoint withheld it, or the cap ended it: counted by kind
            unread = bool(rules) and len(said) == len(rules) and set(said) == {UNPARSED}
            if unread or not answer.strip():
                self.silent += 1
                self._quote(doc_id, answer)

    def _quote(self, doc_id: int, answer: str) -> None:
        """Keeps the first answer, and a second one that is other words if there is any."""
        if len(self.quoted) < 2:
            self.quoted.append((doc_id, answer))
        elif self.quoted[0][1] == self.quoted[1][1] != answer:
            self.quoted[1] = (doc_id, answer)

    @property
    def warning(self) -> str:
        """A sentence where more than a fifth of the answers say nothing, else empty."""
        if self.silent * ONE_IN <= self.answers:
            return ""
        shown = " and ".join(f"{_quoted(answer)} (doc {doc_id})" for doc_id, answer in self.quoted)
        others = f" Its prompt blocks are {', '.join(self.blocks)} (--prompt_key)." if len(self.blocks) > 1 else ""
        return (
            f"{of_all(self.silent, self.answers, 'answer', 'is', 'are')} empty or unparsed, such as {shown}. "
            f"Look at the prompt (`mm-eval show`) and the chat template before you use these numbers.{others}"
        )


def _in_short(value: object) -> str:
    return f"{value:.6g}" if isinstance(value, (int, float)) else "-"


def _quoted(answer: str) -> str:
    return repr(answer[:LONGEST]) + ("..." if len(answer) > LONGEST else "")


@dataclass
class Ungraded:
    """The docs that one grader beside the task's rules gave no value though they were answered.

    docs: how many. bounds: the grader's first number with all of them at the lowest, and at the highest value; None if unknown.
    metric: of the bounds. errors: the first few reasons.
    """

    docs: int = 0
    bounds: list[float] | None = None
    metric: str = ""
    errors: list[str] = field(default_factory=list)


@dataclass(repr=False)
class Scores:
    """A row of the table: the numbers of a task, a group or a category, and what is counted beside them.

    row["acc"] is a number by its metric, or by "metric,filter" where several filter pipelines have it.

    name: of the task, group or category in the run. alias: its name in tables; "" for a category. shown: what the table of a run
    shows in place of it, as its file states it; "" for that.
    numbers: in the order of pipelines and metrics. A metric may have a value for some docs only.
    n: docs of the run; failed: without an answer or a score; not_requested: the run ended before all of their requests were made.
    filtered, refused: an answer is. truncated: the token cap ended an answer, or it ended while the model was still thinking.
    unanswered: of these three, the docs with a missing answer, which has the worst value of each metric.
    unparsed: no pipeline could read the answer; unparsed_by: the same for each pipeline. cut: a prompt was too long and lost its
    beginning. ties: several choices shared the best score, so that the first of them was taken.
    too_large: an answer is too large for a comparison and has the worst value there, or an upper end of it.
    turns: the answers of all conversations; 0 for a task of one turn.
    without_unanswered: the numbers over the other docs; empty where no doc is unanswered.
    ungraded: by who grades beside the task's rules (`Scorer.grader`); the first of its kind comes first.
    better: whether higher is better, by metric; None for a metric without a direction.
    stopped: how the run ended by what it saw, in words ("stopped after 41% of the docs: decided"); "" where it did not.
    after_looking: the 95% intervals of such a run by number, which hold all the same.
    notes: what a reader should know. warnings: what a reader should know before the numbers.
    """

    name: str = ""
    alias: str = ""
    numbers: list[Number] = field(default_factory=list)
    n: int = 0
    failed: int = 0
    filtered: int = 0
    refused: int = 0
    truncated: int = 0
    unparsed: int = 0
    cut: int = 0
    ties: int = 0
    not_requested: int = 0
    unanswered: int = 0
    too_large: int = 0
    turns: int = 0
    without_unanswered: list[Number] = field(default_factory=list)
    unparsed_by: dict[str, int] = field(default_factory=dict)
    ungraded: dict[str, Ungraded] = field(default_factory=dict)
    better: dict[str, bool | None] = field(default_factory=dict)
    stopped: str = ""
    after_looking: dict[MetricKey, tuple[float, float]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def __repr__(self) -> str:
        """The first numbers, short; the fields have the rest."""
        shown = [f"{number.key.label} {_in_short(number.value)}" for number in self.numbers[:3]]
        more = [f"{len(self.numbers) - 3} more"] if len(self.numbers) > 3 else []
        return f"Scores({self.name}: {', '.join([*shown, *more, f'n={self.n}'])})"

    shown: str = ""

    def __getitem__(self, metric: str) -> Number:
        found = [number for number in self.numbers if metric in (number.metric, str(number.key))]
        if len(found) != 1:
            what = (
                f"{len(found)} filter pipelines have {metric!r}" if found else f"{self.name} has no number {metric!r}"
            )
            raise KeyError(f"{what}. {did_you_mean(metric, [str(number.key) for number in self.numbers])}")
        return found[0]

    @property
    def scored(self) -> int:
        """Docs that the numbers are of."""
        return self.n - self.failed - self.not_requested

    def number(self, key: MetricKey) -> Number | None:
        """The number of a key; None if there is none."""
        return next((number for number in self.numbers if number.key == key), None)

    @property
    def without_grade(self) -> int:
        """Grades that are missing, over all graders."""
        return sum(each.docs for each in self.ungraded.values())

    @property
    def graders(self) -> list[str]:
        """The first grader of each kind: its docs without a value are counted in groups and categories, too."""
        return [grader for grader in self.ungraded if "@" not in grader]


COUNTS = ("n", "failed", "filtered", "refused", "truncated", "unparsed", "cut", "ties")
"""The counts of every row."""
RARE_COUNTS = ("not_requested", "unanswered", "too_large", "turns")
"""Counts that a file has where they are not zero."""


def grader_key(grader: str, what: str) -> str:
    """The name of a count or an entry for something of a grader.

    >>> grader_key("panel", "failed"), grader_key("panel@NAME", "bounds")
    ('panel_failed', 'panel_bounds@NAME')
    """
    kind, at, name = grader.partition("@")
    return f"{kind}_{what}{at}{name}"


@dataclass
class TaskScores(Scores):
    """The row of one task, and what its run reports beside it.

    models: how many answers state which model. too_large_for: how many answers are too large for each comparison.
    remarked: how many docs each remark of a metric is about.
    errors: the first few failures, in words. silent: answers that are empty or unparsed.
    categories: {level: {category: its row}}.
    """

    models: Counter[str] = field(default_factory=Counter)
    too_large_for: dict[str, int] = field(default_factory=dict)
    remarked: Counter[str] = field(default_factory=Counter)
    errors: list[str] = field(default_factory=list)
    silent: SilentAnswers = field(default_factory=SilentAnswers)
    categories: dict[str, dict[str, Scores]] = field(default_factory=dict)

    @property
    def missing(self) -> list[str]:
        """The keys of numbers that could not be computed: an aggregation that raised."""
        return [str(number.key) for number in self.numbers if number.value is None]


@dataclass
class IndexTargets:
    """Whether ints that are taken for the indices of choices may be the choices themselves (choices [1, 2, 3], answer 2).

    docs: with such an int. named: of these, whose int is the text of a choice. elsewhere: of these, where that is another one
    than the one at the index.
    """

    docs: int = 0
    named: int = 0
    elsewhere: int = 0

    def add(self, first: Instance, column: object) -> None:
        """Counts a doc. first: its first instance. column: what the task says of its target; only a plain column counts."""
        index, choices = first.target, first.metadata.get("choices")
        if type(index) is not int or index < 0 or not choices or not isinstance(column, str):
            return
        if type(first.doc.get(column)) is not int:
            return
        self.docs += 1
        if (text := str(index)) in choices:
            self.named += 1
            self.elsewhere += not index < len(choices) or choices[index] != text

    def remarks(self) -> list[str]:
        """A note where every index is the text of a choice, and of some docs not of the one at the index."""
        if self.named < self.docs or not self.elsewhere:
            return []
        docs = counted(self.elsewhere, "document")
        what = f"the target of every document is an int that is also a choice; in {docs} it is a different choice from the one"
        hint = "If it means the choice itself, write doc_to_target as a text: {{ COLUMN | string }}."
        return [f"{what} at this index. It was taken as an index from 0. {hint}"]


def remarks_of(
    config: TaskConfig,
    scores: TaskScores,
    same: bool,
    without_target: int,
    with_frames: int,
    frames: str,
    with_silent_video: int,
) -> list[str]:
    """What a reader of a task's numbers should know about its docs and answers.

    same: the repeats of every doc have equal answers. without_target, with_frames, with_silent_video: counts of docs. frames: how
    they are shown.
    """
    found, generates = [], config.output_type == "generate_until"
    if generates and config.repeats > 1 and same:
        sampled = GenerationOptions.from_kwargs(config.generation_kwargs).do_sample
        why = "although they were sampled" if sampled else "as greedy decoding makes them"
        what = f"the {config.repeats} answers to each document are equal, {why}"
        found.append(f"{what}: `repeats` adds nothing.")
    if with_frames:
        found.append(f"{of_all(with_frames, scores.n, 'document', 'shows', 'show')} a {frames}.")
    if with_silent_video:
        what = of_all(with_silent_video, scores.n, "document", "shows", "show")
        found.append(f"{what} a video without sound, whose sound the question asks for: asked without it.")
    if scores.ties:
        what = f"in {of_all(scores.ties, scores.n, 'document')} several choices share the best score"
        found.append(f"{what}: the first of them was taken.")
    for said, docs in scores.too_large_for.items():
        what, has = parts_of(said)
        found.append(f"{of_all(docs, scores.n, 'document', 'has', 'have')} {has}: too large for {what}.")
    found += [f"in {of_all(docs, scores.n, 'document')} {what}" for what, docs in scores.remarked.items()]
    has_own = config.process_results is not None or config.is_scored_elsewhere
    if without_target and generates and config.doc_to_target is not None and not has_own:
        what = f"{of_all(without_target, scores.n, 'document', 'has', 'have')} no target (doc_to_target gives null)"
        found.append(f"{what}: no answer can equal that. Perhaps the split's answers are not published.")
    return found
