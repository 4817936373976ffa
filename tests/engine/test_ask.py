"""Asking: each question once, every slot filled, a failure never an answer, nothing lost when a model misbehaves."""

import json
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from mm_eval.engine.journal import read_journal
from mm_eval.engine.model import Model, ModelSettings, request_key
from mm_eval.engine.outcome import StopSignal
from mm_eval.engine.records import answer_record, answers_record, single_records
from mm_eval.values.errors import DataError, ModelError
from mm_eval.values.types import Answer, Instance, Slot
from tests.engine.asking import ask, questions


class Scripted(Model):
    """Answers by a function of the instances it sees, and remembers the requests."""

    def __init__(self, answer: Callable[[list[Instance]], Iterable]) -> None:
        super().__init__({}, ModelSettings())
        self.answer, self.requests = answer, []

    def generate(self, instances):
        batch = []
        for instance in instances:
            self.requests.append(instance)
            batch.append(instance)
            if len(batch) == 4:
                yield from self.answer(batch)
                batch = []
        yield from self.answer(batch)

    loglikelihood = generate


def echo(batch: list[Instance]) -> Iterable:
    return [(instance, Answer(f"answer to {instance.context}")) for instance in batch]


def test_every_answer_is_journalled_and_requested_only_once_over_runs(tmp_path: Path) -> None:
    model = Scripted(echo)
    first = ask(tmp_path, model, questions(10))
    again = ask(tmp_path, model, questions(12))
    assert (first.requested, first.answered, again.requested, again.reused) == (10, 10, 2, 10)
    state = read_journal(tmp_path)
    assert all(state.answer(q.slot).output == f"answer to {q.context}" for q in questions(12))


def test_equal_questions_are_requested_once_and_counted_in_each_place(tmp_path: Path) -> None:
    model = Scripted(echo)
    outcome = ask(tmp_path, model, questions(3, "a") + questions(6, "b"))
    assert len(model.requests) == 6 and outcome.requested == 6
    state = read_journal(tmp_path)
    assert all(state.answer(q.slot) is not None for q in questions(3, "a") + questions(6, "b"))
    lines = b"".join(path.read_bytes() for path in (tmp_path / "journal").glob("*.jsonl"))
    assert lines.count(b'"kind":"answer"') == 6, "one answer record a key"


def test_a_key_is_computed_again_only_where_the_endpoint_has_taught_something_since(tmp_path: Path) -> None:
    class Learning(Scripted):
        """Finds out with the first answer that the endpoint takes no seed."""

        computed = 0

        def identity(self, instance):
            self.computed += 1
            return {**super().identity(instance), "found": dict(self.facts.findings)}

        def generate(self, instances):
            for instance in instances:
                self.facts = replace(self.facts, findings={"dropped": ["seed"]})
                yield instance, Answer("yes")

    model = Learning(echo)
    ask(tmp_path, model, questions(10))
    assert model.computed == 11
    recorded = read_journal(tmp_path)
    assert [recorded.answer(each.slot).key for each in questions(10)] == [request_key(model, q) for q in questions(10)]


def test_what_the_endpoint_teaches_while_a_key_is_made_is_in_the_key(tmp_path: Path) -> None:
    """The client's thread learns it from other answers. With the earlier key the same command would ask the question again."""

    class Learning(Scripted):
        def identity(self, instance):
            found = {**super().identity(instance), "found": dict(self.facts.findings)}
            self.facts = replace(self.facts, findings={"dropped": ["seed"]})
            return found

    model = Learning(echo)
    ask(tmp_path, model, questions(3))
    recorded = read_journal(tmp_path)
    assert [recorded.answer(each.slot).key for each in questions(3)] == [request_key(model, q) for q in questions(3)]


def test_order_of_arrival_does_not_matter(tmp_path: Path) -> None:
    ask(tmp_path, Scripted(lambda batch: list(echo(batch))[::-1]), questions(10))
    state = read_journal(tmp_path)
    assert all(state.answer(q.slot).output == f"answer to {q.context}" for q in questions(10))


def test_an_error_of_one_request_leaves_the_others(tmp_path: Path) -> None:
    def one_fails(batch):
        return [(i, ModelError("down") if i.doc_id == 3 else Answer("yes")) for i in batch]

    outcome = ask(tmp_path, Scripted(one_fails), questions(10))
    assert (outcome.answered, outcome.failed, outcome.stopped) == (9, 1, None)
    state = read_journal(tmp_path)
    assert state.answer(questions(10)[3].slot) is None
    text = b"".join(path.read_bytes() for path in (tmp_path / "journal").glob("*.jsonl"))
    assert all(b'"output"' not in line for line in text.splitlines() if b"down" in line), "an error is never an output"


def test_a_broken_doc_never_reaches_the_model(tmp_path: Path) -> None:
    broken = questions(3)
    broken[1].error = DataError("a picture can't be decoded")
    model = Scripted(echo)
    outcome = ask(tmp_path, model, broken)
    assert [i.doc_id for i in model.requests] == [0, 2] and outcome.failed == 1


