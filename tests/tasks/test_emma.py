"""EMMA-mini: its prompts, the answers that its rule finds, and when they are equal to the gold ones."""

from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.emma.utils import process_results

from tests.papers.recordings import write_answers
from tests.sets import each_of

BOX = 'put the letter in one "\\boxed{}". '


def prompt_of(cli: Any, tmp_path: Path, doc: int, *more: str) -> Any:
    answers = write_answers(tmp_path / "a.jsonl", {"emma_mini": ["B"] * 10})
    ran = cli(
        "--tasks", "emma-mini", "--model", "replay", "--model_args", f"path={answers}", "--sample", "--apply_chat_template", *more
    )  # fmt: skip
    assert ran.code == 0, ran.err
    [turn] = ran.samples("emma_mini")[doc]["prompt"]
    return turn["content"]


@pytest.mark.parametrize(
    ("more", "strategy"),
    [
        ((), "Please solve the problem step by step."),
        (("--prompt_key", "direct"), "Please ensure that your output only contains the final answer without any additional "
         "content (such as intermediate reasoning steps)."),
    ],
)  # fmt: skip
def test_the_prompt_has_the_pictures_at_their_tokens(cli: Any, tmp_path: Path, more: Any, strategy: str) -> None:
    first, one, between, two, last = prompt_of(cli, tmp_path, 1, *more)
    assert one == two == {"type": "image"}
    assert first["text"].startswith("\nWhich picture has a ") and first["text"].endswith("?\nA: ")
    assert between["text"] == "\nB: "
    assert last["text"] == f"\n\nAnswer with the option's letter from the given choices and {BOX}{strategy}"


def test_the_prompt_of_an_open_question(cli: Any, tmp_path: Path) -> None:
    lead, picture, asked = prompt_of(cli, tmp_path, 2)
    assert (lead["text"], picture["type"]) == ("\n", "image")
    assert asked["text"] == (
        "\nHow many shapes are there?\nAnswer the question using a single word or phrase and put the answer in one "
        '"\\boxed{}". Please solve the problem step by step.'
    )


CHOICE = [  # the gold is C, square, of circle, cross, square, star
    ("C", 1, "letter"),
    ("c", 1, "letter"),
    ("C. square", 1, "letter"),
    ("C: B is wrong", 1, "letter"),
    (r"So \boxed{C}.", 1, "boxed"),
    (r"\boxed{A} no, \boxed{\text{C}}", 1, "boxed"),
    (r"\boxed{square}", 1, "boxed"),
    (r"\boxed{C: square}", 0, "boxed"),
    (r"\boxed{}", 0, "unparsed"),
    ("The answer is C.", 1, "answer is"),
    ("The answer is (C).", 0, "answer is"),
    ("**Answer:** C", 0, "answer is"),
    ("Answer: C because A is wrong", 0, "answer is"),
    ("The correct answer is\nC.", 1, "answer is"),
    ("A square is what I see", 0, "unparsed"),
    ("(C)", 0, "unparsed"),
    ("答案是C", 0, "unparsed"),
    ("I cannot answer this question.", 0, "unparsed"),
    ("", 0, "unparsed"),
    ("<think>C or D?", 0, "unparsed"),
]
OPEN = [  # the gold is 3
    ("3", 1, "number"),
    ("3.0", 1, "number"),
    (r"\boxed{3}", 1, "boxed"),
    (r"\boxed{\text{three}}", 1, "boxed"),
    (r"\boxed{\frac{6}{2}}", 1, "boxed"),
    (r"\boxed{$\dfrac{9}{3}$}", 1, "boxed"),
    (r"\boxed{3 \text{ shapes}}", 0, "boxed"),
    (r"\boxed{x = 3}", 1, "boxed"),
    (r"\boxed{3\%}", 0, "boxed"),
    ("The answer is three shapes.", 1, "answer is"),
    ("The answer is 3.5", 1, "answer is"),
    ("1,234.50", 0, "unparsed"),
    ("25 %", 0, "unparsed"),
    ("nan", 0, "number"),
]


@each_of(("answer", "score", "rule"), CHOICE)
def test_an_answer_to_a_question_with_options(answer: str, score: float, rule: str) -> None:
    doc = {"type": "Multiple Choice", "answer": "C", "options": ["circle", "cross", "square", "star"]}
    found = process_results(doc, ["" if answer.startswith("<think>") else answer])
    assert found == {"acc": score, "__rule__": rule}


@each_of(("answer", "score", "rule"), OPEN)
def test_an_answer_to_an_open_question(answer: str, score: float, rule: str) -> None:
    assert process_results({"type": "Open-ended", "answer": "3", "options": None}, [answer]) == {
        "acc": score, "__rule__": rule
    }  # fmt: skip


def test_unclosed_thinking_is_wrong_and_a_letter_after_thinking_counts(cli: Any, tmp_path: Path) -> None:
    said = ["<think>A?", "<think>A?</think>\\boxed{B}"]
    answers = write_answers(tmp_path / "a.jsonl", {"emma_mini": said})
    ran = cli("--tasks", "emma_mini", "--model", "replay", "--model_args", f"path={answers}", "--sample", "--limit", 2)
    assert ran.code == 0, ran.err
    assert [row["scores"]["acc,none"] for row in ran.samples("emma_mini")] == [0, 1]
    assert ran.results["results"]["emma_mini"]["truncated"] == 1


def test_categories_by_hand(cli: Any, tmp_path: Path) -> None:
    answers = write_answers(tmp_path / "a.jsonl", {"emma_mini": ["?", "B", "?", "?", "B", "?", "B", "?", "?", "B"]})
    ran = cli("--tasks", "emma_mini", "--model", "replay", "--model_args", f"path={answers}", "--sample")
    levels = ran.results["categories"]["emma_mini"]
    shown = {level: {name: (each["n"], each["acc,none"]) for name, each in of.items()} for level, of in levels.items()}
    third, half = pytest.approx(1 / 3), pytest.approx(1 / 2)
    assert shown["subject"] == {"Chemistry": (3, third), "Coding": (2, half), "Math": (3, third), "Physics": (2, half)}
    assert shown["type"] == {"multiple choice": (8, half), "open-ended": (2, 0)}
    assert shown["category"]["Coding: Legend"] == shown["category"]["Coding: Color & Texture"] == (1, 0)
    assert shown["category"]["Coding: Gridline"] == (1, 1)
    assert shown["task"] == {"Coding: Vis Choose Code": (2, half)}
