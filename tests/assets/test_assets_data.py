"""The sample data keeps the hub's schemas and the promises of its cards."""

import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest
from datasets import ClassLabel, Image, List, Value, load_dataset

DATA = Path(__file__).parents[2] / "assets" / "data"
CATEGORIES = {
    *("existence", "count", "position", "color", "posters", "celebrity", "scene", "landmark", "artwork", "OCR"),
    *("commonsense_reasoning", "numerical_calculation", "text_translation", "code_reasoning"),
}
TEXT = Value("string")


@pytest.fixture(scope="module")
def mme() -> Any:
    """The MME sample."""
    return load_dataset(str(DATA / "lmms-lab" / "MME"), split="test")


@pytest.fixture(scope="module")
def seed_bench() -> Any:
    """The SEED-Bench sample."""
    return load_dataset(str(DATA / "lmms-lab" / "SEED-Bench"), split="test")


def test_mme_has_the_hubs_schema(mme: Any) -> None:
    assert mme.features == {
        "question_id": TEXT,
        "image": Image(),
        "question": TEXT,
        "answer": TEXT,
        "category": TEXT,
    }
    assert all(question.endswith(" Please answer yes or no.") for question in mme["question"])


def test_mme_has_two_questions_a_picture_one_yes_one_no(mme: Any) -> None:
    rows = mme.remove_columns("image").to_list()
    assert {row["category"] for row in rows} == CATEGORIES
    assert all(re.fullmatch(rf"{row['category']}/\d{{4}}\.png", row["question_id"]) for row in rows)
    answers = defaultdict(list)
    for row in rows:
        answers[row["question_id"]].append(row["answer"])
    assert all(sorted(pair) == ["No", "Yes"] for pair in answers.values())
    pictures = Counter(name.split("/")[0] for name in answers)
    assert min(pictures.values()) >= 10
    first = Counter(row["answer"] for row in rows[::2])
    assert min(first.values()) > 0.4 * len(answers), "the order of Yes and No must not be a clue"


def test_mme_questions_of_a_picture_share_it(mme: Any) -> None:
    for first, second in zip(range(0, 40, 2), range(1, 40, 2), strict=True):
        assert mme[first]["image"].tobytes() == mme[second]["image"].tobytes()
        assert mme[first]["image"].size == (96, 96)


def test_seed_bench_has_the_hubs_schema(seed_bench: Any) -> None:
    text = ("answer", "choice_a", "choice_b", "choice_c", "choice_d", "data_id", "data_type", "question", "question_id")
    others = {"image": List(Image()), "segment": List(Value("int64")), "question_type_id": Value("int16")}
    assert seed_bench.features == {**dict.fromkeys(text, TEXT), **others}


def test_seed_bench_has_all_types_and_balanced_letters(seed_bench: Any) -> None:
    assert len(seed_bench) >= 240
    assert len(set(seed_bench["question_id"])) == len(seed_bench)
    letters: dict[int, Counter[str]] = defaultdict(Counter)
    for row in seed_bench:
        letters[row["question_type_id"]][row["answer"]] += 1
        options = {row[f"choice_{letter}"] for letter in "abcd"}
        assert len(options) == 4
        video = row["question_type_id"] >= 10
        assert row["data_type"] == ("video" if video else "image")
        assert len(row["image"]) == (8 if video else 1)
        assert row["segment"] == ([0, 2] if video else None)
    assert sorted(letters) == list(range(1, 13))
    assert all(len(set(counter.values())) == 1 and len(counter) == 4 for counter in letters.values())
    assert len(set(seed_bench["data_id"])) < len(seed_bench), "some pictures are asked about more than once"


def test_no_answer_is_likely_without_looking(seed_bench: Any) -> None:
    answers: dict[int, Counter[str]] = defaultdict(Counter)
    for row in seed_bench.remove_columns("image"):
        answers[row["question_type_id"]][row[f"choice_{row['answer'].lower()}"]] += 1
    for counter in answers.values():
        assert max(counter.values()) <= 0.25 * counter.total()


