"""Servers that are not there: the questions wait together, a restarted server fails none of them, and a dead one ends the run."""

import asyncio
import json
import re
import shutil
import ssl
import subprocess
import threading
import time
from collections import Counter
from pathlib import Path

import httpx
import pytest
from mm_eval.models.openai.adapter import OpenAI
from mm_eval.models.openai.client.statuses import retry_after

from mm_eval.engine.journal import read_journal
from mm_eval.engine.model import ModelSettings
from mm_eval.values.errors import ConfigError, ModelError
from mm_eval.values.types import Answer
from tests.faults.raw_server import Exchange, http, raw_server, said
from tests.faults.server import Server, echo, fault
from tests.faults.test_network_17_to_27 import answers, ask
from tests.sets import each_of, few

REFUSED = httpx.ConnectError("connection refused")


class Faulty(Server):
    """Fails in one way while `down(seconds since the start)` is true."""

    def __init__(self, failure: httpx.Response | Exception, down, latency: float = 0.5) -> None:
        super().__init__(lambda body, nth: echo(body), latency)
        self.failure, self.down, self.began = failure, down, self.loop.time()
        self.failed: list[float] = []

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        if self.down(self.loop.time() - self.began):
            self.failed.append(self.loop.time() - self.began)
            if isinstance(self.failure, Exception):
                raise self.failure
            return self.failure
        return await super().__call__(request)


def test_nobody_at_the_port_ends_the_run_after_a_few_probes(tmp_path: Path) -> None:
    server = Faulty(REFUSED, lambda now: True)
    outcome = ask(tmp_path, server, 420)
    assert len(server.failed) <= 8 and server.loop.time() - server.began <= 12
    assert (outcome.answered, outcome.failed) == (0, 0), "what was not asked is no failure of its doc"
    assert "http://server/v1 could not be reached for 10 s" in str(outcome.stopped)
    assert "connection refused" in str(outcome.stopped) and "max_outage" in str(outcome.stopped)
    again = Server(lambda body, nth: echo(body))
    assert ask(tmp_path, again, 420).answered == 420


@pytest.mark.parametrize("limit", ["max_outage", "deadline"])
def test_how_long_an_outage_may_last_is_stated(limit: str, tmp_path: Path) -> None:
    server = Faulty(REFUSED, lambda now: True)
    outcome = ask(tmp_path, server, 20, **{"max_outage": 100, limit: 40})
    assert 39 <= server.loop.time() - server.began <= 41 and "40 s" in str(outcome.stopped)


@pytest.mark.parametrize("failure", few([REFUSED, httpx.ConnectTimeout("no reply"), httpx.ReadError("reset")], at=[0]))
@pytest.mark.parametrize("under_way", few([1, 32], at=[0]))
def test_a_restarted_server_fails_no_question(failure: Exception, under_way: int, tmp_path: Path) -> None:
    server = Faulty(failure, lambda now: 2 <= now < 200)
    outcome = ask(tmp_path, server, 200, num_concurrent=under_way, deadline=600)
    assert (outcome.answered, outcome.failed, outcome.stopped) == (200, 0, None)
    assert len(server.failed) <= 3 * under_way + 40, "one probe at a time"
    gaps = [later - earlier for earlier, later in zip(server.failed[-5:], server.failed[-4:], strict=False)]
    assert min(gaps) >= 5, "at growing intervals"


def test_an_outage_does_not_use_up_the_deadline_of_a_question() -> None:
    server = Faulty(REFUSED, lambda now: 2 <= now < 40)
    found = answers(server, 100, num_concurrent=8, deadline=60, max_outage=60)
    assert all(isinstance(each, Answer) for each in found.values())
    slow = Faulty(REFUSED, lambda now: 2 <= now < 40 or 60 <= now < 100, latency=3.0)
    found = answers(slow, 100, num_concurrent=8, deadline=60, max_outage=60)
    assert all(isinstance(each, Answer) for each in found.values())


def test_a_server_that_dies_for_good_keeps_what_it_answered(tmp_path: Path) -> None:
    server = Faulty(REFUSED, lambda now: now >= 10)
    outcome = ask(tmp_path, server, 1000, num_concurrent=8)
    assert outcome.answered >= 140 and outcome.failed == 0
    assert "could not be reached for 300 s" in str(outcome.stopped)
    assert len(read_journal(tmp_path).answers) == outcome.answered


