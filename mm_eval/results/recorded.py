"""A finished run, read from its folder: its numbers, its docs with their values and clusters, and its requests.

Neither the model nor the data is needed, and nothing of the folder is run: what configs say is in results.json. An aggregation
that is a function of a task's own is taken from the installed task, or from a folder that the reader names.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from array import array
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeGuard

from mm_eval.config.arguments import column_name
from mm_eval.config.checks import fault_of_range
from mm_eval.config.functions import FunctionRef
from mm_eval.config.group import GroupConfig, GroupMetric
from mm_eval.config.installed import installed_config, installed_group
from mm_eval.config.schema import NUMBERS_ELSEWHERE
from mm_eval.config.values import to_json
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.results.file import read_results, read_run
from mm_eval.results.number_text import counts_calls
from mm_eval.results.sample_rows import (
    COUNTS,
    Attempts,
    DocDigests,
    Spent,
    kinds_of,
    lean,
    options_asked,
    sample_name,
    spent_on_docs,
    tokens_of_attempts,
    value_digest,
)
from mm_eval.scoring.metrics.aggregation import average_of_runs, mean
from mm_eval.scoring.metrics.metric import AGGREGATIONS, METRICS, Metric, aggregation_named, range_of
from mm_eval.scoring.metrics.paired import estimate, right_or_wrong, with_interval
from mm_eval.scoring.metrics.stderr import freedom_of
from mm_eval.scoring.metrics.traits import in_range
from mm_eval.scoring.process_results import with_own_values
from mm_eval.scoring.run_results import Results
from mm_eval.scoring.sample_row import SampleRow
from mm_eval.scoring.task_scores import Scores
from mm_eval.values.columns import Clusters, Column
from mm_eval.values.errors import ConfigError, MMEvalError, StoreError
from mm_eval.values.run_files import UNREADABLE, json_value, lines_of
from mm_eval.values.types import FILE_MARK, FRAME_MARK, NO_SHARE, Fields, JsonObject, MetricKey, Number
from mm_eval.values.words import of_all

if TYPE_CHECKING:
    from mm_eval.config.task_config import TaskConfig

OF_ROW = frozenset({"doc_id", "status", "doc", "prompt", "target", "resps", "scores"})
"""Keys that a row of samples/ must have."""

Aggregation = Callable[[Sequence[Any]], float]


@dataclass
class RecordedTask:
    """The scored docs of one task of a run.

    row: the task's row in results.json. values: {key: {doc_id: value}}. clusters: {doc_id: its cluster}.
    aggregations: the task's own functions by key.
    categories: {level: {category: doc ids}}. sizes: {"characters" or "tokens": {doc_id: how long its first answer is}}.
    shows_frames: whether a prompt shows frames.
    """

    name: str
    row: Scores = field(default_factory=Scores)
    values: dict[MetricKey, Mapping[int, Any]] = field(default_factory=dict)
    clusters: Mapping[int, Hashable] = field(default_factory=Clusters)
    aggregations: Mapping[MetricKey, Aggregation] = field(default_factory=dict)
    categories: dict[str, dict[str, array[int]]] = field(default_factory=dict)
    sizes: dict[str, Mapping[int, int]] = field(default_factory=dict)
    shows_frames: bool = False
    _guessed: tuple[int, float] = (0, 0.0)
    _whole: dict[MetricKey, Number | None] = field(default_factory=dict, repr=False)
    _functions: dict[MetricKey, Aggregation | None] = field(default_factory=dict, repr=False)
    _numbers: dict[str, int] = field(default_factory=dict, repr=False)
    _columns: JsonObject = field(default_factory=dict, repr=False)
    _lengths: Column[int] | None = field(default=None, repr=False)
    _last: object = field(default=None, repr=False)

    def add(self, row: SampleRow) -> None:
        """Adds a doc, as its row of samples/ has it."""
        doc_id = row["doc_id"]
        cluster = doc_id
        if "cluster" in row:  # it may be several digests long
            cluster = -1 - self._numbers.setdefault(json.dumps(row["cluster"]), len(self._numbers))
        assert isinstance(self.clusters, Clusters)
        self.clusters.put(doc_id, cluster)
        if not self.shows_frames:
            self.shows_frames = any(each.startswith(FRAME_MARK) for each in row.get("images", ()))
        for level, names in row.get("categories", {}).items():
            for category in names:
                self.categories.setdefault(level, {}).setdefault(category, array("q")).append(doc_id)
        if row["status"] in ("failed", "not requested"):
            return
        if (options := options_asked(row)) > 1:
            self._guessed = self._guessed[0] + 1, self._guessed[1] + 1 / options
        if row["resps"] and isinstance(row["resps"][0], str):
            if self._lengths is None:
                self.sizes["characters"] = self._lengths = Column[int]()
            self._lengths.put(doc_id, len(row["resps"][0]))
        for text, value in row["scores"].items():
            if type(value) is not float and (value != self._last or type(value) is not type(self._last)):
                self._last = lean(
                    value
                )  # equal neighbours share one object: a doc's values in its category and in the sum
            if (column := self._columns.get(text)) is None:
                key = MetricKey.parse(text) or MetricKey(text, "none")
                known: Any = self.values.setdefault(key, Column[Any]())
                column = self._columns[text] = known
            column.put(doc_id, value if type(value) is float else self._last)

    def chance(self, key: MetricKey) -> float | None:
        """What guessing gives: the mean chance of the documents. Only of a share of right documents, all with known options."""
        values = self.values.get(key, {})
        docs, chances = self._guessed
        if not values or len(values) != docs or any(value not in (0, 1) for value in values.values()):
            return None
        recorded = self.row.number(key)
        if not _gives(mean, list(values.values()), recorded and recorded.value):
            return None
        return chances / docs

    def aggregation(self, key: MetricKey) -> Aggregation | None:
        """The function that computes the number of a key; None where it is not available.

        It must give the recorded number on the recorded values, since neither a file nor an installation is sure to be the one
        that made it. The mean is tried where nothing is stated.
        """
        if key not in self._functions:
            function, values = self.aggregations.get(key, mean), list(self.values.get(key, {}).values())
            recorded = self.row.number(key)
            if key.metric.startswith("avg@") and any(isinstance(value, list) for value in values[:1]):
                function = average_of_runs(function)
            self._functions[key] = function if _gives(function, values, recorded and recorded.value) else None
        return self._functions[key]

    def number(self, key: MetricKey, of_docs: Collection[int] | None = None) -> Number | None:
        """The number of a key with its 95% interval; None where its aggregation function is not available or fails.

        of_docs: over these docs only. Over all docs it is the recorded number with its recorded standard error, if there is one.
        """
        if of_docs is not None and len(of_docs) < len(self.values.get(key, ())):
            return self._number(key, {doc_id: self.values[key][doc_id] for doc_id in of_docs})
        if key not in self._whole:
            self._whole[key] = self._number(key, self.values.get(key, {}), whole=True)
        return self._whole[key]

    def number_of_category(self, level: str, category: str, row: Scores, key: MetricKey) -> Number | None:
        """The recorded number of a category with its 95% interval; None if there is none. row: the category's."""
        number, function = row.number(key), self.aggregation(key)
        if number is None or not isinstance(number.value, (int, float)):
            return None
        of_docs = self.values.get(key, {})
        ids = [doc_id for doc_id in self.categories.get(level, {}).get(category, ()) if doc_id in of_docs]
        values, clusters = [of_docs[doc_id] for doc_id in ids], [self.clusters[doc_id] for doc_id in ids]
        sizes, stderr = list(Counter(clusters).values()), number.stderr if ids else None
        freedom = freedom_of(sizes)
        recorded = Number(key, float(number.value), stderr, n=len(ids), clusters=len(sizes), freedom=freedom)
        if function is None or not ids:
            return recorded
        try:
            return with_interval(recorded, function, values, clusters)
        except Exception:  # the task's own code, on values that went through JSON
            return recorded

    def _number(self, key: MetricKey, values: Mapping[int, object], *, whole: bool = False) -> Number | None:
        function = self.aggregation(key)
        if function is None or not values:
            return None
        alone = isinstance(self.clusters, Clusters) and self.clusters.alone
        clusters = None if alone else [self.clusters[doc_id] for doc_id in values]
        known = self.row.number(key)
        try:
            if whole and known and isinstance(known.value, (int, float)) and isinstance(known.stderr, (int, float)):
                return with_interval(known, function, list(values.values()), clusters)
            return estimate(function, list(values.values()), clusters, key=key)
        except Exception:  # the task's own code, on values that went through JSON or on a part of the docs
            return None


