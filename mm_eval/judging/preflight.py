"""A judge is tried before the first answer: it must be there, and must score a gold answer above "I don't know."

A run of a night whose judge has no key, or passes everything, is a night lost. The two questions about a doc of each task are
ordinary questions with ordinary slots, so a second launch finds their replies in the journal. A local judge is loaded for
them and freed again before the model is loaded.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

from mm_eval.arguments import shortly
from mm_eval.engine.ask import Asker
from mm_eval.engine.journal import Journal, JournalState, add_record
from mm_eval.errors import ConfigError, MMEvalError, ModelError
from mm_eval.judging.code import verdicts_of
from mm_eval.judging.cost import Cost, cost_of, gold_answer
from mm_eval.judging.judges import EXEMPT, Judge
from mm_eval.judging.verdicts import ASTRAY, PURE, Chain, Verdicts, is_astray
from mm_eval.opening import OpenedTasks
from mm_eval.scorers.judged import Judged
from mm_eval.scorers.of_task import scorers_of, with_judges
from mm_eval.scorers.score_task import TaskScoring
from mm_eval.task.task import Task
from mm_eval.types import Answer, Slot

log = logging.getLogger(__name__)

EMPTY = "I don't know."
"""An answer that holds nothing. The empty text itself is never sent to a judge."""
LOOKED_AT = 20
"""Docs among which those with a gold answer are sought."""
DOCS = 3
"""Docs that are tried, one after the other, until there is a verdict on one."""
SKIP = "--judge_preflight false skips this test, and results.json says so."


class KeptRecords:
    """Stands for a journal before there is a run folder: keeps the records, to be written once there is one."""

    def __init__(self) -> None:
        self.records: list[Mapping[str, Any]] = []

    def put(self, record: Mapping[str, Any], acknowledge: Callable[[], None] = lambda: None) -> None:
        self.records.append(record)
        acknowledge()

    def drain(self) -> None:
        """All records are kept."""


@dataclass
class Tried:
    """What came of trying the judges.

    records: replies for the journal. notes: what a reader of the table should know. error: why the run can't begin.
    """

    records: list[Mapping[str, Any]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    error: MMEvalError | None = None

    def check(self) -> None:
        """Raises the error."""
        if self.error is not None:
            raise self.error

    def write(self, journal: Journal, state: JournalState) -> None:
        """Adds the replies to the journal of the run folder, and to what was read of it."""
        for record in self.records:
            journal.put(record)
            add_record(state, record)


@dataclass
class _Trial:
    """The two answers to one doc of a task, and the verdicts on them. docs: (doc id, gold answer); the first one is tried."""

    task: Task
    name: str
    verdicts: Verdicts
    docs: list[tuple[int, str]]

    @property
    def doc_id(self) -> int:
        return self.docs[0][0]

    @property
    def gold(self) -> str:
        return self.docs[0][1]

    def goes_on(self) -> bool:
        """Whether another doc is tried, because there is no verdict on this one: a single odd doc ends no run."""
        reads_answers = self.verdicts.config.extracts  # and may find none in the empty answer
        found = [self.chain(self.gold), *([] if reads_answers else [self.chain(EMPTY)])]
        if all(chain.error is None for chain in found) or len(self.docs) == 1:
            return False
        self.docs.pop(0)
        return True

    def chain(self, answer: str) -> Chain:
        return self.verdicts.chain(self.doc_id, self.task.docs.text(self.doc_id), answer)


def try_judges(opened: OpenedTasks, state: JournalState, progress: Callable[[str], None]) -> Tried:
    """Estimates what the judges will cost, and tries each on a gold and an empty answer to every task that it judges.

    state: the recorded replies; gets the new ones. The error is a ConfigError: a judge does not answer, does not tell the
        answers apart, or is too expensive.
    """
    tried = Tried()
    try:
        _try_all(opened, state, progress, tried)
    except MMEvalError as error:
        tried.error = error
    opened.notes += tried.notes
    return tried


def _try_all(opened: OpenedTasks, state: JournalState, progress: Callable[[str], None], tried: Tried) -> None:
    kept = KeptRecords()
    judged = [name for name, task in opened.tasks.items() if task.config.judged is not None]
    asked = [judge for judge in opened.judges if judge.model is not None]
    if not judged or not asked:
        return
    _check_budget(opened, asked, judged, tried, progress)
    tried.notes += _of_the_same_family(opened, asked)
    if not opened.request.judge_preflight:
        return
    for judge in asked:
        if judge.model is not None and judge.adapter not in EXEMPT:  # with another model than the run's, to be closed
            _try(opened, replace(judge, model=judge.model.another()), judged, state, kept, progress, tried)
    for judge in asked:
        judge.preflight = "exempt" if judge.adapter in EXEMPT else "passed"
    tried.records = kept.records


def _try(
    opened: OpenedTasks,
    judge: Judge,
    judged: Sequence[str],
    state: JournalState,
    kept: KeptRecords,
    progress: Callable[[str], None],
    tried: Tried,
) -> None:
    """Tries one judge on all tasks. judge: with a model of its own, which is loaded only if a question is to be asked."""
    model, trials = judge.model, list[_Trial]()
    assert model is not None
    for name in judged:
        task = opened.tasks[name]
        docs = _gold(opened, name)
        if not docs:
            judge.untried.append(task.path)
            tried.notes.append(f"{name}: no gold answer is known, so the judge {judge.name} was not tried on it")
            continue
        retries = opened.request.judge_retries
        verdicts = verdicts_of(task, judge.name, state.slots.get, retries, model.chat, asks=True)
        trials.append(_Trial(task, name, verdicts, docs))
    progress(f"judge {judge.name}, to try it" if model.local else f"a first verdict of judge {judge.name}")
    asker, waiting = Asker(model, kept, state), trials  # type: ignore[arg-type]
    try:
        while waiting:
            _ask(waiting, asker)
            if asker.outcome.stopped is not None:
                raise _not_there(judge, asker.outcome.stopped)
            waiting = [trial for trial in waiting if trial.goes_on()]
    finally:
        model.close()
    for trial in trials:
        _compare(opened, judge, trial)
    names = {row["model"] for trial in trials for row in trial.chain(trial.gold).rows if row["model"]}
    if other := sorted(name for name in names if name.split(" (")[0] != judge.model_name):
        tried.notes.append(f"the judge {judge.name} answers as {', '.join(other)}")


def _ask(trials: Sequence[_Trial], asker: Asker) -> None:
    """Asks what the trials need, each question once, until nothing new is pending."""
    asked: set[Slot] = set()
    replies: dict[tuple[str, str], int] = {}
    while not asker.halted:
        chains = [((trial.name, answer), trial.chain(answer)) for trial in trials for answer in (trial.gold, EMPTY)]
        new = [(key, chain) for key, chain in chains if chain.pending is not None and chain.pending.slot not in asked]
        for key, chain in new:
            if is_astray(chain, replies, key):
                raise ConfigError(ASTRAY, where=key[0], hint=PURE)
        pending = [chain.pending for _, chain in new if chain.pending is not None]
        if not pending:
            break
        asked |= {instance.slot for instance in pending}
        asker.ask(pending)


def _gold(opened: OpenedTasks, name: str) -> list[tuple[int, str]]:
    """(doc id, gold answer) of the first docs that have one."""
    task, style = opened.tasks[name], opened.styles[name]
    instances = task.instances(opened.doc_ids[name][:LOOKED_AT], style, lambda doc_id: None)
    golds = ((instance.doc_id, gold_answer(task, style, instance)) for instance in instances)
    return list(islice(((doc_id, gold) for doc_id, gold in golds if gold), DOCS))


def _compare(opened: OpenedTasks, judge: Judge, trial: _Trial) -> None:
    """ConfigError unless the gold answer scores above the empty one."""
    gold, empty = trial.chain(trial.gold), trial.chain(EMPTY)
    reads_answers = trial.verdicts.config.extracts  # and may find none in the empty answer
    for answer, chain in ((trial.gold, gold), (EMPTY, empty)):
        if chain.error is not None and not (chain is empty and reads_answers and chain.unreadable):
            if not chain.rows or chain.rows[-1]["reply"] is None:
                raise _not_there(judge, chain.error)
            what = f"the judge {judge.name} gives no verdict on the answer {shortly(answer)} to doc {trial.doc_id}: "
            raise ConfigError(what + chain.error.what, where=trial.name, hint=f"Choose another judge. {SKIP}")
    high, low = (_score(opened, trial, answer) for answer in (trial.gold, EMPTY))
    if high is None or low is None or high > low:
        return
    replies = [shortly(chain.rows[-1]["reply"]) for chain in (gold, empty)]
    what = (
        f"the judge {judge.name} scores the gold answer {shortly(trial.gold)} to doc {trial.doc_id} with {high:g} and "
        f"{EMPTY!r} with {low:g}; it said {replies[0]} and {replies[1]}."
    )
    raise ConfigError(what, where=trial.name, hint=f"It can't judge this task: choose another judge. {SKIP}")


def _score(opened: OpenedTasks, trial: _Trial, answer: str) -> float | None:
    """The task's judged number over the one doc, negative where lower is better; None where it has no such number."""
    own = Slot(trial.task.path, trial.doc_id)
    [*_, judged] = with_judges(
        trial.task.config,
        scorers_of(trial.task.config),
        {trial.verdicts.judge: verdicts_of(trial.task, trial.verdicts.judge, trial.verdicts.lookup)},
    )
    if isinstance(judged, Judged):  # whether or not the task's rules can read the answer
        judged.judge = replace(judged.judge, only_unparsed=False)
    scoring = TaskScoring(
        trial.task, opened.styles[trial.name], [judged], lambda slot: Answer(answer) if slot == own else None
    )
    list(scoring.samples([trial.doc_id]))
    scores = scoring.aggregate(bootstrap_iters=0)
    if scores.judge_failures or scores.failed:
        return 0.0
    for number in scores.numbers:
        if isinstance(number.value, (int, float)):
            return float(number.value) * (-1 if scores.higher_is_better.get(number.metric) is False else 1)
    return None


