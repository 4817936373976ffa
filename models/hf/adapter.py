"""The transformers adapter: one class for image-text and text models. The package's docstring lists its files.

Nothing is imported from torch or transformers until a prompt or an answer is needed.
"""

from __future__ import annotations

import gc
import importlib.util
import logging
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from mm_eval.engine.generation import GenerationOptions
from mm_eval.engine.model import Answers, ModelSettings, is_bundled, register_model, request_key
from mm_eval.engine.threads import chooses_threads
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Instance, Options

from .arguments import WHERE, Arguments
from .checkpoint import parameter_count
from .checkpoint_model import CheckpointModel
from .families import UNKNOWN, Family
from .prompts.clips import native_clips
from .source import Source
from .weights import adapter_digest, check_adapter, named_device, quantisation

if TYPE_CHECKING:
    from transformers import PretrainedConfig, PreTrainedModel

    from .asking import Asking
    from .inference.runtime import Runtime
    from .inference.threads import Threads


logger = logging.getLogger(__name__)
ADAPTER_VERSION = 3
"""Raised when a change here changes answers, so that older answers are not reused. 3: reasoning is cut by token ids."""


@register_model("hf")
class HuggingFace(CheckpointModel):
    """Any image-text or text checkpoint of transformers: pretrained=FOLDER_OR_HUB_ID.

    bundled_stand_in: the bundled model that `show` uses if no `pretrained` is given.
    own_key: the prompt key of this adapter name, whatever the checkpoint.
    """

    bundled_stand_in: ClassVar[str | None] = "tiny-llava"
    own_key: ClassVar[str | None] = None

    def __init__(self, args: Options, settings: ModelSettings) -> None:
        super().__init__(args, settings)
        self.arguments = self._read_arguments()
        self.source = self._source()
        self.checkpoint = self.source.checkpoint
        self.facts = replace(self.source.facts, bundled=is_bundled(type(self)))
        self._asking: Asking | None = None
        self._threads: Threads | None = None
        self._places = 0

    def _source(self) -> Source:
        return Source(self.arguments, self.settings, "hf", self.own_key)

    def _read_arguments(self) -> Arguments:
        arguments = Arguments.read(self.args)
        if not arguments.pretrained:
            raise ConfigError(
                "This model needs a checkpoint.",
                where=WHERE,
                hint="Write --model_args pretrained=FOLDER_OR_HUB_ID, or --model tiny-llava for the bundled one.",
            )
        if arguments.peft:
            check_adapter(arguments.peft)
        return arguments

    @cached_property
    def _device_and_dtype(self) -> tuple[str, str]:
        from .processor import load_config
        from .weights import choose_device, choose_dtype

        device = choose_device(self.arguments, self.settings.device)
        return device, choose_dtype(self.arguments, device, load_config(self.checkpoint.folder, self.arguments))

    @property
    def asking(self) -> Asking:
        """The loaded model, ready to answer. Loads it on first use."""
        if self._asking is None:
            self.prepare()
        assert self._asking is not None
        return self._asking

    @property
    def runtime(self) -> Runtime:
        """The loaded model."""
        return self.asking.runtime

    def prepare(self) -> None:
        """Loads the weights. Raises ConfigError if they are missing or do not fit the config."""
        from .inference.threads import Threads, step_of
        from .processor import load_config
        from .weights import load_model

        if self._asking is not None:
            return
        self.checkpoint.weights()
        device, dtype = self._device_and_dtype
        quantised = quantisation(self.checkpoint.config)
        self._refuse_encoder_decoder(load_config(self.checkpoint.folder, self.arguments))
        kind = self.checkpoint.model_type
        model = load_model(
            self.checkpoint.folder, self.arguments, self.source.image_text, device, dtype, quantised, kind
        )
        self.checkpoint.check_unchanged()
        self._asking = self._with_short_cuts(model)
        self._asking.places = self._places
        if device == "cpu" and chooses_threads():
            self._threads = Threads(step_of(model), self.facts.threads)
            self._asking.look = self._look
            self.facts = replace(self.facts, threads=self._threads.number)
        logger.info("%s: %s on %s.", self.arguments.pretrained, dtype, device)

    def _with_short_cuts(self, model: PreTrainedModel) -> Asking:
        """The loaded model with the batches and caches of its family. A type outside the table checks itself first."""
        from .asking import Asking
        from .inference.cache import runtime_of
        from .inference.limits import most_shared
        from .self_check import quickest, why_not_next_tokens

        def seed_of(instance: Instance) -> int:
            return int(request_key(self, instance)[:15], 16)

        def answering(family: Family, batch_size: int) -> Asking:
            return Asking(self.writer, runtime_of(model, family, tokenizer, batch_size), sys.maxsize, seed_of)

        family, tokenizer, kind = self.writer.family, self.writer.tokenizer, self.checkpoint.model_type
        self._refuse_encoder_decoder(model.config)
        about = {"pictured": self.writer.processor is not None, "chat": self.source.has_template}
        plainest = replace(family, batched=False, prefix_cache=False, features=False)
        if reason := why_not_next_tokens(model, answering(plainest, 1), known=family is not UNKNOWN, **about):
            raise ConfigError(
                f"{self.arguments.pretrained!r} ({kind}) does not give log-probabilities of the next token: {reason}.",
                where=WHERE,
                hint="This adapter runs causal models. It does not run masked models, encoders or diffusion models.",
            )
        if family is UNKNOWN:
            family, reason = quickest(model, answering, **about)
            if family is UNKNOWN:
                logger.warning("Model type %r runs one prompt at a time, without short cuts: %s.", kind, reason)
            else:
                used = {"batches": family.batched, "caches": family.prefix_cache, "kept features": family.features}
                names = ", ".join(name for name, is_used in used.items() if is_used)
                logger.info("Model type %r is not in the table; its %s agree with whole forwards.", kind, names)
        runtime = runtime_of(model, family, tokenizer, self.settings.batch_size)
        max_length = self.arguments.max_length or runtime.max_length
        alone = None
        shared = most_shared(model.config, max_length)
        if shared or (family.sound and (family.sound.chunk or family.sound.in_video)):
            one = replace(family, batched=False, prefix_cache=family.prefix_cache and not shared)
            alone = shared or max_length, runtime_of(model, one, tokenizer, 1)
        if shared:
            logger.info("Sequences of more than %d tokens run alone: their rotary positions are scaled.", shared)
        cuts = self.settings.on_long_prompt == "cut"
        return Asking(self.writer, runtime, max_length, seed_of, alone, cuts)

    def _refuse_encoder_decoder(self, config: PretrainedConfig) -> None:
        """ConfigError for one. config: of the files as well, since transformers loads BART's decoder without its encoder."""
        if getattr(config, "is_encoder_decoder", False):
            raise ConfigError(
                f"{self.arguments.pretrained!r} ({self.checkpoint.model_type}) is an encoder-decoder.",
                where=WHERE,
                hint="This adapter runs models that read prompt and answer as one sequence.",
            )

    def _look(self) -> None:
        """Chooses the number of threads again if the machine has become busy."""
        assert self._threads is not None
        self._threads.look()
        if self._threads.number != self.facts.threads:
            self.facts = replace(self.facts, threads=self._threads.number)

    def close(self) -> None:
        """Drops the weights and the caches of the device."""
        self._asking = None
        if self._threads is not None:
            self._threads.close()
            self._threads = None
        if (torch := sys.modules.get("torch")) is not None and torch.cuda.is_available():
            gc.collect()
            torch.cuda.empty_cache()

    def check(self, first: Sequence[Instance], more: Iterable[Instance] = ()) -> None:
        from .inference.generate import check_options

        if not first and not more:
            _ = self.writer  # the processor has pixel limits, or has not
        for instance in first:
            if instance.request_type == "generate_until":
                check_options(GenerationOptions.from_kwargs(instance.generation_kwargs))
        if (videos := self.source.videos) is None:
            return
        try:
            videos.kind.check_positions()
        except ConfigError:
            if any(native_clips(each, videos.kind.splits) for each in more):
                raise

    @property
    def _constants(self) -> Mapping[str, object]:
        """Everything that decides an answer and is the same for every question. The device and the batch size are not part."""
        if not self.facts.constants:
            kind = quantisation(self.checkpoint.config)
            device, dtype = self._device_and_dtype
            self.facts = replace(
                self.facts,
                device=named_device(device),
                dtype=dtype,
                parameters=None if kind else parameter_count(self.checkpoint.weights()),
                constants={
                    **self.source.constants(),
                    "adapter_version": ADAPTER_VERSION,
                    "dtype": dtype,
                    "attn_implementation": self.arguments.attn_implementation,
                    "torchvision": bool(self.source.image_text and importlib.util.find_spec("torchvision")),
                    # the kernels of quantised weights differ between kinds of devices
                    **({"quantization": kind, "kernels": device.split(":")[0]} if kind else {}),
                    **({"peft": adapter_digest(peft)} if (peft := self.arguments.peft) else {}),
                },
            )
        return self.facts.constants

    def stop(self, at_once: bool) -> None:
        if self._asking is not None and at_once:
            self._asking.stop_soon()

    def keep_places(self, count: int) -> None:
        self._places = count

    def generate(self, instances: Iterable[Instance]) -> Answers:
        return self.asking.generate(instances)

    def loglikelihood(self, instances: Iterable[Instance]) -> Answers:
        return self.asking.loglikelihood(instances)

    def loglikelihood_rolling(self, instances: Iterable[Instance]) -> Answers:
        return self.asking.rolling(instances)


@register_model("llava")
class Llava(HuggingFace):
    """LLaVA checkpoints (llava, llava_next, llava_onevision) under the prompt key `llava`."""

    own_key = "llava"


@register_model("qwen_vl")
class QwenVL(HuggingFace):
    """Qwen-VL checkpoints (qwen2_vl, qwen2_5_vl, qwen3_vl) under the prompt key `qwen_vl`."""

    bundled_stand_in: ClassVar[str | None] = "tiny-qwen2-vl"
    own_key = "qwen_vl"
