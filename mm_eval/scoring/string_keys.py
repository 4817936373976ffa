"""lm-eval's form of numbers, a mapping with the keys "metric,filter" and "metric_stderr,filter": read and written here only."""

from __future__ import annotations

from collections.abc import Iterable

from mm_eval.values.types import Fields, MetricKey, Number

NOT_AVAILABLE = "N/A"
"""A standard error that there is not, in lm-eval's files."""


def as_row(numbers: Iterable[Number]) -> dict[str, object]:
    """Numbers under the keys of results.json: "metric,filter", and "metric_stderr,filter" (None: no standard error)."""
    row: dict[str, object] = {}
    for number in numbers:
        row[str(number.key)] = number.value
        row[stderr_key(number)] = number.stderr
    return row


def stderr_key(number: Number) -> str:
    """The key of a number's standard error in a row."""
    return str(MetricKey(number.metric, number.filter, is_stderr=True))


def of_row(row: Fields) -> list[Number]:
    """The numbers of a mapping that `as_row` wrote, in its order; what has other keys is left out."""
    keys = {text: key for text in row if (key := MetricKey.parse(text)) is not None}
    errors = {
        (key.metric, key.scorer): row[text]
        for text, key in keys.items()
        if key.is_stderr and row[text] != NOT_AVAILABLE
    }
    return [
        Number(key, row[text], errors.get((key.metric, key.scorer))) for text, key in keys.items() if not key.is_stderr
    ]