def told_apart(runs: Sequence[RecordedRun]) -> list[RecordedRun]:
    """The same runs, in which checkpoints of one name have as many parts of their paths in it as tell them apart.

    step-100/hf and step-200/hf are not both "hf". Two revisions of one repository have theirs.
    """
    found = list(runs)
    for name in dict.fromkeys(run.model for run in runs):
        alike = [place for place, run in enumerate(runs) if run.model == name and run.checkpoint]
        sources = {runs[place].checkpoint for place in alike}
        most = max((len(Path(source).parts) for source in sources), default=1)
        for parts in range(2, most + 1) if len(sources) > 1 else ():
            named = {place: runs[place].name_of_parts(parts) for place in alike}
            if len(set(named.values())) >= len(sources):
                break
        else:
            revisions = {
                place: str((runs[place].request["model_args"] or {}).get("revision") or "main") for place in alike
            }
            named = {place: f"{runs[place].name_of_parts(1)}@{of}" for place, of in revisions.items()}
            if len(set(revisions.values())) < 2:
                continue
        for place, own in named.items():
            found[place] = replace(runs[place], name=own)
    return found


def _loaded_from(args: Mapping[str, object]) -> object:
    return args.get("pretrained") or args.get("model") or args.get("path")


@dataclass(frozen=True)
class RecordedRun:
    """A run folder with a results.json.

    include_path: a folder with task code that the reader trusts. configs: of the run's tasks, as far as they were looked up.
    make_thumbnails: makes those that the run lacks of pictures with some digests, where its tasks are open.
    """

    folder: Path
    results: Results
    spec: Mapping[str, Any]
    request: Fields
    name: str = ""
    include_path: str | None = None
    configs: dict[str, TaskConfig | None] = field(default_factory=dict, repr=False)
    make_thumbnails: Callable[[RecordedRun, Iterable[str]], None] | None = field(default=None, repr=False)
    _tables: dict[str, RecordedTask] = field(default_factory=dict, init=False, repr=False)

    @classmethod
    def read(cls, folder: str | Path, name: str = "", include_path: str | None = None) -> RecordedRun:
        """The run in a folder. Errors: ConfigError where there is none, or one without results; StoreError for damaged files.

        name: the model's name in tables; by default the name of what was loaded.
        """
        path = Path(folder)
        run, results = read_run(path), read_results(path)
        return cls(path, results, run["spec"], run["request"], name, include_path)

    @classmethod
    def of_scored(
        cls,
        folder: Path,
        run: Fields,
        results: Results,
        configs: Mapping[str, TaskConfig],
        include_path: str | None,
    ) -> RecordedRun:
        """A run that was scored just now, with the results that were written. run: its run.json. configs: of its tasks."""
        return cls(folder, results, run["spec"], run["request"], "", include_path, dict(configs))

    @property
    def model(self) -> str:
        """The name in tables: what the user states, else that of the checkpoint or adapter; and whether it thinks or sees."""
        name = self.name or self.request.get("name") or self.name_of_parts(1)
        return f"{name} ({self.results.run.blind_said})" if self.spec.get("blind") else str(name)

    @property
    def checkpoint(self) -> str:
        """What was loaded, or the file of replay; empty where the user names the model, and for adapters without one."""
        args = self.request.get("model_args") or {}
        named = self.name or self.request.get("name")
        return "" if named else os.path.normpath(str(found)) if (found := _loaded_from(args)) else ""

    def name_of_parts(self, parts: int) -> str:
        """The model's name with so many parts of its checkpoint's path."""
        args = self.request.get("model_args") or {}
        answers = args.get("path")  # of replay
        adapter = "/".join(Path(str(answers)).parts[-parts:]) if answers else self.results.run.model_name
        return column_name(args, adapter, parts)

    @property
    def prompt_keys(self) -> dict[str, str]:
        """The prompt block of each task."""
        return {name: prompt["key"] for name, prompt in self.results.run.prompts.items()}

    @cached_property
    def spent(self) -> dict[str, dict[int, Spent]]:
        """{task: {doc id: what its first answer took}}, as far as tokens were counted."""
        by_path = spent_on_docs(self.folder)
        return {name: by_path.get(task["path"], {}) for name, task in self.spec["tasks"].items()}

    @cached_property
    def tokens(self) -> dict[str, dict[int, int]]:
        """{task: {doc id: tokens of its first answer}}, as far as they were counted."""
        return {name: {doc_id: each.completion for doc_id, each in docs.items()} for name, docs in self.spent.items()}

    @cached_property
    def attempts(self) -> dict[str, Attempts]:
        """{path of a task: the tokens of each attempt}, as far as they were counted."""
        return tokens_of_attempts(self.folder)

    @cached_property
    def output_tokens(self) -> dict[str, dict[int, float]]:
        """{task: {doc id: output tokens of all turns of an attempt}}, the mean of those of its attempts that were counted."""
        by_path, found = tokens_of_attempts(self.folder, COUNTS[1:2]), dict[str, dict[int, float]]()
        for name, task in self.spec["tasks"].items():
            of_docs: dict[int, list[int]] = {}
            for (doc_id, _), (_, completion, *_) in by_path.get(task["path"], {}).items():
                of_docs.setdefault(doc_id, []).append(completion)
            found[name] = {doc_id: sum(counts) / len(counts) for doc_id, counts in of_docs.items()}
        return found

    def samples_path(self, task: str) -> Path:
        """samples/<task>.jsonl"""
        return self.folder / "samples" / f"{sample_name(task)}.jsonl"

    def rows(self, task: str, keep: bool = False) -> Iterator[SampleRow]:
        """The rows of samples/<task>.jsonl. keep: `tasks` is filled by this pass, where it has not been by another one."""
        path, read = self.samples_path(task), 0
        table = RecordedTask(task) if keep and task not in self._tables else None
        try:
            for _, line in lines_of(self.folder, path):
                row = json_value((line or b"").decode("utf-8"))
                if not is_row(row):
                    raise ValueError("it is not a row of a run")
                if table is not None:
                    table.add(row)
                yield row
                read += 1
        except FileNotFoundError as error:
            raise ConfigError("the samples are missing.", where=str(path), hint="mm-eval score RUN") from error
        except OSError as error:
            raise StoreError(f"the samples can't be read: {error.strerror}.", where=str(path)) from error
        except ValueError as error:
            hint = "mm-eval score RUN writes it again."
            raise StoreError(f"a row can't be read: {error}.", where=f"{path}:{read + 1}", hint=hint) from error
        if table is not None:
            self._tables[task] = self._complete(table)

    @cached_property
    def tasks(self) -> dict[str, RecordedTask]:
        """Every task with its docs."""
        for name in self.spec["tasks"]:
            for _ in self.rows(name, keep=True) if name not in self._tables else ():
                pass
        return {name: self._tables[name] for name in self.spec["tasks"]}

    def _complete(self, table: RecordedTask) -> RecordedTask:
        """A table of which all rows are read, in the order of results.json."""
        name = table.name
        table.aggregations = self.aggregations.get(name, {})
        if name in self.results.rows:
            table.row = self.results.rows[name]
            if table.row.n != len(table.clusters):
                what = f"it has {len(table.clusters)} documents, and results.json is of {table.row.n}."
                raise StoreError(what, where=str(self.samples_path(name)), hint="mm-eval score RUN writes both again.")
        levels = self.results.categories.get(name, {})
        table.categories = {
            level: {each: table.categories[level][each] for each in found if each in table.categories[level]}
            for level, found in levels.items()
            if level in table.categories
        }
        order = [number.key for number in table.row.numbers]  # the order of the table, not of the docs
        places = {key: order.index(key) if key in order else len(order) for key in table.values}
        table.values = {key: table.values[key] for key in sorted(table.values, key=lambda key: places[key])}
        return table

    def questions_digest(self, name: str) -> bytes:
        """A digest of what the model was shown in a task and of its right answers: two runs of one model with equal ones asked
        the same. The options of generation are not in it."""
        asked = hashlib.sha256()
        for row in self.rows(name):
            shown = [row.get(key) for key in ("doc_id", "prompt", "images", "videos", "choices", "target")]
            asked.update(value_digest(shown))
        return asked.digest()

    def recorded_docs(self, name: str) -> dict[int, DocDigests]:
        """The docs of a task and their answers, as digests, by doc id."""
        return {
            row["doc_id"]: DocDigests(
                value_digest([row["doc"], row["target"]]),
                value_digest(_without_edges(row["resps"])),
                kinds_of(row),
                value_digest(shown) if (shown := row.get("images")) else b"",
                row["status"] != "not requested",
                row["status"] == "failed",
                any(digest.startswith(FILE_MARK) for digest in row.get("images") or ()),
            )
            for row in self.rows(name)
        }

    @cached_property
    def aggregations(self) -> dict[str, dict[MetricKey, Aggregation]]:
        """The aggregation of each number by task and key, where results.json states one."""
        found: dict[str, dict[MetricKey, Aggregation]] = {}
        for name in self.spec["tasks"]:
            for number in self.results.rows.get(name, Scores()).numbers:
                key, metric = number.key, number.metric.removesuffix(f"@{number.judge}")
                stated = stated_aggregation(self.results.configs.get(name, {}), metric, key.scorer)
                if counts_calls(key):  # no config states them
                    stated = in_range(mean, NO_SHARE)
                elif isinstance(stated, str):
                    stated = own_aggregation(self.config(name), metric, key.scorer)
                if stated is not None:
                    found.setdefault(name, {})[key] = stated
        return found

    def config(self, task: str) -> TaskConfig | None:
        """A task's file as it is installed, or in `include_path`; None where there is none. Its code is not imported."""
        if task not in self.configs:
            self.configs[task] = installed_config(self.spec["tasks"].get(task, {}).get("path", task), self.include_path)
        return self.configs[task]

    @cached_property
    def group_metrics(self) -> dict[str, tuple[GroupMetric, ...]]:
        """How each group's numbers are computed from those of its tasks."""
        found: dict[str, tuple[GroupMetric, ...]] = {}
        for name, entries in self.results.group_metrics.items():
            try:
                metrics = tuple(map(GroupMetric.from_dict, entries))
                if all(metric.aggregation in AGGREGATIONS for metric in metrics):
                    found[name] = metrics
                elif (group := installed_group(name, self.include_path)) is not None:
                    found[name] = group.resolved(FOREIGN_CODE).aggregate_metric_list
            except (MMEvalError, *UNREADABLE):
                continue
        return found


