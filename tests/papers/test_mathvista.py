"""MathVista: the recorded extractions of 23 runs give the 75 numbers of each recorded result, through the tasks that ship.

The benchmark shortens responses with a language model; what it made of them ("extraction") is replayed as the answer.
"""

from pathlib import Path
from typing import Any

import pytest

from tests.papers.recordings import Recording, tiny_picture, write_answers, write_table
from tests.tasks.judged import judged

REPOSITORY, COMMIT = "lupantech/MathVista", "53d525874bdde205128e6b160b7357a88277d479"
QUERIES = Recording(REPOSITORY, COMMIT, "data/query.json")
RUNS = (
    "bard/bard", "chatgpt/chatgpt", "chatgpt/chatgpt_2shot_code", "chatgpt/chatgpt_2shot_code_use_ocr",
    "chatgpt/chatgpt_2shot_solution", "chatgpt/chatgpt_2shot_solution_use_ocr", "claude/claude", "claude/claude_2shot_solution",
    "claude/claude_2shot_solution_use_ocr", "gpt4/gpt4", "gpt4/gpt4_2shot_code", "gpt4/gpt4_2shot_code_use_ocr",
    "gpt4/gpt4_2shot_solution", "gpt4/gpt4_2shot_solution_use_ocr", "idefics/idefics_9b_instruct",
    "instruct_blip2/instruct_blip2_vicuna_13b", "llama_adapter_v2/llama_adapter_v2", "llava/llava_llama_2_13b", "llavar/llavar",
    "minigpt4/minigpt4_llama2", "mplugowl/mplugowl_7b_ft", "random/frequent_guess", "random/random_guess",
)  # fmt: skip
OUTPUTS = {run: Recording(REPOSITORY, COMMIT, "results/{}/output_{}.json".format(*run.split("/"))) for run in RUNS}
SCORES = {run: Recording(REPOSITORY, COMMIT, "results/{}/scores_{}.json".format(*run.split("/"))) for run in RUNS}
RUNS_WITH_JUDGE = (
    "bard/bard", "chatgpt/chatgpt_2shot_solution", "chatgpt/chatgpt_2shot_solution_use_ocr", "claude/claude",
    "claude/claude_2shot_solution", "claude/claude_2shot_solution_use_ocr", "gpt4/gpt4", "gpt4/gpt4_2shot_solution",
    "gpt4/gpt4_2shot_solution_use_ocr", "idefics/idefics_9b_instruct", "llama_adapter_v2/llama_adapter_v2",
    "llava/llava_llama_2_13b", "minigpt4/minigpt4_llama2", "mplugowl/mplugowl_7b_ft",
)  # fmt: skip
"""Runs whose responses are sentences with an extraction each. The others are results of programs, guesses, or empty in part."""
JUDGED = "mathvista_testmini_judged"
BY_SCRIPT = {"llavar/llavar"}
"""The run whose integers follow the published script; in the others "5.0" is no integer."""
DIFFERENT = {"chatgpt/chatgpt": {"geometry reasoning"}}
"""Recorded numbers that the recorded verdicts themselves don't give: 57 of 222 questions, of which the file holds 223."""
COLUMNS = (
    "pid",
    "question",
    "image",
    "choices",
    "unit",
    "precision",
    "answer",
    "question_type",
    "answer_type",
    "metadata",
)


def write_questions(root: Path, rows: list[dict[str, Any]], queries: dict[str, str]) -> None:
    """A data root with a run's questions; each file holds them with the metadata of its time."""
    from datasets import Image, Sequence, Value

    text, number = Value("string"), Value("int64")
    features = dict.fromkeys(COLUMNS, text) | {
        "choices": Sequence(text),
        "precision": Value("float64"),
        "query": text,
    }
    metadata = dict.fromkeys(("category", "context", "grade", "language", "source", "split", "task"), text)
    features["metadata"] = {**metadata, "img_height": number, "img_width": number, "skills": Sequence(text)}
    made = [
        {**{name: row[name] for name in COLUMNS}, "decoded_image": tiny_picture(), "query": queries[row["pid"]]}
        for row in rows
    ]
    for row in made:
        row["metadata"] = {name: row["metadata"].get(name) for name in features["metadata"]}
    write_table(root, "AI4Math/MathVista", "testmini", made, features={**features, "decoded_image": Image()})


