"""One-sided bounds of a paired difference: at most so much is lost, at least so much."""

from __future__ import annotations

import math
from dataclasses import replace

from mm_eval.scoring.metrics.stderr import TAIL
from mm_eval.values.distributions import t_quantile
from mm_eval.values.types import Number


def upper_end(difference: Number, alpha: float) -> float | None:
    """The upper end of a one-sided interval of a paired difference; None without a spread that can be estimated.

    An exact interval, of few changes, is made wider in the ratio of the logarithms: the tail of a count beyond its last value
    falls at least so fast.
    """
    if difference.exact is not None:
        room = difference.exact[1] - difference.value
        return float(difference.value + room * max(1.0, math.log(alpha) / math.log(TAIL)))
    if not difference.stderr or difference.freedom is None:
        return None
    reach = t_quantile(1 - alpha, difference.freedom) * difference.stderr * difference.lacking
    return float(difference.value + reach)


def lower_end(difference: Number, alpha: float) -> float | None:
    """The lower end of a one-sided interval, as `upper_end`."""
    end = upper_end(negative(difference), alpha)
    return None if end is None else -end


def negative(number: Number) -> Number:
    """The difference the other way round."""
    exact = None if number.exact is None else (-number.exact[1], -number.exact[0])
    return replace(number, value=-number.value if number.value else 0.0, exact=exact)
