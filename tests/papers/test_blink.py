"""BLINK: the recorded choices of 19 models give every number of the paper's validation board, through the task that ships.

The rule is also held against the recorded raw answers: what it reads is what the authors' evaluation read.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.blink.utils import read_choice

from tests.papers.recordings import Recording, tiny_picture, write_answers, write_table

REPOSITORY, COMMIT = "zeyofu/BLINK_Benchmark", "2d6a779be4aa1ad0d38d7aa539bcb43b6dd81592"
GOLD = Recording(REPOSITORY, COMMIT, "eval/val_answers.json")
BOARD = {
    "GPT4o": 60.0, "GPT4Turbo": 54.6, "GPT4V": 51.1, "GeminiProVision": 45.2, "llava-v1.6-34b": 46.8, "OPUS": 44.1,
    "Yi_VL_34B": 41.7, "QwenVLMax": 40.3, "llava-v1.5-13b-xtuner": 42.0, "Yi_VL_6B": 38.7, "llava-v1.5-7b-xtuner": 39.4,
    "llava_v1.5_13b": 42.7, "instructblip_13b": 42.2, "cogvlm-chat": 41.5, "instructblip_7b": 39.7, "flamingov2": 39.2,
    "llava_v1.5_7b": 37.1, "llava-internlm2-7b": 37.7, "MiniGPT-4-v2": 34.2,
}  # fmt: skip
"""The validation column of the leaderboard in the benchmark's README, %."""
RECORDINGS = {model: Recording(REPOSITORY, COMMIT, f"eval/saved_outputs/{model}") for model in BOARD}
SIZES = {
    "Art_Style": 117, "Counting": 120, "Forensic_Detection": 132, "Functional_Correspondence": 130, "IQ_Test": 150,
    "Jigsaw": 150, "Multi-view_Reasoning": 133, "Object_Localization": 122, "Relative_Depth": 124,
    "Relative_Reflectance": 134, "Semantic_Correspondence": 139, "Spatial_Relation": 143, "Visual_Correspondence": 172,
    "Visual_Similarity": 135,
}  # fmt: skip
PICTURES = {
    "Art_Style": 3, "Forensic_Detection": 4, "Functional_Correspondence": 2, "Jigsaw": 3, "Multi-view_Reasoning": 2,
    "Semantic_Correspondence": 2, "Visual_Correspondence": 2, "Visual_Similarity": 3,
}  # fmt: skip
TWO = ("Art_Style", "Jigsaw", "Multi-view_Reasoning", "Object_Localization", "Relative_Depth", "Spatial_Relation")
CHOICES = {
    name: 2 if name in (*TWO, "Visual_Similarity") else 3 if name == "Relative_Reflectance" else 4 for name in SIZES
}


def recorded(model: str, task: str) -> list[Mapping[str, str]]:
    """A model's validation rows of a task; the files' names have blanks or underscores."""
    folder = RECORDINGS[model].fetched()
    path = folder / f"{task}.json"
    found = path if path.exists() else folder / f"{task.replace('_', ' ')}.json"
    rows: list[Mapping[str, str]] = json.loads(found.read_text(encoding="utf-8"))["val"]
    return rows


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with the 1,901 validation questions: their ids and gold choices, as rows in the hub's schema."""
    from datasets import Image, Sequence, Value

    folder, gold = tmp_path_factory.mktemp("blink"), GOLD.json()
    texts = ("idx", "question", "sub_task")
    features = {
        **dict.fromkeys(texts, Value("string")), **{f"image_{n}": Image() for n in range(1, 5)},
        "choices": Sequence(Value("string")), **dict.fromkeys(("answer", "prompt", "explanation"), Value("string")),
    }  # fmt: skip
    for task, size in SIZES.items():
        rows = []
        for number in range(1, size + 1):
            idx, shown = f"val_{task}_{number}", PICTURES.get(task, 1)
            images = {f"image_{n}": tiny_picture() if n <= shown else None for n in range(1, 5)}
            choices = [str(n) for n in range(CHOICES[task])]
            row: dict[str, Any] = {"idx": idx, "question": "?", "sub_task": task, **images, "choices": choices}
            rows.append({**row, "answer": gold[idx], "prompt": "?", "explanation": ""})
        write_table(folder, "BLINK-Benchmark/BLINK", "val", rows, task, features)
    return folder


def name_of(task: str) -> str:
    return f"blink_{task.lower().replace('-', '_')}"


