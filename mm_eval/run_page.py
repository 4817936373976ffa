"""report.html of a run: what was measured, its numbers and charts, and every sample.

    write_report(RecordedRun.read("runs/llava"))

Pictures are thumbnails; those in the folder's pack are in the page itself, the others are loaded from media/ beside it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

from mm_eval.config.tools import PYTHON
from mm_eval.engine.folder import RunFolder
from mm_eval.open_tasks import BARE
from mm_eval.request import RunRequest
from mm_eval.results.estimates import estimates
from mm_eval.results.findings import Diagnosis, as_command
from mm_eval.results.judged import judges_by_task
from mm_eval.results.number_text import unit_for, unit_of
from mm_eval.results.page import SampleRows, category_labels, page, pictures, sounds
from mm_eval.results.recorded import RecordedRun, RecordedTask, headline_keys, marks
from mm_eval.results.release_order import RELEASE_PAGE, read_release_order
from mm_eval.results.run_table import bounds_of_turns, merged_notes, unanswered_words
from mm_eval.scoring.answered_by import sentence as answer_names
from mm_eval.scoring.metrics.aggregation import mean
from mm_eval.scoring.metrics.paired import estimate
from mm_eval.scoring.sample_row import SampleRow
from mm_eval.values.errors import MMEvalError
from mm_eval.values.run_files import real_path
from mm_eval.values.types import Fields, JsonObject, Options
from mm_eval.values.words import counted, listed

if TYPE_CHECKING:
    from mm_eval.imported.theirs import OnPage

MOST_CATEGORIES = 40
MOST_NAMES = 4
LEAST, APART = 5, 2
"""Docs of a bar that counts, and how many powers of two such bars must be apart for a chart of lengths."""


class PageParts:
    """What stands above the samples of a run's page, collected while the samples are written."""

    def __init__(self, run: RecordedRun) -> None:
        self._findings, self._imported = Diagnosis(run), _imported(run)

    def look(self, task: str, row: SampleRow) -> None:
        """Shows a sample to each part."""
        self._findings.look(task, row)
        if self._imported:
            self._imported.look(task, row)

    def about(self) -> JsonObject:
        """{name of a part: its data}, after the last sample."""
        imported = {"imported": self._imported.about()} if self._imported else {}
        return {"findings": self._findings.about(), **imported}


def _imported(run: RecordedRun) -> OnPage | None:
    """Both scores of a run that was imported from another suite."""
    if run.results.imported is None:
        return None
    from mm_eval.imported.theirs import OnPage

    return OnPage(run)


def _protocol_notes(run: RecordedRun, name: str) -> list[str]:
    """The verdicts of a run under a protocol on one of its rows."""
    if run.results.protocol is None:
        return []
    from mm_eval.protocols.release_notes import verdict_notes

    return verdict_notes(run, name)


def write_report(run: RecordedRun, against: RecordedRun | None = None) -> Path:
    """Writes report.html into the run's folder and returns its path.

    against: another run; its answers are shown beside each sample, so that flipped docs can be inspected.
    """
    parts = PageParts(run)
    rows = SampleRows(run, [against] if against else [], look=parts.look)
    beside = ["/".join(against.folder.parts[-2:])] if against else []
    outside = 0  # pictures that are not in the page itself

    def counted() -> Iterator[tuple[str, str]]:
        nonlocal outside
        if run.make_thumbnails is not None:
            run.make_thumbnails(run, rows.digests)
        for digest, address in pictures(rows.digests, [run.folder], run.folder):
            outside += not address.startswith("data:")
            yield digest, address
        yield from sounds(rows.sounds, [run.folder], run.folder)

    def about() -> JsonObject:
        where = {"where": str(run.folder), "outside": outside, **_of_release(run)}
        return {**about_run(run, rows.categories, parts, beside), **where}

    lines = page(title_of(run), "run.js", rows, counted, about)
    return RunFolder(run.folder).write_lines("report.html", lines)


def write_missing_reports(runs: Sequence[RecordedRun]) -> None:
    """Writes the pages of runs that have none, such as one that was interrupted: the page of their release links to them.

    None where the run was made without a page, or its folder can't be written.
    """
    for run in runs:
        if run.request.get("report") is not False and not (run.folder / "report.html").exists():
            with suppress(OSError, MMEvalError):
                write_report(run)


def _of_release(run: RecordedRun) -> dict[str, object]:
    """The links to the page of the release that a run belongs to, and through it to its other models.

    Whether those have a page is known when the release has ended, and its page leads on to them.
    """
    folder = real_path(run.folder)
    if folder.name not in (models := read_release_order(folder.parent)):
        return {}
    others = {
        name: f"../{RELEASE_PAGE}#?{urlencode({'to': name})}" for own, name in models.items() if own != folder.name
    }
    return links_of_release(f"../{RELEASE_PAGE}", others)


