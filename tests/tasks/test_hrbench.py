"""HR-Bench: prompts, letters, the mean over rotations, rotations as one cluster, a broken picture."""

import base64
import io

import pytest
from PIL import Image

from tests.tasks.judged import judged
from tests.tasks.made_up import MadeUp, categories, prompt

HRBENCH = MadeUp("hrbench4k", "DreamMr/HR-Bench", "hrbench_4k", "hrbench_version_split")
COLORS = {"question": "What is the color?", "A": "red", "B": "blue", "C": "green", "D": "black"}
ABOVE = "Please select the correct answer from the options above."
LETTER = "Answer with the option's letter from the given choices directly."


@pytest.mark.parametrize("task", ["hrbench4k", "hrbench8k"])
def test_the_prompts(cli, task: str) -> None:
    own = prompt(cli, task)
    question, options = own.removeprefix("Question: ").removesuffix(f"{ABOVE} \n").split("\nOptions:\n")
    assert question.startswith("What is the color of the ") and options.count("\n") == 4 and options.startswith("A. ")
    assert prompt(cli, task, "internvl") == f"{question}\n{options}{LETTER}"
    assert prompt(cli, task, "qwen_custom") == f"Question: {question}\nOptions:\n{options}{ABOVE}"
    assert prompt(cli, task, "qwen2_5_vl") == prompt(cli, task, "qwen3_vl") == prompt(cli, task)
    assert prompt(cli, task, "qwen3_custom").endswith("\nAnswer with the option letter only.")


def png_text(color: str) -> str:
    """A picture of one colour as the hub has it."""
    file = io.BytesIO()
    Image.new("RGB", (8, 8), color).save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


HARD = [  # answer, the letter that is read
    ("B", "B"),
    ("(B)", "B"),
    ("B. blue", "B"),
    ("The answer is (B).", "B"),
    ("blue", "B"),
    ("It is blue.", "B"),
    ("Answer: B because A is wrong", None),
    ("B and C", None),
    ("**B**", "B"),
    ("b", None),
    ("答案是B", None),
    ("E", None),
    ("", None),
    ("<think>B", None),
    ("<think>C?</think>B", "B"),
    ("I can't see the picture, sorry.", None),
    ("C", "C"),
]


def test_hard_answers(cli, tmp_path) -> None:
    docs = [{**COLORS, "answer": "B"} for _ in HARD]
    ran = HRBENCH.run(cli, tmp_path, docs, [answer for answer, _ in HARD])
    rows = ran.samples("hrbench4k")
    assert [row["filtered_resps"]["none"][0] or None for row in rows] == [letter for _, letter in HARD]


def test_the_mean_over_rotations(cli, tmp_path) -> None:
    kinds = [("0", "single"), ("0", "cross"), ("0", "cross"), ("1", "single")]
    docs = [{**COLORS, "answer": "A", "cycle_category": turn, "category": kind} for turn, kind in kinds]
    ran = HRBENCH.run(cli, tmp_path, docs, ["A", "B", "B", "A"])
    row = ran.results["results"]["hrbench4k"]
    assert row["average,none"] == pytest.approx((1 / 3 + 1) / 2)
    assert (row["single,none"], row["cross,none"]) == (1, 0)
    assert categories(ran, "hrbench4k", "category", "average,none") == {"single": 1, "cross": 0}
    assert categories(ran, "hrbench4k", "rotation", "average,none") == {"0": pytest.approx(1 / 3), "1": 1}


def test_the_rotations_of_a_question_are_one_cluster(cli, tmp_path) -> None:
    turned = {**COLORS, "A": "blue", "B": "green", "C": "black", "D": "red"}
    other_photo = {"image": png_text("white")}
    docs = [
        COLORS,
        turned,
        {**COLORS, "question": "What is the colour?"},
        {**COLORS, "A": "white"},
        {**COLORS, **other_photo},
    ]
    ran = HRBENCH.run(cli, tmp_path, docs, ["A"] * 5)
    first, second, *others = [str(row["cluster"]) for row in ran.samples("hrbench4k")]
    assert first == second and len({first, *others}) == 4


def test_a_broken_picture_fails_its_doc_alone(cli, tmp_path) -> None:
    root = HRBENCH.write(tmp_path / "data", [{"image": "no picture"}, {}])
    ran = cli("--tasks", "hrbench4k", "--model", "dummy", "--data_root", root, "--output_path", tmp_path / "run")
    assert ran.code == 3 and "Traceback" not in ran.err
    assert [row["status"] for row in ran.samples("hrbench4k")] == ["failed", "answered"]


def test_a_judge_matches_what_the_rule_cannot_read(cli, tmp_path) -> None:
    task, odd = "hrbench4k_judged", "It seems to me that none of what is written there fits at all."
    gold = [row["target"] for row in judged(cli, tmp_path, task, [odd] * 16, ["Z"] * 16).samples(task)]
    ran = judged(cli, tmp_path, task, [gold[0], *[odd] * 15], [None, *gold[1:15], "either one"], code=3)
    row = ran.results["results"][task]
    assert (
        row["judge_failed"] == 1 and row["average,none"] == 1 and row["judge_bounds"][0] < row["judge_bounds"][1] == 1
    )
    assert "judge" not in ran.samples(task)[0] and ran.samples(task)[1]["judge"]["verdict"] == gold[1]
