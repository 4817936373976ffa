"""The answers of several runs to one document, told apart as options or as normalised texts."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from mm_eval.results.recorded import RecordedRun
from mm_eval.results.sample_rows import Marking, options_asked
from mm_eval.scoring.filters.base import UNPARSED
from mm_eval.scoring.sample_row import SampleRow
from mm_eval.values.types import MetricKey

OPEN_OPTIONS = 10
"""Answers that a question without options is taken to have. Fewer make an agreement by chance more likely."""
LONGEST = 300
"""Characters of an answer's text that is compared; a longer one says more than an answer, and agrees with none."""


class Said(NamedTuple):
    """An answer. text: as it is shown; option: what two models must share to have answered the same. right: by the gold."""

    option: str
    text: str
    right: bool


@dataclass(frozen=True)
class Reader:
    """How the answers of a run to a task are read. key: of the number that says which are right."""

    key: MetricKey
    marking: Marking

    @classmethod
    def of(cls, run: RecordedRun, task: str) -> Reader | None:
        """None where no number of the task says which answers are right: it has none, or lower is better in it."""
        number = run.results.headline(task)
        if number is None or run.results.better(task, number.key.metric) is not True:
            return None
        return cls(number.key, Marking.of(run.results, task))

    def said(self, row: SampleRow) -> Said | None:
        """The answer of a row; None where it has none that can be compared."""
        share = self._share(row)
        if row["status"] != "answered" or share is None:
            return None
        right = share >= 0.5
        if row.get("choices"):
            return self._chosen(row, right)
        found = row.get("filtered_resps") or {}
        answers = found.get(self.key.scorer) or next(iter(found.values()), [])
        texts = [shown(answer) for answer in answers]
        options = dict.fromkeys(map(normalised, texts))
        if right:
            return Said("", texts[0] if texts else "", True)
        rules = row.get("rules") or {}
        unread = UNPARSED in (rules.get(self.key.scorer) or next(iter(rules.values()), []))
        if unread or len(options) != 1 or not (option := next(iter(options))) or len(option) > LONGEST:
            return None
        golds = row["target"] if isinstance(row["target"], list) else [row["target"]]
        if option in [normalised(shown(gold)) for gold in golds]:
            return None  # it is the gold's text, and the scorer says that it is wrong: not the gold is in doubt
        return Said(option, texts[0].strip(), False)

    def _share(self, row: SampleRow) -> float | None:
        """What the answer scores, from 0 to 1. None for no number, and for one that is no share."""
        value = row["scores"].get(str(self.key))
        if isinstance(value, dict):
            value = value.get("score")
        elif isinstance(value, list) and len(value) == 2 and isinstance(value[0], str):
            value = value[1]
        if not isinstance(value, (bool, int, float)):
            return None
        low, high = self.marking.ends
        share = (value - low) / (high - low) if high > low else float(value)
        return share if 0 <= share <= 1 else None

    def _chosen(self, row: SampleRow, right: bool) -> Said | None:
        """The choice with the highest log-likelihood; of a wrong answer that of the wrong choices."""
        choices = [str(choice) for choice in row["choices"]]
        golds = row["target"] if isinstance(row["target"], list) else [row["target"]]
        levels: dict[int, float] = {}
        for place, answer in enumerate(row["resps"][: len(choices)]):
            level = answer[0] if isinstance(answer, list) and answer else None
            if not isinstance(level, (int, float)):
                return None
            length = len(choices[place].encode(errors="replace")) if "norm" in self.key.metric else 1
            levels[place] = level / max(1, length)
        if right:
            return Said("", "", True)
        wrong = {place: level for place, level in levels.items() if place not in golds}
        if not wrong or len(levels) != len(choices):
            return None
        best = max(wrong, key=lambda place: wrong[place])
        return Said(str(best), choices[best].strip(), False)


def shown(answer: object) -> str:
    """An answer as text."""
    return answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False, default=str)


def normalised(text: str) -> str:
    """A text as answers are compared: without case, white space and punctuation at its ends, and with one form of letters.

    >>> normalised(" The  Cat. ")
    'the cat'
    """
    plain = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return plain.strip(" .,;:!?()[]\"'`*") or plain


def options_of(row: SampleRow) -> int:
    """How many answers a document has: its options, else what an open question is taken to have."""
    return options_asked(row) or OPEN_OPTIONS


def in_form_of(gold: object, said: Said, choices: Sequence[object] | None) -> object:
    """An answer in the form of a document's gold: an index, a number, a list, a text in the same case; None if it has none."""
    if isinstance(gold, list):
        inside = in_form_of(gold[0] if gold else "", said, choices)
        return None if inside is None else [inside]
    if isinstance(gold, bool):
        return None
    if isinstance(gold, (int, float)):
        if choices:
            return int(said.option)
        for kind in (int, float):
            try:
                return kind(said.text)
            except ValueError:
                continue
        return None
    if not isinstance(gold, str):
        return None
    text = said.text
    if letter := re.fullmatch(r"([(\[]?)([A-Za-z])([)\].:]?)", gold.strip()):
        bare = text.strip(" ()[].:")
        return (
            f"{letter[1]}{bare.upper() if letter[2].isupper() else bare.lower()}{letter[3]}" if len(bare) == 1 else text
        )
    if len(text.split()) == 1 and text.isascii():
        return text.capitalize() if gold.istitle() else text.upper() if gold.isupper() else text
    return text


FAMILY = re.compile(r"[^\W\d_]+")


def family_name(run: RecordedRun) -> str:
    """The family of a model by its name: the first word of the checkpoint's, else of the name in tables."""
    args = run.request.get("model_args") or {}
    name = str(args.get("pretrained") or args.get("model") or run.model).rstrip("/").rsplit("/", 1)[-1]
    found = FAMILY.search(name)
    return found[0].lower() if found else name.lower()


def joined(names: Iterable[Iterable[int]], count: int) -> list[int]:
    """Numbers of families, from the sets of models that belong together."""
    family = list(range(count))
    for together in names:
        members = list(together)
        least = min((family[each] for each in members), default=0)
        for old in {family[each] for each in members}:
            family = [least if own == old else own for own in family]
    order = {own: number for number, own in enumerate(dict.fromkeys(family))}
    return [order[own] for own in family]