def links_of_release(back: str, others: Mapping[str, str]) -> dict[str, object]:
    """What a run's page knows of its release. back: the link to the release's page. others: to other models' pages, by name."""
    return {"back": back, "siblings": [{"name": name, "link": link} for name, link in others.items()]}


def title_of(run: RecordedRun) -> str:
    """The title of a run's page."""
    return f"{run.model}: {', '.join(run.spec['tasks'])}"


def about_run(
    run: RecordedRun, categories: Mapping[str, Mapping[str, Sequence[int]]], parts: PageParts, beside: Sequence[str]
) -> dict[str, object]:
    """The part of a run's page above its samples, from what was collected while they were written.

    categories, parts: of all samples. beside: the names of the runs whose answers stand beside each sample.
    """
    return {**_overview(run, categories), **parts.about(), "beside": list(beside)}


def _overview(run: RecordedRun, categories: Mapping[str, Mapping[str, Sequence[int]]]) -> dict[str, object]:
    """The part above the samples: what was measured, the table, and the charts of each task."""
    about = run.results.run
    return {
        "kind": "run",
        "model": run.model,
        "adapter": about.model_name,
        "sample": bool(about.sample),
        "datasets": about.sample,
        "system": about.system_instruction,
        "chat": about.chat_template,
        "seed": about.seed,
        "limit": about.limit,
        **_spent(run),
        "version": about.version,
        "libraries": about.facts.get("libraries", {}),
        "answered_by": answer_names(about.answered_by),
        "prompts": about.prompts,
        "shots": [str(run.results.shots[name]) for name in run.spec["tasks"] if name in run.results.shots],
        "asked": list(_asked(run)),
        "graders": {
            name: [{"name": grader.name, "said": grader.sentence()} for grader in graders]
            for name, graders in judges_by_task(run.results).items()
        },
        "warnings": list(run.results.oddities),
        "table": list(_table(run)),
        "notes": list(notes_of(run)),
        "tasks": [_task_charts(run, task, categories.get(task.name, {})) for task in run.tasks.values()],
    }


def _asked(run: RecordedRun) -> Iterator[tuple[str, str]]:
    """What decided the answers beside the prompts, as (name, text): settings that several tasks share are said once."""
    with suppress(MMEvalError):  # of a run of another version
        request = replace(RunRequest.from_json(run.request), output_path=None)
        yield "command", as_command(request)
    settings: dict[str, dict[str, list[str]]] = {"generation": {}, "examples": {}, "data": {}}
    for name, task in run.spec["tasks"].items():
        stated = task.get("config", {}).get("stated", {})
        said = {
            "generation": in_words(stated.get("generation_kwargs") or {}),
            "examples": str(run.results.shots.get(name, 0)),
            "data": _data(stated),
        }
        for what, text in said.items():
            settings[what].setdefault(text, []).append(name)
    for what, texts in settings.items():
        for text, names in texts.items():
            yield (what if len(texts) == 1 else f"{what} of {listed(names, 3)}"), text or "none stated"
    for bound in bounds_of_turns(run.results):
        yield "turns", bound
    if (batch := run.request.get("batch_size")) is not None:
        yield "batch size", str(batch)
    for name, docs in run.spent.items():
        if docs:
            first, last = min(each.at for each in docs.values()), max(each.at for each in docs.values())
            prompts, answers = (sum(each[place] for each in docs.values()) for place in (0, 1))
            span = f", {last - first:,.1f} s from the first answer to the last" if first else ""
            seconds = [each.seconds for each in docs.values() if each.seconds]
            each = f", {sum(seconds) / len(seconds):,.2f} s from a request to its answer on average" if seconds else ""
            yield f"spent on {name}", f"{prompts:,} tokens in prompts, {answers:,} in answers{span}{each}"


def in_words(settings: Options) -> str:
    """Settings as one line: "max_new_tokens=16, do_sample=false"."""
    return ", ".join(f"{name}={json.dumps(value, ensure_ascii=False)}" for name, value in settings.items())


def _data(stated: Mapping[str, Any]) -> str:
    """The data set of a task with its revision and split."""
    path, kwargs = stated.get("dataset_path"), stated.get("dataset_kwargs")
    if not path:
        return ""
    revision = kwargs.get("revision") if isinstance(kwargs, Mapping) else None
    split = next((stated[key] for key in ("test_split", "validation_split") if stated.get(key)), None)
    name = stated.get("dataset_name")
    parts = [
        str(path) + (f"@{revision}" if revision else ", no revision stated"),
        name and str(name),
        split and f"split {split}",
    ]
    return ", ".join(filter(None, parts))


