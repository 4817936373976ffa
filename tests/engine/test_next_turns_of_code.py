"""Turns that run code are made beside the others, and more of them at a time."""

from __future__ import annotations

import threading
import time

from mm_eval.engine.next_turns import AT_ONCE, NextTurns
from mm_eval.values.types import Answer, End, Instance


def instance(runs_code: bool, gate: threading.Event, doc_id: int = 0) -> Instance:
    def then(answered: Instance, answer: Answer) -> Instance | End:
        if runs_code:
            gate.wait(20)
        return End()

    return Instance("generate_until", "t", doc_id, {}, then=then, runs_code=runs_code)


def test_code_that_runs_keeps_no_other_turn_waiting() -> None:
    turns, gate = NextTurns(), threading.Event()
    for number in range(AT_ONCE + 4):
        turns.add(instance(True, gate, number), Answer(""))
    turns.add(instance(False, gate, 99), Answer(""))
    until, found = time.monotonic() + 10, None
    while found is None and time.monotonic() < until:
        found = turns.take_made()
    assert found is not None and found[0].doc_id == 99
    assert sum(thread.name == "turn" for thread in threading.enumerate()) == AT_ONCE + 4
    gate.set()
    docs = {turns.take()[0].doc_id for _ in range(AT_ONCE + 4)}  # type: ignore[index]
    assert docs == set(range(AT_ONCE + 4)) and not turns


def test_an_adapter_that_waits_has_all_code_run_at_once() -> None:
    turns, gate = NextTurns(), threading.Event()
    for number in range(3):
        turns.add(instance(True, gate, number), Answer(""))
    threading.Timer(0.1, gate.set).start()
    began = time.monotonic()
    assert {turns.take()[0].doc_id for _ in range(3)} == {0, 1, 2} and time.monotonic() - began < 10  # type: ignore[index]
