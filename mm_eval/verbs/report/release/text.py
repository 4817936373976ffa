"""The table of a release in every format: Markdown, LaTeX, CSV, and HTML as an element. Its page is in page.py.

print(as_markdown(release_table(runs), intervals=True))
"""

from __future__ import annotations

from dataclasses import replace

from mm_eval.results.number_text import IN_PERCENT, PERCENT, p_text
from mm_eval.results.table import (
    Cell,
    Column,
    Row,
    Table,
    Value,
    fitted,
    terminal_width,
    to_csv,
    to_latex,
    to_markdown,
    to_text,
)
from mm_eval.values.safe import in_line, latex_comment, markdown
from mm_eval.values.words import counted
from mm_eval.verbs.report.release.average import AVERAGE
from mm_eval.verbs.report.release.columns import CSV_NAMES, csv_cells, gain_cell
from mm_eval.verbs.report.release.differences import difference_text, said_of_difference
from mm_eval.verbs.report.release.table import ReleaseNumber, ReleaseTable

SET_APART = "‡"
BEST = "★"
"""Before the best of a row on a terminal, where Markdown and LaTeX have bold."""
UNDER_PROTOCOL = "§"
OWN_PROMPT = "¶"
INCOMPLETE = "!"
"""Beside a number that lacks documents; a sign that every font has."""


def as_text(table: ReleaseTable, intervals: bool = False, categories: bool = False, width: int | None = None) -> str:
    """The table for a terminal, with the notes as plain lines. width: of the terminal, by default this one's.

    Where it is too narrow the intervals are left out, and then the models stand in several tables.
    """
    width = width or terminal_width()
    whole = _with_marks(table, intervals, categories)
    names, *columns = whole.columns
    models, of_pair = columns[: len(table.columns)], columns[len(table.columns) :]
    out = []
    if intervals and not _fits(replace(whole, columns=[names, *models]), width):
        whole, out = _with_marks(table, False, categories), ["The intervals: no room (COLUMNS=200 shows them)."]
    parts: list[list[Column]] = [[]]
    for together in [*([model] for model in models), *([of_pair] if of_pair else [])]:
        if parts[-1] and not _fits(replace(whole, columns=[names, *parts[-1], *together]), width):
            parts.append([])
        parts[-1] += together
    texts = [to_text(fitted(replace(whole, columns=[names, *part]), width)[0]) for part in parts]
    top = ["\n".join(map(in_line, table.gains_said))] if table.gains_said else []
    return "\n\n".join([*top, *texts, "\n".join(in_line(note) for note in (*whole.notes, *out))]).rstrip()


def _with_marks(table: ReleaseTable, intervals: bool, categories: bool) -> Table:
    """The table with a mark before the best numbers, and what it means."""
    found = _table(table, intervals, categories)
    marked = [
        replace(row, cells={name: _with_star(cell) for name, cell in row.cells.items()}) if _has_best(row) else row
        for row in found.rows
    ]
    if not any(map(_has_best, found.rows)):
        return found
    after = 1 if table.sentence else 0
    said = f"{BEST} first of its row, or not significantly behind it; others of the row are behind (5%, Holm)."
    return replace(found, rows=marked, notes=[*found.notes[:after], said, *found.notes[after:]])


def _has_best(row: Row) -> bool:
    return any(isinstance(cell, Value) and cell.bold for cell in row.cells.values())


def _with_star(cell: Cell) -> Cell:
    return replace(cell, text=f"{BEST} {cell.text}") if isinstance(cell, Value) and cell.bold else cell


def _fits(table: Table, width: int) -> bool:
    return max(map(len, to_text(table).split("\n"))) <= width


def as_markdown(table: ReleaseTable, intervals: bool = False, categories: bool = False) -> str:
    """A table of GitHub's Markdown; nothing in a name is read as markup. categories: with a row for each category."""
    return "\n\n".join([*map(markdown, table.gains_said), to_markdown(_table(table, intervals, categories))])


def as_latex(table: ReleaseTable, intervals: bool = False, categories: bool = False) -> str:
    """A booktabs tabular."""
    return "\n".join([*map(latex_comment, table.gains_said), to_latex(_table(table, intervals, categories))])


