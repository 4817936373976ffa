"""Published numbers, read from the files in which they stand: model cards, files for the hub, records, and our own tables.

A number is kept as it is printed, since it is compared at the digits that it has.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from mm_eval.values.errors import ConfigError

UnitOf = Literal["share", "percent", "any"]
NUMBER = re.compile(r"[-+−]?(?:\d[\d,]*)?\.?\d+(?:[eE][-+]?\d+)?")
NAME_HEADS = ("task", "benchmark", "dataset", "data set", "evaluation", "eval", "benchmarks", "tasks", "datasets")
VALUE_HEADS = ("value", "score", "result", "accuracy", "acc", "performance", "mm-eval", "ours")
COUNT_HEADS = ("n", "documents", "docs", "samples", "questions")
METRIC_HEADS = ("metric", "metrics")
NO_RESULTS = ("differ", "p alone", "p (holm)", "rank", "±", "stderr", "n-shot", "shots", "source", "interval", "filter")


@dataclass(frozen=True)
class Published:
    """A number as a file has it. where: file and line, or its place in it. task: the row's name, as printed.

    metric: None where the file names none. text: the number as printed; "" for none. unit: as far as the file says it.
    n: documents behind it. stated: what the file says of flaws; None where its form has no place for that.
    category: (level, name) of a number over a part. hub: (data set, task id) of the hub.
    """

    where: str
    task: str
    metric: str | None
    text: str
    unit: UnitOf = "any"
    n: int | None = None
    stated: str | None = None
    category: tuple[str, str] | None = None
    hub: tuple[str, str] | None = None


@dataclass
class Card:
    """What a file has. models: the names of the models whose numbers it has beside ours. notes: what was not read as a number."""

    kind: str
    rows: list[Published] = field(default_factory=list)
    models: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


def read_card(path: Path, names: Sequence[str]) -> Card:
    """The numbers of a file that are of the model with one of these names.

    Errors: ConfigError where the file can't be read, has no form that is known, or has no number of the model.
    """
    try:
        text = path.read_text(encoding="utf-8-sig")
    except IsADirectoryError as error:
        hint = "Give the file: README.md, .eval_results/NAME.yaml, a record in JSON, release.csv or release.md."
        raise ConfigError("it is a folder.", where=str(path), hint=hint) from error
    except (OSError, UnicodeDecodeError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not UTF-8 text"
        raise ConfigError(f"it can't be read: {why}.", where=str(path)) from error
    readers = {".json": _record, ".yaml": _hub, ".yml": _hub, ".csv": _table_of_csv, ".md": _markdown}
    reader = readers.get(path.suffix.lower())
    if reader is None:
        known = (
            "a model card (.md), .eval_results/*.yaml, a record of Every Eval Ever (.json), release.csv or release.md"
        )
        raise ConfigError(
            f"{path.suffix or 'no ending'!r} is no form that is known.", where=str(path), hint=f"It is {known}."
        )
    card = reader(path, text, [_plain(name) for name in names])
    if not card.rows:
        others = (
            f" It has numbers of {', '.join(card.models[:5])}: --name says which is the run's." if card.models else ""
        )
        raise ConfigError("it has no number of the run's model that can be read.", where=str(path), hint=others.strip())
    return card


def _plain(name: str) -> str:
    """A name of a table's cell without the marks of Markdown, white space and case."""
    bare = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", name)
    return " ".join(re.sub(r"[*`]|\\(?=[^\w\s])|<[^>]*>", "", bare).split()).casefold()


def _yaml(text: str, where: str) -> Any:
    """A YAML text with all scalars as they are printed."""
    import yaml

    try:
        return yaml.BaseLoader(text).get_single_data()  # texts alone: no number loses its digits
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        line = getattr(getattr(error, "problem_mark", None), "line", None)
        place = f"{where}:{line + 1}" if line is not None else where
        raise ConfigError("it is not YAML.", where=place) from error


