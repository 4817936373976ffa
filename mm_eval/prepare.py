"""RunRequest -> Prepared: every name resolved, every function imported, every split open, the model described.

Whatever can be wrong before the first request is checked here. A ConfigError from here means that nothing was requested.
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from mm_eval.adapters import in_our_words, make_model, own_model, uses_sample
from mm_eval.config.manager import Loaded, TaskManager
from mm_eval.config.task_config import ASKS_NOTHING, TaskConfig
from mm_eval.engine.cache import KnownAnswers
from mm_eval.engine.folder import FILES, PICTURES, entry_of, findings_of
from mm_eval.engine.generation import check_caps, one_token_cap
from mm_eval.engine.journal import JournalState
from mm_eval.engine.model import (
    Model,
    ModelFacts,
    RequestKeys,
    check,
    check_generation,
    deaf,
    described,
    dollars,
    expect,
    measured,
    recall,
)
from mm_eval.engine.own_runs import is_own
from mm_eval.engine.prices import unknown_price
from mm_eval.open_run import OpenedRun
from mm_eval.open_tasks import OpenedTasks, missing_key_notes, open_tasks, prompt_blocks
from mm_eval.prompt.blind import SHUFFLED
from mm_eval.prompt.blocks import PromptBlock, check_pixel_limits, choose_block, pixel_notes
from mm_eval.prompt.task import PromptStyle, Task
from mm_eval.request import DEFAULT_MODEL, RunRequest
from mm_eval.scoring.base import Scorer
from mm_eval.values.conversation import Turns
from mm_eval.values.errors import ConfigError, MMEvalError, NotHereError, check_all, did_you_mean
from mm_eval.values.reasoning.families import marks_of
from mm_eval.values.types import Fields
from mm_eval.values.words import counted, listed

if TYPE_CHECKING:
    from mm_eval.deciding.deciding import Deciding
    from mm_eval.imported.theirs import Theirs
    from mm_eval.judge.judging import Judging
    from mm_eval.protocols.protocol import Protocol
    from mm_eval.sandbox.walls import Sandbox
    from mm_eval.submissions.submissions import Submissions
    from mm_eval.trackers.tracking import Tracking

log = logging.getLogger(__name__)

FIRST_DOCS = 20
"""Docs of each task that a model may look at before the first request."""


@dataclass(kw_only=True)
class Prepared(OpenedRun):
    """A run that is ready to begin: opened tasks and a model, whose weights are not loaded yet.

    answers_of_other_runs: makes the answers that are taken over. given: the model is the caller's, who closes it.
    deciding: the run stops when it is decided (`--stop_when`, `--until_interval`).
    sandbox: where code of the model is run; None where no task offers the tool.
    repeats_apart: a question is asked again only after all others have been asked, so that no batch answers it twice.
    """

    model: Model
    given: bool = False
    answers_of_other_runs: Callable[[Model], KnownAnswers] | None = None
    deciding: Deciding | None = None
    sandbox: Sandbox | None = None
    repeats_apart: bool = False

    def spec(self) -> dict[str, object]:
        """What decides the answers, for run.json: two launches with equal specs are one run."""
        style = next(iter(self.styles.values()))
        return {
            "model": described(self.model),
            "seed": self.request.seed,
            "chat": style.chat,
            "system": style.system,
            **({"on_long_prompt": "fail"} if self.request.on_long_prompt == "fail" else {}),
            **({"blind": style.blind} if style.blind else {}),
            **({"sandbox": self.sandbox.to_json()} if self.sandbox else {}),
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
                    **({"turns": self._turns_to_json(turns)} if (turns := self.styles[name].turns) else {}),
                }
                for name, task in self.tasks.items()
            },
        }

    def spec_of_part(self, counts: Mapping[str, int]) -> dict[str, object]:
        """The spec of the same run with these tasks alone, each with its first so many docs."""
        tasks = {name: task for name, task in self.tasks.items() if name in counts}
        runs_code = needs_sandbox(task.config for task in tasks.values())
        part = replace(
            self,
            tasks=tasks,
            doc_ids={name: self.doc_ids[name][: counts[name]] for name in tasks},
            sandbox=self.sandbox if runs_code else None,
        )
        return part.spec()

    def all_stored(self, names: Collection[str]) -> list[str]:
        """Those of some tasks whose pictures all go to the model as they are stored. Reads the pictures, and decodes none."""
        if not measured(self.model).sends_files:
            return []
        return [name for name in names if self.tasks[name].all_stored(self.doc_ids[name], self.styles[name])]

    def identify_by_files(self, recorded: Mapping[str, object]) -> None:
        """Has the pictures identified as run.json states it for each task: a run goes on as it was begun."""
        sends = measured(self.model).sends_files
        self.styles = {
            name: replace(style, sends_files=sends, by_files=recorded.get(name) == FILES)
            for name, style in self.styles.items()
        }

    def _turns_to_json(self, turns: Turns) -> dict[str, object]:
        """What the turns of a task are made of beside it, for run.json. What is said next goes by answers without reasoning."""
        tags = self.request.reasoning_tags
        return {**turns.to_json(), **({"reasoning_tags": tags} if tags is not None else {})}

    def check_generation(self) -> None:
        """ConfigError if the model can't generate with a task's generation_kwargs."""
        for task in self.tasks.values():
            if task.config.output_type == "generate_until":
                try:
                    check_generation(self.model, task.config.generation_kwargs)
                except ConfigError as error:
                    where = "--gen_kwargs" if self.request.gen_kwargs else task.config.where("generation_kwargs")
                    raise ConfigError(error.what, where=where, hint=error.hint) from error
        check_all(partial(self._check_requests, name) for name in self.tasks)

    def _check_requests(self, name: str) -> None:
        """ConfigError if the model can't answer a task, so that the others are not half run before that is found."""
        task, style, doc_ids = self.tasks[name], self.styles[name], self.doc_ids[name][:FIRST_DOCS]
        try:
            listens = not self.model.facts.hears and task.may_have_sound(style)
            if listens and any(instance.heard for instance in task.instances(doc_ids, style)):
                raise deaf(self.model)
            check(
                self.model,
                self.first_requests(name),
                task.instances(doc_ids, style),
            )
        except ConfigError as error:
            where = error.where or f"the task {name}"
            raise ConfigError(error.what, where=where, hint=error.hint) from error

    def asked_with(self, prompt_key: str | None, frames: str | None, output_path: str) -> Prepared:
        """The same tasks, docs and model under another prompt block or rule of frames, recorded in another folder."""
        request = self.request.asked_with(prompt_key, frames, output_path)
        styles = choose_styles(request, self.configs, self.model, next(iter(self.styles.values())).chat)
        again = replace(
            self, request=request, styles=styles, notes=self.notes + missing_key_notes(request, self.configs)
        )
        again.check_first_docs()
        return again


