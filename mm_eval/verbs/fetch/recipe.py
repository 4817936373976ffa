"""The recipe of a data set, from assets/data_sets.json: steps that download files and run a program of the task's folder.

    {get: ADDRESS, as: FILE, md5: ...}                          one file
    {get_each: ADDRESS with {}, of: FILE, field: F, as: ...{}}  one for each value of a field in a list; its last part
    {needs: PROGRAM, how: ...}                                  checked before anything is downloaded
    {run: MODULE}                                               python -m MODULE FOLDER

An address is of the web, or hub:OWNER/NAME/FILE. Files come to DIR/.OWNER--NAME.part, which gets its name as the last step.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from urllib.parse import quote

from mm_eval.data.manifest import KnownDataSet, known_data_set
from mm_eval.prepare import load_configs, prepare_without_model
from mm_eval.request import RunRequest
from mm_eval.values.errors import ConfigError, DataError, NotHereError
from mm_eval.values.safe import in_line
from mm_eval.values.types import Fields
from mm_eval.verbs.fetch.download import Unreachable, download

__all__ = ["Recipe", "Unreachable"]
LINES_OF_PROGRAM = 3
"""How many of its last lines are quoted where a program fails."""


@dataclass(frozen=True)
class Recipe:
    """The steps that bring a task's data set to a data root."""

    task: str
    known: KnownDataSet
    root: Path

    @classmethod
    def of_task(cls, task: str, root: Path) -> Recipe:
        """Errors: ConfigError for an unknown task, and for one whose data set is loaded by its name."""
        configs = load_configs(RunRequest(tasks=(task,))).tasks
        paths = {str(config.dataset_path) for config in configs.values()}
        for path in sorted(paths):
            found = known_data_set(path)
            if found is not None and found.fetch:
                return cls(task, found, root)
        bundle = f"mm-eval bundle {in_line(str(root))} --tasks {task}"
        hint = f"A run downloads it; `{bundle}` copies it for a machine without network."
        raise ConfigError(
            f"{task}: {', '.join(sorted(paths))} is loaded by its name and has no recipe.", where="fetch", hint=hint
        )

    @property
    def folder(self) -> Path:
        """Where the data set is when it is complete."""
        return self.root / self.known.id

    @property
    def unfinished(self) -> Path:
        """Where it is before."""
        return self.root / f".{self.known.id.replace('/', '--')}.part"

    def lines(self) -> Iterator[str]:
        """The recipe in words, to be followed by hand."""
        yield f"{self.task}: {self.known.id}, to {self.folder}"
        for number, step in enumerate(self.known.fetch, 1):
            if "get" in step:
                md5 = f" (md5 {step['md5']})" if "md5" in step else ""
                yield f"{number}. download {address(step['get'])} to {self.folder / step['as']}{md5}"
            elif "get_each" in step:
                each = f"each {step['field']} in {step['of']}"
                yield f"{number}. for {each}: download {address(step['get_each'])} to {self.folder / step['as']}"
            elif "needs" in step:
                yield f"{number}. install {step['needs']}: {step['how']}"
            else:
                yield f"{number}. python -m {step['run']} {self.folder}"
        yield f"Then use it with --data_root {self.root}"

    def follow(self, say: Callable[[str], None]) -> int:
        """Follows the recipe where it stopped, and loads the task from the data root. Returns the number of its docs.

        Errors: Unreachable, NotHereError and ConfigError of a download; DataError if a step fails.
        """
        if not self.folder.exists():
            for step in self.known.fetch:
                if "needs" in step and shutil.which(step["needs"]) is None:
                    raise NotHereError(
                        f"{step['needs']} is missing.", where=self.task, hint=f"Install it: {step['how']}"
                    )
            self.unfinished.mkdir(parents=True, exist_ok=True)
            for step in self.known.fetch:
                self._do(step, say)
            self.folder.parent.mkdir(parents=True, exist_ok=True)
            self.unfinished.rename(self.folder)
        request = RunRequest(tasks=(self.task,), data_root=str(self.root), offline=True)
        plan = prepare_without_model(request, self.task)
        for name, task in plan.tasks.items():
            names = task.config.dataset_name
            known = self.known.rows_of(names if isinstance(names, list) else [names], str(task.config.test_split))
            if known is not None and task.config.process_docs is None and known != len(task.docs):
                say(f"note: {name} has {len(task.docs):,} rows, where {known:,} are known")
        return sum(len(task.docs) for task in plan.tasks.values())

    def _do(self, step: Fields, say: Callable[[str], None]) -> None:
        if "get" in step:
            target = self._inside(step["as"])
            if not target.exists():
                say(f"downloading {address(step['get'])}")
            download(address(step["get"]), target, step.get("md5"), Progress(say))
        elif "get_each" in step:
            names = last_parts(self._inside(step["of"]), step["field"])
            missing = [name for name in names if not self._inside(step["as"].format(name)).exists()]
            for number, name in enumerate(missing):
                if number % max(1, len(missing) // 10) == 0:
                    say(f"{len(names) - len(missing) + number} of {len(names)} files of {step['field']} are there")
                download(address(step["get_each"].format(quote(name))), self._inside(step["as"].format(name)))
        elif "run" in step:
            say(f"running {step['run']}")
            ran = subprocess.run(
                [sys.executable, "-m", step["run"], str(self.unfinished)], capture_output=True, text=True
            )
            if ran.returncode:
                said = " ".join((ran.stderr or ran.stdout).strip().splitlines()[-LINES_OF_PROGRAM:])
                raise DataError(
                    f"{step['run']} failed: {in_line(said)}", where=self.task, hint="The same command continues there."
                )

    def _inside(self, name: str) -> Path:
        """A file of the data set. DataError for a name that leads out of its folder."""
        parts = PurePosixPath(name).parts
        if (
            not parts
            or name.startswith("/")
            or any(part in ("..", "") or "\\" in part or "\0" in part for part in parts)
        ):
            raise DataError(f"{name!r} is not a file inside the data set.", where=self.task)
        return self.unfinished.joinpath(*parts)


class Progress:
    """Says how far a download is, at each tenth."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self.say, self.tenth = say, 0

    def __call__(self, there: int, whole: int | None) -> None:
        tenth = 10 * there // whole if whole else there // 10**8
        if tenth > self.tenth:
            self.tenth = tenth
            self.say(f"  {there / 10**6:,.0f} MB{f' of {whole / 10**6:,.0f}' if whole else ''}")


def address(stated: str) -> str:
    """The address of the web that a recipe's address stands for; of the hub by HF_ENDPOINT."""
    if not stated.startswith("hub:"):
        return stated
    owner, name, file = stated.removeprefix("hub:").split("/", 2)
    endpoint = (os.environ.get("HF_ENDPOINT") or "https://huggingface.co").rstrip("/")
    return f"{endpoint}/datasets/{owner}/{name}/resolve/main/{file}"


def last_parts(path: Path, field: str) -> Sequence[str]:
    """The last parts of a field's values in a JSON list, each once: "https://a.org/b.jpg" is "b.jpg"."""
    try:
        rows = json.loads(path.read_text("utf-8"))
        names = [str(row[field]).rpartition("/")[2] for row in rows]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{path.name} is not a list of rows with {field!r}: {error}", where=str(path)) from error
    return list(dict.fromkeys(name for name in names if name))
