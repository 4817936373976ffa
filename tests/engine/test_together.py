"""The log-likelihoods of a doc's choices stand in one line of the journal, and none that was given is lost."""

import json
import signal
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from mm_eval.engine.journal import read_journal
from mm_eval.engine.model import Model, ModelFacts, ModelSettings
from mm_eval.engine.outcome import StopSignal
from mm_eval.engine.records import answers_record, in_common, single_records
from mm_eval.values.errors import ModelError
from mm_eval.values.types import Answer, Instance, Slot
from tests.conftest import ROOT
from tests.engine.asking import ask
from tests.processes import HANGS

DOCS, CHOICES = 3, 4


class Choosing(Model):
    """Gives the log-likelihoods of choices in the order of the requests, some of them otherwise than the others."""

    facts = ModelFacts(together=True)

    def __init__(self, odd: dict[tuple[int, int], Answer | ModelError] | None = None, dies_at: int = 99) -> None:
        super().__init__({}, ModelSettings())
        self.odd, self.dies_at, self.given = odd or {}, dies_at, 0

    def loglikelihood(self, instances: Iterable[Instance]):
        for instance in list(instances):
            if self.given == self.dies_at:
                raise RuntimeError("out of memory")
            self.given += 1
            usual = Answer((-1.0 - instance.choice, instance.choice == 0))
            yield instance, self.odd.get((instance.doc_id, instance.choice), usual)


def choices(docs: int = DOCS, text: str = "Question {}?") -> list[Instance]:
    return [
        Instance("loglikelihood", "t", doc, {}, context=text.format(doc), continuation=f" {choice}", choice=choice)
        for doc in range(docs)
        for choice in range(CHOICES)
    ]


def lines(folder: Path) -> list[dict]:
    files = sorted((folder / "journal").glob("*.jsonl"))
    return [json.loads(line) for path in files for line in path.read_text().splitlines()]


def outputs(folder: Path) -> dict[Slot, object]:
    state = read_journal(folder)
    return {each.slot: found.output for each in choices() if (found := state.answer(each.slot))}


ALL = {each.slot: (-1.0 - each.choice, each.choice == 0) for each in choices()}


def test_a_doc_is_one_line_and_every_answer_is_read_back(tmp_path: Path) -> None:
    ticks: list[tuple[int, int]] = []
    outcome = ask(tmp_path, Choosing(), choices(), tick=lambda *done: ticks.append(done))
    assert [(each["kind"], len(each["keys"])) for each in lines(tmp_path)] == [("answers", CHOICES)] * DOCS
    assert ticks == [(CHOICES, 0)] * DOCS and outcome.answered == DOCS * CHOICES
    assert outputs(tmp_path) == ALL
    assert len(read_journal(tmp_path).answers) == DOCS * CHOICES, "each has its request key"
    again = ask(tmp_path, model := Choosing(), choices())
    assert (again.reused, model.given) == (DOCS * CHOICES, 0)


def test_an_adapter_that_gives_them_apart_has_one_line_each(tmp_path: Path) -> None:
    model = Choosing()
    model.facts = ModelFacts()
    ask(tmp_path, model, choices())
    assert [each["kind"] for each in lines(tmp_path)] == ["answer"] * DOCS * CHOICES
    assert outputs(tmp_path) == ALL


def test_a_journal_of_one_line_a_choice_goes_on_with_one_line_a_doc(tmp_path: Path) -> None:
    before = Choosing()
    before.facts = ModelFacts()
    ask(tmp_path, before, choices()[: CHOICES + 1])  # a doc and a choice
    ask(tmp_path, after := Choosing(), choices())
    assert after.given == DOCS * CHOICES - CHOICES - 1
    assert [len(each.get("keys", [1])) for each in lines(tmp_path)] == [1] * (CHOICES + 1) + [CHOICES - 1, CHOICES]
    assert outputs(tmp_path) == ALL


def test_a_kill_within_a_slow_doc_loses_no_answer_that_was_received_before(tmp_path: Path) -> None:
    code = """
import os, signal, sys, time
from pathlib import Path
from mm_eval.engine import held
from tests.engine.asking import ask
from tests.engine.test_together import Choosing, choices, lines

class Slow(Choosing):
    def loglikelihood(self, instances):
        for given, found in enumerate(super().loglikelihood(instances)):
            if given == 3:
                while not (list(Path(sys.argv[1], "journal").glob("*.jsonl")) and lines(Path(sys.argv[1]))):
                    time.sleep(0.01)
                os.kill(os.getpid(), signal.SIGKILL)
            yield found

held.MOST_SECONDS = 0.05
ask(Path(sys.argv[1]), Slow(), choices())
"""
    killed = subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, timeout=HANGS, check=False)
    assert killed.returncode == -signal.SIGKILL
    there = outputs(tmp_path)
    assert 1 <= len(there) <= 3 and there.items() <= ALL.items()
    ask(tmp_path, again := Choosing(), choices())
    assert again.given == DOCS * CHOICES - len(there) and outputs(tmp_path) == ALL