def prepare(
    request: RunRequest, progress: Callable[[str], None] = lambda phase: None, given: Model | None = None
) -> Prepared:
    """Loads tasks, data and the model's description; loads no weights and requests nothing. given: the model, if there is one."""
    request, said = in_our_words(request)
    try:
        check_caps(request.gen_kwargs)
    except ConfigError as error:
        raise ConfigError(error.what, where="--gen_kwargs", hint=error.hint) from error
    loaded = load_configs(request)  # names first: a typo is reported at once
    if request.protocol.name is not None:  # its settings, where no option states another
        from mm_eval.protocols.run_under import fill_in

        filled = fill_in(request, loaded, uses_sample(request))
        if filled != request:
            request, loaded = filled, load_configs(filled)
    imported = imported_of(request)
    judging = judging_of(request, loaded)  # a judged task needs --judge
    deciding = _deciding_of(request)
    submissions = submissions_of(loaded)
    tracking = tracking_of(request)  # packages and arguments, before a GPU hour
    try:
        model = make_model(request) if given is None else given
    except NotHereError as error:
        if request.offline:  # everything that is not on this machine is reported at once
            open_tasks(request, loaded, uses_sample(request), lambda configs: {}, check_scorers, progress, [error])
        raise
    if request.budget is not None and dollars(model, {}) is None:
        raise unknown_price("the model", "--budget", "--model_args")
    chat = model.facts.chat if request.chat_template is None else bool(request.chat_template)
    sample = uses_sample(request)
    opened = open_tasks(
        request, loaded, sample, lambda configs: choose_styles(request, configs, model, chat), check_scorers, progress
    )
    check_pixel_limits({name: style.block for name, style in opened.styles.items()}, request.model_args)
    plan = Prepared(
        **vars(opened),
        model=model,
        given=given is not None,
        judging=judging,
        imported=imported,
        deciding=deciding,
        submissions=submissions,
        tracking=tracking,
    )
    plan.check_first_docs()
    plan.sandbox = sandbox_of_run(request, opened.configs)
    running = [name for name, style in plan.styles.items() if style.turns and not (style.chat or style.turns.fresh)]
    plan.notes += [f"the turns of {name} are running text, without a chat template" for name in running]
    plan.notes += [*said, *_check_parts(plan), *_notes_on_request(plan)]
    return plan


