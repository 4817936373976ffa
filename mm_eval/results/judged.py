"""What a recorded run says of its judges: who gave a number, their verdicts in the rows of samples/, and how two judges differ.

    judges_behind(run.results, "mmvet", run.results.headline("mmvet").key)

A judge is what decides its verdicts: the adapter, the model asked for, the versions that the server returned, the prompt and the
options. Numbers of two judges are never compared unless the user asks for it (--mix_judges): a table of models ranks them apart,
and its notes say who judged what. A row of samples/<task>.jsonl has

    {"judge": {"prompt": ..., "reply": "GRADE: C", "verdict": 1, "model": "gpt-4o-2024-11-20", "attempts": 1}, "judge@llama": ...}

Where a task judges in several steps, several times, or several answers (`"answer": 2`), the entry of a judge is a list.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mm_eval.scoring.run_results import Results
from mm_eval.scoring.sample_row import SampleRow, added_to
from mm_eval.values.safe import in_line
from mm_eval.values.types import MetricKey

TRANSPORT = frozenset(
    ("base_url", "server", "api_key_env", "num_concurrent", "max_retries", "timeout", "deadline", "max_outage")
    + ("max_reply_mb", "input_price", "output_price", "max_tokens_name", "device", "batch_size")
)
"""Arguments of a judge that change how it is reached, not what it says."""
FIELD = "judge"
"""The key of the first judge's entry in a row; a further judge's is `judge@NAME`."""
Entry = Mapping[str, Any]


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
        """Whether every verdict came from the judge of the benchmark's authors; None where the task states none.

        A server's own name for the model that replied decides, where it gives one. Recorded verdicts go by the name that they are
        given (`--judge_args name=`).
        """
        return None if self.official is None else (set(self.versions) or {self.name}) == {self.official}

    def described(self) -> str:
        """Its name, and what the server returned where that is another one: "gpt-4o (gpt-4o-2024-11-20)"."""
        if len(self.returned) > 1:
            return f"{self.name} ({', '.join(f'{name}: {count}' for name, count in self.returned)})"
        return self.name if self.versions in ((), (self.name,)) else f"{self.name} ({self.versions[0]})"

    def sentence(self) -> str:
        """Who judged, in one line: "gpt-4o (gpt-4o-2024-11-20), 3 verdicts a doc; official gpt-4-0613: not comparable"."""
        parts = [self.described() + (f" through {self.adapter}" if self.adapter else "")]
        if self.repeats > 1:
            parts.append(f", {self.repeats} verdicts per document")
        if self.is_official is not None:
            parts.append("; the official judge" if self.is_official else f"; official {self.official}: not comparable")
        if self.preflight == "skipped":
            parts.append("; its check before the run was skipped")
        return "".join(parts)

    def difference(self, other: RecordedJudge | None) -> str:
        """How another judge differs, in words; empty for the same judge. other: None for no judge."""
        if other is None:
            return f"{self.described()} and no judge"
        if (self.adapter, self.model or self.name) != (other.adapter, other.model or other.name):
            return f"{self._name_beside(other)} and {other._name_beside(self)}"
        if self.versions != other.versions or len(self.versions) > 1:
            return f"{self.described()} and {other.described()}"
        parts = [("prompt", self.prompt_digest != other.prompt_digest), ("options", self.options != other.options)]
        changed = " and ".join(word for word, differs in parts if differs)
        return (
            f"{self.described()} with different {changed.replace('prompt', 'prompts or functions')}" if changed else ""
        )

    def difference_to_reported(self, name: str) -> str:
        """How the judge of a published number differs, in words: the official one where none is named."""
        name = name or self.official or ""
        if self.known_as(name):
            return ""
        return f"{f'judged by {name}' if name else 'by a judge that is not named'}, ours by {self.described()}"

    def _name_beside(self, other: RecordedJudge) -> str:
        """Its name; where the other has the same one also its adapter, or its model where the adapter is the same, too."""
        if self.described() != other.described():
            return self.described()
        of = f"through {self.adapter}" if self.adapter != other.adapter else f"({in_line(self.model or self.name, 80)})"
        return f"{self.described()} {of}"


def _entries(results: Results, task: str) -> Sequence[Entry]:
    """What is recorded of each judge of a task, the first one first."""
    return results.judges.get(task) or ()


def judges_of(results: Results, task: str) -> tuple[RecordedJudge, ...]:
    """The judges of a task, the first one's metric has its plain name; none for a task without."""
    return tuple(map(RecordedJudge.read, _entries(results, task)))


def judge_of(results: Results, task: str, metric: str) -> RecordedJudge | None:
    """The judge behind a number of a task; None for one that needs none."""
    name = _name_behind(results, task, metric)
    return next((judge for judge in judges_of(results, task) if judge.name == name), None)


def judges_by_task(results: Results) -> dict[str, tuple[RecordedJudge, ...]]:
    """{task: its judges} of the tasks that need one; empty of a task that nobody judged."""
    return {task: judges_of(results, task) for task in results.judges}


def judges_behind(results: Results, name: str, key: MetricKey) -> dict[str, RecordedJudge]:
    """{task: judge} behind a number of a task or a group; empty where none is."""
    found = {}
    for leaf in results.leaves(name):
        judge = judge_of(results, leaf, key.metric)
        row = results.rows.get(leaf)
        if judge is None and (row is None or row.number(key) is None):  # a group's mean of unlike metrics
            judge = next(iter(judges_of(results, leaf)), None)
        if judge is not None:
            found[leaf] = judge
    return found


