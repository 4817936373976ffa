"""What a task file's functions draw at random, so that the same run gives the same numbers.

Each task has a stream of its own. It starts as the import of the task's files left it, where these seed (`random.seed(42)` at the
top of utils.py), else at the seeds that lmms-eval and lm-eval set by default. It goes on in the order of the docs.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial, wraps
from typing import Any

PYTHON_SEED, NUMPY_SEED = 0, 1234
"""The seeds that lmms-eval and lm-eval set by default: MMMU's guess for an answer without a letter is the one that they print."""


@dataclass(frozen=True)
class Stream:
    """A source of random numbers, by what reads and sets its state."""

    get: Callable[[], Any]
    put: Callable[[Any], Any]


@dataclass
class Seeds:
    """The states in which an import left `random` and `numpy.random`; None where it seeded neither it nor a file it imports."""

    python: Any = None
    numpy: Any = None


def _shared() -> list[Stream]:
    """`random` and `numpy.random`."""
    import numpy as np

    return [Stream(random.getstate, random.setstate), Stream(np.random.get_state, np.random.set_state)]


def generators_in(variables: Mapping[str, Any]) -> list[Stream]:
    """The random generators that a module keeps, as in `rng = random.Random(42)`."""
    import numpy as np

    found: list[Stream] = []
    for value in list(variables.values()):
        if isinstance(value, random.Random) and not isinstance(value, random.SystemRandom):
            found.append(Stream(value.getstate, value.setstate))
        elif isinstance(value, np.random.RandomState):
            found.append(Stream(value.get_state, value.set_state))
        elif isinstance(value, np.random.Generator):
            found.append(
                Stream(partial(getattr, value.bit_generator, "state"), partial(setattr, value.bit_generator, "state"))
            )
    return found


@contextmanager
def unchanged(streams: Iterable[Stream]) -> Iterator[None]:
    """Afterwards the streams, and `random` and `numpy.random`, are in the states in which they were."""
    before = [(stream, stream.get()) for stream in (*_shared(), *streams)]
    try:
        yield
    finally:
        for stream, state in before:
            stream.put(state)


@contextmanager
def importing(seeds: Seeds) -> Iterator[None]:
    """Inside, a file is imported: `seeds` gets the states of what it seeds. Other code's streams are left as they were.

    Only a call of `seed` counts: a library that merely draws while it is imported does so once a process, so that its
    draws would make two processes differ.
    """
    import numpy as np

    called: set[str] = set()
    python, numpy_seed = random.seed, np.random.seed

    def noted(seed: Callable[..., Any], name: str) -> Callable[..., Any]:
        @wraps(seed)
        def seeded(*args: Any, **kwargs: Any) -> Any:
            called.add(name)
            return seed(*args, **kwargs)

        return seeded

    with unchanged(()):
        random.seed(PYTHON_SEED)
        np.random.seed(NUMPY_SEED)
        random.seed, np.random.seed = noted(python, "python"), noted(numpy_seed, "numpy")
        try:
            yield
        finally:
            random.seed, np.random.seed = python, numpy_seed
            seeds.python = random.getstate() if "python" in called else seeds.python
            seeds.numpy = np.random.get_state() if "numpy" in called else seeds.numpy


class Draws:
    """The stream of random numbers of one task, which goes on from one use to the next, whatever else is drawn between.

    seeds: where it starts. own: the generators that the task's files keep; they start as they are now.
    """

    def __init__(self, seeds: Seeds | None = None, own: Iterable[tuple[Stream, Any]] = ()) -> None:
        seeds = seeds or Seeds()
        self._own = list(own)
        self._python = seeds.python or random.Random(PYTHON_SEED).getstate()
        self._numpy = seeds.numpy

    @contextmanager
    def used(self, *, goes_on: bool = True) -> Iterator[None]:
        """Inside, `random` and `numpy.random` give this stream; after it, what they would have given.

        goes_on: the next use continues here, else it starts where this one started.
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
