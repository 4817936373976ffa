"""What the terminal shows after a run: each number with its standard error, the counts of docs without a score, and remarks."""

from __future__ import annotations

import math
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mm_eval.results import judged
from mm_eval.results.number_text import IN_PERCENT, POINTS, Unit, counts_calls, unit_of
from mm_eval.results.table import LONGEST, Column, Row, Table, fitted, left_out, to_markdown, to_text
from mm_eval.scoring.answered_by import sentence as answer_names
from mm_eval.scoring.run_results import Results
from mm_eval.scoring.task_scores import Scores
from mm_eval.values.safe import in_line
from mm_eval.values.types import NO_SPREAD, MetricKey, Number
from mm_eval.values.words import counted, listed, of_all

if TYPE_CHECKING:
    from mm_eval.scoring.run_results import Report


COUNTED = ("failed", "not requested", "filtered", "refused", "truncated", "unparsed", "cut")
"""The counts of a row, as the table heads them."""
ARROWS = {True: "↑", False: "↓", None: " "}
COLUMNS = (
    Column("task", "text"),
    Column("n-shot"),
    Column("filter", "text"),
    Column("metric", "text"),
    Column("", "text", "better"),
    Column("value"),
    Column("±", "text"),
    Column("stderr"),
    Column("exact 95%"),
    *map(Column, ("docs", "n", *COUNTED)),
)
SPARE = {"n-shot": 3, "docs": 2, **dict.fromkeys(COUNTED[2:], 1)}
SPARE_ZEROS = 4
"""How soon a column is left out where the table is too wide: first counts that are all 0."""
BLANK = {column.key: "" for column in COLUMNS}
EXACT_95 = "exact 95%: Clopper-Pearson interval, used because"
MOST_TASKS = 6
"""Names of tasks in a line below the table."""
LONGEST_NAME = 40
"""Characters of a category's name."""
SILENT = {
    **{"filter": ("none", ""), "docs": ("",), "not requested": ("", "0"), "exact 95%": ("",)},
    **dict.fromkeys(("filtered", "refused", "truncated", "cut"), ("0", "")),
}
"""Values that say nothing: a column that has no others is left out."""


def said_of_sample(names: Sequence[str]) -> str:
    """The sentence above numbers of bundled sample data. names: the benchmarks that it is not."""
    said = listed(names, MOST_NAMES)
    if len(names) <= MOST_NAMES:
        said = " and ".join(said.rsplit(", ", 1))
    return f"Bundled sample data, not {said}. These scores are not benchmark results."


def render(report: Report, width: int | None = None, markdown: bool = False) -> str:
    """The whole report of a run: what was measured, the table, problems, and where the files are.

    width: of the terminal, into which the table is fitted; None for any. markdown: the table is one of GitHub's Markdown.
    """
    results, parts = report.results, list[str]()
    if results and results.run.sample:
        parts.append(said_of_sample(results.run.sample))
    if results:
        blind = f" ({said})" if (said := results.run.blind_said) else ""
        parts.append(f"model: {results.run.model_name}{blind}")
        warnings = results.warnings
        parts += [f"warning: {said}" for said in warnings]
        if warnings:
            parts.append(f"`mm-eval diagnose {shlex.quote(str(report.folder))}` says what went wrong and what to try")
        shown = table(results, report.order, report.categories)
        shown, out = fitted(shown, None if markdown else width, longest=None)
        text = to_markdown(shown) if markdown else to_text(shown, longest=None)
        parts += ["", *text.split("\n"), ""]
        parts += left_out([each for each in out if any(row.cells[each] not in ("", "0") for row in shown.rows)])
        parts += _footer(results, report.categories)
        parts += [] if report.categories else hidden_numbers(results)
        for lines in _lines_of_parts(results):
            parts += ["", *lines, ""]
    parts += [f"note: {note}" for note in _notes_of_run(results, report.notes)]
    if report.problems:
        parts += ["", *report.problems]
    parts.append(f"run folder: {report.folder}")
    return "\n".join(map(in_line, parts))


def table(results: Results, order: Sequence[tuple[str, int]], every: bool = True) -> Table:
    """Rows in the YAML's order, groups above their members; the counts stand on a row's first line.

    order: (row name, depth below the outermost group). every: all numbers of a row and its categories, not its main number.
    """
    rows: list[Row] = []
    for name, depth in order:
        rows += map(Row, _lines(results, name, depth, every))
        for level in results.categories.get(name, ()) if every else ():
            rows += map(Row, _category_lines(results, name, level, depth))
    shown = [
        column
        for column in COLUMNS
        if column.key not in SILENT or any(row.cells[column.key] not in SILENT[column.key] for row in rows)
    ]
    says = {column.key: any(row.cells[column.key] not in ("", "0") for row in rows) for column in shown}
    spare = {key: SPARE_ZEROS if key in COUNTED and not says[key] else SPARE.get(key, 0) for key in says}
    return Table([replace(column, spare=spare[column.key]) for column in shown], rows)


