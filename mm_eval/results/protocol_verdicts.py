"""What results.json says of a run under a named protocol, as text below the table: a verdict on each reported number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from mm_eval.results.table import Column, Row, Table, terminal_width, to_broken_text
from mm_eval.scoring.run_results import Results
from mm_eval.values.safe import in_line
from mm_eval.values.types import Fields

MATCHES, NEAR, OFF, NOT_COMPARABLE = "matches", "near", "off", "not comparable"
COLUMNS = (
    Column("task", "text"),
    Column("metric", "text"),
    Column("ours"),
    Column("reported"),
    Column("allowed"),
    Column("verdict", "text"),
)
LONGEST = 64
"""Characters of a reason in the table; longer ones are in full below it."""


def lines(results: Results) -> Iterator[str]:
    """The table of verdicts, what may explain a mismatch, and what the report has and no task measures; nothing without one."""
    stated = results.protocol
    if stated is None:
        return
    measured = f" as {stated['model']}" if stated["model"] else ""
    report = f", {stated['report']}" if stated["report"] else ""
    yield f"protocol {stated['name']} ({stated['title']}{report}){measured}"
    table = Table(list(COLUMNS), [Row(_cells(row)) for row in stated["rows"]])
    yield from to_broken_text(table, max(80, terminal_width())).split("\n")
    for row in stated["rows"]:
        for said in _explained(row):
            yield f"{row['task']}: {said}"
    counts = {
        status: sum(status_of(row) == status for row in stated["rows"])
        for status in (MATCHES, NEAR, OFF, NOT_COMPARABLE)
    }
    yield ", ".join(f"{count} {status}" for status, count in counts.items() if count or status != NEAR)
    if stated["missing"]:
        yield f"reported, but no task here measures it: {', '.join(stated['missing'])}"


def shown(value: object, scale: float) -> str:
    """A number in the report's unit; "" for none."""
    if not isinstance(value, (int, float)):
        return ""
    return f"{value * scale:.2f}"


def _cells(row: Fields) -> dict[str, str]:
    scale, verdict = row.get("scale", 1.0), str(row["verdict"])
    cells = {name: shown(row.get(name), scale) for name in ("ours", "reported", "allowed")}
    if len(verdict) > LONGEST:
        verdict = f"{verdict[:LONGEST]}..."
    return {
        "task": in_line(row["task"]),
        "metric": in_line(row.get("metric", "")),
        "verdict": in_line(verdict),
        **cells,
    }


def _explained(row: Fields) -> Iterator[str]:
    """A long reason in full; of a mismatch what may explain it; of a match the settings that no option set."""
    if len(str(row["verdict"])) > LONGEST:
        yield str(row["verdict"])
    status = status_of(row)
    if status == OFF:
        yield "what may explain it: " + ("; ".join(row["suspects"]) or "no setting of the protocol differs")
    if status in (MATCHES, NEAR) and row.get("differences"):
        yield (
            f"{status}, although "
            + "; ".join(str(each["setting"]) for each in row["differences"])
            + " could not be set"
        )


def status_of(row: Mapping[str, object]) -> str:
    """ "matches", "near", "off" or "not comparable", of a row of the entry `protocol`."""
    said = str(row["verdict"])
    return next((status for status in (MATCHES, NEAR, OFF) if said.startswith(status)), NOT_COMPARABLE)