@pytest.mark.parametrize("status", few([502, 503, 504], at=[0]))
@pytest.mark.parametrize("started", few([0, 30], at=[1]))
def test_a_server_that_loads_is_waited_for(status: int, started: int, tmp_path: Path) -> None:
    loading = httpx.Response(status, text="Loading model")
    server = Faulty(loading, lambda now: started <= now < started + 120)
    outcome = ask(tmp_path, server, 600, num_concurrent=8)
    assert (outcome.answered, outcome.failed, outcome.stopped) == (600, 0, None)
    assert len(server.failed) <= 60
    dead = Faulty(loading, lambda now: True)
    outcome = ask(tmp_path / "dead", dead, 50)
    assert f"HTTP {status}: 'Loading model'" in str(outcome.stopped) and dead.loop.time() - dead.began <= 310


@pytest.mark.parametrize("kind", few([503, "reset", "500"], at=[0]))
def test_a_question_that_always_fails_so_fails_alone(kind: object) -> None:
    """Though the server breaks off, or answers 503, for this question: others are answered meanwhile."""

    def handle(body: dict, nth: int) -> httpx.Response | Exception:
        if body["messages"][0]["content"] == "question 0":
            return httpx.Response(503, text="overloaded") if kind == 503 else fault(str(kind))
        return echo(body)

    for count in (2, 300):
        server = Server(handle)
        found = answers(server, count, num_concurrent=8)
        assert isinstance(found[0], ModelError) and found[0].attempts == 6, found[0]
        assert sum(isinstance(each, Answer) for each in found.values()) == count - 1
        assert server.loop.time() <= 1000 + count / 8 * 0.5 + 60


class Fleet(Server):
    """Two servers, of which b fails while `down` is true."""

    def __init__(self, failure: httpx.Response | Exception, down) -> None:
        super().__init__(lambda body, nth: echo(body))
        self.failure, self.down, self.hosts, self.began = failure, down, Counter(), self.loop.time()

    async def __call__(self, request: httpx.Request) -> httpx.Response:
        self.hosts[request.url.host] += 1
        if request.url.host == "b" and self.down(self.loop.time() - self.began):
            if isinstance(self.failure, Exception):
                raise self.failure
            return self.failure
        return await super().__call__(request)


@pytest.mark.full
@pytest.mark.parametrize("failure", few([REFUSED, httpx.Response(503), httpx.ReadError("reset")], at=(0,)))
def test_the_others_of_a_fleet_take_over(failure: object) -> None:
    both = {"base_url": "http://a/v1|http://b/v1", "num_concurrent": 8}
    dead = Fleet(failure, lambda now: True)
    assert all(isinstance(each, Answer) for each in answers(dead, 400, **both).values())
    assert dead.hosts["b"] <= 20 and dead.loop.time() - dead.began <= 30
    back = Fleet(failure, lambda now: 1 < now < 10)
    assert all(isinstance(each, Answer) for each in answers(back, 800, **both).values())
    assert back.hosts["b"] >= 200, "a server that is back gets its share again"


@pytest.mark.parametrize("status", [301, 307, 401, 402, 403, 404, 405, 407])
def test_a_refused_client_costs_one_request(status: int, tmp_path: Path) -> None:
    server = Server(lambda body, nth: httpx.Response(status, text="go away"), latency=0.1)
    outcome = ask(tmp_path, server, 420)
    assert len(server.requests) == 1 and outcome.answered == outcome.failed == 0
    assert f"HTTP {status}: 'go away'" in str(outcome.stopped)


@pytest.mark.parametrize("code", [401, "401", 404])
@pytest.mark.parametrize("form", [{"error": {"message": "no"}}, {"object": "error", "message": "no"}])
def test_an_error_within_a_reply_of_status_200_means_what_its_code_says(
    code: object, form: dict, tmp_path: Path
) -> None:
    body = {**form, "code": code} if "object" in form else {"error": {**form["error"], "code": code}}
    server = Server(lambda asked, nth: httpx.Response(200, json=body), latency=0.1)
    assert f"HTTP {code}" in str(ask(tmp_path, server, 100).stopped) and len(server.requests) == 1


def test_an_unknown_model_ends_the_run_when_a_server_says_400(tmp_path: Path) -> None:
    body = {"error": {"message": "no such model", "code": "model_not_found"}}
    server = Server(lambda asked, nth: httpx.Response(400, json=body), latency=0.1)
    assert "no such model" in str(ask(tmp_path, server, 100).stopped) and len(server.requests) == 1


def test_a_400_is_its_questions_failure_until_eight_are_alike(tmp_path: Path) -> None:
    server = Server(lambda body, nth: httpx.Response(400, text="no"))
    outcome = ask(tmp_path, server, 100)
    assert "refused 8 questions in a row" in str(outcome.stopped) and len(server.requests) == 8


