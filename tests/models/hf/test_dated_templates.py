"""Chat templates that write the date: each prompt of a run has the day of its first launch, and keys of another day differ."""

from __future__ import annotations

import datetime
import json
import shutil
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from mm_eval.engine.model import MODELS, ModelSettings, expect, request_key
from mm_eval.values.errors import ConfigError
from tests.folders import write_task
from tests.models.questions import instance, picture
from tests.sets import few

DAYS = (datetime.date(2026, 11, 27), datetime.date(2026, 11, 29))


@pytest.fixture
def dated(checkpoint: Callable[[str], Path], tmp_path: Path) -> Callable[..., Path]:
    """A checkpoint whose template begins with a text."""

    def build(kind: str, first: str) -> Path:
        folder = shutil.copytree(checkpoint(kind), tmp_path / f"{kind}-dated")
        file = folder / "chat_template.jinja"
        file.write_text(first + file.read_text())
        return folder

    return build


def model(folder: Path, today: datetime.date, name: str = "hf", **settings: Any) -> Any:
    made: Any = MODELS.get(name)({"pretrained": str(folder)}, ModelSettings(device="cpu", today=today, **settings))
    return made


@pytest.mark.parametrize(
    ("kind", "name", "first"),
    [
        (
            "llama",
            "hf",
            "{% if strftime_now is defined %}{% set d = strftime_now('%d %B %Y, %H:%M') %}{% endif %}{{ d }} ",
        ),
        ("qwen2_vl", "hf", "{%- set now = strftime_now -%}{{ now('%d %B %Y, %H:%M') }} "),
        ("llama", "vllm", "{{ strftime_now('%d %B %Y, %H:%M') }} "),
    ],
)
def test_the_prompt_has_the_day_that_its_key_has(dated: Callable[..., Path], kind: str, name: str, first: str) -> None:
    folder = dated(kind, first)
    asked = instance("Is there a dog?", [picture(40, 40)] if kind != "llama" else ())
    models = [model(folder, day, name) for day in DAYS]
    for each, day in zip(models, DAYS, strict=True):
        assert f"{day:%d} November 2026, 00:00" in each.show(asked).text
    assert len({request_key(each, asked) for each in models}) == 2
    assert [each.describe()["date"] for each in models] == ["2026-11-27", "2026-11-29"]
    expect(models[1], {"date": "2026-11-27"})  # a run that began then goes on
    assert models[1].show(asked).text == models[0].show(asked).text
    assert request_key(models[1], asked) == request_key(models[0], asked)
    plain = [model(folder, day, name, chat_template=False) for day in DAYS]
    assert len({request_key(each, instance("Hi", chat=False)) for each in plain}) == 1


@pytest.mark.parametrize("first", ["", "{# strftime_now('%Y') #}", "strftime_now('%Y') | random "])
def test_a_template_without_the_date_has_one_key(dated: Callable[..., Path], first: str) -> None:
    models = [model(dated("llama", first), DAYS[0])]
    models.append(model(Path(models[0].arguments.pretrained), DAYS[1]))
    assert len({request_key(each, instance("Is there a dog?")) for each in models}) == 1
    assert "date" not in models[0].describe()


@pytest.mark.parametrize("first", ["{{ ['Hi', 'Hello'] | random }} ", "{{ lipsum(1) }} "])
def test_random_words_are_refused(dated: Callable[..., Path], first: str) -> None:
    folder = dated("llama", first)
    with pytest.raises(ConfigError, match="writes random words"):
        model(folder, DAYS[0])
    model(folder, DAYS[0], chat_template=False)


TASK = """task: free
dataset_path: json
dataset_kwargs: {data_files: rows.jsonl}
test_split: train
doc_to_text: "{{ q }}"
doc_to_target: "{{ a }}"
generation_kwargs: {max_new_tokens: 2}
metric_list: [{metric: exact_match}]
"""


@pytest.mark.parametrize("stated", few([True, False], at=[0]))
def test_a_run_that_goes_on_later_has_the_day_of_its_first_launch(
    dated: Callable[..., Path], stated: bool, cli: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = dated("llama", "Today is {{ strftime_now('%d %B %Y') }}. ")
    task = write_task(tmp_path / "task", "free", TASK, "", [{"q": f"{n} dogs?", "a": "no"} for n in (1, 2)])
    monkeypatch.chdir(tmp_path)
    where = ["--output_path", "runs/one"] if stated else []
    for today in DAYS:
        monkeypatch.setattr("mm_eval.engine.model.date", SimpleNamespace(today=partial(lambda day: day, today)))
        ran = cli("run", "--tasks", task, "--model", "hf", "--model_args", f"pretrained={folder}", *where)
        assert ran.code == 0, ran.err
    [run] = tmp_path.glob("runs/*/run.json")
    assert json.loads(run.read_text())["spec"]["model"]["date"] == "2026-11-27"
    lines = [line for path in (run.parent / "journal").iterdir() for line in path.read_text().splitlines()]
    assert sum("key" in json.loads(line) for line in lines) == 2, "nothing is asked twice"
