"""What is known of clips that were decoded before on this machine, so that another run does not decode them for their identity.

It lies in the database of known pictures, under a digest of the file's bytes, of the part that is heard, and of the versions that
decode it. A clip that can't be read is never known.
"""

from __future__ import annotations

import hashlib
import json
from functools import lru_cache
from typing import NamedTuple

from mm_eval.data.known_pictures import known_pictures
from mm_eval.data.sound.forms import Form

RULE = 1
"""Raised when a change of ours to how sound is decoded changes samples, or which files are refused."""


class About(NamedTuple):
    """What is known of a clip once it was decoded.

    first, length: of the part that is heard, in samples. digest: its identity.
    """

    form: Form
    first: int
    length: int
    digest: str


def key_of(file: str, start: float | None, end: float | None, is_wav: bool) -> bytes:
    """The key of a part of a file. file: its digest. is_wav: it is read without FFmpeg."""
    stated = repr((RULE, file, start, end, "" if is_wav else _versions()))
    return hashlib.blake2b(stated.encode(), digest_size=16, person=b"sound").digest()


def known(key: bytes) -> About | None:
    """What was kept under a key; None if nothing was."""
    if (found := known_pictures().get(key)) is None:
        return None
    try:
        form, first, length, digest = json.loads(bytes.fromhex(found))
        return About(Form(*form), int(first), int(length), str(digest))
    except (ValueError, TypeError):  # a stranger's
        return None


def keep(key: bytes, about: About) -> None:
    """Keeps what is known of a clip."""
    form = about.form
    parts = [form.rate, form.channels, form.bits, form.lossless, form.codec]
    known_pictures().put(key, json.dumps([parts, *about[1:]]).encode().hex())


@lru_cache(maxsize=1)
def _versions() -> str:
    """Those of FFmpeg's libraries."""
    from mm_eval.data.sound.reader import library_versions

    return library_versions()
