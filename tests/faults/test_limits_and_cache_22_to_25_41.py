"""Faults 22 to 25 and 41: a failure is never a score and never cached, limits hold exactly, keys tell questions apart."""

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mm_eval.engine.cache import AnswerCache
from mm_eval.engine.journal import read_journal
from mm_eval.engine.model import Model, ModelFacts, ModelSettings, request_key
from mm_eval.engine.outcome import failure_limit
from mm_eval.values.errors import ModelError
from mm_eval.values.types import Answer, Instance
from tests.conftest import Ran
from tests.engine.asking import ask, questions
from tests.processes import HANGS

HERE = Path(__file__).parent


class Failing(Model):
    """Fails on some docs; notes what it was asked."""

    fails: frozenset[int] = frozenset()

    def __init__(self, fails: frozenset[int] = frozenset(), seed: int = 0) -> None:
        super().__init__({}, ModelSettings(seed=seed))
        self.fails, self.asked = fails, []

    def generate(self, instances):
        for instance in instances:
            self.asked.append(instance.doc_id)
            failed = instance.doc_id in self.fails
            yield instance, ModelError("the server is down") if failed else Answer(f"echo {instance.context}")


ODD = ('Yes"', '{"text": "A"}', "\n", "\x00", "\udcff", "名前", "</s>", ',"output":{"text":"', "A" * 5000)


def test_22_error_text_is_never_in_an_output(tmp_path: Path) -> None:
    """300 random texts, each with a mark of its own, among answers: no output has one, and no failed doc has an output."""
    draw = random.Random(22)

    class Odd(Failing):
        def generate(self, instances):
            for instance, found in super().generate(instances):
                if isinstance(found, ModelError):
                    found = ModelError(f"mark {draw.choice(ODD)}{draw.choice(ODD)}{draw.choice(ODD)}")
                yield instance, found

    failing = frozenset(draw.sample(range(600), 300))
    ask(tmp_path, Odd(failing), questions(600))
    lines = b"".join(path.read_bytes() for path in (tmp_path / "journal").glob("*.jsonl")).splitlines()
    records = [json.loads(line) for line in lines]
    assert {record["slots"][0][1] for record in records if record["kind"] == "error"} == failing and len(records) == 600
    for record in records:
        assert ("output" in record) == (record["kind"] == "answer") == ("error" not in record)
        assert "mark" not in json.dumps(record.get("output", ""))
    state = read_journal(tmp_path)
    assert all((state.answer(each.slot) is None) == (each.doc_id in failing) for each in questions(600))


def test_23_errors_are_never_cached_and_exactly_they_are_asked_again(tmp_path: Path) -> None:
    broken = frozenset({3, 4, 17})
    run, other, cache = tmp_path / "run", tmp_path / "other", tmp_path / "cache"
    model = Failing(broken)
    shared = AnswerCache(cache, model)
    assert ask(run, model, questions(20), cache=shared).failed == 3
    shared.close()
    again = Failing()
    assert ask(run, again, questions(20)).answered == 3 and again.asked == sorted(broken)
    elsewhere = Failing()
    shared = AnswerCache(cache, elsewhere)
    outcome = ask(other, elsewhere, questions(20), cache=shared)
    shared.close()
    assert elsewhere.asked == sorted(broken) and outcome.cached == 17
    state = read_journal(other)
    assert [state.answer(each.slot).output for each in questions(20)] == [f"echo question {n}" for n in range(20)]


def test_23_sampled_answers_never_cross_runs_but_are_kept_within_one(tmp_path: Path) -> None:
    sampled = questions(5, temperature=0.7)
    for expected, folder in ((5, "one"), (5, "two"), (0, "two")):
        model = Failing()
        cache = AnswerCache(tmp_path / "cache", model)
        ask(tmp_path / folder, model, sampled, cache=cache)
        cache.close()
        assert len(model.asked) == expected


def test_23_an_adapter_that_is_no_function_of_its_key_shares_nothing(tmp_path: Path) -> None:
    class Free(Failing):
        facts = ModelFacts(shares="none")

    for folder in ("one", "two"):
        model = Free()
        cache = AnswerCache(tmp_path / "cache", model)
        twice = [Instance("generate_until", task, 0, {}, "the same") for task in "ab"]
        assert ask(tmp_path / folder, model, twice, cache=cache).answered == 2
        cache.close()
        assert len(model.asked) == 2


