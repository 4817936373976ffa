"""One interpreter in a sandbox, as this process sees it: code goes in, and what came of it comes back, in bounded lines of JSON.

What comes back was made by a model's code: nothing of it is trusted. A line that is too long or of another form ends the
interpreter, and pictures are decoded by a list of formats and within bounds.
"""

from __future__ import annotations

import base64
import io
import json
import os
import select
import shutil
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from mm_eval.sandbox.cgroup import Cgroup, groups
from mm_eval.sandbox.walls import BWRAP, CONTAINERS, Sandbox, Started
from mm_eval.values.errors import ModelError
from mm_eval.values.safe import in_line

if TYPE_CHECKING:
    from PIL.Image import Image

START = 120.0
"""Seconds in which an interpreter must be ready."""
GRACE = 60.0
"""Seconds beyond those of a call in which its reply must be there."""
MOST_PICTURE = 16 << 20
"""Bytes of a picture that comes back."""
MOST_TEXT = 4_000_000
"""Bytes of a reply beside its pictures."""
FORMATS = ("PNG",)
"""In which the supervisor sends pictures."""
ENDINGS = ("ok", "error", "stopped", "ended")


class SandboxError(ModelError):
    """The sandbox did not start: nothing of the model's doing."""


@dataclass(frozen=True)
class Asked:
    """How code is run. seconds: of wall time, and of CPU. number: of the next picture. edge: its longest side."""

    code: str
    seconds: float
    characters: int
    pictures: int
    edge: int
    number: int


@dataclass(frozen=True)
class Ran:
    """What came of code.

    ending: "ok", "error" (an exception), "stopped" (by a limit; its variables are kept), "ended" (the interpreter is gone).
    reason: of the last two, in words. remarks: what is to be said beside the output. fresh: the interpreter was a new one, since
    the one before it had been ended. seconds: of wall time or CPU, whichever was more.
    """

    text: str
    ending: str = "ok"
    reason: str = ""
    remarks: tuple[str, ...] = ()
    pictures: tuple[tuple[str, Image], ...] = ()
    seconds: float = 0.0
    fresh: bool = False


class _Gone(Exception):
    """The process has ended, or does not do what it should. Its text says which, for the model."""


class _Gate:
    """Bubblewrap waits behind it until its processes are in their group: nothing starts outside. inner: the files it is given."""

    def __init__(self) -> None:
        (self._said, says), (waits, self._opens) = os.pipe(), os.pipe()
        self.inner: tuple[int, ...] = (says, waits)

    def through(self, command: Sequence[str]) -> list[str]:
        says, waits = self.inner
        return [command[0], "--info-fd", str(says), "--block-fd", str(waits), *command[1:]]

    def let_in(self, pid: int, group: Cgroup) -> None:
        """Moves bubblewrap and the first process inside into the group. OSError where that is refused."""
        os.close(self.inner[0])
        said, self.inner = b"", self.inner[1:]
        until = time.monotonic() + START
        while select.select([self._said], [], [], max(0.0, until - time.monotonic()))[0]:
            if not (piece := os.read(self._said, 4096)):
                break
            said += piece
            if said.rstrip().endswith(b"}"):
                break
        with suppress(ValueError, KeyError, TypeError):  # it has ended, and its last words are read later
            for each in (pid, int(json.loads(said)["child-pid"])):
                group.add(each)
            os.write(self._opens, b"1")

    def close(self) -> None:
        for each in (self._said, self._opens, *self.inner):
            os.close(each)


def _group_of(sandbox: Sandbox) -> Cgroup | None:
    """A group for an interpreter in bubblewrap; None where none may be made."""
    folder = groups() if sandbox.kind == BWRAP else None
    try:
        return None if folder is None else Cgroup.make(folder, sandbox.limits)
    except OSError as error:
        raise SandboxError(f"the sandbox can't be started: its cgroup: {error.strerror or error}.") from error


