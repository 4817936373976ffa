"""The transformers adapter: one class for image-text and text models. The package's docstring lists its files.

Nothing is imported from torch or transformers until a prompt or an answer is needed.
"""

from __future__ import annotations

import gc
import hashlib
import importlib.util
import json
import logging
import sys
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from mm_eval.engine.generation import GenerationOptions
from mm_eval.engine.model import (
    Answers,
    Model,
    ModelSettings,
    Preview,
    question,
    register_model,
    request_key,
)
from mm_eval.values.errors import ConfigError
from mm_eval.values.reasoning.families import marks_of
from mm_eval.values.types import Instance

from .arguments import WHERE, Arguments
from .checkpoint import Checkpoint, parameter_count
from .families import FAMILIES, TEXT_FAMILIES, UNKNOWN, Family, family_of
from .prompts.clips import native_clips
from .prompts.prompt import PromptWriter
from .prompts.video_prompt import VideoWriter, video_identity
from .prompts.videos import Videos
from .torchvision import leave_out_if_broken
from .weights import adapter_digest, check_adapter, quantisation

if TYPE_CHECKING:
    from .asking import Asking
    from .inference.runtime import Runtime


logger = logging.getLogger(__name__)
ADAPTER_VERSION = 3
"""Raised when a change here changes answers, so that older answers are not reused. 3: reasoning is cut by token ids."""


