"""A checkpoint and what writes prompts for it: all that `hf` and `vllm` share. Needs no weights."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from datetime import date, datetime, time
from functools import cached_property
from typing import TYPE_CHECKING

from mm_eval.engine.model import ModelFacts, ModelSettings, Preview, question
from mm_eval.values.errors import ConfigError
from mm_eval.values.reasoning.families import marks_of
from mm_eval.values.types import Instance, JsonObject, Options

from .arguments import WHERE, PromptArguments
from .beside import leave_out_broken
from .checkpoint import Checkpoint, fits_of
from .families import FAMILIES, NEEDS, SPEECH, TEXT_FAMILIES, Family, family_of
from .prompts.dates import asks_for_the_date, code_of, random_words
from .prompts.prompt import PromptWriter
from .prompts.tools import writes_tools
from .prompts.video_prompt import VideoWriter, video_identity
from .prompts.videos import Videos

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase


class Source:
    """The files, the template and the prompts of a checkpoint.

    engine: what runs it, for its identity. own_key: the prompt key of the adapter's name, whatever the checkpoint.
    own_videos: of a model type, whether the engine shows videos by the family's own input. checkpoint: by default the files that
        the arguments name.
    """

    def __init__(
        self,
        arguments: PromptArguments,
        settings: ModelSettings,
        engine: str,
        own_key: str | None = None,
        own_videos: frozenset[str] | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> None:
        leave_out_broken()
        self.arguments, self.settings, self.engine = arguments, settings, engine
        self._digested: tuple[Mapping[str, object] | None, str] = None, ""
        self.template = arguments.template_text()
        self.checkpoint = checkpoint or Checkpoint(
            arguments.pretrained, arguments.revision, offline=settings.offline, tokenizer=arguments.tokenizer
        )
        self.checkpoint.check_json()
        kind = self.checkpoint.model_type
        if kind in SPEECH:
            what = f"{arguments.pretrained!r} ({kind}) writes down what it hears, and reads no question."
            raise ConfigError(what, where=WHERE, hint="Write --model whisper.")
        if package := NEEDS.get(kind):
            what = f"{arguments.pretrained!r} ({kind}) has a processor that needs {package}, with which mm-eval does not run it."
            raise ConfigError(what, where=WHERE, hint="Serve it, for example with vLLM, and use --model openai.")
        known = FAMILIES.get(kind)
        keys = known.prompt_keys if known else ()
        self.has_template = self.template is not None or self.checkpoint.has_chat_template
        if settings.chat_template and not self.has_template:
            raise ConfigError(
                f"{arguments.pretrained!r} has no chat template.",
                where="--apply_chat_template",
                hint="Leave it out, or give chat_template=FILE in --model_args.",
            )
        needs_chat = known.chats if known else kind not in TEXT_FAMILIES
        if settings.chat_template is None and not self.has_template and needs_chat and self.image_text:
            raise ConfigError(
                f"{arguments.pretrained!r} is {_kind_of(known)} ({kind}) without a chat template.",
                where=WHERE,
                hint="Give chat_template=FILE in --model_args. For a base model, whose prompts are plain text, give "
                "--apply_chat_template false.",
            )
        of_family = known.video if known is not None and (own_videos is None or kind in own_videos) else None
        of_family = of_family if of_family is not None and of_family.is_written else None
        template = (self.template or self.checkpoint.chat_templates) if self.chats else None
        code = code_of(self._chosen_template() or template or "") if self.chats else ""
        if random := random_words(code):
            what = f"The chat template of {arguments.pretrained!r} writes random words ({random})."
            raise ConfigError(
                what, where=WHERE, hint="Give chat_template=FILE with one that writes the same every time."
            )
        self.is_dated = asks_for_the_date(code)
        self.videos = Videos.chosen(of_family, self.checkpoint, arguments, template)
        if self.videos is not None and self._interleaves:
            self.videos = replace(self.videos, with_sound=arguments.use_audio_in_video is not False)
        if arguments.use_audio_in_video and not (self.videos and self.videos.with_sound):
            lacks = f"{kind} has no place for it" if not self._interleaves else "its videos are shown as pictures"
            what = f"use_audio_in_video=true needs a model that takes the sound of a video between its frames: {lacks}."
            raise ConfigError(what, where=WHERE, hint="Leave it out: a sound then stands behind its video.")
        self.facts = ModelFacts(
            name=arguments.pretrained,
            family=kind,
            prompt_keys=keys if own_key is None or own_key in keys else (own_key,),
            chat=self.has_template,
            together=True,
            frames_rule=self.videos.kind.rule if self.videos else "",
            frames_as="video" if self.videos else "pictures",
            endings=("stop", "length"),
            local=True,
            fits=fits_of(self.checkpoint, arguments),
            takes_tools=self._takes_tools(),
            hears=self._hears,
            hears_videos=bool(arguments.use_audio_in_video),
        )

    def _takes_tools(self) -> bool:
        """Whether the chat template writes tools. One that is chosen by its name is not tried."""
        return self.chats and writes_tools(self._chosen_template(), self._shows_pictures)

    def _chosen_template(self) -> str:
        """The source of the template that prompts are written by; empty where it is chosen by its name."""
        if isinstance(self.settings.chat_template, str):
            return ""
        return self.template or self.checkpoint.template_of(self._shows_pictures)

    @property
    def _hears(self) -> bool:
        """Whether the checkpoint takes sound: its family does, and it has the part for it."""
        family = FAMILIES.get(self.checkpoint.model_type)
        if family is None or family.sound is None:
            return False
        return not family.sound.tower or self.checkpoint.config.get(family.sound.tower) is not None

    @property
    def _interleaves(self) -> bool:
        """Whether its processor puts the sound of a video between its frames."""
        family = FAMILIES.get(self.checkpoint.model_type)
        return self._hears and family is not None and family.sound is not None and family.sound.in_video

    @property
    def _shows_pictures(self) -> bool:
        """Whether the config is about pictures: `image_text` would import transformers."""
        return any(word in name for name in self.checkpoint.config for word in ("vision", "image", "visual"))

    @property
    def chats(self) -> bool:
        """Whether prompts are written by the chat template."""
        return self.settings.chat_template is not False and self.has_template

    @cached_property
    def writer(self) -> PromptWriter:
        """Writes prompts. Loads the tokenizer or the processor on first use."""
        from .processor import load_config, load_processor, load_tokenizer

        folder, processor = self.checkpoint.folder, None
        if self.image_text:
            if self.arguments.tokenizer is not None:
                what = (
                    f"tokenizer={self.arguments.tokenizer}: a vision-language model has the tokenizer of its processor."
                )
                raise ConfigError(what, where=WHERE, hint="Leave it out, or put its files beside the weights.")
            processor = load_processor(folder, self.arguments)
        tokens = self.checkpoint.tokens.folder
        tokenizer = processor.tokenizer if processor is not None else load_tokenizer(tokens, self.arguments)
        if tokens != folder:
            self._check_ids(tokenizer)
        family = family_of(self.checkpoint.model_type, self.image_text)
        config = self.checkpoint.config
        image_token_id = config.get("image_token_id", config.get("image_token_index"))
        if image_token_id is None and processor is not None:  # molmo2's files name it otherwise
            image_token_id = getattr(load_config(folder, self.arguments), "image_token_id", None)
        options: JsonObject = {
            "template": self.template,
            "template_name": self.settings.chat_template if isinstance(self.settings.chat_template, str) else None,
            "image_token_id": image_token_id,
            "marks": marks_of(self.settings.reasoning_tags),
        }
        if self.is_dated:
            options["clock"] = self.written_today
        if self.videos is not None:
            options["videos"] = self.videos
        kind = VideoWriter if self.videos is not None else PromptWriter
        writer = kind(self.arguments.pretrained, family, tokenizer, processor, self.arguments, **options)
        if self.chats:
            writer.check_template()
        return writer

    def _check_ids(self, tokenizer: PreTrainedTokenizerBase) -> None:
        """Raises ConfigError where the model has no embedding for a token of the user's tokenizer."""
        rows, last = self.checkpoint.config.get("vocab_size"), max(tokenizer.get_vocab().values(), default=0)
        if isinstance(rows, int) and last >= rows:
            what = (
                f"tokenizer={self.arguments.tokenizer} has ids up to {last}; the model's vocabulary ends at {rows - 1}."
            )
            raise ConfigError(what, where=WHERE, hint="Give the tokenizer with which it was trained.")

    @cached_property
    def image_text(self) -> bool:
        """Whether the checkpoint reads pictures or hears, so that a processor writes its prompts."""
        from .processor import takes_media

        auto_map = self.checkpoint.config.get("auto_map", {})
        return takes_media(self.checkpoint.model_type) or "AutoModelForImageTextToText" in auto_map

    def written_today(self, form: str) -> str:
        """The day of the run's first launch as a chat template asks for it; the time of day is midnight."""
        return datetime.combine(self.settings.today, time()).strftime(form)

    def goes_on(self, constants: Options) -> bool:
        """Takes the day of a run's first launch from its constants. Returns whether it is another one than before."""
        stated = str(constants.get("date") or "")
        if not self.is_dated or stated == self.settings.today.isoformat():
            return False
        try:
            self.settings = replace(self.settings, today=date.fromisoformat(stated))
        except ValueError:  # a stranger's folder may hold anything
            return False
        return True

    def constants(self) -> dict[str, object]:
        """What of the files and the prompts decides an answer and is the same for every question."""
        chosen, stated = (
            self.arguments,
            {
                "chat_template_kwargs": dict(self.arguments.chat_template_kwargs or {}) or None,
                "reasoning_tags": self.settings.reasoning_tags,
                "think_end_token": self.arguments.think_end_token,
                "date": self.settings.today.isoformat() if self.is_dated else None,
            },
        )
        template = self.template or self.settings.chat_template
        return {
            "adapter": self.engine,
            "files": self.checkpoint.digests(),
            "pixels": [chosen.min_pixels, chosen.max_pixels],
            "chat_template": template if isinstance(template, str) else None,
            "max_length": chosen.max_length,
            "add_bos_token": chosen.add_bos_token,
            **{name: value for name, value in stated.items() if value is not None},  # the others keep their fingerprint
        }

    def fingerprint(self, constants: Options) -> str:
        """sha256 of everything that decides a model's answers apart from the question."""
        known, digest = self._digested
        if known is not constants:
            digest = hashlib.sha256(json.dumps(constants, sort_keys=True).encode()).hexdigest()
            self._digested = constants, digest
        return digest

    def describe(self, constants: Options) -> dict[str, object]:
        """The checkpoint for run.json. constants: all of the model's."""
        return {
            "adapter": self.engine,
            "pretrained": self.arguments.pretrained,
            "revision": self.arguments.revision,
            "model_type": self.checkpoint.model_type,
            "fingerprint": self.fingerprint(constants),
            **{name: value for name, value in constants.items() if name not in ("adapter", "files")},
        }

    def identity(self, instance: Instance, fingerprint: str) -> dict[str, object]:
        """Everything that decides the answer to an instance."""
        shown = video_identity(instance, self.videos) if self.videos is not None else {}
        return {"adapter": self.engine, "model": fingerprint, **question(instance, self.settings.seed), **shown}

    def show(self, instance: Instance) -> Preview:
        """The prompt with its tokens."""
        prompt = self.writer.write(instance)
        text = self.writer.tokenizer.decode(prompt.ids, skip_special_tokens=False)
        return Preview(str(text), tokens=len(prompt.ids), image_tokens=prompt.image_tokens)


def _kind_of(family: Family | None) -> str:
    """What sort of model a family is, in words."""
    return "a model that hears" if family is not None and not family.sees else "a vision-language model"
