"""AIR-Bench, Foundation: questions on a drawn word, drawn sounds and melodies, two of each split; one has two options only."""

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


def samples() -> list[Sample]:
    """Two questions of each split."""
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
    return made
