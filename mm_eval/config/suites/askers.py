"""Scoring functions of lmms-eval that ask a judge through its `llm_judge` module, run with recorded replies.

A task's `process_results` there builds a server at import and asks it one question after another (MM-Vet, MathVerse).
Here the server (foreign_code/child/stand_ins/llm_judge.py, in the process of the task's code) looks a question up among the
judge's known replies to this doc (replies.py beside its folder). Which functions ask is read from their source, by `asks`. If the
reply is not known, the call ends by what is not an Exception, so that the task's code can't turn it into a verdict.
The engine asks the question like any other, and `process_results` runs again from the beginning, until it asks nothing new. So
every reply is recorded, and a judge that fails is a failure of the judge, never the 0 or -1 of the task's code.

The judge is the one of `--judge`, whatever model the code names. Temperature and token cap are those of the code. The same
question again within one doc means that the code could not read the reply: it gets a further one, `--judge_retries` times.
Code that asks in another way is refused (guard.py there).
"""

from __future__ import annotations

import ast
import importlib.util
from functools import lru_cache
from pathlib import Path

from mm_eval.config.python_file import python_file, with_siblings
from mm_eval.config.suites import PACKAGE
from mm_eval.config.suites.reading import imported_of_tree

MODULE = f"{PACKAGE}.llm_judge"
WHY_REFUSED = (
    "and a failure of that call could not be told from a verdict. Only mm-eval itself asks a judge: state `judge:` (a prompt and "
    "a verdict) in the task's YAML, and name the judge with --judge"
)
"""Why a task's code opens no connection."""
VERIFIERS = (
    *(f"{PACKAGE}.verifiers.{name}" for name in ("openai", "gemini", "build_verification_pipeline")),
    *(f"{PACKAGE}.verifiers.{name}" for name in ("OpenAIVerifier", "GeminiVerifier")),
)
"""The names of lmms-eval's verifiers that ask a judge."""


def asks(file: Path, function: str) -> bool:
    """Whether a function of a file uses the module, directly or through what it names. Nothing is imported.

    Files beside it and files of lmms-eval's tasks are followed, name by name: a file may have functions of both kinds.
    """
    if not any(PACKAGE in python_file(each).packages for each in with_siblings(file)):
        return False
    return _reaches(file, function, set())


def _reaches(file: Path, name: str, seen: set[tuple[Path, str]]) -> bool:
    if (file, name) in seen or not file.is_file():
        return False
    seen.add((file, name))
    tree = python_file(file).tree
    for top in tree.body if tree else ():
        if not (name == "*" or name in _bound(top)):
            continue
        for node in ast.walk(top):
            if isinstance(node, ast.Name) and _reaches(file, node.id, seen):
                return True
            if isinstance(node, (ast.Import, ast.ImportFrom)) and _imports_it(file, node, name, node is top, seen):
                return True
    return False


def _bound(node: ast.stmt) -> set[str]:
    """The names that a statement at the top of a file defines; of `if`, `try` and `with` those inside."""
    if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        return {node.name}
    names = {found.id for found in ast.walk(node) if isinstance(found, ast.Name) and isinstance(found.ctx, ast.Store)}
    for found in ast.walk(node):
        if isinstance(found, (ast.Import, ast.ImportFrom)):
            names |= {(alias.asname or alias.name).partition(".")[0] for alias in found.names}
        elif isinstance(found, (ast.FunctionDef, ast.ClassDef)):
            names.add(found.name)
    return names


def _imports_it(
    file: Path, node: ast.Import | ast.ImportFrom, name: str, at_top: bool, seen: set[tuple[Path, str]]
) -> bool:
    """Whether an import brings the module, or a name that uses it. at_top: only what binds `name` counts."""
    for alias in node.names:
        if at_top and name not in ("*", (alias.asname or alias.name).partition(".")[0]):
            continue
        module = alias.name if isinstance(node, ast.Import) else node.module or ""
        for dotted in (module, f"{module}.{alias.name}"):
            if any(dotted == judge or dotted.startswith(f"{judge}.") for judge in (MODULE, *VERIFIERS)):
                return True
        if isinstance(node, ast.ImportFrom) and node.level == 1:
            files = [file.parent / f"{module or alias.name}.py"]
        elif module.startswith(f"{PACKAGE}.tasks."):
            files = [root.joinpath(*module.split(".")[1:]).with_suffix(".py") for root in _roots()]
            files = imported_of_tree(file, module) or files
        else:
            continue
        wanted = alias.name if isinstance(node, ast.ImportFrom) and module else "*"
        if any(_reaches(each, wanted, seen) for each in files):
            return True
    return False


@lru_cache(maxsize=1)
def _roots() -> list[Path]:
    """The folders of lmms-eval's package, where it is installed."""
    spec = importlib.util.find_spec(PACKAGE)
    return [Path(folder) for folder in (spec.submodule_search_locations or ())] if spec is not None else []
