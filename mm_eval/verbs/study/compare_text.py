"""Comparisons of runs with a first one: as text for the terminal, as JSON for programs, and as a page with every sample.

The rows of a table are built once (`_rows`); the terminal and the page show them in two layouts.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import ClassVar, Self

from mm_eval.results.changes import Change
from mm_eval.results.number_text import EXACT_NOTE, IN_PERCENT, SAID_OF_VISIBLE, SMALLEST_VISIBLE, of_scale, p_text
from mm_eval.results.page import about_differences, run_fact
from mm_eval.results.recorded import RecordedRun, told_apart
from mm_eval.results.run_table import brief_warnings, of_repeats
from mm_eval.results.table import Cell, Column, DocCount, Row, Table, fitted, left_out, to_page, to_text
from mm_eval.values.safe import in_line, json_safe
from mm_eval.values.types import Number
from mm_eval.values.words import counted
from mm_eval.values.words import listed as listed_names
from mm_eval.verbs.study.cells import change_json, difference_cells, reach, with_margin
from mm_eval.verbs.study.compare import Comparison, Kinds, count_kinds, is_of_repeats, more_docs, otherwise, verdict
from mm_eval.verbs.study.gains import sentences
from mm_eval.verbs.study.gains_table import gains_table
from mm_eval.verbs.study.task_variants import VariantRun
from mm_eval.verbs.study.variants import Variants
from mm_eval.verbs.study.variants_text import write_samples

HINT = (
    "A positive difference favours the later run (for ↓ metrics, the earlier one). Only documents scored in both runs count; "
    "questions about one picture form a cluster. * is significant at 5%, corrected (Holm) for the main metrics of all runs; the "
    "other metrics are corrected on their own. Shares are in percent. "
    f"{SAID_OF_VISIBLE}."
)


LONGEST_NAME, WIDEST_HEADING = 40, 14
"""Characters of a model's name in sentences, and in the heading of a column."""

PICTURES = {"thumbnails": "thumbnails/", "full": "pictures/", "listed": True}
"""Where the pictures of a site are, seen from its first page."""


class Runs(Variants):
    """Recorded runs of any models: A, B, C..."""

    noun: ClassVar[str] = "run"
    title: ClassVar[str] = "{models}"

    @classmethod
    def compared_with(cls, first: RecordedRun, compared: Sequence[Comparison]) -> Self:
        """Runs that are compared with the first."""
        names = [chr(ord("B") + n) if n < 25 else f"run {n + 2}" for n in range(len(compared))]
        others = dict(zip(names, compared, strict=True))
        first, *runs = told_apart([first, *(other.run for other in compared)])
        return cls(first.model, {"A": first, **dict(zip(names, runs, strict=True))}, others)

    @property
    def called(self) -> dict[str, str]:
        """What each run is called in sentences: its model, or its letter where two models have one name or one is long."""
        names = {letter: run.model for letter, run in self.runs.items()}
        fits = len({*names.values()}) == len(names) and max(map(len, names.values())) <= LONGEST_NAME
        return names if fits else {letter: letter for letter in names}

    def texts(self) -> dict[str, str]:
        """Each run's model and prompts."""
        return {
            letter: f"{run.model}, prompt {'/'.join(sorted(set(run.prompt_keys.values())))}"
            f"{', sample data' if run.results.run.sample else ''}{_variants_in(run)}"
            for letter, run in self.runs.items()
        }


