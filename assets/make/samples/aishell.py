"""AISHELL-1: four Chinese sentences, without punctuation and with numbers as words, as in its transcripts."""

from datasets import Audio, Value
from sounds import RATE

from samples import Sample
from samples._sound import clip, said

TEXT = Value("string")
FEATURES = {"context": Audio(sampling_rate=RATE), "instruction": TEXT, "answer": TEXT}
SENTENCES = ("今天天气很好", "火车站在哪里", "他买了三本书", "北京是一座城市")


def samples() -> list[Sample]:
    """Four sentences."""
    rows = [
        {"context": clip(said(text, "cmn", number), f"BAC009S076{number}W0121"), "instruction": "", "answer": text}
        for number, text in enumerate(SENTENCES)
    ]
    return [Sample("AudioLLMs/aishell_1_zh_test", "test", FEATURES, rows)]