def check(cli: Any, root: Path, folder: Path, model: str) -> None:
    """All 14 numbers and the mean. The evaluation compares whole texts, so "(C) Point C" is wrong: it is asked as (Z)."""
    gold, answers, expected = GOLD.json(), {}, {}
    for task in SIZES:
        by_idx = {row["idx"]: row["prediction"] for row in recorded(model, task)}
        said = [by_idx[f"val_{task}_{number}"] for number in range(1, SIZES[task] + 1)]
        answers[name_of(task)] = [choice if len(choice) == 3 else "(Z)" for choice in said]
        right = sum(choice == gold[f"val_{task}_{number}"] for number, choice in enumerate(said, 1))
        expected[task] = right / SIZES[task]
    path = write_answers(folder / "answers.jsonl", answers)
    ran = cli("--tasks", "blink", "--model", "replay", "--model_args", f"path={path}", "--data_root", root)
    assert ran.code == 0, ran.err
    rows, group = ran.results["results"], ran.results["groups"]["blink"]
    for task, value in expected.items():
        row = rows[name_of(task)]
        assert row["acc,none"] == pytest.approx(value, abs=1e-12), task
        assert (row["n"], row["failed"]) == (SIZES[task], 0)
    assert group["acc,none"] == pytest.approx(sum(expected.values()) / 14, abs=1e-12)
    printed = round(100 * group["acc,none"], 2)  # as evaluate.py prints it; the board rounds that once more
    assert printed == pytest.approx(BOARD[model], abs=0.0501)


def test_gpt_4o_has_the_numbers_of_the_board(cli, root: Path, tmp_path: Path) -> None:
    check(cli, root, tmp_path, "GPT4o")


@pytest.mark.slow
@pytest.mark.parametrize("model", [model for model in BOARD if model != "GPT4o"])
def test_every_model_has_the_numbers_of_the_board(cli, root: Path, tmp_path: Path, model: str) -> None:
    check(cli, root, tmp_path, model)


def check_raw(cli: Any, root: Path, folder: Path, model: str) -> None:
    """The raw answers, and the recorded choices as the replies of the judge: the number of the board, and every verdict."""
    answers: dict[str, list[str]] = {}
    replies, right = [], 0.0
    for task, size in SIZES.items():
        by_idx = {row["idx"]: row for row in recorded(model, task)}
        rows = [by_idx[f"val_{task}_{number}"] for number in range(1, size + 1)]
        answers[name_of(task)] = [row["full_prediction"] for row in rows]
        slot = f"{name_of(task)}#judge@J"
        replies += [{"task": slot, "doc_id": number, "resps": [row["prediction"]]} for number, row in enumerate(rows)]
        right += sum(row["prediction"] == GOLD.json()[row["idx"]] for row in rows) / size / 14
    path, judge = write_answers(folder / "answers.jsonl", answers), folder / "replies.jsonl"
    judge.write_text("".join(json.dumps(row) + "\n" for row in replies), encoding="utf-8")
    ran = cli(
        *("--tasks", "blink_judged", "--model", "replay", "--model_args", f"path={path}", "--data_root", root),
        *("--judge", "replay", "--judge_args", f"path={judge},name=J", "--judge_retries", 0),
    )
    assert ran.code in (0, 3), ran.err
    assert ran.results["groups"]["blink_judged"]["judge_failed"] <= (model == "OPUS")  # one recorded reply is no choice
    found = 100 * ran.results["groups"]["blink_judged"]["acc,none"]
    assert found == pytest.approx(100 * right, abs=0.07), (
        "the eight single letters that an older version gave to its judge"
    )
    assert found == pytest.approx(BOARD[model], abs=0.07 + 0.05)  # the board has one digit after the point


def test_the_raw_answers_of_gpt_4o_and_the_judges_replies_give_the_number_of_the_board(
    cli, root: Path, tmp_path: Path
) -> None:
    check_raw(cli, root, tmp_path, "GPT4o")


@pytest.mark.slow
@pytest.mark.parametrize("model", [model for model in BOARD if model != "GPT4o"])
def test_every_models_raw_answers_and_the_judges_replies(cli, root: Path, tmp_path: Path, model: str) -> None:
    check_raw(cli, root, tmp_path, model)


def test_what_the_rule_reads_in_raw_answers_is_what_the_authors_read() -> None:
    read = other = 0
    for model in BOARD:
        for task in SIZES:
            for row in recorded(model, task):
                choice = read_choice(row["full_prediction"], CHOICES[task])
                read += choice is not None
                other += choice is not None and choice != row["prediction"]
    assert (read, other) == (27922, 8)  # the eight are single letters that an older version gave to its judge