def _maps(value: object) -> list[Mapping[str, Any]]:
    return [each for each in value if isinstance(each, Mapping)] if isinstance(value, list) else []


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _hub(path: Path, text: str, names: Sequence[str]) -> Card:
    """`.eval_results/*.yaml` of a model's repository; a card's metadata in a file of its own has `model-index`."""
    found = _yaml(text, str(path))
    if isinstance(found, Mapping) and "model-index" in found:
        return _model_index(found["model-index"], str(path), names)
    card = Card("file of the hub")
    entries = _maps(found)
    if not isinstance(found, list) or len(entries) != len(found):
        raise ConfigError("it is no list of evaluation results.", where=str(path))
    for number, entry in enumerate(entries, 1):
        data = entry.get("dataset")
        if not isinstance(data, Mapping) or not isinstance(data.get("id"), str) or "value" not in entry:
            raise ConfigError(f"entry {number} has no `dataset` with an `id`, or no `value`.", where=str(path))
        place = (data["id"], _text(data.get("task_id")))
        name = f"{place[0]} {place[1]}".strip()
        card.rows.append(Published(f"{path}, entry {number}", name, None, _text(entry["value"]), hub=place))
    return card


def _model_index(index: object, where: str, names: Sequence[str]) -> Card:
    card, models = Card("model card"), _maps(index)
    mine = [each for each in models if _plain(_text(each.get("name"))) in names] or (models if len(models) == 1 else [])
    card.models = [_text(each.get("name")) for each in models if each not in mine]
    card.notes += [_called(_text(each.get("name"))) for each in mine if _plain(_text(each.get("name"))) not in names]
    for model in mine:
        for number, result in enumerate(_maps(model.get("results")), 1):
            data = _map(result, "dataset")
            name, _, flaws = _text(data.get("name") or data.get("type")).partition(" (")
            for metric in _maps(result.get("metrics")):
                label = _text(metric.get("name")).partition(" (judged")[0] or _text(metric.get("type"))
                place = f"{where}, model-index, result {number}"
                stated = flaws.removesuffix(")")
                card.rows.append(Published(place, name, label, _text(metric.get("value")), stated=stated))
    return card


def _called(name: str) -> str:
    """A note on a file of one model, which has another name there."""
    return f"the file calls its model {name!r}, and the run does not"


def _record(path: Path, text: str, names: Sequence[str]) -> Card:
    """A record of Every Eval Ever."""
    try:
        found = json.loads(text, parse_float=str, parse_int=str)
    except (ValueError, RecursionError) as error:
        raise ConfigError("it is not JSON.", where=str(path)) from error
    if not isinstance(found, dict) or not isinstance(found.get("evaluation_results"), list):
        raise ConfigError("it is no record of Every Eval Ever: it has no `evaluation_results`.", where=str(path))
    card, model = Card("record of Every Eval Ever"), _map(found, "model_info")
    called = [_text(model.get(key)) for key in ("name", "id")]
    if not any(_plain(each) in names for each in called):
        card.notes.append(_called(called[0] or called[1]))
    for number, result in enumerate(_maps(found["evaluation_results"]), 1):
        metric, score = ({**_map(result, key)} for key in ("metric_config", "score_details"))
        units: dict[str, UnitOf] = {"proportion": "share", "percent": "percent"}
        samples = _text(_map(score, "uncertainty").get("num_samples"))
        card.rows.append(
            Published(
                f"{path}, result {number}",
                _text(result.get("evaluation_name")),
                _text(_map(metric, "additional_details").get("key") or metric.get("metric_name")) or None,
                _text(score.get("score")),
                units.get(_text(metric.get("metric_unit")), "any"),
                int(samples) if samples.isdecimal() else None,
                _text(_map(score, "details").get("flaws"))
                if _map(found, "eval_library").get("name") == "mm-eval"
                else None,
            )
        )
    return card


def _map(of: Mapping[str, Any], key: str) -> Mapping[str, Any]:
    found = of.get(key)
    return found if isinstance(found, Mapping) else {}


def _table_of_csv(path: Path, text: str, names: Sequence[str]) -> Card:
    """release.csv, as `mm-eval report RUN ... --format csv` prints it."""
    reader = csv.DictReader(io.StringIO(text))
    head = reader.fieldnames or []
    if lacking := [name for name in ("benchmark", "metric", "model", "value") if name not in head]:
        hint = "mm-eval report RUN ... --format csv prints one."
        raise ConfigError(f"it is no release table: it has no column {lacking[0]!r}.", where=f"{path}:1", hint=hint)
    card, rows = Card("release table"), list(enumerate(reader, 2))
    ours = [row for row in rows if (row[1].get("source") or "ours") == "ours"]
    card.models = list(
        dict.fromkeys(_text(row["model"]) for _, row in ours if _plain(_text(row["model"])) not in names)
    )
    if reported := len(rows) - len(ours):
        card.notes.append(f"{reported} reported numbers of others were not checked")
    for line, row in ours:
        if _plain(_text(row["model"])) not in names:
            continue
        level, category, n = _text(row.get("level")), _text(row.get("category")), _text(row.get("n"))
        part = (level, category) if category else None
        count = int(n) if n.isdecimal() and part is None else None
        card.rows.append(
            Published(
                f"{path}:{line}",
                _text(row["benchmark"]),
                _text(row["metric"]),
                _text(row["value"]),
                "share",
                count,
                category=part,
            )
        )
    return card


