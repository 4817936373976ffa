"""MMVP: the prompts, letters read by rule, pairs of which both must be right, and the authors' judge."""

import pytest
from mm_eval.tasks.mmvp.utils import judge_prompt, verdict

from tests.tasks.judged import judged
from tests.tasks.made_up import MadeUp, prompt

MMVP = MadeUp("mmvp", "lmms-lab-eval/MMVP", "train")
DOC = {"Question": "Are the doors open?", "Options": "(a) Open (b) Closed", "Correct Answer": "(b)"}


def test_the_prompts(cli) -> None:
    assert prompt(cli, "mmvp") == "Is the square on the left or on the right? (a) Left (b) Right"
    lines = "Is the square on the left or on the right?\nA. Left\nB. Right\n"
    letter = "Answer with the option's letter from the given choices directly."
    assert prompt(cli, "mmvp", "lmms") == prompt(cli, "mmvp", "internvl") == lines + letter
    assert prompt(cli, "mmvp", "qwen3_vl").endswith(
        "A. Left\nB. Right\nPlease select the correct answer from the options above. \n"
    )


HARD = [  # answer, whether it means (b), read
    ("(b)", True),
    ("b", True),
    ("B", True),
    ("(b) Closed", True),
    ("Closed", True),
    ("The doors are closed.", True),
    ("**B**", True),
    ("(a)", False),
    ("Open", False),
    ("A dog stands in front of it.", None),
    ("They may be open or closed.", None),
    ("", None),
    ("<think>b", None),
    ("<think>a?</think>b", True),
]


def test_hard_answers(cli, tmp_path) -> None:
    ran = MMVP.run(cli, tmp_path, [{**DOC, "Index": n + 1} for n in range(len(HARD))], [answer for answer, _ in HARD])
    rows = ran.samples("mmvp")
    assert [row["scores"]["accuracy,none"] for row in rows] == [float(right is True) for _, right in HARD]
    found = [row["rules"]["none"][0] not in ("unparsed", "truncated", "ambiguous") for row in rows]
    assert found == [right is not None for _, right in HARD]


def test_a_pair_counts_if_both_are_right(cli, tmp_path) -> None:
    docs = [{**DOC, "Index": n + 1, "Correct Answer": ("(a)", "(b)")[n % 2]} for n in range(6)]
    ran = MMVP.run(cli, tmp_path, docs, ["a", "b", "a", "a", "b", "a"])
    row = ran.results["results"]["mmvp"]
    assert row["accuracy,none"] == 0.5 and row["pair_accuracy,none"] == pytest.approx(1 / 3)


def test_options_that_are_none_are_an_error(cli, tmp_path) -> None:
    root = MMVP.write(tmp_path, [{**DOC, "Options": "open or closed"}])
    ran = cli("--tasks", "mmvp", "--model", "dummy", "--data_root", root, "--output_path", tmp_path / "run")
    assert ran.code == 2 and "'Options' has 0 options" in ran.err


def test_the_judge_says_yes_or_no(cli, tmp_path) -> None:
    assert judge_prompt(DOC, "shut")[1]["content"] == (
        "Given the following question Are the doors open? (a) Open (b) Closed, the correct answer is (b). "
        "Does the following answer correctly answers the question, answer:shut?"
    )
    assert [verdict(reply, {"letter": "A"}) for reply in ("Yes", "no", "yes.", "maybe")] == ["A", "B", None, None]
    replies = ["yes", "yes", "Yes", "no", "no", "no", "yes", "no", "yes", "yes"]
    row = judged(cli, tmp_path, "mmvp_judged", ["?"] * 10, replies).results["results"]["mmvp_judged"]
    assert row["accuracy,none"] == 0.6 and row["pair_accuracy,none"] == 0.4
