"""A page with each document in doubt: picture, question, gold and all answers. Decisions are saved from it as a file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mm_eval.engine.folder import RunFolder
from mm_eval.results.page import asset, filled, pictures, prompt_text, shortened
from mm_eval.values.safe import html, in_script
from mm_eval.values.types import clips_of_json
from mm_eval.verbs.doubt.answers import shown
from mm_eval.verbs.doubt.doubt import Doubted, Doubts
from mm_eval.verbs.doubt.text import gold_text, notes
from mm_eval.verbs.report.reading import writing

TITLE = "Golds in doubt"


def write_page(path: Path, doubts: Doubts) -> Path:
    """Writes the page and returns its path."""
    with writing("the page", str(path)):
        path.parent.mkdir(parents=True, exist_ok=True)
        RunFolder(path.parent).write_lines(path.name, lines(path, doubts))
    return path


def lines(path: Path, doubts: Doubts) -> Iterator[str]:
    """The page in pieces."""
    digests = dict.fromkeys(digest for each in doubts.documents for digest in each.row.get("images") or ())
    kept = dict(pictures(digests, [run.folder for run in doubts.runs], path.parent))
    data = {
        "title": TITLE,
        "notes": list(notes(doubts)),
        "sample": sorted({name for run in doubts.runs for name in run.results.run.sample}),
        "models": [run.model for run in doubts.runs],
        "families": [family + 1 for family in doubts.families],
        "documents": [_card(each) for each in doubts.documents],
    }
    yield from filled(
        "doubt.html",
        {
            "TITLE": lambda: [html(TITLE)],
            "STYLE": lambda: [asset("report.css"), "\n", asset("doubt.css")],
            "MEDIA": lambda: [in_script(kept)],
            "DATA": lambda: [in_script(data)],
            "SCRIPT": lambda: [asset("shared.js"), asset("doubt.js")],
        },
    )


def _card(each: Doubted) -> dict[str, object]:
    """A document as the page's script reads it. line: what a line of the file of decisions begins with."""
    row = each.row
    return {
        "line": each.line(),
        "probability": each.probability,
        "prompt": prompt_text(row["prompt"]),
        "gold": gold_text(each),
        "instead": each.instead,
        "target": each.target,
        "choices": [shortened(shown(choice)) for choice in row.get("choices") or ()],
        "images": row.get("images") or [],
        "clips": [clip.path for clip in clips_of_json(row)] if "videos" in row else [],
        "doc": {name: shortened(shown(value)) for name, value in row["doc"].items()},
        "said": [None if said is None else [shortened(said.text), said.right] for said in each.said],
    }
