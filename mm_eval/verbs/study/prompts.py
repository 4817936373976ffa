"""Runs of one model with several prompt blocks or rules of frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from mm_eval.prompt.blocks import FRAMES_KEY
from mm_eval.results.changes import Change
from mm_eval.results.recorded import RecordedRun
from mm_eval.values.types import MetricKey
from mm_eval.values.words import counted, listed
from mm_eval.verbs.study.compare import verdict
from mm_eval.verbs.study.variants import Variants


class Prompts(Variants):
    """One model's runs by the name of their prompt: its key, its rule of frames, or both."""

    noun: ClassVar[str] = "prompt"
    title: ClassVar[str] = "Which prompt suits {models}?"

    @classmethod
    def asked_the_same(cls, runs: Sequence[RecordedRun]) -> list[dict[str, int | None]]:
        """By the prompts, pictures and right answers that were recorded of each task; of a group by those of all its tasks."""
        first, found = runs[0], list[dict[str, int | None]]()
        groups = {name: list(first.results.leaves(name)) for name in first.results.groups}
        members = {**groups, **{name: [name] for name in first.spec["tasks"]}}
        asked = [{task: (run.spec["model"], run.questions_digest(task)) for task in run.spec["tasks"]} for run in runs]
        for place, mine in enumerate(asked[1:], 1):
            earlier = {
                name: next((at for at in range(place) if all(mine.get(t) == asked[at].get(t) for t in tasks)), None)
                for name, tasks in members.items()
            }
            found.append({name: at - 1 if at else None for name, at in earlier.items() if at is not None})
        return found

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

    def advice(self) -> str:
        """Which prompt to use, in one line: by the main numbers, corrected for the number of prompts."""
        better, worse, tasks = dict[str, list[str]](), dict[str, list[str]](), dict[str, None]()
        size = dict[str, float]()
        for prompt, comparison in self.compared.items():
            for change in comparison.changes:
                if not change.main or change.category or change.copy_of or change.better is None:
                    continue
                tasks[change.task] = None
                if self.same_as(prompt, change.task) != prompt or not change.told_apart:
                    continue
                unit, found = change.unit, change.difference
                amount = f"{unit.signed(found.value)} {unit.spread(found)}".rstrip()
                up = (found.value > 0) == change.better
                (better if up else worse).setdefault(prompt, []).append(f"{amount} on {change.task}")
                scale = max(abs(change.first.value), abs(change.second.value)) or 1.0
                size[prompt] = size.get(prompt, 0.0) + abs(found.value) / scale * (1 if up else -1)
        always = [prompt for prompt in better if prompt not in worse]
        if always:
            best = max(always, key=lambda prompt: (len(better[prompt]), size[prompt]))
            also = f"; {listed(rest, 4)} too" if (rest := [each for each in always if each != best]) else ""
            return f"{self.model}: use {best}, {listed(better[best], 4)} over {self.baseline}{also}."
        if better:
            said = [
                f"{each} is better ({listed(better[each], 3)}) and worse ({listed(worse[each], 3)})" for each in better
            ]
            return f"{self.model}: no prompt is better on all tasks: {'; '.join(said)}."
        if not tasks:
            return ""
        where = listed(list(tasks), 6)
        if all(self.same_as(prompt, name) == self.baseline for prompt in self.compared for name in tasks):
            return f"{self.model}: the prompts are equal on {where}."
        less = f"; worse are {listed([f'{each} ({listed(worse[each], 2)})' for each in worse], 4)}" if worse else ""
        return f"{self.model}: use {self.baseline}: no other prompt is significantly better on {where}{less}."

    def verdicts(self, name: str) -> Iterator[str]:
        """A sentence for each number and prompt, and what limits it; one for all prompts without a significant difference."""
        alike = dict[MetricKey, list[tuple[str, Change]]]()
        lacking, equal = dict[str, list[str]](), dict[str, list[str]]()
        for prompt, comparison in self.compared.items():
            if self._asked(prompt, name) == self._asked(self.baseline, name):
                lacking.setdefault("no block" if self.asked_as(prompt, name) != prompt else "no video", []).append(
                    prompt
                )
                continue
            if (same := self.same_as(prompt, name)) != prompt:
                equal.setdefault(same, []).append(prompt)
                continue
            for change in comparison.changes:
                if change.task == name and change.headline:
                    if change.difference.p_value is not None and not change.told_apart:
                        alike.setdefault(change.key, []).append((prompt, change))
                        continue
                    yield verdict(change, prompt, self.baseline) + _few(change)
        for lacks, prompts in lacking.items():
            blocks = f" {', '.join(map(repr, prompts))}" if lacks == "no block" else ""
            yield f"{name} has {lacks}{blocks}: it was asked as with {self.baseline}."
        for same, prompts in equal.items():
            docs = sum(len(self.runs[same].tasks[task].clusters) for task in self.members(name))
            yield f"{', '.join([same, *prompts])} ask the same on {name}: {docs:,} of {docs:,} requests are equal."
        together = dict[tuple[tuple[str, ...], int], list[MetricKey]]()
        for key, changes in alike.items():
            names, first = [label for label, _ in changes], changes[0][1]
            if len(changes) == 1:
                yield verdict(first, names[0], self.baseline) + _few(first)
            else:
                together.setdefault((tuple(names), first.difference.n or 0), []).append(key)
        for (labels, docs), keys in together.items():
            one = f" ({keys[0].metric})" if len(keys) == 1 else ""
            any_of = f" by any of {len(keys)} metrics" if len(keys) > 1 else ""
            yield (
                f"On {name}{one} {listed(labels, 6)} show no significant difference from {self.baseline} "
                f"with {counted(docs, 'document')}{any_of}."
            )

    def texts(self) -> dict[str, str]:
        """The text of each prompt block with its rule of frames, task by task."""
        found = {}
        for key, run in self.runs.items():
            prompts = run.results.run.prompts
            stated = {}
            for task, prompt in prompts.items():
                rule = prompt.get(FRAMES_KEY) if run.tasks[task].shows_frames else None  # unless it is the default one
                stated[task] = {**prompt["kwargs"], **({FRAMES_KEY: rule} if rule else {})}
            found[key] = "; ".join(f"{task} {block_text(block)}" for task, block in stated.items())
        return found


def _few(change: Change) -> str:
    """What limits the interval of a change, as a sentence of its own."""
    found = change.difference
    unsure = found.few and not found.exact and found.value != 0
    return " There are few documents, so the interval may be too short." if unsure else ""


def block_text(kwargs: Mapping[str, object]) -> str:
    """A block in one line: post_prompt='\\nAnswer:'; empty entries are left out."""
    return ", ".join(f"{key}={value!r}" for key, value in kwargs.items() if value != "") or "(nothing)"
