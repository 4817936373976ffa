"""`mm-eval validate --model`: every answer that depends on the batch or on the shards is listed."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from mm_eval.cli import main
from mm_eval.engine.model import Answers, Model, register_model
from mm_eval.values.errors import ModelError
from mm_eval.values.types import Answer, Instance, Slot
from mm_eval.verbs.validate.check import compare_batching


@register_model("test-depends-on-batch")
class DependsOnBatch(Model):
    """Answers doc 3 with the size of its batch, everything else with itself."""

    def generate(self, instances: Iterable[Instance]) -> Answers:
        for instance in instances:
            text = f"batch {self.settings.batch_size}" if instance.doc_id == 3 else str(instance.doc_id)
            yield instance, Answer(text)

    def loglikelihood(self, instances: Iterable[Instance]) -> Answers:
        for place, instance in enumerate(instances):
            yield instance, Answer((-1.0 - 1e-3 * (place == 5 and self.settings.batch_size != 1), False))


def test_an_invariant_model_passes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate", "--tasks", "mme,arc_easy", "--model", "dummy", "--sample", "--limit", "6"]) == 0
    said = capsys.readouterr().out
    assert said.count("ok  ") == 2 and "in two shards: 0 of" in said and "at batch auto: 0 of" in said


def test_every_answer_that_differs_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["validate", "mme", "--model", "test-depends-on-batch", "--sample", "--limit", "6", "--batch_size", "4"]
    assert main(command) == 2
    said = capsys.readouterr().out
    assert "FAIL  at batch 4: 1 of 6 answers differs from batch 1" in said
    assert "mme doc 3: 'batch 1' at batch 1, 'batch 4' at batch 4" in said


def test_log_likelihoods_are_compared_within_a_tolerance(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["validate", "arc_easy", "--model", "test-depends-on-batch", "--sample", "--limit", "6"]
    assert main(command) == 2
    said = capsys.readouterr().out
    assert "FAIL  at batch auto: 1 of" in said and "1.0e-03 nats" in said
    one, two = {Slot("t", 0): (-1.0, True)}, {Slot("t", 0): (-1.00005, True)}
    assert not compare_batching(one, two, "").differences
    assert compare_batching(one, {Slot("t", 0): (-1.0, False)}, "").differences
    assert compare_batching(one, {}, "").differences, "an answer that is missing differs"


@register_model("test-refuses-some")
class RefusesSome(Model):
    """Fails on even docs in every way, and on doc 3 in batches."""

    def generate(self, instances: Iterable[Instance]) -> Answers:
        for instance in instances:
            fails = instance.doc_id % 2 == 0 or (instance.doc_id == 3 and self.settings.batch_size != 1)
            yield instance, ModelError("no thanks") if fails else Answer("yes")


def test_a_question_that_fails_is_no_answer_that_agrees(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    assert main(["validate", "mme", "--model", "test-refuses-some", "--sample", "--limit", "6"]) == 2
    said = capsys.readouterr()
    assert "3 of 6 questions failed at batch 1, the first with" in caplog.text + said.err
    assert "FAIL  at batch auto: 1 of 3 answers differs from batch 1" in said.out
    assert "mme doc 3: 'yes' at batch 1, error: no thanks" in said.out


def test_tasks_are_named_once(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["validate"]) == 2 and "needs tasks" in capsys.readouterr().err
    assert main(["validate", "mme", "--tasks", "mme"]) == 2
