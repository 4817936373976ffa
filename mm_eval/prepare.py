"""Everything that can be wrong before the first request: names, configs, functions, data, model arguments.

RunRequest -> Prepared. A ConfigError from here means that nothing was asked.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mm_eval.catalog.manager import Loaded
from mm_eval.engine.model import Model
from mm_eval.errors import ConfigError, DataError, NotHereError, RowError, did_you_mean, raise_all
from mm_eval.metrics import METRICS
from mm_eval.request import RunRequest, load_configs, make_model, model_class_of
from mm_eval.scorers import ProcessResultsScorer, Scorer
from mm_eval.scorers.of_task import scorers_of
from mm_eval.task.blocks import PromptBlock, check_prompt_keys, choose_block
from mm_eval.task.dataset import DataSource, sample_configs
from mm_eval.task.docs import FileState
from mm_eval.task.task import PromptStyle, Task
from mm_eval.types import MetricKey


@dataclass
class Prepared:
    """A run that is ready to begin: every name resolved, every function imported, every split open.

    tasks: by row name, in the order of the table. styles, scorers, doc_ids: by the same names.
    notes: what the reader of the table should know (sample data, members left out, prompt keys not found).
    """

    request: RunRequest
    loaded: Loaded
    tasks: dict[str, Task]
    styles: dict[str, PromptStyle]
    scorers: dict[str, list[Scorer]]
    doc_ids: dict[str, list[int]]
    model: Model | None = None
    notes: list[str] = field(default_factory=list)

    @property
    def sampled(self) -> list[str]:
        """The names of the data sets of which there is only the bundled sample."""
        paths = {task.config.dataset_path for task in self.tasks.values() if task.docs.bundled}
        return sorted(str(path).rsplit("/", 1)[-1] for path in paths)

    @property
    def in_part(self) -> dict[str, list[int]]:
        """{task: [docs asked, all its docs]} of the tasks of which `--limit` or `--samples` leaves docs out."""
        sizes = {name: [len(self.doc_ids[name]), len(task.docs)] for name, task in self.tasks.items()}
        return {name: size for name, size in sizes.items() if size[0] < size[1]}

    def picture_files(self, known: Mapping[str, Mapping[str, FileState]]) -> dict[str, dict[str, FileState]]:
        """{task: {name: its state}} of the picture files that the rows of each task name; embedded ones are in its fingerprint.

        known: the same from an earlier launch, so that only what has changed is read.
        """
        found = {name: task.picture_files(self.doc_ids[name], known.get(name, {})) for name, task in self.tasks.items()}
        return {name: states for name, states in found.items() if states}

    def spec(self) -> dict[str, Any]:
        """What decides the answers, for run.json: two launches with equal specs are one run."""
        assert self.model is not None
        style = next(iter(self.styles.values()))
        return {
            "model": dict(self.model.describe()),
            "seed": self.request.seed,
            "chat": style.chat,
            "system": style.system,
            **({"on_long_prompt": "fail"} if self.request.on_long_prompt == "fail" else {}),
            "tasks": {
                name: {
                    "path": task.path,
                    "config": {"stated": task.config.to_json(), "with_functions": task.config.digest()},
                    "asked": asked_digest(task, self.styles[name], self.doc_ids[name]),
                    "data": task.docs.fingerprint,
                    **({"examples": examples} if (examples := task.examples_fingerprint) else {}),
                    "docs": _digest(self.doc_ids[name]),
                    "prompt": {"key": self.styles[name].block.key, "kwargs": dict(self.styles[name].block.kwargs)},
                    "multiturn": self.styles[name].multiturn,
                }
                for name, task in self.tasks.items()
            },
        }


def prepare(request: RunRequest, progress: Callable[[str], None] = lambda phase: None) -> Prepared:
    """Loads tasks, data and the model's description; loads no weights and asks nothing."""
    loaded = load_configs(request)  # names first: a typo is told at once
    model_class, name = model_class_of(request)
    missing: list[NotHereError] = []
    model: Model | None = None
    try:
        model = make_model(request, model_class)
    except NotHereError as error:
        if not request.offline:
            raise
        missing.append(error)  # without a network, all that is missing is told at once
    plan = _open(request, loaded, request.sample or model_class.bundled, progress, missing)
    assert model is not None
    plan.model = model
    chat = model.chat if request.chat_template is None else bool(request.chat_template)
    plan.styles = _styles(plan, model.prompt_keys, chat)
    _preflight(plan)
    if request.model is None:
        data = " on bundled sample data" if plan.sampled else ""
        plan.notes.append(f"no --model was given: this is the bundled {name}{data}")
    return plan


