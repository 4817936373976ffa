"""A run imports the parts that it needs, and no others."""

import subprocess
import sys
from pathlib import Path

import pytest

from mm_eval.adapters import in_our_words
from mm_eval.prepare import Prepared, prepare
from mm_eval.request import RunRequest
from mm_eval.values.errors import ConfigError
from tests.sets import each_of

PLAIN = {"tasks": ("mme",), "model": "dummy", "output_path": "nowhere/at/all"}


def prepared(**fields: object) -> Prepared:
    return prepare(RunRequest.of_options(**{**PLAIN, "sample": True, **fields}))  # type: ignore[arg-type]


def parts_of(run: Prepared) -> set[str]:
    return {name for name in ("judging", "imported", "deciding", "submissions", "tracking") if getattr(run, name)}


@each_of(
    ("name", "fields"),
    [
        ("judging", {"tasks": ("mmvet",), "judge": ("dummy",)}),
        ("deciding", {"until_interval": 0.02}),
        ("submissions", {"tasks": ("docvqa_test",)}),
    ],
)
def test_a_run_has_the_parts_that_its_options_and_tasks_need(name: str, fields: dict[str, object]) -> None:
    assert parts_of(prepared()) == set() and parts_of(prepared(**fields)) == {name}


def test_a_tracker_is_looked_at_before_the_run() -> None:
    with pytest.raises(ConfigError, match="trackio"):
        prepared(trackio_args={"project": "p"}, tasks=("mme",))


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
    monkeypatch.setattr("mm_eval.aliases.request.in_our_words", lambda request: asked.append(request) or (request, []))
    in_our_words(RunRequest.of_options(**{**PLAIN, **fields}))  # type: ignore[arg-type]
    assert bool(asked) is is_theirs


def test_a_plain_run_imports_no_part_and_no_templates(tmp_path: Path) -> None:
    code = (
        "import sys; from mm_eval.cli import main\n"
        f"main(['--tasks', 'mme', '--limit', '2', '--sample', '--model', 'dummy', '--output_path', {str(tmp_path)!r}])\n"
        "ends = ('.judging', '.submissions', '.deciding', '.tracking', '.theirs', '.verdicts', '.counting', '.lmms_eval', "
        "'.first_rows', '.text', 'jinja2', 'matplotlib')\n"
        "print([name for name in sys.modules if name.endswith(ends)])"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]", ran.stdout[-500:]
