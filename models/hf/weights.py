"""The device, the dtype, and a model with all its weights: plain ones, quantised ones as transformers loads them, and adapters of
PEFT (LoRA and its relatives).

An adapter is not merged into the weights: its layers run beside those they change, as they did when it was trained. Merged, it
would be rounded to the dtype of the weights, and to the steps of quantised ones.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Options

from .arguments import WHERE, Arguments
from .checkpoint import check_whole, joint_digest
from .processor import image_text_loader, naming, quiet, text_loader

if TYPE_CHECKING:
    import torch
    from transformers import PretrainedConfig, PreTrainedModel

SETTINGS = "adapter_config.json"
TENSORS = ("adapter_model.safetensors", "adapter_model.bin")


def quantisation(config: Options) -> str | None:
    """How config.json says that the weights are quantised ("bitsandbytes 4 bit", "fp8"); None if they are not."""
    text = config.get("text_config")
    stated = config.get("quantization_config") or (text.get("quantization_config") if isinstance(text, dict) else None)
    if not isinstance(stated, dict):
        return None
    flags = {4: stated.get("load_in_4bit"), 8: stated.get("load_in_8bit")}
    method = stated.get("quant_method") or ("bitsandbytes" if any(flags.values()) else "unknown")
    bits = stated.get("bits") or next((bits for bits, flag in flags.items() if flag), None)
    return f"{method} {bits} bit" if bits else str(method)


@contextlib.contextmanager
def naming_quantisation(pretrained: str, kind: str | None) -> Iterator[None]:
    """Converts what transformers says of a missing package or device for quantised weights into a ConfigError."""
    try:
        yield
    except (ImportError, RuntimeError, ValueError) as error:
        if kind is None:
            raise
        first = str(error).strip().split("\n")[0][:300].rstrip(".")
        install = re.search(r"pip install [^`)\n]+", str(error))
        hint = (
            "Its weights are quantised: another package or a GPU may be needed, or a checkpoint that is not quantised."
        )
        raise ConfigError(
            f"{pretrained!r} is quantised ({kind}) and can't be loaded ({type(error).__name__}: {first}).",
            where=WHERE,
            hint=f"Install what it needs: {install[0].strip()}" if install else hint,
        ) from error


def check_adapter(folder: str) -> None:
    """Raises ConfigError unless a folder holds an adapter of PEFT and PEFT is installed. Imports nothing heavy."""
    path, hint = Path(folder).expanduser(), "Give the folder that PEFT's save_pretrained wrote."
    if not (path / SETTINGS).is_file():
        raise ConfigError(f"peft={folder!r} has no {SETTINGS}.", where=WHERE, hint=hint)
    if not (found := _tensors(path)):
        raise ConfigError(f"peft={folder!r} has no {' or '.join(TENSORS)}.", where=WHERE, hint=hint)
    check_whole(found)
    try:
        settings = json.loads((path / SETTINGS).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise ConfigError(f"can't be read as JSON: {error}.", where=str(path / SETTINGS), hint=hint) from error
    if not isinstance(settings, dict) or not isinstance(settings.get("peft_type"), str):
        raise ConfigError("does not name a `peft_type`.", where=str(path / SETTINGS), hint=hint)
    if importlib.util.find_spec("peft") is None:
        raise ConfigError(
            f"peft={folder!r} needs the package peft.", where=WHERE, hint="Install it: pip install 'mm-eval[peft]'"
        )


def adapter_digest(folder: str) -> str:
    """sha256 over the names and contents of an adapter's files."""
    path = Path(folder).expanduser()
    return joint_digest([path / SETTINGS, *_tensors(path)])


def _tensors(path: Path) -> list[Path]:
    """The file that PEFT loads: the first of the two."""
    return [path / name for name in TENSORS if (path / name).is_file()][:1]


def with_adapter(model: PreTrainedModel, folder: str) -> PreTrainedModel:
    """The model with an adapter's layers in it. Raises ConfigError unless every tensor of the adapter has a place."""
    from peft import PeftConfig, PeftModel, get_peft_model_state_dict
    from peft.utils import load_peft_weights

    path = str(Path(folder).expanduser())
    settings = PeftConfig.from_pretrained(path)
    if settings.is_prompt_learning:
        raise ConfigError(
            f"peft={folder!r} is of the type {settings.peft_type}, which puts tokens of its own before a prompt.",
            where=WHERE,
            hint="LoRA and other adapters of layers can be used.",
        )
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        wrapped = PeftModel.from_pretrained(model, path)
    stored, taken = len(load_peft_weights(path, device="cpu")), len(get_peft_model_state_dict(wrapped))
    if stored != taken or any("missing adapter keys" in str(each.message) for each in said):
        raise ConfigError(
            f"peft={folder!r} does not fit the checkpoint: its {stored} tensors do not match the {taken} places for them.",
            where=WHERE,
            hint=f"It was trained on {settings.base_model_name_or_path!r}: give that as pretrained=.",
        )
    return wrapped.get_base_model()


