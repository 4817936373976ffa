"""The evidence as text for the terminal, as JSON, and as a page with the documents of both sides."""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any, ClassVar

from mm_eval.results.number_text import rounded
from mm_eval.results.page import about_differences, run_fact
from mm_eval.results.table import Cell, Column, DocCount, Row, Table, fitted, left_out, to_page, to_text
from mm_eval.values.safe import in_line, json_safe
from mm_eval.values.words import counted, listed
from mm_eval.verbs.same.evidence import (
    ALIKE,
    ALPHA,
    DIFFERS,
    LEVELS,
    OPEN,
    OTHER,
    PLACES,
    SAME,
    SCORES,
    STEADY,
    TEXTS,
    TOKENS,
    UNTOLD,
    Evidence,
    Level,
    by_kind,
    first_difference,
)
from mm_eval.verbs.same.replies import Side
from mm_eval.verbs.study.variants import Variants
from mm_eval.verbs.study.variants_text import write_samples

SAID = {ALIKE: "alike", DIFFERS: "DIFFERS", OPEN: "not decided", UNTOLD: "not told"}
WHAT = {
    TOKENS: "the prompt has another number of tokens",
    PLACES: "the first tokens have other probabilities",
    TEXTS: "the texts differ",
    STEADY: "one side is less steady",
}
"""What a level that differs shows, for those that are a share of documents."""


def percent(share: float) -> str:
    """ "3.4" of 0.034; never "-0.0"."""
    return f"{100 * share + 0.0:.1f}".replace("-0.0", "0.0")


def sentence(found: Evidence) -> str:
    """The verdict and why, in one sentence."""
    first, second = found.first.name, found.second.name
    allowed = f"{100 * found.rules.difference:g}%"
    if found.verdict == OTHER:
        reasons = [_differs(found, each) for each in found.deciding if each.state == DIFFERS]
        return f"{OTHER}: {second} is not what {first} is: {'; '.join(reasons)}."
    if found.verdict == SAME:
        told = f"{len(found.deciding)} of {len(LEVELS)} levels"
        return (
            f"{SAME}: {first} and {second} differ in less than {allowed} of the documents, "
            f"by {told} on {counted(len(found.pairs), 'document')}."
        )
    still = [each.name for each in found.deciding if each.state == OPEN]
    why = f"{listed(still, 6)} {'is' if len(still) == 1 else 'are'} open" if still else "no level is told by both sides"
    if not still and found.asked_otherwise > len(found.pairs):
        why = f"{found.asked_otherwise:,} documents are asked in other words, and {len(found.pairs):,} in the same"
    return f"NOT DECIDED: whether {second} is what {first} is: {why}."


def _differs(found: Evidence, level: Level) -> str:
    if level.name == SCORES:
        side, loss = (found.second, level.value) if level.value > 0 else (found.first, -level.value)
        least = level.low if level.value > 0 else -level.high
        return f"{side.name} is right less often by {percent(loss)} points (at least {percent(least)})"
    if level.name == STEADY:
        side = found.second if level.value > 0 else found.first
        least = level.low if level.value > 0 else -level.high
        return (
            f"{side.name} says something else in {percent(abs(level.value))}% more documents when it is asked again "
            f"(at least {percent(least)}%), as with sampling"
        )
    what = WHAT.get(level.name, "answers end differently")
    return f"{what} in {percent(level.value)}% of the documents (at least {percent(level.low)}%){_kinds(found, level)}"


def _kinds(found: Evidence, level: Level) -> str:
    """ ": all 28 of system text", where the documents that are apart are of few kinds."""
    kinds = {kind: counts for kind, counts in by_kind(level, found.pairs).items() if counts[0]}
    every = len({pair.first.kind for pair in found.pairs})
    if not kinds or len(kinds) > 2 or len(kinds) == every:
        return ""
    parts = (
        f"all {count} of {kind}" if apart == count else f"{apart} of {count} of {kind}"
        for kind, (apart, count) in kinds.items()
    )
    return f", {' and '.join(parts)}"


def render(found: Evidence, notes: list[str], width: int | None = None) -> str:
    """The sentence, the table, and a sentence on each thing to know. width: of the terminal; None for any."""
    table, out = fitted(as_table(found), width)
    kinds, _ = fitted(kinds_table(found), width)
    parts = [sentence(found), "", *_sides(found), "", *to_text(table).split("\n"), "", *left_out(out)]
    if kinds.rows:
        parts += [*to_text(kinds).split("\n"), ""]
    return "\n".join(map(in_line, [*parts, *remarks(found), *notes])).rstrip()


