"""The Python inside of the sandbox: made once from pinned requirements, built beside its place and renamed.

It has the version of the Python that runs mm-eval. Where another user can't read that one, as in a home folder, it is copied in:
as root the sandbox is started under a user without rights.
"""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from mm_eval.values.errors import ConfigError
from mm_eval.values.files import cache_folder, digest_of
from mm_eval.values.safe import in_line

REQUIREMENTS = Path(__file__).with_name("requirements.txt")
NAMED_BY = "MM_EVAL_SANDBOX"
"""The variable that names the folder of the environments."""
OF_ROOT = Path("/var/cache/mm-eval/sandbox")
SECONDS = 1800
"""In which an environment must be made."""
LEFT_OUT = shutil.ignore_patterns(
    "site-packages", "dist-packages", "test", "idlelib", "turtledemo", "ensurepip", "config-*", "__pycache__"
)


@dataclass(frozen=True)
class Environment:
    """An environment that is made. path: its folder. packages: {name: version}."""

    path: Path
    packages: Mapping[str, str]

    @property
    def mounted(self) -> Path | None:
        """The folder of Python that is shown under /opt/python; None for that of the system."""
        own = self.path / "python"
        if own.is_dir():
            return own
        return None if Path(sys.base_prefix) == Path("/usr") else Path(sys.base_prefix)

    @property
    def outside(self) -> str:
        """Its Python, to be run without a sandbox."""
        return str((self.mounted or Path("/usr")) / "bin" / _name())

    @property
    def inside(self) -> str:
        """The same as the sandbox shows it."""
        return f"/opt/python/bin/{_name()}" if self.mounted else f"/usr/bin/{_name()}"


def packages() -> dict[str, str]:
    """{name: version} of the pinned packages."""
    lines = REQUIREMENTS.read_text(encoding="utf-8").splitlines()
    return dict(line.split("==") for line in lines if line and not line.startswith("#"))


def packages_digest() -> str:
    """A short digest of what is installed in an environment."""
    return digest_of([platform.python_version(), sorted(packages().items())])[:12]


def environments() -> Path:
    """The folder of all environments, which the user of the sandbox must be able to read."""
    if own := os.environ.get(NAMED_BY):
        return Path(own).absolute()
    return OF_ROOT if os.geteuid() == 0 else cache_folder() / "sandbox"


def _path() -> Path:
    return environments() / f"python-{platform.python_version()}-{platform.machine()}-{packages_digest()}"


def found() -> Environment | None:
    """The environment, if it is made."""
    path = _path()
    return Environment(path, packages()) if (path / "made.json").is_file() else None


def make(say: Callable[[str], None] = lambda line: None) -> Environment:
    """The environment, which is made if it is not there. say: gets a line before that.

    Errors: ConfigError where it can't be made.
    """
    if there := found():
        return there
    path = _path()
    say(f"making the Python of the sandbox in {path} (once; {len(packages())} packages)")
    try:
        _make_folder(path.parent)
        with _locked(path.parent / ".lock"):
            if found() is None:
                _build(path)
    except OSError as error:
        where = str(error.filename or path)
        hint = f"Make room for it, or name another folder: {NAMED_BY}=DIR."
        raise ConfigError(
            f"the sandbox's Python can't be made: {error.strerror or error}.", where=where, hint=hint
        ) from error
    return Environment(path, packages())


