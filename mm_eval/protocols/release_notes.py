"""What a release table shows of the protocols of its runs: a mark and a verdict on each number, and notes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from mm_eval.results.number_text import unit_for
from mm_eval.results.protocol_verdicts import MATCHES, NEAR, NOT_COMPARABLE, OFF, status_of
from mm_eval.results.recorded import RecordedRun
from mm_eval.values.types import Fields, MetricKey


def protocol_rows(run: RecordedRun) -> Sequence[Fields]:
    """The verdicts of a run; none without a protocol."""
    return run.results.protocol["rows"] if run.results.protocol is not None else ()


def _text(value: float, reported: float, sign: bool = False) -> str:
    """A value beside a reported one as release tables print it: shares in percent, points as they are."""
    unit = unit_for("", [reported])
    return unit.signed(value) if sign else unit.text(value)


def protocol_of_number(run: RecordedRun, name: str, key: MetricKey) -> tuple[str, str]:
    """(the protocol under which a number was measured, the verdict on it), each "" where there is none."""
    rows = [row for row in protocol_rows(run) if row["task"] == name and "metric" in row]
    if run.results.protocol is None or not rows:
        return "", ""
    protocol = run.results.protocol["name"]
    own = next((row for row in rows if row["metric"] == key.metric), None)
    if own is None or (status := status_of(own)) == NOT_COMPARABLE:
        return protocol, ""
    if status in (MATCHES, NEAR):
        return protocol, f"{status} {_text(own['reported'], own['reported'])}"
    return protocol, f"off by {_text(own['difference'], own['reported'], sign=True)}"


def notes_on_protocols(column: str, run: RecordedRun) -> Iterator[str]:
    """The reported number beside each of ours that can be compared, and why the others can't be."""
    stated, why = run.results.protocol, dict[str, list[str]]()
    for row in protocol_rows(run):
        status = status_of(row)
        if stated is None or status == NOT_COMPARABLE:
            why.setdefault(str(row["verdict"]), []).append(str(row["task"]))
            continue
        reported = row["reported"]
        what = f"{column}, {row['task']}: {_text(reported, reported)} as reported ({row['source']}; protocol {stated['name']})"
        off = f"off by {_text(row['difference'], reported, sign=True)}" if status == OFF else str(row["verdict"])
        allowed = _text(row["allowed"], reported)
        suspects = f" What may explain it: {'; '.join(row['suspects'])}." if row.get("suspects") else ""
        yield f"{what}; ours {off}, where {allowed} is allowed.{suspects}"
    for said, names in why.items():
        yield f"{column}, protocol {stated['name'] if stated else ''}, {', '.join(names)}: {said}."


def verdict_notes(run: RecordedRun, name: str) -> list[str]:
    """The verdicts on one task or group of a run, beside the reported numbers, for its page."""
    found: list[str] = []
    if (stated := run.results.protocol) is None:
        return found
    for row in stated["rows"]:
        if row["task"] == name:
            value = row.get("reported")
            reported = (
                f" {row['metric']} {_text(value, value)} as reported ({row['source']}):" if value is not None else ""
            )
            found.append(f"protocol {stated['name']}:{reported} {row['verdict']}")
    return found