def render(
    first: RecordedRun,
    compared: Sequence[Comparison],
    listed: int = 10,
    page: Path | None = None,
    every: bool = False,
    width: int | None = None,
) -> str:
    """All comparisons: first how the requests differ, then the numbers, a verdict, and the docs that flipped.

    listed: flipped docs to list each way. page: the page of this comparison, to which the docs link; else they link to each
    run's own report. every: all numbers, not each benchmark's main one. width: of the terminal; None for any.
    """
    found = Runs.compared_with(first, compared)
    called = found.called
    parts = [said for comparison in compared for said in sentences(comparison.gains)]
    parts += filter(None, (in_a_line(comparison, called, letter) for letter, comparison in found.compared.items()))
    parts += [""] if parts else []
    parts += [f"{called[letter]}: {found.runs[letter].folder} ({text})" for letter, text in found.texts().items()]
    of_folder = defaultdict[Path, list[str]](list)
    for letter, run in found.runs.items():
        of_folder[run.folder.resolve()].append(letter)
    for letters in of_folder.values():  # one folder may be two of them: its tasks and their variants
        run = found.runs[letters[0]]
        stated = run.stated if isinstance(run, VariantRun) and run.stated else run
        named = " and ".join(called[letter] for letter in letters)
        parts += [f"warning: {named}: {text}" for text in brief_warnings(stated.results)]
    for letter, comparison in found.compared.items():
        if comparison.differs:
            said = _in_brief(comparison.differs)
            parts += [
                "",
                f"{called['A']} and {called[letter]} were asked differently:",
                *(f"  {text}" for text in said),
            ]
    for letter, comparison in found.compared.items():
        unlike = list(_unlike(comparison))
        changes = [change for change in unlike if every or change.main or _is_of_repeats(change, unlike)]
        hidden = len(unlike) - len(changes)
        table, out = fitted(Table(_terminal_columns(letter, called, every), _rows(changes, letter)), width)
        parts += ["", *to_text(table).split("\n"), "", *left_out(out)]
        parts += [f"Not shown: {counted(hidden, 'more metric')}. Use --categories"] if hidden else []
        parts += [
            *_below(comparison, changes, called[letter], called["A"], above=True),
            *_flipped(comparison, changes, listed, page),
        ]
    return "\n".join(map(in_line, parts))


def _is_of_repeats(change: Change, changes: Sequence[Change]) -> bool:
    """Whether a number is what `--repeats` adds to the main one of its row."""
    row = [each for each in changes if each.task == change.task and each.category is None]
    return change.category is None and change.key in of_repeats(
        [each.key for each in row], [each.key for each in row if each.main]
    )


def _variants_in(run: RecordedRun) -> str:
    """Which tasks of a run stand in the rows of others: ", vstar is vstar_tools here"; empty where none do."""
    own = run.own if isinstance(run, VariantRun) else {}
    named = [f"{plain} is {name}" for plain, name in own.items()]
    return f", {listed_names(named, 6)} here" if named else ""


MOST_PROMPTS = 2
"""Pairs of prompts whose words the terminal quotes; the page and JSON have all."""


def _in_brief(differs: Sequence[str]) -> list[str]:
    """How two runs differ, with many prompts in one line."""
    start = "the prompt differs on "
    prompts = [said.removeprefix(start).partition(": ") for said in differs if said.startswith(start)]
    if len(prompts) <= MOST_PROMPTS:
        return list(differs)
    blocks = dict.fromkeys(how for _, _, how in prompts)
    names = [name for task, _, _ in prompts for name in task.split(", ")]
    rest = [said for said in differs if not said.startswith(start)]
    words = f"{start}{counted(len(names), 'task')} ({listed_names(names, 6)}), in {len(blocks)} ways"
    return [*rest, f"{words}: `mm-eval compare --html FILE` and --format json list them"]


def write_comparison(
    path: Path,
    first: RecordedRun,
    compared: Sequence[Comparison],
    back: str | None = None,
    pages: Mapping[Path, str] | None = None,
) -> Path:
    """Writes the page and returns its path.

    back: the link to the page of the release that it belongs to. pages: links to the runs' pages by run folder, of a site, whose
    pictures are in folders beside the page.
    """
    found = Runs.compared_with(first, compared)
    title = " and ".join(dict.fromkeys(run.model for run in found.runs.values()))

    def about() -> dict[str, object]:
        known = _about(path.parent, found, pages or {})
        return {**known, "back": back, **({"pictures": PICTURES} if pages else {})}

    return write_samples(path, title, [found], about)


def as_json(first: RecordedRun, compared: Sequence[Comparison]) -> str:
    """The comparisons as a JSON document."""
    rows = [
        {
            "run": str(comparison.run.folder),
            "differs": comparison.differs,
            "changed_answers": {task: {"changed": a, "docs": n} for task, (a, n) in comparison.answers.items()},
            "kinds": {
                task: {way: count_kinds(kinds) for way, kinds in zip(("first", "second"), both, strict=True)}
                for task, both in comparison.kinds.items()
            },
            "changes": [change_json(change) for change in comparison.changes],
            **({"variants": comparison.said} if comparison.said else {}),
            **_gains_json(comparison),
        }
        for comparison in compared
    ]
    return json_safe(json.dumps({"first": str(first.folder), "compared": rows}, indent=2, ensure_ascii=False))


