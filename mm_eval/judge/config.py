"""The judge of a task, as its key states it or as its code asks one."""

from __future__ import annotations

from mm_eval.config.judge import JudgeConfig
from mm_eval.config.task_config import TaskConfig


def judge_of_task(config: TaskConfig) -> JudgeConfig | None:
    """The `judge` of a task, or that of its own code; None where it has none."""
    if config.judge is not None:
        return config.judge
    return JudgeConfig((), by_code=True) if config.code_asks_judge else None
