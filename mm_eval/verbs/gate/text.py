"""A checked policy as text for the terminal, as Markdown for a pull request, as JUnit XML, and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

from mm_eval.deciding.policy import GO, NO_GO, PERCENT, UNDECIDED
from mm_eval.results.number_text import EXACT, IN_PERCENT, Unit
from mm_eval.results.table import Cell, Column, Row, Table, fitted, left_out, to_markdown, to_text
from mm_eval.values.safe import in_line, json_safe, markdown
from mm_eval.values.words import counted
from mm_eval.verbs.gate.gate import BROKEN, HOLDS, OPEN, Checked, Gate, docs_text
from mm_eval.verbs.study.cells import estimate_json

INTERVAL = "bounds"
SAID = {HOLDS: "holds", BROKEN: "BROKEN", OPEN: "undecided"}


def verdict_line(gate: Gate) -> str:
    """ "NO-GO: seedbench loses 2.1 (at least 1.2), and 0.5 is allowed." """
    return f"{gate.verdict}: {_why(gate)}"


def _why(gate: Gate) -> str:
    broken = [each for each in gate.deciding if each.state == BROKEN]
    still_open = [each for each in gate.deciding if each.state == OPEN]
    if broken:
        return "; ".join(_loses(each) for each in broken) + "."
    if not still_open:
        return (
            f"{counted(len(gate.deciding), 'clause holds', 'clauses hold')}: no benchmark loses more than is allowed."
        )
    names = ", ".join(each.name for each in still_open)
    taken = f" The policy takes that as {gate.verdict}." if gate.verdict != UNDECIDED else ""
    are = "is" if len(still_open) == 1 else "are"
    return f"{len(still_open)} of {counted(len(gate.deciding), 'clause')} {are} not decided: {names}.{taken}"


def _unit(checked: Checked) -> Unit | None:
    return None if checked.change is None else checked.change.unit


def _loses(each: Checked) -> str:
    unit, loss = _unit(each), each.loss
    assert unit is not None and loss is not None and each.low is not None
    return (
        f"{each.name} loses {unit.text(loss.value)} (at least {unit.text(each.low)}), and {_allowed(each)} is allowed"
    )


def _allowed(each: Checked) -> str:
    """What a clause allows, in the table's unit; with what the policy states where that is a share of the reference's number."""
    unit = _unit(each)
    if each.clause.unit != PERCENT or unit is None:
        return each.clause.said
    return f"{unit.text(each.margin)} ({each.clause.said} of it)"


def render(gate: Gate, width: int | None = None) -> str:
    """The verdict, the table, and a sentence on each clause that is not decided. width: of the terminal; None for any."""
    table, out = fitted(as_table(gate), width)
    parts = [verdict_line(gate), "", *_asked(gate), *to_text(table).split("\n"), "", *left_out(out), *notes(gate)]
    return "\n".join(map(in_line, parts)).rstrip()


def _asked(gate: Gate) -> Iterator[str]:
    yield f"run: {gate.run.folder} ({gate.run.model})"
    yield f"reference: {gate.reference.folder} ({gate.reference.model})"
    if gate.differs:
        yield "They were asked differently:"
        yield from (f"  {said}" for said in gate.differs)
    yield ""


def as_table(gate: Gate) -> Table:
    columns = [
        Column("benchmark", "text"),
        Column("metric", "text", spare=3),
        Column("documents", spare=2),
        Column("reference", spare=1),
        Column("run", spare=1),
        Column("loss"),
        Column(INTERVAL),
        Column("allowed"),
        Column("clause", "text"),
    ]
    return Table(columns, [Row(_cells(each)) for each in gate.checked])


def _cells(each: Checked) -> dict[str, Cell]:
    state = f"{SAID[each.state]}{' (advisory)' if each.clause.advisory else ''}"
    cells: dict[str, Cell] = {"benchmark": each.name, "allowed": _allowed(each), "clause": state}
    change, unit, loss = each.change, _unit(each), each.loss
    if change is None or unit is None:
        return {**dict.fromkeys(("metric", "documents", "reference", "run", "loss", INTERVAL)), **cells}
    bounds = None
    if each.low is not None and each.high is not None:
        bounds = f"{unit.text(each.low)} to {unit.text(each.high)}"
        bounds += f" {EXACT}" if loss is not None and loss.exact else ""
    return {
        "metric": change.key.label,
        "documents": f"{change.difference.n or 0:,}",
        "reference": unit.text(float(change.first.value)),
        "run": unit.text(float(change.second.value)),
        "loss": None if loss is None else unit.text(loss.value),
        INTERVAL: bounds,
        **cells,
    }


def notes(gate: Gate) -> Iterator[str]:
    """How the bounds are meant, and what each undecided clause takes."""
    for each in gate.checked:
        if each.state == OPEN:
            yield f"{each.name} is undecided: {_what_it_takes(each)}."
    count = len(gate.deciding)
    corrected = f", corrected for {count} clauses" if count > 1 else ""
    yield (
        f"The bounds of the loss are one-sided, paired by document and clustered by picture{corrected}: a wrong GO and a wrong "
        f"NO-GO each have a chance of at most {gate.policy.alpha:.0%}."
    )
    if any((unit := _unit(each)) is not None and unit.is_percent for each in gate.checked):
        yield f"{IN_PERCENT[0].upper()}{IN_PERCENT[1:]}, losses in percentage points."
    if any(each.loss is not None and each.loss.exact for each in gate.checked):
        yield f"{EXACT} exact bounds: nearly all documents are right or wrong, or nearly none changed."


def _what_it_takes(each: Checked) -> str:
    unit = _unit(each)
    if each.missing and unit is not None and each.high is not None:
        return (
            f"{each.why}, and the bounds cover any score of theirs; the run's own command asks failed documents again, "
            "and without --limit those that were not asked"
        )
    if each.why:
        return each.why
    docs = each.change.difference.n or 0 if each.change else 0
    if (least := each.needed_without_loss) is not None:
        return (
            f"even with no loss at all, {counted(docs, 'document')} can't show that it is below {_allowed(each)}; "
            f"that takes {docs_text(least)}"
        )
    if (needed := each.needed) is not None:
        return f"if the loss is as seen, {docs_text(needed)} would decide it, and there are {docs:,}"
    return "as far as these documents show, its loss is exactly what is allowed"


def as_markdown(gate: Gate) -> str:
    """A heading with the verdict, the table and the notes, as a summary of a workflow shows them."""
    parts = [f"## {gate.verdict}", "", markdown(_why(gate)), "", to_markdown(as_table(gate)), ""]
    parts += [f"- {markdown(said)}" for said in (*notes(gate), *gate.differs)]
    parts += ["", f"Run `{gate.run.folder}` against `{gate.reference.folder}`, by `{gate.policy.path}`."]
    return "\n".join(parts)


def as_junit(gate: Gate) -> str:
    """A test case for each clause: a broken one has failed, an undecided one has an error, an advisory one never fails."""
    suite = ElementTree.Element("testsuite", name="mm-eval gate", tests=str(len(gate.checked)))
    counts = {"failures": 0, "errors": 0, "skipped": 0}
    for each in gate.checked:
        case = ElementTree.SubElement(
            suite, "testcase", classname=_xml(gate.policy.path), name=_xml(each.name), time="0"
        )
        if each.state == HOLDS:
            continue
        said = _loses(each) if each.state == BROKEN else f"{each.name} is undecided: {_what_it_takes(each)}"
        passes = each.clause.advisory or (each.state == OPEN and gate.policy.undecided == GO)
        kind = "skipped" if passes else "failure" if each.state == BROKEN or gate.policy.undecided == NO_GO else "error"
        counts[{"failure": "failures", "error": "errors", "skipped": "skipped"}[kind]] += 1
        ElementTree.SubElement(case, kind, message=_xml(said))
    for name, count in counts.items():
        suite.set(name, str(count))
    ElementTree.SubElement(suite, "system-out").text = _xml(verdict_line(gate))
    ElementTree.indent(suite)
    return ElementTree.tostring(suite, encoding="unicode", xml_declaration=True)


def _xml(text: str) -> str:
    """A text without the characters that XML 1.0 can't hold."""
    return "".join(
        each
        for each in in_line(text)
        if each in "\t\n" or "\x20" <= each <= "\ud7ff" or "\ue000" <= each <= "\ufffd" or each >= "\U00010000"
    )


