"""Whether what a run folder names was stated by this user, so that it may be asked and loaded again without a word.

    run["mark"] = mark_of({"request": request})              # when a run folder is made
    is_own({"request": run["request"]}, run.get("mark"))     # when it is opened again

run.json names the address of a model, its checkpoint, and whether the checkpoint's own code is run. People exchange run folders,
and such a folder must not make this machine contact an address or run code. The mark is an HMAC over what is named, with a key in
the user's state folder. A folder may be moved and copied, also to another machine with the same key. Nobody else can make a mark,
and none fits any more after an edit.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import logging
import os
import secrets
from contextlib import suppress
from pathlib import Path

log = logging.getLogger(__name__)

KEY_BYTES = 32


def mark_of(named: object) -> str | None:
    """The mark of what this user names, a JSON value; None where no key can be kept."""
    key = _key(make=True)
    return None if key is None else _digest(key, named)


def is_own(named: object, mark: object) -> bool:
    """Whether this user's mark stands under this very value."""
    key = _key(make=False)
    if key is None or not isinstance(mark, str):
        return False
    return hmac.compare_digest(_digest(key, named).encode(), mark.encode("utf-8", "replace"))


def _digest(key: bytes, named: object) -> str:
    text = json.dumps(json.loads(json.dumps(named)), sort_keys=True)  # as a file gives it back: texts as keys, lists
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def key_file() -> Path | None:
    """Where the key is kept; None if the state folder is not an absolute path."""
    root = os.environ.get("XDG_STATE_HOME") or os.path.join(os.path.expanduser("~"), ".local", "state")
    return Path(root, "mm_eval", "own_runs.key") if os.path.isabs(root) else None


def _key(make: bool) -> bytes | None:
    """The user's key. make: it is made if there is none. Of several processes that make one, the first one's counts."""
    path = key_file()
    if path is None:
        return None
    try:
        if make and not path.exists():
            _make(path)
        key = path.read_bytes()
    except OSError as error:
        log.debug("no key of own runs at %s: %s", path, error)
        return None
    return key if len(key) == KEY_BYTES else None


def _make(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    whole = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    fd = os.open(whole, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, secrets.token_bytes(KEY_BYTES))
    finally:
        os.close(fd)
    try:
        with suppress(FileExistsError):  # another process has made one
            try:
                os.link(whole, path)
            except FileExistsError:
                raise
            except OSError:  # a file system without hard links, such as exFAT
                _copy(whole, path)
    finally:
        whole.unlink()


def _copy(whole: Path, path: Path) -> None:
    """Makes the key's file of a whole one where it can't be linked. FileExistsError if there is one."""
    fd = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, whole.read_bytes())
    finally:
        os.close(fd)
