"""The second pass of a run: asks the judges for the verdicts that are missing.

Each pass asks one question a doc at most: the next step of its judge, or a reply that could not be read once more. A pass that
finds nothing to ask is the last.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from mm_eval.config.judge import JudgeConfig
from mm_eval.engine.ask import Asker
from mm_eval.engine.cache import cache_notes, open_cache
from mm_eval.engine.journal import JournalState
from mm_eval.engine.model import Model, closing_model
from mm_eval.engine.order import by_cost
from mm_eval.engine.outcome import Outcome, failure_limit, model_boundary
from mm_eval.engine.prices import budget_check
from mm_eval.judge.code import verdicts_of
from mm_eval.judge.config import answers_judged, judge_of_task
from mm_eval.judge.cost import questions_about
from mm_eval.judge.judges import RENDERED, Judge
from mm_eval.judge.scoring import rules_read_nothing
from mm_eval.judge.trial import judges_spent
from mm_eval.judge.verdicts import ASTRAY, PURE, Verdicts, is_astray
from mm_eval.open_tasks import Asking, OpenedTasks
from mm_eval.prompt.task import Task
from mm_eval.scoring.answered import scored_text
from mm_eval.scoring.of_task import scorers_of
from mm_eval.values.errors import JudgeError, MMEvalError
from mm_eval.values.types import Instance, Slot

AT_ONCE = 1024
"""Questions that are written before they are asked. The task's code may open no connection (`no_judge`), which holds for the
whole process: so it never runs while a judge's adapter opens one."""


def ask_judges(opened: OpenedTasks, judges: Sequence[Judge], asking: Asking, doc_ids: Mapping[str, list[int]]) -> None:
    """Asks the judges for the verdicts that docs of this process lack, {task: docs}."""
    state, outcome, stop, progress = asking.state, asking.outcome, asking.stop, asking.progress
    judged = answers_to_judge(opened, state, doc_ids)
    answers = sum(len(numbers) for of_task in judged.values() for numbers in of_task.values())
    requests = sum(map(len, opened.doc_ids.values())) + answers
    fail_at = failure_limit(opened.request.fail_on_error, requests)
    earlier = outcome.verdicts  # of the passes before, where a run is made in several
    verdicts = outcome.verdicts = Outcome()
    over = budget_check(
        lambda: judges_spent(judges, state),
        opened.request.judge.budget,
        "--judge_budget",
        "the verdicts have",
        asking.processes,
    )

    def failed() -> int:
        return outcome.failed + asking.elsewhere()

    def at_limit() -> bool:
        return over() is not None or fail_at is not None and verdicts.failed + failed() >= fail_at

    first_stopped: MMEvalError | None = None
    for judge in judges:
        if judge.model is None or stop.requested or first_stopped and at_limit():
            continue  # only its recorded verdicts are used, or nothing more is asked
        verdicts.stopped = None  # what ended one judge, such as its key, does not end another
        of_judge = JudgePass(opened, judge, judge.model, state, judged)
        progress.start(f"judging ({judge.name})", of_judge.total)
        with (
            closing_model(judge.model),
            open_cache(opened.request.use_cache, judge.model) as cache,
            model_boundary(verdicts),
        ):
            said = cache_notes(opened.request.use_cache, judge.model, "--judge_args", f" for judge {judge.name}")
            opened.notes += [note for note in said if note not in opened.notes]
            judge.keep_findings(asking.folder)  # of its trial, which came before the folder
            journal, tick = asking.journal, progress.tick
            asker = Asker(judge.model, journal, state, stop, tick, fail_at, cache, verdicts, failed, over)
            asker.keep = partial(asking.folder.keep_findings, name=judge.endpoint)
            of_judge.ask(asker)
        progress.stop()
        first_stopped = first_stopped or verdicts.stopped
    verdicts.stopped = first_stopped
    if earlier is not None:
        reused = verdicts.reused + earlier.reused
        verdicts.add([earlier.counts()])
        verdicts.reused = reused
    outcome.interrupted = stop.requested


