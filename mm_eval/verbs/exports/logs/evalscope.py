"""Logs of evalscope since 1.0, whose messages and outputs have the form of inspect_ai.

    predictions/<model>/<data set>_<subset>.jsonl    index, model_output, messages
    reviews/<model>/<data set>_<subset>.jsonl        index, target, sample_score, group_id: the answers as they were scored

Rows stand in the order in which they were finished. Several answers to a question are rows of one `group_id`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from mm_eval.values.types import IMAGE_MARK, JsonObject
from mm_eval.verbs.exports.logs.files import as_list, as_mapping, as_text, damaged, json_lines, reading
from mm_eval.verbs.exports.logs.inspect_log import ENDINGS
from mm_eval.verbs.exports.logs.values import Log, LogRow, as_score


def find(folder: Path, files: Sequence[Path]) -> Iterator[Log]:
    """The logs among the files of one folder."""
    if folder.parent.name != "predictions":
        return
    for path in files:
        if path.suffix == ".jsonl" and _is_prediction(next(json_lines(path), (0, None))[1]):
            beside = folder.parent.parent / "reviews" / folder.name / path.name
            reviews = beside if beside.is_file() and not beside.is_symlink() else None
            notes = (
                []
                if reviews
                else ["no reviews are beside the predictions: golds and evalscope's own scores are unknown"]
            )
            yield Log(
                suite="evalscope",
                task=path.stem,
                path=path,
                rows=partial(_rows, path, reviews),
                model=folder.name,
                notes=notes,
            )


def _is_prediction(entry: object) -> bool:
    return isinstance(entry, dict) and type(entry.get("index")) is int and "model_output" in entry


def _rows(path: Path, reviews: Path | None) -> Iterator[LogRow]:
    reviewed = dict(_reviewed(reviews)) if reviews else {}
    groups: dict[int, list[tuple[int, LogRow]]] = {}
    for line, entry in json_lines(path):
        if not isinstance(entry, dict) or not _is_prediction(entry):
            raise damaged(
                path, "an entry is not a prediction: it has no index that is a number, or no model_output", line
            )
        index = entry["index"]
        group, nth, review = reviewed.get(index, (index, 0, {}))
        with reading(path, line):
            row = _row(entry, review, group, f"{path.name}:{line}")
        groups.setdefault(group, []).append((nth, row))
    for group in sorted(groups):
        rows = [row for _, row in sorted(groups[group], key=lambda pair: pair[0])]
        first, failed = rows[0], next((row.failed for row in rows if row.failed), "")
        resps = [each for row in rows for each in row.resps]
        ended = [each for row in rows for each in row.ended]
        yield first if len(rows) == 1 else replace(first, resps=resps, ended=ended, failed=failed, scores={})


def _reviewed(path: Path) -> Iterator[tuple[int, tuple[int, int, JsonObject]]]:
    """(index, (group, number of the answer in it, the review)) of each row."""
    for line, entry in json_lines(path):
        with reading(path, line):
            review = as_mapping(entry, "review")
            found = as_mapping(review.get("sample_score"), "sample_score")
            index, group, nth = review.get("index"), found.get("group_id"), found.get("generation_index")
            if type(index) is not int:
                raise TypeError("`index` is missing or is not a number")
            yield index, (group if type(group) is int else index, nth if type(nth) is int else 0, review)


def _row(entry: Mapping[str, object], review: Mapping[str, object], group: int, where: str) -> LogRow:
    output = as_mapping(entry.get("model_output"), "model_output")
    choices = [as_mapping(each, "choices") for each in as_list(output.get("choices"), "choices")]
    messages = [as_mapping(each, "messages") for each in as_list(entry.get("messages"), "messages")]
    asked = [each for each in messages if each.get("source") != "generate"]
    question = "\n".join(_text(each.get("content")) for each in asked if each.get("role") == "user")
    target = review.get("target")
    target = target[0] if isinstance(target, list) and len(target) == 1 else target
    score = as_mapping(as_mapping(review.get("sample_score"), "sample_score").get("score"), "score")
    values = as_mapping(score.get("value"), "value")
    failed = as_text(output.get("error"), "error")
    answer, ended = "", "unknown"
    if choices:
        message = as_mapping(choices[0].get("message"), "message")
        answer = _text(message.get("content"))
        stated = as_text(choices[0].get("stop_reason"), "stop_reason")
        ended = ENDINGS.get(stated, "failed") if stated else "unknown"
    elif not failed:
        failed = "the log has no answer"
    if ended == "failed" and not failed:
        failed = f"the answer {answer[:200]!r} has stop_reason {stated!r}: whether it is whole is not known"
    return LogRow(
        where=where,
        resps=[] if failed else [answer],
        id=str(group),
        doc={**as_mapping(entry.get("metadata"), "metadata"), "question": question, "target": target},
        prompt=[{"role": str(each.get("role", "user")), "content": _text(each.get("content"))} for each in asked],
        target=target,
        ended=[ended],
        scores={name: number for name, value in values.items() if (number := as_score(value)) is not None},
        read=score.get("extracted_prediction"),
        failed=failed[:500],
        raw={"index": entry["index"], "id": group, "question": question, "target": target},
    )


def _text(content: object) -> str:
    """The text of a content: a text, or parts. A reasoning that stands apart is put in front between its marks."""
    if isinstance(content, str) or content is None:
        return content or ""
    found, thought = [], []
    for part in (as_mapping(each, "content") for each in as_list(content, "content")):
        kind = part.get("type")
        if kind == "text":
            found.append(as_text(part.get("text"), "text"))
        elif kind == "reasoning":
            thought.append(as_text(part.get("reasoning"), "reasoning"))
        elif kind == "image":
            found.append(f"{IMAGE_MARK}\n")
    text = "".join(found)
    return f"<think>{''.join(thought)}</think>\n{text}" if any(thought) else text
