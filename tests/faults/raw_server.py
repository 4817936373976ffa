"""A server on a real socket that sends any bytes it is told to, in a thread of the test."""

import asyncio
import json
import ssl
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

Handler = Callable[["Exchange"], Awaitable[None]]


class Exchange:
    """One request and what is sent back. number: how many requests there were before."""

    def __init__(self, head: bytes, body: bytes, number: int, writer: asyncio.StreamWriter) -> None:
        self.head, self.body, self.number, self._writer = head, body, number, writer

    async def send(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()

    def reset(self) -> None:
        """Closes the connection without a word."""
        self._writer.transport.abort()


def http(body: bytes, status: str = "200 OK", headers: str = "") -> bytes:
    """A whole reply."""
    return f"HTTP/1.1 {status}\r\n{headers}Content-Length: {len(body)}\r\n\r\n".encode() + body


def said(text: str) -> bytes:
    """A whole reply with an answer."""
    choice = {"message": {"content": text}, "finish_reason": "stop"}
    return http(json.dumps({"choices": [choice], "usage": {"prompt_tokens": 7, "completion_tokens": 1}}).encode())


class RawServer:
    """Listens on a port of its own until it is stopped; can be started again on the same port."""

    def __init__(self, handler: Handler, context: ssl.SSLContext | None = None) -> None:
        self._context = context
        self.handler, self.port, self.requests, self.connections = handler, 0, 0, 0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def start(self) -> None:
        async def listen() -> None:
            self._server = await asyncio.start_server(
                self._serve, "127.0.0.1", self.port, backlog=512, ssl=self._context
            )
            self.port = self._server.sockets[0].getsockname()[1]

        asyncio.run_coroutine_threadsafe(listen(), self._loop).result(10)

    def stop(self) -> None:
        """Nobody listens any more, and every connection breaks off, as when the process is killed."""

        async def end() -> None:
            if self._server is not None:
                self._server.close()
            for writer in list(self._writers):
                writer.transport.abort()

        asyncio.run_coroutine_threadsafe(end(), self._loop).result(10)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        self._writers.add(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                sizes = [int(line.split(b":")[1]) for line in head.lower().splitlines() if b"content-length" in line]
                body = await reader.readexactly(sum(sizes))
                if any(path in head.split(b"\r\n")[0] for path in (b"/tokenize", b"/models")):  # it has neither
                    writer.write(http(b"{}", "404 Not Found"))
                    await writer.drain()
                    continue
                self.requests += 1
                await self.handler(Exchange(head, body, self.requests - 1, writer))
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()


@contextmanager
def raw_server(handler: Handler, context: ssl.SSLContext | None = None) -> Iterator[RawServer]:
    """A server that runs inside the with-block."""
    server = RawServer(handler, context)
    server.start()
    try:
        yield server
    finally:
        server.stop()
        server._loop.call_soon_threadsafe(server._loop.stop)
