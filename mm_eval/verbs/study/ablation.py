"""Reruns a recorded run, or a part of it, otherwise: with one setting of a protocol at a time (`mm-eval why`), and without its
pictures and sounds (`mm-eval blind`).

    plan = plan_trials(Path("runs/mine"), "llava-1.5", output=Path("runs/mine/why-llava-1.5"))
    reports = run_plan(plan, progress)

Answers of the run, and of earlier trials below `output`, are taken over where the request is the same.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from mm_eval.check_runs import folder_name
from mm_eval.engine.generation import GenerationOptions
from mm_eval.engine.model import show
from mm_eval.engine.progress import Progress
from mm_eval.prepare import Prepared, prepare
from mm_eval.prompt.blind import PICTURES, SHUFFLED, joined_media
from mm_eval.prompt.blocks import FRAMES_KEY
from mm_eval.request import RunRequest, of_names
from mm_eval.results.file import read_run
from mm_eval.results.recorded import RecordedRun
from mm_eval.run import Report
from mm_eval.trust import check_own, trusted_request
from mm_eval.values.errors import ConfigError, did_you_mean
from mm_eval.values.words import counted, listed
from mm_eval.verbs.study.blind import MODES
from mm_eval.verbs.study.earlier import EarlierAnswers
from mm_eval.verbs.study.reported import Difference, reports
from mm_eval.verbs.study.reported import Report as Published
from mm_eval.verbs.study.trials import run_trials, sharing
from mm_eval.verbs.study.why import ALL, AS_RUN, FEWEST, LABELS, MOST, chosen_docs, docs_for, gaps_of, setting_of

RECORDED = "replay"
"""The adapter of recorded answers, whose model can't be asked again."""
Differing = dict[str, dict[str, list[Difference]]]
"""{setting: {task: differences}}"""