def choose_device(arguments: Arguments, requested: str | None) -> str:
    """The device of `--model_args`, else of `--device`, else the best one available."""
    import torch

    chosen = arguments.device or requested
    if chosen is None:
        chosen = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    try:
        kind = torch.device(chosen).type
    except RuntimeError as error:
        raise ConfigError(
            f"device={chosen!r} is not a device.", where=WHERE, hint="Write cpu, cuda or cuda:1."
        ) from error
    if kind == "cuda" and not torch.cuda.is_available():
        raise ConfigError(f"device={chosen!r}: there is no CUDA device here.", where=WHERE, hint="Write device=cpu.")
    return str(chosen)


def named_device(device: str) -> str:
    """A device with the name of its GPU: "cuda:0 (NVIDIA H200)"."""
    import torch

    on_gpu = torch.device(device).type == "cuda" and torch.cuda.is_available()
    return f"{device} ({torch.cuda.get_device_name(device)})" if on_gpu else device


def choose_dtype(arguments: Arguments, device: str, config: PretrainedConfig) -> str:
    """The name of the dtype for the weights ("float32")."""
    quantised = getattr(config, "quantization_config", None)
    requested = arguments.dtype or ("float32" if device == "cpu" and not quantised else "auto")
    if requested != "auto":
        return requested
    own = getattr(config, "dtype", None) or getattr(config.get_text_config(), "dtype", None)
    return str(own or "float32").removeprefix("torch.")


BOTH_WAYS = ("Phi4MultimodalVisionAttention",)
"""Classes of vision towers' attention that transformers 5.23 marks as causal, though a patch sees all others.

With `sdpa` a picture without padding is then read in one direction, and beside a picture of another shape in both, as always with
`eager`; with Flash Attention every picture in one.
"""


def look_both_ways(model: torch.nn.Module) -> None:
    """Lets every patch of a picture see all others, in the classes of `BOTH_WAYS`."""
    for module in model.modules():
        if type(module).__name__ in BOTH_WAYS:
            module.is_causal = False


def load_model(
    folder: Path,
    arguments: Arguments,
    image_text: bool,
    device: str,
    dtype: str,
    quantised: str | None = None,
    kind: str = "",
) -> object:
    """The model with its weights and its adapter. Raises ConfigError if a weight is missing, since it would be random.

    kind: its model type, which decides the class of one that reads pictures. quantised: how, or None. Quantised weights are
    loaded onto their device, since some kinds can't be moved.
    """
    import torch

    with naming(arguments.pretrained, "class"):
        loader = image_text_loader(kind) if image_text else text_loader(kind)
    options: dict[str, object] = {"dtype": getattr(torch, dtype), "trust_remote_code": arguments.trust_remote_code}
    if arguments.attn_implementation:
        options["attn_implementation"] = arguments.attn_implementation
    if placed := arguments.device_map or ({"": device} if quantised else None):
        options["device_map"] = placed
    name = arguments.pretrained
    with naming(name, "weights"), naming_quantisation(name, quantised), quiet():
        model, report = loader.from_pretrained(folder, output_loading_info=True, local_files_only=True, **options)
        if not placed:
            model = model.to(device)
        elif quantised and not getattr(model, "is_quantized", True):  # FP8 without its GPU is written out in bfloat16
            for parameter in model.parameters():  # not the buffers: rotary frequencies stay in float32
                parameter.data = parameter.data.to(options["dtype"])
    missing = sorted(report.get("missing_keys") or ())
    if missing:
        raise ConfigError(
            f"{arguments.pretrained!r} lacks {len(missing)} of its weights, {missing[0]!r} among them.",
            where=WHERE,
            hint="They would be random. Fetch the checkpoint again, or name the right one.",
        )
    if arguments.peft:
        with naming(arguments.peft, "adapter"), quiet():
            model = with_adapter(model, arguments.peft)
    look_both_ways(model)
    return model.eval()
