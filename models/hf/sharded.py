"""Weights in parts (FSDP, FSDP2, ZeRO-3), whole on each process while a model in memory is evaluated.

A sharded module gathers its weights in each forward pass of all processes together. Processes that share an evaluation take
different numbers of passes, so each one gets copies of all weights before the first pass and needs the others no more. The
shards, the gradients, and what the framework knows of them stay as they are.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from types import MethodType
from typing import TYPE_CHECKING, Any

from mm_eval.engine.launch import agreed
from mm_eval.values.errors import ConfigError

if TYPE_CHECKING:
    import torch
    from torch import Tensor

WHERE = "evaluate"
INSIDE = {
    "FullyShardedDataParallel": "_fsdp_wrapped_module",
    "DeepSpeedEngine": "module",
    "OptimizedModule": "_orig_mod",
    "DistributedDataParallel": "module",
}
"""Wrappers by class, and where their module is. Most of them answer for attributes of the module inside, `config` among them."""
ELSEWHERE = "Evaluate its saved checkpoints instead: mm-eval watch CHECKPOINTS --tasks ... (docs/guides/training.md)."
FRAMEWORKS = ("torch.distributed", "deepspeed")


def inside(module: torch.nn.Module) -> torch.nn.Module:
    """The module inside of a wrapper of torch or DeepSpeed; None for other modules."""
    name = next((INSIDE[kind.__name__] for kind in type(module).__mro__ if kind.__name__ in INSIDE), None)
    return None if name is None else getattr(module, name)


def class_of(module: torch.nn.Module) -> type:
    """The class of a module without the one that `fully_shard` puts before it."""
    own = [kind for kind in type(module).__mro__ if not kind.__module__.startswith("torch.distributed")]
    return own[0]


@dataclass
class Gathered:
    """Whole copies of the parameters that are in parts: {module: {name: parameter}}."""

    copies: dict[torch.nn.Module, dict[str, Tensor]] = field(default_factory=dict)
    _known: dict[int, tuple[object, object]] = field(default_factory=dict)

    def add(self, module: torch.nn.Module, name: str, parameter: Tensor, content: Any) -> None:
        """content: () -> the whole tensor. It is called once for a parameter that several modules share."""
        import torch

        if id(parameter) not in self._known:  # the parameter is kept, so that its id is not given away
            self._known[id(parameter)] = parameter, torch.nn.Parameter(content(), requires_grad=False)
        self.copies.setdefault(module, {})[name] = self._known[id(parameter)][1]

    def drop(self) -> None:
        """Gives their memory back; the module has its own parameters again."""
        if self.copies:
            self.copies.clear()
            self._known.clear()
            if (torch := sys.modules["torch"]).cuda.is_available():
                torch.cuda.empty_cache()

    def put_into(self, module: torch.nn.Module) -> None:
        """Puts the copies into a module, and takes off what gathers. The caller puts back what the modules hold."""
        for each in list(module.modules()):
            for name, child in list(each._modules.items()):
                if child is not None and _is_unit(child):
                    each._modules[name] = inside(child)
        for each in module.modules():
            if copies := self.copies.get(each):
                for name, copy in copies.items():
                    vars(each).pop(name, None)  # FSDP without use_orig_params keeps plain tensors there
                    each._parameters[name] = copy
            each._parameters.pop("_flat_param", None)
            for hooks in (each._forward_pre_hooks, each._forward_hooks):
                for number in [number for number, hook in hooks.items() if _is_frameworks(hook)]:
                    del hooks[number]
            for name in [name for name, value in vars(each).items() if _is_frameworks(value)]:
                del vars(each)[name]  # `generate` of the Trainer under FSDP2
            vars(each).pop("_is_fsdp_managed_module", None)  # transformers would generate in lockstep


def _is_frameworks(found: Any) -> bool:
    """Whether a hook or a method is one of torch's FSDP or of DeepSpeed."""
    found = getattr(found, "func", found)  # functools.partial
    if isinstance(found, MethodType):
        found = found.__func__
    if not callable(found) or isinstance(found, type) or not hasattr(found, "__code__"):
        return False
    names = (getattr(found, "__module__", None), found.__globals__.get("__name__"))
    return any(str(name).startswith(FRAMEWORKS) for name in names)


def is_in_parts(thing: Any) -> bool:
    """Whether a process has only a part of some parameter. ConfigError for parts that can't be put together here."""
    in_parts = False
    if any(
        getattr(each, "_fsdp_flattened", False) for module in _without_units(thing) for each in _own(module).values()
    ):
        hint = "Give the module that FSDP made of it: trainer.model, or the model before unwrap_model."
        raise ConfigError("the weights are in the hands of an FSDP module around this one.", where=WHERE, hint=hint)
    fsdp2 = any(_is_fsdp2(each) for each in thing.modules())
    for module in thing.modules():
        if int(getattr(module, "tp_size", None) or 0) > 1:
            raise _refusal(f"{class_of(module).__name__} is split over processes (tensor parallel).")
        in_parts = in_parts or _is_unit(module)
        for parameter in _own(module).values():
            if hasattr(parameter, "device_mesh"):
                shards = sum(placement.is_shard() for placement in parameter.placements)
                if shards > 1 or not fsdp2:
                    raise _refusal("its weights are split by more than FSDP (tensor or expert parallel).")
            in_parts = in_parts or hasattr(parameter, "device_mesh") or hasattr(parameter, "ds_id")
    return in_parts


