"""The walls around an interpreter: the command that starts it in bubblewrap, in a container, or without any.

Inside there is no network, no file of the user, no variable of the environment and no other process. The system is read-only, and
one folder can be written to, within its size. As root the command is started under a user without rights.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from mm_eval.sandbox.environment import Environment, environment, found, make, packages_digest
from mm_eval.sandbox.limits import MB, Limits
from mm_eval.values.errors import ConfigError
from mm_eval.values.files import digest_of
from mm_eval.values.safe import in_line

SUPERVISOR = Path(__file__).parent / "inside" / "supervisor.py"
BWRAP, NONE = "bwrap", "none"
CONTAINERS = ("docker", "podman")
NOBODY = 65534
"""The user without rights under whom a sandbox is started as root."""
WORK = "/sandbox"
"""The one folder that code may write to."""
STATED = re.compile(rf"{BWRAP}|{NONE}|(?:{'|'.join(CONTAINERS)}):[\w./:@-]+")
OTHERWISE = "Or name a container with the packages in it: --sandbox docker:IMAGE or podman:IMAGE."
BUBBLEWRAP = "Or use bubblewrap: --sandbox bwrap."
SECONDS = 60
"""In which a container's engine must answer."""


@dataclass(frozen=True)
class Started:
    """How a process of the sandbox is started. name: of its container. folder: what is removed after it."""

    command: Sequence[str]
    variables: Mapping[str, str]
    user: int | None = None
    folder: str | None = None
    name: str = ""


