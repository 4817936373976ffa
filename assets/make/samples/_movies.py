"""Small videos with a story for the samples of video benchmarks, and the files and archives that hold them on the hub.

`story(...)` draws one, `movie(story)` is its mp4, `zipped` and `tarred` pack several, `questions(...)` asks about one. The same
versions of Pillow and PyAV write the same bytes.
"""

import io
import random
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction

import numpy as np
import sounds
from drawing import COLORS, PAPERS, SHAPES, SIZE, Color, draw_shape, draw_text
from numpy.typing import NDArray
from PIL import Image, ImageDraw

from samples import rng

MOVES = {"moves left": (-1, 0), "moves right": (1, 0), "moves up": (0, -1), "moves down": (0, 1)}
ACTIONS = (*MOVES, "grows", "shrinks", "blinks")
OPPOSITE = {"moves left": "moves right", "moves up": "moves down", "grows": "shrinks"}
WORDS = ("STOP", "EXIT", "OPEN", "SALE", "TAXI", "MILK")
RATE = 8
"""Frames a second."""
SOUND_RATE = sounds.RATE
"""Samples a second, of videos whose words are said."""
ENCODER = {"qp": "30", "bf": "0", "threads": "1", "x264-params": "no-asm=1"}
"""With `crf` instead of `qp` one video in a hundred came out with other bytes; assembler code depends on the processor."""
STEPS = 8
"""Frames of each action."""


@dataclass(frozen=True)
class Story:
    """One shape that does some things, one after another, and says a word during each.

    frames: STEPS for each action. words: what the subtitles say, one for each action.
    """

    shape: str
    color: str
    actions: tuple[str, ...]
    words: tuple[str, ...]
    frames: list[Image.Image] = field(repr=False)

    @property
    def seconds(self) -> float:
        return len(self.frames) / RATE


def story(*names: object, actions: int = 2, shape: str | None = None) -> Story:
    """A story for these names, the same on every machine. shape: if it is not to be drawn."""
    stream = rng("story", *names)
    shape = shape or stream.choice(SHAPES)
    color = stream.choice(list(COLORS))
    done = some_actions(stream, actions)
    frames = acted(done, shape, COLORS[color], stream.choice(PAPERS))
    return Story(shape, color, tuple(done), tuple(stream.sample(WORDS, actions)), frames)


def some_actions(stream: random.Random, count: int) -> list[str]:
    """Different actions, none of which undoes the one before it."""
    done: list[str] = []
    while len(done) < count:
        action = stream.choice(ACTIONS)
        before = done[-1] if done else ""
        if action not in done and OPPOSITE.get(action) != before and OPPOSITE.get(before) != action:
            done.append(action)
    return done


def acted(actions: Sequence[str], shape: str, fill: Color, paper: Color, r: float = 14.0) -> list[Image.Image]:
    """The frames of a shape that does these things, STEPS for each. fill, paper: the colours. r: the radius at the start."""
    frames = list[Image.Image]()
    x, y = SIZE / 2, SIZE / 2
    for action in actions:  # begin off the middle, so that there is room to move
        x, y = x - 14 * MOVES.get(action, (0, 0))[0], y - 14 * MOVES.get(action, (0, 0))[1]
    for action in actions:
        for step in range(STEPS):
            dx, dy = MOVES.get(action, (0, 0))
            x, y = x + 3.5 * dx, y + 3.5 * dy
            r += {"grows": 1.2, "shrinks": -1.2}.get(action, 0.0)
            image = Image.new("RGB", (SIZE, SIZE), paper)
            if action != "blinks" or step % 4 < 2:
                draw_shape(ImageDraw.Draw(image), shape, round(x), round(y), round(r), fill)
            frames.append(image)
    return frames


def titled(found: Story, text: str) -> Story:
    """The story with a text in the corner of each frame."""
    for frame in found.frames:
        draw_text(ImageDraw.Draw(frame), text, 3, 3, 11)
    return found


