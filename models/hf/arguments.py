"""`--model_args` of the transformers adapter, read and checked before anything heavy is imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from mm_eval.errors import ConfigError, did_you_mean

WHERE = "--model_args"
DTYPES = ("auto", "float32", "bfloat16", "float16")
_SHORT_DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "half": "float16", "float": "float32"}


@dataclass(frozen=True)
class Arguments:
    """What `--model_args` may say about a transformers model.

    pretrained: a folder with a checkpoint, or a hub id.
    revision: of the hub id; a branch, tag or commit.
    dtype: of the weights. None: the checkpoint's own on an accelerator; float32 on a CPU, where half precision is
        slower and where batch = single is to hold within 1e-4.
    device: "cpu", "cuda:1"; `--device` is the same.
    device_map: "auto" spreads the weights over several devices (accelerate).
    attn_implementation: "eager", "sdpa", "flash_attention_2"; None for transformers' choice.
    trust_remote_code: runs Python code that comes with the checkpoint.
    min_pixels, max_pixels: limits on a picture's size after resizing, for families that have them (qwen).
    chat_template: a file with a Jinja template that replaces the checkpoint's.
    max_length: tokens of prompt and answer together; None for the checkpoint's own limit.
    add_bos_token: True or False overrules the tokenizer.
    """

    pretrained: str = ""
    revision: str | None = None
    dtype: str | None = None
    device: str | None = None
    device_map: str | None = None
    attn_implementation: str | None = None
    trust_remote_code: bool = False
    min_pixels: int | None = None
    max_pixels: int | None = None
    chat_template: str | None = None
    max_length: int | None = None
    add_bos_token: bool | None = None

    @classmethod
    def read(cls, args: Mapping[str, Any]) -> Arguments:
        """The arguments as typed values; ConfigError names an unknown or senseless one."""
        given = dict(args)
        if "torch_dtype" in given and "dtype" not in given:
            given["dtype"] = given.pop("torch_dtype")
        known = [field.name for field in fields(cls)]
        for name in given:
            if name not in known:
                raise ConfigError(f"Unknown model argument {name!r}.", where=WHERE, hint=did_you_mean(name, known))
        values: dict[str, Any] = {
            name: _READERS.get(name, _text)(name, value) for name, value in given.items() if value is not None
        }
        chosen = cls(**{name: value for name, value in values.items() if value is not None})
        if chosen.device and chosen.device_map:
            raise ConfigError("device and device_map exclude each other.", where=WHERE, hint="Give one of them.")
        if chosen.min_pixels and chosen.max_pixels and chosen.min_pixels > chosen.max_pixels:
            raise ConfigError(
                f"min_pixels={chosen.min_pixels} is above max_pixels={chosen.max_pixels}.",
                where=WHERE,
                hint="Swap them?",
            )
        return chosen

    def template_text(self) -> str | None:
        """The Jinja source of the `chat_template` file, or None."""
        if self.chat_template is None:
            return None
        hint = "Give the path of a file with a Jinja template."
        try:
            text = Path(self.chat_template).expanduser().read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it is no text in UTF-8"
            raise ConfigError(
                f"chat_template={self.chat_template!r} can't be read: {reason}.", where=WHERE, hint=hint
            ) from error
        if not text.strip():
            raise ConfigError(f"chat_template={self.chat_template!r} is an empty file.", where=WHERE, hint=hint)
        return text


def looks_like_a_path(pretrained: str) -> bool:
    """Whether a text can't be a hub id (`name` or `owner/name`) and so must be meant as a folder."""
    return pretrained.startswith((".", "/", "~")) or pretrained.count("/") > 1 or "\\" in pretrained


def _text(name: str, value: Any) -> str | None:
    return str(value) if str(value).lower() != "none" else None


def _flag(name: str, value: Any) -> bool | None:
    text = str(value).lower()
    if text not in ("true", "false", "1", "0", "yes", "no"):
        raise ConfigError(f"{name}={value!r} is neither true nor false.", where=WHERE, hint=f"Write {name}=true.")
    return text in ("true", "1", "yes")


def _positive(name: str, value: Any) -> int | None:
    try:
        number = int(value)
    except (TypeError, ValueError):
        number = 0
    if number < 1 or isinstance(value, bool):
        raise ConfigError(f"{name}={value!r} is not a positive integer.", where=WHERE, hint=f"Write {name}=4096.")
    return number


def _dtype(name: str, value: Any) -> str | None:
    text = str(value).removeprefix("torch.").lower()
    text = _SHORT_DTYPES.get(text, text)
    if text not in DTYPES:
        raise ConfigError(f"{name}={value!r} is not a dtype.", where=WHERE, hint=did_you_mean(text, DTYPES))
    return text


_READERS = {
    "dtype": _dtype,
    "trust_remote_code": _flag,
    "add_bos_token": _flag,
    "min_pixels": _positive,
    "max_pixels": _positive,
    "max_length": _positive,
}
