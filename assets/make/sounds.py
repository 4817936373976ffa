"""Drawn sounds: tones, beeps, noise, melodies and spoken words, and questions about them with four options.

The samples of MMAU's form are made of them, and the tiny model that hears is trained on them. A sound states what is heard
when (`marks`), so that the training can name what lies under each audio token.
"""

import random
import shutil
import subprocess
from dataclasses import dataclass, field
from functools import cache

import numpy as np
from numpy.typing import NDArray

RATE = 16_000
KINDS = {"tone": "a tone", "beeps": "beeps", "noise": "noise", "melody": "a melody", "word": "a spoken word"}
HEIGHTS = {"very low": (90, 150), "low": (220, 350), "high": (550, 850), "very high": (1400, 2200)}
TURNS = ("it rises", "it falls", "it stays the same", "it rises and then falls")
SWELLS = ("it grows", "it fades", "it stays the same", "it grows and then fades")
PARTIALS: dict[str, dict[float, float]] = {
    "flute": {1: 1.0},
    "organ": {1: 1.0, 3: 0.7, 5: 0.5, 7: 0.4},
    "violin": {partial: partial**-0.7 for partial in range(1, 9)},
    "bell": {1: 1.0, 2.76: 0.6, 5.4: 0.4},
}
"""How loud the multiples of a note's pitch are."""
INSTRUMENTS = tuple(PARTIALS)
WAYS = ("up", "down", "up and then down", "down and then up")
NUMBERS = ("one", "two", "three", "four", "five", "six")
WORDS = ("banana", "music", "orange", "seven", "window", "yellow")
HELD_OUT_VOICES = ("m2", "f3")
VOICES = ("m1", "m3", "m4", "m5", "m6", "m7", "f1", "f2", "f4", "f5", *HELD_OUT_VOICES)
"""Variants of espeak-ng's English voice; the samples' words are spoken by the two that no training hears."""
PITCHES = 12
"""Classes of pitch that a mark may have, third octaves from 80 Hz on; 0 is no pitch."""

Wave = NDArray[np.float32]


@dataclass(frozen=True)
class Mark:
    """From `start` to `end` seconds something of a kind is heard; pitch in Hz, 0 for none."""

    start: float
    end: float
    kind: str
    pitch: float = 0.0


@dataclass
class Sound:
    """Samples at RATE, and what is true of them. topic: sound, music or speech, as MMAU sorts its questions."""

    samples: Wave
    marks: list[Mark]
    topic: str
    facts: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Question:
    """A question with its options, of which one is right. category: the name of the fact that it asks for."""

    text: str
    options: tuple[str, ...]
    answer: str
    category: str


ASKS: dict[str, tuple[str, tuple[str, ...]]] = {
    "kind": ("What is heard in the audio?", tuple(KINDS.values())),
    "height": ("How high is the sound?", tuple(HEIGHTS)),
    "turn": ("How does the pitch of the tone change?", TURNS),
    "swell": ("How does the loudness change?", SWELLS),
    "beeps": ("How many beeps are heard?", NUMBERS),
    "instrument": ("Which instrument plays the melody?", INSTRUMENTS),
    "way": ("Which way does the melody go?", WAYS),
    "first": ("What is heard first?", tuple(KINDS.values())),
    "last": ("What is heard last?", tuple(KINDS.values())),
    "word": ("Which word is spoken?", WORDS),
}
"""What is asked about a fact, and all that it may be."""


def pitch_class(pitch: float) -> int:
    """0 for no pitch, else its third octave above 80 Hz."""
    return 0 if pitch <= 0 else 1 + min(PITCHES - 2, max(0, int(2 * np.log2(pitch / 80))))


def _line(seconds: float) -> Wave:
    return (np.arange(round(seconds * RATE)) / RATE).astype(np.float32)


