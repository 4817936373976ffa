"""RunRequest -> Prepared: every name resolved, every function imported, every split open, the model described.

Whatever can be wrong before the first request is checked here. A ConfigError from here means that nothing was requested.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mm_eval.catalog.config import ASKS_NOTHING, TaskConfig
from mm_eval.catalog.manager import Loaded, TaskManager
from mm_eval.engine.generation import one_token_cap
from mm_eval.engine.model import MODELS, Model, ModelSettings
from mm_eval.errors import ConfigError, NotHereError, did_you_mean, raise_all
from mm_eval.executor import on_executor
from mm_eval.judging.judges import Judge, check_stated, judged_configs, make_judges
from mm_eval.preflight import check_first_doc, check_scoring, docs_digest, group_faults, requests_digest
from mm_eval.prompt_styles import choose_styles, missing_key_notes
from mm_eval.request import DEFAULT_MODEL, RunRequest
from mm_eval.runs.protocols.verdicts import differing_notes
from mm_eval.runs.submission import check_files
from mm_eval.scorers import Scorer
from mm_eval.scorers.of_task import scorers_of
from mm_eval.task.blocks import PromptBlock
from mm_eval.task.dataset import DataId, DataSource, lacks_sample
from mm_eval.task.docs import FileState
from mm_eval.task.task import PromptStyle, Task
from mm_eval.under_protocol import applied_protocol, completed, task_overrides


@dataclass(kw_only=True)
class OpenedTasks:
    """The tasks of a request with their data open and their prompts checked: all that scoring and validation need.

    tasks: by row name, in the order of the table. styles, scorers, doc_ids: by the same names.
    notes: what the reader of the table should know (sample data, members left out, prompt keys not found).
    judges: those of the run folder, the first one first; before the folder is open, those of the request.
    """

    request: RunRequest
    loaded: Loaded
    tasks: dict[str, Task]
    styles: dict[str, PromptStyle]
    scorers: dict[str, list[Scorer]]
    doc_ids: dict[str, list[int]]
    notes: list[str] = field(default_factory=list)
    judges: list[Judge] = field(default_factory=list)

    def check_first_docs(self) -> None:
        """ConfigError if the prompt of a task's first doc can't be built, or scoring reads a column that the data lacks."""
        for name, task in self.tasks.items():
            first_doc = task, self.styles[name], self.doc_ids[name]
            check_first_doc(*first_doc)
            if not self.request.predict_only:
                check_scoring(*first_doc)

    @property
    def sampled(self) -> list[str]:
        """The names of the data sets of which there is only the bundled sample."""
        paths = {task.config.dataset_path for task in self.tasks.values() if task.docs.bundled}
        return sorted(str(path).rsplit("/", 1)[-1] for path in paths)

    @property
    def in_part(self) -> dict[str, list[int]]:
        """{task: [docs requested, all its docs]} of the tasks of which `--limit` or `--samples` leaves docs out."""
        sizes = {name: [len(self.doc_ids[name]), len(task.docs)] for name, task in self.tasks.items()}
        return {name: size for name, size in sizes.items() if size[0] < size[1]}

    def picture_files(self, known: Mapping[str, Mapping[str, FileState]]) -> dict[str, dict[str, FileState]]:
        """{task: {name: its state}} of the picture files that the rows name; embedded pictures are in the data's fingerprint.

        known: the same from an earlier launch, so that only changed files are read.
        """
        found = {name: task.picture_files(self.doc_ids[name], known.get(name, {})) for name, task in self.tasks.items()}
        return {name: states for name, states in found.items() if states}


@dataclass(kw_only=True)
class Prepared(OpenedTasks):
    """A run that is ready to begin: opened tasks and a model, whose weights are not loaded yet.

    earlier: folders of runs whose answers are taken over.
    """

    model: Model
    earlier: Sequence[Path] = ()

    def spec(self) -> dict[str, Any]:
        """What decides the answers, for run.json: two launches with equal specs are one run."""
        style = next(iter(self.styles.values()))
        return {
            "model": dict(self.model.describe()),
            "seed": self.request.seed,
            "chat": style.chat,
            "system": style.system,
            **({"on_long_prompt": "fail"} if self.request.on_long_prompt == "fail" else {}),
            **({"blind": style.blind} if style.blind else {}),
            "tasks": {
                name: {
                    "path": task.path,
                    "config": {"stated": task.config.to_json(ASKS_NOTHING), "with_functions": task.config.digest()},
                    "asked": requests_digest(task, self.styles[name], self.doc_ids[name]),
                    "data": task.docs.fingerprint,
                    **({"examples": examples} if (examples := task.examples_fingerprint) else {}),
                    "docs": docs_digest(self.doc_ids[name]),
                    "prompt": self.styles[name].block.to_json(),
                    "multiturn": self.styles[name].multiturn,
                }
                for name, task in self.tasks.items()
            },
        }

    def check_generation(self) -> None:
        """ConfigError if the model, or a judge, can't generate with a task's generation_kwargs."""
        for judge in self.judges:
            judge.check_generation({name: task.config for name, task in self.tasks.items()})
        for task in self.tasks.values():
            if task.config.output_type == "generate_until":
                try:
                    self.model.check_generation(task.config.generation_kwargs)
                except ConfigError as error:
                    where = "--gen_kwargs" if self.request.gen_kwargs else task.config.where("generation_kwargs")
                    raise ConfigError(error.what, where=where, hint=error.hint) from error

    def asked_with(self, prompt_key: str | None, video: str | None, output_path: str) -> Prepared:
        """The same tasks, docs and model under another prompt block or rule of frames, recorded in another folder."""
        request = replace(self.request, prompt_key=prompt_key, video=video, output_path=output_path)
        configs = {name: task.config for name, task in self.tasks.items()}
        styles = choose_styles(request, configs, self.model, next(iter(self.styles.values())).chat)
        again = replace(self, request=request, styles=styles, notes=self.notes + missing_key_notes(request, configs))
        again.check_first_docs()
        return again


def prepare(request: RunRequest, progress: Callable[[str], None] = lambda phase: None) -> Prepared:
    """Loads tasks, data and the model's description; loads no weights and requests nothing."""
    loaded = load_configs(request)  # names first: a typo is reported at once
    if (whole := completed(request, loaded, _uses_sample(request))) != request:
        request, loaded = whole, load_configs(whole)
    check_stated(request, loaded.tasks)
    judges = make_judges(request) if judged_configs(loaded.tasks) and not request.predict_only else []
    if request.judges and not judges:
        loaded.notes.append("no task of this run is judged: --judge was not asked")
    try:
        model = make_model(request)
    except NotHereError as error:
        if request.offline:  # everything that is not on this machine is reported at once
            _open(request, loaded, _uses_sample(request), lambda configs: {}, progress, [error])
        raise
    chat = model.chat if request.chat_template is None else bool(request.chat_template)

    def styles(configs: Mapping[str, TaskConfig]) -> dict[str, PromptStyle]:
        return choose_styles(request, configs, model, chat)

    opened = _open(request, loaded, _uses_sample(request), styles, progress)
    opened.check_first_docs()
    plan = Prepared(**{**vars(opened), "judges": judges}, model=model)
    plan.notes += differing_notes(plan)
    if request.model is None:
        data = " on bundled sample data" if plan.sampled else ""
        plan.notes.append(f"no --model was given: this is the bundled {DEFAULT_MODEL}{data}")
    return plan


