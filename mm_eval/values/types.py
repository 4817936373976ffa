"""The values of a run, from a task's docs to a model, and from the model's answers to the numbers.

Instance -> Answer -> (filters) -> ScoredDoc -> ReducedDoc -> {MetricKey: number}
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, Protocol, TypeAlias, TypeVar

from mm_eval.values.distributions import CONFIDENCE, POWER, t_quantile, t_two_sided
from mm_eval.values.errors import (
    DocError,  # for the functions of tasks, which import from here
    MMEvalError,
)

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from PIL.Image import Image

    Floats: TypeAlias = NDArray[np.float64]
    """An array of numbers."""

OutputType = Literal["generate_until", "multiple_choice", "loglikelihood", "loglikelihood_rolling"]
RequestType = Literal["generate_until", "loglikelihood", "loglikelihood_rolling"]
Ended = Literal["stop", "length", "filtered", "refused", "failed", "tool", "unknown"]
ENDINGS: tuple[Ended, ...] = ("stop", "length", "filtered", "refused", "failed", "tool", "unknown")
"""How an answer ended: by the model itself, by the token cap, by the vendor's filter, by a refusal that the endpoint states in a
field of its own, by something that is not the model's doing, or by a tool call where tools were offered. "unknown" is for
recorded answers whose record does not say it; of a model that answers now, an ending without a known word is "failed"."""

Doc: TypeAlias = dict[str, Any]
"""One row of a dataset after `process_docs`, without its decoded pictures."""

JsonObject: TypeAlias = dict[str, Any]
"""An object of JSON that is made or changed here: of a file, a request or a reply."""

Fields: TypeAlias = Mapping[str, Any]
"""An object of JSON that is only read: a line of a file, a reply, what a run folder holds."""

Options: TypeAlias = Mapping[str, object]
"""Named values as somebody states them: a model's arguments, generation options, keyword arguments, a block of a file.

