"""The judges of a run: made from `--judge`, recorded in run.json, described in results.json.

A judge is not part of the spec: another judge in the same folder adds its verdicts beside those of the first.
"""

from __future__ import annotations

import hashlib
import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mm_eval.adapters import in_our_words, model_settings, on_executor
from mm_eval.config.manager import Loaded
from mm_eval.config.task_config import TaskConfig
from mm_eval.config.values import WithSource, to_json
from mm_eval.engine.folder import RunFolder
from mm_eval.engine.journal import read_journal
from mm_eval.engine.model import MODELS, Model, check_generation, close_model, create_model, expect, measured, recall
from mm_eval.engine.own_runs import mark_of
from mm_eval.engine.served import as_recorded
from mm_eval.judge.config import judge_of_task
from mm_eval.judge.prompts import all_questions, judge_instance
from mm_eval.judge.verdicts import first_value
from mm_eval.prompt.task import Task
from mm_eval.request import JudgeRequest, RunRequest, model_arguments
from mm_eval.results.findings import as_command
from mm_eval.values.errors import ConfigError, raise_all
from mm_eval.values.files import digest_of
from mm_eval.values.types import Fields, Instance

log = logging.getLogger(__name__)

EXEMPT = ("replay", "dummy")
"""Adapters that are not tried before a run: a file answers nothing else than what it holds, and a dummy knows nothing."""
FUNCTIONS = ("prompt", "verdict", "total")
"""Keys of a step that name functions."""
RENDERED = 4
"""Docs whose prompts are in the digest of a task's judge."""


@dataclass
class Judge:
    """A judge of a run.

    name: of its metrics, where it is not the first judge, and of its slots. args: --judge_args without `name`.
    described: what its adapter says of it, which decides its replies. preflight: "passed", "skipped" or "exempt".
    untried: tasks on which it could not be tried, because no gold answer is known. constants: of a local one's facts.
    options: {path of a task: the generation_kwargs of each step}, with which the tasks ask it.
    model: None where recorded verdicts are only read.
    """

    name: str
    adapter: str
    args: Mapping[str, object] = field(default_factory=dict)
    described: Mapping[str, object] = field(default_factory=dict)
    preflight: str = "skipped"
    untried: list[str] = field(default_factory=list)
    constants: Mapping[str, object] = field(default_factory=dict)
    options: Mapping[str, Any] = field(default_factory=dict)
    model: Model | None = None

    def to_json(self) -> dict[str, object]:
        """The entry of run.json."""
        return {
            "name": self.name,
            "adapter": self.adapter,
            "args": dict(self.args),
            "described": dict(self.described),
            "preflight": self.preflight,
            "untried": self.untried,
            **({"constants": dict(self.constants)} if self.constants else {}),
            **({"options": dict(self.options)} if self.options else {}),
        }

    @classmethod
    def from_json(cls, stored: Fields) -> Judge:
        """The judge of an entry of run.json, without a model."""
        names = ("name", "adapter", "args", "described", "preflight", "untried", "constants", "options")
        return cls(**{name: stored[name] for name in names if name in stored})

    def is_same(self, other: Judge | None) -> bool:
        """Whether another judge gives the same replies, and no task asks the two with different options."""
        if other is None or not self.is_model_of(other):
            return False
        return not self.asked_otherwise(other)

    def is_model_of(self, other: Judge) -> bool:
        """Whether another judge, that of a later launch, is the same model."""
        now = _as_json(other.described)
        return bool(as_recorded(_as_json(self.described), now) == now)

    def asked_otherwise(self, other: Judge) -> list[str]:
        """The tasks that ask another judge with other options than this one."""
        mine, others = _as_json(self.options), _as_json(other.options)
        return [path for path in mine if path in others and mine[path] != others[path]]

    def recall(self, folder: RunFolder) -> None:
        """Begins with what an earlier launch found out about the judge's endpoint."""
        if self.model is not None:
            recall(self.model, folder.findings(self.endpoint))

    def keep_findings(self, folder: RunFolder) -> None:
        """Writes what was found out about the judge's endpoint into run.json."""
        if self.model is not None and (found := self.model.facts.findings):
            folder.keep_findings(found, self.endpoint)

    @property
    def endpoint(self) -> str:
        """The name of the judge's endpoint in run.json; the model's is "model"."""
        return f"judge {self.name}"

    @property
    def model_name(self) -> str:
        """The model that was asked for."""
        named = (self.args.get(key) for key in ("model", "pretrained", "path"))
        return str(next((value for value in named if value), self.adapter))

    def check_generation(self, configs: Mapping[str, TaskConfig]) -> None:
        """ConfigError if the judge can't generate with a task's generation_kwargs."""
        for config in configs.values():
            judge = judge_of_task(config)
            for step in judge.steps if judge is not None and self.model else ():
                try:
                    check_generation(self.model, step.generation_kwargs)  # type: ignore[arg-type]
                except ConfigError as error:
                    raise ConfigError(
                        f"the judge: {error.what}", where=config.where("judge"), hint=error.hint
                    ) from error