@dataclass
class Plan:
    """What is tried.

    protocol: None of a plan without one. trials: {label: the prepared run}; of `why` the run as it was comes first.
    differing: {task: {label: what the trial changes, in words}}. rows: of the protocol's verdicts on the whole run.
    notes: what is not tried, and how many docs are asked. media: what a blind run leaves out (`joined_media`).
    """

    run: RecordedRun
    output: Path
    protocol: Published | None = None
    trials: dict[str, Prepared] = field(default_factory=dict)
    differing: dict[str, dict[str, str]] = field(default_factory=dict)
    rows: list[dict[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    media: str = PICTURES

    @property
    def reported(self) -> dict[str, list[str]]:
        """{task or group: the metrics behind the report's numbers}."""
        found = {row["task"]: self.protocol.benchmark_of(row["task"]) for row in self.rows if self.protocol}
        return {
            name: [metric for each in benchmark.reported for metric in each.metrics]
            for name, benchmark in found.items()
            if benchmark is not None
        }


def plan_trials(
    folder: Path,
    protocol_name: str | None,
    tasks: Sequence[str] | None,
    docs: int | None,
    output: Path | None,
    include_path: str | None = None,
    trust_run: bool = False,
) -> Plan:
    """Finds what the run has and the protocol has not, and prepares a trial for each setting. Nothing is requested.

    protocol_name: None for the run's own. tasks: names of the run's tasks and groups; None for all that the protocol has.
    docs: how many of each task; None for as many as needed, from `FEWEST` to `MOST`.
    include_path: a folder with task code that is trusted. trust_run: the model that the folder names is, whoever made it.
    Errors: ConfigError for a folder without a scored run, an unknown protocol or task, and a run under another protocol;
        UntrustedRun for a model that another user named.
    """
    recorded, request = _to_repeat(folder, docs, include_path, trust_run)
    name = protocol_name or reports().named_by(request)
    if name is None:
        raise ConfigError("the run has no protocol: --protocol is needed.", hint="`mm-eval protocols` lists them.")
    protocol = reports().protocol_of(reports().compared_with(request, name))
    assert protocol is not None
    plan = Plan(recorded, output or folder / f"why-{folder_name(protocol.name)}", protocol)
    request = _of_tasks(request, prepare(request), tasks, protocol)
    whole = prepare(request)
    plan.rows = _verdict_rows(whole, protocol, recorded)
    differing = _that_matter(plan, whole, _differing(whole, protocol))
    if differing:
        samples = {task: _docs_of(plan, task, docs, request.seed) for task in whole.tasks if task in recorded.tasks}
        _add_trials(plan, protocol, replace(request, limit=None, samples=samples), differing)
    return plan


def plan_blind(
    folder: Path,
    tasks: Sequence[str] | None,
    docs: int | None,
    output: Path | None,
    include_path: str | None = None,
    trust_run: bool = False,
) -> Plan:
    """Prepares a run without the pictures and sounds of a recorded run and one with those of other docs. Nothing is requested.

    tasks: as for `plan_trials`. docs: how many of each task; None for all. The run's tasks with text alone are left out.
    include_path, trust_run: as for `plan_trials`.
    Errors: ConfigError for a folder without a scored run, a blind run, an unknown task, and where all tasks are text;
        UntrustedRun for a model that another user named.
    """
    recorded, request = _to_repeat(folder, docs, include_path, trust_run)
    if request.blind:
        raise ConfigError(
            "the run was made with --blind.", where=str(folder), hint="Give the run that saw and heard everything."
        )
    if request.model == RECORDED:
        what = "the answers of the run are recorded, so no model can be asked again."
        raise ConfigError(what, where=str(folder))
    opened = prepare(request)
    plan = Plan(recorded, output or folder / "blind")
    roots = _checked(opened, tasks)
    named = tasks or roots
    seen = [root for root in named if any(opened.tasks[leaf].has_pictures for leaf in _below(opened, root))]
    if tasks is None and seen and (without := [root for root in named if root not in seen]):
        plan.notes.append(f"left out, since they have text alone: {', '.join(without)}")
    if not seen:
        raise ConfigError("no task of the run has pictures or sounds.", where=str(folder))
    leaves = dict.fromkeys(leaf for root in tasks or seen for leaf in _below(opened, root))
    plan.media = joined_media(opened.tasks[leaf].media(opened.styles[leaf]) for leaf in leaves)
    request = _of_tasks(request, opened, tasks or seen)
    if docs:
        samples = {
            name: chosen_docs(recorded.tasks[name].clusters, docs, request.seed)
            for root in tasks or seen
            for name in _below(opened, root)
            if name in recorded.tasks
        }
        request = replace(request, limit=None, samples=samples)
    for label, mode in MODES.items():
        try:
            plan.trials[label] = sharing(prepare(replace(request, blind=mode)), plan.trials)
        except ConfigError as error:  # a task whose own code shows the docs' pictures
            if mode != SHUFFLED:
                raise
            others = " --tasks names the others." if len(tasks or seen) > 1 else ""
            plan.notes.append(f"no run with {plan.media} of other documents: {error.what}{others}")
    return plan


def _to_repeat(
    folder: Path, docs: int | None, include_path: str | None, trust_run: bool
) -> tuple[RecordedRun, RunRequest]:
    """A recorded run, and its request for folders of its own. docs: `--docs`. include_path, trust_run: as for `plan_trials`."""
    recorded = RecordedRun.read(folder, include_path=include_path)
    if not trust_run:
        check_own(recorded.request, read_run(folder).get("mark"), folder)
    request = trusted_request(dict(recorded.request), include_path, folder)
    if docs == 0:
        raise ConfigError("--docs is 0: at least one document is needed.", where="--docs")
    return recorded, replace(request, output_path=None, use_cache=None, report=False, predict_only=False)


def _checked(opened: Prepared, tasks: Sequence[str] | None) -> list[str]:
    """The tasks and groups of the run. ConfigError for a name that is none of them."""
    roots = list(opened.loaded.roots)
    for name in tasks or ():
        if name not in roots:
            raise ConfigError(f"{name!r} is not a task of the run.", where="--tasks", hint=did_you_mean(name, roots))
    return roots


def _below(opened: Prepared, root: str) -> list[str]:
    """The tasks of a group, or the task itself."""
    return [leaf for leaf in opened.loaded.leaves(root) if leaf in opened.tasks]


def _of_tasks(
    request: RunRequest, opened: Prepared, tasks: Sequence[str] | None, protocol: Published | None = None
) -> RunRequest:
    """The request for those of the run's tasks and groups that are named, and that the protocol has."""
    roots = _checked(opened, tasks)
    leaves = {root: _below(opened, root) for root in roots}

    def has(root: str) -> bool:
        return protocol is None or any(protocol.benchmark_of(opened.tasks[leaf].path) for leaf in leaves[root])

    kept = [root for root in tasks or roots if has(root)]
    if not kept and protocol is not None:
        what = f"the protocol {protocol.name!r} has none of the run's tasks ({', '.join(list(tasks or roots)[:5])})."
        raise ConfigError(what, where="--protocol", hint=f"`mm-eval protocols {protocol.name}` lists its benchmarks.")
    if set(kept) == set(roots):
        return request
    below = {leaf for root in kept for leaf in leaves[root]}
    samples = {name: ids for name, ids in (request.samples or {}).items() if name in below} or None
    return replace(request, tasks=of_names(request.tasks, kept), samples=samples)


def _verdict_rows(opened: Prepared, protocol: Published, recorded: RecordedRun) -> list[dict[str, object]]:
    """The protocol's verdicts on the whole run, of the tasks that are compared."""
    names = {*opened.tasks, *opened.loaded.groups}
    named = {name: row for name, row in recorded.results.rows.items() if name in names}
    under = replace(opened, request=reports().compared_with(opened.request, protocol.name))
    found = reports().protocol_results(under, replace(recorded.results, rows=named))
    return list(found["rows"]) if found else []


def _differing(opened: Prepared, protocol: Published) -> Differing:
    found: Differing = {}
    for task in opened.tasks:
        for each in reports().differences(opened, protocol, task):
            found.setdefault(setting_of(each), {}).setdefault(task, []).append(each)
    return found


SAMPLING = frozenset({"temperature", "top_p", "top_k", "min_p", "do_sample"})
"""Generation options that decide nothing where the likeliest token is taken."""


def _that_matter(plan: Plan, opened: Prepared, differing: Differing) -> Differing:
    """The differences that may change an answer of the run; a note names the others with the reason."""
    found: Differing = {}
    reasons: dict[tuple[str, str], list[str]] = {}
    for setting, by_task in differing.items():
        for task, each in ((task, each) for task, of_task in by_task.items() for each in of_task):
            if why := _without_effect(plan.run, opened, task, each, by_task[task]):
                reasons.setdefault((each.said, why), []).append(task)
            else:
                found.setdefault(setting, {}).setdefault(task, []).append(each)
    for (said, why), tasks in reasons.items():
        plan.notes.append(f"not tried, since it can change no answer: {said} on {listed(tasks, 3)}: {why}")
    return found


def _without_effect(
    run: RecordedRun, opened: Prepared, task: str, difference: Difference, others: Sequence[Difference]
) -> str:
    """Why a difference can change no answer of a task of the run; "" where it may. others: all of its setting."""
    if task not in run.tasks:
        return ""
    name, ours, theirs = difference.name, difference.ours, difference.theirs
    if name == FRAMES_KEY and not run.tasks[task].shows_frames:
        return "its prompts show no video"
    if name == "chat_template" and isinstance(theirs, bool) and ours is None and run.spec.get("chat") == theirs:
        return "the model's default is the same"
    if (name, ours, theirs) == ("num_fewshot", None, 0):
        return "both are the default"
    if name == "max_new_tokens" and not run.results.rows[task].truncated:
        if ours is not None and (theirs is None or theirs > ours):
            return "no answer of the run was cut"
        if isinstance(theirs, int) and (longest := _longest_answer(run, task)) is not None and longest < theirs:
            return f"the longest answer of the run has {counted(longest, 'token')}"
    own = opened.tasks[task].config.generation_kwargs
    reports_own = {**own, **{each.name: each.theirs for each in others if each.name in SAMPLING}}
    if name in SAMPLING and not any(GenerationOptions.from_kwargs(each).do_sample for each in (own, reports_own)):
        return "both take the likeliest token"
    if name in ("until", "num_beams", "max_new_tokens"):
        options = [GenerationOptions.from_kwargs({**own, name: value}) for value in (ours, theirs)]
        return "both mean the same" if options[0] == options[1] else ""
    return ""


def _longest_answer(run: RecordedRun, task: str) -> int | None:
    """The tokens of the longest answer to a task; None where those of some answer are not known."""
    lengths, docs = run.tokens.get(task, {}), run.tasks[task].clusters
    once = (run.results.configs.get(task, {}).get("repeats") or 1) == 1
    return max(lengths.values()) if once and docs and docs.keys() <= lengths.keys() else None


PIXEL_LIMITS = frozenset({"min_pixels", "max_pixels"})


def _shown_alike(base: Prepared, trial: Prepared, task: str) -> bool:
    """Whether a task's prompts, with the places of their pictures, are the same under two limits of a picture's size."""
    for doc_id in base.doc_ids[task]:
        prompts = []
        for opened in (base, trial):
            first = next(iter(opened.tasks[task].instances([doc_id], opened.styles[task])))
            prompts.append(show(opened.model, first))
        if prompts[0] != prompts[1] or prompts[0].image_tokens is None:
            return False
    return True


def _docs_of(plan: Plan, task: str, count: int | None, seed: int) -> list[int]:
    """The docs of a task that are asked; a note says why so many."""
    clusters, gaps = plan.run.tasks[task].clusters, gaps_of(plan.rows)
    needed = [docs_for(gap.value) for (name, _), gap in gaps.items() if name == task and gap.scale == 100]
    least = min((each for each in needed if each), default=None)
    wanted = count or min(max(least or MOST, FEWEST), MOST)
    ids = chosen_docs(clusters, wanted, seed)
    said = f"{task}: {len(ids):,} of the run's {counted(len(clusters), 'document')}"
    if least:
        said += f"; about {least:,} show its difference to the report, if a setting changes every seventh answer"
    plan.notes.append(said)
    return ids


def _add_trials(plan: Plan, protocol: Published, base: RunRequest, differing: Differing) -> None:
    """Prepares the run as it was, each setting alone, and all together. Trials with equal weights share a model."""
    tried: list[str] = []
    trials = {AS_RUN: prepare(base)}
    for setting in (name for name in LABELS if name in differing):
        label, by_task = LABELS[setting], differing[setting]
        if base.model == RECORDED and setting != "filter_list":
            plan.notes.append(f"{label} is not tried: the answers are recorded, and no model can be asked again")
            continue
        trial = prepare(reports().with_settings(base, protocol, [setting]))
        still = _differing(trial, protocol).get(setting, {})
        for task, found in by_task.items():
            if {each.name for each in found} <= PIXEL_LIMITS and _shown_alike(trials[AS_RUN], trial, task):
                said = ", ".join(sorted(each.said for each in found))
                why = "the model sees the same pictures"
                plan.notes.append(f"not tried, since it can change no answer: {said} on {task}: {why}")
                continue
            left = {each.said for each in still.get(task, ())}
            changed = [each.said for each in found if each.said not in left]
            if changed:
                plan.differing.setdefault(task, {})[label] = ", ".join(changed)
            if left:
                why = "the model does not have it, or the benchmarks need several values (--tasks)"
                plan.notes.append(f"{task}: not tried: {', '.join(sorted(left))}: {why}")
        if any(label in labels for labels in plan.differing.values()):
            tried.append(setting)
            trials[label] = sharing(trial, trials)
    if len(tried) > 1:
        trials[ALL] = sharing(prepare(reports().with_settings(base, protocol, tried)), trials)
        for labels in plan.differing.values():
            labels[ALL] = ", ".join(labels.values())
    if tried:
        plan.trials = trials


def run_plan(plan: Plan, progress: Progress) -> dict[str, Report]:
    """Runs each trial into a folder of its own."""

    def begin(label: str, trial: Prepared) -> None:
        path = plan.output / f"{folder_name(label)}-{_digest(trial.request)}"
        others = [found.parent for found in sorted(plan.output.glob("*/run.json")) if found.parent != path]
        trial.answers_of_other_runs = partial(EarlierAnswers, [plan.run.folder, *others])
        trial.request = replace(trial.request, output_path=str(path))

    return run_trials(plan.trials, progress, begin)


def _digest(request: RunRequest) -> str:
    """Another choice of tasks, docs or settings has another folder."""
    asked = [request.tasks, request.limit, dict(request.samples or {}), request.protocol.settings]
    text = json.dumps(asked, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:8]
