"""A model of transformers that is in memory, such as `trainer.model` in the middle of a training.

Prompts are written from files, as for any checkpoint: config and processor are saved to a temporary folder, so that the caller's
objects are not changed. The weights are the module's own. Whatever an evaluation changes of the module (its mode, its generation
config, attributes and buffers) is put back.
"""

from __future__ import annotations

import copy
import gc
import hashlib
import os
import sys
import tempfile
import threading
import weakref
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mm_eval.engine.model import Model, ModelSettings
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Options

from .adapter import ADAPTER_VERSION, HuggingFace
from .arguments import Arguments
from .checkpoint import Checkpoint
from .processor import quiet
from .sharded import class_of, gathered, inside, is_in_parts
from .source import Source
from .weights import named_device, quantisation

if TYPE_CHECKING:
    import torch
    from torch import Tensor
    from transformers import ProcessorMixin

WHERE = "evaluate"
THREADS = 8
_LOCKS: weakref.WeakKeyDictionary[object, threading.RLock] = weakref.WeakKeyDictionary()
"""One a module: two evaluations of one module follow each other."""
_LOCK = threading.Lock()


@contextmanager
def held_module(
    thing: object, args: Options, settings: ModelSettings, processor: ProcessorMixin | None, identity: object
) -> Iterator[Model]:
    """The adapter of a module, which is as it was afterwards. Arguments and errors: as of `InMemory.held`."""
    module = plain_module(thing)
    with _LOCK:
        lock = _LOCKS.setdefault(module, threading.RLock())
    with lock, tempfile.TemporaryDirectory(prefix="mm-eval-model-") as folder, ExitStack() as stack:
        save_files(module, processor, Path(folder))
        copies = gathered(
            thing
        )  # before the state of the module is noted: gathering may complete what FSDP sets up lazily
        stack.callback(copies.drop)
        stack.enter_context(as_it_was(module))
        copies.put_into(module)
        model = ModuleInMemory(module, folder, args, settings, identity)
        try:
            yield model
        finally:
            model.close()


def plain_module(thing: Any) -> torch.nn.Module:
    """The model of transformers inside of what a trainer wraps around it. ConfigError for what can't be evaluated."""
    module, names = thing, []
    while True:
        names.append(type(module).__name__)
        inner = inside(module)
        if inner is None and not hasattr(module, "config"):
            inner = getattr(module, "module", None)  # a wrapper of somebody else
        if inner is None and hasattr(module, "get_base_model"):
            inner = module.get_base_model()  # PEFT: its layers stay in the model
        if inner is None:
            break
        module = inner
    if not hasattr(module, "config") or not hasattr(module, "generation_config"):
        hint = "Give a function of messages for it: evaluate(tasks, lambda messages: ...)."
        raise ConfigError(f"{names[-1]} is not a model of transformers that generates.", where=WHERE, hint=hint)
    if any(parameter.is_meta for parameter in module.parameters()):
        raise ConfigError(
            f"{names[-1]} has parameters on the device meta.", where=WHERE, hint="Load its weights first."
        )
    return module


def check_module(thing: object, processor: ProcessorMixin | None) -> None:
    """ConfigError for a module that can't be evaluated, or that lacks its processor."""
    with tempfile.TemporaryDirectory(prefix="mm-eval-model-") as folder:
        save_files(plain_module(thing), processor, Path(folder))
    is_in_parts(thing)


def save_files(module: torch.nn.Module, processor: ProcessorMixin | None, folder: Path) -> None:
    """Writes what prompts are made of. ConfigError where the processor is missing or can't be saved."""
    from .processor import is_image_text, takes_media

    kind = str(getattr(module.config, "model_type", ""))
    if processor is None:
        needed = "processor" if takes_media(kind) else "tokenizer"
        hint = f"evaluate(tasks, model, processor={needed})"
        raise ConfigError(f"{type(module).__name__} comes without its {needed}.", where=WHERE, hint=hint)
    if takes_media(kind) and not hasattr(processor, "tokenizer"):
        hint = "AutoProcessor.from_pretrained gives it."
        reads = "reads pictures" if is_image_text(kind) else "hears"
        raise ConfigError(
            f"{kind} {reads}, and {type(processor).__name__} is not a processor.",
            where=WHERE,
            hint=hint,
        )
    try:
        with quiet():
            module.config.save_pretrained(folder)
            if module.generation_config is not None:
                stated = copy.deepcopy(module.generation_config)
                (folder / "generation_config.json").write_text(stated.to_json_string(use_diff=True), encoding="utf-8")
            processor.save_pretrained(folder)
    except Exception as error:  # a user's own classes
        what = f"config and processor can't be saved ({type(error).__name__}: {str(error)[:200]})."
        raise ConfigError(what, where=WHERE, hint="Prompts are written from their files.") from error


