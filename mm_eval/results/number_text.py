"""How comparisons write numbers, differences, intervals and p-values."""

from __future__ import annotations

from mm_eval.values.types import Number

EXACT = "†"
EXACT_NOTE = f"{EXACT} exact 95% interval: nearly all docs are right or wrong, or nearly none changed"


def spread(found: Number, scale: float | None = None) -> str:
    """Half the 95% interval ("± 0.0120"), or the whole one where its halves differ; † where it is exact; empty without one."""
    scale = found.value if scale is None else scale
    if found.margin is not None:
        return f"± {number(found.margin, scale)}"
    whole = f"[{', '.join(number(bound, scale) for bound in found.interval)}]" if found.interval else ""
    return f"{whole} {EXACT}" if found.exact else whole


def rounded(count: int) -> int:
    """A count rounded up to two digits: 917 is 920."""
    step: int = 10 ** max(0, len(str(count)) - 2)
    return -(-count // step) * step


def number(value: float | None, scale: float | None = None) -> str:
    """A number with four decimals, or with two where the scale is 2 or more (points); a dash for None."""
    if value is None:
        return "-"
    return f"{value:.2f}" if abs(scale if scale is not None else value) >= 2 else f"{value:.4f}"


def signless(value: float) -> str:
    """A number without its sign."""
    return number(abs(value))


def signed(value: float, scale: float | None = None) -> str:
    """A number with its sign: "+0.0120"; 0 has none."""
    return f"{'+' if value > 0 else '-' if value < 0 else ''}{number(abs(value), scale)}"


def p_text(p: float | None, equals: str = "") -> str:
    """A p-value with three decimals, or "<0.001"; a dash for None."""
    return "-" if p is None else "<0.001" if p < 0.001 else f"{equals}{p:.3f}"
