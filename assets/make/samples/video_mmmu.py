"""Video-MMMU: seven videos in zip archives by discipline, each with a question of every track.

The last second of a video shows a picture with a word; one question for adaptation is open.
"""

from typing import Any

from drawing import SIZE
from PIL import Image

from samples import Row, Sample, page, rng
from samples._movies import RATE, WORDS, Asked, Story, movie, questions, story, zipped

SUBJECTS = ("Art_Theory", "Finance", "Biology", "Pharmacy", "History", "Electronics", "Math")
FOLDERS = ("Art", "Business", "Science", "Medicine", "Humanities", "Engineering", "Science")


def features() -> dict[str, Any]:
    """The hub's columns."""
    from datasets import Sequence, Value

    text = Value("string")
    return {"id": text, "question": text, "options": Sequence(text), "answer": text, "question_type": text}


def with_quiz(found: Story, word: str) -> Story:
    """The story with a second more, in which a page with a word is shown."""
    quiz = page(f"Quiz\n\n{word}", (SIZE, SIZE)).convert("RGB")
    found.frames.extend([Image.Image.copy(quiz) for _ in range(RATE)])
    return found


def samples() -> list[Sample]:
    """Seven questions for each track."""
    rows: dict[str, list[Row]] = {"Adaptation": [], "Comprehension": [], "Perception": []}
    movies: dict[str, bytes] = {}
    for place, (subject, folder) in enumerate(zip(SUBJECTS, FOLDERS, strict=True)):
        name, word, stream = f"validation_{subject}_{place + 1}", WORDS[place % len(WORDS)], rng("video_mmmu", place)
        found = story("video_mmmu", place)
        asked = questions(found, stream, 4 + place % 2)
        movies[f"{folder}/{name}.mp4"] = movie(with_quiz(found, word))
        words = stream.sample(WORDS, 4)
        words = words if word in words else [word, *words[1:]]
        quiz = Asked("quiz", "Which word does the image show? <image 1>", tuple(words), words.index(word))
        for track, each in zip(rows, (quiz, asked[2], asked[place % 2]), strict=True):
            is_open = track == "Adaptation" and place == 6
            options = [f"{letter}. {text}" for letter, text in zip("ABCDEF", each.options, strict=False)]
            rows[track].append({
                "id": name, "question": each.text, "options": [] if is_open else options if place == 3 else list(each.options),
                "answer": word if is_open else each.letter, "question_type": "open" if is_open else "multiple-choice",
            })  # fmt: skip
    made = [Sample("lmms-lab/VideoMMMU", "test", features(), some, track) for track, some in rows.items()]
    for folder in dict.fromkeys(FOLDERS):
        some = {path: content for path, content in movies.items() if path.startswith(f"{folder}/")}
        made[0].files[f"{folder}.zip"] = zipped(some)
    return made