@pytest.mark.parametrize("dies_at", range(1, DOCS * CHOICES))
def test_a_model_that_fails_within_a_doc_loses_no_answer(tmp_path: Path, dies_at: int) -> None:
    first = ask(tmp_path, Choosing(dies_at=dies_at), choices())
    assert first.stopped is not None and first.answered == len(outputs(tmp_path)) == dies_at
    second = ask(tmp_path, model := Choosing(), choices())
    assert model.given == second.answered == DOCS * CHOICES - dies_at and outputs(tmp_path) == ALL


def test_a_run_that_is_stopped_within_a_doc_loses_no_answer(tmp_path: Path) -> None:
    stop = StopSignal()

    class Stopped(Choosing):
        def loglikelihood(self, instances):
            for number, found in enumerate(super().loglikelihood(instances)):
                yield found
                if number == CHOICES + 1:
                    stop.requested = True
                    return

    ask(tmp_path, Stopped(), choices(), stop=stop)
    assert len(outputs(tmp_path)) == CHOICES + 2


def test_what_differs_from_the_other_choices_has_a_line_of_its_own(tmp_path: Path) -> None:
    odd = {
        (0, 1): ModelError("down"),
        (1, 0): Answer((-1.0, True), cut=True),
        (1, 2): Answer((-3.0, False), usage={"prompt_tokens": 7}),
        (2, 3): Answer((float("-inf"), False)),
    }
    outcome = ask(tmp_path, Choosing(odd), choices())
    assert (outcome.answered, outcome.failed) == (DOCS * CHOICES - 1, 1)
    kinds = [(each["kind"], [slot[3] for slot in each["slots"]]) for each in lines(tmp_path)]
    assert kinds == [
        ("error", [1]), ("answers", [0, 2, 3]), ("answer", [0]), ("answers", [1, 2, 3]), ("answers", [0, 1, 2, 3]),
    ]  # fmt: skip
    state = read_journal(tmp_path)
    assert state.usage == {"prompt_tokens": 7}
    assert state.answer(Slot("t", 1)).cut and not state.answer(Slot("t", 1, 0, 1)).cut
    assert state.answer(Slot("t", 2, 0, 3)).output == (float("-inf"), False)
    assert state.answer(Slot("t", 0, 0, 1)) is None


def test_an_equal_question_of_another_doc_is_filled_too(tmp_path: Path) -> None:
    same, ticks = choices(text="Question?"), []  # of each doc
    ask(tmp_path, model := Choosing(), same, tick=lambda *done: ticks.append(done[0]))
    assert model.given == CHOICES and sum(ticks) == len(same)
    assert ticks == [len(each.get("keys", each["slots"])) for each in lines(tmp_path)], (
        "each record counts what it holds"
    )
    state = read_journal(tmp_path)
    assert all(state.answer(each.slot).output == ALL[each.slot] for each in same)


def test_a_slot_counts_as_answered_only_when_its_answer_is_in_the_journal(tmp_path: Path) -> None:
    class Ahead(Choosing):
        def loglikelihood(self, instances):
            coming = iter(instances)
            yield next(coming), Answer((-1.0, True))
            for instance in list(
                coming
            ):  # the first choice of the second doc is the same question: filled while this is read
                yield instance, Answer((-1.0 - instance.choice, False))

    asked = choices(2)
    asked[CHOICES] = replace(asked[CHOICES], context=asked[0].context)
    ask(tmp_path, Ahead(), asked)
    held, known = [(each["kind"], each.get("key")) for each in lines(tmp_path)][:2], read_journal(tmp_path)
    assert [kind for kind, _ in held] == ["answer", "slots"] and held[0][1] == held[1][1]
    assert known.answer(asked[CHOICES].slot).output == (-1.0, True) and len(known.slots) == 2 * CHOICES


def test_one_bad_part_costs_the_line_and_nothing_else(tmp_path: Path) -> None:
    from mm_eval.engine.records import encode

    pair = [(Answer((-1.0, True), key=f"k{n}"), Slot("t", 0, 0, n)) for n in range(2)]
    good = answers_record(pair)
    bad = [{**good, "keys": good["keys"][:1]}, {**good, "outputs": [[-1.0, True], "x"]}, {**good, "outputs": 3}]
    (tmp_path / "journal").mkdir()
    (tmp_path / "journal" / "a.jsonl").write_bytes(b"".join(map(encode, [*bad, good])))
    state = read_journal(tmp_path)
    assert state.damaged == len(bad) and set(state.slots) == {slot for _, slot in pair}


def test_single_records_are_those_that_an_answer_alone_would_have() -> None:
    from mm_eval.engine.records import answer_record

    answer = Answer((-2.5, False), key="k", images=("d",), turn_pictures=(1,), model="m", usage={"prompt_tokens": 3})
    pair = [(answer, Slot("t", 5)), (replace(answer, key="l", output=(float("-inf"), True)), Slot("t", 5, 0, 1))]
    assert in_common(pair[0][0]) == in_common(pair[1][0]) is not None
    found = list(single_records(json.loads(json.dumps(answers_record(pair)))))
    alone = [json.loads(json.dumps(answer_record(each, [slot]))) for each, slot in pair]
    assert [{**each, "t": 0} for each in found] == [{**each, "t": 0} for each in alone]
