"""The run folder: one spec, one launch at a time, every file whole.

<output_path>/run.json  files.json  lock  journal/*.jsonl  results.json  samples/<task>.jsonl
"""

from __future__ import annotations

import errno
import fcntl
import json
import os
import socket
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias

from mm_eval.engine.journal import mend_torn_tails
from mm_eval.errors import ConfigError, MMEvalError, StoreError
from mm_eval.files import read_regular, write_all, write_atomic
from mm_eval.task.docs import FileState

RUN_VERSION = 1
UNSTATED = {"on_long_prompt": "cut"}
"""What a spec that does not state an option was asked with."""

Files: TypeAlias = Mapping[str, Mapping[str, FileState]]
"""{task: {name that rows have for a picture file: its state}}"""

DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EFBIG, errno.ESTALE})
"""The disk is full or fails. Any other error means that the folder is the wrong one."""


def folder_error(what: str, path: Path, error: OSError, hint: str = "Choose another --output_path.") -> MMEvalError:
    """The error of an unusable run folder: StoreError (exit code 3) if the disk failed, else ConfigError (exit code 2)."""
    where = str(error.filename or path)
    sentence = f"{what}: {error.strerror or error}."
    if error.errno in DISK_ERRORS:
        return StoreError(
            sentence, where=where, hint="Recorded answers are safe; the same command continues from there."
        )
    return ConfigError(sentence, where=where, hint=hint)


