"""Clips of the samples: speech of espeak-ng and drawn sounds, as files in the cells of an Audio column."""

import io
from typing import Any

import av
import numpy as np
from sounds import RATE, Wave, spoken

CODECS = {"flac": "flac", "mp3": "libmp3lame", "wav": "pcm_s16le"}
VOICES = ("m1", "f2", "m3", "f4")
"""Four speakers."""


def encoded(wave: Wave, form: str = "mp3", rate: int = RATE) -> bytes:
    """A file with the samples of a wave; the same versions of PyAV write the same bytes."""
    file = io.BytesIO()
    with av.open(file, "w", format=form, options={"fflags": "+bitexact"}) as container:
        stream = container.add_stream(CODECS[form], rate=rate)
        stream.layout = "mono"
        if form == "mp3":
            stream.bit_rate = 24_000
        whole = np.clip(np.round(wave * 32767), -32768, 32767).astype("<i2")[None]
        frame = av.AudioFrame.from_ndarray(whole, format="s16", layout="mono")
        frame.sample_rate = RATE
        resampler = av.AudioResampler(format=stream.format, layout="mono", rate=rate)
        for part in [*resampler.resample(frame), *resampler.resample(None)]:
            container.mux(stream.encode(part))
        container.mux(stream.encode(None))
    return file.getvalue()


def clip(wave: Wave, name: str, form: str = "mp3") -> dict[str, Any]:
    """A wave as a cell of an Audio column."""
    return {"bytes": encoded(wave, form), "path": f"{name}.{form}"}


def said(text: str, language: str = "en", speaker: int = 0) -> Wave:
    """A text in the voice of one of the speakers, with a little silence around it."""
    silence = np.zeros(RATE // 10, np.float32)
    return np.concatenate([silence, 0.6 * spoken(text, f"{language}+{VOICES[speaker]}", 50, 170), silence])
