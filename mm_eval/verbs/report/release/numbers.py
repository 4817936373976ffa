"""The release table of recorded runs and of numbers that others reported.

    table = release_table([RecordedRun.read(folder), ...], read_reference("reference.yaml"))

Numbers that others reported come from a file of the user's, each with its source. Where we measured the same model, our number
says whether the two match. Numbers of two judges are not ranked together, and say so, unless the user asks for it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from mm_eval.config.arguments import is_number, shortly
from mm_eval.deciding.record import cell_mark
from mm_eval.protocols.release_notes import notes_on_protocols, protocol_of_number
from mm_eval.results.estimates import estimates
from mm_eval.results.judged import judges_behind, judges_of
from mm_eval.results.recorded import RecordedRun, headline_keys, told_apart
from mm_eval.results.run_table import brief_warnings, incomplete
from mm_eval.scoring.task_scores import Scores
from mm_eval.values.errors import ConfigError, did_you_mean
from mm_eval.values.types import MetricKey
from mm_eval.values.words import listed
from mm_eval.verbs.report.release.average import add_average
from mm_eval.verbs.report.release.columns import add_gains
from mm_eval.verbs.report.release.differences import parts_below, wins
from mm_eval.verbs.report.release.ranking import differently_judged, rank, set_apart, set_apart_by_judge
from mm_eval.verbs.report.release.table import Coverage, ReleaseNumber, ReleaseTable

REFERENCE_KEYS = ("model", "task", "metric", "value", "tolerance", "source")


@dataclass(frozen=True)
class Reported:
    """A published number in our units (fractions in [0, 1], MME in points), and its source.

    judge: who judged the answers, where rules did not; the benchmark's official one where the entry names none.
    """

    model: str
    task: str
    metric: str | None
    value: float
    tolerance: float
    source: str
    judge: str = ""


def read_reference(path: str) -> list[Reported]:
    """Reported numbers from YAML: `reported: [{model, task, metric, value, tolerance, source}]`.

    metric may be left out. An entry of a number that was judged names its `judge`, unless that is the official one.
    Errors: ConfigError naming the entry that is wrong; an entry without a source is.
    """
    from mm_eval.config.yaml import load_file

    entries = load_file(Path(path)).get("reported")
    if not isinstance(entries, list):
        raise ConfigError("a list `reported:` is needed.", where=path)
    found = []
    known = (*REFERENCE_KEYS, "judge")
    for place, entry in enumerate(entries, 1):
        where = f"{path}: entry {place}"
        if not isinstance(entry, Mapping):
            raise ConfigError(f"{shortly(entry)} is not a mapping.", where=where)
        for key in entry:
            if key not in known:
                raise ConfigError(f"unknown key {key!r}.", where=where, hint=did_you_mean(str(key), known))
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
                str(entry.get("judge") or ""),
            )
        )
    return found


def check_models_of(reported: Sequence[Reported], table: ReleaseTable, where: str) -> None:
    """ConfigError for a reported number of a model that no run is of: a misspelt name would be a column of its own."""
    ours = [column for column in table.columns if any(row[column].ours for row in table.rows.values() if column in row)]
    known = [column for column in table.columns if column in ours or column not in {each.model for each in reported}]
    for entry in reported:
        if entry.model not in known:
            what = f"{entry.source} reports a number of {entry.model!r}, but no run of the table has that name."
            raise ConfigError(what, where=where, hint=did_you_mean(entry.model, known))


def release_table(
    runs: Sequence[RecordedRun],
    reported: Sequence[Reported] = (),
    holes: Mapping[str, str] | None = None,
    order: Sequence[str] = (),
    mix_judges: bool = False,
    same_prompt: bool = False,
) -> ReleaseTable:
    """The numbers of all runs; runs of one model on different tasks share a column.

    holes: models without numbers, with the reason; each gets an empty column and a note.
    order: the names of the first columns. mix_judges: rank numbers of different judges together. same_prompt: rank only numbers
        of one prompt together; by default each model is ranked under its own.
    """
    table = ReleaseTable()
    runs = told_apart(runs)
    columns = [(_add_run(table, run), run) for run in runs]
    for column, run in columns:
        table.runs.setdefault(column, []).append(run)
    if any(run.results.run.sample for run in runs):
        table.notes.append("Sample data, not the benchmarks. Do not publish these numbers.")
    parts: dict[str, dict[str, None]] = {}
    for column, run in columns:
        asked = [name for name in run.spec["tasks"] if name in run.results.rows]
        less = [name for name in asked if name in run.results.run.in_part or run.results.rows[name].not_requested]
        covered = {name: coverage(run, name) for name in less}
        if in_part := [f"{each.part} documents of {name}" for name, each in covered.items() if each.part]:
            said = ", ".join(in_part)
            answers = any(each.answered for each in covered.values())
            parts.setdefault(f"{said}, not a benchmark result" if answers else f"no answer: {said}", {})[column] = None
    for said, of in parts.items():
        table.notes.append(f"{listed(of, 6)}: {said}.")
    for column, run in columns:
        table.notes += [f"{column}: {said}" for said in brief_warnings(run.results)]
        if blind := run.results.run.blind_said:
            table.notes.append(f"{column}: {blind}: not ranked with the others.")
        table.notes += [*_notes_on_judges(column, run), *notes_on_protocols(column, run)]
    for model, reason in (holes or {}).items():
        if _line(model) not in table.columns:
            table.columns.append(_line(model))
        table.notes.append(f"{_line(model)} has no scores: {reason}")
    places = {_line(model): place for place, model in enumerate(order)}
    table.columns.sort(key=lambda column: places.get(column, len(places)))
    for entry in reported:
        _add_reported(table, entry)
    table.notes += set_apart_by_judge(table, mix_judges)
    table.notes += set_apart(table, same_prompt)
    add_gains(table, columns)
    rank(table)
    add_average(table)
    table.parts += parts_below(table)
    if len(table.measured) > 2 and any(table.differences.values()) and not any(wins(table).values()):
        table.notes.append("No model is significantly ahead of another.")
    return table


def _notes_on_judges(column: str, run: RecordedRun) -> Iterator[str]:
    """Why a judged task has no number in a table of models: nobody judged it, or no verdict could be read."""
    for task in run.results.judges:
        row = run.results.rows.get(task, Scores(task, task))
        missing = row.ungraded["judge"].docs if "judge" in row.ungraded else 0
        if not judges_of(run.results, task):
            yield f"{column}, {row.alias}: not judged."
        elif missing and missing == row.scored:
            yield f"{column}, {row.alias}: no document has a verdict that could be read."


def coverage(run: RecordedRun, name: str) -> Coverage:
    """How many of the documents of a task or group a run answered, and why it has no number where it has none."""
    rows, in_part = run.results.rows, run.results.run.in_part
    leaves = [leaf for leaf in run.results.leaves(name) if leaf in rows] or [name]
    answered = sum(rows[leaf].n - rows[leaf].failed - rows[leaf].not_requested for leaf in leaves)
    documents = sum(in_part[leaf][1] if leaf in in_part else rows[leaf].n for leaf in leaves)
    has_number = any(isinstance(number.value, (int, float)) for number in rows[name].numbers)
    if has_number:
        said = ""
    elif answered == 0:
        said = "no answer"
    else:
        said = "not judged" if name in run.results.judges and not judges_of(run.results, name) else "no score"
    return Coverage(answered, documents, said)


def _mark_and_verdict(run: RecordedRun, name: str, key: MetricKey) -> tuple[str, str]:
    """A mark and a verdict on a number, from the features that have one; each "" where there is none."""
    found = [protocol_of_number(run, name, key), cell_mark(run, name, key)]
    return next((mark for mark, _ in found if mark), ""), "; ".join(verdict for _, verdict in found if verdict)


def _add_run(table: ReleaseTable, run: RecordedRun) -> str:
    """Adds a run's headline numbers, in a column of its own where its model's column has them already. Returns the column."""
    found: dict[tuple[str, str], ReleaseNumber] = {}
    by_category: dict[tuple[str, str], dict[tuple[str, str], ReleaseNumber]] = {}
    inside = _inside(run)
    for name, row in run.results.rows.items():
        task, measured = run.tasks.get(name), estimates(run, name)
        numbers = {each.key: each for each in row.numbers}
        keys = [key for key in (headline_keys(task) if task is not None else numbers) if key in numbers]
        main = run.results.headline(name)
        if keys and name in inside:
            table.inside[row.alias] = run.results.rows[inside[name]].alias
        elif keys:
            table.headlines.add((row.alias, (main.key if main and main.key in keys else keys[0]).label))
        for key in keys:
            each = numbers.get(key)
            if each is None or not isinstance(each.value, (int, float)) or not math.isfinite(each.value):
                continue
            known = measured.get(key)
            margin, interval = (known.margin, known.interval) if known else (None, None)
            place = (row.alias, key.label)
            protocol, verdict = _mark_and_verdict(run, name, key)
            found[place] = ReleaseNumber(
                float(each.value),
                margin,
                interval,
                flaw=", ".join(incomplete(row)),
                verdict=verdict,
                judges=judges_behind(run.results, name, key),
                protocol=protocol,
                set_apart=bool(run.spec.get("blind")),
                stderr=known.stderr if known else each.stderr,
                n=known.n if known else each.n,
                scale=(known.scale if known else None) or each.scale,
                run=run,
                name=name,
                key=key,
            )
            table.better[place] = run.results.better(name, each.metric)
            if name in run.results.categories and run.results.headline(name) == each:
                by_category[place] = _by_category(run, name, key)
    model = _line(run.model)
    column = model
    if any(column in table.rows.get(row, {}) for row in found):
        column = f"{model} ({_under(run)})"
        others = [number.run for place in found if (number := table.rows.get(place, {}).get(model)) is not None]
        if any(other is not None and _under(other) == _under(run) for other in others):  # its name would say nothing
            column = model
    for own in (run.folder.name, run.folder):
        if any(column in table.rows.get(row, {}) for row in found):
            column = _line(f"{model} ({own})")
    if column not in table.columns:
        table.columns.append(column)
    for place, parts in by_category.items():
        for part, release_number in parts.items():
            table.categories.setdefault(place, {}).setdefault(part, {})[column] = release_number
    for place, release_number in found.items():
        table.rows.setdefault(place, {})[column] = release_number
    for name, row in run.results.rows.items():
        covered = table.covered.setdefault(row.alias, {})
        if column not in covered or covered[column].said:  # of several runs, the one with a number
            covered[column] = coverage(run, name)
    flaws = dict.fromkeys((place[0], number.flaw) for place, number in found.items() if number.flaw)
    if flaws:
        table.notes.append(f"{column}, {listed([f'{task}: {flaw}' for task, flaw in flaws], 4)}.")
    return column


def _under(run: RecordedRun) -> str:
    """The protocol of a run, else its prompts."""
    protocol = run.results.protocol
    return protocol["name"] if protocol is not None else "/".join(sorted(set(run.prompt_keys.values())))


def _inside(run: RecordedRun) -> dict[str, str]:
    """{member: its group} of the groups that have a number of their own."""
    numbered = [name for name in run.results.groups if run.results.rows[name].numbers]
    return {member: group for group in numbered for member in run.results.members[group]}


def _by_category(run: RecordedRun, name: str, key: MetricKey) -> dict[tuple[str, str], ReleaseNumber]:
    """{(level, category): a task's number in it} of the categories that have one."""
    found = {}
    for level, categories in run.results.categories[name].items():
        for category, row in categories.items():
            if (e := run.tasks[name].number_of_category(level, category, row, key)) is not None:
                found[level, category] = ReleaseNumber(
                    e.value, e.margin, e.interval, set_apart=bool(run.spec.get("blind")), run=run, name=name, key=key
                )
    return found


def _line(name: str) -> str:
    """A model's name without line breaks and runs of spaces, by which columns are named and looked up."""
    return " ".join(name.split())


def _add_reported(table: ReleaseTable, entry: Reported) -> None:
    rows = [row for row in table.rows if row[0] == entry.task and entry.metric in (None, row[1], row[1].split(",")[0])]
    if not rows:
        known = [task for task, _ in table.rows] + [metric for _, metric in table.rows]
        hint = did_you_mean(entry.metric or entry.task, known)
        of = f" with the metric {entry.metric!r}" if entry.metric else ""
        raise ConfigError(f"the table has no row {entry.task!r}{of}, which {entry.source} reports.", hint=hint)
    if len(rows) > 1:
        metrics = ", ".join(metric for _, metric in rows)
        raise ConfigError(f"{entry.task!r} has several metrics: say which `metric` {entry.source} reports ({metrics}).")
    row = rows[0]
    numbers = table.rows[row]
    if any(found.ours and found.scale == (0.0, 1.0) for found in numbers.values()) and not 0 <= entry.value <= 1:
        hint = f"Write {entry.value / 100:g}." if 1 < entry.value <= 100 else ""
        what = (
            f"{entry.source} reports {entry.value:g} for {entry.model}, and {table.label(row)} is a share, from 0 to 1."
        )
        raise ConfigError(what, hint=hint)
    ours = numbers.get(entry.model)
    if ours is not None and ours.ours and (said := differently_judged(ours.judges, entry.judge)):
        was = f"{table.text(row, entry.value)} as reported ({entry.source})"
        table.notes.append(f"{entry.model}, {rows[0][0]}: {was}, {said}: not compared with ours.")
        return
    if ours is not None and ours.ours:
        off = ours.value - entry.value
        unit = table.unit(row)
        shown, apart = unit.text(entry.value), unit.signed(off)
        matches = abs(off) <= entry.tolerance + 1e-12
        ours.verdict = f"matches {shown}" if matches else f"off by {apart}"
        within = f" within {unit.text(entry.tolerance)}" if entry.tolerance else ""
        said = f"matches{within}" if matches else f"off by {apart}"
        table.notes.append(f"{entry.model}, {rows[0][0]}: {shown} as reported ({entry.source}); ours {said}.")
        return
    if entry.model not in table.columns:
        table.columns.append(entry.model)
    numbers[entry.model] = ReleaseNumber(entry.value, ours=False, judge=entry.judge)
    table.notes.append(f"{entry.model}, {rows[0][0]}: as reported, {entry.source}; not measured by us.")
