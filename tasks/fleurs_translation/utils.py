"""FLEURS as translation: the recordings of one language with the transcripts of the same sentences in another.

Source: data/README.md of openai/whisper at c0d2f62 ("Fleurs"), and src/seamless_communication/datasets/huggingface.py of
facebookresearch/seamless_communication at 90e2b57.
"""

from collections.abc import Callable
from typing import Any

HUB = "google/fleurs"


def with_translations(recordings: Any, load_dataset: Callable[..., Any], target: str) -> Any:
    """The recordings whose sentence has a transcript in the other language, with that transcript as it is written.

    target: the configuration of the other language. Sentences are matched by their id.
    """
    others = load_dataset(HUB, target, split="test").select_columns(["id", "raw_transcription"])
    written = dict(zip(others["id"], others["raw_transcription"], strict=True))
    ids = list(recordings["id"])
    matched = recordings.select([row for row, sentence in enumerate(ids) if sentence in written])
    return matched.add_column("translation", [written[sentence].strip() for sentence in matched["id"]])


def into_english(recordings: Any, load_dataset: Callable[..., Any]) -> Any:
    """With English transcripts."""
    return with_translations(recordings, load_dataset, "en_us")


def into_german(recordings: Any, load_dataset: Callable[..., Any]) -> Any:
    """With German transcripts."""
    return with_translations(recordings, load_dataset, "de_de")


def into_chinese(recordings: Any, load_dataset: Callable[..., Any]) -> Any:
    """With Mandarin transcripts."""
    return with_translations(recordings, load_dataset, "cmn_hans_cn")