def prepare_without_model(request: RunRequest, only: str, loaded: Loaded | None = None) -> Prepared:
    """The plan of one task of a request, to be checked: data from the data root or the sample where the hub is not meant.

    loaded: the configs of the request, where they are loaded already.
    """
    loaded = loaded or load_configs(request)
    plan = _open(request, Loaded({only: loaded.tasks[only]}, roots=loaded.roots), request.sample)
    plan.styles = _styles(plan, (), False)
    _preflight(plan)
    return plan


def prepare_from_spec(request: RunRequest, spec: Mapping[str, Any]) -> Prepared:
    """The plan of a recorded run, without its model: prompts are the recorded ones.

    Errors: ConfigError when data or prompts are not what was asked. A changed metric is no error: scoring anew is for that.
    """
    plan = _open(request, load_configs(request), request.sample or model_class_of(request)[0].bundled)
    for name in plan.tasks:
        stored = spec["tasks"].get(name)
        now = plan.tasks[name].docs.fingerprint, plan.tasks[name].examples_fingerprint
        if stored is None or (stored["data"], stored.get("examples")) != now:
            raise ConfigError(
                f"the data of {name!r} is not what was asked about.", hint="A run can't be scored on other data."
            )
        block = PromptBlock.of_task(plan.tasks[name].config, stored["prompt"]["key"], stored["prompt"]["kwargs"])
        plan.styles[name] = PromptStyle(block, spec["chat"], spec["system"], stored["multiturn"])
        if stored["asked"] != asked_digest(plan.tasks[name], plan.styles[name], plan.doc_ids[name]):
            where, hint = (
                plan.tasks[name].config.file_name,
                "Only filters, metrics and scorers may change; run it anew.",
            )
            raise ConfigError(f"the prompts of {name!r} are not what was asked.", where=where, hint=hint)
    return plan


def asked_digest(task: Task, style: PromptStyle, doc_ids: Sequence[int]) -> str:
    """What tells whether a task still asks the same: the requests of its first 32 docs, pictures aside."""
    requests = [
        [i.request_type, i.context, i.continuation, dict(i.generation_kwargs), i.repeat]
        for i in task.instances(doc_ids[:32], style, lambda doc_id: None)
    ]
    return hashlib.sha256(
        json.dumps(requests, sort_keys=True, default=str).encode("utf-8", "surrogatepass")
    ).hexdigest()


def _open(
    request: RunRequest,
    loaded: Loaded,
    sample: bool,
    progress: Callable[[str], None] = lambda phase: None,
    missing: list[NotHereError] | None = None,
) -> Prepared:
    """The plan with its functions imported, its scorers built and its data open, but no prompts yet.

    missing: what else is not on this machine; with `--offline` all of it and all missing data are one error.
    """
    missing = [] if missing is None else missing
    resolved = {name: config.resolved() for name, config in loaded.tasks.items()}
    loaded.groups = {name: group.resolved() for name, group in loaded.groups.items()}
    scorers = {name: scorers_of(config) for name, config in resolved.items()}
    raise_all([fault for _, fault in group_faults(loaded, scorers)])
    progress("data")
    source = _source(request, sample)
    plan = Prepared(request, loaded, {}, {}, scorers, {})
    left_out = without_sample(loaded, request) if sample else set()
    for name, config in resolved.items():
        if name in left_out:
            continue
        try:
            task = Task.load(config, source, request.seed)
        except NotHereError as error:
            if not request.offline:
                raise
            if error.what not in [known.what for known in missing]:
                missing.append(error)
            continue
        ids = (request.samples or {}).get(name)
        plan.tasks[name] = task
        plan.doc_ids[name] = task.select(request.limit, ids)
    if missing:
        raise NotHereError.joined(missing)
    if left_out:
        plan.notes.append(_left_out_note(loaded, left_out))
    return plan