def _make_folder(path: Path) -> None:
    """Makes a folder that other users may enter."""
    for each in reversed([folder for folder in (path, *path.parents) if not folder.exists()]):
        each.mkdir(exist_ok=True)
        each.chmod(0o755)


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(path: Path) -> None:
    beside = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
    try:
        beside.chmod(0o755)
        _install(beside / "packages", beside / "pip")
        shutil.rmtree(beside / "pip", ignore_errors=True)
        if Path(sys.base_prefix) != Path("/usr") and not _others_read(Path(sys.base_prefix)):
            _copy_python(beside / "python")
        made = Environment(beside, packages())
        lists_fonts = "import matplotlib.font_manager, cv2, scipy, skimage, pandas, networkx, sympy, ipykernel"
        own = {**environment(made.outside, str(beside / "packages")), "MPLCONFIGDIR": str(beside / "fonts")}
        _checked([made.outside, "-s", "-P", "-c", lists_fonts], own)
        for each in (beside / "fonts").iterdir():
            each.chmod(0o644)
        (beside / "fonts").chmod(0o755)
        stated = {"python": platform.python_version(), "packages": packages()}
        (beside / "made.json").write_text(json.dumps(stated, indent=1))
        shutil.rmtree(path, ignore_errors=True)  # one without made.json
        beside.rename(path)
    finally:
        shutil.rmtree(beside, ignore_errors=True)


def environment(python: str, packages: str) -> dict[str, str]:
    """The variables of Python in an environment, and no others."""
    return {
        "PATH": f"{os.path.dirname(python)}:/usr/bin:/bin",
        "LD_LIBRARY_PATH": os.path.join(os.path.dirname(os.path.dirname(python)), "lib"),
        "PYTHONPATH": packages,
        "PYTHONHASHSEED": "0",
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONNOUSERSITE": "1",
        "MPLBACKEND": "module://matplotlib_inline.backend_inline",
        "LANG": "C.UTF-8",
        **{f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMEXPR", "OPENCV_FOR_THREADS")},
    }


def _install(target: Path, pip_folder: Path) -> None:
    """Installs wheels only, so that no code of a package runs meanwhile."""
    pip = [sys.executable, "-m", "pip"]
    if importlib.util.find_spec("pip") is None:
        _checked([sys.executable, "-m", "venv", str(pip_folder)], dict(os.environ))
        pip = [str(pip_folder / "bin" / "python"), "-m", "pip"]
    options = ["--only-binary", ":all:", "--no-deps", "--quiet", "--no-input", "--disable-pip-version-check"]
    _checked([*pip, "install", *options, "--target", str(target), "-r", str(REQUIREMENTS)], dict(os.environ))


def _checked(command: list[str], variables: Mapping[str, str]) -> None:
    """Runs a command. ConfigError with the last line of what it says if it fails."""
    try:
        done = subprocess.run(
            command, env=variables, stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, umask=0o022
        )
    except subprocess.TimeoutExpired as error:
        raise ConfigError(f"the sandbox's Python was not made within {SECONDS} s.") from error
    if done.returncode:
        said = [line for line in done.stderr.decode(errors="replace").splitlines() if line.strip()]
        errors = [line for line in said if line.startswith("ERROR")] or said or ["it said nothing"]
        hint = "It takes packages from PyPI once: make it on a machine with network, with the same Python."
        raise ConfigError(f"the sandbox's Python can't be made: {in_line(errors[-1], 300)}.", hint=hint)


def _others_read(path: Path) -> bool:
    """Whether a user without rights may read a folder."""
    return all(each.stat().st_mode & 0o001 for each in (path, *path.parents)) and bool(path.stat().st_mode & 0o004)


def _copy_python(target: Path) -> None:
    """Copies the base Python, without packages and tests."""
    base, version = Path(sys.base_prefix), f"python{sys.version_info[0]}.{sys.version_info[1]}"
    (target / "bin").mkdir(parents=True)
    for folder in (target, target / "bin"):
        folder.chmod(0o755)
    shutil.copy(base / "bin" / version, target / "bin" / version)
    shutil.copytree(base / "lib" / version, target / "lib" / version, ignore=LEFT_OUT, symlinks=True)
    for library in (base / "lib").glob("libpython*"):
        shutil.copy(library, target / "lib" / library.name, follow_symlinks=False)
    (target / "lib").chmod(0o755)


def _name() -> str:
    return f"python{sys.version_info[0]}.{sys.version_info[1]}"
