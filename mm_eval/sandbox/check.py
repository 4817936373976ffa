"""Each wall of a sandbox, tried from inside by code that a model might write. What holds is said wall by wall."""

from __future__ import annotations

import os
import socket
import tempfile
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass

from mm_eval.sandbox.environment import environment
from mm_eval.sandbox.interpreter import Asked, Interpreter, Ran, SandboxError
from mm_eval.sandbox.pool import Pool
from mm_eval.sandbox.walls import Sandbox, of_folder, otherwise
from mm_eval.values.errors import ConfigError
from mm_eval.values.safe import in_line

OWN = {*environment("python", ""), *of_folder("")} | {"PWD", "OLDPWD", "SHLVL", "_", "TERM", "HOSTNAME"}
"""Variables that the sandbox has of its own, or that any program makes."""
SHOWN = ("usr", "bin", "sbin", "lib", "lib32", "lib64", "etc", "opt")
"""Folders of the system, which are shown: a home in one of them, as of a service, is none of a user's."""
AT_LIMIT = 2.0
"""Seconds after which the check of time expects to be stopped."""

_HELD: set[str] = set()
"""Digests of the sandboxes whose walls held when this process tried them."""


@dataclass(frozen=True)
class Wall:
    """A wall and what was found. said: what code inside has seen, in a few words."""

    name: str
    holds: bool
    said: str


def refuse_if_open(sandbox: Sandbox) -> None:
    """Tries the walls of a sandbox before a run uses it, once a process where they hold.

    ConfigError where it does not start, or where a wall does not hold: that is tried again.
    The limits are not tried, which takes as long as filling them. A sandbox without walls was asked for by its name.
    """
    if sandbox.is_bare or sandbox.digest in _HELD:
        return
    try:
        found = [wall for wall in check_walls(sandbox, limits=False) if not wall.holds]
    except SandboxError as error:
        raise ConfigError(error.what, where="--sandbox", hint=otherwise(sandbox)) from error
    if found:
        what = "; ".join(f"{wall.name} ({in_line(wall.said, 80)})" for wall in found)
        hint = "No code of a model is run in it: see mm-eval sandbox check."
        raise ConfigError(f"these walls of the sandbox do not hold: {what}.", where="--sandbox", hint=hint)
    _HELD.add(sandbox.digest)


def check_walls(sandbox: Sandbox, limits: bool = True) -> list[Wall]:
    """Tries every wall of a sandbox in one interpreter. SandboxError where it does not start. limits: those too."""
    with closing(Pool(sandbox, 0)) as pool:
        return _tried(pool.take(), sandbox, limits)


def check(sandbox: Sandbox) -> tuple[list[Wall], dict[str, str]]:
    """(every wall of a sandbox as it was tried, {what else there is to know: what was found})."""
    with closing(Pool(sandbox, 0)) as pool:
        interpreter = pool.take()
        namespaces = interpreter.run(Asked(NAMESPACES, 30, 400, 0, 64, 1))
        facts = {"limits by": interpreter.limiter, "user namespaces": namespaces.text.strip() or namespaces.ending}
        return _tried(interpreter, sandbox, True), facts


def _tried(interpreter: Interpreter, sandbox: Sandbox, limits: bool) -> list[Wall]:
    with tempfile.NamedTemporaryFile("w", prefix="mm-eval-check-") as file, _listening() as server:
        os.chmod(file.name, 0o644)
        return _walls(sandbox, interpreter, file.name, server.getsockname()[1], limits)


def _homes() -> dict[str, list[int]]:
    """{folder of users' files: its place on a disk}. One at the same place inside is this one, and no folder of an image."""
    home = os.path.abspath(os.path.expanduser("~"))
    found = {}
    for path in dict.fromkeys(("/root", "/home", *([] if home.split("/")[1] in SHOWN else [home]))):
        with suppress(OSError):
            about = os.stat(path)
            found[path] = [about.st_dev, about.st_ino]
    return found


def _listening() -> closing[socket.socket]:
    """A server on this machine, which nothing inside may reach."""
    server = socket.socket()
    server.bind(("127.0.0.1", 0))
    server.listen()
    return closing(server)


