"""The table of a release: rows are benchmarks, columns are models, the best of a row is bold.

    table = release_table([RecordedRun.read(folder), ...], read_reference("reference.yaml"))
    print(as_markdown(table, intervals=True))

Numbers that others reported come from a file of the user's, each with its source; where we measured the same model, the cell
says whether the two match.
"""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mm_eval.arguments import is_number, shortly
from mm_eval.errors import ConfigError, did_you_mean
from mm_eval.report.safe import csv_cell, html, in_line, latex, latex_comment, markdown
from mm_eval.runs.compare import headline_keys, number, signed
from mm_eval.runs.group_changes import estimates
from mm_eval.runs.recorded import RecordedRun
from mm_eval.runs.results import warnings_of
from mm_eval.types import MetricKey

REFERENCE_KEYS = ("model", "task", "metric", "value", "tolerance", "source")


@dataclass(frozen=True)
class Reported:
    """A number that somebody printed, in our units (fractions in [0, 1], MME in points), and where."""

    model: str
    task: str
    metric: str | None
    value: float
    tolerance: float
    source: str


@dataclass
class Cell:
    """One number of a model: ours with its 95% interval, or reported.

    margin: half the interval; None where there is none, or where it is exact and has two unequal halves.
    best: of its row. flaw: what it lacks.
    """

    value: float
    margin: float | None = None
    interval: tuple[float, float] | None = None
    ours: bool = True
    best: bool = False
    verdict: str = ""
    flaw: str = ""


