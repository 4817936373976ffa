"""MedXpertQA: the two turns word for word, and the second answer as the authors read it."""

import json
from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.medxpertqa.utils import doc_to_messages, letter_of, next_turn

from tests.sets import each_of

GOLD = ["D", "C", "D", "E"]
DOC = {"question": " Which one? \n", "options": dict.fromkeys("ABCDE", "x"), "label": "B", "images": ["a.png", "b.png"]}
HARD = [
    # the second answer, the letter; computed with eval/utils.py of the authors' repository
    ("B", "B"), ("(B) Capsular plication", "B"), ("B.", "B"), ("**B**", "B"), ("b", None), ("", None), ("\\boxed{D}", "D"),
    ("The answer is B", "B"), ("The answer is B, not C. The answer is C", "B"), ("I think C. The correct answer is D.", "D"),
    ("Therefore, among A through E, the answer is E", "E"), ("Among A through E, the answer is (C).", "C"),
    ("I understand. Among A through E: D", "D"), ("A through E", None), ("A through J fit, so E", "E"),
    ("A fracture is seen, so B.", "A"), ("The answer is a fracture, option B", "B"), ("F", None), ("CT shows E", "E"),
    ("答案是B", None),
    ("Therefore, among A through E, the answer is  Therefore, among A through E, the answer is B", None),
    ("the answer is\nB", "B"), ("No answer provided.", None), ("B answer is  answer is C", None), ("_B_", None), ("A/B", "A"),
]  # fmt: skip


@each_of(("answer", "letter"), HARD)
def test_hard_answers(answer: str, letter: str | None) -> None:
    found, rule = letter_of(answer, DOC)
    assert found == letter and (rule == "unparsed") == (letter is None)


def test_the_first_turn_has_the_authors_system_text_and_the_pictures_behind_the_question() -> None:
    system, user = doc_to_messages(DOC)
    assert system == {
        "role": "system",
        "content": [{"type": "text", "text": "You are a helpful medical assistant."}],
    }
    assert user["content"] == [
        {"type": "text", "text": "Q: Which one?\nA: Let's think step by step."},
        {"type": "image", "url": "a.png"},
        {"type": "image", "url": "b.png"},
    ]


def test_the_second_turn_asks_for_the_letter_and_is_the_last() -> None:
    assert next_turn(DOC, ["x"]) == "Therefore, among A through E, the answer is"
    assert next_turn({**DOC, "options": dict.fromkeys("ABCD", "x")}, ["x"]) == (
        "Therefore, among A through D, the answer is"
    )
    assert next_turn(DOC, ["x", "B"]) is None


def test_the_second_answer_is_scored_and_counted_by_kind(cli: Any, tmp_path: Path) -> None:
    """The sample's letters are D, C, D and E, two of them to questions of each kind."""
    path = tmp_path / "talks.jsonl"
    talks = [("It is A.", "The answer is D."), ("D", "C"), ("D", "A box, so D"), ("B", "none")]
    rows = [
        {"task": "medxpertqa_mm", "doc_id": number, "resps": [talk[-1]], "turns": [[{"answer": said} for said in talk]]}
        for number, talk in enumerate(talks)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = cli("--tasks", "medxpertqa_mm", "--sample", "--model", "replay", "--model_args", f"path={path}", "--output_path",
              tmp_path / "run")  # fmt: skip
    assert ran.code == 0, ran.err
    assert [row["target"] for row in ran.samples("medxpertqa_mm")] == GOLD
    row, levels = ran.results["results"]["medxpertqa_mm"], ran.results["categories"]["medxpertqa_mm"]
    assert row["acc,none"] == pytest.approx(2 / 4) and row["unparsed"] == 1
    assert {name: each["acc,none"] for name, each in levels["question type"].items()} == {
        "Understanding": 1.0,
        "Reasoning": 0.0,
    }
    assert set(levels) == {"question type", "medical task", "body system"}


def test_a_conversation_asks_twice_with_the_pictures(cli: Any, tmp_path: Path) -> None:
    ran = cli("--tasks", "medxpertqa_mm", "--sample", "--model", "dummy", "--limit", 3, "--apply_chat_template",
              "--output_path", tmp_path)  # fmt: skip
    row = ran.samples("medxpertqa_mm")[2]
    assert ran.results["results"]["medxpertqa_mm"]["turns"] == 6 and len(row["turns"][0]) == 2
    system, user = row["prompt"]
    assert (system["role"], [part["type"] for part in user["content"]]) == ("system", ["text", "image", "image"])
