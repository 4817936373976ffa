"""The table of a release in every format: Markdown, LaTeX, CSV, and HTML as an element. Its page is in release_page.py.

print(as_markdown(release_table(runs), intervals=True))
"""

from __future__ import annotations

from mm_eval.features.report.release.table import ReleaseNumber, ReleaseTable
from mm_eval.results.number_text import number
from mm_eval.results.table import Cell, Column, Row, Table, Value, to_csv, to_html, to_latex, to_markdown

SET_APART = "‡"
UNDER_PROTOCOL = "§"


def as_markdown(table: ReleaseTable, intervals: bool = False, categories: bool = False) -> str:
    """A table of GitHub's Markdown; nothing in a name is read as markup. categories: with a row for each category."""
    return to_markdown(_table(table, intervals, categories))


def as_latex(table: ReleaseTable, intervals: bool = False, categories: bool = False) -> str:
    """A booktabs tabular."""
    return to_latex(_table(table, intervals, categories))


def as_html(table: ReleaseTable, intervals: bool = False, categories: bool = False) -> str:
    """A table element, for a page of one's own or a notebook."""
    return to_html(_table(table, intervals, categories))


def as_csv(table: ReleaseTable, intervals: bool = True, categories: bool = True) -> str:
    """A row for each number, always with its interval, and for each category where there are any. No cell can start a formula."""
    names = ["benchmark", "metric", "model", "value", "low", "high", "best", "source", "verdict"]
    names += ["level", "category"] if table.categories else []
    names += ["protocol"] if any(found.protocol for row in table.rows.values() for found in row.values()) else []
    names += ["judge", "ranked"] if any(found.judges for row in table.rows.values() for found in row.values()) else []
    rows = []
    for (task, metric), numbers in table.rows.items():
        of_row = {("", ""): numbers, **table.categories.get((task, metric), {})}
        for (level, category), found_by_model in of_row.items():
            for model, found in found_by_model.items():
                of_model = numbers.get(model, found)
                named = dict.fromkeys(judge.described() for judge in of_model.judges.values())
                low, high = found.interval or (None, None)
                cells: dict[str, Cell] = {
                    "benchmark": task,
                    "metric": metric,
                    "model": model,
                    "value": found.value,
                    "low": low,
                    "high": high,
                    "best": int(found.best),
                    "source": "ours" if found.ours else "as reported",
                    "verdict": found.verdict,
                    "level": level,
                    "category": category,
                    "judge": ", ".join(named) or found.judge,
                    "ranked": int(not found.set_apart),
                    "protocol": of_model.protocol,
                }
                rows.append(Row(cells))
    return to_csv(Table([Column(name) for name in names], rows))


def _table(table: ReleaseTable, intervals: bool, categories: bool) -> Table:
    """A row for each benchmark, a column for each model, and the footnotes."""
    columns = [Column("benchmark", "text", ""), *map(Column, table.columns)]
    rows = []
    for row, numbers in table.rows.items():
        labelled = [(table.label(row), numbers)]
        for (level, category), found in table.categories.get(row, {}).items() if categories else ():
            labelled.append((table.category_label(row, level, category), found))
        for label, found in labelled:
            cells: dict[str, Cell] = {column: _cell(found.get(column), intervals) for column in table.columns}
            rows.append(Row({**cells, "": label}))
    return Table(columns, rows, _footnotes(table, intervals))


def _cell(found: ReleaseNumber | None, intervals: bool) -> Value | None:
    if found is None:
        return None
    after = ""
    if intervals and found.margin is not None:
        after = f" ± {number(found.margin, found.value)}"
    elif intervals and found.interval is not None:
        after = f" [{', '.join(number(bound, found.value) for bound in found.interval)}]"
    after += f" {SET_APART}" if found.set_apart else ""
    after += f" {UNDER_PROTOCOL}" if found.protocol else ""
    after += ("" if found.ours else " *") + (f" ({found.verdict})" if found.verdict else "")
    return Value(number(found.value), after, bold=found.best)


def _footnotes(table: ReleaseTable, intervals: bool) -> list[str]:
    """What the marks in the table mean, and its notes."""
    numbers = [found for row in table.rows.values() for found in row.values()]
    marks = ["* as reported, not measured by us."] if any(not found.ours for found in numbers) else []
    if intervals and any(found.margin is not None for found in numbers):
        marks.append("± is half of the 95% interval.")
    if intervals and any(found.margin is None and found.interval is not None for found in numbers):
        marks.append(
            "[low, high] is a 95% interval: exact, where nearly all docs are right or wrong, or ended at 0 or 1; "
            "of a run that stopped, one that holds after looking."
        )
    if any(found.set_apart for found in numbers):
        marks.append(f"{SET_APART} measured otherwise than the rest of its row: not ranked with it.")
    under: dict[str, list[str]] = {}
    for (task, _), row in table.rows.items():
        for column, found in row.items():
            if found.protocol and task not in under.setdefault(f"{column}: {found.protocol}", []):
                under[f"{column}: {found.protocol}"].append(task)
    if under:
        of_each = "; ".join(f"{said} ({', '.join(tasks)})" for said, tasks in under.items())
        marks.append(f"{UNDER_PROTOCOL} under a named protocol. {of_each}.")
    return marks + table.notes
