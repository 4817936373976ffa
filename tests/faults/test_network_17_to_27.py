"""Faults 17 to 27 of the specification: what servers do, against a server inside the test and a clock that jumps."""

import random
import statistics
from collections import Counter
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path

import httpx
import pytest

from mm_eval.engine.model import ModelSettings
from mm_eval.engine.outcome import Outcome
from mm_eval.values.errors import MMEvalError, ModelError
from mm_eval.values.types import Answer, Instance
from tests.engine import asking
from tests.faults.server import Server, echo, fault, reply, unreliable
from tests.sets import each_of, few


def questions(count: int, **options: object) -> list[Instance]:
    def chat(n: int) -> list[dict]:
        return [{"role": "user", "content": [{"type": "text", "text": f"question {n}"}]}]

    kwargs = {"max_gen_toks": 5, **options}
    return [Instance("generate_until", "t", n, {}, chat(n), generation_kwargs=kwargs) for n in range(count)]


def answers(server: Server, count: int, **args: object) -> dict[int, Answer | MMEvalError]:
    return {instance.doc_id: found for instance, found in server.model(**args).generate(questions(count))}


def ask(folder: Path, server: Server, count: int, **args: object) -> Outcome:
    return asking.ask(folder, server.model(**args), questions(count))


@pytest.mark.parametrize("form", ["seconds", "date"])
def test_17_retry_after_is_waited_for_concurrency_halves_and_nothing_is_lost(form: str) -> None:
    now = datetime(2026, 7, 1, tzinfo=UTC)
    date = {"retry-after": format_datetime(now + timedelta(seconds=7), True), "date": format_datetime(now, True)}
    headers = {"retry-after": "7"} if form == "seconds" else date
    throttled = []

    def handle(body: dict, nth: int) -> httpx.Response:
        if len(server.requests) >= 64 and not throttled:
            throttled.append((body, server.loop.time()))
            return httpx.Response(429, headers=headers)
        return echo(body)

    server = Server(handle)
    found = answers(server, 300, num_concurrent=32)
    assert {n: each.output for n, each in found.items()} == {n: f"echo question {n}" for n in range(300)}
    [(body, when)] = throttled
    again = [time for time, asked in server.requests if asked == body]
    assert len(again) == 2 and 6.9 <= again[1] - when <= 7.1
    assert not [time for time, _ in server.requests if when < time < when + 6.9], "the others wait as well"
    after = [active for (time, _), active in zip(server.requests, server.under_way, strict=True) if time >= when + 6.9]
    assert max(server.under_way) == 32 and max(after[:16]) <= 16, "half as many, then slowly more"


def test_18_three_500s_then_an_answer_are_four_attempts_on_record(tmp_path: Path) -> None:
    server = Server(lambda body, nth: fault("500") if nth <= 3 else echo(body))
    assert ask(tmp_path, server, 3).answered == 3
    lines = b"".join(path.read_bytes() for path in (tmp_path / "journal").glob("*.jsonl"))
    assert lines.count(b'"attempts":4') == 3


def test_18_waits_are_full_jitter_under_a_capped_exponential() -> None:
    from mm_eval.models.openai.client.http import Client, Limits

    limits = Limits(base_wait=0.5, max_wait=10)
    for tries in range(1, 9):
        cap = min(10, 0.5 * 2 ** (tries - 1))
        waits = [Client(None, (), limits, draw=random.Random(seed))._jitter(tries) for seed in range(1000)]
        assert 0 <= min(waits) < 0.05 * cap and 0.95 * cap < max(waits) <= cap
        assert statistics.mean(waits) == pytest.approx(cap / 2, rel=0.1)


@each_of("status", [400, 403, 413, 422])
def test_19_a_refused_request_is_tried_once_and_fails_alone(status: int) -> None:
    server = Server(lambda body, nth: httpx.Response(status, text="no") if "question 3" in str(body) else echo(body))
    found = answers(server, 10)
    assert isinstance(found[3], ModelError) and str(status) in str(found[3]) and found[3].attempts == 1
    assert len(server.requests) == 10 and sum(isinstance(each, Answer) for each in found.values()) == 9


@pytest.mark.parametrize("status", few([401, 402, 404], at=[0]))
def test_19_a_key_or_url_that_is_wrong_stops_the_run_within_one_request_a_worker(tmp_path: Path, status: int) -> None:
    server = Server(lambda body, nth: httpx.Response(status, json={"error": {"message": "go away"}}))
    outcome = ask(tmp_path, server, 500, num_concurrent=8)
    assert len(server.requests) <= 8 and outcome.answered == 0
    assert str(status) in str(outcome.stopped) and "go away" in str(outcome.stopped)
    whole = Server(lambda body, nth: echo(body))
    assert ask(tmp_path, whole, 500).answered == 500, "what was not asked is pending"


@pytest.mark.full
def test_20_a_hang_ends_at_its_deadlines_and_slows_nobody_down() -> None:
    def latency(body: dict, nth: int) -> float:
        return 1e6 if body["messages"][0]["content"] == "question 7" else 0.5

    server = Server(lambda body, nth: echo(body), latency)
    started = server.loop.time()
    ended: dict[int, float] = {}
    model = server.model(num_concurrent=64, timeout=10, deadline=45, max_retries=100)
    for instance, found in model.generate(questions(2000)):
        ended[instance.doc_id] = server.loop.time() - started
        assert isinstance(found, Answer) == (instance.doc_id != 7), found
    attempts = [time for time, body in server.requests if body["messages"][0]["content"] == "question 7"]
    assert 10 <= attempts[1] - attempts[0] <= 11 and 40 <= ended[7] <= 49.5 and len(attempts) >= 4
    others = max(when for n, when in ended.items() if n != 7)
    assert 2000 * 0.5 / 64 / (others - 0.5) >= 0.95, "after the first question, which is sent alone"


