"""Named protocols: how a report measured its benchmarks, with the numbers it printed.

Each setting and each number says how it is known (`KNOWN`), in words. protocol_file.py reads them from one YAML file each.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mm_eval.config import schema
from mm_eval.config.arguments import WHOLE_FROM_0, Rule
from mm_eval.prompt.blocks import FRAMES_KEY

KNOWN = (
    "documented by the authors",
    "taken from the authors' code",
    "read in lmms-eval",
    "read in VLMEvalKit",
    "printed in the paper",
    "printed in another paper",
    "copied by others",
    "quoted by a third party",
    "recomputed from recorded answers",
    "from memory",
    "assumed",
)
"""How a setting or a number can be known."""
COPIED = "copied by others"
"""Known from somebody's copy of the report, which `source` names. Such a number can be near ours, and is never said to match."""
UNSTATED = "not stated"
"""`known` of a condition that the report leaves open; the verdict says so. A value can't be known so."""
UNVERIFIED = ("quoted by a third party", "from memory", "assumed")
"""A number known so is never said to match."""
TOOLS = "tools"
"""The setting that states the tools that a model may use, and the unit of its boxes, as the key of task files does."""
SETTINGS: dict[str, Rule] = {
    "prompt": Rule("a prompt key of the task, or a mapping of prompt kwargs", schema.NAMED.fits),
    "system_instruction": Rule("a text", lambda v: isinstance(v, str)),
    "chat_template": schema.BOOLEAN,
    "gen_kwargs": schema.MAPPING,
    "num_fewshot": WHOLE_FROM_0,
    "filter_list": schema.MAPPINGS,
    FRAMES_KEY: schema.TEXT,
    "model_args": schema.MAPPING,
    "judge": schema.TEXT,
    TOOLS: Rule("a list of tools, or a mapping as in task files", lambda v: isinstance(v, (list, Mapping)) and bool(v)),
}
"""What a protocol may state, under the names of the options or of a task's keys, with the value each may have."""
OF_RUN = ("system_instruction", "chat_template")
"""Settings of the whole run; all others may also stand beside a benchmark, where they replace those of the whole protocol."""


@dataclass(frozen=True)
class Setting:
    """One setting of a protocol. name: as in `SETTINGS`. known: as in `KNOWN`. where: file:line."""

    name: str
    value: Any
    known: str
    source: str = ""
    where: str = ""


@dataclass(frozen=True)
class Condition:
    """What a report did and no option sets, in words; or what it does not state (known: `UNSTATED`)."""

    what: str
    known: str
    source: str = ""


@dataclass(frozen=True)
class ReportedNumbers:
    """The numbers that a report prints for a benchmark.

    metrics: the task's metrics behind the number; several are added up or averaged (of: "sum" or "mean").
    numbers: {model: number} in our unit (fractions in [0, 1], points as they are). tolerance: in the same unit.
    scale: how many of the report's units are one of ours. docs: how many docs the report's data has, if that is stated.
    not_comparable: why our task's number is not the same quantity; "" where it is.
    runs: how many answers to a question are behind it: "avg@3" (their mean), "pass@5" (one right answer is enough); "" where
    that is one, or is not stated. direction: "higher" or "lower", whichever is better.
    """

    metrics: tuple[str, ...]
    of: str
    numbers: Mapping[str, float]
    tolerance: float
    scale: float
    known: str
    source: str
    docs: int | None = None
    not_comparable: str = ""
    runs: str = ""
    direction: str = "higher"
    where: str = ""

    @property
    def passes(self) -> int:
        """k of a number that is pass@k; 0 for any other."""
        kind, _, count = self.runs.partition("@")
        return int(count) if kind == "pass" else 0

    @property
    def about(self) -> str:
        """What its `runs` and `direction` say, in words: "avg@3, lower is better"; "" for a single answer and a higher number."""
        return ", ".join(filter(None, (self.runs, "lower is better" if self.direction == "lower" else "")))

    @property
    def label(self) -> str:
        """The metric's name, or "sum of a, b"."""
        return self.metrics[0] if len(self.metrics) == 1 else f"{self.of} of {', '.join(self.metrics)}"


@dataclass(frozen=True)
class Benchmark:
    """One benchmark of a protocol: the task that measures it, its own settings, and what was reported."""

    task: str
    settings: Mapping[str, Setting]
    reported: tuple[ReportedNumbers, ...] = ()
    conditions: tuple[Condition, ...] = ()
    where: str = ""


@dataclass(frozen=True)
class Missing:
    """A benchmark of the report that no task measures. numbers: as the report prints them. direction: as in `ReportedNumbers`."""

    benchmark: str
    why: str
    numbers: Mapping[str, float] = field(default_factory=dict)
    known: str = ""
    source: str = ""
    direction: str = "higher"


def _names_in(path: str) -> list[str]:
    """The names on the path of a task, without formats, each as a protocol has it: "mmlu@python" for one with Python."""
    end = schema.WITH_PYTHON if schema.split_python(path)[1] else ""
    return [part.partition("@")[0].partition("#")[0] + end for part in path.split("::")]


@dataclass(frozen=True)
class Protocol:
    """A protocol. models: {name in the report: the checkpoints that are this model}."""

    name: str
    title: str
    report: str
    file: Path
    models: Mapping[str, tuple[str, ...]]
    settings: Mapping[str, Setting]
    benchmarks: Mapping[str, Benchmark]
    conditions: tuple[Condition, ...] = ()
    missing: tuple[Missing, ...] = ()
    about: str = ""

    def benchmark_of(self, path: str) -> Benchmark | None:
        """The benchmark of a task by its path: its own, else that of the nearest group around it.

        A task with Python (`task@python`) has only benchmarks that are reported with Python.
        """
        names = _names_in(path)
        return next((self.benchmarks[name] for name in reversed(names) if name in self.benchmarks), None)

    def own_benchmark(self, path: str) -> Benchmark | None:
        """The benchmark of a task or group by its path, not one of a group around it."""
        return self.benchmarks.get(_names_in(path)[-1])

    def rows(self, with_python: bool) -> Iterator[str]:
        """The tasks of all benchmarks. with_python: also those that are reported with Python (`task@python`)."""
        yield from (name for name in self.benchmarks if with_python or not schema.split_python(name)[1])

    def settings_of(self, benchmark: Benchmark) -> dict[str, Setting]:
        """All settings of a benchmark: its own over those of the protocol."""
        return {**self.settings, **benchmark.settings}

    def unstated(self, benchmark: Benchmark) -> list[str]:
        """What the report does not state about a benchmark, in words."""
        return [each.what for each in (*benchmark.conditions, *self.conditions) if each.known == UNSTATED]
