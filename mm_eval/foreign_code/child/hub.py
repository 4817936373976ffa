"""Files of the hub that task code asks for while it is imported (`snapshot_download` at the top of utils.py).

Nothing is downloaded here. What the user's cache has is used; else the code gets the folder in which the files would lie, and
each file is put there when it is opened, if the data of the task has it. If not, the error says what to download.
"""

from __future__ import annotations

import builtins
import io
import os
from collections.abc import Callable
from typing import Any


class FilesOfHub:
    """Stands before the functions of `huggingface_hub` that download. home: this process's HF_HOME.

    place: puts a file below it, if the data of the task has one of its name.
    """

    def __init__(self, home: str, place: Callable[[object], bool]) -> None:
        self._folder, self._place = os.path.join(home, "not_downloaded"), place
        self._asked: dict[str, str] = {}
        import huggingface_hub

        for name in ("snapshot_download", "hf_hub_download"):
            setattr(huggingface_hub, name, self._or_later(getattr(huggingface_hub, name)))
        own = io.open

        def opened(file: Any, *args: Any, **kwargs: Any) -> Any:
            path = os.fspath(file) if isinstance(file, os.PathLike) else file
            if isinstance(path, str) and path.startswith(home) and not os.path.lexists(path):
                self._look_for(path, args, kwargs)
            return own(file, *args, **kwargs)

        io.open = builtins.open = opened

    def _look_for(self, path: str, args: tuple[object, ...], kwargs: dict[str, object]) -> None:
        mode = str(args[0] if args else kwargs.get("mode", "r"))
        if "r" not in mode or "+" in mode or self._place(path):
            return
        for folder, command in self._asked.items():
            if path.startswith(folder):
                said = f"{path[len(folder) :].lstrip(os.sep)} is not on this machine; it comes with: {command}"
                raise FileNotFoundError(said)

    def _or_later(self, download: Callable[..., object]) -> Callable[..., str]:
        def found_or_later(repo_id: str, *args: object, **kwargs: object) -> str:
            from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError, OfflineModeIsEnabled

            try:
                return str(download(repo_id, *args, **kwargs))
            except (LocalEntryNotFoundError, OfflineModeIsEnabled, HfHubHTTPError):
                folder = os.path.join(self._folder, *str(repo_id).split("/"))
                kind = kwargs.get("repo_type") or "model"
                self._asked[folder] = f"hf download --repo-type {kind} {repo_id}"
                file = kwargs.get("filename", args[0] if download.__name__ == "hf_hub_download" and args else "")
                return os.path.join(folder, *str(file).split("/")) if file else folder

        return found_or_later
