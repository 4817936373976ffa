"""Generation options: what a task's `generation_kwargs` mean, in lm-eval's and lmms-eval's spellings."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from mm_eval.values.errors import ConfigError

TRANSPORT_OPTIONS = frozenset({"timeout", "max_retries", "retries", "num_concurrent", "concurrency", "api_key"})
"""Options that can't change an answer. They are left out of the request key and of `GenerationOptions.extra`."""

TOKEN_CAPS = ("max_new_tokens", "max_gen_toks", "max_tokens")
"""The names under which tasks state the most tokens of an answer. The first one that is given counts."""

Num = TypeVar("Num", int, float)


def one_token_cap(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Command-line options with the token cap under the first name of `TOKEN_CAPS`, which overrides whatever a task states."""
    caps = [kwargs[name] for name in TOKEN_CAPS if name in kwargs]
    others = {name: value for name, value in kwargs.items() if name not in TOKEN_CAPS}
    return {**others, TOKEN_CAPS[0]: caps[0]} if caps else others


@dataclass(frozen=True)
class GenerationOptions:
    """A task's `generation_kwargs`, checked.

    until: stop strings; the answer is cut before the first.
    do_sample: False means greedy decoding: temperature 0, no top_p, no top_k.
    extra: further options, passed to the model unchanged.
    """

    max_new_tokens: int = 256
    until: tuple[str, ...] = ()
    do_sample: bool = False
    temperature: float = 0.0
    top_p: float | None = None
    top_k: int | None = None
    num_beams: int = 1
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_kwargs(cls, kwargs: Mapping[str, Any]) -> GenerationOptions:
        """Reads the `generation_kwargs` of a YAML file; null means not given. Raises ConfigError for an invalid value.

        Temperature 0, or null, or `do_sample: false` means greedy. `do_sample: true` without a temperature samples at 1, as in
        transformers.
        """
        options = {name: v for name, v in kwargs.items() if name not in TRANSPORT_OPTIONS and v is not None}
        caps = [options.pop(name, None) for name in TOKEN_CAPS]
        sampling = _flag(options.pop("do_sample", None), "do_sample")
        default = 1 if sampling and "temperature" not in kwargs else 0  # a temperature of null is greedy
        temperature = _number(float, options.pop("temperature", default) or 0, "temperature")
        samples = temperature != 0 and sampling is not False
        top_p = _optional(float, options.pop("top_p", None), "top_p")
        top_k = _optional(int, options.pop("top_k", None), "top_k")
        chosen = cls(
            max_new_tokens=_number(int, next((c for c in caps if c is not None), cls.max_new_tokens), "the token cap"),
            until=_texts(options.pop("until", None), "until"),
            do_sample=samples,
            temperature=temperature if samples else 0.0,
            top_p=top_p if samples else None,
            top_k=top_k if samples else None,
            num_beams=_number(int, options.pop("num_beams", 1) or 1, "num_beams"),
            extra={name: _number_in_text(value) for name, value in options.items()},
        )
        if chosen.max_new_tokens < 1 or temperature < 0 or chosen.num_beams < 1 or not 0 < (chosen.top_p or 1) <= 1:
            raise ConfigError(
                f"generation_kwargs make no sense: {dict(kwargs)!r}.",
                hint="Caps and beams are at least 1, a temperature is at least 0, top_p is above 0 and at most 1.",
            )
        return chosen


def _number(kind: type[Num], value: Any, name: str) -> Num:
    """A finite number, whole if `kind` is int. A text that spells a number is accepted."""
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"generation_kwargs: {name} is {value!r}; a number is needed.") from error
    except OverflowError:
        number = math.inf
    if isinstance(value, bool) or not math.isfinite(number) or (kind is int and number != int(number)):
        needed = "a whole number" if kind is int else "a finite number"
        raise ConfigError(f"generation_kwargs: {name} is {value!r}; {needed} is needed.")
    return kind(number)


def _optional(kind: type[Num], value: Any, name: str) -> Num | None:
    return None if value is None else _number(kind, value, name)


def _flag(value: Any, name: str) -> bool | None:
    known = {"true": True, "1": True, "false": False, "0": False, "none": None}
    if (word := str(value).lower()) not in known:
        raise ConfigError(f"generation_kwargs: {name} is {value!r}; true or false is needed.")
    return known[word]


def _texts(value: Any, name: str) -> tuple[str, ...]:
    """One text or several. Null and empty texts are dropped."""
    texts = [value] if isinstance(value, str) else value or []
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        raise ConfigError(f"generation_kwargs: {name} is {value!r}; a text or a list of texts is needed.")
    return tuple(text for text in texts if text)


def _number_in_text(value: Any) -> Any:
    """The number that a text spells. Any other value is returned unchanged."""
    for kind in (int, float) if isinstance(value, str) else ():
        try:
            return kind(value)
        except ValueError:
            continue
    return value
