"""AIR-Bench: questions on a drawn word, drawn sounds and melodies; Foundation with options, of which one has two, and Chat."""

from datasets import Audio, Value
from sounds import RATE, draw, questions

from samples import Row, Sample, rng
from samples._sound import clip

TEXT = Value("string")
LETTERS = "abcd"
FEATURES = {
    "audio": Audio(sampling_rate=RATE), "path": TEXT, "question": TEXT, **{f"choice_{letter}": TEXT for letter in LETTERS},
    "answer_gt": TEXT, "task_name": TEXT, "dataset_name": TEXT, "uniq_id": Value("int64"),
}  # fmt: skip
SPLITS = {  # split: kinds of sound, with the task and the data set that are named
    "speech": (("word", "Speech_Entity_Reconition", "slurp"), ("word", "Speech_Grounding", "librispeech")),
    "sound": (("beeps", "Sound_AQA", "avqa"), ("noise", "Audio_Grounding", "AudioGrounding")),
    "music": (("melody", "Music_AQA", "music_avqa"), ("melody", "Music_Instruments_Classfication", "nsynth")),
}


OPEN = {"audio": Audio(sampling_rate=RATE), "path": TEXT, "question": TEXT, "answer_gt": TEXT, "meta_info": TEXT,
        "task_name": TEXT, "dataset_name": TEXT, "uniq_id": Value("int64")}  # fmt: skip
CHAT = {  # split: the kind of sound, and the task that is named
    "speech": ("word", "speech_QA"), "sound": ("noise", "sound_QA"), "music": ("melody", "music_QA"),
    "mixed": ("order", "speech_and_sound_QA"),
}  # fmt: skip


def chat() -> list[Sample]:
    """One question of each split."""
    made = list[Sample]()
    for number, (split, (kind, task)) in enumerate(CHAT.items()):
        stream = rng("air_bench chat", number)
        sound = draw(stream, kind)
        asked = questions(sound, stream)[-1]
        facts = "; ".join(f"{name}: {fact}" for name, fact in sound.facts.items())
        row: Row = {
            "audio": clip(sound.samples, f"chat-{split}"), "path": f"chat-{split}.mp3", "question": asked.text,
            "answer_gt": f"It is {asked.answer}.", "meta_info": f"A drawn sound. {facts}.", "task_name": task,
            "dataset_name": "drawn", "uniq_id": number,
        }  # fmt: skip
        made.append(Sample("lmms-lab/AIR_Bench", split, OPEN, [row], "Chat"))
    return made


def samples() -> list[Sample]:
    """Two questions of each split of Foundation, and Chat."""
    made = list[Sample]()
    for split, kinds in SPLITS.items():
        rows = list[Row]()
        for number, (kind, task, source) in enumerate(kinds):
            stream = rng("air_bench", 10 * len(made) + number)
            sound = draw(stream, kind)
            asked = questions(sound, stream)[-1]
            options: list[str | None] = list(asked.options)
            if split == "sound" and number:
                other = next(option for option in asked.options if option != asked.answer)
                options = [other, asked.answer, None, None]
            name = f"{split}-{number}"
            rows.append({
                "audio": clip(sound.samples, name), "path": f"{name}.mp3", "question": asked.text, "answer_gt": asked.answer,
                "task_name": task, "dataset_name": source, "uniq_id": number,
                **{f"choice_{letter}": option for letter, option in zip(LETTERS, options, strict=True)},
            })  # fmt: skip
        made.append(Sample("lmms-lab/AIR_Bench", split, FEATURES, rows, "Foundation"))
    return [*made, *chat()]
