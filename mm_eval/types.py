"""The values that travel: from a task's docs to a model, and from the model's answers to the numbers.

Instance -> Answer -> (filters) -> ScoredDoc -> ReducedDoc -> {MetricKey: number}
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from numbers import Integral
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

from mm_eval.errors import MMEvalError

if TYPE_CHECKING:
    from PIL.Image import Image

OutputType = Literal["generate_until", "multiple_choice", "loglikelihood", "loglikelihood_rolling"]
RequestType = Literal["generate_until", "loglikelihood", "loglikelihood_rolling"]

Doc: TypeAlias = dict[str, Any]
"""One row of a dataset after `process_docs`, without its decoded pictures."""

Completion: TypeAlias = str
"""A generated answer."""

LLOutput: TypeAlias = tuple[float, bool]
"""A log-likelihood (sum over the continuation's tokens, nats, higher is likelier) and whether greedy decoding gives it."""

Message: TypeAlias = dict[str, Any]
"""A chat turn: {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "..."}]}.

The n-th {"type": "image"} part over all messages stands for the n-th picture of the instance.
"""

IMAGE_MARK = "<image>"
"""Where a picture stands in a text. A plain-text context has it if its examples have pictures too; an adapter puts its own token
there. A task's question may have as many as pictures (MuirBench, MMT-Bench): in a chat the image parts then stand there.
"""

Context: TypeAlias = str | list[Message]
Target: TypeAlias = str | int | list[str] | list[int] | None


class Slot(NamedTuple):
    """Where an answer belongs: the task's full path with format and overrides, the doc, the repeat, the choice.

    A record of the journal names the slots that its answer fills, so this is what a resumed run looks up.
    """

    task: str
    doc_id: int
    repeat: int = 0
    choice: int = 0


@dataclass(slots=True, eq=False)
class Instance:
    """One question to a model.

    context: text, or chat messages with image parts, when the chat template is applied.
    images: loads the pictures in prompt order, RGB, decoded anew at each call so that none is kept; None for a text question.
    image_digests: one sha256 of the decoded RGB pixels (and size) a picture.
    pixels: of all its pictures, so that an adapter can bound what it decodes at a time; 0 where nothing was decoded.
    generation_kwargs: for generate_until (until, max_gen_toks, temperature, ...).
    continuation: for loglikelihood, what is scored after the context; for loglikelihood_rolling the whole text.
    resps: the answers, as they are scored: a str, or (log-likelihood, is_greedy).
    filtered_resps: per filter pipeline, the answers of all repeats after filtering; kept on the first repeat.
    error: why it can't be asked (a picture that can't be decoded, a column that this doc lacks); None when it can.
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
    pixels: int = 0
    choice: int = 0
    repeat: int = 0
    target: Target = None
    metadata: dict[str, Any] = field(default_factory=dict)
    resps: list[Any] = field(default_factory=list)
    filtered_resps: dict[str, Sequence[Any]] = field(default_factory=dict)
    error: MMEvalError | None = None

    @property
    def slot(self) -> Slot:
        return Slot(self.task, self.doc_id, self.repeat, self.choice)

    @property
    def args(self) -> tuple[Any, ...]:
        """What lm-eval's metrics and filters call the arguments: (context, continuation or generation kwargs)."""
        if self.request_type == "generate_until":
            return self.context, self.generation_kwargs
        return self.context, self.continuation


@dataclass(frozen=True, slots=True)
class Answer:
    """A model's answer to one instance, from the adapter to the scorer. An adapter states the first five fields.

    output: generated text, or (log-likelihood in nats, is_greedy); None for a failed request.
    truncated: the token cap ended the generation, not the model.
    usage: token counts ("prompt_tokens", "completion_tokens", "image_tokens"), as far as known.
    attempts: how often it was requested until it was answered; 0 for an answer from a cache.
    cut: tokens at the beginning of the prompt were dropped, since prompt and answer did not fit into the model's length;
        None where an older journal does not say.
    key: the request key. images: digests of the pictures that were shown; turn_pictures: how many each turn of the prompt had.
    error: why the last attempt failed.
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


Response = Answer
"""The former name of `Answer`, which adapters outside this repository use."""


MOST_TOKENS = 10**9


def token_counts(usage: Any) -> dict[str, int]:
    """The entries of a `usage` that are token counts. A server may state anything, and so may an old journal.

    >>> token_counts({"prompt_tokens": 7, "completion_tokens": 10**400, "image_tokens": "3"})
    {'prompt_tokens': 7}
    """
    if not isinstance(usage, Mapping):
        return {}
    counts = {name: int(n) for name, n in usage.items() if isinstance(n, Integral) and not isinstance(n, bool)}
    return {name: count for name, count in counts.items() if 0 <= count <= MOST_TOKENS}


@dataclass(frozen=True, slots=True)
class ScoredDoc:
    """The raw scores of one doc: for each metric one value a repeat. Never changed after it is made.

    rules: which rule of the filter pipeline found the answer, one a repeat; "unparsed" where none did.
    error: what the scorer raised; such a doc is failed: it has no scores and is in no mean.
    tied: two or more choices share the best score; the first of them was taken.
    """

    doc_id: int
    reference: Any
    scores: dict[str, list[Any]]
    rules: tuple[str, ...] = ()
    error: Exception | None = None
    tied: bool = False


ReducedDoc: TypeAlias = dict[str, Any]
"""{metric: value} of one doc, repeats reduced; `{doc_id: ReducedDoc}` of several processes merge with dict.update."""


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
    def parent_metric(self) -> str | None:
        """The metric that a composite comes from: "exact_match" for "pass@1(exact_match)", else None."""
        head, opening, inner = self.metric.partition("(")
        return inner[:-1] if opening and inner.endswith(")") else None

    @classmethod
    def parse(cls, key: str) -> MetricKey | None:
        """The key that `str` wrote, or None where the text is not a metric key.

        The first comma separates, so a metric's name holds none (registration refuses it) while a pipeline's may.
        """
        metric, comma, scorer = key.partition(",")
        if not comma:
            return None
        stem = metric.removesuffix("_stderr")
        return cls(stem, scorer, is_stderr=stem != metric)


@dataclass(frozen=True, slots=True)
class Number:
    """A number of a task or group with its standard error.

    value: None where it could not be computed; note says why. stderr: None where there is none.
    interval: the exact 95% interval, where the standard error is 0. n: of how many docs it is, None where nobody counted.
    higher_is_better: None where the row does not say.
    """

    key: MetricKey
    value: Any
    stderr: float | None = None
    interval: tuple[float, float] | None = None
    n: int | None = None
    higher_is_better: bool | None = None
    note: str = ""

    @property
    def metric(self) -> str:
        return self.key.metric

    @property
    def filter(self) -> str:
        """The filter pipeline."""
        return self.key.scorer


def as_row(numbers: Iterable[Number]) -> dict[str, Any]:
    """Numbers under the keys of results.json: "metric,filter", and "metric_stderr,filter" (None: no standard error)."""
    row: dict[str, Any] = {}
    for number in numbers:
        row[str(number.key)] = number.value
        row[str(MetricKey(number.metric, number.filter, is_stderr=True))] = number.stderr
    return row


def plain(value: Any) -> Any:
    """A scalar or an array of numpy as Python's own numbers, texts and lists; anything else as it is."""
    return value.tolist() if type(value).__module__ == "numpy" and hasattr(value, "tolist") else value
