"""The score of a task as soon as its last answer is there, for the view of a release. It is shown, and never recorded.

The model waits while a task is scored, so a score that takes long is left to the end of the run, which scores all tasks.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from mm_eval.results.assemble import assemble
from mm_eval.results.number_text import unit_of
from mm_eval.scoring.metrics.traits import CorpusMetric
from mm_eval.scoring.of_task import scorers_of
from mm_eval.scoring.score_task import TaskScoring

if TYPE_CHECKING:
    from mm_eval.engine.journal import JournalState
    from mm_eval.engine.progress import Progress
    from mm_eval.pending import Pending
    from mm_eval.prepare import Prepared
    from mm_eval.scoring.base import Scorer
    from mm_eval.scoring.run_results import Results
    from mm_eval.scoring.task_scores import TaskScores

LONGEST = 2.0
"""Seconds that the model waits for the first score of a task."""
AT_ONCE = 32
"""Documents that are scored between two looks at the clock."""
log = logging.getLogger(__name__)


def main_score(results: Results, name: str) -> str:
    """The main number of a row in words, "61.3" or "61.3, 2 failed"; "" where it has none."""
    number, row = results.headline(name), results.rows[name]
    if number is None or not isinstance(number.value, (int, float)):
        return ""
    failed = [f"{row.failed:,} failed"] if row.failed else []
    return ", ".join([unit_of(number).text(number.value), *failed])


def show_scores(results: Results, names: Sequence[str], progress: Progress) -> None:
    """Shows the main numbers of these rows; of a group without a number of its own, those of its members."""
    for name in names:
        if results.headline(name) is None:
            show_scores(results, results.members.get(name, ()), progress)
        elif score := main_score(results, name):
            progress.scored(results.rows[name].alias or name, score)


class FirstScores:
    """Counts the answers of a run's tasks, and shows the score of each task, or of the group that it is in, with its last one."""

    def __init__(self, prepared: Prepared, state: JournalState, pending: Pending, progress: Progress) -> None:
        self._prepared, self._state, self._progress = prepared, state, progress
        self._left = {task.path: pending.requests_of(name) for name, task in prepared.tasks.items()}
        self._names = {task.path: name for name, task in prepared.tasks.items()}
        self._scores: dict[str, TaskScores] = {}
        self._shown: set[str] = set()
        for path in [path for path, left in self._left.items() if not left]:  # of an earlier launch
            self._score(path)

    def settled(self, task: str) -> None:
        """A request of a task, named by its path, has its answer or has failed."""
        self._left[task] -= 1
        if not self._left[task]:
            self._score(task)

    def _score(self, path: str) -> None:
        try:
            self._add(self._names[path])
        except Exception:  # the run scores the task again at its end, and reports what is wrong
            log.debug("No first score of %s:", path, exc_info=True)

    def _add(self, name: str) -> None:
        """Scores a task, and shows it or the group that it completes."""
        opened, state = self._prepared, self._state
        config, doc_ids = opened.tasks[name].config, opened.doc_ids[name]
        if config.functions and not config.is_shipped:  # a function of the user's may count its calls
            return
        scorers = opened.all_scorers(name, scorers_of(config), state.lookup, state.tools)
        if any(map(_takes_long, scorers)):
            return
        until = time.monotonic() + LONGEST
        scoring = TaskScoring(opened.tasks[name], opened.styles[name], scorers, state.lookup)
        for start in range(0, len(doc_ids), AT_ONCE):
            for _ in scoring.samples(doc_ids[start : start + AT_ONCE]):
                pass
            if time.monotonic() > until:
                return
        self._scores[name] = scoring.aggregate(0)
        loaded = opened.loaded
        whole = [root for root in loaded.roots if self._scores.keys() >= set(loaded.leaves(root))]
        if new := [root for root in whole if root not in self._shown]:
            self._shown.update(new)
            show_scores(assemble(loaded, opened.tasks, self._scores)[0], new, self._progress)


def first_scores(
    prepared: Prepared, state: JournalState, pending: Pending, progress: Progress
) -> Callable[[str], None] | None:
    """What is called with the task of each answer; None where no task is scored before the run has ended.

    Judges and code of a model are run once, at the end. A run that stops early, and one of several processes, does not know when
    a task has all its answers.
    """
    is_shown = progress.shows_scores and not prepared.request.predict_only
    if not is_shown or prepared.judging or prepared.deciding or prepared.sandbox or pending.share < pending.total:
        return None
    return FirstScores(prepared, state, pending, progress).settled


def _takes_long(scorer: Scorer) -> bool:
    """Whether a scorer computes its numbers from all documents at once."""
    return scorer.filter.needs_all_docs or any(isinstance(metric.fn, CorpusMetric) for metric in scorer.metrics or ())
