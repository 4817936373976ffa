"""A command that is given once more when its run is finished: what was printed is printed again, and nothing is scored.

That holds while everything that the numbers were made of is as it was: the request and its spec, the task files and groups, the
journal, mm-eval and the packages that score, and the files that the run left. Where it can't be known, the run is scored again:
with parts that ask or read more than the model's answers, with any code that scores and is not mm-eval's own, and after several
processes.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any

from mm_eval.config.formats import FORMATS
from mm_eval.config.schema import functions_in
from mm_eval.engine.folder import RunFolder, entry_of
from mm_eval.engine.own_runs import is_own, mark_of
from mm_eval.package import FOLDERS, __version__, version_of
from mm_eval.prepare import Prepared
from mm_eval.results.file import results_of
from mm_eval.scoring.base import SCORERS
from mm_eval.scoring.filters.base import FILTERS
from mm_eval.scoring.metrics.metric import AGGREGATIONS, METRICS, REDUCTIONS
from mm_eval.scoring.run_results import Report
from mm_eval.values.errors import MMEvalError
from mm_eval.values.registry import Registry, entry_points
from mm_eval.values.run_files import journal_files, open_regular

NAME = "finished.json"
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
    "scipy",
    "pandas",
    "regex",
    "nltk",
    "Levenshtein",
    "apted",
    "jiwer",
    "rapidfuzz",
    "whisper-normalizer",
)
"""The packages that read data and score, beside mm-eval."""
SCORING: tuple[Registry[Any], ...] = (METRICS, AGGREGATIONS, REDUCTIONS, FILTERS, SCORERS, FORMATS)
"""Where code that scores or writes prompts is registered by name."""


def unfinished(prepared: Prepared) -> list[str]:
    """The tasks of a run that no earlier launch in its folder has finished with the same documents."""
    if not (path := prepared.request.output_path) or not (Path(path) / NAME).is_file():
        return list(prepared.tasks)
    recorded = entry_of(RunFolder(Path(path)).entry("spec"), "tasks")
    own = entry_of(json.loads(json.dumps(prepared.spec())), "tasks")
    return [name for name in prepared.tasks if name not in recorded or recorded[name] != own.get(name)]


def save_finished(prepared: Prepared, folder: RunFolder, spec: Mapping[str, object], report: Report) -> None:
    """Records what a finished run was made of and what was said of it."""
    with suppress(OSError):
        (folder.path / NAME).unlink(missing_ok=True)
    if report.exit_code or report.problems or not _can_be_known(prepared):
        return
    with suppress(MMEvalError, OSError):  # a file that can't be read now is no reason to lose the numbers
        made_of = _made_of(prepared, folder, spec, _package_at_first())
        said = {"order": report.order, "notes": report.notes, "made_of": made_of}
        if mark := mark_of(said):
            folder.write(NAME, json.dumps({"v": 1, **said, "mark": mark}, ensure_ascii=False))


def load_finished(prepared: Prepared, folder: RunFolder, spec: Mapping[str, object]) -> Report | None:
    """The report of a run that is finished and whose numbers were made of what there is now; None for any other."""
    _package_at_first()
    if not os.path.isfile(folder.path / NAME) or not _can_be_known(prepared):
        return None
    with suppress(MMEvalError, OSError, KeyError, TypeError, ValueError, AttributeError):
        found = folder.read(NAME) or {}
        said = {name: found[name] for name in ("order", "notes", "made_of")}
        if is_own(said, found["mark"]) and said["made_of"] == _made_of(prepared, folder, spec, _package()):
            results = results_of(folder.read("results.json") or {})
            order = [(str(name), int(depth)) for name, depth in said["order"]]
            return Report(
                results, folder.path, 0, order, list(said["notes"]), categories=prepared.request.categories, requested=0
            )
    return None


def _can_be_known(prepared: Prepared) -> bool:
    """Whether all that decides the numbers is mm-eval's own code and files on this disk."""
    request, loaded = prepared.request, prepared.loaded
    asks = prepared.judging is not None and bool(prepared.judging.named_now)
    if asks or request.protocol.name is not None or request.predict_only:  # a protocol is a file that no digest covers
        return False
    if any(entry_points("mm_eval.tasks")) or any(registry.of_others() for registry in SCORING):
        return False
    own = tuple(f"{folder}{os.sep}" for folder in _own_folders())
    stated = [config.source for config in (*prepared.configs.values(), *loaded.tasks.values())]
    stated += [group.source for group in loaded.groups.values()]
    references = functions_in(list({id(source): source for source in stated}.values()))  # open or not, a config has one
    files = {each.module: each for each in references}.values()
    return all(each.of_mm_eval or str(each.source()).startswith(own) for each in files)


