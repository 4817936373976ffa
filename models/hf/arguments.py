"""`--model_args` of the transformers adapter, read and checked before anything heavy is imported."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from mm_eval.config.arguments import COUNT_FROM_1, JSON_OBJECT, PATH, TEXT, Rule, is_count, is_text, read_arguments
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Options

WHERE = "--model_args"
DTYPES = ("auto", "float32", "bfloat16", "float16")
_SHORT_DTYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16", "half": "float16", "float": "float32"}


def looks_like_a_path(pretrained: str) -> bool:
    """Whether a text can't be a hub id (`name` or `owner/name`), and must therefore name a folder."""
    return pretrained.startswith((".", "/", "~")) or pretrained.count("/") > 1 or "\\" in pretrained


def _read_flag(text: str) -> object:
    return {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}.get(text.lower(), text)


def _read_token(text: str) -> str | int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else text


def _read_dtype(text: str) -> str:
    name = text.removeprefix("torch.").lower()
    return _SHORT_DTYPES.get(name, name)


FLAG = Rule("true or false", lambda value: isinstance(value, bool), _read_flag)


@dataclass(frozen=True)
class PromptArguments:
    """The `--model_args` that decide the prompts of a checkpoint, and its weights: of every engine that runs it.

    pretrained: a folder with a checkpoint, or a hub id.
    revision: of the hub id; a branch, tag or commit.
    tokenizer: a folder or hub id with another tokenizer than the checkpoint's, for models of text.
    dtype: of the weights. None: the checkpoint's own on an accelerator and for quantised weights; else float32 on a
        CPU, where half precision is slower and where answers at any batch size must agree within 1e-4.
    trust_remote_code: runs Python code that comes with the checkpoint.
    min_pixels, max_pixels: limits on a picture's size after resizing, for families that have them (qwen).
    video: "video" (the family's own video input) or "pictures" (the frames as pictures); None: the former, if there is one.
    video_pair: "keep" or "drop" the vision tokens that the template of Qwen3-VL writes around a video; "auto" is "drop".
    use_audio_in_video: True: the sound of each video is part of its question, and stands between its frames, as the family's
        processor puts it. None: it stands there where a task gives it. False: it stands behind its video.
    chat_template: a file with a Jinja template that replaces the checkpoint's.
    chat_template_kwargs: values that the template reads, such as {"enable_thinking": false}.
    max_length: tokens of prompt and answer together; None for the checkpoint's own limit.
    add_bos_token: True or False overrules the tokenizer.
    think_end_token: the text or the id of the token that ends the model's reasoning, where its own files do not say it.
    """

    pretrained: str = ""
    revision: str | None = None
    tokenizer: str | None = None
    dtype: str | None = None
    trust_remote_code: bool = False
    min_pixels: int | None = None
    max_pixels: int | None = None
    video: str | None = None
    video_pair: str | None = None
    use_audio_in_video: bool | None = None
    chat_template: str | None = None
    chat_template_kwargs: Options | None = None
    max_length: int | None = None
    add_bos_token: bool | None = None
    think_end_token: str | int | None = None

    @classmethod
    def rules(cls) -> dict[str, Rule]:
        """What each argument may be."""
        return dict(RULES)

    @property
    def video_pixels(self) -> tuple[int | None, int | None]:
        """The lower and the upper limit for a video's frames."""
        return None, None

    @classmethod
    def read(cls, args: Mapping[str, Any]) -> Self:
        """The arguments as typed values. ConfigError names every unknown or invalid one."""
        given = {name: None if str(value).lower() == "none" else value for name, value in args.items()}
        if "torch_dtype" in given and "dtype" not in given:
            given["dtype"] = given.pop("torch_dtype")
        chosen = cls(**read_arguments(given, cls.rules(), WHERE, "model argument"))
        for (low, high), of in (((chosen.min_pixels, chosen.max_pixels), ""), (chosen.video_pixels, "video_")):
            if low and high and low > high:
                what = f"{of}min_pixels={low} is above {of}max_pixels={high}."
                raise ConfigError(what, where=WHERE, hint="Swap them?")
        return chosen

    def template_text(self) -> str | None:
        """The Jinja source of the `chat_template` file, or None."""
        if self.chat_template is None:
            return None
        hint = "Give the path of a file with a Jinja template."
        try:
            text = Path(self.chat_template).expanduser().read_text(encoding="utf-8")
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or "it is not UTF-8 text"
            raise ConfigError(
                f"chat_template={self.chat_template!r} can't be read: {reason}.", where=WHERE, hint=hint
            ) from error
        if not text.strip():
            raise ConfigError(f"chat_template={self.chat_template!r} is an empty file.", where=WHERE, hint=hint)
        return text


@dataclass(frozen=True)
class Arguments(PromptArguments):
    """The `--model_args` of a transformers model.

    device: "cpu", "cuda:1"; `--device` is the same.
    device_map: "auto" spreads the weights over several devices (accelerate).
    attn_implementation: "eager", "sdpa", "flash_attention_2"; None for transformers' choice.
    video_min_pixels, video_max_pixels: limits for a video's frames, for families that have them: of each frame (qwen2_vl,
        qwen2_5_vl) or of all frames together (qwen3_vl, video_llama_3).
    peft: a folder with an adapter of PEFT (LoRA), which runs in the model unmerged.
    """

    device: str | None = None
    device_map: str | None = None
    attn_implementation: str | None = None
    video_min_pixels: int | None = None
    video_max_pixels: int | None = None
    peft: str | None = None

    @classmethod
    def rules(cls) -> dict[str, Rule]:
        of_texts = dict.fromkeys(("device", "device_map", "attn_implementation"), TEXT)
        of_counts = dict.fromkeys(("video_min_pixels", "video_max_pixels"), COUNT_FROM_1)
        return {**RULES, **of_texts, **of_counts, "peft": PATH}

    @property
    def video_pixels(self) -> tuple[int | None, int | None]:
        return self.video_min_pixels, self.video_max_pixels

    @classmethod
    def read(cls, args: Options) -> Self:
        chosen = super().read(args)
        if chosen.device and chosen.device_map:
            raise ConfigError("device and device_map can't be combined.", where=WHERE, hint="Give one of them.")
        return chosen


RULES: dict[str, Rule] = {
    "dtype": Rule(f"a dtype ({', '.join(DTYPES)})", DTYPES.__contains__, _read_dtype),
    **dict.fromkeys(("pretrained", "tokenizer", "chat_template"), PATH),
    "revision": TEXT,
    "chat_template_kwargs": JSON_OBJECT,
    "think_end_token": Rule(
        "a token, as text or as its id", lambda value: is_text(value) or is_count(value), _read_token
    ),
    **dict.fromkeys(("trust_remote_code", "add_bos_token", "use_audio_in_video"), FLAG),
    "video": Rule("video or pictures", ("video", "pictures").__contains__),
    "video_pair": Rule("auto, keep or drop", ("auto", "keep", "drop").__contains__),
    **dict.fromkeys(("min_pixels", "max_pixels", "max_length"), COUNT_FROM_1),
}
"""Of `PromptArguments`."""
