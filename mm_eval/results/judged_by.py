"""Which judge gave a number, and whether two numbers are by the same one.

    judges_behind(run, "mmvet", MetricKey("judge_score", "none"))

A judge is what decides its verdicts: the adapter, the model asked for, the versions that the server returned, the prompt and the
options. Numbers of two judges are never compared unless the user asks for it: a table of models ranks them apart, and its notes
say who judged what.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mm_eval.results.recorded import RecordedRun
from mm_eval.scoring.run_results import Results
from mm_eval.scoring.task_scores import Scores
from mm_eval.values.types import MetricKey

AT = "@"
"""Stands before the name of a further judge in the name of its metric: judge_score@gpt-4o."""
TRANSPORT = frozenset(
    ("base_url", "server", "api_key_env", "num_concurrent", "max_retries", "timeout", "deadline", "max_outage")
    + ("max_reply_mb", "input_price", "output_price", "max_tokens_name", "device", "batch_size")
)
"""Arguments of a judge that change how it is reached, not what it says."""


@dataclass(frozen=True)
class RecordedJudge:
    """A judge of one task, as results.json records it.

    model: as asked for. returned: the versions that the server named, with how many verdicts each gave. official: the judge of
    the benchmark's authors. repeats: verdicts per doc, which are not part of the judge's identity.
    """

    name: str
    adapter: str = ""
    model: str = ""
    returned: tuple[tuple[str, int], ...] = ()
    prompt_digest: str = ""
    options: str = ""
    official: str | None = None
    repeats: int = 1
    preflight: str = ""

    @classmethod
    def read(cls, entry: Mapping[str, Any]) -> RecordedJudge:
        """A judge of `results["judges"]`."""
        returned: dict[str, int] = {}
        for name, count in (entry.get("models") or {}).items():
            version = str(name).split(" (")[0]  # without the fingerprint, which changes from day to day
            returned[version] = returned.get(version, 0) + int(count)
        options = dict(entry.get("options") or {})
        if isinstance(args := options.get("args"), Mapping):
            options["args"] = {key: value for key, value in args.items() if key not in TRANSPORT}
        return cls(
            str(entry.get("name") or entry.get("model") or ""),
            str(entry.get("adapter") or ""),
            str(entry.get("model") or ""),
            tuple(sorted(returned.items())),
            str(entry.get("prompt_digest") or ""),
            json.dumps(options, sort_keys=True, default=str),
            entry.get("official"),
            int(entry.get("repeats") or 1),
            str(entry.get("preflight") or ""),
        )

    @property
    def versions(self) -> tuple[str, ...]:
        """The names that the server returned."""
        return tuple(name for name, _ in self.returned)

    def known_as(self, name: str) -> bool:
        """Whether a name that somebody states is this judge's: by the only version returned, else by the model asked for."""
        return name in (self.versions if len(self.versions) == 1 else (self.name, self.model))

    @property
    def is_official(self) -> bool | None:
        """Whether it is the judge of the benchmark's authors; None where the task states none."""
        return None if self.official is None else self.known_as(self.official)

    def described(self) -> str:
        """Its name, and what the server returned where that is another one: "gpt-4o (gpt-4o-2024-11-20)"."""
        if len(self.returned) > 1:
            return f"{self.name} ({', '.join(f'{name}: {count}' for name, count in self.returned)})"
        return self.name if self.versions in ((), (self.name,)) else f"{self.name} ({self.versions[0]})"

    def sentence(self) -> str:
        """Who judged, in one line: "gpt-4o (gpt-4o-2024-11-20), 3 verdicts a doc; official gpt-4-0613: not comparable"."""
        parts = [self.described() + (f" through {self.adapter}" if self.adapter else "")]
        if self.repeats > 1:
            parts.append(f", {self.repeats} verdicts a doc")
        if self.is_official is not None:
            parts.append("; the official judge" if self.is_official else f"; official {self.official}: not comparable")
        if self.preflight == "skipped":
            parts.append("; its check before the run was skipped")
        return "".join(parts)

    def difference(self, other: RecordedJudge) -> str:
        """How another judge differs, in words; empty for the same judge."""
        if (self.adapter, self.model or self.name) != (other.adapter, other.model or other.name):
            return f"{self._name_beside(other)} and {other._name_beside(self)}"
        if self.versions != other.versions or len(self.versions) > 1:
            return f"{self.described()} and {other.described()}"
        parts = [("prompt", self.prompt_digest != other.prompt_digest), ("options", self.options != other.options)]
        changed = " and ".join(word for word, differs in parts if differs)
        return (
            f"{self.described()} with different {changed.replace('prompt', 'prompts or functions')}" if changed else ""
        )

    def _name_beside(self, other: RecordedJudge) -> str:
        same_name = self.described() == other.described()
        return f"{self.described()} through {self.adapter}" if same_name else self.described()


def judges_of(results: Results, task: str) -> tuple[RecordedJudge, ...]:
    """The judges of a task, the first one's metric has its plain name; none for a task without."""
    return tuple(map(RecordedJudge.read, results.judges(task)))


def judge_of(results: Results, task: str, key: MetricKey) -> RecordedJudge | None:
    """The judge behind a number of a task; None for one that needs none."""
    name = results.judge_behind(task, key.metric)
    return next((judge for judge in judges_of(results, task) if judge.name == name), None)


def judges_behind(run: RecordedRun, name: str, key: MetricKey) -> dict[str, RecordedJudge]:
    """{task: judge} behind a number of a task or a group; empty where none is."""
    found = {}
    for leaf in run.results.leaves(name):
        judge, row = judge_of(run.results, leaf, key), run.results.rows.get(leaf)
        if judge is None and (row is None or row.number(key) is None):  # a group's mean of unlike metrics
            judge = next(iter(judges_of(run.results, leaf)), None)
        if judge is not None:
            found[leaf] = judge
    return found


def judges_differ(first: Mapping[str, RecordedJudge], second: Mapping[str, RecordedJudge]) -> str:
    """How the judges behind two numbers differ, in words; empty where they don't."""
    for task in first.keys() | second.keys():
        mine, other = first.get(task), second.get(task)
        if mine is None or other is None:
            known = mine or other
            return f"{known.described() if known else ''} and no judge"
        if said := mine.difference(other):
            return said
    return ""


def by_another_judge(judges: Mapping[str, RecordedJudge], stated: str) -> str:
    """How the judge of a reported number differs from ours, in words; empty where it is the same or nothing is judged."""
    for judge in judges.values():
        name = stated or judge.official or ""
        if not judge.known_as(name):
            theirs = f"judged by {name}" if name else "by a judge that is not named"
            return f"{theirs}, ours by {judge.described()}"
    return ""


def notes_on_holes(column: str, run: RecordedRun) -> Iterator[str]:
    """Why a judged task has no number in a column: nobody judged it, or no verdict could be read."""
    for task in run.results.added.get("judges", {}):
        row = run.results.rows.get(task, Scores(task, task))
        name = row.alias
        if not run.results.judges(task):
            yield f"{column}, {name}: not judged."
        elif row.judge_failed and row.judge_failed == row.scored:
            yield f"{column}, {name}: no doc has a verdict that could be read."