def as_csv(table: ReleaseTable, intervals: bool = True, categories: bool = True) -> str:
    """A row for each number, always with its interval, and for each category where there are any. No cell can start a formula."""
    names = ["benchmark", "metric", "model", "value", "stderr", "low", "high", "n", "rank", "best", "source", "verdict"]
    names += ["sample", "partial", "prompt", "answered", "documents"]
    names += ["level", "category"] if table.categories else []
    names += ["protocol"] if any(found.protocol for row in table.rows.values() for found in row.values()) else []
    names += OF_DIFFERENCE if table.pair else []
    is_judged = any(found.judges for row in table.rows.values() for found in row.values())
    names += ["judge", "ranked"] if is_judged else []
    names += CSV_NAMES if table.gains else ()
    rows = []
    for (task, metric), numbers in [*table.rows.items(), *([((AVERAGE, ""), table.average)] if table.average else [])]:
        of_row = {("", ""): numbers, **table.categories.get((task, metric), {})}
        for (level, category), found_by_model in of_row.items():
            for model, found in found_by_model.items():
                of_model = numbers.get(model, found)
                named = dict.fromkeys(judge.described() for judge in of_model.judges.values())
                low, high = found.bounds or (None, None)
                cells: dict[str, Cell] = {
                    "benchmark": task,
                    "metric": metric,
                    "model": model,
                    "value": found.value,
                    "stderr": found.stderr,
                    "low": low,
                    "high": high,
                    "n": found.n,
                    "rank": found.rank,
                    "sample": int(bool(found.run and found.run.results.run.sample)),
                    "partial": int(_in_part(found) or bool(table.part((task, metric), model))),
                    "prompt": _prompts_of(found),
                    **_covered(table, task, model, found),
                    "best": int(found.best),
                    "source": "ours" if found.ours else "as reported",
                    "verdict": found.verdict,
                    "level": level,
                    "category": category,
                    **({"judge": ", ".join(named) or found.judge} if is_judged else {}),
                    "ranked": int(not found.set_apart),
                    "protocol": of_model.protocol,
                    **dict.fromkeys(OF_DIFFERENCE),
                    **(_difference_in_csv(table, (task, metric), model) if not (level or category) else {}),
                    **csv_cells(table.gains.get((task, metric), {}).get(model) if not level else None),
                }
                rows.append(Row(cells))
        for model in table.columns:
            if (lacking := table.lacking((task, metric), model)) is not None:
                known = {"benchmark": task, "metric": metric, "model": model, "source": "ours", "verdict": lacking.said}
                counts = {"partial": 1, "n": 0, "answered": lacking.answered, "documents": lacking.documents}
                rows.append(Row({**dict.fromkeys(names), **known, **counts}))
    return to_csv(Table([Column(name) for name in names], rows))


OF_DIFFERENCE = ["difference", "difference_low", "difference_high", "p", "p_holm"]
"""The columns of the CSV of two models: the second less the first, in the line of the second."""


def _difference_in_csv(table: ReleaseTable, row: tuple[str, str], model: str) -> dict[str, Cell]:
    found = table.average_difference if row[0] == AVERAGE else table.difference(row)
    if found is None or table.pair is None or model != table.pair[1]:
        return {}
    ends = found.number.interval or (None, None)
    values = (found.number.value, *ends, found.number.p_value, found.corrected)
    return dict(zip(OF_DIFFERENCE, values, strict=True))


def _covered(table: ReleaseTable, task: str, model: str, found: ReleaseNumber) -> dict[str, Cell]:
    """How many documents of the benchmark were answered, of how many."""
    covered = table.covered.get(task, {}).get(model) if found.ours else None
    return {"answered": covered.answered if covered else None, "documents": covered.documents if covered else None}


def _prompts_of(found: ReleaseNumber) -> str:
    """The keys of the prompt blocks behind a number of ours."""
    if found.run is None:
        return ""
    results = found.run.results
    prompts = [results.run.prompts.get(name) for name in results.leaves(found.name)]
    return "/".join(sorted({str(prompt["key"]) for prompt in prompts if prompt}))


def _in_part(found: ReleaseNumber) -> bool:
    """Whether docs were left out of a number of ours."""
    run = found.run
    return run is not None and any(name in run.results.run.in_part for name in run.results.leaves(found.name))


def _table(table: ReleaseTable, intervals: bool, categories: bool) -> Table:
    """A row for each benchmark, a column for each model, and the footnotes. categories: with the benchmarks' other numbers."""
    columns = [
        Column("benchmark", "text", ""),
        *map(Column, table.columns),
        *map(Column, _OF_PAIR if table.pair else ()),
    ]
    rows = []
    blank: dict[str, Cell] = dict.fromkeys(_OF_PAIR)
    for row in table.shown():
        labelled = [(table.shown_label(row), row, table.rows[row])]
        for other in table.below(row) if categories else ():
            labelled.append((table.label(other), other, table.rows[other]))
        for (level, category), found in table.categories.get(row, {}).items() if categories else ():
            labelled.append((table.category_label(row, level, category), row, found))
        for label, unit, found in labelled:
            cells: dict[str, Cell] = {
                column: _cell(table, unit, found.get(column), intervals)
                if column in found
                else _lacking(table, unit, column)
                for column in table.columns
            }
            if found is table.rows.get(unit):
                cells |= {column: _in_part_of(table, unit, column, cell) for column, cell in cells.items()}
            differs = _difference_cells(table, unit) if found is table.rows.get(unit) else {}
            rows.append(Row({**blank, **cells, **differs, "": label}))
            if unit in table.gains and found is table.rows[unit]:
                of_row = {column: gain_cell(table.gains[unit].get(column)) for column in table.columns}
                rows.append(Row({**blank, **of_row, "": f"{table.shown_label(table.plain[unit])}: gain"}))
    if table.average:
        averages = {column: _cell(table, None, table.average.get(column), intervals) for column in table.columns}
        rows.append(Row({**blank, **averages, **_average_difference(table), "": AVERAGE}))
    notes = [*([table.sentence] if table.sentence else []), *_footnotes(table, intervals)]
    if not categories and (left := sum(len(table.below(row)) for row in table.shown())):
        notes.append(f"Not shown: {counted(left, 'more metric')}. Use --categories.")
    return Table(columns, rows, notes)


