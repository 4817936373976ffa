"""TIR-Bench: marks of extracted answers, and what a judge is asked about.

Marks: the authors' calculate_score.py at f79c756, but for "13,0", "[6, 3]" (math_verify: 13 and 3) and an empty text (A).
"""

from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.tir_bench.utils import answer_of, extraction, judge_prompt, process_results

from tests.sets import each_of
from tests.tasks.judged import judged
from tests.tasks.made_up import categories

ASKED = "Which? A. red B. green C. blue D 4 cm"
MARKS = [
    # kind, answer, text, mark
    ("color", "B", "B", 1), ("color", "B", "green", 1), ("color", "B", "(B)", 1), ("color", "D", "4 cm", 1),
    ("color", "A", "none", 1),
    ("color", "B", "none", 0), ("color", "B", "The answer is B", 1), ("color", "I", "I am sure: B", 0),
    ("color", "B", "I am sure: B", 1),
    ("color", "CD", "DC", 1), ("color", "CD", "C", 0), ("color", "A", "", 0), ("color", "B", "Extracted answer: B", 1),
    ("math", "13", "13 minutes", 1), ("math", "13", "**13**", 1), ("math", "13", "13.0", 1), ("math", "13", "\\boxed{13}", 1),
    ("math", "13", "13 or 14", 0), ("math", "13", "13,0", 0), ("math", "0.6", "3/5", 1), ("math", "0.6", "about 0.6", 1),
    ("math", "4", "four", 0), ("math", "4", "-4", 0),
    ("word_search", "[3, 6]", "3, 6", 1), ("word_search", "[3, 6]", "row 3, column 6", 0), ("word_search", "3", "3 times", 1),
    ("word_search", "3", "[6, 3]", 0), ("spot_difference", "[2, 6, 7]", "2 and 6", 2 / 3), ("spot_difference", "4", "4", 1),
    ("spot_difference", "[2, 6, 7]", "2, 6, 7, 8", 3 / 4), ("spot_difference", "[2]", "none", 0),
    ("jigsaw", "1, 2, 3, 4", "1, 2, 4, 3", 1 / 2), ("jigsaw", "1, 2, 3, 4", "Of 4 pieces: 1 2\n3 4", 1),
    ("jigsaw", "1, 2, 3, 4", "1, 2", 0),
    ("ocr", "mobi", "It says mobi.", 1), ("ocr", "mobi", "MOBI", 0), ("maze", "[1]", "[1]", 0),
]  # fmt: skip


def doc(task: str, answer: str, picture: str = "data/1.jpg") -> dict[str, Any]:
    return {
        "task": task,
        "answer": answer,
        "prompt": ASKED,
        "image_1": picture,
        "image_2": None,
        "meta_data": {"difficulty": 2},
    }


@each_of(("task", "answer", "text", "mark"), MARKS)
def test_the_mark_of_a_text(task: str, answer: str, text: str, mark: float) -> None:
    assert process_results(doc(task, answer), [text])["acc"] == pytest.approx(mark)


@each_of(
    ("task", "text", "is_read"),
    [("color", "B", True), ("color", "CD", True), ("color", "The answer is B", False), ("math", "-1.5", True),
     ("jigsaw", "[2, 1, 4, 3]", True), ("math", "", False), ("ocr", "It is long.", True), ("ocr", "", False)],
)  # fmt: skip
def test_an_answer_as_it_stands_needs_no_judge(task: str, text: str, is_read: bool) -> None:
    assert (process_results(doc(task, "B"), [text])["__rule__"] != "unparsed") == is_read


def test_two_words_are_those_that_the_authors_correct() -> None:
    assert (
        answer_of(doc("ocr", "x", "data/ocr/60.jpg")) == "mobi"
        and answer_of(doc("ocr", "x", "data/ocr/162.jpg")) == "aires"
    )
    assert answer_of(doc("color", "B", "data/60.jpg")) == "B"


def test_what_the_judge_is_asked_and_says() -> None:
    asked = judge_prompt(doc("color", "B"), "It is green.")
    assert asked.endswith(
        f"Extracted answer: 3, 1, 4, 2\n\nQuestion: {ASKED}\n\nModel response: It is green.\n\nExtracted answer: "
    )
    assert [extraction(reply) for reply in ("B", " Extracted answer: [3, 6]\n", "Extracted answer:", "")] == [
        "B",
        "[3, 6]",
        None,
        None,
    ]


def test_the_numbers_of_a_run(cli: Any, tmp_path: Path) -> None:
    """The judge is asked about two replies; the jigsaw has two pieces in their places."""
    said = ["B", "There are five.", "[2, 3]", "5 and 6", "2, 4, 3, 1", "taxi!", "2.4"]
    ran = judged(cli, tmp_path, "tir_bench", said, [None, "5", None, "[5, 6]", None, None, None])
    assert [row["target"] for row in ran.samples("tir_bench")] == [
        "B",
        "5",
        "[2, 3]",
        "[5, 6, 8]",
        "2, 4, 1, 3",
        "taxi",
        "2.5",
    ]
    by_kind = categories(ran, "tir_bench", "task", "acc,none")
    assert by_kind == {
        "color": 1, "contrast": 1, "word_search": 1, "spot_difference": pytest.approx(2 / 3), "jigsaw": 0.5, "ocr": 1,
        "instrument": 0,
    }  # fmt: skip
    assert ran.results["results"]["tir_bench"]["acc,none"] == pytest.approx((4 + 2 / 3 + 1 / 2) / 7)
