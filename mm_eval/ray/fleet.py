"""One model on many machines: a `Model` whose requests are cut into blocks and answered by workers.

The asking process stays the only one that plans, deduplicates and writes the journal; to it the fleet is a model like any other.
A block is whole groups of requests that share a doc or pictures. A worker holds leases on two blocks: the first is answered, the
second is on its way. Free workers pull, so a slow one gets less. What a lost worker left unanswered is asked elsewhere; a request
that kills workers is cut out of its block and fails alone.

A `Cluster` starts the workers and carries what is said.
"""

from __future__ import annotations

import json
import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import count

from mm_eval.data.media import encoded
from mm_eval.engine.model import (
    Answers,
    Model,
    ModelFacts,
    Preview,
    account,
    another_of,
    check,
    create_model,
    dollars,
    expect,
    shares,
    show,
)
from mm_eval.engine.served import as_recorded
from mm_eval.ray.blocks import Block, Held, blocks_of
from mm_eval.ray.worker import Cluster, Event, code_of, differences, row_of
from mm_eval.values.errors import ConfigError, MMEvalError, ModelError
from mm_eval.values.types import Instance, JsonObject

log = logging.getLogger(__name__)
WINDOW, LOADS = 2, 3
"""Blocks that a worker holds at most; workers that may die one after another while they load the model."""
PATIENCE = 60.0
"""Seconds after which a run says that it waits for room."""
KEPT = 10.0
"""Seconds that an idle worker is kept at least; a model that loads longer is kept for as long as that took."""