def test_23_the_cache_of_the_command_line_serves_a_second_run_folder(cli, tmp_path: Path) -> None:
    arguments = ("--tasks", "mme", "--model", "dummy", "--sample", "--limit", "6", "--use_cache", tmp_path / "cache")
    one = cli(*arguments, "--output_path", tmp_path / "one")
    two = cli(*arguments, "--output_path", tmp_path / "two")
    assert one.code == two.code == 0 and "6 answers came from --use_cache" in two.out
    assert {**one.results, "run": 0} == {**two.results, "run": 0}
    other = cli(*arguments, "--output_path", tmp_path / "three", "--seed", "1")
    assert "came from --use_cache" not in other.out


@pytest.mark.parametrize(
    ("limit", "failing", "stops_at"),
    [(False, failing, None) for failing in (9, 10, 11)]
    + [(0.1, 9, None), (0.1, 10, 10), (0.1, 11, 10), (10, 9, None), (10, 10, 10), (10, 11, 10)]
    + [(5, failing, 5) for failing in (9, 10, 11)]
    + [(5, 4, None)],
)
def test_24_the_boundary_of_fail_on_error_holds_exactly(tmp_path: Path, limit, failing: int, stops_at) -> None:
    model = Failing(frozenset(range(40, 40 + failing)))
    outcome = ask(tmp_path, model, questions(100), fail_at=failure_limit(limit, 100))
    assert (outcome.stopped is not None) == (stops_at is not None)
    assert len(model.asked) == (40 + stops_at if stops_at else 100) and outcome.failed == (stops_at or failing)
    assert len(read_journal(tmp_path).answers) == len(model.asked) - outcome.failed


def test_24_a_share_is_counted_without_rounding() -> None:
    assert [failure_limit(share, 100) for share in (0.07, 0.29, 0.001)] == [7, 29, 1]
    assert (failure_limit(True, 9), failure_limit(3, 9), failure_limit(False, 9)) == (1, 3, None)


@pytest.mark.parametrize(("limit", "asked"), [("false", 8), ("true", 3), ("2", 4), ("0.25", 4)])
def test_24_partial_results_are_written_whatever_the_limit(
    cli: Callable[..., Ran], tmp_path: Path, limit: str, asked: int
) -> None:
    answers = tmp_path / "answers.jsonl"
    rows = [{"task": "mme", "doc_id": n, "resps": ["Yes"]} for n in range(8) if n not in (2, 3)]
    answers.write_text("\n".join(json.dumps(row) for row in rows))
    arguments = ("--tasks", "mme", "--model", "replay", "--model_args", f"path={answers}", "--sample", "--limit", "8")
    ran = cli(*arguments, "--fail_on_error", limit)
    row = ran.results["results"]["mme"]
    assert ran.code == 3 and row["n"] == 8 and row["failed"] == len([n for n in range(asked) if n in (2, 3)])
    assert row.get("not_requested", 0) == 8 - asked, "what the limit left was never requested, and has not failed"
    assert ("stops the run at" in ran.out) == (limit != "false")
    assert [sample["status"] for sample in ran.samples("mme")].count("answered") == asked - row["failed"]


def test_24_failures_in_other_processes_count(tmp_path: Path) -> None:
    model = Failing(frozenset(range(10)))
    outcome = ask(tmp_path, model, questions(40), fail_at=10, failed_elsewhere=lambda: 6)
    assert model.asked == [0, 1, 2, 3] and "10 requests have failed" in str(outcome.stopped)