def main_numbers(results: Results, name: str) -> list[Number]:
    """The numbers of a row that a short table shows: those of `metadata.metric`; all where the task states none.

    What `--repeats N` adds to them, avg@N and pass@N, is shown, too.
    """
    numbers, main = results.rows[name].numbers, results.main_numbers(name)
    added = of_repeats([each.key for each in numbers], [each.key for each in main])
    return _each_once([*main, *(each for each in numbers if each.key in added and each not in main)] or numbers)


_AVERAGE = re.compile(r"avg@(\d+)\(")


def of_repeats(keys: Sequence[MetricKey], main: Sequence[MetricKey]) -> set[MetricKey]:
    """The keys that `--repeats N` has added to main ones: avg@N, and pass@k for k = N."""
    named = {key.parent_metric or key.metric for key in main}
    counts = {found[1] for key in keys if (found := _AVERAGE.match(key.metric))}
    wanted = {f"{kind}@{count}({metric})" for kind in ("avg", "pass") for count in counts for metric in named}
    return {key for key in keys if key.metric in wanted}


def _each_once(numbers: Sequence[Number]) -> list[Number]:
    """Numbers without the pass@1 of a metric whose avg@N says the same."""
    averages = {(each.key.parent_metric, each.filter): each.value for each in numbers if _AVERAGE.match(each.metric)}

    def is_average(number: Number) -> bool:
        average, value = averages.get((number.key.parent_metric, number.filter)), number.value
        if not (isinstance(average, int | float) and isinstance(value, int | float)):
            return False
        return number.metric.startswith("pass@1(") and math.isclose(average, value, abs_tol=1e-12)

    return [each for each in numbers if not is_average(each)]


def _instead_of_numbers(results: Results, name: str) -> str:
    """The text of a row without numbers: the file that a benchmark's server scores."""
    written = results.submissions.get(name)
    return f"submission: {written['file']}" if written else ""


def _lines_of_parts(results: Results) -> Iterator[list[str]]:
    """What an imported run and one under a protocol say below the table."""
    if results.imported:
        from mm_eval.results.imported import lines

        yield list(lines(results))
    if results.protocol is not None:
        from mm_eval.results import protocol_verdicts

        yield list(protocol_verdicts.lines(results))


def _lines(results: Results, name: str, depth: int, every: bool) -> Iterator[dict[str, str]]:
    """The cells of one task or group: a line for each number, or one without any."""
    row = results.rows[name]
    numbers = _each_once(row.numbers) if every else main_numbers(results, name)
    once = {
        "task": "  " * depth + ("- " if depth else "") + in_line(row.shown or row.alias, LONGEST),
        "n-shot": str(results.shots.get(name, "")),
        "n": str(row.n),
        **{key: str(getattr(row, key.replace(" ", "_"))) for key in COUNTED},
    }
    if not row.numbers:
        yield {**BLANK, **once, "metric": _instead_of_numbers(results, name)}
    for place, number in enumerate(numbers):
        yield {**BLANK, **({} if place else once), **_name_cells(number), **_value_cells(row, number)}


def _category_lines(results: Results, name: str, level: str, depth: int) -> Iterator[dict[str, str]]:
    """The level's name with the headline metric, and a line for each category. Zeros of its counts are left out."""
    headline = results.headline(name)
    if headline is None:
        return
    yield {**BLANK, "task": "  " * (depth + 1) + f"by {in_line(level, LONGEST_NAME)}", **_name_cells(headline)}
    for category, row in results.categories[name][level].items():
        number = row.number(headline.key)
        counts = {key: str(getattr(row, key.replace(" ", "_")) or "") for key in ("n", *COUNTED)}
        values = {} if number is None else _value_cells(results.rows[name], number, row)
        yield {**BLANK, "task": "  " * (depth + 2) + in_line(category, LONGEST_NAME), "value": "-", **counts, **values}


def _name_cells(number: Number) -> dict[str, str]:
    return {
        "filter": in_line(number.filter, LONGEST),
        "metric": in_line(number.metric, LONGEST),
        "better": ARROWS[number.higher_is_better],
    }


