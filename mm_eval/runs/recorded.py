"""A finished run, read from its folder: its numbers, its docs with their values and clusters, and its requests.

Neither the model nor the data is needed. The task files are loaded again for their aggregation functions only.
"""

from __future__ import annotations

import json
from array import array
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mm_eval.arguments import column_name
from mm_eval.catalog.group import GroupMetric
from mm_eval.catalog.schema import shown_name
from mm_eval.errors import ConfigError, MMEvalError, StoreError
from mm_eval.metrics.aggregation import mean
from mm_eval.metrics.paired import Estimate, estimate, with_stderr
from mm_eval.runs.sample_rows import DocDigests, answer_tokens, lean, sample_name, value_digest
from mm_eval.task.blind import SAID
from mm_eval.types import FRAME_MARK, MetricKey

if TYPE_CHECKING:
    from mm_eval.catalog.config import TaskConfig
    from mm_eval.catalog.manager import Loaded


OF_RUN = frozenset({"spec", "request"})
OF_RESULTS = frozenset({"results", "groups", "group_subtasks", "configs", "versions", "higher_is_better", "run"})
OF_ROW = frozenset({"doc_id", "status", "doc", "prompt", "target", "resps", "scores"})
"""Keys that run.json, results.json and a row of samples/ must have."""

Aggregation = Callable[[Sequence[Any]], float]


@dataclass
class RecordedTask:
    """The scored docs of one task of a run.

    values: {"metric,filter": {doc_id: value}}. clusters: {doc_id: number of its cluster}.
    better: {metric: higher is better; None for no direction}.
    recorded: the task's row of results.json. aggregations: the task's own functions by key.
    categories: {level: {category: doc ids}}. sizes: {"characters" or "tokens": {doc_id: how long its first answer is}}.
    shows_videos: whether a prompt shows frames of a video.
    """

    name: str
    values: dict[str, dict[int, Any]] = field(default_factory=dict)
    clusters: dict[int, Hashable] = field(default_factory=dict)
    better: Mapping[str, bool | None] = field(default_factory=dict)
    recorded: Mapping[str, Any] = field(default_factory=dict)
    aggregations: Mapping[str, Aggregation] = field(default_factory=dict)
    categories: dict[str, dict[str, array[int]]] = field(default_factory=dict)
    sizes: dict[str, dict[int, int]] = field(default_factory=dict)
    shows_videos: bool = False
    _whole: dict[str, Estimate | None] = field(default_factory=dict, repr=False)

    def aggregation(self, key: str) -> Aggregation | None:
        """The function that computes the number of a key: the task's own, else the mean where all values are numbers."""
        if key in self.aggregations:
            return self.aggregations[key]
        numbers = all(isinstance(value, (bool, int, float)) for value in self.values.get(key, {}).values())
        return mean if numbers else None

    def estimate(self, key: str, of_docs: Collection[int] | None = None) -> Estimate | None:
        """The number of a key with its 95% interval; None where its aggregation function is not available or fails.

        of_docs: over these docs only. Over all docs it is the recorded number with its recorded standard error, if there is one.
        """
        if of_docs is not None and len(of_docs) < len(self.values.get(key, ())):
            return self._estimate(key, {doc_id: self.values[key][doc_id] for doc_id in of_docs})
        if key not in self._whole:
            self._whole[key] = self._estimate(key, self.values.get(key, {}), whole=True)
        return self._whole[key]

    def estimate_of_category(self, level: str, category: str, row: Mapping[str, Any], key: str) -> Estimate | None:
        """The recorded number of a category with its 95% interval; None if there is none. row: the category's in results.json."""
        value, function = row.get(key), self.aggregation(key)
        if not isinstance(value, (int, float)):
            return None
        of_docs = self.values.get(key, {})
        ids = [doc_id for doc_id in self.categories.get(level, {}).get(category, ()) if doc_id in of_docs]
        stderr = row.get(_stderr_key(key)) if ids else None
        values, clusters = [of_docs[doc_id] for doc_id in ids], [self.clusters[doc_id] for doc_id in ids]
        count = len(set(clusters))
        recorded = Estimate(float(value), stderr, len(ids), count, max(1, count - 1))
        if function is None or not ids:
            return recorded
        try:
            return with_stderr(float(value), stderr, function, values, clusters)
        except Exception:  # the task's own code, on values that went through JSON
            return recorded

    def _estimate(self, key: str, values: Mapping[int, Any], *, whole: bool = False) -> Estimate | None:
        function = self.aggregation(key)
        if function is None or not values:
            return None
        clusters = [self.clusters[doc_id] for doc_id in values]
        value, stderr = self.recorded.get(key), self.recorded.get(_stderr_key(key))
        try:
            if whole and isinstance(value, (int, float)) and isinstance(stderr, (int, float)):
                return with_stderr(float(value), float(stderr), function, list(values.values()), clusters)
            return estimate(function, list(values.values()), clusters)
        except Exception:  # the task's own code, on values that went through JSON or on a part of the docs
            return None


