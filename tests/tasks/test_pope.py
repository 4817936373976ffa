"""POPE: prompts, rates by hand, and lmms-eval's variant."""

from pathlib import Path

import pytest

from tests.sets import few
from tests.tasks.answers import answered, prompt

GOLD = ["yes", "no"] * 9
SHORT = "\nAnswer the question using a single word or phrase."
ENDINGS = {
    "default": "",
    "llava": SHORT,
    "internvl": SHORT,
    "qwen_vl": " Answer:",
    "qwen2_vl": " Please answer yes or no.",
    "qwen2_5_vl": "",
    "qwen3_vl": "",
    "qwen_custom": " Please answer yes or no.",
    "qwen3_custom": " Please answer yes or no.",
}


@pytest.mark.parametrize("key", ENDINGS)
def test_the_prompt_of_each_block(cli, key: str) -> None:
    question = prompt(cli, "pope").strip()
    assert question.startswith("Is there a ") and question.endswith(" in the image?")
    assert prompt(cli, "pope", key) == question + ENDINGS[key]


def test_lmms_evals_variant_asks_for_a_word(cli) -> None:
    assert prompt(cli, "pope_lmms") == prompt(cli, "pope") + SHORT


def test_gold_answers_get_full_marks_and_wrong_ones_none(cli, tmp_path: Path) -> None:
    row = answered(cli, tmp_path, "pope", GOLD).results["results"]["pope"]
    assert [row[f"{name},none"] for name in ("acc", "precision", "recall", "f1", "f1_mean", "yes_rate")] == [1] * 5 + [
        0.5
    ]
    wrong = ["no" if answer == "yes" else "yes" for answer in GOLD]
    row = answered(cli, tmp_path, "pope", wrong).results["results"]["pope"]
    assert [row[f"{name},none"] for name in ("acc", "precision", "recall", "f1", "f1_mean")] == [0] * 5
    assert row["yes_rate,none"] == 0.5


def test_the_rates_by_hand(cli, tmp_path: Path) -> None:
    # adversarial: 3 right yes, 2 said yes wrongly; popular: 1 right yes; random: all right
    said = ["Yes.", "Yes", "Yes", "Perhaps", "Yes", "No"]  # "Perhaps" is read as yes
    said += ["No", "No", "There is no star.", "no", "Yes, there is", "not"]
    said += GOLD[:6]
    row = answered(cli, tmp_path, "pope", said).results["results"]["pope"]
    adversarial, popular = 2 * 3 / (5 + 3), 2 * 1 / (1 + 3)
    assert row["f1_mean,none"] == pytest.approx((adversarial + popular + 1) / 3)
    assert row["f1,none"] == pytest.approx(2 * 7 / (9 + 9))
    assert row["precision,none"] == pytest.approx(7 / 9) and row["recall,none"] == pytest.approx(7 / 9)
    assert row["acc,none"] == pytest.approx(14 / 18) and row["yes_rate,none"] == 0.5
    assert row["unparsed"] == 1
    assert all(row[f"{name}_stderr,none"] > 0 for name in ("f1_mean", "f1", "precision", "recall", "acc"))


def test_only_no_has_no_precision_and_no_f1(cli, tmp_path: Path) -> None:
    row = answered(cli, tmp_path, "pope", ["No"] * 18).results["results"]["pope"]
    assert [row[f"{name},none"] for name in ("acc", "precision", "recall", "f1", "yes_rate")] == [0.5, 0, 0, 0, 0]


def test_an_answer_that_is_still_thinking_is_neither_yes_nor_no(cli, tmp_path: Path) -> None:
    row = answered(cli, tmp_path, "pope", ["<think>yes"] * 18).results["results"]["pope"]
    assert [row[f"{name},none"] for name in ("acc", "precision", "recall", "f1", "yes_rate")] == [0] * 5
    assert (row["unparsed"], row["truncated"]) == (0, 18)


def test_lmms_eval_counts_only_whole_answers_and_the_gold_yes(cli, tmp_path: Path) -> None:
    said = ["Yes.", "no"] * 3 + ["yes", "No"] * 5 + [" no ", "yes"]
    row = answered(cli, tmp_path, "pope_lmms", said).results["results"]["pope_lmms"]
    # of nine gold yes: three unread, five right, one missed; of nine gold no: one wrong
    assert row["pope_accuracy,none"] == pytest.approx(13 / 18)
    assert row["pope_precision,none"] == pytest.approx(5 / 6) and row["pope_recall,none"] == pytest.approx(5 / 6)
    assert row["pope_f1_score,none"] == pytest.approx(5 / 6) and row["pope_yes_ratio,none"] == 0.5
    assert row["unparsed"] == 3


@pytest.mark.parametrize(("task", "share"), few([("pope", "yes_rate"), ("pope_lmms", "")], at=[0]))
def test_a_missing_answer_counts_as_the_wrong_one_of_yes_and_no(cli, tmp_path: Path, task: str, share: str) -> None:
    """It was left out of lmms-eval's recall and F1, and of the precision, so that a filter gave better numbers than an error."""
    opposite = {"yes": "no", "no": "yes"}
    wrong = answered(cli, tmp_path, task, [*map(opposite.__getitem__, GOLD[:8]), *GOLD[8:]])
    lost = answered(cli, tmp_path, task, [*["<think>so far"] * 8, *GOLD[8:]])
    one, other = (ran.results["results"][task] for ran in (wrong, lost))
    values = {name for name in one if name.endswith(",none") and "_stderr" not in name} - {f"{share},none"}
    assert len(values) >= 5 and {name: other[name] for name in values} == {name: one[name] for name in values}
    assert other["unanswered"] == 8 and set(other["value_without_unanswered"].values()) <= {1, 0.5}
    if share:
        assert other["yes_rate,none"] == 5 / 18, "no answer is no yes"