@dataclass
class JudgePass:
    """One judge over the docs of this process.

    answers: {task: {doc: which of its answers are to be judged}}.
    """

    opened: OpenedTasks
    judge: Judge
    model: Model
    state: JournalState
    answers: Mapping[str, Mapping[int, Sequence[int]]]
    replies: dict[tuple[str, int, int], int] = field(default_factory=dict)
    """{(task, doc, repeat): the replies that were read when a question was last pending}."""

    @property
    def total(self) -> int:
        """The questions of this process, if every reply can be read."""
        found = 0
        for name, answers in self.answers.items():
            if (config := judge_of_task(self.opened.tasks[name].config)) is not None:
                found += sum(map(len, answers.values())) * config.repeats * self._questions(name, config)
        return found

    def _questions(self, name: str, config: JudgeConfig) -> int:
        """The questions about an answer; the most of the first docs where their number differs."""
        if config.total is None:
            return max(1, len(config.steps))
        task = self.opened.tasks[name]
        texts = task.docs.texts(list(self.answers[name])[:RENDERED])
        return max((len(questions_about(task, doc_id, doc, "answer")) for doc_id, doc in texts), default=1)

    def ask(self, asker: Asker) -> None:
        """Asks until nothing is pending. Replies that stay unreadable count as failed requests."""
        tried: set[Slot] = set()
        unread: set[Slot] = set()
        self.replies = {}
        asked = -1
        while not asker.halted and asked != len(tried):
            asked, pending = len(tried), self.pending(tried, unread, asker.outcome)
            while not asker.halted and (some := list(islice(pending, AT_ONCE))):
                asker.ask(by_cost(some))
            if asker.fail_at is not None:
                asker.outcome.hold_to(asker.fail_at, asker.failed_elsewhere())

    def pending(self, tried: set[Slot], unread: set[Slot], outcome: Outcome) -> Iterator[Instance]:
        """The next question of each doc that has one pending, if it was not asked in this launch.

        tried: gets the slots of these. unread: gets those with the last reply to a doc, where that can't be read.
        """
        first = not tried
        for name, answers in self.answers.items():
            task, retries = self.opened.tasks[name], self.opened.request.judge.retries
            verdicts = verdicts_of(task, self.judge.name, self.state.lookup, retries, self.model.facts.chat, asks=True)
            for doc_id, doc in task.docs.texts(list(answers)):
                for answer, repeat in self._verdicts(task, doc_id, answers[doc_id], verdicts):
                    chain = verdicts.chain(doc_id, doc, answer, repeat)
                    outcome.reused += sum(int(row["attempts"]) for row in chain.rows) if first else 0
                    if chain.pending is not None:
                        if chain.pending.slot not in tried:
                            if is_astray(chain, self.replies, (name, doc_id, repeat)):
                                raise JudgeError(ASTRAY, where=f"{task.path} doc {doc_id}", hint=PURE)
                            tried.add(chain.pending.slot)
                            yield chain.pending
                    elif chain.unreadable in tried and chain.unreadable not in unread:
                        unread.add(chain.unreadable)
                        outcome.failed += 1

    def _verdicts(
        self, task: Task, doc_id: int, numbers: Sequence[int], verdicts: Verdicts
    ) -> Iterator[tuple[str, int]]:
        """(answer, which of the doc's verdicts) of each verdict on the answers of a doc that are there."""
        for number in numbers:
            answer = self.state.lookup(Slot(task.path, doc_id, number))
            if answer is not None and answer.error is None:
                yield from ((scored_text(answer), repeat) for repeat in verdicts.repeats_of(number))


def answers_to_judge(
    opened: OpenedTasks, state: JournalState, mine: Mapping[str, list[int]]
) -> dict[str, dict[int, list[int]]]:
    """{task: {doc: which of its answers are judged}}. mine: {task: docs of this process}."""
    found: dict[str, dict[int, list[int]]] = {}
    for name, task in opened.tasks.items():
        if (judge := judge_of_task(task.config)) is None:
            continue
        numbers = range(answers_judged(task.config))
        there = {
            doc_id: of_doc
            for doc_id in mine[name]
            if (of_doc := [number for number in numbers if state.answer(Slot(task.path, doc_id, number)) is not None])
        }
        found[name] = _unread(opened, name, task, there, state) if judge.only_unparsed else there
    return found


def _unread(
    opened: OpenedTasks, name: str, task: Task, there: Mapping[int, list[int]], state: JournalState
) -> dict[int, list[int]]:
    """The answers that the task's own rules could not read. there: those that are recorded."""
    [scorer] = scorers_of(task.config)  # of its own: the rules of the run's scorers may draw at random
    by_answer: dict[int, dict[int, list[Instance]]] = {}
    unread: dict[int, list[int]] = {}

    def read() -> None:
        for number, by_doc in by_answer.items():
            for doc_id, doc in scorer.run_docs(by_doc).items():
                if rules_read_nothing(doc):
                    unread.setdefault(doc_id, []).append(number)
        by_answer.clear()

    at_once = len(there) if scorer.filter.needs_all_docs else 512
    for instances in task.requests(list(there), opened.styles[name], lambda doc_id: None):
        for instance in instances:
            found = state.lookup(instance.slot)
            if found is not None and found.error is None and instance.error is None:
                instance.resps = [scored_text(found)]
                by_answer.setdefault(instance.repeat, {})[instance.doc_id] = [instance]
        if max(map(len, by_answer.values()), default=0) >= at_once:
            read()
    read()
    return {doc_id: unread[doc_id] for doc_id in there if doc_id in unread}
