"""Questions that are asked into the journal of a folder."""

from pathlib import Path
from typing import Any

from mm_eval.engine.ask import Asker
from mm_eval.engine.journal import Journal, read_journal
from mm_eval.engine.model import Model
from mm_eval.engine.outcome import Outcome
from mm_eval.values.types import Instance


def questions(count: int, task: str = "t", **options: object) -> list[Instance]:
    """One for each doc: `question 0`, `question 1`, ... options: of the generation."""
    return [Instance("generate_until", task, n, {}, f"question {n}", generation_kwargs=options) for n in range(count)]


def ask(folder: Path, model: Model, instances: list[Instance], **more: Any) -> Outcome:
    """Asks what the journal does not have, and closes it whatever happens."""
    journal = Journal(folder)
    try:
        return Asker(model, journal, read_journal(folder), **more).ask(instances)
    finally:
        journal.close()