def judges_differ(first: Mapping[str, RecordedJudge], second: Mapping[str, RecordedJudge]) -> str:
    """How the judges behind two numbers differ, in words; empty where they don't."""
    for task in first.keys() | second.keys():
        known, other = (first[task], second.get(task)) if task in first else (second[task], None)
        if said := known.difference(other):
            return said
    return ""


def judged_by(judges: Iterable[RecordedJudge]) -> str:
    """Who gave a number, in words: "judged by gpt-4o"; a number of which nobody is known is "judged by no judge"."""
    return f"judged by {', '.join(dict.fromkeys(judge.described() for judge in judges)) or 'no judge'}"


def _name_behind(results: Results, task: str, metric: str) -> str:
    """The name of the judge that gave a task's metric; "" for one that needs none.

    A task whose judge only extracts answers has no metrics of the judge's own: all its numbers are judged.
    """
    first, *further = [str(entry.get("name") or entry.get("model") or "") for entry in _entries(results, task)] or [""]
    if (at := next((name for name in further if metric.endswith(f"@{name}")), "")) or not first:
        return at
    block = results.configs.get(task, {}).get("judge")
    last = block[-1] if isinstance(block, list) and block else block
    listed = (last.get("metric_list") if isinstance(last, Mapping) else None) or [{"metric": metric}]
    return first if any(isinstance(each, Mapping) and each.get("metric") == metric for each in listed) else ""


def name_numbers(results: Results) -> None:
    """Says of each number which judge gave it."""
    for name, row in results.rows.items() if results.judges else ():
        for place, number in enumerate(row.numbers):
            judges = {_name_behind(results, leaf, number.metric) for leaf in results.leaves(name)}
            row.numbers[place] = replace(number, judge=judges.pop() if len(judges) == 1 else "")


def lines(results: Results) -> Iterator[str]:
    """A line for each judge with its tasks: whether its numbers can be compared with published ones."""
    said: dict[str, list[str]] = {}
    for name, entries in results.judges.items():
        for entry in entries:
            returned = [model.split(" (")[0] for model in entry["models"]]
            others = [model for model in dict.fromkeys(returned) if model not in (entry["model"], entry["name"])]
            who = entry["name"] + (f" (it answered as {', '.join(others)})" if others else "")
            if len(set(entry["models"])) > 1:
                who += f", {len(entry['models'])} versions of it"
            judge = RecordedJudge.read(entry)
            other = f", official {judge.official}: not comparable" if judge.is_official is False else ""
            line = f"judged by {who}{other}"
            said.setdefault(line, []).append(name)
    for line, names in said.items():
        yield f"{', '.join(names)}: {line}"


def ends(results: Results, task: str) -> tuple[float, float] | None:
    """The lowest and the highest verdict of a task. None without a judge, and where its range is a function of the doc."""
    judge = results.configs.get(task, {}).get("judge")
    stated = judge.get("range") if isinstance(judge, Mapping) and _entries(results, task) else None
    numbers = isinstance(stated, list) and len(stated) == 2 and all(isinstance(end, (int, float)) for end in stated)
    return (float(stated[0]), float(stated[1])) if numbers and stated else None


def verdicts_in(row: SampleRow) -> dict[str, list[Entry]]:
    """{name of the judge: its entries} of a row, "" being the first judge; empty where nothing was judged."""
    found = {}
    for key, value in added_to(row).items():
        if key == FIELD or key.startswith(f"{FIELD}@"):
            entries = value if isinstance(value, list) else [value]
            found[key[len(FIELD) + 1 :]] = [entry for entry in entries if isinstance(entry, Mapping)]
    return {name: entries for name, entries in found.items() if entries}


def disagree(row: SampleRow, judges: Mapping[str, Sequence[Entry]]) -> bool:
    """Whether two judges give a doc different scores, or a doc without scores different verdicts."""
    scores = row.get("scores", {})
    for name in judges:
        for key, value in scores.items() if name else ():
            metric, _, scorer = key.partition(",")
            plain = f"{metric.removesuffix(f'@{name}')},{scorer}"
            if metric.endswith(f"@{name}") and plain in scores and scores[plain] != value:
                return True
    last = [entries[-1].get("total", entries[-1].get("verdict")) for entries in judges.values()]
    known = [verdict for verdict in last if verdict is not None]
    return any(verdict != known[0] for verdict in known)


def final_verdicts(entries: list[Entry], steps: int) -> list[object]:
    """The verdicts of one judge on a doc, one for each answer and repeat; None for one that is missing.

    steps: questions a verdict takes; 0 where that is not the same for all docs, and the last entry has the `total`.
    """
    found: list[object] = []
    asked = 0
    for entry in entries:
        asked += 1
        if asked == steps or "total" in entry or entry.get("verdict") is None or entry.get("empty"):
            found.append(entry.get("total", entry.get("verdict")))
            asked = 0
    return found


def was_sent(entries: list[Entry]) -> bool:
    """Whether the judge was asked about an answer: an empty one gets its verdict from the task."""
    return not all(entry.get("empty") for entry in entries)


def further(row: SampleRow) -> tuple[str, ...]:
    """How the metrics of a row's further judges end: right or wrong is what the first one says."""
    return tuple(f"@{judge}" for judge in verdicts_in(row) if judge)
