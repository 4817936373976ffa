"""Tasks that ask the questions of another one in another way (`metadata.variant_of`), such as with tools.

mm-eval compare RUN_OF_VSTAR RUN_OF_VSTAR_TOOLS
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from mm_eval.config.schema import split_python
from mm_eval.results.recorded import RecordedRun
from mm_eval.results.sample_rows import Attempts, sample_name

KEY = "variant_of"


@dataclass(frozen=True)
class VariantRun(RecordedRun):
    """A recorded run some of whose tasks have the names of those that they are variants of. own: {that name: its own name}.

    stated: the run with all its tasks under their own names.
    """

    own: Mapping[str, str] = field(default_factory=dict)
    stated: RecordedRun | None = None

    @property
    def prompt_keys(self) -> dict[str, str]:
        found = super().prompt_keys
        return {**found, **{plain: found[name] for plain, name in self.own.items() if name in found}}

    @cached_property
    def attempts(self) -> dict[str, Attempts]:
        return self.stated.attempts if self.stated is not None else super().attempts

    def samples_path(self, task: str) -> Path:
        return self.folder / "samples" / f"{sample_name(self.own.get(task, task))}.jsonl"


def with_variants(first: RecordedRun, second: RecordedRun) -> RecordedRun:
    """The second run with its variants of tasks of the first under the names of these; the run itself where there are none.

    A task that both runs have is compared with itself, unless the folder is the same: `mm-eval compare RUN RUN` compares the
    variants in it with the tasks beside them, and no other task.
    """
    same = first.folder.resolve() == second.folder.resolve()
    own = {}
    for name, config in second.results.configs.items():
        plain = _plain_of(config, name)
        if (
            plain in first.spec["tasks"]
            and name in second.spec["tasks"]
            and (same or plain not in second.spec["tasks"])
        ):
            own[plain] = name
    if not own:
        return second
    names = {name: plain for plain, name in own.items()}
    renamed = _renamed(second.spec["tasks"], names, own if same else ())
    spec = {**second.spec, "tasks": {name: renamed[name] for name in own} if same else renamed}
    changed: dict[str, Any] = {
        each.name: _renamed(value, names, own if same else ())
        for each in fields(second.results)
        if isinstance(value := getattr(second.results, each.name), dict) and names.keys() & value.keys()
    }
    stated = {each.name: getattr(second, each.name) for each in fields(RecordedRun) if each.init}
    return VariantRun(**{**stated, "results": replace(second.results, **changed), "spec": spec}, own=own, stated=second)


def first_of(runs: Sequence[RecordedRun]) -> RecordedRun:
    """The first run, with its variants of tasks that only the others have under the names of these.

    So a comparison is in either order: `mm-eval compare TOOLS PLAIN` as `mm-eval compare PLAIN TOOLS`.
    """
    first = runs[0]
    for other in runs[1:]:
        same = other.folder.resolve() == first.folder.resolve()
        if not same and not isinstance(with_variants(first, other), VariantRun):
            first = with_variants(other, first)
    return first


def has_variants(run: RecordedRun) -> bool:
    """Whether a run has a task and a variant of it, which `mm-eval compare RUN` pairs."""
    return isinstance(with_variants(run, run), VariantRun)


def _plain_of(config: Mapping[str, object], name: str) -> str:
    """The task that a config is a variant of, as it was written, or as its name says (`task@python`); empty for none."""
    plain, is_variant = split_python(name)
    if is_variant:
        return plain
    stated = config.get("metadata")
    entries = stated if isinstance(stated, list) else [stated]
    found = next((entry[KEY] for entry in entries if isinstance(entry, Mapping) and entry.get(KEY)), "")
    return found if isinstance(found, str) else ""


def _renamed(mapping: Mapping[str, object], names: Mapping[str, str], hidden: Collection[str]) -> dict[str, object]:
    """A mapping by task with the variants under their new names. hidden: names of which only the variant stays."""
    return {names.get(name, name): value for name, value in mapping.items() if name in names or name not in hidden}
