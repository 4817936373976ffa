"""NExT-QA and the Perception Test: prompts, hard answers, categories."""

from pathlib import Path
from typing import Any

from mm_eval.config.manager import TaskManager
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.scoring.filters import build_filter_ensemble
from tests.sets import each_of
from tests.tasks.answers import answered, prompt

DIRECTLY = "Answer with the option's letter from the given choices directly."
NEXTQA = {"a0": "clap proudly", "a1": "crawl", "a2": "lay on floor", "a3": "smile", "a4": "run"}
PERCEPTION = {"options": ["a man", "the cup", "nothing"]}
HARD = [
    # answer, NExT-QA, Perception Test
    ("B", "B", "B"),
    ("(B)", "B", "B"),
    ("b.", "B", "B"),
    ("The answer is (B).", "B", "B"),
    ("**B**", "B", "B"),
    ("\\boxed{C}", "C", "C"),
    ("答案是B", "B", "B"),
    ("<think>It may be A.</think>C", "C", "C"),
    ("E", "E", None),
    ("crawl", "B", None),
    ("the cup", None, "B"),
    ("A man", None, "A"),  # an option's text; lmms-eval's rule reads the article
    ("A boy is seen", None, None),
    ("B and C", None, None),
    ("A or B", None, None),
    ("I'm sorry, I can't tell.", None, None),
    ("", None, None),
]


def read(task: str, answer: str, doc: dict[str, Any]) -> str | None:
    [config] = TaskManager().load(task).tasks.values()
    [[found]] = build_filter_ensemble("none", config.resolved(FOREIGN_CODE).filter_list[0]["filter"]).chain(
        [[answer]], [doc]
    )
    return found if found in ("A", "B", "C", "D", "E") else None


@each_of(("answer", "nextqa", "perception"), HARD)
def test_hard_answers(answer: str, nextqa: str | None, perception: str | None) -> None:
    said = answer.rpartition("</think>")[2]
    assert (read("nextqa_mc", said, NEXTQA), read("perceptiontest_val_mc", said, PERCEPTION)) == (nextqa, perception)


def test_prompts(cli: Any) -> None:
    assert prompt(cli, "nextqa_mc").endswith("\nE. yellow\n" + DIRECTLY)
    asked = prompt(cli, "perceptiontest_val_mc")
    assert asked.startswith("What is the color of the ") and asked.count("\n") == 4 and asked.endswith("\n" + DIRECTLY)


def test_categories(cli: Any, tmp_path: Path) -> None:
    ran = answered(cli, tmp_path, "nextqa_mc", ["A"] * 12)
    levels = ran.results["categories"]["nextqa_mc"]
    assert {name: each["n"] for name, each in levels["kind"].items()} == {"causal": 4, "temporal": 5, "descriptive": 3}
    assert levels["question type"]["before and after"]["n"] == 4
    of = answered(cli, tmp_path, "perceptiontest_val_mc", ["A"] * 12).results["categories"]["perceptiontest_val_mc"]
    assert {name: each["n"] for name, each in of["area"].items()} == dict.fromkeys(
        ("memory", "abstraction", "physics", "semantics"), 3
    )
