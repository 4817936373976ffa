"""A judge is tried before the first answer: it must be there, and must score gold answers above worthless ones.

A run of a night whose judge has no key, or passes everything, is a night lost. A judge that ignores what it is shown (always
the same verdict, a fixed cycle, chance) must not pass, so it is tried on several docs; which answer of a doc is shown first is
shuffled. `chance_of_passing` bounds how often such a judge passes. The questions are ordinary ones with ordinary slots, so a
second launch finds their replies in the journal. A local judge is loaded for them and freed before the model is loaded.
"""

from __future__ import annotations

import logging
import math
import random
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice, zip_longest

from mm_eval.config.arguments import shortly
from mm_eval.engine.ask import Asker
from mm_eval.engine.journal import Journal, JournalState, add_record
from mm_eval.engine.model import another_of, close_model, dollars, recall
from mm_eval.engine.prices import unknown_price
from mm_eval.judge.code import verdicts_of
from mm_eval.judge.config import answers_judged, judge_of_task
from mm_eval.judge.cost import Cost, cost_of, gold_answer
from mm_eval.judge.judges import EXEMPT, Judge
from mm_eval.judge.scoring import JudgeGrader, with_judges
from mm_eval.judge.verdicts import ASTRAY, PURE, Chain, Verdicts, is_astray
from mm_eval.open_tasks import OpenedTasks
from mm_eval.prompt.task import Task
from mm_eval.scoring.base import Scorer
from mm_eval.scoring.of_task import scorers_of
from mm_eval.scoring.score_task import TaskScoring
from mm_eval.values.errors import ConfigError, MMEvalError
from mm_eval.values.types import Answer, Slot
from mm_eval.values.words import counted

log = logging.getLogger(__name__)

WORTHLESS = (
    "I don't know.", "No answer.", "Something else.", "I would rather not say.", "qzx vbkr wopl", "...",
    "This is a sentence about nothing in particular.", "The question was not read.",
)  # fmt: skip
"""Answers that hold nothing. The empty text itself is never sent to a judge."""
EMPTY = WORTHLESS[0]
LOOKED_AT = 60
"""Docs among which those with a gold answer are sought."""
DOCS = 10
"""Docs that are tried, over all tasks of a judge together. One of ten may go wrong: a doc's gold answer can be odd."""
LEAST = 2
"""Docs that are tried of each task, however many tasks there are."""
SPARE = 2
"""Further docs of each task, tried in place of those on which there is no verdict."""
OTHERS = {1: 8, 2: 4, 3: 3, 4: 2, 5: 2}
"""{docs: worthless answers to each of them}. With more docs one is enough."""
_ABSTAINS = re.compile(
    r"unanswerable|not answerable|unsuitable|\bunknown\b|\bno answer\b|\b(don't|not) know\b|\bnone\b|^\W*$", re.I
)
"""Gold answers that say as little as the worthless ones."""
SKIP = "--judge_preflight false skips this test, and results.json says so."


class KeptRecords:
    """Stands for a journal before there is a run folder: keeps the records, to be written once there is one."""

    def __init__(self) -> None:
        self.records: list[Mapping[str, object]] = []

    def put(self, record: Mapping[str, object], acknowledge: Callable[[], None] = lambda: None) -> None:
        self.records.append(record)
        acknowledge()

    def drain(self) -> None:
        """All records are kept."""


@dataclass
class Tried:
    """What came of trying the judges.

    records: replies for the journal. notes: what a reader of the table should know. error: why the run can't begin.
    """

    records: list[Mapping[str, object]] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    error: MMEvalError | None = None

    def write(self, journal: Journal, state: JournalState) -> None:
        """Adds the replies to the journal of the run folder, and to what was read of it."""
        for record in self.records:
            journal.put(record)
            add_record(state, record)


def chance_of_passing(docs: int, others: int, misses: int) -> float:
    """The most that the chance can be with which a judge passes whose verdicts do not depend on the answers.

    docs: on each it must score the gold answer above `others` worthless ones. misses: docs on which it need not. Equal verdicts
    are a miss, so that of equally likely orders at most one in `others + 1` has the gold answer on top.

    >>> round(chance_of_passing(10, 1, 1), 4)
    0.0107
    """
    hit = 1 / (others + 1)
    return sum(math.comb(docs, missed) * hit ** (docs - missed) * (1 - hit) ** missed for missed in range(misses + 1))


