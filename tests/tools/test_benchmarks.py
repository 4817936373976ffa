"""The benchmarks with tools, on their samples: gold chains get full marks, and hard cases what they deserve."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from mm_eval import evaluate
from mm_eval.engine.model import Answers, Model, ModelFacts, ModelSettings, question
from mm_eval.values.types import Answer, Instance
from tests.tools.scripted import box, rows_of

TASKS = ["vstar_tools", "hrbench4k_tools", "hrbench8k_tools"]
FRAMED = "<think>ok</think><answer>{}</answer>"
UNANSWERED = ("never answers", "the letter only beside a call")


def in_form(form: str, right: str) -> list[str]:
    """The answers of a chain. right: the letter."""
    wrong = "ABCD"["ABCD".index(right) - 1]
    return {
        "gold": [box(0), right],
        "zooms twice": [
            f"<think>small</think>{box(0)}",
            box(1),
            f"<think>ok</think><answer>{right}</answer>",
        ],
        "a sentence": [box(0), f"The answer is {right}."],
        "another letter beside the call": [f"Perhaps {wrong}. {box(0)}", right],
        "wrong after a look": [box(0), wrong],
        "never answers": [box(n) for n in range(20)],
        "the letter only beside a call": [f"The answer is {right}. {box(n)}" for n in range(20)],
    }[form]


RIGHT = {
    "gold": 1.0, "zooms twice": 1.0, "a sentence": 1.0, "another letter beside the call": 1.0,
    "wrong after a look": 0.0, "never answers": 0.0, "the letter only beside a call": 0.0,
}  # fmt: skip


class Chain(Model):
    """Answers in one form."""

    def __init__(self, form: str) -> None:
        super().__init__({}, ModelSettings())
        self.facts, self.form = ModelFacts(name="chain", chat=True), form

    def identity(self, instance: Instance) -> dict[str, Any]:
        return {"form": self.form, **question(instance, 0)}

    def generate(self, instances: Iterable[Instance]) -> Answers:
        for instance in instances:
            said = in_form(self.form, str(instance.target).strip())
            yield instance, Answer(said[min(instance.turn, len(said) - 1)])


@pytest.mark.parametrize("form", RIGHT)
def test_a_chain_gets_its_marks(form: str, tmp_path: Path) -> None:
    tasks = TASKS if form == "gold" else TASKS[:2]
    found = evaluate(model=Chain(form), tasks=tasks, sample=True, limit=4, output_path=str(tmp_path), report=False)
    for task in tasks:
        metric = "acc" if task == "vstar_tools" else "average"
        assert found[task][metric].value == RIGHT[form], task
        for row in rows_of(tmp_path, task):
            assert row["tools"]["looked"] and row["tools"]["unanswered"] == (form in UNANSWERED)
