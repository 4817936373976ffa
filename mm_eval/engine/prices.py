"""What tokens cost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

MILLION = 1_000_000


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

    def to_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value not in (None, "")}

    @classmethod
    def of_json(cls, value: Any) -> Price | None:
        """What `to_json` gave; None for anything else."""
        if not isinstance(value, Mapping) or not value.keys() <= cls.__dataclass_fields__.keys():
            return None
        numbers = [value.get(name) for name in ("input", "output", "cached", "cache_write") if name in value]
        known = "input" in value and "output" in value and all(type(each) in (int, float) for each in numbers)
        return cls(**value) if known else None

    def __str__(self) -> str:
        return f"prices of {self.date} ({self.source})" if self.date else "the given prices"