def group_faults(loaded: Loaded, scorers: Mapping[str, list[Scorer]]) -> list[tuple[str, ConfigError]]:
    """(group, ConfigError) for each metric of a group that no task below reports and nobody has registered: a misspelt one.

    A registered metric that no task below has is noted in the group's row instead: `mmlu@generate` has no log-likelihoods.
    """

    def leaves(name: str) -> list[str]:
        return [
            leaf
            for member in loaded.group_map[name]
            for leaf in (leaves(member) if member in loaded.groups else [member])
        ]

    def names_are_known(scorer: Scorer) -> bool:  # a function of the task's own may report {part: value} under any name
        own = [m for m in scorer.metrics or () if not getattr(m.fn, "__module__", "").startswith("mm_eval.")]
        return isinstance(scorer, ProcessResultsScorer) or type(scorer).__module__.startswith("mm_eval.") and not own

    faults: list[tuple[str, ConfigError]] = []
    for name, group in loaded.groups.items():
        if not all(leaf in scorers and all(map(names_are_known, scorers[leaf])) for leaf in leaves(name)):
            continue
        known = {
            metric.name for leaf in leaves(name) for scorer in scorers.get(leaf, ()) for metric in scorer.metrics or ()
        }
        for metric in group.aggregate_metric_list:
            wanted = MetricKey(metric.metric, "none").parent_metric or metric.metric
            if wanted not in known and wanted not in METRICS:
                what = f"group {name!r} aggregates {metric.metric!r}, which no task of it has."
                faults.append((name, ConfigError(what, where=metric.where, hint=did_you_mean(wanted, known))))
    return faults


def _left_out_note(loaded: Loaded, left_out: set[str]) -> str:
    """Which groups are measured in part, by their outermost names."""

    def below(name: str) -> set[str]:
        return {leaf for member in loaded.group_map.get(name, ()) for leaf in below(member)} or {name}

    parts = [(name, below(name)) for name in loaded.roots if below(name) & left_out]
    shown = ", ".join(f"{len(tasks - left_out)} of the {len(tasks)} tasks of {name}" for name, tasks in parts)
    return f"the sample data has {shown}; the others are left out"


def without_sample(loaded: Loaded, request: RunRequest) -> set[str]:
    """The members of groups whose subset the bundled sample does not have; a task asked for by name is never left out."""
    source = _source(request, sample=True)
    missing = set()
    for name, config in loaded.tasks.items():
        if name not in loaded.roots and config.dataset_name is not None and config.dataset_path is not None:
            names = sample_configs(config.dataset_path, source)
            if names and config.dataset_name not in names:
                missing.add(name)
    return missing if len(missing) < len(loaded.tasks) else set()


def _source(request: RunRequest, sample: bool) -> DataSource:
    if request.data_root is not None and not os.path.isdir(request.data_root):
        raise ConfigError(f"--data_root {request.data_root!r} is no folder.")
    if request.allow_url_media and request.offline:
        raise ConfigError("--allow_url_media fetches pictures, and --offline forbids it.", where="--offline")
    root = Path(request.data_root) if request.data_root else None
    return DataSource(root, sample, request.offline, request.allow_url_media)


