"""What a run under a named protocol came to: a verdict for each benchmark, beside the reported number.

A number matches if it is off by at most the protocol's tolerance plus one standard error of ours; one that is known from a copy
of the report is then near, and never matches. Both numbers are of the same documents, so the standard error, which is for other
documents, is a wide allowance for batching and number formats.
It is not compared where anything else than the model's answers may explain a difference: `_Measured._obstacles`.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mm_eval.config.task_config import TaskConfig
from mm_eval.engine.generation import one_token_cap
from mm_eval.prompt.blind import joined_media
from mm_eval.prompt.blocks import FRAMES_KEY
from mm_eval.protocols.protocol import (
    COPIED,
    SETTINGS,
    TOOLS,
    UNVERIFIED,
    Benchmark,
    Protocol,
    ReportedNumbers,
    Setting,
)
from mm_eval.protocols.run_under import common_model_args, protocol_block, protocol_of, stated_model_args
from mm_eval.request import RunRequest
from mm_eval.results.judged import judges_of
from mm_eval.results.protocol_verdicts import MATCHES, NEAR, NOT_COMPARABLE, OFF
from mm_eval.results.run_table import incomplete
from mm_eval.scoring.run_results import ProtocolVerdicts, Results
from mm_eval.scoring.task_scores import Scores
from mm_eval.values.types import JsonObject, Number
from mm_eval.values.words import counted, listed, of_all

if TYPE_CHECKING:
    from mm_eval.open_tasks import OpenedTasks

RECORDED = "replay"
"""The adapter of recorded answers: what its model was loaded with is a matter of the recording."""


@dataclass(frozen=True)
class Difference:
    """A setting of the protocol that the run does not have.

    ours, theirs: the values. overridden: the answers are to another question or by other decoding; False where the adapter does
    not have an argument of the model, which may be set elsewhere (on a server), or in the run that was recorded.
    setting: the protocol's own entry, None where it states nothing.
    """

    name: str
    ours: object
    theirs: Any
    overridden: bool
    setting: Setting | None = None
    why: str = ""

    @property
    def said(self) -> str:
        """As a clause: "max_new_tokens is 16 (protocol: 128)"."""
        theirs = "not stated" if self.theirs is None else _short(self.theirs)
        if self.ours is None:
            return f"{self.name} is not set (protocol: {theirs}{self.why})"
        return f"{self.name} is {_short(self.ours)} (protocol: {theirs})"

    def to_json(self) -> dict[str, object]:
        known = {"known": self.setting.known, "source": self.setting.source} if self.setting else {}
        return {
            "setting": self.name,
            "ours": self.ours,
            "protocol": self.theirs,
            "overridden": self.overridden,
            **known,
        }


def protocol_results(opened: OpenedTasks, results: Results) -> ProtocolVerdicts | None:
    """The entry `protocol` of results.json; None for a run without a protocol. results: with `run`."""
    protocol = protocol_of(opened.request)
    if protocol is None:
        return None
    model = reported_model(protocol, opened.request)
    rows: list[dict[str, object]] = []
    for name in results.rows:
        group = opened.loaded.groups.get(name)
        benchmark = protocol.own_benchmark((group or opened.loaded.tasks[name]).path)
        if benchmark is not None:
            rows += _Measured(opened, protocol, benchmark, name, model, results).rows()
        elif group is None and protocol.benchmark_of(opened.tasks[name].path) is None:
            rows.append({"task": name, "verdict": f"{NOT_COMPARABLE}: the protocol does not have this benchmark"})
    return {
        "name": protocol.name,
        "title": protocol.title,
        "report": protocol.report,
        "file": hashlib.sha256(protocol.file.read_bytes()).hexdigest()[:16],
        "model": model,
        "rows": rows,
        "missing": [each.benchmark for each in protocol.missing],
    }


def differing_notes(opened: OpenedTasks) -> list[str]:
    """What the options, and the adapter, change of the protocol; nothing without one."""
    protocol = protocol_of(opened.request)
    tasks: dict[str, list[str]] = {}
    for name in opened.tasks if protocol else ():
        for each in differences(opened, protocol, name) if protocol else ():
            tasks.setdefault(each.said, []).append(name)
    return [f"protocol {opened.request.protocol.name}: {said} in {listed(names, 3)}" for said, names in tasks.items()]


def reported_model(protocol: Protocol, request: RunRequest) -> str | None:
    """The model of the report that a run measures: by `--name`, else by the checkpoint's or the served model's name."""
    named = [request.model_args.get(key) for key in ("pretrained", "model")]
    own = [plain_name(str(each)) for each in ([request.name] if request.name else named) if each]
    for model, checkpoints in protocol.models.items():
        if any(plain_name(each) in own for each in (model, *checkpoints)):
            return model
    return None


def applies(request: RunRequest, protocol: Protocol, setting: str) -> bool:
    """Whether a request takes a setting from the protocol."""
    return request.protocol.name == protocol.name and setting in (
        SETTINGS if request.protocol.settings is None else request.protocol.settings
    )


def plain_name(name: str) -> str:
    """The last part of a model's name, without case: "llava-hf/llava-1.5-7b-hf" as "llava-1.5-7b-hf"."""
    return Path(name).name.lower().replace("_", "-")


