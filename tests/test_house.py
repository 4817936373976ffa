"""The house: which layer may import which, never in a circle; and nothing of our own is looked up by a string."""

import ast
from functools import cache
from pathlib import Path

from tests.sets import each_of
from tests.source import called
from tests.test_architecture import FILES, ROOT, source

ORDER: list[tuple[str, str]] = [
    ("values", "package values"),
    ("config", "config aliases.names"),
    ("data", "data data.video"),
    ("prompt", "prompt"),
    ("request", "options request"),
    ("engine", "engine engine.launch"),
    ("scoring", "scoring"),
    ("foreign code", "foreign_code"),
    ("results", "results results.findings results.answer_forms tools.findings"),
    ("first checks", "first_checks"),
    ("open tasks", "open_tasks"),
    ("ray", "ray"),
    ("aliases", "aliases"),
    ("adapters", "adapters"),
    ("sandbox", "sandbox"),
    ("tools", "tools"),
    ("models", "models"),
    ("rounds", "rounds"),
    ("judge", "judge"),
    ("protocols", "protocols"),
    ("submissions", "submissions"),
    ("imported", "imported"),
    ("gold checks", "gold_checks"),
    ("trackers", "trackers"),
    ("open run", "open_run"),
    ("deciding", "deciding"),
    ("prepare", "prepare"),
    ("pending, trust", "pending trust"),
    (
        "comparisons",
        "verbs.study.compare verbs.study.task_variants verbs.study.gains verbs.study.cells deciding.live "
        "deciding.live_page deciding.design deciding.policy_plan deciding.plan_text "
        "deciding.against",
    ),
    ("run page", "run_page"),
    ("write run, finished", "write_run finished first_scores"),
    ("run", "run"),
    ("check runs", "check_runs"),
    ("public names", "types errors registry filters metrics scorers"),
    ("command line", "cli.say cli.options cli.folders cli.progress"),
    (
        "verbs",
        "verbs cli.run cli.score judge.verb judge.show judge.quality judge.quality_text "
        "protocols.verb protocols.check protocols.show rounds.show "
        "deciding.plan_verb verbs.validate.verb sandbox.verb tools.verb",
    ),
    ("cli", "cli"),
    ("api", "api __main__"),
    ("training", "training verbs.training.callback"),
]
"""The layers, each with its modules: each file imports from its own layer and from those before it.

The longest name that a module begins with decides: `judge.verb` is a verb, the rest of `judge` the judge.
"""
UPWARDS: dict[str, str] = {}
"""Imports against the order that still stand, and what removes each. None is added."""


def module_name(path: Path) -> str:
    """The name that a file is imported by: `models/` is installed inside mm_eval."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts[:-1] if parts[-1] == "__init__" else parts
    return ".".join(parts if parts[0] == "mm_eval" else ("mm_eval", *parts))


MODULES = {module_name(path): path for path in FILES if path.relative_to(ROOT).parts[0] != "tasks"}
NAMES = {path: name for name, path in MODULES.items()}
PLACES = {place: height for height, (_, places) in enumerate(ORDER) for place in places.split()}


@cache
def height(module: str) -> int:
    """The layer of a module, counted from below; -1 for a package that only holds others."""
    parts = module.split(".")[1:]
    return next((PLACES[p] for n in range(len(parts), 0, -1) if (p := ".".join(parts[:n])) in PLACES), -1)


@cache
def imported_files(path: Path) -> frozenset[Path]:
    """The files that a file imports, at module level, under TYPE_CHECKING and inside functions.

    `from a import b` imports the file of a.b where there is one, else that of a.
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
    return frozenset({MODULES.get(inner, MODULES.get(outer, path)) for inner, outer in names} - {path})


def arrows() -> set[str]:
    """The imports against the order."""
    found = set()
    for name, path in MODULES.items():
        for imported in imported_files(path):
            is_package = imported.name == "__init__.py"  # of a folder whose files stand in several layers
            if height(NAMES[imported]) > height(name) and name != "mm_eval" and not is_package:
                found.add(f"{name[8:]} > {NAMES[imported][8:]}")
    return found


def test_every_file_has_its_place_in_the_order() -> None:
    placeless = {name for name in MODULES if height(name) < 0} - {"mm_eval"}
    assert not placeless


def test_each_layer_imports_those_before_it() -> None:
    """A lazy import counts as one at the top: what a file needs stands below it."""
    assert arrows() == set(UPWARDS)


def first_circle(graph: dict[str, frozenset[str]]) -> list[str]:
    """A shortest circle, with its first member again at the end; empty if there is none."""
    found: list[str] = []
    for start in sorted(graph):
        ways, seen = [[start]], {start}
        for way in ways:  # grows: the ways from `start`, shortest first
            if start in graph[way[-1]]:
                found = [*way, start] if not found or len(way) + 1 < len(found) else found
                break
            ways += [[*way, each] for each in sorted(graph[way[-1]] - seen)]
            seen |= graph[way[-1]]
    return found


def test_no_import_circles() -> None:
    """An import inside a function, or for types only, is one of a circle too: neither file can be read without the other."""
    graph = {
        name: frozenset(
            NAMES[each] for each in imported_files(path) if f"{name[8:]} > {NAMES[each][8:]}" not in UPWARDS
        )
        for name, path in MODULES.items()
    }
    circle = first_circle(graph)
    assert not circle, " -> ".join(circle)


@each_of(
    ("importing", "imported"),
    [
        ("mm_eval/__init__.py", "mm_eval/api.py"),  # for types only
        ("mm_eval/foreign_code/runner.py", "mm_eval/foreign_code/remote.py"),  # inside a function
        ("mm_eval/config/suites/reading.py", "mm_eval/config/suites/__init__.py"),  # a name of a package
        ("models/hf/asking.py", "models/hf/prompts/length.py"),  # relative
    ],
)
def test_imports_of_all_kinds_are_found(importing: str, imported: str) -> None:
    assert ROOT / imported in imported_files(ROOT / importing)


def test_a_circle_is_found_by_its_shortest_way() -> None:
    graph = {"a": {"b", "d"}, "b": {"c"}, "c": {"a"}, "d": {"e"}, "e": {"d"}, "f": {"a"}}
    assert first_circle({name: frozenset(named) for name, named in graph.items()}) == ["d", "e", "d"]
    assert first_circle({"a": frozenset("b"), "b": frozenset()}) == []


LOOK_UPS = {"importlib.import_module", "import_module", "import_place", "__import__"}
"""Calls that find code by a string."""
ALLOWED = {
    "mm_eval/__init__.py": "public names are lazy, so that `import mm_eval` costs nothing",
    "mm_eval/cli/__init__.py": "the table of verbs, so that --help is quick",
    "mm_eval/values/registry.py": "the registries, which users extend",
    "mm_eval/config/functions.py": "functions that task files name",
    "mm_eval/trackers/process.py": "a tracker's library in a process of its own",
    "mm_eval/foreign_code/child": "the process of foreign code imports what that code names",
    "models/hf/torchvision.py": "a package of others that may be missing",
    "models/hf/beside.py": "packages of others that may be missing",
}


def look_ups() -> dict[str, int]:
    found: dict[str, int] = {}
    for path in FILES:
        name = str(path.relative_to(ROOT))
        if any(name.startswith(allowed) for allowed in ALLOWED):
            continue
        calls = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
        if count := sum(called(call.func) in LOOK_UPS for call in calls):
            found[name] = count
    return found


def test_nothing_of_ours_is_looked_up_by_a_string() -> None:
    assert not look_ups()
