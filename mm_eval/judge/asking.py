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
from mm_eval.judge.config import judge_of_task
from mm_eval.judge.cost import questions_about
from mm_eval.judge.judges import RENDERED, Judge
from mm_eval.judge.scoring import rules_read_nothing
from mm_eval.judge.trial import judges_spent
from mm_eval.judge.verdicts import ASTRAY, PURE, is_astray
from mm_eval.open_tasks import Asking, OpenedTasks
from mm_eval.prompt.task import Task
from mm_eval.scoring.answered import scored_text
from mm_eval.scoring.of_task import scorers_of
from mm_eval.values.errors import JudgeError, MMEvalError
from mm_eval.values.types import Instance, ScoredDoc, Slot

AT_ONCE = 1024
"""Questions that are written before they are asked. The task's code may open no connection (`no_judge`), which holds for the
whole process: so it never runs while a judge's adapter opens one."""


def ask_judges(opened: OpenedTasks, judges: Sequence[Judge], asking: Asking) -> None:
    """Asks the judges for the verdicts that the docs of this process lack."""
    state, outcome, stop, progress = asking.state, asking.outcome, asking.stop, asking.progress
    judged = docs_to_judge(opened, state, asking.doc_ids)
    requests = sum(map(len, [*opened.doc_ids.values(), *judged.values()]))
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
            said = cache_notes(opened.request.use_cache, judge.model, "--judge_args", f" of judge {judge.name}")
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

    doc_ids: {task: docs with an answer that is to be judged}.
    """

    opened: OpenedTasks
    judge: Judge
    model: Model
    state: JournalState
    doc_ids: Mapping[str, list[int]]
    replies: dict[tuple[str, int, int], int] = field(default_factory=dict)
    """{(task, doc, repeat): the replies that were read when a question was last pending}."""

    @property
    def total(self) -> int:
        """The questions of this process, if every reply can be read."""
        found = 0
        for name, ids in self.doc_ids.items():
            config = judge_of_task(self.opened.tasks[name].config)
            found += len(ids) * config.repeats * self._questions(name, config) if config else 0
        return found

    def _questions(self, name: str, config: JudgeConfig) -> int:
        """The questions about an answer; the most of the first docs where their number differs."""
        if config.total is None:
            return max(1, len(config.steps))
        task = self.opened.tasks[name]
        texts = task.docs.texts(self.doc_ids[name][:RENDERED])
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
        for name, ids in self.doc_ids.items():
            task, retries = self.opened.tasks[name], self.opened.request.judge.retries
            verdicts = verdicts_of(task, self.judge.name, self.state.lookup, retries, self.model.facts.chat, asks=True)
            for doc_id, doc in task.docs.texts(ids):
                answer = self.state.lookup(Slot(task.path, doc_id))
                answered = answer is not None and answer.error is None
                for repeat in range(verdicts.config.repeats if answered else 0):
                    chain = verdicts.chain(doc_id, doc, scored_text(answer) if answer else "", repeat)
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


def docs_to_judge(opened: OpenedTasks, state: JournalState, mine: Mapping[str, list[int]]) -> dict[str, list[int]]:
    """{task: docs of this process whose answers are judged}. mine: {task: docs of this process}."""
    found: dict[str, list[int]] = {}
    for name, task in opened.tasks.items():
        if (judge := judge_of_task(task.config)) is None:
            continue
        ids = [doc_id for doc_id in mine[name] if state.answer(Slot(task.path, doc_id)) is not None]
        found[name] = list(_unread(opened, name, task, ids, state)) if judge.only_unparsed else ids
    return found


def _unread(opened: OpenedTasks, name: str, task: Task, ids: list[int], state: JournalState) -> Iterator[int]:
    """The docs whose answers the task's own rules could not read."""
    [scorer] = scorers_of(task.config)  # of its own: the rules of the run's scorers may draw at random
    by_doc: dict[int, list[Instance]] = {}

    def unread() -> Iterator[int]:
        scored: Mapping[int, ScoredDoc] = scorer.run_docs(by_doc) if by_doc else {}
        yield from (doc_id for doc_id, doc in scored.items() if rules_read_nothing(doc))
        by_doc.clear()

    at_once = len(ids) if scorer.filter.needs_all_docs else 512
    for instance in task.instances(ids, opened.styles[name], lambda doc_id: None):
        found = state.lookup(instance.slot)
        if found is not None and found.error is None and instance.error is None:
            instance.resps = [scored_text(found) if instance.request_type == "generate_until" else found.output]
            by_doc.setdefault(instance.doc_id, []).append(instance)
        if len(by_doc) >= at_once:
            yield from unread()
    yield from unread()
