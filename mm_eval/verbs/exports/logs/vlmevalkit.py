"""Logs of VLMEvalKit: a table of predictions for each model and data set, and tables with its scores beside it.

    <model>/<model>_<data set>.xlsx (or .tsv, .json)                       index, question, answer, prediction, ...
    <model>/<model>_<data set>_<grader>_result.xlsx, ..._auxmatch.xlsx     the same with `hit` or `score`
    <model>/<model>_<data set>_acc.csv, ..._score.csv                      its numbers

Newer versions put a folder T<date>_G<commit> between. The pictures are left out of the tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from mm_eval.values.errors import ConfigError
from mm_eval.verbs.exports.logs.files import XLSX_CELL, OddValue, damaged, head, reading, shown
from mm_eval.verbs.exports.logs.tables import table
from mm_eval.verbs.exports.logs.values import Log, LogRow, as_score, cell_text, options_in

TABLES = (".xlsx", ".tsv", ".json", ".csv")
SCORES = ("hit", "score", "eval_score", "verifier_score", "match", "acc")
"""Columns with the value of a document, the first that there is."""
READ = ("extracted", "eval_pred", "res", "pred", "log")
"""Columns with the answer as it was read."""
FAILED = "Failed to obtain answer"
NUMBERS = ("_acc", "_score", "_acc_all", "_fine", "_rating")
EVALUATION = re.compile(r"T\d{8}.*")


def find(folder: Path, files: Sequence[Path]) -> Iterator[Log]:
    """The logs among the files of one folder."""
    tables = [path for path in files if path.suffix.lower() in TABLES]
    model = folder.parent.name if EVALUATION.fullmatch(folder.name) else folder.name
    predictions = [path for path in tables if path.suffix.lower() != ".csv" and _has_predictions(path)]
    names = {path.stem for path in predictions}
    for path in predictions:
        if any(path.stem != name and path.stem.startswith(f"{name}_") for name in names):
            continue  # the same predictions with scores
        beside = [each for each in tables if each != path and each.stem.startswith(f"{path.stem}_")]
        own = path.stem.startswith(f"{model}_")
        yield Log(
            suite="VLMEvalKit",
            task=path.stem.removeprefix(f"{model}_") if own else path.stem,
            path=path,
            rows=partial(_rows, path, beside),
            model=model if own else "",
            numbers=_numbers(beside),
            when=folder.name if EVALUATION.fullmatch(folder.name) else "",
        )


def _has_predictions(path: Path) -> bool:
    """Whether the first row has a prediction and an index."""
    if path.suffix.lower() == ".json" and head(path).lstrip()[:1] != b"[":
        return False
    first = next(table(path), None)
    return first is not None and {"prediction", "index"} <= first[1].keys()


def _rows(path: Path, beside: Sequence[Path]) -> Iterator[LogRow]:
    scores, read = _scores(beside)
    for number, (line, row) in enumerate(table(path), 1):
        place = str(path) if line else f"{path} entry {number}"
        if "prediction" not in row or "index" not in row:
            raise damaged(place, "the row has no `index` or no `prediction`", line or None)
        with reading(place, line or None):
            found = _row(path, f"{path.name}:{line}" if line else f"{path.name} entry {number}", row)
        yield replace(found, scores=scores.get(found.id, {}), read=read.get(found.id))


def _row(path: Path, where: str, row: Mapping[str, object]) -> LogRow:
    for name in ("index", "prediction", "thinking"):
        if isinstance(row.get(name), (dict, list, bool)):
            raise OddValue(f"`{name}` is {shown(row[name])} where a text is needed")
    prediction = cell_text(row["prediction"])
    cut = path.suffix.lower() == ".xlsx" and len(prediction) >= XLSX_CELL
    apart = ("prediction", "thinking", "extra_records")
    return LogRow(
        where=where,
        resps=[_with_thinking(prediction, row.get("thinking"))],
        id=cell_text(row["index"]),
        doc={name: value for name, value in row.items() if name not in apart},
        prompt=cell_text(row.get("question")),
        target=row.get("answer"),
        choices=options_in(row),
        ended=["length"] if cut else (),
        failed=prediction if prediction.startswith(FAILED) else "",
        raw=row,
    )


def _with_thinking(prediction: str, thinking: object) -> str:
    """The answer as the model gave it: a version with SPLIT_THINK keeps the reasoning in a column of its own."""
    return f"<think>{thinking}</think>\n{prediction}" if isinstance(thinking, str) and thinking.strip() else prediction


def _scores(beside: Sequence[Path]) -> tuple[dict[str, dict[str, float]], dict[str, object]]:
    """{index: scores} and {index: the answer as it was read}, from the tables with scores."""
    scores: dict[str, dict[str, float]] = {}
    read: dict[str, object] = {}
    for path in beside:
        if path.suffix.lower() == ".json" and head(path).lstrip()[:1] != b"[":
            continue
        for _, row in table(path):
            if "index" not in row:
                break
            index = cell_text(row["index"])
            for name in SCORES:
                if name in row and (score := as_score(row[name])) is not None:
                    scores.setdefault(index, {})[name] = score
                    break
            for name in READ:
                if row.get(name) not in (None, ""):
                    read.setdefault(index, row[name])
                    break
    return scores, read


def _numbers(beside: Sequence[Path]) -> dict[str, float]:
    """The numbers of the files of scores: of a table with one row its columns, of several rows `row/column`."""
    found: dict[str, float] = {}
    for path in beside:
        if path.suffix.lower() != ".csv" or not path.stem.endswith(NUMBERS):
            continue
        try:
            rows = [row for _, row in table(path)]
        except ConfigError:
            continue  # the scores of the documents are in another file
        for row in rows[:200]:
            label = next((str(value) for value in row.values() if as_score(value) is None), "")
            for name, value in row.items():
                if (number := as_score(value)) is not None and name not in ("", "Unnamed: 0"):
                    found[name if len(rows) == 1 or not label else f"{label}/{name}"] = number
    return found
