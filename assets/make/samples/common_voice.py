"""Common Voice: sentences of volunteers in three languages, as MP3."""

import hashlib

from datasets import Audio, Value

from samples import Row, Sample
from samples._sound import clip, said

TEXT, NUMBER = Value("string"), Value("int64")
FEATURES = {
    "client_id": TEXT, "path": TEXT, "audio": Audio(sampling_rate=48_000), "sentence": TEXT, "up_votes": NUMBER,
    "down_votes": NUMBER, "age": TEXT, "gender": TEXT, "accent": TEXT, "locale": TEXT, "segment": TEXT, "variant": TEXT,
}  # fmt: skip
SENTENCES = {
    "en": ("en", ("He's the mayor's favourite.", "Two trains left.", "Where is it?")),
    "fr": ("fr-fr", ("L'été fut chaud.", "Où est la gare ?", "Merci !")),
    "zh-CN": ("cmn", ("今天天气很好。", "火车站在哪里？", "谢谢！")),
}


def samples() -> list[Sample]:
    """Three sentences of two speakers in each language."""
    made = []
    for locale, (voice, sentences) in SENTENCES.items():
        rows = list[Row]()
        for number, text in enumerate(sentences):
            name = f"common_voice_{locale}_{number}"
            rows.append({
                "client_id": hashlib.sha256(f"{locale} {number % 2}".encode()).hexdigest(), "path": f"{name}.mp3",
                "audio": clip(said(text, voice, number % 2), name), "sentence": text, "up_votes": 2, "down_votes": 0,
                "age": "", "gender": "", "accent": "", "locale": locale, "segment": "", "variant": "",
            })  # fmt: skip
        made.append(Sample("mozilla-foundation/common_voice_15_0", "test", FEATURES, rows, locale))
    return made
