"""What results.json says of logs of another suite, in words: its own scores beside ours."""

from __future__ import annotations

from collections.abc import Iterator

from mm_eval.results.number_text import unit_for
from mm_eval.scoring.run_results import Results
from mm_eval.values.types import Fields
from mm_eval.values.words import counted


def sentence(pair: Fields) -> str:
    """A pair in words: "theirs 0.612, ours 0.630: 41 of 500 documents are read differently"."""
    theirs = pair["their_mean"] if pair["their_value"] is None else pair["their_value"]
    differ = pair["differ"]
    how = f"{counted(differ, 'document')} read differently" if differ else "all documents are read alike"
    for docs, whose in ((pair["only_theirs"], "there"), (pair["only_ours"], "here")):
        how += f"; {counted(docs, 'document')} scored {whose} only" if docs else ""
    named = pair["ours"].removesuffix(",none")
    label = named if pair["theirs"] in (named, pair["ours"]) else f"{named} (theirs: {pair['theirs']})"
    unit = unit_for(named.partition(",")[0], [theirs, pair["our_value"]])
    return f"{label}: theirs {unit.text(theirs)}, ours {unit.text(pair['our_value'])}: {how}"


def lines(results: Results) -> Iterator[str]:
    """Lines below the table of an imported run: both scores of each task."""
    for name, about in (results.imported or {}).items():
        if not about["pairs"]:
            yield f"{name}: {about['suite']} has no score for what is measured here"
        for pair in about["pairs"]:
            yield f"{name}, {sentence(pair)}"
