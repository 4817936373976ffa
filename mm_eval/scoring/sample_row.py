"""A row of samples/<task>.jsonl, as scoring makes it and as every reader gets it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NotRequired, TypedDict

from mm_eval.values.types import Fields, JsonObject, Message


class Turn(TypedDict):
    """A turn of a conversation: what was said before the answer, the answer, its tokens, its time and its ending."""

    messages: list[Message]
    answer: Any
    ended: str
    reasoning: NotRequired[str]
    error: NotRequired[Mapping[str, str]]
    tokens: NotRequired[Mapping[str, int]]
    attempts: NotRequired[int]
    t: NotRequired[float]


class Endings(TypedDict, total=False):
    """How each answer of a doc ended, where answers are generated."""

    ended: list[str]


class SampleRow(Endings):
    """A doc with its answers and scores.

    status: "answered", "filtered", "refused", "truncated", "failed" or "not requested". resps: one a repeat, or one a choice.
    filtered_resps, rules: of each pipeline, one a repeat. scores: by "metric,pipeline". ended: how each answer ended.
    images: digests of the pictures that were shown. turn_pictures: how many of them each example shows, then the question; where
    examples show some. videos: the clips. sounds: what was heard (`Heard`). turn_shown: the order of pictures and sounds in each
    turn, where there is sound. cluster: what the docs of one cluster share.
    categories: {level: names}. remarks: what metrics say of the scores. bounds: the places of `resps` whose
    log-likelihood is an upper bound. error: owner and what, of a doc that is in no number.
    Rows without it lack what is marked so. Features add keys of their own, such as verdicts (`verdicts_in`).
    """

    doc_id: int
    status: str
    doc: JsonObject
    prompt: Any
    target: Any
    resps: list[Any]
    scores: Fields
    task: NotRequired[str]
    filtered_resps: NotRequired[Mapping[str, list[object]]]
    rules: NotRequired[Mapping[str, list[str]]]
    cut: NotRequired[bool]
    reasoning: NotRequired[list[str]]
    choices: NotRequired[list[Any]]
    turns: NotRequired[list[list[Turn]]]
    ties: NotRequired[bool]
    too_large: NotRequired[list[str]]
    remarks: NotRequired[list[str]]
    bounds: NotRequired[list[int]]
    error: NotRequired[Mapping[str, str]]
    images: NotRequired[list[str]]
    turn_pictures: NotRequired[list[int]]
    sounds: NotRequired[list[Mapping[str, object]]]
    turn_shown: NotRequired[list[str]]
    videos: NotRequired[list[Mapping[str, object]]]
    cluster: NotRequired[object]
    categories: NotRequired[Mapping[str, list[str]]]


def added_to(row: SampleRow) -> JsonObject:
    """What features added to a row, such as verdicts."""
    own = SampleRow.__annotations__
    return {} if row.keys() <= own.keys() else {name: value for name, value in row.items() if name not in own}
