"""The package as it is installed: its version, and the folders whose files it is made of."""

from functools import cache
from pathlib import Path

__version__ = "0.1.0"

_CORE = Path(__file__).parent

FOLDERS = [_CORE] if (_CORE / "tasks").is_dir() else [_CORE, _CORE.parent]
"""In a checkout `models/`, `tasks/` and `assets/` are beside the core; in a wheel they are inside it. In both cases they are
imported as `mm_eval.models`, `mm_eval.tasks` and `mm_eval.assets`."""


@cache
def version_of(distribution: str) -> str | None:
    """The version of an installed package; None where there is none. A process keeps what it found: so it is what it imported."""
    import importlib.metadata  # here, since it imports the parser of e-mails

    try:
        return importlib.metadata.version(distribution)
    except importlib.metadata.PackageNotFoundError:
        return None


def commit_of_checkout() -> str | None:
    """The commit of the checkout that this package is; None for an installed one."""
    return commit_of(_CORE.parent) if len(FOLDERS) > 1 else None


def commit_of(top: Path) -> str | None:
    """The commit that is checked out in a folder; None where there is none. Reads files of .git and starts no git."""
    try:
        folder = top / ".git"
        if folder.is_file():  # of a worktree or submodule: it names the folder
            folder = top / folder.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
        head = (folder / "HEAD").read_text(encoding="utf-8").strip()
        if head.startswith("ref:"):
            head = _commit_of_ref(folder, head.removeprefix("ref:").strip())
    except (OSError, ValueError):
        return None
    return head if len(head) in (40, 64) and set(head) <= set("0123456789abcdef") else None


def _commit_of_ref(folder: Path, ref: str) -> str:
    """The commit of a branch; "" where it has none yet. folder: that of HEAD; worktrees share the branches of another."""
    common = folder / "commondir"
    shared = folder / common.read_text(encoding="utf-8").strip() if common.is_file() else folder
    for place in (folder / ref, shared / ref):
        if place.is_file():
            return place.read_text(encoding="utf-8").strip()
    packed = shared / "packed-refs"
    lines = packed.read_text(encoding="utf-8").splitlines() if packed.is_file() else []
    return next((line.split(" ", 1)[0] for line in lines if line.endswith(f" {ref}")), "")
