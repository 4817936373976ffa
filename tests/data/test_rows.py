"""Pictures in parquet files that pandas or pyarrow wrote, which do not declare them."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mm_eval.data.rows import with_pictures_declared
from tests.conftest import ROOT
from tests.papers.recordings import write_answers
from tests.sets import few

DATA = ROOT / "assets" / "data"


def _bytes(value: Any) -> Any:
    if isinstance(value, list):
        return [_bytes(each) for each in value]
    return value["bytes"] if isinstance(value, dict) and set(value) == {"bytes", "path"} else value


def undeclared(table: pa.Table) -> pa.Table:
    """The table without the declarations of `datasets`."""
    return table.replace_schema_metadata(None)


def plain_bytes(table: pa.Table) -> pa.Table:
    """The same, with pictures as bytes instead of mappings of bytes and path."""
    return pa.table({name: [_bytes(value) for value in table.column(name).to_pylist()] for name in table.column_names})


@pytest.mark.parametrize("stored", [undeclared, plain_bytes])
@pytest.mark.parametrize(
    ("task", "hub_id"),
    few(
        [
            ("mmstar", "Lin-Chen/MMStar"),
            ("muirbench", "MUIRBENCH/MUIRBENCH"),
            ("gqa", "lmms-lab/GQA"),
            ("scienceqa", "lmms-lab/ScienceQA"),
        ],
        at=(0,),
    ),
)
def test_a_task_reads_pictures_that_are_not_declared(
    cli, tmp_path: Path, task: str, hub_id: str, stored: Callable[[pa.Table], pa.Table]
) -> None:
    root = tmp_path / "data"
    shutil.copytree(DATA / hub_id, root / hub_id)
    for file in (root / hub_id).rglob("*.parquet"):
        pq.write_table(stored(pq.read_table(file)), file)
    replay = write_answers(tmp_path / "answers.jsonl", {task: ["A"] * 20})
    common = ("--tasks", task, "--model", "replay", "--model_args", f"path={replay}")
    declared = cli(*common, "--sample", "--output_path", tmp_path / "declared")
    found = cli(*common, "--data_root", root, "--output_path", tmp_path / "found")
    assert found.code == declared.code == 0, found.err
    assert found.results["results"][task] == declared.results["results"][task]
    assert found.results["categories"] == declared.results["categories"]


def test_other_bytes_and_other_mappings_are_left_alone() -> None:
    from datasets import Dataset

    rows = Dataset.from_dict({
        "audio": [{"bytes": b"RIFF....WAVEfmt ", "path": "a.wav"}],
        "key": [b"\x00\x01"],
        "none": [{"bytes": None, "path": None}],
        "text": ["PNG"],
    })  # fmt: skip
    assert with_pictures_declared(rows).features == rows.features


@pytest.mark.parametrize(
    ("stored", "readme"),
    [
        pytest.param(undeclared, False, marks=pytest.mark.full),
        pytest.param(undeclared, True, marks=pytest.mark.slow),
        pytest.param(plain_bytes, False, marks=pytest.mark.slow),
        pytest.param(plain_bytes, True, marks=pytest.mark.slow),
    ],
)
def test_mmmu_in_a_configuration_for_each_subject(
    cli, tmp_path: Path, stored: Callable[[pa.Table], pa.Table], readme: bool
) -> None:
    table = pq.read_table(DATA / "lmms-lab" / "MMMU" / "default" / "validation-00000-of-00001.parquet")
    subjects = [name.partition("_")[2].rpartition("_")[0] for name in table.column("id").to_pylist()]
    folder, card = tmp_path / "data" / "MMMU" / "MMMU", "---\nconfigs:\n"
    for subject in sorted(set(subjects)):
        (folder / subject).mkdir(parents=True)
        chosen = table.filter(pa.array([each == subject for each in subjects]))
        pq.write_table(stored(chosen), folder / subject / "validation-00000-of-00001.parquet")
        card += f"- config_name: {subject}\n  data_files:\n  - split: validation\n    path: {subject}/validation-*\n"
    if readme:
        (folder / "README.md").write_text(card + "---\n", encoding="utf-8")
    gold = dict(zip(table.column("id").to_pylist(), table.column("answer").to_pylist(), strict=True))
    answers = [gold[name] for name in sorted(gold, key=lambda name: name.partition("_")[2].rpartition("_")[0])]
    replay = write_answers(tmp_path / "answers.jsonl", {"mmmu_val": answers})
    ran = cli(
        *("--tasks", "mmmu_val", "--model", "replay", "--model_args", f"path={replay}"),
        "--data_root",
        tmp_path / "data",
    )
    assert ran.code == 0, ran.err
    assert ran.results["results"]["mmmu_val"]["n"] == len(answers)
