"""Prices by model: from one file that is shipped, and from the user's own (`--prices FILE`).

Both are CSV files with a header. Prices are dollars per million tokens; each has its date and its source:

    model,input_price,output_price,cached_price,cache_write_price,date,source
    anthropic/claude-sonnet-4-5,3,15,0.3,3.75,2026-11-22,https://platform.claude.com/docs/en/about-claude/pricing

`assets/prices.csv` is written by `assets/make/prices.py`.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.resources import files

from mm_eval.engine.prices import MILLION, Price
from mm_eval.values.errors import ConfigError, did_you_mean

REQUIRED = ("model", "input_price", "output_price", "date", "source")
OPTIONAL = ("cached_price", "cache_write_price")


def price_of(names: Sequence[str], listed: str, path: str | None) -> Price | None:
    """The price of a model; None if it is unknown.

    names: under which the user's file may have it. listed: its name in the shipped file, "PROVIDER/NAME"; empty for none.
    Raises ConfigError for a file that can't be read.
    """
    own = read_prices(path) if path else {}
    found = next((own[name] for name in names if name in own), None)
    return found or (shipped().get(listed) if listed else None)


@lru_cache(maxsize=1)
def shipped() -> dict[str, Price]:
    """The prices of `assets/prices.csv`."""
    return read_prices(str(files("mm_eval.assets") / "prices.csv"))


def read_prices(path: str) -> dict[str, Price]:
    """{model: price} of a file. Raises ConfigError with file and line."""
    try:
        with open(path, encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            header = reader.fieldnames or []
            if missing := [name for name in REQUIRED if name not in header]:
                hint = f"The header is {','.join((*REQUIRED[:3], *OPTIONAL, *REQUIRED[3:]))}."
                raise ConfigError(f"the column {missing[0]!r} is missing.", where=f"{path}:1", hint=hint)
            if unknown := [name for name in header if name not in (*REQUIRED, *OPTIONAL)]:
                hint = did_you_mean(unknown[0], (*REQUIRED, *OPTIONAL))
                raise ConfigError(f"the column {unknown[0]!r} is unknown.", where=f"{path}:1", hint=hint)
            found: dict[str, Price] = {}
            for row in reader:
                price = _price(row, f"{path}:{reader.line_num}")
                if price.model in found:
                    raise ConfigError(f"{price.model!r} has a price already.", where=f"{path}:{reader.line_num}")
                found[price.model] = price
            return found
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        said = getattr(error, "strerror", None) or str(error)
        raise ConfigError(f"the prices can't be read: {said}.", where=f"--prices {path}") from error


def _price(row: Mapping[str | None, object], where: str) -> Price:
    if None in row or any(value is None for value in row.values()):
        raise ConfigError("the row has another number of fields than the header.", where=where)
    texts = {str(name): str(value).strip() for name, value in row.items()}
    for name in ("model", "source"):
        if not texts[name]:
            raise ConfigError(f"{name} is empty.", where=where, hint="Each price has its date and its source.")
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", texts["date"]):
        raise ConfigError(f"date is {texts['date']!r}.", where=where, hint="Write the day of the price as YYYY-MM-DD.")

    def dollars(name: str) -> float:
        try:
            value = float(texts[name])
        except ValueError:
            value = -1.0
        if not 0 <= value < MILLION:
            raise ConfigError(f"{name} is {texts[name]!r}; dollars per million tokens are needed.", where=where)
        return value

    cached, written = (dollars(name) if texts.get(name) else None for name in OPTIONAL)
    return Price(
        dollars("input_price"), dollars("output_price"), cached, written, texts["model"], texts["date"], texts["source"]
    )
