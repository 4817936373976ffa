"""Which frames of a video are shown: `frames=32`, or `fps=2,min=4,max=768`, spread by `ends`, `starts`, `middle` or `inside`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from mm_eval.errors import ConfigError

SPREADS = ("ends", "starts", "middle", "inside")
MOST_FRAMES = 4096
"""The most frames that a rule may show of a video."""

NEEDED = (
    "frames=N or fps=X, then of these as wanted: min=N and max=N (with fps), "
    f"size=N, and one of {', '.join(SPREADS)}; such as frames=32,middle or fps=2,min=4,max=768"
)


@dataclass(frozen=True)
class FrameRule:
    """A rule for the frames of a video.

    frames: how many. fps: or how many a second, at least `least` and at most `most`.
    spread: where they lie. For 8 of 900 frames: `ends` 0 128 256 385 513 642 770 899 (first and last frame, cut down),
        `starts` 0 112 225 ... 787 (of equal segments), `middle` 56 168 281 ... 843 (of equal segments, as InternVL computes
        them), `inside` 100 200 300 ... 800.
    size: the longest side of a shown frame in pixels; a larger frame is made smaller. None: frames are shown as they are.
    """

    frames: int | None = 8
    fps: float | None = None
    least: int = 1
    most: int = 768
    spread: str = "ends"
    size: int | None = None

    def __str__(self) -> str:
        number = f"frames={self.frames}" if self.fps is None else f"fps={self.fps:g},min={self.least},max={self.most}"
        return f"{number},{self.spread}{f',size={self.size}' if self.size else ''}"

    def count(self, total: int, seconds: float) -> int:
        """How many frames are shown of a video, or a part of one, with this many frames and this length."""
        wanted = self.frames if self.fps is None else min(max(math.floor(seconds * self.fps), self.least), self.most)
        return min(wanted or 1, total)

    def places(self, total: int, seconds: float) -> list[int]:
        """The numbers of the frames, from 0, rising. A video with fewer frames than the rule asks for shows each once."""
        count = self.count(total, seconds)
        if count == total:
            return list(range(total))
        if self.spread == "starts":
            return [i * total // count for i in range(count)]
        if self.spread == "inside":
            return [i * total // (count + 1) for i in range(1, count + 1)]
        if self.spread == "middle":
            segment = (total - 1) / count
            return [int(segment / 2 + round(segment * i)) for i in range(count)]
        return [i * (total - 1) // (count - 1) for i in range(count)] if count > 1 else [0]


DEFAULT = FrameRule()
"""The rule where neither `--video` nor the prompt block states one: 8 frames, the first and the last among them."""


def read_rule(text: object, where: str = "--video") -> FrameRule:
    """The rule of a text. ConfigError if it is none.

    >>> str(read_rule("frames=32")), str(read_rule("fps=2,min=4,middle"))
    ('frames=32,ends', 'fps=2,min=4,max=768,middle')
    """
    found: dict[str, float] = {}
    spread = ""
    for part in text.split(",") if isinstance(text, str) else [""]:
        name, equals, value = part.strip().partition("=")
        if not equals and name in SPREADS and not spread:
            spread = name
        elif name in ("frames", "fps", "min", "max", "size") and name not in found and (number := _number(name, value)):
            found[name] = number
        else:
            raise _no_rule(text, where)
    counts = {name: int(value) for name, value in found.items() if name != "fps"}
    if ("frames" in found) == ("fps" in found) or "frames" in found and counts.keys() & {"min", "max"}:
        raise _no_rule(text, where)
    least, most = counts.get("min", 1), counts.get("max", max(768, counts.get("min", 1)))
    if least > most:
        raise ConfigError(f"the rule of frames {text!r} has a min above its max.", where=where)
    return FrameRule(counts.get("frames"), found.get("fps"), least, most, spread or "ends", counts.get("size"))


def shown_as(video_input: str, rule: FrameRule) -> str:
    """How a model gets a video, for the report. video_input: as in `Model.video_input`.

    >>> shown_as("video", DEFAULT)
    'the frames are shown as a video (frames=8,ends)'
    """
    if video_input == "file":
        return f"the server samples the file ({rule} was asked for)"
    return f"the frames are shown as {'a video' if video_input == 'video' else video_input} ({rule})"


def is_rule(text: object) -> bool:
    """Whether a text is a rule."""
    try:
        read_rule(text)
    except ConfigError:
        return False
    return True


def _number(name: str, text: str) -> float | None:
    """A positive number, whole unless it is the fps. None for anything else."""
    try:
        value = float(text) if name == "fps" else int(text)
    except ValueError:
        return None
    return value if 0 < value <= (100_000 if name == "size" else MOST_FRAMES) else None


def _no_rule(text: object, where: str) -> ConfigError:
    return ConfigError(f"{text!r} is not a rule of frames.", where=where, hint=f"A rule is {NEEDED}.")
