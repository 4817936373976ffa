"""How numbers, differences, intervals and p-values are written, in every table, sentence, figure and page.

    unit = unit_of(first, second)
    f"{unit.text(first.value)} {unit.spread(first)}"   # "61.3 ± 1.2"

Shares are printed in percent, as papers do; points and other units keep their own digits. results.json, samples and CSV hold
the numbers as they were computed: shares from 0 to 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from mm_eval.values.types import NO_SHARE, MetricKey, Number

EXACT = "†"
EXACT_NOTE = f"{EXACT} exact 95% interval: nearly all documents are right or wrong, or nearly none changed"

NO_SHARES = frozenset(
    ("bits_per_byte", "bpb", "brier_score", "byte_perplexity", "perplexity", "word_perplexity", "cider")
    + ("logprob", "likelihood", "choice_logprob", "choice_logprob_norm", "matthews_corrcoef", "mcc")
    + ("bleu", "chrf", "ter", "wer", "cer")
)
"""Metrics whose numbers are not shares of 1, although they may lie between 0 and 1: points of 100 do where a model fails."""
COUNTS_OF_TOOLS = ("turns", "calls", "failed", "malformed")
"""How often tools were called: means of counts, and no shares where no document has more than one. `calls_NAME` is one, too."""
POINTS_FROM = 2.0
"""From this size on a number in a unit of its own has two decimals, below it four."""
ROUNDING = 1e-9


@dataclass(frozen=True)
class Unit:
    """How the numbers of one row are written. factor: what they are multiplied by. digits: decimals."""

    factor: float
    digits: int

    @property
    def is_percent(self) -> bool:
        return self.factor != 1

    @property
    def name(self) -> str:
        """As pages know it."""
        return "percent" if self.is_percent else "points"

    def text(self, value: float | None) -> str:
        """A number: "61.3"; a dash for None. What is 0 as printed has no sign."""
        return "-" if value is None else f"{value * self.factor:z.{self.digits}f}"

    def signed(self, value: float) -> str:
        """A number with its sign: "+1.2"; 0 has none."""
        return f"{'+' if value > 0 else '-' if value < 0 else ''}{self.text(abs(value))}"

    def signless(self, value: float) -> str:
        """A number without its sign."""
        return self.text(abs(value))

    def ends(self, interval: Sequence[float], between: str = ", ") -> str:
        """Both ends of an interval: "60.1, 62.5"."""
        return between.join(map(self.text, interval))

    def spread(self, found: Number) -> str:
        """Half the 95% interval ("± 1.2"), or the whole one where its halves differ; † where it is exact; empty without one."""
        if found.margin is not None:
            return f"± {self.text(found.margin)}"
        whole = f"[{self.ends(found.interval)}]" if found.interval else ""
        return f"{whole} {EXACT}" if found.exact else whole


IN_PERCENT = "shares are in percent"
"""The line below a table that has some."""
PERCENT = Unit(100.0, 1)
POINTS, SMALL = Unit(1.0, 2), Unit(1.0, 4)
"""Of numbers in a unit of their own: with two decimals, or four where all are small."""


def unit_of(*numbers: Number, metric: str = "") -> Unit:
    """The unit of numbers that are read beside each other: those of a row, or the two ends of a difference.

    metric: of numbers that do not say themselves which they are.
    """
    found = [number for number in numbers if isinstance(number.value, (int, float))]
    name = metric or next((number.key.parent_metric or number.metric for number in found if number.metric), "")
    if any(counts_calls(number.key) for number in found):
        return POINTS
    ends = [end for number in found for end in number.interval or _by_stderr(number)]
    return unit_for(name, [number.value for number in found], ends, [number.scale for number in found])


def unit_for(
    metric: str, values: Iterable[object], ends: Iterable[float] = (), scales: Iterable[tuple[float, float] | None] = ()
) -> Unit:
    """The unit of a metric's values. ends: of their 95% intervals. scales: the least and greatest value of each, if known.

    The numbers must fit, too: where a model earns nothing its scale looks like that of shares, and another model's 5.45 of 10
    says that it is not. Points may lie between 0 and 1, but their intervals then go far beyond.
    """
    found, known = [value for value in values if isinstance(value, (int, float))], [each for each in scales if each]
    ends, size = list(ends), max((abs(value) for value in found), default=0.0)
    of_share = size <= 1 + ROUNDING and all(-1 <= end <= 2 for end in ends)
    if known:
        of_share = of_share and all(low >= -1 and high <= 1 for low, high in known)
    elif any(value < 0 for value in found):
        of_share = False
    if of_share and metric.partition("@")[0] not in NO_SHARES:
        return PERCENT
    of_scales = [abs(end) for each in known for end in each if math.isfinite(end)]
    return POINTS if max([size, *map(abs, ends), *of_scales]) >= POINTS_FROM else SMALL


def counts_calls(key: MetricKey) -> bool:
    """Whether a number is how often a document called tools."""
    return key.scorer == "tools" and key.metric.partition("_")[0] in COUNTS_OF_TOOLS


def _by_stderr(number: Number) -> tuple[float, ...]:
    """About the ends of the 95% interval of a number whose docs are not known."""
    return () if number.stderr is None else (number.value - 2 * number.stderr, number.value + 2 * number.stderr)


SMALLEST_VISIBLE = "smallest visible"
"""The head of a column with the smallest visible difference."""
SAID_OF_VISIBLE = (
    "Smallest visible difference: the smallest true difference that this many documents show in 80% of evaluations, "
    "after correction for all comparisons of the table, in percent of the scale"
)
"""What it means, in every table that has it."""


def of_scale(size: float | None, scale: tuple[float, float] | None, unit: Unit) -> str:
    """A difference in percent of its scale: "5.8%", or "more than 100%"; in the number's own unit where its scale is unknown."""
    if size is None:
        return "-"
    low, high = (0.0, 1.0) if unit.is_percent else scale or NO_SHARE
    if not math.isfinite(high - low) or high <= low:
        return unit.text(size)
    share = size / (high - low)
    return "more than 100%" if share > 1 else f"{100 * share:.1f}%"


def rounded(count: int) -> int:
    """A count rounded up to two digits: 917 is 920."""
    step: int = 10 ** max(0, len(str(count)) - 2)
    return -(-count // step) * step


def p_text(p: float | None, equals: str = "") -> str:
    """A p-value with three decimals, or "<0.001"; a dash for None."""
    return "-" if p is None else "<0.001" if p < 0.001 else f"{equals}{p:.3f}"
