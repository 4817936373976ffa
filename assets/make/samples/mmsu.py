"""MMSU: questions on spoken words and sentences, as the authors' lines of JSON with the clips beside them."""

import json

from datasets import Value

from samples import Row, Sample, rng
from samples._sound import encoded, said

TEXT = Value("string")
NAMES = (
    "id", "task_name", "audio_path", "question", "choice_a", "choice_b", "choice_c", "choice_d", "answer_gt", "category",
    "sub-category", "sub-sub-category", "linguistics_sub_discipline",
)  # fmt: skip
QUESTIONS = (  # what is said, by whom; task, question, the right option and others; ability, area, part of it, discipline
    ("seven", 0, "word_recognition", "Which number is said?", ("seven", "eleven", "nine", "four"),
     ("Perception", "Linguistics", "Semantics", "Phonetics")),
    ("Two, and two more.", 1, "sum_reasoning", "How much is it in all?", ("four", "two", "three", "six"),
     ("Reasoning", "Linguistics", "Semantics", "Semantics")),
    ("Good morning.", 2, "gender_recognition", "Who speaks?", ("a man", "a woman", "a child", "nobody"),
     ("Perception", "Paralinguistics", "Speaker Traits", "Phonetics")),
    ("Where is it?", 3, "sentence_type", "What kind of sentence is it?", ("a question", "an order", "a wish", "a name"),
     ("Perception", "Linguistics", "Phonology", "Syntactics")),
)  # fmt: skip


def samples() -> list[Sample]:
    """Four questions."""
    rows, files = list[Row](), dict[str, bytes]()
    for number, (text, speaker, task, question, options, kinds) in enumerate(QUESTIONS):
        shuffled = list(options)
        rng("mmsu", number).shuffle(shuffled)
        name = f"{task}_{number}"
        files[f"audio/{name}.mp3"] = encoded(said(text, speaker=speaker))
        values = (f"mm-eval-{number}", task, f"./audio/{name}.mp3", question, *shuffled, options[0], *kinds)
        rows.append(dict(zip(NAMES, values, strict=True)))
    lines = "\n".join(json.dumps(row) for row in rows) + "\n"
    files = {"question/mmsu.jsonl": lines.encode(), **files}
    return [Sample("ddwang2000/MMSU", "test", dict.fromkeys(NAMES, TEXT), rows, files=files)]