@contextmanager
def as_it_was(module: torch.nn.Module) -> Iterator[None]:
    """Afterwards the module has the mode, attributes, buffers, hooks and configs that it had. Weights are not copied."""
    held = [(each, dict(vars(each)), _containers(each)) for each in module.modules()]
    configs = {id(each.config): each.config for each, _, _ in held if hasattr(each, "config")}
    configs |= {
        id(found): found for each in [*configs.values()] for found in vars(each).values() if hasattr(found, "to_dict")
    }
    configs[id(module.generation_config)] = module.generation_config
    stated = [(config, dict(vars(config))) for config in configs.values() if hasattr(config, "__dict__")]
    try:
        forward = getattr(module, "_original_forward", None)  # accelerate's, which computes in another dtype
        if forward is not None:
            module.forward = forward
        module.eval()
        yield
    finally:
        for config, values in stated:
            _put_back(vars(config), values)
        for each, attributes, containers in held:
            _put_back(vars(each), attributes)
            for name, content in containers.items():
                _put_back(vars(each)[name], content)


def _containers(module: torch.nn.Module) -> dict[str, dict[object, object]]:
    """What a module holds in mappings: parameters, buffers, submodules, hooks."""
    return {name: dict(value) for name, value in vars(module).items() if name[0] == "_" and isinstance(value, dict)}


def _put_back(now: dict[object, object], before: Mapping[object, object]) -> None:
    if any(name not in before for name in now) or any(
        now.get(name, now) is not value for name, value in before.items()
    ):
        now.clear()
        now.update(before)


def weights_digest(module: torch.nn.Module) -> str:
    """sha256 over name, dtype, shape and content of every parameter and buffer. Nothing is kept: training changes them."""
    tensors = {**dict(module.named_parameters()), **dict(module.named_buffers())}
    rest = {name: value for name, value in module.state_dict().items() if name not in tensors}  # of quantised weights
    tensors |= {name: value for name, value in rest.items() if hasattr(value, "untyped_storage")}
    workers = min(THREADS, os.cpu_count() or 1)
    with ThreadPoolExecutor(workers, "mm-eval-digest") as pool:
        lines = pool.map(_line, sorted(tensors), [tensors[name] for name in sorted(tensors)])
        return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _line(name: str, tensor: Tensor) -> str:
    import torch

    content = tensor.detach().reshape(-1).contiguous().view(torch.uint8).cpu().numpy()
    return f"{name} {tensor.dtype} {tuple(tensor.shape)} {hashlib.sha256(content).hexdigest()}"


class ModuleInMemory(HuggingFace):
    """A module of transformers with the files of its config and its processor in a folder."""

    def __init__(
        self, module: torch.nn.Module, folder: str, args: Options, settings: ModelSettings, identity: object
    ) -> None:
        self.module, self._identity = module, identity
        super().__init__({**args, "pretrained": folder}, settings)
        called = str(getattr(module.config, "name_or_path", "") or "") or type(module).__name__
        self.facts = replace(self.facts, name=Path(called).name, travels=False)
        for name in ("peft", "device", "device_map", "dtype", "attn_implementation", "revision"):
            if name in args or name == "device" and settings.device:
                hint = "Change the model before you give it."
                raise ConfigError(f"{name} can't be stated for a model in memory.", where=WHERE, hint=hint)

    def _read_arguments(self) -> Arguments:
        return Arguments.read(self.args)

    def _source(self) -> Source:
        return Source(self.arguments, self.settings, "hf", self.own_key, checkpoint=InMemoryFiles(self))

    @property
    def _device_and_dtype(self) -> tuple[str, str]:
        return str(self.module.device), str(self.module.dtype).removeprefix("torch.")

    @property
    def _constants(self) -> Mapping[str, object]:
        if not self.facts.constants:
            device, dtype = self._device_and_dtype
            hooks = sum(len(each._forward_hooks) + len(each._forward_pre_hooks) for each in self.module.modules())
            self.facts = replace(
                self.facts,
                device=named_device(device),
                dtype=dtype,
                parameters=sum(each.numel() for each in self.module.parameters()),
                constants={
                    **self.source.constants(),
                    "adapter_version": ADAPTER_VERSION,
                    "class": "{0.__module__}.{0.__qualname__}".format(class_of(self.module)),
                    "dtype": dtype,
                    "attn_implementation": getattr(self.module.config, "_attn_implementation", None),
                    **(
                        {"quantization": kind, "kernels": device}
                        if (kind := quantisation(self.checkpoint.config))
                        else {}
                    ),
                    **({"hooks": hooks} if hooks else {}),
                },
            )
        return self.facts.constants

    def describe(self) -> Mapping[str, object]:
        return {**super().describe(), "pretrained": self.facts.name, "in_memory": True}

    def prepare(self) -> None:
        if self._asking is None:
            self._asking = self._with_short_cuts(self.module)

    def close(self) -> None:
        """Drops caches and prompts; the module is the caller's."""
        self._asking = None
        if (torch := sys.modules.get("torch")) is not None and torch.cuda.is_available():
            gc.collect()
            torch.cuda.empty_cache()


class InMemoryFiles(Checkpoint):
    """The files of a model in memory; its weights are none of them."""

    def __init__(self, model: ModuleInMemory) -> None:
        super().__init__(model.arguments.pretrained)
        self._model = model

    def weights(self) -> list[Path]:
        return []

    def digests(self) -> dict[str, str]:
        """One sha256 per role; for the weights that of the module's, or the identity that the caller states."""
        stated = self._model._identity
        found = {role: digest for role, digest in super().digests().items() if role != "weights"}
        return {**found, "weights": weights_digest(self._model.module) if stated is None else f"stated: {stated}"}
