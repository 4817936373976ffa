"""Captions of drawn scenes for the samples of caption benchmarks, in the words of several people."""

from collections import Counter
from collections.abc import Iterator

import scenes
from scenes import NUMBERS, PLURALS

from samples import drawn, rng

FORMS = (
    "A picture of {}.",
    "{} on a plain background",
    "There {be} {} in this drawing.",
    "This is a simple drawing with {}.",
    "{}, drawn by a computer.",
    "Someone's drawing that shows {} .",
    "a sheet of paper with {} on it",
    "We see {}; nothing else is there.",
    "A children's game: {}!",
    "An old-fashioned picture (of {}).",
)


def pictures(*names: object, count: int) -> Iterator[scenes.Scene]:
    """Drawn scenes."""
    for place in range(count):
        scene = drawn("scene", *names, place)
        assert isinstance(scene, scenes.Scene)
        yield scene


def captions(scene: scenes.Scene, people: int, *names: object) -> list[str]:
    """What this many people say about a scene."""
    stream = rng("captions", *names)
    counts = Counter(thing.name for thing in scene.things)
    parts = [
        f"{NUMBERS[number]} {name.replace('cross', PLURALS['cross']) if 'cross' in name else name + 's'}"
        if number > 1
        else f"a {name}"
        for name, number in counts.items()
    ]
    said = []
    for form in stream.sample(FORMS, people):
        stream.shuffle(parts)
        words = " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]
        words += f' and the word "{scene.word}"' if scene.word else ""
        words = words[0].upper() + words[1:] if form.startswith("{}") else words
        said.append(form.format(words, be="is" if sum(counts.values()) == 1 else "are"))
    return said
