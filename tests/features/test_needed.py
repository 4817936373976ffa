"""A run imports the parts that it needs, and no others."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from mm_eval.adapters import in_our_words
from mm_eval.parts import kinds_of
from mm_eval.request import RunRequest
from tests.sets import each_of

PLAIN = {"tasks": ("mme",), "model": "dummy", "output_path": "nowhere/at/all"}


def task_with(**fields: object) -> SimpleNamespace:
    plain = {"is_judged": False, "is_shipped": False, "submission": None, "tools": None, "rounds": None}
    return SimpleNamespace(**{**plain, "output_type": "multiple_choice", **fields})


def needed(*configs: object, **fields: object) -> set[str]:
    request = RunRequest.of_options(**{**PLAIN, **fields})  # type: ignore[arg-type]
    return {kind.__name__ for kind in kinds_of(request, configs)}  # type: ignore[arg-type]


@each_of(
    ("name", "fields"),
    [
        ("JudgePart", {"judge": ("openai",)}),
        ("JudgePart", {"judge_args": ({"model": "m"},)}),
        ("ProtocolPart", {"protocol": "qwen2_5_vl"}),
        ("ProtocolPart", {"model_args": {"pretrained": "Qwen/Qwen2.5-VL-7B-Instruct"}}),
        ("ProtocolPart", {"name": "Qwen2.5-VL-7B"}),
        ("TrackersPart", {"wandb_args": {}}),
        ("TrackersPart", {"trackio_args": {"project": "p"}}),
        ("DecidingPart", {"until_interval": 0.02}),
        ("DecidingPart", {"stop_when": "decided"}),
        ("DecidingPart", {"output_path": None}),
    ],
)
def test_an_option_brings_its_part(name: str, fields: dict[str, object]) -> None:
    assert needed() == set() and needed(**fields) == {name}


def test_a_judged_task_and_what_an_earlier_launch_left_bring_theirs(tmp_path: Path) -> None:
    assert needed(task_with(is_judged=True)) == {"JudgePart"}
    assert needed(task_with(tools=object())) == {"ToolsPart"} and needed(task_with(rounds=object())) == {"TurnsPart"}
    shipped = task_with(is_shipped=True)
    assert needed(shipped) == {"FirstRows"} and needed(shipped, sample=True) == set()
    folder = tmp_path / "run"
    for name, left in (("Theirs", "imported"), ("DecidingPart", "looks")):
        (folder / left).mkdir(parents=True)
        assert name in needed(output_path=str(folder))


@pytest.mark.parametrize(
    ("fields", "is_theirs"),
    [
        ({}, False),
        ({"model": None}, False),
        ({"model": "qwen2_vl"}, True),
        ({"model_args": {"pretrained": "x"}}, True),
        ({"model": None, "model_args": {"pretrained": "x"}}, True),
    ],
)
def test_only_a_model_that_others_may_name_is_looked_up_among_theirs(
    fields: dict[str, object], is_theirs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []
    monkeypatch.setattr(
        "mm_eval.features.peers.request.in_our_words", lambda request: asked.append(request) or (request, [])
    )
    in_our_words(RunRequest.of_options(**{**PLAIN, **fields}))  # type: ignore[arg-type]
    assert bool(asked) is is_theirs


def test_a_plain_run_imports_no_part_and_no_templates(tmp_path: Path) -> None:
    code = (
        "import sys; from mm_eval.cli import main\n"
        f"main(['--tasks', 'mme', '--limit', '2', '--sample', '--model', 'dummy', '--output_path', {str(tmp_path)!r}])\n"
        "ends = ('.run_part', '.part', '.theirs', '.verdicts', '.counting', '.text', 'jinja2')\n"
        "print([name for name in sys.modules if name.endswith(ends)])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]", ran.stdout[-500:]
