"""The page of a release: models by benchmarks as a heat map with intervals, ranks and categories, and charts. One file, offline.

    write_release_page(Path("release.html"), release_table(runs))

Each number links to the samples behind it, on the page of its own run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from mm_eval.engine.folder import RunFolder
from mm_eval.results.number_text import p_text
from mm_eval.results.page import asset, filled
from mm_eval.results.recorded import RecordedRun
from mm_eval.results.table import to_page
from mm_eval.values.errors import MMEvalError
from mm_eval.values.run_files import is_inside
from mm_eval.values.safe import href, html, in_script
from mm_eval.values.words import counted
from mm_eval.verbs.report.figures import PREVIEW
from mm_eval.verbs.report.release.average import AVERAGE, abilities
from mm_eval.verbs.report.release.columns import gain_cell
from mm_eval.verbs.report.release.differences import said_of_difference
from mm_eval.verbs.report.release.ranking import ranked_columns
from mm_eval.verbs.report.release.table import ReleaseDifference, ReleaseNumber, ReleaseTable
from mm_eval.verbs.study.compare import compare
from mm_eval.verbs.study.compare_text import write_comparison


def write_release_page(
    path: Path, table: ReleaseTable, pages: Mapping[Path, str] | None = None, picture: str | None = None
) -> Path:
    """Writes the page and returns its path. pages: links to the runs' pages, by run folder (None: report.html of each).

    picture: the address of the picture that other sites show beside a link to the page. Of two models the page that compares them
    by document is written beside it.
    """
    comparison = _write_comparison(path, table, pages)
    lines = release_page(table, path.parent, pages, picture=picture, comparison=comparison)
    return RunFolder(path.parent).write_lines(path.name, lines)


def _write_comparison(path: Path, table: ReleaseTable, pages: Mapping[Path, str] | None) -> str | None:
    """Writes the page that compares the two models of a release, and returns its name; None where a model is no single run."""
    runs = _runs(table)
    if table.pair is None or any(len(runs[name]) != 1 for name in table.pair):
        return None
    [first], [second] = (runs[name] for name in table.pair)
    name = f"{path.stem}-compare.html"
    with suppress(MMEvalError):  # two runs without a task in common
        compared = compare([first, second])
        return write_comparison(path.with_name(name), first, compared, back=path.name, pages=pages).name
    return None


def release_page(
    table: ReleaseTable,
    folder: Path,
    pages: Mapping[Path, str] | None = None,
    going: Sequence[Mapping[str, str]] = (),
    picture: str | None = None,
    comparison: str | None = None,
) -> Iterator[str]:
    """The page in pieces. folder: where it will lie, for its links. pages, picture: as in `write_release_page`.

    comparison: the link to the page that compares two models.

    going: name, link and progress of runs that have no numbers yet.
    """
    beside = _pages(table, folder) if pages is None else None
    shown = beside if beside is not None else pages or {}
    more = {"going": list(going), "apart": sorted(map(str, beside or ()))}
    return filled(
        "release.html",
        {
            "TITLE": lambda: [html(table.title)],
            "META": lambda: _meta(table, picture),
            "STYLE": lambda: map(asset, ("report.css", "release.css")),
            "DATA": lambda: [in_script({**about(table, shown, comparison), **more})],
            "SCRIPT": lambda: map(asset, ("shared.js", "release.js")),
        },
    )


def about(table: ReleaseTable, pages: Mapping[Path, str], comparison: str | None = None) -> dict[str, Any]:
    """What the page shows, as JSON values. comparison: the link to the page that compares two models by document."""
    runs = _runs(table)
    every = [run for found in runs.values() for run in found]
    return {
        "title": table.title,
        "date": _dates(every),
        "sample": sorted({name for run in every for name in run.results.run.sample}),
        "columns": [
            {
                "name": name,
                "parameters": next(
                    (size for run in runs[name] if (size := run.results.run.facts.get("parameters"))), None
                ),
                "facts": _facts(name, runs),
                "hole": _hole(table, name),
                "page": pages.get(runs[name][0].folder) if len(runs[name]) == 1 else None,
            }
            for name in table.columns
        ],
        "sentence": table.sentence,
        "pair": _pair(table, comparison),
        "gains": table.gains_said,
        "benchmarks": _benchmarks(table),
        "rows": [*(_row(table, row, pages) for row in table.shown()), *_average(table, pages)],
        "ranks": _average_ranks(table),
        "abilities": [
            {"label": name, "of": ", ".join(found.benchmarks), "cells": _cells(table.columns, found.numbers, {})}
            for name, found in abilities(table).items()
        ],
        "notes": table.notes,
        "parts": [{"title": part.title, "table": to_page(part.table), "said": list(part.said)} for part in table.parts],
    }


def _meta(table: ReleaseTable, picture: str | None) -> Iterator[str]:
    """What other sites show beside a link to the page."""
    models, benchmarks = counted(len(table.columns), "model"), counted(_benchmarks(table), "benchmark")
    described = " ".join([*table.gains_said, table.sentence]).strip() or f"{models} on {benchmarks}"
    said = {"og:type": "article", "og:title": table.title, "og:description": described}
    if picture:
        said |= {"og:image": picture, "og:image:width": str(PREVIEW[0]), "og:image:height": str(PREVIEW[1])}
    yield f'<meta name="description" content="{html(described)}">'
    for name, text in said.items():
        yield f'<meta property="{name}" content="{html(text)}">'
    if picture:
        yield '<meta name="twitter:card" content="summary_large_image">'


def _dates(runs: Sequence[RecordedRun]) -> str | None:
    """The day or days on which runs were made; None where none recorded it."""
    started = [at for run in runs if (at := run.results.run.answering.get("started"))]
    days = (
        [datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d") for at in (min(started), max(started))] if started else []
    )
    return " to ".join(dict.fromkeys(days)) or None


def _benchmarks(table: ReleaseTable) -> int:
    """How many rows the table has; one that is asked without and with Python counts once."""
    return sum(row not in table.plain for row in table.shown())


def _average_ranks(table: ReleaseTable) -> list[float | None] | None:
    """Each model's rank, averaged over the benchmarks that rank all of them; None where no benchmark ranks one below another."""
    measured = table.measured
    ranked = [
        ranks
        for row in table.shown()
        if row in table.headlines
        and row not in table.plain
        and all((ranks := {c: n.rank for c, n in table.rows[row].items()}).get(c) for c in measured)
    ]
    if len(ranked) < 2 or all(rank == 1 for ranks in ranked for rank in ranks.values() if rank):
        return None
    return [
        sum(ranks[column] or 0 for ranks in ranked) / len(ranked) if column in measured else None
        for column in table.columns
    ]