def _made_of(prepared: Prepared, folder: RunFolder, spec: Mapping[str, object], package: str) -> dict[str, object]:
    """Digests of all that decides what is printed, by what they are of. package: that of mm-eval's own files."""
    path, request = folder.path, prepared.request.to_json()
    left = sorted([*path.glob("samples/*"), *path.glob("submissions/*"), *path.glob("report.html")])
    return json.loads(  # type: ignore[no-any-return]
        json.dumps(
            {
                "folder": str(path.resolve()),
                "request": _text_digest(request),
                "spec": _text_digest(spec),
                "notes": prepared.notes,
                "tasks": {name: _text_digest(config.to_json()) for name, config in prepared.configs.items()},
                "groups": {name: _text_digest(group.to_json()) for name, group in prepared.loaded.groups.items()},
                "members": prepared.loaded.group_map,
                "files": {str(each): _state(each) for each in _files_of(request)},
                "journal": {each.name: _digest_in(path, each) for each in journal_files(path)},
                "results": _digest_in(path, path / "results.json"),
                "left": {str(each.relative_to(path)): _state(each) for each in left},
                "mm_eval": [__version__, package],
                "python": sys.version,
                "packages": {name: version_of(name) or "" for name in PACKAGES},
            },
            default=str,
        )
    )


def _files_of(request: Mapping[str, object]) -> list[Path]:
    """The files that the request names, as run.json has it, and every YAML below the folders that it takes tasks from."""
    named = {Path(text) for text in _texts(request) if os.path.isfile(text)}
    folders = {path.parent for path in named if path.suffix in (".yaml", ".yml")}
    folders |= {Path(text) for text in _texts(request.get("include_path")) if os.path.isdir(text)}
    return sorted({*named, *(path for folder in folders for path in folder.rglob("*.y*ml") if path.is_file())})


def _texts(value: object) -> Iterator[str]:
    """The texts in a value, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, (Mapping, list, tuple)):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _texts(item)


def _text_digest(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True, default=str).encode()).hexdigest()


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


def _package() -> str:
    """A digest of the sizes and times of change of mm-eval's own files: in a checkout they change under one version."""
    found, below = list[str](), [os.fspath(folder) for folder in _own_folders()]
    while below:
        with os.scandir(below.pop()) as items:
            for item in items:
                if item.is_dir():
                    if item.name != "__pycache__" and not item.is_symlink():
                        below.append(item.path)
                elif item.is_file():
                    about = item.stat()
                    found.append(f"{item.path} {[about.st_size, about.st_mtime_ns]}\n")
    return hashlib.sha256("".join(sorted(found)).encode("utf-8", "surrogateescape")).hexdigest()


@cache
def _package_at_first() -> str:
    """The same as it was before the first run of this process, whose code it has imported: files may have changed since."""
    return _package()


def _own_folders() -> list[Path]:
    """Where mm-eval's files are."""
    beside = [FOLDERS[-1] / name for name in ("models", "tasks")] if len(FOLDERS) > 1 else []
    return [FOLDERS[0], *beside]