def _sides(found: Evidence) -> Iterator[str]:
    for label, side in zip("AB", found.sides, strict=True):
        asked = {0: "never", 1: "once", 2: "twice"}[side.repeats]
        yield f"{label}: {side.name} (asked {asked}; {says(side)}): {side.run.folder}"


def says(side: Side) -> str:
    """What a side says of itself."""
    if side.names:
        return f"it calls itself {listed(side.names, 3)}"
    stated = side.run.spec.get("model", {})
    digest = str(stated.get("fingerprint") or "")
    return f"weights {digest[:8]}, {side.dtype}" if digest else "it says nothing of itself"


def as_table(found: Evidence) -> Table:
    columns = [
        Column("level", "text"),
        Column("documents", spare=3),
        Column("A again", cell="first", spare=1),
        Column("B again", cell="second", spare=1),
        Column("apart", spare=2),
        Column("difference"),
        Column("bounds"),
        Column("allowed"),
        Column("verdict", "text"),
    ]
    return Table(columns, [Row(_cells(each)) for each in found.levels])


def _cells(level: Level) -> dict[str, Cell]:
    name = f"{level.name}{'' if level.decides else ' (advisory)'}"
    cells: dict[str, Cell] = {"level": name, "verdict": SAID[level.state]}
    if level.state == UNTOLD:
        return {**dict.fromkeys(("documents", "first", "second", "apart", "difference", "bounds", "allowed")), **cells}
    apart = level.name not in (SCORES, STEADY)
    return {
        **cells,
        "documents": f"{level.docs:,}",
        "first": None if level.within[0] is None else percent(level.within[0]),
        "second": None if level.within[1] is None else percent(level.within[1]),
        "apart": percent(level.between) if apart else None,
        "difference": percent(level.value),
        "bounds": f"{percent(level.low)} to {percent(level.high)}",
        "allowed": f"{100 * level.limit:g}",
    }


def kinds_table(found: Evidence) -> Table:
    """How many documents of each kind are apart, for the levels where some are; no rows where none is."""
    levels = [each for each in found.levels if each.differing and each.name not in (SCORES, STEADY)]
    columns = [Column("kind", "text"), Column("documents"), *(Column(each.name) for each in levels)]
    counts = [by_kind(each, found.pairs) for each in levels]
    rows = []
    for kind in dict.fromkeys(pair.first.kind for pair in found.pairs) if levels else ():
        cells: dict[str, Cell] = {"kind": kind, "documents": f"{counts[0][kind][1]:,}"}
        for level, of_level in zip(levels, counts, strict=True):
            pairs = [pair.key for pair in level.differing if pair.first.kind == kind]
            said = f"{kind}: {level.name} apart"
            cells[level.name] = DocCount(pairs, said) if of_level[kind][0] else 0
        rows.append(Row(cells))
    return Table(columns, rows)


def remarks(found: Evidence) -> Iterator[str]:
    """What is not told or decided and why, where texts part, and how much so many documents can show."""
    for each in found.levels:
        if each.why:
            yield f"{each.name} is {each.state}: {each.why}."
        elif each.state == OPEN:
            needed = f"about {rounded(each.needed):,} documents like these would decide it" if each.needed else ""
            yield f"{each.name} is not decided: {needed or 'its difference is about what is allowed'}."
    if places := list(_where_texts_part(found)):
        yield (
            f"Where texts differ, the median place of the first difference is character {statistics.median(places):,.0f}, and "
            f"the earliest is character {min(places):,}."
        )
    offsets = list(_offsets(found))
    if offsets and len(set(offsets)) == 1:
        yield f"B counts {abs(offsets[0])} {'more' if offsets[0] > 0 else 'fewer'} prompt tokens wherever it differs."
    elif offsets:
        yield f"B counts from {min(offsets):+,} to {max(offsets):+,} prompt tokens where it differs."
    if found.asked_otherwise:
        what = "is not compared: the sides were" if found.asked_otherwise == 1 else "are not compared: the sides were"
        yield f"{counted(found.asked_otherwise, 'document')} {what} asked in other words."
    names = [set(side.names) for side in found.sides]
    if all(names) and names[0] != names[1]:
        yield "They give themselves different names, which proves nothing: whoever serves a model chooses its name."
    for side in found.sides:
        if len(side.names) > 1:
            yield f"{side.name} answers under {len(side.names)} names: {listed(side.names, 4)}."
    docs = found.docs_needed
    least = found.smallest_found
    yield (
        f"Documents: {docs:,} are enough to show that no more than {100 * found.rules.difference:g}% differ, if none does; these "
        f"{len(found.pairs):,} "
        + (f"find a difference of {percent(least)}% or more." if least else "can find no difference.")
        if docs
        else "No number of documents shows so small a difference."
    )
    yield (
        "apart: documents in which A and B differ. A again, B again: documents in which a side differs from itself when it is "
        "asked again. difference: the first without the noise that these show. All in percent of the documents. Each bound holds "
        f"at {100 * found.level:.2g}%, so that one model is called another by any level with a chance of at most {ALPHA:.0%}."
    )
    if PLACES in {each.name for each in found.levels if each.state != UNTOLD}:
        yield f"logprobs: apart where more than {found.tolerance:g} of the probability of one of the first tokens moved."