def _pair(table: ReleaseTable, comparison: str | None) -> dict[str, object] | None:
    """The head of the column with the differences of two models."""
    if table.pair is None:
        return None
    first, second = table.pair
    return {"name": f"{second} − {first}", "link": comparison, "said": said_of_difference(table)}


def _difference(found: ReleaseDifference | None) -> dict[str, object] | None:
    """The cell of that column."""
    if found is None:
        return None
    p = found.number.p_value
    said = f"p {p_text(p)}, {p_text(found.corrected)} corrected" if p is not None else ""
    ends = list(found.number.interval) if found.number.interval else None
    return {"v": found.number.value, "at": ends, "p": said, "told": found.is_significant}


def _row(table: ReleaseTable, row: tuple[str, str], pages: Mapping[Path, str]) -> dict[str, object]:
    numbers = table.rows[row]
    measured = [found for found in numbers.values() if found.run is not None]
    first = measured[0] if measured else None
    several = len({level for level, _ in table.categories.get(row, {})}) > 1
    return {
        "task": row[0],
        "label": table.shown_label(row),
        "group": bool(first and first.run and first.name in first.run.results.members),
        "better": table.better.get(row, True),
        "share": table.in_percent(row),
        "scale": _size(numbers),
        "ends": table.scale(row),
        "chance": _chance(table, row),
        "cells": _with_gains(table, row, _with_coverage(table, row, _cells(table.columns, numbers, pages), pages)),
        "difference": _difference(table.difference(row)),
        "parts": [
            *(
                {
                    "level": "",
                    "name": "",
                    "label": other[1],
                    "share": table.in_percent(other),
                    "scale": _size(table.rows[other]),
                    "ends": table.scale(other),
                    "cells": _cells(table.columns, table.rows[other], pages),
                }
                for other in table.below(row)
            ),
            *(
                {
                    "level": level,
                    "name": category,
                    "label": f"{level}: {category}" if several else category,
                    "share": table.in_percent(row),
                    "scale": _size(numbers),
                    "ends": table.scale(row),
                    "cells": _cells(table.columns, found, pages, (level, category)),
                }
                for (level, category), found in table.categories.get(row, {}).items()
            ),
        ],
    }