def _spent(run: RecordedRun) -> dict[str, object]:
    """When and where the run was made and what it took; None for what it did not record."""
    about, used = run.results.run, run.results.run.usage
    started = about.answering.get("started")
    date = datetime.fromtimestamp(started, UTC).strftime("%Y-%m-%d %H:%M UTC") if started else None
    model_args = run.request.get("model_args", {})
    return {
        "date": date,
        "seconds": about.answering.get("seconds"),
        "processes": about.facts.get("processes"),
        "usage": {name: used[name] for name in ("prompt_tokens", "completion_tokens") if used.get(name)},
        "cost": _cost(about.cost),
        "device": about.facts.get("device") or run.request.get("device") or model_args.get("device"),
        "dtype": about.model.get("dtype"),
        "parameters": about.facts.get("parameters"),
    }


def _cost(cost: Fields) -> str | None:
    """What the answers and the grades have cost, and the day of the price; None where no price is known."""
    said = []
    if isinstance(cost.get("dollars"), float | int):
        date = (cost.get("price") or {}).get("date")
        said.append(f"${cost['dollars']:,.4f}" + (f" (prices of {date})" if date else ""))
    for name, of_judge in (cost.get("judges") or {}).items():
        said.append(f"judge {name} ${of_judge['dollars']:,.4f}")
    return ", ".join(said) or None


def _table(run: RecordedRun) -> Iterator[dict[str, object]]:
    """The rows of results.json, each number with its 95% interval where there is one."""
    for name, row in run.results.rows.items():
        numbers, known = [], estimates(run, name)
        for number in row.numbers:
            found = known.get(number.key)
            numbers.append(
                {
                    "metric": number.metric,
                    "filter": number.filter,
                    "value": number.value,
                    "share": unit_of(found or number, metric=number.metric).is_percent,
                    "interval": list(found.interval) if found and found.interval else None,
                    "few": bool(found and found.few),
                    "exact": bool(found and found.exact),
                }
            )
        names = ("n", "failed", "not_requested", "filtered", "refused", "truncated", "unparsed", "cut")
        counts = {count: getattr(row, count) for count in names}
        main = run.results.main_numbers(name) or row.numbers[:1]
        yield {
            "name": name,
            "alias": row.shown or row.alias,
            "group": name in run.results.members,
            "numbers": numbers,
            "main": [str(number.key) for number in main],
            "better": row.better,
            "warnings": row.warnings,
            **counts,
            "ungraded": sum(row.ungraded[grader].docs for grader in row.graders),
        }


def notes_of(run: RecordedRun) -> Iterator[str]:
    """The notes below the table; one that several rows or numbers have comes once."""
    of: dict[str, list[str]] = {}
    for name, row in run.results.rows.items():
        own = merged_notes(row.notes, [str(number.key) for number in row.numbers])
        made = (_protocol_notes, _missing_notes, _ungraded_notes, _sandbox_notes)
        for note in (*(said for notes in made for said in notes(run, name)), *own):
            of.setdefault(note, []).append(row.shown or row.alias)
    yield from (f"{listed(names, MOST_NAMES)}: {note}" for note, names in of.items())


def _missing_notes(run: RecordedRun, name: str) -> Iterator[str]:
    """How many docs have no answer, by kind, and each number without them."""
    row = run.results.rows[name]
    if not (said := unanswered_words(row)):
        return
    units = {number.key: unit_of(number) for number in row.numbers}
    found = ", ".join(f"{each.key.label} {units[each.key].text(each.value)}" for each in row.without_unanswered)
    yield f"{said} have no answer and count as wrong. Without them: {found}."


def _ungraded_notes(run: RecordedRun, name: str) -> Iterator[str]:
    """How many documents have no verdict, and between which ends the score would lie with them."""
    row = run.results.rows[name]
    for left in (row.ungraded[grader] for grader in row.graders[:1]):
        if left.bounds is not None:
            metric = left.metric or next((each.metric for each in run.results.main_numbers(name)), "")
            scales = [number.scale for number in row.numbers if number.metric == metric]
            low, high = map(unit_for(metric, left.bounds, scales=scales).text, left.bounds)
            docs = counted(left.docs, "document has", "documents have")
            ends = f"{low} with the lowest verdict on them, {high} with the highest"
            yield f"{docs} no verdict and {'is' if left.docs == 1 else 'are'} left out. The score would be {ends}."