def _check_parts(plan: Prepared) -> list[str]:
    """Checks what not every run has, once its tasks are open. Returns what a reader should know of it, in this order.

    What is said after the answers has its order in `write_run.notes_of`.

    Errors: ConfigError where the tasks can't be asked, judged or stopped so.
    """
    request, configs, notes = plan.request, plan.configs.values(), list[str]()
    if plan.judging:
        plan.judging.check_generation(plan)
    if request.protocol.name is not None:
        from mm_eval.protocols.family import prompt_notes
        from mm_eval.protocols.verdicts import differing_notes

        notes += differing_notes(plan)
        notes += prompt_notes(plan)
    elif request.protocol.settings or request.name or request.model_args:  # reports are found by the model's name, too
        from mm_eval.protocols.family import cap_notes

        notes += cap_notes(plan)
    if plan.deciding:
        notes += plan.deciding.draw(plan)
    if plan.submissions:
        plan.submissions.check(plan)
    if any(config.tools is not None for config in configs):
        from mm_eval.tools.counting import check_tools

        notes += check_tools(plan)
    if any(config.rounds is not None for config in configs):
        check_rounds(plan)
    if not request.sample and any(each.is_shipped or each.output_type == "generate_until" for each in configs):
        from mm_eval.gold_checks.first_rows import first_rows

        notes += first_rows(plan)
    return notes


def check_rounds(opened: OpenedTasks) -> None:
    """ConfigError where a task's function of rounds, which gets the doc with its own pictures, would show them."""
    for config in opened.configs.values():
        if opened.request.blind == SHUFFLED and config.rounds is not None:
            what = "`rounds` gets the document's own pictures and sounds, so others can't stand in for them."
            raise ConfigError(what, where=config.where("rounds"), hint="Use --blind alone.")


def needs_sandbox(configs: Iterable[TaskConfig]) -> bool:
    """Whether a task offers a tool that runs code of the model."""
    return any(config.tools is not None and config.tools.runs_code for config in configs)


def sandbox_of_run(request: RunRequest, configs: Mapping[str, TaskConfig]) -> Sandbox | None:
    """Where code of the model is run; None where no task offers it. ConfigError where it can't be had."""
    if not needs_sandbox(configs.values()):
        return None
    from mm_eval.sandbox.limits import Limits
    from mm_eval.sandbox.walls import sandbox_of

    limits = Limits.of_options(request.tools.limits or {})
    return sandbox_of(request.tools.sandbox, limits, offline=request.offline, say=log.warning)


def is_imported(request: RunRequest) -> bool:
    """Whether the run folder holds what was imported from another suite."""
    return bool(request.output_path) and os.path.isdir(f"{request.output_path}/imported")