def _with_coverage(
    table: ReleaseTable, row: tuple[str, str], cells: list[dict[str, object] | None], pages: Mapping[Path, str]
) -> list[dict[str, object] | None]:
    """The cells of a row with the part of the documents that each is of, and with the reason where there is no number."""
    found: list[dict[str, object] | None] = []
    for column, cell in zip(table.columns, cells, strict=True):
        if cell is not None:
            found.append({**cell, "part": part} if (part := table.part(row, column)) else cell)
        elif (lacking := table.lacking(row, column)) is not None:
            part = f"{lacking.answered:,} of {lacking.documents:,}"
            links = (
                link
                for run in table.runs.get(column, ())
                for name, own in run.results.rows.items()
                if own.alias == row[0] and (link := _samples(name, run, pages).get("link"))
            )
            link = next(links, None)
            found.append({"lacking": lacking.said, "part": part, **({"link": link} if link else {})})
        else:
            found.append(None)
    return found


def _chance(table: ReleaseTable, row: tuple[str, str]) -> float | None:
    """What guessing gives on a benchmark, where every document has a known number of options; of most documents' run."""
    found = [n for n in table.rows[row].values() if n.run is not None and n.name in n.run.tasks]
    first = max(found, key=lambda n: n.n or 0, default=None)
    return first.run.tasks[first.name].chance(first.key) if first is not None and first.run is not None else None


def _with_gains(
    table: ReleaseTable, row: tuple[str, str], cells: list[dict[str, object] | None]
) -> list[dict[str, object] | None]:
    """The cells of a row, with what Python adds to the row without it."""
    of_row = table.gains.get(row, {})
    for column, cell in zip(table.columns, cells, strict=True):
        if cell is not None and (shown := gain_cell(of_row.get(column))) is not None:
            cell["gain"] = f"gain {shown.text}{shown.after}"
    return cells


def _size(numbers: Mapping[str, ReleaseNumber]) -> float:
    """The largest value of a row, or end of an interval, which decides how many decimals a number in points has."""
    return max((abs(end) for found in numbers.values() for end in (found.value, *(found.bounds or ()))), default=1.0)


def _average(table: ReleaseTable, pages: Mapping[Path, str]) -> Iterator[dict[str, object]]:
    """The row of the average, if there is one."""
    if table.average:
        cells = _cells(table.columns, table.average, pages)
        yield {
            "task": AVERAGE,
            "label": AVERAGE,
            "group": True,
            "better": True,
            "share": True,
            "scale": 1.0,
            "ends": (0.0, 1.0),
            "cells": cells,
            "difference": _difference(table.average_difference),
            "parts": [],
        }


def _cells(
    columns: Sequence[str],
    numbers: Mapping[str, ReleaseNumber],
    pages: Mapping[Path, str],
    category: tuple[str, str] | None = None,
) -> list[dict[str, object] | None]:
    ranks = dict(ranked_columns(numbers))
    return [_cell(numbers.get(name), ranks.get(name), pages, category) for name in columns]


