"""MATH-Vision: the recorded responses of 16 models give all 178 numbers of each recorded result, through the task that ships."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.papers.recordings import Recording, tiny_picture, write_answers, write_table

REPOSITORY, COMMIT = "mathllm/MATH-V", "a1f5cc3add200c0cd080fad463e500f44ef1fb41"
GOLD = Recording(REPOSITORY, COMMIT, "data/test.jsonl")
RUNS = (
    "Random-Chance", "closed-source/Gemini/Gemini-Pro", "closed-source/Gemini/Gemini-Pro-CoT",
    "closed-source/Qwen/Qwen-VL-Max", "closed-source/Qwen/Qwen-VL-Max-CoT", "closed-source/Qwen/Qwen-VL-Plus",
    "open-source/Internlm/InternLM-XComposer2-VL", "open-source/Internlm/InternLM-XComposer2-VL-CoT",
    "open-source/LLavA/LLaVA-v1.5-7B", "open-source/LLavA/LLaVA-v1.5-13B", "open-source/ShereGPT4V/ShareGPT4V-7B",
    "open-source/ShereGPT4V/ShareGPT4V-13B", "open-source/Sphinx/SPHINX-MoE", "open-source/Sphinx/SPHINX-v2",
    "closed-source/GPT/GPT4-CoT (Text Only)", "closed-source/GPT/ChatGPT3.5-CoT (Text+Image Caption)",
)  # fmt: skip
RESPONSES = {run: Recording(REPOSITORY, COMMIT, f"outputs/{run}.jsonl") for run in RUNS}
NUMBERS = {run: Recording(REPOSITORY, COMMIT, f"outputs/{run}_result.json") for run in RUNS}
DIFFERENT = {("closed-source/Gemini/Gemini-Pro", "3013"): (1.0, False)}
"""{(run, id): (our score, the recorded verdict)}. "4/3" for \\frac{4}{3}, recorded as wrong, is right by the official code."""


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with the 3,040 problems of the test split."""
    from datasets import Image, Sequence, Value

    folder = tmp_path_factory.mktemp("mathvision")
    texts = ("question", "image", "answer", "solution", "subject")
    features = {"id": Value("string"), **dict.fromkeys(texts, Value("string"))}
    features |= {"options": Sequence(Value("string")), "decoded_image": Image(), "level": Value("int64")}
    rows = [{**row, "decoded_image": tiny_picture()} for row in GOLD.jsonl()]
    write_table(folder, "MathLLMs/MathVision", "test", rows, features=features)
    return folder


def hits(numbers: Mapping[str, str]) -> dict[str, tuple[int, int]]:
    """{name of a number: (right, all)} of a recorded result, whose values are "692/3040=22.76%"."""
    return {name: tuple(map(int, text.partition("=")[0].split("/"))) for name, text in numbers.items()}  # type: ignore[misc]


def shown_name(name: str) -> tuple[str, str]:
    """The level and category of a recorded number, "-level3", "algebra", "algebra_level3" or "-level3_algebra"."""
    if name.startswith("-level"):
        level, _, subject = name.removeprefix("-level").partition("_")
        return ("subject x level", f"{subject}, level {level}") if subject else ("level", level)
    subject, _, level = name.partition("_level")
    return ("subject x level", f"{subject}, level {level}") if level else ("subject", subject)


def check(cli: Any, root: Path, folder: Path, run: str) -> None:
    """Every verdict, and every number of the recorded result."""
    recorded = RESPONSES[run].jsonl()
    path = write_answers(folder / "answers.jsonl", {"mathvision_test": [row["response"] for row in recorded]})
    ran = cli("--tasks", "mathvision_test", "--model", "replay", "--model_args", f"path={path}", "--data_root", root)
    assert ran.code == 0, ran.err
    different = {}
    for row, sample in zip(recorded, ran.samples("mathvision_test"), strict=True):
        score = sample["scores"]["acc,none"]
        if bool(score) != row["correct"]:
            different[run, row["id"]] = (score, row["correct"])
    assert different == {key: value for key, value in DIFFERENT.items() if key[0] == run}
    gold = {row["id"]: row for row in GOLD.jsonl()}
    expected = hits(NUMBERS[run].json())
    assert len(expected) == 178
    for (_, number), (score, verdict) in different.items():
        level, subject = gold[number]["level"], gold[number]["subject"]
        for name in ("-all", f"-level{level}", subject, f"{subject}_level{level}", f"-level{level}_{subject}"):
            expected[name] = (expected[name][0] + int(score) - int(verdict), expected[name][1])
    found = ran.results["categories"]["mathvision_test"]
    for name, (right, docs) in expected.items():
        if name == "-all":
            number = ran.results["results"]["mathvision_test"]["acc,none"]
        else:
            level, category = shown_name(name)
            number = found[level][category]["acc,none"]
        assert number == pytest.approx(right / docs, abs=1e-12), name


def test_llava(cli, root: Path, tmp_path: Path) -> None:
    check(cli, root, tmp_path, "open-source/LLavA/LLaVA-v1.5-13B")


@pytest.mark.slow
@pytest.mark.parametrize("run", RUNS)
def test_all_runs(cli, root: Path, tmp_path: Path, run: str) -> None:
    check(cli, root, tmp_path, run)