_NONE: Mapping[str, object] = {}


def is_row(row: object) -> TypeGuard[SampleRow]:
    """Whether a value has the form of a row of samples/."""
    return (
        type(row) is dict
        and row.keys() >= OF_ROW
        and type(row["doc_id"]) is int
        and type(row["status"]) is str
        and type(row["resps"]) is list
        and type(row["doc"]) is type(row["scores"]) is dict
        and type(row.get("filtered_resps", _NONE)) is type(row.get("categories", _NONE)) is dict
        and type(rules := row.get("rules", _NONE)) is dict
        and all(map(_is_words, rules.values()))
        and _is_words(row.get("ended", []))
        and _is_words(row.get("images") or [])
    )


def _is_words(value: object) -> bool:
    return type(value) is list and all(type(each) is str for each in value)


def _gives(function: Aggregation, values: Sequence[object], recorded: object) -> bool:
    """Whether a function gives the recorded number. Where none is recorded, it must be able to read the values."""
    if not values:
        return True
    try:
        made = function(values)
        if not isinstance(recorded, (int, float)):
            return True
        return math.isclose(made, recorded, rel_tol=1e-6, abs_tol=1e-9)
    except Exception:  # a task's own code, on values that went through JSON
        return False


def parts_of(run: RecordedRun) -> dict[str, str]:
    """{task: "60 of 420 docs"} where docs were left out."""
    return {name: of_all(requested, every, "document") for name, (requested, every) in run.results.run.in_part.items()}


