"""A task with tools is compared doc by doc with the task that it is a variant of, between two runs or in one."""

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mm_eval import evaluate
from mm_eval.engine.model import Answers, Model, ModelFacts, ModelSettings, question
from mm_eval.results.recorded import RecordedRun
from mm_eval.values.types import Answer, Instance
from mm_eval.values.words import counted
from mm_eval.verbs.study.compare import compare
from mm_eval.verbs.study.compare_text import as_json, render
from mm_eval.verbs.study.task_variants import VariantRun, first_of, with_variants

ZOOM = '<tool_call>{"name": "image_zoom_in_tool", "arguments": {"bbox_2d": [0, 0, 500, 500]}}</tool_call>'


TASKS = {
    "plain": ["vstar", "hrbench4k"],
    "tools": ["vstar_tools", "hrbench4k_tools"],
    "both": ["vstar", "vstar_tools"],
}


class Zooms(Model):
    """Answers A without tools. With them it zooms in, and is right but for every third doc."""

    def __init__(self) -> None:
        super().__init__({}, ModelSettings())
        self.facts = ModelFacts(name="zooms", chat=True)

    def identity(self, instance: Instance) -> dict[str, Any]:
        return {"zooms": 1, **question(instance, 0)}

    def generate(self, instances: Iterable[Instance]) -> Answers:
        for instance in instances:
            said = "A"
            if "<tools>" in str(instance.context):
                said = ("E" if instance.doc_id % 3 == 0 else str(instance.target)) if instance.turn else ZOOM
            yield instance, Answer(said, usage={"prompt_tokens": 100 * (1 + instance.turn), "completion_tokens": 0})


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, RecordedRun]]:
    folder, made = tmp_path_factory.mktemp("variants"), {}
    for name, tasks in TASKS.items():
        evaluate(model=Zooms(), tasks=tasks, sample=True, output_path=str(folder / name), report=False)
        made[name] = RecordedRun.read(folder / name)
    yield made


def right_of(run: RecordedRun, task: str) -> dict[int, bool]:
    return {row["doc_id"]: row["scores"]["acc,none"] == 1.0 for row in run.rows(task)}


@pytest.mark.full
def test_two_runs(runs: dict[str, RecordedRun]) -> None:
    compared = compare([runs["plain"], runs["tools"]])
    (change,) = [each for each in compared[0].changes if each.task == "vstar" and each.key.metric == "acc"]
    before, after = right_of(runs["plain"], "vstar"), right_of(runs["tools"], "vstar_tools")
    gained, lost = ([i for i in before if (before[i], after[i]) == pair] for pair in ((False, True), (True, False)))
    assert gained and lost and change.flips is not None
    assert (list(change.flips.gained), list(change.flips.lost)) == (gained, lost)
    assert (
        compared[0].said[0]
        == f"vstar and vstar_tools: zoom gained {counted(len(gained), 'document')}, lost {len(lost)}, at 3.0 times the tokens"
    )
    assert compared[0].said[1].startswith("hrbench4k and hrbench4k_tools: zoom gained ")
    assert compared[0].said[0] in render(runs["plain"], compared)
    assert json.loads(as_json(runs["plain"], compared))["compared"][0]["variants"] == compared[0].said


def test_the_order_of_the_runs_does_not_matter(runs: dict[str, RecordedRun]) -> None:
    forth, back = compare([runs["plain"], runs["tools"]]), compare([runs["tools"], runs["plain"]])
    assert back[0].said == forth[0].said and len(back[0].changes) == len(forth[0].changes)
    for there, here in zip(forth[0].changes, back[0].changes, strict=True):
        assert here.task == there.task and here.difference.value == pytest.approx(-there.difference.value)
    shown = render(first_of([runs["tools"], runs["plain"]]), back)
    assert "vstar and vstar_tools: zoom gained" in shown and "in one of the runs only" not in shown


def test_one_run_with_both(runs: dict[str, RecordedRun]) -> None:
    compared = compare([runs["both"], runs["both"]])
    assert compared[0].said == compare([runs["plain"], runs["tools"]], only=["vstar"])[0].said
    assert not [said for said in compared[0].differs if "in one of the runs only" in said]
    assert "report.html" not in render(runs["both"], compared), "there is no page to link to"
    (runs["both"].folder / "report.html").touch()
    shown = render(runs["both"], compared)
    assert "report.html#vstar_tools/" in shown and "report.html#vstar/" not in shown


def test_runs_without_a_variant_are_left_as_they_are(runs: dict[str, RecordedRun], tmp_path: Path) -> None:
    assert with_variants(runs["plain"], runs["plain"]) is runs["plain"]
    assert with_variants(runs["plain"], runs["both"]) is runs["both"], "a task that both have is compared with itself"
    assert isinstance(with_variants(runs["plain"], runs["tools"]), VariantRun)
    assert compare([runs["plain"], runs["both"]])[0].said == []
