"""The adapter interface: what a model must do to be evaluated.

An adapter is one class in `models/` (or behind an entry point of the group `mm_eval.models`):

    @register_model("echo")
    class Echo(Model):
        def generate(self, instances):
            for instance in instances:
                yield instance, Answer("yes")

It never returns an error as text: it yields a typed error for the instance that failed, or raises one when no further
answer can come. It yields each answer as it completes, in any order, exactly once an instance.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

from mm_eval.errors import ConfigError, MMEvalError
from mm_eval.registry import Registry
from mm_eval.types import Answer, Instance

Answers: TypeAlias = Iterator[tuple[Instance, Answer | MMEvalError]]

MODELS: Registry[type[Model]] = Registry(
    "model", package="mm_eval.models", decorator="register_model", entry_points="mm_eval.models"
)
register_model = MODELS.register

NOT_PART_OF_THE_QUESTION = frozenset({"timeout", "max_retries", "retries", "num_concurrent", "concurrency", "api_key"})
"""Generation options that can't change an answer, so that they are no part of a request key."""


@dataclass(frozen=True)
class ModelSettings:
    """What the command line says about any model, whatever its adapter.

    batch_size: rows a batch, or "auto".
    chat_template: True or False as asked for, a template's name, or None for the model's own default.
    seed: of sampling and of everything drawn.
    offline: no socket may be opened.
    on_long_prompt: what happens to a prompt that does not fit into the model's length: "cut" (from the left) or "fail".
    """

    batch_size: int | str = "auto"
    device: str | None = None
    seed: int = 0
    chat_template: bool | str | None = None
    offline: bool = False
    on_long_prompt: str = "cut"


@dataclass(frozen=True)
class Preview:
    """An instance as the model gets it, for `mm-eval show`.

    text: the prompt after the chat template, image placeholders expanded as the processor does.
    tokens: prompt tokens in all; image_tokens: how many of them stand for pictures; None where the adapter can't tell.
    """

    text: str
    tokens: int | None = None
    image_tokens: int | None = None


class Model:
    """Base of all adapters: yields `(instance, response or typed error)` for each instance asked.

    prompt_keys: keys of `model_specific_prompt_kwargs` from most to least specific ("qwen2_5_vl", "qwen2_vl", "qwen_vl").
    chat: whether the chat template is applied when nobody says (on for image-text and chat models).
    function_of_key: equal request keys get equal answers, so that a question asked twice in a run is asked once.
    bundled: answers come from a model that is shipped with mm-eval, so that the bundled sample data is meant.
    """

    prompt_keys: tuple[str, ...] = ()
    chat: bool = False
    function_of_key: ClassVar[bool] = True
    bundled: ClassVar[bool] = False

    def __init__(self, args: Mapping[str, Any], settings: ModelSettings) -> None:
        self.args, self.settings = dict(args), settings

    @classmethod
    def create(cls, args: Mapping[str, Any], settings: ModelSettings) -> Model:
        """An adapter from `--model_args`; cheap: weights are loaded by `prepare`. ConfigError on a wrong argument."""
        return cls(args, settings)

    _prepared = False

    def prepare(self) -> None:
        """Loads what is needed to answer. Called once, before the first request; never where nothing is pending."""

    def prepare_once(self) -> None:
        """Calls `prepare` unless this was done before: several runs may share one model."""
        if not self._prepared:
            self.prepare()
            self._prepared = True

    def shares(self, instance: Instance) -> bool:
        """Whether this answer may fill other slots with an equal request key."""
        return self.function_of_key

    def account(self, usage: Mapping[str, int]) -> str:
        """What the tokens of a run came to, for the report's reader; empty where nobody is billed."""
        return ""

    def stop_soon(self) -> None:
        """The user interrupts: no further question comes, and what is in flight has a few seconds. Called by a signal."""

    def check_generation(self, kwargs: Mapping[str, Any]) -> None:
        """ConfigError where a task's generation_kwargs ask for what the model can't do; called before the first request."""
        GenerationOptions.from_kwargs(kwargs)

    def identity(self, instance: Instance) -> Mapping[str, Any]:
        """All that decides the answer to this instance, as JSON values. Its digest is the request key."""
        return {"adapter": type(self).__name__, "args": self.args, **question(instance, self.settings.seed)}

    def describe(self) -> Mapping[str, Any]:
        """What was measured, for run.json: JSON values that are equal whenever the model is."""
        return {"adapter": type(self).__name__, "args": self.args}

    def preview(self, instance: Instance) -> Preview:
        """The prompt as the model gets it, without loading weights."""
        return Preview(instance.context if isinstance(instance.context, str) else flatten(instance))

    def generate(self, instances: Iterable[Instance]) -> Answers:
        """Answers generate_until instances with text, cut before the first stop string."""
        raise ConfigError(f"{type(self).__name__} can't generate text.", hint="Choose tasks with multiple_choice.")

    def loglikelihood(self, instances: Iterable[Instance]) -> Answers:
        """Answers with the sum of the continuation's token log-probabilities (nats) and whether greedy decoding gives it.

        Instances that share a context and pictures come one after another.
        """
        raise ConfigError(
            f"{type(self).__name__} can't give log-likelihoods.", hint="Choose tasks with generate_until."
        )

    def loglikelihood_rolling(self, instances: Iterable[Instance]) -> Answers:
        """Answers with the log-likelihood (nats) of the whole text `continuation`, each token conditioned on all before."""
        raise ConfigError(f"{type(self).__name__} can't give rolling log-likelihoods.")