def imported_of(request: RunRequest) -> Theirs | None:
    """What another suite says of the logs in the run folder; None where nothing was imported into it."""
    if not is_imported(request):
        return None
    from mm_eval.imported.theirs import Theirs

    return Theirs.of(request)


def judging_of(request: RunRequest, loaded: Loaded) -> Judging | None:
    """The judges of a new run; None where no task is judged. loaded: takes notes.

    Errors: ConfigError where a task needs a judge that is not named, or one that is named has wrong arguments.
    """
    named = request.judge.models or request.judge.args
    if not named and not any(config.is_judged for config in loaded.tasks.values()):
        return None
    from mm_eval.judge.judging import Judging

    return Judging.of(request, loaded)


def _deciding_of(request: RunRequest) -> Deciding | None:
    """How a run stops before all docs are asked; None for one that does not. ConfigError where it can't be stopped so."""
    if not request.deciding.stop_when and not request.deciding.until_interval and not request.deciding.gate:
        return None
    from mm_eval.deciding.deciding import Deciding

    return Deciding.of(request)


def submissions_of(loaded: Loaded) -> Submissions | None:
    """The files for the servers of benchmarks; None where no task has one. ConfigError where two tasks write one file."""
    if not any(config.submission is not None for config in loaded.tasks.values()):
        return None
    from mm_eval.submissions.submissions import Submissions

    return Submissions.of(loaded)


def tracking_of(request: RunRequest) -> Tracking | None:
    """The trackers that get the numbers; None without any. ConfigError for a missing package or a wrong argument."""
    if request.trackers.wandb is None and request.trackers.mlflow is None and request.trackers.trackio is None:
        return None
    from mm_eval.trackers.tracking import Tracking

    return Tracking.of(request)


def check_scorers(config: TaskConfig, scorers: Sequence[Scorer]) -> None:
    """ConfigError if a task's judge does not go with its scorers."""
    if config.judge is not None:
        from mm_eval.judge.scoring import check_judge_metrics

        check_judge_metrics(config, scorers)


def _notes_on_request(plan: Prepared) -> Iterator[str]:
    """What a reader of the table should know of what was requested, and what was not."""
    request = plan.request
    own = [name for name, config in plan.configs.items() if config.process_results is not None]
    if (request.repeats or 1) > 1 and own:
        what = f"process_results of {listed(own, 3)} gets the {request.repeats} answers of a document as a list"
        yield f"{what}; one that reads results[0] scores the first"
    if (request.repeats or 1) > 1:
        from mm_eval.imported.repeats import keeps_the_first

        asked = {name: config for name, config in plan.configs.items() if config.times_asked > 1 and name not in own}
        if kept := [name for name, config in asked.items() if keeps_the_first(config)]:
            yield f"{listed(kept, 3)}: the filter take_first keeps the first of the {request.repeats} answers to a document"
    facts = plan.model.facts
    yield from pixel_notes(
        {name: style.block for name, style in plan.styles.items()}, facts.fits if facts.tries_first else {}
    )
    if once := [name for name, config in plan.configs.items() if config.repeats > config.times_asked]:
        yield f"{listed(once, 3)}: a log-likelihood does not vary, so `repeats` requests it once"
    if request.model is None:
        data = " on bundled sample data" if plan.sampled else ""
        yield f"no --model was given: this is the bundled {DEFAULT_MODEL}{data}"


def prepare_without_model(request: RunRequest, only: str, loaded: Loaded | None = None) -> OpenedTasks:
    """One task of a request, to be checked without a model. loaded: the configs of the request, where they are loaded already."""
    loaded = loaded or load_configs(request)
    one = Loaded({only: loaded.tasks[only]}, roots=loaded.roots)
    opened = open_tasks(
        request, one, request.sample, lambda configs: choose_styles(request, configs, None, False), check_scorers
    )
    opened.check_first_docs()
    return opened


