"""What a side answered: each document with its replies, read from the journal and the samples of a run folder."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from mm_eval.engine.prices import token_counts
from mm_eval.engine.records import single_records
from mm_eval.results.recorded import RecordedRun, headline_keys, marks
from mm_eval.results.sample_rows import value_digest
from mm_eval.values.errors import MMEvalError
from mm_eval.values.run_files import UNREADABLE, journal_files, json_value, lines_of
from mm_eval.values.types import Fields, Place, Slot

COMPARED = 2
"""Replies to a document that are compared; what a run has beyond them is left out."""


@dataclass(frozen=True)
class Reply:
    """One answer, as far as it says what was served.

    said: the text with its reasoning; of choices the best one's number. tokens: of the prompt, None if they were not counted.
    places: of the first tokens; of choices one place, with the share of each. model: as the server names it.
    """

    said: str
    ended: str = "stop"
    tokens: int | None = None
    places: tuple[Place, ...] = ()
    model: str = ""


@dataclass(frozen=True)
class Asked:
    """A document and its replies. replies: None for one that failed. asked: a digest of its row and its prompt.

    cluster: of documents that share a picture. kind: what it is of, for counts. score: from 0 to 1; None for another number.
    """

    asked: bytes
    cluster: Hashable
    kind: str
    replies: tuple[Reply | None, ...]
    score: float | None = None


@dataclass
class Side:
    """One side, read from its run folder. name: what the user called it."""

    name: str
    run: RecordedRun
    docs: Mapping[tuple[str, int], Asked] = field(default_factory=dict)

    @classmethod
    def read(cls, name: str, run: RecordedRun) -> Side:
        """Errors: as of the readers of a run's samples."""
        return cls(name, run, dict(_docs(run)))

    @property
    def dtype(self) -> str:
        """In which type it computes, where that is known: of a model that is loaded here."""
        return str(self.run.spec.get("model", {}).get("dtype") or "")

    @cached_property
    def names(self) -> Counter[str]:
        """What the replies call the model, with a fingerprint where they give one."""
        return Counter(
            reply.model for doc in self.docs.values() for reply in doc.replies if reply is not None and reply.model
        )

    @property
    def has_replies(self) -> bool:
        """Whether anything was answered."""
        return any(reply is not None for doc in self.docs.values() for reply in doc.replies)

    @property
    def repeats(self) -> int:
        """How often each document was asked: 2 is enough to see what it answers otherwise when it is asked again."""
        return min(COMPARED, max((len(doc.replies) for doc in self.docs.values()), default=0))


def _docs(run: RecordedRun) -> Iterator[tuple[tuple[str, int], Asked]]:
    recorded = _replies_of(run)
    for name, task in run.spec["tasks"].items():
        of_task, scored = recorded.get(task["path"], {}), run.tasks[name]
        keys = [key for key in headline_keys(scored) if run.results.better(name, key.metric) is not None]
        values: Mapping[int, Any] = scored.values[keys[0]] if keys else {}
        right = marks(scored)
        for row in run.rows(name):
            if row["status"] == "not requested":
                continue
            doc_id, replies = row["doc_id"], of_task.get(row["doc_id"])
            if replies is None:
                replies = _of_samples(row)
            yield (
                (name, doc_id),
                Asked(
                    value_digest([row["doc"], row["prompt"]]),
                    scored.clusters.get(doc_id, doc_id),
                    str(row["doc"].get("kind") or name) if name.startswith("probe") else name,
                    tuple(replies),
                    _score(values.get(doc_id), right.get(doc_id)),
                ),
            )


def _score(value: object, right: bool | None) -> float | None:
    """A document's value as a share of 1, or whether it is right; None where neither is known."""
    if isinstance(value, (bool, int, float)) and 0 <= value <= 1:
        return float(value)
    return None if right is None else float(right)


def _of_samples(row: Fields) -> list[Reply | None]:
    """The replies of a row whose journal is elsewhere: texts and endings alone."""
    if row["status"] == "failed":
        return [None]
    ended = list(row.get("ended") or ())
    ended += ["stop"] * (len(row["resps"]) - len(ended))
    return [Reply(str(said), end) for said, end in zip(row["resps"], ended, strict=False)]


def _replies_of(run: RecordedRun) -> dict[str, dict[int, list[Reply | None]]]:
    """{path of a task: {doc id: its replies by repeat}} of the journal; of a conversation the first turn's.

    A line that can't be read counts as none, since `mm-eval score` reports damage.
    """
    records: dict[str, Fields] = {}
    keys: dict[Slot, str] = {}
    failed: set[Slot] = set()
    with suppress(MMEvalError, OSError):
        for path in journal_files(run.folder):
            for _, line in lines_of(run.folder, path):
                with suppress(*UNREADABLE):
                    for record in single_records(json_value(line or b"")):
                        _add(record, records, keys, failed)
    choices: dict[tuple[str, int, int], dict[int, Fields | None]] = {}
    for slot in {*keys, *failed}:
        known = records.get(keys.get(slot, ""))
        choices.setdefault((slot.task, slot.doc_id, slot.repeat), {})[slot.choice] = known
    found: dict[str, dict[int, list[Reply | None]]] = {}
    for (task, doc_id, _), of_choices in sorted(choices.items()):
        known_choices = [of_choices[choice] for choice in sorted(of_choices)]
        found.setdefault(task, {}).setdefault(doc_id, []).append(_reply(known_choices))
    return found


def _add(record: Fields, records: dict[str, Fields], keys: dict[Slot, str], failed: set[Slot]) -> None:
    if record["kind"] not in ("answer", "slots", "error"):
        return
    slots = [slot for slot in map(Slot.from_json, record["slots"]) if not slot.judge and not slot.turn]
    if record["kind"] == "error":
        failed.update(slot for slot in slots if slot not in keys)
        return
    if record["kind"] == "answer":
        records[str(record["key"])] = record
    keys.update((slot, str(record["key"])) for slot in slots)


def _reply(records: Sequence[Fields | None]) -> Reply | None:
    """The reply of a record; of several the choices of one question. None where one failed."""
    outputs = [record["output"] for record in records if record is not None]
    if len(outputs) < len(records):
        return None
    first = records[0]
    assert first is not None
    tokens = token_counts(first.get("usage")).get("prompt_tokens")
    model = str(outputs[0].get("model", ""))
    if "text" in outputs[0]:
        places = tuple(Place(str(token), dict(likeliest)) for token, likeliest in outputs[0].get("places", ()))
        said = f"{outputs[0].get('reasoning') or ''}{outputs[0]['text']}"
        return Reply(said, str(outputs[0].get("ended", "stop")), tokens, places, model)
    lls = [float(output["ll"]) for output in outputs]
    best = max(range(len(lls)), key=lls.__getitem__)
    if len(lls) < 2 or not math.isfinite(lls[best]):
        return Reply(str(best), tokens=tokens, model=model)
    total = lls[best] + math.log(sum(math.exp(ll - lls[best]) for ll in lls))
    likeliest = {str(number): ll - total for number, ll in enumerate(lls)}
    return Reply(str(best), tokens=tokens, places=(Place(str(best), likeliest),), model=model)
