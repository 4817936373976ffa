"""torchvision is used where it imports; else the run goes on without it.

PyPI's torchvision beside a CPU build of torch is installed, but its import fails ("operator torchvision::nms does not exist").
transformers only looks whether it is installed, and then fails in places that have nothing to do with pictures.
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import sys
from typing import Any

logger = logging.getLogger(__name__)


def leave_out_if_broken() -> None:
    """Hides a torchvision that can't be imported from this process, with one warning. Call it before transformers is imported."""
    if importlib.util.find_spec("torchvision") is None:
        return
    try:
        importlib.import_module("torchvision")
    except Exception as error:  # third-party code, which fails in many ways beside another build of torch
        modules: dict[str, Any] = sys.modules
        modules["torchvision"] = None  # to importlib, a package that is not installed
        first = str(error).strip().split("\n")[0][:200].rstrip(".")
        logger.warning(
            "torchvision is installed but can't be imported (%s: %s), so it is not used; install the build that fits torch,"
            " or uninstall it.",
            type(error).__name__,
            first,
        )