class Interpreter:
    """An interpreter whose process is started. Used by one thread at a time."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self._started: Started = sandbox.start()
        self._group, self._out_of_memory = _group_of(sandbox), 0
        user = {} if self._started.user is None else {"user": self._started.user, "group": self._started.user}
        gate = _Gate() if self._group is not None else None
        try:
            self._process = subprocess.Popen(
                gate.through(self._started.command) if gate else self._started.command,
                env=dict(self._started.variables),
                cwd=self._started.folder or "/",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                extra_groups=[] if user else None,
                start_new_session=True,  # Ctrl-C is for mm-eval
                pass_fds=gate.inner if gate else (),
                **user,  # type: ignore[call-overload]
            )
            if gate is not None and self._group is not None:
                gate.let_in(self._process.pid, self._group)
        except OSError as error:
            self._remove()
            raise SandboxError(f"the sandbox can't be started: {error.strerror or error}.") from error
        finally:
            if gate is not None:
                gate.close()
        self._rest = b""
        self._waits, self._failed = threading.Lock(), ""
        self._began = time.monotonic()
        self.is_ready = self.is_closed = False
        assert self._process.stdin and self._process.stdout and self._process.stderr
        self._in, self._out, self._err = self._process.stdin, self._process.stdout, self._process.stderr
        for stream in (self._in, self._out, self._err):
            os.set_blocking(stream.fileno(), False)

    def wait_until_ready(self) -> None:
        """Returns when it takes code. SandboxError if it does not start, with what it said. Several threads may wait."""
        with self._waits:
            if not self.is_ready and not self._failed:
                self._wait()
        if self._failed:
            raise SandboxError(self._failed)

    def _wait(self) -> None:
        try:
            said = self._line(max(1.0, self._began + START - time.monotonic()), 1000)
            if json.loads(said) != {"ready": 1}:
                raise ValueError
        except (_Gone, ValueError) as error:
            time.sleep(0.05)  # its last words
            words = b""
            with suppress(OSError, ValueError):  # it was closed meanwhile
                words = self._err.read(20_000) or b""
            self.close()
            lines = [line for line in words.decode(errors="replace").splitlines() if line.strip()]
            why = in_line(lines[-1], 300) if lines else str(error) or "its message can't be read"
            self._failed = f"the sandbox can't be started: {why}."
            return
        self.is_ready = True

    def put(self, files: Sequence[tuple[str, bytes]]) -> None:
        """Puts files into the working folder."""
        for name, content in files:
            sent = [[name, base64.b64encode(content).decode()]]
            try:
                reply = self._exchange({"do": "files", "files": sent}, START, MOST_TEXT)
            except _Gone as error:
                raise SandboxError(f"the sandbox takes no files: {error}.") from error
            if reply.get("ok") is not True:
                why = in_line(str(reply.get("fault")), 200)
                hint = "Its folder may be too small: --sandbox_args files=MiB."
                raise SandboxError(f"the sandbox takes no files: {why}.", hint=hint)

    def run(self, asked: Asked) -> Ran:
        """Runs code. Whatever it does to the interpreter is part of what came of it."""
        began = time.monotonic()
        request = {
            "do": "run",
            "code": asked.code.encode("utf-8", "replace").decode(),
            "seconds": asked.seconds,
            "characters": asked.characters,
            "pictures": asked.pictures,
            "edge": asked.edge,
            "number": asked.number,
        }
        most = MOST_TEXT + 8 * asked.characters + asked.pictures * (MOST_PICTURE * 4 // 3 + 1000)
        try:
            found = _ran(self._exchange(request, asked.seconds + GRACE, most), asked)
        except (_Gone, ValueError, KeyError, TypeError, AttributeError) as error:
            why = str(error) if isinstance(error, _Gone) else "its result can't be read"
            found = Ran("", "ended", why, seconds=round(time.monotonic() - began, 3))
            found = self._with_reason(found)
            self.close()
            return found
        return self._with_reason(found)

    def _with_reason(self, found: Ran) -> Ran:
        """What came of code, where the kernel has ended it since the group's memory was spent: only the group knows that."""
        if self._group is None or found.ending != "ended":
            return found
        before, self._out_of_memory = self._out_of_memory, self._group.out_of_memory
        return replace(found, reason="out of memory") if self._out_of_memory > before else found

    @property
    def limiter(self) -> str:
        """What bounds the memory and the processes of all that code starts, in words."""
        if self._sandbox.kind in CONTAINERS:
            return f"the cgroup of {self._sandbox.kind}'s container, rlimits, and a watcher"
        if self._group is not None:
            return f"a cgroup in {self._group.path.parent}, rlimits, and a watcher"
        return "rlimits, and a watcher: no cgroup may be made here"

    def close(self) -> None:
        """Ends it and all that it has started. It may be called again."""
        if self.is_closed:
            return
        self.is_closed = True
        with suppress(OSError):
            self._in.close()
        if self._sandbox.kind in CONTAINERS:
            with suppress(OSError, subprocess.SubprocessError):
                subprocess.run(
                    [self._sandbox.kind, "kill", self._started.name],
                    env=dict(self._started.variables),
                    capture_output=True,
                    timeout=30,
                )
        elif self._sandbox.is_bare:
            with suppress(subprocess.TimeoutExpired):  # the end of its input ends what the code has started
                self._process.wait(5)
        with suppress(OSError):
            self._process.kill()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(10)
        for stream in (self._out, self._err):
            with suppress(OSError):
                stream.close()
        self._remove()

    def _remove(self) -> None:
        if self._group is not None:
            self._group.remove()
        if self._started.folder:
            shutil.rmtree(self._started.folder, ignore_errors=True)

    def _exchange(self, request: Mapping[str, object], seconds: float, most: int) -> dict[str, object]:
        """The reply to a request. _Gone if there is none; ValueError for one that is no JSON object."""
        if self.is_closed:
            raise _Gone("it has ended")
        until = time.monotonic() + seconds
        self._send(json.dumps(request).encode() + b"\n", until)
        reply = json.loads(self._line(until - time.monotonic(), most))
        if not isinstance(reply, dict):
            raise ValueError
        return reply

    def _send(self, content: bytes, until: float) -> None:
        left, poll = memoryview(content), select.poll()
        poll.register(self._in.fileno(), select.POLLOUT)
        while left:
            if time.monotonic() > until or not poll.poll(1000 * max(0.0, until - time.monotonic())):
                raise _Gone("it did not answer in time")
            try:
                left = left[os.write(self._in.fileno(), left[: 1 << 16]) :]
            except BlockingIOError:
                continue
            except OSError as error:
                raise _Gone("it has ended") from error

    def _line(self, seconds: float, most: int) -> bytes:
        """The next line. _Gone where it does not come, ends within, or is longer than `most`."""
        until, parts, length = time.monotonic() + seconds, [self._rest], len(self._rest)
        poll = select.poll()
        poll.register(self._out.fileno(), select.POLLIN)
        while b"\n" not in parts[-1]:
            if length > most:
                raise _Gone("it returned more than is allowed")
            if not poll.poll(1000 * max(0.0, until - time.monotonic())):
                raise _Gone("it did not answer in time")
            try:
                piece = os.read(self._out.fileno(), 1 << 20)
            except BlockingIOError:
                continue
            except OSError as error:
                raise _Gone("it has ended") from error
            if not piece:
                raise _Gone("it has ended")
            parts.append(piece)
            length += len(piece)
        line, _, self._rest = b"".join(parts).partition(b"\n")
        return line


