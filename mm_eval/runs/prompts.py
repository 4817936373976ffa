"""Which prompt suits a model: one table a task with a row a block, differences paired by doc, and a sentence that says it.

trials = [PromptTrial.read("tiny-llava", {"default": folder, "qwen_vl": folder})]
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any

from mm_eval.metrics.paired import Estimate, right_or_wrong
from mm_eval.report.comparison_table import change_json, estimate_json, with_margin
from mm_eval.report.safe import in_line, json_safe
from mm_eval.report.table import aligned
from mm_eval.runs.compare import (
    EXACT,
    EXACT_NOTE,
    Change,
    Comparison,
    compare,
    headline_keys,
    p_text,
    signed,
    spread,
    verdict,
)
from mm_eval.runs.group_changes import group_estimates, leaves
from mm_eval.runs.recorded import RecordedRun, RecordedTask
from mm_eval.runs.results import warnings_of


@dataclass
class PromptTrial:
    """One model's runs by prompt key, the first of which is the one to compare with."""

    model: str
    runs: dict[str, RecordedRun]
    compared: dict[str, Comparison] = field(default_factory=dict)

    @classmethod
    def read(cls, model: str, folders: Mapping[str, Path]) -> PromptTrial:
        """The runs in their folders, compared with the first."""
        runs = {key: RecordedRun.read(folder) for key, folder in folders.items()}
        family = attrgetter("task", "key")  # one question a number: which block is best
        compared = compare(list(runs.values()), family=family) if len(runs) > 1 else []
        return cls(model, runs, dict(zip(list(runs)[1:], compared, strict=True)))

    @property
    def baseline(self) -> str:
        return next(iter(self.runs))

    @property
    def tasks(self) -> list[str]:
        return list(self.runs[self.baseline].tasks)

    @property
    def groups(self) -> list[str]:
        """The groups of the run, the outermost first; each is a table of its own."""
        return list(self.runs[self.baseline].results["groups"])

    def members(self, name: str) -> list[str]:
        """The tasks below a group, or the task itself."""
        return list(dict.fromkeys(leaves(self.runs[self.baseline], name)))

    def headlines(self, name: str) -> list[str]:
        """The keys of a row's numbers: a group's, or those of a task that are no part of another one."""
        run = self.runs[self.baseline]
        return headline_keys(run.tasks[name]) if name in run.tasks else list(group_estimates(run, name))

    def estimate(self, key: str, name: str, metric: str) -> Estimate | None:
        """A number of a task or group under a block; None where that was not asked, or has no such number."""
        run = self.runs.get(key)
        if run is None:
            return None
        if name in run.results["groups"]:
            return group_estimates(run, name).get(metric)
        return run.tasks[name].estimate(metric) if name in run.tasks else None

    def change(self, key: str, task: str, metric: str) -> Change | None:
        """How a block changes a number; None for the baseline."""
        found = self.compared[key].changes if key in self.compared else []
        return next((change for change in found if (change.task, change.key) == (task, metric)), None)

    def scale(self, name: str, metric: str) -> float:
        """The largest number of a row: all are shown to as many places."""
        return max((abs(found.value) for key in self.runs if (found := self.estimate(key, name, metric))), default=0.0)

    def asked_as(self, key: str, task: str) -> str:
        """The block that a task was really asked with: `default` where it lacks the key."""
        found = {self.runs[key].prompt_keys[name] for name in self.members(task)}
        return key if key in found else "/".join(sorted(found))

    def flips(self, key: str, name: str) -> tuple[list[tuple[str, int]], list[tuple[str, int]], int]:
        """(task, doc) of those that a block loses and gains against the first, and how many answers are other words."""
        lost, gained, reworded = [], [], 0
        for task in self.members(name):
            first, second = marks(self.runs[self.baseline].tasks[task]), marks(self.runs[key].tasks[task])
            shared = sorted(first.keys() & second.keys())
            lost += [(task, i) for i in shared if first[i] is True and second[i] is False]
            gained += [(task, i) for i in shared if first[i] is False and second[i] is True]
            reworded += self.compared[key].answers[task][0]
        return lost, gained, reworded

    def verdicts(self, name: str) -> Iterator[str]:
        """A sentence a number and block, and what limits it."""
        for prompt, comparison in self.compared.items():
            if self.asked_as(prompt, name) == self.asked_as(self.baseline, name):
                yield f"{name} has no block {prompt!r}: it was asked as with {self.baseline}."
                continue
            for change in comparison.changes:
                if change.task == name and change.headline:
                    unsure = change.difference.few and not change.difference.exact and change.difference.value != 0
                    few = " (few docs: the interval may be too short)" if unsure else ""
                    yield verdict(change, prompt, self.baseline) + few

    def said(self) -> dict[str, str]:
        """What each block says, a task after the other."""
        found = {}
        for key, run in self.runs.items():
            prompts = run.results["run"]["prompts"]
            found[key] = "; ".join(f"{task} {block_text(prompt['kwargs'])}" for task, prompt in prompts.items())
        return found


