"""FLEURS: two sentences in each of twelve languages, of which the first is read by two people."""

from datasets import Audio, ClassLabel, Value
from sounds import RATE

from samples import Row, Sample
from samples._sound import clip, said

TEXT, NUMBER = Value("string"), Value("int32")
FEATURES = {
    "id": NUMBER, "num_samples": NUMBER, "path": TEXT, "audio": Audio(sampling_rate=RATE), "transcription": TEXT,
    "raw_transcription": TEXT, "gender": ClassLabel(names=["male", "female", "other"]), "lang_id": NUMBER, "language": TEXT,
    "lang_group_id": NUMBER,
}  # fmt: skip
SENTENCES = {  # configuration: the language, its voice of espeak-ng, sentences as they are written
    "en_us": ("English", "en-us", ("The town has 21 bridges.", "It was cold.")),
    "de_de": ("German", "de", ("Die Stadt hat viele Brücken.", "Es war kalt.")),
    "fr_fr": ("French", "fr-fr", ("La ville a des ponts.", "Il faisait froid.")),
    "es_419": ("Spanish", "es-419", ("La ciudad tiene puentes.", "Hacía frío.")),
    "it_it": ("Italian", "it", ("La città ha molti ponti.", "Faceva freddo.")),
    "pt_br": ("Portuguese", "pt-br", ("A cidade tem pontes.", "Estava frio.")),
    "ru_ru": ("Russian", "ru", ("В городе много мостов.", "Было холодно.")),
    "ar_eg": ("Arabic", "ar", ("في المدينة جسور كثيرة.", "كان الجو باردا.")),
    "ko_kr": ("Korean", "ko", ("도시에 다리가 많다.", "추웠다.")),
    "ja_jp": ("Japanese", "ja", ("まちにははしがおおい。", "さむかった。")),
    "cmn_hans_cn": ("Mandarin Chinese", "cmn", ("城里有很多桥。", "天很冷。")),
    "yue_hant_hk": ("Cantonese Chinese", "yue", ("城入面有好多橋。", "天氣好凍。")),
}


def samples() -> list[Sample]:
    """Three recordings of each language."""
    made = []
    for lang, (config, (language, voice, sentences)) in enumerate(SENTENCES.items()):
        rows = list[Row]()
        for number, speaker in ((0, 0), (0, 1), (1, 2)):
            written = sentences[number]
            wave = said(written, voice, speaker)
            name = f"{1000 * lang + 10 * number + speaker}"
            rows.append({
                "id": 1000 + number, "num_samples": len(wave), "path": f"{name}.wav", "audio": clip(wave, name),
                "transcription": written.lower().rstrip("。.").strip(), "raw_transcription": written, "gender": speaker % 2,
                "lang_id": lang, "language": language, "lang_group_id": 0,
            })  # fmt: skip
        made.append(Sample("google/fleurs", "test", FEATURES, rows, config))
    return made
