"""PerceptionBench: pictures at their marks, backslashes as the judge sees them, and a verdict behind [judge]."""

import base64
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.perceptionbench.utils import (
    doc_to_target,
    doc_to_text,
    doc_to_visual,
    judge_prompt,
    verdict,
    with_plain_backslashes,
)
from PIL import Image

import tests.judge.server as scripted
from tests.judge.server import serving
from tests.sets import each_of
from tests.tasks.answers import prompt
from tests.tasks.judged import judged, served_judge
from tests.tasks.made_up import categories

TASK = "perceptionbench"
RIGHT, WRONG = (f"[reason]\nSo it is.\n[judge]\n{word}" for word in ("True", "False"))


def url(width: int) -> str:
    """A data URL of a picture of this width."""
    file = io.BytesIO()
    Image.new("RGB", (width, 4)).save(file, "PNG")
    return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()


@each_of(
    ("problem", "text", "widths"),
    [
        ("<|image_1|>How many?", "<image>How many?", [1, 2, 3]),
        ("a <|image_3|> b <|image_1|> c", "a <image> b <image> c", [3, 1, 2]),
        ("no mark", "no mark", [1, 2, 3]),
        ("<|image_2|><|image_2|>", "<image><image>", [2, 2, 1, 3]),
        ("<|image_4|> and <|image_0|>, <|image_1|>", "<|image_4|> and <|image_0|>, <image>", [1, 2, 3]),
        ("<|image_1|>\n<|image_2|>\n<|image_3|> x", "<image>\n<image>\n<image> x", [1, 2, 3]),
    ],
)
def test_pictures_stand_at_their_marks_and_the_others_at_the_end(problem: str, text: str, widths: list[int]) -> None:
    doc = {"problem": problem, "image": [url(width) for width in (1, 2, 3)]}
    assert doc_to_text(doc) == text + "<image>" * (len(widths) - text.count("<image>"))
    assert [picture.width for picture in doc_to_visual(doc)] == widths


def test_more_than_nine_pictures_and_none() -> None:
    doc = {"problem": "<|image_12|> <|image_1|>", "image": [url(width) for width in range(1, 13)]}
    assert [picture.width for picture in doc_to_visual(doc)] == [12, 1, *range(2, 12)]
    assert doc_to_text({"problem": "<|image_1|>?", "image": []}) == "<|image_1|>?"


def test_the_prompts(cli: Any) -> None:
    assert prompt(cli, TASK, doc=0) == "<image>How many dots are there?"
    assert prompt(cli, TASK, doc=3) == "Compare <image> with <image>. How many dots has the first of them?"


@pytest.mark.full
def test_the_prompt_of_a_chat_model_has_the_pictures_in_their_places(cli: Any) -> None:
    shown = cli("show", TASK, "--sample", "--model", "tiny-qwen2-vl", "--doc", 3)
    text = re.sub(r"<\|vision_start\|>.*?<\|vision_end\|>", "#", shown.out, flags=re.DOTALL)
    assert "Compare # with #. How many dots has the first of them?" in text, shown.out


@each_of(
    ("answer", "target"),
    [("8", "8"), ('{"answer": "3:00"}', "3:00"), ('{"answer": 3}', "3"), ({"answer": "x"}, "x"), ("{a, b}", "{a, b}"), (7, "7"),
     ('{"other": 1}', '{"other": 1}')],
)  # fmt: skip
def test_the_right_answer(answer: Any, target: str) -> None:
    assert doc_to_target({"answer": answer}) == target


@each_of(
    ("text", "shown"),
    [  # computed with VLMEvalKit's _normalize_escape at e8e78f0
        ("\\frac{1}{2}", "\\frac{1}{2}"),
        ("\\\\frac", "\\frac"),
        ("a\\nb", "a\nb"),
        ("a\\\\nb", "a\nb"),
        ("\\neq", "eq"),
        ("x\\ y", "x\\\\ y"),
        ("x\\\\1", "x\\\\"),
        ("x\\1y", "x\\\\ y"),
        (" plain ", "plain"),
    ],
)
def test_backslashes(text: str, shown: str) -> None:
    assert with_plain_backslashes(text) == shown


