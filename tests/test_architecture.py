"""The house's walls: who may import whom, what listing may import, what no file may use, and how long a file may be."""

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

import mm_eval.errors

ROOT = Path(__file__).parent.parent
ORDER = ["catalog", "task", "engine", "filters", "metrics", "scorers", "runs", "report", "cli"]
LEAVES = {"types", "errors", "registry", "arguments", "files", "words"}
HEAVY = {"torch", "transformers", "datasets", "numpy", "PIL", "jinja2", "yaml", "tqdm", "sacrebleu", "pandas"}
UNSAFE = {"pickle", "dill", "marshal", "shelve"}
ERRORS = {name for name, value in vars(mm_eval.errors).items() if isinstance(value, type)}
FILES = [path for folder in ("mm_eval", "models", "tasks") for path in sorted((ROOT / folder).rglob("*.py"))]


def imports(tree: ast.AST) -> Iterator[tuple[str, ast.stmt]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module, node


def place(path: Path) -> str:
    """The part of the core that a file belongs to: a folder, or the file's own name at the top."""
    parts = path.relative_to(ROOT / "mm_eval").with_suffix("").parts
    return parts[0]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_import_arrows(path: Path) -> None:
    area = path.relative_to(ROOT).parts[0]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    top = {id(node) for node in tree.body}
    for name, node in imports(tree):
        head, _, rest = name.partition(".")
        line = f"{path.relative_to(ROOT)}:{node.lineno} imports {name}"
        assert head not in UNSAFE, line
        target = rest.split(".")[0]
        if area == "mm_eval":
            mine = place(path)
            assert target not in ("models", "tasks") or head != "mm_eval", line
            if mine in LEAVES and head == "mm_eval" and rest:
                assert target in LEAVES, line
            if mine in ORDER and target in ORDER and head == "mm_eval":
                assert ORDER.index(target) <= ORDER.index(mine), line
            assert not (mine == "scorers" and name.startswith("mm_eval.engine")), line
            if mine in ("catalog", "cli", *LEAVES) and id(node) in top:
                lazy = (
                    path.name == "yaml.py"
                )  # the one catalog file that parses YAML; imported only for files that changed
                assert lazy or head not in HEAVY, f"{line}: this would make --help and ls slow"
            assert not (id(node) in top and head in {"torch", "transformers", "datasets"}), line
        elif head == "mm_eval" and rest:
            allowed = {
                "models": {"types", "errors", "arguments", "files", "words", "engine", "task", "models"},
                "tasks": {"metrics", "filters", "scorers", "types"},
            }[area]
            assert target in allowed, line
            if (
                area == "tasks" and target == "types" and isinstance(node, ast.ImportFrom)
            ):  # the one error that tasks raise
                assert not {alias.name for alias in node.names} & ERRORS - {"DocError"}, line


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_no_eval_no_exec_no_shell(path: Path) -> None:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            line = f"{path.relative_to(ROOT)}:{node.lineno} calls {called}"
            assert called not in {"eval", "exec", "os.system", "os.popen", "yaml.load", "yaml.unsafe_load"}, line
            assert not any(keyword.arg == "shell" for keyword in node.keywords), line
            if called.endswith("Image.open"):
                assert any(keyword.arg == "formats" for keyword in node.keywords), f"{line} without a list of formats"
            if called == "torch.load":
                assert any(k.arg == "weights_only" and ast.unparse(k.value) == "True" for k in node.keywords), line


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_has_at_most_350_lines(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 350


def code_lines(text: str) -> int:
    """The lines of a file that are neither blank nor a comment nor part of a docstring."""
    layout = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
    found: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in layout:
            found.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node) is not None:
            found -= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    return len(found)


def test_the_reading_path_is_as_short_as_the_tour_says() -> None:
    tour = (ROOT / "docs" / "tour.md").read_text(encoding="utf-8")
    stated = re.search(r"at most ([\d,]+) lines of code", tour)
    files = re.findall(r"^\| \[`[\w/.]+`\]\(\.\./([\w/.]+)\)", tour, re.MULTILINE)
    assert stated is not None and len(files) == 13
    lengths = {name: code_lines((ROOT / name).read_text(encoding="utf-8")) for name in files}
    assert sum(lengths.values()) <= int(stated[1].replace(",", "")), lengths
