"""Which frames of a video are shown: `frames=32`, or `fps=2,min=4,max=768`, spread by one of `SPREADS`.

A spread is the formula of some other code, with its rounding of floats. The arithmetic is IEEE's, so the frames do not depend on
the machine.
"""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from fractions import Fraction

from mm_eval.values.errors import ConfigError

SPREADS = ("ends", "rounded", "rounded32", "starts", "starts32", "middle", "inside")
OF_PROCESSORS = ("rounded", "rounded32", "starts32")
"""Spreads of processors, which count the frames in floats, too."""
NAMED = {"qwen_vl_utils": "fps=2,min=4,max=768,even,rounded32"}
"""Rules with a name: what `qwen_vl_utils.fetch_video` does, by which the authors of Qwen-VL evaluate."""
FINEST = 10**6
"""The largest denominator of a length in seconds that is given as a float: 1000.9999999999999 is 1001."""
MOST_FRAMES = 4096
"""The most frames that a rule may show of a video."""

NEEDED = (
    "frames=N or fps=X, then of these as wanted: min=N and max=N (with fps), "
    f"even, nearest, skip=S (with fps), size=N, and one of {', '.join(SPREADS)}; such as frames=32,middle or "
    f"fps=2,min=4,max=768; or {', '.join(NAMED)}"
)


