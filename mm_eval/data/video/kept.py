"""What is kept of videos between runs: the digest of each file and the times of its frames. It may be deleted at any time."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import time
import zlib
from array import array
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from fractions import Fraction

from mm_eval.data import kept_files
from mm_eval.data.video.reader import FrameIndex, index_of
from mm_eval.values.files import cache_folder, write_atomic

FORMAT = 5


@dataclass(frozen=True)
class About:
    """sha256 of a video's bytes, and the times of its frames."""

    digest: str
    index: FrameIndex


def about(path: str, state: tuple[int, ...]) -> About:
    """Digest and index of a video, from an earlier run if the file is unchanged since. state: its `stamp`."""
    name = hashlib.sha256(json.dumps([FORMAT, os.path.abspath(path) if state else path, state]).encode()).hexdigest()[
        :40
    ]
    kept = cache_folder() / "videos" / "about" / name[:2] / f"{name}.json"
    with suppress(OSError, ValueError, KeyError, TypeError, zlib.error):
        return _read(json.loads(kept.read_text(encoding="utf-8")))
    with kept_files.local(path) as real:
        index = index_of(real)
        with open(real, "rb") as file:
            found = About(hashlib.file_digest(file, "sha256").hexdigest(), index)
    settled = not state or time.time_ns() - max(state[3::5] + state[4::5]) > 2 * 10**9
    if settled and kept_files.stamp(path) == state:
        with suppress(OSError):  # only the time of another look is lost
            write_atomic(kept, json.dumps(_written(found)), durable=False)
    return found


def _written(found: About) -> dict[str, object]:
    index = found.index
    return {
        "digest": found.digest,
        "ticks": _packed(index.ticks),
        "keys": _packed(index.keys),
        "tick": str(index.tick),
        "size": [index.width, index.height],
        "by_order": index.by_order,
        "last": index.last,
        "is_mirrored": index.is_mirrored,
    }


def _read(kept: dict[str, object]) -> About:
    width, height = (int(each) for each in kept["size"])  # type: ignore[attr-defined]
    index = FrameIndex(
        _unpacked(str(kept["ticks"])),
        _unpacked(str(kept["keys"])),
        Fraction(str(kept["tick"])),
        width,
        height,
        kept["by_order"] is True,
        int(kept["last"]),  # type: ignore[call-overload]
        kept["is_mirrored"] is True,
    )
    return About(str(kept["digest"]), index)


def _packed(numbers: Sequence[int]) -> str:
    """Rising numbers as text: their differences, which are mostly equal, compressed."""
    steps = [numbers[0], *(later - earlier for earlier, later in zip(numbers, numbers[1:], strict=False))]
    return base64.b85encode(zlib.compress(array("q", steps).tobytes(), 9)).decode()


def _unpacked(text: str) -> Sequence[int]:
    numbers = array("q", zlib.decompress(base64.b85decode(text)))
    for place in range(1, len(numbers)):
        numbers[place] += numbers[place - 1]
    return numbers
