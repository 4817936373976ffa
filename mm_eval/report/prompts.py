"""Which prompt suits a model: one table a task with a row a block, differences paired by doc, and a sentence that says it.

trials = [PromptTrial.read("tiny-llava", {"default": folder, "qwen_vl": folder})]
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mm_eval.metrics.paired import Estimate, right_or_wrong
from mm_eval.report.comparison import Change, Comparison, compare, headline_keys, number, p_text, signed, verdict
from mm_eval.report.comparison_table import change_json, estimate_json, with_margin
from mm_eval.report.recorded import RecordedRun, RecordedTask
from mm_eval.report.table import aligned, terminal_safe


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
        compared = compare(list(runs.values())) if len(runs) > 1 else []
        return cls(model, runs, dict(zip(list(runs)[1:], compared, strict=True)))

    @property
    def baseline(self) -> str:
        return next(iter(self.runs))

    @property
    def tasks(self) -> list[str]:
        return list(self.runs[self.baseline].tasks)

    def change(self, key: str, task: str, metric: str) -> Change | None:
        """How a block changes a number; None for the baseline."""
        found = self.compared[key].changes if key in self.compared else []
        return next((change for change in found if (change.task, change.key) == (task, metric)), None)

    def asked_as(self, key: str, task: str) -> str:
        """The block that a task was really asked with: `default` where it lacks the key."""
        return self.runs[key].prompt_keys[task]


def render(trials: Sequence[PromptTrial]) -> str:
    """A table a model and task, verdicts, and the matrix models x prompts where there are several models."""
    parts: list[str] = []
    for trial in trials:
        sample = trial.runs[trial.baseline].results["run"].get("sample")
        parts += [f"model: {trial.model}{'   (sample data, not the benchmarks)' if sample else ''}", ""]
        for task in trial.tasks:
            parts += [_table(trial, task), "", *_verdicts(trial, task), ""]
        groups = [
            verdict(change, prompt, trial.baseline)
            for prompt, comparison in trial.compared.items()
            for change in comparison.changes
            if change.headline and change.task not in trial.tasks
        ]
        parts += [*groups, ""] if groups else []
        parts += [f"prompt {key!r}: {said}" for key, said in _said(trial).items()] + [""]
    if len(trials) > 1:
        parts += [*_matrix(trials), ""]
    return terminal_safe("\n".join(parts).rstrip())


def _table(trial: PromptTrial, task: str) -> str:
    keys = headline_keys(trial.runs[trial.baseline].tasks[task])
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
    found = trial.runs[prompt].tasks[task].estimate(key)
    if found is None:
        return ["-", "", ""]
    change, shown = trial.change(prompt, task, key), with_margin(found, found.value)
    if change is None or change.difference.margin is None:
        return [shown, "", ""]
    scale = found.value
    difference = f"{signed(change.difference.value, scale)} ± {number(change.difference.margin, scale)}"
    return [shown, difference + (" *" if change.told_apart else ""), p_text(change.corrected)]


def _flip_cells(trial: PromptTrial, prompt: str, task: str) -> list[str]:
    if prompt not in trial.compared:
        return ["", "", ""]
    first, second = marks(trial.runs[trial.baseline].tasks[task]), marks(trial.runs[prompt].tasks[task])
    shared = first.keys() & second.keys()
    lost = sum(first[i] is True and second[i] is False for i in shared)
    gained = sum(first[i] is False and second[i] is True for i in shared)
    return [str(lost), str(gained), str(trial.compared[prompt].answers[task][0])]


def marks(task: RecordedTask) -> dict[int, bool | None]:
    """Whether each doc was right, by the first of the task's numbers that it is in."""
    found: dict[int, bool | None] = {}
    for of_docs in task.values.values():
        for doc_id, value in of_docs.items():
            found.setdefault(doc_id, right_or_wrong(value))
    return found


def _verdicts(trial: PromptTrial, task: str) -> Iterator[str]:
    """A sentence a number and block, and what limits it."""
    for prompt, comparison in trial.compared.items():
        if trial.asked_as(prompt, task) == trial.asked_as(trial.baseline, task):
            yield f"{task} has no block {prompt!r}: it was asked as with {trial.baseline}."
            continue
        for change in comparison.changes:
            if change.task == task and change.headline:
                unsure = change.difference.few and change.difference.value != 0
                few = " (few docs: the interval may be too short)" if unsure else ""
                yield verdict(change, prompt, trial.baseline) + few


def _said(trial: PromptTrial) -> dict[str, str]:
    """What each block says, a task after the other."""
    found = {}
    for key, run in trial.runs.items():
        prompts = run.results["run"]["prompts"]
        found[key] = "; ".join(f"{task} {dict(prompt['kwargs'])!r}" for task, prompt in prompts.items())
    return found


def _matrix(trials: Sequence[PromptTrial]) -> Iterator[str]:
    """Models x prompts for each number, each model's best marked."""
    first = trials[0]
    keys = list(dict.fromkeys(key for trial in trials for key in trial.runs))
    for task in first.tasks:
        for metric in headline_keys(first.runs[first.baseline].tasks[task]):
            rows = []
            for trial in trials:
                found = {key: _estimate(trial, key, task, metric) for key in keys}
                best = best_of(trial, task, metric)
                cells = [
                    "-" if e is None else with_margin(e, e.value) + (" *" if k in best else "")
                    for k, e in found.items()
                ]
                rows.append([trial.model, *cells])
            yield aligned([f"{task} {metric.removesuffix(',none')}", *keys], rows)
            yield ""
    yield "* each model's best prompt; its interval is that of the number, see above for paired differences"


def _estimate(trial: PromptTrial, key: str, task: str, metric: str) -> Estimate | None:
    run = trial.runs.get(key)
    return run.tasks[task].estimate(metric) if run is not None and task in run.tasks else None


def best_of(trial: PromptTrial, task: str, metric: str) -> list[str]:
    """The prompt keys with the best number, several where they are equal; none where all are."""
    values = {key: found.value for key in trial.runs if (found := _estimate(trial, key, task, metric))}
    if not values:
        return []
    better = trial.runs[trial.baseline].tasks[task].better.get(metric.split(",")[0], True)
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
                task: {
                    metric: estimate_json(found)
                    for metric in run.tasks[task].values
                    if (found := run.tasks[task].estimate(metric)) is not None
                }
                for task in run.tasks
            }
            changes = trial.compared[key].changes if key in trial.compared else []
            blocks[key] = {
                "folder": str(run.folder),
                "prompts": run.results["run"]["prompts"],
                "numbers": numbers,
                "changes": [change_json(change) for change in changes],
            }
        models.append({"model": trial.model, "baseline": trial.baseline, "blocks": blocks})
    return json.dumps({"models": models}, indent=2, ensure_ascii=False)
