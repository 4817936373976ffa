"""What files may import from outside the house, what listing may import, and what no file may use. Its order: test_house.py."""

import ast
import importlib
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import mm_eval.values.errors
from tests.sets import each_of
from tests.source import called

ROOT = Path(__file__).parent.parent
PUBLIC = {"types", "errors", "registry", "filters", "metrics", "scorers", "training"}
"""Thin modules with public names."""
HEAVY = {"torch", "transformers", "datasets", "numpy", "PIL", "jinja2", "yaml", "tqdm", "sacrebleu", "pandas"}
UNSAFE = {"pickle", "dill", "marshal", "shelve"}
ERRORS = {name for name, value in vars(mm_eval.values.errors).items() if isinstance(value, type)}
FORBIDDEN = {"eval", "exec", "os.system", "os.popen", "yaml.load", "yaml.unsafe_load"}
OPENERS = ("Image.open", "torch.load")
"""Calls that need a certain argument."""
FILES = [path for folder in ("mm_eval", "models", "tasks") for path in sorted((ROOT / folder).rglob("*.py"))]


@dataclass(frozen=True)
class Source:
    """What the rules ask of a file. imports: (name, node); top: those at module level; calls: (what is called, node)."""

    imports: list[tuple[str, ast.Import | ast.ImportFrom]]
    all_imports: list[ast.Import | ast.ImportFrom]
    top: set[ast.stmt]
    calls: list[tuple[str, ast.Call]]


@cache
def source(path: Path) -> Source:
    """Each file is parsed once for all rules; of its calls those stay that a rule is about."""
    found = Source([], [], set(), [])
    for node in ast.walk(tree := ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = called(node.func)
            if name in FORBIDDEN or name.endswith(OPENERS) or any(each.arg == "shell" for each in node.keywords):
                found.calls.append((name, node))
        elif isinstance(node, ast.Import):
            found.all_imports.append(node)
            found.imports.extend((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.all_imports.append(node)
            if node.module and not node.level:
                found.imports.append((node.module, node))
    found.top.update(node for node in found.all_imports if node in tree.body)
    return found


@each_of(
    "name",
    [*sorted(PUBLIC), "metrics.metric", "metrics.traits", "metrics.bounds", "engine.model", "api", "config.manager"],
)
def test_public_paths_stay(name: str) -> None:
    module = importlib.import_module(f"mm_eval.{name}")
    assert [each for each in vars(module) if each[0] != "_"], "public names"


def test_the_manager_of_tasks_is_found_by_all_its_names() -> None:
    from mm_eval.tasks import TaskManager as of_tasks

    from mm_eval import TaskManager
    from mm_eval.config import TaskManager as of_config
    from mm_eval.config.manager import TaskManager as of_manager

    assert TaskManager is of_config is of_manager is of_tasks


def test_entry_point_groups_stay() -> None:
    """Packages of others are installed with these names."""
    from mm_eval.config.formats import FORMATS
    from mm_eval.config.index import ENTRY_POINTS
    from mm_eval.engine.model import MODELS
    from mm_eval.scoring.base import SCORERS
    from mm_eval.scoring.filters.base import FILTERS
    from mm_eval.scoring.metrics.metric import METRICS

    groups = [each.entry_points for each in (MODELS, METRICS, FILTERS, SCORERS, FORMATS)]
    assert [*groups, ENTRY_POINTS] == [
        f"mm_eval.{n}" for n in ("models", "metrics", "filters", "scorers", "formats", "tasks")
    ]


COMMANDS_OF_TASKS = ("tasks/omnidocbench/cdm.py",)
"""Commands beside a task's rules that read a run: no task imports them."""


def test_import_arrows() -> None:
    for path in FILES:
        check_import_arrows(path)


def check_import_arrows(path: Path) -> None:
    area = path.relative_to(ROOT).parts[0]
    top = source(path).top
    for name, node in source(path).imports:
        head, _, rest = name.partition(".")
        line = f"{path.relative_to(ROOT)}:{node.lineno} imports {name}"
        assert head not in UNSAFE, line
        target = rest.split(".")[0]
        if area == "mm_eval":
            mine = path.relative_to(ROOT / "mm_eval").with_suffix("").parts[0]
            public = mine in PUBLIC and target == "tasks"  # the rules that benchmarks share have public names, too
            assert public or target not in ("models", "tasks") or head != "mm_eval", line
            if mine in ("values", "config", "cli") and node in top:
                # yaml.py is the one file of config that parses YAML; it is imported only for files that changed
                assert path.name == "yaml.py" or head not in HEAVY, f"{line}: this would make --help and ls slow"
            assert not (node in top and head in {"torch", "transformers", "datasets"}), line
            if mine == "values" and node in top:
                assert head == "mm_eval" or head in sys.stdlib_module_names, (
                    f"{line}: values need the standard library only"
                )
        elif head == "mm_eval" and rest and path.relative_to(ROOT).as_posix() not in COMMANDS_OF_TASKS:
            allowed = {
                "models": {"values", "config", "engine", "data", "prompt", "tools", "judge", "models"},
                "tasks": {"values", "scoring", "tasks", *PUBLIC},
            }[area]
            assert target in allowed, line
            shared = path.parent.name == "rules"  # their metrics check their own options
            if area == "tasks" and not shared and name == "mm_eval.values.errors" and isinstance(node, ast.ImportFrom):
                assert {alias.name for alias in node.names} == {"DocError"}, f"{line}: the one error that tasks raise"


def test_no_eval_no_exec_no_shell() -> None:
    for path in FILES:
        check_calls(path)


def check_calls(path: Path) -> None:
    for name, node in source(path).calls:
        line = f"{path.relative_to(ROOT)}:{node.lineno} calls {name}"
        assert name not in FORBIDDEN, line
        assert not any(keyword.arg == "shell" for keyword in node.keywords), line
        if name.endswith("Image.open"):
            assert any(keyword.arg == "formats" for keyword in node.keywords), f"{line} without a list of formats"
        if name == "torch.load":
            assert any(k.arg == "weights_only" and ast.unparse(k.value) == "True" for k in node.keywords), line
