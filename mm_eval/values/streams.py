"""The random streams of this process, put back after something has drawn from them."""

import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def as_they_were() -> Iterator[None]:
    """Afterwards the streams of Python, NumPy and torch, on every device, are where they were. Imports none of them."""
    own, found = random.getstate(), _streams()
    try:
        yield
    finally:
        random.setstate(own)
        for put, state in found:
            put(state)


def _streams() -> list[tuple[Any, Any]]:
    """(function that sets a stream, its state) of the libraries that are imported."""
    found: list[tuple[Any, Any]] = []
    if (numpy := sys.modules.get("numpy")) is not None:
        found.append((numpy.random.set_state, numpy.random.get_state()))
    if (torch := sys.modules.get("torch")) is not None:
        found.append((torch.set_rng_state, torch.get_rng_state()))
        if torch.cuda.is_available() and torch.cuda.is_initialized():
            found.append((torch.cuda.set_rng_state_all, torch.cuda.get_rng_state_all()))
        if torch.backends.mps.is_available():
            found.append((torch.mps.set_rng_state, torch.mps.get_rng_state()))
    return found
