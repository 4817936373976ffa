"""The two sets of tests: the default one, and `full`, which holds what takes long and has a quicker test of the same feature."""

import inspect
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any

import pytest


def few(values: Iterable[Any], *quick: str, at: Iterable[int] = ()) -> list[Any]:
    """Values for `parametrize`: the quick ones stand in the default set, the others in `full`, and what has marks keeps them.

    quick: those that are texts. at: the positions of others.
    """
    given = list(values)
    assert set(quick) <= {value for value in given if isinstance(value, str)}, "a quick value is no longer one of them"
    places = {range(len(given))[place] for place in at}
    return [
        value
        if marked(value) or place in places or isinstance(value, str) and value in quick
        else pytest.param(value, marks=pytest.mark.full)
        if not isinstance(value, tuple | list)
        else pytest.param(*value, marks=pytest.mark.full)
        for place, value in enumerate(given)
    ]


def marked(value: Any) -> bool:
    return isinstance(value, type(pytest.param()))


def each_of(
    names: str | Sequence[str], values: Iterable[Any], ids: Iterable[str] | Callable[[Any], str] = ()
) -> Callable[[Any], Any]:
    """`pytest.mark.parametrize` in one test: it tries every value, and fails with all that failed and their tracebacks.

    For cases of microseconds: a test of its own costs 2.5 ms of CPU. Fixtures are made once, so none may be a function's own.
    """
    words = [name.strip() for name in names.split(",")] if isinstance(names, str) else list(names)
    given, labels = list(values), [] if callable(ids) else list(ids)
    assert given and not any(marked(value) for value in given) and len(labels) in (0, len(given))

    def merged(test: Callable[..., None]) -> Callable[..., None]:
        @wraps(test)
        def tried(*self: Any, **fixtures: Any) -> None:
            failed: list[Exception] = []
            skipped: list[str] = []
            for number, value in enumerate(given):
                case = dict(zip(words, value if len(words) > 1 else [value], strict=True))
                try:
                    test(*self, **fixtures, **case)
                except pytest.skip.Exception as skip:
                    skipped.append(str(skip))
                except (Exception, pytest.fail.Exception) as error:
                    kept = error if isinstance(error, Exception) else AssertionError(str(error))
                    shown = labels[number] if labels else ", ".join(f"{name}={part!r}" for name, part in case.items())
                    kept.add_note(f"case {number}: {shown[:500]}")
                    failed.append(kept.with_traceback(error.__traceback__))
            if failed:
                raise ExceptionGroup(f"{len(failed)} of {len(given)} cases", failed)
            if skipped:
                pytest.skip(
                    skipped[0] if len(skipped) == len(given) else f"{len(skipped)} of {len(given)} cases: {skipped[0]}"
                )

        signature = inspect.signature(test)
        assert set(words) <= set(signature.parameters), (
            f"{test.__name__} lacks {set(words) - set(signature.parameters)}"
        )
        left = [parameter for name, parameter in signature.parameters.items() if name not in words]
        tried.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return tried

    return merged
