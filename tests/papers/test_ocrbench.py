"""OCRBench's own questions: its references give 1000 hits, and as many of each type as its script prints.

The repository has no recorded answers of models. The rule is compared with the script's, on answers made from the references.
"""

import random
from typing import Any

from tests.papers.prompts import prompts
from tests.papers.recordings import Recording, tiny_picture, write_answers, write_table

QUESTIONS = Recording(
    "Yuliang-Liu/MultimodalOCR", "794c36d6423cf1d5764081128bcaeb46b240def6", "OCRBench/OCRBench/OCRBench.json"
)
SIZES = {"Scene Text-centric VQA": 200, "Doc-oriented VQA": 200, "Key Information Extraction": 200}
SIZES |= {"Handwritten Mathematical Expression Recognition": 100}


def write(root) -> list[dict[str, Any]]:
    """Writes the questions in the hub's schema; returns them as the repository has them."""
    from datasets import Image, Sequence, Value

    asked: list[dict[str, Any]] = QUESTIONS.json()
    rows = []
    for row in asked:
        answers = row["answers"] if isinstance(row["answers"], list) else [row["answers"]]
        made = {"dataset": row["dataset_name"], "question": row["question"], "question_type": row["type"]}
        rows.append({**made, "answer": answers, "image": tiny_picture()})
    text = Value("string")
    features = {"dataset": text, "question": text, "question_type": text, "answer": Sequence(text), "image": Image()}
    write_table(root, "echo840/OCRBench", "test", rows, features=features)
    return asked


def changed(reference: str, stream: random.Random) -> str:
    """The reference as a model might give it: in a sentence, in capitals, with other blanks, or with a letter missing."""
    kind = stream.randrange(6)
    if kind == 0:
        return f"The text in the image is: {reference.strip()}."
    if kind == 1:
        return reference.upper()
    if kind == 2:
        return reference.replace(" ", "\n")
    if kind == 3:
        return reference.replace(" ", "")
    return reference[1:] if kind == 4 else f"$ {reference} $"


def is_hit(row: dict[str, Any], predicted: str) -> bool:
    """OCRBench/example.py at the commit above, in short."""
    answers = row["answers"] if isinstance(row["answers"], list) else [row["answers"]]
    if row["dataset_name"] == "HME100k":
        return any(
            a.strip().replace("\n", " ").replace(" ", "") in predicted.strip().replace("\n", " ").replace(" ", "")
            for a in answers
        )
    return any(a.lower().strip().replace("\n", " ") in predicted.lower().strip().replace("\n", " ") for a in answers)


def test_references_and_answers_made_from_them(cli, tmp_path) -> None:
    asked, stream = write(tmp_path), random.Random(0)
    assert prompts(tmp_path, "ocrbench") == [row["question"].strip() for row in asked]
    first = [row["answers"][0] if isinstance(row["answers"], list) else row["answers"] for row in asked]
    made = [changed(reference, stream) for reference in first]
    hits = [is_hit(row, answer) for row, answer in zip(asked, made, strict=True)]
    assert 500 < sum(hits) < 900
    for name, answers, right in (("gold", first, [True] * 1000), ("made", made, hits)):
        replay = write_answers(tmp_path / f"{name}.jsonl", {"ocrbench": answers})
        ran = cli(
            *("--tasks", "ocrbench", "--model", "replay", "--model_args", f"path={replay}", "--data_root", tmp_path),
            *("--output_path", tmp_path / name),
        )
        assert ran.code == 0, ran.err
        row = ran.results["results"]["ocrbench"]
        assert row["ocrbench_score,none"] == row["hits,none"] == sum(right)
        by_type = ran.results["categories"]["ocrbench"]["question_type"]
        assert len(by_type) == 10
        for kind, found in by_type.items():
            assert found["n"] == SIZES.get(kind, 50)
            assert found["hits,none"] == sum(
                hit for hit, each in zip(right, asked, strict=True) if each["type"] == kind
            )
        assert ran.results["categories"]["ocrbench"]["section"]["Text Recognition"]["n"] == 300
