"""VisFactor: the forms of replies by subtest, prompts with pictures at their marks, and items that need all their rows."""

from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.visfactor.utils import doc_to_visual, process_results, score, whole_text

from tests.sets import each_of
from tests.tasks.answers import answered, prompt
from tests.tasks.made_up import categories

GOLD = ["T", "F", "T", "F", "T", "F", "T", "F", "disc", "Triangle", "(3, 2)", "2", "52", "2", "G", "F"]
PLAIN = {"respond": "Output: Respond"}
HARD = [
    # subtest, additional, answer, reply, right; None where nothing is read. Computed with the authors' script.
    ("CF1", None, "T", '{"answer": "T"}', True), ("CF1", None, "T", '{"answer": true}', True),
    ("P3", None, "F", '{"answer": "No"}', True),
    ("S1", None, "T", "{ \"answer\" : '1' }", True), ("S1", None, "T", '{"answer": F} or {"answer": T}', True),
    ("S1", None, "T", '{"answer": T} no, {"answer": F}', False), ("MV1", None, "T", "T", None),
    ("MV1", None, "T", "{'answer': 'T'}", None),
    ("RL2", None, "T", '{"answer": "T."}', None), ("VZ1", None, "F", '```json\n{"answer":\n"0"}\n```', True),
    ("CS1", None, "Cat,dog", '{"answer": "DOG"}', True), ("CS1", None, "Cat,dog", '{"answer": "a dog"}', False),
    ("CS2", None, "Cat,dog", "dog", None), ("CS3", None, "Cat, dog", '{"answer": "dog"}', False),
    ("CF3", None, "(3, 4)", '{"answer": "(3, 4)"}', True), ("CF3", None, "(3, 4)", "It is at (3,4).", True),
    ("CF3", None, "(3, 4)", "x = 3", None), ("CF3", None, "(3, 4)", '{"answer": "(1, 3, 4)"}', True),
    ("I3", None, "2", "group 2", True), ("I3", None, "2", "Group 2 of 3", False),
    ("MA1", "cup", "52", '{"answer": "52"} or 7', True),
    ("MA1", "cup", "52", '{"answer": "none"}', None), ("SS3", "A;B", "2", "two", None),
    ("SS3", "A;B", "-2", '{"answer": -2}', False),
    ("VZ3", "4", "G", '{"answer": "G"}', True), ("VZ3", "4", "G", "Edge G", True), ("VZ3", "4", "G", "G is It", False),
    ("VZ3", "4", "G", "g", None), ("VZ3", "a;b", "T", '{"answer": "yes"}', True), ("VZ3", None, "T", "T", None),
    ("SS2", None, "F", "", None),
]  # fmt: skip


@each_of(("subtest", "additional", "answer", "reply", "right"), HARD)
def test_hard_replies(subtest: str, additional: str | None, answer: str, reply: str, right: bool | None) -> None:
    doc = {"category_id": subtest, "eval_index": 0, "additional": additional, "answer": answer}
    found = process_results(doc, [reply])
    assert found["rows"] == float(bool(right)) and (found["__rule__"] == "unparsed") == (right is None)


def test_an_item_needs_all_its_rows_and_a_subtest_counts_as_a_whole() -> None:
    rows = [("A", 0, True), ("A", 0, False), ("A", 1, True), ("A", 2, True), ("B", 0, True), ("B", 1, False)]
    items = [{"subtest": subtest, "item": item, "right": right} for subtest, item, right in rows]
    assert score(items) == pytest.approx((2 / 3 + 1 / 2) / 2)


def test_marks_of_pictures_and_additional_texts() -> None:
    doc = {
        "question": "<IMAGE_1>a<br><ADDITIONAL_1>, <ADDITIONAL_0> <ADDITIONAL_2> <IMAGE_0>",
        "additional": "x<br>y;z",
    }
    assert whole_text(doc, PLAIN) == "<IMAGE_1>a\nz, x\ny <ADDITIONAL_2> <IMAGE_0>"
    assert doc_to_visual({**doc, "image": ["first", "second"]}, PLAIN) == ["second", "first"]
    assert whole_text({**doc, "additional": None}, PLAIN).count("<ADDITIONAL") == 3


def test_the_prompts(cli: Any) -> None:
    end = 'espond only in this form: {"answer": T or F}.'
    asked = "Figure 1:\n<image>\nFigure 2:\n<image>\nIs figure 1 one of the figures in figure 2?\nOutput: "
    assert prompt(cli, "visfactor") == f"{asked}R{end}"
    reason = "Solve the problem step-by-step. First, reason through the problem clearly. At the end, r"
    assert prompt(cli, "visfactor_cot") == f"{asked}{reason}{end}"


def test_the_score_of_a_run(cli: Any, tmp_path: Path) -> None:
    said = [f'{{"answer": "{answer}"}}' for answer in GOLD]
    said[1] = '{"answer": "T"}'  # one row of an item of CF1
    said[12] = "I see 17"
    ran = answered(cli, tmp_path, "visfactor", said)
    row = ran.results["results"]["visfactor"]
    subtests = categories(ran, "visfactor", "subtest", "score,none")
    assert subtests["CF1"] == 0.5 and subtests["MA1"] == 0.0 and subtests["VZ3"] == 1.0 and len(subtests) == 9
    assert row["score,none"] == pytest.approx((0.5 + 0 + 7) / 9) and row["rows,none"] == pytest.approx(14 / 16)
    assert row["score_stderr,none"] > 0


def test_a_limit_counts_whole_items(cli: Any) -> None:
    ran = cli("--tasks", "visfactor", "--sample", "--model", "dummy", "--limit", 3)
    assert ran.code == 0 and len(ran.samples("visfactor")) == 6
