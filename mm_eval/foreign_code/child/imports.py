"""How an import in task code is answered: other suites' modules by stand-ins, files of the same tree by themselves, and a package
that is not installed by a `Missing`.

    lmms_eval.tasks.mmmu.utils    the file of the tree in which the task's own file lies
    lmms_eval.filters             ours (stand_ins/), whether lmms-eval is installed or not: a score depends on neither
    lmms_eval.models.qwen         lmms-eval's own, if it is installed, else missing
    loguru                        its own, else ours
    openai                        nothing that opens a connection
    cv2                           its own, else missing, unless the code says what it does without it
"""

from __future__ import annotations

import ast
import builtins
import importlib
import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from mm_eval.config.packages import package_of
from mm_eval.config.suites import SUITES
from mm_eval.config.suites.reading import file_in_tree
from mm_eval.foreign_code.child.guard import refuse_package
from mm_eval.foreign_code.child.missing import HTTP, SDKS, Missing
from mm_eval.foreign_code.child.stand_ins.served import SERVED

TASK_FILES = "_mm_eval_task_"
"""How the names of modules of task files begin (`config.functions`)."""
STAND_INS = f"{__package__}.stand_ins"


class OfSuites(MetaPathFinder, Loader):
    """Finds the modules of other suites. folders: those of the task files that this process has imported, the last first."""

    def __init__(self) -> None:
        self.folders: list[Path] = []
        self._path = list(sys.path)

    def beside(self, file: Path) -> None:
        """From now on a file's tree is looked at first.

        What the files of another folder have put on the path, and imported from there as `utils`, is not this one's.
        """
        if file.parent in self.folders[:1]:
            return
        if self.folders:
            sys.path[:] = self._path
            for name, module in list(sys.modules.items()):
                if "." not in name and not name.startswith(TASK_FILES) and self.has(getattr(module, "__file__", None)):
                    del sys.modules[name]
        self.folders = [file.parent, *(folder for folder in self.folders if folder != file.parent)]

    def has(self, file: object) -> bool:
        """Whether a file is in the folder of a task file, or in the one around it."""
        if not isinstance(file, str):
            return False
        around = [
            folder for each in self.folders[:1] for folder in (each, each.parent) if str(folder) not in self._path
        ]
        return any(file.startswith(f"{folder}{os.sep}") for folder in around)

    def find_spec(self, fullname: str, path: Sequence[str] | None = None, target: object = None) -> ModuleSpec | None:
        suite, _, rest = fullname.partition(".")
        if suite not in SUITES:
            return None
        if rest.startswith("tasks."):
            parts = rest.split(".")[1:]
            for folder in self.folders:
                if (found := file_in_tree(folder, parts)) is not None:
                    return _spec_of_file(fullname, found)
        if not rest or rest in SERVED:
            return ModuleSpec(fullname, self, is_package=True)
        return self._installed(suite, fullname)

    @staticmethod
    def _installed(suite: str, fullname: str) -> ModuleSpec | None:
        roots = _installed_folders(suite)
        parent = fullname.split(".")[1:-1]
        return PathFinder.find_spec(fullname, [os.path.join(root, *parent) for root in roots]) if roots else None

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return ModuleType(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        suite, _, rest = module.__name__.partition(".")
        vars(module)["__getattr__"] = lambda name: _other_name(module, suite, rest, name)
        for file in SERVED.get(rest, ()):
            ours = vars(_stand_in(file))
            vars(module).update({name: value for name, value in ours.items() if name[:2] != "__"})


def _stand_in(file: str) -> ModuleType:
    return importlib.import_module(f"{STAND_INS}.{file}")


def _spec_of_file(fullname: str, file: Path) -> ModuleSpec | None:
    if file.is_dir():
        start = file / "__init__.py"
        if start.is_file():
            return importlib.util.spec_from_file_location(fullname, start, submodule_search_locations=[str(file)])
        spec = ModuleSpec(fullname, None, is_package=True)
        spec.submodule_search_locations = [str(file)]
        return spec
    return importlib.util.spec_from_file_location(fullname, file)


@lru_cache(maxsize=4)
def _installed_folders(suite: str) -> tuple[str, ...]:
    """The folders of a suite's package, where it is installed."""
    spec = PathFinder.find_spec(suite)
    return tuple(spec.submodule_search_locations or ()) if spec is not None else ()


def _other_name(module: ModuleType, suite: str, rest: str, name: str) -> object:
    """A name that the stand-in of a module lacks: a module below it, else the suite's own if that is installed, else missing."""
    if name.startswith("__"):
        raise AttributeError(name)
    below = f"{rest}.{name}" if rest else name
    if below in SERVED:
        return importlib.import_module(f"{suite}.{below}")
    if rest == "tasks":
        try:
            return importlib.import_module(f"{suite}.{below}")
        except ModuleNotFoundError as error:
            if error.name != f"{suite}.{below}":
                raise
    for file in SERVED.get(rest, ()):
        if refuse := getattr(_stand_in(file), "unknown_name", None):
            refuse(name)
    found = _own_module(suite, rest)
    return getattr(found, name) if hasattr(found, name) else Missing(f"{suite}.{below}")


@lru_cache(maxsize=64)
def _own_module(suite: str, rest: str) -> ModuleType | None:
    """The suite's own module of a name that is served, loaded beside it; None if the suite is not installed."""
    parts = rest.split(".") if rest else []
    for root in _installed_folders(suite):
        for file in (Path(root, *parts).with_suffix(".py"), Path(root, *parts, "__init__.py")):
            if file.is_file() and parts:
                spec = importlib.util.spec_from_file_location(f"{suite}.{rest}", file)
                assert spec is not None and spec.loader is not None
                module = importlib.util.module_from_spec(spec)
                spec.loader.exec_module(module)
                return module
    return None


# ------------------------------------------------------------------ packages that are not installed
_import = builtins.__import__


def is_task_code(variables: Mapping[str, object] | None) -> bool:
    """Whether the module with these variables is a file of a task."""
    variables = variables or {}
    name = str(variables.get("__name__", ""))
    return name.startswith((TASK_FILES, *(f"{suite}.tasks." for suite in SUITES))) or _FINDER.has(
        variables.get("__file__")
    )


def _import_of_task(
    name: str, globals: Any = None, locals: Any = None, fromlist: Sequence[str] | None = (), level: int = 0
) -> Any:
    """`import` as task code sees it; any other code's is Python's own."""
    if level or not is_task_code(globals):
        return _import(name, globals, locals, fromlist or (), level)
    if _is_one_of(name, fromlist, SDKS):
        return _named(name, fromlist, is_client=True)
    try:
        return _import(name, globals, locals, fromlist or (), level)
    except ModuleNotFoundError as error:
        if name == "loguru" and error.name == name:
            return importlib.import_module(f"{STAND_INS}.logger")
        missing = str(error.name or name)
        frame = sys._getframe(1)
        at_top = frame.f_code.co_name == "<module>"
        if _is_file_of_theirs(missing, globals) or _has_other_way(str(globals.get("__file__")), frame.f_lineno, at_top):
            raise
        if "." in missing and PathFinder.find_spec(missing.split(".")[0]) is not None:
            raise  # the package is here, in another version
        if "*" in (fromlist or ()):
            raise ModuleNotFoundError(f"No module named {package_of(missing)!r}", name=package_of(missing)) from None
        is_client = _is_one_of(name, fromlist, HTTP)
        if not at_top and not is_client:
            refuse_package(missing)
        found = _named(name if missing.split(".")[0] == name.split(".")[0] else missing, fromlist, is_client)
        return found


def _is_one_of(name: str, fromlist: Sequence[str] | None, packages: Sequence[str]) -> bool:
    """Whether an import is of one of these packages, also as `from google import genai`."""
    asked = [f"{name}.{each}." for each in fromlist or ()] or [f"{name}."]
    return any(f"{name}.".startswith(f"{package}.") or asked[0].startswith(f"{package}.") for package in packages)


def _named(name: str, fromlist: Sequence[str] | None, is_client: bool) -> Missing:
    """What `import a.b` binds (a), or what `from a.b import c` takes names of."""
    return Missing(name if fromlist else name.split(".")[0], is_client)


def _is_file_of_theirs(missing: str, variables: Mapping[str, object]) -> bool:
    """Whether a missing module is beside the file, which imports it as if the folder were on the path."""
    return (Path(str(variables.get("__file__"))).parent / f"{missing.split('.')[0]}.py").is_file()


def _has_other_way(file: str, line: int, at_top: bool) -> bool:
    """Whether the code says what to do without the package that it imports on a line.

    At the top of a file: the `try` around the import, or what it does after an ImportError, defines something else. In a
    function: it catches ImportError by that name.
    """
    return any(start <= line <= end for start, end, top in _guarded_lines(file) if top == at_top)


@lru_cache(maxsize=1024)
def _guarded_lines(file: str) -> tuple[tuple[int, int, bool], ...]:
    try:
        tree = ast.parse(Path(file).read_bytes())
    except (OSError, SyntaxError, ValueError):
        return ()
    inside = {
        node: True
        for function in ast.walk(tree)
        if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
        for node in ast.walk(function)
    }
    found = []
    for node in ast.walk(tree):
        if not isinstance(node, ast.Try) or not node.body:
            continue
        at_top = node not in inside
        handlers = [handler for handler in node.handlers if _catches(handler, by_name=not at_top)]
        if handlers and (not at_top or _defines(node.body, handlers)):
            found.append((node.body[0].lineno, node.body[-1].end_lineno or node.body[-1].lineno, at_top))
    return tuple(found)


def _catches(handler: ast.ExceptHandler, by_name: bool) -> bool:
    """Whether a handler is for a missing package. by_name: only one that says so."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    names = {ast.unparse(kind) if kind is not None else "" for kind in kinds}
    return bool(
        names & ({"ImportError", "ModuleNotFoundError"} | (set() if by_name else {"", "Exception", "BaseException"}))
    )


def _defines(body: Sequence[ast.stmt], handlers: Sequence[ast.ExceptHandler]) -> bool:
    """Whether a handler binds or raises something, or the body binds more than what it imports."""
    for statement in [*body, *(statement for handler in handlers for statement in handler.body)]:
        in_handler = statement not in body
        for node in ast.walk(statement):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                return True
            if in_handler and isinstance(node, (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef, ast.Raise)):
                return True
    return False


_FINDER = OfSuites()


def answer_imports() -> OfSuites:
    """From now on imports of task code are answered as this file says."""
    sys.meta_path.insert(0, _FINDER)
    builtins.__import__ = _import_of_task
    return _FINDER
