"""The forms of sound: how samples are stored, and how a file of sound is told from others. Nothing heavy is imported."""

from __future__ import annotations

from typing import NamedTuple

SUFFIXES = (
    ".wav", ".w64", ".flac", ".mp3", ".ogg", ".oga", ".opus", ".spx", ".m4a", ".aac", ".aif", ".aiff", ".aifc", ".au", ".snd",
    ".caf", ".wma", ".amr", ".awb", ".gsm", ".ac3", ".mka", ".wv", ".tta", ".ape",
)  # fmt: skip
"""A name that ends with one of these names a file of sound."""

MIME = {
    "wav": "audio/wav",
    "mp3": "audio/mpeg",
    "flac": "audio/flac",
    "ogg": "audio/ogg",
    "m4a": "audio/mp4",
    "aac": "audio/aac",
}
"""The MIME types of the forms that `form_of` tells."""


CODECS = {
    "wav": ("pcm_u8", "pcm_s16le", "pcm_s24le", "pcm_s32le"),
    "mp3": ("mp3", "mp3float"),
    "flac": ("flac",),
    "ogg": ("vorbis", "opus"),
    "m4a": ("aac", "alac"),
    "aac": ("aac",),
}
"""What whoever takes a file of a form can decode of it, by FFmpeg's names; a WAV of another codec is no usual one."""


class Form(NamedTuple):
    """How the samples of a clip are stored.

    rate: samples a second of each channel. bits: of a sample that is a whole number; 0 for numbers with a point.
    lossless: the file has the very samples that were written. codec: FFmpeg's name, such as "flac" or "pcm_s16le".
    """

    rate: int
    channels: int
    bits: int
    lossless: bool
    codec: str


def form_of(content: bytes) -> str:
    """The form of a file by its first bytes: a key of MIME, or "sound" for another known one. Empty for other bytes."""
    start = content[:16]
    if start[:4] in (b"RIFF", b"RF64", b"RIFX") and start[8:12] == b"WAVE":
        return "wav"
    if start[:4] == b"fLaC":
        return "flac"
    if start[:4] == b"OggS":
        return "ogg"
    if start[:3] == b"ID3":
        return "mp3"
    if start[:2] in (b"\xff\xf1", b"\xff\xf9"):
        return "aac"
    if len(start) > 3 and start[0] == 0xFF and start[1] & 0xE6 in (0xE2, 0xE4, 0xE6) and start[2] >> 4 not in (0, 15):
        return "mp3"  # a frame of layer 3 or 2, whose rate of bits is stated
    if start[4:8] == b"ftyp":
        return "m4a" if start[8:11] in (b"M4A", b"M4B") else ""
    known = (b".snd", b"caff", b"#!AMR", b"riff\x2e\x91\xcf\x11", b"wvpk", b"TTA1", b"MAC ", b"\x0b\x77")
    is_aiff = start[:4] == b"FORM" and start[8:12] in (b"AIFF", b"AIFC")
    return "sound" if start.startswith(known) or is_aiff else ""


def names_sound(name: str) -> bool:
    """Whether a name is that of a file of sound, by its ending."""
    return name.lower().endswith(SUFFIXES)