@pytest.mark.parametrize("status", [403, 422])
def test_a_refusal_that_lasts_ends_the_run_and_a_single_one_does_not(status: int, tmp_path: Path) -> None:
    every = Server(lambda body, nth: httpx.Response(status, text="no"), latency=0.1)
    outcome = ask(tmp_path / "every", every, 420, num_concurrent=8)
    assert str(status) in str(outcome.stopped) and len(every.requests) <= 16
    some = Server(lambda body, nth: httpx.Response(status) if "7" in body["messages"][0]["content"] else echo(body))
    outcome = ask(tmp_path / "some", some, 60)
    assert outcome.stopped is None and outcome.failed == 6 and outcome.answered == 54
    later = Server(lambda body, nth: echo(body) if len(later.requests) < 200 else httpx.Response(status), latency=0.1)
    outcome = ask(tmp_path / "later", later, 1000, num_concurrent=8)
    assert str(status) in str(outcome.stopped) and len(later.requests) <= 240


def test_a_stop_waits_for_no_retry(tmp_path: Path) -> None:
    """Some questions wait a minute for their next attempt when the key is refused: the run ends at once."""

    def handle(body: dict, nth: int) -> httpx.Response:
        if len(server.requests) > 26:
            return httpx.Response(401)
        return httpx.Response(500, headers={"retry-after": "600"}) if len(server.requests) > 20 else echo(body)

    server = Server(handle)
    outcome = ask(tmp_path, server, 420, num_concurrent=8)
    assert "401" in str(outcome.stopped) and server.loop.time() < 1000 + 30


def test_a_429_that_asks_for_longer_than_a_deadline_ends_the_run(tmp_path: Path) -> None:
    server = Server(lambda body, nth: httpx.Response(429, headers={"retry-after": "86400"}))
    outcome = ask(tmp_path, server, 420)
    assert "requests a wait of 86400 s" in str(outcome.stopped) and server.loop.time() < 1000 + 10


@each_of(
    "value",
    ["Mon, 01 Jan 99999999999999999999 00:00:00 GMT", "1e400", "nan", "-5", "x" * 9999, "9" * 9999, "Mon, 99", ""],
)
def test_a_retry_after_that_makes_no_sense_is_none(value: str) -> None:
    assert retry_after({"retry-after": value}) is None
    assert retry_after({"retry-after": "Fri, 31 Dec 1999 23:59:59 GMT", "date": value}) is not None


@pytest.mark.full
def test_the_first_question_goes_alone_and_costs_no_throughput() -> None:
    server = Server(lambda body, nth: echo(body))
    answers(server, 2000, num_concurrent=64)
    assert [active for (when, _), active in zip(server.requests, server.under_way, strict=True) if when < 1000.2] == [1]
    assert 2000 * 0.5 / 64 / (server.loop.time() - 1000 - 0.5) >= 0.96


def test_answers_of_a_group_that_are_there_when_the_run_ends_are_kept() -> None:
    """Four options of one question are asked at the same time; the key is refused at the third."""
    from tests.faults.test_replies import CONTEXT, PROMPT, scored

    def handle(body: dict, nth: int) -> httpx.Response:
        return httpx.Response(401) if "blue" in str(body) else httpx.Response(200, json=found_for(body))

    def found_for(body: dict) -> dict:
        word = body["messages"][-1]["content"].split()[0]
        first = {"7": {"logprob": -0.25, "rank": 1, "decoded_token": f" {word}"}}
        return {**PROMPT, "prompt_logprobs": [None, first, PROMPT["prompt_logprobs"][-1]]}

    server = Server(handle, lambda body, nth: 0.9 if "blue" in str(body) else 0.3)
    asked = scored(CONTEXT, " red house", " green house", " blue house", " grey house")
    kept = []
    with pytest.raises(ModelError, match="401"):
        for instance, found in server.model(loglikelihood="prompt").loglikelihood(asked):
            kept.append((instance.choice, found.output))
    assert kept == [(0, (-2.25, False)), (1, (-2.25, False)), (3, (-2.25, False))]


def dead_run(cli, *more: str, url: str = "http://127.0.0.1:9/v1", tasks: str = "mme", folder: Path | None = None):
    arguments = ",".join((f"base_url={url}", "model=m", *more))
    words = ("--tasks", tasks, "--sample", "--model", "openai", "--model_args", arguments)
    return cli(*words, *(("--output_path", str(folder)) if folder else ()))


