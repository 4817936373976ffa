"""The two sides of `mm-eval same`: a model with its arguments, which is asked twice, or a run folder, which has been."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path

from mm_eval.adapters import uses_sample
from mm_eval.check_runs import folder_name
from mm_eval.cli.options import read_pairs
from mm_eval.engine.model import keep_places
from mm_eval.engine.progress import Progress
from mm_eval.prepare import Prepared, prepare
from mm_eval.request import DecidingRequest, JudgeRequest, RunRequest
from mm_eval.results.recorded import RecordedRun
from mm_eval.run import Report
from mm_eval.trust import trusted_request
from mm_eval.values.errors import ConfigError
from mm_eval.values.words import counted
from mm_eval.verbs.same.evidence import PLACES_KEPT
from mm_eval.verbs.study.trials import run_trials
from mm_eval.verbs.study.why import chosen_docs

LABELS = ("a", "b")
"""The folders of the sides that are asked."""
TIMES = 2
"""A side is asked twice: what changes between the two is its noise."""
DOCS = 200
"""Documents of a run that a model is asked, where the command does not say how many."""
PROBE = ("probe", "probe_reasoning", "probe_tools")
MODEL = "model:"


@dataclass(frozen=True)
class Word:
    """A side as the command states it. folder: of a run; else model and args."""

    text: str
    folder: Path | None = None
    model: str = ""
    args: Mapping[str, object] = field(default_factory=dict)

    @classmethod
    def read(cls, text: str) -> Word:
        """A word that is a folder with run.json is a run; else NAME[,key=value...]. `model:` forces the second.

        Errors: ConfigError for another folder, and for arguments that are none.
        """
        if not text.startswith(MODEL):
            if Path(text).is_dir():
                if (Path(text) / "run.json").is_file():
                    return cls(text, folder=Path(text))
                hint = f"A run folder has one. A checkpoint is named as hf,pretrained={text}"
                raise ConfigError(f"{text!r} is a folder without run.json.", where=text, hint=hint)
            if not text.partition(",")[0].endswith(".py") and "/" in text.partition(",")[0] and ":" not in text:
                hint = f"A run folder has run.json in it; a checkpoint is named as hf,pretrained={text}"
                raise ConfigError(f"there is no folder {text!r}, and no model is called so.", where=text, hint=hint)
        name, _, rest = text.removeprefix(MODEL).partition(",")
        if not name.strip():
            raise ConfigError("no model is named.", where=text, hint="Such as openai,base_url=...,model=...")
        return cls(text, model=name.strip(), args=read_pairs(rest, name) if rest else {})


@dataclass
class Plan:
    """What is asked. sides: for each word its run folder, or the prepared run. notes: what a reader should know."""

    output: Path
    words: Sequence[Word]
    asked: dict[str, Prepared] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, str]:
        """What tables call the sides."""
        first, second = (word.text.removeprefix(MODEL) if len(word.text) <= 40 else _short(word) for word in self.words)
        return (first, second) if first != second else (f"{first} (A)", f"{second} (B)")

    def folder(self, place: int) -> Path:
        """The run folder of a side."""
        return self.words[place].folder or self.output / LABELS[place]


def _short(word: Word) -> str:
    if word.folder is not None:
        return word.folder.name
    shown = word.args.get("model") or word.args.get("pretrained") or ""
    return f"{word.model} {Path(str(shown)).name}".strip()


def probe_files() -> tuple[str, ...]:
    """The task files of the probe set."""
    folder = files("mm_eval.verbs.same.probe")
    return tuple(str(folder / f"{name}.yaml") for name in PROBE)


def plan_same(
    words: Sequence[str],
    request: RunRequest,
    output: str | None = None,
    probe: bool = True,
    docs: int | None = None,
) -> Plan:
    """Finds both sides and prepares those that are asked. Nothing is requested.

    request: tasks beside the probe set, and options of both sides. docs: how many of a recorded run a model is asked.
    Errors: ConfigError for a word that is no side, for tasks beside a recorded run, and for what a side can't be asked.
    """
    sides = [Word.read(word) for word in words]
    runs = [word for word in sides if word.folder is not None]
    if runs and request.tasks:
        what = "a recorded run has its own tasks, so that --tasks can't add any."
        raise ConfigError(what, where="--tasks", hint="Give both sides as models, or leave --tasks out.")
    if not runs and docs is not None:
        raise ConfigError("--docs is of a recorded run.", where="--docs", hint="--limit is of every task.")
    if not probe and not request.tasks and not runs:
        raise ConfigError("nothing is asked: --no_probe needs --tasks.", where="--no_probe")
    stated = json.dumps([list(words), [str(each) for each in request.tasks], request.limit, probe, docs])
    digest = hashlib.sha256(stated.encode()).hexdigest()[:8]
    plan = Plan(Path(output) if output else Path(), sides)
    if not output:
        plan.output = Path("runs") / f"same-{'-'.join(folder_name(name)[:24] for name in plan.names)}-{digest}"
    asked = [place for place, word in enumerate(sides) if word.folder is None]
    if runs and asked:
        request = _of_run(plan, runs[0], request, docs)
    elif asked:
        request = replace(
            request,
            tasks=(*(probe_files() if probe else ()), *request.tasks),
            prompt_key="default" if request.tasks else None,
        )
    requests = {place: _of_side(request, sides[place], plan.output / LABELS[place]) for place in asked}
    sample = any(uses_sample(each) for each in requests.values())
    for place, each in requests.items():
        try:
            prepared = prepare(replace(each, sample=each.sample or sample))
        except ConfigError as error:
            where = f"{sides[place].text}{f', {error.where}' if error.where else ''}"
            raise ConfigError(error.what, where=where, hint=error.hint) from error
        prepared.repeats_apart = True
        keep_places(prepared.model, PLACES_KEPT)
        plan.asked[LABELS[place]] = prepared
    return plan


def _of_side(request: RunRequest, word: Word, folder: Path) -> RunRequest:
    """A request for one side. Its answers are its own: no cache is used."""
    return replace(
        request,
        model=word.model,
        model_args=word.args,
        name=None,
        output_path=str(folder),
        repeats=TIMES,
        use_cache=None,
    )


def _of_run(plan: Plan, word: Word, options: RunRequest, docs: int | None) -> RunRequest:
    """The request of a recorded run for another model, for some of its documents."""
    assert word.folder is not None
    recorded = RecordedRun.read(word.folder, include_path=options.include_path)
    request = trusted_request(dict(recorded.request), options.include_path, word.folder)
    every = sum(len(task.clusters) for task in recorded.tasks.values())
    share = min(1.0, (docs or DOCS) / max(1, every))
    samples = {
        name: chosen_docs(task.clusters, math.ceil(share * len(task.clusters)), request.seed)
        for name, task in recorded.tasks.items()
    }
    count = sum(map(len, samples.values()))
    if count < every:
        plan.notes.append(f"{counted(count, 'document')} of the run's {every:,} are asked; --docs asks more")
    keys = set(recorded.prompt_keys.values())
    return replace(
        request,
        limit=None,
        samples=samples,
        predict_only=False,
        device=options.device,
        batch_size=options.batch_size,
        budget=options.budget,
        prices=options.prices,
        data_root=options.data_root or request.data_root,
        sample=uses_sample(request),
        prompt_key=request.prompt_key or (keys.pop() if len(keys) == 1 else None),
        judge=JudgeRequest(left_out=True),
        deciding=DecidingRequest(),
    )


def ask(plan: Plan, progress: Progress) -> dict[str, Report]:
    """Asks the sides that are models, one after the other. What is recorded is not asked again.

    An endpoint comes first: one that can't be reached is found before weights are loaded.
    """
    first = sorted(plan.asked.items(), key=lambda each: each[1].model.facts.local)
    return run_trials(dict(first), progress)
