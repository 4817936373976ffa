"""The efforts of a model as a table for the terminal and as JSON values."""

from __future__ import annotations

from collections.abc import Iterator

from mm_eval.results.number_text import EXACT, EXACT_NOTE, IN_PERCENT, Unit
from mm_eval.results.run_table import brief_warnings
from mm_eval.results.table import Cell, Column, Row, Table, fitted, to_text
from mm_eval.values.safe import in_line
from mm_eval.values.types import Number
from mm_eval.verbs.study.cells import estimate_json, with_margin
from mm_eval.verbs.study.effort import ALPHA, Efforts, Point, cost

TOKENS = Unit(1.0, 0)
"""Of mean counts of tokens."""


def tokens_text(tokens: Number) -> str:
    """A mean of tokens with half its interval: "1,204 ± 87"."""
    half = tokens.margin
    return f"{tokens.value:,.0f}" + ("" if half is None else f" ± {half:,.0f}")


def table(study: Efforts, name: str) -> Table:
    """A line for each effort: its number, tokens, loss to the best, and how large that may be."""
    key, unit, chosen = study.key(name), study.unit_of(name), study.chosen(name)
    enough = {point.effort for point in study.not_worse(name)}
    columns = [
        Column(name, "text", "effort"),
        Column(key.label if key else "", cell="number"),
        Column("tokens", cell="tokens"),
        Column("loss", cell="loss"),
        Column("at most", cell="at most"),
        Column("", "text", "mark"),
    ]
    fewest = min(study.points(name), key=cost, default=None)
    rows = []
    for point in study.points(name):
        assert unit is not None
        cells: dict[str, Cell] = {
            "effort": point.effort,
            "number": with_margin(point.number, unit),
            "tokens": None if point.tokens is None else tokens_text(point.tokens),
            "loss": "" if point.loss is None else f"{unit.text(point.loss.value)} {unit.spread(point.loss)}".rstrip(),
            "at most": None if point.at_most is None else unit.text(max(0.0, point.at_most)),
            "mark": " ".join(_marks(point, study.best_point(name), chosen, point.effort in enough, fewest)),
        }
        rows.append(Row(cells))
    return Table(columns, rows)


def _marks(point: Point, best: Point | None, chosen: Point | None, enough: bool, fewest: Point | None) -> Iterator[str]:
    """What is said of an effort: that it is the best, and that it is the cheapest of those that are enough."""
    if point is best:
        yield "best"
    if point is chosen and (point is not best or point is fewest):
        yield "<- cheapest"
    elif enough and point is not best:
        yield "not worse"


def render(study: Efforts, width: int | None = None) -> str:
    """A table and a sentence for each task and group. width: of the terminal; None for any."""
    run = study.runs[study.baseline].results.run
    blind = f" ({said})" if (said := run.blind_said) else ""
    parts = [f"model: {study.model}{blind}{'   (sample data, not the benchmarks)' if run.sample else ''}", ""]
    warnings = [
        f"warning: effort {effort!r}: {said}"
        for effort, each in study.runs.items()
        for said in brief_warnings(each.results)
    ]
    warnings += [f"warning: {said}" for said in study.warnings()]
    parts += [*warnings, ""] if warnings else []
    for name in study.names:
        parts += [*to_text(fitted(table(study, name), width)[0]).split("\n"), "", *study.verdicts(name), ""]
    tried = len(study.runs) - 1
    parts.append(
        f"at most: upper end of the loss to the best effort, at {1 - ALPHA:.0%} for all {len(study.runs)} efforts together "
        f"(one-sided, {ALPHA:.0%} / {tried} each); margin: {study.margin:g}; tokens: output per document in all turns, "
        "with reasoning, averaged over repeats"
    )
    if any(unit.is_percent for name in study.names if (unit := study.unit_of(name))):
        parts.append(IN_PERCENT)
    parts += [EXACT_NOTE] if any(EXACT in part for part in parts) else []
    parts += [f"effort {effort!r}: {text}" for effort, text in study.texts().items()]
    return "\n".join(map(in_line, parts))


def as_values(study: Efforts) -> dict[str, object]:
    """What effort.json has beside what every study has, as JSON values."""
    tasks: dict[str, object] = {}
    for name in study.names:
        chosen, best = study.chosen(name), study.best_point(name)
        enough = {point.effort for point in study.not_worse(name)}
        tasks[name] = {
            "metric": str(study.key(name)),
            "best": best.effort if best else None,
            "cheapest_not_worse": chosen.effort if chosen else None,
            "said": list(study.verdicts(name)),
            "efforts": {
                point.effort: {
                    "number": estimate_json(point.number),
                    "tokens": estimate_json(point.tokens) if point.tokens else None,
                    "loss": estimate_json(point.loss) if point.loss else None,
                    "at_most": point.at_most,
                    "not_worse": point.effort in enough or point is best,
                }
                for point in study.points(name)
            },
        }
    return {
        "margin": study.margin,
        "alpha": ALPHA,
        "alpha_of_one": study.alpha,
        "said": dict(study.said),
        "warnings": list(study.warnings()),
        "tasks": tasks,
    }
