"""40 numbered files of sound, made by ffmpeg from drawn samples, with what each is about."""

import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from mm_eval.data.sound.wav import head_of, stored

SECONDS = 0.73
"""Of the source: no whole number of frames of any codec at any of the rates."""


@dataclass(frozen=True)
class Made:
    """A file: its number and name, what makes it of the source, and the rate, channels and bits of the source.

    after: changes the bytes. exact: the samples are the source's own. cut: it must be refused.
    """

    name: str
    options: str
    rate: int = 44_100
    channels: int = 1
    bits: int = 16
    exact: bool = False
    after: Callable[[bytes], bytes] | None = None
    cut: bool = False


def _half(content: bytes) -> bytes:
    return content[: len(content) // 2]


def _without_end(content: bytes) -> bytes:
    return content[:-200]


FILES = (
    Made("01-u8.wav", "-c:a pcm_u8", bits=8, exact=True),
    Made("02-s16.wav", "-c:a pcm_s16le", 16_000, exact=True),
    Made("03-s24-stereo.wav", "-c:a pcm_s24le", 48_000, 2, 24, exact=True),
    Made("04-s32.wav", "-c:a pcm_s32le", 96_000, 1, 32, exact=True),
    Made("05-f32.wav", "-c:a pcm_f32le", 192_000, 2, 24, exact=True),
    Made("06-f64.wav", "-c:a pcm_f64le", 22_050, 1, 32, exact=True),
    Made("07-six.wav", "-c:a pcm_s16le", 48_000, 6, exact=True),
    Made("08-alaw.wav", "-c:a pcm_alaw", 8_000),
    Made("09-mulaw.au", "-c:a pcm_mulaw", 8_000),
    Made("10-adpcm.wav", "-c:a adpcm_ms", 22_050, 2),
    Made("11-gsm.wav", "-c:a libgsm_ms", 8_000),
    Made("12-rf64.wav", "-c:a pcm_s16le -rf64 always", 11_025, exact=True),
    Made("13-w64.w64", "-c:a pcm_s24le", 44_100, 2, 24, exact=True),
    Made("14-aiff.aiff", "-c:a pcm_s16be", 44_100, 2, exact=True),
    Made("15-aifc.aif", "-c:a pcm_s24be -f aiff", 32_000, 1, 24, exact=True),
    Made("16-caf.caf", "-c:a pcm_s16le", 48_000, exact=True),
    Made("17-flac16.flac", "-c:a flac", 16_000, exact=True),
    Made("18-flac24.flac", "-c:a flac", 96_000, 2, 24, exact=True),
    Made("19-flac-six.flac", "-c:a flac -compression_level 12", 48_000, 6, exact=True),
    Made("20-flac.ogg", "-c:a flac", 44_100, 2, exact=True),
    Made("21-alac16.m4a", "-c:a alac", 44_100, 2, exact=True),
    Made("22-alac24.m4a", "-c:a alac -sample_fmt s32p", 48_000, 1, 24, exact=True),
    Made("23-wavpack.wv", "-c:a wavpack", 44_100, 2, exact=True),
    Made("24-tta.tta", "-c:a tta", 44_100, 1, exact=True),
    Made("25-lame.mp3", "-c:a libmp3lame -b:a 96k", 44_100, 2),
    Made("26-no-tag.mp3", "-c:a libmp3lame -b:a 64k -write_xing 0", 22_050),
    Made("27-vbr-id3.mp3", "-c:a libmp3lame -q:a 4 -id3v2_version 3 -metadata title=t", 48_000),
    Made("28-low.mp3", "-c:a libmp3lame -b:a 16k", 8_000),
    Made("29-aac.m4a", "-c:a aac -b:a 96k", 44_100, 2),
    Made("30-aac.aac", "-c:a aac -b:a 64k -f adts", 32_000),
    Made("31-aac-frag.mp4", "-c:a aac -movflags frag_keyframe+empty_moov", 48_000),
    Made("32-aac.mkv", "-c:a aac", 48_000, 6),
    Made("33-opus.opus", "-c:a libopus -b:a 64k", 48_000, 2),
    Made("34-opus-speech.ogg", "-c:a libopus -b:a 16k -application voip", 16_000),
    Made("35-opus.webm", "-c:a libopus -b:a 48k", 24_000),
    Made("36-vorbis.ogg", "-c:a libvorbis -q:a 3", 44_100, 2),
    Made("37-late.mka", "-c:a flac -output_ts_offset 1.5", 16_000, exact=True),
    Made("38-edit.m4a", "-ss 0.3 -t 0.2 -c:a copy", 44_100, 2),
    Made("39-cut.flac", "-c:a flac", 16_000, after=_half, cut=True),
    Made("40-cut.wav", "-c:a pcm_s16le", 16_000, after=_without_end, cut=True),
)


def source_of(made: Made) -> np.ndarray:
    """The samples of a file's source, in the highest bits of 32: tones that differ by channel, steps and a little noise."""
    draw = np.random.default_rng(int(made.name[:2]))
    count = round(SECONDS * made.rate)
    times = np.arange(count)[:, None] / made.rate
    pitches = 220 * 1.25 ** np.arange(made.channels)[None, :]
    waves = 0.4 * np.sin(2 * np.pi * pitches * times) * (1 + 0.5 * np.sin(2 * np.pi * 3 * times))
    waves += 0.02 * draw.standard_normal(waves.shape)
    scale = 2.0 ** (made.bits - 1)
    return np.clip(np.rint(waves * scale), -scale, scale - 1).astype("i8").astype("i4") << (32 - made.bits)


def make(made: Made, folder: Path) -> Path:
    """The file, made in a folder."""
    source, path = folder / f"{made.name[:2]}-source.wav", folder / made.name
    samples = source_of(made)
    source.write_bytes(head_of(made.rate, made.channels, made.bits, len(samples)) + stored(samples, made.bits))
    start = source
    if "copy" in made.options:  # a part of a coded file, which an edit list states
        start = folder / f"{made.name[:2]}-whole.m4a"
        _ffmpeg("-i", str(source), "-c:a", "aac", "-b:a", "96k", str(start))
    _ffmpeg("-i", str(start), *made.options.split(), str(path))
    if made.after is not None:
        path.write_bytes(made.after(path.read_bytes()))
    return path


def decoded(path: Path, lossless: bool, channels: int) -> np.ndarray:
    """What ffmpeg decodes of a file: whole numbers in 32 bits if it is lossless, else floats."""
    form = "s32le" if lossless else "f32le"
    raw = _ffmpeg("-i", str(path), "-map", "0:a:0", "-f", form, "-c:a", f"pcm_{form}", "-")
    return np.frombuffer(raw, "<i4" if lossless else "<f4").reshape(-1, channels)


def _ffmpeg(*options: str) -> bytes:
    command = ["ffmpeg", "-v", "error", "-nostdin", "-y", "-bitexact", *options]
    return subprocess.run(command, check=True, capture_output=True).stdout
