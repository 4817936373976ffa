"""The folder in which lmms-eval's task code looks for unpacked videos: `$HF_HOME/<cache_dir>`.

Such code checks with os.path.exists that a file is there, and leaves the process or its subtitles if it isn't. lmms-eval has
unpacked everything by then. Here each file is put in its place when it is first looked for, since the path is the code's own.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

from mm_eval.errors import DataError
from mm_eval.task.video import store
from mm_eval.task.video.archives import split
from mm_eval.task.video.files import DataFiles

_known: dict[str, DataFiles] = {}
_lock = threading.Lock()


def keep_in(cache_dir: str, files: DataFiles) -> None:
    """From now on the files of a data set are found below `$HF_HOME/<cache_dir>`, too, by os.path.exists and os.path.isfile."""
    home = os.path.expanduser(os.environ.get("HF_HOME") or "~/.cache/huggingface")
    with _lock:
        if not _known:
            for check in ("exists", "isfile"):
                setattr(os.path, check, _looking(getattr(os.path, check)))
        _known[os.path.join(os.path.abspath(home), os.path.normpath(cache_dir), "")] = files


def put_in_place(path: str) -> bool:
    """Puts a file of a data set at the path at which lmms-eval would have unpacked it. False if it has none there.

    Errors: DataError if it can't be read or written.
    """
    full = os.path.abspath(path)
    files, name = next(
        ((each, full[len(home) :]) for home, each in _known.items() if full.startswith(home)), (None, "")
    )
    if files is None or not os.path.splitext(name)[1]:
        return False
    try:
        found = files.find(name)
    except DataError:
        return False
    os.makedirs(os.path.dirname(full), exist_ok=True)
    if split(found) is None:
        os.symlink(os.path.abspath(found), full)
    else:
        store.put(found, Path(full))
    return True


def _looking(own: Callable[[object], bool]) -> Callable[[object], bool]:
    def look(path: object) -> bool:
        return own(path) or isinstance(path, (str, os.PathLike)) and put_in_place(os.fspath(path))

    return look
