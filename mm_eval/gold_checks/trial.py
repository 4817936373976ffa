"""Right and wrong answers to a task's docs: the right ones must get full marks, the wrong ones not."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

from mm_eval.prompt.task import PromptStyle, Task
from mm_eval.scoring.base import Scorer
from mm_eval.scoring.filters.base import UNPARSED
from mm_eval.scoring.gold import gold_texts
from mm_eval.scoring.metrics.traits import traits_of
from mm_eval.scoring.sample_row import SampleRow
from mm_eval.scoring.score_task import TaskScoring
from mm_eval.scoring.task_scores import TaskScores
from mm_eval.values.types import Answer, Fields, Instance, Slot, main_metrics

MARGIN = 20.0
"""Nats between the chosen option and the others: enough for a brier_score of 0 to 8 digits."""
WRONG_TRIED = 1_000
"""For how many docs wrong answers are tried."""
NONSENSE = "zzqx"
"""An answer that can be right nowhere."""
FULL = 0.999
OPPOSITE = {"yes": "no", "no": "yes", "true": "false", "false": "true"}
_LETTER = re.compile(r"\(?([A-Z])\)?\Z")

Texts = list[str]


@dataclass
class TrialResult:
    """What scoring the same docs with one kind of answers gave.

    docs: those that have a mark. zero: those of them with no mark above 0. full: those with full marks.
    fault: why a doc's answer is not scored as it should be. scores: the numbers, for gold answers and where no doc has a mark.
    example: how the first answer without a mark was read. unread: how many of those no rule could read.
    """

    docs: int = 0
    zero: int = 0
    full: int = 0
    fault: str = ""
    scores: TaskScores | None = None
    example: str = ""
    unread: int = 0

    @property
    def mostly_zero(self) -> bool:
        """Whether at least half of the docs have no mark."""
        return 0 < self.docs <= 2 * self.zero


def chosen(instance: Instance, choice: Callable[[Sequence[Any]], int | None]) -> tuple[float, bool] | None:
    """The log-likelihood of a model that is sure of one choice. choice: gives it, from the right ones; None if there is none."""
    right = instance.target if isinstance(instance.target, list) else [instance.target]
    wanted = choice(right)
    return None if wanted is None else (-1e-9 if instance.choice == wanted else -MARGIN, instance.choice == wanted)


def gold_likelihood(instance: Instance) -> tuple[float, bool]:
    """The log-likelihood of a perfect model; without choices all that is scored is gold."""
    right = instance.target if isinstance(instance.target, list) else [instance.target]
    gold = instance.choice in right or instance.metadata.get("choices") is None
    return (-1e-9 if gold else -MARGIN, gold)


def wrong_likelihood(instance: Instance) -> tuple[float, bool] | None:
    """That of a model that is sure of a wrong choice; None where every choice is right."""
    choices = instance.metadata.get("choices")
    if choices is None:
        return (-MARGIN, False)
    return chosen(instance, lambda right: next((n for n in range(len(choices)) if n not in right), None))


def wrong_text(gold: Texts, choices: Sequence[str] | None) -> str:
    """An answer that is wrong: another choice or letter, the opposite of yes and no, else a word without meaning.

    >>> wrong_text(["B"], None), wrong_text(["Yes"], None), wrong_text(["12"], None)
    ('A', 'No', 'zzqx')
    """
    first = gold[0].strip() if gold else ""
    if choices and first in choices:
        return next((choice for choice in choices if choice not in gold), NONSENSE)
    if found := _LETTER.match(first):
        return first.replace(found[1], "B" if found[1] == "A" else "A")
    opposite = OPPOSITE.get(first.lower())
    if opposite is None:
        return NONSENSE
    return opposite.capitalize() if first.istitle() else opposite.upper() if first.isupper() else opposite


class Trial:
    """Scores a task's docs with answers of our own.

    instances: those of the docs that have a gold answer. gold: the gold texts by doc, for generated answers.
    """

    def __init__(self, task: Task, style: PromptStyle, scorers: Sequence[Scorer]) -> None:
        self.task, self.style, self.scorers = task, style, scorers
        self.gold: dict[int, Texts] = {}
        self.right: dict[Slot, tuple[float, bool]] = {}
        self.wrong: dict[Slot, tuple[float, bool] | None] = {}
        self.choices: dict[int, Sequence[str] | None] = {}

    def add(self, instance: Instance) -> None:
        """Notes the right and the wrong answer of an instance."""
        if instance.request_type == "generate_until":
            if instance.repeat == 0:
                self.gold[instance.doc_id] = gold_texts(self.task, self.style, instance)
                self.choices[instance.doc_id] = instance.metadata.get("choices")
        else:
            self.gold[instance.doc_id] = []
            self.right[instance.slot] = gold_likelihood(instance)
            if instance.request_type == "loglikelihood":
                self.wrong[instance.slot] = wrong_likelihood(instance)

    @property
    def generated(self) -> bool:
        return not self.right

    @property
    def known(self) -> list[int]:
        """The docs with a gold answer."""
        return [doc_id for doc_id, texts in self.gold.items() if texts or not self.generated]

    def gold_answers(self) -> TrialResult:
        """The docs scored with their gold answers; a list of answers one after the other."""
        if not self.generated:
            return self._score(self.known, lambda slot: self.right.get(slot), "gold", must_be_full=True)
        whole: TrialResult | None = None
        for number in range(max(len(texts) for texts in self.gold.values())):
            texts = {doc_id: each[number] for doc_id, each in self.gold.items() if number < len(each)}
            tried = self._texts(texts, "gold", must_be_full=True)
            whole = whole or tried
            if tried.fault:
                return tried
        return whole or TrialResult()

    def gold_marks(self, form: str = "{}") -> TrialResult:
        """What the docs score with their first gold answers. form: how a generated one is written."""
        if not self.generated:
            return self._score(self.known, lambda slot: self.right.get(slot), "gold")
        return self._texts({doc_id: form.format(texts[0]) for doc_id, texts in self.gold.items() if texts}, "gold")

    def wrong_answers(self) -> TrialResult:
        """The first docs scored with an answer that is wrong."""
        known = list(islice(self.known, WRONG_TRIED))
        if not self.generated:
            usable = {slot.doc_id for slot, answer in self.wrong.items() if answer is not None}
            docs = [doc_id for doc_id in known if doc_id in usable]
            return self._score(docs, lambda slot: self.wrong.get(slot), "wrong")
        return self._texts({doc_id: wrong_text(self.gold[doc_id], self.choices[doc_id]) for doc_id in known}, "wrong")

    @property
    def gold_varies(self) -> bool:
        """Whether two docs have different gold answers. If not, a rule may take silence for that one, as POPE's does for yes."""
        return len({tuple(texts) for texts in self.gold.values() if texts}) > 1

    def empty_answers(self) -> TrialResult:
        """The first docs scored with an empty answer, where the gold answer is not empty."""
        known = [doc_id for doc_id in self.known if self.generated and all(self.gold[doc_id])]
        return self._texts(dict.fromkeys(islice(known, WRONG_TRIED), ""), "empty")

    def missing_answers(self) -> TrialResult:
        """The first docs scored as those that the vendor's filter took: the worst value of each metric."""
        known = list(islice(self.known, WRONG_TRIED)) if self.generated else []
        return self._score(known, lambda slot: Answer("", ended="filtered"), "missing")

    def _texts(self, texts: Mapping[int, str], kind: str, must_be_full: bool = False) -> TrialResult:
        return self._score(list(texts), lambda slot: texts.get(slot.doc_id), kind, must_be_full)

    def _score(
        self, doc_ids: Sequence[int], answer: Callable[[Slot], Any], kind: str, must_be_full: bool = False
    ) -> TrialResult:
        """Scores docs with the answers that a function gives. must_be_full: a mark below 1 is a fault."""
        tried = TrialResult()
        if not doc_ids:
            return tried

        def lookup(slot: Slot) -> Answer | None:
            output = answer(slot)
            return output if output is None or isinstance(output, Answer) else Answer(output)

        scoring = TaskScoring(self.task, self.style, self.scorers, lookup)
        for row in scoring.samples(doc_ids):
            said = row["resps"] if len(str(row["resps"])) < 200 else f"{str(row['resps'])[:200]}..."
            if row["status"] == "failed":
                given = "" if kind == "gold" else f" with the {kind} answer {lookup_text(answer, self.task, row)!r}"
                tried.fault = f"doc {row['doc_id']} can't be scored{given}: {row['error']['what']}"
                return tried
            marks = dict(_marks(row["scores"], self.scorers))
            below = next((key for key, mark in marks.items() if mark < FULL), None)
            if must_be_full and below is not None:
                mark = f"{below} = {marks[below]:g}"
                tried.fault = (
                    f"the gold answer of doc {row['doc_id']} scores {mark}: answer {said}, target {row['target']!r}"
                )
                return tried
            tried.docs += bool(marks)
            if marks and all(mark < 1 - FULL for mark in marks.values()):
                tried.zero += 1
                tried.example = tried.example or _read_as(row)
                tried.unread += _is_unread(row)
            tried.full += bool(marks) and below is None
        if must_be_full or not tried.docs:
            tried.scores = scoring.aggregate(bootstrap_iters=0)
        return tried

    def headline(self, tried: TrialResult) -> tuple[str, float, bool] | None:
        """(key, value, whether higher is better) of the first number of the task's `metadata.metric`, else of its first."""
        scores = tried.scores
        found = [n for n in (scores.numbers if scores else ()) if isinstance(n.value, (int, float))]
        if scores is None or not found:
            return None
        stated = main_metrics(self.task.config.metadata)[:1]
        number = next((n for main in stated for n in found if n.key.is_named(main)), found[0])
        return str(number.key), float(number.value), scores.better.get(number.metric) is not False


