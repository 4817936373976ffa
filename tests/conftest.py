"""What many tests use: the command line in this process, and the recorded answers of a published evaluation."""

import gc
import importlib
import json
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")  # a process a core runs tests already; read when torch is imported, below

import pytest

from mm_eval.cli import main
from mm_eval.config.index import build_index
from mm_eval.sandbox.environment import environments
from tests.processes import Started
from tests.recorded import base, dummy_run, mme_rows, perfect, worse  # noqa: F401 - recorded runs that many folders read

# An image may state this: each child process would then compile all of mm_eval, and each process of tests every file of them.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

STARTED = Started()
ROOT = Path(__file__).parent.parent
RECORDED = ROOT.parent / "shared" / "papers" / "mme_lavin.jsonl"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Makes what a test printed printable: half of a surrogate pair would end the process that runs the tests for xdist."""
    report = yield
    report.sections = [(name, text.encode("utf-8", "replace").decode()) for name, text in report.sections]
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call() -> Generator[None, None, None]:
    """A test that fails leaves no process behind: it would hold ports and locks, and make the machine slower for the others."""
    STARTED.forget()
    try:
        yield
    except BaseException:
        STARTED.kill()
        raise


@pytest.hookimpl(tryfirst=True)
def pytest_collection(session: pytest.Session) -> None:
    """Each process of xdist imports its share of the files before it collects them all: pytest compiles each file once.

    In a new checkout two processes take 29 CPU seconds to collect so, and 40 where each compiles every file.
    """
    gc.disable()  # almost nothing of what it makes is garbage
    number = int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
    count = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", 1))
    if count > 1 and session.config.args_source is pytest.Config.ArgsSource.TESTPATHS:
        ignored = {Path(name).resolve() for name in session.config.getoption("ignore") or ()}
        for file in sorted({*(ROOT / "tests").rglob("test_*.py")} - ignored)[number::count]:
            with suppress(Exception, pytest.skip.Exception):  # collecting it reports the error
                importlib.import_module(".".join(file.relative_to(ROOT).with_suffix("").parts))


TOGETHER = ("tests/browser/", "tests/models/hf/")
"""Folders whose files share what is dear to make: Chromium and the runs that it shows, checkpoints and transformers' modules."""


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """`--dist loadfile`, but that one process runs these folders. The largest units begin first, so they are among the first."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class ByFileOrFolder(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            file: str = super()._split_scope(nodeid)
            return next((folder for folder in TOGETHER if file.startswith(folder)), file)

    return ByFileOrFolder(config, log)


def pytest_collection_finish() -> None:
    keep()
    gc.enable()


def pytest_runtest_teardown() -> None:
    """torch, transformers and pyarrow are imported by tests, so what they made is kept afterwards."""
    if len(sys.modules) > KEPT["modules"] + 300:
        keep()


KEPT = {"modules": 0}


def keep() -> None:
    """What collecting and imports have made stays to the end: each search for cycles would walk through all of it."""
    KEPT["modules"] = len(sys.modules)
    gc.collect()
    gc.freeze()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """A test stands in one set: `pytest -m full` runs no sweep, and none of the tests of `full` that slow.txt names."""
    if both := [item.nodeid for item in items if item.get_closest_marker("full") and item.get_closest_marker("slow")]:
        raise pytest.UsageError(f"marked `full` and `slow`: {', '.join(both)}")
    named = set((ROOT / "tests" / "slow.txt").read_text(encoding="utf-8").splitlines())
    full = (item for item in items if item.get_closest_marker("full"))
    slow = [item for item in full if {item.nodeid, item.nodeid.partition("[")[0]} & named]
    for item in slow:
        item.add_marker("slow")
    if "slow" not in config.option.markexpr.replace("not slow", ""):
        config.hook.pytest_deselected(items=slow)
        items[:] = [item for item in items if item not in set(slow)]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Says what was skipped and why, a line for each cause; the names of failed tests come after it, as the last lines."""
    causes = Counter[str]()
    for report in terminalreporter.stats.get("skipped", []):
        *_, reason = report.longrepr if isinstance(report.longrepr, tuple) else (str(report.longrepr),)
        cause = reason.removeprefix("Skipped: ")
        causes[
            "recorded files that `python tests/papers/fetch.py` copies" if "papers/fetch.py" in cause else cause
        ] += 1
    for cause, tests in causes.most_common():
        terminalreporter.write_line(f"{tests} skipped: {cause}")


