"""GPQA Diamond with reasoning: hard answers to the sample's first question, whose right choice is (D) Electrons."""

from collections.abc import Callable
from pathlib import Path

from tests.conftest import Ran
from tests.tasks.of_sample import read_one_doc

FILE = "Idavidrein/gpqa/gpqa_diamond/train-00000-of-00001.parquet"
ANSWERS = [  # answer, what strict-match and flexible-extract read
    ("The answer is (D).", "(D)", "(D)"),
    ("They are light. The answer is (D)", "(D", "(D)"),
    ("The answer is D.", "D", None),
    ("The answer is (d).", "(d)", None),  # only capital letters stand for choices
    ("**(D)**", None, "(D)"),
    ("Not (A), nor (B): it is (D).", None, "(D)"),
    ("(D) rather than (C).", None, "(C)"),  # the last letter counts
    ("The answer is (B) and (C).", "(B) and (C)", "(C)"),
    ("Electrons carry it.", None, "(D)"),  # the text of a choice
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
    for row, (text, *wanted) in zip(ran.samples("gpqa_diamond_cot"), ANSWERS, strict=True):
        for rule, each in zip(("strict-match", "flexible-extract"), wanted, strict=True):
            read = row["filtered_resps"][rule][0]
            assert read == (each or "[invalid]"), (text, rule)
            assert row["scores"][f"exact_match,{rule}"] == (read.strip("()").upper() == "D"), (text, rule)