def _without_edges(said: object) -> object:
    """Answers without the white space around them, so that " Yes" and "Yes" are the same words."""
    if isinstance(said, str):
        return said.strip()
    return [_without_edges(each) for each in said] if isinstance(said, list) else said


def group_entries(config: GroupConfig) -> list[object]:
    """The group's `aggregate_metric_list` for results.json, functions by name."""
    stated = config.source.get("aggregate_metric_list") or ()
    found: list[object] = to_json([stated] if isinstance(stated, Mapping) else list(stated))
    return found


def stated_aggregation(config: Mapping[str, object], metric: str, pipeline: str) -> Aggregation | str | None:
    """The aggregation of a task's number, from its config in results.json.

    A function of the task's own is returned by its name. None where nothing is stated, which mostly means the mean.
    """
    entry = next(_entries(config, metric, pipeline), None) or {"metric": metric}
    named = entry.get("aggregation")
    if isinstance(named, str):
        return _ranged(aggregation_named(named), entry, metric) if named in AGGREGATIONS or named in METRICS else named
    name = entry["metric"]
    if not isinstance(name, str) or name not in METRICS:
        return None
    arguments = {
        key: value for key, value in entry.items() if key not in ("aggregation", "reduction", "higher_is_better")
    }
    try:
        return _ranged(Metric.from_dict(arguments).aggregation or mean, entry, metric)
    except (MMEvalError, *UNREADABLE):  # arguments that were functions, or a metric of another output type
        registered = METRICS.get(name)
        return registered.aggregation if isinstance(registered, Metric) else None


