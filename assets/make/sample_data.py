"""Draws the sample data that mm-eval ships in the hub's schemas: python assets/make/sample_data.py [folder]

The same script on the same versions of Pillow and datasets writes the same bytes; a test holds that.
"""

import hashlib
import io
import random
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import scenes
from drawing import Picture
from pictures import DRAW
from PIL import Image
from prompts import LETTERS, Question
from questions import ask_choice, ask_yes_no
from videos import TYPES as VIDEO_TYPES
from videos import draw_video

SEED = 20_260_801
PICTURES = 15
IMAGE_QUESTIONS, VIDEO_QUESTIONS = 24, 12
PLEASE = " Please answer yes or no."
MME = {
    **dict.fromkeys(("existence", "count", "position", "color"), "scene"),
    "posters": "poster",
    "celebrity": "face",
    "scene": "location",
    "landmark": "landmark",
    "artwork": "artwork",
    "OCR": "scene",
    "commonsense_reasoning": "state",
    "numerical_calculation": "arithmetic",
    "text_translation": "translation",
    "code_reasoning": "code",
}
"""MME's categories, perception first, and the kind of picture drawn for each."""

SEED_BENCH: dict[str, dict[str, int]] = {
    "Scene Understanding": {"location": 16, "landmark": 8},
    "Instance Identity": {"scene": 16, "face": 8},
    "Instance Attributes": {"scene": 17, "artwork": 7},
    "Instance Location": {"scene": 24},
    "Instances Counting": {"scene": 24},
    "Spatial Relation": {"scene": 24},
    "Instance Interaction": {"act": 24},
    "Visual Reasoning": {"state": 14, "arithmetic": 5, "code": 5},
    "Text Understanding": {"scene": 16, "poster": 4, "translation": 4},
}
"""SEED-Bench's image types in the order of their ids, 1 to 9, and how many questions each kind of picture gets."""
Row = dict[str, Any]


def png(image: Image.Image) -> bytes:
    """The picture as PNG."""
    buffer = io.BytesIO()
    image.save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def digest(image: Image.Image) -> bytes:
    """What two pictures share only where all their pixels are equal."""
    return hashlib.blake2b(image.tobytes(), digest_size=16).digest()


def draw(kind: str, rng: random.Random) -> Picture:
    """A picture of the kind."""
    return scenes.draw_scene(rng) if kind == "scene" else DRAW[kind](rng)


