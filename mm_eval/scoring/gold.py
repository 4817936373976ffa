"""The right answers to a document, as far as its task knows them."""

from __future__ import annotations

from mm_eval.prompt.question import evaluate_field
from mm_eval.prompt.task import PromptStyle, Task
from mm_eval.values.types import Instance


def gold_texts(task: Task, style: PromptStyle, instance: Instance) -> list[str]:
    """The generated answers that must get full marks, each of them; none for a doc without a known answer.

    They come from `gold_answer`, else from the target: its first text if it is a list.
    """
    stated = task.config.gold_answer
    if stated is None or task.config.format_asked:
        target = instance.target[0] if isinstance(instance.target, list) and instance.target else instance.target
        if target is None and task.config.is_scored_elsewhere:
            return []
        return ["" if target is None else str(target)]
    where = f"{task.path} doc {instance.doc_id}"
    place = task.config.where
    found = evaluate_field(
        stated, instance.doc, style.block, what="gold_answer", where=where, place=lambda: place("gold_answer")
    )
    return [str(text) for text in (found if isinstance(found, list) else [found]) if text is not None]
