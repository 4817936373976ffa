"""Packages that transformers uses where they are installed are used where they import; else the run goes on without them.

PyPI's torchvision beside a CPU build of torch is installed, but its import fails ("operator torchvision::nms does not exist");
so may torchaudio and torchcodec, and the packages for sound where a library of the system is missing. transformers only looks
whether they are installed, and then fails in places that have nothing to do with them.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import sys
from collections.abc import Iterable, Iterator
from typing import Any

logger = logging.getLogger(__name__)
OF_TORCH = ("torchvision", "torchaudio", "torchcodec")
OF_SOUND = ("soundfile", "soxr")
"""soxr is installed for sound, and imports numpy: it is looked at when transformers is needed, not when a model is named."""
NOT_BESIDE = ("transformers", "transformers_modules", "torch", "mm_eval", "importlib", "__main__", "__mp_main__")


def leave_out_broken(names: Iterable[str] = OF_TORCH) -> None:
    """Hides those that can't be imported from this process, with one warning each. Call it before transformers is imported."""
    modules: dict[str, Any] = sys.modules
    for name in names:
        if modules.get(name) is not None or importlib.util.find_spec(name) is None:
            continue
        try:
            importlib.import_module(name)
        except Exception as error:  # third-party code, which fails in many ways beside another build of torch
            modules[name] = None  # to importlib, a package that is not installed
            first = str(error).strip().split("\n")[0][:200].rstrip(".")
            logger.warning(
                "%s is installed but can't be imported (%s: %s), so it is not used; install %s, or uninstall it.",
                name,
                type(error).__name__,
                first,
                "the build that fits torch" if name in OF_TORCH else "it again",
            )


def broken_package(error: BaseException) -> str:
    """The package whose import failed, where that is why something else did; empty if no import of another package failed."""
    found = ""
    for each in causes(error):
        trace = each.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_name == "<module>":
                found = str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]
            trace = trace.tb_next
    return "" if found in NOT_BESIDE or isinstance(error, ModuleNotFoundError) else found


def causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and those that it was raised from."""
    while error is not None:
        yield error
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