def _markdown(path: Path, text: str, names: Sequence[str]) -> Card:
    """A model card: its `model-index`, and the tables of its text; or release.md, which has only tables."""
    card, lines = Card("model card"), text.split("\n")
    start = 0
    if lines and lines[0].strip() == "---":
        end = next((place for place, line in enumerate(lines[1:], 1) if line.strip() == "---"), None)
        if end is None:
            raise ConfigError("its metadata has no end (---).", where=f"{path}:1")
        found = _yaml("\n".join(lines[1:end]), str(path))
        if isinstance(found, Mapping) and "model-index" in found:
            card = _model_index(found["model-index"], str(path), names)
        start = end + 1
    for first, table in _tables(lines, start):
        _read_table(card, path, first, table, names)
    return card


def _tables(lines: Sequence[str], start: int) -> Iterator[tuple[int, list[list[str]]]]:
    """(line of the head, the cells of head and rows) of each table of Markdown, outside of code."""
    at, in_code = start, False
    while at < len(lines):
        line = lines[at].strip()
        in_code ^= line.startswith(("```", "~~~"))
        below = lines[at + 1].strip() if at + 1 < len(lines) else ""
        if in_code or "|" not in line or not re.fullmatch(r"\|?(\s*:?-+:?\s*\|?)+", below) or "-" not in below:
            at += 1
            continue
        found, end = [_cells(line)], at + 2
        while end < len(lines) and "|" in lines[end]:
            found.append(_cells(lines[end].strip()))
            end += 1
        yield at + 1, found
        at = end


def _cells(line: str) -> list[str]:
    return [cell.strip() for cell in re.split(r"(?<!\\)\|", line.strip().removeprefix("|").removesuffix("|"))]


def _read_table(card: Card, path: Path, first: int, table: list[list[str]], names: Sequence[str]) -> None:
    """Adds the numbers of a table: rows are benchmarks, and one column has the model's numbers."""
    head, rows = [_plain(cell) for cell in table[0]], table[1:]
    if not head or head[0] not in NAME_HEADS:
        card.notes.append(f"the table at {path}:{first} was not checked: its first column is not one of benchmarks")
        return

    def column(heads: Sequence[str]) -> int | None:
        return next((place for place, cell in enumerate(head) if place and cell in heads), None)

    metric, count = column(METRIC_HEADS), column(COUNT_HEADS)
    known = {0, metric, count}
    values = [
        place
        for place, cell in enumerate(head)
        if place not in known and cell not in ("", "p") and not cell.startswith(NO_RESULTS)
    ]
    mine = next((place for place in values if head[place] in names), None)
    mine = column(VALUE_HEADS) if mine is None else mine
    if mine is None and len(values) == 1:
        [mine] = values
    if mine is None:
        card.models += [table[0][place] for place in values if table[0][place] not in card.models]
        card.notes.append(
            f"the table at {path}:{first} has no column of the run's model: {', '.join(table[0][place] for place in values)}"
        )
        return
    card.models += [table[0][place] for place in values if place != mine and table[0][place] not in card.models]
    task = ""
    for line, row in enumerate(rows, first + 2):
        cells = [*row, *[""] * (len(head) - len(row))]
        task = (
            re.sub(r"[*`]|\\(?=[^\w\s])", "", cells[0]).strip() or task
        )  # a benchmark's further metrics stand below its name
        number = NUMBER.search(cells[mine].replace("\\", "").replace("**", ""))
        is_percent = "%" in cells[mine] or "%" in head[mine]
        n = cells[count].replace(",", "") if count is not None else ""
        card.rows.append(
            Published(
                f"{path}:{line}",
                task,
                (_plain(cells[metric]) or None) if metric is not None else None,
                number[0] if number else "",
                "percent" if is_percent else "any",
                int(n) if n.isdecimal() else None,
            )
        )