def _where_texts_part(found: Evidence) -> Iterator[int]:
    for level in found.levels:
        for pair in level.differing if level.name == TEXTS else ():
            first, second = pair.first.replies[0], pair.second.replies[0]
            if first is not None and second is not None and first.said != second.said:
                yield first_difference(first.said, second.said)


def _offsets(found: Evidence) -> Iterator[int]:
    for level in found.levels:
        for pair in level.differing if level.name == TOKENS else ():
            first, second = pair.first.replies[0], pair.second.replies[0]
            if first is not None and second is not None and first.tokens is not None and second.tokens is not None:
                yield second.tokens - first.tokens


def as_json(found: Evidence, notes: list[str]) -> str:
    """The verdict, both sides and each level, as a JSON document."""
    values: dict[str, Any] = {
        "verdict": found.verdict.lower(),
        "said": sentence(found),
        "difference": found.rules.difference,
        "alpha": ALPHA,
        "level": found.level,
        "tolerance": found.tolerance,
        "documents": len(found.pairs),
        "asked_otherwise": found.asked_otherwise,
        "documents_needed": found.docs_needed,
        "smallest_found": found.smallest_found,
        "sides": [
            {
                "name": side.name,
                "folder": str(side.run.folder),
                "times_asked": side.repeats,
                "calls_itself": dict(side.names),
                "dtype": side.dtype or None,
            }
            for side in found.sides
        ],
        "levels": [_level_json(found, each) for each in found.levels],
        "notes": [*remarks(found), *notes],
    }
    return json_safe(json.dumps(values, indent=2, ensure_ascii=False))


def _level_json(found: Evidence, level: Level) -> dict[str, Any]:
    told = level.state != UNTOLD
    return {
        "level": level.name,
        "what": LEVELS[level.name],
        "state": level.state,
        "decides": level.decides,
        "again": list(level.within) if told else None,
        "apart": level.between if told else None,
        "difference": level.value if told else None,
        "at_least": level.low if told else None,
        "at_most": level.high if told else None,
        "allowed": level.limit,
        "documents": level.docs,
        "missing": level.missing,
        "documents_needed": level.needed,
        "why": level.why,
        "kinds": {kind: list(counts) for kind, counts in by_kind(level, found.pairs).items()}
        if level.differing
        else {},
        "differing": [[task, doc_id] for (task, doc_id), _, _ in level.differing],
    }


class Sides(Variants):
    """The runs of both sides."""

    noun: ClassVar[str] = "side"
    title: ClassVar[str] = "Is {models} one model?"


def write_page(path: Path, found: Evidence, notes: list[str]) -> Path:
    """Writes the page with every document of both sides. Returns its path."""
    first, second = (f"{label}: {side.name}" for label, side in zip("AB", found.sides, strict=True))
    runs = {first: found.first.run, second: found.second.run}
    study = Sides.of(f"{found.first.name} and {found.second.name}", runs)

    def about() -> dict[str, Any]:
        facts = [
            run_fact(label, run, path.parent, says(side))
            for (label, run), side in zip(runs.items(), found.sides, strict=True)
        ]
        tables = [to_page(table) for table in (as_table(found), kinds_table(found)) if table.rows]
        said = [sentence(found), *remarks(found), *notes]
        title = f"{found.verdict}: {found.first.name}, {found.second.name}"
        return {
            **about_differences("prompts", title, runs, facts, first, [second]),
            "models": [study.model],
            "sections": [{"title": "Levels of evidence", "tables": tables, "said": said}],
            "variants": [first, second],
            "heat": [],
            "hint": "A count opens its documents: both answers stand side by side. Differences are in percent of the documents.",
        }

    return write_samples(path, f"Same? {study.model}", [study], about, numbered=True)