def prepare_without_model(request: RunRequest, only: str, loaded: Loaded | None = None) -> OpenedTasks:
    """One task of a request, to be checked without a model. loaded: the configs of the request, where they are loaded already."""
    loaded = loaded or load_configs(request)
    one = Loaded({only: loaded.tasks[only]}, roots=loaded.roots)
    opened = _open(request, one, request.sample, lambda configs: choose_styles(request, configs, None, False))
    opened.check_first_docs()
    return opened


def prepare_from_spec(request: RunRequest, spec: Mapping[str, Any]) -> OpenedTasks:
    """The tasks of a recorded run under the recorded prompts, to be scored.

    Errors: ConfigError if data or prompts are not those of the run. A changed metric is allowed: scoring again is for that.
    """
    request = request.without_workers()

    def recorded(configs: Mapping[str, TaskConfig]) -> dict[str, PromptStyle]:
        return {
            name: PromptStyle(
                PromptBlock.recorded(configs[name], stored["prompt"]),
                spec["chat"],
                spec["system"],
                stored["multiturn"],
                spec.get("blind"),
            )
            for name, stored in spec["tasks"].items()
            if name in configs
        }

    opened = _open(request, load_configs(request), _uses_sample(request), recorded)
    if any(task.config.judged for task in opened.tasks.values()):
        opened.judges = make_judges(replace(request, offline=False))  # these are named now, however the run was made
    for name, task in opened.tasks.items():
        stored = spec["tasks"].get(name)
        if stored is None or (stored["data"], stored.get("examples")) != (
            task.docs.fingerprint,
            task.examples_fingerprint,
        ):
            hint = "A run can be scored on its own data only."
            raise ConfigError(f"the data of {name!r} is not what the run was requested on.", hint=hint)
        if stored["asked"] != requests_digest(task, opened.styles[name], opened.doc_ids[name]):
            hint = "Only filters, metrics and scorers may change; run it anew."
            raise ConfigError(
                f"the prompts of {name!r} are not what the run was requested with.",
                where=task.config.file_name,
                hint=hint,
            )
    return opened


