"""Tokens: how many there were, what they cost, and whether a budget is reached."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from numbers import Integral

from mm_eval.values.errors import ConfigError, MMEvalError, ModelError

MILLION = 1_000_000

MOST_TOKENS = 10**9
"""A larger token count is invalid."""


def token_counts(usage: object) -> dict[str, int]:
    """The valid token counts of a `usage`. A server, or an old journal, may hold anything.

    >>> token_counts({"prompt_tokens": 7, "completion_tokens": 10**400, "image_tokens": "3"})
    {'prompt_tokens': 7}
    """
    if not usage or not isinstance(usage, Mapping):
        return {}
    return {name: count for name, n in usage.items() if (count := token_count(n)) is not None}


def token_count(value: object) -> int | None:
    """A valid token count; None for any other value. Most are plain integers, for which `Integral` would take a while."""
    if type(value) is not int and (isinstance(value, bool) or not isinstance(value, Integral)):
        return None
    count = int(value)
    return count if 0 <= count <= MOST_TOKENS else None


@dataclass(frozen=True)
class Price:
    """Dollars per million tokens of one model.

    cached, cache_write: of prompt tokens that were read from the vendor's cache, and written to it; None: as other prompt tokens.
    model: the row's name. date: when the price was read. source: where.
    """

    input: float
    output: float
    cached: float | None = None
    cache_write: float | None = None
    model: str = ""
    date: str = ""
    source: str = ""

    def dollars(self, usage: Mapping[str, int]) -> float:
        """The price of token counts. Reasoning is part of the completion's tokens, pictures of the prompt's.

        >>> Price(3, 15, cached=0.3).dollars({"prompt_tokens": 1_000_000, "cached_tokens": 500_000, "completion_tokens": 100_000})
        3.15
        """
        prompt, completion = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
        cached = min(usage.get("cached_tokens", 0), prompt)
        written = min(usage.get("cache_write_tokens", 0), prompt - cached)
        parts = (
            ((prompt - cached - written), self.input),
            (cached, self.input if self.cached is None else self.cached),
            (written, self.input if self.cache_write is None else self.cache_write),
            (completion, self.output),
        )
        return sum(count * price for count, price in parts) / MILLION

    def to_json(self) -> dict[str, object]:
        return {name: value for name, value in asdict(self).items() if value not in (None, "")}

    @classmethod
    def of_json(cls, value: object) -> Price | None:
        """What `to_json` gave; None for anything else."""
        if not isinstance(value, Mapping) or not value.keys() <= cls.__dataclass_fields__.keys():
            return None
        numbers = [value.get(name) for name in ("input", "output", "cached", "cache_write") if name in value]
        known = "input" in value and "output" in value and all(type(each) in (int, float) for each in numbers)
        return cls(**value) if known else None

    def __str__(self) -> str:
        return f"prices of {self.date} ({self.source})" if self.date else "the given prices"


def unknown_price(whose: str, option: str, args: str) -> ConfigError:
    """The error for a budget on what has no price. args: the option that may state one."""
    per_million = "input_price=...,output_price=... (dollars per million tokens)"
    hint = f"Add {per_million} to {args}, or name a file of prices with --prices."
    return ConfigError(f"the prices of {whose} are unknown.", where=option, hint=hint)


def budget_check(
    spent: Callable[[], float], budget: float | None, option: str, what: str, processes: int
) -> Callable[[], MMEvalError | None]:
    """A function that tells why nothing more may be requested: what is spent has reached the budget.

    spent: dollars so far, of earlier launches too. what: "the answers have". Each of several processes spends an equal part of
    what is left at its start.
    """
    before = spent()
    limit = None if budget is None else before + max(0.0, budget - before) / processes

    def over() -> MMEvalError | None:
        if limit is None or (now := spent()) < limit:
            return None
        said = f"{what} cost ${now:,.2f}, and {option} is ${budget:,.2f}."
        return ModelError(said, hint="They are kept; the same command with a higher budget continues.")

    return over
