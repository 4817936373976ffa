"""The lines of a journal: an answer, a failure or further slots as JSON with a crc, and back."""

from __future__ import annotations

import math
import sys
import time
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence

from mm_eval.engine.prices import token_counts
from mm_eval.values.errors import ERRORS_BY_OWNER, MMEvalError
from mm_eval.values.files import digest_of, encoder
from mm_eval.values.run_files import json_value
from mm_eval.values.types import (
    Answer,
    End,
    Ended,
    Fields,
    JsonObject,
    LLOutput,
    Slot,
    UpperBound,
    clips_of_json,
    clips_to_json,
    sounds_of_json,
    sounds_to_json,
)

VERSION = 2
"""The newest form of a record that is read. `answers` records are of this form."""
FIRST = 1
"""The form of all other records."""
_CRC_LENGTH = len(',"crc":"00000000"}')
IN_COMMON = ("images", "turn_pictures", "videos", "sounds", "turn_shown", "attempts", "t", "seconds")
"""The entries of an `answers` record that each of its answers has."""
NO_USAGE: Mapping[str, int] = {}


def answer_record(answer: Answer, slots: Iterable[Slot]) -> dict[str, object]:
    """The record of an answer or a failure and its slots. The text of an error stands under `error`, never under `output`."""
    slots = list(slots)
    of_judge = bool(slots) and bool(slots[0].judge)
    error, kind = answer.error, "error" if answer.error is not None else "judge" if of_judge else "answer"
    record: dict[str, object] = {
        "v": FIRST,
        "kind": kind,
        "key": answer.key,
        "slots": [slot.to_json() for slot in slots],
    }
    if answer.images:
        record["images"], record["turn_pictures"] = list(answer.images), list(answer.turn_pictures)
    record.update(clips_to_json(answer.clips))
    record.update(sounds_to_json(answer.heard, answer.turn_shown))
    if answer.messages is not None:
        record["messages"] = list(answer.messages)
    record["attempts"], record["t"] = answer.attempts, answer.at or now()
    if answer.seconds:
        record["seconds"] = answer.seconds
    if error is not None:
        return {**record, "error": error_fields(error)}
    output: dict[str, object] = {"text": answer.output}
    if isinstance(answer.output, tuple):
        output = dict(zip(("ll", "is_greedy"), _scored(answer.output), strict=True))
        if isinstance(answer.output, UpperBound):
            output["bound"] = True
    if answer.reasoning is not None:
        output["reasoning"] = answer.reasoning
    if answer.ended != "stop":
        output["ended"] = answer.ended
    output["cut"] = answer.cut
    if answer.model:
        output["model"] = answer.model
    if answer.places:
        output["places"] = [
            [place.token, {token: ll for token, ll in place.likeliest.items() if math.isfinite(ll)}]
            for place in answer.places
        ]
    return {**record, "output": output, "usage": token_counts(answer.usage)}


def answers_record(answers: Sequence[tuple[Answer, Slot]]) -> dict[str, object]:
    """The one record of the log-likelihoods of a doc's choices, which are `alike`: keys, slots and outputs in one order."""
    first = answers[0][0]
    record: dict[str, object] = {
        "v": VERSION,
        "kind": "answers",
        "keys": [answer.key for answer, _ in answers],
        "slots": [slot.to_json() for _, slot in answers],
        "outputs": [_scored(answer.output) for answer, _ in answers if isinstance(answer.output, tuple)],
        "cut": first.cut,
        "attempts": first.attempts,
        "t": now(),
    }
    if seconds := max(answer.seconds for answer, _ in answers):
        record["seconds"] = seconds
    if first.images:
        record["images"], record["turn_pictures"] = list(first.images), list(first.turn_pictures)
    record.update(clips_to_json(first.clips))
    record.update(sounds_to_json(first.heard, first.turn_shown))
    if first.model:
        record["model"] = first.model
    if any(answer.usage for answer, _ in answers):
        record["usages"] = [token_counts(answer.usage) for answer, _ in answers]
    return record


def in_common(answer: Answer) -> tuple[object, ...] | None:
    """What log-likelihoods have in common that one `answers` record can hold: all but key, output and usage.

    None for an answer that such a record can't state.
    """
    plain = answer.error is None and answer.reasoning is None and answer.messages is None
    if not plain or answer.ended != "stop" or type(answer.output) is not tuple:
        return None
    shown = answer.images, answer.turn_pictures, answer.clips, answer.heard, answer.turn_shown
    return answer.cut, answer.attempts, answer.model, *shown


