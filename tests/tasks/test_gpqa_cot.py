"""GPQA Diamond with reasoning: hard answers to the sample's first question, whose right choice is (D) Electrons."""

from collections.abc import Callable
from pathlib import Path

from tests.conftest import Ran
from tests.tasks.of_sample import read_one_doc

FILE = "Idavidrein/gpqa/gpqa_diamond/train-00000-of-00001.parquet"
ANSWERS = [  # answer, what none (the headline), strict-match and flexible-extract read
    ("The answer is (D).", "D", "(D)", "(D)"),
    ("They are light. The answer is (D)", "D", "(D", "(D)"),
    ("The answer is D.", "D", "D", None),
    ("The answer is (d).", "D", "(d)", None),  # only capital letters stand for choices in lm-eval's rules
    ("**(D)**", "D", None, "(D)"),
    ("**D**", "D", None, None),
    ("D", "D", None, None),
    ("Answer: **D**", "D", None, None),
    ("Not (A), nor (B): it is (D).", None, None, "(D)"),
    ("(D) rather than (C).", "D", None, "(C)"),  # the last letter counts in lm-eval's rule
    ("The answer is (B) and (C).", None, "(B) and (C)", "(C)"),
    ("Electrons carry it.", "D", None, "(D)"),  # the text of a choice
    ("Electrons", "D", None, "(D)"),
    ("Answer: D", "D", None, "(D)"),  # a letter after a colon
    ("They are light.\n\nFinal answer: \\boxed{D}", "D", None, None),
    ("\\boxed{D}", "D", None, None),
    ("La respuesta es (D).", "D", None, "(D)"),
    ("The answer is (E).", None, "(E)", "(E)"),
    ("I can't answer that.", None, None, None),
    ("<think>(D), I think</think>The answer is (A).", "A", "(A)", "(A)"),
    ("<think>The answer is (D).", None, None, None),  # thinking that never ends is no answer
    ("", None, None, None),
]


def test_hard_answers(cli: Callable[..., Ran], tmp_path: Path) -> None:
    ran = read_one_doc(cli, tmp_path, "gpqa_diamond_cot", FILE, 0, [answer for answer, *_ in ANSWERS])
    assert ran.code == 0, ran.err
    for row, (text, *wanted) in zip(ran.samples("gpqa_diamond_cot"), ANSWERS, strict=True):
        for rule, each in zip(("none", "strict-match", "flexible-extract"), wanted, strict=True):
            read = row["filtered_resps"][rule][0]
            unread = (None, "", "[invalid]")
            assert read == each or (each is None and read in unread), (text, rule)
            assert row["scores"][f"exact_match,{rule}"] == ((read or "").strip("()").upper() == "D"), (text, rule)