def load_configs(request: RunRequest, faults: list[tuple[str, ConfigError]] | None = None) -> Loaded:
    """The configs of the tasks that a request names, its overrides laid over them. faults: as in `TaskManager.load`."""
    overrides: dict[str, Any] = {}
    if request.num_fewshot is not None:
        overrides["num_fewshot"] = request.num_fewshot
    if request.gen_kwargs:
        overrides["generation_kwargs"] = one_token_cap(request.gen_kwargs)
    protocol, manager = applied_protocol(request), TaskManager(include_path=request.include_path)
    names = request.tasks or (protocol.benchmarks if protocol else ())
    below = task_overrides(protocol) if protocol else None
    loaded = manager.load(list(names), overrides=overrides or None, faults=faults, below=below)
    for name in request.samples or ():
        if name not in loaded.tasks:
            hint = did_you_mean(name, loaded.tasks)
            raise ConfigError(f"--samples names {name!r}, which is not a task of this run.", hint=hint)
    return loaded


def model_class_of(request: RunRequest) -> type[Model]:
    """The adapter that a request names."""
    return MODELS.get(request.model or DEFAULT_MODEL, where="--model")


def make_model(request: RunRequest) -> Model:
    """The adapter of a request with its arguments checked and no weights loaded."""
    settings = ModelSettings(
        batch_size=request.batch_size,
        device=request.device,
        seed=request.seed,
        chat_template=request.chat_template,
        offline=request.offline,
        on_long_prompt=request.on_long_prompt,
    )
    return on_executor(model_class_of(request).create(request.model_args, settings), request)


def _uses_sample(request: RunRequest) -> bool:
    return request.sample or model_class_of(request).bundled


def _open(
    request: RunRequest,
    loaded: Loaded,
    sample: bool,
    styles_of: Callable[[Mapping[str, TaskConfig]], dict[str, PromptStyle]],
    progress: Callable[[str], None] = lambda phase: None,
    missing: Sequence[NotHereError] = (),
) -> OpenedTasks:
    """Imports the functions of all tasks, builds their scorers and opens their data.

    styles_of: the prompt style of each task, from the resolved configs.
    missing: what else is not on this machine; with `--offline` this and all missing data are one error.
    """
    configs = {name: config.resolved() for name, config in loaded.tasks.items()}
    loaded = replace(loaded, groups={name: group.resolved() for name, group in loaded.groups.items()})
    scorers = {name: scorers_of(config) for name, config in configs.items()}
    raise_all(fault for _, fault in group_faults(loaded, scorers))
    check_files(configs)
    progress("data")
    left_out = without_sample(loaded, request) if sample else set()
    configs = {name: config for name, config in configs.items() if name not in left_out}
    tasks = _load_tasks(request, configs, sample, missing)
    doc_ids = {name: task.select(request.limit, (request.samples or {}).get(name)) for name, task in tasks.items()}
    notes = loaded.notes + ([_left_out_note(loaded, left_out)] if left_out else [])
    notes += [
        f"{name}: the data lacks the column {task.lacking[0]!r} of cluster_key; standard errors go by pictures instead"
        for name, task in tasks.items()
        if task.lacking
    ]
    return OpenedTasks(
        request=request,
        loaded=loaded,
        tasks=tasks,
        styles=styles_of(configs),
        scorers=scorers,
        doc_ids=doc_ids,
        notes=notes + missing_key_notes(request, configs),
    )


def _load_tasks(
    request: RunRequest, configs: Mapping[str, TaskConfig], sample: bool, also_missing: Sequence[NotHereError]
) -> dict[str, Task]:
    source, tasks, missing = _source(request, sample), dict[str, Task](), list(also_missing)
    for name, config in configs.items():
        try:
            tasks[name] = Task.load(config, source, request.seed)
        except NotHereError as error:
            if not request.offline:
                raise
            if error.what not in [known.what for known in missing]:
                missing.append(error)
    if missing:
        raise NotHereError.joined(missing)
    return tasks


def _left_out_note(loaded: Loaded, left_out: set[str]) -> str:
    """Which groups are measured in part, by their outermost names."""
    below = {name: set(loaded.leaves(name)) for name in loaded.roots}
    parts = [
        f"{len(tasks - left_out)} of the {len(tasks)} tasks of {name}"
        for name, tasks in below.items()
        if tasks & left_out
    ]
    return f"the sample data has {', '.join(parts)}; the others are left out"


def without_sample(loaded: Loaded, request: RunRequest) -> set[str]:
    """The members of groups whose subset the bundled sample does not have; a task requested by name is never left out."""
    source = _source(request, sample=True)
    missing = set()
    for name, config in loaded.tasks.items():
        if name in loaded.roots or config.dataset_name is None or config.dataset_path is None:
            continue
        if lacks_sample(DataId.all_of(config.dataset_path, config.dataset_name, config.dataset_mirrors), source):
            missing.add(name)
    return missing if len(missing) < len(loaded.tasks) else set()


def _source(request: RunRequest, sample: bool) -> DataSource:
    if request.data_root is not None and not os.path.isdir(request.data_root):
        raise ConfigError(f"there is no folder {request.data_root!r}.", where="--data_root")
    if request.allow_url_media and request.offline:
        raise ConfigError("--allow_url_media fetches pictures, and --offline forbids it.", where="--offline")
    root = Path(request.data_root) if request.data_root else None
    return DataSource(root, sample, request.offline, request.allow_url_media)
