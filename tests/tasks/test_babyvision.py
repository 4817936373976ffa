"""BabyVision: the last box or the word None for the judge, three answers to a question, and the deviation of the passes."""

import json
import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mm_eval.tasks.babyvision.utils import boxed, deviation, doc_to_text, judge_prompt, verdict

import tests.judge.server as scripted
from tests.judge.server import Server, serving
from tests.judge.test_repeats import slots_of
from tests.processes import child, wait_until
from tests.sets import each_of
from tests.tasks.answers import prompt
from tests.tasks.made_up import categories

TASK = "babyvision"
BLANK = {"question": "How many?", "ansType": "blank", "options": [], "choiceAns": None, "blankAns": "7"}
CHOICE = {"question": "Which?", "ansType": "choice", "options": ["a {x}", "b"], "choiceAns": 1, "blankAns": None}
BOX = "\nThink about the question and give your final answer in \\boxed{Answer} format."
GOLD = ["(2,3)", "(4,1)", "B", "2", "1", "7", "B", "C", "a triangle"]


def test_the_prompts(cli: Any) -> None:
    assert prompt(cli, TASK, doc=5) == "How many dots are in the picture?" + BOX
    assert prompt(cli, TASK, doc=6) == "On which side of the circle is the star?\nChoices:\n(A) left\n(B) right" + BOX
    assert doc_to_text(CHOICE) == "Which?\nChoices:\n(A) a {x}\n(B) b" + BOX


@each_of(
    ("answer", "content"),
    [
        (r"First \boxed{1}, no, \boxed{2}.", "2"),
        (r"\boxed{\text{left {and} right}}", r"\text{left {and} right}"),
        (r"\boxed{(2,3)} and \boxed{4", "(2,3)"),
        (r"\boxed{}", ""),
        (r"\boxed{ 7 }", " 7 "),
        ("\\boxed{a\nb}", "a\nb"),
        (r"\boxed 7", None),
        (r"\boxed{\boxed{3}}", r"\boxed{3}"),
        ("It is <|begin_of_box|> B <|end_of_box|>", "B"),
        (r"<|begin_of_box|>B<|end_of_box|> \boxed{C}", "C"),
        ("The answer is 7.", None),
        ("", None),
        ("\\boxed{" * 20_000, None),
    ],
)
def test_what_is_boxed(answer: str, content: str | None) -> None:
    assert boxed(answer) == content


def test_the_judge_is_shown_the_whole_question_and_what_is_boxed() -> None:
    text = judge_prompt(CHOICE, r"I think \boxed{b}.")
    assert text.startswith("You are a careful and strict evaluator. You will be given:\n\n1. **Question**\n")
    end = f"Question: Which?\nChoices:\n(A) a {{x}}\n(B) b{BOX},\nGround Truth Answer: B,\nModel Output: b\n"
    assert text.endswith(f"**Input:**\n\n{end}")
    assert judge_prompt(BLANK, "It is 7.").endswith("Ground Truth Answer: 7,\nModel Output: None\n")


@each_of(
    ("reply", "value"),
    [
        ("True", 1),
        ("**true**", 1),
        ("False", 0),
        ("It is not true, so False", 1),
        ("false.", 0),
        ("1", None),
        ("", None),
    ],
)
def test_replies(reply: str, value: int | None) -> None:
    assert verdict(reply) == value


def test_the_deviation_is_that_of_the_passes() -> None:
    rows = np.random.default_rng(0).integers(0, 2, (40, 3))
    assert deviation(rows.tolist()) == pytest.approx(np.std(rows.mean(axis=0)))
    assert deviation([1.0, 0.0]) == 0 and deviation([]) == 0


def grade(text: str, asked: str) -> str:
    """A judge by rule: right where the answer is the reference."""
    found = re.search(r"Ground Truth Answer: (.*),\nModel Output: (.*)\n", asked)
    return str(found is not None and found[1] == found[2])


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setattr(scripted, "replied", grade)
    with serving() as server:
        yield server


def words(folder: Path, answers: Sequence[Sequence[str]], server: Server, more: str = "") -> list[str]:
    """The command for these answers, three to each doc of the sample."""
    rows = [{"task": TASK, "doc_id": n, "resps": list(said)} for n, said in enumerate(answers)]
    path = folder / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    asked = f"base_url={server.url},model=gpt-5.2,max_retries=0{more}"
    run = ["--tasks", TASK, "--sample", "--model", "replay", "--model_args", f"path={path}", "--no_report"]
    return [*run, "--judge", "openai", "--judge_args", asked, "--output_path", str(folder / "run")]


def test_a_run_with_three_answers_to_each_question(cli: Any, judge: Server, tmp_path: Path) -> None:
    right = [f"\\boxed{{{gold}}}" for gold in GOLD]
    answers = [[text, text, gold] for text, gold in zip(right, GOLD, strict=True)]  # the third time nothing is boxed
    answers[3] = ["\\boxed{3}", "", f"<|begin_of_box|>{GOLD[3]}<|end_of_box|>"]
    ran = cli(*words(tmp_path, answers, judge))
    assert ran.code == 0, ran.out + ran.err
    passes = [8 / 9, 8 / 9, 1 / 9]
    row = ran.results["results"][TASK]
    assert row["acc,none"] == pytest.approx(np.mean(passes)) and row["acc_std,none"] == pytest.approx(np.std(passes))
    assert isinstance(row["acc_stderr,none"], float) and row["judge_failed"] == 0 and row["n"] == 9
    by_type, deviations = (categories(ran, TASK, "type", f"{name},none") for name in ("acc", "acc_std"))
    assert by_type["Spatial Perception"] == pytest.approx(2 / 3) and by_type["Visual Tracking"] == pytest.approx(1 / 2)
    assert deviations["Spatial Perception"] == pytest.approx(np.std([1, 1, 0]))
    assert len(categories(ran, TASK, "subtype", "acc,none")) == 6
    entries = ran.samples(TASK)[3]["judge"]
    assert [(each["answer"], each["verdict"]) for each in entries] == [(1, 0), (2, 0), (3, 1)]
    assert [each.get("empty", False) for each in entries] == [False, True, False]
    assert "gpt-5.2" in ran.out and "not comparable" not in ran.out
    said = cli("score", tmp_path / "run")
    assert said.code == 0 and json.loads((tmp_path / "run" / "results.json").read_text())["results"][TASK] == row


@pytest.mark.full
def test_a_killed_run_asks_the_judge_only_for_what_lacks(cli: Any, judge: Server, tmp_path: Path) -> None:
    answers = [[f"\\boxed{{{gold}}}", "\\boxed{x}", gold] for gold in GOLD]
    judge.latency = 0.2
    command = [*words(tmp_path, answers, judge, ",num_concurrent=1"), "--judge_preflight", "false"]
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    with child([sys.executable, "-m", "mm_eval", *command], **quiet) as process:
        wait_until(lambda: sum(judge.asked.values()) >= 5)
        process.kill()
        process.wait()
    judge.latency, known = 0.0, sum(len(slots_of(path)) for path in (tmp_path / "run" / "journal").glob("*.jsonl"))
    at = sum(judge.asked.values())
    ran = cli(*command)
    assert ran.code == 0, ran.out + ran.err
    row = ran.results["results"][TASK]
    assert row["acc,none"] == pytest.approx(1 / 3) and row["acc_std,none"] == pytest.approx(np.std([1, 0, 0]))
    assert known > 0 and sum(judge.asked.values()) - at <= 27 - known