@dataclass(frozen=True)
class Sandbox:
    """A sandbox that is there. kind: "bwrap", "docker", "podman" or "none". image: of a container, with its digest."""

    kind: str
    limits: Limits = Limits()
    environment: Environment | None = None
    image: str = ""
    image_digest: str = ""

    @property
    def is_bare(self) -> bool:
        return self.kind == NONE

    @cached_property
    def digest(self) -> str:
        """A short digest of all that decides what code does in it."""
        return digest_of(self.to_json())[:16]

    def to_json(self) -> dict[str, object]:
        """What decides what code does in it, for run.json."""
        inside = {"image": self.image, "image_digest": self.image_digest} if self.image else {"python": python_of(self)}
        return {
            "kind": self.kind,
            **inside,
            "supervisor": digest_of(SUPERVISOR.read_text(encoding="utf-8"))[:12],
            "limits": self.limits.to_json(),
        }

    def start(self) -> Started:
        """The command of one interpreter."""
        if self.kind == BWRAP:
            return self._in_bubblewrap()
        if self.kind == NONE:
            return self._bare()
        return self._in_container()

    def _program(
        self, python: str, *, alone: bool, rlimit_processes: bool = False, fonts: str = "/opt/fonts"
    ) -> list[str]:
        limits = {
            "memory": self.limits.memory * MB,
            "processes": self.limits.processes,
            "files": self.limits.files * MB,
            "alone": alone,
            "rlimit_processes": rlimit_processes,
            "fonts": fonts,
        }
        return [python, "-s", "-P", "-c", SUPERVISOR.read_text(encoding="utf-8"), json.dumps(limits)]

    def _in_bubblewrap(self) -> Started:
        assert self.environment is not None
        made, words = self.environment, ["bwrap", "--unshare-all", "--unshare-user", "--die-with-parent"]
        words += ["--new-session", "--cap-drop", "ALL", "--hostname", "sandbox", "--clearenv"]
        if "--disable-userns" in _help():
            words += ["--disable-userns"]
        inside = {**environment(made.inside, "/opt/packages"), **of_folder(WORK)}
        words += [word for name, value in inside.items() for word in ("--setenv", name, value)]
        words += ["--ro-bind", "/usr", "/usr", "--tmpfs", "/usr/local"]
        for name in ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32"):
            if os.path.islink(name):
                words += ["--symlink", os.readlink(name), name]
            elif os.path.isdir(name):
                words += ["--ro-bind", name, name]
        words += ["--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
        words += ["--ro-bind-try", "/etc/alternatives", "/etc/alternatives"]
        words += ["--ro-bind", str(made.path / "packages"), "/opt/packages"]
        words += ["--ro-bind", str(made.path / "fonts"), "/opt/fonts"]
        if made.mounted:
            words += ["--ro-bind", str(made.mounted), "/opt/python"]
        words += ["--proc", "/proc", "--dev", "/dev", "--size", str(64 * MB), "--tmpfs", "/dev/shm"]
        words += ["--size", str(self.limits.files * MB), "--tmpfs", WORK, "--symlink", WORK, "/tmp", "--chdir", WORK]
        words += ["--remount-ro", "/usr/local", "--remount-ro", "/dev", "--remount-ro", "/"]
        words += ["--", *self._program(made.inside, alone=True, rlimit_processes=True)]
        return Started(words, {"PATH": os.environ.get("PATH", "/usr/bin:/bin")}, NOBODY if os.geteuid() == 0 else None)

    def _in_container(self) -> Started:
        name, most = f"mm-eval-{secrets.token_hex(6)}", self.limits
        words = [self.kind, "run", "--rm", "--interactive", "--name", name, "--network", "none", "--read-only"]
        words += ["--tmpfs", f"{WORK}:rw,exec,size={most.files}m,mode=1777", "--tmpfs", "/tmp:rw,size=64m,mode=1777"]
        words += ["--memory", f"{most.memory + 512}m", "--memory-swap", f"{most.memory + 512}m"]
        words += ["--pids-limit", str(most.processes), "--cap-drop", "ALL", "--security-opt", "no-new-privileges"]
        words += ["--user", f"{NOBODY}:{NOBODY}", "--workdir", WORK, "--hostname", "sandbox", "--init"]
        inside = {**environment("/usr/bin/python3", ""), **of_folder(WORK)}
        for left_out in ("PATH", "LD_LIBRARY_PATH", "PYTHONPATH"):
            del inside[left_out]
        words += [word for variable, value in inside.items() for word in ("--env", f"{variable}={value}")]
        words += ["--entrypoint", "python3", self.image_digest or self.image]
        program = self._program("python3", alone=True)[1:]
        kept = {n: v for n, v in os.environ.items() if n in ("PATH", "HOME", "XDG_RUNTIME_DIR") or "DOCKER" in n}
        return Started([*words, *program], kept, name=name)

    def _bare(self) -> Started:
        import tempfile

        assert self.environment is not None
        folder = tempfile.mkdtemp(prefix="mm-eval-")
        made = self.environment
        variables = {**environment(made.outside, str(made.path / "packages")), **of_folder(folder)}
        program = self._program(made.outside, alone=False, fonts=str(made.path / "fonts"))
        return Started(program, variables, folder=folder)


def otherwise(sandbox: Sandbox) -> str:
    """What to do where a sandbox does not start."""
    return BUBBLEWRAP if sandbox.kind in CONTAINERS else OTHERWISE


def python_of(sandbox: Sandbox) -> str:
    """The version of Python and of its packages."""
    import platform

    return f"{platform.python_version()} {packages_digest()}"


def of_folder(folder: str) -> dict[str, str]:
    """The variables that name the working folder."""
    return {
        "HOME": folder,
        "TMPDIR": folder,
        "MPLCONFIGDIR": f"{folder}/.matplotlib",
        "IPYTHONDIR": f"{folder}/.ipython",
        "USER": "sandbox",
        "LOGNAME": "sandbox",
    }


def sandbox_of(stated: str | None, limits: Limits, *, offline: bool = False, say: Any = lambda line: None) -> Sandbox:
    """The sandbox that an option names; bubblewrap for None. Makes its Python where it is missing.

    Errors: ConfigError where it can't be had, with what to install.
    """
    kind, _, image = (stated or BWRAP).partition(":")
    if not STATED.fullmatch(stated or BWRAP):
        hint = "It is bwrap, docker:IMAGE, podman:IMAGE or none."
        raise ConfigError(f"there is no sandbox {in_line(stated or '', 80)!r}.", where="--sandbox", hint=hint)
    if kind in CONTAINERS:
        return Sandbox(kind, limits, image=image, image_digest=_image_digest(kind, image))
    if kind == BWRAP and shutil.which("bwrap") is None:
        what = "code that a model writes is run in a sandbox only, and bubblewrap is not installed."
        raise ConfigError(what, where="--sandbox", hint=f"apt-get install bubblewrap. {OTHERWISE}")
    there = found()
    if there is None and offline:
        what = "the sandbox's Python is not made yet, and --offline forbids fetching its packages."
        raise ConfigError(what, where="--offline", hint="Make it first: mm-eval sandbox make.")
    return Sandbox(kind, limits, there or make(say))


def _image_digest(engine: str, image: str) -> str:
    """The digest of a container's image that is on this machine. ConfigError where it is not."""
    if shutil.which(engine) is None:
        raise ConfigError(f"{engine} is not installed.", where="--sandbox", hint=BUBBLEWRAP)
    try:
        done = subprocess.run(
            [engine, "image", "inspect", "--format", "{{.Id}}", image],
            capture_output=True,
            text=True,
            timeout=SECONDS,
            stdin=subprocess.DEVNULL,
        )
    except subprocess.TimeoutExpired as error:
        raise ConfigError(f"{engine} did not answer within {SECONDS} s.", where="--sandbox") from error
    if done.returncode or not done.stdout.strip():
        said = in_line(done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "it said nothing", 200)
        hint = f"Fetch or build it first: {engine} pull {image}."
        raise ConfigError(f"{engine} can't show the image {image!r}: {said}", where="--sandbox", hint=hint)
    return done.stdout.strip()


@cache
def _help() -> str:
    """The options that bubblewrap knows."""
    done = subprocess.run(["bwrap", "--help"], capture_output=True, text=True, timeout=SECONDS)
    return done.stdout + done.stderr
