"""LibriSpeech: sentences of three speakers, in capitals without punctuation, as on the hub."""

from datasets import Audio, Value
from sounds import RATE

from samples import Row, Sample
from samples._sound import clip, said

FEATURES = {
    "file": Value("string"), "audio": Audio(sampling_rate=RATE), "text": Value("string"), "speaker_id": Value("int64"),
    "chapter_id": Value("int64"), "id": Value("string"),
}  # fmt: skip
SENTENCES = {
    "clean": ("THE RED LAMP IS ON THE TABLE", "HE SAW TWO SHIPS", "SHE OPENED THE GREY DOOR"),
    "other": ("MISTER BROWN CAME AT NINE", "THE COLOUR OF THE SEA CHANGED", "WE WALKED HOME"),
}


def samples() -> list[Sample]:
    """Three sentences of each configuration, as FLAC."""
    made = []
    for number, (config, sentences) in enumerate(SENTENCES.items()):
        rows = list[Row]()
        for place, text in enumerate(sentences):
            speaker = 100 * (number + 1) + place % 2
            name = f"{speaker}-7-{place:04d}"
            heard = clip(said(text.lower(), speaker=2 * number + place % 2), name, "flac")
            rows.append({
                "file": f"{name}.flac", "audio": heard, "text": text, "speaker_id": speaker, "chapter_id": 7, "id": name
            })  # fmt: skip
        made.append(Sample("openslr/librispeech_asr", "test", FEATURES, rows, config))
    return made