@dataclass(frozen=True)
class RecordedRun:
    """A run folder with a results.json."""

    folder: Path
    results: Mapping[str, Any]
    spec: Mapping[str, Any]
    request: Mapping[str, Any]
    name: str = ""

    @classmethod
    def read(cls, folder: str | Path, name: str = "") -> RecordedRun:
        """The run in a folder. Errors: ConfigError where there is none, or one without results; StoreError for damaged files.

        name: the model's name in tables; by default the name of what was loaded.
        """
        path = Path(folder)
        run, results = _read(path, "run.json", OF_RUN), _read(path, "results.json", OF_RESULTS)
        if not isinstance(run["spec"].get("tasks"), dict) or not isinstance(run["request"].get("tasks"), list):
            raise StoreError("it does not name the tasks of the run.", where=str(path / "run.json"))
        for key, row in results["results"].items():  # folders of earlier versions hold `task_alias` instead
            row["alias"] = shown_name(key, run["spec"]["tasks"].get(key, {}).get("path", key))
        return cls(path, results, run["spec"], run["request"], name)

    @property
    def model(self) -> str:
        """The model's name in tables: a release file's, else that of the checkpoint or adapter; and whether it thinks or sees."""
        name, args = self.name or self.request.get("name"), self.request.get("model_args") or {}
        if not name:
            named = args.get("pretrained") or args.get("model") or args.get("path")
            name = column_name(str(Path(str(named)).name if named else self.results["run"].get("model_name")), args)
        return f"{name} ({SAID[blind]})" if (blind := self.spec.get("blind")) in SAID else str(name)

    @property
    def prompt_keys(self) -> dict[str, str]:
        """The prompt block of each task."""
        return {name: prompt["key"] for name, prompt in self.results["run"]["prompts"].items()}

    def judges(self, task: str) -> list[str]:
        """The names of a task's judges, the first one first; none where it was not judged."""
        return [str(entry["name"]) for entry in self.results.get("judges", {}).get(task, ())]

    @cached_property
    def tokens(self) -> dict[str, dict[int, int]]:
        """{task: {doc id: tokens of its first answer}}, as far as they were counted."""
        by_path = answer_tokens(self.folder)
        return {name: by_path.get(task["path"], {}) for name, task in self.spec["tasks"].items()}

    def samples_path(self, task: str) -> Path:
        """samples/<task>.jsonl"""
        return self.folder / "samples" / f"{sample_name(task)}.jsonl"

    def rows(self, task: str) -> Iterator[dict[str, Any]]:
        """The rows of samples/<task>.jsonl."""
        path, read = self.samples_path(task), 0
        try:
            with path.open(encoding="utf-8") as file:
                for line in file:
                    row = json.loads(line)
                    if not isinstance(row, dict) or not row.keys() >= OF_ROW:
                        raise ValueError("it is not a row of a run")
                    yield row
                    read += 1
        except FileNotFoundError as error:
            raise ConfigError("the samples are missing.", where=str(path), hint="mm-eval score RUN") from error
        except ValueError as error:
            hint = "mm-eval score RUN writes it anew."
            raise StoreError(f"a row can't be read: {error}.", where=f"{path}:{read + 1}", hint=hint) from error

    @cached_property
    def tasks(self) -> dict[str, RecordedTask]:
        """Every task with its docs."""
        return {name: self._task(name) for name in self.spec["tasks"]}

    def _task(self, name: str) -> RecordedTask:
        recorded = self.results["results"].get(name, {})
        task = RecordedTask(name, better=self.results["higher_is_better"].get(name, {}), recorded=recorded)
        task.aggregations = self.aggregations.get(name, {})
        clusters: dict[str | int, int] = {}  # a number for each cluster, since its name may be several digests long
        last = None  # equal neighbours share one object: the values of a doc in its category and in the sum
        for row in self.rows(name):
            doc_id = row["doc_id"]
            drawn_with = json.dumps(row["cluster"]) if "cluster" in row else doc_id
            task.clusters[doc_id] = clusters.setdefault(drawn_with, len(clusters))
            if not task.shows_videos:
                task.shows_videos = any(each.startswith(FRAME_MARK) for each in row.get("images", ()))
            for level, names in row.get("categories", {}).items():
                for category in names:
                    task.categories.setdefault(level, {}).setdefault(category, array("q")).append(doc_id)
            if row["status"] not in ("failed", "not requested"):
                if row["resps"] and isinstance(row["resps"][0], str):
                    task.sizes.setdefault("characters", {})[doc_id] = len(row["resps"][0])
                for key, value in row["scores"].items():
                    last = last if value == last and type(value) is type(last) else lean(value)
                    task.values.setdefault(key, {})[doc_id] = last
        if recorded and recorded["n"] != len(task.clusters):
            what = f"it has {len(task.clusters)} docs, and results.json is of {recorded['n']}."
            raise StoreError(what, where=str(self.samples_path(name)), hint="mm-eval score RUN writes both anew.")
        by_level = self.results.get("categories", {}).get(name, {})
        task.categories = {
            level: {
                category: task.categories[level][category] for category in found if category in task.categories[level]
            }
            for level, found in by_level.items()
            if level in task.categories
        }
        order = list(recorded)  # the order of the table, not of the docs
        places = {key: order.index(key) if key in order else len(order) for key in task.values}
        task.values = {key: task.values[key] for key in sorted(task.values, key=lambda key: places[key])}
        return task

    def recorded_docs(self, name: str) -> dict[int, DocDigests]:
        """The docs of a task and their answers, as digests, by doc id."""
        return {
            row["doc_id"]: DocDigests(value_digest([row["doc"], row["target"]]), value_digest(row["resps"]))
            for row in self.rows(name)
        }

    @cached_property
    def aggregations(self) -> dict[str, dict[str, Aggregation]]:
        """The aggregation functions of each task by key; none for a task whose files can no longer be loaded."""
        from mm_eval.scorers.judged import judge_aggregations
        from mm_eval.scorers.of_task import scorers_of

        found: dict[str, dict[str, Aggregation]] = {}
        for name, config in self._loaded.tasks.items() if self._loaded else ():
            if name in self.spec["tasks"]:
                try:
                    config = config.resolved()
                    scorers = scorers_of(config)
                    judged = judge_aggregations(config)
                except MMEvalError:
                    continue
                keys = [key for text in self.results["results"][name] if (key := MetricKey.parse(text))]
                by_name = {scorer.name: scorer for scorer in scorers}
                found[name] = {
                    str(key): judged.get(own := without_judge(key.metric, self.judges(name)))
                    or by_name[key.scorer].aggregation_of(own)
                    for key in keys
                    if not key.is_stderr and key.scorer in by_name
                }
        return found

    @cached_property
    def configs(self) -> dict[str, TaskConfig]:
        """The task files of the run, as far as they can still be loaded."""
        found: dict[str, TaskConfig] = {}
        for name, config in self._loaded.tasks.items() if self._loaded else ():
            with suppress(MMEvalError):
                found[name] = config.resolved()
        return found

    @cached_property
    def group_metrics(self) -> dict[str, tuple[GroupMetric, ...]]:
        """How each group's numbers are computed from those of its tasks."""
        found: dict[str, tuple[GroupMetric, ...]] = {}
        for name, config in self._loaded.groups.items() if self._loaded else ():
            try:
                found[name] = config.resolved().aggregate_metric_list
            except MMEvalError:
                continue
        return found

    @cached_property
    def _loaded(self) -> Loaded | None:
        """The configs of the run's tasks; None where they can no longer be loaded."""
        from mm_eval.prepare import load_configs
        from mm_eval.request import RunRequest

        try:
            return load_configs(RunRequest.from_json(self.request))
        except MMEvalError:
            return None


