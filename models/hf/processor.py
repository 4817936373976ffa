"""Tokenizer and processor of a checkpoint, and special tokens in data kept as text.

Many processors of transformers have a video part that needs torchvision and files of its own, and loading fails without them.
Videos come as single frames here, so if the automatic loader fails, the same class is loaded without its video part.

`DataText` keeps special tokens out of the data of a chat: `<|im_end|>` in a question ends no turn, and `<image>` there is not a
picture. It works in three steps:

    hide    before the chat template: puts marks in place of the special tokens in a message's text
    divide  after the template: puts one placeholder token in place of each stretch of text with marks
    spread  after the tokenizer: puts the ids of the stretches in place of the placeholders

A stretch reaches from one special token of the template to the next, where every tokenizer divides a text anyway. A copy of the
tokenizer without special tokens tokenises it as a whole, so that it gets the ids of a text that only looks special. Everything
else is tokenised as before: a prompt without special tokens in its data keeps its ids.
"""

from __future__ import annotations

import contextlib
import inspect
import json
import re
import secrets
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from mm_eval.errors import ConfigError, ModelError

from .arguments import WHERE, Arguments

MARK = "\U0010fffd"
"""Begins a mark. The next character is the number of the special token. This character in data is replaced by a mark too."""
FIRST = 0x100000
_MARKED = re.compile(f"{MARK}(.)", re.DOTALL)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Runs transformers without progress bars and warnings, then restores its settings."""
    from transformers.utils import logging

    level, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.set_verbosity(level)
        if bars:
            logging.enable_progress_bar()


def is_image_text(model_type: str) -> bool:
    """Whether transformers lists this model type as image-text-to-text."""
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES

    return model_type in MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES


def load_config(folder: Path, arguments: Arguments) -> Any:
    """The checkpoint's config object. Raises ConfigError if transformers does not know its model type."""
    from transformers import AutoConfig

    with naming(arguments.pretrained, "config"), quiet():
        return AutoConfig.from_pretrained(folder, trust_remote_code=arguments.trust_remote_code, local_files_only=True)


def load_tokenizer(folder: Path, arguments: Arguments) -> Any:
    """The tokenizer alone, for models of text."""
    from transformers import AutoTokenizer

    with naming(arguments.pretrained, "tokenizer"), quiet():
        return AutoTokenizer.from_pretrained(
            folder, trust_remote_code=arguments.trust_remote_code, local_files_only=True
        )


def load_processor(folder: Path, arguments: Arguments) -> Any:
    """The processor of an image-text model with the requested pixel limits."""
    from transformers import AutoImageProcessor, AutoProcessor

    options = {"trust_remote_code": arguments.trust_remote_code, "local_files_only": True}
    with naming(arguments.pretrained, "processor"), quiet():
        try:
            processor = AutoProcessor.from_pretrained(folder, **options)
        except (ImportError, ValueError, OSError):
            whole = _processor_class(folder, arguments)
            if not any("video" in name for name in whole.get_attributes()):
                raise
            processor = _without_video(whole).from_pretrained(folder, **options)
        limits = {"min_pixels": arguments.min_pixels, "max_pixels": arguments.max_pixels}
        limits = {name: value for name, value in limits.items() if value is not None}
        if limits:
            settable = getattr(getattr(processor.image_processor, "valid_kwargs", None), "__annotations__", {})
            missing = sorted(set(limits) - set(settable))
            if missing:
                raise ConfigError(
                    f"{missing[0]}={limits[missing[0]]} has no meaning for {arguments.pretrained!r}:"
                    f" its {type(processor.image_processor).__name__} has no pixel limits.",
                    where=WHERE,
                    hint="Leave it out.",
                )
            processor.image_processor = AutoImageProcessor.from_pretrained(folder, **options, **limits)
    return processor


