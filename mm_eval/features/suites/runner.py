"""What the rest of mm-eval sees of task code in a process of its own. Nothing else of it is loaded until a task needs it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mm_eval.config.functions import FunctionRef, python_file, with_siblings
from mm_eval.config.group import GroupConfig, GroupNode
from mm_eval.config.located import LocatedDict
from mm_eval.config.runner import Stream
from mm_eval.features.suites import PACKAGE, SUITES
from mm_eval.features.suites.reading import file_in_tree, imported_of_tree, is_from_lmms_eval, needs_process


class TaskRunner:
    """Runs the functions of task files that must not run in this process. The methods are those of `config.runner.Runner`."""

    _takes_all = False

    def takes(self, files: Sequence[Path]) -> bool:
        return self._takes_all or needs_process(files)

    @contextmanager
    def together(self, seconds: float) -> Iterator[None]:
        from mm_eval.features.suites.process import one_for_all

        self._takes_all = True
        try:
            with one_for_all(seconds):
                yield
        finally:
            self._takes_all = False

    def imported(self, file: Path) -> Sequence[Path]:
        return imported_of_tree(file)

    def source(self, name: str, file: Path) -> Path | None:
        suite, *parts = name.split(".")[:-1]
        return file_in_tree(file.parent, parts[1:]) if suite in SUITES and parts[:1] == ["tasks"] else None

    def function(self, file: Path, name: str) -> tuple[Any, Sequence[str]]:
        from mm_eval.features.suites.remote import function

        return function(file, name, _class_of)

    def load_offline(self, path: str, name: str | None, options: Mapping[str, Any]) -> Any:
        from mm_eval.features.suites.remote import load_offline

        return load_offline(path, name, options)

    def is_theirs(self, source: LocatedDict, file: Path | None, functions: Iterable[FunctionRef]) -> bool:
        return is_from_lmms_eval(source, file, functions)

    def group_config(self, node: GroupNode) -> GroupConfig:
        from mm_eval.features.suites.habits import with_default_weights

        return with_default_weights(node)

    def asks(self, file: Path, function: str) -> bool:
        if not any(PACKAGE in python_file(each).packages for each in with_siblings(file)):
            return False
        from mm_eval.features.suites.askers import asks

        return asks(file, function)

    def stream(self, files: Sequence[Path]) -> Stream:
        from mm_eval.features.suites.remote import RemoteStream

        return RemoteStream(files)


def _class_of(process: Any, file: Path, name: str) -> type:
    from mm_eval.features.suites.class_tasks import class_of

    return class_of(process, file, name)


RUNNER = TaskRunner()