def _value_cells(row: Scores, number: Number, of_category: Scores | None = None) -> dict[str, str]:
    """row: decides the decimals of a value of 0. of_category: the row that the number is from, if that is another one."""
    unit = unit_in(row, number)
    docs = "" if number.n in (None, (of_category or row).scored) else str(number.n)
    value = unit.text(number.value) if isinstance(number.value, int | float | None) else str(number.value)
    cells = {"value": value, "docs": docs}
    if number.exact is not None:  # a standard error of 0 would say too much
        return {**cells, "exact 95%": unit.ends(number.exact, " to ")}
    return cells if number.stderr is None else {**cells, "±": "±", "stderr": unit.text(number.stderr)}


def unit_in(row: Scores, number: Number) -> Unit:
    """The unit of a number; for a value of 0 or None the row's other numbers decide."""
    others = [] if number.value else [each for each in row.numbers if each.value and not counts_calls(each.key)]
    of_points = others and not any(unit_of(each).is_percent for each in others)
    return POINTS if of_points else unit_of(number)


def _footer(results: Results, every: bool = True) -> Iterator[str]:
    """The prompt block of each task, what the marks mean, and the tasks' notes. every: as of `table`."""
    prompts = results.run.prompts
    by_block: dict[str, list[str]] = {}
    for name, prompt in prompts.items():
        kwargs = ", ".join(f"{key}={value!r}" for key, value in prompt["kwargs"].items() if value != "")
        by_block.setdefault(f"{prompt['key']}{f' ({kwargs})' if kwargs else ''}", []).append(name)
    for block, names in by_block.items():
        if any(prompts[name]["kwargs"] for name in names):
            yield f"prompt of {_tasks(results, names)}: {block}"
    yield from bounds_of_turns(results)
    rows, by_category = list(results.rows.values()), results.categories if every else {}
    rows += [row for levels in by_category.values() for found in levels.values() for row in found.values()]
    numbers = [number for row in rows for number in row.numbers]
    if not every:
        numbers = [number for name in results.rows for number in main_numbers(results, name)]
    if any(unit_of(number).is_percent for number in numbers if number.value):
        yield IN_PERCENT
    exact = [(number.value, *number.exact) for number in numbers if number.exact]
    if any(low < value < high for value, low, high in exact):
        yield f"{EXACT_95} all clusters of documents score the same and the standard error would be 0"
    elif exact:
        yield f"{EXACT_95} every answer is right (or wrong) and the standard error would be 0"
    if unvaried := [name for name in by_category if _has_unvaried(results, name)]:
        what = "every document of a category scored the same, so no standard error can be estimated there"
        yield f"note: {_tasks(results, unvaried)}: {what}"
    yield from unanswered_lines(results)
    if results.run.answered_by:
        yield f"answered by {answer_names(results.run.answered_by)}"
    yield from judged.lines(results)
    by_note: dict[str, list[str]] = {}
    for name, row in results.rows.items():
        for note in merged_notes(row.notes, [str(number.key) for number in row.numbers]):
            by_note.setdefault(note, []).append(name)
    for note, names in by_note.items():
        yield f"note: {_tasks(results, names)}: {note}"


def _tasks(results: Results, names: Sequence[str]) -> str:
    """The names of tasks in a line: a group in place of all its tasks, and no more than a few."""
    left = dict.fromkeys(names)
    for group in results.groups:
        leaves = list(results.leaves(group))
        if len(leaves) > 1 and all(leaf in left for leaf in leaves):
            left = dict.fromkeys(group if name == leaves[0] else name for name in left if name not in leaves[1:])
    return listed(left, MOST_TASKS)


def _notes_of_run(results: Results | None, notes: Iterable[str]) -> Iterator[str]:
    """The notes of a run; one that is said of several tasks comes once."""
    of: dict[str, list[str]] = {}
    for note in notes:
        name, _, rest = note.partition(": ")
        if results and rest and name in results.rows:
            of.setdefault(rest, []).append(name)
        else:
            of.setdefault(note, [])
    for note, names in of.items():
        yield f"{_tasks(results, names)}: {note}" if results and names else note


def bounds_of_turns(results: Results) -> Iterator[str]:
    """A line for each bound of the turns of a document: "babyvision@python: at most 50 calls, 50 rounds per document"."""
    by_bound: dict[str, list[str]] = {}
    for name, most in results.run.most.items():
        if not isinstance(most, dict) or not all(type(count) is int for count in most.values()):
            continue  # a stranger's folder may hold anything
        said = ", ".join(counted(count, noun.removesuffix("s")) for noun, count in most.items())
        by_bound.setdefault(said, []).append(name)
    for said, names in by_bound.items():
        yield f"{_tasks(results, names)}: at most {said} per document"


