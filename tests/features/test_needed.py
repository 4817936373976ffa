"""A run imports the parts that it needs, and no others."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from mm_eval.opening import PARTS, part_class, part_classes
from mm_eval.request import NEEDED, RunRequest, is_needed
from tests.sets import each_of

PLAIN = {"tasks": ("mme",), "model": "dummy", "output_path": "nowhere/at/all"}
JUDGED = SimpleNamespace(read=lambda key: object(), of_features={}, is_shipped=False)
SHIPPED = SimpleNamespace(read=lambda key: None, of_features={}, is_shipped=True)


def task_with(key: str) -> SimpleNamespace:
    return SimpleNamespace(read=lambda name: None, of_features={key: object()}, is_shipped=False)


def needed(*configs: object, **fields: object) -> set[str]:
    request = RunRequest(**{**PLAIN, **fields})  # type: ignore[arg-type]
    classes = part_classes(request, configs)  # type: ignore[arg-type]
    return {name for name in PARTS if part_class(name) in classes}


@each_of(
    ("name", "fields"),
    [
        ("judge", {"judge": ("openai",)}),
        ("judge", {"judge_args": ({"model": "m"},)}),
        ("protocol", {"protocol": "qwen2_5_vl"}),
        ("protocol", {"model_args": {"pretrained": "Qwen/Qwen2.5-VL-7B-Instruct"}}),
        ("protocol", {"name": "Qwen2.5-VL-7B"}),
        ("trackers", {"wandb_args": {}}),
        ("trackers", {"trackio_args": {"project": "p"}}),
        ("deciding", {"until_interval": 0.02}),
        ("deciding", {"stop_when": "decided"}),
        ("deciding", {"output_path": None}),
    ],
)
def test_an_option_brings_its_part(name: str, fields: dict[str, object]) -> None:
    assert needed() == set() and needed(**fields) == {name}


def test_a_judged_task_and_what_an_earlier_launch_left_bring_theirs(tmp_path: Path) -> None:
    assert needed(JUDGED) == {"judge"}
    assert needed(task_with("tools")) == {"tools"} and needed(task_with("rounds")) == {"turns"}
    assert needed(SHIPPED) == {"first_rows"} and needed(SHIPPED, sample=True) == set()
    folder = tmp_path / "run"
    for name, left in (("imported", "imported"), ("deciding", "looks")):
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
    fields: dict[str, object], is_theirs: bool
) -> None:
    assert is_needed("peers", RunRequest(**{**PLAIN, **fields})) is is_theirs  # type: ignore[arg-type]


def test_each_part_says_when_it_is_needed_and_all_score_a_recorded_run() -> None:
    assert NEEDED.keys() == {*PARTS, "peers"}
    assert len(part_classes()) == len(PARTS)


def test_a_plain_run_imports_no_part_and_no_templates(tmp_path: Path) -> None:
    code = (
        "import sys; from mm_eval.cli import main\n"
        f"main(['--tasks', 'mme', '--limit', '2', '--sample', '--model', 'dummy', '--output_path', {str(tmp_path)!r}])\n"
        "ends = ('.run_part', '.part', '.theirs', '.verdicts', '.counting', '.text', 'jinja2')\n"
        "print([name for name in sys.modules if name.endswith(ends)])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]", ran.stdout[-500:]
