"""The task code that a recorded run may use: what came with the installation, and what the user's command names."""

from __future__ import annotations

from pathlib import Path

from mm_eval.config import schema
from mm_eval.config.functions import FunctionRef
from mm_eval.config.group import GroupConfig
from mm_eval.config.index import default_folders, entry_point_folders
from mm_eval.config.manager import Loaded, TaskManager
from mm_eval.config.task_config import TaskConfig
from mm_eval.values.errors import ConfigError


class UntrustedCode(ConfigError):
    """A recorded run needs task code that neither came with the installation nor was named by this command.

    path: the folder to name, if this code is to be trusted.
    """

    def __init__(self, what: str, *, where: str = "", hint: str = "", path: str = "") -> None:
        super().__init__(what, where=where, hint=hint)
        self.path = path


def check_code(loaded: Loaded, include_path: str | None, where: str) -> None:
    """Raises UntrustedCode if a config names a function outside of the installation and of `include_path`."""
    configs: list[TaskConfig | GroupConfig] = [*loaded.tasks.values(), *loaded.groups.values()]
    for config in configs:
        for reference in schema.functions_in(config.source):
            if not _is_trusted(reference, include_path):
                what = f"the task {config.name!r} has code of its own in {reference.file.parent}"
                raise untrusted_code(what, str(reference.file.parent), where)


def installed_config(path: str, include_path: str | None = None) -> TaskConfig | None:
    """The config of a recorded task as it is installed, or found in a folder of this command; None where there is none.

    Imports nothing.
    """
    loaded = _load_installed(path, include_path)
    return next((config for config in loaded.tasks.values() if config.path == path), None) if loaded else None


def installed_group(name: str, include_path: str | None = None) -> GroupConfig | None:
    """The same of a recorded group."""
    loaded = _load_installed(name, include_path)
    return loaded.groups.get(name) if loaded else None


def _load_installed(name: str, include_path: str | None) -> Loaded | None:
    try:
        loaded = TaskManager(include_path=include_path).load([str(name)])
        check_code(loaded, include_path, "")
    except ConfigError:
        return None
    return loaded


def _is_trusted(reference: FunctionRef, include_path: str | None) -> bool:
    folders = [
        Path(__file__).parents[1],
        *default_folders(),
        *entry_point_folders(),
        *([Path(include_path)] if include_path else []),
    ]
    file = reference.file.resolve()
    return any(file.is_relative_to(folder.resolve()) for folder in folders)


def untrusted_code(what: str, path: str, where: str) -> UntrustedCode:
    hint = f"If you trust what is there, name it: --include_path {path}"
    return UntrustedCode(f"{what}, and a run folder is not trusted to name code.", where=where, hint=hint, path=path)
