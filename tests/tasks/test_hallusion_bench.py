"""HallusionBench: prompts, and the shares of right answers, questions and figures by hand."""

from pathlib import Path

import pytest

from tests.tasks.answers import answered, prompt

GOLD = ["yes", "no", "no", "yes"] * 2 + ["no", "no", "yes", "yes"]
SHORT = " Please answer yes or no."
ENDINGS = {
    "default": "",
    "qwen_vl": " Answer:",
    "qwen2_vl": SHORT,
    "qwen2_5_vl": "",
    "qwen3_vl": "",
    "qwen_custom": SHORT,
    "qwen3_custom": SHORT,
    "internvl": SHORT + " Answer the question using a single word or phrase.",
}


@pytest.mark.parametrize("key", ENDINGS)
def test_the_prompt_of_each_block(cli, key: str) -> None:
    assert prompt(cli, "hallusion_bench_image", key) == "Do both balls have the same color?" + ENDINGS[key]


def test_gold_answers_get_full_marks_and_wrong_ones_none(cli, tmp_path: Path) -> None:
    names = ("aAcc", "fAcc", "qAcc", "average")
    wrong = ["no" if answer == "yes" else "yes" for answer in GOLD]
    for said, mark in ((GOLD, 1), (wrong, 0)):
        row = answered(cli, tmp_path, "hallusion_bench_image", said).results["results"]["hallusion_bench_image"]
        assert [row[f"{name},none"] for name in names] == [mark] * 4 and row["n"] == 12


def test_two_runs_can_be_compared_by_every_number(cli, tmp_path: Path) -> None:
    right, wrong = (answered(cli, tmp_path, "hallusion_bench_image", said).folder for said in (GOLD, ["yes"] * 12))
    ran = cli("compare", right, wrong, "--categories")
    assert ran.code == 0 and "can't be compared" not in ran.out + ran.err
    assert all(name in ran.out for name in ("average", "aAcc", "fAcc", "qAcc"))


def test_the_shares_by_hand(cli, tmp_path: Path) -> None:
    said = list(GOLD)
    said[1] = "Yes, there is no dog"  # both words: unparsed and wrong
    said[8] = "The statement is correct"  # none: unparsed and wrong
    said[11] = "No."
    row = answered(cli, tmp_path, "hallusion_bench_image", said).results["results"]["hallusion_bench_image"]
    assert row["aAcc,none"] == pytest.approx(9 / 12)
    # set 0 of illusion and that of table both have question 0 and 1: the category in the key keeps them apart
    assert row["qAcc,none"] == pytest.approx(3 / 6) and row["fAcc,none"] == pytest.approx(3 / 6)
    assert row["average,none"] == pytest.approx((9 / 12 + 3 / 6 + 3 / 6) / 3)
    assert row["unparsed"] == 2
    assert all(isinstance(row[f"{name}_stderr,none"], float) for name in ("aAcc", "fAcc", "qAcc", "average"))