def _tools(comparison: Comparison) -> list[str]:
    """The tools that a run has more than the first one; none where the first has them."""
    return list(dict.fromkeys(gain.what for gain in comparison.gains)) if isinstance(comparison.run, VariantRun) else []


def _gains_json(comparison: Comparison) -> dict[str, object]:
    """The pairs of tasks without and with tools; empty where there are none."""
    if not comparison.gains:
        return {}
    return {"sentence": " ".join(sentences(comparison.gains)), "gains": [gain.to_json() for gain in comparison.gains]}


def _unlike(comparison: Comparison) -> list[Change]:
    """The changes without those of numbers that are another form of one of them."""
    return [change for change in comparison.changes if change.copy_of is None]


def _rows(changes: Sequence[Change], letter: str) -> list[Row]:
    """A row for each change, with the cells of both layouts."""
    rows, last = [], ""
    drawn_together: dict[tuple[str, bool, str], list[Number]] = {}

    def line(change: Change) -> tuple[str, bool, str]:
        """What is drawn on lines of one length: the shares of a task, and points of one kind."""
        points = max(abs(change.first.value), abs(change.second.value)) > 1
        return change.task, change.headline, change.key.label if points and change.headline else ""

    levels = {(change.task, change.category[0]) for change in changes if change.category}
    several = {task: sum(task == other for other, _ in levels) > 1 for task, _ in levels}
    for change in changes:
        drawn_together.setdefault(line(change), []).append(change.difference)
    for change in changes:
        found, flips = change.difference, change.flips
        unit = change.unit
        metric = change.key.label
        if change.category is not None:
            metric = f"  {': '.join(change.category) if several[change.task] else change.category[1]}"
        cells: dict[str, Cell] = {
            "task": change.task if change.task != last else "",
            "metric": metric,
            "name": change.task if change.main else f"  {metric}" if change.task == last else f"{change.task} {metric}",
            "metric and direction": metric + (" ↓" if change.better is False else ""),
            "first": with_margin(change.first, unit),
            "second": with_margin(change.second, unit),
            "A": unit.text(change.first.value),
            "other": unit.text(change.second.value),
            **difference_cells(change, found, unit, reach(drawn_together[line(change)])),
            "p": p_text(found.p_value),
            SMALLEST_VISIBLE: of_scale(change.smallest_visible, change.first.scale, unit),
            "docs": str(found.n),
            "lost": "",
            "gained": "",
            "McNemar p": "",
        }
        if flips is not None:
            for way, doc_ids in (("lost", flips.lost), ("gained", flips.gained)):
                said = f"{way} by {letter} in {change.task} ({metric.strip()})"
                cells[way] = DocCount([(change.task, doc_id) for doc_id in doc_ids], said)
            cells["McNemar p"] = p_text(flips.p_value)
        rows.append(Row(cells, part=not change.headline, marked=change.told_apart))
        last = change.task
    return rows


def in_a_line(comparison: Comparison, called: Mapping[str, str], letter: str) -> str:
    """The verdict on one run: where it is better and worse than the first one, and where neither; empty without a number."""
    changes = [change for change in _unlike(comparison) if change.main and change.category is None]
    changes = changes or [change for change in _unlike(comparison) if change.headline and change.better is not None]
    if not changes:
        return ""
    of: dict[str, list[str]] = {}
    for change in changes:
        unit, found = change.unit, change.difference
        name = (
            change.task
            if sum(each.task == change.task for each in changes) == 1
            else f"{change.task} ({change.key.label})"
        )
        if change.told_apart:
            amount = f"{unit.signed(found.value)} {unit.spread(found)}".rstrip()
            way = "higher" if change.better is None else "better" if (found.value > 0) == change.better else "worse"
            way = "lower" if change.better is None and found.value < 0 else way
            of.setdefault(way, []).append(f"{name} ({amount}, p {p_text(change.corrected, '= ')})")
        else:
            of.setdefault("", []).append(name)
    parts = [f"{way} on {listed_names(of[way], 6)}" for way in ("better", "worse", "higher", "lower") if way in of]
    if same := of.get(""):
        parts.append(f"no significant difference on {listed_names(same, 6)}")
    return f"{called[letter]} against {called['A']}: {'; '.join(parts)}."


def _heading(name: str) -> str:
    """A name as the heading of a column."""
    return name if len(name) <= WIDEST_HEADING else f"{name[:6]}…{name[-7:]}"


