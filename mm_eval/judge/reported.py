"""The judge that a published report states, as the options of a run under its settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from mm_eval.config.task_config import TaskConfig
from mm_eval.judge.config import judge_of_task
from mm_eval.request import JudgeRequest, RunRequest
from mm_eval.values.errors import ConfigError

ASKED = {"adapter": "openai", "base_url": "https://api.openai.com/v1"}
"""Where the judge of a report is asked."""


def judge_of_report(
    request: RunRequest, stated: Mapping[TaskConfig, Mapping[str, object]], sample: bool, report: str, where: str
) -> JudgeRequest:
    """The judge of the request; where a task is judged and no option says by whom, the report's.

    stated: the report's settings for each task. sample: on bundled sample data no judge is asked unless one is named.
    Errors: ConfigError for tasks with several judges. where: the option that names the report.
    """
    judged = {config.key: settings for config, settings in stated.items() if judge_of_task(config) is not None}
    if not judged or request.judge.models or request.judge.left_out or request.predict_only:
        return request.judge
    if sample:
        return replace(request.judge, left_out=True)
    by_judge: dict[str, list[str]] = {}
    for name, settings in judged.items():
        if "judge" in settings:  # `check_stated` asks for the judge of the others
            by_judge.setdefault(str(settings["judge"]), []).append(name)
    if len(by_judge) > 1:
        said = ", ".join(f"{judge} of {', '.join(names)}" for judge, names in by_judge.items())
        what = f"the benchmarks of {report} have several judges: {said}."
        hint = "Run them one judge at a time with --tasks, name a --judge for all, or give --no_judge."
        raise ConfigError(what, where=where, hint=hint)
    if not by_judge:
        return request.judge
    args = {"model": next(iter(by_judge)), "base_url": ASKED["base_url"]}
    return replace(request.judge, models=(ASKED["adapter"],), args=(args,))
