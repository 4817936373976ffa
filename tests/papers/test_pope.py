"""POPE: recorded answers of LLaVA-1.5 give the F1 of its paper (arXiv:2310.03744, table 5), through the task that ships."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.papers.recordings import Recording, prompts_of, tiny_picture, verdict, write_answers, write_table

LLAVA, LLAVA_COMMIT = "haotian-liu/LLaVA", "32cebc3809441cc40d8ac7b2855d148308741f2a"
COPY, COPY_COMMIT = "Haoming2000/VLM-Benchmarks", "6d394c981c5f7300c12905b2d5bbb14898399730"
FOLDER = "playground/data/eval/pope"
QUESTIONS = Recording(LLAVA, LLAVA_COMMIT, f"{FOLDER}/llava_pope_test.jsonl")
ANSWERS_13B = Recording(LLAVA, LLAVA_COMMIT, f"{FOLDER}/answers/llava-v1.5-13b.jsonl")
ANSWERS_7B = Recording(COPY, COPY_COMMIT, f"{FOLDER}/answers/llava-v1.5-7b.jsonl")
"""Someone's run of the 7B model that stopped after 5,712 of the 8,910 questions; its printed numbers are PRINTED_7B."""
CATEGORIES = ("random", "popular", "adversarial")
LABELS = {category: Recording(COPY, COPY_COMMIT, f"{FOLDER}/coco/coco_pope_{category}.json") for category in CATEGORIES}
PAPER_13B = {"random": 87.1, "popular": 86.2, "adversarial": 84.5}
COUNTS_7B = {"adversarial": (1187, 133, 1367, 313), "random": (1104, 29, 1285, 294)}
PRINTED_7B = {
    "adversarial": {
        "acc": 0.8513333333333334,
        "precision": 0.8992424242424243,
        "recall": 0.7913333333333333,
        "f1": 0.8418439716312057,
        "yes_rate": 0.44,
    },
    "random": {
        "acc": 0.8808997050147492,
        "precision": 0.9744042365401588,
        "recall": 0.7896995708154506,
        "f1": 0.8723824575266693,
        "yes_rate": 0.41777286135693215,
    },
}


def gold() -> list[dict[str, Any]]:
    """The 8,910 questions that LLaVA asked, as rows in the hub's schema."""
    labels = {category: iter(recording.jsonl()) for category, recording in LABELS.items()}
    rows = []
    for line in QUESTIONS.jsonl():
        label = next(labels[line["category"]])
        assert line["image"] == label["image"]
        texts = {
            "id": str(line["question_id"]),
            "question_id": str(label["question_id"]),
            "question": line["text"].partition("\n")[0],
            "answer": label["label"],
            "image_source": line["image"].removesuffix(".jpg"),
        }
        rows.append({**texts, "image": tiny_picture(), "category": line["category"]})
    return rows


def replayed(cli: Any, folder: Path, rows: Sequence[Mapping[str, Any]], said: Sequence[str], *more: str) -> Any:
    """The shipped task over these rows and answers. more: further options."""
    from datasets import Image, Value

    features = {name: Image() if name == "image" else Value("string") for name in rows[0]}
    write_table(folder, "lmms-lab/POPE", "test", rows, features=features)
    answers = write_answers(folder / "answers.jsonl", {"pope": said})
    words = ("--tasks", "pope", "--model", "replay", "--model_args", f"path={answers}", "--data_root", folder)
    ran = cli(*words, *more)
    assert ran.code == 0, ran.err
    return ran


def rates(counts: Sequence[int]) -> dict[str, float]:
    """The numbers of POPE's evaluate.py from true and false positives, true and false negatives."""
    tp, fp, tn, fn = counts
    precision, recall = tp / (tp + fp), tp / (tp + fn)
    found = {"acc": (tp + tn) / sum(counts), "precision": precision, "recall": recall}
    return {**found, "f1": 2 * precision * recall / (precision + recall), "yes_rate": (tp + fp) / sum(counts)}


def test_llava_13b_has_the_f1_of_its_paper(cli, tmp_path: Path) -> None:
    rows, said = gold(), [line["text"] for line in ANSWERS_13B.jsonl()]
    ran = replayed(cli, tmp_path, rows, said, "--protocol", "llava-1.5", "--name", "llava-v1.5-13b")
    row = ran.results["results"]["pope"]
    assert verdict(ran.results, "pope") == "matches"
    assert prompts_of(ran, "pope") == [line["text"] for line in QUESTIONS.jsonl()]
    assert (row["n"], row["failed"], row["unparsed"]) == (8910, 0, 0)
    assert 100 * row["f1_mean,none"] == pytest.approx(sum(PAPER_13B.values()) / 3, abs=0.05)
    assert 100 * row["f1_mean,none"] == pytest.approx(85.94688, abs=1e-5)
    for category, printed in PAPER_13B.items():
        found = ran.results["categories"]["pope"]["category"][category.capitalize()]
        pairs = [(r["answer"], a) for r, a in zip(rows, said, strict=True) if r["category"] == category]
        counts = [
            sum(pair in kind for pair in pairs)
            for kind in ([("yes", "Yes")], [("no", "Yes")], [("no", "No")], [("yes", "No")])
        ]
        assert sum(counts) == found["n"] == (2910 if category == "random" else 3000)
        for name, value in rates(counts).items():
            assert found[f"{name},none"] == pytest.approx(value, abs=1e-12), (category, name)
        assert round(100 * found["f1,none"], 1) == printed
    assert all(isinstance(row[f"{name}_stderr,none"], float) for name in ("f1_mean", "f1", "acc", "yes_rate"))


@pytest.mark.slow
def test_a_run_of_llava_7b_has_the_numbers_that_its_authors_printed(cli, tmp_path: Path) -> None:
    said = {line["question_id"]: line["text"] for line in ANSWERS_7B.jsonl()}
    rows = [row for row in gold() if int(row["id"]) in said]
    ran = replayed(cli, tmp_path, rows, [said[int(row["id"])] for row in rows])
    row = ran.results["results"]["pope"]
    assert row["n"] == 5712
    assert row["f1_mean,none"] == pytest.approx(sum(each["f1"] for each in PRINTED_7B.values()) / 2, abs=1e-12)
    for category, printed in PRINTED_7B.items():
        found = ran.results["categories"]["pope"]["category"][category.capitalize()]
        for name, value in printed.items():
            assert found[f"{name},none"] == pytest.approx(value, abs=1e-12), (category, name)
    together = [sum(pair) for pair in zip(*COUNTS_7B.values(), strict=True)]
    for name, value in rates(together).items():
        assert row[f"{name},none"] == pytest.approx(value, abs=1e-12), name
