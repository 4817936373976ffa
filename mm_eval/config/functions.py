"""`!function utils.f`: a reference to a function, checked without importing it and resolved only when a run needs it.

The name is `<file>.<function>`, of a file beside the YAML, or a function of `mm_eval`. Each file is loaded once per
process under a private name, so the `utils.py` of two tasks never collide. Such a file imports one beside it as
`from .helpers import x`; `from helpers import x` is not supported, since it would need the folder on `sys.path`, where
it would shadow other modules.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.machinery
import importlib.util
import re
import stat
import sys
import threading
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from mm_eval.config.foreign_code import ForeignCode, NoStream, Stream
from mm_eval.config.located import Place, shown_path
from mm_eval.config.python_file import python_file, stamp_of, with_siblings
from mm_eval.config.suites.reading import file_of_suite, imported_of_tree, needs_process
from mm_eval.package import FOLDERS
from mm_eval.values.errors import ConfigError, did_you_mean

_NAME = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+\Z", re.ASCII)
_LOCK = threading.RLock()
_LOADED: dict[Path, _Loaded] = {}


@dataclass(frozen=True)
class _Loaded:
    """An imported file of a task."""

    stamp: tuple[int, int]
    module: ModuleType


FOR_TASKS = {"filters": "scoring.filters", "metrics": "scoring.metrics", "scorers": "scoring", "tasks": "tasks"}
"""The public names in mm_eval whose functions a task may name, and where they stand. They take and give values, and act on
nothing else."""
HINT = (
    "Only <file>.<function> beside the YAML file, <folder>.<file>.<function> below it, or a function of mm_eval can be "
    "named."
)


@dataclass(frozen=True, repr=False)
class FunctionRef:
    """A function named in a YAML file. name: as written; file, line: where."""

    name: str
    file: Path
    line: int

    def __str__(self) -> str:
        return self.name

    def __repr__(self) -> str:
        return f"!function {self.name}"

    @property
    def where(self) -> str:
        return str(Place(self.file, self.line))

    @property
    def function(self) -> str:
        return self.name.rpartition(".")[2]

    @property
    def module(self) -> tuple[Path, str]:
        """Of two functions with the same one, `source` is the same."""
        return self.file, self.name.rpartition(".")[0]

    @property
    def of_mm_eval(self) -> bool:
        return self.name.startswith("mm_eval.")

    def source(self) -> Path:
        """The Python file that defines it. ConfigError if the name is invalid or the file is missing."""
        if not _NAME.match(self.name):
            raise ConfigError(
                f"!function {self.name!r} is not a valid name of a function.", where=self.where, hint=HINT
            )
        if self.of_mm_eval:
            return self._source_in_mm_eval()
        module, _, rest = self.name.partition(".")
        if "." in rest and (path_of_tree := file_of_suite(self.name, self.file)) is not None:
            return path_of_tree
        folder = self.file.parent
        path = folder.joinpath(*self.name.split(".")[:-1]).with_suffix(".py")
        below = "." in rest  # only then is there a folder between, which may be a link
        mode = 0
        with suppress(OSError, ValueError):
            mode = path.lstat().st_mode
        if stat.S_ISLNK(mode) or below and not path.resolve().is_relative_to(folder.resolve()):
            what = f"{shown_path(path)} is a symbolic link; it is not followed."
            raise ConfigError(what, where=self.where, hint=HINT)
        if not stat.S_ISREG(mode):
            if below:
                raise ConfigError(f"!function {self.name!r} has too many parts.", where=self.where, hint=HINT)
            beside = sorted(p.stem for p in folder.glob("*.py") if p.stem != "__init__")
            hint = did_you_mean(module, beside) if beside else HINT
            raise ConfigError(f"!function {self.name!r}: there is no {shown_path(path)}.", where=self.where, hint=hint)
        return path

    def _source_in_mm_eval(self) -> Path:
        if self.name.split(".")[1] not in FOR_TASKS:
            what = f"!function {self.name!r} is not for tasks."
            named = ", ".join(f"mm_eval.{part}" for part in FOR_TASKS)
            raise ConfigError(what, where=self.where, hint=f"From mm_eval, only functions of {named} can be named.")
        parts = self._module().split(".")[1:]
        for root in FOLDERS:
            for path in (root.joinpath(*parts).with_suffix(".py"), root.joinpath(*parts, "__init__.py")):
                if path.is_file():
                    return path
        raise ConfigError(f"!function {self.name!r}: mm_eval has no such module.", where=self.where, hint=HINT)

    def _module(self) -> str:
        """The module of a function of mm_eval: `mm_eval.metrics.aggregation` is in `mm_eval.scoring.metrics.aggregation`."""
        _, public, *rest, _ = self.name.split(".")
        return ".".join(["mm_eval", FOR_TASKS.get(public, public) if rest else public, *rest])

    def check(self) -> Path:
        """`source`. ConfigError if the file, or the function in it, is missing. Imports nothing."""
        path = self.source()
        names = None if self.of_mm_eval else python_file(path).names
        if names is not None and self.function not in names:
            hint = did_you_mean(self.function, names)
            raise ConfigError(f"{shown_path(path)} has no function {self.function!r}.", where=self.where, hint=hint)
        return path

    def resolve(self, code: ForeignCode) -> Callable[..., Any]:
        """The function itself; imports its file, ConfigError if that fails. code: what runs it if this process can't."""
        path = self.check()
        names: Sequence[str]
        try:
            if self.of_mm_eval:
                found, names = _named_in(importlib.import_module(self._module()), self.function)
            elif code.takes_all or runs_elsewhere(path):
                found, names = code.function(path, self.function)
            else:
                found, names = _named_in(load_file(path), self.function)
        except ConfigError as error:
            raise error.located(self.where) from error
        except (Exception, SystemExit) as error:  # the task's own code: whatever it raises is a fault of the config
            from mm_eval.config.packages import import_error

            raise import_error(error, self.name, self.file.parent, self.where) from error
        if not callable(found):
            what = f"!function {self.name!r} is {'missing' if found is None else 'not a function'}."
            hint = did_you_mean(self.function, names)
            raise ConfigError(what, where=self.where, hint=hint)
        if self.of_mm_eval and not str(getattr(found, "__module__", "")).startswith("mm_eval."):
            what = f"!function {self.name!r} is not defined in mm_eval."
            raise ConfigError(what, where=self.where, hint=HINT)
        function: Callable[..., object] = found
        return function

    def imports(self, package: str) -> bool:
        """Whether its file, or one beside it that the file imports, imports a package. Imports nothing itself."""
        if self.of_mm_eval:
            return False
        return any(package in python_file(file).packages for file in with_siblings(self.source()))

    def digest(self) -> str:
        """sha256 over the source of its file and of the files of its tree that it imports."""
        digest = hashlib.sha256()
        for file in with_siblings(self.source(), imported_of_tree):
            digest.update(f"{file.name}\0".encode())
            digest.update(hashlib.sha256(python_file(file).content).digest())
        return digest.hexdigest()