def differences(opened: OpenedTasks, protocol: Protocol, name: str) -> Iterator[Difference]:
    """The settings in which a task of a run differs from its protocol. name: of a loaded task."""
    request, config, style = opened.request, opened.tasks[name].config, opened.styles[name]
    benchmark = protocol.benchmark_of(config.path)
    if benchmark is None:
        return
    settings = protocol.settings_of(benchmark)
    block = protocol_block(protocol, config)
    if block is not None and dict(block.kwargs) != dict(style.block.kwargs):
        yield Difference("prompt", dict(style.block.kwargs), dict(block.kwargs), True, settings["prompt"])
    if block is not None and FRAMES_KEY in settings and block.frames != style.block.frames:
        yield Difference(FRAMES_KEY, style.block.frames, block.frames, True, settings[FRAMES_KEY])
    for key, ours in (("system_instruction", style.system), ("chat_template", request.chat_template)):
        theirs = settings[key].value if key in settings else None
        if ours != theirs:
            yield Difference(key, ours, theirs, True, settings.get(key))
    yield from _of_config(config, settings, request.gen_kwargs, request.num_fewshot)
    stated = stated_model_args(protocol, benchmark)
    benchmarks = [each for leaf in opened.tasks.values() if (each := protocol.benchmark_of(leaf.path))]
    alike = common_model_args(protocol, benchmarks)
    for key, theirs in stated.items():
        ours = request.model_args.get(key)
        if ours is None or str(ours) != str(theirs):
            several, left_out = alike.get(key) != theirs, not applies(request, protocol, "model_args")
            settable = ours is not None or request.model != RECORDED and (several or left_out)
            alone = "; the benchmarks of this run need several values: run them one by one" if several else ""
            yield Difference(key, ours, theirs, settable, settings["model_args"], alone)


def _of_config(
    config: TaskConfig, settings: Mapping[str, Setting], given: Mapping[str, object], shots: int | None
) -> Iterator[Difference]:
    """Of generation, examples and extraction. given: --gen_kwargs; shots: --num_fewshot."""
    stated = settings.get("gen_kwargs")
    theirs = one_token_cap(stated.value) if stated else {}
    for key in dict.fromkeys((*theirs, *one_token_cap(given))):
        ours = config.generation_kwargs.get(key)
        if ours != theirs.get(key) and (key in theirs or key in one_token_cap(given)):
            yield Difference(key, ours, theirs.get(key), True, stated)
    examples = settings.get("num_fewshot")
    if examples is not None and config.num_fewshot != examples.value:
        yield Difference("num_fewshot", config.num_fewshot, examples.value, True, examples)
    elif examples is None and shots is not None:
        yield Difference("num_fewshot", shots, None, True)
    extraction = settings.get("filter_list")
    if extraction is not None and list(config.filter_list) != list(extraction.value):
        yield Difference("filter_list", config.to_json().get("filter_list"), extraction.value, True, extraction)
    tools, ours = settings.get(TOOLS), config.tools.stated if config.tools is not None else None
    if tools is not None and ours != tools.value:
        yield Difference(TOOLS, config.to_json().get(TOOLS), tools.value, True, tools)


