"""What a judge says of answers whose worth is known: the gold answer must pass; an empty one, "I don't know." and the gold
answer of another doc must fail. Prompts that show a pair of answers are asked in both orders.

The questions are ordinary ones with ordinary slots: they are recorded in the run's journal, and a second launch asks nothing.
A slot holds a digest of the prompt, so that none of these replies is taken for a verdict on the model's answer.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path

from mm_eval.engine.ask import Asker
from mm_eval.engine.folder import RunFolder
from mm_eval.engine.journal import Journal, JournalState, read_journal
from mm_eval.engine.model import closing_model
from mm_eval.engine.outcome import Outcome, StopSignal
from mm_eval.engine.own_runs import is_own
from mm_eval.engine.progress import Progress
from mm_eval.judge.config import judge_of_task
from mm_eval.judge.injections import STYLES, best_reply, injected
from mm_eval.judge.judges import EXEMPT, Judge, for_scoring, judges_of, named_by
from mm_eval.judge.recorded_quality import Finding, position
from mm_eval.judge.verdicts import (
    ASTRAY,
    PURE,
    Chain,
    Verdicts,
    is_astray,
    shown_answer,
)
from mm_eval.open_tasks import OpenedTasks
from mm_eval.prepare import prepare_from_spec
from mm_eval.prompt.task import Task
from mm_eval.request import JudgeRequest
from mm_eval.results.file import read_run
from mm_eval.scoring.answered import scored_text
from mm_eval.scoring.gold import gold_texts
from mm_eval.scoring.metrics.paired import right_or_wrong
from mm_eval.scoring.metrics.stderr import share_interval
from mm_eval.scoring.score_task import TaskScoring
from mm_eval.trust import check_named, trusted_request
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Answer, Instance, Slot
from mm_eval.values.words import counted

KNOWS_NOTHING = "I don't know."
GOLD, EMPTY, NOTHING, OTHER, PAIR, INJECTED = "gold", "empty", "nothing", "other", "pair", "injected"
WORTHLESS = {EMPTY: "", NOTHING: KNOWS_NOTHING}
CHECKS = {
    GOLD: "gold answers pass",
    EMPTY: "empty answers fail",
    NOTHING: f'"{KNOWS_NOTHING}" fails',
    OTHER: "another document's gold answer fails",
}


@dataclass(frozen=True)
class Probe:
    """An answer whose worth is known, or (kind PAIR) the model's own, to be asked in both orders.

    style: of the instruction that an INJECTED answer ends with; `wrong` is that answer without it.
    """

    kind: str
    doc_id: int
    answer: str
    style: str = ""
    wrong: str = ""


@dataclass
class Quality:
    """What the judge said. findings: by task. left_out: why parts are missing. outcome: of the requests."""

    judge: str = ""
    findings: dict[str, list[Finding]] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)
    outcome: Outcome = field(default_factory=Outcome)
    unanswered: int = 0

    @property
    def said(self) -> str:
        """How many questions were asked, in a sentence; empty where no judge was to be asked."""
        count = self.outcome.answered + self.outcome.failed
        if not self.judge or not self.findings:
            return ""
        if self.outcome.stopped is not None:
            return f"{self.judge} stopped answering: {self.outcome.stopped}"
        return (
            f"{self.judge} was asked {counted(count, 'question')}."
            if count
            else "Nothing was asked: all replies are in the journal."
        )

    @property
    def exit_code(self) -> int:
        """3 where the judge did not answer everything, 130 after an interrupt."""
        return 130 if self.outcome.interrupted else 3 if self.unanswered or self.outcome.stopped else 0


def ask_the_judge(
    path: Path,
    judge: JudgeRequest,
    docs: int,
    progress: Progress,
    only: Sequence[str] = (),
    include_path: str | None = None,
    trust_run: bool = False,
) -> Quality:
    """Asks the judge of a run about answers to `docs` docs of each judged task.

    judge: another one that is asked instead, with its arguments; without its model the run's first one is asked.
    include_path: a folder with task code that is trusted. trust_run: the judge that the folder names is, whoever made it.
    Errors: ConfigError if the judge or the data can't be opened; UntrustedRun for a judge that another user named.
    """
    folder = RunFolder(path)
    recorded = read_run(path)
    known = [Judge.from_json(entry) for entry in recorded.get("judges", ())]
    if not judge.models and known:
        if not trust_run:
            entry = recorded["judges"][0]
            marked = is_own(named_by(entry), entry.get("mark"))
            check_named("--judge", known[0].adapter, known[0].args, marked, path)
        judge = JudgeRequest(models=(known[0].adapter,), args=({**known[0].args, "name": known[0].name},))
    request = trusted_request(recorded["request"], include_path, path)
    request = for_scoring(request, replace(request.judge, models=judge.models, args=judge.args, left_out=False))
    quality = Quality()
    if not judges_of(request):
        quality.left_out.append("the checks that ask the judge: no judge is recorded. Name one: --judge, --judge_args.")
        return quality
    opened = prepare_from_spec(request, recorded["spec"])
    assert opened.judging is not None  # the request names one
    asked = opened.judging.judges[0]
    quality.judge = asked.name
    if asked.adapter in EXEMPT:
        quality.left_out.append("the checks that ask the judge: a file of recorded verdicts can't judge other answers.")
        return quality
    same = next((entry for entry in known if entry.name == asked.name), None)
    if same is not None and not same.is_model_of(asked):
        hint = f"Give this one another name: --judge_args name={asked.name}-2,..."
        raise ConfigError(
            f"the folder has verdicts of another judge called {asked.name!r}.", where=str(path), hint=hint
        )
    with folder.locked():
        folder.hold_files(opened.picture_files)
        with StopSignal().listening() as stop, closing(Journal(path)) as journal:
            state = read_journal(path, opened.conversations)
            asked.recall(folder)
            _ask(opened, asked, state, journal, stop, docs, progress, quality, only)
            asked.keep_findings(folder)
    return quality


def _ask(
    opened: OpenedTasks,
    judge: Judge,
    state: JournalState,
    journal: Journal,
    stop: StopSignal,
    docs: int,
    progress: Progress,
    quality: Quality,
    only: Sequence[str],
) -> None:
    model = judge.model
    assert model is not None
    trials: list[_Trial] = []
    for name, task in opened.tasks.items():
        if judge_of_task(task.config) is not None and (not only or name in only):
            verdicts = Verdicts(
                task, judge.name, state.lookup, opened.request.judge.retries, model.facts.chat, asks=True
            )
            trials.append(_Trial(opened, name, task, verdicts, _probes(opened, name, task, state, docs)))
    progress.start(f"asking the judge {judge.name}", sum(len(trial.probes) for trial in trials))
    asked: set[Slot] = set()
    with closing_model(model):
        asker = Asker(model, journal, state, stop, progress.tick, outcome=quality.outcome)
        while not asker.halted:
            pending = [instance for trial in trials for instance in trial.pending(asked)]
            if not pending:
                break
            asked |= {instance.slot for instance in pending}
            asker.ask(pending)
    progress.stop()
    for trial in trials:
        quality.findings[trial.name] = list(trial.findings())
        quality.unanswered += trial.unanswered
        if trial.why_no_gold:
            quality.left_out.append(f"{trial.name}: {trial.why_no_gold}")


def _probes(opened: OpenedTasks, name: str, task: Task, state: JournalState, docs: int) -> list[Probe]:
    """Up to `docs` docs in an order that chance gives once, with the answers to try on each: more docs keep the first ones."""
    spread, found = list(opened.doc_ids[name]), list[Probe]()
    random.Random(0).shuffle(spread)
    gold: dict[int, str] = {}
    for instance in task.instances(spread, opened.styles[name], lambda doc_id: None):
        if len(gold) == docs:
            break
        texts = gold_texts(task, opened.styles[name], instance) if instance.error is None else []
        if instance.repeat == 0 and texts and texts[0].strip():
            gold[instance.doc_id] = texts[0]
    for doc_id, text in gold.items():
        later = [*list(gold)[list(gold).index(doc_id) + 1 :], *gold]
        others = (gold[other] for other in later if gold[other].strip().lower() != text.strip().lower())
        found += [Probe(GOLD, doc_id, text), *(Probe(kind, doc_id, said) for kind, said in WORTHLESS.items())]
        other = next(others, None)
        found += [Probe(OTHER, doc_id, other)] if other is not None else []
        found += _injected(task, doc_id, KNOWS_NOTHING if other is None else other)
    if not gold:
        found += [Probe(kind, doc_id, said) for doc_id in spread[:docs] for kind, said in WORTHLESS.items()]
        found += [probe for doc_id in spread[:docs] for probe in _injected(task, doc_id, KNOWS_NOTHING)]
    judged = judge_of_task(task.config)
    if judged is not None and len(judged.steps) == 1 and judged.steps[0].is_pairwise:
        for doc_id in spread:
            answer = state.lookup(Slot(task.path, doc_id))
            if answer is not None and answer.error is None and shown_answer(text := scored_text(answer)).strip():
                found.append(Probe(PAIR, doc_id, text))
            if sum(probe.kind == PAIR for probe in found) == docs:
                break
    return found


def _injected(task: Task, doc_id: int, wrong: str) -> list[Probe]:
    """A wrong answer to a doc with each style of instruction to the judge."""
    config = judge_of_task(task.config)
    assert config is not None
    verdict = best_reply(config, task.docs.text(doc_id))
    return [Probe(INJECTED, doc_id, text, style, wrong) for style, text in injected(wrong, verdict).items()]


@dataclass
class _Trial:
    """The probes of one task, and what the judge says of them."""

    opened: OpenedTasks
    name: str
    task: Task
    verdicts: Verdicts
    probes: list[Probe]
    replies: dict[tuple[int, int], int] = field(default_factory=dict)
    unanswered: int = 0

    @property
    def why_no_gold(self) -> str:
        if any(probe.kind == GOLD for probe in self.probes):
            return ""
        return "no gold answer is known, so neither it nor that of another document was tried."

    def chains(self, probe: Probe) -> list[Chain]:
        """The verdict on a probe; of a pair those of both orders."""
        orders = [self.verdicts, *([replace(self.verdicts, swapped=True)] if probe.kind == PAIR else [])]
        return [each.chain(probe.doc_id, self.task.docs.text(probe.doc_id), probe.answer) for each in orders]

    def pending(self, asked: Set[Slot]) -> Iterator[Instance]:
        """The next question of each probe that was not asked yet."""
        for number, probe in enumerate(self.probes):
            for of_probe, chain in enumerate(self.chains(probe)):
                if chain.pending is None or chain.pending.slot in asked:
                    continue
                if is_astray(chain, self.replies, (number, of_probe)):
                    raise ConfigError(ASTRAY, where=self.name, hint=PURE)
                yield chain.pending

    def findings(self) -> Iterator[Finding]:
        for kind, check in CHECKS.items():
            of_kind = [probe for probe in self.probes if probe.kind == kind]
            if of_kind:
                yield self._checked(check, of_kind)
        if any(probe.kind == INJECTED for probe in self.probes):
            yield self._injections()
        pairs = [probe for probe in self.probes if probe.kind == PAIR]
        if pairs:
            yield from self._flips(pairs)

    def _checked(self, check: str, probes: list[Probe]) -> Finding:
        """How many of the probes are judged as they should be."""
        wanted = probes[0].kind == GOLD
        said: dict[int, bool | None] = {}
        classes: Counter[str] = Counter()
        unreadable = 0
        for probe in probes:
            [chain] = self.chains(probe)
            if not self._has_verdict(chain):
                said[probe.doc_id] = None
                unreadable += chain.unreadable is not None
                continue
            share = self._share(probe.doc_id, chain.value)
            if share is None:
                classes[str(chain.value)] += 1
            else:
                said[probe.doc_id] = self._passes(share) == wanted
        if classes:
            counted = ", ".join(f"{name}: {count}" for name, count in classes.most_common())
            return Finding(
                check, counted, docs=classes.total(), note="these verdicts are classes: judge them yourself."
            )
        missing = [doc_id for doc_id, fits in said.items() if fits is None]
        self.unanswered += len(missing)
        marks = [fits for fits in said.values() if fits is not None]
        notes = [f"{unreadable} of {len(said)} replies can't be read"] if unreadable else []
        notes += [f"{len(missing) - unreadable} of {len(said)} were not answered"] if len(missing) > unreadable else []
        if probes[0].kind == EMPTY:
            notes.insert(0, "an empty answer is not sent: the task states its verdict")
        bad = tuple(doc_id for doc_id, fits in said.items() if not fits)
        if not marks:
            return Finding(check, "no verdict", doc_ids=bad, note="; ".join(notes))
        value = sum(marks) / len(marks)
        return Finding(
            check,
            f"{sum(marks)} of {len(marks)}",
            value,
            share_interval(marks),
            len(marks),
            bad,
            "; ".join(notes),
            True,
        )

    def _passes(self, share: float) -> bool:
        """Whether a verdict calls an answer right: above the middle of its range; of a pair, a tie is enough."""
        pairwise = bool(self.verdicts.config.steps) and self.verdicts.config.steps[-1].is_pairwise
        return share >= (0.5 - 1e-9 if pairwise else 0.5 + 1e-9)

    def _injections(self) -> Finding:
        """How many verdicts on wrong answers an appended instruction flips: from wrong to right, or to another class."""
        by_style: dict[str, list[bool]] = {style: [] for style in STYLES}
        marks, clusters, unanswered, passed = list[bool](), list[int](), 0, set[int]()
        for probe in self.probes:
            if probe.kind != INJECTED:
                continue
            [found] = self.chains(probe)
            [plain] = self.chains(replace(probe, answer=probe.wrong))
            if not self._has_verdict(found) or not self._has_verdict(plain):
                unanswered += 1
                continue
            share, before = self._share(probe.doc_id, found.value), self._share(probe.doc_id, plain.value)
            if before is not None and self._passes(before):
                passed.add(probe.doc_id)
                continue
            flipped = str(found.value) != str(plain.value) if share is None else self._passes(share)
            by_style[probe.style].append(flipped)
            marks.append(flipped)
            clusters.append(probe.doc_id)
        self.unanswered += unanswered
        check = "instructions in a wrong answer flip its verdict"
        notes = (
            [f"{counted(len(passed), 'document')} left out, whose wrong answer passes without any"] if passed else []
        )
        notes += [f"{unanswered} of {unanswered + len(marks)} have no verdict"] if unanswered else []
        if not marks:
            return Finding(check, "no verdict", note="; ".join(notes))
        bad = tuple(dict.fromkeys(doc_id for doc_id, flipped in zip(clusters, marks, strict=True) if flipped))
        shares = (f"{style} {sum(found)} of {len(found)}" for style, found in by_style.items() if any(found))
        notes = [", ".join(shares), *notes] if bad else notes
        result = f"{sum(marks)} of {len(marks)}"
        interval = share_interval(marks, clusters)
        return Finding(
            check, result, sum(marks) / len(marks), interval, len(set(clusters)), bad, "; ".join(notes), True
        )

    def _has_verdict(self, chain: Chain) -> bool:
        """Whether a verdict is known. A judge that extracts may find nothing in a wrong answer, which is one."""
        return chain.value is not None or (self.verdicts.config.extracts and chain.unreadable is not None)

    def _share(self, doc_id: int, verdict: object) -> float | None:
        """Where a verdict stands between the lowest (0) and the highest (1); None for a class."""
        config = self.verdicts.config
        if config.extracts:
            return self._score(doc_id, str(verdict or ""))
        share = position(config, self.task.docs.text(doc_id), verdict)
        stated = next((entry for entry in config.metric_list if entry.get("metric") in config.metrics[:1]), {})
        return share if share is None or stated.get("higher_is_better") is not False else 1 - share

    def _score(self, doc_id: int, extracted: str) -> float | None:
        """The score that the task's own rules give to what the judge read."""
        scorers, style = self.opened.scorers[self.name], self.opened.styles[self.name]
        scoring = TaskScoring(self.task, style, scorers, lambda slot: Answer(extracted))
        [row] = scoring.samples([doc_id])
        marks = [right_or_wrong(value) for value in row["scores"].values()]
        return next((float(mark) for mark in marks if mark is not None), None)

    def _flips(self, pairs: list[Probe]) -> Iterator[Finding]:
        """Pairs whose preference changes with their order; such a flip is a tie."""
        both: dict[int, tuple[object, object]] = {}
        missing = 0
        for probe in pairs:
            first, second = self.chains(probe)
            if first.value is None or second.value is None:
                missing += 1
            else:
                both[probe.doc_id] = first.value, second.value
        self.unanswered += missing
        note = f"{missing} of {len(pairs)} have no verdict in one of the orders." if missing else ""
        marks = [self._side(doc_id, a) == self._side(doc_id, b) for doc_id, (a, b) in both.items()]
        check = "pairs keep their preference in the other order"
        if not both:
            yield Finding(check, "no verdict", note=note)
            return
        flipped = tuple(doc_id for doc_id, same in zip(both, marks, strict=True) if not same)
        said = f"{sum(marks)} of {len(marks)}, {len(flipped)} flips"
        yield Finding(check, said, sum(marks) / len(marks), share_interval(marks), len(marks), flipped, note, True)
        shares = {doc_id: [self._share(doc_id, value) for value in values] for doc_id, values in both.items()}
        if any(share is None for of_doc in shares.values() for share in of_doc):
            return
        asked, other = ([of_doc[place] or 0.0 for of_doc in shares.values()] for place in (0, 1))
        tied = [0.5 if doc_id in flipped else (a + b) / 2 for doc_id, a, b in zip(shares, asked, other, strict=True)]
        means = [sum(values) / len(values) for values in (asked, other, tied)]
        result = "{:.4f}, in the other order {:.4f}, a flip as a tie {:.4f}".format(*means)
        yield Finding("  mean preference (0.5 is a tie)", result, means[2], None, len(both))

    def _side(self, doc_id: int, verdict: object) -> object:
        """Which of the two a verdict prefers: the side of the middle of its range, or the class itself."""
        share = self._share(doc_id, verdict)
        return str(verdict) if share is None else (share > 0.5 + 1e-9) - (share < 0.5 - 1e-9)
