"""Which task files must run in a process of their own, read from their source. Nothing is imported.

A file stays in this process if it imports only what gives values for values, and does nothing that every part of the process
would feel: no global random state, no attribute of another module, no state of its own that a call changes, no connection, no
program. Anything else, and any package that is not known, runs in a child process: there it may do as it likes.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path

from mm_eval.config.python_file import python_file, stamp_of
from mm_eval.config.suites import SUITES

PURE = frozenset(
    """__future__ abc array ast base64 binascii bisect calendar cmath codecs collections colorsys contextlib copy csv dataclasses
    datetime decimal difflib enum fractions functools hashlib heapq html inspect io itertools json keyword logging math numbers
    operator pathlib pprint random re statistics string struct textwrap tokenize types typing unicodedata uuid xml zlib zoneinfo
    typing_extensions""".split()  # noqa: SIM905  # a word a module
)
"""Modules of Python that a task's functions may use in this process."""

KNOWN = frozenset(
    """mm_eval numpy PIL datasets pyarrow pandas scipy sympy latex2sympy2_extended langdetect sacrebleu regex rapidfuzz
    Levenshtein editdistance dateutil""".split()  # noqa: SIM905
)
"""Packages that open no connection when their functions compute."""

OF_OS = frozenset({"path", "fspath", "sep", "linesep", "PathLike"})
OF_OS_PATH = frozenset({"join", "basename", "dirname", "splitext", "split", "normpath", "sep", "commonprefix"})
"""What of `os` only computes names: os.path.exists asks for files that may have to be unpacked first."""

LOADING = frozenset({"load_dataset", "load_dataset_builder", "load_from_disk", "snapshot_download", "hf_hub_download"})
RUNS_ANYTHING = frozenset({"print", "exec", "eval", "__import__", "globals", "setattr", "delattr", "exit", "quit"})
CHANGES = frozenset(
    """append add extend insert update setdefault pop popitem remove discard clear sort reverse
    appendleft""".split()  # noqa: SIM905
)
"""Methods that change a list, a dictionary or a set."""
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def needs_process(files: Sequence[Path]) -> bool:
    """Whether a file, given with those beside it that it imports, must run in a process of its own."""
    return any(_reason(file, stamp_of(file)) for file in files)


@lru_cache(maxsize=4096)
def _reason(file: Path, stamp: tuple[int, int]) -> str:
    """Why a file must run in a process of its own; empty if it needn't, or if it can't be read, which its import reports."""
    tree = python_file(file).tree
    return next(reasons(tree), "") if tree is not None else ""


def reasons(tree: ast.Module) -> Iterator[str]:
    """Why a file with this syntax tree must run in a process of its own."""
    modules: dict[str, str] = {}  # what each name of a module stands for
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _unknown(alias.name)
                modules[alias.asname or alias.name.partition(".")[0]] = alias.name if alias.asname else _top(alias.name)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from _unknown(node.module or "")
            for alias in node.names:
                modules[alias.asname or alias.name] = f"{node.module}.{alias.name}"
    for name, stands_for in modules.items():
        yield from _forbidden(stands_for, f"imports {name}")
    yield from _changed_state(tree, modules)
    yield from _uses(tree, modules)


def _top(module: str) -> str:
    return module.partition(".")[0]


def _unknown(module: str) -> Iterator[str]:
    if module == "os" or module == "os.path":
        return
    if _top(module) not in PURE | KNOWN:
        yield f"imports {module}"


def _forbidden(dotted: str, what: str) -> Iterator[str]:
    """Whether a name of a known module, such as `random.choice`, is one that does more than compute."""
    parts = dotted.split(".")
    match parts:
        case ["random", "Random", *_] | ["random"] | ["os"] | ["os", "path"] | ["numpy", "random"]:
            return
        case ["random", *_]:
            yield f"{what}: {dotted}"
        case ["numpy", "random", name, *_] if name not in ("default_rng", "RandomState", "Generator", "SeedSequence"):
            yield f"{what}: {dotted}"
        case ["os", "path", name, *_] if name not in OF_OS_PATH:
            yield f"{what}: {dotted}"
        case ["os", name, *_] if name not in OF_OS:
            yield f"{what}: {dotted}"
        case [package, *_, name] if package in ("datasets", "huggingface_hub") and name in LOADING:
            yield f"{what}: {dotted}"


