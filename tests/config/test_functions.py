"""`!function`: what may be named, what is imported when, and how files of one name are kept apart (faults 35 and 36)."""

import gc
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from mm_eval.config.functions import FunctionRef
from mm_eval.config.python_file import PythonFile
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.prompt.blocks import PromptBlock
from mm_eval.prompt.question import choices_of
from mm_eval.scoring.filters.options import as_list
from mm_eval.values.errors import ConfigError
from tests.sets import few

Write = Callable[..., Path]


def reference(folder: Path, name: str) -> FunctionRef:
    return FunctionRef(name, folder / "t.yaml", 7)


@pytest.mark.parametrize(
    "name",
    ["os.system", "sys.exit", "subprocess.run", "../x.f", "../../utils.f", "/tmp/x.f", "utils", ".utils.f", "..utils.f",
     "utils.f()", "sub/utils.f", "utils.Class.method", "", "mm_eval.registry.importlib.import_module", "mm_evil.f.g",
     "mm_eval.f", "utils.f\n"],
)  # fmt: skip
def test_only_a_function_beside_the_yaml_or_of_mm_eval_can_be_named(tmp_path: Path, write: Write, name: str) -> None:
    write("sub/utils.py", "def f(): ...\n")
    write("nested/utils.py", "def f(): ...\n")
    loaded = set(sys.modules)
    for act in (FunctionRef.check, lambda each: each.resolve(FOREIGN_CODE), FunctionRef.digest):
        with pytest.raises(ConfigError) as caught:
            act(reference(tmp_path / "nested" / "deeper", name))
        assert caught.value.where.endswith("t.yaml:7")
    assert not {module for module in set(sys.modules) - loaded if module.startswith("_mm_eval_task")}


def test_a_function_of_a_folder_below_is_named_with_its_folder(tmp_path: Path, write: Write) -> None:
    write("sub/inner.py", "from . import more\ndef f(): return more.WORD\n")
    write("sub/more.py", "WORD = 'more'\n")
    assert reference(tmp_path, "sub.inner.f").resolve(FOREIGN_CODE)() == "more"
    write("elsewhere/real.py", "def f(): ...\n")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "sub").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(ConfigError, match="symbolic link"):
        reference(tmp_path / "here", "sub.real.f").resolve(FOREIGN_CODE)


def test_a_symlinked_file_is_refused(tmp_path: Path, write: Write) -> None:
    write("elsewhere/real.py", "def f(): return 'stolen'\n")
    (tmp_path / "here").mkdir()
    (tmp_path / "here" / "utils.py").symlink_to(tmp_path / "elsewhere" / "real.py")
    with pytest.raises(ConfigError, match="symbolic link"):
        reference(tmp_path / "here", "utils.f").resolve(FOREIGN_CODE)


def test_a_missing_function_is_found_without_an_import_and_the_closest_is_named(tmp_path: Path, write: Write) -> None:
    write("utils.py", "def doc_to_text(doc): ...\nif True:\n    def late(): ...\nraise SystemExit('imported')\n")
    with pytest.raises(ConfigError, match=r"t\.yaml:7: .*no function 'doc_to_txt'.*'doc_to_text'"):
        reference(tmp_path, "utils.doc_to_txt").check()
    reference(tmp_path, "utils.late").check()
    with pytest.raises(ConfigError, match=r"there is no .*util\.py.*'utils'"):
        reference(tmp_path, "util.doc_to_text").check()


@pytest.mark.full
def test_names_that_only_running_the_file_would_tell_are_not_called_missing(tmp_path: Path, write: Write) -> None:
    write("utils.py", "from math import *\n")
    assert reference(tmp_path, "utils.sqrt").resolve(FOREIGN_CODE)(9) == 3
    write("made.py", "for name in ('a', 'b'):\n    globals()[name] = lambda: name\n")
    assert callable(reference(tmp_path, "made.a").resolve(FOREIGN_CODE))


def test_each_file_is_loaded_once_a_process_under_a_name_of_its_own(tmp_path: Path, write: Write) -> None:
    for folder in ("a", "b"):
        write(
            f"{folder}/utils.py", f"LOADS = []\nLOADS.append(1)\ndef f(): return {folder!r}, len(LOADS)\ndef g(): ...\n"
        )
    references = [reference(tmp_path / folder, name) for folder in "ab" for name in ("utils.f", "utils.g", "utils.f")]
    found = [function.resolve(FOREIGN_CODE) for function in references]
    assert found[0]() == ("a", 1) and found[2] is found[0] and found[3]() == ("b", 1)
    assert found[0].__module__ != found[3].__module__
    assert "utils" not in sys.modules and str(tmp_path) not in sys.path


def test_a_changed_file_is_loaded_again(tmp_path: Path, write: Write) -> None:
    write("utils.py", "def f(): return 'first'\n")
    assert reference(tmp_path, "utils.f").resolve(FOREIGN_CODE)() == "first"
    write("utils.py", "def f(): return 'the second'\n")
    assert reference(tmp_path, "utils.f").resolve(FOREIGN_CODE)() == "the second"


@pytest.mark.full
def test_a_file_imports_another_beside_it_by_a_relative_import_only(tmp_path: Path, write: Write) -> None:
    write("helpers.py", "def g(): return 'help'\n")
    write("utils.py", "from .helpers import g\ndef f(): return g()\n")
    assert reference(tmp_path, "utils.f").resolve(FOREIGN_CODE)() == "help"
    write("plain.py", "from helpers import g\ndef f(): return g()\n")
    with pytest.raises(ConfigError, match=r"No module named 'helpers'.*`from \.helpers import"):
        reference(tmp_path, "plain.f").resolve(FOREIGN_CODE)


