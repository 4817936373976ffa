"""EMMA-mini: 24 recorded runs give the numbers of their result files, or those of the script where the files have others."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.papers.recordings import Recording, tiny_picture, write_answers, write_table

REPOSITORY, COMMIT = "EMMA-Bench/EMMA", "50609fd4d7e4ce03124092b3862e10654b3b7cda"
FOLDER = "results/EMMA-mini"
THINKING = "close-source/gemini-2.0-flash-thinking-exp-1219"
RUNS = {  # some models' answers lie in several files
    **{name: [name] for name in (
        "close-source/claude_CoT", "close-source/claude_Direct", "close-source/gemini_CoT", "close-source/gemini_Direct",
        "close-source/gpt_CoT", "close-source/gpt_Direct", "open-source/InternVL2_5_CoT", "open-source/InternVL2_5_Direct",
        "open-source/InternVL2_CoT", "open-source/InternVL2_Direct", "open-source/Llava_CoT", "open-source/Llava_Direct",
        "open-source/Qwen2.5-VL-72B-Instruct_Coding_Chemistry_Physics_Math_CoT",
        "open-source/Qwen2.5-VL-72B-Instruct_Coding_Chemistry_Physics_Math_Direct", "open-source/Qwen_CoT",
        "open-source/Qwen_Direct",
    )},
    THINKING: [f"{THINKING}_{subject}_CoT" for subject in ("Chemistry", "Coding", "Math", "Physics")],
    "open-source/InternVL3-78B_CoT": [
        "open-source/InternVL3-78B_Coding_Math_CoT", "open-source/InternVL3-78B_Physics_Chemistry_CoT",
    ],
    "open-source/InternVL3-78B_Direct": [
        "open-source/InternVL3-78B_Math_Coding_Direct", "open-source/InternVL3-78B_Physics_Chemistry_Direct",
    ],
}  # fmt: skip
ANSWERS = {file: Recording(REPOSITORY, COMMIT, f"{FOLDER}/{file}.json") for files in RUNS.values() for file in files}
RESULTS = {file: Recording(REPOSITORY, COMMIT, f"{FOLDER}/{file}_result.json") for file in ANSWERS}
NUMBER_WORDS = {"Three", "Four", "Two", "Ten", "Six", "Five"}
BY_SCRIPT = {  # hits by the repository's script on the recorded answers, where its files have other verdicts
    "close-source/gemini_CoT": 149, "close-source/gemini_Direct": 141, "open-source/Llava_CoT": 86, THINKING: 172,
}  # fmt: skip
OTHER_VERDICTS = {
    "close-source/gemini_CoT": 4,
    "close-source/gemini_Direct": 4,
    "open-source/Llava_CoT": 15,
    THINKING: 5,
}
SUBJECTS = ("Chemistry", "Coding", "Math", "Physics")


def features() -> dict[str, Any]:
    from datasets import Image, Sequence, Value

    text = Value("string")
    return {
        **{"pid": text, "question": text, "options": Sequence(text), "answer": text},
        **{f"image_{n}": Image() for n in range(1, 6)},
        **dict.fromkeys(("solution", "subject", "task", "category", "source", "type", "context"), text),
    }


def answered(run: str) -> list[dict[str, Any]]:
    """The recorded problems of a run, by subject."""
    problems = [problem for file in RUNS[run] for problem in ANSWERS[file].json().values()]
    return sorted(problems, key=lambda problem: SUBJECTS.index(problem["subject"]))


def gold(problem: Mapping[str, Any]) -> dict[str, Any]:
    """A problem in the hub's schema, with a picture for each that it names."""
    words = json.dumps([problem["question"], problem["options"], problem["context"]])
    pictures = {f"image_{n}": tiny_picture() if f"<image_{n}>" in words else None for n in range(1, 6)}
    return {**pictures, **{key: problem[key] for key in features() if key in problem}}


def replayed(cli: Any, tmp_path: Path, problems: list[dict[str, Any]], *more: str) -> Any:
    for subject in SUBJECTS:
        rows = [gold(problem) for problem in problems if problem["subject"] == subject]
        write_table(tmp_path, "luckychao/EMMA-mini", "test", rows, subject, features())
    answers = write_answers(tmp_path / "a.jsonl", {"emma_mini": [problem["response"] for problem in problems]})
    ran = cli(
        "--tasks", "emma_mini", "--model", "replay", "--model_args", f"path={answers}", "--data_root", tmp_path, *more
    )  # fmt: skip
    assert ran.code == 0, ran.err
    return ran


@pytest.mark.parametrize("run", RUNS)
def test_a_recorded_run(cli: Any, tmp_path: Path, run: str) -> None:
    problems = answered(run)
    assert len(problems) == 400
    ran = replayed(cli, tmp_path, problems)
    right = [bool(row["scores"]["acc,none"]) for row in ran.samples("emma_mini")]
    differ = [problem for problem, mine in zip(problems, right, strict=True) if mine != problem["true_false"]]
    levels = ran.results["categories"]["emma_mini"]
    recorded = [RESULTS[file].json() for file in RUNS[run]]
    hits = sum(each["average"]["correct"] for each in recorded)
    assert len(differ) == OTHER_VERDICTS.get(run, 0)
    assert sum(right) == BY_SCRIPT.get(run, hits)
    assert ran.results["results"]["emma_mini"]["acc,none"] == pytest.approx(sum(right) / 400)
    if run in BY_SCRIPT:
        if run != "open-source/Llava_CoT":  # the script reads number words, which these verdicts do not
            assert {problem["extraction"] for problem in differ} <= NUMBER_WORDS
        return
    found = {
        "subject": {name: each["acc,none"] for name, each in levels["subject"].items()},
        "category": {name: each["acc,none"] for name, each in levels["category"].items()},
        "task": {name.replace(": ", "_", 1): each["acc,none"] for name, each in levels["task"].items()},
    }
    for each in recorded:
        nested = {f"{s}: {name}": stats for s, names in each["category"].items() for name, stats in names.items()}
        for level, wanted in (("subject", each["subject"]), ("category", nested), ("task", each["task"])):
            for name, stats in wanted.items():
                assert found[level][name] == pytest.approx(stats["accuracy"]), (level, name)
    for name in ("multiple choice", "open-ended"):
        stats = [each["question_type"][name] for each in recorded if name in each["question_type"]]
        share = sum(each["correct"] for each in stats) / sum(each["total"] for each in stats)
        assert levels["type"][name]["acc,none"] == pytest.approx(share)


@pytest.mark.parametrize(("run", "key"), [("close-source/gpt_CoT", "default"), ("close-source/gpt_Direct", "direct")])
def test_the_prompts_are_the_recorded_queries(cli: Any, tmp_path: Path, run: str, key: str) -> None:
    problems = answered(run)
    ran = replayed(cli, tmp_path, problems, "--prompt_key", key)
    for problem, row in zip(problems, ran.samples("emma_mini"), strict=True):
        marked = problem["query"]
        for n in range(1, 6):
            marked = marked.replace(f"<image_{n}>", "<image>")
        assert row["prompt"] == marked
