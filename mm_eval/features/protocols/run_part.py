"""A named protocol as a part of a run (`RunPart`): its settings before the run, its verdicts at the end of results.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mm_eval.config.manager import Loaded
from mm_eval.engine.folder import RunFolder
from mm_eval.engine.journal import JournalState
from mm_eval.features.protocols.family import cap_notes, prompt_notes
from mm_eval.features.protocols.verdicts import differing_notes, protocol_results
from mm_eval.opening import OpenedTasks, RunPart
from mm_eval.request import RunRequest
from mm_eval.scoring.run_results import Results


class ProtocolPart(RunPart):
    """The protocol of a run that names one (`--protocol`)."""

    reads_files = True

    @classmethod
    def begin(cls, request: RunRequest, loaded: Loaded, options: Mapping[str, Any] | None = None) -> RunPart | None:
        return cls() if request.protocol.name is not None else ModelPart()

    def describe(self, opened: OpenedTasks) -> list[str]:
        return [*differing_notes(opened), *prompt_notes(opened)]

    def complete(self, opened: OpenedTasks, folder: RunFolder, results: Results, state: JournalState) -> None:
        results.protocol = protocol_results(opened, results)


class ModelPart(RunPart):
    """Of a run without a protocol: what the protocols of its model would set otherwise."""

    def describe(self, opened: OpenedTasks) -> list[str]:
        return cap_notes(opened)
