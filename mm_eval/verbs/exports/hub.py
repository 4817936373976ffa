"""A run's numbers for the hub: the `model-index` of a model card, and the eval-results that a model's repository may hold.

Numbers of sample data or of a part of the docs say so in their name or notes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from mm_eval.config.schema import texts
from mm_eval.results.judged import judged_by, judges_behind
from mm_eval.results.number_text import unit_of
from mm_eval.results.recorded import RecordedRun, headline_keys, parts_of
from mm_eval.values.types import JsonObject, MetricKey


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


def eval_results(run: RecordedRun) -> list[dict[str, object]]:
    """The entries of `.eval_results/*.yaml` in a model's repository: the main number of each task that has a data set on the hub.

    A share is given in percent, as leaderboards show it.
    """
    return list(_entries(run))


def _entries(run: RecordedRun) -> Iterator[JsonObject]:
    for name in run.spec["tasks"]:
        config: Mapping[str, object] = run.results.configs[name]
        number, path = run.results.headline(name), str(config.get("dataset_path") or "")
        if (
            number is None
            or not isinstance(number.value, (int, float))
            or path.count("/") != 1
            or path.startswith((".", "/"))
        ):
            continue
        revision = config.get("dataset_revision")
        notes = [f"{number.metric} of {name}", *flaws_of(run, name)]
        if judge := judges_behind(run.results, name, number.key).get(name):
            notes.append(judged_by([judge]))
        yield {
            "dataset": {"id": path, "task_id": name, **({"revision": str(revision)} if revision else {})},
            "value": round(100 * number.value, 4) if unit_of(number).is_percent else number.value,
            "date": datetime.fromtimestamp(run.results.run.started, UTC).strftime("%Y-%m-%d"),
            "notes": "; ".join(notes),
        }


def flaws_of(run: RecordedRun, name: str) -> list[str]:
    """What keeps a task's number from being a result on the benchmark."""
    flaws = ["sample data"] if run.results.run.sample else []
    return flaws + [part for task, part in parts_of(run).items() if task == name]
