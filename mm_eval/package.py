"""The package as it is installed: its version, and the folders whose files it is made of."""

from pathlib import Path

__version__ = "0.1.0"

_CORE = Path(__file__).parent

FOLDERS = [_CORE] if (_CORE / "tasks").is_dir() else [_CORE, _CORE.parent]
"""In a checkout `models/`, `tasks/` and `assets/` are beside the core; in a wheel they are inside it. In both cases they are
imported as `mm_eval.models`, `mm_eval.tasks` and `mm_eval.assets`."""
