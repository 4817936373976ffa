"""Random numbers that a task's own functions draw, so that the same run gives the same numbers.

Each task has a stream of its own, which continues in the order of the docs. If the task's files seed when imported
(`random.seed(42)` at the top of utils.py), it starts there, else at the default seeds of lmms-eval and lm-eval.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any

PYTHON_SEED, NUMPY_SEED = 0, 1234
"""The default seeds of lmms-eval and lm-eval; MMMU's guess for an answer without a letter is then the same as theirs."""


@dataclass(frozen=True)
class RandomStream:
    """A source of random numbers, as the functions that get and set its state."""

    get: Callable[[], Any]
    put: Callable[[Any], Any]


@dataclass
class Seeds:
    """The states of `random` and `numpy.random` after an import; None if neither the file nor its imports seed them."""

    python: Any = None
    numpy: Any = None

    def then(self, later: Seeds) -> Seeds:
        """The states after a later import; one that it did not seed is kept."""
        return Seeds(later.python or self.python, later.numpy or self.numpy)


def _shared() -> list[RandomStream]:
    """`random` and `numpy.random`."""
    import numpy as np

    return [RandomStream(random.getstate, random.setstate), RandomStream(np.random.get_state, np.random.set_state)]


def generators_in(variables: Mapping[str, object]) -> list[RandomStream]:
    """The random generators among a module's variables, such as `rng = random.Random(42)`."""
    import numpy as np

    found: list[RandomStream] = []
    for value in list(variables.values()):
        if isinstance(value, random.Random) and not isinstance(value, random.SystemRandom):
            found.append(RandomStream(value.getstate, value.setstate))
        elif isinstance(value, np.random.RandomState):
            found.append(RandomStream(value.get_state, value.set_state))
        elif isinstance(value, np.random.Generator):
            bits = value.bit_generator
            found.append(RandomStream(partial(getattr, bits, "state"), partial(setattr, bits, "state")))
    return found


@contextmanager
def unchanged(streams: Iterable[RandomStream]) -> Iterator[None]:
    """Restores the states of these streams, of `random` and of `numpy.random` at the end of the block."""
    before = [(stream, stream.get()) for stream in (*_shared(), *streams)]
    try:
        yield
    finally:
        for stream, state in before:
            stream.put(state)


@contextmanager
def importing(seeds: Seeds) -> Iterator[None]:
    """Around the import of a file: records in `seeds` the states that it seeds, and restores all streams afterwards.

    Only a call of `seed` counts: a library that draws when it is imported does so once per process, so its draws would
    make two processes differ.
    """
    import numpy as np

    called: set[str] = set()
    python, numpy_seed = random.seed, np.random.seed

    def recorded(seed: Callable[..., object], name: str) -> Callable[..., Any]:
        @wraps(seed)
        def seeded(*args: object, **kwargs: object) -> object:
            called.add(name)
            return seed(*args, **kwargs)

        return seeded

    with unchanged(()):
        random.seed(PYTHON_SEED)
        np.random.seed(NUMPY_SEED)
        random.seed, np.random.seed = recorded(python, "python"), recorded(numpy_seed, "numpy")
        try:
            yield
        finally:
            random.seed, np.random.seed = python, numpy_seed
            seeds.python = random.getstate() if "python" in called else seeds.python
            seeds.numpy = np.random.get_state() if "numpy" in called else seeds.numpy


class Draws:
    """The random stream of one task. Each use continues where the last one ended, whatever else is drawn in between.

    seeds: the states to start from. own: the generators of the task's files, each with the state to start from.
    """

    def __init__(self, seeds: Seeds | None = None, own: Iterable[tuple[RandomStream, object]] = ()) -> None:
        seeds = seeds or Seeds()
        self._own = list(own)
        self._python = seeds.python or random.Random(PYTHON_SEED).getstate()
        self._numpy = seeds.numpy

    @contextmanager
    def used(self, *, goes_on: bool = True) -> Iterator[None]:
        """Inside, `random` and `numpy.random` draw from this stream; their own states are restored afterwards.

        goes_on: the next use continues where this one ends, else it starts where this one started.
        """
        import numpy as np

        streams = [*_shared(), *(stream for stream, _ in self._own)]
        with unchanged(streams[2:]):
            random.setstate(self._python)
            np.random.set_state(self._numpy or np.random.RandomState(NUMPY_SEED).get_state())
            for stream, state in self._own:
                stream.put(state)
            try:
                yield
            finally:
                if goes_on:
                    self._python, self._numpy, *own = [stream.get() for stream in streams]
                    self._own = list(zip(streams[2:], own, strict=True))
