"""GPQA Diamond: hard answers to a question with reasoning, and the order of its choices."""

import random
from collections.abc import Callable
from pathlib import Path

from tests.conftest import Ran
from tests.tasks.of_sample import read_one_doc

RIGHT = "the letter of 2.0 eV"
FILE = "Idavidrein/gpqa/gpqa_diamond/train-00000-of-00001.parquet"
ANSWERS = [  # answer, what strict-match and flexible-extract read
    ("The answer is (D).", "(D)", "(D)"),
    ("It is 1240 / 620. The answer is (D)", "(D", "(D)"),
    ("The answer is D.", "D", None),
    ("The answer is (d).", "(d)", None),  # only capital letters stand for choices
    ("**(D)**", None, "(D)"),
    ("Not (A), nor (B): it is (D).", None, "(D)"),
    ("(D) rather than (C).", None, "(C)"),  # the last letter counts
    ("The answer is (B) and (C).", "(B) and (C)", "(C)"),
    ("1240 / 620 gives 2.0 eV", None, RIGHT),  # the text of a choice
    ("Answer: D", None, "(D)"),  # a letter after a colon
    ("\\boxed{D}", None, None),
    ("La respuesta es (D).", None, "(D)"),
    ("The answer is (E).", "(E)", "(E)"),
    ("I can't answer that.", None, None),
    ("<think>(D), I think</think>The answer is (A).", "(A)", "(A)"),
    ("<think>The answer is (D).", None, None),  # thinking that never ends is no answer
    ("", None, None),
]


def test_hard_answers(cli: Callable[..., Ran], tmp_path: Path) -> None:
    ran = read_one_doc(cli, tmp_path, "gpqa_diamond_cot", FILE, 0, [answer for answer, *_ in ANSWERS])
    assert ran.code == 0, ran.err
    # the seed draws another order for each copy of the question
    rows = ran.samples("gpqa_diamond_cot")
    assert {row["target"] for row in rows} == {"(A)", "(B)", "(C)", "(D)"}
    for row, (text, *wanted) in zip(rows, ANSWERS, strict=True):
        for rule, each in zip(("strict-match", "flexible-extract"), wanted, strict=True):
            read = row["filtered_resps"][rule][0]
            assert read == (row["target"] if each == RIGHT else each or "[invalid]"), (text, rule)
            assert row["scores"][f"exact_match,{rule}"] == (read.strip("()").upper() == row["target"][1]), (text, rule)


def test_order(cli: Callable[..., Ran]) -> None:
    """Seed 0 draws the order of one question after the other, from three wrong choices and the right one."""
    ran = cli("--tasks", "gpqa_diamond", "--model", "dummy", "--sample")
    stream = random.Random(0)
    for row in ran.samples("gpqa_diamond"):
        order = [0, 1, 2, 3]
        stream.shuffle(order)
        assert row["target"] == order.index(3)
