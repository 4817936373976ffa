"""Prints every sentence of the code that a user can see, one per line with its place, so that they can be read in one go.

    python docs/make/strings.py [FOLDER ...]

A sentence is a text of at least three words that is not a docstring. What the code puts into it is shown in braces. Of
the scripts of the pages it prints the quoted texts. A prompt looks like a sentence and is printed too.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
FOLDERS = ("mm_eval", "models", "assets/report")
SENTENCE = re.compile(r"[A-Za-z{}][\w{}.,:'()/-]*\s+\S+\s+\S+")
"""Three words, the first of them not a sign."""
QUOTED = re.compile(r"""(["'`])((?:(?!\1)[^\\\n]|\\.)*)\1""")
"""A quoted text of a script, on one line."""


def sentences_of(source: str, *, is_script: bool) -> Iterator[tuple[int, str]]:
    """(line, text) of each sentence of a file. is_script: of JavaScript, not of Python."""
    found = _of_script(source) if is_script else _of_python(source)
    yield from ((line, text) for line, text in found if SENTENCE.search(text))


def _of_python(source: str) -> Iterator[tuple[int, str]]:
    tree = ast.parse(source)
    skipped: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr):  # a docstring, of a module, class, function or value
            skipped.update(id(each) for each in ast.walk(node) if isinstance(node.value, ast.Constant | ast.JoinedStr))
        if isinstance(node, ast.JoinedStr):
            skipped.update(id(each) for each in node.values)
        if id(node) in skipped:
            continue
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(_part(each) for each in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.lineno, node.value


def _part(node: ast.expr) -> str:
    """A part of an f-string: its text, or {...} with what is put in there."""
    if isinstance(node, ast.FormattedValue):
        return "{" + ast.unparse(node.value) + "}"
    return str(node.value) if isinstance(node, ast.Constant) else ""


def _of_script(source: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(source.splitlines(), start=1):
        if not line.lstrip().startswith(("//", "*", "/*")):
            yield from ((number, found[2]) for found in QUOTED.finditer(line))


def main(folders: list[str]) -> None:
    for folder in folders or FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in (".py", ".js") and "__pycache__" not in path.parts:
                for line, text in sentences_of(path.read_text(encoding="utf-8"), is_script=path.suffix == ".js"):
                    print(f"{path.relative_to(ROOT)}:{line}: {' '.join(text.split())}")


if __name__ == "__main__":
    main(sys.argv[1:])
