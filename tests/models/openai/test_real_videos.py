"""Files of videos at a real `vllm serve`: it takes the frames of the rule. Skipped where vllm is not installed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mm_eval.models.openai.adapter import OpenAI

from mm_eval.engine.model import ModelSettings
from mm_eval.values.errors import ModelError
from mm_eval.values.types import Answer

pytest.importorskip("vllm")
pytest.importorskip("av")

from .test_real_server import Serving
from .test_videos import asked, movie  # noqa: F401

PAIR = 27
"""Tokens that tiny-qwen2-vl has for two frames of 160 x 64 pixels."""


@pytest.fixture(scope="module")
def serving() -> Iterator[Serving]:
    serving = Serving("tiny-qwen2-vl", "--trust-request-mm-kwargs", "--enable-prompt-tokens-details")
    serving.start()
    yield serving
    serving.kill()


def answers(serving: Serving, rules: list[str], file: Path, **args: Any) -> list[Answer]:
    address = {"base_url": f"http://127.0.0.1:{serving.port}/v1", "model": serving.model, **args}
    rows = [asked(file, rule) for rule in rules]
    found = dict(OpenAI(address, ModelSettings()).generate(rows))
    assert all(isinstance(found[row], Answer) for row in rows), found
    return [found[row] for row in rows]


def test_the_server_takes_as_many_frames_as_the_rule_says(serving: Serving, movie: Path) -> None:  # noqa: F811
    rules = {"frames=2": 2, "frames=6": 6, "frames=16": 16, "fps=2,max=16": 8, "fps=2,max=6": 6, "frames=200": 100}
    found = answers(serving, list(rules), movie, video="file")
    assert [answer.usage["video_tokens"] for answer in found] == [PAIR * count // 2 for count in rules.values()]


def test_frames_with_times_are_read_as_pictures(serving: Serving, movie: Path) -> None:  # noqa: F811
    plain, timed = (answers(serving, ["frames=4"], movie, video=way)[0].usage for way in ("pictures", "times"))
    assert timed["prompt_tokens"] > plain["prompt_tokens"] and "video_tokens" not in timed


@pytest.mark.parametrize("model", ["tiny-qwen2-vl", "tiny-llava"])
def test_a_server_that_refuses_says_what_to_do(model: str, movie: Path) -> None:  # noqa: F811
    """One that was not started for rules of a request, and a model that takes no videos."""
    serving = Serving(model, *(["--trust-request-mm-kwargs"] if model == "tiny-llava" else []))
    serving.start()
    try:
        with pytest.raises(ModelError, match=r"refuses the file of a video.*video=times"):
            answers(serving, ["frames=2"], movie, video="file")
    finally:
        serving.kill()