def own_aggregation(config: TaskConfig | None, metric: str, pipeline: str) -> Aggregation | None:
    """The aggregation that an installed task's own code defines; None without one. Imports the task's file."""
    entry = next(_entries(config.source, metric, pipeline), {}) if config is not None else {}
    reference = entry.get("aggregation")
    if not isinstance(reference, FunctionRef):
        return None
    try:
        return _ranged(with_own_values(aggregation_named(reference.resolve(FOREIGN_CODE))), entry, metric)
    except MMEvalError:
        return None


def stated_range(config: Mapping[str, object], metric: str, pipeline: str = "none") -> tuple[float, float] | None:
    """The `range` of a task's number as its config states it, also in the metric_list of its judge."""
    return _range_in(next(_entries(config, metric, pipeline), {}), metric)


def _range_in(entry: Mapping[str, object], metric: str) -> tuple[float, float] | None:
    """The `range` of an entry, if it is that of this metric and not of a composite one."""
    is_its_own = entry.get("metric") == metric.partition("@")[0] and not fault_of_range(entry)
    return range_of(entry) if is_its_own else None


def _ranged(function: Aggregation, entry: Mapping[str, object], metric: str) -> Aggregation:
    """The aggregation with the `range` that an entry states of this metric."""
    return in_range(function, _range_in(entry, metric))


