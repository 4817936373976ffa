"""Evaluation inside a training: `from mm_eval.training import EvalCallback`, for transformers' Trainer."""

from typing import Any

__all__ = ["EvalCallback"]  # noqa: F822  # found by name, when it is used


def __getattr__(name: str) -> Any:
    """What features bring for a training; transformers is imported only then."""
    if name in __all__:
        from mm_eval.verbs.training import callback

        return getattr(callback, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return __all__