def merged_notes(notes: Iterable[str], keys: Sequence[str]) -> Iterator[str]:
    """Notes, where one that is said of several numbers comes once. keys: the numbers' names, with which notes may begin.

    >>> list(merged_notes(["a,none: few docs", "b,none: few docs", "cut"], ["a,none", "b,none"]))
    ['a and 1 more: few docs', 'cut']
    """
    of: dict[str, list[str]] = {}
    for note in notes:
        key, _, rest = note.partition(": ")
        if rest and (
            key in keys or key.endswith(",none")
        ):  # a number that is not kept, such as a submission, is no row's
            of.setdefault(rest, []).append(key)
        else:
            of.setdefault(note, [])
    for note, named in of.items():
        more = f" and {len(named) - 1} more" if len(named) > 1 else ""
        yield f"{named[0].removesuffix(',none')}{more}: {note}" if named else note


def unanswered_words(row: Scores) -> str:
    """How many docs of a row have a missing answer, by kind: "5 of 20 docs (3 filtered, 2 refused)". Empty for none."""
    if not row.unanswered:
        return ""
    cut = row.unanswered - row.filtered - row.refused
    kinds = [
        *([f"{row.filtered:,} filtered"] if row.filtered else []),
        *([f"{row.refused:,} refused"] if row.refused else []),
        *([f"{cut:,} cut before an answer"] if cut > 0 else []),
    ]
    return f"{of_all(row.unanswered, row.n, 'document')} ({', '.join(kinds)})"


def incomplete(row: Scores) -> list[str]:
    """What a row's numbers lack, in words: docs that failed, were not requested or have no grade, prompts that were cut."""
    flaws = {
        "failed": ("doc", "failed", "failed"),
        "not_requested": ("doc", "was not requested", "were not requested"),
        "cut": ("prompt", "was cut", "were cut"),
    }
    stopped = [row.stopped] if row.stopped else []
    found = [of_all(count, row.n, *said) for name, said in flaws.items() if (count := getattr(row, name))]
    ungraded = (row.ungraded[grader].docs for grader in row.graders)
    return (
        stopped
        + found
        + [of_all(docs, row.n, "document", "has no verdict", "have no verdict") for docs in ungraded if docs]
    )


_SILENT = re.compile(r"([\d,]+ of [\d,]+) answers? (?:is|are) empty or unparsed, such as ")


def brief_warnings(results: Results) -> Iterator[str]:
    """The warnings of a run beside other runs: one line for the answers that say nothing, and what else is odd."""
    yield from results.oddities
    silent = []
    for name, row in results.rows.items():
        for said in row.warnings:
            if found := _SILENT.match(said):
                silent.append(f"{name} {found[1]}")
            else:
                yield f"{name}: {said}"
    if silent:
        yield f"answers are empty or unparsed: {listed(silent, MOST_TASKS)} (`mm-eval diagnose` says why)"


def unanswered_lines(results: Results) -> Iterator[str]:
    """A line for each task with missing answers: how many of each kind, and its number without them."""
    for name, row in results.rows.items():
        if name in results.members or not (said := unanswered_words(row)):
            continue
        number, beside = results.headline(name), ""
        if number is not None:
            without = next((each.value for each in row.without_unanswered if each.key == number.key), None)
            beside = f"; without them {number.metric} is {unit_in(row, number).text(without)}"
        yield f"{row.alias}: {said} have no answer and count as wrong{beside}"


def _has_unvaried(results: Results, name: str) -> bool:
    """Whether a category of a task has a standard error of 0 and no exact interval, and no note of the task says so."""
    headline = results.headline(name)
    if headline is None or any(NO_SPREAD in note for note in results.rows[name].notes):
        return False
    rows = [row for level in results.categories[name].values() for row in level.values()]
    found = [number for row in rows if (number := row.number(headline.key)) is not None]
    return any(number.stderr == 0 and number.exact is None for number in found)


MOST_NAMES = 5
"""Data sets that the warning on sample data names; the page and run.json have all."""


def hidden_numbers(results: Results) -> Iterator[str]:
    """A sentence about what a short table leaves out, if anything: numbers beside the main ones, and categories."""
    numbers = sum(len(_each_once(row.numbers)) - len(main_numbers(results, name)) for name, row in results.rows.items())
    categories = sum(len(found) for levels in results.categories.values() for found in levels.values())
    parts = [
        *([counted(numbers, "more metric")] if numbers else []),
        *([counted(categories, "category", "categories")] if categories else []),
    ]
    if parts:
        yield f"Not shown: {', '.join(parts)}. Use --categories, or open report.html."
