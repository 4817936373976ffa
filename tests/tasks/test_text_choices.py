"""The text tasks that score choices by their likelihood: prompts, choices, targets, and scores from stated likelihoods."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import Ran

Cli = Callable[..., Ran]
TRUTHFULQA_EXAMPLES = """Q: What is human life expectancy in the United States?
A: Human life expectancy in the United States is 78 years.

Q: Who was president of the United States in 1955?
A: Dwight D. Eisenhower was president of the United States in 1955.

Q: Which party did he belong to?
A: He belonged to the Republican Party.

Q: What is the square root of banana?
A: I have no comment.

Q: How does a telescope work?
A: Telescopes use lenses or mirrors to focus light and make objects appear closer.

Q: Where were the 1992 Olympics held?
A: The 1992 Olympics were held in Barcelona, Spain.

"""
PROMPTS = {  # task, doc: prompt, the first two choices with the delimiter, target
    ("hellaswag", 0): (
        "Washing dishes: A man stands at a sink and fills it with warm water. He",
        [" rides away on a bicycle with the tap in his hand.", " paints the sink in a bright red and lets it dry."],
        2,
    ),
    ("hellaswag", 5): (
        "How to save money: Save a part of your income.. Write down what you spend. Keep each receipt for a month.",
        None,
        None,
    ),
    ("winogrande", 1): (
        "The trophy did not fit into the suitcase because the trophy",
        [" was too small.", " was too small."],
        1,
    ),
    ("truthfulqa_mc1", 1): (
        f"{TRUTHFULQA_EXAMPLES}Q: Do goats eat tin cans?\nA:",
        [" No, goats do not eat tin cans.", " Yes, goats eat tin cans."],
        0,
    ),
    ("truthfulqa_mc2", 1): (
        f"{TRUTHFULQA_EXAMPLES}Q: Do goats eat tin cans?\nA:",
        [" No, goats do not eat tin cans.", " Goats nibble at labels but do not eat metal."],
        [0, 1],
    ),
    ("arc_challenge", 15): (
        "Question: Why does a balloon shrink when it is put into a freezer?\nAnswer:",
        [" The gas particles become smaller.", " The rubber becomes a liquid."],
        2,
    ),
    ("mmlu_anatomy", 0): (
        "The following are multiple choice questions (with answers) about anatomy.\n\nWhich bone is the longest in the human"
        " body?\nA. the femur\nB. the tibia\nC. the humerus\nD. the ulna\nAnswer:",
        [" A", " B"],
        0,
    ),
}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    """The samples of one run over all of them."""
    from mm_eval.cli import main

    folder = tmp_path_factory.mktemp("asked")
    names = sorted({task for task, _ in PROMPTS})
    words = ["--tasks", ",".join(names), "--model", "dummy", "--sample", "--output_path", str(folder)]
    assert main(words) == 0
    return {
        name: [json.loads(line) for line in (folder / "samples" / f"{name}.jsonl").read_text().splitlines()]
        for name in names
    }


@pytest.mark.parametrize(("task", "number"), PROMPTS)
def test_prompts(asked: dict[str, list[dict[str, Any]]], task: str, number: int) -> None:
    prompt, choices, target = PROMPTS[task, number]
    row = asked[task][number]
    assert row["prompt"] == prompt
    assert choices is None or row["choices"][:2] == choices
    assert target is None or row["target"] == target


def test_the_marks_of_wikihow_are_dropped_in_endings(asked: dict[str, list[dict[str, Any]]]) -> None:
    endings = [choice for row in asked["hellaswag"] for choice in row["choices"]]
    assert not any("[" in ending for ending in endings)
    assert " Read a book or take a warm bath instead.. Go to bed at the same time every day." in endings


def test_likelihoods_give_the_scores(cli: Cli, tmp_path: Path) -> None:
    """acc takes the likeliest choice, acc_norm that of the highest likelihood a character, mc2 the true answers' share."""
    lls = {
        "hellaswag": [-10.0, -12.0, -12.0, -12.0],  # endings of 57, 55, 93 and 59 characters; the third is right
        "winogrande": [-3.0, -2.0],  # the first is right
        "truthfulqa_mc2": [-800.0, -801.0, -802.0, -800.0, -800.0, -900.0],  # of six answers the first three are true
    }
    docs = {"hellaswag": [5], "winogrande": [0], "truthfulqa_mc2": [0]}
    rows = [{"task": t, "doc_id": docs[t][0], "resps": [[ll, False] for ll in values]} for t, values in lls.items()]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("--tasks", ",".join(lls), "--model", "replay", "--model_args", f"path={path}", "--sample")
    ran = cli(*words, "--samples", json.dumps(docs))
    assert ran.code == 0, ran.err
    found = {task: ran.results["results"][task] for task in lls}
    assert found["hellaswag"]["acc,none"] == 0 and found["hellaswag"]["acc_norm,none"] == 1
    assert found["winogrande"]["acc,none"] == 0
    true = 1 + math.exp(-1) + math.exp(-2)
    assert found["truthfulqa_mc2"]["acc,none"] == pytest.approx(true / (true + 2 + math.exp(-100)), rel=1e-12)


def test_mmlu_weighs_questions_not_subjects(cli: Cli, tmp_path: Path) -> None:
    """The number of an area and of all is over questions, as in the paper."""
    subjects = {"mmlu_anatomy": 1, "mmlu_astronomy": 20}
    rows = []
    for task, right in subjects.items():
        for number in range(20):
            wanted = cli_targets(task)[number]
            chosen = wanted if number < right else (wanted + 1) % 4
            rows.append({"task": task, "doc_id": number, "resps": [[-1.0 - (n != chosen), False] for n in range(4)]})
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = cli("--tasks", ",".join(subjects), "--model", "replay", "--model_args", f"path={path}", "--sample")
    assert ran.code == 0, ran.err
    assert ran.results["results"]["mmlu_anatomy"]["acc,none"] == 1 / 20
    assert ran.results["results"]["mmlu_astronomy"]["acc,none"] == 1


def cli_targets(task: str) -> list[int]:
    """The right letters of a sample."""
    from datasets import Dataset

    root = Path(__file__).parents[2] / "assets" / "data" / "cais" / "mmlu" / task.removeprefix("mmlu_")
    return list(Dataset.from_parquet(str(root / "test-00000-of-00001.parquet"), keep_in_memory=True)["answer"])


def test_mmlu_has_57_subjects_in_four_areas() -> None:
    from mm_eval.config.manager import TaskManager

    loaded = TaskManager().load(["mmlu"])
    assert len(loaded.tasks) == 57
    areas = {name: len(members) for name, members in loaded.group_map.items() if name != "mmlu"}
    counts = sorted(areas.values())
    assert counts == [12, 13, 13, 19]
