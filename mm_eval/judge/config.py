"""The judge of a task, as its key states it or as its code asks one."""

from __future__ import annotations

from mm_eval.config.judge import JudgeConfig
from mm_eval.config.task_config import TaskConfig


def judge_of_task(config: TaskConfig) -> JudgeConfig | None:
    """The `judge` of a task, or that of its own code; None where it has none."""
    if config.judge is not None:
        return config.judge
    return JudgeConfig((), by_code=True) if config.code_asks_judge else None


def answers_judged(config: TaskConfig) -> int:
    """How many answers to a doc have verdicts of their own: as many as are asked for. A task's own code judges the first one."""
    judge = judge_of_task(config)
    return 1 if judge is None or judge.by_code else config.times_asked
