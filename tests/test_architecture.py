"""The house's walls: who may import whom, never in a circle; what listing may import; what no file may use."""

import ast
import importlib
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import mm_eval.values.errors
from mm_eval.request import RunRequest
from mm_eval.values.features import by_feature, options_of_features
from tests.sets import each_of
from tests.source import called

ROOT = Path(__file__).parent.parent
CORE = [
    "package", "values", "config", "data", "prompt", "request", "engine", "scoring", "preflight", "opening",
    "adapters", "prepare", "pending", "foreign", "results", "outputs", "run", "several", "cli", "api",
    "__main__",
]  # fmt: skip
"""The core's folders and files: each imports only those before it. `cli` finds the features by name."""
PUBLIC = {"types", "errors", "registry", "filters", "metrics", "scorers", "training"}
"""Thin modules with public names."""
HEAVY = {"torch", "transformers", "datasets", "numpy", "PIL", "jinja2", "yaml", "tqdm", "sacrebleu", "pandas"}
UNSAFE = {"pickle", "dill", "marshal", "shelve"}
ERRORS = {name for name, value in vars(mm_eval.values.errors).items() if isinstance(value, type)}
FORBIDDEN = {"eval", "exec", "os.system", "os.popen", "yaml.load", "yaml.unsafe_load"}
REQUESTS = ("request", "base", "given")
"""How requests are called."""
OPENERS = ("Image.open", "torch.load")
"""Calls that need a certain argument."""
FILES = [path for folder in ("mm_eval", "models", "tasks") for path in sorted((ROOT / folder).rglob("*.py"))]


@dataclass(frozen=True)
class Source:
    """What the rules ask of a file. imports: (name, node); top: those at module level; calls: (what is called, node).

    options: (what ends in one of `REQUESTS`, what is read of it).
    """

    imports: list[tuple[str, ast.Import | ast.ImportFrom]]
    all_imports: list[ast.Import | ast.ImportFrom]
    top: set[ast.stmt]
    calls: list[tuple[str, ast.Call]]
    options: list[tuple[str, ast.Attribute]]


