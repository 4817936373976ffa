"""The tasks of a run, new or recorded, with what not every run has: judges, scores of another suite, submission files, trackers.

A part that the run does not need is None, and its code is not imported.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mm_eval.engine.tool_records import ToolRecord
from mm_eval.open_tasks import OpenedTasks
from mm_eval.scoring.base import Scorer
from mm_eval.scoring.of_task import scorers_of
from mm_eval.values.types import Answer, Slot

if TYPE_CHECKING:
    from mm_eval.imported.theirs import Theirs
    from mm_eval.judge.judging import Judging
    from mm_eval.submissions.submissions import Submissions
    from mm_eval.trackers.tracking import Tracking


@dataclass(kw_only=True)
class OpenedRun(OpenedTasks):
    """Opened tasks with all that their answers are scored by, and where the results go.

    judging: a task is judged. imported: the folder holds another suite's logs. submissions: a task has a file for a server.
    tracking: the numbers are sent to trackers.
    """

    judging: Judging | None = None
    imported: Theirs | None = None
    submissions: Submissions | None = None
    tracking: Tracking | None = None

    def all_scorers(
        self,
        name: str,
        scorers: Sequence[Scorer],
        lookup: Callable[[Slot], Answer | None],
        code: Mapping[str, ToolRecord] | None = None,
    ) -> Sequence[Scorer]:
        """The scorers of a task, and what else scores its answers. lookup: the recorded answers, those of judges included.

        code: the recorded calls of `python`, which the rows of samples have.
        """
        task, style = self.tasks[name], self.styles[name]
        if self.imported:
            scorers = self.imported.with_theirs(task, scorers)
        if self.judging:
            scorers = self.judging.with_judges(task, scorers, lookup)
        if task.config.tools is not None:
            from mm_eval.tools.counting import with_counts

            scorers = with_counts(scorers, style.turns, style.marks, lookup, code or {})
        alone: Sequence[Scorer] = ()
        if (self.request.repeats or 1) > 1 and task.config.times_asked > 1:
            alone = scorers_of(task.config)
        if task.config.rounds is not None:
            from mm_eval.rounds.lmms_eval import with_all_outputs

            scorers, alone = with_all_outputs(task.config, scorers), with_all_outputs(task.config, alone)
        if alone:
            from mm_eval.scoring.repeats import with_repeats

            scorers = with_repeats(scorers, alone, task.config.times_asked)
        return scorers
