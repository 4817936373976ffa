"""Reads the subtitles of a video: SubRip (.srt), WebVTT (.vtt), a JSON list as in LongVideoBench, or lines as in Video-MME-v2."""

from __future__ import annotations

import html
import json
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Iterator, Sequence
from typing import Any

from mm_eval.data import kept_files
from mm_eval.values.errors import DataError
from mm_eval.values.types import Subtitle

TIMES = re.compile(r"^\s*([\d:.,]+)\s*-->\s*([\d:.,]+)")
TAG = re.compile(
    r"</?(?:b|i|u|s|em|strong|br|span|c|ruby|rt)(?:\.[^\s<>]*)?\s*/?>|</?(?:font|span|v|lang)\b[^<>]*>|\{\\[^{}]*\}",
    re.IGNORECASE,
)
"""A SubRip file escapes nothing: "a < b and c > d" is text."""
WEBVTT_TAG = re.compile(r"<[/\w.][^<>]*>|\{\\[^{}]*\}")
ENTITY = re.compile(r"&(?:#\d+|#[xX][\da-fA-F]+|\w+);")
MOST_BYTES = 2**26
STAMPED = {"timestamp", "text"}
CLOCKED = {"start", "end", "line"}
"""The keys of a subtitle in JSON whose times are texts."""
WORD = {"text", "start_time", "end_time"}
"""The keys of a word in Video-MME-v2, with its times in seconds."""


def read_subtitles(path: str) -> tuple[Subtitle, ...]:
    """The subtitles of a file in its order, without their formatting. path: as `kept_files.local` takes it.

    Errors: DataError if the file can't be read or is none of these.
    """
    name = path.rpartition("/")[2]
    try:
        with kept_files.local(path) as real, open(real, "rb") as file:
            content = file.read(MOST_BYTES)
        text = content.decode("utf-16" if content.startswith((BOM_UTF16_LE, BOM_UTF16_BE)) else "utf-8-sig")
        if path.lower().endswith(".json"):
            return tuple(_of_json(json.loads(text)))
        if path.lower().endswith(".jsonl"):
            return tuple(_of_json(json.loads(line) for line in text.splitlines() if line.strip()))
        lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        return tuple(_of_webvtt(lines) if text.startswith("WEBVTT") else _of_subrip(lines))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"the subtitles {name[-200:]!r} can't be read: {error}.") from error


def _of_webvtt(lines: Sequence[str]) -> Iterator[Subtitle]:
    """Blocks of lines: perhaps a name, the times, the text. An empty line ends a block; notes and styles have no times."""
    for number, match in _timed(lines):
        end = next((at for at in range(number, len(lines)) if not lines[at].strip()), len(lines))
        yield from _subtitle(match, lines[number + 1 : end], WEBVTT_TAG)


def _of_subrip(lines: Sequence[str]) -> Iterator[Subtitle]:
    """A number, the times, the text, and an empty line, again and again. The text may have empty lines, too."""
    timed = list(_timed(lines))
    if not timed and any(line.strip() for line in lines):
        raise ValueError(
            "no line states times, as in 00:00:01,000 --> 00:00:02,000; store it as SubRip, WebVTT or JSON"
        )
    if not timed:
        return
    for (number, match), (following, _) in zip(timed, [*timed[1:], (len(lines), None)], strict=True):
        numbered = following < len(lines) and lines[following - 1].strip().isdigit()
        yield from _subtitle(match, lines[number + 1 : following - numbered], TAG)


def _timed(lines: Sequence[str]) -> Iterator[tuple[int, re.Match[str]]]:
    """The lines that state times, with their numbers."""
    return ((number, match) for number, line in enumerate(lines) if (match := TIMES.match(line)))


def _subtitle(times: re.Match[str], lines: Sequence[str], tag: re.Pattern[str]) -> Iterator[Subtitle]:
    """The subtitle of these lines, without tags and escapes; none if no text is left."""
    parts = (ENTITY.sub(lambda found: html.unescape(found[0]), tag.sub("", line)) for line in lines)
    if said := " ".join(part for each in parts if (part := each.replace("\xa0", " ").strip())):
        yield Subtitle(_seconds(times[1]), _seconds(times[2]), said)


def _of_json(entries: Any) -> Iterator[Subtitle]:
    """`{"timestamp": [start, end], "text": ...}` in seconds, or `{"start": "00:00:01.5", "end": ..., "line": ...}`, or a word."""
    for entry in entries:
        if not isinstance(entry, dict) or not any(entry.keys() >= keys for keys in (STAMPED, CLOCKED, WORD)):
            known = (
                "neither `timestamp` and `text` nor `start`, `end` and `line` nor `text`, `start_time` and `end_time`"
            )
            raise ValueError(f"{entry!r:.60} has {known}")
        if "timestamp" in entry:
            start, end = entry["timestamp"]
            yield Subtitle(float(start), None if end is None else float(end), str(entry["text"]))
        elif "start_time" in entry:
            yield Subtitle(float(entry["start_time"]), float(entry["end_time"]), str(entry["text"]))
        else:
            yield Subtitle(_seconds(entry["start"]), _seconds(entry["end"]), str(entry["line"]))


def _seconds(clock: str) -> float:
    """The seconds of hours:minutes:seconds, where hours may be missing."""
    total = 0.0
    for part in clock.replace(",", ".").split(":"):
        total = 60 * total + float(part)
    return total
