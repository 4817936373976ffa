"""Runs of one model with several prompt blocks or rules of frames, compared with the first of them.

compared = PromptComparison.read("tiny-llava", {"default": folder, "qwen_vl": folder})
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path
from typing import Any, ClassVar, Self

from mm_eval.data.frames import medium
from mm_eval.prompt.blocks import FRAMES_KEY
from mm_eval.results.compare import Change, Comparison, compare, headline_keys, marks, verdict
from mm_eval.results.estimates import estimates
from mm_eval.results.recorded import RecordedRun
from mm_eval.values.types import MetricKey, Number


@dataclass
class PromptComparison:
    """One model's recorded runs by the name of their prompt: its key, its rule of frames, or both.

    compared: each run after the first, with the first. noun, title: what the runs differ in, for tables and the page.
    """

    noun: ClassVar[str] = "prompt"
    title: ClassVar[str] = "Which prompt suits {models}?"

    model: str
    runs: dict[str, RecordedRun]
    compared: dict[str, Comparison] = field(default_factory=dict)
    _estimates: dict[tuple[str, str], dict[MetricKey, Number]] = field(default_factory=dict, repr=False)

    @classmethod
    def read(cls, model: str, folders: Mapping[str, Path], include_path: str | None = None) -> Self:
        """The runs in their folders, compared with the first."""
        runs = {key: RecordedRun.read(folder, include_path=include_path) for key, folder in folders.items()}
        family = attrgetter("task", "key")  # one question for each number: which block is best
        compared = compare(list(runs.values()), family=family) if len(runs) > 1 else []
        return cls(model, runs, dict(zip(list(runs)[1:], compared, strict=True)))

    @property
    def baseline(self) -> str:
        return next(iter(self.runs))

    @property
    def names(self) -> list[str]:
        """The groups of the run, the outermost first, and its tasks; each has a table of its own."""
        run = self.runs[self.baseline]
        return [*run.results.groups, *run.tasks]

    def shown(self, name: str) -> list[str]:
        """The runs that stand in the table of a task or group, the first one first."""
        return list(self.runs)

    def members(self, name: str) -> list[str]:
        """The tasks below a group, or the task itself."""
        return list(dict.fromkeys(self.runs[self.baseline].results.leaves(name)))

    def headlines(self, name: str) -> list[MetricKey]:
        """The keys of a row's numbers: a group's, or those of a task that are not part of another number."""
        run = self.runs[self.baseline]
        return headline_keys(run.tasks[name]) if name in run.tasks else list(self.estimates(self.baseline, name))

    def estimates(self, prompt: str, name: str) -> dict[MetricKey, Number]:
        """The numbers of a task or group with a prompt; none where the run lacks the task or group."""
        if (prompt, name) not in self._estimates:
            run = self.runs.get(prompt)
            known = run is not None and name in run.results.rows
            self._estimates[prompt, name] = estimates(run, name) if run is not None and known else {}
        return self._estimates[prompt, name]

    def estimate(self, prompt: str, name: str, metric: MetricKey) -> Number | None:
        """One number of a task or group with a prompt; None where there is none."""
        return self.estimates(prompt, name).get(metric)

    def change(self, prompt: str, task: str, metric: MetricKey) -> Change | None:
        """How a prompt changes a number; None for the baseline."""
        found = self.compared[prompt].changes if prompt in self.compared else []
        return next((change for change in found if (change.task, change.key) == (task, metric)), None)

    def scale(self, name: str, metric: MetricKey) -> float:
        """The largest value of a number over all prompts: it decides how many decimals are shown."""
        return max((abs(found.value) for key in self.runs if (found := self.estimate(key, name, metric))), default=0.0)

    def asked_as(self, prompt: str, name: str) -> str:
        """The prompt's name, or the key of the block that was used instead where the task has no block of its key."""
        run = self.runs[prompt]
        found = {run.prompt_keys[task] for task in self.members(name)}
        return prompt if {prompt, run.request.get("prompt_key")} & {*found, None} else "/".join(sorted(found))

    def _asked(self, prompt: str, name: str) -> list[tuple[str, str | None]]:
        """How each task below a name was asked: the key of its block, and the rule of the frames where it shows some."""
        run = self.runs[prompt]
        prompts = {task: run.results.run.prompts[task] for task in self.members(name)}
        return [
            (each["key"], each.get(FRAMES_KEY) if run.tasks[task].shows_frames else None)
            for task, each in prompts.items()
        ]

    def flips(self, prompt: str, name: str) -> tuple[list[tuple[str, int]], list[tuple[str, int]], int]:
        """(lost, gained, reworded) against the first prompt: flipped docs as (task, doc id), the number of changed answers."""
        lost, gained, reworded = [], [], 0
        for task in self.members(name):
            first, second = marks(self.runs[self.baseline].tasks[task]), marks(self.runs[prompt].tasks[task])
            shared = sorted(first.keys() & second.keys())
            lost += [(task, i) for i in shared if first[i] is True and second[i] is False]
            gained += [(task, i) for i in shared if first[i] is False and second[i] is True]
            reworded += self.compared[prompt].answers[task][0]
        return lost, gained, reworded

    def verdicts(self, name: str) -> Iterator[str]:
        """A sentence for each number and prompt, and what limits it."""
        for prompt, comparison in self.compared.items():
            if self._asked(prompt, name) == self._asked(self.baseline, name):
                lacks = f"no block {prompt!r}" if self.asked_as(prompt, name) != prompt else f"no {medium().KIND}"
                yield f"{name} has {lacks}: it was asked as with {self.baseline}."
                continue
            for change in comparison.changes:
                if change.task == name and change.headline:
                    unsure = change.difference.few and not change.difference.exact and change.difference.value != 0
                    few = " (few docs: the interval may be too short)" if unsure else ""
                    yield verdict(change, prompt, self.baseline) + few

    def block_texts(self) -> dict[str, str]:
        """The text of each prompt block with its rule of frames, task by task."""
        found = {}
        for key, run in self.runs.items():
            prompts = run.results.run.prompts
            stated = {  # with the rule of frames, unless it is the default one
                task: {**prompt["kwargs"], **({FRAMES_KEY: prompt[FRAMES_KEY]} if FRAMES_KEY in prompt else {})}
                for task, prompt in prompts.items()
            }
            found[key] = "; ".join(f"{task} {block_text(block)}" for task, block in stated.items())
        return found


def block_text(kwargs: Mapping[str, Any]) -> str:
    """A block in one line: post_prompt='\\nAnswer:'; empty entries are left out."""
    return ", ".join(f"{key}={value!r}" for key, value in kwargs.items() if value != "") or "(nothing)"


def best_of(compared: PromptComparison, name: str, metric: MetricKey) -> list[str]:
    """The prompt keys with the best number, several where they are equal; none where all are."""
    values = {key: found.value for key in compared.runs if (found := compared.estimate(key, name, metric))}
    if not values:
        return []
    better = compared.runs[compared.baseline].results.better(name, metric.metric)
    if better is None:
        return []
    best = max(values.values()) if better else min(values.values())
    leading = [key for key, value in values.items() if value == best]
    return leading if len(leading) < len(values) else []