def _terminal_columns(letter: str, called: Mapping[str, str], every: bool) -> list[Column]:
    """The layout of the terminal: where there is no room, the difference with its interval stays."""
    heads = [_heading(called[each]) for each in ("A", letter)]
    heads = heads if heads[0] != heads[1] else ["A", letter]
    difference = f"{letter} - A" if heads == ["A", letter] else "difference"
    return [
        *([Column("task", "text", "name")] if every else [Column("task", "text"), Column("metric", "text", spare=2)]),
        Column(heads[0], cell="A"),
        Column(heads[1], cell="other"),
        Column(difference, cell="difference"),
        Column("95% interval"),
        Column("p (Holm)", spare=1),
        Column("documents", cell="docs", spare=3),
        Column("lost", spare=4),
        Column("gained", spare=4),
        Column(SMALLEST_VISIBLE, spare=5),
        Column("p", spare=6),
        Column("McNemar p", spare=6),
        Column(f"{heads[0]} ± 95%", cell="first", spare=7),
        Column(f"{heads[1]} ± 95%", cell="second", spare=7),
    ]


def _page_columns(letter: str, called: Mapping[str, str]) -> list[Column]:
    named = called[letter] != letter
    return [
        Column("task", "text"),
        Column("metric", "text", "metric and direction"),
        Column("difference" if named else f"{letter} − A", cell="difference"),
        Column("95% interval"),
        Column("", "text", "drawing"),
        Column(called["A"], cell="first"),
        Column(called[letter], cell="second"),
        *map(Column, ("p (Holm)", "lost", "gained")),
        Column("McNemar p", spare=1),
        Column("p", spare=1),
        Column(SMALLEST_VISIBLE, spare=1),
        Column("documents", cell="docs", spare=1),
    ]


def _about(folder: Path, found: Runs, pages: Mapping[Path, str]) -> dict[str, object]:
    """The part of the page above the samples. pages: links to the runs' pages, of those that are not in their folders."""
    tools = {letter: listed_names(_tools(comparison), 3) for letter, comparison in found.compared.items()}
    called = found.called
    labels = [
        (run.model if called[letter] != letter else f"{letter}: {run.model}")
        + (f" with {tools[letter]}" if tools.get(letter) else "")
        for letter, run in found.runs.items()
    ]
    facts = [
        run_fact(called[letter], found.runs[letter], folder, text, pages.get(found.runs[letter].folder))
        for letter, text in found.texts().items()
    ]
    title = f"{', '.join(labels[1:])} against {labels[0]}"
    runs = {called[letter]: run for letter, run in found.runs.items()}
    about = about_differences("compare", title, runs, facts, labels[0], labels[1:])
    sections = []
    for letter, comparison in found.compared.items():
        name, first = called[letter], called["A"]
        if comparison.differs:
            about["differs"].append({"title": f"{first} and {name} were asked differently", "said": comparison.differs})
        table = Table(_page_columns(letter, called), _rows(_unlike(comparison), name))
        headlines = [change for change in _unlike(comparison) if change.headline]
        said = list(_below(comparison, headlines, name, first))
        summary = " ".join(sentences(comparison.gains)) or said_of_all(comparison, name, first)
        section = {"title": f"{name} against {first}", "summary": summary, "tables": [to_page(table)], "said": said}
        if gains := [("", gain) for gain in comparison.gains]:
            section["below"] = [{"title": "What tools take", "table": to_page(gains_table(gains, numbers=False))}]
        sections.append(section)
    return {**about, "sections": sections, "hint": HINT}


def said_of_all(comparison: Comparison, letter: str, other: str) -> str:
    """On how many benchmarks' main numbers a run is ahead of the first one, behind, or neither, by the corrected tests."""
    changes = [
        change for change in _unlike(comparison) if change.main and change.better is not None and not change.category
    ]
    if not changes:
        return ""
    apart = [change for change in changes if change.told_apart]
    ahead = sum((change.difference.value > 0) == change.better for change in apart)
    behind, same = len(apart) - ahead, len(changes) - len(apart)
    if not apart:
        every = changes[0].task if len(changes) == 1 else f"any of {len(changes)} benchmarks"
        return f"{letter} and {other} show no significant difference on {every}."
    first, second, count = ("ahead of", ", behind on {}", ahead) if ahead else ("behind", "", behind)
    of = changes[0].task if len(changes) == 1 else f"{count} of {len(changes)} benchmarks"
    parts = [f"{letter} is {first} {other} on {of}"]
    parts += [second.format(behind)] if behind else []
    parts += [f"; {counted(same, 'shows', 'show')} no significant difference"] if same else []
    return "".join(parts) + "."