@dataclass
class _Trial:
    """The answers to some docs of a task, and the verdicts on them.

    docs: {doc id: gold answer} of those that are tried. spare: docs to take in place of those without a verdict.
    others: the worthless answers to each doc.
    """

    task: Task
    name: str
    verdicts: Verdicts
    docs: dict[int, str]
    spare: dict[int, str] = field(default_factory=dict)
    others: tuple[str, ...] = WORTHLESS[:1]
    known: dict[tuple[int, str], Chain] = field(default_factory=dict)

    @cached_property
    def scorers(self) -> list[Scorer]:
        """The task's own scorers, apart from those of the run."""
        return scorers_of(self.task.config)

    def rounds(self) -> list[list[tuple[int, str]]]:
        """(doc id, answer) in rounds, each with one answer to each doc. The first round shows some gold answers and some others.

        So a judge whose verdicts follow a pattern in time can't tell which of them belong to gold answers.
        """
        draw, of_docs = random.Random(self.task.path), list[list[tuple[int, str]]]()
        for doc_id, gold in self.docs.items():
            answers = [(doc_id, answer) for answer in (gold, *self.others)]
            draw.shuffle(answers)
            of_docs.append(answers)
        return [[pair for pair in each if pair is not None] for each in zip_longest(*of_docs)]

    def goes_on(self) -> bool:
        """Takes spare docs in place of those on which there is no verdict; False if nothing new is to be asked."""
        lost = [doc_id for doc_id in self.docs if self.error(doc_id) is not None]
        taken = dict(islice(self.spare.items(), len(lost)))
        for doc_id in lost[: len(taken)]:
            del self.docs[doc_id]
        for doc_id, gold in taken.items():
            self.docs[doc_id] = gold
            del self.spare[doc_id]
        return bool(taken)

    def chain(self, doc_id: int, answer: str) -> Chain:
        """The verdict on an answer, kept once it is final."""
        key = (doc_id, answer)
        if key not in self.known:
            chain = self.verdicts.chain(doc_id, self.task.docs.text(doc_id), answer)
            if chain.pending is not None:
                return chain
            self.known[key] = chain
        return self.known[key]

    def error(self, doc_id: int) -> tuple[str, Chain] | None:
        """(answer, what came instead of a verdict on it) of a doc; None if there is a verdict on each of its answers."""
        for answer in (self.docs[doc_id], *self.others):
            chain = self.chain(doc_id, answer)
            found_none = answer != self.docs[doc_id] and self.verdicts.config.extracts and chain.unreadable
            if chain.error is not None and not found_none:  # a worthless answer may hold nothing to extract
                return answer, chain
        return None


def try_judges(
    opened: OpenedTasks, judges: Sequence[Judge], state: JournalState, progress: Callable[[str], None]
) -> Tried:
    """Estimates what the judges will cost, and tries each on gold and worthless answers to every task that it judges.

    state: the recorded replies; gets the new ones. The error is a ConfigError: a judge does not answer, does not tell the
        answers apart, or is too expensive.
    """
    tried = Tried()
    try:
        _try_all(opened, judges, state, progress, tried)
    except MMEvalError as error:
        tried.error = error
    opened.notes += tried.notes
    return tried


def _try_all(
    opened: OpenedTasks,
    judges: Sequence[Judge],
    state: JournalState,
    progress: Callable[[str], None],
    tried: Tried,
) -> None:
    kept = KeptRecords()
    judged = [name for name, task in opened.tasks.items() if judge_of_task(task.config) is not None]
    asked = [judge for judge in judges if judge.model is not None]
    if not judged or not asked:
        return
    _check_budget(opened, asked, judged, progress)
    tried.notes += _of_the_same_family(opened, asked)
    if not opened.request.judge.preflight:
        return
    for judge in asked:
        if judge.model is not None and judge.adapter not in EXEMPT:  # with another model than the run's, to be closed
            another = another_of(judge.model)
            recall(another, judge.model.facts.findings)
            _try(opened, replace(judge, model=another), judged, state, kept, progress, tried)
            recall(judge.model, another.facts.findings)
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
    found = {name: _gold(opened, name) for name in judged}
    with_gold = [name for name in judged if found[name]]
    for name in judged:
        if not found[name]:
            judge.untried.append(opened.tasks[name].path)
            tried.notes.append(f"{name}: no gold answer is known, so the judge {judge.name} was not tried on it")
    if not with_gold:
        return
    share = max(LEAST, math.ceil(DOCS / len(with_gold)))
    others = WORTHLESS[: OTHERS.get(sum(min(share, len(found[name])) for name in with_gold), 1)]
    for name in with_gold:
        task, retries = opened.tasks[name], opened.request.judge.retries
        verdicts = verdicts_of(task, judge.name, state.lookup, retries, model.facts.chat, asks=True)
        docs, spare = dict(found[name][:share]), dict(found[name][share : share + SPARE])
        trials.append(_Trial(task, name, verdicts, docs, spare, others))
    progress(f"judge {judge.name}, to try it" if model.facts.local else f"first verdicts of judge {judge.name}")
    asker, waiting = Asker(model, kept, state), trials  # type: ignore[arg-type]
    try:
        while waiting:
            _ask(waiting, asker)
            if asker.outcome.stopped is not None:
                raise _not_there(judge, asker.outcome.stopped)
            waiting = [trial for trial in waiting if trial.goes_on()]
    finally:
        close_model(model)
    _compare(opened, judge, trials, tried)
    chains = [chain for trial in trials for chain in trial.known.values()]
    names = {row["model"] for chain in chains for row in chain.rows if row.get("model")}
    if other := sorted(name for name in names if name.split(" (")[0] != judge.model_name):
        tried.notes.append(f"the judge {judge.name} answers as {', '.join(other)}")


