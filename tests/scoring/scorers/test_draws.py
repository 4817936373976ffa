"""The random stream of a task's functions starts as the import of their file left it, and goes on in the order of the docs."""

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.conftest import Ran

GUESS = """
def guess(doc, results):
    return {"drawn": random.random(), "numpy_drawn": float(np.random.random()), "own": RNG.random()}

def order(docs):
    return docs.select(random.sample(range(len(docs)), len(docs)))

def last(values):
    return random.random() + RNG.random()
"""
HEAD = "import random\nimport numpy as np\nRNG = random.Random(7)\n"
DOCS = 700  # more than are scored at once
TASK = """task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: rows.jsonl}}}}
test_split: test
doc_to_text: question
doc_to_target: answer
process_results: !function {file}.guess
metric_list:
  - {{metric: drawn, aggregation: mean}}
  - {{metric: numpy_drawn, aggregation: mean}}
  - {{metric: own, aggregation: mean}}
"""
Run = Callable[..., Ran]


@pytest.fixture
def run(cli: Callable[..., Ran], tmp_path: Path) -> Run:
    """Runs tasks of a folder of their own, with the model that needs none."""
    rows = [{"question": f"q{n}", "answer": "a"} for n in range(DOCS)]
    (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def with_tasks(names: str, output: str = "out", *more: object) -> Ran:
        options = ("--include_path", tmp_path, "--model", "dummy", "--no_report", *more)
        ran = cli("--tasks", names, *options, "--output_path", tmp_path / output)
        assert ran.code == 0, ran.err
        return ran

    return with_tasks


def write(
    folder: Path, top: str, name: str = "guessing", file: str = "utils", more: str = "", body: str = GUESS
) -> None:
    (folder / f"{file}.py").write_text(HEAD + top + body)
    (folder / f"{name}.yaml").write_text(TASK.format(name=name, file=file) + more)


def drawn(ran: Ran, metric: str = "drawn", task: str = "guessing") -> list[Any]:
    return [row["scores"][f"{metric},none"] for row in ran.samples(task)]


def stream(seed: int, count: int = DOCS) -> list[float]:
    generator = random.Random(seed)
    return [generator.random() for _ in range(count)]


@pytest.mark.full
@pytest.mark.parametrize(
    "top", ["random.seed(42)\nnp.random.seed(5)\n", "from random import seed\nseed(42)\nnp.random.seed(5)\n"]
)
def test_the_seed_at_the_top_of_a_file_is_where_its_functions_draw_from(run: Run, tmp_path: Path, top: str) -> None:
    write(tmp_path, top)
    ran = run("guessing")
    assert drawn(ran) == stream(42) and drawn(ran, "own") == stream(7)
    assert drawn(ran, "numpy_drawn") == list(np.random.RandomState(5).random(DOCS))


@pytest.mark.full
def test_what_the_import_draws_after_its_seed_is_gone(run: Run, tmp_path: Path) -> None:
    write(tmp_path, "random.seed(42)\nFIRST = random.random()\n")
    assert drawn(run("guessing")) == stream(42, DOCS + 1)[1:]


@pytest.mark.parametrize("top", ["", "random.random()\n", "random.Random(42)\nnp.random.default_rng(3)\n"])
def test_without_a_seed_the_stream_is_the_one_that_lmms_eval_starts_with(run: Run, tmp_path: Path, top: str) -> None:
    write(tmp_path, top)
    ran = run("guessing")
    assert drawn(ran) == stream(0) and drawn(ran, "numpy_drawn") == list(np.random.RandomState(1234).random(DOCS))


@pytest.mark.full
def test_scoring_again_and_running_again_give_the_same_numbers(
    run: Run, cli: Callable[..., Ran], tmp_path: Path
) -> None:
    random_order = "process_docs: !function utils.order\n"
    by_function = "  - {metric: own, aggregation: !function utils.last}\n"
    write(tmp_path, "random.seed(42)\n", more=random_order)
    file = tmp_path / "guessing.yaml"
    file.write_text(file.read_text().replace("  - {metric: own, aggregation: mean}\n", by_function))
    first, again = run("guessing", "first"), run("guessing", "again")
    random.seed(99)
    scored = cli("score", tmp_path / "first")
    assert scored.code == 0
    table = first.results["results"]["guessing"]
    assert table["own,none"] == stream(42, DOCS + 1)[-1] + stream(7, DOCS + 1)[-1], (
        "it goes on where the documents ended"
    )
    assert table["own_stderr,none"] == 0, "each call of it draws the same"
    for ran in (again, Ran(0, "", "", tmp_path / "first")):
        assert ran.results["results"] == first.results["results"] and ran.samples("guessing") == first.samples(
            "guessing"
        )
    assert random.random() == stream(99)[0], "the stream of others is left alone"


@pytest.mark.full
def test_tasks_of_one_file_and_of_several_draw_each_from_its_own_start(run: Run, tmp_path: Path) -> None:
    write(tmp_path, "random.seed(42)\n", "one")
    write(tmp_path, "random.seed(42)\n", "two")
    write(tmp_path, "random.seed(8)\n", "other", "functions")
    write(tmp_path, "", "plain", "unseeded")
    ran = run("other,one,plain,two")
    found = [drawn(ran, task=task) for task in ("one", "two", "other", "plain")]
    assert found == [stream(42), stream(42), stream(8), stream(0)]
    assert drawn(run("two", "alone"), task="two") == stream(42)


@pytest.mark.full
def test_a_seed_in_a_file_beside_it_counts_whoever_imports_it_first(run: Run, tmp_path: Path) -> None:
    (tmp_path / "shared.py").write_text("import random\nrandom.seed(42)\ndef text(doc):\n    return doc['question']\n")
    write(tmp_path, "from .shared import text\n")
    write(tmp_path, "from .shared import text\n", "second", "more")
    file = tmp_path / "second.yaml"
    file.write_text(file.read_text().replace("doc_to_text: question", "doc_to_text: !function shared.text"))
    ran = run("second,guessing")
    assert drawn(ran, task="second") == drawn(ran) == stream(42)


def test_docs_are_put_in_the_order_that_the_seed_gives(run: Run, tmp_path: Path) -> None:
    write(tmp_path, "random.seed(42)\n", more="process_docs: !function utils.order\n")
    asked = [row["doc"]["question"] for row in run("guessing").samples("guessing")]
    assert asked == [f"q{n}" for n in random.Random(42).sample(range(DOCS), DOCS)]


@pytest.mark.full
def test_a_filter_draws_from_the_stream_too(run: Run, tmp_path: Path) -> None:
    chance = (
        "\nclass Chance:\n    def apply(self, resps, docs):\n        return [[str(random.random())] for _ in resps]\n"
    )
    kept = GUESS.replace('"drawn": random.random()', '"drawn": float(results[0])') + chance
    pipeline = "filter_list: [{name: none, filter: [{function: !function utils.Chance}]}]\n"
    write(tmp_path, "random.seed(42)\n", body=kept, more=pipeline)
    assert drawn(run("guessing")) == stream(42)
