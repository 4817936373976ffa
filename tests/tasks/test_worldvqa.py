"""WorldVQA: prompts in two languages, three grades of which "Correct" wins, unclear replies, and a number without People."""

import base64
import csv
import io
import json
import random
import re
from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.worldvqa.utils import bounds, judge_prompt, verdict
from PIL import Image

import tests.judge.server as scripted
from tests.judge.server import serving
from tests.sets import each_of
from tests.tasks.answers import prompt
from tests.tasks.judged import judged, served_judge
from tests.tasks.made_up import categories

TASK = "worldvqa"
SCENE, PEOPLE = {"category": "Scene"}, {"category": "People"}
RIGHT, WRONG, NONE = (f"Evaluation: so it is.\nLabel: {grade}" for grade in ("Correct", "Incorrect", "Unattempted"))
NAMES = ("acc", "acc_all", "incorrect", "unattempted", "unclear")


def test_the_prompts(cli: Any) -> None:
    english = "Please provide as much detail as possible in your answer. \nWhich country has this flag?"
    assert prompt(cli, TASK) == english
    assert prompt(cli, TASK, doc=3) == "请尽可能提供详细的回答。\n这是哪个国家的国旗？"


def test_the_judges_question() -> None:
    text = judge_prompt({"question": "Which {one}?", "answer": 7}, "A\\B {x}")
    assert text.startswith("\n### Role\nYou are an expert judge specialized in evaluating the correctness of answers.")
    end = "'''\nQuestion: Which {one}?\nModel Answer: A\\B {x}\nGround Truth Answer: 7\n'''\n\nEvaluation:\n"
    assert text.endswith(f"### Current Task\nInput:\n{end}") and text.count("**Example ") == 6


@each_of(
    ("reply", "grade", "unclear"),
    [
        (RIGHT, "Correct", 0),
        (WRONG, "Incorrect", 0),
        (NONE, "Unattempted", 0),
        ("Correct", "Correct", 0),
        ("2. **Label**: Correct", "Correct", 0),
        ('Label: "Unattempted"', "Unattempted", 0),
        ("Correct country, coarser than asked.\nLabel: Incorrect", "Correct", 1),
        ("It isn't Incorrect.\nLabel: Correct", "Correct", 0),
        ("Incorrect, not Correct", "Correct", 1),
        ("Incorrect or Unattempted", "Unattempted", 1),
        ("Correctly read, but wrong.\n**Label**: Incorrect", "Correct", 1),
        ("label: incorrect", "Incorrect", 0),
        ("It is right.", None, 0),
        ("correct", None, 0),
        ("", None, 0),
    ],
)
def test_replies(reply: str, grade: str | None, unclear: int) -> None:
    found = verdict(reply, SCENE)
    if grade is None:
        assert found is None
        return
    right, wrong, none = (int(grade == each) for each in ("Correct", "Incorrect", "Unattempted"))
    assert found == {"acc": right, "acc_all": right, "incorrect": wrong, "unattempted": none, "unclear": unclear}
    people = verdict(reply, PEOPLE)
    assert people == {name: value for name, value in found.items() if name != "acc"}


def test_a_judged_run_by_hand(cli: Any, tmp_path: Path) -> None:
    unclear = "Correct, mostly.\nLabel: Incorrect"
    answers = ["France", "Italy", "", "unknown", "a triangle", "钟", "12", "MM EVAL", "Ada"]
    ran = judged(cli, tmp_path, TASK, answers, [RIGHT, WRONG, None, NONE, unclear, RIGHT, "?", RIGHT, RIGHT], code=3)
    row = ran.results["results"][TASK]
    found = [row[f"{name},none"] for name in NAMES]
    assert found == pytest.approx([4 / 7, 5 / 8, 1 / 8, 2 / 8, 1 / 8]), ran.out
    assert row["judge_failed"] == 1 and row["judge_bounds"] == pytest.approx([4 / 8, 5 / 8])
    assert row["n_by_metric"] == {"acc,none": 7, **{f"{name},none": 8 for name in NAMES[1:]}}
    assert next(key for key in row if key.endswith(",none")) == "acc,none"
    by = categories(ran, TASK, "category", "acc,none")
    assert by["Culture"] == 0.5 and by["Brands"] == 1 and by["People"] is None
    assert categories(ran, TASK, "category", "acc_all,none")["People"] == 1
    assert categories(ran, TASK, "difficulty", "acc,none") == pytest.approx({"easy": 2 / 3, "medium": 1 / 3, "hard": 1})
    assert list(categories(ran, TASK, "language", "n")) == ["English", "Chinese"]
    shown = re.findall(r"(?m)^(?:worldvqa +0)? +(acc|acc_all|unclear) {2,}", ran.out)
    assert shown == ["acc", "acc_all", "unclear"], ran.out


