"""A request whose model is named as in another suite, with our adapter and its arguments.

    --model qwen2_5_vl --model_args pretrained=Qwen/Qwen2.5-VL-7B-Instruct,use_flash_attention_2=True,max_num_frames=32
    --model hf --model_args pretrained=Qwen/Qwen2.5-VL-7B-Instruct,attn_implementation=flash_attention_2 --video frames=32

What has no effect here is left out with a note, so that the table's reader sees it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any

from mm_eval.aliases.adapters import (
    BEGINNINGS,
    CAPS,
    DROPPED,
    FRAMES,
    FRAMES_A_SECOND,
    GENERATION,
    KEPT,
    NAMED,
    OPENAI,
    OPTIONS,
    PROVIDERS,
    REFUSED,
    RENAMED,
    SHORT_NAMES,
    THINKING,
    Other,
    for_transformers,
)
from mm_eval.config.arguments import json_or_text
from mm_eval.engine.model import MODELS
from mm_eval.request import RunRequest
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import JsonObject

WHERE = "--model_args"
OF_KIND = {"llava": "hf", "qwen_vl": "hf"}
"""Adapters that take the arguments of another one."""
SERVERS = ("openai", "litellm")
NO_KEYS = ("", "EMPTY", "NONE", "TOKEN", "DUMMY", "NULL", "SK-ADMIN", "SK-123456", "NOT-NEEDED", "FAKE", "XXX")
"""Values of api_key= that stand for no key."""
ENDPOINTS = ("/chat/completions", "/completions", "/responses")


def in_our_words(request: RunRequest) -> tuple[RunRequest, list[str]]:
    """The request with our adapter and its arguments, and notes. A request in our words comes back as it is.

    Errors: ConfigError for a model or an argument that has no counterpart here.
    """
    if request.model is None and "pretrained" not in request.model_args:
        return request, []
    asked = _Asked(request, dict(request.model_args))
    other = asked.adapter()
    if other is None:
        return request, []
    asked.name_checkpoint(other)
    kind = OF_KIND.get(asked.model, asked.model)
    if kind in RENAMED:
        asked.take_arguments(kind)
    return asked.request(), list(dict.fromkeys(asked.notes))


def _is_off(value: object) -> bool:
    return value is None or str(value).strip().lower() in ("", "none", "false", "null")


@cache
def vlmevalkit() -> dict[str, Other]:
    """VLMEvalKit's model names."""
    found = {}
    for line in (Path(__file__).parent / "vlmevalkit.tsv").read_text(encoding="utf-8").splitlines():
        name, kind, model = (*line.split("\t"), "", "")[:3]
        adapter, _, provider = kind.partition(":")
        if kind == "server":
            hint = f"start its server and give --model openai --model_args base_url=URL,model={model or 'NAME'}."
            found[name] = Other(refused=f"it is asked through an API of its own; {hint}")
        elif kind == "dashscope":
            found[name] = replace(NAMED["qwen_vl_api"], checkpoint=model)
        else:
            found[name] = Other(adapter, checkpoint=model, provider=provider)
    return found


def _of_provider(name: str) -> Other | None:
    """inspect_ai's PROVIDER/NAME."""
    provider, slash, rest = name.partition("/")
    other = PROVIDERS.get(provider) if slash and rest else None
    return replace(other, checkpoint=rest) if other and other.ours != "dummy" else other


def _of_vendor(name: str) -> Other | None:
    """A vendor's own name of a model where an adapter is named, such as gpt-4o-mini of VLMEvalKit."""
    kind = next((kind for beginning, kind in BEGINNINGS.items() if name.startswith(beginning)), "")
    adapter, _, provider = kind.partition(":")
    return Other(adapter, checkpoint=SHORT_NAMES.get(name, name), provider=provider) if kind else None