def question(instance: Instance, seed: int) -> dict[str, Any]:
    """The part of an identity that no adapter can leave out: prompt, pictures by content, options, repeat, seed."""
    options = {k: v for k, v in instance.generation_kwargs.items() if k not in NOT_PART_OF_THE_QUESTION}
    return {
        "request_type": instance.request_type,
        "context": instance.context,
        "images": list(instance.image_digests),
        "continuation": instance.continuation,
        "options": options,
        "repeat": instance.repeat,
        "seed": seed,
    }


_canonical = json.JSONEncoder(sort_keys=True, ensure_ascii=False, separators=(",", ":")).encode
"""Made once: with these options `json.dumps` would make an encoder for every request."""


def request_key(model: Model, instance: Instance) -> str:
    """sha256 of the canonical JSON of the adapter's identity of an instance."""
    text = _canonical(model.identity(instance))
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def flatten(instance: Instance) -> str:
    """Chat messages as plain text for people, pictures as <image>."""
    if isinstance(instance.context, str):
        return instance.context
    lines = []
    for message in instance.context:
        parts = message["content"]
        text = parts if isinstance(parts, str) else "".join(part.get("text", "<image>\n") for part in parts)
        lines.append(f"{message['role']}: {text}")
    return "\n".join(lines)


TOKEN_CAPS = ("max_new_tokens", "max_gen_toks", "max_tokens")
"""The names under which tasks state the most tokens of an answer; the first that is given counts."""


def one_token_cap(kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the command line with their token cap under the name that wins over every name a task may have used."""
    caps = [kwargs[name] for name in TOKEN_CAPS if name in kwargs]
    others = {name: value for name, value in kwargs.items() if name not in TOKEN_CAPS}
    return {**others, TOKEN_CAPS[0]: caps[0]} if caps else others


@dataclass(frozen=True)
class GenerationOptions:
    """`generation_kwargs` of a task, checked and with lm-eval's and lmms-eval's spellings understood.

    until: stop strings; the answer is cut before the first.
    temperature 0 (or do_sample false, or top_p 0 beside temperature 0) means greedy.
    extra: options passed to the model as they are.
    """

    max_new_tokens: int = 256
    until: tuple[str, ...] = ()
    do_sample: bool = False
    temperature: float = 0.0
    top_p: float | None = None
    top_k: int | None = None
    num_beams: int = 1
    extra: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_kwargs(cls, kwargs: Mapping[str, Any]) -> GenerationOptions:
        """Reads a YAML's `generation_kwargs`; ConfigError on a value that makes no sense.

        do_sample true without a temperature samples at 1, as in transformers.
        """
        options = {name: value for name, value in kwargs.items() if name not in NOT_PART_OF_THE_QUESTION}
        caps = [options.pop(name, None) for name in TOKEN_CAPS]
        sampling = _flag(options.pop("do_sample", None), "do_sample")
        temperature = _number(float, options.pop("temperature", 1 if sampling else 0) or 0, "temperature")
        samples = temperature != 0 and sampling is not False
        top_p = _optional(float, options.pop("top_p", None), "top_p")
        top_k = _optional(int, options.pop("top_k", None), "top_k")
        chosen = cls(
            max_new_tokens=_number(int, next((c for c in caps if c is not None), cls.max_new_tokens), "the token cap"),
            until=_texts(options.pop("until", None), "until"),
            do_sample=samples,
            temperature=temperature if samples else 0.0,
            top_p=top_p if samples else None,
            top_k=top_k if samples else None,
            num_beams=_number(int, options.pop("num_beams", 1) or 1, "num_beams"),
            extra={name: _plain(value) for name, value in options.items()},
        )
        if chosen.max_new_tokens < 1 or temperature < 0 or chosen.num_beams < 1 or not 0 < (chosen.top_p or 1) <= 1:
            raise ConfigError(
                f"generation_kwargs make no sense: {dict(kwargs)!r}.",
                hint="Caps and beams are at least 1, a temperature is at least 0, top_p is above 0 and at most 1.",
            )
        return chosen


def _number(kind: type[Any], value: Any, name: str) -> Any:
    """A finite number, whole where `kind` is int; a text that spells one counts."""
    try:
        number = float(value)
    except (TypeError, ValueError) as error:
        raise ConfigError(f"generation_kwargs: {name} is {value!r}, which is no number.") from error
    except OverflowError:
        number = math.inf
    if isinstance(value, bool) or not math.isfinite(number) or (kind is int and number != int(number)):
        needed = "a whole number" if kind is int else "a finite number"
        raise ConfigError(f"generation_kwargs: {name} is {value!r}; {needed} is needed.")
    return kind(number)


def _optional(kind: type[Any], value: Any, name: str) -> Any:
    return None if value is None else _number(kind, value, name)


def _flag(value: Any, name: str) -> bool | None:
    known = {"true": True, "1": True, "false": False, "0": False, "none": None}
    if (word := str(value).lower()) not in known:
        raise ConfigError(f"generation_kwargs: {name} is {value!r}; true or false is needed.")
    return known[word]


def _texts(value: Any, name: str) -> tuple[str, ...]:
    """One text or several; null and an empty text are none."""
    texts = [value] if isinstance(value, str) else value or []
    if not isinstance(texts, Sequence) or not all(isinstance(text, str) for text in texts):
        raise ConfigError(f"generation_kwargs: {name} is {value!r}; a text or a list of texts is needed.")
    return tuple(text for text in texts if text)


def _plain(value: Any) -> Any:
    """A number that was written as text as the number; anything else as it is."""
    for kind in (int, float) if isinstance(value, str) else ():
        try:
            return kind(value)
        except ValueError:
            continue
    return value
