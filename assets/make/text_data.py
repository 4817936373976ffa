"""Writes the text samples that mm-eval ships in the hub's schemas: python assets/make/text_data.py [folder]

The questions are our own (text/*.txt, the right option first); this script shuffles options so that every letter is
right about equally often, and cuts the lists into splits.
"""

import random
import sys
from pathlib import Path
from typing import Any

from prompts import LETTERS

TEXT = Path(__file__).parent / "text"
SEED = 20_260_802
Row = dict[str, Any]
ARC = {"ARC-Easy": "arc_easy", "ARC-Challenge": "arc_challenge"}
SUBJECTS = ("anatomy", "astronomy", "high_school_geography")
ARC_SPLITS = {"test": 32, "train": 8, "validation": 8}
MMLU_SPLITS = {"test": 20, "validation": 5, "dev": 5}
GSM8K_SPLITS = {"test": 24, "train": 8}


def lines(name: str) -> list[list[str]]:
    """The questions of a file, each as its parts."""
    text = (TEXT / f"{name}.txt").read_text(encoding="utf-8")
    return [[part.strip() for part in line.split(" | ")] for line in text.splitlines()]


def split(rows: list[Any], sizes: dict[str, int]) -> dict[str, list[Any]]:
    """The rows cut in order into splits of the sizes; all of them must be used."""
    if sum(sizes.values()) != len(rows):
        raise ValueError(f"the splits {sizes!r} do not add up to {len(rows)} questions")
    iterator = iter(rows)
    return {name: [next(iterator) for _ in range(size)] for name, size in sizes.items()}


def placed(questions: list[list[str]], rng: random.Random) -> list[tuple[str, list[str], int]]:
    """(question, options, index of the right one), every index as often as the others, one more or less."""
    places = [number % len(LETTERS) for number in range(len(questions))]
    rng.shuffle(places)
    rows = []
    for (question, right, *wrong), place in zip(questions, places, strict=True):
        rng.shuffle(wrong)
        rows.append((question, [*wrong[:place], right, *wrong[place:]], place))
    return rows


def arc_rows(config: str) -> dict[str, list[Row]]:
    """Splits in the schema of allenai/ai2_arc; as there, some questions number their options with digits."""
    rng, splits = random.Random(SEED), {}
    for name, questions in split(lines(ARC[config]), ARC_SPLITS).items():
        rows: list[Row] = []
        for number, (question, options, place) in enumerate(placed(questions, rng)):
            labels = list("1234" if number % 16 == 15 else LETTERS)
            choices = {"text": options, "label": labels}
            row = {"id": f"mm-eval-{ARC[config]}-{name}-{number:02d}", "question": question}
            rows.append({**row, "choices": choices, "answerKey": labels[place]})
        splits[name] = rows
    return splits


def mmlu_rows(subject: str) -> dict[str, list[Row]]:
    """Splits in the schema of cais/mmlu."""
    rng, splits = random.Random(SEED + 1), {}
    for name, questions in split(lines(subject), MMLU_SPLITS).items():
        splits[name] = [
            {"question": question, "subject": subject, "choices": options, "answer": place}
            for question, options, place in placed(questions, rng)
        ]
    return splits


def gsm8k_rows() -> dict[str, list[Row]]:
    """Splits in the schema of openai/gsm8k; answers carry the calculator's marks, as there."""
    rows = []
    for question, steps, result in lines("gsm8k"):
        rows.append({"question": question, "answer": steps.replace("\\n", "\n") + f"\n#### {result}"})
    return split(rows, GSM8K_SPLITS)


def card(name: str, configs: dict[str, dict[str, list[Row]]], text: str) -> str:
    """The dataset card, whose front matter tells `datasets` the configs."""
    head = ["---", "license: apache-2.0", "configs:"]
    for config, splits in configs.items():
        head += [f"- config_name: {config}", "  data_files:"]
        for part in splits:
            head += [f"  - split: {part}", f"    path: {config}/{part}-*"]
    counts = [
        f"| {config} | " + ", ".join(f"{part} {len(rows)}" for part, rows in splits.items()) + " |"
        for config, splits in configs.items()
    ]
    body = [f"# Sample in the schema of {name}", "", f"**This is not {name}.** {text}"]
    body += ["It lets the task run with no network; scores on it say nothing about scores on the benchmark."]
    return "\n".join([*head, "---", "", *body, "", "| config | questions |", "|---|---|", *counts, ""])


def write(folder: Path) -> None:
    """Writes every config and split as parquet below the folder, and the cards."""
    from datasets import ClassLabel, Dataset, Features, List, Value

    text = Value("string")
    choices = {"text": List(text), "label": List(text)}
    mmlu = {"question": text, "subject": text, "choices": List(text), "answer": ClassLabel(names=list(LETTERS))}
    own = "The questions were written for mm-eval (`assets/make/text`)."
    targets = (
        ("allenai/ai2_arc", {config: arc_rows(config) for config in ARC}, {"id": text, "question": text}),
        ("openai/gsm8k", {"main": gsm8k_rows()}, {"question": text, "answer": text}),
        ("cais/mmlu", {subject: mmlu_rows(subject) for subject in SUBJECTS}, mmlu),
    )
    for name, configs, features in targets:
        schema = dict(features)
        if name == "allenai/ai2_arc":
            schema.update(choices=choices, answerKey=text)
        for config, splits in configs.items():
            for part, rows in splits.items():
                target = folder / name / config / f"{part}-00000-of-00001.parquet"
                target.parent.mkdir(parents=True, exist_ok=True)
                Dataset.from_list(rows, features=Features(schema)).to_parquet(target)
        (folder / name / "README.md").write_text(card(name, configs, own), encoding="utf-8")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent / "data")
