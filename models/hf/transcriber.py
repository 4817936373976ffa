"""Models that write down what they hear, such as Whisper: `--model whisper`.

They read no question: each request has one sound, and its text is ignored. The answer is what the type's own processor and
`generate` make of the sound. A sound that is longer than Whisper's window of 30 s is transcribed to its end, window after window,
as transformers does it with timestamps; no other type has a window.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

from mm_eval.config.arguments import TEXT, Rule
from mm_eval.engine.generation import GenerationOptions
from mm_eval.engine.model import Answers, Model, ModelFacts, ModelSettings, Preview, question, register_model
from mm_eval.values.errors import ConfigError, DataError, MMEvalError, ModelError, kind_and_text
from mm_eval.values.reasoning.split import cut_at
from mm_eval.values.types import Answer, Instance, Options
from mm_eval.values.words import counted

from .arguments import WHERE, Arguments
from .beside import leave_out_broken
from .checkpoint import Checkpoint, parameter_count
from .families import SPEECH
from .prompts.ahead import located
from .weights import named_device, quantisation

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from transformers import PreTrainedModel, ProcessorMixin

VERSION = 1
"""Raised when a change here changes answers."""
ROWS = 16
"""Sounds of a batch where `--batch_size` is "auto"."""


@dataclass(frozen=True)
class Transcriber:
    """How a type of transcribers is run.

    window: its extractor pads each sound to a window, so that sounds share a batch; a longer one runs alone, to its end.
    languages: `generate` takes `language` and `task`.
    """

    window: bool = False
    languages: bool = False


TRANSCRIBERS = {"moonshine": Transcriber(), "whisper": Transcriber(window=True, languages=True)}
assert set(TRANSCRIBERS) == set(SPEECH)


@dataclass(frozen=True)
class TranscriberArguments(Arguments):
    """The `--model_args` of a transcriber.

    language: that is spoken ("de", "german"); None: the model finds it out for each sound.
    task: "transcribe" or "translate", which Whisper does into English.
    """

    language: str | None = None
    task: str | None = None

    @classmethod
    def rules(cls) -> dict[str, Rule]:
        of_task = Rule("transcribe or translate", ("transcribe", "translate").__contains__)
        known = {name: rule for name, rule in super().rules().items() if name in TAKEN}
        return {**known, "language": TEXT, "task": of_task}

    @classmethod
    def read(cls, args: Options) -> Self:
        chosen = super().read(args)
        if not chosen.pretrained:
            raise ConfigError(
                "This model needs a checkpoint.",
                where=WHERE,
                hint="Write --model_args pretrained=openai/whisper-small.",
            )
        return chosen


TAKEN = ("pretrained", "revision", "dtype", "trust_remote_code", "device", "device_map", "attn_implementation")
"""The arguments of `Arguments` that a transcriber has."""
assert set(TAKEN) <= {each.name for each in fields(Arguments)}


@dataclass(frozen=True)
class _Asked:
    """A request that can be answered: its samples at the rate of the model, and its options."""

    instance: Instance
    samples: NDArray[Any]
    options: GenerationOptions


@register_model("whisper")
class Whisper(Model):
    """Models that write down what they hear: pretrained=openai/whisper-large-v3,language=de."""

    def __init__(self, args: Options, settings: ModelSettings) -> None:
        super().__init__(args, settings)
        leave_out_broken()
        self.arguments = TranscriberArguments.read(args)
        pretrained = self.arguments.pretrained
        self.checkpoint = Checkpoint(pretrained, self.arguments.revision, offline=settings.offline)
        self.checkpoint.check_json()
        kind = self.checkpoint.model_type
        if kind not in TRANSCRIBERS:
            what = (
                f"{pretrained!r} ({kind}) is not a model that transcribes: {', '.join(sorted(TRANSCRIBERS))} are known."
            )
            raise ConfigError(what, where=WHERE, hint="Models that hear and read a question: --model hf.")
        self.kind = TRANSCRIBERS[kind]
        if not self.kind.languages and (self.arguments.language or self.arguments.task):
            raise ConfigError(f"{kind} takes no language and no task.", where=WHERE, hint="Leave them out.")
        self.facts = ModelFacts(
            name=pretrained, family=kind, prompt_keys=(kind,), endings=("stop", "length"), local=True, hears=True
        )
        self._model: PreTrainedModel | None = None

    @cached_property
    def processor(self) -> ProcessorMixin:
        """The checkpoint's processor."""
        from .processor import load_processor

        processor = load_processor(self.checkpoint.folder, self.arguments)
        assert processor is not None
        return processor

    @cached_property
    def _device_and_dtype(self) -> tuple[str, str]:
        from .processor import load_config
        from .weights import choose_device, choose_dtype

        device = choose_device(self.arguments, self.settings.device)
        return device, choose_dtype(self.arguments, device, load_config(self.checkpoint.folder, self.arguments))

    @property
    def model(self) -> PreTrainedModel:
        """The loaded model. Loads it on first use."""
        if self._model is None:
            self.prepare()
        assert self._model is not None
        return self._model

    def prepare(self) -> None:
        """Loads the weights. Raises ConfigError if they are missing or do not fit the config."""
        from .weights import load_model

        if self._model is None:
            self.checkpoint.weights()
            device, dtype = self._device_and_dtype
            kind, quantised = self.checkpoint.model_type, quantisation(self.checkpoint.config)
            self._model = load_model(self.checkpoint.folder, self.arguments, True, device, dtype, quantised, kind)
            self.checkpoint.check_unchanged()

    def close(self) -> None:
        self._model = None

    def check(self, first: Sequence[Instance], more: Iterable[Instance] = ()) -> None:
        from .inference.generate import check_options

        for instance in first:
            check_options(GenerationOptions.from_kwargs(instance.generation_kwargs))

    @property
    def _constants(self) -> Mapping[str, object]:
        """Everything that decides an answer and is the same for every question."""
        if not self.facts.constants:
            kind = quantisation(self.checkpoint.config)
            device, dtype = self._device_and_dtype
            constants = {
                "adapter": "whisper",
                "version": VERSION,
                "files": self.checkpoint.digests(),
                "dtype": dtype,
                "attn_implementation": self.arguments.attn_implementation,
                "language": self.arguments.language,
                "task": self.arguments.task,
            }
            parameters = None if kind else parameter_count(self.checkpoint.weights())
            self.facts = replace(
                self.facts, device=named_device(device), dtype=dtype, parameters=parameters, constants=constants
            )
        return self.facts.constants

    def identity(self, instance: Instance) -> Mapping[str, object]:
        return {**self._constants, **question(instance, self.settings.seed)}

    def describe(self) -> Mapping[str, object]:
        about = {"pretrained": self.arguments.pretrained, "revision": self.arguments.revision}
        return {**about, "model_type": self.checkpoint.model_type, **self._constants}

    def show(self, instance: Instance) -> Preview:
        return Preview("<audio>\n")

    def generate(self, instances: Iterable[Instance]) -> Answers:
        limit = ROWS if self.settings.batch_size == "auto" else int(self.settings.batch_size)
        batch: list[_Asked] = []
        for instance in instances:
            try:
                asked = self._asked(instance)
            except (DataError, ModelError) as error:
                yield instance, located(error, instance)
                continue
            if not self.kind.window or self._is_long(asked):
                yield from self._answered([asked])
                continue
            if batch and instance.generation_kwargs != batch[0].instance.generation_kwargs:
                yield from self._answered(batch)
                batch = []
            batch.append(asked)
            if len(batch) >= limit:
                yield from self._answered(batch)
                batch = []
        if batch:
            yield from self._answered(batch)

    def _asked(self, instance: Instance) -> _Asked:
        """A request with its samples. Raises ModelError unless it has one sound and nothing else."""
        sounds = instance.sounds() if instance.sounds is not None else []
        if len(sounds) != 1 or instance.images is not None:
            shown = [counted(len(sounds), "sound")]
            shown += [counted(len(instance.image_digests), "picture")] if instance.image_digests else []
            raise ModelError(
                f"{self.facts.name!r} transcribes one sound, and this question has {' and '.join(shown)}.",
                hint="Choose a model that hears and reads: --model hf.",
            )
        options = GenerationOptions.from_kwargs(instance.generation_kwargs)
        if options.do_sample:
            raise ModelError("a transcriber is run greedily, and this task samples.", hint="Set temperature=0.")
        rate = int(self.processor.feature_extractor.sampling_rate)
        return _Asked(instance, sounds[0].samples(rate=rate, mono=True), options)

    def _is_long(self, asked: _Asked) -> bool:
        return len(asked.samples) > int(self.processor.feature_extractor.n_samples)

    def _answered(self, batch: list[_Asked]) -> Iterator[tuple[Instance, Answer | MMEvalError]]:
        """The transcriptions of a batch. One that fails runs again row by row, and a row that fails alone gets a ModelError."""
        failure = ""
        try:
            found = self._transcribed(batch)
        except (RuntimeError, ValueError, IndexError) as error:
            failure = kind_and_text(error).splitlines()[0]
        if not failure:
            yield from zip((each.instance for each in batch), found, strict=True)
        elif len(batch) == 1:
            failed = ModelError(f"The model failed on this request ({failure}).")
            yield batch[0].instance, located(failed, batch[0].instance)
        else:
            for each in batch:
                yield from self._answered([each])

    def _transcribed(self, batch: Sequence[_Asked]) -> list[Answer]:
        """The answers to sounds that run together."""
        import torch

        from .processor import quiet

        options, extractor = batch[0].options, self.processor.feature_extractor
        long = self.kind.window and self._is_long(batch[0])
        whole = {"truncation": False, "padding": "longest"} if long else {}
        inputs = extractor(
            [each.samples for each in batch],
            sampling_rate=extractor.sampling_rate,
            return_tensors="pt",
            return_attention_mask=True,
            **whole,
        )
        given = {
            name: value.to(self.model.device, self.model.dtype)
            if value.is_floating_point()
            else value.to(self.model.device)
            for name, value in inputs.items()
        }
        with torch.inference_mode(), quiet():
            rows = self.model.generate(**given, **self._how(options, long))
        texts = self.processor.batch_decode(rows, skip_special_tokens=True)
        return [self._answer(text, row.tolist(), options, long) for text, row in zip(texts, rows, strict=True)]

    def _how(self, options: GenerationOptions, long: bool) -> dict[str, object]:
        """The arguments of `generate`."""
        how: dict[str, object] = {"do_sample": False, "num_beams": options.num_beams, **options.extra}
        most = int(getattr(self.model.config, "max_target_positions", 0) or self.model.config.max_position_embeddings)
        if options.max_new_tokens < most - SPARE:
            how["max_new_tokens"] = options.max_new_tokens
        if long:
            how["return_timestamps"] = True
        named = {"language": self.arguments.language, "task": self.arguments.task}
        return {**how, **{name: value for name, value in named.items() if value is not None}}

    def _answer(self, text: str, tokens: list[int], options: GenerationOptions, long: bool) -> Answer:
        """A transcription as an answer. Of a long sound no token says how it ended."""
        ends = self.model.generation_config.eos_token_id
        stops = set(ends if isinstance(ends, list) else [ends])
        ended = long or bool(stops.intersection(tokens))
        found, stopped = cut_at(text.strip(), options.until)
        written = tokens[tokens[:1] == [self.model.config.decoder_start_token_id] :]
        new = next((place for place, token in enumerate(written) if token in stops), len(written))
        return Answer(found, ended="stop" if ended or stopped else "length", usage={"completion_tokens": new})


SPARE = 8
"""Places of the decoder that its own prompt may take: a cap above the rest is left to the checkpoint."""
