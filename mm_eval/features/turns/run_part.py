"""Conversations as a part of a run (`RunPart`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mm_eval.config.manager import Loaded
from mm_eval.features.turns.lmms_eval import with_all_outputs
from mm_eval.opening import OpenedTasks, RunPart
from mm_eval.prompt.blind import SHUFFLED
from mm_eval.prompt.task import Task
from mm_eval.request import RunRequest
from mm_eval.scoring.base import Scorer
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Answer, Slot


@dataclass
class TurnsPart(RunPart):
    """What tasks with rounds add to a run."""

    @classmethod
    def begin(cls, request: RunRequest, loaded: Loaded, options: Mapping[str, Any] | None = None) -> TurnsPart | None:
        return cls() if any(config.rounds is not None for config in loaded.tasks.values()) else None

    def describe(self, opened: OpenedTasks) -> list[str]:
        """Nothing to say. ConfigError where the task's function, which gets the doc with its own pictures, would show them."""
        for task in opened.tasks.values():
            if opened.request.blind == SHUFFLED and task.config.rounds is not None:
                raise ConfigError(
                    "`rounds` gets the doc's own pictures, so those of other docs can't stand in for them.",
                    where=task.config.where("rounds"),
                    hint="Use --blind alone.",
                )
        return []

    def scorers(
        self, task: Task, scorers: Sequence[Scorer], lookup: Callable[[Slot], Answer | None]
    ) -> Sequence[Scorer]:
        rounds = task.config.rounds
        return with_all_outputs(scorers) if rounds is not None and rounds.made_by == "doc_to_text" else scorers
