"""A run's numbers for the hub: the `model-index` of a model card, and the eval-results that a model's repository may hold.

Numbers of sample data or of a part of the docs say so in their name or notes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from mm_eval.config.schema import split_python, texts
from mm_eval.results.judged import judged_by, judges_behind
from mm_eval.results.number_text import unit_of
from mm_eval.results.recorded import RecordedRun, headline_keys, parts_of
from mm_eval.values.types import MetricKey


def model_index(runs: Sequence[RecordedRun]) -> list[dict[str, object]]:
    """The `model-index` of a model card for the hub: an entry for each model, a result for each task."""
    entries: dict[str, list[dict[str, object]]] = {}
    for run in runs:
        for name, task in run.tasks.items():
            config = run.results.configs[name]
            numbers = {number.key: number.value for number in run.results.rows[name].numbers}
            flaws = flaws_of(run, name)
            dataset = {
                "name": f"{name} ({', '.join(flaws)})" if flaws else name,
                "type": str(config.get("dataset_path")),
                "split": config.get("test_split") or "validation",
            }
            if config.get("dataset_name"):
                dataset["config"] = ", ".join(texts(config["dataset_name"]))
            kind = "image-text-to-text" if config.get("doc_to_visual") else "text-generation"
            metrics = [
                {"type": key.metric, "name": _metric_name(run, name, key), "value": numbers[key]}
                for key in headline_keys(task)
                if isinstance(numbers.get(key), (int, float))
            ]
            entries.setdefault(run.model, []).append({"task": {"type": kind}, "dataset": dataset, "metrics": metrics})
    return [{"name": model, "results": results} for model, results in entries.items()]


def _metric_name(run: RecordedRun, task: str, key: MetricKey) -> str:
    judge = judges_behind(run.results, task, key).get(task)
    return key.label + (f" ({judged_by([judge])})" if judge else "")


class HubTask(NamedTuple):
    """A task of a registered benchmark, as the file `eval.yaml` of its data set names it. source: where that was read."""

    dataset: str
    task_id: str
    source: str


READ_ON = "2026-11-29"
"""When the sources of `REGISTERED` were read."""
_HUB_DOCS = "huggingface/hub-docs 242f4a1e"
_GPQA = HubTask("Idavidrein/gpqa", "gpqa_diamond", f"{_HUB_DOCS}, eval_results.yaml")
REGISTERED: Mapping[str, HubTask] = {
    "hle": HubTask("cais/hle", "hle", f"{_HUB_DOCS}, docs/hub/eval-results.md at 064c7548"),
    "gpqa_diamond": _GPQA,
    "gpqa_diamond_cot": _GPQA,
    "mmlu_pro": HubTask("TIGER-Lab/MMLU-Pro", "mmlu_pro", "huggingface/skills, hugging-face-evaluation 3.0.0"),
}
"""Our tasks and groups that are tasks of a benchmark on the hub. A data set of which this was not read is not here: the hub
refuses a `task_id` that the data set's own file does not have."""


def eval_results(run: RecordedRun, source: str | None = None) -> list[dict[str, object]]:
    """The entries of `.eval_results/*.yaml` in a model's repository: the main number of each registered benchmark.

    A share is given in percent, as leaderboards show it. source: the address of a page that shows the run.
    """
    return list(_entries(run, source))


def not_registered(run: RecordedRun) -> list[str]:
    """The benchmarks of a run that the hub has no place for, as far as is known."""
    inside = {member for name in run.results.groups for member in run.results.members[name]}
    return [name for name in run.results.rows if _hub_task(run, name) is None and name not in inside]


def _hub_task(run: RecordedRun, name: str) -> HubTask | None:
    """The benchmark's task that a row of a run is of: by its name, and by the data set that it was asked on."""
    task = REGISTERED.get(split_python(name)[0])
    paths = {str(run.results.configs[leaf].get("dataset_path")) for leaf in run.results.leaves(name)}
    return task if task is not None and paths == {task.dataset} else None


def _entries(run: RecordedRun, source: str | None) -> Iterator[dict[str, object]]:
    for name in run.results.rows:
        with_python = split_python(name)[1]
        number, task = run.results.headline(name), _hub_task(run, name)
        if task is None or number is None or not isinstance(number.value, (int, float)):
            continue
        if run.results.fixed_golds(name):
            continue  # the hub would rank it beside numbers by the data's golds
        leaves = run.results.leaves(name)
        revisions = {str(run.results.configs[leaf].get("dataset_revision") or "") for leaf in leaves}
        [revision] = revisions if len(revisions) == 1 else [""]
        notes = ["With tools"] if with_python else []
        notes += [f"{number.metric} of {name}", *dict.fromkeys(flaw for leaf in leaves for flaw in flaws_of(run, leaf))]
        if judge := next(iter(judges_behind(run.results, name, number.key).values()), None):
            notes.append(judged_by([judge]))
        yield {
            "dataset": {"id": task.dataset, "task_id": task.task_id, **({"revision": revision} if revision else {})},
            "value": round(100 * number.value, 4) if unit_of(number).is_percent else number.value,
            "date": datetime.fromtimestamp(run.results.run.started, UTC).strftime("%Y-%m-%d"),
            **({"source": {"url": source, "name": "mm-eval"}} if source else {}),
            "notes": "; ".join(notes),
        }


def flaws_of(run: RecordedRun, name: str) -> list[str]:
    """What keeps a task's number from being a result on the benchmark."""
    flaws = ["sample data"] if run.results.run.sample else []
    fixed = run.results.fixed_golds(name)
    return flaws + [part for task, part in parts_of(run).items() if task == name] + ([fixed] if fixed else [])
