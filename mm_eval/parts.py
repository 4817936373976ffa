"""The parts of a run that not every run has, in the order in which they are called. What a run does not need is not imported.

The order decides what a part may read of another: a protocol's verdicts name the judges, so the judges come first.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from mm_eval.config.manager import Loaded
from mm_eval.config.task_config import TaskConfig
from mm_eval.opening import RunPart
from mm_eval.request import RunRequest
from mm_eval.scoring.base import Scorer


def parts_of(request: RunRequest, loaded: Loaded) -> list[RunPart]:
    """The parts of a new run. loaded: the configs of the run, which take notes.

    Errors: ConfigError for options that are wrong or missing.
    """
    begun = (kind.begin(request, loaded) for kind in kinds_of(request, loaded.tasks.values()))
    return [part for part in begun if part is not None]


def kinds_of(request: RunRequest, configs: Iterable[TaskConfig]) -> list[type[RunPart]]:
    """The classes of the parts that a new run of these tasks needs."""
    listed = list(configs)
    found: list[type[RunPart]] = []
    if is_imported(request):
        from mm_eval.features.exports.theirs import Theirs

        found.append(Theirs)
    if request.judge.models or request.judge.args or any(config.is_judged for config in listed):
        from mm_eval.features.judge.run_part import JudgePart

        found.append(JudgePart)
    if request.protocol.name is not None or request.protocol.settings or request.name or request.model_args:
        from mm_eval.features.protocols.run_part import ProtocolPart  # reports are looked up by the model's name, too

        found.append(ProtocolPart)
    if request.deciding.stop_when or request.deciding.until_interval or _has_looks(request):
        from mm_eval.features.study.deciding.run_part import DecidingPart

        found.append(DecidingPart)
    if any(config.submission is not None for config in listed):
        from mm_eval.features.submissions.run_part import SubmissionsPart

        found.append(SubmissionsPart)
    if any(config.tools is not None for config in listed):
        from mm_eval.features.tools.counting import ToolsPart

        found.append(ToolsPart)
    if any(args is not None for args in (request.trackers.wandb, request.trackers.mlflow, request.trackers.trackio)):
        from mm_eval.features.trackers.part import TrackersPart

        found.append(TrackersPart)
    if any(config.rounds is not None for config in listed):
        from mm_eval.features.turns.run_part import TurnsPart

        found.append(TurnsPart)
    if not request.sample and any(config.is_shipped or config.output_type == "generate_until" for config in listed):
        from mm_eval.features.validate.first_rows import FirstRows

        found.append(FirstRows)
    return found


def is_imported(request: RunRequest) -> bool:
    """Whether the run folder holds what was imported from another suite."""
    return bool(request.output_path) and os.path.isdir(f"{request.output_path}/imported")


def _has_looks(request: RunRequest) -> bool:
    """Whether a launch that could stop may have left its looks, which one without the option removes."""
    left = [f"{request.output_path}/{name}" for name in ("looks", "looks.json")] if request.output_path else [os.curdir]
    return any(map(os.path.lexists, left))


def parts_for_scoring(request: RunRequest, loaded: Loaded, options: Mapping[str, Any]) -> list[RunPart]:
    """The parts of a recorded run that is scored again. options: what the user states now about judges, protocol and trackers."""
    from mm_eval.features.exports.theirs import Theirs
    from mm_eval.features.judge.run_part import JudgePart
    from mm_eval.features.protocols.run_part import ProtocolPart
    from mm_eval.features.study.deciding.run_part import DecidingPart
    from mm_eval.features.submissions.run_part import SubmissionsPart
    from mm_eval.features.tools.counting import ToolsPart
    from mm_eval.features.trackers.part import TrackersPart
    from mm_eval.features.turns.run_part import TurnsPart

    kinds: Sequence[type[RunPart]] = (
        Theirs,
        JudgePart,
        ProtocolPart,
        DecidingPart,
        SubmissionsPart,
        ToolsPart,
        TrackersPart,
        TurnsPart,
    )
    begun = (kind.begin(request, loaded, options) for kind in kinds)
    return [part for part in begun if part is not None]


def as_scored_now(request: RunRequest, options: Mapping[str, Any]) -> RunRequest:
    """A recorded request as its answers are scored again: with its own data, and the judge, protocol and trackers of now."""
    from mm_eval.features.exports.theirs import with_own_data
    from mm_eval.features.judge.judges import for_scoring
    from mm_eval.features.protocols.run_under import compared_with
    from mm_eval.features.trackers.part import with_trackers

    request = for_scoring(with_own_data(request), options)
    return with_trackers(compared_with(request, options.get("protocol")), options)


def check_scorers(config: TaskConfig, scorers: Sequence[Scorer]) -> None:
    """ConfigError if a task's judge does not go with its scorers."""
    if config.judge is not None:
        from mm_eval.features.judge.scoring import check_judge_metrics

        check_judge_metrics(config, scorers)