@dataclass
class ReleaseTable:
    """rows: (benchmark, metric) to cells by column. columns: models in order, ours first. notes: below the table."""

    columns: list[str] = field(default_factory=list)
    rows: dict[tuple[str, str], dict[str, Cell]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    def label(self, row: tuple[str, str]) -> str:
        """A row's name: the benchmark's, with the metric where it has several rows."""
        several = sum(name == row[0] for name, _ in self.rows) > 1
        return f"{row[0]} ({row[1]})" if several else row[0]


def read_reference(path: str) -> list[Reported]:
    """Reported numbers from YAML: `reported: [{model, task, metric, value, tolerance, source}]`; metric may be left out.

    Errors: ConfigError naming the entry that is wrong. A number without a source is none.
    """
    from mm_eval.catalog.yaml import load_file

    entries = load_file(Path(path)).get("reported")
    if not isinstance(entries, list):
        raise ConfigError("a list `reported:` is needed.", where=path)
    found = []
    for place, entry in enumerate(entries, 1):
        where = f"{path}: entry {place}"
        if not isinstance(entry, Mapping):
            raise ConfigError(f"{shortly(entry)} is no mapping.", where=where)
        for key in entry:
            if key not in REFERENCE_KEYS:
                raise ConfigError(f"unknown key {key!r}.", where=where, hint=did_you_mean(str(key), REFERENCE_KEYS))
        for key in ("model", "task", "value", "source"):
            if not entry.get(key) and entry.get(key) != 0:
                raise ConfigError(f"{key!r} is missing.", where=where)
        value, tolerance, metric = entry["value"], entry.get("tolerance", 0), entry.get("metric")
        for key, given in (("value", value), ("tolerance", tolerance)):
            if not is_number(given):
                raise ConfigError(f"`{key}` is {shortly(given)}; finite numbers are needed.", where=where)
        for key, given in entry.items():
            if isinstance(given, (bool, list, Mapping)):
                raise ConfigError(f"`{key}` is {shortly(given)}; a text is needed.", where=where)
        found.append(
            Reported(
                _line(str(entry["model"])),
                str(entry["task"]),
                metric,
                float(value),
                float(tolerance),
                str(entry["source"]),
            )
        )
    return found


def release_table(
    runs: Sequence[RecordedRun],
    reported: Sequence[Reported] = (),
    holes: Mapping[str, str] | None = None,
    order: Sequence[str] = (),
) -> ReleaseTable:
    """The numbers of all runs; runs of one model that measured different tasks are one column.

    holes: models without numbers, each with the reason; an empty column and a note each.
    order: of the columns; the others come after them.
    """
    table, better = ReleaseTable(), dict[tuple[str, str], bool]()
    for run in runs:
        _add_run(table, run, better)
    if any(run.results["run"].get("sample") for run in runs):
        table.notes.append("Sample data, not the benchmarks: no result to publish.")
    for run in runs:
        table.notes += [
            f"{_line(run.model)}, {name}: {part}, no result on a benchmark." for name, part in _parts(run).items()
        ]
    for run in runs:
        table.notes += [f"{_line(run.model)}, {said}" for said in warnings_of(run.results)]
    for model, reason in (holes or {}).items():
        if _line(model) not in table.columns:
            table.columns.append(_line(model))
        table.notes.append(f"{_line(model)} has no numbers: {reason}")
    places = {_line(model): place for place, model in enumerate(order)}
    table.columns.sort(key=lambda column: places.get(column, len(places)))
    for entry in reported:
        _add_reported(table, entry)
    for row, cells in table.rows.items():
        _mark_best(cells, better.get(row, True))
    return table


def _parts(run: RecordedRun) -> dict[str, str]:
    """{task: "60 of 420 docs"} where docs were left out."""
    return {name: f"{asked} of {every} docs" for name, (asked, every) in run.results["run"].get("in_part", {}).items()}


def _add_run(table: ReleaseTable, run: RecordedRun, better: dict[tuple[str, str], bool]) -> None:
    found: dict[tuple[str, str], Cell] = {}
    for name, row in run.results["results"].items():
        task, measured = run.tasks.get(name), estimates(run, name)
        shown = headline_keys(task) if task is not None else [str(k) for t in row if (k := MetricKey.parse(t))]
        for text in shown:
            key, value = MetricKey.parse(text), row.get(text)
            if key is None or key.is_stderr or not isinstance(value, (int, float)) or not math.isfinite(value):
                continue
            known = measured.get(text)
            margin, interval = (known.margin, known.interval) if known else (None, None)
            metric = text.removesuffix(",none")
            flaws = {"failed": "docs failed", "not_requested": "docs were not requested", "cut": "prompts were cut"}
            flaw = ", ".join(f"{row[count]} of {row['n']} {what}" for count, what in flaws.items() if row.get(count))
            found[(str(row.get("alias", name)), metric)] = Cell(float(value), margin, interval, flaw=flaw)
            better[(str(row.get("alias", name)), metric)] = (
                run.results["higher_is_better"].get(name, {}).get(key.metric, True)
            )
    model = _line(run.model)
    column = model
    if any(column in table.rows.get(row, {}) for row in found):
        keys = "/".join(sorted(set(run.prompt_keys.values())))
        column = f"{model} ({keys})"
    if any(column in table.rows.get(row, {}) for row in found):
        column = _line(f"{model} ({run.folder})")
    if column not in table.columns:
        table.columns.append(column)
    for place, cell in found.items():
        table.rows.setdefault(place, {})[column] = cell
        if cell.flaw:
            table.notes.append(f"{column}, {place[0]}: {cell.flaw}.")


def _line(name: str) -> str:
    """A name in one line, as columns are called and looked up by."""
    return in_line(" ".join(name.split()))


def _add_reported(table: ReleaseTable, entry: Reported) -> None:
    rows = [row for row in table.rows if row[0] == entry.task and entry.metric in (None, row[1], row[1].split(",")[0])]
    if not rows:
        known = [task for task, _ in table.rows] + [metric for _, metric in table.rows]
        hint = did_you_mean(entry.metric or entry.task, known)
        raise ConfigError(f"no row is {entry.task!r} with {entry.metric!r}, which {entry.source} reports.", hint=hint)
    if len(rows) > 1:
        metrics = ", ".join(metric for _, metric in rows)
        raise ConfigError(f"{entry.task!r} has several numbers: say which `metric` {entry.source} reports ({metrics}).")
    cells = table.rows[rows[0]]
    ours = cells.get(entry.model)
    if ours is not None and ours.ours:
        off = ours.value - entry.value
        scale = max(abs(ours.value), abs(entry.value))
        matches = abs(off) <= entry.tolerance + 1e-12
        ours.verdict = f"matches {number(entry.value)}" if matches else f"off by {signed(off, scale)}"
        within = f" within {number(entry.tolerance, scale)}" if entry.tolerance else ""
        said = f"matches{within}" if matches else f"off by {signed(off, scale)}"
        table.notes.append(
            f"{entry.model}, {rows[0][0]}: {number(entry.value)} as reported ({entry.source}); ours {said}."
        )
        return
    if entry.model not in table.columns:
        table.columns.append(entry.model)
    cells[entry.model] = Cell(entry.value, ours=False)
    table.notes.append(f"{entry.model}, {rows[0][0]}: as reported, {entry.source}; not measured by us.")


def _mark_best(cells: Mapping[str, Cell], higher: bool) -> None:
    values = [cell.value for cell in cells.values()]
    best = max(values) if higher else min(values)
    for cell in cells.values():
        cell.best = len(values) > 1 and cell.value == best and min(values) != max(values)


def _text(cell: Cell | None, intervals: bool, bold: Callable[[str], str]) -> str:
    if cell is None:
        return "–"
    shown = number(cell.value)
    shown = bold(shown) if cell.best else shown
    if intervals and cell.margin is not None:
        shown += f" ± {number(cell.margin, cell.value)}"
    elif intervals and cell.interval is not None:
        shown += f" [{', '.join(number(bound, cell.value) for bound in cell.interval)}]"
    return shown + ("" if cell.ours else " *") + (f" ({cell.verdict})" if cell.verdict else "")


def _grid(table: ReleaseTable, intervals: bool, bold: Callable[[str], str]) -> list[list[str]]:
    return [
        [table.label(row), *(_text(cells.get(column), intervals, bold) for column in table.columns)]
        for row, cells in table.rows.items()
    ]


def _footnotes(table: ReleaseTable, intervals: bool) -> list[str]:
    cells = [cell for row in table.rows.values() for cell in row.values()]
    marks = ["* as reported, not measured by us."] if any(not cell.ours for cell in cells) else []
    if intervals and any(cell.margin is not None for cell in cells):
        marks.append("± is half of the 95% interval.")
    if intervals and any(cell.margin is None and cell.interval is not None for cell in cells):
        marks.append("[low, high] is the exact 95% interval, where nearly all docs are right or wrong.")
    return marks + table.notes


def as_markdown(table: ReleaseTable, intervals: bool = False) -> str:
    """GitHub's kind of table; nothing in a name is read as markup."""

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cells) + " |"

    grid = [[markdown(label), *cells] for label, *cells in _grid(table, intervals, lambda text: f"**{text}**")]
    head = [line(["benchmark", *map(markdown, table.columns)]), line(["---", *["---:"] * len(table.columns)])]
    notes = [f"\n{markdown(note)}" for note in _footnotes(table, intervals)]
    return "\n".join([*head, *map(line, grid), *notes])