def _walls(sandbox: Sandbox, interpreter: Interpreter, marker: str, port: int, with_limits: bool) -> list[Wall]:
    limits, found = sandbox.limits, list[Wall]()

    def run(code: str, seconds: float = 30.0) -> Ran:
        return interpreter.run(Asked(code, seconds, 4000, 0, 64, 1))

    def wall(name: str, code: str, holds: Callable[[Ran], bool], seconds: float = 30.0) -> None:
        ran = run(code, seconds)
        lines = ran.text.splitlines() or [ran.ending]
        found.append(Wall(name, holds(ran), ran.reason or lines[-1][:160]))

    def says_no(ran: Ran) -> bool:
        return ran.ending == "ok" and ran.text.splitlines()[-1:] == ["no"]

    wall("no network", NETWORK.format(port=port), says_no)
    wall("no files of the user", FILES.format(marker=marker, places=_homes()), says_no)
    wall("no variables of the environment", VARIABLES.format(names=sorted(set(os.environ) - OWN)), says_no)
    wall("no other processes", PROCESSES.format(), says_no)
    wall("a read-only system", SYSTEM, says_no)
    wall("no rights", RIGHTS, says_no)
    if not with_limits:
        return found
    room = limits.files
    wall(f"{room} MiB of files", ROOM.format(most=room), says_no, 120)
    wall(f"{limits.processes} processes", MANY.format(most=limits.processes), says_no, 60)
    wall(f"{AT_LIMIT:g} s of a call", "while True: pass", lambda ran: ran.ending in ("stopped", "ended"), AT_LIMIT)
    memory = MEMORY.format(most=limits.memory)
    ended = ("MemoryError", "out of memory", "it was killed")
    wall(f"{limits.memory} MiB of memory", memory, lambda r: r.reason in ended or "MemoryError" in r.text, 120)
    return found


NETWORK = """
import socket
reached = [name for _, name in socket.if_nameindex() if name != "lo"]
try:
    socket.create_connection(("127.0.0.1", {port}), 2).close()
    reached.append("the host's 127.0.0.1")
except OSError:
    pass
print("reaches " + ", ".join(reached) if reached else "no")
"""
FILES = """
import os
def place(path):
    try:
        found = os.stat(path)
        return [found.st_dev, found.st_ino]
    except OSError:
        return None
seen = [path for path in ({marker!r},) if os.path.exists(path)]
seen += [path for path, own in {places!r}.items() if place(path) == own]
print("sees " + ", ".join(seen) if seen else "no")
"""
VARIABLES = """
import os, pathlib
names, seen = set({names!r}), set(os.environ)
for file in pathlib.Path("/proc").glob("*/environ"):
    try:
        seen |= {{each.partition(b"=")[0].decode(errors="replace") for each in file.read_bytes().split(b"\\0")}}
    except OSError:
        pass
print("sees " + ", ".join(sorted(names & seen)) if names & seen else "no")
"""
NAMESPACES = """
import ctypes, os
pid = os.fork()
if not pid:
    os._exit(ctypes.CDLL(None).unshare(0x10000000) & 1)
made = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
print("can be made inside" if made else "none can be made inside")
"""
PROCESSES = """
import os
seen = [name for name in os.listdir("/proc") if name.isdecimal()]
print(f"sees {{len(seen)}} processes" if len(seen) > 8 else "no")
"""
SYSTEM = """
import os
written = []
for folder in ("/", "/usr", "/etc", "/opt", "/opt/packages", "/bin", "/lib", "/dev", "/usr/local", "/var", "/run"):
    path = os.path.join(folder, "mm-eval-check")
    try:
        open(path, "w").close()
        written.append(folder)
        os.remove(path)
    except OSError:
        pass
print("writes to " + ", ".join(written) if written else "no")
"""
RIGHTS = """
import os, subprocess
status = dict(line.split(":", 1) for line in open("/proc/self/status").read().splitlines() if ":" in line)
has = ["capabilities"] if int(status["CapEff"], 16) else []
has += ["the user root"] if os.getuid() == 0 else []
has += ["new privileges"] if status.get("NoNewPrivs", "0").strip() != "1" else []
print("has " + ", ".join(has) if has else "no")
"""
ROOM = """
import os
written = 0
try:
    with open("mm-eval-check", "wb") as file:
        for _ in range({most} + 64):
            file.write(bytes(1 << 20))
            written += 1
except OSError:
    pass
finally:
    os.remove("mm-eval-check")
print(f"writes {{written}} MiB" if written > {most} else "no")
"""
MANY = """
import os, signal, time
started = []
try:
    for _ in range({most} + 8):
        number = os.fork()
        if not number:
            time.sleep(60)
            os._exit(0)
        started.append(number)
except OSError:
    pass
for number in started:
    os.kill(number, signal.SIGKILL)
    os.waitpid(number, 0)
print(f"starts {{len(started)}}" if len(started) >= {most} else "no")
"""
MEMORY = """
kept = []
for _ in range({most} // 32 + 8):
    kept.append(bytearray(b"x" * (32 << 20)))
print("keeps", len(kept) * 32, "MiB")
"""