@pytest.mark.parametrize(
    ("url", "reason"),
    few(
        [
            ("http://127.0.0.1:9/v1", "Connect call failed"),
            ("http://no-such-host.invalid/v1", "Name or service not known|Temporary failure|No address"),
            (f"http://{'a' * 70}.invalid/v1", "label empty or too long|Name or service|Temporary failure"),
        ],
        at=[0],
    ),
)
def test_a_dead_address_is_told_in_words_and_exit_code_3(url: str, reason: str, cli) -> None:
    ran = dead_run(cli, "max_outage=1", url=url)
    assert ran.code == 3 and "Traceback" not in ran.err
    assert re.search(reason, ran.out + ran.err) and "could not be reached" in ran.out + ran.err


@each_of("url", ["http://host:99999/v1", "http://[::1/v1", "http://host:x/v1", "http:///v1"])
def test_a_url_that_is_none_is_told_before_the_first_request(url: str) -> None:
    with pytest.raises(ConfigError, match="not an http"):
        OpenAI({"base_url": url, "model": "m"}, ModelSettings()).prepare()


@pytest.mark.full
def test_a_real_server_that_is_killed_and_started_again_fails_nothing(cli, caplog) -> None:
    async def handle(exchange: Exchange) -> None:
        await asyncio.sleep(0.02)
        await exchange.send(said("Yes"))

    with raw_server(handle) as server:

        def restart() -> None:
            while server.requests < 100:
                time.sleep(0.01)
            server.stop()
            time.sleep(0.8)
            server.start()

        thread = threading.Thread(target=restart)
        thread.start()
        ran = dead_run(cli, "num_concurrent=16", url=server.url)
        thread.join()
    assert ran.code == 0, ran.out + ran.err
    assert any("replies again" in each.getMessage() for each in caplog.records)


@pytest.mark.full
def test_a_port_that_accepts_and_closes_is_a_dead_server(cli) -> None:
    """What a container's or a tunnel's port does while nobody listens behind it."""

    async def handle(exchange: Exchange) -> None:
        exchange.reset()

    with raw_server(handle) as server:
        ran = dead_run(cli, "max_outage=2", url=server.url)
        assert ran.code == 3 and server.requests <= 8 and "could not be reached" in ran.out, ran.err


@pytest.mark.full
@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificate with openssl")
def test_a_certificate_that_is_not_trusted_ends_the_run_at_once(cli, tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    words = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    subprocess.run(["openssl", "req", *words, "-keyout", key, "-out", certificate], check=True, capture_output=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)

    async def handle(exchange: Exchange) -> None:
        await exchange.send(said("Yes"))

    with raw_server(handle, context) as server:
        started = time.monotonic()
        ran = dead_run(cli, "max_outage=600", url=server.url.replace("http:", "https:"))
    assert ran.code == 3 and time.monotonic() - started < 300, "it does not wait for the end of an outage"
    assert "certificate verify failed" in ran.out and "SSL_CERT_FILE" in ran.out
    with raw_server(handle) as server:
        ran = dead_run(
            cli, "max_outage=1", "timeout=2", url=server.url.replace("http:", "https:"), folder=tmp_path / "plain"
        )
    assert ran.code == 3 and "could not be reached" in ran.out and "Traceback" not in ran.err


async def as_proxy(exchange: Exchange) -> None:
    assert exchange.head.startswith(b"POST http://server.invalid/v1/chat/completions")
    await exchange.send(said("Yes"))


@pytest.mark.full
def test_a_proxy_of_the_environment_is_used_and_a_dead_one_ends_the_run(
    cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with raw_server(as_proxy) as proxy:
        monkeypatch.setenv("http_proxy", f"http://127.0.0.1:{proxy.port}")
        ran = dead_run(cli, url="http://server.invalid/v1", tasks="gsm8k")
        assert ran.code == 0 and proxy.requests > 0, ran.err
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    ran = dead_run(cli, "max_outage=1", url="http://server.invalid/v1", tasks="gsm8k", folder=tmp_path / "dead")
    assert ran.code == 3 and "could not be reached" in ran.out and "Traceback" not in ran.err


def test_403_on_the_command_line_is_one_request_and_exit_code_3(cli) -> None:
    async def handle(exchange: Exchange) -> None:
        await exchange.send(http(json.dumps({"error": {"message": "no access"}}).encode(), "403 Forbidden"))

    with raw_server(handle) as server:
        ran = dead_run(cli, url=server.url)
        assert server.requests == 1
    assert ran.code == 3 and "HTTP 403" in ran.out and "no access" in ran.out
