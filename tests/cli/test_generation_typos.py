"""What is wrong with --gen_kwargs or a task's generation_kwargs is told before the weights are loaded."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mm_eval.models.openai.adapter import OpenAI

from mm_eval.engine.model import ModelSettings, check_generation
from mm_eval.values.errors import ConfigError
from tests.conftest import Ran

WRONG = [
    ("temprature=0.5", "Did you mean 'temperature'"),
    ("temperature=hot", "temperature is 'hot'"),
    ("max_gen_toks=-1", "are invalid"),
    ("max_gen_toks=1e999", "is inf"),
    ("repetition_penalty=strong", "repetition_penalty is 'strong'; a number"),
    ("min_new_tokens=[1]", "min_new_tokens is [1]; a number"),
    ("do_sample=maybe", "do_sample is 'maybe'"),
    ("until=5", "until is 5"),
    ("eos_token_id=3", "Write 'until'"),
    ("no_such_option=1", "Unknown generation option 'no_such_option'"),
]
OPTIONS = ("--sample", "--limit", 1, "--device", "cpu", "--no_report", "--model", "tiny-llava")


@pytest.fixture(autouse=True)
def _no_weights(monkeypatch: pytest.MonkeyPatch) -> None:
    def load(*args: Any) -> None:
        raise AssertionError("the weights were loaded")

    monkeypatch.setattr("mm_eval.models.hf.weights.load_model", load)


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_a_wrong_option_of_the_command(cli: Callable[..., Ran], text: str, said: str) -> None:
    ran = cli("--tasks", "mme", *OPTIONS, "--gen_kwargs", text)
    assert ran.code == 2 and said in ran.err and "--gen_kwargs" in ran.err, ran.err


@pytest.mark.parametrize(("text", "said"), WRONG)
def test_a_wrong_option_of_a_task(cli: Callable[..., Ran], tmp_path: Path, text: str, said: str) -> None:
    name, _, value = text.partition("=")
    (tmp_path / "rows.jsonl").write_text(json.dumps({"question": "1+1?", "answer": "2"}) + "\n")
    value = "1.0e+999" if value == "1e999" else value
    (tmp_path / "sums.yaml").write_text(
        "task: sums\ndataset_path: json\n"
        f"dataset_kwargs: {{data_files: {{test: {tmp_path}/rows.jsonl}}}}\ntest_split: test\n"
        'doc_to_text: "{{question}}"\ndoc_to_target: answer\nmetric_list: [{metric: exact_match}]\n'
        f"generation_kwargs:\n  {name}: {value}\n"
    )
    ran = cli("--tasks", "sums", "--include_path", tmp_path, *OPTIONS)
    assert ran.code == 2 and said in ran.err and "sums.yaml" in ran.err, ran.err


def test_a_server_is_not_sent_a_misspelt_option() -> None:
    model = OpenAI({"base_url": "http://server/v1", "model": "m"}, ModelSettings())
    with pytest.raises(ConfigError, match="Did you mean 'temperature'"):
        check_generation(model, {"temprature": 0.5})
    check_generation(model, {"guided_choice": ["A", "B"], "image_aspect_ratio": "pad", "temperature": 0})
