"""MuirBench: prompts with pictures at their places, letters by MMMU's rule and by lmms-eval's, twins as one cluster."""

from pathlib import Path
from typing import Any

import pytest

from tests.papers.recordings import write_answers
from tests.tasks.of_sample import read_one_doc

FILE = "MUIRBENCH/MUIRBENCH/default/test-00000-of-00001.parquet"
PICTURE = {"type": "image"}
ASKED = "Which of these pictures shows 4 shapes?"
NONE = "None of the choices provided"
LETTER = "Answer with the option's letter from the given choices directly."


def text(said: str) -> dict[str, str]:
    return {"type": "text", "text": said}


@pytest.mark.parametrize(
    ("block", "lead", "option", "end"),
    [
        ("default", f"Question: {ASKED}\nChoices:", "({}) ",
         "\nHint: Please provide the correct option letter, such as A, B, C, D, directly.\nAnswer:"),
        ("llava", ASKED, "{}. ", f"\n{LETTER}"),
        ("qwen2_5_vl", ASKED, "{}. ", f"\n{LETTER}"),
        ("qwen3_vl", ASKED, "{}. ", f"\n{LETTER}"),
        ("qwen3_custom", f"Question: {ASKED}\nOptions:", "{}. ", "\nAnswer with the option letter only."),
    ],
)  # fmt: skip
def test_the_prompt(cli: Any, tmp_path: Path, block: str, lead: str, option: str, end: str) -> None:
    answers = write_answers(tmp_path / "a.jsonl", {"muirbench": ["A"] * 3})
    ran = cli(
        "--tasks", "muirbench", "--model", "replay", "--model_args", f"path={answers}", "--sample", "--limit", 3,
        "--prompt_key", block, "--apply_chat_template",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    [turn] = ran.samples("muirbench")[2]["prompt"]
    lettered = [option.format(letter) for letter in "ABCDE"]
    parts = [text(f"{lead}\n{lettered[0]}"), PICTURE]
    for letter in lettered[1:4]:
        parts += [text(f"\n{letter}"), PICTURE]
    assert turn["content"] == [*parts, text(f"\n{lettered[4]}{NONE}{end}")]


def test_internvl_sees_the_pictures_under_their_names(cli: Any, tmp_path: Path) -> None:
    answers = write_answers(tmp_path / "a.jsonl", {"muirbench": ["A"] * 3})
    ran = cli(
        "--tasks", "muirbench", "--model", "replay", "--model_args", f"path={answers}", "--sample", "--limit", 3,
        "--prompt_key", "internvl", "--apply_chat_template",
    )  # fmt: skip
    assert ran.code == 0, ran.err
    [turn] = ran.samples("muirbench")[2]["prompt"]
    parts = [part for n in range(1, 5) for part in (text(f"{chr(10) if n > 1 else ''}Image-{n}: "), PICTURE)]
    end = f"\n{ASKED}\nA. <Image-1>\nB. <Image-2>\nC. <Image-3>\nD. <Image-4>\nE. {NONE}\n{LETTER}"
    assert turn["content"] == [*parts, text(end)]


HARD = [
    ("C", "C", "C"),
    ("(C)", "C", None),
    ("C. the third", None, "C"),
    ("c", None, "C"),
    ("The answer is (C).", "C", None),
    ("The answer is C.", "C", None),
    ("C)", None, None),
    ("**C**", None, None),
    (r"\boxed{C}", None, None),
    ("Answer: B because A is wrong", "A", None),
    ("Both (A) and (C) are plausible", "C", None),
    ("I think that none of the choices provided is right", "E", None),
    ("答案是C", None, None),
    ("B.C.", None, "B"),
    ("I can't see any of the pictures that you mean", None, None),
    ("", None, None),
    ("<think>A or C", None, None),
]
"""Answers to a question whose right letter is C: the letter that MMMU's rule reads, and the one that lmms-eval's reads."""


@pytest.mark.parametrize(("task", "column"), [("muirbench", 1), ("muirbench_lmms", 2)])
def test_the_letter_of_an_answer(cli: Any, tmp_path: Path, task: str, column: int) -> None:
    ran = read_one_doc(cli, tmp_path, task, FILE, 2, [answer for answer, *_ in HARD])
    assert ran.code == 0, ran.err
    for case, row in zip(HARD, ran.samples(task), strict=True):
        answer, letter = case[0], case[column]
        unread = row["rules"]["none"][0] in ("unparsed", "truncated")
        if task == "muirbench":
            assert row["target"] == "C"
            assert (None if unread else row["filtered_resps"]["none"][0]) == letter, answer
        else:
            assert row["scores"]["muirbench_score_overall,none"] == (letter == "C"), answer
            assert unread is (letter is None), answer


def test_tasks_and_relations_are_categories_and_twins_are_one_cluster(cli: Any, tmp_path: Path) -> None:
    said = ["A", "D", "C", "A", *["(E)"] * 8]
    answers = write_answers(tmp_path / "a.jsonl", {"muirbench": said})
    ran = cli("--tasks", "muirbench", "--model", "replay", "--model_args", f"path={answers}", "--sample")
    levels = ran.results["categories"]["muirbench"]
    assert list(levels) == ["task", "image_relation", "image_type"]
    found = {name: each["muirbench_score_overall,none"] for name, each in levels["task"].items()}
    assert (found["Counting"], found["Visual Retrieval"]) == (1, 0.5)
    assert {each["n"] for each in levels["image_relation"].values()} == {2}
    assert ran.results["results"]["muirbench"]["muirbench_score_overall,none"] == levels["image_type"]["Drawings"][
        "muirbench_score_overall,none"
    ]  # fmt: skip
    clusters = [str(row["cluster"]) for row in ran.samples("muirbench")]
    assert [clusters.count(each) for each in clusters] == [2] * 12
