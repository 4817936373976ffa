"""A difference in the cells of a table, and as JSON values."""

from __future__ import annotations

from collections.abc import Sequence

from mm_eval.results.changes import Change
from mm_eval.results.number_text import EXACT, Unit, p_text
from mm_eval.results.table import Cell, Drawing
from mm_eval.values.types import Number


def change_json(change: Change) -> dict[str, object]:
    """One number's change as JSON values."""
    found = change.difference
    row: dict[str, object] = {
        "task": change.task,
        "metric": str(change.key),
        "headline": change.headline,
        "main": change.main,
        **({"copy_of": str(change.copy_of)} if change.copy_of else {}),
        **({"level": change.category[0], "category": change.category[1]} if change.category else {}),
        "first": estimate_json(change.first),
        "second": estimate_json(change.second),
        "difference": estimate_json(found),
        "p": found.p_value,
        "p_holm": change.corrected,
        "comparisons": change.comparisons,
        "smallest_visible": change.smallest_visible,
        "docs_needed": found.docs_needed,
    }
    if change.flips is not None:
        row["mcnemar"] = {
            "both_right": change.flips.both_right,
            "both_wrong": change.flips.both_wrong,
            "lost": list(change.flips.lost),
            "gained": list(change.flips.gained),
            "p": change.flips.p_value,
        }
    return row


def estimate_json(found: Number) -> dict[str, object]:
    """A number with its interval as JSON values."""
    return {
        "value": found.value,
        "stderr": found.stderr,
        "interval": list(found.interval) if found.interval else None,
        "docs": found.n,
        "clusters": found.clusters,
        "few": found.few,
        "exact": found.exact is not None,
        "note": found.note,
    }


def with_margin(found: Number, unit: Unit) -> str:
    """A number with half its 95% interval, or with the whole interval where that is exact."""
    return f"{unit.text(found.value)} {unit.spread(found)}".rstrip()


def difference_cells(change: Change, found: Number, unit: Unit, reach: float) -> dict[str, Cell]:
    """The cells that show a difference in every table: its value, 95% interval, drawing, and corrected p-value.

    found: the difference as it is shown. unit: of the numbers. reach: the end of the drawn line.
    """
    interval = None
    if found.interval is not None:
        interval = f"[{', '.join(map(unit.signed, found.interval))}]" + (f" {EXACT}" if found.exact else "")
    return {
        "difference": unit.signed(found.value) + (" *" if change.told_apart else ""),
        "95% interval": interval,
        "drawing": Drawing(found, reach),
        "p (Holm)": p_text(change.corrected),
    }


def reach(differences: Sequence[Number]) -> float:
    """The largest distance from 0 in the intervals of some differences."""
    return max((abs(bound) for found in differences for bound in found.interval or (found.value,)), default=0.0) or 1.0