def _ask(trials: Sequence[_Trial], asker: Asker) -> None:
    """Asks what the trials need, round by round and each question once, until nothing new is pending."""
    replies: dict[tuple[str, int, str], int] = {}
    asked: set[Slot] = set()
    for round_ in zip_longest(*(trial.rounds() for trial in trials), fillvalue=()):
        pairs = [(trial, *pair) for trial, of_trial in zip(trials, round_, strict=True) for pair in of_trial]
        while not asker.halted:
            chains = [((trial.name, doc_id, answer), trial.chain(doc_id, answer)) for trial, doc_id, answer in pairs]
            new = [(key, chain) for key, chain in chains if chain.pending and chain.pending.slot not in asked]
            for key, chain in new:
                if is_astray(chain, replies, key):
                    raise ConfigError(ASTRAY, where=key[0], hint=PURE)
            pending = {chain.pending.slot: chain.pending for _, chain in new if chain.pending is not None}
            if not pending:
                break
            asked |= pending.keys()
            asker.ask(pending.values())


def _gold(opened: OpenedTasks, name: str) -> list[tuple[int, str]]:
    """(doc id, gold answer) of the first docs that have one which says something."""
    task, style = opened.tasks[name], opened.styles[name]
    instances = task.instances(opened.doc_ids[name][:LOOKED_AT], style, lambda doc_id: None)
    golds = {instance.doc_id: gold_answer(task, style, instance) for instance in instances}
    known = [(doc_id, gold) for doc_id, gold in golds.items() if gold]
    return ([pair for pair in known if not _ABSTAINS.search(pair[1])] or known)[: DOCS + SPARE]


def _compare(opened: OpenedTasks, judge: Judge, trials: Sequence[_Trial], tried: Tried) -> None:
    """ConfigError unless the judge scores gold answers above worthless ones, on nearly all docs and in every task."""
    docs, misses = 0, list[tuple[_Trial, int, str, float, float]]()
    for trial in trials:
        compared, missed = 0, list[tuple[_Trial, int, str, float, float]]()
        for doc_id, gold in trial.docs.items():
            if trial.error(doc_id) is not None:
                continue
            high, *lows = (_score(opened, trial, doc_id, answer) for answer in (gold, *trial.others))
            known = [(low, answer) for low, answer in zip(lows, trial.others, strict=True) if low is not None]
            if high is None or not known:  # the task has no number to compare
                continue
            compared += 1
            low, answer = max(known)
            if high <= low:
                missed.append((trial, doc_id, answer, high, low))
        lost = [found for doc_id in trial.docs if (found := trial.error(doc_id)) is not None]
        if len(lost) > len(trial.docs) / 2:
            raise _no_verdict(judge, trial)
        if compared and len(missed) == compared:
            raise _does_not_tell(judge, missed, compared)
        docs, misses = docs + compared, misses + missed
    allowed = docs // DOCS
    if len(misses) > allowed:
        raise _does_not_tell(judge, misses, docs)
    chance = chance_of_passing(docs, len(trials[0].others), allowed)
    told = (
        f"the judge {judge.name} scored the gold answer highest on {docs - len(misses)} of {counted(docs, 'document')}"
    )
    log.info("%s; a judge that answers at random passes in at most %.1f%% of cases.", told, 100 * chance)
    if docs and chance > 0.05:
        tried.notes.append(f"{told}: too few to tell it from chance, which passes in up to {chance:.0%} of cases")