@each_of("kind", ["reset", "truncated", "html", "no choices", "null", "500"])
def test_21_a_malformed_reply_is_asked_again_and_then_an_error_never_an_empty_answer(kind: str) -> None:
    passing = Server(lambda body, nth: fault(kind) if nth == 1 else echo(body))
    assert sorted(each.output for each in answers(passing, 2).values()) == ["echo question 0", "echo question 1"]
    lasting = Server(lambda body, nth: fault(kind) if "question 0" in str(body) else echo(body))
    found = answers(lasting, 2, max_retries=3)
    assert isinstance(found[0], ModelError) and found[0].attempts == 4 and found[1].output == "echo question 1"


@each_of(
    ("sent", "expected", "attempts"),
    [
        (reply("", None), "does not say how the answer ended", 3),
        (reply("Yes", None), "does not say how the answer ended", 3),
        (reply(None, "stop"), "finish_reason 'stop'", 3),
        (reply(None, "tool_calls"), "called a tool", 1),
        (reply("Yes", "tool_calls"), "called a tool", 1),
        (reply("Yes", "pause_turn"), "did not end in a known way (pause_turn)", 1),
        (reply("Yes", "a word of tomorrow"), "did not end in a known way (a word of tomorrow)", 1),
        (reply("Yes", "insufficient_system_resource"), "broke off (insufficient_system_resource)", 3),
        (reply(["a"], "stop"), "finish_reason 'stop'", 3),
        (httpx.Response(200, json={"error": {"message": "overloaded"}}), "overloaded", 3),
        (httpx.Response(200, json=[1]), "reply is an error", 3),
    ],
)
def test_21_what_is_no_answer_is_told_for_what_it_is(sent: httpx.Response, expected: str, attempts: int) -> None:
    found = answers(Server(lambda body, nth: sent), 1, max_retries=2)[0]
    assert isinstance(found, ModelError) and expected in str(found) and found.attempts == attempts


def test_21_a_cut_and_an_empty_answer_of_the_models_own_are_answers() -> None:
    cut = answers(Server(lambda body, nth: reply("Yes, the", "length")), 1)[0]
    assert (cut.output, cut.truncated, cut.usage) == ("Yes, the", True, {"prompt_tokens": 7, "completion_tokens": 1})
    assert answers(Server(lambda body, nth: reply("", "stop")), 1)[0].output == ""
    model = Server(lambda body, nth: reply("one\ntwo", "length")).model()
    [(_, stopped)] = model.generate(questions(1, until=["\n"]))
    assert (stopped.output, stopped.truncated) == ("one", False)


def test_22_a_spent_budget_is_an_error_record_and_its_text_no_output(tmp_path: Path) -> None:
    server = Server(lambda body, nth: fault("500"))
    outcome = ask(tmp_path, server, 20, max_retries=2)
    assert (outcome.failed, outcome.answered, len(server.requests)) == (20, 0, 60)
    lines = b"".join(path.read_bytes() for path in (tmp_path / "journal").glob("*.jsonl")).splitlines()
    assert len(lines) == 20
    assert all(b'"kind":"error"' in line and b'"output"' not in line and b'"attempts":3' in line for line in lines)


def faults_change_nothing(count: int, seeds: range) -> None:
    expected = Counter(f"echo question {n}" for n in range(count))
    for seed in seeds:
        server = Server(unreliable(0.02, seed))
        found = answers(server, count, num_concurrent=64)
        assert Counter(getattr(each, "output", str(each)) for each in found.values()) == expected, seed
        assert len(server.requests) > count


@pytest.mark.full
def test_27_random_faults_of_seven_kinds_change_no_answer() -> None:
    faults_change_nothing(400, range(3))


@pytest.mark.slow
def test_27_ten_thousand_samples_and_30_seeds() -> None:
    faults_change_nothing(10_000, range(30))


@pytest.mark.full
def test_throughput_is_kept_under_faults_other_than_429() -> None:
    server = Server(unreliable(0.02, 1, ("500", "reset", "truncated", "html", "null")), 0.5)
    started = server.loop.time()
    assert all(isinstance(each, Answer) for each in answers(server, 2000, num_concurrent=64).values())
    assert 2000 * 0.5 / 64 / (server.loop.time() - started - 0.5) >= 0.95, "after the first question, sent alone"


def test_what_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-123456")
    server = Server(lambda body, nth: echo(body))
    model = server.model(settings=ModelSettings(seed=5), max_tokens_name="max_completion_tokens", extra_body='{"x": 1}')
    list(model.generate(questions(1, until=list("abcdef"), temperature=0.5, top_p=0.9, top_k=4)))
    [(_, body)] = server.requests
    assert server.headers[0]["authorization"] == "Bearer sk-canary-123456"
    assert body == {
        "model": "m",
        "max_completion_tokens": 5,
        "temperature": 0.5,
        "seed": 5,
        "stop": list("abcd"),
        "top_p": 0.9,
        "top_k": 4,
        "x": 1,
        "messages": [{"role": "user", "content": "question 0"}],
    }
