"""Replies without end, packed or plain: each is the failure of its question, within a bound on memory and time."""

import asyncio
import gzip
import json
import subprocess
import sys
import time
import zlib
from functools import cache

import pytest
from mm_eval.models.openai.adapter import OpenAI
from mm_eval.models.openai.client.transport import LARGE, LARGE_AT_ONCE, Bodies

from mm_eval.engine.model import ModelSettings
from mm_eval.values.errors import ConfigError, ModelError
from mm_eval.values.types import Answer
from tests.faults.raw_server import Exchange, http, raw_server
from tests.faults.test_network_17_to_27 import questions
from tests.processes import HANGS
from tests.sets import each_of

MB = 1 << 20
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
ANSWER = json.dumps({"choices": [{"message": {"content": "Yes"}, "finish_reason": "stop"}]}).encode()


@cache
def packed(megabytes: int, window: int = zlib.MAX_WBITS | 16) -> bytes:
    """So many megabytes of spaces, compressed."""
    packing = zlib.compressobj(9, wbits=window)
    return b"".join([packing.compress(b" " * MB) for _ in range(megabytes)]) + packing.flush()


async def forever(exchange: Exchange, start: bytes, more: bytes, pause: float = 0) -> None:
    await exchange.send(start)
    while True:
        await exchange.send(more)
        await asyncio.sleep(pause)


ENDLESS = {
    "gzip": lambda x: x.send(http(packed(50), headers="Content-Encoding: gzip\r\n")),
    "gzip twice": lambda x: x.send(http(gzip.compress(packed(50)), headers="Content-Encoding: gzip, gzip\r\n")),
    "deflate": lambda x: x.send(http(packed(50, zlib.MAX_WBITS), headers="Content-Encoding: deflate\r\n")),
    "raw deflate": lambda x: x.send(http(packed(50, -zlib.MAX_WBITS), headers="Content-Encoding: deflate\r\n")),
    "gzip without an end": lambda x: x.send(http(packed(1)[:-9], headers="Content-Encoding: gzip\r\n")),
    "an unknown packing": lambda x: x.send(http(ANSWER, headers="Content-Encoding: br\r\n")),
    "many packings": lambda x: x.send(http(ANSWER, headers=f"Content-Encoding: {'gzip, ' * 50}gzip\r\n")),
    "a body": lambda x: forever(x, b"HTTP/1.1 200 OK\r\n\r\n", b" " * 65536),
    "chunks": lambda x: forever(x, CHUNKED, b"10000\r\n" + b" " * 65536 + b"\r\n"),
    "a header": lambda x: forever(x, b"HTTP/1.1 200 OK\r\nX: ", b"a" * 1000),
    "headers": lambda x: forever(x, b"HTTP/1.1 200 OK\r\n", b"X: a\r\n"),
    "trailers": lambda x: forever(x, CHUNKED + b"0\r\n", b"X: a\r\n"),
    "a chunk's head": lambda x: forever(x, CHUNKED + b"1;", b"a" * 1000),
    "a drip": lambda x: forever(x, b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n", b" ", 0.05),
    "early hints": lambda x: forever(x, b"", b"HTTP/1.1 103 Early Hints\r\n\r\n", 0.01),
    "nothing": lambda x: asyncio.sleep(600),
}


@pytest.mark.parametrize(
    ("kind", "proxied"),
    [
        ("a body", False),
        *(pytest.param(kind, False, marks=pytest.mark.full) for kind in ENDLESS if kind != "a body"),
        ("gzip", True),
        pytest.param("a body", True, marks=pytest.mark.full),
        pytest.param("headers", True, marks=pytest.mark.full),
    ],
)
def test_a_reply_without_end_is_the_failure_of_its_question(kind: str, proxied: bool, monkeypatch) -> None:
    if proxied:
        monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")  # httpx's own pool; http:// is asked directly

    async def handle(exchange: Exchange) -> None:
        if b"question 0" in exchange.body:
            await ENDLESS[kind](exchange)
        else:
            await exchange.send(http(ANSWER))

    with raw_server(handle) as server:
        args = {"base_url": server.url, "model": "m", "max_retries": 1, "timeout": 2, "max_reply_mb": 1}
        model, started = OpenAI(args, ModelSettings()), time.monotonic()
        found = {instance.doc_id: each for instance, each in model.generate(questions(3))}
    assert isinstance(found[0], ModelError) and found[0].attempts == 2, found[0]
    assert all(isinstance(found[n], Answer) for n in (1, 2)) and time.monotonic() - started < 300


MEASURE = """
import gc, sys
from mm_eval.models.openai.adapter import OpenAI
from mm_eval.engine.model import ModelSettings
from tests.faults.test_network_17_to_27 import questions
gc.disable()
model = OpenAI({"base_url": sys.argv[1], "model": "m", "max_retries": 0}, ModelSettings())
assert not any(hasattr(found, "output") for _, found in model.generate(questions(16)))
with open("/proc/self/status") as status:
    print(next(line.split()[1] for line in status if line.startswith("VmHWM")))
"""


SETS = [
    pytest.param("Content-Encoding: gzip\r\n", marks=pytest.mark.full),
    pytest.param("", marks=pytest.mark.slow),
]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads /proc")
@pytest.mark.parametrize("headers", SETS)
def test_many_large_replies_at_once_take_little_memory(headers: str) -> None:
    bomb = packed(400)

    async def handle(exchange: Exchange) -> None:
        if headers:
            await exchange.send(http(bomb, headers=headers))
        else:
            await forever(exchange, b"HTTP/1.1 200 OK\r\n\r\n", b" " * 65536)

    with raw_server(handle) as server:
        ran = subprocess.run([sys.executable, "-c", MEASURE, server.url], capture_output=True, text=True, timeout=HANGS)
    assert ran.returncode == 0, ran.stderr
    assert int(ran.stdout) < 450 * 1024, f"{int(ran.stdout) // 1024} MB"


@pytest.mark.parametrize("window", [zlib.MAX_WBITS | 16, zlib.MAX_WBITS, -zlib.MAX_WBITS])
def test_a_packed_reply_of_a_sound_size_is_read(window: int) -> None:
    packing = zlib.compressobj(wbits=window)
    body, name = packing.compress(ANSWER) + packing.flush(), "gzip" if window > 15 else "deflate"

    async def handle(exchange: Exchange) -> None:
        await exchange.send(http(body, headers=f"Content-Encoding: {name}\r\n"))

    with raw_server(handle) as server:
        [(_, found)] = OpenAI({"base_url": server.url, "model": "m"}, ModelSettings()).generate(questions(1))
    assert found.output == "Yes"


def test_few_large_replies_are_read_at_a_time_and_all_of_them_arrive() -> None:
    reading, most = 0, 0

    async def chunks():
        nonlocal reading, most
        yield b"x" * (LARGE + 1)
        reading += 1
        most = max(most, reading)
        await asyncio.sleep(0.001)
        yield b"x"
        reading -= 1

    async def main() -> list[bytes]:
        bodies = Bodies()
        return await asyncio.gather(*(bodies.read(chunks(), []) for _ in range(20)))

    assert {len(body) for body in asyncio.run(main())} == {LARGE + 2} and most == LARGE_AT_ONCE


@each_of("value", ["0", "-1", "nan", "inf", "1e9", "much"])
def test_a_bound_that_is_none_is_told_before_the_first_request(value: str) -> None:
    with pytest.raises(ConfigError):
        OpenAI({"base_url": "http://host/v1", "model": "m", "max_reply_mb": value}, ModelSettings()).prepare()