class Fleet(Model):
    """`model`, never prepared here, on `size` workers. timeout: seconds of silence after which a worker is replaced.

    join: joins or starts the cluster once a worker is needed; gets what makes the model on a worker.
    """

    def __init__(
        self,
        model: Model,
        join: Callable[[Callable[[], Model]], Cluster],
        size: int,
        timeout: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        super().__init__(model.args, model.settings)
        self.model, self.join, self.size, self.timeout, self.clock = model, join, size, timeout, clock
        self.machines: dict[str, int] = {}
        self._cluster: Cluster | None = None
        self._workers: dict[int, Held] = {}
        self._numbers, self._leases = count(1), count(1)
        self._known: dict[str, object] | None = None
        self._stated: ModelFacts | None = None
        self._expected: dict[str, object] | None = None
        self._ever_loaded = self._stopping = self._finishing = False
        self._places, self._died_loading = size, 0

    # ------------------------------------------------------------------ what is known of the model without its weights
    @property
    def facts(self) -> ModelFacts:
        """The model's, those of the worker that spoke first once there is one. `ran_on` counts all of them."""
        ran_on = {**self.model.facts.ran_on, "workers": dict(sorted(self.machines.items()))}
        return replace(self._stated or self.model.facts, elsewhere=True, ran_on=ran_on)

    @facts.setter
    def facts(self, facts: ModelFacts) -> None:
        if self._known is None and facts.constants:
            self._expected = dict(facts.constants)
        self._stated = self.model.facts = facts

    def _another(self) -> Model:
        found = Fleet(another_of(self.model), self.join, self.size, self.timeout, self.clock)
        expect(found, self._expected or {})
        return found

    def _expect(self, constants: Mapping[str, object]) -> None:
        if not self.facts.constants:
            expect(self.model, constants)
            super()._expect(constants)

    def _measured(self) -> ModelFacts:
        self._identify()
        return self.facts

    def _shares(self, instance: Instance) -> bool:
        return shares(self.model, instance)

    def _dollars(self, usage: Mapping[str, int]) -> float | None:
        return dollars(self.model, usage)

    def _account(self, usage: Mapping[str, int]) -> str:
        return account(self.model, usage)

    def check(self, first: Sequence[Instance], more: Iterable[Instance] = ()) -> None:
        check(self.model, first, more)

    def show(self, instance: Instance) -> Preview:
        return show(self.model, instance)

    def identity(self, instance: Instance) -> Mapping[str, object]:
        self._identify()
        return self.model.identity(instance)

    def describe(self) -> Mapping[str, object]:
        self._identify()
        return self.model.describe()

    def _identify(self) -> None:
        """Waits for a worker to say what decides the answers, if only the machine of the weights knows that."""
        if self.facts.local and self._known is None and self._expected is None:
            self._wait(lambda: self._known is not None)

    # ------------------------------------------------------------------ asking
    def prepare(self) -> None:
        """Starts the workers and waits until one has loaded the model."""
        self._wait(lambda: self._stopping or any(worker.loaded for worker in self._workers.values()))

    def _wait(self, there: Callable[[], bool]) -> None:
        """Starts the workers and hears them until something is there."""
        self._staff()
        tell = self.clock() + PATIENCE
        while not there():
            list(self._heard(0.5, deque()))
            if tell < self.clock() and all(worker.heard is None for worker in self._workers.values()):
                log.warning("No worker has found room on the cluster yet; they keep waiting.")
                tell = float("inf")

    def close(self) -> None:
        if self._cluster is not None and self._workers:
            self._cluster.kill(list(self._workers), gently=True)
        self._workers.clear()
        self._stopping = False

    def stop(self, at_once: bool) -> None:
        if at_once:  # a signal handler calls this: what follows is done between two events
            self._stopping = True
        else:
            self._finishing = True

    def generate(self, instances: Iterable[Instance]) -> Answers:
        return self._asked(instances)

    loglikelihood = loglikelihood_rolling = generate

    def _asked(self, instances: Iterable[Instance]) -> Answers:
        source, again, more, ends = blocks_of(instances), deque[Block](), True, 0
        self._finishing = False
        try:
            while True:
                if (wanted := 2 * self._stopping or int(self._finishing)) > ends:
                    ends, more = wanted, False
                    self._recall([worker for worker in self._workers.values() if worker.leases], stop=self._stopping)
                if ends:
                    again.clear()
                if more or again:
                    self._staff()
                free = min(self._free(again), key=lambda worker: len(worker.leases), default=None)
                if free is not None and (more or again):
                    block = again.popleft() if again else next(source, None)
                    if block is None:
                        more = False
                    else:
                        yield from self._lease(free, block)
                elif not (more or again):
                    if not any(worker.leases for worker in self._workers.values()):
                        return
                    self._even_out()
                    self._send_home()
                waits = not self._free(again) or not (more or again)
                yield from self._heard(0.5 if waits else 0.0, again)
        finally:
            for worker in self._workers.values():  # if the asking process gave up: nothing of this is wanted any more
                worker.leases.clear()

    def _free(self, again: deque[Block]) -> list[Held]:
        """Workers that can take a block. A suspect is the only block of its worker, so that a death is surely its own."""
        window = 1 if any(block.suspect for block in again) else WINDOW
        idle = [worker for worker in self._workers.values() if worker.loaded and len(worker.leases) < window]
        return [worker for worker in idle if not any(block.suspect for block in worker.leases.values())]

    def _lease(self, worker: Held, block: Block) -> Answers:
        """Sends a block to a worker. A request whose pictures can't be read any more fails here."""
        files: dict[str, object] = {}
        sent: list[Instance] = []
        for instance in block.pending.values():
            try:
                if instance.images and any(digest not in files for digest in instance.image_digests):
                    for digest, picture in zip(instance.image_digests, instance.images(), strict=True):
                        if digest not in files:
                            files[digest] = encoded(picture, digest)[1]
                if instance.sounds and any(digest not in files for digest in instance.sound_digests):
                    for digest, sound in zip(instance.sound_digests, instance.sounds(), strict=True):
                        if digest not in files:
                            files[digest] = sound.packed()
                sent.append(instance)
            except MMEvalError as error:
                yield instance, error
        if sent:
            block.pending, block.open = dict(enumerate(sent)), True
            lease = next(self._leases)
            worker.leases[lease] = block
            worker.heard = self.clock() if len(worker.leases) == 1 else worker.heard
            self._the_cluster.lease(worker.number, lease, [row_of(instance) for instance in sent], files)

    def _even_out(self) -> None:
        """When nothing is left to hand out: takes back what a busy worker has not begun, for those that are idle."""
        workers = list(self._workers.values())
        if any(worker.recalled for worker in workers) or not any(w.loaded and not w.leases for w in workers):
            return
        busy = [worker for worker in workers if any(block.open and block.pending for block in worker.leases.values())]
        if busy:
            self._recall([max(busy, key=lambda worker: sum(len(block.pending) for block in worker.leases.values()))])

    def _recall(self, workers: Iterable[Held], stop: bool = False) -> None:
        for worker in workers:
            worker.recalled = set(worker.leases)
            self._the_cluster.recall(worker.number, stop)

    def _send_home(self) -> None:
        """Ends workers that have had nothing to do for as long as they loaded, when nothing can be given to them."""
        busy = [w for w in self._workers.values() if w.recalled or any(b.open and b.pending for b in w.leases.values())]
        for worker in list(self._workers.values()):
            idle = worker.loaded and not worker.leases and self.clock() - worker.idle > max(KEPT, worker.loading)
            if idle and not busy:
                self._end(worker, gently=True)

    # ------------------------------------------------------------------ workers
    @property
    def _the_cluster(self) -> Cluster:
        if self._cluster is None:
            model = self.model
            self._cluster = self.join(partial(create_model, type(model), model.args, model.settings))
        return self._cluster

    def _staff(self) -> None:
        """Starts as many workers as are lacking."""
        cluster = self._the_cluster
        while len(self._workers) < self._places:
            worker = Held(next(self._numbers), started=self.clock())
            self._workers[worker.number] = worker
            cluster.start(worker.number)

    def _heard(self, timeout: float, again: deque[Block]) -> Answers:
        """What workers have said, and the answers in it. again: gets the blocks that are to be asked elsewhere."""
        for number, event in self._the_cluster.hear(timeout):
            worker = self._workers.get(number)
            if worker is not None:  # else it was given up, and what it says late is dropped
                worker.heard = self.clock()
                yield from self._take(worker, event, again)
        for worker in list(self._workers.values()):
            working = bool(worker.leases) or not worker.loaded
            if working and worker.heard is not None and self.clock() - worker.heard > self.timeout:
                why = f"it said nothing for {self.timeout:g} seconds (--worker_timeout)"
                yield from self._lost(worker, True, why, again)

    def _take(self, worker: Held, event: Event, again: deque[Block]) -> Answers:
        kind, *said = event
        if kind == "answers":
            pending = worker.leases[said[0]].pending if said[0] in worker.leases else {}
            for place, answer in said[1]:
                if (instance := pending.pop(place, None)) is not None:
                    yield instance, answer
        elif kind == "found":
            self.facts = replace(self._stated or self.model.facts, findings=said[0])
        elif kind == "done":
            worker.leases.pop(said[0], None)
            worker.recalled.discard(said[0])
            worker.idle = self.clock()
        elif kind == "returned":
            worker.recalled.discard(said[0])
            if (block := worker.leases.get(said[0])) is not None:
                block.open = False
                waiting = sum(worker.loaded and not worker.leases for worker in self._workers.values())
                came_back = [place for place in said[1] if place in block.pending]
                again.extend(
                    block.taken(came_back, parts=waiting + 1)
                )  # one part for each worker that waits, and one more
        elif kind == "started":
            worker.started, worker.host = self.clock(), said[0]
        elif kind == "described":
            self._compare(worker, *said)
        elif kind == "loaded":
            if not self._ever_loaded:
                self._stated = said[1]
            worker.loaded, worker.idle, worker.loading = True, self.clock(), self.clock() - worker.started
            self._ever_loaded, self._died_loading = True, 0
            self.machines[said[0]] = self.machines.get(said[0], 0) + 1
        elif kind == "raised":
            if self._ever_loaded and not worker.loaded:
                self._refuse(worker, said[0])
            else:  # no worker could load the model, or the model ended the asking
                self._end(worker)
                raise said[0]
        elif kind == "lost":
            yield from self._lost(worker, said[0], said[1], again)

    def _compare(self, worker: Held, description: JsonObject, facts: ModelFacts) -> None:
        """The first description is the run's; a worker that says otherwise is refused."""
        if self._known is None:
            constants = json.loads(json.dumps(description["constants"]))  # as a run folder gives them back
            if self._expected is not None and (other := differences(self._expected, constants)):
                what = f"the folder has answers of a different model from the one that the workers load: {other}."
                hint = "Choose another --output_path, or give the workers the files of the first launch."
                raise ConfigError(what, where="--output_path", hint=hint)
            self.model.facts = facts
            if other := differences(as_recorded(self.model.describe(), description["model"]), description["model"]):
                what = f"the workers have a different model from this command's: {other}."
                raise ConfigError(what, where="--executor", hint="Put the same files on all machines.")
            if other := differences(code_of(self.model), description["code"]):
                what = f"the workers have different code for the model's adapter from this command's: {other}."
                raise ConfigError(what, where="--executor", hint="Put the same files on all machines.")
            self._known, self._stated = description, facts
        elif other := differences(self._known, description):
            self._refuse(
                worker, ConfigError(f"its model differs from the one of the first worker, which is here: {other}.")
            )

    def _refuse(self, worker: Held, error: MMEvalError) -> None:
        """Goes on without this worker. The error is the command's where no other one is left."""
        self._end(worker)
        self._places -= 1
        if self._places < 1:
            raise error
        log.warning("The worker on %s is left out: %s", worker.host, error)

    def _end(self, worker: Held, gently: bool = False) -> None:
        self._the_cluster.kill([worker.number], gently)
        del self._workers[worker.number]

    def _lost(self, worker: Held, crashed: bool, why: str, again: deque[Block]) -> Answers:
        """Takes the blocks of a lost worker back. Another one is started when there is something to ask."""
        self._end(worker)
        if not self._stopping:
            log.warning(
                "The worker on %s is gone, and what it had not answered is asked elsewhere: %s.", worker.host, why
            )
        if not worker.loaded:
            self._died_loading += crashed
            if self._died_loading >= LOADS:
                raise ModelError(f"{LOADS} workers in a row died while they loaded the model: {why}.")
            self._staff()
        under_way = worker.under_way
        for block in [block for block in worker.leases.values() if block.pending]:
            rest = [block] if block is not under_way else block.after_loss(crashed)
            again.extend(rest)
            for instance in () if rest else block.pending.values():
                yield instance, ModelError(f"{block.losses} workers were lost while they answered this request: {why}.")
