"""MATH-500: prompts, hard answers by box and mathematical equality, categories."""

from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.papers.recordings import write_answers, write_table
from tests.tasks.math_prompts import prompt_of, replay

PROBLEM = "What is $\\frac{2}{3} - \\frac{1}{6}$?"
PROMPTS = {
    None: f"{PROBLEM}\nPlease reason step by step, and put your final answer within \\boxed{{}}.",
    "answer_line": "Solve the following math problem step by step. The last line of your response should be of the form Answer: "
    f"$ANSWER (without quotes) where $ANSWER is the answer to the problem.\n\n{PROBLEM}\n\n"
    'Remember to put your answer on its own line after "Answer:", and you do not need to use a \\boxed command.',
}
HARD = [  # answer, gold, score, rule
    ("We get $\\boxed{\\frac{1}{2}}$.", "\\frac{1}{2}", 1, "boxed"),
    ("\\boxed{0.5}", "\\frac{1}{2}", 1, "boxed"),
    ("\\boxed{\\dfrac12}", "\\frac{1}{2}", 1, "boxed"),
    ("\\boxed{3/6}", "\\frac{1}{2}", 1, "boxed"),
    ("Answer: 1/2", "\\frac{1}{2}", 1, "answer_is"),
    ("**Answer:** $\\frac{1}{2}$", "\\frac{1}{2}", 1, "answer_is"),
    ("The answer is one half.", "\\frac{1}{2}", 0, "answer_is"),
    ("\\boxed{50\\%}", "50", 1, "boxed"),
    ("25 %", "25", 1, "whole_answer"),
    ("\\boxed{1,234.50}", "1234.5", 1, "boxed"),
    ("\\boxed{x = 7}", "7", 1, "boxed"),
    ("\\boxed{7 \\text{ cm}}", "7", 1, "boxed"),
    ("\\boxed{(1,2)}", "(1, 2)", 1, "boxed"),
    ("\\boxed{(2,1)}", "(1, 2)", 0, "boxed"),
    ("\\boxed{-2, 3}", "3, -2", 1, "boxed"),
    ("\\boxed{\\text{Even}}", "\\text{even}", 1, "boxed"),
    ("\\boxed{B}", "\\text{(B)}", 1, "boxed"),
    ("\\boxed{2} and then \\boxed{3}", "3", 1, "boxed"),
    ("\\boxed{0.333}", "\\frac{1}{3}", 0, "boxed"),
    ("\\boxed{}", "3", 0, "unparsed"),
    ("First I add 2 and 3.\nThen I get 5.", "5", 0, "unparsed"),  # no number is picked from the text
    ("I cannot answer this question, because the picture it speaks of is missing.", "3", 0, "unparsed"),
    ("答案是 3。", "3", 1, "answer_is"),
    ("<think>It is \\boxed{3}, I think", "3", 0, "truncated"),
    ("<think>\\boxed{4}</think>\\boxed{3}", "3", 1, "boxed"),
]


@pytest.mark.parametrize("key", PROMPTS)
def test_the_prompts(cli, key: str | None) -> None:
    assert prompt_of(cli, "math500", 1, key) == PROMPTS[key]


def test_hard_answers(cli, tmp_path: Path) -> None:
    names = ("problem", "solution", "subject", "unique_id")
    rows = [{**dict.fromkeys(names, "?"), "answer": gold, "level": 1} for _, gold, _, _ in HARD]
    write_table(tmp_path / "data", "HuggingFaceH4/MATH-500", "test", rows)
    path = write_answers(tmp_path / "answers.jsonl", {"math500": [answer for answer, *_ in HARD]})
    arguments = ("--model", "replay", "--model_args", f"path={path}", "--data_root", tmp_path / "data")
    ran = cli("--tasks", "math500", *arguments)
    assert ran.code == 0, ran.err
    found = [(row["scores"]["math_equal,none"], row["rules"]["none"]) for row in ran.samples("math500")]
    assert found == [(score, [rule]) for _, _, score, rule in HARD]


def test_categories_and_worked_solutions(cli, tmp_path: Path) -> None:
    """The worked solutions of the sample are right answers; one is left out."""
    import pyarrow.parquet as pq

    file = ROOT / "assets/data/HuggingFaceH4/MATH-500/default/test-00000-of-00001.parquet"
    solutions = pq.read_table(file).column("solution").to_pylist()
    ran = replay(
        cli,
        tmp_path,
        "math500",
        ["I don't know, since this is too hard for me; please ask someone else.", *solutions[1:]],
    )
    assert ran.results["results"]["math500"]["math_equal,none"] == pytest.approx(12 / 13)
    found = ran.results["categories"]["math500"]
    assert {name: row["math_equal,none"] for name, row in found["level"].items()} == {
        "1": 0.75,
        "2": 1,
        "3": 1,
        "4": 1,
        "5": 1,
    }
    assert found["subject"]["Prealgebra"]["math_equal,none"] == 0.5