def without_judge(metric: str, judges: Sequence[str]) -> str:
    """The name of a metric without that of the further judge whose it is: `judge_score` for `judge_score@NAME`."""
    return next((metric.removesuffix(f"@{name}") for name in judges if metric.endswith(f"@{name}")), metric)


def _stderr_key(key: str) -> str:
    metric = MetricKey.parse(key)
    return str(MetricKey(metric.metric, metric.scorer, is_stderr=True)) if metric else ""


def _read(folder: Path, name: str, needed: frozenset[str]) -> dict[str, Any]:
    """A JSON file of a run folder, which must have these keys with mappings."""
    try:
        found = json.loads((folder / name).read_text(encoding="utf-8"))
    except PermissionError as error:
        hint = "The folder belongs to another user: ask for the right to read it."
        raise ConfigError(f"it can't be read: {error.strerror}.", where=str(folder / name), hint=hint) from error
    except OSError as error:
        hint = "Give the folder of a run." if name == "run.json" else "Score it first: mm-eval score RUN."
        raise ConfigError(f"there is no {name} in this folder.", where=str(folder), hint=hint) from error
    except ValueError as error:
        raise StoreError(f"it is not JSON: {error}.", where=str(folder / name)) from error
    if not isinstance(found, dict) or not needed <= {key for key, value in found.items() if isinstance(value, dict)}:
        hint = "" if name == "run.json" else "mm-eval score RUN writes it anew."
        raise StoreError("it is not what a run writes.", where=str(folder / name), hint=hint)
    return found
