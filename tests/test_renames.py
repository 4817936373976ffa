"""A checker sees through the house: a renamed definition or a misspelt field is reported where it is used.

Thirty definitions are drawn among those that another folder uses, all renamed in one copy, and mypy must name each in a file that
uses it. The typos stand in the same copy.
"""

from __future__ import annotations

import ast
import random
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.test_architecture import FILES, ROOT, source
from tests.test_house import MODULES, imported_files

DRAWN, SEED = 30, 2026
CHECKED = ("mm_eval", "models", "tasks", "benchmarks", "assets/make", "docs/make")
TYPOS = """

def _typos(request: RunRequest, opened: Prepared, results: Results, config: TaskConfig) -> None:
    request.judge.budgett  # an option
    request.no_such_option
    request.ray.worker
    request.deciding.stop_whem
    results.protocoll  # an entry of results
    results.judgess
    config.judgee  # a task key
    config.max_round
    opened.judgin  # a part of a run
    if opened.judging is not None:
        opened.judging.askk()  # a method of a part
    if opened.deciding is not None:
        opened.deciding.drawn_once(1)
"""


class Definition(NamedTuple):
    """A function, class or method, and the files of other folders that use it."""

    path: Path
    line: int
    name: str
    users: frozenset[Path]


def definitions() -> list[Definition]:
    """Those that another folder uses, and whose name is defined once, so that a message about the name is about it."""
    trees = {path: ast.parse(path.read_text(encoding="utf-8")) for path in FILES if path in set(MODULES.values())}
    kinds = (ast.FunctionDef, ast.ClassDef)
    nodes = [node for tree in trees.values() for node in ast.walk(tree)]
    names = Counter(node.name for node in nodes if isinstance(node, kinds))
    fields = [node.target for node in nodes if isinstance(node, ast.AnnAssign)]
    names.update(field.id for field in fields if isinstance(field, ast.Name))  # they have users of their own
    names.update(node.attr for node in nodes if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store))
    imported: dict[str, set[Path]] = {}
    attributes: dict[str, set[Path]] = {}
    for path, tree in trees.items():
        for node in source(path).all_imports:
            for alias in node.names if isinstance(node, ast.ImportFrom) else ():
                imported.setdefault(alias.name, set()).add(path)
        for node in ast.walk(tree):
            if isinstance(node, ast.Attribute):
                attributes.setdefault(node.attr, set()).add(path)
    found = []
    for path, tree in trees.items():
        for node in tree.body:
            if isinstance(node, kinds) and names[node.name] == 1:
                users = {
                    user
                    for user in imported.get(node.name, ())
                    if user.parent != path.parent and path in imported_files(user)
                }
                found.append(Definition(path, node.lineno, node.name, frozenset(users)))
            for inner in node.body if isinstance(node, ast.ClassDef) else ():
                if isinstance(inner, ast.FunctionDef) and names[inner.name] == 1:
                    users = {
                        user
                        for user in attributes.get(inner.name, ())
                        if user.parent != path.parent and path in imported_files(user)
                    }
                    found.append(Definition(path, inner.lineno, inner.name, frozenset(users)))
    return [each for each in found if each.users and not each.name.startswith("__")]


@pytest.mark.full
def test_a_renamed_definition_and_a_typo_are_reported(tmp_path: Path) -> None:
    for folder in CHECKED:
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=lambda at, names: _left_out(Path(at), names))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    drawn = random.Random(SEED).sample(definitions(), DRAWN)
    for each in drawn:
        copy = tmp_path / each.path.relative_to(ROOT)
        lines = copy.read_text(encoding="utf-8").split("\n")
        lines[each.line - 1] = re.sub(rf"\b{each.name}\b", f"{each.name}_renamed", lines[each.line - 1], count=1)
        copy.write_text("\n".join(lines), encoding="utf-8")
    run = tmp_path / "mm_eval/run.py"
    text = run.read_text(encoding="utf-8")
    first = text.count("\n") + 1
    run.write_text(f"{text}{TYPOS}\n    _: TaskConfig\n", encoding="utf-8")
    with run.open("a", encoding="utf-8") as file:
        file.write(
            "\n\nfrom mm_eval.config.task_config import TaskConfig\nfrom mm_eval.scoring.run_results import Results\n"
        )
    command = [sys.executable, "-m", "mypy", "--cache-dir", str(tmp_path / "cache"), "--no-error-summary"]
    said = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True).stdout.splitlines()

    def is_reported(each: Definition) -> bool:
        users = tuple(f"{user.relative_to(ROOT)}:" for user in each.users)
        return any(line.startswith(users) and f'"{each.name}"' in line for line in said)

    unseen = [f"{each.path.relative_to(ROOT)}: {each.name}" for each in drawn if not is_reported(each)]
    assert not unseen, unseen
    typos = {
        n for n, line in enumerate(TYPOS.split("\n"), first) if re.match(r"\s+(request|results|config|opened)\.", line)
    }
    reported = {int(line.split(":")[1]) for line in said if line.startswith("mm_eval/run.py:")}
    assert len(typos) == 11 and not typos - reported, typos - reported


def _left_out(folder: Path, names: list[str]) -> list[str]:
    """Data that no checker reads."""
    return [name for name in names if not (folder / name).is_dir() and not name.endswith((".py", ".typed"))]