def _cell(
    found: ReleaseNumber | None, rank: str | None, pages: Mapping[Path, str], category: tuple[str, str] | None
) -> dict[str, object] | None:
    if found is None:
        return None
    cell: dict[str, object] = {"v": found.value, "ours": found.ours}
    optional = {
        "at": list(found.bounds) if found.bounds else None,
        "rank": rank,
        "best": found.best or None,
        "own": f"asked with another {found.own_prompt} than most of its row" if found.own_prompt else None,
        "apart": "measured differently from the rest of its row: not ranked" if found.set_apart else None,
        "flaw": found.flaw or None,
        "verdict": found.verdict or None,
        "protocol": found.protocol or None,
        **(_of_run(found, found.run, pages, category) if found.run else {}),
    }
    return {**cell, **{name: value for name, value in optional.items() if value is not None}}


def _of_run(
    found: ReleaseNumber, run: RecordedRun, pages: Mapping[Path, str], category: tuple[str, str] | None
) -> dict[str, object]:
    """Where a number's samples are, and what its run used."""
    about, rows = run.results.run, run.results.rows
    docs = sum(rows[name].n for name in run.spec["tasks"] if name in rows)
    seconds = about.answering.get("seconds")
    tokens = sum(about.usage.get(name, 0) for name in ("prompt_tokens", "completion_tokens"))
    return {
        **_samples(found.name, run, pages, category),
        "tokens": round(tokens / docs, 2) if tokens and docs else None,
        "seconds": round(seconds / docs, 5) if docs and seconds else None,
        "dollars": about.cost.get("dollars"),
        "parameters": about.facts.get("parameters"),
    }


def _pages(table: ReleaseTable, folder: Path) -> dict[Path, str]:
    """The links from a page in a folder to the pages of the runs, as far as there are some."""
    found = {}
    for run in (run for runs in _runs(table).values() for run in runs):
        page = run.folder / "report.html"
        with suppress(ValueError):  # on another drive
            if page.is_file() and is_inside(run.folder, page):
                found[run.folder] = href(Path(os.path.relpath(page, folder)))
    return found


def _samples(
    name: str, run: RecordedRun, pages: Mapping[Path, str], category: tuple[str, str] | None = None
) -> dict[str, str]:
    """A link to the samples of a task or group on the run's own page, where there is one, else the path of the folder."""
    if run.folder not in pages:
        return {"where": str(run.folder)}
    stated = {"task": name} if name in run.spec["tasks"] else {}
    if category is not None:
        levels = run.results.categories.get(name, {})
        stated["category"] = ": ".join(category) if len(levels) > 1 else category[1]  # as the page's filter names it
    return {"link": pages[run.folder] + (f"#?{urlencode(stated)}" if stated else "")}


def _runs(table: ReleaseTable) -> dict[str, list[RecordedRun]]:
    """The runs of each column."""
    return {name: table.runs.get(name, []) for name in table.columns}


def _facts(name: str, runs: Mapping[str, Sequence[RecordedRun]]) -> list[str]:
    """What sets a column apart from others of the same model; empty where the model has one column."""
    mine = runs[name]
    if not mine:
        return []
    twins = [
        other for column, found in runs.items() if column != name for other in found if other.model == mine[0].model
    ]
    if not twins:
        return []
    own, others = _settings(mine[0]), [_settings(run) for run in twins]
    return [f"{what}: {value}" for what, value in own.items() if any(other.get(what) != value for other in others)]


def _settings(run: RecordedRun) -> dict[str, str]:
    model = {f"model {name}": str(value) for name, value in run.request.get("model_args", {}).items()}
    stated = {
        "prompt": "/".join(sorted(set(run.prompt_keys.values()))),
        "chat template": "on" if run.results.run.chat_template else "off",
        "system": run.results.run.system_instruction or "none",
        "seed": str(run.results.run.seed),
        "limit": str(run.results.run.limit or "none"),
        "mm-eval": run.results.run.version,
    }
    return {**stated, **model, "folder": run.folder.name}


def _hole(table: ReleaseTable, column: str) -> str:
    beginning = f"{column} has no scores: "
    return next((note.removeprefix(beginning) for note in table.notes if note.startswith(beginning)), "")