def render(trials: Sequence[PromptTrial]) -> str:
    """A table a model and task, verdicts, and the matrix models x prompts where there are several models."""
    parts: list[str] = []
    for trial in trials:
        sample = trial.runs[trial.baseline].results["run"].get("sample")
        parts += [f"model: {trial.model}{'   (sample data, not the benchmarks)' if sample else ''}", ""]
        if said := [f"warning: prompt {k!r}: {w}" for k, run in trial.runs.items() for w in warnings_of(run.results)]:
            parts += [*said, ""]
        for name in (*trial.groups, *trial.tasks):
            parts += [*_table(trial, name).split("\n"), ""]
            parts += [*said, ""] if (said := list(trial.verdicts(name))) else []
        parts += [EXACT_NOTE, ""] if any(EXACT in part for part in parts) else []
        parts += [f"prompt {key!r}: {said}" for key, said in trial.said().items()] + [""]
    if len(trials) > 1:
        parts += [line for part in _matrix(trials) for line in part.split("\n")]
    return "\n".join(map(in_line, parts)).rstrip()


def _table(trial: PromptTrial, task: str) -> str:
    keys = trial.headlines(task)
    head = [task]
    for key in keys:
        head += [key.removesuffix(",none"), f"vs {trial.baseline}", "p (Holm)"]
    head += ["unparsed", "truncated", "failed", "lost", "gained", "reworded"]
    rows = []
    for prompt, run in trial.runs.items():
        row = [prompt if trial.asked_as(prompt, task) == prompt else f"{prompt} (as {trial.asked_as(prompt, task)})"]
        for key in keys:
            row += _cells(trial, prompt, task, key)
        counts = run.results["results"][task]
        row += [f"{counts[name] / max(1, counts['n']):.1%}" for name in ("unparsed", "truncated", "failed")]
        row += _flip_cells(trial, prompt, task)
        rows.append(row)
    return aligned(head, rows)


def _cells(trial: PromptTrial, prompt: str, task: str, key: str) -> list[str]:
    found = trial.estimate(prompt, task, key)
    if found is None:
        return ["-", "", ""]
    scale = trial.scale(task, key)
    change, shown = trial.change(prompt, task, key), with_margin(found, scale)
    if change is None or change.difference.interval is None:
        return [shown, "", ""]
    difference = f"{signed(change.difference.value, scale)} {spread(change.difference, scale)}"
    return [shown, difference + (" *" if change.told_apart else ""), p_text(change.corrected)]


def _flip_cells(trial: PromptTrial, prompt: str, task: str) -> list[str]:
    if prompt not in trial.compared:
        return ["", "", ""]
    lost, gained, reworded = trial.flips(prompt, task)
    return [str(len(lost)), str(len(gained)), str(reworded)]


def block_text(kwargs: Mapping[str, Any]) -> str:
    """What a block says: post_prompt='\\nAnswer:'; keys that say nothing are left out."""
    return ", ".join(f"{key}={value!r}" for key, value in kwargs.items() if value != "") or "(nothing)"


def marks(task: RecordedTask) -> dict[int, bool | None]:
    """Whether each doc was right, by the first of the task's numbers that it is in."""
    found: dict[int, bool | None] = {}
    for of_docs in task.values.values():
        for doc_id, value in of_docs.items():
            found.setdefault(doc_id, right_or_wrong(value))
    return found


def _matrix(trials: Sequence[PromptTrial]) -> Iterator[str]:
    """Models x prompts for each number, each model's best marked."""
    first = trials[0]
    keys = list(dict.fromkeys(key for trial in trials for key in trial.runs))
    for name in (*first.groups, *first.tasks):
        for metric in first.headlines(name):
            rows = []
            for trial in trials:
                found = {key: trial.estimate(key, name, metric) for key in keys}
                best = best_of(trial, name, metric)
                cells = [
                    "-" if e is None else with_margin(e, trial.scale(name, metric)) + (" *" if k in best else "")
                    for k, e in found.items()
                ]
                rows.append([trial.model, *cells])
            yield aligned([f"{name} {metric.removesuffix(',none')}", *keys], rows)
            yield ""
    yield "* each model's best prompt; its interval is that of the number, see above for paired differences"


def best_of(trial: PromptTrial, task: str, metric: str) -> list[str]:
    """The prompt keys with the best number, several where they are equal; none where all are."""
    values = {key: found.value for key in trial.runs if (found := trial.estimate(key, task, metric))}
    if not values:
        return []
    better = trial.runs[trial.baseline].results["higher_is_better"].get(task, {}).get(metric.split(",")[0], True)
    best = max(values.values()) if better else min(values.values())
    leading = [key for key, value in values.items() if value == best]
    return leading if len(leading) < len(values) else []


def as_json(trials: Sequence[PromptTrial]) -> str:
    """The same for programs: for each model and block its numbers and its changes from the baseline."""
    models: list[dict[str, Any]] = []
    for trial in trials:
        blocks: dict[str, Any] = {}
        for key, run in trial.runs.items():
            numbers = {
                name: {
                    metric: estimate_json(found)
                    for metric in (run.tasks[name].values if name in run.tasks else trial.headlines(name))
                    if (found := trial.estimate(key, name, metric)) is not None
                }
                for name in (*run.results["groups"], *run.tasks)
            }
            changes = trial.compared[key].changes if key in trial.compared else []
            blocks[key] = {
                "folder": str(run.folder),
                "prompts": run.results["run"]["prompts"],
                "numbers": numbers,
                "changes": [change_json(change) for change in changes],
            }
        models.append({"model": trial.model, "baseline": trial.baseline, "blocks": blocks})
    return json_safe(json.dumps({"models": models}, indent=2, ensure_ascii=False))
