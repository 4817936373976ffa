"""The program inside the sandbox: it owns a Jupyter kernel, and speaks JSON lines over its standard input and output.

    {"do": "files", "files": [["image_01.png", base64], ...]}            -> {"ok": true}
    {"do": "run", "code": "...", "seconds": 60, ...} -> {"text": ..., "ending": ..., "pictures": [...], ...}

The first line that it writes says that it is ready. The end of its input ends it, and everything that the code has started.
It runs without the rest of mm-eval, and it alone reads the files that the code makes.
"""

from __future__ import annotations

import base64
import ctypes
import io
import json
import os
import re
import resource
import secrets
import select
import signal
import stat
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, TextIO

LOOK = 0.05
"""Seconds between two looks at what the code takes."""
PATIENCE = 3.0
"""Seconds that an interrupted call has to come to its end."""
AFTER_REPLY = 2.0
"""Seconds in which the last output may follow the kernel's reply."""
START = 60.0
"""Seconds in which a kernel must be ready."""
MOST_FILE = 64 << 20
"""Bytes of a picture file that is read."""
MOST_PIXELS = 64_000_000
TOO_LARGE = f"it has more pixels than are returned ({MOST_PIXELS:,})."
FORMATS = ("PNG", "JPEG", "WEBP", "BMP", "GIF", "TIFF")
ENDINGS = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".gif", ".tif", ".tiff")
MOST_TRACEBACK, LINES_OF_TRACEBACK = 3000, 30
ANSI = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07")
CELL = re.compile(r"[^\s'\"]*/ipykernel_\d+/\d+\.py")
"""The file that a kernel says its code to be in: its name differs from kernel to kernel."""
WARM_UP = """
for _each in ("numpy", "PIL.Image"):
    __import__(_each)
__import__("warnings").filterwarnings("ignore", category=DeprecationWarning)
del _each


def _set(session):
    import json

    pack = session.pack

    def packed(content):
        try:
            return pack(content)
        except UnicodeEncodeError:  # half of a surrogate pair, which code may print
            return json.dumps(content, default=str).encode()

    session.pack = packed


_set(get_ipython().kernel.session)
del _set
"""
"""What a later release of a library changes says nothing about a question."""
NUMBERED = re.compile(r"image_\d+\.png")
"""The names of pictures by their place. One that the code saves under such a name gets that of its own place."""
_prctl = getattr(ctypes.CDLL(None), "prctl", None)  # Linux has it
PR_SET_PDEATHSIG = 1
KERNEL = ".kernel"
"""The folder of the kernel's sockets, inside of the working folder."""