def as_json(gate: Gate) -> str:
    """The verdict and each clause, as a JSON document."""
    found: dict[str, object] = {
        "verdict": gate.verdict.lower(),
        "evidence": gate.found.lower(),
        "said": verdict_line(gate),
        "alpha": gate.policy.alpha,
        "level": gate.level,
        "run": str(gate.run.folder),
        "reference": str(gate.reference.folder),
        "policy": gate.policy.path,
        "asked_differently": list(gate.differs),
        "clauses": [_clause_json(each) for each in gate.checked],
    }
    return json_safe(json.dumps(found, indent=2, ensure_ascii=False))


def _clause_json(each: Checked) -> dict[str, object]:
    change, unit = each.change, _unit(each)
    factor = unit.factor if unit is not None else 1.0
    found: dict[str, Any] = {
        "benchmark": each.name,
        "metric": None if change is None else str(change.key),
        "state": each.state,
        "advisory": each.clause.advisory,
        "stated": {"loss": each.clause.loss, "unit": each.clause.unit},
        "allowed": None if change is None else each.margin * factor,
        "loss": None if each.loss is None else each.loss.value * factor,
        "at_least": None if each.low is None else each.low * factor,
        "at_most": None if each.high is None else each.high * factor,
        "documents": None if change is None else change.difference.n,
        "missing": each.missing,
        "documents_needed": each.needed_without_loss or each.needed,
        "why": _what_it_takes(each) if each.state == OPEN else "",
    }
    if change is not None:
        found |= {"first": estimate_json(change.first), "second": estimate_json(change.second)}
    return found
