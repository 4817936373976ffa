"""LLaVA-Next-34B on MMStar: 52.1 in arXiv:2403.20330, from the answers that the benchmark's repository holds."""

from pathlib import Path
from typing import Any

import pytest

from tests.papers.recordings import Recording, tiny_picture, write_answers, write_table
from tests.papers.spreadsheet import rows_of

ANSWERS = Recording(
    "MMStar-Benchmark/MMStar",
    "88f243ab4a39cb339530085c33aecb22819881a1",
    "eval/submits/llava_next_yi_34b_MMStar.xlsx",
)
RIGHT = {  # of 250 each, as the benchmark's script counts the recorded answers
    "Coarse perception": 164,
    "Fine-grained perception": 130,
    "Instance reasoning": 156,
    "Logical reasoning": 115,
    "Science & technology": 83,
    "Math": 133,
}
FINER = {  # of the docs of four of the 18 finer categories, by the same script
    "image scene and topic": 73 / 141,
    "localization": 22 / 40,
    "geometry": 57 / 116,
    "image emotion": 23 / 31,
}


@pytest.fixture
def replayed(tmp_path: Path) -> tuple[Path, Path]:
    """(data root with the questions of the answer file, replay file)."""
    rows = rows_of(ANSWERS.fetched())
    gold = [
        {"index": int(row["index"]), "question": row["question"], "image": tiny_picture(), "answer": row["answer"]}
        | {"category": row["category"], "l2_category": row["l2_category"]}
        | {"meta_info": {"source": row["bench"], "split": "val", "image_path": f"images/{row['index']}.jpg"}}
        for row in rows
    ]
    write_table(tmp_path, "Lin-Chen/MMStar", "val", gold, features=_features())
    said = [row["prediction"] for row in rows]
    return tmp_path, write_answers(tmp_path / "answers.jsonl", {"mmstar": said, "mmstar_lmms": said})


def test_llava_next_34b(cli, replayed: tuple[Path, Path]) -> None:
    root, answers = replayed
    ran = cli(
        "--tasks", "mmstar,mmstar_lmms", "--model", "replay", "--model_args", f"path={answers}", "--data_root", root
    )
    assert ran.code == 0, ran.err
    results = ran.results["results"]
    assert results["mmstar"]["acc,none"] == pytest.approx(781 / 1500)  # 52.07, printed as 52.1
    assert results["mmstar"]["unparsed"] == 0
    categories = ran.results["categories"]["mmstar"]
    assert {name: row["acc,none"] * 250 for name, row in categories["category"].items()} == pytest.approx(RIGHT)
    assert list(categories["category"]) == list(RIGHT)
    assert len(categories["l2_category"]) == 18
    assert {name: categories["l2_category"][name]["acc,none"] for name in FINER} == pytest.approx(FINER)
    assert results["mmstar_lmms"]["average,none"] == pytest.approx(0.5272, abs=5e-5)


def _features() -> dict[str, Any]:
    from datasets import Image, Value

    text = Value("string")
    columns = {"index": Value("int64"), "question": text, "image": Image(), "answer": text}
    return (
        columns
        | {"category": text, "l2_category": text}
        | {"meta_info": dict.fromkeys(("source", "split", "image_path"), text)}
    )