Each value is checked before it is used."""

Completion: TypeAlias = str
"""A generated answer."""

LLOutput: TypeAlias = tuple[float, bool]


class UpperBound(LLOutput):
    """A pair whose log-likelihood is at most the number: the option is not among a server's likeliest tokens.

    Metrics that pick the likeliest option can use it where another option is above it; no other metric can.
    """

    __slots__ = ()


"""A log-likelihood (sum over the continuation's tokens, nats, higher is likelier), and whether greedy decoding gives it."""

Message: TypeAlias = dict[str, Any]
"""A chat turn: {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "..."}]}.

The n-th {"type": "image"} part over all messages stands for the n-th picture of the instance, the n-th {"type": "audio"} part for
its n-th sound. A function that is given to `evaluate(model=...)` gets each picture in its part, {"type": "image", "image":
<PIL.Image, RGB>}, each sound as {"type": "audio", "audio": <Sound>}, and contents as lists of parts.
"""

CALL_FORMAT = "call_format"
"""The entry of an instance's metadata that names the format of calls of its model, for one that turns out to take no `tools`."""

IMAGE_MARK = "<image>"
"""The place of a picture in a text. An adapter replaces it by its own token.

A plain-text context has one for each picture if its few-shot examples have pictures too. A task's question may have one for each
of its pictures (MuirBench, MMT-Bench); in a chat the image parts are put there.
"""

AUDIO_MARK = "<audio>"
"""The place of a sound in a text, as IMAGE_MARK is that of a picture. A plain-text context has one for each sound, and then an
IMAGE_MARK for each picture, too, so that their order is known."""


def mark_of(part: Mapping[str, object]) -> str:
    """The mark of a part of a message that is no text."""
    return AUDIO_MARK if part.get("type") == "audio" else IMAGE_MARK


FRAME_MARK = "frame"
"""How the digest of a video's frame begins. It is made of the video's bytes; a picture's is the sha256 of its pixels."""

FILE_MARK = "file:"
"""How the digest of a picture begins that a server gets as it is stored. The sha256 of its file's bytes follows."""


def picture_name(digest: str) -> str:
    """The digest of a picture as a part of addresses and of names of files: without the mark."""
    return digest.removeprefix(FILE_MARK)


T = TypeVar("T")
ProcessDocs = TypeVar("ProcessDocs", bound=Callable[..., Any])

Context: TypeAlias = str | list[Message]
Target: TypeAlias = str | int | list[str] | list[int] | None


@dataclass(frozen=True, slots=True)
class Video:
    """A video, or a part of one, in a question: what a task's `doc_to_visual` may return beside pictures.

    path: of the file, absolute or relative to the data's folder. start, end: seconds after the first frame; None for the
    file's own ends. Which frames are shown is the rule of the run (`--video`), not the task's matter.
    subtitles: the name of a file with its subtitles below the data's folder, for a `doc_to_text` that takes `clips`.
    """

    path: str | os.PathLike[str]
    start: float | None = None
    end: float | None = None
    subtitles: str | None = None


@dataclass(frozen=True, slots=True)
class Audio:
    """A sound, or a part of one, in a question: what a task's `doc_to_audio` or `doc_to_visual` may return.

    source: the path of a file, absolute or relative to the data's folder, or its bytes, or a sound in another form that a
    function may return. start, end: seconds from the file's first sample; None for the file's own ends. A sample belongs to the
    part if start <= its time < end.
    """

    source: Any
    start: float | None = None
    end: float | None = None


class Heard(NamedTuple):
    """A sound of an instance, as the journal has it.

    digest: its identity. rate, channels: of its file. length: the samples of each channel. name: of the file, "" if it has none;
    never part of a request key. first: the number of its first sample in the file.
    """

    digest: str
    rate: int
    channels: int
    length: int
    name: str = ""
    first: int = 0

    @property
    def seconds(self) -> float:
        return self.length / self.rate

    def to_json(self) -> dict[str, Any]:
        """The sound as JSON values."""
        return self._asdict()

    @classmethod
    def of_json(cls, record: Mapping[str, Any]) -> Heard:
        """The sound that `to_json` wrote."""
        return cls(**{name: record[name] for name in cls._fields})


class Audible(Protocol):
    """What an instance lets a model hear: a `Sound` of mm_eval.data.sound, which decodes its samples when they are asked for."""

    @property
    def rate(self) -> int:
        """Samples a second, as its file has them."""

    @property
    def channels(self) -> int: ...

    @property
    def length(self) -> int:
        """The samples of each channel."""

    @property
    def duration(self) -> float:
        """Its seconds."""

    @property
    def digest(self) -> str:
        """Its identity."""

    @property
    def heard(self) -> Heard: ...

    def samples(self, rate: int | None = None, mono: bool = False) -> NDArray[np.float32]:
        """Floats around 1: (count,) if `mono`, else (count, channels); at another rate than its own if one is given."""

    def encoded(self, forms: tuple[str, ...] = ("wav",)) -> tuple[str, bytes]:
        """(form, content) of a file: the stored one if it is in one of these forms and no segment is cut, else a WAV."""

    def packed(self) -> list[object]:
        """Plain values, bytes and arrays of which another machine makes the same clip."""


def sounds_to_json(heard: Sequence[Heard], shown: Sequence[str]) -> dict[str, object]:
    """The entries of a record that hold its sounds, and what each turn shows; none without sound."""
    return {"sounds": [each.to_json() for each in heard], "turn_shown": list(shown)} if heard else {}


def sounds_of_json(record: Mapping[str, Any]) -> tuple[tuple[Heard, ...], tuple[str, ...]]:
    """The sounds of a record that `sounds_to_json` wrote, and what each turn shows."""
    return tuple(map(Heard.of_json, record.get("sounds", ()))), tuple(record.get("turn_shown", ()))


class Subtitle(NamedTuple):
    """A text that is shown with a video from `start` to `end`, in seconds. end: None if the file does not state it."""

    start: float
    end: float | None
    text: str


@dataclass(frozen=True, slots=True)
class Clip:
    """The shown frames of one video of an instance, in the order in which they are shown.

    first: the number of its first frame among the instance's pictures; the others follow it.
    seconds: when each frame is shown, after the first frame of the file. numbers: of the frames in the file, from 0.
    total, duration, fps: of the whole file: its frames, its length in seconds, and its mean rate (0 for a single frame).
    path: of the file; never part of a request key. start, end: in seconds, where a part of the file was asked for.
    rule: which frames were chosen ("frames=32,ends").
    subtitles: those of the whole file, where the task named them. None if the video has no file of them.
    sound: the number of its own sound among those of the instance: of the same file and the same part. None where the question
        does not have it, and in a journal.
    silent: its sound was asked for, and its file has none.
    """

    first: int
    seconds: tuple[float, ...]
    numbers: tuple[int, ...]
    total: int
    duration: float
    fps: float
    path: str
    start: float | None = None
    end: float | None = None
    rule: str = ""
    subtitles: tuple[Subtitle, ...] | None = None
    sound: int | None = None
    silent: bool = False

    @property
    def last(self) -> int:
        """The number of the picture after its last frame."""
        return self.first + len(self.seconds)

    def labels(self) -> dict[int, str]:
        """{number of a picture of the instance: which frame it is}, for people."""
        name, shown = os.path.basename(self.path), zip(self.numbers, self.seconds, strict=True)
        return {self.first + n: f"frame {of_file} at {s:.3f} s of {name}" for n, (of_file, s) in enumerate(shown)}

    def to_json(self) -> dict[str, Any]:
        """The clip as JSON values, with the file's name in place of its path and without the subtitles."""
        found = {**{name: getattr(self, name) for name in _OF_CLIP}, "path": os.path.basename(self.path)}
        return {**found, "silent": True} if self.silent else found

    @classmethod
    def of_json(cls, record: Mapping[str, Any]) -> Clip:
        """The clip that `to_json` wrote. Its path is the file's name alone."""
        fields: dict[str, Any] = {name: record[name] for name in (*_OF_CLIP, "path")}
        silent = bool(record.get("silent"))
        return cls(
            **{**fields, "silent": silent, "seconds": tuple(record["seconds"]), "numbers": tuple(record["numbers"])}
        )


_OF_CLIP = tuple(each.name for each in fields(Clip) if each.name not in ("path", "subtitles", "sound", "silent"))


def clips_to_json(clips: Sequence[Clip]) -> dict[str, object]:
    """The entry of a record (a line of the journal, a scored document) that holds its clips; none without clips."""
    return {"videos": [clip.to_json() for clip in clips]} if clips else {}


def clips_of_json(record: Mapping[str, Any]) -> tuple[Clip, ...]:
    """The clips of a record that `clips_to_json` wrote."""
    return tuple(map(Clip.of_json, record.get("videos", ())))


class Slot(NamedTuple):
    """The place of an answer: the task's full path with format and overrides, the doc, the repeat, the choice.

    judge, step: of a judge's reply, the judge's name and the step of the task's judge from 0. "" for an answer of the model.
    turn: of a conversation, from 0. A journal record lists the slots that its answer fills; a resumed run looks them up.
    """

    task: str
    doc_id: int
    repeat: int = 0
    choice: int = 0
    judge: str = ""
    step: int = 0
    turn: int = 0

    @property
    def name(self) -> str:
        """The task as files name it: `<task>`, `<task>#judge@NAME`, `<task>#judge2@NAME` for the second step of its judge."""
        return f"{self.task}#judge{self.step + 1 if self.step else ''}@{self.judge}" if self.judge else self.task

    def to_json(self) -> list[str | int]:
        """The slot in a file: [name, doc, repeat, choice], and the turn where it is not the first."""
        place: list[str | int] = [self.name, self.doc_id, self.repeat, self.choice]
        return [*place, self.turn] if self.turn else place

    @classmethod
    def from_json(cls, stored: Sequence[Any]) -> Slot:
        """The slot that `to_json` wrote. Raises TypeError or ValueError for anything else."""
        name, doc_id, repeat, choice, *turn = stored
        of_judge = _OF_JUDGE.search(name) if "#judge" in name else None
        if of_judge is None:
            return cls(name, doc_id, repeat, choice, "", 0, *turn)
        step = int(of_judge[1] or 1) - 1
        return cls(name[: of_judge.start()], doc_id, repeat, choice, of_judge[2], step, *turn)


_OF_JUDGE = re.compile(r"#judge(\d*)@([^@#]+)\Z")


@dataclass(frozen=True, slots=True)
class End:
    """The end of a conversation.

    output, ended: what is scored in place of the last answer, and how it ended; None for the last answer's own.
    why: what ended it, in a word that is counted ("max_rounds"). Empty where there was nothing more to say.
    turns: the answers that it has.
    listed: the output is a list of answers as JSON, whose texts are without reasoning: no reasoning and no frame is cut from it.
    key: of the last answer's request. said: a digest of each answer, so that one that has another answer since is known.
        at: when it was recorded.
    """

    output: str | None = None
    ended: Ended | None = None
    why: str = ""
    turns: int = 0
    listed: bool = field(default=False, compare=False)
    key: str = field(default="", compare=False)
    said: tuple[str, ...] = field(default=(), compare=False)
    at: float = field(default=0.0, compare=False)

    def to_json(self) -> dict[str, Any]:
        """The end as JSON values, without what is not stated."""
        why, listed = self.why or None, self.listed or None
        fields: dict[str, object] = {
            "turns": self.turns,
            "output": self.output,
            "ended": self.ended,
            "why": why,
            "listed": listed,
            "said": list(self.said) or None,
        }
        return {name: value for name, value in fields.items() if value is not None}

    @classmethod
    def of_json(cls, record: Mapping[str, Any]) -> End:
        """The end that `to_json` wrote. Raises TypeError, KeyError or ValueError for anything else."""
        why, listed = str(record.get("why", "")), record.get("listed") is True
        output, ended, key, at = record.get("output"), record.get("ended"), str(record["key"]), float(record["t"])
        return cls(output, ended, why, int(record["turns"]), listed, key, tuple(map(str, record.get("said", ()))), at)


@dataclass(slots=True, eq=False)
class Instance:
    """One question to a model.

    context: text, or chat messages with image parts if the chat template is applied.
    images: loads the pictures in prompt order, RGB. Each call decodes them again, so that none stays in memory. None for text.
    image_digests: for each picture the sha256 of its decoded RGB pixels and size, or of its file (see FILE_MARK); for a video's
        frame see FRAME_MARK.
    clips: of each video which of the pictures are its frames, and their times. A video's frames are pictures like others for an
        adapter that ignores this.
    pixels: of all its pictures, so that an adapter can limit what it decodes at a time. 0 if nothing was decoded.
    generation_kwargs: for generate_until (until, max_gen_toks, temperature, ...).
    continuation: for loglikelihood the text that is scored after the context; for loglikelihood_rolling the whole text.
    resps: the answers, as they are scored: a str, or (log-likelihood, is_greedy).
    filtered_resps: the answers of all repeats after filtering, by filter pipeline. Only on the first repeat.
    error: why it can't be requested (an undecodable picture, a missing column). None if it can.
    turn_pictures: the number of pictures of each turn of its prompt: of each example, then of the question.
    judge, step, turn: as of its slot.
    runs_code: making the next turn may run code of the model, which takes long.
    sounds: loads the clips that it lets the model hear, in prompt order, not decoded. None where there are none.
    heard: for each of them its identity, rate and length.
    turn_shown: what each turn shows, a letter each in the order in which it is shown: i for a picture, a for a sound; () where
        only pictures are shown.
    tools: declarations of the tools that it offers, in OpenAI's form, for a model that takes them. () where none are offered, or
        where the context describes them.
    messages: of a conversation, what this turn says after the last answer; () for its first. None outside conversations.
    then: of a conversation, (this instance, its answer) -> the next request, or the end. None outside conversations. It does not
        hold the instance, so that the pictures of a conversation are freed as it ends, and not by the garbage collector.
    ends_when_full: a prompt that does not fit into the model's length is the model's own doing, and ends its conversation: an
        empty answer, cut by the length.
    """

    request_type: RequestType
    task: str
    doc_id: int
    doc: Doc = field(repr=False)
    context: Context = ""
    continuation: str | None = None
    generation_kwargs: Mapping[str, Any] = field(default_factory=dict)
    images: Callable[[], list[Image]] | None = field(default=None, repr=False)
    image_digests: tuple[str, ...] = ()
    clips: tuple[Clip, ...] = ()
    pixels: int = 0
    choice: int = 0
    repeat: int = 0
    target: Target = None
    metadata: dict[str, Any] = field(default_factory=dict)
    resps: list[Any] = field(default_factory=list)
    filtered_resps: dict[str, Sequence[Any]] = field(default_factory=dict)
    error: MMEvalError | None = None
    turn_pictures: tuple[int, ...] = ()
    judge: str = ""
    step: int = 0
    turn: int = 0
    messages: tuple[Message, ...] | None = None
    then: Callable[[Instance, Answer], Instance | End] | None = field(default=None, repr=False)
    ends_when_full: bool = False
    runs_code: bool = False
    tools: tuple[Mapping[str, Any], ...] = ()
    sounds: Callable[[], Sequence[Audible]] | None = field(default=None, repr=False)
    heard: tuple[Heard, ...] = ()
    turn_shown: tuple[str, ...] = ()

    @property
    def sound_digests(self) -> tuple[str, ...]:
        """The identities of its sounds."""
        return tuple([each.digest for each in self.heard])

    @property
    def slot(self) -> Slot:
        place = self.task, self.doc_id, self.repeat, self.choice, self.judge, self.step, self.turn
        return tuple.__new__(Slot, place)  # half the time, and a run makes millions

    @property
    def args(self) -> tuple[Any, ...]:
        """The arguments in the sense of lm-eval's metrics and filters: (context, continuation or generation kwargs)."""
        if self.request_type == "generate_until":
            return self.context, self.generation_kwargs
        return self.context, self.continuation


class Place(NamedTuple):
    """One generated token: its text, and the likeliest tokens there by their text, with their log-probabilities."""

    token: str
    likeliest: Mapping[str, float]


@dataclass(frozen=True, init=False)
class Answer:
    """A model's answer to one instance, from the adapter to the scorer.

    An adapter gives the first five fields, `model`, `ended` and `reasoning`, the engine the others.

    output: generated text, or (log-likelihood in nats, is_greedy). None for a failed request.
    truncated: the token cap ended the generation, not the model. The same as `ended == "length"`; stating one sets the other.
    usage: token counts ("prompt_tokens", "completion_tokens", "image_tokens"), as far as known.
    attempts: the number of requests until the answer came. 0 for an answer from a cache.
    cut: tokens at the beginning of the prompt were dropped, because prompt and answer did not fit into the model's length.
    key: the request key. images: digests of the prompt's pictures. turn_pictures: the number of pictures of each turn.
    clips: which of the pictures are frames of a video. Read from a journal, a path is the file's name alone.
    error: why the last attempt failed. None for an answer.
    model: the model's name as the server returned it, with its fingerprint if there is one. Empty if unknown.
    ended: how the generation ended. "failed" if there is an error.
    reasoning: what a thinking model wrote before its answer, with its marks; not part of `output`. None if the adapter did not
        tell the two apart: then `strip_thinking` does, when the answer is scored. Empty if it found none, although the text
        spells marks.
    messages: of a conversation, what was said before it, as of its instance; a picture is its digest and size. at: when it was
        recorded, in seconds since 1970. turns: the recorded answers of the conversation that this one is the result of.
    heard, turn_shown: as of its instance.
    places: of its first generated tokens, where the model was told to keep them (`keep_places`); read from a journal it has none.
    seconds: from its request to the answer, with the time that it waited for its batch. 0 where nothing was requested, and for
        an answer that was read from a journal.
    """

    output: Completion | LLOutput | None
    truncated: bool = False
    usage: Mapping[str, int] = field(default_factory=dict)
    attempts: int = 1
    cut: bool | None = False
    key: str = ""
    images: tuple[str, ...] = ()
    turn_pictures: tuple[int, ...] = ()
    error: MMEvalError | None = None
    model: str = ""
    clips: tuple[Clip, ...] = ()
    ended: Ended = "stop"
    reasoning: str | None = None
    messages: tuple[Message, ...] | None = None
    at: float = 0.0
    turns: tuple[Answer, ...] = ()
    heard: tuple[Heard, ...] = ()
    turn_shown: tuple[str, ...] = ()
    places: tuple[Place, ...] = field(default=(), compare=False)
    seconds: float = field(default=0.0, compare=False)

    def __init__(
        self,
        output: Completion | LLOutput | None,
        truncated: bool = False,
        usage: Mapping[str, int] | None = None,
        attempts: int = 1,
        cut: bool | None = False,
        key: str = "",
        images: tuple[str, ...] = (),
        turn_pictures: tuple[int, ...] = (),
        error: MMEvalError | None = None,
        model: str = "",
        clips: tuple[Clip, ...] = (),
        ended: Ended = "stop",
        reasoning: str | None = None,
        messages: tuple[Message, ...] | None = None,
        at: float = 0.0,
        turns: tuple[Answer, ...] = (),
        heard: tuple[Heard, ...] = (),
        turn_shown: tuple[str, ...] = (),
        places: tuple[Place, ...] = (),
        seconds: float = 0.0,
    ) -> None:
        if ended not in ENDINGS:
            raise ValueError(f"ended must be one of {', '.join(ENDINGS)} (got {ended!r})")
        ended = "failed" if error is not None else "length" if truncated else ended
        own = self.__dict__  # a dataclass's own `__init__` takes three times as long, and a run makes millions
        own["output"] = output
        own["truncated"] = ended == "length"
        own["usage"] = {} if usage is None else usage
        own["attempts"] = attempts
        own["cut"] = cut
        own["key"] = key
        own["images"] = images
        own["turn_pictures"] = turn_pictures
        own["error"] = error
        own["model"] = model
        own["clips"] = clips
        own["ended"] = ended
        own["reasoning"] = reasoning
        own["messages"] = messages
        own["at"] = at
        own["turns"] = turns
        own["heard"] = heard
        own["turn_shown"] = turn_shown
        own["places"] = places
        own["seconds"] = seconds

    @property
    def shown(self) -> tuple[str, ...]:
        """What each turn of its prompt showed, as of `Instance.turn_shown`; also where only pictures were shown."""
        return self.turn_shown or tuple(["i" * count for count in self.turn_pictures])

    def having(self, **fields: object) -> Answer:
        """The answer with other values, which are not checked. `replace` takes six times as long."""
        made = object.__new__(Answer)
        _fields_of_answer.__set__(made, self.__dict__ | fields)  # not `setattr`, which a frozen class refuses
        return made


_fields_of_answer = vars(Answer)["__dict__"]


@dataclass(frozen=True, slots=True)
class ScoredDoc:
    """The raw scores of one doc: for each metric one value per repeat.

    rules: for each repeat the rule of the filter pipeline that found the answer; "unparsed" if none did.
    error: what the scorer raised. The doc counts as failed: it has no scores and is left out of every mean.
    tied: several choices have the best score; the first of them was taken.
    too_large: the comparisons that its answers are too large for; they have the worst value there.
    remarks: what metrics say of its scores.
    """

    doc_id: int
    reference: Any
    scores: dict[str, list[Any]]
    rules: tuple[str, ...] = ()
    error: Exception | None = None
    tied: bool = False
    too_large: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()


ReducedDoc: TypeAlias = dict[str, Any]
"""{metric: value} of one doc, repeats reduced. The `{doc_id: ReducedDoc}` of several processes merge with dict.update."""


def main_metrics(metadata: Mapping[str, object] | None) -> list[str]:
    """The main numbers that a task or group states as `metadata.metric`, the one by which it is compared first.

    >>> main_metrics({"metric": ["perception", "cognition"]}), main_metrics({"metric": "acc"}), main_metrics(None)
    (['perception', 'cognition'], ['acc'], [])
    """
    stated = (metadata or {}).get("metric")
    return [str(name) for name in (stated if isinstance(stated, list | tuple) else [stated]) if name is not None]


@dataclass(frozen=True, slots=True)
class MetricKey:
    """The key of a number in results.json: "metric,scorer", or "metric_stderr,scorer" for its standard error.

    The scorer's part is the name of its filter pipeline.
    """

    metric: str
    scorer: str
    is_stderr: bool = False

    def __str__(self) -> str:
        return f"{self.metric}{'_stderr' if self.is_stderr else ''},{self.scorer}"

    @property
    def label(self) -> str:
        """As tables show it: without the pipeline where that is the default one."""
        return self.metric if self.scorer == "none" else f"{self.metric},{self.scorer}"

    def is_named(self, name: object) -> bool:
        """Whether a task's file means this number by a name: its metric's, or the whole key where pipelines differ."""
        return name in (self.metric, str(self))

    @property
    def parent_metric(self) -> str | None:
        """The metric inside a composite: "exact_match" for "pass@1(exact_match)". None for a plain metric."""
        head, opening, inner = self.metric.partition("(")
        return inner[:-1] if opening and inner.endswith(")") else None

    @property
    def without_grader(self) -> str:
        """The metric without the name of a further judge: "judge_score" for "judge_score@NAME". Else the metric itself."""
        return self.metric if "(" in self.metric else self.metric.partition("@")[0]

    @classmethod
    def parse(cls, key: str) -> MetricKey | None:
        """Reads what `str` wrote. None if the text is not a metric key.

        The first comma separates: a metric's name has none (registration refuses it), a pipeline's may.
        """
        metric, comma, scorer = key.partition(",")
        if not comma:
            return None
        stem = metric.removesuffix("_stderr")
        return cls(stem, scorer, is_stderr=stem != metric)


NO_SPREAD = "every document scored the same"
"""Of the note on a number, or a difference, without a spread."""
NO_SHARE = (-math.inf, math.inf)
"""The scale of a number that is known to be no share of 1, such as a mean of marks from 1 to 10."""


@dataclass(frozen=True, slots=True, repr=False)
class Number:
    """A number with its standard error: of a task, a group or a category, or the difference of two.

    value: None if it could not be computed. stderr: None if there is none. `note` gives the reason.
    exact: the 95% interval where that of the standard error would not hold (all right, all wrong, or nearly so).
    n, clusters: of how many docs and clusters it is. freedom: degrees of freedom of the interval, clusters minus strata,
    fewer where clusters differ much in size; None if unknown. lacking: the factor by which `stderr` is too small for the interval
    because clusters differ in size. higher_is_better: None if unknown, or without a direction.
    rarer: of a right/wrong metric the docs of the rarer kind, of a difference the docs that changed; None for other metrics.
    exact_p: the p-value of a difference that belongs to `exact`. scale: the least and the greatest value that there is, or
    NO_SHARE; None if unknown.
    judge: the name of the judge that gave it; "" where rules did, and of a group whose tasks have several.
    """

    key: MetricKey
    value: Any
    stderr: float | None = None
    exact: tuple[float, float] | None = None
    n: int | None = None
    higher_is_better: bool | None = None
    note: str = ""
    clusters: int | None = None
    freedom: float | None = None
    lacking: float = 1.0
    rarer: int | None = None
    exact_p: float | None = None
    scale: tuple[float, float] | None = None
    judge: str = ""

    def __repr__(self) -> str:
        value = f"{self.value:.6g}" if isinstance(self.value, (int, float)) else str(self.value)[:60]
        spread = "" if self.stderr is None else f" ± {self.stderr:.3g}"
        return f"Number({self.key}: {value}{spread}{'' if self.n is None else f', n={self.n}'})"

    @property
    def metric(self) -> str:
        return self.key.metric

    @property
    def filter(self) -> str:
        """The filter pipeline."""
        return self.key.scorer

    @property
    def margin(self) -> float | None:
        """Half the width of the 95% interval; None if there is none, or if its halves differ."""
        if (interval := self.interval) is None or self.exact is not None or interval != self._by_stderr:
            return None
        return float(interval[1] - self.value)

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95% interval, which ends where the scale ends; None if there is none, or if `freedom` is not known."""
        if self.exact is not None or (found := self._by_stderr) is None:
            return self.exact
        least, most = self.scale or (-math.inf, math.inf)
        return max(least, found[0]), min(most, found[1])

    @property
    def _by_stderr(self) -> tuple[float, float] | None:
        """Student's interval. A standard error of 0 means that nothing varied, not that nothing can vary."""
        if not self.stderr or self.freedom is None:
            return None
        half = t_quantile((1 + CONFIDENCE) / 2, self.freedom) * self.stderr * self.lacking
        return self.value - half, self.value + half

    @property
    def p_value(self) -> float | None:
        """The probability of a value at least this far from 0 if 0 were true; 1 if nothing differs."""
        if self.exact_p is not None:
            return self.exact_p
        if self.stderr is None or self.clusters is None or self.freedom is None:
            return None
        if self.stderr == 0:
            # every cluster has the same value: the chance that this many signs agree, as in a sign test
            return 1.0 if self.value == 0 else 2.0 ** min(0, 1 - self.clusters)
        return t_two_sided(self.value / (self.stderr * self.lacking), self.freedom)

    def smallest_visible(self, comparisons: int) -> float | None:
        """The smallest true value that this many docs tell from 0 in 80% of evaluations; None if nothing varied.

        comparisons: the tests that are corrected together. Power is that of a test at 5% divided by their number, which Holm's
        correction guarantees to each of them.
        """
        if not self.stderr or self.freedom is None:
            return None
        level = (1 - CONFIDENCE) / max(1, comparisons)
        reach = t_quantile(1 - level / 2, self.freedom) + t_quantile(POWER, self.freedom)
        return reach * self.stderr * self.lacking

    @property
    def docs_needed(self) -> int | None:
        """About how many such docs tell this value from 0 in 80% of evaluations; None if the value is 0."""
        if not self.stderr or self.value == 0 or self.n is None:
            return None
        many = 10_000
        factor: float = (
            (t_quantile((1 + CONFIDENCE) / 2, many) + t_quantile(POWER, many)) * self.stderr * self.lacking / self.value
        )
        return math.ceil(self.n * factor * factor)

    @property
    def few(self) -> bool:
        """Whether the data are too few for an interval that is accurate to the percent."""
        few_clusters = self.clusters is not None and self.clusters < FEW_CLUSTERS
        if self.clusters and self.freedom is not None and self.freedom < self.clusters / 2:  # some are large
            few_clusters = self.freedom < FEW_CLUSTERS
        return few_clusters or (self.rarer is not None and self.rarer < FEW_OF_A_KIND)


UNNAMED = MetricKey("", "none")
"""The key of a number that is not a metric's."""
FEW_CLUSTERS, FEW_OF_A_KIND = 60, 10
"""Below so many clusters, or docs of the rarer kind, an interval is of few data."""


def at_image_marks(text: str, token: str) -> tuple[str, list[int]]:
    r"""The text with an IMAGE_MARK in place of each picture's token, and the numbers of the pictures in that order.

    token: a pattern with the picture's number as its group, such as r"<image (\d)>".
    """
    return re.sub(token, IMAGE_MARK, text), [int(number) for number in re.findall(token, text)]


def reads_columns(process_docs: ProcessDocs) -> ProcessDocs:
    """Marks a `process_docs` that only reads `dataset[column]` and returns the docs as they are.

    It may get rows that are not a `datasets.Dataset`, whose import takes longer than a short run.
    """
    process_docs.reads_columns = True  # type: ignore[attr-defined]
    return process_docs


def found_in(table: Mapping[Any, T], value: Any, column: str) -> T:
    """table[value]. DocError, which names the column that holds the value, if the table lacks it."""
    if value not in table:
        raise DocError(f"{column} is {value!r:.80}; expected one of {', '.join(map(repr, table))}.")
    return table[value]


def plain(value: object) -> Any:
    """A numpy scalar or array as Python numbers, texts and lists. Any other value is returned unchanged."""
    return value.tolist() if type(value).__module__ == "numpy" and hasattr(value, "tolist") else value


def for_json(value: object) -> object:
    """A value that JSON does not have: numpy's as Python's number, any other one as text."""
    own = plain(value)
    return str(value) if own is value else own