def _sandbox_notes(run: RecordedRun, name: str) -> Iterator[str]:
    """Whether code of the model was run without walls."""
    stated = (run.spec["tasks"].get(name) or {}).get("config", {}).get("stated", {}).get("tools")
    use = stated.get("use", ()) if isinstance(stated, Mapping) else stated or ()
    if (run.spec.get("sandbox") or {}).get("kind") == "none" and PYTHON in use:
        yield f"{BARE}."


def _task_charts(run: RecordedRun, task: RecordedTask, categories: Mapping[str, Sequence[int]]) -> dict[str, object]:
    """The bars of a task: the numbers that are parts of another one (MME's categories), else its mean in each category."""
    levels, tokens = list(_levels(run, task)), run.tokens.get(task.name, {})
    headlines = headline_keys(task)
    parts = {key.label: task.number(key) for key in task.values if key not in headlines}
    by = "By category"
    if not parts and headlines and not levels:
        ours = [key for key in headlines if "@" not in key.metric] or headlines  # the first grader's
        key = max(ours, key=lambda key: len(task.values[key]))
        by = f"{key.label} by category"
        if 1 < len(categories) <= MOST_CATEGORIES:
            having = {name: [i for i in ids if i in task.values[key]] for name, ids in sorted(categories.items())}
            parts = {name: task.number(key, ids) for name, ids in having.items()}
    having_values = {name: e for name, e in parts.items() if e is not None}
    share = unit_of(*having_values.values()).is_percent
    drawn = [
        {
            "name": name,
            "label": name if name in categories else None,
            "value": e.value,
            "share": share,
            "interval": list(e.interval) if e.interval else None,
            "n": e.n,
        }
        for name, e in having_values.items()
    ]
    return {"name": task.name, "by": by, "parts": drawn, "levels": levels, "sizes": list(right_by_size(task, tokens))}


def _levels(run: RecordedRun, task: RecordedTask) -> Iterator[dict[str, object]]:
    """The bars of each level of declared categories: the task's headline number in each category."""
    levels = run.results.categories.get(task.name, {})
    headline = run.results.headline(task.name) if levels else None
    if headline is None:
        return
    share = unit_of(headline).is_percent
    for level, found in levels.items():
        parts = []
        for name, row in found.items():
            e = task.number_of_category(level, name, row, headline.key)
            [label] = category_labels({each: [name] if each == level else [] for each in levels})
            interval = list(e.interval) if e and e.interval else None
            value = e.value if e else None
            parts.append(
                {"name": name, "label": label, "value": value, "share": share, "interval": interval, "n": row.n}
            )
        yield {"by": f"{headline.key.label} by {level}", "parts": parts}


def right_by_size(task: RecordedTask, tokens: Mapping[int, int]) -> Iterator[dict[str, object]]:
    """A chart with a bar for lengths from a power of two to the next: of tokens where they are known, else of characters.

    tokens: of each doc's first answer. Only docs that are right or wrong count; no chart where the lengths differ too little
    to say something, as those of "yes" and "no" do.
    """
    right: dict[int, bool] = {}
    for unit, sizes in (("tokens", tokens), ("characters", task.sizes.get("characters", {}))):
        lengths = [size.bit_length() for size in sizes.values()]
        if not lengths or max(lengths) - min(lengths) < APART:
            continue
        right = right or {doc_id: mark for doc_id, mark in marks(task).items() if mark is not None}
        bins: dict[int, list[int]] = {}
        for doc_id, size in sizes.items():
            if doc_id in right:
                bins.setdefault(size.bit_length(), []).append(doc_id)
        held = [place for place, doc_ids in bins.items() if place and len(doc_ids) >= LEAST]
        if held and max(held) - min(held) >= APART:
            parts = [_part(task, right, place, bins[place]) for place in sorted(bins)]
            yield {"by": f"Share of right answers by {unit} of the answer", "unit": unit, "parts": parts}
            return


def _part(task: RecordedTask, right: Mapping[int, bool], place: int, doc_ids: list[int]) -> dict[str, object]:
    """A bar: the lengths from `first` to `last`, their share of right answers with its 95% interval."""
    first, last = (1 << place - 1, (1 << place) - 1) if place else (0, 0)
    found = estimate(mean, [float(right[i]) for i in doc_ids], [task.clusters[i] for i in doc_ids])
    name = str(first) if first == last else f"{first:,} to {last:,}"
    interval = list(found.interval) if found.interval else None
    sizes = {"first": first, "last": last, "n": len(doc_ids)}
    return {"name": name, "value": found.value, "share": True, "interval": interval, **sizes}
