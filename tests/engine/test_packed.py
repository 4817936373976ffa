"""The answers of a run in memory: they read as they were added, whatever they hold, and take few bytes."""

import hashlib
import random
import tracemalloc
from dataclasses import fields, replace

import pytest

from mm_eval.engine.journal import JournalState
from mm_eval.engine.packed import digest_of_key
from mm_eval.values.errors import ModelError
from mm_eval.values.types import Answer, Clip, Heard, Slot


def key(number: int) -> str:
    return hashlib.sha256(str(number).encode()).hexdigest()


CLIP = Clip(0, (0.0, 1.5), (0, 30), 60, 2.0, 30.0, "a.mp4", rule="frames=2")
ODD = [
    Answer((-1.5, True), key=key(1)),
    Answer((-0.0, False), key=key(2), cut=None),
    Answer((float("-inf"), False), key=key(3), cut=True, attempts=3, model="m"),
    Answer("", key=key(4)),
    Answer("é\ud800\0" * 70_000, key=key(5), ended="length"),
    Answer("B", key=key(6), reasoning="<think>A?\n</think>", images=("d1", "d2"), turn_pictures=(1, 1)),
    Answer("B", key=key(7), reasoning="", clips=(CLIP,), ended="filtered"),
    Answer("B", key=key(10), heard=(Heard("d", 8000, 1, 80, "a.wav"),), turn_shown=("ai", "a"), turn_pictures=(1, 0)),
    Answer("turn", key=key(8), messages=({"role": "user", "content": "x"},), at=7.5, usage={"prompt_tokens": 3}),
    Answer("no digest", key="k"),
    Answer("upper case", key="A" * 64),
    Answer("too short", key="ab" * 31),
    Answer("no key"),
    Answer((-1, True), key=key(9)),  # a whole number, as a journal may have it
]


def test_an_answer_reads_as_it_was_added() -> None:
    state = JournalState()
    for number, answer in enumerate(ODD):
        state.add(answer, [Slot("t", number), Slot("other", number, judge="j")])
    for number, answer in enumerate(ODD):
        found = state.slots[Slot("t", number)]
        assert found == state.answers[answer.key] == state.slots[Slot("other", number, judge="j")] == answer
        assert repr(found.output) == repr(answer.output) and found.truncated == answer.truncated
        assert state.answer(Slot("t", number, choice=1)) is None and Slot("t", number, 1) not in state.slots
    assert list(state.answers) == [answer.key for answer in ODD]
    assert (len(state.answers), len(state.slots)) == (len(ODD), 2 * len(ODD))
    assert set(state.slots) == {
        Slot(task, n, judge=j) for n in range(len(ODD)) for task, j in (("t", ""), ("other", "j"))
    }
    state.forget()
    assert not state.slots and not state.answers and key(1) not in state.answers


def test_the_odd_answers_above_state_each_field() -> None:
    """A field that an answer is given later is forgotten by the rows unless somebody thinks of it: state it in ODD then."""
    plain = Answer("")
    failed = {"error", "turns"}  # of answers that are kept as they are: see below
    stated = {
        each.name
        for each in fields(Answer)
        for answer in ODD
        if getattr(answer, each.name) != getattr(plain, each.name)
    }
    of_journal = {"seconds", "places"}  # which are written with the answer, and not kept
    assert stated | failed | of_journal == {each.name for each in fields(Answer)}


def test_a_later_answer_replaces_an_earlier_one_and_a_failure_does_not() -> None:
    state, slot = JournalState(), Slot("t", 0)
    failed = Answer(None, error=ModelError("it broke"))
    state.add(failed, [slot])
    assert str(state.slots[slot].error) == "it broke" and state.answer(slot) is None and not state.answers
    state.add(Answer("one", key=key(1)), [slot])
    state.add(replace(failed, key=key(1)), [slot])
    state.add(Answer("one", key=key(1)), [Slot("t", 1)])
    assert state.answers[key(1)].output == state.slots[slot].output == "one"
    state.add(Answer("two", key=key(1)), [slot])
    assert state.answers[key(1)].output == state.slots[slot].output == "two"
    assert state.slots[Slot("t", 1)].output == "one" and len(state.answers) == 1 and len(state.slots) == 2


@pytest.mark.full
def test_thousands_of_answers_are_found_in_any_order_at_a_tenth_of_the_memory() -> None:
    order = list(range(20_000))
    random.Random(0).shuffle(order)
    tracemalloc.start()
    state = JournalState()
    for number in order:
        state.add(
            Answer((-number / 7, number % 3 == 0), key=key(number)), [Slot("t", number // 4 - 100, 0, number % 4)]
        )
    used, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert used / len(order) < 80, "as objects they took more than 500 bytes each"
    for number in order[:2000]:
        found = state.slots[Slot("t", number // 4 - 100, 0, number % 4)]
        assert found == state.answers[key(number)] == Answer((-number / 7, number % 3 == 0), key=key(number))
    assert key(20_000) not in state.answers and len(state.answers) == len(state.slots) == 20_000


def test_a_slot_of_a_strange_journal_is_no_error_and_far_docs_cost_one_page() -> None:
    state = JournalState()
    for doc_id in (-1, 2**70, "seven", 1.5):
        state.add(Answer("x", key=key(1)), [Slot("t", doc_id)])  # type: ignore[arg-type]
        assert state.slots[Slot("t", doc_id)].output == "x"  # type: ignore[arg-type]
    assert len(state.slots) == 4 and len(state.answers) == 1


def test_a_key_is_packed_only_if_it_comes_back_as_it_was() -> None:
    assert digest_of_key(key(1)) == bytes.fromhex(key(1))
    for odd in ("", "k", "A" * 64, "ab" * 31, "ab" * 33, "é" * 64, " " + "a" * 63):
        assert digest_of_key(odd) is None
