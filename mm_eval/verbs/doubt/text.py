"""Documents in doubt as text for the terminal and as JSON."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path

from mm_eval.results.page import prompt_text
from mm_eval.results.table import Column, Row, Table, fitted, left_out, to_text
from mm_eval.values.safe import in_line, json_safe
from mm_eval.values.words import counted, listed
from mm_eval.verbs.doubt.answers import shown
from mm_eval.verbs.doubt.doubt import Doubted, Doubts

LONGEST = 20
"""Characters of a gold and of an answer in the table."""


def _share(probability: float) -> str:
    return "> 99%" if probability > 0.99 else f"{probability:.0%}"


def as_table(doubts: Doubts) -> Table:
    columns = [
        Column("gold wrong"),
        Column("task", "text"),
        Column("doc"),
        Column("gold", "text"),
        Column("instead", "text"),
        Column("for it"),
        Column("for gold"),
        Column("families", spare=1),
        Column("question", "text", spare=2),
    ]
    return Table(columns, [Row(_cells(doubts, each)) for each in doubts.documents])


def _cells(doubts: Doubts, each: Doubted) -> dict[str, str]:
    answered = sum(said is not None for said in each.said)
    question = prompt_text(each.row["prompt"]).split("\n")
    return {
        "gold wrong": _share(each.probability),
        "task": each.task,
        "doc": str(each.doc_id),
        "gold": in_line(gold_text(each), LONGEST),
        "instead": in_line(each.instead, LONGEST),
        "for it": f"{len(each.for_it)} of {answered}",
        "for gold": str(len(each.against)),
        "families": str(len({doubts.families[place] for place in each.for_it})),
        "question": in_line(" ".join(question[:2]), 60),
    }


def gold_text(each: Doubted) -> str:
    """The gold as text: of choices the right one's."""
    choices = each.row.get("choices")
    golds = each.gold if isinstance(each.gold, list) else [each.gold]
    if choices:
        golds = [choices[gold] if isinstance(gold, int) and 0 <= gold < len(choices) else gold for gold in golds]
    return ", ".join(map(shown, golds))


def render(doubts: Doubts, width: int | None = None, page: Path | None = None) -> str:
    """The table and what stands behind it. width: of the terminal; None for any."""
    lines = list(_families(doubts))
    if doubts.documents:
        table, out = fitted(as_table(doubts), width)
        lines += ["", *to_text(table).split("\n"), "", *left_out(out)]
        if doubts.more:
            lines.append(f"not listed: {counted(doubts.more, 'more document')} in doubt (--most, --at_least)")
    else:
        lines += ["", "No gold is in doubt.", ""]
    lines += notes(doubts)
    if page:
        lines += ["", f"page: {page}"]
    elif doubts.documents:
        lines += [
            "",
            "Look at each before a gold is changed: --html FILE writes a page with the pictures and all answers.",
        ]
    return "\n".join(map(in_line, lines)).rstrip()


def _families(doubts: Doubts) -> Iterator[str]:
    """The runs by family, with what each model's ability was estimated to be where all tasks were fitted together."""
    by_family: dict[int, list[int]] = {}
    for place, family in enumerate(doubts.families):
        by_family.setdefault(family, []).append(place)
    [fit, *more] = doubts.fitted.values()
    for number, (family, members) in enumerate(by_family.items(), 1):
        names = [
            doubts.runs[place].model + (f" ({fit.abilities[place]:.0%} right)" if not more else "") for place in members
        ]
        why = f", together by {doubts.why_family[family]}" if family in doubts.why_family else ""
        yield f"family {number}{why}: {listed(names, 6)}"


def notes(doubts: Doubts) -> Iterator[str]:
    """What the probabilities are of, and what limits them."""
    docs = sum(doubts.docs.values())
    yield (
        f"{counted(docs, 'document was', 'documents were')} compared; about {doubts.expected:.0f} of their golds are wrong. "
        f"Before the answers are looked at, {doubts.prior:.1%} of golds are taken to be wrong (--prior)."
    )
    copying = max(each.copying for each in doubts.fitted.values())
    voice = f"; in a family a model repeats the others in {copying:.0%} of documents" if copying else ""
    yield f"The probabilities allow for mistakes that models share: hard documents, one tempting wrong answer{voice}."
    yield "A question with two right answers, or with none, looks alike: a person has to look at each."
    yield from doubts.notes


def as_json(doubts: Doubts) -> str:
    """The documents and what was estimated, as a JSON document."""
    found: dict[str, object] = {
        "prior": doubts.prior,
        "expected_wrong": doubts.expected,
        "runs": [
            {"run": str(run.folder), "model": run.model, "family": family + 1}
            for run, family in zip(doubts.runs, doubts.families, strict=True)
        ],
        "families_by": {str(family + 1): why for family, why in doubts.why_family.items()},
        "fitted": {
            title: {
                "documents": doubts.docs[title],
                "abilities": _rounded(each.abilities),
                "spread_of_difficulty": each.spread,
                "tempting_grades": _rounded(each.grades),
                "copying_in_a_family": each.copying,
            }
            for title, each in doubts.fitted.items()
        },
        "documents": [
            {
                **each.line(),
                "probability": round(each.probability, 4),
                "instead": each.instead,
                "probability_of_instead": round(each.of_instead, 4),
                "target": each.target,
                "for_it": [str(doubts.runs[place].folder) for place in each.for_it],
                "for_gold": [str(doubts.runs[place].folder) for place in each.against],
            }
            for each in doubts.documents
        ],
        "not_listed": doubts.more,
        "notes": list(doubts.notes),
    }
    return json_safe(json.dumps(found, indent=2, ensure_ascii=False))


def _rounded(values: Iterable[float]) -> list[float]:
    return [round(float(value), 4) for value in values]
