"""We-Math: problems and their steps, scored by what a model masters (insufficient knowledge, inadequate generalization,
complete mastery, rote memorization).

Source: Qiao et al. 2024, arXiv:2407.01284; evaluation/ of github.com/We-Math/We-Math.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.metrics import smooth

Item = Mapping[str, Any]

PROMPT = """Now, we require you to solve a multiple-choice math question.
Please briefly describe your thought process and provide the final answer(option).
Question: {}
Option: {}
Regarding the format, please answer following the template below, and be sure to include two <> symbols:
<Thought process>: <<your thought process>> <Answer>: <<your option>>"""
"""The paper's prompt."""

ACCURACIES = {"2steps_multi": "two_step", "3steps_multi": "three_step"}
LETTERS = "ABCDEFGH"


def by_problem(dataset: Any) -> Any:
    """All docs, the questions of a problem side by side, so that a run over the first docs has whole problems."""
    names, first = list(dataset["ID"]), dict[str, int]()
    for place, name in enumerate(names):
        first.setdefault(name, place)
    return dataset.select(sorted(range(len(names)), key=lambda place: (first[names[place]], place)))


def doc_to_text(doc: Mapping[str, Any]) -> str:
    """The paper's prompt with the question and its options, which are one text."""
    return PROMPT.format(doc["question"], doc["option"])


def steps(doc: Mapping[str, Any]) -> str:
    """ "2steps" or "3steps": how many steps the problem has that the question belongs to."""
    return str(doc["key"]).partition("_")[0]


def letter_of(answer: str) -> str:
    """The first character behind the last "Answer", without <>:. around it, if it is a letter from A to H; else ""."""
    end = re.sub(r"[><:.]", "", answer.split("Answer")[-1].strip()).strip()
    return end[0] if end and end[0] in LETTERS else ""


def process_results(doc: Mapping[str, Any], results: Sequence[str]) -> dict[str, Any]:
    """One question: an item for the numbers of problems, and its score among the steps or the problems."""
    letter = letter_of(results[0])
    right = letter == doc["answer"]
    item = {"ID": doc["ID"], "key": doc["key"], "score": float(right)}
    found = dict.fromkeys(NUMBERS, item)
    return {
        **found,
        ACCURACIES.get(doc["key"], "one_step"): float(right),
        "__rule__": "letter" if letter else "unparsed",
    }


def conditions(items: Sequence[Item], strict: bool) -> Counter[str]:
    """How many problems are under each condition: IK, IG, CM, RM. A problem of which a question is missing is left out."""
    problems: dict[str, dict[str, bool]] = defaultdict(dict)
    for item in items:
        problems[item["ID"]][item["key"].partition("_")[2]] = bool(item["score"])
    found: Counter[str] = Counter()
    for name, answers in problems.items():
        whole = answers.pop("multi", None)
        if whole is None or len(answers) != int(name[0]):
            continue
        mastered = all(answers.values()) if strict else any(answers.values())
        if whole:
            found["CM" if mastered else "RM"] += 1
        else:
            found["IG" if all(answers.values()) else "IK"] += 1
    return found


def share(items: Sequence[Item], strict: bool, weights: Mapping[str, float]) -> float:
    """The weighted share of problems under some conditions; NaN without a whole problem."""
    found = conditions(items, strict)
    total = found.total()
    return sum(weight * found[name] for name, weight in weights.items()) / total if total else math.nan


def rote(items: Sequence[Item], strict: bool) -> float:
    """RM / (CM + RM); 0 where both are 0."""
    found = conditions(items, strict)
    return found["RM"] / (found["RM"] + found["CM"]) if found["RM"] else 0.0


@smooth
def score_strict(items: Sequence[Item]) -> float:
    """Complete mastery counts 1, inadequate generalization 0.5; the other problems count 0."""
    return share(items, True, {"CM": 1, "IG": 0.5})


@smooth
def score_loose(items: Sequence[Item]) -> float:
    """The same, where one right step is enough for mastery."""
    return share(items, False, {"CM": 1, "IG": 0.5})


@smooth
def insufficient_knowledge(items: Sequence[Item]) -> float:
    """The share of problems that are wrong, as is a step of theirs."""
    return share(items, True, {"IK": 1})


@smooth
def inadequate_generalization(items: Sequence[Item]) -> float:
    """The share of problems that are wrong although their steps are right."""
    return share(items, True, {"IG": 1})


@smooth
def mastery_strict(items: Sequence[Item]) -> float:
    """The share of problems that are right, as are all of their steps."""
    return share(items, True, {"CM": 1})


@smooth
def mastery_loose(items: Sequence[Item]) -> float:
    """The share of problems that are right, as is a step of theirs."""
    return share(items, False, {"CM": 1})


@smooth
def rote_strict(items: Sequence[Item]) -> float:
    """Of the right problems, the share with a wrong step; 0 where no problem is right."""
    return rote(items, True)


@smooth
def rote_loose(items: Sequence[Item]) -> float:
    """Of the right problems, the share with no right step; 0 where no problem is right."""
    return rote(items, False)


NUMBERS = (
    "score_strict", "score_loose", "insufficient_knowledge", "inadequate_generalization", "complete_mastery_strict",
    "complete_mastery_loose", "rote_memorization_strict", "rote_memorization_loose",
)  # fmt: skip
"""The metrics whose items are all questions."""