def _not_there(judge: Judge, error: MMEvalError) -> ConfigError:
    """Nothing was requested from the model yet, so it is an error of the command."""
    what = error.what.removeprefix("the judge did not answer: ")
    return ConfigError(f"the judge {judge.name} does not answer: {what}", where="--judge", hint=error.hint)


# ------------------------------------------------------------------ cost
def _check_budget(
    opened: OpenedTasks, judges: Sequence[Judge], judged: Sequence[str], tried: Tried, progress: Callable[[str], None]
) -> None:
    """Notes the estimate of each judge. ConfigError if all together are above the budget."""
    total, budget = Cost(), opened.request.judge_budget
    for judge in judges:
        assert judge.model is not None
        own = Cost()
        for name in judged:
            own += cost_of(opened.tasks[name], opened.styles[name], opened.doc_ids[name], judge.model)
        progress(f"judge {judge.name}: {own}")
        log.info("The judge %s: %s.", judge.name, own)
        if budget is not None and own.dollars is None:
            hint = "Add input_price=...,output_price=... (dollars per million tokens) to --judge_args."
            raise ConfigError(f"the prices of the judge {judge.name} are unknown.", where="--judge_budget", hint=hint)
        total += own
    if budget is not None and total.dollars is not None and total.dollars > budget:
        hint = "Raise the budget, use --limit, or a cheaper judge. Replies are counted at their token cap."
        raise ConfigError(
            f"the verdicts may cost more than ${budget:,.2f}: {total}.", where="--judge_budget", hint=hint
        )