def _no_verdict(judge: Judge, trial: _Trial) -> ConfigError:
    """The error of a judge that gives no verdict on most of a task's docs: the last one's."""
    doc_id, answer, chain = [(doc_id, *found) for doc_id in trial.docs if (found := trial.error(doc_id))][-1]
    assert chain.error is not None
    if not chain.rows or chain.rows[-1]["reply"] is None:
        return _not_there(judge, chain.error)
    what = (
        f"the judge {judge.name} gives no verdict on the answer {shortly(answer)} to doc {doc_id}: {chain.error.what}"
    )
    return ConfigError(what, where=trial.name, hint=f"Choose another judge. {SKIP}")


def _does_not_tell(judge: Judge, misses: Sequence[tuple[_Trial, int, str, float, float]], docs: int) -> ConfigError:
    """The error of a judge whose verdicts do not depend on the answers. misses: with the scores of the two answers."""
    trial, doc_id, answer, high, low = misses[0]
    gold = trial.docs[doc_id]
    said = [shortly(trial.chain(doc_id, each).rows[-1]["reply"]) for each in (gold, answer)]
    what = (
        f"the judge {judge.name} scores the gold answer {shortly(gold)} to doc {doc_id} with {high:g} and {answer!r} with "
        f"{low:g}; it said {said[0]} and {said[1]}. So it did on {len(misses)} of {counted(docs, 'document')}."
    )
    return ConfigError(what, where=trial.name, hint=f"It can't judge this task: choose another judge. {SKIP}")


def _score(opened: OpenedTasks, trial: _Trial, doc_id: int, answer: str) -> float | None:
    """The task's judged number over the one doc, negative where lower is better; None where it has no such number.

    Where the task asks for several answers, or verdicts, all of a doc's are the one that was tried.
    """
    of_doc = trial.verdicts.config.repeats * answers_judged(trial.task.config)

    def reply(slot: Slot) -> Answer | None:
        return trial.verdicts.lookup(slot._replace(repeat=slot.repeat // of_doc * of_doc))

    def given(slot: Slot) -> Answer | None:
        return Answer(answer) if (slot.task, slot.doc_id) == (trial.task.path, doc_id) else None

    verdicts = verdicts_of(trial.task, trial.verdicts.judge, reply)
    [*_, judged] = with_judges(trial.task.config, trial.scorers, {trial.verdicts.judge: verdicts})
    if isinstance(judged.grader, JudgeGrader):  # whether or not the task's rules can read the answer
        judged.grader.judge = replace(judged.grader.judge, only_unparsed=False)
    scoring = TaskScoring(trial.task, opened.styles[trial.name], [judged], given)
    list(scoring.samples([doc_id]))
    scores = scoring.aggregate(bootstrap_iters=0)
    if scores.without_grade or scores.failed:
        return 0.0
    for number in scores.numbers:
        if isinstance(number.value, (int, float)):
            return float(number.value) * (-1 if scores.better.get(number.metric) is False else 1)
    return None


def _not_there(judge: Judge, error: MMEvalError) -> ConfigError:
    """Nothing was requested from the model yet, so it is an error of the command."""
    what = error.what.removeprefix("the judge did not answer: ")
    return ConfigError(f"the judge {judge.name} does not answer: {what}", where="--judge", hint=error.hint)


# ------------------------------------------------------------------ cost
def _check_budget(
    opened: OpenedTasks, judges: Sequence[Judge], judged: Sequence[str], progress: Callable[[str], None]
) -> None:
    """Notes the estimate of each judge. ConfigError if all together are above the budget."""
    total, budget = Cost(), opened.request.judge.budget
    for judge in judges:
        assert judge.model is not None
        own = Cost()
        for name in judged:
            own += cost_of(opened.tasks[name], opened.styles[name], opened.doc_ids[name], judge.model)
        progress(f"judge {judge.name}: {own}")
        log.info("The judge %s: %s.", judge.name, own)
        if budget is not None and own.dollars is None:
            raise unknown_price(f"the judge {judge.name}", "--judge_budget", "--judge_args")
        total += own
    if budget is not None and total.dollars is not None and total.dollars > budget:
        hint = "Raise the budget, use --limit, or a cheaper judge. Replies are counted at their token cap."
        raise ConfigError(
            f"the verdicts may cost more than ${budget:,.2f}: {total}.", where="--judge_budget", hint=hint
        )


def judges_spent(judges: Sequence[Judge], state: JournalState) -> float:
    """The dollars of all replies so far, earlier launches included. state: with their tokens."""
    used = ((judge.model, state.judge_usage.get(judge.name, {})) for judge in judges)
    return sum(dollars(model, tokens) or 0.0 for model, tokens in used if model is not None)


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
