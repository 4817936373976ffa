"""Answers to a doc's choices that are held for a moment."""

import time
from pathlib import Path
from typing import Any

import pytest

from mm_eval.engine import held
from mm_eval.engine.held import ChoicesOfDoc, HeldAnswers
from mm_eval.engine.journal import Journal, read_journal
from mm_eval.values.types import Answer, Slot


def test_what_the_thread_cannot_write_is_raised_in_the_run(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(held, "MOST_SECONDS", 0.01)
    journal, name = Journal(tmp_path), object()
    answers, doc, of_adapter = (
        HeldAnswers(journal, lambda answered, failed: None),
        ChoicesOfDoc(2),
        dict[str, Any](model=name),
    )
    answers.add(doc, Answer((-1.0, True), key="k", cut=False, **of_adapter), [Slot("t", 0)])
    while answers._fault is None:
        time.sleep(0.005)
    with pytest.raises(TypeError, match="JSON"):
        answers.write()
    answers.close()
    journal.close()


def test_an_answer_that_cannot_be_written_costs_none_of_the_others(tmp_path: Path) -> None:
    journal, name = Journal(tmp_path), object()
    answers, doc = HeldAnswers(journal, lambda answered, failed: None), ChoicesOfDoc(3)
    of_adapter = dict[str, Any](model=name)
    answers.add(doc, Answer((-1.0, True), key="a" * 64, **of_adapter), [Slot("t", 0, 0, 0)])
    answers.add(doc, Answer((-2.0, False), key="b" * 64), [Slot("t", 0, 0, 1)])
    with pytest.raises(TypeError, match="JSON"):
        answers.write()
    answers.close()
    journal.close()
    assert set(read_journal(tmp_path).slots) == {Slot("t", 0, 0, 1)}
