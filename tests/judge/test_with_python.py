"""A judged task without and with Python: the judge is shown the last answer alone, and the pair has its gain."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from mm_eval import evaluate
from mm_eval.engine.model import Answers, Model, ModelFacts, ModelSettings, question
from mm_eval.results.recorded import RecordedRun
from mm_eval.values.types import Answer, Instance
from mm_eval.verbs.study.compare import compare
from tests.judge.server import Server
from tests.sandbox.there import sandbox
from tests.tools.scripted import call


class Sums(Model):
    """With Python it computes the sum by code and is right; without it says no. It says so only in its last answer."""

    def __init__(self) -> None:
        super().__init__({}, ModelSettings())
        self.facts = ModelFacts(name="sums", chat=True)

    def identity(self, instance: Instance) -> dict[str, Any]:
        return {"sums": 1, **question(instance, 0)}

    def generate(self, instances: Iterable[Instance]) -> Answers:
        for instance in instances:
            said = "no"
            if "<tools>" in str(instance.context):
                said = (
                    str(instance.target)
                    if instance.turn
                    else f"I compute.\n{call('python', code=f'print({instance.doc_id} + 1)')}"
                )
            yield instance, Answer(said, usage={"prompt_tokens": 10, "completion_tokens": 2})


@pytest.mark.full
def test_the_judge_grades_the_last_answer_of_each_column(judged: Any, server: Server, tmp_path: Path) -> None:
    sandbox()
    names = [str(judged.folder / "graded.yaml"), f"{judged.folder / 'graded.yaml'}@python"]
    asked = {"base_url": server.url, "model": "judge-1", "max_retries": 0}
    report = evaluate(
        model=Sums(), tasks=names, output_path=str(tmp_path / "run"), report=False, repeats=2, limit=4,
        judge="openai", judge_args=asked, judge_preflight=False,
    )  # fmt: skip
    assert report.exit_code == 0, report.problems
    run = RecordedRun.read(tmp_path / "run")
    assert not any("tool_call" in prompt or "I compute" in prompt for prompt in server.asked)
    assert len(server.asked) == 8 and set(server.asked.values()) == {2}, "each attempt has its verdict"
    (found,) = compare([run, run])[0].gains
    assert (found.task, found.name, found.flips) == ("graded", "graded@python", (4, 0))
    assert (found.change.first.value, found.change.second.value, found.is_better) == (0, 1, found.is_better)
    assert (found.use.calls, found.use.used, found.use.docs) == (1, 4, 4) and found.use.times == 2
    row = json.loads(run.samples_path("graded@python").read_text().splitlines()[0])
    assert [[each["output"] for each in calls] for calls in row["tools"]["ran"]] == [["1"], ["1"]]
    assert row["judge"][0]["verdict"] == 1 if isinstance(row["judge"], list) else row["judge"]["verdict"] == 1
