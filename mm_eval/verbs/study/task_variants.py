"""Tasks that ask the questions of another one in another way (`metadata.variant_of`), such as with tools.

mm-eval compare RUN_OF_VSTAR RUN_OF_VSTAR_TOOLS
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from mm_eval.config.schema import split_python
from mm_eval.config.tools import PYTHON
from mm_eval.results.recorded import RecordedRun
from mm_eval.results.sample_rows import sample_name, tokens_of_docs
from mm_eval.scoring.metrics.paired import right_or_wrong
from mm_eval.values.types import MetricKey
from mm_eval.values.words import counted, of_all

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

    def samples_path(self, task: str) -> Path:
        return self.folder / "samples" / f"{sample_name(self.own.get(task, task))}.jsonl"


def with_variants(first: RecordedRun, second: RecordedRun) -> RecordedRun:
    """The second run with its variants of tasks of the first under the names of these; the run itself where there are none.

    A task that both runs have is compared with itself, unless the folder is the same: `mm-eval compare RUN RUN` compares the
    variants in it with the tasks beside them.
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
    spec = {**second.spec, "tasks": _renamed(second.spec["tasks"], names, own if same else ())}
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


def _plain_of(config: Mapping[str, Any], name: str) -> str:
    """The task that a config is a variant of, as it was written, or as its name says (`task@python`); empty for none."""
    plain, is_variant = split_python(name)
    if is_variant:
        return plain
    stated = config.get("metadata")
    entries = stated if isinstance(stated, list) else [stated]
    found = next((entry[KEY] for entry in entries if isinstance(entry, Mapping) and entry.get(KEY)), "")
    return found if isinstance(found, str) else ""


def _renamed(mapping: Mapping[str, Any], names: Mapping[str, str], hidden: Collection[str]) -> dict[str, Any]:
    """A mapping by task with the variants under their new names. hidden: names of which only the variant stays."""
    return {names.get(name, name): value for name, value in mapping.items() if name in names or name not in hidden}


def said_of(first: RecordedRun, second: RecordedRun, task: str, key: MetricKey) -> str:
    """What a variant gained and lost in a number, and what it took; empty for a task that is none.

    For vstar_tools: "zoom gained 11 documents, lost 3, at 4.2 times the tokens".
    """
    if isinstance(first, VariantRun) and task in first.own and not isinstance(second, VariantRun):
        return said_of(second, first, task, key)
    if not isinstance(second, VariantRun) or task not in second.own:
        return ""
    name = second.own[task]
    stated = second.results.configs.get(task, {}).get("tools")
    used = stated.get("use") if isinstance(stated, Mapping) else stated
    what = ", ".join(map(str, used)) if isinstance(used, list) else name
    what = PYTHON if split_python(name)[1] else what  # it may have tools besides, as the plain task has
    before, after = (run.tasks[task].values.get(key, {}) for run in (first, second))
    pairs = [(_right(before[doc_id]), _right(after[doc_id])) for doc_id in before.keys() & after.keys()]
    parts = []
    if pairs and not any(right is None for pair in pairs for right in pair):
        parts = [f"gained {counted(pairs.count((False, True)), 'document')}", f"lost {pairs.count((True, False))}"]
    if ratio := _tokens(first, second, task):
        parts.append(f"at {ratio:.1f} times the tokens")
    if split_python(name)[1] and parts:
        parts += _use_of_code(second, task)
    return f"{task} and {name}: {what} {', '.join(parts)}" if parts else ""


def _use_of_code(run: RecordedRun, task: str) -> list[str]:
    """How often the docs of a task ran code: none where the counts are not recorded."""
    of_tools = run.tasks[task].values
    calls = of_tools.get(MetricKey("calls_python", "tools")) or of_tools.get(MetricKey("calls", "tools")) or {}
    made = [float(value) for value in calls.values() if isinstance(value, (int, float))]
    if not made:
        return []
    used = sum(value > 0 for value in made)
    return [f"with {sum(made) / len(made):.1f} calls a document", f"code in {of_all(used, len(made), 'document')}"]


def _right(value: Any) -> bool | None:
    """Whether a doc is right by its value, which may stand behind the name of its group; None for one that is neither."""
    return right_or_wrong(value[-1] if isinstance(value, (list, tuple)) and len(value) == 2 else value)


def _tokens(first: RecordedRun, second: RecordedRun, task: str) -> float:
    """The tokens of the second run over those of the first, prompts and answers of the docs that both counted; 0 if unknown."""
    before, after = (tokens_of_docs(run.folder, run.spec["tasks"][task]["path"]) for run in (first, second))
    shared = before.keys() & after.keys()
    total = sum(before[doc_id] for doc_id in shared)
    return sum(after[doc_id] for doc_id in shared) / total if total else 0.0