def _entries(config: Mapping[str, object], metric: str, pipeline: str) -> Iterator[Mapping[str, object]]:
    """The entries of a config that may state a number's metric: of its pipeline, its task, its format and its graders."""
    lists: list[object] = []
    for each in _mappings(config.get("filter_list")):
        if each.get("name") == pipeline:
            lists.append(each.get("metric_list"))
    lists.append(config.get("metric_list"))
    layouts = config.get("formats")
    for layout in [layouts, *(layouts.values() if isinstance(layouts, Mapping) else ())]:
        lists += [layout.get("metric_list"), _of(layout.get("scorer"))] if isinstance(layout, Mapping) else []
    lists += [step.get("metric_list") for key in NUMBERS_ELSEWHERE for step in _mappings(config.get(key))]
    for entries in lists:
        for entry in _mappings(entries):
            name = entry.get("metric")
            if isinstance(name, str) and (name == metric or metric.endswith(f"({name})")):
                yield entry


def _of(scorer: object) -> object:
    return scorer.get("metric_list") if isinstance(scorer, Mapping) else None


def _mappings(value: object) -> list[Mapping[str, object]]:
    """A mapping, or the mappings of a list; nothing for another value."""
    return [each for each in (value if isinstance(value, (list, tuple)) else [value]) if isinstance(each, Mapping)]


def headline_keys(task: RecordedTask) -> list[MetricKey]:
    """The numbers that are not part of an earlier one: of MME the two sums and not the categories.

    A further grader's number stands where the first one's does, however many docs it could not grade.
    """
    found: list[MetricKey] = []
    for key, of_docs in task.values.items():
        of_first = task.values.get(MetricKey(key.metric.partition("@")[0], key.scorer), of_docs)
        if not any(of_first.keys() < task.values[earlier].keys() for earlier in found if "@" not in earlier.metric):
            found.append(key)
    return found


def marks(task: RecordedTask) -> dict[int, bool | None]:
    """Whether each doc was right, by the first of the task's numbers that includes it."""
    found: dict[int, bool | None] = {}
    for of_docs in task.values.values():
        for doc_id, value in of_docs.items():
            found.setdefault(doc_id, right_or_wrong(value))
    return found
