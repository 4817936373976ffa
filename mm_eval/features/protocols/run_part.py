"""A named protocol as a part of a run (`RunPart`): its settings before the run, its verdicts at the end of results.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mm_eval.config.manager import Loaded
from mm_eval.config.task_config import TaskConfig
from mm_eval.engine.folder import RunFolder
from mm_eval.engine.journal import JournalState
from mm_eval.features.protocols.family import cap_notes, prompt_notes
from mm_eval.features.protocols.protocol import Protocol
from mm_eval.features.protocols.run_under import (
    applied_protocol,
    compared_with,
    fill_in,
    protocol_block,
    protocol_frames,
    task_overrides,
)  # fmt: skip
from mm_eval.features.protocols.verdicts import differing_notes, protocol_results
from mm_eval.opening import OpenedTasks, Prompts, RunPart
from mm_eval.prompt.blocks import PromptBlock
from mm_eval.request import RunRequest
from mm_eval.scoring.run_results import Results


@dataclass(frozen=True)
class ProtocolPrompts(Prompts):
    """The prompts and rules of frames that a protocol states."""

    protocol: Protocol

    def block(self, config: TaskConfig, frames: str | None, of_model: tuple[str, str]) -> PromptBlock | None:
        return protocol_block(self.protocol, config, frames, of_model)

    def frames(self, config: TaskConfig) -> str | None:
        return protocol_frames(self.protocol, config)


class ProtocolPart(RunPart):
    """The protocol of a run that names one (`--protocol`)."""

    reads_files = True

    @classmethod
    def tasks_of(cls, request: RunRequest) -> tuple[Sequence[str], Mapping[str, Mapping[str, Any]]]:
        protocol = applied_protocol(request)
        return (list(protocol.benchmarks), task_overrides(protocol)) if protocol else ((), {})

    @classmethod
    def fill_in(cls, request: RunRequest, loaded: Loaded, sample: bool) -> RunRequest:
        return fill_in(request, loaded, sample)

    @classmethod
    def prompts(cls, request: RunRequest) -> Prompts | None:
        protocol = applied_protocol(request)
        return ProtocolPrompts(protocol) if protocol else None

    @classmethod
    def for_scoring(cls, request: RunRequest, options: Mapping[str, Any]) -> RunRequest:
        return compared_with(request, options.get("protocol"))

    @classmethod
    def begin(cls, request: RunRequest, loaded: Loaded, options: Mapping[str, Any] | None = None) -> RunPart | None:
        return cls() if request.protocol is not None else ModelPart()

    def describe(self, opened: OpenedTasks) -> list[str]:
        return [*differing_notes(opened), *prompt_notes(opened)]

    def complete(self, opened: OpenedTasks, folder: RunFolder, results: Results, state: JournalState) -> None:
        found = protocol_results(opened, results)
        if found is not None:
            results.added["protocol"] = found


class ModelPart(RunPart):
    """Of a run without a protocol: what the protocols of its model would set otherwise."""

    def describe(self, opened: OpenedTasks) -> list[str]:
        return cap_notes(opened)
