"""The adapter interface: what a model must do to be evaluated.

An adapter is one class in `models/` (or behind an entry point of the group `mm_eval.models`):

    @register_model("echo")
    class Echo(Model):
        def generate(self, instances):
            for instance in instances:
                yield instance, Answer("yes")

It yields each instance exactly once, in any order, as soon as its answer is complete. It never returns an error as text: it
yields a typed error for the instance that failed, or raises one when no further answer can come.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from mm_eval.engine.generation import TRANSPORT_OPTIONS, GenerationOptions
from mm_eval.engine.prices import Price
from mm_eval.values.errors import ConfigError, MMEvalError
from mm_eval.values.files import digest_of
from mm_eval.values.registry import Registry
from mm_eval.values.types import Answer, Instance

Answers: TypeAlias = Iterator[tuple[Instance, Answer | MMEvalError]]

MODELS: Registry[type[Model]] = Registry(
    "model", package="mm_eval.models", decorator="register_model", entry_points="mm_eval.models"
)
register_model = MODELS.register


@dataclass(frozen=True)
class ModelSettings:
    """The options of the command line that apply to every adapter.

    batch_size: rows a batch, or "auto".
    chat_template: True or False as requested, a template's name, or None for the model's own default.
    seed: of sampling and of everything else that is random.
    offline: no network connection may be opened.
    on_long_prompt: what happens to a prompt that does not fit into the model's length: "cut" (from the left) or "fail".
    prices: the user's file of prices, before the shipped one.
    reasoning_tags: the marks around the model's reasoning, as `marks_of` of mm_eval.values.reasoning
        reads them; None for the known ones.
    """

    batch_size: int | str = "auto"
    device: str | None = None
    seed: int = 0
    chat_template: bool | str | None = None
    offline: bool = False
    on_long_prompt: str = "cut"
    prices: str | None = None
    reasoning_tags: str | None = None


@dataclass(frozen=True)
class Preview:
    """An instance as the model gets it, for `mm-eval show`.

    text: the prompt after the chat template, image placeholders expanded as the processor does.
    tokens: all prompt tokens. image_tokens: those that stand for pictures. None if the adapter can't count them.
    """

    text: str
    tokens: int | None = None
    image_tokens: int | None = None


class Model:
    """Base of all adapters. An adapter overrides `generate`, and what else it supports.

    prompt_keys: keys of `model_specific_prompt_kwargs` from most to least specific ("llava_onevision", "llava").
    chat: whether the chat template is applied by default (True for image-text and chat models).
    function_of_key: equal request keys get equal answers, so a question that occurs twice in a run is requested once.
    bundled: this model is shipped with mm-eval, so it is evaluated on the bundled sample data by default.
    local: it holds weights on this machine, so that another model is closed before it is loaded as a judge.
    tries_first: the first request finds out what an endpoint takes, so it is one with a picture.
    travels: workers on other machines can answer for it; False for one that reads a file of this machine.
    video_rule: which frames of a video are shown where neither `--video` nor the prompt block says it ("frames=32,ends"); empty
        for the rule of all models without one.
    video_input: how videos are shown: "pictures", "pictures with times", "video" (the family's own video input) or "file".
    """

    prompt_keys: tuple[str, ...] = ()
    chat: bool = False
    function_of_key: ClassVar[bool] = True
    bundled: ClassVar[bool] = False
    local: ClassVar[bool] = False
    tries_first: ClassVar[bool] = False
    travels: ClassVar[bool] = True
    video_rule: str = ""
    video_input: str = "pictures"

    def __init__(self, args: Mapping[str, Any], settings: ModelSettings) -> None:
        self.args, self.settings = dict(args), settings

    @classmethod
    def create(cls, args: Mapping[str, Any], settings: ModelSettings) -> Model:
        """An adapter from `--model_args`. Cheap: `prepare` loads the weights. Raises ConfigError for a wrong argument."""
        return cls(args, settings)

    _prepared = False

    def prepare(self) -> None:
        """Loads the weights, or whatever answering needs. Called once, before the first request, if any request is pending."""

    def prepare_once(self) -> None:
        """Calls `prepare` unless it was called before: several runs may share one model."""
        if not self._prepared:
            self.prepare()
            self._prepared = True

    def close(self) -> None:
        """Gives back what the model holds (memory, processes). Called once after the last request; may be called again."""

    def another(self) -> Model:
        """A model with the same arguments, its weights not loaded."""
        return type(self).create(self.args, self.settings)

    def constants(self) -> Mapping[str, Any]:
        """The part of `describe` and `identity` that only the machine of the weights knows: digests, dtype, versions."""
        return {}

    def adopt(self, constants: Mapping[str, Any]) -> None:
        """Takes the `constants` of an equal model elsewhere: stating the identity then needs no weights and no GPU."""

    def expect(self, constants: Mapping[str, Any]) -> None:
        """Gets the `constants` of the launch that made the run folder. A model with its weights elsewhere describes itself by
        them, so that a finished run needs no weights; what it loads later must have equal ones."""

    def findings(self) -> Mapping[str, Any]:
        """What a run finds out about its endpoint that decides how it goes on, as JSON values: fields that are not taken.

        It is written to run.json, outside the spec, before the answers that were made with it.
        """
        return {}

    def recall(self, findings: Mapping[str, Any]) -> None:
        """Gets the `findings` of an earlier launch of the run. A request key then has what the endpoint leaves out."""

    def ran_on(self) -> Mapping[str, Any]:
        """Entries for `run` in results.json that say where the model ran. Nothing for a model in this process."""
        return {}

    def shares(self, instance: Instance) -> bool:
        """Whether the answer to this instance may fill other slots with an equal request key."""
        return self.function_of_key

    def account(self, usage: Mapping[str, int]) -> str:
        """A line of the report about the tokens of a run, such as their price. Empty for none."""
        return ""

    def dollars(self, usage: Mapping[str, int]) -> float | None:
        """The price of token counts in dollars: 0 for a model that runs here, None for a server whose prices are unknown."""
        return 0.0

    def price(self) -> Price | None:
        """What its tokens cost. None for a model that runs here, and where the price is unknown."""
        return None

    def stop_soon(self) -> None:
        """Called by a signal handler when the user interrupts: no new request follows; those in flight get a few seconds."""

    def finish(self) -> None:
        """Called when failures or a budget end a run: no new request follows, and those that the model has begun are recorded."""

    def check_arguments(self) -> None:
        """Raises ConfigError for arguments that the model's own files do not allow, which `create` does not read."""

    def check_generation(self, kwargs: Mapping[str, Any]) -> None:
        """Raises ConfigError for generation_kwargs that the model does not support. Called before the first request."""
        GenerationOptions.from_kwargs(kwargs)

    def check_requests(self, request_type: str, instances: Sequence[Instance]) -> None:
        """Raises ConfigError if the model can't answer a task's requests, as far as that is known before the first one.

        instances: those of the task's first doc, without pictures.
        """
        method = {"generate_until": "generate"}.get(request_type, request_type)
        if getattr(type(self), method) is getattr(Model, method):
            next(iter(getattr(self, method)(instances)), None)  # raises

    def check_videos(self, instances: Iterable[Instance]) -> None:
        """Raises ConfigError if the model can't be shown the videos of these instances. Called before the first request.

        instances: those of the task's first docs, with pictures, each built when it is taken.
        """

    def identity(self, instance: Instance) -> Mapping[str, Any]:
        """Everything that decides the answer to this instance, as JSON values. Its digest is the request key."""
        return {"adapter": type(self).__name__, "args": self.args, **question(instance, self.settings.seed)}

    def describe(self) -> Mapping[str, Any]:
        """What was measured, for run.json: JSON values that are equal for equal models."""
        return {"adapter": type(self).__name__, "args": self.args}

    def machine(self) -> Mapping[str, Any]:
        """Where it runs and how large it is, for readers of the page: {"device": ..., "parameters": ...}, as far as known.

        It is not part of a key or a spec: the same run may go on elsewhere.
        """
        return {}

    def preview(self, instance: Instance) -> Preview:
        """The prompt as the model gets it, without loading weights."""
        return Preview(flatten(instance))

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
    """The part of an identity that every adapter must include: prompt, pictures by content, options, repeat, seed."""
    options = {k: v for k, v in instance.generation_kwargs.items() if k not in TRANSPORT_OPTIONS}
    return {
        "request_type": instance.request_type,
        "context": instance.context,
        "images": list(instance.image_digests),
        "continuation": instance.continuation,
        "options": options,
        "repeat": instance.repeat,
        "seed": seed,
    }


def request_key(model: Model, instance: Instance) -> str:
    """The digest of the adapter's identity of an instance."""
    return digest_of(model.identity(instance))


def flatten(instance: Instance) -> str:
    """A prompt as plain text for people: chat messages line by line, pictures as <image>."""
    if isinstance(instance.context, str):
        return instance.context
    lines = []
    for message in instance.context:
        parts = message["content"]
        text = parts if isinstance(parts, str) else "".join(part.get("text", "<image>\n") for part in parts)
        lines.append(f"{message['role']}: {text}")
    return "\n".join(lines)