def movie(found: Story, suffix: str = "mp4", spoken: bool = False) -> bytes:
    """The video file of a story. suffix: of the container, mp4, mkv or avi. spoken: its words are said, each at its time."""
    import av

    target = io.BytesIO()
    container = {"mkv": "matroska"}.get(suffix, suffix)
    with av.open(target, "w", format=container, options={"fflags": "+bitexact"}) as file:
        stream = file.add_stream("libx264", rate=RATE, options=ENCODER)
        stream.width, stream.height, stream.pix_fmt = SIZE, SIZE, "yuv420p"
        stream.codec_context.thread_count = 1
        stream.codec_context.flags |= av.codec.context.Flags.bitexact
        sound = file.add_stream("aac", rate=SOUND_RATE, layout="mono", bit_rate=20_000) if spoken else None
        for number, image in enumerate(found.frames):
            frame = av.VideoFrame.from_image(image)
            frame.pts, frame.time_base = number, Fraction(1, RATE)
            file.mux(stream.encode(frame))
        file.mux(stream.encode())
        if sound is not None:
            sound.codec_context.flags |= av.codec.context.Flags.bitexact
            heard = av.AudioFrame.from_ndarray(narration(found)[None], format="fltp", layout="mono")
            heard.sample_rate = SOUND_RATE
            file.mux(sound.encode(heard))
            file.mux(sound.encode())
    return target.getvalue()


def narration(found: Story) -> NDArray[np.float32]:
    """The sound of a story: a voice that says each word at its time."""
    line = np.zeros(round(found.seconds * SOUND_RATE), np.float32)
    for number, word in enumerate(found.words):
        wave = 0.6 * sounds.spoken(word.lower(), "en+m1")
        start = round((number * STEPS / RATE + 0.15) * SOUND_RATE)
        line[start : start + len(wave)] += wave[: len(line) - start]
    return line


def subrip(found: Story) -> bytes:
    """The subtitles of a story as an .srt file, formatted as those of Video-MME."""
    blocks = []
    for number, word in enumerate(found.words):
        start, end = number * STEPS / RATE, (number + 1) * STEPS / RATE - 0.001
        times = f"00:00:{start:06.3f} --> 00:00:{end:06.3f}".replace(".", ",")
        blocks.append(f'{number + 1}\n{times}\n<font color="white" size=".72c">Now it says {word}.</font>\n')
    return "\n".join(blocks).encode()


def zipped(files: Mapping[str, bytes]) -> bytes:
    """A zip archive whose members are stored as they are."""
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w") as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name, (2000, 1, 1, 0, 0, 0)), content)
    return target.getvalue()


def tarred(files: Mapping[str, bytes]) -> bytes:
    """A tar archive."""
    target = io.BytesIO()
    with tarfile.open(fileobj=target, mode="w", format=tarfile.USTAR_FORMAT, bufsize=512) as archive:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    return target.getvalue()


def parts(name: str, content: bytes, count: int = 2) -> dict[str, bytes]:
    """A file cut into parts with the endings .aa, .ab, ..."""
    size = len(content) // count + 1
    return {f"{name}.a{chr(ord('a') + n)}": content[n * size : (n + 1) * size] for n in range(count)}


@dataclass(frozen=True)
class Asked:
    """A question with its options and the place of the right one."""

    kind: str
    text: str
    options: tuple[str, ...]
    right: int

    @property
    def letter(self) -> str:
        return "ABCDEFGH"[self.right]


def questions(found: Story, stream: random.Random, count: int = 4) -> list[Asked]:
    """What the shape does first and last, in which order, its colour and its form, and what is said. count: of the options."""
    first, last, shape = found.actions[0], found.actions[-1], found.shape
    other = [action for action in ACTIONS if action not in found.actions]
    orders = [f"{first}, then {last}", f"{last}, then {first}", *(f"{first}, then {each}" for each in other)]
    return [
        _asked(stream, "color", f"What is the color of the {shape}?", found.color, list(COLORS), count),
        _asked(stream, "first", f"What does the {shape} do first?", first, [last, *other], count),
        _asked(stream, "order", f"What does the {shape} do, in which order?", orders[0], orders[1:], count),
        _asked(stream, "shape", "Which shape is in the video?", shape, list(SHAPES), count),
        _asked(stream, "last", f"What does the {shape} do last?", last, [first, *other], count),
        _asked(stream, "said", "Which word is said last?", found.words[-1], [found.words[0], *WORDS], count),
    ]


def _asked(stream: random.Random, kind: str, text: str, right: str, others: Sequence[str], count: int) -> Asked:
    """The first of the others is always an option."""
    rest = [each for each in dict.fromkeys(others) if each != right]
    options = [right, rest[0], *stream.sample(rest[1:], count - 2)]
    stream.shuffle(options)
    return Asked(kind, text, tuple(options), options.index(right))
