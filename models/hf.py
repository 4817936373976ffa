"""The transformers adapter: one class for image-text and text models, families as data (hf_families.py).

    hf_arguments    --model_args, checked
    hf_checkpoint   where the files are, and their digests
    hf_processor    tokenizer and processor
    hf_prompt       instance -> token ids and pictures
    hf_runtime      weights, batches, running out of memory
    hf_ahead        prompts written by threads while the model computes
    hf_features     what the vision tower makes of a picture, once a picture
    hf_prefix       prompts -> caches
    hf_sharing      which prompts share what they begin with
    hf_generate     batches -> text (hf_decode: the greedy loop)
    hf_score        prompts and continuations -> log-likelihoods
    hf_check        which short cuts an unknown model type may take

Nothing here imports torch or transformers until a prompt or an answer is asked for.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, ClassVar

from mm_eval.engine.model import (
    Answers,
    GenerationOptions,
    Model,
    ModelSettings,
    Preview,
    question,
    register_model,
    request_key,
)
from mm_eval.errors import ConfigError, DataError, MMEvalError, ModelError
from mm_eval.types import Instance, Response

from .hf_ahead import written_ahead
from .hf_arguments import WHERE, Arguments
from .hf_checkpoint import Checkpoint
from .hf_families import FAMILIES, UNKNOWN, Family, family_of
from .hf_prompt import Prompt, PromptWriter

if TYPE_CHECKING:
    from .hf_generate import Question
    from .hf_runtime import Runtime
    from .hf_score import Continuation

logger = logging.getLogger(__name__)
ADAPTER_VERSION = 1
"""Goes up when a change here changes answers, so that earlier ones are not taken for them."""


@register_model("hf")
class HuggingFace(Model):
    """Any image-text or text checkpoint of transformers: pretrained=FOLDER_OR_HUB_ID.

    bundled_stand_in: the bundled model that `show` uses where no `pretrained` is given.
    own_key: the prompt key that this name of the adapter fixes, whatever the checkpoint.
    """

    bundled_stand_in: ClassVar[str | None] = "tiny-llava"
    own_key: ClassVar[str | None] = None

    def __init__(self, args: Mapping[str, Any], settings: ModelSettings) -> None:
        super().__init__(args, settings)
        self.arguments = self._read_arguments()
        self.template = self.arguments.template_text()
        self.checkpoint = Checkpoint(self.arguments.pretrained, self.arguments.revision, offline=settings.offline)
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
        self._runtime: Runtime | None = None
        self._alone: tuple[int, Runtime] | None = None
        self._warned = False

    def _read_arguments(self) -> Arguments:
        arguments = Arguments.read(self.args)
        if not arguments.pretrained:
            raise ConfigError(
                "This model needs a checkpoint.",
                where=WHERE,
                hint="Write --model_args pretrained=FOLDER_OR_HUB_ID, or --model tiny-llava for the bundled one.",
            )
        return arguments

    @cached_property
    def writer(self) -> PromptWriter:
        """What writes prompts; loads the tokenizer or the processor."""
        from .hf_processor import load_processor, load_tokenizer

        folder, processor = self.checkpoint.folder, None
        if self._image_text:
            processor = load_processor(folder, self.arguments)
        tokenizer = processor.tokenizer if processor is not None else load_tokenizer(folder, self.arguments)
        named = self.settings.chat_template if isinstance(self.settings.chat_template, str) else None
        family = family_of(self.checkpoint.model_type, self._image_text)
        config = self.checkpoint.config
        image_token_id = config.get("image_token_id", config.get("image_token_index"))
        return PromptWriter(
            self.arguments.pretrained,
            family,
            tokenizer,
            processor,
            self.arguments,
            template=self.template or named,
            image_token_id=image_token_id,
        )

    @cached_property
    def _image_text(self) -> bool:
        from .hf_processor import is_image_text

        auto_map = self.checkpoint.config.get("auto_map", {})
        return is_image_text(self.checkpoint.model_type) or "AutoModelForImageTextToText" in auto_map

    @cached_property
    def _device_and_dtype(self) -> tuple[str, str]:
        from .hf_processor import load_config
        from .hf_runtime import choose_device, choose_dtype

        device = choose_device(self.arguments, self.settings.device)
        return device, choose_dtype(self.arguments, device, load_config(self.checkpoint.folder, self.arguments))

    @property
    def runtime(self) -> Runtime:
        """The loaded model."""
        if self._runtime is None:
            self.prepare()
        assert self._runtime is not None
        return self._runtime

    def prepare(self) -> None:
        """Loads the weights; ConfigError where they are missing or do not fit the config."""
        from .hf_check import most_shared
        from .hf_runtime import Runtime, load_model

        if self._runtime is not None:
            return
        self.checkpoint.weights()
        device, dtype = self._device_and_dtype
        model = load_model(self.checkpoint.folder, self.arguments, self._image_text, device, dtype)
        if getattr(model.config, "is_encoder_decoder", False):
            raise ConfigError(
                f"{self.arguments.pretrained!r} ({self.checkpoint.model_type}) is an encoder-decoder.",
                where=WHERE,
                hint="This adapter asks models that read prompt and answer as one sequence.",
            )
        family, tokenizer = self.writer.family, self.writer.tokenizer
        if family is UNKNOWN:
            family = self._self_checked(model)
        self._runtime = Runtime(model, family, tokenizer, self.settings.batch_size)
        if shared := most_shared(model.config, self._max_length):
            plainest = replace(family, batched=False, prefix_cache=False)
            self._alone = shared, Runtime(model, plainest, tokenizer, 1)
            logger.info("Sequences of more than %d tokens run alone: their rotary positions are scaled.", shared)
        logger.info("%s: %s on %s.", self.arguments.pretrained, dtype, device)

    def _runs(self, tokens: int) -> Runtime:
        """What runs a sequence of so many tokens."""
        return self._alone[1] if self._alone and tokens > self._alone[0] else self.runtime

    def _self_checked(self, model: Any) -> Family:
        """The short cuts that a type outside the table may take; said in one line of the log."""
        from .hf_check import quickest

        family, reason = quickest(model, self.writer, self.chat)
        kind = self.checkpoint.model_type
        if family is UNKNOWN:
            logger.warning("Model type %r runs one prompt at a time, without short cuts: %s.", kind, reason)
        else:
            logger.info("Model type %r is not in the table; its batches and caches agree with whole forwards.", kind)
        return family

    def check_generation(self, kwargs: Mapping[str, Any]) -> None:
        from .hf_generate import check_options

        check_options(GenerationOptions.from_kwargs(kwargs))

    @cached_property
    def _constants(self) -> dict[str, Any]:
        """All that decides an answer and is the same for every question. The device and the batch are not in it."""
        chosen = self.arguments
        template = self.template or self.settings.chat_template
        return {
            "adapter": "hf",
            "adapter_version": ADAPTER_VERSION,
            "files": self.checkpoint.digests(),
            "dtype": self._device_and_dtype[1],
            "attn_implementation": chosen.attn_implementation,
            "pixels": [chosen.min_pixels, chosen.max_pixels],
            "chat_template": template if isinstance(template, str) else None,
            "max_length": chosen.max_length,
            "add_bos_token": chosen.add_bos_token,
            "torchvision": bool(self._image_text and importlib.util.find_spec("torchvision")),
        }

    @cached_property
    def fingerprint(self) -> str:
        """sha256 of all that decides this model's answers apart from the question."""
        return hashlib.sha256(json.dumps(self._constants, sort_keys=True).encode()).hexdigest()

    def identity(self, instance: Instance) -> Mapping[str, Any]:
        return {"adapter": "hf", "model": self.fingerprint, **question(instance, self.settings.seed)}

    def describe(self) -> Mapping[str, Any]:
        return {
            "adapter": "hf",
            "pretrained": self.arguments.pretrained,
            "revision": self.arguments.revision,
            "model_type": self.checkpoint.model_type,
            "fingerprint": self.fingerprint,
            **{name: value for name, value in self._constants.items() if name not in ("adapter", "files")},
        }

    def preview(self, instance: Instance) -> Preview:
        prompt = self.writer.write(instance)
        text = self.writer.tokenizer.decode(prompt.ids, skip_special_tokens=False)
        return Preview(str(text), tokens=len(prompt.ids), image_tokens=prompt.image_tokens)

    def generate(self, instances: Iterable[Instance]) -> Answers:
        from .hf_generate import check_options

        pending: dict[str, tuple[GenerationOptions, list[Question]]] = {}
        for instance, written in written_ahead(instances, self.writer.write, _has_pictures):
            key = json.dumps(instance.generation_kwargs, sort_keys=True, default=repr)
            if key not in pending:
                pending[key] = check_options(GenerationOptions.from_kwargs(instance.generation_kwargs)), []
            options, questions = pending[key]
            try:
                if isinstance(written, MMEvalError):
                    raise written
                asked = self._question(instance, written, options)
            except (DataError, ModelError) as error:
                yield instance, _located(error, instance)
                continue
            runs = self._runs(len(asked.prompt.ids) + asked.cap)
            if runs is not self.runtime:
                yield from self._generated(runs, [asked], options)
                continue
            longest = max(len(each.prompt.ids) + each.cap for each in [*questions, asked])
            if questions and self.runtime.is_full(len(questions), longest):
                yield from self._generated(self.runtime, questions, options)
                questions.clear()
                longest = len(asked.prompt.ids) + asked.cap
            questions.append(asked)
            if options.do_sample or self.runtime.is_full(len(questions), longest):
                yield from self._generated(self.runtime, questions, options)
                questions.clear()
        for options, questions in pending.values():
            if questions:
                yield from self._generated(self.runtime, questions, options)

    def loglikelihood(self, instances: Iterable[Instance]) -> Answers:
        rows: list[Continuation] = []
        groups = written_ahead(
            _sharing_a_prompt(instances),
            lambda group: self.writer.write(group[0]),
            lambda group: _has_pictures(group[0]),
        )
        for group, written in groups:
            for instance, made in self._continuations(group, written):
                if isinstance(made, MMEvalError):
                    yield instance, made
                elif not made.ids:
                    yield instance, Response((0.0, True))
                elif (runs := self._runs(len(made.prompt.ids) + len(made.ids) - 1)) is not self.runtime:
                    yield from self._scored(runs, [made])
                else:
                    if rows and made.prompt is not rows[-1].prompt and self._is_full(rows, made):
                        yield from self._scored(self.runtime, rows)
                        rows = []
                    rows.append(made)
            if rows and self._is_full(rows, rows[-1]):
                yield from self._scored(self.runtime, rows)
                rows = []
        if rows:
            yield from self._scored(self.runtime, rows)

    def loglikelihood_rolling(self, instances: Iterable[Instance]) -> Answers:
        from .hf_score import Continuation, score, windows

        for instance in instances:
            if instance.images is not None:
                yield instance, _located(ModelError("Rolling log-likelihoods are of text alone."), instance)
                continue
            ids = self.writer.encode_text(instance.continuation or "")
            pieces = windows(ids, self.writer.start_token, self._max_length)
            rows = [Continuation(instance, Prompt(context), scored) for context, scored in pieces]
            total, greedy, failure = 0.0, True, None
            runs = self._runs(max((len(context) + len(scored) - 1 for context, scored in pieces), default=0))
            for some in _batches(rows, runs):
                for _, answer in runs.answered(some, partial(score, runs)):
                    if isinstance(answer, MMEvalError):
                        failure = answer
                    else:
                        total, greedy = total + answer[0], greedy and answer[1]
            usage = {"prompt_tokens": len(ids)}
            yield instance, _located(failure, instance) if failure else Response((total, greedy), usage=usage)

    @property
    def _max_length(self) -> int:
        return self.arguments.max_length or self.runtime.max_length

    def _question(self, instance: Instance, prompt: Prompt, options: GenerationOptions) -> Question:
        from .hf_generate import Question, fitted

        whole = len(prompt.ids)
        if not whole:
            prompt = Prompt([self.writer.start_token])
        prompt, cap = fitted(prompt, options.max_new_tokens, self._max_length)
        self._warn_of_a_cut(whole, len(prompt.ids), instance)
        seed = int(request_key(self, instance)[:15], 16) if options.do_sample else 0
        return Question(instance, prompt, cap, seed)

    def _is_full(self, rows: list[Continuation], following: Continuation) -> bool:
        """Whether the prompts of some rows are a batch already, or would be too much with the following one beside them."""
        longest = max(len(row.prompt.ids) + len(row.ids) for row in [*rows, following])
        return self.runtime.is_full(len({id(row.prompt) for row in rows}), longest)

    def _generated(self, runtime: Runtime, questions: list[Question], options: GenerationOptions) -> Answers:
        from .hf_generate import generate

        run = partial(generate, runtime, options=options)
        for asked, answer in runtime.answered(list(questions), run):
            yield asked.instance, _located(answer, asked.instance)

    def _continuations(
        self, group: list[Instance], written: Prompt | MMEvalError
    ) -> Iterator[tuple[Instance, Continuation | MMEvalError]]:
        """One row an instance of a group with one context; equal prompts are one object, so that they run once."""
        from .hf_score import Continuation, boundary

        if isinstance(written, MMEvalError):
            yield from ((instance, _located(written, instance)) for instance in group)
            return
        shared: dict[tuple[int, ...], Prompt] = {}
        for instance in group:
            try:
                prompt, ids = self.writer.split(written, instance.continuation or "")
                kept = boundary(prompt, ids, self.writer.start_token, self._max_length)
            except (DataError, ModelError) as error:
                yield instance, _located(error, instance)
                continue
            self._warn_of_a_cut(len(prompt.ids), len(kept.ids), instance)
            yield instance, Continuation(instance, shared.setdefault(tuple(kept.ids), kept), ids)

    def _scored(self, runtime: Runtime, rows: list[Continuation]) -> Answers:
        from .hf_score import score

        for row, answer in runtime.answered(rows, partial(score, runtime)):
            if isinstance(answer, MMEvalError):
                yield row.instance, _located(answer, row.instance)
            else:
                tokens = {"prompt_tokens": len(row.prompt.ids), "completion_tokens": len(row.ids)}
                usage = {**tokens, "image_tokens": row.prompt.image_tokens}
                yield row.instance, Response(answer, usage=usage)

    def _warn_of_a_cut(self, whole: int, kept: int, instance: Instance) -> None:
        if kept < whole and not self._warned:
            self._warned = True
            logger.warning(
                "The prompt of %s, doc %s has %d tokens; its last %d are used. Later cuts are not logged.",
                *(instance.task, instance.doc_id, whole, kept),
            )