@dataclass
class Ran:
    """What a command came to."""

    code: int
    out: str
    err: str
    folder: Path

    @property
    def results(self) -> dict[str, Any]:
        return json.loads((self.folder / "results.json").read_text(encoding="utf-8"))

    def samples(self, task: str) -> list[dict[str, Any]]:
        lines = (self.folder / "samples" / f"{task}.jsonl").read_text(encoding="utf-8").split("\n")
        return [json.loads(line) for line in lines if line]


@pytest.fixture(scope="session", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is kept of videos and of data lies in a folder of the tests, as does the key of own runs."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_DATASETS_CACHE", data := str(tmp_path_factory.mktemp("datasets")))
        if "datasets" in sys.modules:
            patch.setattr(sys.modules["datasets"].config, "HF_DATASETS_CACHE", Path(data))
        patch.setenv("MM_EVAL_SANDBOX", str(environments()))  # the one that is made stays
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        patch.setenv("MM_EVAL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="session")
def known_tasks(tmp_path_factory: pytest.TempPathFactory) -> Callable[[Path], str]:
    """Makes a cache folder that has the index of the shipped tasks: with an empty one, a test reads their files for a second."""
    made = tmp_path_factory.mktemp("index")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MM_EVAL_CACHE", str(made))
        build_index()

    def copied(folder: Path) -> str:
        return str(shutil.copytree(made, folder, dirs_exist_ok=True))

    return copied


@pytest.fixture(scope="session", autouse=True)
def no_wait_for_the_disk() -> Iterator[None]:
    """No test outlasts a power failure, so this process puts no file on the disk. Its child processes do."""
    with pytest.MonkeyPatch.context() as patch:
        for name in ("fsync", "fdatasync"):
            patch.setattr(os, name, lambda fd: None, raising=False)
        yield


@pytest.fixture(autouse=True)
def no_stated_width() -> None:
    """xdist states COLUMNS, and so may what a test before this one imported; users rarely do."""
    os.environ.pop("COLUMNS", None)
    os.unsetenv("COLUMNS")  # readline, which pytest imports, writes it for child processes without telling `os.environ`


OPENS_AGAIN = ("score", "judge", "why", "blind", "compare")
"""Verbs that take code of a run's own tasks only from a path of their command."""


def named_code(words: Sequence[str]) -> list[str]:
    """The --include_path of a recorded run, for a command that opens it again: a test trusts its own folders."""
    recorded = Path(words[1]) / "run.json" if len(words) > 1 and words[0] in OPENS_AGAIN else None
    if recorded is None or not recorded.is_file() or "--include_path" in words:
        return []
    with suppress(ValueError, KeyError):
        request = json.loads(recorded.read_text())["request"]
        files = [Path(name).resolve().parent for name in request["tasks"] if name.endswith((".yaml", ".yml"))]
        path = request.get("include_path") or (str(files[0]) if files else None)
        return ["--include_path", path] if path else []
    return []


@pytest.fixture
def cli(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ran]:
    """Runs a command in this process; `--output_path` is a folder of the test unless one is given."""

    def run(*arguments: object) -> Ran:
        words = [str(argument) for argument in arguments]
        folder = tmp_path / "run"
        if "--output_path" in words:
            folder = Path(words[words.index("--output_path") + 1])
        elif words and words[0].startswith("-") and "--tasks" in words:
            words += ["--output_path", str(folder)]
        words += named_code(words)
        capsys.readouterr()
        code = main(words)
        captured = capsys.readouterr()
        return Ran(code, captured.out, captured.err, folder)

    return run


@pytest.fixture(scope="session")
def lavin(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """(data root with MME's 2,374 questions on 1x1 pictures, replay file with LaVIN-13B's recorded answers)."""
    if not RECORDED.exists():
        pytest.skip(f"the recorded answers are not at {RECORDED}")
    from datasets import Dataset, Image
    from PIL import Image as Pillow

    rows = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
    root = tmp_path_factory.mktemp("lavin")
    answers = root / "answers.jsonl"
    answers.write_text(
        "".join(
            json.dumps({"task": "mme", "doc_id": n, "resps": [row["response"]]}) + "\n" for n, row in enumerate(rows)
        )
    )
    columns = {name: [row[name] for row in rows] for name in ("question_id", "question", "answer", "category")}
    columns["image"] = [Pillow.new("RGB", (1, 1))] * len(rows)
    data = root / "lmms-lab" / "MME" / "data"
    data.mkdir(parents=True)
    Dataset.from_dict(columns).cast_column("image", Image()).to_parquet(data / "test-00000-of-00001.parquet")
    return root, answers
