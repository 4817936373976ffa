"""A task's function runs in a thread as if it ran in its caller's."""

from contextvars import ContextVar

import pytest

from mm_eval.values.deadline import in_time

STATED: ContextVar[str] = ContextVar("stated", default="nothing")


def test_a_function_sees_the_context_of_its_caller_and_its_own_arguments() -> None:
    token = STATED.set("seen")
    try:
        assert in_time("it", lambda what, function: (STATED.get(), what, function), what=1, function=2) == (
            "seen",
            1,
            2,
        )
    finally:
        STATED.reset(token)


def test_what_it_raises_is_raised() -> None:
    def fails() -> None:
        raise KeyError("its own")

    with pytest.raises(KeyError, match="its own"):
        in_time("it", fails)
