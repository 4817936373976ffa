"""WenetSpeech: two Chinese sentences of each test set, without punctuation and with numbers as words, as in its transcripts."""

from datasets import Audio, Value
from sounds import RATE

from samples import Sample
from samples._sound import clip, said

FEATURES = {"audio": Audio(sampling_rate=RATE), "text": Value("string")}
SENTENCES = {"test_net": ("今天天气很好", "我们去吃饭吧"), "test_meeting": ("下一个问题是什么", "好的谢谢")}


def samples() -> list[Sample]:
    """Two sentences of each set."""
    made = []
    for split, sentences in SENTENCES.items():
        rows = [
            {"audio": clip(said(text, "cmn", number), f"{split}-{number}"), "text": text}
            for number, text in enumerate(sentences)
        ]
        made.append(Sample("lmms-lab-audio/WenetSpeech", split, FEATURES, rows))
    return made
