"""Loading weights: the device, the dtype, and a model with all its weights."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from mm_eval.errors import ConfigError

from .arguments import WHERE, Arguments
from .processor import naming, quiet
from .weights import naming_quantisation, with_adapter


def choose_device(arguments: Arguments, requested: str | None) -> str:
    """The device of `--model_args`, else of `--device`, else the best one available."""
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
    on_gpu = torch.device(device).type == "cuda" and torch.cuda.is_available()
    return f"{device} ({torch.cuda.get_device_name(device)})" if on_gpu else device


def choose_dtype(arguments: Arguments, device: str, config: Any) -> str:
    """The name of the dtype for the weights ("float32")."""
    quantised = getattr(config, "quantization_config", None)
    requested = arguments.dtype or ("float32" if device == "cpu" and not quantised else "auto")
    if requested != "auto":
        return requested
    own = getattr(config, "dtype", None) or getattr(config.get_text_config(), "dtype", None)
    return str(own or "float32").removeprefix("torch.")


def load_model(
    folder: Path, arguments: Arguments, image_text: bool, device: str, dtype: str, quantised: str | None = None
) -> Any:
    """The model with its weights and its adapter. Raises ConfigError if a weight is missing, since it would be random.

    quantised: how, or None. Quantised weights are loaded onto their device, since some kinds can't be moved.
    """
    from transformers import AutoModelForCausalLM, AutoModelForImageTextToText

    loader = AutoModelForImageTextToText if image_text else AutoModelForCausalLM
    options: dict[str, Any] = {"dtype": getattr(torch, dtype), "trust_remote_code": arguments.trust_remote_code}
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
    return model.eval()
