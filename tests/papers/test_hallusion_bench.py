"""HallusionBench: the groups of the 951 questions on pictures, and all shares by the evaluation script written out again."""

import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest

from tests.papers.recordings import Recording, tiny_picture, write_answers, write_table

QUESTIONS = Recording("tianyi-lab/HallusionBench", "744007c232c292942c7f80eb61edb2465482da31", "HallusionBench.json")


def shares(rows: list[dict[str, Any]], right: list[bool]) -> dict[str, float]:
    """aAcc, fAcc and qAcc in the way of the benchmark's utils.py."""
    groups: dict[str, dict[str, list[bool]]] = {"qAcc": defaultdict(list), "fAcc": defaultdict(list)}
    for row, mark in zip(rows, right, strict=True):
        of_set = "_".join((row["category"], row["subcategory"], row["set_id"]))
        groups["qAcc"][f"{of_set}_{row['question_id']}"].append(mark)
        groups["fAcc"][f"{of_set}_{row['figure_id']}"].append(mark)
    assert (len(groups["qAcc"]), len(groups["fAcc"])) == (455, 346)
    found = {name: sum(map(all, each.values())) / len(each) for name, each in groups.items()}
    return {**found, "aAcc": sum(right) / len(right)}


def test_the_questions_of_the_benchmark_have_455_and_346_groups(cli, tmp_path: Path) -> None:
    from datasets import Image, Value

    rows = [row for row in QUESTIONS.json() if row["visual_input"] != "0"]
    assert len(rows) == 951
    features = {**{name: Value("string") for name in rows[0]}, "image": Image()}
    whole = [{**row, "image": tiny_picture()} for row in rows]
    write_table(tmp_path, "lmms-lab/HallusionBench", "image", whole, features=features)
    draw = random.Random(0)
    right = [draw.random() < 0.8 for _ in rows]
    said = [
        draw.choice(("Yes, it is.", "yes")) if (row["gt_answer"] == "1") == mark else draw.choice(("No", "no way"))
        for row, mark in zip(rows, right, strict=True)
    ]
    answers = write_answers(tmp_path / "answers.jsonl", {"hallusion_bench_image": said})
    ran = cli(
        *("--tasks", "hallusion_bench_image", "--model", "replay", "--model_args", f"path={answers}"),
        *("--data_root", tmp_path),
    )
    assert ran.code == 0, ran.err
    row, expected = ran.results["results"]["hallusion_bench_image"], shares(rows, right)
    for name, value in expected.items():
        assert row[f"{name},none"] == pytest.approx(value, abs=1e-12), name
    assert row["average,none"] == pytest.approx(sum(expected.values()) / 3, abs=1e-12)
    assert (row["n"], row["unparsed"]) == (951, 0)