def test_the_ends_of_a_missing_verdict_of_people_leave_the_headline_alone(cli: Any, tmp_path: Path) -> None:
    ran = judged(cli, tmp_path, TASK, ["x"] * 9, [RIGHT] * 4 + [WRONG] * 4 + ["?"], code=3)
    row = ran.results["results"][TASK]
    assert row["judge_failed"] == 1 and row["judge_bounds"] == [0.5, 0.5] and row["acc,none"] == 0.5
    assert "acc" not in bounds(PEOPLE)[0]


def test_a_missing_answer_is_incorrect(cli: Any, tmp_path: Path) -> None:
    rows = [{"resps": [""], "ended": "filtered"}, {"resps": ["<think>a"]}, *[{"resps": ["x"]}] * 7]
    path = tmp_path / "missing.jsonl"
    path.write_text("".join(json.dumps({"task": TASK, "doc_id": n, **row}) + "\n" for n, row in enumerate(rows)))
    given = tmp_path / "replies.jsonl"
    replies = [{"task": f"{TASK}#judge", "doc_id": n, "resps": [RIGHT]} for n in range(2, 9)]
    given.write_text("".join(json.dumps(row) + "\n" for row in replies))
    words = ["--judge", "replay", "--judge_args", f"path={given},name=J", "--sample"]
    ran = cli("--tasks", TASK, "--model", "replay", "--model_args", f"path={path}", *words)
    row = ran.results["results"][TASK]
    assert ran.code == 0 and [row[f"{name},none"] for name in NAMES] == pytest.approx([6 / 8, 7 / 9, 2 / 9, 0, 0]), (
        ran.err
    )


def grade(text: str, asked: str) -> str:
    """A judge by rule."""
    found = re.search(r"Model Answer: (.*)\nGround Truth Answer: (.*)\n'''\n\nEvaluation:\n\Z", asked)
    return RIGHT if found is not None and found[1] == found[2] else WRONG


def test_the_hubs_table_of_text_and_a_judge(cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A TSV whose card states the separator, pictures larger than a field of `csv` may be, and an answer that is a number."""
    buffer = io.BytesIO()
    Image.frombytes("RGB", (260, 260), random.Random(0).randbytes(260 * 260 * 3)).save(buffer, "PNG")
    picture = base64.b64encode(buffer.getvalue()).decode()
    assert len(picture) > 131_072
    root = tmp_path / "data" / "moonshotai" / "WorldVQA"
    root.mkdir(parents=True)
    with (root / "WorldVQA.tsv").open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, delimiter="\t")
        table.writerow(["index", "image", "question", "answer", "language", "category", "difficulty"])
        table.writerow([0, picture, 'Which "year"?', "1984", "en", "Scene", "easy"])
        table.writerow([1, picture, "哪一年？\n请回答", "2001", "zh", "People", "hard"])
    card = '---\nconfigs:\n- config_name: default\n  data_files:\n  - split: train\n    path: WorldVQA.tsv\n  sep: "\\t"\n---\n'
    (root / "README.md").write_text(card)
    answers = tmp_path / "answers.jsonl"
    rows = [{"task": TASK, "doc_id": 0, "resps": ["1984"]}, {"task": TASK, "doc_id": 1, "resps": ["2002"]}]
    answers.write_text("".join(json.dumps(row) + "\n" for row in rows))
    monkeypatch.setattr(scripted, "replied", grade)
    with serving() as server:
        words = served_judge(server, "gpt-oss-120b", answers)
        ran = cli("--tasks", TASK, *words, "--data_root", tmp_path / "data")
    assert ran.code == 0, ran.out + ran.err
    row = ran.results["results"][TASK]
    assert (row["acc,none"], row["acc_all,none"], row["n"]) == (1, 0.5, 2)
    assert ran.samples(TASK)[1]["prompt"].endswith("哪一年？\n请回答")
