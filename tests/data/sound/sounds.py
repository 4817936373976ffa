"""Clips for tests: tones, and a data set of them as `datasets` stores it."""

import io
import json
import wave
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np


def tone(pitch: float, seconds: float = 0.1, rate: int = 16_000, channels: int = 1) -> np.ndarray:
    """16-bit samples (count, channels); each channel sounds a fifth above the one before it."""
    times = np.arange(round(seconds * rate)) / rate
    return np.stack([np.sin(2 * np.pi * pitch * 1.5**n * times) * 12_000 for n in range(channels)], 1).astype("i2")


def wav(samples: np.ndarray, rate: int = 16_000) -> bytes:
    """The content of a 16-bit WAV, as the standard library writes it."""
    content = io.BytesIO()
    with wave.open(content, "wb") as file:
        file.setnchannels(samples.shape[1])
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(samples.astype("<i2").tobytes())
    return content.getvalue()


def write_parquet(path: Path, columns: Mapping[str, Sequence[Any]], sounds: Sequence[str] = ("audio",)) -> Path:
    """A parquet file as `datasets` writes it. sounds: columns of {"bytes", "path"}; the others are texts.

    `datasets` itself needs torchcodec to encode even bytes.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    stored = pa.struct({"bytes": pa.binary(), "path": pa.string()})
    arrays = {name: pa.array(list(values), stored if name in sounds else None) for name, values in columns.items()}
    text = {"dtype": "string", "_type": "Value"}
    features = {name: {"sampling_rate": 16_000, "_type": "Audio"} if name in sounds else text for name in columns}
    stated = {"huggingface": json.dumps({"info": {"features": features}})}
    path.parent.mkdir(parents=True, exist_ok=True)
    pq.write_table(pa.table(arrays).replace_schema_metadata(stated), path)
    return path