@register_model("llava")
class Llava(HuggingFace):
    """LLaVA checkpoints (llava, llava_next, llava_onevision) under the prompt key `llava`."""

    own_key = "llava"


@register_model("qwen_vl")
class QwenVL(HuggingFace):
    """Qwen-VL checkpoints (qwen2_vl, qwen2_5_vl, qwen3_vl) under the prompt key `qwen_vl`."""

    bundled_stand_in: ClassVar[str | None] = "tiny-qwen2-vl"
    own_key = "qwen_vl"


def _has_pictures(instance: Instance) -> bool:
    return instance.images is not None


def _sharing_a_prompt(instances: Iterable[Instance]) -> Iterator[list[Instance]]:
    """Consecutive instances with equal context and pictures, together."""
    group: list[Instance] = []
    for instance in instances:
        if group and not _same_prompt(group[0], instance):
            yield group
            group = []
        group.append(instance)
    if group:
        yield group


def _same_prompt(one: Instance, other: Instance) -> bool:
    if one.context != other.context or one.image_digests != other.image_digests:
        return False
    return bool(one.image_digests) or one.images is other.images


def _batches(rows: list[Continuation], runtime: Runtime) -> Iterator[list[Continuation]]:
    """Rows in batches as large as the runtime takes."""
    batch: list[Continuation] = []
    for row in rows:
        batch.append(row)
        if runtime.is_full(len(batch), max(len(one.prompt.ids) + len(one.ids) for one in batch)):
            yield batch
            batch = []
    if batch:
        yield batch


def _located(answer: Any, instance: Instance) -> Any:
    """An error with the question it belongs to; anything else as it is."""
    return answer.located(f"{instance.task}, doc {instance.doc_id}") if isinstance(answer, MMEvalError) else answer
