"""Reads the subtitles of a video: SubRip (.srt), WebVTT (.vtt), or a JSON list as in LongVideoBench."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

from mm_eval.data import kept_files
from mm_eval.values.errors import DataError
from mm_eval.values.types import Subtitle

TIMES = re.compile(r"^\s*([\d:.,]+)\s*-->\s*([\d:.,]+)")
TAG = re.compile(r"<[^<>]*>|\{\\[^{}]*\}")
MOST_BYTES = 2**26


def read_subtitles(path: str) -> tuple[Subtitle, ...]:
    """The subtitles of a file in its order, without their formatting. path: as `kept_files.local` takes it.

    Errors: DataError if the file can't be read or is none of these.
    """
    name = path.rpartition("/")[2]
    try:
        with kept_files.local(path) as real, open(real, "rb") as file:
            text = file.read(MOST_BYTES).decode("utf-8-sig")
        return tuple(_of_json(json.loads(text)) if path.lower().endswith(".json") else _of_blocks(text))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"the subtitles {name[-200:]!r} can't be read: {error}.") from error


def _of_blocks(text: str) -> Iterator[Subtitle]:
    """Blocks of lines: a number or a name, the times, the text; blank lines between them."""
    for block in re.split(r"\n\s*\n", text.replace("\r\n", "\n")):
        lines = block.split("\n")
        for number, line in enumerate(lines):
            if match := TIMES.match(line):
                said = " ".join(part for each in lines[number + 1 :] if (part := TAG.sub("", each).strip()))
                if said:
                    yield Subtitle(_seconds(match[1]), _seconds(match[2]), said)
                break


def _of_json(entries: Any) -> Iterator[Subtitle]:
    """`{"timestamp": [start, end], "text": ...}` in seconds, or `{"start": "00:00:01.5", "end": ..., "line": ...}`."""
    for entry in entries:
        if "timestamp" in entry:
            start, end = entry["timestamp"]
            yield Subtitle(float(start), None if end is None else float(end), str(entry["text"]))
        else:
            yield Subtitle(_seconds(entry["start"]), _seconds(entry["end"]), str(entry["line"]))


def _seconds(clock: str) -> float:
    """The seconds of hours:minutes:seconds, where hours may be missing."""
    total = 0.0
    for part in clock.replace(",", ".").split(":"):
        total = 60 * total + float(part)
    return total
