"""What became of the models of a release. `drive` runs one of them, in this process or in one of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from mm_eval.check_runs import attempt
from mm_eval.request import RunRequest
from mm_eval.scoring.run_results import INTERRUPTED, PARTIAL
from mm_eval.values.errors import MMEvalError
from mm_eval.values.run_files import OtherFormatError

if TYPE_CHECKING:
    from mm_eval.engine.progress import Progress
    from mm_eval.results.recorded import RecordedRun


@dataclass(frozen=True)
class Ended:
    """What one model came to, in JSON values.

    folder: of its numbers, None if it has none. hole: why it has none. problems: its warnings and failures.
    waiting: for what it waits, if it has to go on once other models have. finished: nothing was left to request.
    """

    exit_code: int
    folder: str | None = None
    hole: str = ""
    problems: tuple[str, ...] = ()
    waiting: str = ""
    finished: bool = False

    @property
    def for_good(self) -> Ended:
        """This end; of a run that waits, and no other has gone on meanwhile, that it is stuck."""
        if not self.waiting:
            return self
        return Ended(PARTIAL, hole=f"model error: {self.waiting}, and no other model runs", problems=(self.waiting,))


INTERRUPTED_EARLY = Ended(INTERRUPTED, hole="it was interrupted before it had scores")


def drive(request: RunRequest, progress: Progress) -> Ended:
    """Runs a model. A failure is the model's own: nothing is raised."""
    from mm_eval.run import evaluate

    try:
        report = attempt(partial(evaluate, request, progress=progress))
    except KeyboardInterrupt:
        return INTERRUPTED_EARLY
    if isinstance(report, MMEvalError):
        hole = f"{report.owner} error: {report}"
        return Ended(PARTIAL, hole=hole, problems=(hole,))
    if report.waiting and report.exit_code != INTERRUPTED:  # what failed so far is counted at its end
        return Ended(0, waiting=report.waiting)
    warnings = [f"warning: {text}" for text in report.results.warnings] if report.results else []
    problems = (*warnings, *report.problems)
    if report.results:
        finished = report.requested == 0 and not report.exit_code
        return Ended(report.exit_code, str(report.folder), problems=problems, finished=finished)
    without = report.exit_code and not report.silent
    return Ended(
        report.exit_code, None, ("; ".join(report.problems) or "it has no scores") if without else "", problems
    )


@dataclass
class Outcomes:
    """What the models of a release came to.

    ends: what is called with the name of a model that ended. runs: those with numbers. holes: {model without: the reason}.
    waited: {model that waits for others: for what}.
    """

    ends: Sequence[Callable[[str], None]] = ()
    runs: list[RecordedRun] = field(default_factory=list)
    holes: dict[str, str] = field(default_factory=dict)
    waited: dict[str, str] = field(default_factory=dict)
    exit_code: int = 0

    def goes_on(self, name: str, ended: Ended) -> bool:
        """Whether a model has to go on once others have: it waits, and for something else than at its last end."""
        if not ended.waiting or self.waited.get(name) == ended.waiting:
            return False
        self.waited[name] = ended.waiting
        return True

    def add(self, name: str, ended: Ended, include_path: str | None = None) -> None:
        """Adds a model's run, or its hole. include_path: the command's folder with task code."""
        from mm_eval.results.recorded import RecordedRun

        for end in self.ends:
            end(name)
        self.exit_code = max(self.exit_code, ended.exit_code)
        if ended.folder is not None:
            self.runs.append(RecordedRun.read(Path(ended.folder), name, include_path))
        elif ended.hole:
            self.holes[name] = ended.hole

    def leave_out(self, names: Iterable[str], why: str) -> None:
        """Records those of these models that were not run as holes."""
        done = {run.name for run in self.runs} | self.holes.keys()
        self.holes.update({name: why for name in names if name not in done})

    def add_recorded(self, name: str, request: RunRequest) -> None:
        """Adds what an earlier command recorded of a model; a hole if it has no complete results."""
        from mm_eval.results.recorded import RecordedRun

        try:
            self.runs.append(RecordedRun.read(Path(str(request.output_path)), name, request.include_path))
        except OtherFormatError as error:
            self.holes[name] = str(error)
        except MMEvalError:
            self.holes[name] = "--only left it out"
