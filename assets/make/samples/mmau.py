"""MMAU: questions on drawn sounds, melodies and spoken words, none of which the tiny model that hears was trained on.

The words are spoken by two voices that no training hears; the other sounds are drawn anew.
"""

import json
import random

from datasets import Audio, Value
from sounds import ASKS, HELD_OUT_VOICES, RATE, Question, Sound, draw, questions

from samples import Row, Sample, rng
from samples._sound import clip

TEXT = Value("string")
FEATURES = {
    "id": TEXT, "audio_id": TEXT, "question": TEXT, "choices": TEXT, "answer": TEXT, "dataset": TEXT, "task": TEXT, "split": TEXT,
    "category": TEXT, "sub-category": TEXT, "difficulty": TEXT, "audio": Audio(sampling_rate=RATE),
}  # fmt: skip
DRAWN = {
    "kind": None, "height": "tone", "turn": "tone", "swell": "noise", "beeps": "beeps", "instrument": "melody", "way": "melody",
    "first": "order", "last": "order", "word": "word",
}  # fmt: skip
"""What is drawn for a question about a fact; None: anything."""
SKILLS = {"first": ("Reasoning", "hard"), "last": ("Reasoning", "hard"), "beeps": ("Reasoning", "medium")}


def asked(fact: str, number: int, split: str) -> tuple[Sound, Question]:
    """A new sound, and the question about one of its facts."""
    stream: random.Random = rng("mmau", split, fact, number)
    while True:
        sound = draw(stream, DRAWN[fact], HELD_OUT_VOICES)
        for question in questions(sound, stream):
            if question.category == fact:
                return sound, question


def rows_of(split: str, count: int) -> list[Row]:
    """So many questions about each fact."""
    rows = list[Row]()
    for number in range(count):
        for fact in ASKS:
            sound, question = asked(fact, number, split)
            name = f"mm-eval-{split}-{fact}-{number}"
            category, difficulty = SKILLS.get(fact, ("Information Extraction", "easy"))
            rows.append({
                "id": name, "audio_id": f"./{split}-audios/{name}.wav", "question": question.text,
                "choices": json.dumps(question.options), "answer": question.answer if split == "test-mini" else "",
                "dataset": "mm-eval", "task": sound.topic, "split": split, "category": category, "sub-category": fact,
                "difficulty": difficulty, "audio": clip(sound.samples, name),
            })  # fmt: skip
    return rows


def samples() -> list[Sample]:
    """Four questions about each of ten facts, and one without an answer."""
    hub = "lmms-lab-audio/mmau"
    return [
        Sample(hub, "test_mini", FEATURES, rows_of("test-mini", 4)),
        Sample(hub, "test", FEATURES, rows_of("test", 1)),
    ]
