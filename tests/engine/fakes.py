"""A cluster without Ray: the real workers in threads of this process, and hands that can kill, hang and lose them."""

import queue
import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mm_eval.engine.model import Model, ModelSettings
from mm_eval.ray.fleet import Fleet
from mm_eval.ray.worker import Event, Worker
from mm_eval.values.types import Answer, Instance


class Died(BaseException):
    """What a test's model raises to end its process without a word."""


@dataclass
class Threads:
    """Workers in threads. room: how many can run at a time; the others wait. ways: what is changed about each worker's model."""

    make: Callable[[], Model]
    room: int = 100
    deaf: bool = False
    workers: dict[int, Worker] = field(default_factory=dict)
    waiting: list[int] = field(default_factory=list)
    heard: queue.SimpleQueue = field(default_factory=queue.SimpleQueue)
    started: list[int] = field(default_factory=list)
    killed: list[tuple[int, bool]] = field(default_factory=list)
    leases: list[tuple[int, int, int]] = field(default_factory=list)
    most_leases: int = 0
    recalls: int = 0

    def start(self, worker: int) -> None:
        self.started.append(worker)
        self.waiting.append(worker)
        self._place()

    def _place(self) -> None:
        while self.waiting and len(self.workers) < self.room:
            number = self.waiting.pop(0)
            found = self.workers[number] = Worker(self.make)
            threading.Thread(target=self._listen, args=(number, found), daemon=True).start()
            found.start()

    def _listen(self, number: int, worker: Worker) -> None:
        for events in worker.hear():
            for event in events:
                died = event[0] == "raised" and event[1].what.startswith("Died")
                self.heard.put((number, ("lost", True, "it died") if died else event))

    def lose(self, number: int, crashed: bool = False) -> None:
        """Loses a worker as a dead process (crashed) or a dead machine."""
        self.heard.put((number, ("lost", crashed, "it is lost")))

    def lease(self, worker: int, lease: int, rows: list[tuple[Any, ...]], files: Mapping[str, bytes]) -> None:
        self.leases.append((worker, lease, len(rows)))
        held = self.workers[worker]
        held.lease(lease, rows, files)
        self.most_leases = max(self.most_leases, len(held._queued) + bool(held._current))

    def recall(self, worker: int, stop: bool) -> None:
        self.recalls += 1
        self.workers[worker].recall(stop)

    def hear(self, timeout: float) -> Iterable[tuple[int, Event]]:
        try:
            found = [self.heard.get(timeout=min(timeout, 0.02))] if timeout else [self.heard.get_nowait()]
        except queue.Empty:
            return
        while not self.heard.empty():
            found.append(self.heard.get())
        yield from found

    def kill(self, workers: Sequence[int], gently: bool) -> None:
        for number in workers:
            self.killed.append((number, gently))
            if number in self.workers:
                self.workers.pop(number).close()
            else:
                self.waiting.remove(number)
        self._place()


class Echo(Model):
    """Answers with its prompt. asked: every request that any worker's model took."""

    asked: list[Instance]

    def generate(self, instances: Iterable[Instance]) -> Any:
        for instance in instances:
            type(self).asked.append(instance)
            yield instance, self.answer(instance)

    def answer(self, instance: Instance) -> Answer:
        return Answer(str(instance.context))


def a_fleet(model: type[Model], size: int = 2, timeout: float = 60.0, **more: Any) -> tuple[Fleet, list[Threads]]:
    """A fleet of `size` workers in threads, and the cluster once it is joined."""
    model.asked = []
    joined: list[Threads] = []

    def join(make: Callable[[], Model]) -> Threads:
        joined.append(Threads(make, **more))
        return joined[0]

    return Fleet(model({}, ModelSettings()), join, size, timeout), joined


def requests(count: int, **more: Any) -> list[Instance]:
    return [Instance("generate_until", "t", number, {}, context=f"q{number}", **more) for number in range(count)]