@pytest.mark.slow
def test_24_the_limit_counts_the_failures_of_all_processes_of_a_launch(tmp_path: Path) -> None:
    """Two ranks with 40 docs each: alone neither would stop before 30 failures of its own, 60 in all."""
    script = [str(HERE / "failing_ranks.py"), str(tmp_path / "log")]
    words = ["--tasks", "mme", "--model", "failing", "--sample", "--limit", "80", "--fail_on_error", "30"]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]
    environment = {**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"}
    command = [*launcher, *script, *words, "--output_path", str(tmp_path / "run")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=HANGS, env=environment)
    assert done.returncode != 0 and "--fail_on_error stops the run at 30" in done.stdout, done.stderr
    assert 30 <= len((tmp_path / "log").read_text().splitlines()) < 45


@pytest.mark.parametrize("limit", ["0", "-1", "2.5", "some"])
def test_24_a_limit_that_makes_no_sense_is_refused(cli: Callable[..., Ran], limit: str) -> None:
    refused = cli("--tasks", "mme", "--model", "dummy", "--sample", "--fail_on_error", limit)
    assert refused.code == 2 and f"--fail_on_error is '{limit}'; true, false, a count" in refused.err


def test_25_answers_that_are_missing_doubled_or_reordered_are_never_shifted(tmp_path: Path) -> None:
    class Wild(Failing):
        def generate(self, instances):
            known = list(instances)
            known = known[::-1][:-2]
            yield from ((each, Answer(f"echo {each.context}")) for each in known)
            yield known[0], Answer("once more")

    outcome = ask(tmp_path, Wild(), questions(10))
    state = read_journal(tmp_path)
    found = [state.answer(each.slot) for each in questions(10)]
    assert [each and each.output for each in found] == [None, None] + [f"echo question {n}" for n in range(2, 10)]
    assert "has its answer already" in str(outcome.stopped)


PICTURE = ("a" * 64, "b" * 64)
BASE = {
    "context": [{"role": "system", "content": "s"}, {"role": "user", "content": [{"type": "text", "text": "q"}]}],
    "image_digests": PICTURE,
    "generation_kwargs": {"until": ["x"], "max_gen_toks": 5, "temperature": 0.5, "top_p": 0.9},
}


def key_of(
    changes: dict | None = None, seed: int = 0, options: dict | None = None, task: str = "t", doc: int = 0
) -> str:
    given = {**BASE, **(changes or {})}
    given["generation_kwargs"] = {**given["generation_kwargs"], **(options or {})}
    return request_key(Failing(seed=seed), Instance("generate_until", task, doc, {}, **given))


def test_41_every_part_of_a_question_changes_its_key() -> None:
    system = [{"role": "system", "content": "t"}, *BASE["context"][1:]]
    keys = [
        key_of(),
        key_of({"context": system}),
        key_of({"context": BASE["context"][1:]}),
        key_of({"context": "q"}),
        key_of({"image_digests": PICTURE[::-1]}),
        key_of({"image_digests": PICTURE[:1]}),
        key_of({"image_digests": ("a" * 63 + "c", PICTURE[1])}),
        key_of({"repeat": 1}),
        key_of({"continuation": "A"}),
        key_of(seed=1),
        *(key_of(options=changed) for changed in ({"until": ["y"]}, {"max_gen_toks": 6}, {"temperature": 0.6})),
        *(key_of(options=changed) for changed in ({"top_p": 0.8}, {"top_k": 3}, {"min_p": 0.1})),
    ]
    assert len(set(keys)) == len(keys)


def test_41_what_cannot_change_an_answer_does_not_change_its_key() -> None:
    ordered = {"context": BASE["context"], "image_digests": PICTURE}
    turned = dict(reversed(BASE["generation_kwargs"].items()))
    same = [
        key_of(options={"timeout": 3}),
        key_of(options={"max_retries": 9}),
        key_of(options={"num_concurrent": 4, "concurrency": 5}),
        key_of({**ordered, "generation_kwargs": turned}),
        key_of(task="another", doc=7),
    ]
    assert set(same) == {key_of()}


def test_41_one_pixel_changes_the_picture(tmp_path: Path) -> None:
    from PIL import Image

    from mm_eval.data.media import picture_digest

    one = Image.new("RGB", (9, 7), (1, 2, 3))
    other = one.copy()
    other.putpixel((8, 6), (1, 2, 4))
    assert picture_digest(one) != picture_digest(other)
    assert picture_digest(one) != picture_digest(Image.new("RGB", (7, 9), (1, 2, 3)))
