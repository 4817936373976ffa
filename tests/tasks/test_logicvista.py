"""LogicVista: its prompts, the letters of hard answers, and answers with several letters."""

from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.rules.option_list import shown_options

from mm_eval.scoring.filters import FILTERS
from mm_eval.scoring.filters.base import rule_of
from tests.papers.recordings import write_answers
from tests.sets import each_of

ODD = "Which choice (A, B, C or D) is the odd one out?"


@pytest.mark.parametrize(
    ("block", "end"),
    [
        ("default", ""),
        ("qwen2_vl", "\nPlease try to answer the question with short words or phrases if possible."),
        ("qwen_custom", "\nPlease try to answer the question with short words or phrases if possible."),
        ("qwen2_5_vl", ""),
        ("qwen3_vl", ""),
        ("qwen3_custom", "\nPlease answer concisely with short words or phrases when possible."),
    ],
)
def test_the_prompt_is_the_question(cli: Any, tmp_path: Path, block: str, end: str) -> None:
    answers = write_answers(tmp_path / "a.jsonl", {"logicvista": ["B"]})
    ran = cli(
        "--tasks", "logicvista_reasoning", "--model", "replay", "--model_args", f"path={answers}", "--sample", "--limit", 1,
        "--prompt_key", block,
    )  # fmt: skip
    assert ran.code == 0, ran.err
    assert ran.samples("logicvista")[0]["prompt"] == ODD + end


@each_of(
    ("answer", "letters"),
    [
        ("B", "B"),
        ("b", "B"),
        ("(C).", "C"),
        ("The answer is (B).", "B"),
        ("B. the square", "B"),
        ("Answer: B because A is wrong", "B"),
        (r"\boxed{B, D}", "B, D"),
        (r"So the result is \boxed{\text{A}}.", "A"),
        ("D and B", "B, D"),
        ("['a', 'c']", "A, C"),
        ("c, c, c", "C, C, C"),
        ("- A\n- C", "A, C"),
        ("1. A\n2. C", "A, C"),
        ("A. cat, C. bird", "A, C"),
        ("A. cat\nB. dog\nC. bird", None),
        (r"\boxed{A}, \boxed{C}", "A, C"),
        (r"First \boxed{A}. Then it is \boxed{C}", "C"),
        ("A: true, B: false, C: true", "A, C"),
        ("A: yes\nB: no", "A"),
        ("A is true. B is false. C is true.", "A, C"),  # was "C"
        ("Option A is correct, option B is incorrect, and option C is correct.", "A, C"),
        ("A is not correct. C is correct.", "C"),
        ("(A)(C)", "A, C"),
        ("A and A", "A"),
        ("(A, B, C, or D)", "A, B, C, D"),
        ("The correct answers are A and C.", "A, C"),
        ("I choose options B, D because they fit.", "B, D"),
        ("USER: what? ASSISTANT: D", "D"),
        ("A is wrong.\nThe dots move.\nB, D", "B, D"),
        ("答案是B", "B"),
        ("3", "3"),
        ("BD", "B, D"),
        ("25 %", None),
        ("1,234.50", None),
        ("FEED", None),
        ("zzzzz", None),
        ("cube", None),
        ("#", None),
        ("", None),
        ("I cannot answer this question.", None),
        ("The wheel turns at 20 km/h.", None),
        ('{"answer": ["A", "C"]}', "A, C"),
        ("I choose A as well as C.", "A, C"),
        ("A \u2713\nB \u2717\nC \u2713", "A, C"),
        ("A. True\nB. False\nC. True", "A, C"),
        ("A only", "A"),
        ("Only A and C are correct", "A, C"),
        ("All of A, B and C", "A, B, C"),
        ("The options that apply are B, D, and E.", "B, D, E"),
        ("Statements A and C are true.", "A, C"),
        ("答案是A、C", "A, C"),
        ("选A和C", "A, C"),
        ("A, C are incorrect; the answer is B, D.", "B, D"),
        ("A and B are wrong, so C.", "C"),
        ("Neither A nor B.", None),
        ("A or C", None),  # each was "A, C", or "A, B, C": right where these are the right letters
        ("The answer is (A) or (C).", None),
        (r"\boxed{A \text{ or } C}", None),
        ("The answers are A, B or C.", None),
        ("Options A or C", None),
        ("A or C?\nB, D", "B, D"),
        ("A or A", "A"),
        ("It follows from statements A and B. So statement D is incorrect.", None),  # was "A, B"
        ("Therefore statements A and B are both true.", "A, B"),
    ],
)
def test_the_letters_of_an_answer(answer: str, letters: str | None) -> None:
    found = FILTERS.get("option_list")().one(answer)
    assert found == letters
    assert (rule_of(found) == "unparsed") is (letters is None)


@each_of(
    ("answer", "letters"),
    [
        ("£550", "B"),
        ("550", "B"),
        ("It is 560.", "C"),
        ("The answer is B.", "B"),
        ("A, C", "A, C"),
        ("570", None),
        ("Between 540 and 550", None),
    ],
)
def test_an_answer_in_the_words_of_an_option_that_the_question_lists(answer: str, letters: str | None) -> None:
    options = shown_options("How much is it? Select from (A), (B) and (C). (A) 540, (B) 550 (C)  560")
    assert options == ["540", "550", "560"]
    assert FILTERS.get("option_list")().one(answer, options) == letters


def test_a_question_without_options_lists_none() -> None:
    assert shown_options("Which choice (A, B, C or D) is it?") == shown_options("(A) one (C) three") == []


def test_all_letters_must_be_the_right_ones_and_unclosed_thinking_is_unparsed(cli: Any, tmp_path: Path) -> None:
    said = ["The answer is B.", "A, B", "<think>A or B", "B and A", "C"]
    answers = write_answers(tmp_path / "a.jsonl", {"logicvista": said})
    ran = cli("--tasks", "logicvista", "--model", "replay", "--model_args", f"path={answers}", "--sample", "--limit", 5)
    assert [row["target"] for row in ran.samples("logicvista")] == ["B", "B", "A", "A, B", "B"]
    found = ran.results["results"]["logicvista"]
    assert (found["acc_rules,none"], found["unparsed_share,none"], found["unparsed"], found["truncated"]) == (
        0.4,
        0.2,
        0,
        1,
    )
    skills = ran.results["categories"]["logicvista"]["skill"]
    assert {name: each["acc_rules,none"] for name, each in skills.items()} == {
        "inductive": 1, "deductive": 0, "numerical": 0, "spatial": 1, "mechanical": 0
    }  # fmt: skip