def draw_mme() -> list[tuple[str, Picture, list[Question]]]:
    """(category, picture, its two questions) for PICTURES pictures of every category; one answer is Yes, one No."""
    rng, drawn = random.Random(SEED), []
    for category, kind in MME.items():
        shown: Counter[str] = Counter()
        balance: Counter[str] = Counter()
        count = 0
        while count < PICTURES:
            picture = draw(kind, rng)
            wants = [True, False]
            rng.shuffle(wants)
            pair = [ask_yes_no(picture, rng, want, category) for want in wants]
            # No value may come much more often than others: then a model could guess it without looking.
            if None in pair or (picture.value and shown[picture.value] > 1 + PICTURES // 6):
                continue
            if category == "count":
                # "Is there only one" is true of most scenes: here each number is right about as often as it is wrong.
                numbers = {q.answer: next(n for n in scenes.NUMBERS if f" {n} " in q.text) for q in pair if q}
                if balance[numbers["Yes"]] > 0 or balance[numbers["No"]] < 0:
                    continue
                balance[numbers["Yes"]] += 1
                balance[numbers["No"]] -= 1
            shown[picture.value] += 1
            drawn.append((category, picture, [question for question in pair if question]))
            count += 1
    return drawn


def draw_seed_bench() -> list[tuple[Picture, list[Question]]]:
    """Pictures and videos with their four-way questions; scenes of shapes are asked about up to three times."""
    rng = random.Random(SEED + 1)
    owed = Counter({(kind, category): n for category, kinds in SEED_BENCH.items() for kind, n in kinds.items()})
    answers: Counter[tuple[str, str]] = Counter()
    drawn: list[tuple[Picture, list[Question]]] = []

    def accept(picture: Picture, category: str) -> Question | None:
        question = ask_choice(picture, rng, category)
        # At most 6 of 24 questions have one answer, as above; 4 of 12 for videos, where procedures are all different.
        limit = 3 if picture.kind == "video" else 6
        if question is None or question.category != category or answers[category, question.answer] >= limit:
            return None
        if owed[picture.kind, category] <= 0:
            return None
        owed[picture.kind, category] -= 1
        answers[category, question.answer] += 1
        return question

    for kind in ("scene", *DRAW):
        while any(n for (owed_kind, _), n in owed.items() if owed_kind == kind):
            picture = draw(kind, rng)
            categories = [category for category in SEED_BENCH if owed[kind, category]]
            rng.shuffle(categories)
            found = [question for category in categories[:3] if (question := accept(picture, category))]
            if found:
                drawn.append((picture, found))
    owed.update({("video", category): VIDEO_QUESTIONS for category in VIDEO_TYPES})
    while any(owed.values()):
        video = draw_video(rng)
        found = [question for category in VIDEO_TYPES if (question := accept(video, category))]
        if found:
            drawn.append((video, found))
    return drawn


def held_out() -> set[bytes]:
    """Digests of every picture and frame of the samples: training draws again when it meets one of them."""
    pictures = [picture for _, picture, _ in draw_mme()] + [picture for picture, _ in draw_seed_bench()]
    return {digest(frame) for picture in pictures for frame in picture.frames}


def mme_rows() -> list[Row]:
    """Rows in the schema of lmms-lab/MME, two for every picture."""
    rows: list[Row] = []
    for number, (category, picture, questions) in enumerate(draw_mme()):
        name = f"{category}/{number % PICTURES:04d}.png"
        image = {"bytes": png(picture.image), "path": name}
        for question in questions:
            text = question.text + PLEASE
            row = {"question_id": name, "image": image, "question": text, "answer": question.answer}
            rows.append({**row, "category": category})
    return rows


def _letters(count: int, rng: random.Random) -> list[str]:
    """So many letters, each as often, in random order."""
    letters = list(LETTERS) * (count // len(LETTERS))
    rng.shuffle(letters)
    return letters


def seed_bench_rows() -> list[Row]:
    """Rows in the schema of lmms-lab/SEED-Bench, sorted by type; gold letters are balanced within every type."""
    rng = random.Random(SEED + 2)
    types = [*SEED_BENCH, *VIDEO_TYPES]
    letters = {
        category: _letters(IMAGE_QUESTIONS if category in SEED_BENCH else VIDEO_QUESTIONS, rng) for category in types
    }
    rows: list[Row] = []
    for number, (picture, questions) in enumerate(draw_seed_bench()):
        video = picture.kind == "video"
        name = f"{'video' if video else 'picture'}_{number:04d}"
        frames = [{"bytes": png(frame), "path": f"{name}_{k}.png"} for k, frame in enumerate(picture.frames)]
        for question in questions:
            options = [option for option in question.options if option != question.answer]
            letter = letters[question.category].pop()
            options.insert(LETTERS.index(letter), question.answer)
            row: Row = {"answer": letter, "data_id": name, "data_type": "video" if video else "image"}
            row.update({f"choice_{key.lower()}": option for key, option in zip(LETTERS, options, strict=True)})
            row.update(image=frames, question=question.text, segment=[0, 2] if video else None)
            rows.append({**row, "question_type_id": 1 + types.index(question.category)})
    rows.sort(key=lambda row: row["question_type_id"])
    return [{**row, "question_id": str(1000 + number)} for number, row in enumerate(rows)]


def write(folder: Path) -> None:
    """Writes both parquet files below the folder, as the hub lays them out."""
    from datasets import Dataset, Features, List, Value
    from datasets import Image as ImageFeature

    text = Value("string")
    mme = {"question_id": text, "image": ImageFeature(), "question": text, "answer": text, "category": text}
    seed_bench: dict[str, Any] = dict.fromkeys(("answer", "choice_a", "choice_b", "choice_c", "choice_d"), text)
    seed_bench.update(data_id=text, data_type=text, image=List(ImageFeature()), question=text, question_id=text)
    seed_bench.update(question_type_id=Value("int16"), segment=List(Value("int64")))
    for name, features, rows in (("MME", mme, mme_rows()), ("SEED-Bench", seed_bench, seed_bench_rows())):
        target = folder / "lmms-lab" / name / "data" / "test-00000-of-00001.parquet"
        target.parent.mkdir(parents=True, exist_ok=True)
        Dataset.from_list(rows, features=Features(features)).to_parquet(target)
        print(f"{target}: {len(rows)} questions, {target.stat().st_size / 1e6:.2f} MB")


if __name__ == "__main__":
    write(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent.parent / "data")