def _dotted(node: ast.AST, modules: dict[str, str]) -> str:
    """The full name of an attribute of a module ("numpy.random.seed"); empty for anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name) or node.id not in modules:
        return ""
    return ".".join([modules[node.id], *reversed(names)])


def _uses(tree: ast.Module, modules: dict[str, str]) -> Iterator[str]:
    """What the code of a file calls, and what its functions take."""
    for node in ast.walk(tree):
        match node:
            case ast.Attribute():
                yield from _forbidden(_dotted(node, modules), "uses")
            case ast.Call(func=ast.Name(id=name)) if name in RUNS_ANYTHING:
                yield f"calls {name}"
            case ast.arguments() if any(
                each.arg == "args" for each in (*node.posonlyargs, *node.args, *node.kwonlyargs)
            ):
                yield "takes the command line"
    for top in tree.body:  # a generator of the module continues from call to call
        for node in () if isinstance(top, FUNCTIONS) else ast.walk(top):
            if isinstance(node, ast.Call) and _dotted(node.func, modules).startswith(("random.", "numpy.random.")):
                yield f"has a generator of its own: {ast.unparse(node.func)}"


def _changed_state(tree: ast.Module, modules: dict[str, str]) -> Iterator[str]:
    """What a file assigns to another module, and what its functions change of its own."""
    own = {
        target.id
        for top in tree.body
        if isinstance(top, (ast.Assign, ast.AnnAssign))
        for target in (top.targets if isinstance(top, ast.Assign) else [top.target])
        if isinstance(target, ast.Name) and isinstance(top.value, (ast.List, ast.Dict, ast.Set, ast.Call, ast.ListComp))
    }
    for node in ast.walk(tree):
        for target in _targets(node):
            if isinstance(target, (ast.Attribute, ast.Subscript)) and _base(target) in modules:
                yield f"assigns to {ast.unparse(target)}"
    for function in (node for node in ast.walk(tree) if isinstance(node, FUNCTIONS[:2])):
        local = {each.arg for each in ast.walk(function.args) if isinstance(each, ast.arg)}
        local |= {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        for node in ast.walk(function):
            changed = [_base(each) for each in _targets(node) if isinstance(each, (ast.Attribute, ast.Subscript))]
            match node:
                case ast.Global(names=names):
                    yield f"changes {', '.join(names)}"
                case ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr=method)) if method in CHANGES:
                    changed.append(name)
            yield from (f"changes {name}" for name in changed if name in own - local)


def _targets(node: ast.AST) -> list[ast.expr]:
    if isinstance(node, (ast.Assign, ast.Delete)):
        return [
            each for target in node.targets for each in (target.elts if isinstance(target, ast.Tuple) else [target])
        ]
    return [node.target] if isinstance(node, (ast.AugAssign, ast.AnnAssign)) else []


def _base(node: ast.expr) -> str:
    """The first name of `a.b[c].d`."""
    while isinstance(node, (ast.Attribute, ast.Subscript)):
        node = node.value
    return node.id if isinstance(node, ast.Name) else ""


LEVELS = 8
"""How many folders above a file are looked at."""


def file_in_tree(folder: Path, parts: Sequence[str]) -> Path | None:
    """The file, or the folder, of a module below a suite's `tasks`, for a file in `folder`."""
    above = [folder, *folder.parents][:LEVELS]
    for root in sorted(above, key=lambda each: (each.parent.name, each.name) not in [(s, "tasks") for s in SUITES]):
        for found in (root.joinpath(*parts).with_suffix(".py"), root.joinpath(*parts)):
            if found.is_file() and found.suffix == ".py" or found.is_dir():
                return found
    return None


def imported_of_tree(file: Path, module: str = "") -> list[Path]:
    """The files of the same tree that a file imports by the suite's name; with a module: its file. Imports nothing."""
    return [Path(path) for path in _imported(file, stamp_of(file), module)]


@lru_cache(maxsize=4096)
def _imported(file: Path, stamp: tuple[int, int], module: str) -> tuple[str, ...]:
    tree, found = python_file(file).tree, list[str]()
    for dotted in [module] if module else _modules(tree) if tree else ():
        suite, _, rest = dotted.partition(".")
        if suite in SUITES and rest.startswith("tasks."):
            path = file_in_tree(file.parent, rest.split(".")[1:])
            if path is not None and path.is_dir():
                path = path / "__init__.py"
            if path is not None and path.is_file() and path != file:
                found.append(str(path))
    return tuple(dict.fromkeys(found))


def _modules(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and not node.level:
            yield from (f"{node.module}.{alias.name}" for alias in node.names)
            yield node.module or ""


def file_of_suite(name: str, file: Path) -> Path | None:
    """The file of a function that a YAML file names as a suite's code would import it; None for any other name."""
    suite, *parts = name.split(".")[:-1]
    return file_in_tree(file.parent, parts[1:]) if suite in SUITES and parts[:1] == ["tasks"] else None
