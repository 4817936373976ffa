"""Answers from a file instead of a model: to score recorded answers, or another suite's.

    mm-eval --tasks mme --model replay --model_args path=answers.jsonl

One row a doc: {"task": "mme", "doc_id": 17, "resps": ["Yes"]}, one answer a repeat; for multiple choice one
[log-likelihood in nats, is_greedy] a choice, those of the first repeat first. `"ended": ["length"]` beside it says how each
generated answer ended ("stop" without it). The samples/*.jsonl of a run are such files. The turns of a conversation stand under
`turns`, a list for each repeat: `"turns": [[{"answer": "Zoom."}, {"answer": "A"}]]`. `path` may be a folder of them.
A row of samples/ also states its doc: where that is another doc than the one that is asked, since the data has another order or
revision, the answer is not taken and the doc fails.
A row's task is a path (`mmlu::mmlu_stem@mcqa`) or its last name. If no row has a task's own path or name, the rows of the one
path that ends in its name are used.

As a judge it answers from rows of the task `mme#judge` (`mme#judge2` for the second step of a judge), or `mme#judge@NAME` for
one judge of several: one reply a verdict, then those for replies that could not be read. The verdicts in samples/*.jsonl are
read, too.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mm_eval.config.arguments import PATH, read_arguments
from mm_eval.engine.model import Answers, Model, ModelFacts, ModelSettings, register_model
from mm_eval.values.errors import ConfigError, ModelError, kind_and_text
from mm_eval.values.types import ENDINGS, Answer, Ended, Instance, UpperBound, plain

FAILED = "an answer that failed"
ANOTHER = "the answer to another document"


@register_model("replay")
class Replay(Model):
    """Answers from a JSONL file of recorded answers (path=FILE.jsonl)."""

    facts = ModelFacts(name="replay", together=True, travels=False, hears=True)

    def __init__(self, args: Mapping[str, Any], settings: ModelSettings) -> None:
        super().__init__(args, settings)
        chosen = read_arguments(self.args, {"path": PATH}, "--model_args", "argument of replay")
        if "path" not in chosen:
            raise ConfigError("replay needs the file with the answers.", hint="Add --model_args path=FILE.jsonl.")
        path = Path(chosen["path"])
        files = sorted(path.glob("*.jsonl")) if os.path.isdir(path) else [path]
        self._rows: dict[tuple[str, int], list[object]] = {}
        self._ended: dict[tuple[str, int], tuple[Ended, ...]] = {}
        self._bounds: dict[tuple[str, int], list[object]] = {}  # of options that a server did not list
        self._told: dict[tuple[str, int], list[object]] = {}  # reasoning that stands beside the answers
        self._turns: dict[tuple[str, int], list[object]] = {}  # of each conversation, its turns
        self._paths: dict[str, set[str]] = {}  # by their last names
        self._docs: dict[tuple[str, int], tuple[tuple[str, ...], bytes, bytes]] = {}  # columns, doc, prompt and target
        self._names: dict[tuple[str, ...], tuple[str, ...]] = {}  # each list of columns once
        digest = hashlib.sha256()
        for file in files or [path]:
            digest.update(self._read(file))
        self.digest = digest.hexdigest()

    def _read(self, file: Path) -> bytes:
        try:
            content = file.read_bytes()
        except OSError as error:
            raise ConfigError(f"the answers can't be read: {error.strerror}.", where=str(file)) from error
        for number, line in enumerate(content.splitlines(), 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
                key, resps = (str(row["task"]), row["doc_id"]), row["resps"]
                if type(row["doc_id"]) is not int or not isinstance(resps, list):
                    raise TypeError("doc_id must be a whole number and resps a list")
                ended = _endings(row.get("ended"), len(resps))
            except (ValueError, KeyError, TypeError) as error:
                hint = 'A row is {"task": "mme", "doc_id": 17, "resps": ["Yes"]}.'
                raise ConfigError(
                    f"the line is not an answer row ({kind_and_text(error)}).",
                    where=f"{file}:{number}",
                    hint=hint,
                ) from error
            if key in self._rows:
                raise ConfigError(f"a second row for task {key[0]!r} doc {key[1]}.", where=f"{file}:{number}")
            self._rows[key], self._ended[key] = resps, ended
            if isinstance(doc := row.get("doc"), dict) and doc and "prompt" in row:
                names = self._names.setdefault(tuple(doc), tuple(doc))
                self._docs[key] = names, _digest(doc), _digest([row["prompt"], row.get("target")])
            if isinstance(turns := row.get("turns"), list):
                self._turns[key] = turns
            if isinstance(told := row.get("reasoning"), list):
                self._told[key] = told
            if isinstance(bounds := row.get("bounds"), list):
                self._bounds[key] = bounds
            for judge, replies in _replies_in(row):
                of_judge = (f"{key[0]}#{judge}", key[1])
                self._rows[of_judge] = [entry.get("reply") for entry in replies]
                self._ended[of_judge] = tuple(_endings(entry.get("ended"), 1)[0] for entry in replies)
            task = key[0].partition("#judge")[0]
            if "::" in task:
                self._paths.setdefault(_last_name(task), set()).add(task)
        return content

    def identity(self, instance: Instance) -> Mapping[str, object]:
        slot = instance.slot
        return {"adapter": "replay", "file": self.digest, "slot": slot.to_json()}

    def describe(self) -> Mapping[str, object]:
        return {"adapter": "replay", "file": self.digest}

    def generate(self, instances: Iterable[Instance]) -> Answers:
        for instance in instances:
            if self._is_of_another_doc(instance):
                yield instance, self._missing(instance, "an answer to this document", ANOTHER)
                continue
            if instance.then is not None and (place := self._place(instance)) in self._turns:
                yield instance, self._turn(instance, self._turns[place])
                continue
            answer, ended = self._answer(instance, instance.repeat)
            if instance.turn:
                yield instance, self._missing(instance, f"turn {instance.turn + 1}", None)
            elif ended == "failed":
                yield instance, self._missing(instance, "an answer that is text", FAILED)
            elif isinstance(answer, str):
                yield instance, Answer(answer, ended=ended, reasoning=self._reasoning(instance, answer))
            else:
                yield instance, self._missing(instance, "an answer that is text", answer)

    def loglikelihood(self, instances: Iterable[Instance]) -> Answers:
        for instance in instances:
            if self._is_of_another_doc(instance):
                yield instance, self._missing(instance, "an answer to this document", ANOTHER)
                continue
            answer, _ = self._answer(instance, instance.choice, len(instance.metadata.get("choices") or ()))
            match answer:
                case [int() | float() as ll, bool() as is_greedy]:
                    pair = (float(ll), is_greedy)
                    bounded = instance.choice in self._bounds.get(self._place(instance) or ("", -1), ())
                    yield instance, Answer(UpperBound(pair) if bounded else pair)
                case _:
                    yield instance, self._missing(instance, "[log-likelihood, is_greedy] for each choice", answer)

    loglikelihood_rolling = loglikelihood

    def _turn(self, instance: Instance, turns: list[Any]) -> Answer | ModelError:
        """The recorded answer of a turn of a conversation. turns: of each repeat."""
        try:
            turn = turns[instance.repeat][instance.turn]
            answer, ended, told = turn["answer"], turn.get("ended", "stop"), turn.get("reasoning")
            if ended == "failed" or not isinstance(answer, str):
                return self._missing(instance, "an answer that is text", FAILED)
            own = told if isinstance(told, str) and not answer.startswith(told) else None
            return Answer(answer, ended=ended, reasoning=own)
        except (LookupError, TypeError, AttributeError, ValueError):
            return self._missing(instance, f"turn {instance.turn + 1}", None)

    def _reasoning(self, instance: Instance, answer: str) -> str | None:
        """The reasoning beside a recorded answer. None if there is none, or if it is a part of the answer, as it was recorded."""
        told = self._told.get(self._place(instance) or ("", -1), [])
        thought = told[instance.repeat] if instance.repeat < len(told) else None
        return thought if isinstance(thought, str) and thought and not answer.startswith(thought) else None

    def _answer(self, instance: Instance, index: int, choices: int = 0) -> tuple[object, Ended]:
        """The recorded answer, or None, and how it ended. A row with another number of choices is
        returned whole, for the error to quote.
        """
        place = self._place(instance)
        if place is None:
            return None, "stop"
        resps, ended = self._rows[place], self._ended[place]
        if choices and len(resps) == instance.metadata.get("requests"):
            index += instance.repeat * instance.metadata["per_repeat"]
        elif choices and len(resps) not in (choices, 2 * choices):
            return resps, "stop"
        elif not choices and not index and instance.repeat < len(resps):  # a single continuation: one answer a repeat
            index = instance.repeat
        if index >= len(resps):
            return None, "stop"
        return resps[index], ended[index] if index < len(ended) else "stop"

    def _place(self, instance: Instance) -> tuple[str, int] | None:
        """Where the file has the doc of an instance, under any of the names of its task. None if it has not."""
        task, name = instance.task, instance.slot.name
        short = _last_name(task)
        ends_so = self._paths.get(short, set())
        of_judge = name.removeprefix(task)  # "#judge2@NAME"; a file may leave out who the judge is
        endings = [of_judge, of_judge.partition("@")[0]] if instance.judge else [""]
        names = (task, short, short.split("@")[0], *(ends_so if len(ends_so) == 1 else ()))
        for name in (f"{name}{ending}" for ending in endings for name in names):
            if (name, instance.doc_id) in self._rows:
                return name, instance.doc_id
        return None

    def _is_of_another_doc(self, instance: Instance) -> bool:
        """Whether a row states another doc under this id. One that scoring has changed has the same question."""
        place = None if instance.judge else self._place(instance)
        if place is None or place not in self._docs:
            return False
        names, doc, asked = self._docs[place]
        if any(not dict.__contains__(instance.doc, name) for name in names):  # the columns have other names by now
            return False
        if _digest({name: instance.doc[name] for name in names}) == doc:
            return False
        return _digest([instance.context, instance.target]) != asked

    def _missing(self, instance: Instance, needed: str, found: object) -> ModelError:
        said = found in (FAILED, ANOTHER) if isinstance(found, str) else False
        got = "no row or too few answers" if found is None else found if said else repr(found)
        where = f"{instance.slot.name} doc {instance.doc_id}"
        hint = "Replay answers to this data, or leave `doc` out of the rows." if found == ANOTHER else ""
        return ModelError(f"the file has {got} where {needed} is needed.", where=where, hint=hint)


def _digest(value: object) -> bytes:
    """A short digest of a value as samples/ have it; the same for all values that JSON can't hold."""
    try:
        text = json.dumps(value, sort_keys=True, default=_json_value)
    except (TypeError, ValueError):
        return b""
    return hashlib.sha256(text.encode()).digest()[:8]


