"""We-Math: problems and their steps, scored by what a model masters (insufficient knowledge, inadequate generalization,
complete mastery, rote memorization).

Source: Qiao et al. 2024, arXiv:2407.01284; evaluation/ of github.com/We-Math/We-Math.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

PROMPT = """Now, we require you to solve a multiple-choice math question.
Please briefly describe your thought process and provide the final answer(option).
Question: {}
Option: {}
Regarding the format, please answer following the template below, and be sure to include two <> symbols:
<Thought process>: <<your thought process>> <Answer>: <<your option>>"""
"""The paper's prompt."""

NUMBERS = (
    "score_strict", "score_loose", "insufficient_knowledge", "inadequate_generalization", "complete_mastery_strict",
    "complete_mastery_loose", "rote_memorization_strict", "rote_memorization_loose",
)  # fmt: skip
"""The metrics whose items are all questions."""
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