def _below(
    comparison: Comparison, changes: Sequence[Change], letter: str, base: str = "A", above: bool = False
) -> Iterator[str]:
    """Verdicts on the headline numbers, and what limits them. changes: those of the table.

    above: the significant differences stand in a line above the table, and the table has the others: a sentence says only more.
    """
    headlines, needed = [change for change in changes if change.headline], list[str]()
    for change in headlines:
        several = sum(each.task == change.task for each in headlines) > 1
        if not above or (change.told_apart and not change.main) or change.difference.p_value is None:
            yield verdict(change, letter, base)
        elif (docs := more_docs(change)) is not None and not change.told_apart:
            label = f"{change.task} ({change.key.label})" if several else change.task
            needed.append(f"{label} about {docs:,} ({change.difference.n or 0:,} now)")
        elif change.told_apart or not change.difference.value:
            yield from filter(None, [otherwise(change).strip()])
        else:
            yield verdict(change, letter, base)
    if needed:
        yield f"Documents needed to show a difference as large as seen: {', '.join(needed)}"
    yield from comparison.said
    if any(change.unit.is_percent for change in changes):
        yield IN_PERCENT
    if any(change.category for change in changes):
        yield "p (Holm) of categories is corrected for the categories alone"
    if any(e.exact for c in changes for e in (c.first, c.second, c.difference)):
        yield EXACT_NOTE
    few = [c for c in changes if c.headline and c.difference.few and c.difference.interval and not c.difference.exact]
    for change in few:
        found = change.difference
        changed = "" if found.rarer is None else f" and {counted(found.rarer, 'document')} that changed"
        are = "is" if found.clusters == 1 and not changed else "are"
        few_are = f"{counted(found.clusters or 0, 'cluster')}{changed} {are} few"
        yield f"note: {change.task} ({change.key.metric}): {few_are}: its interval may be too short"
    reworded = [f"{task} {some:,} of {docs:,}" for task, (some, docs) in comparison.answers.items() if some]
    yield f"Answer text differs in: {', '.join(reworded) or 'no document'}"
    for task, (first, second) in comparison.kinds.items():
        of = counted(comparison.answers[task][1], "document")
        yield f"{task}: of {of} in both, {base} has {_said(first)}; {letter} has {_said(second)}"
        flipped = [each for each in changes if each.task == task and each.headline and each.flips]
        for change in (each for each in flipped if not is_of_repeats(each, flipped)):
            yield from _flipped_by_kind(change, first, second, letter)


def _said(kinds: Kinds) -> str:
    """How many docs are filtered, refused and truncated, in words."""
    return (
        ", ".join(f"{count:,} {kind}" for kind, count in count_kinds(kinds).items())
        or "none filtered, refused or truncated"
    )


def _flipped_by_kind(change: Change, first: Kinds, second: Kinds, letter: str) -> Iterator[str]:
    """How many of the docs that flipped were filtered, refused or truncated in the run that has them wrong."""
    if change.flips is None:
        return
    metric = change.key.label
    for way, docs, kinds, wrong in (
        ("lost", change.flips.lost, second, letter),
        ("gained", change.flips.gained, first, "A"),
    ):
        if found := {doc_id: kinds[doc_id] for doc_id in docs if doc_id in kinds}:
            yield f"  of the {counted(len(docs), 'document')} {way} in {metric}, in {wrong}: {_said(found)}"


def _flipped(comparison: Comparison, changes: Sequence[Change], listed: int, page: Path | None) -> Iterator[str]:
    """The docs that flipped each way in each headline number, with a link to the first of them."""
    flipped = [each for each in changes if each.headline and each.flips]
    for change in flipped if listed else ():
        if change.flips is None or is_of_repeats(change, flipped):
            continue
        metric = change.key.metric
        for way, docs in (("lost", change.flips.lost), ("gained", change.flips.gained)):
            if docs:
                shown = ", ".join(map(str, docs[:listed])) + (f", ... ({len(docs)})" if len(docs) > listed else "")
                run = comparison.run
                name = run.own.get(change.task, change.task) if isinstance(run, VariantRun) else change.task
                own = run.folder / "report.html"
                link = f"{page}#{change.task}" if page else f"{own}#{name}" if own.is_file() else ""
                yield f"{change.task} ({metric}) {way}: {shown}" + (f"   {link}/{docs[0]}" if link else "")