@pytest.mark.parametrize(("config", "name"), [("ARC-Easy", "arc_easy"), ("ARC-Challenge", "arc_challenge")])
def test_arc_sample(config: str, name: str) -> None:
    data = load_dataset(str(DATA / "allenai" / "ai2_arc"), config)
    choices = {"text": List(TEXT), "label": List(TEXT)}
    for split, least in (("test", 30), ("train", 8), ("validation", 8)):
        assert data[split].features == {"id": TEXT, "question": TEXT, "choices": choices, "answerKey": TEXT}
        assert len(data[split]) >= least
        places = Counter(row["choices"]["label"].index(row["answerKey"]) for row in data[split])
        assert max(places.values()) - min(places.values()) <= 1 and len(places) == 4
        assert all(len(set(row["choices"]["text"])) == 4 for row in data[split])
    questions = [row["question"] for split in data.values() for row in split]
    assert len(set(questions)) == len(questions), "no question of one split stands in another"


def test_gsm8k_sample_adds_up() -> None:
    data = load_dataset(str(DATA / "openai" / "gsm8k"), "main")
    assert len(data["test"]) >= 24 and len(data["train"]) >= 8
    for row in [*data["test"], *data["train"]]:
        steps, result = row["answer"].rsplit("\n#### ", 1)
        assert re.fullmatch(r"-?[\d,]+", result)
        marks = re.findall(r"<<([-+*/.\d]+)=([.\d]+)>>", steps)
        assert marks
        for term, value in marks:
            assert abs(eval(term) - float(value)) < 1e-9, f"{term} is not {value} in {row['question']!r}"
        assert float(marks[-1][1]) == float(result), row["question"]


@pytest.mark.parametrize("subject", ["anatomy", "astronomy", "high_school_geography"])
def test_mmlu_sample(subject: str) -> None:
    data = load_dataset(str(DATA / "cais" / "mmlu"), subject)
    assert {name: len(rows) for name, rows in data.items()} == {"test": 20, "validation": 5, "dev": 5}
    test = data["test"]
    label = ClassLabel(names=["A", "B", "C", "D"])
    assert test.features == {"question": TEXT, "subject": TEXT, "choices": List(TEXT), "answer": label}
    assert set(test["subject"]) == {subject}
    assert set(Counter(test["answer"]).values()) == {5}
    assert all(len(set(row["choices"])) == 4 for row in test)


OWN = ("lmms-lab/MME", "lmms-lab/SEED-Bench", "allenai/ai2_arc", "cais/mmlu", "openai/gsm8k")
"""The samples that sample_data.py and text_data.py write; tests/tasks holds those of the release benchmarks."""


def test_samples_are_small_and_say_what_they_are() -> None:
    files = [path for name in OWN[:2] for path in (DATA / name).rglob("*.parquet")]
    assert len(files) == 2 and sum(path.stat().st_size for path in files) < 4_000_000
    cards = [DATA / name / "README.md" for name in OWN]
    cards += [card for card in DATA.rglob("README.md") if card not in cards]
    assert all("**This is not" in card.read_text(encoding="utf-8") for card in cards)


@pytest.mark.full
def test_the_scripts_write_the_committed_files(tmp_path: Path) -> None:
    import sample_data
    import text_data

    sample_data.write(tmp_path)
    text_data.write(tmp_path)
    written = sorted(path.relative_to(tmp_path) for path in tmp_path.rglob("*.parquet"))
    own = [path for name in OWN for path in (DATA / name).rglob("*.parquet")]
    assert written == sorted(path.relative_to(DATA) for path in own)
    for path in written:
        assert (tmp_path / path).read_bytes() == (DATA / path).read_bytes(), f"{path} is not what the script writes"


@pytest.mark.full
def test_no_training_picture_is_in_the_samples() -> None:
    import random

    from questions import draw_training
    from sample_data import digest, held_out

    # Seed 1 is what train.py starts from; it also skips a held-out picture if it ever draws one.
    samples, rng = held_out(), random.Random(1)
    assert len(samples) > 300
    for number in range(6000):
        for frame in draw_training(rng, video=number % 50 == 0).frames:
            assert digest(frame) not in samples
