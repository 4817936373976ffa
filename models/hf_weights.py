"""Whether weight files are whole, told from their headers: a look that costs nothing, before anything is loaded or asked."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from mm_eval.errors import ConfigError

LARGEST_HEADER = 100_000_000
"""Bytes; the format allows no longer header."""


def check_whole(files: Sequence[Path]) -> None:
    """ConfigError that names the first .safetensors file that is cut, or is something else (a git-lfs pointer, a web page)."""
    for path in files:
        if path.suffix == ".safetensors" and (flaw := _flaw(path)):
            raise ConfigError(f"the weights can't be read: {flaw}.", where=str(path), hint="Fetch the file again.")


def _flaw(path: Path) -> str:
    """What is wrong with a file of 8 bytes (the header's length), the header in JSON, and the tensors it lists."""
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if size < 8 or length > min(LARGEST_HEADER, size - 8):
                pointer = size < 1000 and b"git-lfs" in path.read_bytes()
                return (
                    "it is a git-lfs pointer, not the file itself"
                    if pointer
                    else "it is cut, or not a safetensors file"
                )
            header = json.loads(file.read(length))
        ends = [tensor["data_offsets"][1] for name, tensor in header.items() if name != "__metadata__"]
        needed = 8 + length + max(ends, default=0)
    except OSError as error:
        return str(error.strerror or error)
    except (ValueError, RecursionError, AttributeError, KeyError, IndexError, TypeError):
        return "its header is damaged"
    return "" if size >= needed else f"it has {size:,} bytes where its header lists {needed:,}"
