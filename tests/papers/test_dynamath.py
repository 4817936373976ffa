"""DynaMath: the recorded verdicts on 14 models give their average and worst case, overall, by subject and by level.

The repository holds no answers. Each verdict is replayed as the JSON response of a right or of a wrong answer, so this tests the
grouping, the categories and that the rule accepts every gold answer; the rule itself is tested in tests/tasks.
"""

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from tests.papers.recordings import Recording, tiny_picture, write_answers, write_table

REPOSITORY, COMMIT = "DynaMath/DynaMath", "598c3c3d732422d29580e9ecf8f2a7928a068fdd"
VARIANTS = range(1, 11)
FOLDER = "samples and result"
GOLD = [Recording(REPOSITORY, COMMIT, f"{FOLDER}/10trials/trial{variant}/dataset.json") for variant in VARIANTS]
PUBLISHED = {
    "GPT4o": (63.3, 34.7), "Gemini1.5-Pro": (60.4, 27.1), "InternVL2-26b": (41.0, 14.4), "InternVL2-40B": (41.9, 14.2),
    "InternVL2-76B": (53.6, 24.6), "InternVL2-8b": (39.3, 10.4), "Qwen2-72B": (55.1, 28.5), "Qwen2-7B": (42.1, 13.8),
    "claude3.5": (64.8, 35.7), "deepseek7B": (21.6, 4.2), "llama-3.2-90B": (44.3, 13.0), "llava1.5-7B": (16.4, 1.8),
    "llava1.6-34B": (27.2, 6.0), "llava1.6-vicuna-13B": (19.6, 2.8),
}  # fmt: skip
"""(average, worst case) in %, as the files of verdicts give them."""
VERDICTS = {model: Recording(REPOSITORY, COMMIT, f"{FOLDER}/{model}-result.csv") for model in PUBLISHED}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with the ten variants of the 501 questions."""
    from datasets import Image, Value

    folder, text = tmp_path_factory.mktemp("dynamath"), Value("string")
    names = ("id", "question", "image", "ground_truth", "answer_type", "subject", "knowledge_level")
    features = {**dict.fromkeys(names, text), "decoded_image": Image()}
    for variant, recording in zip(VARIANTS, GOLD, strict=True):
        rows = [
            {
                "id": number,
                "question": row["question"],
                "image": row["image"],
                "ground_truth": row["answer"],
                "answer_type": row["answer_type"],
                "subject": row["subject"],
                "knowledge_level": row["level"],
                "decoded_image": tiny_picture(),
            }
            for number, row in recording.json().items()
        ]
        write_table(folder, "DynaMath/DynaMath_Sample", f"sample_variant{variant}", rows, features=features)
    return folder


def verdicts(model: str) -> list[dict[str, str]]:
    """The rows of the 501 questions, in their order; the file's own count of right answers is that of its rows."""
    rows = list(csv.DictReader(VERDICTS[model].text().splitlines()))
    rows, (counts, *_) = rows[:501], rows[501:]
    for variant in (f"Variant {variant}" for variant in VARIANTS):
        assert int(counts[variant]) == sum(row[variant] == "correct" for row in rows)
    assert [row["Question ID"] for row in rows] == [f"Q{number}" for number in range(1, 502)]
    return rows


def numbers(rows: list[dict[str, str]]) -> tuple[float, float]:
    """The average and the worst case of some questions' verdicts."""
    right = [[row[f"Variant {variant}"] == "correct" for variant in VARIANTS] for row in rows]
    return sum(map(sum, right)) / (10 * len(right)), sum(map(all, right)) / len(right)


def check(cli: Any, root: Path, folder: Path, model: str) -> None:
    """The published pair, and the pair of each subject and level."""
    rows, answers = verdicts(model), []
    for variant, recording in zip(VARIANTS, GOLD, strict=True):
        for row, gold in zip(rows, recording.json().values(), strict=True):
            right = row[f"Variant {variant}"] == "correct"
            answers.append(json.dumps({"short answer": gold["answer"] if right else "#"}, ensure_ascii=False))
    path = write_answers(folder / "answers.jsonl", {"dynamath": answers})
    ran = cli("--tasks", "dynamath", "--model", "replay", "--model_args", f"path={path}", "--data_root", root)
    assert ran.code == 0, ran.err
    result = ran.results["results"]["dynamath"]
    pair = (result["average,none"], result["worst_case,none"])
    assert pair == pytest.approx(numbers(rows))
    assert tuple(round(100 * number, 1) for number in pair) == PUBLISHED[model]
    for level, column in (("subject", "Topic"), ("knowledge_level", "Difficulty Level")):
        found = ran.results["categories"]["dynamath"][level]
        assert set(found) == {" ".join(row[column].split()) for row in rows}
        for name, number in found.items():
            own = [row for row in rows if " ".join(row[column].split()) == name]
            assert (number["average,none"], number["worst_case,none"]) == pytest.approx(numbers(own))


def test_gpt_4o(cli, root: Path, tmp_path: Path) -> None:
    check(cli, root, tmp_path, "GPT4o")


@pytest.mark.slow
@pytest.mark.parametrize("model", PUBLISHED)
def test_all_models(cli, root: Path, tmp_path: Path, model: str) -> None:
    check(cli, root, tmp_path, model)
