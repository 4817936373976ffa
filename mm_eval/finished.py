"""A command that is given once more when its run is finished: what was printed is printed again, and nothing is scored.

That holds while everything that the numbers were made of is as it was: the request and its spec, the journal, mm-eval and the
packages that score, plugins, each file of Python that was imported from elsewhere, and the files that the run left. Where it
can't be known, the run is scored again: with a judge, with task code in a process of its own, and after several processes.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import sysconfig
import time
from collections.abc import Mapping
from contextlib import suppress
from importlib import metadata
from pathlib import Path
from typing import Any

from mm_eval.config.functions import runs_elsewhere
from mm_eval.config.schema import functions_in
from mm_eval.engine.folder import RunFolder
from mm_eval.engine.own_runs import is_own, mark_of
from mm_eval.package import FOLDERS, __version__
from mm_eval.prepare import Prepared
from mm_eval.results.file import results_of
from mm_eval.results.run_report import Report
from mm_eval.values.errors import MMEvalError
from mm_eval.values.run_files import journal_files, open_regular

NAME = "finished.json"
BEGAN = time.time_ns()
"""When this process began to evaluate: this file is imported before any task's."""
INSTALLED = {"site-packages", "dist-packages"}
"""Folders of installed packages, of this environment and of one that it builds on."""
PACKAGES = (
    "numpy",
    "sacrebleu",
    "pillow",
    "pyarrow",
    "datasets",
    "jinja2",
    "latex2sympy2_extended",
    "sympy",
    "langdetect",
)
"""The packages that read data and score, beside mm-eval."""


def keep_report(prepared: Prepared, folder: RunFolder, spec: Mapping[str, Any], report: Report) -> None:
    """Records what a finished run was made of and what was said of it."""
    with suppress(OSError):
        (folder.path / NAME).unlink(missing_ok=True)
    modules = _modules()
    if report.exit_code or report.problems or modules is None or not _can_be_known(prepared):
        return
    with suppress(MMEvalError, OSError):  # a file that can't be read now is no reason to lose the numbers
        made_of = {**_made_of(prepared, folder, spec), "modules": modules}
        said = {"order": report.order, "notes": report.notes, "made_of": made_of}
        if mark := mark_of(said):
            folder.write(NAME, json.dumps({"v": 1, **said, "mark": mark}, ensure_ascii=False))


def kept_report(prepared: Prepared, folder: RunFolder, spec: Mapping[str, Any]) -> Report | None:
    """The report of a run that is finished and whose numbers were made of what there is now; None for any other."""
    if not os.path.isfile(folder.path / NAME) or not _can_be_known(prepared):
        return None
    with suppress(MMEvalError, OSError, KeyError, TypeError, ValueError, AttributeError):
        found = folder.read(NAME) or {}
        said = {name: found[name] for name in ("order", "notes", "made_of")}
        recorded = dict(said["made_of"])
        modules = recorded.pop("modules")
        same = is_own(said, found["mark"]) and recorded == _made_of(prepared, folder, spec)
        if same and all(_digest(Path(path)) == digest for path, digest in modules.items()):
            results = results_of(folder.read("results.json") or {})
            order = [(str(name), int(depth)) for name, depth in said["order"]]
            return Report(results, folder.path, 0, order, list(said["notes"]), categories=prepared.request.categories)
    return None


def _can_be_known(prepared: Prepared) -> bool:
    """Whether all that decides the numbers is in this process and on this disk."""
    if any(part.asks for part in prepared.parts) or prepared.request.predict_only:
        return False
    references = [each for config in prepared.configs.values() for each in functions_in(config.source)]
    return not any(runs_elsewhere(each.source()) for each in references if not each.of_mm_eval)


def _made_of(prepared: Prepared, folder: RunFolder, spec: Mapping[str, Any]) -> dict[str, Any]:
    """Digests of all that decides what is printed, by what they are of."""
    path = folder.path
    left = sorted([*path.glob("samples/*"), *path.glob("submissions/*"), *path.glob("report.html")])
    return json.loads(  # type: ignore[no-any-return]
        json.dumps(
            {
                "folder": str(path.resolve()),
                "request": _text_digest(prepared.request.to_json()),
                "spec": _text_digest(spec),
                "notes": prepared.notes,
                "scored_by": {name: config.digest() for name, config in prepared.configs.items()},
                "journal": {each.name: _digest_in(path, each) for each in journal_files(path)},
                "results": _digest_in(path, path / "results.json"),
                "left": {str(each.relative_to(path)): _state(each) for each in left},
                "mm_eval": [__version__, _package()],
                "python": sys.version,
                "packages": {name: _version(name) for name in PACKAGES},
                "plugins": _plugins(),
                "beside": {str(each): _state(each) for each in _beside(prepared)},
            },
            default=str,
        )
    )


def _beside(prepared: Prepared) -> list[Path]:
    """The files beside task code that is not mm-eval's: it may read a list of words or a table there."""
    own = tuple(f"{folder}{os.sep}" for folder in _own_folders())
    sources = {each.source() for config in prepared.configs.values() for each in functions_in(config.source)}
    folders = {source.parent for source in sources if not str(source).startswith(own)}
    return sorted(each for folder in folders for each in folder.iterdir() if each.is_file())


def _text_digest(value: Any) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


def _digest(path: Path) -> str:
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _digest_in(folder: Path, path: Path) -> str:
    """Of a file of a run folder, which may be a stranger's: it may be a pipe, or a link out."""
    found = hashlib.sha256()
    with open_regular(folder, path) as file:
        while part := file.read(2**20):
            found.update(part)
    return found.hexdigest()


def _state(path: Path) -> list[int]:
    about = path.stat()
    return [about.st_size, about.st_mtime_ns]


def _version(name: str) -> str:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return ""


def _plugins() -> list[list[str]]:
    """The packages that bring metrics, filters, scorers, tasks or models."""
    groups = ("models", "tasks", "metrics", "filters", "scorers")
    points = [point for group in groups for point in metadata.entry_points(group=f"mm_eval.{group}")]
    return sorted([each.group, each.name, each.value, each.dist.version if each.dist else ""] for each in points)


def _package() -> str:
    """A digest of the sizes and times of change of mm-eval's own files: in a checkout they change under one version."""
    found = hashlib.sha256()
    files = (
        each for folder in _own_folders() for each in folder.rglob("*") if each.suffix in (".py", ".yaml", ".json")
    )
    for path in sorted(files):
        found.update(f"{path} {_state(path)}\n".encode())
    return found.hexdigest()


def _own_folders() -> list[Path]:
    """Where mm-eval's files are."""
    beside = [FOLDERS[-1] / name for name in ("models", "tasks")] if len(FOLDERS) > 1 else []
    return [FOLDERS[0], *beside]


def _modules() -> dict[str, str] | None:
    """{path: digest} of each imported file that belongs neither to Python nor to an installed package nor to mm-eval.

    None if one has been changed since this process began: it may have been imported before.
    """
    known = [sysconfig.get_paths()[name] for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    known += [str(folder) for folder in _own_folders()]
    paths = {str(getattr(module, "__file__", None) or "") for module in list(sys.modules.values())}
    others = [Path(path) for path in paths if path.endswith(".py") and not path.startswith(tuple(known))]
    files = [path for path in others if not INSTALLED.intersection(path.parts) and path.is_file()]
    if any(_state(path)[1] >= BEGAN for path in files):
        return None
    return {str(path): _digest(path) for path in files}