def prepare_from_spec(
    request: RunRequest,
    spec: Mapping[str, Any],
    other_data: list[str] | None = None,
    without_judges: bool = False,
) -> OpenedRun:
    """The tasks of a recorded run under the recorded prompts, to be scored.

    other_data: gets the tasks whose data is another one by now, instead of an error; see `check_same_questions`.
    without_judges: the verdicts of the run are left out.
    Errors: ConfigError if data or prompts are not those of the run. A changed metric is allowed: scoring again is for that.
    """

    def recorded(configs: Mapping[str, TaskConfig]) -> dict[str, PromptStyle]:
        return {
            name: PromptStyle(
                PromptBlock.recorded(configs[name], stored["prompt"]),
                spec["chat"],
                spec["system"],
                stored["multiturn"],
                spec.get("blind"),
                turns_of(configs[name], ModelFacts(), stored.get("turns") or {}),
                marks_of((stored.get("turns") or {}).get("reasoning_tags")),
            )
            for name, stored in spec["tasks"].items()
            if name in configs
        }

    loaded = load_configs(request)
    _refuse_earlier_versions(loaded.tasks, spec)
    opened = open_tasks(request, loaded, uses_sample(request), recorded, check_scorers)
    run = OpenedRun(
        **vars(opened),
        judging=_recorded_judging(request, opened.loaded, without_judges),
        imported=imported_of(request),
        submissions=submissions_of(opened.loaded),
        tracking=tracking_of(request),
    )
    for name, task in opened.tasks.items():
        stored = spec["tasks"].get(name)
        if stored is None or (stored["data"], stored.get("examples")) != (
            task.docs.fingerprint,
            task.examples_fingerprint,
        ):
            if stored is None or other_data is None:
                raise _of_other_data(name)
            if stored["docs"] != docs_digest(opened.doc_ids[name]):
                raise _of_other_data(name, "It has other documents.")
            other_data.append(name)
        if stored["asked"] != requests_digest(task, opened.styles[name], opened.doc_ids[name]):
            if other_data and name in other_data:
                continue  # a doc may have failed for its gold answer; `check_same_questions` compares those that were asked
            hint = "Only filters, metrics and scorers may change; run it again."
            raise ConfigError(
                f"the prompts of {name!r} are not what the run was requested with.",
                where=task.config.file_name,
                hint=hint,
            )
    return run


def _recorded_judging(request: RunRequest, loaded: Loaded, left_out: bool) -> Judging | None:
    """The judges of a recorded run, those of its folder and those that are named now; None where no task is judged."""
    if not any(config.is_judged for config in loaded.tasks.values()):
        return None
    from mm_eval.judge.judging import Judging

    return Judging.of_recorded(request, loaded, left_out)


def _refuse_earlier_versions(tasks: Mapping[str, TaskConfig], spec: Mapping[str, Any]) -> None:
    """ConfigError if a task was recorded as an earlier version of its benchmark that is a task of its own by now.

    `metadata: {earlier: {"1.0": NAME}}` names that task.
    """
    for name, stored in spec["tasks"].items():
        version = ((stored["config"].get("stated") or {}).get("metadata") or {}).get("version")
        if name in tasks and (now := (tasks[name].metadata.get("earlier") or {}).get(str(version))):
            hint = f'Replay samples/{name}.jsonl with "task": "{now}" in its rows (--tasks {now} --model replay), or run {now}.'
            raise ConfigError(
                f"the run is of version {version} of {name!r}, which is the task {now!r} now; "
                f"{name!r} is version {tasks[name].version}.",
                hint=hint,
            )


def _of_other_data(name: str, why: str = "") -> ConfigError:
    hint = (
        "A run can be scored on its own data, or where no question has changed since, as after a corrected gold answer."
    )
    return ConfigError(f"the data of {name!r} is not what the run was requested on.", hint=f"{why} {hint}".strip())


