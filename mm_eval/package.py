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
