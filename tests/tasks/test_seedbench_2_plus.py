"""SEED-Bench-2-Plus: prompts, hard answers by both rules, and the two means by hand."""

from pathlib import Path

import pytest

from mm_eval.scoring.filters.extraction import FirstCharacterFilter
from mm_eval.scoring.filters.letters import McqLetterFilter
from tests.sets import each_of
from tests.tasks.answers import answered, prompt

GOLD = list("BCDAADCADBBD")
QUESTION = "Which fruit has the highest bar in the chart?"
OPTIONS = "A. apples\nB. pears\nC. plums\nD. figs"
ABOVE = "Please select the correct answer from the options above."
PROMPTS = {
    "default": f"{QUESTION}\n{OPTIONS}\nAnswer with the option's letter from the given choices directly.",
    "qwen2_vl": f"Question: {QUESTION}\nOptions:\n{OPTIONS}\n{ABOVE}",
    "qwen2_5_vl": f"Question: {QUESTION}\nOptions:\n{OPTIONS}\n{ABOVE} \n",
    "qwen3_vl": f"Question: {QUESTION}\nOptions:\n{OPTIONS}\n{ABOVE} \n",
    "qwen_custom": f"Question: {QUESTION}\nOptions:\n{OPTIONS}\n{ABOVE}",
    "qwen3_custom": f"Question: {QUESTION}\nOptions:\n{OPTIONS}\nAnswer with the option letter only.",
}
HARD = [
    # answer, the letter, lmms-eval's first character
    ("B", "B", "B"), ("(B)", "B", "("), ("b", "B", "b"), ("B. pears", "B", "B"), ("The answer is (B).", "B", "T"),
    ("Answer: B because A is wrong", "B", "A"), ("pears", "B", "p"), ("\\boxed{B}", "B", "\\"), ("**B**", "B", "*"),
    ("Apples are the highest, so A", "A", "A"), ("Both A and C are plausible", None, "B"), ("", None, None),
    ("I'm sorry, I can't help with that.", None, "I"), ("答案是B", "B", "答"), ("Option B", "B", "O"), ("E", None, "E"),
]  # fmt: skip


@pytest.mark.parametrize("key", PROMPTS)
def test_the_prompt_of_each_block(cli, key: str) -> None:
    assert prompt(cli, "seedbench_2_plus", key) == PROMPTS[key]


@each_of(("answer", "letter", "first"), HARD)
def test_hard_answers(answer: str, letter: str | None, first: str | None) -> None:
    doc = {f"choice_{name}": text for name, text in zip("ABCD", ("apples", "pears", "plums", "figs"), strict=True)}
    reader = McqLetterFilter(choices=list(doc))
    assert [list(each) for each in reader.apply([[answer]], [doc])] == [[letter]]
    assert FirstCharacterFilter().one(answer) == first


def test_gold_answers_get_full_marks_and_wrong_ones_none(cli, tmp_path: Path) -> None:
    wrong = ["ABCD"["BCDA".index(letter)] for letter in GOLD]
    for said, mark in ((GOLD, 1.0), (wrong, 0.0)):
        row = answered(cli, tmp_path, "seedbench_2_plus", said).results["results"]["seedbench_2_plus"]
        assert (row["acc,none"], row["average,none"]) == (mark, mark)


def test_the_means_by_hand(cli, tmp_path: Path) -> None:
    said = list(GOLD)
    said[0] = "<think>B"
    said[1] = "no idea"
    ran = answered(cli, tmp_path, "seedbench_2_plus", said)
    row, types = ran.results["results"]["seedbench_2_plus"], ran.results["categories"]["seedbench_2_plus"]["type"]
    assert row["acc,none"] == pytest.approx(10 / 12) and row["average,none"] == pytest.approx((2 / 4 + 1 + 1) / 3)
    assert {name: each["acc,none"] for name, each in types.items()} == {"Chart": 0.5, "Map": 1.0, "Web": 1.0}
    assert (row["unparsed"], row["truncated"]) == (1, 1) and isinstance(row["average_stderr,none"], float)


def test_lmms_eval_takes_the_first_character_in_any_case(cli, tmp_path: Path) -> None:
    said = ["b", "C. plums", "The answer is D", *GOLD[3:]]
    row = answered(cli, tmp_path, "seedbench_2_plus_lmms", said).results["results"]["seedbench_2_plus_lmms"]
    assert row["seedbench_2_plus_all,none"] == pytest.approx(11 / 12)