def judges_of(request: RunRequest) -> list[tuple[str, dict[str, object]]]:
    """(adapter, arguments) of each judge that a request names. ConfigError where the two options do not fit together."""
    adapters, given = request.judge.models, request.judge.args
    if request.judge.left_out and adapters:
        raise ConfigError("--judge and --no_judge can't be combined.", hint="Give one or the other.")
    if len(given) > len(adapters) or len(adapters) > 1 and len(given) < len(adapters):
        what = f"there are {len(adapters)} --judge and {len(given)} --judge_args."
        raise ConfigError(what, where="--judge_args", hint="Each --judge has its own --judge_args, in the same order.")
    arguments = [dict(model_arguments(args)) for args in given] or [{} for _ in adapters]
    return list(zip(adapters, arguments, strict=True))


def judged_configs(configs: Mapping[str, TaskConfig]) -> dict[str, TaskConfig]:
    """The tasks that have a judge."""
    return {name: config for name, config in configs.items() if judge_of_task(config) is not None}


def names_by_rule(loaded: Loaded) -> list[str]:
    """What was requested without the tasks that need a judge: of a group that has some, its other members."""
    judged = judged_configs(loaded.tasks)

    def without(name: str) -> Iterator[str]:
        if judged.keys().isdisjoint(loaded.leaves(name)):
            yield name
            return
        for member in loaded.group_map.get(name, ()):
            yield from without(member)

    return list(dict.fromkeys(name for root in loaded.roots for name in without(root)))


def check_stated(
    request: RunRequest,
    configs: Mapping[str, TaskConfig],
    recorded: Sequence[object] = (),
    by_rule: Sequence[str] = (),
) -> None:
    """ConfigError if a task needs a judge and the request names none and does not do without.

    recorded: the judges of the run folder. by_rule: the requested names that need no judge, whose command the error says.
    """
    judged = judged_configs(configs)
    if judged and not (judges_of(request) or request.judge.left_out or request.predict_only or recorded):
        names = ", ".join(list(judged)[:5]) + (" ..." if len(judged) > 5 else "")
        first, config = next(iter(judged.items()))
        official = judge.official if (judge := judge_of_task(config)) is not None else ""
        whose = f" The judge that {first}'s authors used is {official}." if official else ""
        example = (
            f"--judge openai --judge_args base_url=https://api.openai.com/v1,model={official or 'gpt-4o-2024-11-20'}"
        )
        without = f" Those by rule alone: `{as_command(replace(request, tasks=tuple(by_rule)))}`." if by_rule else ""
        raise ConfigError(
            f"the answers to {names} are scored by a judge model, and none is given.",
            where="--judge",
            hint=f"Name one, as in `{example}` (`hf` and `vllm` work too), or give --no_judge to leave its scores out.{whose} "
            f"`mm-eval show {first} --judge` prints what it is asked.{without}",
        )


def for_scoring(request: RunRequest, judge: JudgeRequest | None) -> RunRequest:
    """The recorded request with the judges of `mm-eval score`: the run's own are not asked again unless they are named."""
    own = judge or replace(request.judge, models=(), args=(), left_out=False)
    if request.judge.left_out and not own.models:
        own = replace(own, left_out=True)
    return replace(request, judge=own, predict_only=False)