def check_same_questions(opened: OpenedTasks, names: Sequence[str], recorded: Fields, state: JournalState) -> None:
    """Raises ConfigError unless every recorded answer of some tasks is one to the question that their data gives now.

    The request key of an answer in the journal is a digest of all that was sent. It is computed again for each doc, pictures
    included, with the adapter of the run, whose weights are not loaded. recorded: the run.json.
    """
    if not is_own({"request": recorded["request"]}, recorded.get("mark")):  # a stranger's folder makes no model here
        raise _of_other_data(names[0], "Its questions can be compared by whoever made the run.")
    try:
        model = own_model(opened.request)
        expect(model, entry_of(recorded, "constants"))
        recall(model, findings_of(recorded))
        same = json.loads(json.dumps(described(model))) == recorded["spec"]["model"]
    except MMEvalError as error:
        raise _of_other_data(names[0], f"Its questions can't be compared without the model: {error}") from error
    if not same:
        raise _of_other_data(names[0], "Its questions can't be compared: the model is another one since the run.")
    keys = RequestKeys(model)
    for name in names:
        by_files = entry_of(recorded, PICTURES).get(name) == FILES
        task, style = opened.tasks[name], replace(opened.styles[name], by_files=by_files)
        if style.turns or any(slot.judge and slot.task == task.path for slot in state.slots):
            said = "questions that follow an answer, such as those of a judge, may hold what has changed"
            raise _of_other_data(name, f"In this task, {said}.")
        compared = 0
        for instance in task.instances(opened.doc_ids[name], style):
            answer = state.slots.get(instance.slot)
            if answer is None or answer.error is not None and not answer.key:
                continue  # it was not asked
            if not answer.key:
                if recorded["spec"]["tasks"][name]["asked"] != requests_digest(task, style, opened.doc_ids[name]):
                    raise _of_other_data(name, "Its questions are other ones.")
                continue
            if instance.error is not None or answer.key != keys.of(instance):
                raise _of_other_data(name, f"The question of doc {instance.doc_id} is another one.")
            compared += 1
        opened.notes.append(
            f"the data of {name} has changed since the run, and none of its {counted(compared, 'question')}: "
            "the answers are scored by the data as it is now"
        )


def choose_styles(
    request: RunRequest, configs: Mapping[str, TaskConfig], model: Model | None, chat: bool
) -> dict[str, PromptStyle]:
    """The prompt style of each task: the block of the model, or of `--prompt_key`. ConfigError for a key that no task has.

    model: None if there is none, so that `default` is used.
    """
    blocks, key = prompt_blocks(request, configs), request.prompt_key
    known = {"default"}.union(*blocks.values())
    if key and key not in known:
        hint = did_you_mean(key, known)
        raise ConfigError(f"no task of this run has the prompt key {key!r}.", where="--prompt_key", hint=hint)
    system, multiturn, marks = (
        request.system_instruction,
        request.fewshot_as_multiturn,
        marks_of(request.reasoning_tags),
    )
    facts = model.facts if model else ModelFacts()
    keys, of_model = facts.prompt_keys, (facts.frames_rule, facts.frames_as)
    protocol = protocol_of(request)

    def block(name: str) -> PromptBlock:
        return replace(shown(name), video_sound=facts.hears_videos and shows_videos(name))

    def shows_videos(name: str) -> bool:
        return configs[name].shows_media or configs[name].doc_to_messages is not None

    def shown(name: str) -> PromptBlock:
        rule = (
            of_model if shows_videos(name) else ("", "pictures")
        )  # the folder of a text task is the same for every family
        frames = request.video
        if protocol is not None:
            from mm_eval.protocols.run_under import protocol_block, protocol_frames

            if not key and (own := protocol_block(protocol, configs[name], frames, rule)) is not None:
                return own
            frames = frames or protocol_frames(protocol, configs[name])
        return choose_block(configs[name], keys, key, blocks[name], frames, rule)

    return {
        name: PromptStyle(block(name), chat, system, multiturn, request.blind, turns_of(configs[name], facts), marks)
        for name in blocks
    }