@register_model("hf")
class HuggingFace(Model):
    """Any image-text or text checkpoint of transformers: pretrained=FOLDER_OR_HUB_ID.

    bundled_stand_in: the bundled model that `show` uses if no `pretrained` is given.
    own_key: the prompt key of this adapter name, whatever the checkpoint.
    engine: what runs the checkpoint, for its identity.
    own_positions: the engine computes the positions of videos itself, whatever transformers does.
    """

    bundled_stand_in: ClassVar[str | None] = "tiny-llava"
    own_key: ClassVar[str | None] = None
    engine: ClassVar[str] = "hf"
    own_positions: ClassVar[bool] = False
    local: ClassVar[bool] = True

    def __init__(self, args: Mapping[str, Any], settings: ModelSettings) -> None:
        super().__init__(args, settings)
        leave_out_if_broken()
        self.arguments = self._read_arguments()
        self.template = self.arguments.template_text()
        self.checkpoint = Checkpoint(self.arguments.pretrained, self.arguments.revision, offline=settings.offline)
        self.checkpoint.check_json()
        known = FAMILIES.get(self.checkpoint.model_type)
        keys = known.prompt_keys if known else ()
        self.prompt_keys = keys if self.own_key is None or self.own_key in keys else (self.own_key,)
        self.chat = self.template is not None or self.checkpoint.has_chat_template
        if settings.chat_template and not self.chat:
            raise ConfigError(
                f"{self.arguments.pretrained!r} has no chat template.",
                where="--apply_chat_template",
                hint="Leave it out, or give chat_template=FILE in --model_args.",
            )
        kind = self.checkpoint.model_type
        needs_chat = known.chats if known else kind not in TEXT_FAMILIES
        if settings.chat_template is None and not self.chat and needs_chat and self._image_text:
            raise ConfigError(
                f"{self.arguments.pretrained!r} is a vision-language model ({kind}) without a chat template.",
                where=WHERE,
                hint="Give chat_template=FILE in --model_args. For a base model, whose prompts are plain text, give "
                "--apply_chat_template false.",
            )
        self._asking: Asking | None = None
        self._videos = self._own_videos(known)
        if self._videos is not None:
            self.video_rule, self.video_input = self._videos.kind.rule, "video"

    def _own_videos(self, family: Family | None) -> Videos | None:
        """The family's own video input; None if the frames are shown as pictures."""
        chat = self.settings.chat_template is not False and self.chat
        template = (self.template or self.checkpoint.chat_templates) if chat else None
        kind = family.video if family is not None else None
        return Videos.chosen(kind, self.checkpoint, self.arguments, template)

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
    def writer(self) -> PromptWriter:
        """Writes prompts. Loads the tokenizer or the processor on first use."""
        from .processor import load_config, load_processor, load_tokenizer

        folder, processor = self.checkpoint.folder, None
        if self._image_text:
            processor = load_processor(folder, self.arguments)
        tokenizer = processor.tokenizer if processor is not None else load_tokenizer(folder, self.arguments)
        family = family_of(self.checkpoint.model_type, self._image_text)
        config = self.checkpoint.config
        image_token_id = config.get("image_token_id", config.get("image_token_index"))
        if image_token_id is None and processor is not None:  # molmo2's files name it otherwise
            image_token_id = getattr(load_config(folder, self.arguments), "image_token_id", None)
        options: dict[str, Any] = {
            "template": self.template,
            "template_name": self.settings.chat_template if isinstance(self.settings.chat_template, str) else None,
            "image_token_id": image_token_id,
            "marks": marks_of(self.settings.reasoning_tags),
        }
        if self._videos is not None:
            options["videos"] = self._videos
        kind = VideoWriter if self._videos is not None else PromptWriter
        writer = kind(self.arguments.pretrained, family, tokenizer, processor, self.arguments, **options)
        if self.chat and self.settings.chat_template is not False:
            writer.check_template()
        return writer

    @cached_property
    def _image_text(self) -> bool:
        from .processor import is_image_text

        auto_map = self.checkpoint.config.get("auto_map", {})
        return is_image_text(self.checkpoint.model_type) or "AutoModelForImageTextToText" in auto_map

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
        from .weights import load_model

        if self._asking is not None:
            return
        self.checkpoint.weights()
        device, dtype = self._device_and_dtype
        quantised = quantisation(self.checkpoint.config)
        model = load_model(self.checkpoint.folder, self.arguments, self._image_text, device, dtype, quantised)
        if getattr(model.config, "is_encoder_decoder", False):
            raise ConfigError(
                f"{self.arguments.pretrained!r} ({self.checkpoint.model_type}) is an encoder-decoder.",
                where=WHERE,
                hint="This adapter runs models that read prompt and answer as one sequence.",
            )
        self._asking = self._with_short_cuts(model)
        logger.info("%s: %s on %s.", self.arguments.pretrained, dtype, device)

    def _with_short_cuts(self, model: Any) -> Asking:
        """The loaded model with the batches and caches of its family. A type outside the table checks itself first."""
        from .asking import Asking
        from .inference.cache import runtime_of
        from .inference.limits import most_shared
        from .self_check import quickest

        def seed_of(instance: Instance) -> int:
            return int(request_key(self, instance)[:15], 16)

        def answering(family: Family, batch_size: int) -> Asking:
            return Asking(self.writer, runtime_of(model, family, tokenizer, batch_size), sys.maxsize, seed_of)

        family, tokenizer, kind = self.writer.family, self.writer.tokenizer, self.checkpoint.model_type
        if family is UNKNOWN:
            family, reason = quickest(model, answering, pictured=self.writer.processor is not None, chat=self.chat)
            if family is UNKNOWN:
                logger.warning("Model type %r runs one prompt at a time, without short cuts: %s.", kind, reason)
            else:
                used = {"batches": family.batched, "caches": family.prefix_cache, "kept features": family.features}
                names = ", ".join(name for name, is_used in used.items() if is_used)
                logger.info("Model type %r is not in the table; its %s agree with whole forwards.", kind, names)
        runtime = runtime_of(model, family, tokenizer, self.settings.batch_size)
        max_length = self.arguments.max_length or runtime.max_length
        alone = None
        if shared := most_shared(model.config, max_length):
            plainest = replace(family, batched=False, prefix_cache=False)
            alone = shared, runtime_of(model, plainest, tokenizer, 1)
            logger.info("Sequences of more than %d tokens run alone: their rotary positions are scaled.", shared)
        cuts = self.settings.on_long_prompt == "cut"
        return Asking(self.writer, runtime, max_length, seed_of, alone, cuts)

    def close(self) -> None:
        """Drops the weights and the caches of the device."""
        self._asking, self._prepared = None, False
        if (torch := sys.modules.get("torch")) is not None and torch.cuda.is_available():
            gc.collect()
            torch.cuda.empty_cache()

    def check_arguments(self) -> None:
        _ = self.writer  # the processor has pixel limits, or has not

    def check_generation(self, kwargs: Mapping[str, Any]) -> None:
        from .inference.generate import check_options

        check_options(GenerationOptions.from_kwargs(kwargs))

    def check_videos(self, instances: Iterable[Instance]) -> None:
        if self._videos is None or self.own_positions:
            return
        kind = self._videos.kind
        try:
            kind.check_positions()
        except ConfigError:
            if any(native_clips(each, kind.splits) for each in instances):
                raise

    @cached_property
    def _constants(self) -> dict[str, Any]:
        """Everything that decides an answer and is the same for every question. The device and the batch size are not part."""
        chosen = self.arguments
        template = self.template or self.settings.chat_template
        return {
            "adapter": self.engine,
            "files": self.checkpoint.digests(),
            "pixels": [chosen.min_pixels, chosen.max_pixels],
            "chat_template": template if isinstance(template, str) else None,
            "max_length": chosen.max_length,
            "add_bos_token": chosen.add_bos_token,
            **self._stated_variables,
            **self._stated_marks,
            **self._engine_constants,
        }

    @property
    def _engine_constants(self) -> dict[str, Any]:
        """Those of the constants that depend on what runs the checkpoint."""
        return {
            "adapter_version": ADAPTER_VERSION,
            "dtype": self._device_and_dtype[1],
            "attn_implementation": self.arguments.attn_implementation,
            "torchvision": bool(self._image_text and importlib.util.find_spec("torchvision")),
            **self._kind_of_weights,
        }

    @property
    def _kind_of_weights(self) -> dict[str, Any]:
        """Quantisation and adapter, where there are any. The kernels of quantised weights differ between kinds of devices."""
        kind, peft = quantisation(self.checkpoint.config), self.arguments.peft
        quantised = {"quantization": kind, "kernels": self._device_and_dtype[0].split(":")[0]} if kind else {}
        return {**quantised, **({"peft": adapter_digest(peft)} if peft else {})}

    @property
    def _stated_variables(self) -> dict[str, Any]:
        """The template's values where any are stated; a model without them keeps its fingerprint."""
        variables = self.arguments.chat_template_kwargs
        return {"chat_template_kwargs": dict(variables)} if variables else {}

    @property
    def _stated_marks(self) -> dict[str, Any]:
        """The marks that the user states around the reasoning; a model without them keeps its fingerprint."""
        stated = {
            "reasoning_tags": self.settings.reasoning_tags,
            "think_end_token": self.arguments.think_end_token,
        }
        return {name: value for name, value in stated.items() if value is not None}

    @cached_property
    def fingerprint(self) -> str:
        """sha256 of everything that decides this model's answers apart from the question."""
        return hashlib.sha256(json.dumps(self._constants, sort_keys=True).encode()).hexdigest()

    def constants(self) -> Mapping[str, Any]:
        return self._constants

    def adopt(self, constants: Mapping[str, Any]) -> None:
        self.__dict__["_constants"] = dict(constants)
        self.__dict__.pop("fingerprint", None)

    def identity(self, instance: Instance) -> Mapping[str, Any]:
        shown = video_identity(instance, self._videos) if self._videos is not None else {}
        return {"adapter": self.engine, "model": self.fingerprint, **question(instance, self.settings.seed), **shown}

    def describe(self) -> Mapping[str, Any]:
        return {
            "adapter": self.engine,
            "pretrained": self.arguments.pretrained,
            "revision": self.arguments.revision,
            "model_type": self.checkpoint.model_type,
            "fingerprint": self.fingerprint,
            **{name: value for name, value in self._constants.items() if name not in ("adapter", "files")},
        }

    def machine(self) -> Mapping[str, Any]:
        parameters = None if quantisation(self.checkpoint.config) else parameter_count(self.checkpoint.weights())
        return {"device": self._device, "parameters": parameters}

    @property
    def _device(self) -> str:
        from .weights import named_device

        return named_device(self._device_and_dtype[0])

    def preview(self, instance: Instance) -> Preview:
        prompt = self.writer.write(instance)
        text = self.writer.tokenizer.decode(prompt.ids, skip_special_tokens=False)
        return Preview(str(text), tokens=len(prompt.ids), image_tokens=prompt.image_tokens)

    def stop_soon(self) -> None:
        if self._asking is not None:
            self._asking.stop_soon()

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