def single_records(record: Fields) -> Iterator[Fields]:
    """A record; of an `answers` record one `answer` record for each of its answers.

    Raises KeyError, TypeError or ValueError for another form.
    """
    if record["kind"] != "answers":
        yield record
        return
    keys, outputs = record["keys"], record["outputs"]
    common = {name: record[name] for name in IN_COMMON if name in record}
    ended = {name: record[name] for name in ("cut", "model") if name in record}
    usages = record.get("usages") or [NO_USAGE] * len(keys)
    for key, slot, (ll, is_greedy), usage in zip(keys, record["slots"], outputs, usages, strict=True):
        output = {"ll": ll, "is_greedy": is_greedy, **ended}
        yield {"v": FIRST, "kind": "answer", "key": key, "slots": [slot], **common, "output": output, "usage": usage}


def _scored(output: LLOutput) -> tuple[float | str, bool]:
    """A log-likelihood in a record. JSON has no infinity and no NaN: they are written as the text that `float` reads."""
    ll, is_greedy = output
    return ll if ll - ll == 0 else str(ll), is_greedy


def now() -> float:
    """The time as records have it, in seconds since 1970."""
    return round(time.time(), 3)


def end_record(key: str, slot: Slot, end: End) -> dict[str, object]:
    """The record of the end of a conversation. key: of its last answer. slot: of its first turn."""
    return {"v": FIRST, "kind": "end", "key": key, "slots": [slot.to_json()], **end.to_json(), "t": end.at or now()}


def digest_of_answer(answer: Answer) -> str:
    """A short digest of an answer and its question."""
    return digest_of([answer.key, answer.output, answer.reasoning])[:16]


def slots_record(key: str, slots: Iterable[Slot], at: float = 0.0) -> dict[str, object]:
    """The record of more slots for a recorded answer, so that a key keeps its one answer record. at: when, for a turn."""
    record = {"v": FIRST, "kind": "slots", "key": key, "slots": [slot.to_json() for slot in slots]}
    return {**record, "t": at} if at else record


def error_fields(error: MMEvalError) -> dict[str, str]:
    """An error as JSON, for a record or another process."""
    return {"owner": error.owner, "what": error.what, "where": error.where, "hint": error.hint}


def error_of(fields: Mapping[str, str]) -> MMEvalError:
    """The error that `error_fields` wrote."""
    kind = ERRORS_BY_OWNER.get(fields["owner"], MMEvalError)
    return kind(fields["what"], where=fields.get("where", ""), hint=fields.get("hint", ""))


def answer_of(record: Fields) -> Answer | None:
    """The answer or failure in a record; its usage only for a turn of a conversation. None for an unknown kind."""
    output: str | LLOutput | None = None
    error, fields = None, record.get("output", {})
    if record["kind"] == "error":
        error = error_of(record["error"])
    elif record["kind"] in ("answer", "judge"):
        output = fields["text"] if "text" in fields else (float(fields["ll"]), fields["is_greedy"])
        output = UpperBound(output) if fields.get("bound") else output
    else:
        return None
    ended: Ended = fields.get("ended", "stop")
    images, turn_pictures = tuple(record.get("images", ())), tuple(record.get("turn_pictures", ()))
    model = sys.intern(str(fields.get("model", "")))
    clips = clips_of_json(record)
    heard, turn_shown = sounds_of_json(record)
    messages = tuple(record["messages"]) if "messages" in record else None
    return Answer(
        output,
        usage=NO_USAGE if messages is None else token_counts(record.get("usage")),
        attempts=record.get("attempts", 1),
        cut=fields.get("cut"),
        key=record["key"],
        images=images,
        turn_pictures=turn_pictures,
        error=error,
        model=model,
        clips=clips,
        ended="failed" if error is not None else ended,
        reasoning=fields.get("reasoning"),
        messages=messages,
        at=0.0 if messages is None else float(record["t"]),
        heard=heard,
        turn_shown=turn_shown,
    )


_line = encoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def encode(record: Mapping[str, object]) -> bytes:
    """The line of a record, with its crc at the end. Unpaired surrogates, which some tokenizers give, are escaped."""
    text = _line(record).encode()
    return b'%s,"crc":"%08x"}\n' % (text[:-1], zlib.crc32(text))


def decode(line: bytes) -> JsonObject:
    """The record of a line without its newline. Raises ValueError if the crc or the form is wrong."""
    text = line[:-_CRC_LENGTH] + b"}"
    if line[-_CRC_LENGTH:] != b',"crc":"%08x"}' % zlib.crc32(text):
        raise ValueError("crc")
    record = json_value(text)
    if not isinstance(record, dict):
        raise ValueError("it is not a record")
    return record