def _processor_class(folder: Path, arguments: Arguments) -> Any:
    """The processor class named in the files, else the one of the model type."""
    import transformers
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING_NAMES

    for name in ("processor_config.json", "preprocessor_config.json", "tokenizer_config.json"):
        if (folder / name).is_file():
            named = json.loads((folder / name).read_text(encoding="utf-8")).get("processor_class")
            if named and hasattr(transformers, named):
                return getattr(transformers, named)
    return getattr(transformers, PROCESSOR_MAPPING_NAMES[load_config(folder, arguments).model_type])


def _without_video(processor_class: Any) -> Any:
    """The same processor class without its video part."""

    def get_attributes(cls: Any) -> list[str]:
        return [name for name in processor_class.get_attributes() if "video" not in name]

    def from_args_and_dict(cls: Any, args: Any, *rest: Any, **options: Any) -> Any:
        parts = dict(
            zip(cls.get_attributes(), args, strict=True)
        )  # by name: llava_next_video takes its video part first
        return processor_class.from_args_and_dict.__func__(cls, [], *rest, **parts, **options)

    methods: dict[str, Any] = {
        "get_attributes": classmethod(get_attributes),
        "from_args_and_dict": classmethod(from_args_and_dict),
    }
    part = inspect.signature(processor_class.__init__).parameters.get("video_processor")
    if part is not None and part.default is part.empty:  # smolvlm can't be made without naming one

        def initialise(
            self: Any, image_processor: Any, tokenizer: Any, image_seq_len: int = 169, **options: Any
        ) -> None:
            processor_class.__init__(self, image_processor, tokenizer, None, image_seq_len, **options)
            type(self).video_processor = SimpleNamespace(num_frames=0, fps=0, video_sampling={})  # read, but never used

        methods["__init__"] = initialise
    return type(processor_class.__name__, (processor_class, _given_parts()), methods)


def _given_parts() -> Any:
    """transformers' base of processors, which reads its parts by their order, without those that are None."""
    from transformers import ProcessorMixin

    def initialise(self: Any, *parts: Any, **options: Any) -> None:
        ProcessorMixin.__init__(self, *(part for part in parts if part is not None), **options)

    return type("GivenParts", (ProcessorMixin,), {"__init__": initialise})


@contextlib.contextmanager
def naming(pretrained: str, part: str) -> Iterator[None]:
    """Converts any exception from loading a part of a checkpoint into a ConfigError that names both.

    transformers, tokenizers, safetensors and torch raise many kinds of exceptions for damaged or missing files.
    """
    try:
        yield
    except ConfigError:
        raise
    except Exception as error:  # third-party code on a user's files
        first = str(error).strip().split("\n")[0][:300].rstrip(".")
        own_code = "trust_remote_code" in str(error)
        raise ConfigError(
            f"The {part} of {pretrained!r} can't be loaded ({type(error).__name__}: {first}).",
            where=WHERE,
            hint="It comes with its own code: read it, then add trust_remote_code=true."
            if own_code
            else "A file may be damaged or missing: fetch the checkpoint again.",
        ) from error


@dataclass(frozen=True)
class Stretch:
    """A stretch of text with special tokens from data. first: the prompt begins with it."""

    text: str
    first: bool