def _json_value(value: object) -> object:
    own = plain(value)
    return str(value) if own is value else own


def _endings(stated: object, count: int) -> tuple[Ended, ...]:
    """How each of `count` answers ended, as a row states it: one word for all, or one for each; without it "stop"."""
    words = (
        [stated] * max(1, count)
        if isinstance(stated, str)
        else stated
        if stated is not None
        else ["stop"] * max(1, count)
    )
    if not isinstance(words, list) or any(word not in ENDINGS for word in words):
        raise ValueError(f"ended must be one of {', '.join(ENDINGS)}, or a list of them")
    if 0 < count != len(words):
        raise ValueError(f"ended has {len(words)} entries for {count} answers")
    return tuple(words)


def _replies_in(row: Mapping[str, object]) -> Iterator[tuple[str, list[dict[str, object]]]]:
    """("judge", "judge2@NAME" ..., the entries of its replies in their order) of the verdicts in a row of samples/."""
    for key, stated in row.items():
        head, at, name = key.partition("@")
        if head != "judge":
            continue
        replies: dict[str, list[dict[str, object]]] = {}
        for entry in stated if isinstance(stated, list) else [stated]:
            if isinstance(entry, dict):
                step = "" if entry.get("step", 1) == 1 else str(entry["step"])
                replies.setdefault(f"judge{step}{at}{name}", []).append(entry)
        yield from replies.items()


def _last_name(path: str) -> str:
    return path.rsplit("::", 1)[-1]
