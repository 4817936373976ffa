"""A run of a few documents, and packages of trackers that are made up."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mm_eval import Results, evaluate
from mm_eval.trackers import tracking as part


@pytest.fixture(autouse=True)
def own_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """What the libraries write lies below the test's folder."""
    for name, folder in (
        ("TRACKIO_DIR", "trackio"),
        ("WANDB_DIR", "."),
        ("WANDB_DATA_DIR", "."),
        ("WANDB_CACHE_DIR", "."),
    ):
        monkeypatch.setenv(name, str(tmp_path / folder))
    monkeypatch.chdir(tmp_path)
    part._CHECKED.clear()
    yield
    part._CHECKED.clear()


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., Results]:
    def evaluated(**options: object) -> Results:
        stated = {"limit": 6, "sample": True, "offline": True, "output_path": str(tmp_path / "run"), **options}
        return evaluate(["mme", "gsm8k"], "dummy", **stated)

    return evaluated


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str], None]:
    """Puts a module of that name and source before all others."""

    def put(name: str, source: str) -> None:
        folder = tmp_path / "packages"
        folder.mkdir(exist_ok=True)
        (folder / f"{name}.py").write_text(source, encoding="utf-8")
        monkeypatch.syspath_prepend(str(folder))

    return put