class Cut:
    """A text of which the beginning and the end are kept."""

    def __init__(self, most: int) -> None:
        self._half = max(1, most // 2)
        self._head, self._tail, self.length = "", "", 0

    def add(self, text: str) -> None:
        self.length += len(text)
        room = self._half - len(self._head)
        self._head += text[:room]
        if len(text) > room:
            self._tail = (self._tail + text[max(room, 0) :])[-self._half :]

    def text(self) -> str:
        left_out = self.length - len(self._head) - len(self._tail)
        between = f"\n... ({left_out:,} characters left out) ...\n" if left_out else ""
        return f"{self._head}{between}{self._tail}"


class Processes:
    """The processes of the code: all in the sandbox but this one and its parent; without a sandbox those of the kernel's session.

    cpu: seconds that they have taken, as far as they were seen.
    """

    def __init__(self, alone: bool) -> None:
        self._alone, self._spent = alone, dict[int, float]()
        self._own = {1, os.getpid(), os.getppid()}
        self._tick, self._page = os.sysconf("SC_CLK_TCK"), os.sysconf("SC_PAGE_SIZE")
        self.session = 0

    @property
    def cpu(self) -> float:
        return sum(self._spent.values())

    def look(self) -> tuple[list[int], int]:
        """(their numbers, bytes of memory that are theirs alone)."""
        found, memory = list[int](), 0
        for name in os.listdir("/proc"):
            if not name.isdecimal() or int(name) in self._own:
                continue
            with suppress(OSError, ValueError, IndexError):
                fields = Path(f"/proc/{name}/stat").read_text(errors="replace").rpartition(")")[2].split()
                if fields[0] == "Z" or not self._alone and int(fields[3]) != self.session:
                    continue
                resident, shared = map(int, Path(f"/proc/{name}/statm").read_text().split()[1:3])
                found.append(int(name))
                memory += max(0, resident - shared) * self._page
                self._spent[int(name)] = (int(fields[11]) + int(fields[12])) / self._tick
        return found, memory

    def is_above(self, most: int) -> bool:
        """Whether they have more memory than that. Pages that two of them share are one: only the slow look knows them."""
        found, memory = self.look()
        if memory <= most:
            return False
        exact = 0
        for pid in found:
            with suppress(OSError, ValueError):
                lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
                exact += 1024 * sum(int(line.split()[1]) for line in lines if line.startswith("Pss_Anon:"))
        return exact > most

    def kill(self, but: int = 0) -> int:
        """Ends all of them but one. Returns how many there were."""
        count, until = 0, time.monotonic() + PATIENCE
        while (left := [pid for pid in self.look()[0] if pid != but]) and time.monotonic() < until:
            count = max(count, len(left))
            for pid in left:
                with suppress(OSError):
                    os.kill(pid, signal.SIGKILL)
            time.sleep(0.01)
        return count


class Supervisor:
    """One kernel at a time in one working folder. limits: memory, processes, files (bytes), alone, rlimit_processes."""

    def __init__(self, limits: dict[str, Any]) -> None:
        self._limits, self._started = limits, 0
        self._folder = Path.cwd()
        self._processes = Processes(limits["alone"])
        self._kernel: subprocess.Popen[bytes] | None = None
        self._client: Any = None

    def start(self) -> None:
        """Starts a kernel. TimeoutError where it is not ready in time."""
        from jupyter_client.blocking import BlockingKernelClient
        from jupyter_client.connect import write_connection_file

        self._started += 1
        sockets = self._folder / KERNEL
        sockets.mkdir(mode=0o700, exist_ok=True)
        _copy_fonts(self._limits["fonts"])
        file = str(sockets / f"{self._started}.json")
        key = secrets.token_hex(16).encode()
        write_connection_file(file, transport="ipc", ip=str(sockets / f"k{self._started}"), key=key)
        options = ["--HistoryManager.enabled=False", "--InteractiveShell.xmode=Plain"]
        self._kernel = subprocess.Popen(
            [sys.executable, "-s", "-m", "ipykernel_launcher", "-f", file, *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            preexec_fn=self._limit,
        )
        self._processes.session = self._kernel.pid
        client = BlockingKernelClient(connection_file=file)
        client.load_connection_file()
        client.start_channels(stdin=False, hb=False)
        client.wait_for_ready(timeout=START)
        self._client = client
        self._quietly(WARM_UP)

    def _limit(self) -> None:
        """In the kernel's process, before it is one. It ends with the supervisor, however that ends."""
        if _prctl is not None:
            _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        limits = {
            resource.RLIMIT_CORE: 0,
            resource.RLIMIT_DATA: self._limits["memory"],
            resource.RLIMIT_FSIZE: self._limits["files"],
        }
        if self._limits["rlimit_processes"]:
            limits[resource.RLIMIT_NPROC] = self._limits["processes"]
        for kind, most in limits.items():
            resource.setrlimit(kind, (most, most))

    def _quietly(self, code: str) -> None:
        sent = self._client.execute(code, silent=True, store_history=False, allow_stdin=False)
        until = time.monotonic() + START
        while time.monotonic() < until:
            message = self._client.get_shell_msg(timeout=START)
            if message["parent_header"].get("msg_id") == sent:
                return

    def _end_kernel(self) -> int | None:
        """Ends the kernel and all that its code has started. Returns how the kernel had ended by itself, None if it had not."""
        code = self._kernel.poll() if self._kernel else None
        self._processes.kill()
        if self._kernel:
            with suppress(OSError):
                self._kernel.kill()
            self._kernel.wait()
        if self._client:
            self._client.stop_channels()
        self._kernel = self._client = None
        return code

    def files(self, files: list[list[str]]) -> dict[str, object]:
        """Puts files into the working folder."""
        for name, content in files:
            (self._folder / os.path.basename(name)).write_bytes(base64.b64decode(content))
        return {"ok": True}

    def run(self, request: dict[str, Any]) -> dict[str, Any]:
        """Runs code. The reply says what it printed and showed, and how it ended."""
        began, fresh = time.monotonic(), False
        if self._kernel is None:
            self.start()
            fresh = True
        before, spent = self._pictures_there(), self._spent()
        output, shown, ending, reason = Cut(request["characters"]), list[bytes | None](), "ok", ""
        sent = self._client.execute(request["code"], store_history=True, allow_stdin=False)
        started = time.monotonic()
        ending, reason = self._watch(sent, request, output, shown, started, spent)
        seconds, cpu = time.monotonic() - started, max(0.0, self._spent() - spent)
        left = self._processes.kill(self._kernel.pid if self._kernel else 0)
        pictures, remarks = self._pictures(request, shown, before)
        if left and self._kernel:
            remarks.append(f"{left} process{'es' * (left > 1)} that the code had left running {_were(left)} ended.")
        return {
            "text": CELL.sub("<cell>", ANSI.sub("", _printable(output.text()))).strip("\n"),
            "ending": ending,
            "reason": reason,
            "remarks": remarks,
            "pictures": pictures,
            "seconds": round(seconds, 3),
            "cpu": round(cpu, 3),
            "whole": round(time.monotonic() - began, 3),
            "fresh": fresh,
        }

    def _spent(self) -> float:
        self._processes.look()
        return self._processes.cpu

    def _watch(
        self, sent: str, request: dict[str, Any], output: Cut, shown: list[bytes | None], started: float, spent: float
    ) -> tuple[str, str]:
        """Takes what the code puts out until it ends, or is ended. Returns (how, why in words)."""
        ending, replied, stopped, why = "ok", 0.0, 0.0, ""
        looked = 0.0
        while True:
            now = time.monotonic()
            message = self._message(self._client.iopub_channel, LOOK)
            if message is not None and message["parent_header"].get("msg_id") == sent:
                kind = message["msg_type"]
                if kind == "status" and message["content"]["execution_state"] == "idle":
                    return ("stopped", why) if stopped else (ending, "")
                if kind == "error":
                    ending = "error" if not stopped else ending
                self._take(kind, message["content"], output, shown, request["pictures"], bool(stopped))
            if not replied and (reply := self._message(self._client.shell_channel, 0)) is not None:
                replied = now if reply["parent_header"].get("msg_id") == sent else 0.0
            if replied and now - replied > AFTER_REPLY and message is None:
                return ("stopped", why) if stopped else (ending, "")  # the message that it is idle was lost
            if now - looked < LOOK:
                continue
            looked = now
            if select.select([sys.stdin], [], [], 0)[0]:  # nothing is sent meanwhile: it is the end of the input
                self._end_kernel()
                sys.exit(0)
            if self._kernel.poll() is not None:  # type: ignore[union-attr]
                return "ended", _of_code(self._end_kernel())
            if self._processes.is_above(self._limits["memory"]):
                self._end_kernel()
                return "ended", "out of memory"
            if stopped:
                if now - stopped > PATIENCE:
                    self._end_kernel()
                    return "ended", why
                continue
            if max(now - started, self._processes.cpu - spent) > request["seconds"]:
                # One sentence: a loop meets both limits at a time, and a replay compares what is said.
                why = f"it took more than {request['seconds']:g} s, on the clock or of CPU"
                stopped = now
                with suppress(OSError):
                    os.kill(self._kernel.pid, signal.SIGINT)  # type: ignore[union-attr]

    @staticmethod
    def _message(channel: Any, seconds: float) -> dict[str, Any] | None:
        """The next message of a channel; None if there is none, or one that is none."""
        from queue import Empty

        try:
            found: dict[str, object] = channel.get_msg(timeout=seconds)
            return found if isinstance(found["content"], dict) and found["msg_type"] else None
        except Empty:
            return None
        except Exception:  # what the code has put into the socket itself
            return None

    def _take(self, kind: str, content: Any, output: Cut, shown: list[bytes | None], most: int, stopped: bool) -> None:
        if kind == "stream":
            output.add(str(content.get("text", "")))
        elif kind == "error" and not stopped:
            self._on_a_line(output, _traceback(content))
        elif kind in ("execute_result", "display_data"):
            data = content.get("data", {})
            picture = data.get("image/png") or data.get("image/jpeg")
            if picture and len(shown) < most:
                with suppress(ValueError, TypeError):
                    shown.append(base64.b64decode(picture))
            elif picture:
                shown.append(None)
            if (text := data.get("text/plain")) and not (picture and text.startswith("<Figure size")):
                self._on_a_line(output, f"{text}\n")

    @staticmethod
    def _on_a_line(output: Cut, text: str) -> None:
        whole = output.text()
        output.add(f"\n{text}" if whole and not whole.endswith("\n") else text)

    def _pictures_there(self) -> dict[str, tuple[int, int, int]]:
        """{name of a picture file in the working folder: what changes with it}."""
        found = {}
        with suppress(OSError), os.scandir(self._folder) as entries:
            for entry in entries:
                with suppress(OSError):
                    if entry.name.lower().endswith(ENDINGS) and entry.is_file(follow_symlinks=False):
                        about = entry.stat(follow_symlinks=False)
                        found[entry.name] = about.st_mtime_ns, about.st_size, about.st_ino
        return found

    def _pictures(
        self, request: dict[str, Any], shown: list[bytes | None], before: dict[str, tuple[int, int, int]]
    ) -> tuple[list[dict[str, object]], list[str]]:
        """(the pictures of a call, what is to be said of them): those that were shown, then those that were saved."""
        pictures, remarks, most = list[dict[str, Any]](), list[str](), request["pictures"]
        there = self._pictures_there()
        changed = sorted((name for name in there if there[name] != before.get(name)), key=lambda n: (there[n][0], n))
        wanted: list[tuple[str, bytes | None]] = [("", content) for content in shown]
        wanted += [(name, None) for name in changed]
        number = request["number"]
        numbered = {name for name in changed if NUMBERED.fullmatch(name)}
        # read before another picture of this call gets one of these names
        read = {name: self._read(name) for name, _ in wanted[:most] if name in numbered}
        for name, content in wanted[:most]:
            called = name or "a picture that was shown"
            try:
                found = read[name] if name in read else self._content(name) if name else content or b""
                if isinstance(found, Exception):
                    raise found
                looked = _picture(found, request["edge"])
            except _Odd as error:
                remarks.append(f"{called}: {error}")
                continue
            except Exception as error:  # whatever a broken file does to its reader
                remarks.append(f"{called}: it can't be read as a picture ({type(error).__name__}).")
                continue
            if not name or name in numbered:
                name = f"image_{number:02d}.png"
                with suppress(OSError):
                    (self._folder / name).write_bytes(looked["png"])
            number += 1
            pictures.append({**looked, "name": name, "png": base64.b64encode(looked["png"]).decode()})
        if (more := len(wanted) - most) > 0:
            what = "picture was" if more == 1 else "pictures were"
            remarks.append(f"{more:,} further {what} left out: at most {most} a call are returned.")
        return pictures, remarks

    def _read(self, name: str) -> bytes | Exception:
        """A file's content, or why there is none."""
        try:
            return self._content(name)
        except Exception as error:
            return error

    def _content(self, name: str) -> bytes:
        fd = os.open(self._folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
        with os.fdopen(fd, "rb") as file:
            about = os.fstat(fd)
            if not stat.S_ISREG(about.st_mode):
                raise _Odd("it is not a file.")
            if about.st_size > MOST_FILE:
                raise _Odd(f"it has more than {MOST_FILE >> 20} MB.")
            return file.read(MOST_FILE)


class _Odd(Exception):
    """A picture that is not returned, and why."""


def _picture(content: bytes, edge: int) -> dict[str, Any]:
    """A picture in RGB within bounds: as PNG, with its size."""
    from PIL import Image, ImageOps

    if len(content) > MOST_FILE:
        raise _Odd(f"it has more than {MOST_FILE >> 20} MB.")
    try:
        file = Image.open(io.BytesIO(content), formats=FORMATS)
    except Image.DecompressionBombError as error:
        raise _Odd(TOO_LARGE) from error
    with file as opened:
        if opened.width * opened.height > MOST_PIXELS:
            raise _Odd(TOO_LARGE)
        found: Any = ImageOps.exif_transpose(opened)
        if found.mode in ("RGBA", "LA", "PA") or "transparency" in found.info:
            over = found.convert("RGBA")
            found = Image.new("RGB", found.size, "white")
            found.paste(over, mask=over.getchannel("A"))
        found = found.convert("RGB")
    if max(found.size) > edge:
        found.thumbnail((edge, edge), Image.Resampling.BICUBIC)
    written = io.BytesIO()
    found.save(written, "PNG", compress_level=1)
    return {"png": written.getvalue(), "width": found.width, "height": found.height}


def _copy_fonts(fonts: str) -> None:
    """matplotlib's list of fonts, which takes it seconds to make, into the folder where it looks for it."""
    target = Path(os.environ.get("MPLCONFIGDIR", ".matplotlib"))
    with suppress(OSError):
        target.mkdir(exist_ok=True)
        for file in Path(fonts).glob("fontlist-*.json"):
            (target / file.name).write_bytes(file.read_bytes())


def _printable(text: str) -> str:
    """A text with the line ends of Python, as `!ls` has others, and without halves of surrogate pairs, which no file can hold."""
    return text.replace("\r\n", "\n").encode("utf-8", "backslashreplace").decode()


def _traceback(content: dict[str, Any]) -> str:
    """A traceback of bounded length: its first lines and its last ones."""
    text = ANSI.sub("", "\n".join(map(str, content.get("traceback") or [content.get("ename", "Error")])))
    lines = text.split("\n")
    if len(lines) > LINES_OF_TRACEBACK:
        lines = [*lines[:5], "...", *lines[5 - LINES_OF_TRACEBACK :]]
    cut = Cut(MOST_TRACEBACK)
    cut.add("\n".join(lines))
    return f"{cut.text()}\n"


def _were(count: int) -> str:
    return "was" if count == 1 else "were"


def _of_code(code: int | None) -> str:
    """Why a kernel ended by itself, in words."""
    if code is None:
        return "it did not answer"
    if code >= 0:
        return f"the code ended it with exit code {code}"
    if -code == signal.SIGKILL:
        return "it was killed"
    with suppress(ValueError):
        return f"it crashed ({signal.Signals(-code).name})"
    return f"it crashed (signal {-code})"


def _line(requests: io.RawIOBase) -> bytes:
    """The next request; empty at the end of the input. One is sent at a time, so nothing follows its newline."""
    parts = []
    while part := requests.read(1 << 20):
        parts.append(part)
        if part.endswith(b"\n"):
            break
    return b"".join(parts)


def main() -> None:
    limits = json.loads(sys.argv[1])
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    supervisor = Supervisor(limits)
    try:
        _serve(supervisor, answers)
    finally:  # also where nobody reads any more: a kernel that is left would keep the sandbox
        supervisor._end_kernel()


def _serve(supervisor: Supervisor, answers: TextIO) -> None:
    """Starts a kernel, says that it is ready, and answers requests until the input ends."""
    supervisor.start()
    null = os.open(os.devnull, os.O_RDWR)
    os.dup2(null, 1)
    os.dup2(null, 2)
    print(json.dumps({"ready": 1}), file=answers, flush=True)
    requests = io.FileIO(0, closefd=False)  # unbuffered: `select` sees what is there
    while line := _line(requests):
        request = json.loads(line)
        try:
            reply = supervisor.files(request["files"]) if request["do"] == "files" else supervisor.run(request)
        except Exception as error:
            reply = {"fault": f"{type(error).__name__}: {error}"[:500]}
        print(json.dumps(reply), file=answers, flush=True)


if __name__ == "__main__":
    main()