def test_a_package_that_a_task_needs_is_named(tmp_path: Path, write: Write) -> None:
    write("utils.py", "import suite_of_nowhere.tasks\ndef f(): return suite_of_nowhere.tasks.g()\ndef h(): return 1\n")
    with pytest.raises(ConfigError, match=r"'f' needs the package 'suite_of_nowhere'.*pip install suite_of_nowhere"):
        reference(tmp_path, "utils.f").resolve(FOREIGN_CODE)
    assert reference(tmp_path, "utils.h").resolve(FOREIGN_CODE)() == 1
    write("star.py", "from suite_of_nowhere import *\ndef f(): ...\n")
    with pytest.raises(ConfigError, match=r"importing the file .* needs the package 'suite_of_nowhere'"):
        reference(tmp_path, "star.f").resolve(FOREIGN_CODE)
    write("older.py", "import json.of_long_ago\ndef f(): ...\n")
    with pytest.raises(ConfigError, match="written for another version of the package 'json'"):
        reference(tmp_path, "older.f").resolve(FOREIGN_CODE)
    write("says.py", "raise ModuleNotFoundError('Install the extra [math].')\ndef f(): ...\n")
    with pytest.raises(ConfigError, match=r"Install the extra \[math\]\.$"):
        reference(tmp_path, "says.f").resolve(FOREIGN_CODE)


def test_a_file_that_ends_the_process_on_import_is_a_fault_of_the_config(tmp_path: Path, write: Write) -> None:
    write("utils.py", "import sys\nsys.exit('swipl is not installed')\ndef f(): ...\n")
    with pytest.raises(ConfigError, match=r"t\.yaml:7: .*SystemExit: swipl is not installed"):
        reference(tmp_path, "utils.f").resolve(FOREIGN_CODE)


def test_a_file_that_fails_to_import_names_the_yaml_and_the_reason(tmp_path: Path, write: Write) -> None:
    write("utils.py", "def f(): ...\n1 / 0\n")
    with pytest.raises(ConfigError, match=r"t\.yaml:7: .*ZeroDivisionError"):
        reference(tmp_path, "utils.f").resolve(FOREIGN_CODE)
    assert not [name for name in sys.modules if name.endswith(".utils") and "_mm_eval_task" in name and
                getattr(sys.modules[name], "__file__", "") == str(tmp_path / "utils.py")]  # fmt: skip


def test_what_is_no_function_is_refused(tmp_path: Path, write: Write) -> None:
    write("utils.py", "VALUE = 3\n")
    with pytest.raises(ConfigError, match="is not a function"):
        reference(tmp_path, "utils.VALUE").resolve(FOREIGN_CODE)


def test_a_function_of_mm_eval_can_be_named(tmp_path: Path) -> None:
    function = reference(tmp_path, "mm_eval.metrics.aggregation.mean")
    function.check()
    assert function.resolve(FOREIGN_CODE)([1, 2]) == 1.5 and len(function.digest()) == 64


@pytest.mark.parametrize(
    "name",
    ["cli.main", "run.evaluate", "files.write_atomic", "metrics.metric.partial", "filters.base.re.compile", "cli"],
)
def test_a_function_of_mm_eval_that_is_no_part_of_scoring_cannot_be_named(name: str, tmp_path: Path) -> None:
    with pytest.raises(ConfigError):
        reference(tmp_path, f"mm_eval.{name}").resolve(FOREIGN_CODE)


def test_the_digest_follows_the_file_and_what_it_imports_from_beside_it(tmp_path: Path, write: Write) -> None:
    write("helpers.py", "def g(): return 1\n")
    write("utils.py", "from .helpers import g\ndef f(): return g()\n")
    write("unrelated.py", "def h(): return 1\n")
    first = reference(tmp_path, "utils.f").digest()
    write("unrelated.py", "def h(): return 22\n")
    assert reference(tmp_path, "utils.f").digest() == first
    write("helpers.py", "def g(): return 22\n")
    assert reference(tmp_path, "utils.f").digest() != first


class Circle:
    """Garbage whose end lets other threads run."""

    def __init__(self) -> None:
        self.own = self

    def __del__(self) -> None:
        sum(range(50))


LONG = "[" + "(1, [2, {3: -4}]), " * 400 + "]"


@pytest.mark.full
@pytest.mark.parametrize("what", few(["files", "choices", "options"], "options"))
def test_python_is_read_in_threads(what: str, tmp_path: Path) -> None:
    """Python 3.11 fails where two threads make syntax trees: "AST constructor recursion depth mismatch"."""
    path = tmp_path / "long.py"
    path.write_text("values = [" + "(1, [2, {3: f(4)[5:6]}]), " * 400 + "]\n", encoding="utf-8")
    readers: dict[str, Callable[[], object]] = {
        "files": lambda: PythonFile(path).tree,
        "choices": lambda: choices_of("{{options}}", {"options": LONG}, PromptBlock("default", {}), "doc 0"),
        "options": lambda: as_list(LONG, "doc 0"),
    }
    failures = list[BaseException]()

    def read(depth: int) -> None:
        if depth:
            return read(depth - 1)
        try:
            for _ in range(8):
                Circle()
                assert readers[what]()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=read, args=(5 * place,)) for place in range(8)]
    before, often = sys.getswitchinterval(), gc.get_threshold()
    sys.setswitchinterval(1e-6)
    gc.set_threshold(20)
    try:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
        gc.set_threshold(*often)
    assert not failures