@dataclass
class _Measured:
    """A benchmark of a protocol and the row that measures it. model: of the report, where the run's is known."""

    opened: OpenedTasks
    protocol: Protocol
    benchmark: Benchmark
    name: str
    model: str | None
    results: Results

    @property
    def row(self) -> Scores:
        return self.results.rows[self.name]

    @cached_property
    def leaves(self) -> list[str]:
        """The tasks below the row."""
        return [leaf for leaf in dict.fromkeys(self.opened.loaded.leaves(self.name)) if leaf in self.opened.tasks]

    @cached_property
    def unlike(self) -> list[Difference]:
        """In what the run differs from the protocol here, each once."""
        found = [each for leaf in self.leaves for each in differences(self.opened, self.protocol, leaf)]
        return list({each.said: each for each in found}.values())

    def rows(self) -> Iterator[JsonObject]:
        """A row for each reported number, or one that says that there is none."""
        about = {"differences": [each.to_json() for each in self.unlike]} if self.unlike else {}
        of_model = [each for each in self.benchmark.reported if self.model in each.numbers]
        one_each = {each.label: each for each in self.benchmark.reported}.values()
        for reported in of_model or one_each:
            ours, value = self.measured(reported), reported.numbers.get(self.model or "")
            row = {"task": self.name, "metric": reported.label, "scale": reported.scale}
            row |= {"known": reported.known, "source": reported.source, **about}
            row |= {"runs": reported.runs} if reported.runs else {}
            row |= {"not_stated": self.unstated} if self.unstated else {}
            row |= {"model": self.model, "reported": value, "tolerance": reported.tolerance}
            if ours is not None:
                row |= {"ours": ours[0], "stderr": ours[1]}
            why = self.not_comparable(reported, ours)
            if why or ours is None or value is None:
                yield {**row, "verdict": f"{NOT_COMPARABLE}: {why}"}
            else:
                yield {**row, **self.compared(ours, value, reported)}
        if not self.benchmark.reported:
            why = "sample data" if self.sampled else "the report has no number for it"
            yield {"task": self.name, "verdict": f"{NOT_COMPARABLE}: {why}", **about}

    @property
    def unstated(self) -> list[str]:
        return self.protocol.unstated(self.benchmark)

    @property
    def sampled(self) -> bool:
        return any(self.opened.tasks[leaf].docs.bundled for leaf in self.leaves)

    def measured(self, reported: ReportedNumbers) -> tuple[float, float | None] | None:
        """(our number, its standard error). Of several metrics the standard errors are added, which is an upper bound."""
        numbers: dict[str, Number] = {}
        for number in self.row.numbers:
            numbers.setdefault(number.metric, number)
        names = [f"{reported.runs}({metric})" if self._has_runs(reported) else metric for metric in reported.metrics]
        found = [numbers[metric] for metric in names if metric in numbers]
        values = [number.value for number in found if isinstance(number.value, (int, float))]
        if len(values) < len(reported.metrics):
            return None
        errors = [number.stderr for number in found if number.stderr is not None]
        parts = len(values) if reported.of == "mean" else 1
        return sum(values) / parts, sum(errors) / parts if len(errors) == len(values) else None

    def _has_runs(self, reported: ReportedNumbers) -> bool:
        """Whether the row has what the report prints of several answers, such as avg@3, for each of its metrics."""
        known = {number.metric for number in self.row.numbers}
        return bool(reported.runs) and all(f"{reported.runs}({metric})" in known for metric in reported.metrics)

    def not_comparable(self, reported: ReportedNumbers, ours: tuple[float, float | None] | None) -> str:
        """Why our number and the reported one can't be compared; "" where they can."""
        return "sample data" if self.sampled else "; ".join(self._obstacles(reported, ours is not None))

    def _obstacles(self, reported: ReportedNumbers, has_number: bool) -> Iterator[str]:
        if self.opened.request.blind:
            media = joined_media(self.opened.tasks[leaf].media(self.opened.styles[leaf]) for leaf in self.leaves)
            yield f"asked without the documents' own {media} (--blind)"
        if fixed := self.results.fixed_golds(self.name):
            yield f"other golds ({fixed})"
        parts = [self.results.run.in_part[leaf] for leaf in self.leaves if leaf in self.results.run.in_part]
        if parts:
            shown = of_all(sum(requested for requested, _ in parts), sum(every for _, every in parts), "document")
            yield f"part of the data ({shown})"
        elif reported.docs is not None and reported.docs != self.row.n:
            yield f"other data ({counted(self.row.n, 'document')}, the report's has {reported.docs:,})"
        if reported.not_comparable:
            yield reported.not_comparable
        if reported.passes > 1 and not self._has_runs(reported):
            yield f"the report's number is {reported.runs}: one right answer of {reported.passes} is enough"
        if self.model is None:
            yield f"other model (the report has {', '.join(self.protocol.models)}; --name says which one this is)"
        elif self.model not in reported.numbers:
            yield f"no number of {self.model} is in the report"
        if reported.known in UNVERIFIED:
            yield f"the reported number is not verified ({reported.known})"
        if overridden := [each.said for each in self.unlike if each.overridden]:
            yield f"settings overridden ({', '.join(overridden)})"
        yield from self._of_judge()
        if not has_number:
            yield f"this run has no {reported.label}"
        yield from incomplete(self.row)

    def _of_judge(self) -> Iterator[str]:
        """That another judge than the protocol's judged the answers."""
        settings = self.protocol.settings_of(self.benchmark)
        for judge in (judge for leaf in self.leaves for judge in judges_of(self.results, leaf)[:1]):
            returned, stated = {*judge.versions} or {judge.name}, settings.get("judge")
            if stated is not None and returned != {stated.value}:
                theirs = f"the report's judge is {stated.value}"
                yield f"judged by {', '.join(sorted(returned))} ({theirs})"
                return

    def compared(self, ours: tuple[float, float | None], value: float, reported: ReportedNumbers) -> dict[str, object]:
        """The verdict on two numbers that can be compared; of a mismatch with what may explain it."""
        off, allowed = ours[0] - value, reported.tolerance + (ours[1] or 0.0)
        row: dict[str, object] = {"difference": off, "allowed": allowed}
        if abs(off) <= allowed + 1e-12:
            about = [f"the reported number is {COPIED}"] if reported.known == COPIED else []
            about += [f"the report does not state {', '.join(self.unstated)}"] if self.unstated else []
            return {**row, "verdict": (NEAR if reported.known == COPIED else MATCHES) + _in_brackets(about)}
        settings = self.protocol.settings_of(self.benchmark).values()
        suspects = [each.said for each in self.unlike]
        suspects += [f"{each.name} of the protocol is {each.known}" for each in settings if each.known in UNVERIFIED]
        suspects += [f"the reported number is {COPIED}: {reported.source}"] if reported.known == COPIED else []
        for condition in (*self.benchmark.conditions, *self.protocol.conditions):
            suspects.append(f"{condition.what} ({condition.known})")
        said = f"{OFF} by {off * reported.scale:+.2f} (more than sampling error)"
        return {**row, "verdict": said, "suspects": suspects}


def _in_brackets(said: list[str]) -> str:
    return f" ({'; '.join(said)})" if said else ""


def _short(value: object, most: int = 60) -> str:
    text = repr(value)
    return text if len(text) <= most else f"{text[:most]}..."