@dataclass(frozen=True)
class FrameRule:
    """A rule for the frames of a video.

    frames: how many. fps: or how many a second, at least `least` and at most `most`.
    even: an even number of frames, rounded down. nearest: the number is rounded to the nearest, else down.
    skip: seconds that are left out at both ends of a video that is longer than `most` * `fps` beyond them (SmolVLM).
    spread: where they are. For 8 of 900 frames: `ends` 0 128 256 385 513 642 770 899 (first and last frame, cut down: numpy's
        linspace with dtype=int), `rounded` 0 128 257 385 514 642 771 899 (numpy's linspace, rounded), `rounded32` the same by
        torch's linspace in single precision, `starts` 0 112 225 ... 787 (of equal segments: numpy's arange), `starts32` the
        same by torch's arange in single precision, `middle` 56 168 281 ... 843 (of equal segments, as InternVL computes them),
        `inside` 100 200 300 ... 800 (VLMEvalKit).
    size: the longest side of a shown frame in pixels; a larger frame is made smaller. None: frames are shown as they are.
    """

    frames: int | None = 8
    fps: float | None = None
    least: int = 1
    most: int = 768
    spread: str = "ends"
    size: int | None = None
    even: bool = False
    nearest: bool = False
    skip: float = 0.0

    def __str__(self) -> str:
        parts = [f"frames={self.frames}"]
        if self.fps is not None:
            parts = [f"fps={self.fps:g}", f"min={self.least}", f"max={self.most}"]
        parts += [name for name in ("even", "nearest") if getattr(self, name)]
        parts += [f"skip={self.skip:g}"] if self.skip else []
        return ",".join([*parts, self.spread, *([f"size={self.size}"] if self.size else [])])

    @property
    def in_floats(self) -> bool:
        """Whether this is a rule of a processor, which counts the frames in floats, too. Otherwise the count is exact."""
        return self.spread in OF_PROCESSORS or self.nearest

    def count(self, total: int, seconds: float | Fraction) -> int:
        """How many frames are shown of a video, or a part of one, with this many frames and this length."""
        if self.fps is None:
            wanted = self.frames or 1
            return min(wanted // 2 * 2 or 1 if self.even else wanted, total)
        if self.in_floats:
            exact: float | Fraction = float(seconds) * self.fps
        else:
            exact = Fraction(seconds).limit_denominator(FINEST) * Fraction(str(self.fps))
        wanted = round(exact) if self.nearest else math.floor(exact)
        if not self.even:
            return max(1, min(max(wanted, self.least), self.most, total))
        return max(1, min(max(wanted, -(-self.least // 2) * 2), min(self.most, total) // 2 * 2) // 2 * 2)

    def places(self, total: int, seconds: float | Fraction, rate: float | None = None) -> list[int]:
        """The numbers of the frames, from 0, rising. A video with fewer frames than the rule asks for shows each once.

        seconds: the length. rate: frames a second; None: of the length.
        """
        count = self.count(total, seconds)
        if self.skip and float(seconds) - 2 * self.skip > self.most * (self.fps or 0):
            each = rate or float(Fraction(total) / Fraction(seconds).limit_denominator(FINEST))
            first, last = int(self.skip * each), min(int(total - self.skip * each), total - 1)
            if first < last:
                return sorted(set(_ends(first, last, count)))
        if count == total:
            return list(range(total))
        if self.spread == "starts":
            return [int(i * (total / count)) for i in range(count)]
        if self.spread == "starts32":
            return _starts32(total, count)
        if self.spread == "inside":
            return [int(i * (total / (count + 1))) for i in range(1, count + 1)]
        if self.spread == "middle":
            segment = (total - 1) / count
            return [int(segment / 2 + round(segment * i)) for i in range(count)]
        if count == 1:
            return [0]
        if self.spread == "rounded":
            return [*(round(i * ((total - 1) / (count - 1))) for i in range(count - 1)), total - 1]
        return _rounded32(total, count) if self.spread == "rounded32" else _ends(0, total - 1, count)


def _ends(first: int, last: int, count: int) -> list[int]:
    """numpy.linspace(first, last, count, dtype=int)."""
    if count == 1:
        return [first]
    step = (last - first) / (count - 1)
    return [*(int(i * step + first) for i in range(count - 1)), last]


def _single(value: float) -> float:
    """The nearest number of single precision."""
    return float(struct.unpack("f", struct.pack("f", value))[0])


def _rounded32(total: int, count: int) -> list[int]:
    """torch.linspace(0, total - 1, count).round(): the second half is counted from the end, with one rounding a number."""
    last = float(total - 1)
    step, half = _single(last / (count - 1)), count // 2
    return [round(_single(step * i if i < half else last - step * (count - 1 - i))) for i in range(count)]


def _starts32(total: int, count: int) -> list[int]:
    """torch.arange(0, total, total / count).int(), where it names a frame of the video.

    torch (with AVX2) counts eight numbers from the first of them, as long as sixteen are left, and the rest one by one.
    """
    step = total / count
    length = math.ceil(total / step)
    eights = length // 16 * 16

    def place(i: int) -> int:
        return int(_single(_single(step * (i // 8 * 8)) + i % 8 * step) if i < eights else _single(step * i))

    return [found for found in map(place, range(length)) if found < total]


DEFAULT = FrameRule()
"""The rule where neither `--video` nor the prompt block states one: 8 frames, the first and the last among them."""


def read_rule(text: object, where: str = "--video") -> FrameRule:
    """The rule of a text. ConfigError if it is none.

    >>> str(read_rule("frames=32")), str(read_rule("fps=2,min=4,middle"))
    ('frames=32,ends', 'fps=2,min=4,max=768,middle')
    >>> str(read_rule("qwen_vl_utils"))
    'fps=2,min=4,max=768,even,rounded32'
    """
    found: dict[str, float] = {}
    spread, words = "", set[str]()
    text = NAMED.get(text.strip(), text) if isinstance(text, str) else text
    for part in text.split(",") if isinstance(text, str) else [""]:
        name, equals, value = part.strip().partition("=")
        if not equals and name in SPREADS and not spread:
            spread = name
        elif not equals and name in ("even", "nearest") and name not in words:
            words.add(name)
        elif (
            name in ("frames", "fps", "min", "max", "size", "skip")
            and name not in found
            and (number := _number(name, value))
        ):
            found[name] = number
        else:
            raise _no_rule(text, where)
    counts = {name: int(value) for name, value in found.items() if name not in ("fps", "skip")}
    of_fps = counts.keys() & {"min", "max"} or "skip" in found or "nearest" in words
    if ("frames" in found) == ("fps" in found) or "frames" in found and of_fps:
        raise _no_rule(text, where)
    least, most = counts.get("min", 1), counts.get("max", max(768, counts.get("min", 1)))
    if least > most:
        raise ConfigError(f"the rule of frames {text!r} has a min above its max.", where=where)
    if "skip" in found and spread not in ("", "ends"):
        raise ConfigError(f"the rule of frames {text!r} has skip, which goes with ends.", where=where)
    return FrameRule(
        counts.get("frames"), found.get("fps"), least, most, spread or "ends", counts.get("size"),
        "even" in words, "nearest" in words, found.get("skip", 0.0),
    )  # fmt: skip


def shown_as(way: str, rule: FrameRule | str) -> str:
    """How a model gets a video, for the report. way: as in `ModelFacts.frames_as`.

    >>> shown_as("video", DEFAULT)
    'the frames are shown as a video (frames=8,ends)'
    """
    if way == "file":
        return f"the server samples the file ({rule} was asked for)"
    return f"the frames are shown as {'a video' if way == 'video' else way} ({rule})"


def is_rule(text: object) -> bool:
    """Whether a text is a rule."""
    try:
        read_rule(text)
    except ConfigError:
        return False
    return True


def _number(name: str, text: str) -> float | None:
    """A positive number, whole unless it is the fps or the skip. None for anything else."""
    try:
        value = float(text) if name in ("fps", "skip") else int(text)
    except ValueError:
        return None
    return value if 0 < value <= (100_000 if name == "size" else MOST_FRAMES) else None


def _no_rule(text: object, where: str) -> ConfigError:
    return ConfigError(f"{text!r} is not a rule of frames.", where=where, hint=f"A rule is {NEEDED}.")