@dataclass
class _Asked:
    """A request while it is translated.

    model: our adapter. options: fields of the request that its arguments state. generation: generation options among them.
    provider: of litellm, to stand before the model's name.
    """

    given: RunRequest
    args: JsonObject
    model: str = ""
    notes: list[str] = field(default_factory=list)
    options: JsonObject = field(default_factory=dict)
    generation: dict[str, object] = field(default_factory=dict)
    provider: str = ""

    def adapter(self) -> Other | None:
        """What the name stands for. None for a name that only the registry can tell."""
        name = self.given.model
        if name is None:
            self.model = "hf"
            self.notes.append("no --model was given: pretrained= is a checkpoint for --model hf")
            return Other("hf")
        if (other := NAMED.get(name)) is None and name in MODELS:
            self.model = name
            return Other(name)
        other = other or _of_provider(name) or vlmevalkit().get(name) or _of_vendor(name)
        if other is None:
            return None
        if other.refused:
            raise ConfigError(f"--model {name} is of another suite: {other.refused}")
        self.model = other.ours
        self.options |= {key: value for key, value in other.options.items() if getattr(self.given, key) is None}
        if other.note:
            self.notes.append(f"--model {name}: {other.note}")
        return other

    def name_checkpoint(self, other: Other) -> None:
        """States the model itself where the name of the adapter says it."""
        kind = OF_KIND.get(self.model, self.model)
        renamed = RENAMED.get(kind, {})
        key = "pretrained" if kind in ("hf", "vllm") else "model"
        stated = any(name == key or renamed.get(name) == key for name in self.args)
        if not stated and other.checkpoint:
            self.args[key] = other.checkpoint
            self.notes.append(f"{key}={other.checkpoint}: what --model {self.given.model} stands for")
        for name, value in other.args.items():
            self.args.setdefault(name, value)
        self.provider = other.provider

    def take_arguments(self, kind: str) -> None:
        """Reads each argument."""
        given, self.args = self.args, {}
        for name, value in given.items():
            self._take(kind, RENAMED[kind].get(name, name), name, value)
        if kind == "hf" or kind == "vllm":
            self._frames(given)
            self._same_weights()
        if kind in SERVERS:
            self._of_server(kind)
            self._frames(given)

    def _take(self, kind: str, name: str, typed: str, value: object) -> None:
        """One argument. name: ours where it has another name. typed: as it was given."""
        if name in self._special:
            self._special[name](self, kind, name, value)
        elif name in FRAMES or name in FRAMES_A_SECOND:
            return
        elif name in THINKING:
            if not (value is None or str(value).lower() == "none"):
                self._template("enable_thinking", str(value).lower() in ("true", "1"))
        elif name in GENERATION and kind != "dummy":
            key = {"max_tokens": "max_new_tokens"}.get(name, name)
            if not (value is None or str(value).lower() == "none"):
                self.generation[key] = json_or_text(
                    str(value).lower() if str(value) in ("True", "False") else str(value)
                )
        elif name in CAPS:
            self.notes.append(f"{typed}={value}: a task states its own cap; --gen_kwargs max_new_tokens=N overrides it")
        elif name in REFUSED and not _is_off(value):
            raise ConfigError(f"{typed}={value} is not an argument here: {REFUSED[name]}", where=WHERE)
        elif name in REFUSED:
            return
        elif name in OPTIONS and name not in KEPT.get(kind, ()):
            self._option(OPTIONS[name], typed, value)
        elif name in DROPPED and name not in KEPT.get(kind, ()):
            if not _is_off(value):
                self.notes.append(f"{typed}={value}: {DROPPED[name]}")
        elif name in self.args:
            raise ConfigError(f"{typed} and {name} are one argument here.", where=WHERE, hint="Give one of them.")
        elif name == "base_url" and kind in ("hf", "vllm") and not _is_off(value):
            hint = "A server is asked by --model openai --model_args base_url=URL,model=NAME."
            raise ConfigError(f"{typed}={value}: this model runs here, and not on a server.", where=WHERE, hint=hint)
        else:
            self.args[name] = value

    # Arguments whose value is read

    def _option(self, option: str, typed: str, value: object) -> None:
        """An argument that is an option of the run."""
        default = RunRequest.__dataclass_fields__[option].default
        if _is_off(value) or getattr(self.given, option) != default:
            return
        text = str(value)
        if option == "system_instruction":
            self.options[option] = text
        elif option == "batch_size":
            self.options[option] = int(text) if text.isdigit() and int(text) else "auto"
        elif text.isdigit():
            self.options[option] = int(text)

    def _template(self, key: str, value: object) -> None:
        stated = self.args.get("chat_template_kwargs") or {}
        stated = json_or_text(stated) if isinstance(stated, str) else stated
        self.args["chat_template_kwargs"] = json.dumps({key: value, **stated} if isinstance(stated, Mapping) else {})

    def _template_values(self, kind: str, name: str, value: object) -> None:
        if _is_off(value):
            return
        stated = self.args.get(name)
        if stated is not None and isinstance(own := json_or_text(str(value)), Mapping):
            self.args[name] = json.dumps({**json_or_text(str(stated)), **own})
        else:
            self.args[name] = value

    def _flash(self, kind: str, name: str, value: object) -> None:
        if not _is_off(value) and kind == "hf":
            self.args.setdefault("attn_implementation", "flash_attention_2")
        self._of_the_server(kind, name, value)

    def _parallel(self, kind: str, name: str, value: object) -> None:
        if not _is_off(value):
            self.args.setdefault("device_map", "auto")

    def _chats(self, kind: str, name: str, value: object) -> None:
        if value is not None and self.given.chat_template is None:
            self.options["chat_template"] = not _is_off(value)

    def _device(self, kind: str, name: str, value: object) -> None:
        """`device=cuda` beside `device_map=auto` is common; the latter says where the weights are."""
        if kind == "hf" and not _is_off(value):
            self.args[name] = value
        self._of_the_server(kind, name, value)

    def _device_map(self, kind: str, name: str, value: object) -> None:
        self._of_the_server(kind, name, value)
        if kind != "hf" or _is_off(value):
            return
        if str(value).startswith(("cuda", "cpu", "mps")):
            self.args.setdefault("device", value)
        else:
            self.args[name] = value

    def _no_thinking(self, kind: str, name: str, value: object) -> None:
        if not _is_off(value):
            self._template("enable_thinking", False)

    def _tokenizer(self, kind: str, name: str, value: object) -> None:
        """A server has its own."""
        if kind in ("hf", "vllm") and not _is_off(value) and str(value) != str(self.given.model_args.get("pretrained")):
            self.args[name] = value
        self._of_the_server(kind, name, value)

    def _of_the_server(self, kind: str, name: str, value: object) -> None:
        """Notes an argument that a server was started with, or without."""
        if kind in SERVERS and not _is_off(value):
            self.notes.append(f"{name}={value}: the server uses the value that it was started with")

    def _pixels(self, kind: str, name: str, value: object) -> None:
        """A limit in pixels may be written as a product: 256*28*28."""
        text, product = str(value).replace(" ", ""), 1
        if kind == "dummy" or _is_off(value):
            return
        factors = text.split("*")
        if len(factors) > 1 and all(factor.isdigit() for factor in factors):
            for factor in factors:
                product *= int(factor)
            text = str(product)
        self.args[name] = text

    def _total_pixels(self, kind: str, name: str, value: object) -> None:
        self._pixels(kind, "video_max_pixels" if kind in ("hf", "vllm") else name, value)

    def _of_processor(self, kind: str, name: str, value: Any) -> None:
        """vLLM's arguments of a checkpoint's processor."""
        stated = json_or_text(value) if isinstance(value, str) else value
        if kind == "dummy" or _is_off(value) or stated == {}:
            return
        if kind not in ("hf", "vllm"):
            self.args[name] = value  # sent to the server
            return
        unknown = sorted(stated.keys() - {"min_pixels", "max_pixels"}) if isinstance(stated, Mapping) else [stated]
        if unknown:
            what = f"{name}={value} has {', '.join(map(str, unknown))}; min_pixels and max_pixels can be stated."
            raise ConfigError(what, where=WHERE, hint="The checkpoint's own preprocessor_config.json decides the rest.")
        for key, limit in stated.items():
            self._pixels(kind, key, limit)

    def _key(self, kind: str, name: str, value: object) -> None:
        if str(value).strip().upper() not in NO_KEYS:
            self.args[name] = value  # refused there, and not quoted

    def _azure(self, kind: str, name: str, value: object) -> None:
        if not _is_off(value):
            self.model, self.provider = "litellm", "azure"

    def _whole_video(self, kind: str, name: str, value: object) -> None:
        if not _is_off(value):
            self.args["video"] = "file"

    def _slices(self, kind: str, name: str, value: object) -> None:
        """The engine's GPUs. transformers spreads weights over them."""
        if kind == "vllm":
            self.args["tensor_parallel_size"] = value
        elif str(value).strip() not in ("1", "None", ""):
            self.args.setdefault("device_map", "auto")
            self.notes.append(f"{name}={value}: device_map=auto spreads the weights; --model vllm runs tensor parallel")

    _special = {
        "use_flash_attention_2": _flash, "use_flash_attn": _flash, "attn_backend": _flash, "parallelize": _parallel,
        "device": _device, "device_map": _device_map, "disable_thinking": _no_thinking, "tokenizer": _tokenizer,
        "min_pixels": _pixels, "max_pixels": _pixels, "total_pixels": _total_pixels, "api_key": _key, "azure_openai": _azure,
        "pass_video_url": _whole_video, "tensor_parallel_size": _slices, "tp_size": _slices, "tp": _slices,
        "mm_processor_kwargs": _of_processor, "chat_template_kwargs": _template_values, "use_chat_template": _chats,
    }  # fmt: skip

    # What follows from several arguments

    def _frames(self, given: Mapping[str, object]) -> None:
        """The rule of the frames that are shown, which is the option of the medium's name."""
        most = next((str(given[name]) for name in FRAMES if name in given and not _is_off(given[name])), "")
        rate = next((str(given[name]) for name in FRAMES_A_SECOND if name in given and not _is_off(given[name])), "")
        most = most if most.isdigit() and int(most) else ""
        parts = {"fps": rate, "max": most} if rate else {"frames": most}
        rule = ",".join(f"{name}={value}" for name, value in parts.items() if value)
        if self.given.video is None and rule:
            self.options["video"] = rule

    def _same_weights(self) -> None:
        """The same weights in transformers' format."""
        pretrained = str(self.args.get("pretrained") or "")
        if (own := for_transformers(pretrained)) and not os.path.isdir(pretrained):
            self.args["pretrained"] = own
            self.notes.append(f"pretrained={own}: the same weights as {pretrained}, which transformers does not read")

    def _of_server(self, kind: str) -> None:
        """The address and the model's name of a server."""
        url = str(self.args.get("base_url") or "").strip()
        if not url and self.args.get("base_url") is not None:
            # a variable that is not set: the key of its host is not the vendor's
            hint = "Give the address, or leave base_url out: the vendor is asked then."
            raise ConfigError("base_url is empty.", where=WHERE, hint=hint)
        for end in ENDPOINTS:
            url = url.rstrip("/").removesuffix(end)
        if self.given.model in ("gguf", "ggml") and url and not url.endswith("/v1"):
            url = f"{url}/v1"
        if url:
            self.args["base_url"] = url
        if self.model == "litellm":
            model = str(self.args.get("model") or "")
            if self.provider and model and model.partition("/")[0] != self.provider:
                self.args["model"] = f"{self.provider}/{model}"
            return
        if not url:
            variables = ("OPENAI_BASE_URL", "OPENAI_API_BASE")
            found = next((value for name in variables if (value := os.environ.get(name))), OPENAI)
            for end in ENDPOINTS:
                found = found.rstrip("/").removesuffix(end)
            self.args["base_url"] = found
            self.notes.append(f"no base_url was given: {found} is asked")
        if self.given.model in ("gguf", "ggml"):
            self.args.setdefault("model", "default")

    def request(self) -> RunRequest:
        """The whole request."""
        options = dict(self.options)
        if self.generation:
            options["gen_kwargs"] = {**self.generation, **self.given.gen_kwargs}
            said = ",".join(f"{key}={value}" for key, value in self.generation.items())
            self.notes.append(f"{said} of --model_args applies to every task, like --gen_kwargs")
        return replace(self.given, model=self.model, model_args=self.args, **options)