def _styles(plan: Prepared, model_keys: Sequence[str], chat: bool) -> dict[str, PromptStyle]:
    """How each task is asked: the prompt block of the model, or the one that was asked for."""
    request = plan.request
    blocks = {name: prompt_blocks(plan, name) for name in plan.tasks}
    asked = request.prompt_key
    if asked and asked != "default" and not any(asked in keys for keys in blocks.values()):
        known = {key for keys in blocks.values() for key in keys}
        raise ConfigError(
            f"no task of this run has the prompt key {asked!r}.", where="--prompt_key", hint=did_you_mean(asked, known)
        )
    for name, keys in blocks.items():
        if asked and asked not in keys and keys:
            plan.notes.append(f"{name} has no prompt key {asked!r}: it was asked with 'default'")
    return {
        name: PromptStyle(
            choose_block(plan.tasks[name].config, model_keys, asked, keys),
            chat,
            request.system_instruction,
            request.fewshot_as_multiturn,
        )
        for name, keys in blocks.items()
    }


def check_generation(plan: Prepared) -> None:
    """ConfigError where the model can't do what a task's generation_kwargs ask for."""
    assert plan.model is not None
    for task in plan.tasks.values():
        if task.config.output_type == "generate_until":
            try:
                plan.model.check_generation(task.config.generation_kwargs)
            except ConfigError as error:
                where = "--gen_kwargs" if plan.request.gen_kwargs else task.config.where("generation_kwargs")
                raise ConfigError(error.what, where=where, hint=error.hint) from error


def prompt_blocks(plan: Prepared, name: str) -> dict[str, Any]:
    """The prompt blocks of a task, the user's own over those of its YAML."""
    own = plan.request.prompt_blocks or {}
    common = {key: block for key, block in own.items() if key not in plan.tasks}
    return {**plan.tasks[name].config.prompt_kwargs, **common, **(own.get(name) or {})}


def asked_with(plan: Prepared, prompt_key: str, output_path: str) -> Prepared:
    """The same tasks, docs and model, asked with another prompt block and recorded in another folder."""
    assert plan.model is not None
    request = replace(plan.request, prompt_key=prompt_key, output_path=output_path)
    chat = next(iter(plan.styles.values())).chat
    again = replace(plan, request=request, notes=list(plan.notes))
    again.styles = _styles(again, plan.model.prompt_keys, chat)
    _preflight(again)
    return again


def _preflight(plan: Prepared) -> None:
    """Builds the first doc's prompt of each task: what is wrong there is wrong with the config, and nothing was asked.

    A doc whose own values are at fault (RowError) says nothing about the config: the next one is taken.
    """
    for name, task in plan.tasks.items():
        for doc_id in plan.doc_ids[name][:20]:
            where = f"{task.path} doc {doc_id}"
            try:
                _try_doc(plan, name, doc_id, where)
                break
            except RowError:
                continue
            except (ConfigError, DataError) as error:
                place = f"{task.config.file_name}: {where}" if error.where == where else error.where
                raise ConfigError(error.what, where=place, hint=error.hint) from error


def _try_doc(plan: Prepared, name: str, doc_id: int, where: str) -> None:
    """Builds the prompt of one doc; ConfigError or DataError where that fails."""
    task, style = plan.tasks[name], plan.styles[name]
    doc = task.docs.text(doc_id)
    question = task.question(doc, style.block, where)
    check_prompt_keys(task, plan.doc_ids[name], [style.block])
    task.clusters({doc_id: doc}, {})
    if task.config.doc_to_target is not None and not task.config.process_results and question.target is None:
        raise DataError("doc_to_target gave None, so that no answer could be right.", where=where)
    if task.pool is not None:
        task.pool.draw(task.config.num_fewshot, doc_id, doc)
    if not task.writes_messages(style):
        for instance in task.instances([doc_id], style, lambda _: None):
            if instance.error is not None:
                raise instance.error


def _digest(doc_ids: list[int]) -> dict[str, Any]:
    text = json.dumps(doc_ids, separators=(",", ":"))
    return {"count": len(doc_ids), "first": doc_ids[0], "sha256": hashlib.sha256(text.encode()).hexdigest()[:16]}
