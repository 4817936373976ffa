"""Whatever an answer is, the journal gives it back; whatever happens to a file, every other record survives."""

from __future__ import annotations

import math
import tempfile
from dataclasses import replace
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from mm_eval.engine.journal import read_journal
from mm_eval.engine.records import answer_record, decode, encode
from mm_eval.values.errors import ModelError
from mm_eval.values.types import Answer, Slot

texts = st.text(alphabet=st.characters(), max_size=40)
lls = st.tuples(st.floats(max_value=0, allow_nan=False), st.booleans())
responses = st.builds(Answer, output=texts | lls, truncated=st.booleans(), attempts=st.integers(0, 9))


def record_of(number: int, answer: Answer) -> dict:
    record = answer_record(replace(answer, key=f"key{number}"), [Slot("t", number)])
    return {**record, "t": 0.0}  # no clock: lengths are equal


FOLDER = tempfile.TemporaryDirectory()


def written(lines: list[bytes]) -> Path:
    """A run folder with this journal in place of the last example's."""
    journal = Path(FOLDER.name, "journal")
    journal.mkdir(exist_ok=True)
    (journal / "a.jsonl").write_bytes(b"".join(lines))
    return journal.parent


@given(st.lists(responses, max_size=12))
def test_every_answer_is_read_as_it_was_written(answers: list[Answer]) -> None:
    state = read_journal(written([encode(record_of(n, answer)) for n, answer in enumerate(answers)]))
    assert state.damaged == 0
    for number, answer in enumerate(answers):
        found = state.answer(Slot("t", number))
        assert found is not None and found.output == answer.output and found.truncated == answer.truncated


@given(st.lists(responses, min_size=1, max_size=8), st.data())
def test_a_changed_byte_costs_at_most_the_lines_that_it_touches(answers: list[Answer], data: st.DataObject) -> None:
    lines = [encode(record_of(n, answer)) for n, answer in enumerate(answers)]
    victim = data.draw(st.integers(0, len(lines) - 1))
    place = data.draw(st.integers(0, len(lines[victim]) - 1))
    value = data.draw(st.integers(0, 255).filter(lambda byte: byte != lines[victim][place]))
    broken = [*lines, encode(record_of(99, Answer("last")))]
    broken[victim] = lines[victim][:place] + bytes([value]) + lines[victim][place + 1 :]
    state = read_journal(written(broken))
    lost = {n for n in range(len(answers)) if state.answer(Slot("t", n)) is None}
    joined = (
        {victim, victim + 1} if place == len(lines[victim]) - 1 else {victim}
    )  # without its newline it joins the next
    assert lost <= joined
    for number in set(range(len(answers))) - lost:
        assert state.answer(Slot("t", number)).output == answers[number].output


@given(st.lists(responses, min_size=2, max_size=6), st.data())
def test_a_file_cut_anywhere_keeps_all_whole_records(answers: list[Answer], data: st.DataObject) -> None:
    lines = [encode(record_of(n, answer)) for n, answer in enumerate(answers)]
    whole = b"".join(lines)
    cut = data.draw(st.integers(0, len(whole)))
    kept = sum(1 for n in range(len(lines)) if sum(map(len, lines[: n + 1])) - 1 <= cut)  # without its newline, too
    state = read_journal(written([whole[:cut]]))
    assert [n for n in range(len(lines)) if state.answer(Slot("t", n))] == list(range(kept))


@given(texts, texts, texts)
def test_an_error_is_never_an_answer(what: str, where: str, hint: str) -> None:
    failure = Answer(None, key="key", error=ModelError(what, where=where, hint=hint))
    record = answer_record(failure, [Slot("t", 0)])
    state = read_journal(written([encode(record)]))
    assert state.answer(Slot("t", 0)) is None and state.slots[Slot("t", 0)].error.what == what


@given(st.binary(max_size=200))
def test_no_bytes_are_a_record_by_chance(line: bytes) -> None:
    try:
        record = decode(line)
    except ValueError:
        return
    assert encode({key: value for key, value in record.items() if key != "crc"}).rstrip(b"\n") == line


@given(st.lists(st.floats(allow_nan=True, allow_infinity=True), min_size=1, max_size=5))
def test_infinite_log_likelihoods_survive(values: list[float]) -> None:
    state = read_journal(written([encode(record_of(n, Answer((value, False)))) for n, value in enumerate(values)]))
    for number, value in enumerate(values):
        found = state.slots[Slot("t", number)].output[0]
        assert found == value or (math.isnan(found) and math.isnan(value))