def as_latex(table: ReleaseTable, intervals: bool = False) -> str:
    """A booktabs tabular."""
    lines = []
    for label, *cells in _grid(table, intervals, lambda text: f"\\textbf{{{text}}}"):
        shown = [cell.replace(" ± ", r" {\small $\pm$ ") + ("}" if " ± " in cell else "") for cell in cells]
        lines.append(" & ".join([latex(label), *shown]) + r" \\")
    head = " & ".join(["benchmark", *map(latex, table.columns)]) + r" \\"
    notes = [latex_comment(note) for note in _footnotes(table, intervals)]
    columns = "l" + "r" * len(table.columns)
    body = [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        head,
        r"\midrule",
        *lines,
        r"\bottomrule",
        r"\end{tabular}",
    ]
    return "\n".join([*body, *notes])


def as_csv(table: ReleaseTable, intervals: bool = True) -> str:
    """One row a number: benchmark, metric, model, value, low, high, best, ours, verdict. No cell can start a formula."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["benchmark", "metric", "model", "value", "low", "high", "best", "source", "verdict"])
    for (task, metric), cells in table.rows.items():
        for column, cell in cells.items():
            low, high = cell.interval or ("", "")
            texts = [csv_cell(text) for text in (task, metric, column)]
            source = "ours" if cell.ours else "as reported"
            writer.writerow([*texts, cell.value, low, high, int(cell.best), source, csv_cell(cell.verdict)])
    return out.getvalue().rstrip("\n")


def as_html(table: ReleaseTable, intervals: bool = False) -> str:
    """A table element, for a page of one's own or a notebook."""
    head = "".join(f"<th>{html(name)}</th>" for name in ("benchmark", *table.columns))
    body = []
    for row, cells in table.rows.items():
        shown = [_text(cells.get(column), intervals, lambda text: text) for column in table.columns]
        best = [bool((cell := cells.get(column)) and cell.best) for column in table.columns]
        marked = [
            f"<td>{f'<b>{html(text)}</b>' if bold else html(text)}</td>" for text, bold in zip(shown, best, strict=True)
        ]
        body.append(f"<tr><td>{html(table.label(row))}</td>{''.join(marked)}</tr>")
    notes = "".join(f"<p>{html(note)}</p>" for note in _footnotes(table, intervals))
    return f"<table><thead><tr>{head}</tr></thead><tbody>{''.join(body)}</tbody></table>{notes}"


def as_html_page(table: ReleaseTable, intervals: bool = False) -> str:
    """The table as a page of its own."""
    style = (
        ":root{color-scheme:light dark}body{font:15px/1.5 system-ui,sans-serif;margin:24px;overflow-x:auto}"
        "td,th{padding:4px 14px 4px 0;text-align:right;white-space:nowrap;border-bottom:1px solid #8886}"
        "td:first-child,th:first-child{text-align:left}"
    )
    head = f'<!DOCTYPE html><html lang="en"><meta charset="utf-8"><title>mm-eval</title><style>{style}</style>'
    return f"{head}{as_html(table, intervals)}</html>"


def model_index(runs: Sequence[RecordedRun]) -> list[dict[str, Any]]:
    """The hub's `model-index` of a model card: one entry a model, a result a task."""
    entries: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        for name, task in run.tasks.items():
            config = run.results["configs"][name]
            numbers = run.results["results"][name]
            flaws = ["sample data"] if run.results["run"].get("sample") else []
            flaws += [part for task_name, part in _parts(run).items() if task_name == name]
            dataset = {
                "name": f"{name} ({', '.join(flaws)})" if flaws else name,
                "type": str(config.get("dataset_path")),
                "split": config.get("test_split") or "validation",
            }
            if config.get("dataset_name"):
                dataset["config"] = config["dataset_name"]
            kind = "image-text-to-text" if config.get("doc_to_visual") else "text-generation"
            metrics = [
                {"type": key.split(",")[0], "name": key.removesuffix(",none"), "value": numbers[key]}
                for key in headline_keys(task)
                if isinstance(numbers.get(key), (int, float))
            ]
            entries.setdefault(run.model, []).append({"task": {"type": kind}, "dataset": dataset, "metrics": metrics})
    return [{"name": model, "results": results} for model, results in entries.items()]