def test_an_adapter_that_raises_keeps_what_was_answered(tmp_path: Path) -> None:
    def raises_late(batch):
        if batch and batch[0].doc_id >= 4:
            raise RuntimeError("CUDA error")
        return echo(batch)

    outcome = ask(tmp_path, Scripted(raises_late), questions(10))
    assert isinstance(outcome.stopped, ModelError) and "CUDA error" in str(outcome.stopped)
    assert len(read_journal(tmp_path).answers) == 4
    assert ask(tmp_path, Scripted(echo), questions(10)).requested == 6, "the rest is requested on the second run"


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (lambda batch: list(echo(batch))[:-1], "gave no answer"),
        (lambda batch: [*echo(batch), *list(echo(batch))[:1]], "was not requested or has its answer already"),
        (lambda batch: [(i, Answer(None)) for i in batch], "must be text"),
    ],
)
def test_too_few_too_many_or_malformed_answers_are_model_errors_not_shifted_ones(
    tmp_path: Path, answer, message
) -> None:
    outcome = ask(tmp_path, Scripted(answer), questions(4))
    state = read_journal(tmp_path)
    errors = [str(found.error) for found in state.slots.values() if found.error] + [str(outcome.stopped)]
    assert any(message in text for text in errors)
    right = [state.answer(q.slot) for q in questions(4)]
    assert all(found is None or found.output == f"answer to question {n}" for n, found in enumerate(right))


def test_a_nan_log_likelihood_is_a_failure(tmp_path: Path) -> None:
    instances = [Instance("loglikelihood", "t", n, {}, context="c", continuation=str(n)) for n in range(2)]
    model = Scripted(lambda batch: [(i, Answer((float("nan") if i.doc_id else -1.0, True))) for i in batch])
    outcome = ask(tmp_path, model, instances)
    assert (outcome.answered, outcome.failed) == (1, 1)


def test_a_stop_signal_records_what_is_in_flight_and_requests_no_more(tmp_path: Path) -> None:
    stop = StopSignal()

    def stopping(batch):
        stop.requested = True
        return echo(batch)

    outcome = ask(tmp_path, Scripted(stopping), questions(40), stop=stop)
    assert outcome.interrupted and outcome.answered == 4 and outcome.failed == 0
    assert len(read_journal(tmp_path).answers) == 4


def test_ticks_are_acknowledged_answers(tmp_path: Path) -> None:
    ticks = []
    ask(tmp_path, Scripted(echo), questions(5), tick=lambda done, failed: ticks.append((done, failed)))
    assert sum(done for done, _ in ticks) == 5


def test_the_request_key_changes_with_everything_that_decides_the_answer() -> None:
    def key(seed: int = 0, **changes) -> str:
        given = {"context": "c", "image_digests": ("a", "b"), "generation_kwargs": {"until": ["x"], "max_gen_toks": 5}}
        instance = Instance("generate_until", "t", 0, {}, **{**given, **changes})
        return request_key(Scripted.__bases__[0]({"pretrained": "m"}, ModelSettings(seed=seed)), instance)

    base = key()
    different = [
        key(context="d"),
        key(context=[{"role": "system", "content": "s"}]),
        key(image_digests=("b", "a")),
        key(image_digests=("a",)),
        key(generation_kwargs={"until": ["y"], "max_gen_toks": 5}),
        key(generation_kwargs={"until": ["x"], "max_gen_toks": 6}),
        key(repeat=1),
        key(seed=1),
        key(continuation="z"),
    ]
    assert len({base, *different}) == 10
    same = key(
        generation_kwargs={"max_gen_toks": 5, "until": ["x"], "timeout": 3, "max_retries": 9, "num_concurrent": 4}
    )
    assert same == base


def test_each_answer_is_recorded_with_the_seconds_since_its_request(tmp_path: Path, monkeypatch) -> None:
    clock = iter(range(100))
    monkeypatch.setattr("mm_eval.engine.ask.monotonic", lambda: next(clock) / 8)
    ask(tmp_path, Scripted(echo), questions(5))
    records = [json.loads(line) for path in (tmp_path / "journal").iterdir() for line in path.read_text().splitlines()]
    assert [record["seconds"] for record in records] == [0.5, 0.5, 0.5, 0.5, 0.125], "the first four are a batch"


def test_the_choices_of_a_doc_are_recorded_with_their_longest_seconds() -> None:
    answers = [
        Answer((-1.0, True), key="a", seconds=0.25),
        Answer((-2.0, False), key="b", seconds=0.5),
        Answer((-3.0, False)),
    ]
    record = answers_record([(answer, Slot("t", 0, 0, place)) for place, answer in enumerate(answers)])
    assert record["seconds"] == 0.5 and [each["seconds"] for each in single_records(record)] == [0.5] * 3
    assert "seconds" not in answer_record(answers[2], [Slot("t", 0)]), "nothing was requested"
