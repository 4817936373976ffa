"""The bundled models look at the pictures: clearly above chance on the samples, at chance when the pictures are shuffled.

Each is run once through the command line, so this is also the whole path with real weights.
"""

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from mm_eval.cli import main
from mm_eval.task.dataset import sample_root

MODELS = ("tiny-llava", "tiny-qwen2-vl")
TASKS = "mme,seedbench_ppl,seedbench_image"


@pytest.fixture(scope="module")
def shuffled_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with the samples' questions, each asked about another picture of its own kind."""
    import pyarrow.parquet as parquet

    root = tmp_path_factory.mktemp("shuffled")
    for name, kind, step in (("lmms-lab/MME", "category", 2), ("lmms-lab/SEED-Bench", "question_type_id", 1)):
        [file] = (sample_root() / name).rglob("*.parquet")
        rows = parquet.read_table(file)
        by_kind: dict[object, list[int]] = {}
        for index, value in enumerate(rows.column(kind).to_pylist()):
            by_kind.setdefault(value, []).append(index)
        source = list(range(rows.num_rows))
        for of_kind in by_kind.values():
            shift = step * (len(of_kind) // (2 * step))
            for place, index in enumerate(of_kind):
                source[index] = of_kind[(place + shift) % len(of_kind)]
        place = rows.schema.get_field_index("image")
        mixed = rows.set_column(place, rows.schema.field(place), rows.column("image").take(source))
        (root / name / "data").mkdir(parents=True)
        parquet.write_table(mixed, root / name / "data" / "test-00000-of-00001.parquet")
    return root


@pytest.fixture(scope="module")
def accuracy(
    tmp_path_factory: pytest.TempPathFactory, shuffled_root: Path
) -> Callable[[str, bool], dict[str, list[float]]]:
    """The right/wrong marks of a model by task, with the samples' own pictures or shuffled ones; each run is made once."""
    import json

    done: dict[tuple[str, bool], dict[str, list[float]]] = {}

    def run(model: str, shuffled: bool) -> dict[str, list[float]]:
        if (model, shuffled) not in done:
            folder = tmp_path_factory.mktemp("run")
            command = ["--tasks", TASKS, "--model", model, "--output_path", str(folder)]
            assert main(command + (["--data_root", str(shuffled_root)] if shuffled else [])) == 0
            marks: dict[str, list[float]] = {}
            for path in (folder / "samples").glob("*.jsonl"):
                for row in map(json.loads, path.read_text(encoding="utf-8").splitlines()):
                    value = next(iter(row["scores"].values()))
                    marks.setdefault(path.stem, []).append(value["score"] if isinstance(value, dict) else float(value))
            done[model, shuffled] = marks
        return done[model, shuffled]

    return run


def beyond_chance(marks: list[float], chance: float) -> float:
    """How many standard errors of pure guessing the accuracy lies above chance."""
    return (sum(marks) / len(marks) - chance) / math.sqrt(chance * (1 - chance) / len(marks))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(
    ("task", "chance", "least"), [("mme", 0.5, 10), ("seedbench_ppl", 0.25, 15), ("seedbench_image", 0.25, 3)]
)
def test_above_chance_on_the_samples(accuracy, model: str, task: str, chance: float, least: float) -> None:
    assert beyond_chance(accuracy(model, False)[task], chance) > least


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize(("task", "chance"), [("mme", 0.5), ("seedbench_ppl", 0.25)])
def test_at_chance_with_shuffled_pictures(accuracy, model: str, task: str, chance: float) -> None:
    assert abs(beyond_chance(accuracy(model, True)[task], chance)) < 3.5
