"""The connections of the openai adapter against real sockets: reused, opened again when the server closed them, over TLS."""

import asyncio
import shutil
import ssl
import subprocess
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path

import h11
import httpx
import pytest
from mm_eval.models.openai.adapter import OpenAI
from mm_eval.models.openai.client.transport import Heads, Lanes, Proxied, plain_head

from mm_eval.engine.model import ModelSettings
from mm_eval.values.errors import ConfigError

Serve = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def answered(closes: bool, connections: list[int], bodies: list[bytes]) -> Serve:
    """Answers each request with its length; closes the connection after each where asked to."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connections.append(1)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                [size] = [int(line.split(b":")[1]) for line in head.lower().splitlines() if b"content-length" in line]
                bodies.append(await reader.readexactly(size))
                body = str(size).encode()
                writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n%s" % (len(body), body))
                await writer.drain()
                if closes:
                    break
        except asyncio.IncompleteReadError:
            pass
        writer.close()

    return serve


async def asked(serve: Serve, count: int, scheme: str = "http", context: ssl.SSLContext | None = None) -> list[str]:
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=context)
    url = f"{scheme}://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
    lanes, texts = Lanes(), []
    try:
        for number in range(count):
            reply = await lanes.handle_async_request(httpx.Request("POST", url, content=b"x" * 100_000 + b"y" * number))
            assert reply.status_code == 200
            texts.append(reply.text)
            await asyncio.sleep(0.02)
    finally:
        await lanes.aclose()
        server.close()
    return texts


def test_one_connection_serves_many_requests() -> None:
    connections, bodies = [], []
    assert asyncio.run(asked(answered(False, connections, bodies), 4)) == ["100000", "100001", "100002", "100003"]
    assert len(connections) == 1 and bodies[3] == b"x" * 100_000 + b"yyy"


def test_a_connection_that_the_server_closed_is_opened_anew_and_no_request_fails() -> None:
    connections, bodies = [], []
    assert len(asyncio.run(asked(answered(True, connections, bodies), 4))) == 4
    assert len(connections) == 4


def test_nobody_at_the_port_and_a_broken_reply_are_transport_errors() -> None:
    async def broken(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 500\r\n\r\n{")
        writer.close()

    with pytest.raises(httpx.TransportError):
        asyncio.run(asked(broken, 1))
    with pytest.raises(httpx.TransportError):
        asyncio.run(Lanes().handle_async_request(httpx.Request("POST", "http://127.0.0.1:9/v1", content=b"x")))


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes its certificate with openssl")
def test_https_is_checked_against_the_known_authorities(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    words = ["-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=127.0.0.1"]
    words += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(["openssl", "req", *words], check=True, capture_output=True)
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    with pytest.raises(httpx.TransportError, match="certificate verify failed"):
        asyncio.run(asked(answered(False, [], []), 1, "https", context))
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    assert asyncio.run(asked(answered(False, [], []), 2, "https", context)) == ["100000", "100001"]


def test_a_request_that_was_given_up_costs_its_connection_and_no_other_request() -> None:
    connections: list[int] = []
    whole = answered(False, connections, [])

    async def hangs_once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if connections:
            return await whole(reader, writer)
        connections.append(1)
        await reader.read()
        writer.close()

    async def main() -> list[str]:
        server = await asyncio.start_server(hangs_once, "127.0.0.1", 0)
        request = httpx.Request("POST", f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", content=b"x" * 5)
        lanes = Lanes()
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.2):
                await lanes.handle_async_request(request)
        replies = [(await lanes.handle_async_request(request)).text for _ in range(2)]
        await lanes.aclose()
        server.close()
        return replies

    assert asyncio.run(main()) == ["5", "5"] and len(connections) == 2


def reply(body: bytes, status: bytes = b"200 OK", more: bytes = b"") -> bytes:
    return b"HTTP/1.1 %s\r\ncontent-length: %d\r\n%s\r\n%s" % (status, len(body), more, body)


async def asked_of(serve: Serve, contents: list[bytes]) -> list[tuple[int, str]]:
    """The replies of a server to some bodies, one after another."""

    async def served(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(asyncio.IncompleteReadError, OSError):
            await serve(reader, writer)
        writer.close()

    server = await asyncio.start_server(served, "127.0.0.1", 0)
    url, lanes, found = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1", Lanes(), []
    for content in contents:
        async with asyncio.timeout(20):
            answer = await lanes.handle_async_request(httpx.Request("POST", url, content=content))
        found.append((answer.status_code, answer.text))
        await asyncio.sleep(0.05)
    await lanes.aclose()
    server.close()
    return found


@pytest.mark.parametrize("later", (0.0, 0.01))
def test_what_a_server_says_without_being_asked_is_no_answer_to_the_next_question(later: float) -> None:
    async def twice(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while await reader.readuntil(b"\r\n\r\n"):
            body = await reader.readexactly(2)
            writer.write(reply(body))
            await asyncio.sleep(later)
            writer.write(reply(b"once more: " + body))

    async def closes_with_a_word(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(reply(await reader.readexactly(2)))
        await asyncio.sleep(later)
        writer.write(reply(b"idle for too long", b"408 Request Timeout", b"connection: close\r\n"))

    for serve in (twice, closes_with_a_word):
        assert asyncio.run(asked_of(serve, [b"q1", b"q2", b"q3"])) == [(200, "q1"), (200, "q2"), (200, "q3")]


@pytest.mark.parametrize("closes", (True, False))
def test_a_server_may_refuse_a_long_body_before_it_has_read_it(closes: bool) -> None:
    """vLLM checks the key, and LiteLLM the length, so; it closes a connection with unread bytes, which resets it."""

    async def refuses(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(reply(b"too large", b"413 Payload Too Large", b"" if closes else b"x: y\r\n"))
        await writer.drain()
        if not closes:
            writer.transport.pause_reading()
            await asyncio.sleep(1)

    long = b"x" * 20_000_000
    assert asyncio.run(asked_of(refuses, [long, long])) == [(413, "too large")] * 2


def test_hosts_without_a_proxy_are_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    def transport() -> httpx.AsyncBaseTransport:
        return OpenAI({"base_url": "http://127.0.0.1:9/v1", "model": "m"}, ModelSettings()).new_transport()

    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("no_proxy", "localhost")
    assert isinstance(transport(), Lanes)
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    assert isinstance(transport(), Proxied)


@pytest.mark.parametrize("proxy", ("", "http://127.0.0.1:9"))
@pytest.mark.parametrize("content", (None, "no certificate\n"))
def test_a_file_of_certificates_that_cant_be_read_is_told_before_the_first_request(
    proxy: str, content: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    if proxy:
        monkeypatch.setenv("https_proxy", proxy)
    if content is not None:
        (tmp_path / "authorities.pem").write_text(content)
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "authorities.pem"))
    model = OpenAI({"base_url": "https://127.0.0.1:9/v1", "model": "m"}, ModelSettings())
    with pytest.raises(ConfigError, match=r"authorities\.pem: the certificates to trust can't be read: .*[Nn]o "):
        model.prepare()
    if not proxy:  # nothing is read for a server without TLS
        OpenAI({"base_url": "http://127.0.0.1:9/v1", "model": "m"}, ModelSettings()).prepare()


PLAIN = b"HTTP/1.1 200 OK\r\nServer: a\r\nContent-Length: 4\r\n\r\n"


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n",  # not whole
        b"HTTP/1.0 200 OK\r\nContent-Length: 4\r\n\r\n",
        b"HTTP/1.1 100 Continue\r\nContent-Length: 4\r\n\r\n",
        b"HTTP/1.1 204 None\r\nContent-Length: 4\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nServer: a\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nContent-Length: 4\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: -4\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nServer: a\r\n b\r\n\r\n",  # a header on two lines
        b"HTTP/1.1 200 OK\r\nContent-Length : 4\r\n\r\n",
        b"HTTP/1.1 200 OK\nContent-Length: 4\n\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nServer: a\x00b\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nServer:" + 50_000 * b" ",
    ],
)
def test_a_head_that_is_not_plain_is_left_to_h11(head: bytes) -> None:
    assert plain_head(PLAIN + b"body") == (200, [(b"Server", b"a"), (b"Content-Length", b"4")], 4, len(PLAIN))
    assert plain_head(head) is None


@pytest.mark.parametrize(
    ("pieces", "texts", "connections"),
    [
        ([PLAIN + b"body"], "body", 1),
        ([PLAIN, b"bo", b"dy"], "body", 1),
        ([PLAIN[:20], PLAIN[20:] + b"body"], "body", 1),
        ([PLAIN + b"body, and more"], "body", 3),  # what nothing was asked for
        ([b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nbody\r\n0\r\n\r\n"], "body", 1),
        ([b"HTTP/1.1 100 Continue\r\n\r\n", PLAIN + b"body"], "body", 1),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nbody"], "body", 3),
        ([b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"], "", 1),
    ],
)
def test_replies_of_all_forms_are_read_whole(pieces: list[bytes], texts: str, connections: int) -> None:
    opened = list[int]()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        opened.append(1)
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            while await reader.readuntil(b"\r\n\r\n"):
                await reader.readexactly(100_000 + len(opened_bodies))
                opened_bodies.append(1)
                for piece in pieces:
                    writer.write(piece)
                    await writer.drain()
                    await asyncio.sleep(0.005)
        writer.close()

    opened_bodies = list[int]()
    assert asyncio.run(asked(serve, 3)) == [texts] * 3
    assert len(opened) == connections


def test_a_reply_that_breaks_off_in_its_body_is_an_error() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(PLAIN + b"bo")
        writer.close()

    with pytest.raises(httpx.RemoteProtocolError, match=r"received 2 bytes, expected 4"):
        asyncio.run(asked(serve, 1))


def test_a_head_is_written_as_h11_writes_it_and_one_that_cant_be_sent_is_refused() -> None:
    heads = Heads()
    first = httpx.Request("POST", "http://host/v1/a?b=c", headers={"X-Own": "d"}, content=b"12345")
    again = httpx.Request("POST", "http://host/v1/a?b=c", headers={"X-Own": "d"}, content=b"123")
    assert heads.of(first, 5).startswith(b"POST /v1/a?b=c HTTP/1.1\r\n")
    assert heads.of(again, 3) == heads.of(first, 5).replace(b"Content-Length: 5", b"Content-Length: 3")
    assert b"X-Own: d\r\n" in heads.of(again, 3) and b"Host: host\r\n" in heads.of(again, 3)
    assert b"content-length" not in heads.of(httpx.Request("GET", "http://host/v1"), 0).lower()
    with pytest.raises(h11.LocalProtocolError):
        heads.of(httpx.Request("POST", "http://host/", headers={"X-Own": "a\r\nb: c"}, content=b"1"), 1)