def _named_in(module: ModuleType, name: str) -> tuple[object, list[str]]:
    """(what a name of a module is, the names of it that can be called)."""
    return getattr(module, name, None), [n for n, value in vars(module).items() if callable(value) and n[0] != "_"]


class _Compiled(importlib.machinery.SourceFileLoader):
    """Compiles a file each time: a cached .pyc is taken for the file of another second of the same size."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return self.source_to_code(self.get_data(path), path)


def load_file(path: Path) -> ModuleType:
    """The module of a file, loaded once per process, and again if the file has changed."""
    with _LOCK:
        stamp = stamp_of(path)
        known = _LOADED.get(path)
        if known and known.stamp == stamp:
            return known.module
        name = f"{_package(path.parent)}.{path.stem}"
        spec = importlib.util.spec_from_file_location(name, path, loader=_Compiled(name, str(path)))
        if spec is None or spec.loader is None:
            raise ImportError(f"{path} can't be loaded")
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module  # under a name of its own, which no other module has
        try:
            spec.loader.exec_module(module)
        except BaseException:
            sys.modules.pop(name, None)
            raise
        _LOADED[path] = _Loaded(stamp, module)
        return module


def _package(folder: Path) -> str:
    """A private package for a folder, so that its files can import each other as `from .x import y`."""
    name = f"_mm_eval_task_{hashlib.sha256(str(folder).encode()).hexdigest()[:12]}"
    if name not in sys.modules:
        package = ModuleType(name)
        package.__path__ = [str(folder)]
        sys.modules[name] = package
    return name


def task_stream(references: Iterable[FunctionRef], code: ForeignCode) -> Stream:
    """A new random stream for the functions of a task, which are resolved. code: what runs those that can't run here."""
    modules = {reference.module: reference for reference in references if not reference.of_mm_eval}
    files = list(dict.fromkeys(reference.source() for reference in modules.values()))
    return code.stream(files) if any(code.takes_all or runs_elsewhere(file) for file in files) else NoStream()


def runs_elsewhere(file: Path) -> bool:
    """Whether the functions of a file run in a process of their own. Imports none of it."""
    return needs_process(with_siblings(file))