class DataText:
    """Keeps the special tokens of a tokenizer and its processor out of the data of chat messages.

    Create it before threads write prompts: it adds a token to the tokenizer.
    template: its Jinja source. Added tokens that are not declared special count as special if the template writes them.
    """

    def __init__(self, tokenizer: Any, processor: Any, template: str) -> None:
        self.tokenizer = tokenizer
        added = getattr(tokenizer, "added_tokens_decoder", {}).values()
        own = {
            token.content
            for token in added
            if token.special or (_is_markup(token.content) and token.content in template)
        }
        written = {v for k, v in vars(processor).items() if k.endswith("_token")} if processor is not None else set()
        found = {str(token) for token in own | set(tokenizer.all_special_tokens) | written if isinstance(token, str)}
        special = sorted((token for token in found if token.strip() and len(token) > 1), key=lambda t: (-len(t), t))
        self.special = [MARK, *special]
        self._marks = {token: MARK + chr(FIRST + place) for place, token in enumerate(self.special)}
        self._in_data = re.compile("|".join(map(re.escape, self.special)))
        self._in_template = re.compile(f"({'|'.join(map(re.escape, special))})") if special else None
        self._flags = {token.content: (token.lstrip, token.rstrip) for token in added}
        self._placeholder = f"{MARK}{secrets.token_hex(8)}"
        self._placeholder_id = self._added(self._placeholder)

    def _added(self, token: str) -> int | None:
        """Adds a token to the tokenizer that is in no data. Returns its id; None if the tokenizer allows none.

        It is special, so that a model with more rows than its tokenizer has tokens does not write it into an answer.
        """
        from transformers import AddedToken

        try:
            self.tokenizer.add_tokens([AddedToken(token, normalized=False, special=True)])
        except (NotImplementedError, AttributeError, ValueError, TypeError):
            return None
        return int(self.tokenizer.convert_tokens_to_ids(token))

    def hide(self, text: str) -> str:
        """A text from data with a mark in place of each special token."""
        return self._in_data.sub(lambda found: self._marks[found.group()], text)

    def divide(self, text: str) -> tuple[str, list[Stretch]]:
        """A rendered prompt with a placeholder for each stretch that has marks, and the stretches in their original text."""
        if MARK not in text:
            return text, []
        pieces = self._in_template.split(text) if self._in_template else [text]
        stretches = []
        for place in range(0, len(pieces), 2):
            if MARK in pieces[place]:
                shown = _MARKED.sub(lambda found: self.special[ord(found[1]) - FIRST], pieces[place])
                if place > 0 and self._flags.get(pieces[place - 1], (False, False))[1]:
                    shown = shown.lstrip()
                if place + 1 < len(pieces) and self._flags.get(pieces[place + 1], (False, False))[0]:
                    shown = shown.rstrip()
                stretches.append(Stretch(shown, first=not any(pieces[:place])))
                pieces[place] = self._placeholder
        return "".join(pieces), stretches

    def spread(self, ids: Sequence[int], stretches: Sequence[Stretch]) -> tuple[list[int], list[int]]:
        """The ids with those of the stretches in place of the placeholders, and for each its place in the given ids."""
        if sum(token == self._placeholder_id for token in ids) != len(stretches):
            raise ModelError(
                "The question has special tokens, and this tokenizer can't read them as text.",
                hint="Remove them from the data.",
            )
        found, places = list[int](), list[int]()
        left: Iterator[Stretch] = iter(stretches)
        for place, token in enumerate(ids):
            some = self._ids(next(left)) if token == self._placeholder_id and stretches else [token]
            found += some
            places += [place] * len(some)
        return found, places

    def _ids(self, stretch: Stretch) -> list[int]:
        """The ids of a stretch, in which no token is special."""
        if self._plain is None:
            text = self.tokenizer(stretch.text, add_special_tokens=False, split_special_tokens=True)
            return [int(token) for token in text["input_ids"]]
        if stretch.first:
            return list(self._plain.encode(stretch.text, add_special_tokens=False).ids)
        # Some tokenizers treat a text after a special token differently from one at the beginning of a prompt.
        return list(self._plain.encode(self._placeholder + stretch.text, add_special_tokens=False).ids[1:])

    @cached_property
    def _plain(self) -> Any:
        """A copy of the tokenizer that reads special tokens as text; None for a tokenizer in pure Python."""
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        if backend is None:
            return None
        from tokenizers import Tokenizer

        stored = json.loads(backend.to_str())
        for token in stored["added_tokens"]:
            token["special"] = token["content"] != self._placeholder and (
                token["special"] or token["content"] in self._marks
            )
        copy = Tokenizer.from_str(json.dumps({**stored, "truncation": None, "padding": None}))
        copy.encode_special_tokens = True
        return copy


def _is_markup(token: str) -> bool:
    """Whether a token looks like markup of a template, not like text ("\\n\\n")."""
    return len(token) > 2 and token[0] in "<[" and token[-1] in ">]"