def _edges(wave: Wave, seconds: float = 0.01) -> Wave:
    """A wave with its ends faded, so that nothing clicks."""
    count = min(round(seconds * RATE), len(wave) // 2)
    shape = np.ones(len(wave), np.float32)
    shape[:count] = np.linspace(0, 1, count, dtype=np.float32)
    shape[len(wave) - count :] = np.linspace(1, 0, count, dtype=np.float32)
    return (wave * shape).astype(np.float32)


def _sine(pitch: Wave | float, seconds: float) -> Wave:
    line = np.broadcast_to(np.asarray(pitch, np.float64), (round(seconds * RATE),))
    return np.sin(2 * np.pi * np.cumsum(line) / RATE).astype(np.float32)


def played(instrument: str, pitch: float, seconds: float) -> Wave:
    """A note: a flute is a sine, an organ has odd partials, a violin all of them, and a bell dies away."""
    loud = PARTIALS[instrument]
    line = _line(seconds)
    wave = np.zeros_like(line)
    for partial, level in loud.items():
        if pitch * partial < RATE / 2:
            wave += np.float32(level / sum(loud.values())) * np.sin(2 * np.pi * pitch * partial * line)
    if instrument == "bell":
        wave *= np.exp(-5 * line / seconds)
    return _edges(wave, 0.02)


@cache
def spoken(text: str, voice: str, pitch: int = 50, speed: int = 160) -> Wave:
    """A text that espeak-ng says, at RATE, without silence around it. voice: a language and a variant, as "en+m3"."""
    program = shutil.which("espeak-ng")
    if program is None:
        raise FileNotFoundError("espeak-ng speaks the texts of the samples: apt-get install espeak-ng")
    command = [program, "-v", voice, "-p", str(pitch), "-s", str(speed), "--stdout", text]
    wav = subprocess.run(command, check=True, capture_output=True).stdout
    # espeak-ng writes a header of 44 bytes, whose sizes are unknown to a pipe, and 22,050 samples a second.
    wave = np.frombuffer(wav[44:], "<i2").astype(np.float32) / 32768
    heard = np.flatnonzero(np.abs(wave) > 0.01)
    wave = wave[heard[0] : heard[-1] + 1]
    places = np.arange(0, len(wave) - 1, 22_050 / RATE)
    resampled: Wave = np.interp(places, np.arange(len(wave)), wave).astype(np.float32)
    return resampled


def _height(rng: random.Random) -> tuple[str, float]:
    name = rng.choice(tuple(HEIGHTS))
    return name, rng.uniform(*HEIGHTS[name])


def _tone(rng: random.Random, seconds: float) -> Sound:
    height, pitch = _height(rng)
    turn, swell = rng.choice(TURNS), rng.choice(SWELLS)
    line = _line(seconds) / seconds
    curve = {"it rises": line, "it falls": -line, "it stays the same": 0 * line}.get(turn, 1 - np.abs(2 * line - 1))
    # A turn of less than an octave around the pitch, which so keeps its height.
    span = rng.uniform(0.5, 0.65)
    middle = 0.0 if turn == "it stays the same" else (curve.max() + curve.min()) / 2
    wave = _sine((pitch * 2 ** (span * (curve - middle))).astype(np.float32), seconds)
    loud = {"it grows": line, "it fades": 1 - line, "it stays the same": 1 + 0 * line}.get(
        swell, 1 - np.abs(2 * line - 1)
    )
    wave = _edges((wave * (0.04 + 0.96 * loud)).astype(np.float32))
    marks = [
        Mark(k * seconds / 8, (k + 1) * seconds / 8, "tone", float(pitch * 2 ** (span * (curve[at] - middle))))
        for k in range(8)
        for at in [int((k + 0.5) / 8 * len(curve))]
    ]
    facts = {"kind": KINDS["tone"], "height": height, "turn": turn, "swell": swell}
    return Sound(wave, marks, "sound", facts)


def _beeps(rng: random.Random, seconds: float) -> Sound:
    height, pitch = _height(rng)
    count = rng.randint(1, len(NUMBERS))
    length = rng.uniform(0.13, 0.2)
    gap = rng.uniform(0.2, 0.28)
    parts, marks, at = [], [], 0.0
    for _ in range(count):
        parts += [_edges(_sine(pitch, length)), np.zeros(round(gap * RATE), np.float32)]
        marks.append(Mark(at, at + length, "beeps", pitch))
        at += length + gap
    facts = {"kind": KINDS["beeps"], "height": height, "beeps": NUMBERS[count - 1]}
    return Sound(np.concatenate(parts), marks, "sound", facts)


def _noise(rng: random.Random, seconds: float) -> Sound:
    noise = np.random.default_rng(rng.getrandbits(32)).standard_normal(round(seconds * RATE)).astype(np.float32)
    width = rng.choice((1, 2, 4))
    noise = np.convolve(noise, np.ones(width, np.float32) / width, "same").astype(np.float32)
    swell = rng.choice(SWELLS)
    line = _line(seconds)[: len(noise)] / seconds
    loud = {"it grows": line, "it fades": 1 - line, "it stays the same": 1 + 0 * line}.get(
        swell, 1 - np.abs(2 * line - 1)
    )
    noise = _edges(noise * 0.3 * (0.04 + 0.96 * loud).astype(np.float32))
    return Sound(noise, [Mark(0, seconds, "noise")], "sound", {"kind": KINDS["noise"], "swell": swell})


def _melody(rng: random.Random, seconds: float) -> Sound:
    way, instrument = rng.choice(WAYS), rng.choice(INSTRUMENTS)
    count = 5
    steps = {"up": [0, 1, 2, 3, 4], "down": [4, 3, 2, 1, 0], "up and then down": [0, 2, 4, 2, 0]}.get(
        way, [4, 2, 0, 2, 4]
    )
    base, step = rng.uniform(240, 420), rng.uniform(2.5, 4.0)
    each = seconds / count
    parts, marks = [], []
    for number, place in enumerate(steps):
        pitch = base * 2 ** (step * place / 12)
        parts.append(played(instrument, pitch, each))
        marks.append(Mark(number * each, (number + 1) * each, "melody", pitch))
    facts = {"kind": KINDS["melody"], "way": way, "instrument": instrument}
    return Sound(np.concatenate(parts), marks, "music", facts)


def _word(rng: random.Random, seconds: float, voices: tuple[str, ...]) -> Sound:
    word = rng.choice(WORDS)
    wave = spoken(word, f"en+{rng.choice(voices)}", rng.randrange(30, 75, 5), rng.randrange(120, 181, 10))
    marks = [Mark(0, len(wave) / RATE, "word")]
    return Sound(wave, marks, "speech", {"kind": KINDS["word"], "word": word})


def draw(
    rng: random.Random, kind: str | None = None, voices: tuple[str, ...] = VOICES[: -len(HELD_OUT_VOICES)]
) -> Sound:
    """A sound of a kind, or of any; "order" is two kinds, one after the other."""
    kind = kind or rng.choice((*KINDS, "tone", "beeps", "melody", "word", "order", "order"))
    if kind == "order":
        first, last = (_one(rng, each, rng.uniform(1.1, 1.6), voices) for each in rng.sample(tuple(KINDS), 2))
        gap = rng.uniform(0.25, 0.5)
        shift = len(first.samples) / RATE + gap
        samples = np.concatenate([first.samples, np.zeros(round(gap * RATE), np.float32), last.samples])
        marks = first.marks + [Mark(m.start + shift, m.end + shift, m.kind, m.pitch) for m in last.marks]
        sound = Sound(samples, marks, "sound", {"first": first.facts["kind"], "last": last.facts["kind"]})
    else:
        sound = _one(rng, kind, rng.uniform(1.4, 3.0), voices)
    return _placed(rng, sound)


def _one(rng: random.Random, kind: str, seconds: float, voices: tuple[str, ...]) -> Sound:
    if kind == "word":
        return _word(rng, seconds, voices)
    return {"tone": _tone, "beeps": _beeps, "noise": _noise, "melody": _melody}[kind](rng, seconds)


def _placed(rng: random.Random, sound: Sound) -> Sound:
    """The sound behind a little silence, at some loudness, over a faint hiss."""
    lead, tail = rng.uniform(0.05, 0.4), rng.uniform(0.1, 0.4)
    samples = np.concatenate([np.zeros(round(lead * RATE), np.float32), sound.samples * rng.uniform(0.35, 0.85)])
    samples = np.concatenate([samples, np.zeros(round(tail * RATE), np.float32)])
    hiss = np.random.default_rng(rng.getrandbits(32)).standard_normal(len(samples)).astype(np.float32)
    samples = np.clip(samples + rng.choice((0.0, 0.0003, 0.001)) * hiss, -1, 1)
    marks = [Mark(m.start + lead, m.end + lead, m.kind, m.pitch) for m in sound.marks]
    return Sound(samples, marks, sound.topic, sound.facts)


def questions(sound: Sound, rng: random.Random) -> list[Question]:
    """A question for each fact, with four options in some order."""
    asked = []
    for name, truth in sound.facts.items():
        text, values = ASKS[name]
        others = [value for value in values if value != truth]
        options = [truth, *rng.sample(others, 3)]
        rng.shuffle(options)
        asked.append(Question(text, tuple(options), truth, name))
    return asked
