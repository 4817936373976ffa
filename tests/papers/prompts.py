"""The prompts of a task that ships, for docs that a test wrote from a benchmark's own question file."""

from pathlib import Path

from mm_eval.prepare import prepare_without_model
from mm_eval.request import RunRequest


def prompts(root: Path, task: str, key: str | None = None) -> list[str]:
    """The prompts of all docs below a data root, in the order of the docs, for this prompt key."""
    plan = prepare_without_model(RunRequest(tasks=(task,), data_root=str(root), prompt_key=key), task)
    instances = plan.tasks[task].instances(plan.doc_ids[task], plan.styles[task], lambda doc_id: None)
    return [str(instance.context) for instance in instances]