def test_the_judges_question() -> None:
    doc = {"problem": "<|image_1|>Which {assistant_answer}?", "answer": '{"answer": "a\\\\b"}'}
    text = judge_prompt(doc, "It is {problem}.")
    assert text.startswith("Please act as a professional teacher and grade the student's answer.")
    end = "========== [Student Answer] ==========\nIt is {problem}.\n========== [Reference Answer] ==========\na\\b\n"
    end = f"========== [Question] ==========\n<|image_1|>Which {{assistant_answer}}?\n{end}"
    assert text.endswith(f"Now you may begin grading.\n{end}========== [Your Judgment] ==========\n")
    assert text.count("========== [Notice] ==========") == 2 and text.count("0. You only need") == 2


@each_of(
    ("reply", "value"),
    [
        (RIGHT, 1),
        (WRONG, 0),
        ("[reason] a [judge] **True**", 1),
        ("[reason] it is true [judge] False", 0),
        ("[reason] a [judge] False\n[judge] true", 1),
        ("[judge] True [reason] a", 1),
        ("[judge] True", None),
        ("[reason] a\nTrue", None),
        ("[reason] a [judge]", None),
        ("[reason] a [judge] yes", None),
        ("", None),
    ],
)
def test_replies(reply: str, value: int | None) -> None:
    assert verdict(reply) == value


def test_a_judged_run_by_hand(cli: Any, tmp_path: Path) -> None:
    answers = ["8", "2025", "the second", "", "3:00", "b", "2", "the first"]
    ran = judged(cli, tmp_path, TASK, answers, [RIGHT, WRONG, RIGHT, None, RIGHT, "?", RIGHT, WRONG], code=3)
    row = ran.results["results"][TASK]
    assert (
        row["acc,none"] == pytest.approx(4 / 7) and row["judge_failed"] == 1 and row["judge_bounds"] == [4 / 8, 5 / 8]
    )
    by = categories(ran, TASK, "kind of error", "acc,none")
    assert by["visual_counting_error"] == pytest.approx(2 / 3) and by["ocr_error"] == 0


def grade(text: str, asked: str) -> str:
    """A judge by rule."""
    found = re.search(r"\[Student Answer\] =+\n(.*)\n=+ \[Reference Answer\] =+\n(.*)\n=+ \[Your", asked)
    return RIGHT if found is not None and found[1] == found[2] else WRONG


def test_the_hubs_file_and_a_judge(cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """JSON lines in the root of the repository, beside a folder with pictures of the card."""
    root = tmp_path / "data" / "moonshotai" / "PerceptionBench"
    (root / "images").mkdir(parents=True)
    Image.new("RGB", (8, 8)).save(root / "images" / "teaser.png")
    row = {
        "index": 0,
        "answer": "15400",
        "problem": "<|image_1|>Score?",
        "hint": "",
        "image": [url(9)],
        "source_bmk": "x",
    }
    rows = [
        {**row, "error_category": "ocr_error", "source_idx": 189},
        {**row, "error_category": "b", "source_idx": None},
    ]
    rows[1] |= {"image": [url(5), url(6)], "problem": "<|image_2|><|image_1|>?", "answer": "left"}
    (root / "PerceptionBench.jsonl").write_text("".join(json.dumps(each) + "\n" for each in rows))
    answers = tmp_path / "answers.jsonl"
    given = [{"task": TASK, "doc_id": 0, "resps": ["15400"]}, {"task": TASK, "doc_id": 1, "resps": ["right"]}]
    answers.write_text("".join(json.dumps(each) + "\n" for each in given))
    monkeypatch.setattr(scripted, "replied", grade)
    with serving() as server:
        words = [*served_judge(server, "gpt-oss-120b", answers), "--data_root", tmp_path / "data"]
        ran = cli("--tasks", TASK, *words)
        assert ran.code == 0, ran.out + ran.err
        asked = sum(server.asked.values())
        again = cli("--tasks", TASK, *words)
        assert again.code == 0 and sum(server.asked.values()) == asked
    row = ran.results["results"][TASK]
    assert (row["acc,none"], row["n"]) == (0.5, 2)