def make_judges(request: RunRequest) -> list[Judge]:
    """The judges of a request, their arguments checked and no weights loaded.

    Errors: ConfigError for an unknown adapter, a wrong argument, or two judges of one name.
    """
    # A judge that saw half a prompt has judged something else.
    settings = replace(model_settings(request), chat_template=None, on_long_prompt="fail")
    found: list[Judge] = []
    recorded = (RunFolder(Path(request.output_path)).read("run.json") or {}) if request.output_path else {}
    known = {entry["name"]: entry.get("constants", {}) for entry in recorded.get("judges", ())}
    for adapter, given in judges_of(request):
        args = dict(given)
        stated = args.pop("name", None)
        try:
            asked, notes = in_our_words(RunRequest(tasks=(), model=adapter, model_args=args))
            for note in notes:
                log.warning("the judge: %s", note)
            adapter, args = asked.model or adapter, dict(asked.model_args)
            made = create_model(MODELS.get(adapter, where="--judge"), args, settings)
            model = on_executor(made, request) if made.facts.local else made
        except ConfigError as error:
            where, what, hint = (
                re.sub(r"--model(?=\b|_args)", "--judge", text) for text in (error.where, error.what, error.hint)
            )
            raise type(error)(f"the judge: {what}" if "judge" not in what else what, where=where, hint=hint) from error
        name = name_of(stated, adapter, args)
        expect(model, known.get(name, {}))
        described = dict(model.describe())
        judge = Judge(name, adapter, args, described, constants=dict(measured(model).constants), model=model)
        if model is not made:
            close_model(model)  # the worker that was started to describe it
        judge.preflight = "exempt" if adapter in EXEMPT else "skipped"
        if judge.name in [other.name for other in found]:
            hint = f"Give one of them another name: --judge_args name={judge.name}-2,..."
            raise ConfigError(f"two judges are called {judge.name!r}.", where="--judge", hint=hint)
        found.append(judge)
    return found


def name_of(stated: object, adapter: str, args: Mapping[str, object]) -> str:
    """A judge's name: the one stated, else the last part of what is loaded or asked for.

    >>> name_of(None, "openai", {"model": "Qwen/Qwen2.5-VL-7B-Instruct"})
    'Qwen2.5-VL-7B-Instruct'
    """
    if stated is None:
        named = next((args[key] for key in ("model", "pretrained", "path") if args.get(key)), adapter)
        stated = Path(str(named)).name or adapter
    name = re.sub(r"[^\w.+-]+", "-", str(stated)).strip("-")
    if not name or name.endswith("_stderr"):
        raise ConfigError(f"{stated!r} can't be a judge's name.", where="--judge_args", hint="name=gpt-4o")
    return name


def joined_judges(folder: RunFolder, judges: Sequence[Judge], tasks: Mapping[str, Task]) -> list[Judge]:
    """The judges of run.json and these, in their order; those of this launch with their models.

    A recorded judge without a reply in the journal is replaced by the one that is named now: its name or its server may have
    been a mistake.
    Errors: ConfigError if the folder has verdicts of another judge of the same name, or under other options of the task.
    """
    known = [Judge.from_json(entry) for entry in (folder.read("run.json") or {}).get("judges", ())]
    judged = {name: task for name, task in tasks.items() if judge_of_task(task.config) is not None}
    for judge in judges:
        judge.options = {task.path: options_of(task) for task in judged.values()}
    own, faults = {judge.name: judge for judge in judges}, []
    changed = [judge for judge in known if judges and not judge.is_same(own.get(judge.name))]
    heard = judges_heard(folder) if changed else set()
    known = [judge for judge in known if judge not in changed or judge.name in heard]
    for judge in known:
        if judge.name in own and not judge.is_same(own[judge.name]):
            otherwise = judge.asked_otherwise(own[judge.name])
            what = f"the folder has verdicts of another judge called {judge.name!r}."
            if otherwise:
                what = f"{', '.join(otherwise)} asked the judge {judge.name!r} with other generation_kwargs before."
            hint = f"Give this one another name: --judge_args name={judge.name}-2,..."
            faults.append(ConfigError(what, where=str(folder.path), hint=hint))
    raise_all(faults)
    names = [judge.name for judge in known]
    return [own.get(judge.name, judge) for judge in known] + [judge for judge in judges if judge.name not in names]


