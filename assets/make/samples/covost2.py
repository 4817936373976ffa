"""CoVoST 2: two sentences of two speakers, with their translation, for each of five pairs of languages."""

import hashlib

from datasets import Audio, Value
from sounds import RATE

from samples import Row, Sample
from samples._sound import clip, said

TEXT = Value("string")
FEATURES = {
    "client_id": TEXT, "file": TEXT, "audio": Audio(sampling_rate=RATE), "sentence": TEXT, "translation": TEXT, "id": TEXT
}  # fmt: skip
PAIRS = {  # configuration: voice, sentences with their translation
    "en_de": ("en", {"The dog sleeps on the red sofa.": "Der Hund schläft auf dem roten Sofa.",
                     "Good night to you all.": "Gute Nacht euch allen."}),
    "en_zh-CN": ("en", {"The weather is good today.": "今天天气很好。", "Where is the station?": "车站在哪里？"}),
    "de_en": ("de", {"Der Zug kommt heute spät.": "The train is late today.",
                     "Wo ist der kleine Hund?": "Where is the little dog?"}),
    "fr_en": ("fr-fr", {"Le chat dort sur la table.": "The cat sleeps on the table.",
                        "Il fait froid ce soir.": "It is cold this evening."}),
    "zh-CN_en": ("cmn", {"今天天气很好。": "The weather is good today.", "车站在哪里？": "Where is the train station?"}),
}  # fmt: skip


def samples() -> list[Sample]:
    """Two sentences of each pair."""
    made = []
    for config, (voice, sentences) in PAIRS.items():
        rows = list[Row]()
        for number, (text, translation) in enumerate(sentences.items()):
            name = f"common_voice_{config}_{number}"
            rows.append({
                "client_id": hashlib.sha256(f"{config} {number}".encode()).hexdigest(), "file": f"{name}.mp3",
                "audio": clip(said(text, voice, number), name), "sentence": text, "translation": translation, "id": name,
            })  # fmt: skip
        made.append(Sample("fixie-ai/covost2", "test", FEATURES, rows, config))
    return made