def _lacking(table: ReleaseTable, row: tuple[str, str], column: str) -> Value | None:
    """In place of a number that a model lacks: why, where one of its runs asked the benchmark."""
    found = table.lacking(row, column)
    return Value(found.said, f" {INCOMPLETE}") if found is not None else None


def _in_part_of(table: ReleaseTable, row: tuple[str, str], column: str, cell: Cell) -> Cell:
    """A number of a part of the documents says of how many."""
    part = table.part(row, column)
    return replace(cell, after=f"{cell.after} ({part})") if part and isinstance(cell, Value) else cell


DIFFERENCE, ALONE, CORRECTED = _OF_PAIR = ("difference", "p", "p (Holm)")
"""The columns of a release of two models."""


def _difference_cells(table: ReleaseTable, row: tuple[str, str]) -> dict[str, Cell]:
    """The difference of two models on a benchmark with its interval, its p-value, and the corrected one."""
    if (found := table.difference(row)) is None:
        return {}
    return {
        DIFFERENCE: difference_text(found, table.unit(row)),
        ALONE: p_text(found.number.p_value),
        CORRECTED: p_text(found.corrected),
    }


def _average_difference(table: ReleaseTable) -> dict[str, Cell]:
    found = table.average_difference
    return {} if found is None or not table.pair else {DIFFERENCE: difference_text(found, PERCENT)}


def _cell(
    table: ReleaseTable, row: tuple[str, str] | None, found: ReleaseNumber | None, intervals: bool
) -> Value | None:
    """A number with its marks, in the unit of its row. row: None for the average, which is in percent."""
    if found is None:
        return None

    def text(value: float) -> str:
        return PERCENT.text(value) if row is None else table.text(row, value)

    after = ""
    if intervals and found.margin is not None:
        after = f" ± {text(found.margin)}"
    elif intervals and found.interval is not None:
        after = f" [{', '.join(map(text, found.interval))}]"
    after += f" {INCOMPLETE}" if found.flaw else ""
    after += f" {SET_APART}" if found.set_apart else ""
    after += f" {OWN_PROMPT}" if found.own_prompt else ""
    after += f" {UNDER_PROTOCOL}" if found.protocol else ""
    after += ("" if found.ours else " *") + (f" ({found.verdict})" if found.verdict else "")
    return Value(text(found.value), after, bold=found.best)


def _footnotes(table: ReleaseTable, intervals: bool) -> list[str]:
    """What the marks in the table mean, and its notes."""
    numbers = [found for row in table.shown() for found in table.rows[row].values()]
    marks = [f"{IN_PERCENT.capitalize()}."] if table.average or any(map(table.in_percent, table.shown())) else []
    marks += ["* as reported, not measured by us."] if any(not found.ours for found in numbers) else []
    if intervals and any(found.margin is not None for found in numbers):
        marks.append("± is half of the 95% interval.")
    if intervals and any(found.margin is None and found.interval is not None for found in numbers):
        marks.append(
            "[low, high] is a 95% interval. It is exact near 0 and 100% and never leaves the scale. "
            "For runs that stopped early it accounts for the interim looks."
        )
    lacking = [table.lacking(row, column) for row in table.shown() for column in table.columns]
    if any(found.flaw for found in numbers) or any(lacking):
        marks.append(f"{INCOMPLETE} documents without an answer or a verdict, or prompts that were cut.")
    if parts := [part for row in table.shown() for column in table.columns if (part := table.part(row, column))]:
        marks.append(f"({parts[0]}) is a score of a part of the documents.")
    if any(found.set_apart for found in numbers):
        marks.append(f"{SET_APART} measured differently from the rest of its row: not ranked with it.")
    if own := dict.fromkeys(found.own_prompt for found in numbers if found.own_prompt):
        marks.append(f"{OWN_PROMPT} asked with another {', or another '.join(own)} than most of its row, and ranked.")
    under: dict[str, list[str]] = {}
    for (task, _), row in table.rows.items():
        for column, found in row.items():
            if found.protocol and task not in under.setdefault(f"{column}: {found.protocol}", []):
                under[f"{column}: {found.protocol}"].append(task)
    if under:
        of_each = "; ".join(f"{said} ({', '.join(tasks)})" for said, tasks in under.items())
        marks.append(f"{UNDER_PROTOCOL} under a named protocol. {of_each}.")
    marks += [said] if (said := said_of_difference(table)) else []
    return [*marks, *table.notes, *(part.note for part in table.parts if part.note)]
