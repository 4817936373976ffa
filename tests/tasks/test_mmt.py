"""MMT-Bench: prompts with the options that exist, letters up to I, the means over questions and over kinds of tasks."""

import pytest

from tests.tasks.made_up import MadeUp, categories, prompt

MMT = MadeUp("mmt_val", "lmms-lab/MMT-Benchmark", "val")
TWO = {"question": "Which animal?", "A": "cat", "B": "dog", **dict.fromkeys("CDEFGHI"), "answer": "B"}
NINE = {
    **TWO,
    **dict(zip("ABCDEFGHI", ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine"], strict=True)),
    "answer": "I",
}
ABOVE = "Please select the correct answer from the options above."
LETTER = "Answer with the option's letter from the given choices directly."


def test_the_prompts(cli) -> None:
    own = prompt(cli, "mmt_val")
    question, options = own.removeprefix("Question: ").removesuffix(f"{ABOVE} \n").split("\nOptions:\n")
    assert question == "Which shape is in the picture?" and options.count("\n") == 2 and "None" not in own
    assert prompt(cli, "mmt_val", "internvl") == f"{question}\n{options}{LETTER}"
    assert prompt(cli, "mmt_val", "qwen_custom") == f"Question: {question}\nOptions:\n{options}{ABOVE}"
    assert prompt(cli, "mmt_val", "qwen2_5_vl") == prompt(cli, "mmt_val", "qwen3_vl") == prompt(cli, "mmt_val")
    assert (
        prompt(cli, "mmt_val", "qwen3_custom")
        == f"Question: {question}\nOptions:\n{options}Answer with the option letter only."
    )


HARD = [  # doc, answer, the letter that is read
    (TWO, "B", "B"),
    (TWO, "The answer is (B).", "B"),
    (TWO, "a dog", "B"),
    (TWO, "**B**", "B"),
    (TWO, "A", "A"),
    (TWO, "C", None),
    (TWO, "I", None),
    (TWO, "b", None),
    (TWO, "B and A", None),
    (TWO, "", None),
    (TWO, "这是一只狗", None),
    (TWO, "<think>B", None),
    (TWO, "<think>A?</think>B", "B"),
    (TWO, "Sorry, I can't help with images of people yet.", None),
    (NINE, "I", "I"),
    (NINE, "nine", "I"),
    (NINE, "The answer is H", "H"),
    (NINE, "I think that it is H", None),
]


def test_hard_answers(cli, tmp_path) -> None:
    ran = MMT.run(cli, tmp_path, [doc for doc, _, _ in HARD], [answer for _, answer, _ in HARD])
    rows = ran.samples("mmt_val")
    assert [row["filtered_resps"]["none"][0] or None for row in rows] == [letter for _, _, letter in HARD]
    assert [row["scores"]["accuracy,none"] for row in rows] == [float(doc["answer"] == x) for doc, _, x in HARD]


def test_the_means(cli, tmp_path) -> None:
    kinds = [("ocr", "font"), ("ocr", "font"), ("ocr", "font"), ("ocr", "hand"), ("counting", "crowd")]
    docs = [{**TWO, "l2-category": group, "category": kind} for group, kind in kinds]
    ran = MMT.run(cli, tmp_path, docs, ["B", "B", "A", "A", "B"])
    row = ran.results["results"]["mmt_val"]
    assert row["accuracy,none"] == 0.6 and row["average_of_tasks,none"] == pytest.approx((2 / 3 + 0 + 1) / 3)
    found = categories(ran, "mmt_val", "l2-category", "average_of_tasks,none")
    assert found == {"counting": 1, "ocr": pytest.approx(1 / 3)}
