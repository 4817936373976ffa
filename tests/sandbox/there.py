"""Whether there is a sandbox on this machine, for tests that need one; made once a session."""

from __future__ import annotations

import shutil
import subprocess
from functools import cache

import pytest

from mm_eval.sandbox.environment import found
from mm_eval.sandbox.limits import Limits
from mm_eval.sandbox.pool import Pool
from mm_eval.sandbox.walls import Sandbox


@cache
def why_not() -> str:
    """Why no sandbox can be started here; empty where one can."""
    if shutil.which("bwrap") is None:
        return "bubblewrap is not installed (apt-get install bubblewrap)"
    tried = subprocess.run(
        ["bwrap", "--unshare-all", "--ro-bind", "/", "/", "true"], capture_output=True, text=True, timeout=60
    )
    if tried.returncode:
        return f"bubblewrap can't make its namespaces here: {tried.stderr.strip()[-200:]}"
    return "" if found() else "the sandbox's Python is not made (mm-eval sandbox make)"


def sandbox(**limits: float) -> Sandbox:
    """Bubblewrap with these limits; skips the test where there is none."""
    if why := why_not():
        pytest.skip(why)
    return Sandbox("bwrap", Limits.of_options(limits), found())


def pool(warm: int = 0, **limits: float) -> Pool:
    return Pool(sandbox(**limits), warm)
