"""`--model openai` against a real `transformers serve`; skipped where its packages are missing. `.ci/vllm` runs these tests."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mm_eval.models.openai.adapter import OpenAI

from mm_eval.engine.model import ModelSettings
from mm_eval.request import RunRequest
from mm_eval.run import evaluate
from mm_eval.values.errors import ModelError
from mm_eval.values.types import Answer
from tests.models.openai.test_openai import CHAT, question, scored
from tests.processes import HANGS

for needed in ("fastapi", "uvicorn", "openai"):
    pytest.importorskip(needed)
FOLDER = Path(__file__).parents[3] / "assets" / "models" / "tiny-llava"
PORT = "8437"
WITHOUT_TORCHVISION = (
    "import sys; sys.modules['torchvision'] = None; from transformers.cli.transformers import main; main()"
)
"""PyPI's torchvision has no operators beside a CPU build of torch; without it the server reads pictures with Pillow."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    command = [
        sys.executable,
        "-c",
        WITHOUT_TORCHVISION,
        "serve",
        str(FOLDER),
        "--device",
        "cpu",
        "--dtype",
        "float32",
        "--host",
        "127.0.0.1",
        "--port",
        PORT,
    ]
    home = tmp_path_factory.mktemp("home")
    (home / "hub").mkdir()  # without it, the list of models is an error
    quiet: dict[str, Any] = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    process = subprocess.Popen(command, env={**os.environ, "HF_HOME": str(home), "HF_HUB_OFFLINE": "1"}, **quiet)
    try:
        until = time.monotonic() + HANGS
        while True:
            try:
                with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/health", timeout=2):
                    break
            except OSError:
                assert process.poll() is None and time.monotonic() < until, "transformers serve is not ready"
                time.sleep(1)
        yield f"http://127.0.0.1:{PORT}/v1"
    finally:
        process.kill()
        process.wait()


def model(address: str, name: str = str(FOLDER)) -> OpenAI:
    return OpenAI({"base_url": address, "model": name}, ModelSettings())


@pytest.mark.parametrize(("task", "docs"), [("mme", 24), ("gsm8k", 6)])
def test_answers_are_those_of_hf(address: str, tmp_path: Path, task: str, docs: int) -> None:
    args = {"base_url": address, "model": str(FOLDER), "send_stop": False}
    options: dict[str, Any] = {"tasks": (task,), "limit": docs}
    served = evaluate(
        RunRequest.of_options(
            model="openai", model_args=args, sample=True, output_path=str(tmp_path / "served"), **options
        )
    )
    evaluate(RunRequest.of_options(model="tiny-llava", output_path=str(tmp_path / "plain"), **options))
    assert served.exit_code == 0 and served.results.rows[task].failed == 0
    assert not list(served.results.oddities)  # it states its model as NAME@main
    expected = recorded(tmp_path / "plain")
    assert len(expected) == docs and recorded(tmp_path / "served") == expected


def recorded(folder: Path) -> dict[int, Any]:
    rows = [json.loads(line) for path in folder.glob("samples/*.jsonl") for line in path.read_text().splitlines()]
    return {row["doc_id"]: row["resps"] for row in rows}


def test_what_it_does_not_know_stops_the_run_in_words(address: str) -> None:
    with pytest.raises(ModelError, match="does not serve this model.*pinned"):
        list(model(address, "no/such").generate([question([], "q")]))
    with pytest.raises(ModelError, match="does not know a field.*prompt_logprobs.*NAME@generate"):
        list(model(address).loglikelihood(scored(CHAT, " red house", " blue house")))


def test_a_question_with_stop_strings_is_answered_without_them_and_cut_here(address: str) -> None:
    asked = question([], "hi")
    asked.generation_kwargs = {"max_new_tokens": 4, "until": ["\n"]}
    args = {"base_url": address, "model": str(FOLDER), "max_retries": 1}
    served = OpenAI(args, ModelSettings())
    [(_, found)] = served.generate([asked])
    assert isinstance(found, Answer) and found.attempts == 3 and served.facts.findings["dropped"] == ["stop"]
    [(_, again)] = OpenAI({**args, "send_stop": False}, ModelSettings()).generate([asked])
    assert isinstance(again, Answer) and again.output == found.output


def test_an_odd_question_fails_alone_after_an_answer(address: str) -> None:
    asked = [question([], f"q{number}") for number in range(4)]
    for number, each in enumerate(asked):
        each.generation_kwargs = {"max_new_tokens": 4, **({"odd": 1} if number == 2 else {})}
    found = [
        answer
        for _, answer in OpenAI(
            {"base_url": address, "model": str(FOLDER), "num_concurrent": 1}, ModelSettings()
        ).generate(asked)
    ]
    assert sum(isinstance(each, Answer) for each in found) == 3 and "odd" in str(
        [each for each in found if isinstance(each, ModelError)]
    )
