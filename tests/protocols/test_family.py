"""A protocol and the family's own blocks agree, or the run says why not; a task's shorter cap is named."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from mm_eval.models.hf.families import FAMILIES
from mm_eval.models.openai.arguments import prompt_keys

from mm_eval.config.manager import TaskManager
from mm_eval.engine.model import ModelFacts
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.protocols import family
from mm_eval.protocols.family import other_prompt
from mm_eval.protocols.protocol_file import find_protocol, protocol_names
from mm_eval.request import RunRequest
from tests.conftest import ROOT

OTHER_PROMPTS = {  # the reasons stand as `source` in the protocols
    ("internvl3", "mathvision_test"),
    ("llava-1.5", "mmbench_cn_dev"),
    ("llava-1.5", "textvqa_val"),
    ("internvl3.5", "mathvision_test"),
    ("qwen2.5-vl", "mathvision_test"),
    ("qwen3.5", "mathvision_test"),
}
"""Where a protocol asks otherwise than the blocks of its models' family."""


@pytest.mark.full
def test_protocols_and_families_agree_but_for_the_listed_prompts() -> None:
    found = set()
    for name in protocol_names():
        protocol = find_protocol(name)
        keys = {prompt_keys(checkpoint) for names in protocol.models.values() for checkpoint in names[:1]}
        for task in protocol.benchmarks if name != "opencompass" else ():
            config = next(iter(TaskManager().load(task).tasks.values())).resolved(FOREIGN_CODE)
            found |= {(name, task) for each in keys if each and other_prompt(protocol, config, each)}
    assert found == OTHER_PROMPTS


def test_no_later_family_inherits_a_block_that_shortens_answers() -> None:
    """A block of Qwen-VL or Qwen2-VL reaches a later family only where the data set's own prompt is not known."""
    for kind in ("qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe", "qwen3_5", "qwen3_5_moe", "qwen4_exp"):
        assert "qwen2_vl" not in FAMILIES[kind].prompt_keys
        assert kind == "qwen2_5_vl" or "qwen2_5_vl" not in FAMILIES[kind].prompt_keys
    files = [path for path in (ROOT / "tasks").glob("*/*.yaml") if "\n  qwen_vl:" in path.read_text("utf-8")]
    assert len(files) > 15
    for path in files:
        for key in ("qwen2_5_vl", "qwen3_vl"):
            assert f"\n  {key}:" in path.read_text("utf-8"), f"{path} has no block {key}, which would get Qwen-VL's"


def test_a_run_says_why_a_protocol_asks_otherwise_than_the_family(cli: Any, tmp_path: Any, monkeypatch: Any) -> None:
    keys = prompt_keys("Qwen/Qwen2.5-VL-7B-Instruct")
    monkeypatch.setattr(family, "adapter_of", lambda request: SimpleNamespace(facts=ModelFacts(prompt_keys=keys)))
    asked = (
        "--tasks",
        "mathvision_test,mmstar",
        "--sample",
        "--model",
        "dummy",
        "--limit",
        1,
        "--protocol",
        "qwen2.5-vl",
    )
    said = " ".join(cli(*asked, "--output_path", tmp_path / "a").out.split())
    assert (
        "its own prompt in mathvision_test instead of the block 'qwen2_5_vl': assumed, VLMEvalKit's own prompt is the"
        in said
    )
    assert "its own prompt in mmstar" not in said


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Qwen3-VL-8B-Instruct", "in chartqa (256): --protocol qwen3-vl, or --gen_kwargs max_new_tokens=32768"),
        ("Another-8B", None),
    ],
)
def test_a_cap_below_that_of_the_models_report_is_named(cli: Any, tmp_path: Any, name: str, said: str | None) -> None:
    asked = ("--tasks", "chartqa", "--sample", "--model", "dummy", "--limit", 1, "--name", name)
    shown = " ".join(cli(*asked, "--output_path", tmp_path / "a").out.split())
    assert said in shown if said else "answers are capped at fewer tokens" not in shown
    shown = " ".join(cli(*asked, "--output_path", tmp_path / "b", "--gen_kwargs", "max_new_tokens=32768").out.split())
    assert "answers are capped at fewer tokens" not in shown


def test_only_files_that_name_the_model_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    read, whole = list[Path](), family.read_protocol
    monkeypatch.setattr(family, "read_protocol", lambda path: read.append(path) or whole(path))
    assert not list(family.protocols_of_model(RunRequest(tasks=("mme",), model_args={"model": "m"}))) and not read
    named = RunRequest(tasks=("mme",), model_args={"model": "org/Qwen2.5_VL-7B-Instruct"})
    assert "qwen2.5-vl" in [each.name for each in family.protocols_of_model(named)] and len(read) < 6