def _is_unread(row: SampleRow) -> bool:
    rules = row.get("rules") or {}
    return bool(rules) and all(UNPARSED in found for found in rules.values())


def _read_as(row: SampleRow) -> str:
    """How the answer of a row was read: "doc 0: the answer 'dog' is read as 'B', the target is 'dog'"."""
    read = [answers[0] for answers in (row.get("filtered_resps") or {}).values() if answers]
    shown = "is not read" if _is_unread(row) or not read else f"is read as {read[0]!r:.60}"
    return f"Doc {row['doc_id']}: the answer {row['resps'][0]!r:.60} {shown}, the target is {row['target']!r:.60}"


def lookup_text(answer: Callable[[Slot], object], task: Task, row: Fields) -> object:
    """The answer that was given to a row's doc."""
    return answer(Slot(task.path, row["doc_id"]))


def _marks(scores: Mapping[str, object], scorers: Iterable[Scorer]) -> Iterator[tuple[str, float]]:
    """The marks from 0 among a doc's scores, of the metrics where higher is better.

    A mark is a number, the `score` of a mapping, or the second part of a pair (category as text, score). Of the range of a mean
    the least is 0 and the greatest 1.
    """
    metrics = [metric for scorer in scorers for metric in scorer.metrics or ()]
    ranges = {
        each.name: each.range
        for each in metrics
        if each.range and each.aggregation and traits_of(each.aggregation).is_mean
    }
    better = {name: higher for scorer in reversed(list(scorers)) for name, higher in scorer.higher_is_better.items()}
    for key, value in scores.items():
        if isinstance(value, Mapping):
            value = value.get("score")
        elif isinstance(value, (tuple, list)) and len(value) == 2 and isinstance(value[0], str):
            value = value[1]
        if (ends := ranges.get(key.split(",")[0])) is not None and isinstance(value, (bool, int, float)):
            value = (value - ends[0]) / (ends[1] - ends[0])
        if isinstance(value, (bool, int, float)) and value >= 0 and better.get(key.split(",")[0]) is not False:
            yield key, float(value)
