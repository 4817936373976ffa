"""What a task file's functions draw at random, so that the same run gives the same numbers."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

PYTHON_SEED, NUMPY_SEED = 0, 1234
"""The seeds that lmms-eval and lm-eval set by default: MMMU's guess for an answer without a letter is the one that they print."""


class Draws:
    """The stream of random numbers of one task, which goes on from one use to the next, whatever else is drawn between."""

    def __init__(self) -> None:
        self._python = random.Random(PYTHON_SEED).getstate()
        self._numpy: Any = None

    @contextmanager
    def used(self) -> Iterator[None]:
        """Inside, `random` and `numpy.random` give this stream; after it, what they would have given."""
        import numpy as np

        before = random.getstate(), np.random.get_state()
        random.setstate(self._python)
        np.random.set_state(self._numpy or np.random.RandomState(NUMPY_SEED).get_state())
        try:
            yield
        finally:
            self._python, self._numpy = random.getstate(), np.random.get_state()
            random.setstate(before[0])
            np.random.set_state(before[1])