def _own(module: torch.nn.Module) -> dict[str, Tensor]:
    """The parameters that a module has itself."""
    return {name: each for name, each in module._parameters.items() if each is not None}


def _is_unit(module: torch.nn.Module) -> bool:
    """Whether a module is a unit of FSDP, around the module whose weights it holds."""
    return type(module).__name__ == "FullyShardedDataParallel"


def _refusal(what: str) -> ConfigError:
    return ConfigError(what, where=WHERE, hint=ELSEWHERE)


def _is_fsdp2(module: torch.nn.Module) -> bool:
    return any(kind.__name__ == "FSDPModule" for kind in type(module).__mro__)


def gathered(thing: Any) -> Gathered:
    """Whole copies of the weights in parts. All processes call it at the same moment of their training.

    Errors: ConfigError, on all processes alike, for weights that do not fit beside what the devices hold.
    """
    import torch

    found = Gathered()
    if not is_in_parts(thing):
        return found
    check_room(thing)
    with torch.no_grad():
        for wrapper in [each for each in thing.modules() if _is_unit(each)]:
            _gather_unit(wrapper, found)
        for module in thing.modules():
            _gather_tensors(module, found)
            _gather_zero(module, found)
    return found


def _gather_unit(wrapper: object, found: Gathered) -> None:
    """The parameters of one FSDP unit; those of the units inside it come with their own."""
    from torch.distributed.fsdp import FullyShardedDataParallel

    with FullyShardedDataParallel.summon_full_params(wrapper, recurse=False, writeback=False):
        for module in _without_units(inside(wrapper)):
            for name, parameter in _own(module).items():
                if name != "_flat_param":
                    found.add(module, name, parameter, parameter.detach().clone)


def _without_units(module: torch.nn.Module) -> Iterator[torch.nn.Module]:
    if not _is_unit(module):
        yield module
        for child in module.children():
            yield from _without_units(child)


def _gather_tensors(module: torch.nn.Module, found: Gathered) -> None:
    """The parameters of FSDP2. Those on the CPU (offloaded) are put together on the device of the training."""
    if _is_fsdp2(module):
        module.reshard()  # its whole copies may be older than the last step of the optimizer
    for name, parameter in _own(module).items():
        if hasattr(parameter, "device_mesh"):
            found.add(module, name, parameter, _whole_of(parameter))


def _whole_of(parameter: Tensor) -> Tensor:
    def content() -> Tensor:
        own = parameter.detach()
        kind = own.device_mesh.device_type
        return (own if own.device.type == kind else own.to(kind)).full_tensor().clone()

    return content


def _gather_zero(module: torch.nn.Module, found: Gathered) -> None:
    """The parameters of ZeRO-3 that a module has itself."""
    own = {name: each for name, each in _own(module).items() if hasattr(each, "ds_id")}
    if not own:
        return
    gathered_parameters = sys.modules["deepspeed"].zero.GatheredParameters
    with gathered_parameters(list({id(each): each for each in own.values()}.values())):
        for name, parameter in own.items():
            found.add(module, name, parameter, parameter.data.detach().clone)


def check_room(thing: object) -> None:
    """ConfigError, on all processes alike, where the whole weights do not fit into the memory of one of their GPUs."""
    needed, free = whole_bytes(thing), free_bytes()
    fits = free is None or needed < 0.9 * free
    if lacking := [rank for rank, fits_there in enumerate(agreed("room", fits)) if not fits_there]:
        share = "" if free is None else f", {free / 1e9:.1f} GB are free here"
        what = f"the whole weights ({needed / 1e9:.1f} GB) do not fit on the GPU of process {lacking[0]}{share}."
        raise _refusal(what)


def whole_bytes(thing: Any) -> int:
    """The size of all weights on one process."""
    sizes: dict[int, int] = {}
    for module in thing.modules():
        flat = getattr(vars(module).get("_handle"), "flat_param", None)
        if flat is not None:
            sizes[id(flat)] = flat._unpadded_unsharded_size.numel() * flat.element_size()
        for parameter in _own(module).values():
            if not getattr(parameter, "_fsdp_flattened", False):
                sizes[id(parameter)] = int(getattr(parameter, "ds_numel", parameter.numel())) * parameter.element_size()
    return sum(sizes.values())


def free_bytes() -> int | None:
    """What is free on this process's GPU, with what torch holds and does not use; None where it trains on no GPU."""
    import torch

    if not torch.cuda.is_available() or not torch.cuda.is_initialized():
        return None
    free, _ = torch.cuda.mem_get_info()
    return int(free + torch.cuda.memory_reserved() - torch.cuda.memory_allocated())