@cache
def source(path: Path) -> Source:
    """Each file is parsed once for all rules; of its calls those stay that a rule is about."""
    found = Source([], [], set(), [], [])
    for node in ast.walk(tree := ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            name = called(node.func)
            if name in FORBIDDEN or name.endswith(OPENERS) or any(each.arg == "shell" for each in node.keywords):
                found.calls.append((name, node))
        elif isinstance(node, ast.Attribute):
            if (of := called(node.value)).split(".")[-1] in REQUESTS and of != "urllib.request":
                found.options.append((of, node))
        elif isinstance(node, ast.Import):
            found.all_imports.append(node)
            found.imports.extend((alias.name, node) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            found.all_imports.append(node)
            if node.module and not node.level:
                found.imports.append((node.module, node))
    found.top.update(node for node in found.all_imports if node in tree.body)
    return found


def place(name: str) -> str:
    """The part of the core that a module belongs to: a folder, or a file at the top. A feature is "features.judge"."""
    parts = name.split(".")[1:3]
    return ".".join(parts[: 2 if parts[:1] == ["features"] else 1])


def arrow(importing: str, imported: str) -> str:
    """The arrow between two modules of mm_eval if it is against the order, else ""."""
    mine, target = place(importing), place(imported)
    if not mine or mine == target or not target:
        return ""
    if mine in PUBLIC:
        return "" if target in CORE else f"{mine} > {target}"
    if target in PUBLIC:
        return f"{mine} > {target}"
    if mine.startswith("features."):
        return f"{mine[9:]} > {target[9:]}" if target.startswith("features.") else ""
    if target.startswith("features."):
        return f"core > {target[9:]}"
    return "" if CORE.index(target) < CORE.index(mine) else f"{mine} > {target}"


def test_every_part_of_the_core_has_its_place_in_the_order() -> None:
    parts = {place(module) for module in MODULES if module.startswith("mm_eval.")} - {""}
    core = {part for part in parts if part.split(".")[0] not in ("features", "models", "assets")}
    assert core == {*CORE, *PUBLIC}


def test_each_part_imports_those_before_it_and_no_feature() -> None:
    """Values, config, data, prompt, engine, scoring, results; features import these, and never each other."""
    against = {
        arrow(importing, module_name(file))
        for importing, path in MODULES.items()
        if path.is_relative_to(ROOT / "mm_eval")
        for file in imported_files(path, MODULES)
        if file.is_relative_to(ROOT / "mm_eval")
    } - {""}
    assert not against


def test_the_core_reads_no_option_of_a_feature_and_nobody_one_that_there_is_not() -> None:
    """Options of features are fields that a type checker does not know."""
    of_features = {option.name for option in options_of_features()} - {"executor"}
    known = {*dir(RunRequest), *RunRequest.__dataclass_fields__, "get"}  # a recorded request is a mapping
    for path in FILES:
        in_core, names_it = "features" not in path.parts, RunRequest.__module__ in dict(source(path).imports)
        for of, node in source(path).options:
            if of.endswith("request") and (of != "request" or names_it):  # `request` alone may be a browser's
                line = f"{path}:{node.lineno} reads {of}.{node.attr}"
                assert node.attr in known and not (in_core and node.attr in of_features), line


def test_no_feature_reads_an_option_of_another_one() -> None:
    """It would fail where that one's folder is deleted."""
    owners: dict[str, set[str]] = {}
    for owner, (_, *options) in by_feature("OPTIONS").values():
        for option in options:
            owners.setdefault(option.name, set()).add(owner)
    for path in (path for path in FILES if "features" in path.parts):
        mine = ".".join(module_name(path).split(".")[:3])
        for of, node in source(path).options:
            if node.attr != "executor":  # a field of the core
                assert mine in owners.get(node.attr, {mine}), f"{path}:{node.lineno} reads {of}.{node.attr}"


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
        elif head == "mm_eval" and rest:
            allowed = {
                "models": {"values", "config", "engine", "data", "prompt", "features", "models"},
                "tasks": {"values", "scoring", "tasks", *PUBLIC},
            }[area]
            assert target in allowed, line
            shared = path.parent.name == "rules"  # their metrics check their own options
            if area == "tasks" and not shared and name == "mm_eval.values.errors" and isinstance(node, ast.ImportFrom):
                assert {alias.name for alias in node.names} == {"DocError"}, f"{line}: the one error that tasks raise"


def module_name(path: Path) -> str:
    """The name that a file is imported by: `models/` is installed inside mm_eval."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    return ".".join(parts if parts[0] == "mm_eval" else ("mm_eval", *parts))


def imported_files(path: Path, files: dict[str, Path]) -> set[Path]:
    """The files that a file imports, at module level, under TYPE_CHECKING and inside functions.

    files: by module name. `from a import b` imports the file of a.b where there is one, else that of a.
    """
    own = module_name(path).split(".")
    package = own if path.name == "__init__.py" else own[:-1]
    names: list[tuple[str, str]] = []
    for node in source(path).all_imports:
        if isinstance(node, ast.Import):
            names += [(alias.name, alias.name) for alias in node.names]
        else:
            above = package[: len(package) - node.level + 1] if node.level else []
            module = ".".join([*above, *([node.module] if node.module else [])])
            names += [(f"{module}.{alias.name}", module) for alias in node.names]
    return {files.get(inner, files.get(outer, path)) for inner, outer in names} - {path}


def first_circle(graph: dict[Path, set[Path]]) -> list[Path]:
    """A shortest circle, with its first file again at the end; empty if there is none."""
    found: list[Path] = []
    for start in sorted(graph):
        ways, seen = [[start]], {start}
        for way in ways:  # grows: the ways from `start`, shortest first
            if start in graph[way[-1]]:
                found = [*way, start] if not found or len(way) + 1 < len(found) else found
                break
            ways += [[*way, file] for file in sorted(graph[way[-1]] - seen)]
            seen |= graph[way[-1]]
    return found


MODULES = {module_name(path): path for path in FILES if path.relative_to(ROOT).parts[0] != "tasks"}


def test_no_import_circles() -> None:
    """An import inside a function, or for types only, is one of a circle too: neither file can be read without the other."""
    circle = first_circle({path: imported_files(path, MODULES) for path in MODULES.values()})
    assert not circle, " -> ".join(str(path.relative_to(ROOT)) for path in circle)


@each_of(
    ("importing", "imported"),
    [
        ("mm_eval/__init__.py", "mm_eval/api.py"),  # for types only
        ("mm_eval/features/suites/runner.py", "mm_eval/features/suites/habits.py"),  # inside a function
        ("mm_eval/features/suites/runner.py", "mm_eval/features/suites/__init__.py"),  # a name of a package
        ("models/hf/asking.py", "models/hf/prompts/length.py"),  # relative
    ],
)
def test_imports_of_all_kinds_are_found(importing: str, imported: str) -> None:
    assert ROOT / imported in imported_files(ROOT / importing, MODULES)


def test_a_circle_is_found_by_its_shortest_way() -> None:
    graph = {"a": {"b", "d"}, "b": {"c"}, "c": {"a"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    paths = {Path(name): {Path(each) for each in named} for name, named in graph.items()}
    assert first_circle(paths) == [Path("d"), Path("e"), Path("d")]
    assert first_circle({Path("a"): {Path("b")}, Path("b"): set()}) == []


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