def budget_check(
    judges: Sequence[Judge], state: JournalState, budget: float | None, processes: int = 1
) -> Callable[[], MMEvalError | None]:
    """A function that tells why no further verdict may be asked for: what is spent has reached the budget.

    state: with the tokens of all replies so far. Each of several processes spends an equal part of what is left at its start.
    """

    def spent() -> float:
        used = ((judge.model, state.judge_usage.get(judge.name, {})) for judge in judges)
        return sum(model.dollars(tokens) or 0.0 for model, tokens in used if model is not None)

    begun = spent()
    limit = None if budget is None else begun + max(0.0, budget - begun) / processes

    def over() -> MMEvalError | None:
        if limit is None or (now := spent()) < limit:
            return None
        what = f"the verdicts have cost ${now:,.2f}, and --judge_budget is ${budget:,.2f}."
        return ModelError(what, hint="They are kept; the same command with a higher budget goes on.")

    return over


# ------------------------------------------------------------------ families
_FAMILIES = (
    "aya", "claude", "cogvlm", "deepseek", "gemini", "gemma", "glm", "gpt", "grok", "idefics", "internvl", "kimi", "llama",
    "llava", "minicpm", "mistral", "molmo", "ovis", "phi", "pixtral", "qwen", "smolvlm",
)  # fmt: skip
_FAMILY = re.compile(rf"(?<![a-z])({'|'.join(_FAMILIES)}|o[134](?![a-z0-9]))", re.IGNORECASE)


def family_of(name: str) -> str:
    """The family of a model by its name; empty for an unknown one.

    >>> family_of("Qwen/Qwen2.5-VL-7B-Instruct"), family_of("o3-mini"), family_of("my-model")
    ('qwen', 'gpt', '')
    """
    found = _FAMILY.search(name.rstrip("/").rpartition("/")[2])
    word = found[1].lower() if found else ""
    return "gpt" if re.fullmatch(r"o\d", word) else word


def _of_the_same_family(opened: OpenedTasks, judges: Sequence[Judge]) -> list[str]:
    request = opened.request
    named = (request.model_args.get(key) for key in ("pretrained", "model"))
    own = family_of(str(next((value for value in named if value), request.model or "")))
    return [
        f"the judge {judge.name} is of the model's own family ({own}): such judges tend to prefer their family's answers"
        for judge in judges
        if own and family_of(judge.model_name) == own
    ]
