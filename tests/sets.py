"""The two sets of tests: the default one, and `full`, which holds what takes long and has a quicker test of the same feature."""

from collections.abc import Iterable
from typing import Any

import pytest


def few(values: Iterable[Any], *quick: Any) -> list[Any]:
    """Values for `parametrize`: the quick ones stand in the default set, the others in `full`, and what has marks keeps them."""
    given = list(values)
    assert set(quick) <= {value for value in given if isinstance(value, str)}, "a quick value is no longer one of them"
    return [
        value if marked(value) or value in quick else pytest.param(value, marks=pytest.mark.full) for value in given
    ]


def marked(value: Any) -> bool:
    return isinstance(value, type(pytest.param()))