def record_judges(folder: RunFolder, judges: Sequence[Judge]) -> None:
    """Writes all judges of a run folder into run.json, after they were tried. One that has passed stays so."""
    run = folder.read("run.json") or {}
    before = {entry["name"]: entry for entry in run.get("judges", ())}
    for judge in judges:
        known = before.get(judge.name)
        if known and judge.preflight == "skipped" and judge.is_same(Judge.from_json(known)):
            judge.preflight, judge.untried = known["preflight"], list(known.get("untried", ()))
    entries = [{**judge.to_json(), **_mark_of(judge, before.get(judge.name, {}))} for judge in judges]
    if entries != run.get("judges", []):
        folder.write("run.json", json.dumps({**run, "judges": entries}, indent=2, ensure_ascii=False))


def named_by(entry: Mapping[str, object]) -> dict[str, object]:
    """What an entry of run.json names of a judge: what would be asked or loaded."""
    return {"judge": entry.get("adapter"), "args": entry.get("args") or {}}


def _mark_of(judge: Judge, known: Mapping[str, Any]) -> dict[str, str]:
    """The user's mark under a judge that this launch names; a recorded judge keeps the one that it has."""
    mark = known.get("mark") if judge.model is None else mark_of(named_by(judge.to_json()))
    return {"mark": mark} if mark else {}


def _as_json(value: Mapping[str, object]) -> Any:
    """As run.json gives it back: tuples are lists."""
    return json.loads(json.dumps(value))


def judges_heard(folder: RunFolder) -> set[str]:
    """The names of the judges that have a reply in the journal."""
    slots = read_journal(folder.path).slots
    return {slot.judge for slot, answer in slots.items() if answer.error is None}


def prompts_digest(task: Task) -> str:
    """A digest of the judge's prompts for the first docs, under made-up answers, and of the files of the task's functions.

    The prompts cover the data; the files cover what the functions write and read for all other docs.
    """
    digest = hashlib.sha256(digest_of(to_json(_functions(task.config), WithSource())).encode())
    for instance in _first_questions(task):
        said = instance.metadata.get("prompt", str(instance.error))
        digest.update(json.dumps(said, sort_keys=True).encode("utf-8", "surrogatepass"))
    return digest.hexdigest()[:16]


def _functions(config: TaskConfig) -> list[object]:
    """The functions that write the judge's prompts and read its replies, as the task's file names them."""
    stated = config.source.get("judge")
    if stated is None:
        return [config.source.get("process_results")]
    return [
        step[key] for step in (stated if isinstance(stated, list) else [stated]) for key in FUNCTIONS if key in step
    ]


def _first_questions(task: Task) -> Iterator[Instance]:
    judge, doc_ids = judge_of_task(task.config), list(range(min(RENDERED, len(task.docs))))
    assert judge is not None
    if judge.by_code:
        from mm_eval.judge.code import first_questions

        yield from first_questions(task, doc_ids)
        return
    for doc_id, doc in task.docs.texts(doc_ids):
        if judge.total is not None:
            yield from all_questions(task, "", doc_id, doc, "answer", first_value(judge.steps[0]), asked=False)
            continue
        for number in range(len(judge.steps)):
            answer = "answer" if number == 0 else first_value(judge.steps[number - 1])
            yield judge_instance(task, "", number, doc_id, doc, answer, asked=False)


def options_of(task: Task) -> list[dict[str, object]]:
    """The generation_kwargs with which a task asks its judge, for each step; of its code's first question if it asks by code."""
    config = judge_of_task(task.config)
    assert config is not None
    if config.by_code and (first := next(_first_questions(task), None)) is not None:
        return [dict(first.generation_kwargs)]
    return [dict(step.generation_kwargs) for step in config.steps]


def identity_of(judge: Judge, task: Task, models: Mapping[str, int]) -> dict[str, object]:
    """The entry of results.json for a judge and a task: all that its number depends on. models: replies by returned name."""
    config = judge_of_task(task.config)
    assert config is not None
    args = {key: value for key, value in judge.args.items() if key not in ("model", "pretrained", "path")}
    official = config.official
    if config.by_code and (first := next(_first_questions(task), None)) is not None:
        official = str(first.metadata.get("model", ""))
    return {
        "name": judge.name,
        "adapter": judge.adapter,
        "model": judge.model_name,
        "models": dict(sorted(models.items())),
        "prompt_digest": prompts_digest(task),
        "options": {"args": args, "generation_kwargs": judge.options.get(task.path) or options_of(task)},
        "official": official or None,
        "repeats": config.repeats,
        "preflight": "skipped" if task.path in judge.untried else judge.preflight,
    }
