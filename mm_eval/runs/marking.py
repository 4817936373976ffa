"""Whether a doc is right or wrong, as the pages say it of one sample."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mm_eval.metrics.paired import right_or_wrong
from mm_eval.runs.recorded import RecordedRun


@dataclass(frozen=True)
class Marking:
    """How a task's values are read as right or wrong.

    better: {metric: higher is better; None for no direction}. ends: the lowest and highest verdict of its judge, if it has one.
    """

    better: Mapping[str, bool | None] = field(default_factory=dict)
    ends: tuple[float, float] = (0.0, 1.0)

    @classmethod
    def of(cls, run: RecordedRun, task: str) -> Marking:
        """The marking of a recorded task. Verdicts of a judge whose range is a function of the doc are read from 0 to 1."""
        judge = run.results["configs"].get(task, {}).get("judge")
        stated = judge.get("range") if isinstance(judge, Mapping) and run.results.get("judges", {}).get(task) else None
        numbers = isinstance(stated, list) and len(stated) == 2 and all(isinstance(end, (int, float)) for end in stated)
        ends = (float(stated[0]), float(stated[1])) if numbers and stated else (0.0, 1.0)
        return cls(run.results["higher_is_better"].get(task, {}), ends)

    def mark(self, scores: Mapping[str, Any]) -> bool | None:
        """Whether a doc is right (the best value) or wrong (the worst), by the first of its scores that is a number.

        scores: by "metric,filter". None for a number between, such as a verdict of 0.7, and where no score is a number.
        """
        for key, value in scores.items():
            number = value.get("score") if isinstance(value, Mapping) else value
            better = self.better.get(key.partition(",")[0], True)
            if better is None or not isinstance(number, (bool, int, float)):
                continue
            low, high = self.ends
            mark = right_or_wrong((number - low) / (high - low) if high > low else number)
            return mark if better or mark is None else not mark
        return None
