"""Ways to be killed with SIGKILL in the middle of scoring or writing, for the commands of `dies_at` and `judged_dies_at`."""

import os
import signal
from collections.abc import Collection
from pathlib import Path

from mm_eval.scoring.score_task import TaskScoring


def die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def die_while_samples_are_written() -> None:
    """After five rows of a samples file."""
    whole = TaskScoring.samples

    def samples(self: TaskScoring, doc_ids: list[int]):
        for number, row in enumerate(whole(self, doc_ids)):
            if number == 5:
                die()
            yield row

    TaskScoring.samples = samples


def die_before_files(names: Collection[str]) -> None:
    """With one of these files written beside its place."""
    whole = os.replace

    def replace(source: str, target: Path) -> None:
        if Path(target).name in names:
            die()
        whole(source, target)

    os.replace = replace