def _ran(reply: Mapping[str, Any], asked: Asked) -> Ran:
    """A reply as values. ValueError, KeyError or TypeError for another form."""
    if "fault" in reply:
        return Ran("", "ended", in_line(str(reply["fault"]), 200))
    text, ending, reason, remarks = reply["text"], reply["ending"], reply["reason"], reply["remarks"]
    named = [text, ending, reason, *remarks]
    if not all(isinstance(each, str) for each in named) or ending not in ENDINGS or len(remarks) > 100:
        raise ValueError
    pictures, said = list[tuple[str, Any]](), [in_line(each, 300) for each in remarks]
    for each in reply["pictures"][: asked.pictures]:
        name = in_line(os.path.basename(str(each["name"])), 80)
        if (picture := _decoded(each["png"], asked.edge)) is None:
            said.append(f"{name}: it can't be read as a picture.")
        else:
            pictures.append((name, picture))
    seconds = max(float(reply["seconds"]), float(reply["cpu"]))
    if not 0 <= seconds < 1e6:
        raise ValueError
    room = 2 * asked.characters + 200
    return Ran(text[:room], ending, in_line(reason, 200), tuple(said), tuple(pictures), seconds, reply["fresh"] is True)


def _decoded(content: str, edge: int) -> Image | None:
    """A picture that the supervisor sent; None for what is none."""
    from PIL import Image

    with suppress(Exception):  # whatever a broken picture does to its reader
        raw = base64.b64decode(content, validate=True)
        if len(raw) > MOST_PICTURE:
            return None
        with Image.open(io.BytesIO(raw), formats=FORMATS) as opened:
            if max(opened.size) <= edge:
                return opened.convert("RGB")
    return None
