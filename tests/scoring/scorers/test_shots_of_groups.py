"""The n-shot of a group is what its tasks ran with, a range where they differ; what its configuration states is a note."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Ran

TASK = """
task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}, train: {data}}}}}
test_split: test
fewshot_split: train
output_type: generate_until
doc_to_text: "{{{{question}}}}"
doc_to_target: answer
num_fewshot: {shots}
metric_list: [{{metric: exact_match}}]
"""


@pytest.fixture
def run(cli: Callable[..., Ran], tmp_path: Path) -> Callable[..., Ran]:
    """A run of a group of tasks with so many examples each. stated: what the group's configuration says."""

    def of(shots: list[int], stated: str, *more: object, outer: str = "") -> Ran:
        mine = tmp_path / f"mine{len(list(tmp_path.iterdir()))}"
        mine.mkdir()
        data = mine / "data.jsonl"
        data.write_text("".join(json.dumps({"question": f"{n}?", "answer": "1"}) + "\n" for n in range(12)))
        names = [f"t{number}" for number in range(len(shots))]
        for name, count in zip(names, shots, strict=True):
            (mine / f"{name}.yaml").write_text(TASK.format(name=name, data=data, shots=count))
        (mine / "g.yaml").write_text(f"group: g\ntask: [{', '.join(names)}]\n{stated}\n")
        if outer:
            (mine / "outer.yaml").write_text(outer)
        options = ("--include_path", mine, "--model", "dummy", "--output_path", mine / "run")
        return cli("--tasks", "outer" if outer else "g", *options, *more)

    return of


@pytest.mark.parametrize(
    ("shots", "shown"), [([0, 0], 0), ([2, 2, 2], 2), ([0, 2], "0-2"), ([5, 1, 3], "1-5"), ([3], 3)]
)
def test_a_group_shows_what_its_tasks_ran_with(run: Callable[..., Ran], shots: list[int], shown: int | str) -> None:
    ran = run(shots, "")
    assert ran.code == 0, ran.err
    assert ran.results["n-shot"] == {"g": shown, **{f"t{n}": count for n, count in enumerate(shots)}}
    assert "states" not in str(ran.results["results"]["g"].get("notes"))
    assert str(shown) in next(line for line in ran.out.splitlines() if line.split()[:1] == ["g"]).split()


@pytest.mark.parametrize(("shots", "shown"), [([0, 2], "0-2"), ([0, 0], 0)])
def test_what_a_group_states_beside_it_is_a_note(run: Callable[..., Ran], shots: list[int], shown: int | str) -> None:
    ran = run(shots, "metadata: {num_fewshot: 5}")
    note = f"its configuration states 5-shot; its tasks ran with {shown}."
    assert ran.results["n-shot"]["g"] == shown
    assert note in ran.results["results"]["g"]["notes"] and note in ran.out


def test_a_true_statement_and_the_option_of_a_run(run: Callable[..., Ran]) -> None:
    stated = run([5, 5], "metadata: {num_fewshot: 5}")
    assert stated.results["n-shot"]["g"] == 5 and "states" not in str(stated.results["results"]["g"].get("notes"))
    given = run([0, 5], "metadata: {num_fewshot: 5}", "--num_fewshot", 3)
    assert given.results["n-shot"] == {"g": 3, "t0": 3, "t1": 3}
    assert "states" not in str(given.results["results"]["g"].get("notes")), "the option replaces the statement"


def test_a_group_of_groups_spans_all_their_tasks(run: Callable[..., Ran]) -> None:
    ran = run([1, 4], "metadata: {num_fewshot: 4}", outer="group: outer\ntask: [g, {task: t0, num_fewshot: 2}]\n")
    assert (ran.code, ran.results["n-shot"]["g"]) == (0, "1-4"), ran.err
    assert ran.results["n-shot"]["outer"] == "1-4"