class RunFolder:
    """A folder that belongs to one spec. `locked` opens it for one launch; reading needs no lock."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def has_answers(self) -> bool:
        """Whether an earlier launch recorded anything. Needs no lock; False also where the folder can't be read."""
        with suppress(OSError):
            return any(path.is_file() and path.stat().st_size for path in (self.path / "journal").glob("*.jsonl"))
        return False

    def refuse_if_held(self) -> None:
        """ConfigError when another launch holds the folder now; creates nothing, so that it can be asked before all else."""
        try:
            fd = os.open(self.path / "lock", os.O_RDWR | os.O_CLOEXEC)
        except OSError:
            return  # no lock, or no folder that can be read: `locked` tells
        try:
            self._take(fd)
        finally:
            os.close(fd)

    @contextmanager
    def locked(self) -> Iterator[RunFolder]:
        """Holds the folder for this launch, torn journal tails mended.

        The lock is the kernel's (flock), so that a killed launch leaves none behind.
        Errors: ConfigError when another launch holds it, naming its pid and host, or when it can't be written; StoreError when
            the disk is full or fails.
        """
        fd = -1
        try:
            try:
                self.path.mkdir(parents=True, exist_ok=True)
                fd = os.open(self.path / "lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o644)
                self._take(fd)
                os.ftruncate(fd, 0)
                write_all(fd, f"pid {os.getpid()} on {socket.gethostname()}".encode())
                mend_torn_tails(self.path)
                self._sweep()
            except OSError as error:
                raise folder_error("the run folder can't be written", self.path, error) from error
            yield self
        finally:
            if fd >= 0:
                os.close(fd)

    def _sweep(self) -> None:
        """Removes what killed processes had begun to write (`write_lines`), which nobody will put in place."""
        for path in (path for part in (".", "samples", "media", "ranks") for path in (self.path / part).glob(".*.tmp")):
            pid = path.name.split(".")[-2]
            with suppress(OSError):
                if pid.isdigit() and not _lives(int(pid)):
                    path.unlink()

    def _take(self, fd: int) -> None:
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.pread(fd, 4096, 0).decode(errors="replace").strip() or "another process"
            hint = "Wait for it to end, or choose another --output_path."
            raise ConfigError(f"the run folder is in use by {holder}.", where=str(self.path), hint=hint) from error

    def claim(self, spec: Mapping[str, Any], request: Mapping[str, Any]) -> bool:
        """Writes run.json, or checks that the folder's spec is this one; returns whether the run goes on from an earlier one.

        request: the command's settings, from which `mm-eval score` builds the tasks again.
        Errors: ConfigError that names the first differences.
        """
        known = self.read("run.json")
        if known is not None and not isinstance(known.get("spec"), dict):
            hint = "Restore it, or choose another --output_path."
            raise StoreError("it is not what a run writes.", where=str(self.path / "run.json"), hint=hint)
        spec = json.loads(json.dumps(spec))
        if known is None and any((self.path / "journal").glob("*.jsonl")):
            what, hint = "it has answers, but no run.json that says whose.", "Choose another --output_path."
            raise ConfigError(what, where=str(self.path), hint=hint)
        if known is None:
            started = {"v": RUN_VERSION, "spec": spec, "request": request, "created": round(time.time(), 3)}
            self.write("run.json", json.dumps(started, indent=2, ensure_ascii=False))
            return False
        self._refuse_other(known, spec)
        return True

    def refuse_other(self, spec: Mapping[str, Any]) -> None:
        """ConfigError when the folder holds a run of another spec, or another launch holds it; writes nothing."""
        self.refuse_if_held()
        if (known := self.read("run.json")) is not None:
            self._refuse_other(known, json.loads(json.dumps(spec)))

    def _refuse_other(self, known: Mapping[str, Any], spec: Mapping[str, Any]) -> None:
        if known.get("v", 0) > RUN_VERSION:
            raise ConfigError("it was written by a newer mm-eval.", where=str(self.path / "run.json"))
        if different := list(differences({**UNSTATED, **known["spec"]}, {**UNSTATED, **spec})):
            hint = "Choose another --output_path, or repeat the command that began this run; `mm-eval score` scores it anew."
            shown = "; ".join(different[:4])
            raise ConfigError(f"the folder holds another run: {shown}.", where=str(self.path), hint=hint)

    def hold_files(self, find: Callable[[Files], Files]) -> None:
        """Remembers the state of the picture files that rows name; the run can't go on with other ones.

        find: gives the files as they are now, from what is known of them.
        A file that was missing may have come, one that was there may be gone: its docs fail, and are asked again.
        Errors: ConfigError that names the first files that have changed.
        """
        stored = (self.read("files.json") or {}).get("files", {})
        try:
            known = {task: {name: FileState(*state) for name, state in files.items()} for task, files in stored.items()}
        except (AttributeError, TypeError) as error:
            hint = "Restore it, or choose another --output_path."
            raise StoreError("it is not what a run writes.", where=str(self.path / "files.json"), hint=hint) from error
        files = find(known)
        changed = [
            name
            for task, found in files.items()
            for name, state in found.items()
            if (before := known.get(task, {}).get(name)) and before.digest != state.digest
        ]
        if changed:
            what = f"{len(changed)} picture files are not those that were asked about: {', '.join(changed[:4])}."
            hint = "Put them back, or choose another --output_path."
            raise ConfigError(what, where=str(self.path), hint=hint)
        merged = {task: {**known.get(task, {}), **files.get(task, {})} for task in {**known, **files}}
        if merged != known:
            self.write("files.json", json.dumps({"v": RUN_VERSION, "files": merged}, indent=1, ensure_ascii=False))

    def read(self, name: str) -> dict[str, Any] | None:
        """A JSON file of the folder, or None when it is not there.

        Errors: StoreError when it is not a JSON object; ConfigError, or StoreError where the disk fails, when it can't be read.
        """
        path = self.path / name
        try:
            content = json.loads(read_regular(path).decode("utf-8"))
        except FileNotFoundError:
            return None
        except OSError as error:
            raise folder_error("it can't be read", path, error) from error
        except (ValueError, RecursionError) as error:
            raise StoreError(
                f"it is no JSON: {error}.", where=str(path), hint="Restore it, or choose another --output_path."
            ) from error
        if not isinstance(content, dict):
            hint = "Restore it, or choose another --output_path."
            raise StoreError("it is not a JSON object.", where=str(path), hint=hint)
        return content

    def write(self, name: str, text: str) -> Path:
        """Puts a whole file in place, or leaves the old one."""
        return self.write_lines(name, [text])

    def write_lines(self, name: str, lines: Iterable[str]) -> Path:
        """Puts a whole file in place line by line, or leaves the old one: written beside it, synced, renamed."""
        path = self.path / name
        try:
            write_atomic(path, (f"{line}\n" for line in lines))
        except OSError as error:
            hint = "Recorded answers are safe; the same command continues from there."
            what = f"it can't be written: {error.strerror or error}."
            raise StoreError(what, where=str(path), hint=hint) from error
        return path


def _lives(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # somebody else's
        return True
    return True


DIGESTS = {
    "asked": "the prompts are others",
    "data": "the data is other",
    "examples": "the data of the few-shot examples is other",
    "sha256": "other docs are asked",
    "with_functions": "the YAML, or a function that it names, is another",
    "fingerprint": "the model's files are others",
}
"""What a digest in a spec stands for: its digits say nothing to anyone."""


def differences(old: Any, new: Any, at: str = "") -> Iterator[str]:
    """What differs between two specs, one sentence each."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for key in sorted({*old, *new}, key=str):
            yield from differences(old.get(key), new.get(key), f"{at}.{key}" if at else str(key))
    elif old != new:
        place, _, name = at.rpartition(".")
        said = DIGESTS.get(name) if isinstance(old, str) and isinstance(new, str) else None
        yield f"{place}: {said}" if said else f"{at} was {_short(old)} and is {_short(new)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