def check(cli: Any, folder: Path, run: str) -> None:
    """A run whose answers are the recorded extractions."""
    rows = list(OUTPUTS[run].json().values())
    task = "mathvista_testmini" if run in BY_SCRIPT else "mathvista_testmini_digits"
    write_questions(folder / "data", rows, QUERIES.json())
    path = write_answers(folder / "answers.jsonl", {task: [row.get("extraction") for row in rows]})
    ran = cli("--tasks", task, "--model", "replay", "--model_args", f"path={path}", "--data_root", folder / "data")
    assert ran.code == 0, ran.err
    compare(ran, task, run, rows)


def check_judged(cli: Any, folder: Path, run: str) -> None:
    """A run whose answers are the recorded responses, and whose judge replies with the recorded extractions."""
    rows = list(OUTPUTS[run].json().values())
    write_questions(folder / "data", rows, QUERIES.json())
    responses, replies = ([row[key] or "" for row in rows] for key in ("response", "extraction"))
    ran = judged(cli, folder, JUDGED, responses, replies, data=("--data_root", folder / "data"))
    asked = sum("judge" in sample for sample in ran.samples(JUDGED))
    assert asked > 0.8 * len(rows) and ran.results["results"][JUDGED]["judge_failed"] == 0
    compare(ran, JUDGED, run, rows)


def compare(ran: Any, task: str, run: str, rows: list[dict[str, Any]]) -> None:
    """Every recorded verdict, and every number of the recorded result."""
    verdicts = [bool(sample["scores"]["acc,none"]) for sample in ran.samples(task)]
    assert verdicts == [bool(row.get("true_false")) for row in rows]
    found, recorded = ran.results["categories"][task], SCORES[run].json()
    assert sum(1 if level == "average" else len(numbers) for level, numbers in recorded.items()) == 75
    overall = recorded.pop("average")
    assert ran.results["results"][task]["acc,none"] == pytest.approx(overall["correct"] / overall["total"])
    different = set()
    for level, numbers in recorded.items():
        assert set(numbers) == set(found[level])
        for name, number in numbers.items():
            if found[level][name]["acc,none"] != pytest.approx(number["correct"] / number["total"]):
                different.add(name)
    assert different == DIFFERENT.get(run, set())


def test_llava(cli, tmp_path: Path) -> None:
    check(cli, tmp_path, "llava/llava_llama_2_13b")


def test_bard_with_a_judge(cli, tmp_path: Path) -> None:
    check_judged(cli, tmp_path, "bard/bard")


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS_WITH_JUDGE)
def test_all_runs_with_a_judge(cli, tmp_path: Path, run: str) -> None:
    check_judged(cli, tmp_path, run)


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS)
def test_all_runs(cli, tmp_path: Path, run: str) -> None:
    check(cli, tmp_path, run)


def test_raw_responses_are_read_as_the_benchmark_reads_them(cli, tmp_path: Path) -> None:
    """Bard's responses by rules alone: those that are read mostly stand for what the language model made of them."""
    rows = list(OUTPUTS["bard/bard"].json().values())
    write_questions(tmp_path / "data", rows, QUERIES.json())
    path = write_answers(tmp_path / "answers.jsonl", {"mathvista_testmini": [row["response"] for row in rows]})
    arguments = ("--model", "replay", "--model_args", f"path={path}", "--data_root", tmp_path / "data")
    ran = cli("--tasks", "mathvista_testmini", *arguments)
    same = {True: 0, False: 0}
    for sample, row in zip(ran.samples("mathvista_testmini"), rows, strict=True):
        if sample["rules"]["none"] != ["unparsed"]:
            same[bool(sample["scores"]["acc,none"]) == row["true_false"]] += 1
    assert same[True] + same[False] > 700
    assert same[True] > 0.97 * (same[True] + same[False])