def turns_of(config: TaskConfig, facts: ModelFacts, recorded: Mapping[str, object] | None = None) -> Turns | None:
    """What makes the further turns of a task; None for a task of one turn.

    recorded: what the turns of a recorded run were made of, in place of the facts of its model.
    """
    if not config.has_turns:
        return None
    from mm_eval.rounds.agentic import AgenticRounds
    from mm_eval.rounds.lmms_eval import LmmsEvalRounds
    from mm_eval.rounds.rounds import Rounds
    from mm_eval.tools.turns import ToolTurns

    found: list[Turns] = []
    for kind in (ToolTurns, Rounds, LmmsEvalRounds, AgenticRounds):
        turns = kind.of_task(config, facts) if recorded is None else kind.recorded(config, recorded)
        found += [turns] if turns is not None else []
    if len(found) > 1:
        raise ConfigError(f"two keys of {config.name!r} make its turns.", where=config.where("task"), hint="State one.")
    return found[0] if found else None


def requests_digest(task: Task, style: PromptStyle, doc_ids: Sequence[int]) -> str:
    """A digest of the requests of the first 32 docs, pictures left out: it differs when a task's prompts have changed."""
    requests = [
        [i.request_type, i.context, i.continuation, dict(i.generation_kwargs), i.repeat]
        for of_doc in task.requests(doc_ids[:32], style, lambda doc_id: None)
        for i in of_doc
    ]
    text = json.dumps(requests, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def docs_digest(doc_ids: Sequence[int]) -> dict[str, object]:
    """Which docs are requested, in short."""
    text = json.dumps(doc_ids, separators=(",", ":"))
    return {"count": len(doc_ids), "first": doc_ids[0], "sha256": hashlib.sha256(text.encode()).hexdigest()[:16]}


def protocol_of(request: RunRequest) -> Protocol | None:
    """The protocol that a run is asked under, with the settings that the request leaves to it; None without --protocol."""
    if request.protocol.name is None:
        return None
    from mm_eval.protocols.run_under import applied_protocol

    return applied_protocol(request)


def names_tasks(request: RunRequest) -> bool:
    """Whether a request names tasks, or its protocol does."""
    return bool(request.tasks) or bool((protocol := protocol_of(request)) and protocol.benchmarks)


CHECKPOINT = ("pretrained", "model", "tokenizer")
"""Model arguments that go along with `metadata`, as in lm-eval: tasks that make docs of a length count with the tokenizer."""


def load_configs(
    request: RunRequest,
    faults: list[tuple[str, ConfigError]] | None = None,
    below: Mapping[str, Mapping[str, object]] | None = None,
) -> Loaded:
    """The configs of the tasks that a request names, with its overrides applied. faults, below: as in `TaskManager.load`."""
    overrides: dict[str, object] = {}
    if request.num_fewshot is not None:
        overrides["num_fewshot"] = request.num_fewshot
    if request.repeats is not None:
        overrides["repeats"] = request.repeats
    if request.gen_kwargs:
        overrides["generation_kwargs"] = one_token_cap(request.gen_kwargs)
    if request.metadata is not None:
        checkpoint = {key: request.model_args[key] for key in CHECKPOINT if key in request.model_args}
        overrides["metadata"] = {**checkpoint, **request.metadata}
    names: list[str | Mapping[str, object]] = list(request.tasks)
    by_task: dict[str, Mapping[str, object]] = {}
    if is_imported(request):
        from mm_eval.imported.theirs import repeats_stated

        by_task |= repeats_stated(request)
    if (protocol := protocol_of(request)) is not None:
        from mm_eval.protocols.run_under import task_overrides

        names = names or list(protocol.rows(with_python=request.tools.added is None))
        by_task |= task_overrides(protocol)
    manager = TaskManager(include_path=request.include_path)
    loaded = manager.load(
        names,
        overrides=overrides or None,
        faults=faults,
        below={**by_task, **(below or {})} or None,
        python=request.tools.added is not None,
    )
    for name in request.samples or ():
        if name not in loaded.tasks:
            hint = did_you_mean(name, loaded.tasks)
            raise ConfigError(f"--samples names {name!r}, which is not a task of this run.", hint=hint)
    return loaded
