"""Which requests of a run have no answer yet, and which of them this process makes. No picture is decoded for it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from mm_eval.engine.folder import shows_by_code
from mm_eval.engine.journal import JournalState
from mm_eval.engine.launch import Launch
from mm_eval.engine.model import Model, request_key
from mm_eval.prepare import Prepared
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Answer, End, Instance, Slot


@dataclass(frozen=True)
class Pending:
    """What this process still has to request.

    doc_ids: {task: docs with a slot that has no answer}. answered: answers that this process's other docs have.
    share: all requests of this process, answered or not; total: of all processes.
    mine: {task: docs of this process}, answered or not: the parts of the run ask about them here, too.
    """

    prepared: Prepared
    doc_ids: dict[str, list[int]]
    answered: int
    share: int
    total: int
    mine: dict[str, list[int]]

    def instances(self) -> Iterator[Instance]:
        """The instances of the pending docs, task by task.

        A model that finds out with the first request what its endpoint takes gets a question with a picture first, and then one
        of each other kind: what it can't answer is found before the rest is asked.
        """
        first = self._first_docs() if self.prepared.model.facts.tries_first else {}
        for name, doc_id in first.items():
            yield from self.prepared.tasks[name].instances([doc_id], self.prepared.styles[name])
        for name, task in self.prepared.tasks.items():
            doc_ids = self.doc_ids[name]
            if name in first:
                doc_ids = [doc_id for doc_id in doc_ids if doc_id != first[name]]
            yield from task.instances(doc_ids, self.prepared.styles[name])

    def requests_of(self, name: str) -> int:
        """How many requests the pending docs of a task make, those of them included that have an answer."""
        return len(self.prepared.first_requests(name)) * len(self.doc_ids[name])

    def requests(self, name: str, doc_ids: Sequence[int]) -> Iterator[Instance]:
        """The instances of those of some docs of a task that are pending, in this order."""
        pending = set(self.doc_ids[name]).intersection(doc_ids)
        task, style = self.prepared.tasks[name], self.prepared.styles[name]
        yield from task.instances([doc_id for doc_id in doc_ids if doc_id in pending], style)

    def _first_docs(self) -> dict[str, int]:
        """{task: its first pending doc} of one task for each kind of request; those with pictures come first."""
        tasks = [(name, task) for name, task in self.prepared.tasks.items() if self.doc_ids[name]]
        tasks.sort(key=lambda each: not each[1].has_pictures)
        kinds: dict[str, str] = {}
        for name, task in tasks:
            kinds.setdefault(task.config.output_type, name)
        return {name: self.doc_ids[name][0] for name in kinds.values()}


def find_pending(prepared: Prepared, state: JournalState, launch: Launch, changed: Collection[str] = ()) -> Pending:
    """Compares the docs of a run with its journal. Errors: as `_pending_docs`.

    changed: tasks whose file or functions have changed since the run began.
    """
    tasks = prepared.tasks
    mine = {name: launch.docs_of(task, prepared.doc_ids[name], state) for name, task in tasks.items()}
    found = {name: _pending_docs(prepared, name, mine[name], state, name in changed) for name in tasks}
    sizes = {name: len(prepared.first_requests(name)) for name in tasks}  # each doc of a task makes as many
    return Pending(
        prepared,
        {name: pending for name, (pending, _) in found.items()},
        answered=sum(answered for _, answered in found.values()),
        share=sum(sizes[name] * len(mine[name]) for name in tasks),
        total=sum(sizes[name] * len(prepared.doc_ids[name]) for name in tasks),
        mine=mine,
    )


def _pending_docs(
    prepared: Prepared, name: str, doc_ids: list[int], state: JournalState, changed: bool
) -> tuple[list[int], int]:
    """The docs with a slot that has no answer, and how many answers the others have. A conversation counts as one.

    changed: the task's file or functions may make other questions. Where its functions choose the pictures, those of the answered
        docs are decoded and compared; otherwise they are taken to be the recorded ones. The later turns of conversations are made
        again and compared.
    Errors: ConfigError if a recorded answer is to another question than the doc makes now. A changed function of the task, or
        a changed file that only its functions read, can cause this.
    """
    task, answered = prepared.tasks[name], 0
    with_pictures = changed and shows_by_code(task.config)
    begun = [doc_id for doc_id in doc_ids if state.answer(Slot(task.path, doc_id)) is not None]
    if not begun:
        return sorted(doc_ids), 0
    pending = set(doc_ids).difference(begun)

    def turns_shown(doc_id: int) -> tuple[str, ...]:
        found = state.answer(Slot(task.path, doc_id))
        return () if found is None else found.shown

    style = prepared.styles[name]
    instances = task.instances(begun, style, None if with_pictures else turns_shown)
    for doc_id, group in groupby(instances, key=lambda instance: instance.doc_id):
        answers = 0
        for instance in group:
            found = state.answer(instance.slot)
            if found is None:
                pending.add(doc_id)
                continue
            answers += 1
            if instance.error is not None and not with_pictures:
                continue
            if not with_pictures:
                instance.image_digests, instance.clips, instance.heard = found.images, found.clips, found.heard
            if instance.error is not None:
                raise _other_question(instance)
            key = request_key(prepared.model, instance)
            if found.key != key and (found := state.find(instance.slot, key)) is None:
                raise _other_question(instance)
            if instance.then is not None and not state.complete(instance.slot):
                pending.add(doc_id)
            elif instance.then is not None and changed:
                _check_turns(prepared.model, state, instance, found)
        if doc_id not in pending:
            answered += answers
    return sorted(pending), answered


def _check_turns(model: Model, state: JournalState, first: Instance, answer: Answer) -> None:
    """ConfigError if a later turn of a complete conversation, or its end, is another one than the task makes now."""
    instance, found = first, answer
    while True:
        assert instance.then is not None
        following = instance.then(instance, found)
        if isinstance(following, End):
            if following != state.ends[first.slot]:
                raise _other_question(instance)
            return
        recorded = state.answer(following.slot)
        if following.error is not None or recorded is None or recorded.key != request_key(model, following):
            raise _other_question(following)
        instance, found = following, recorded


def _other_question(instance: Instance) -> ConfigError:
    """The error that a recorded answer is to another question than the one of an instance."""
    hint = "The task's functions, or a file that they read, must have changed; give the run another --output_path."
    what = "the recorded answer is to another question than the one that this document makes now"
    what += f" ({instance.error.what})." if instance.error is not None else "."
    turn = f", turn {instance.turn + 1}" if instance.turn else ""
    return ConfigError(what, where=f"{instance.task} doc {instance.doc_id}{turn}", hint=hint)
