"""HTTP below a question: connections, and replies of bounded size.

`Lanes` gives each request a connection of its own. httpx keeps its connections in one pool and looks at every connection for
every request: with 64 requests in flight that took 8 ms of CPU a request, so that the client and not the server set the pace.
A lane is a pool of one connection; a request takes a free one. Below it are asyncio's own streams, which cost half of what
httpx's default backend does. `Proxied` is httpx's own pool, used only when the environment names a proxy.

A compressed body is collected first and unpacked in one piece, so that at most one unpacked body is in memory, however many
requests are in flight.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import AsyncIterable, Iterable
from typing import Any

import httpcore
import httpx

CONNECT_TIMEOUT = 10.0
"""Seconds to connect. A host that drops packets would otherwise block each attempt for minutes."""
MEGABYTE = 1 << 20
MOST = 32 * MEGABYTE
"""Bytes of a reply at most. The longest valid ones are log-probabilities of a prompt: about 160 bytes a token."""
LARGE = MEGABYTE
LARGE_AT_ONCE = 4
"""How many replies may be larger than LARGE at a time. The others wait; the server sees a slow reader."""
MOST_ENCODINGS = 2
WINDOWS = {"gzip": zlib.MAX_WBITS | 16, "x-gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}


class Lanes(httpx.AsyncBaseTransport):
    """One connection for each request in flight, reused by later requests."""

    def __init__(self, most: int = MOST, connecting: float = CONNECT_TIMEOUT) -> None:
        self._bodies, self._streams = Bodies(most), Streams(connecting)
        self._context: ssl.SSLContext | None = None
        self._free: list[httpcore.AsyncConnectionPool] = []
        self._all: list[httpcore.AsyncConnectionPool] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request and reads the whole reply, so that the lane is free again when this returns."""
        url = request.url
        target = httpcore.URL(scheme=url.raw_scheme, host=url.raw_host, port=url.port, target=url.raw_path)
        sent = httpcore.Request(request.method, target, headers=request.headers.raw, content=request.content)
        lane = self._free.pop() if self._free else self._open(url.scheme == "https")
        try:
            reply = await lane.handle_async_request(sent)
            headers = httpx.Headers(reply.headers)
            try:
                body = await self._bodies.read(reply.aiter_stream(), headers)
            finally:
                await reply.aclose()
        except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
            raise httpx.ConnectError(str(error)) from error
        except httpcore.NetworkError as error:
            raise httpx.NetworkError(str(error)) from error
        except httpcore.ProtocolError as error:
            raise httpx.RemoteProtocolError(str(error)) from error
        finally:
            self._free.append(lane)
        return read_reply(reply.status, headers, body)

    def _open(self, secure: bool) -> httpcore.AsyncConnectionPool:
        if secure and self._context is None:
            self._context = httpx.create_ssl_context()
        lane = httpcore.AsyncConnectionPool(self._context, max_connections=1, network_backend=self._streams)
        self._all.append(lane)
        return lane

    async def aclose(self) -> None:
        for lane in self._all:
            await lane.aclose()


class Proxied(httpx.AsyncBaseTransport):
    """httpx's own pool, which supports the proxies in the environment."""

    def __init__(self, most: int = MOST, connecting: float = CONNECT_TIMEOUT) -> None:
        self._bodies = Bodies(most)
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=None)
        self._client = httpx.AsyncClient(timeout=httpx.Timeout(None, connect=connecting), limits=limits)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request and reads the whole reply."""
        reply = await self._client.send(request, stream=True)
        try:
            body = await self._bodies.read(reply.aiter_raw(), reply.headers)
        finally:
            await reply.aclose()
        return read_reply(reply.status_code, reply.headers, body)

    async def aclose(self) -> None:
        await self._client.aclose()


def read_reply(status: int, headers: httpx.Headers, body: bytes) -> httpx.Response:
    """A reply with an unpacked body."""
    kept = [(name, value) for name, value in headers.raw if name.lower() != b"content-encoding"]
    return httpx.Response(status, headers=kept, content=body)


class Streams(httpcore.AsyncNetworkBackend):
    """asyncio's connections, each made within `connecting` seconds. The caller holds all other deadlines."""

    def __init__(self, connecting: float = CONNECT_TIMEOUT) -> None:
        self._connecting = connecting

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        try:
            async with asyncio.timeout(self._connecting):
                return Stream(*await asyncio.open_connection(host, port), self._connecting)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout(f"no connection within {self._connecting:g} s") from error
        except (OSError, ValueError) as error:  # ValueError: a host name that DNS can't hold
            raise httpcore.ConnectError(str(error)) from error


class Stream(httpcore.AsyncNetworkStream):
    """One connection. Written data is sent at the next read, so that head and body go out in one packet."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, connecting: float) -> None:
        self._reader, self._writer, self._connecting = reader, writer, connecting
        self._waiting: list[bytes] = []

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._waiting.append(buffer)

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        try:
            if self._waiting:
                data, self._waiting = b"".join(self._waiting), []
                self._writer.write(data)
                await self._writer.drain()
            return await self._reader.read(max_bytes)
        except OSError as error:
            raise httpcore.ReadError(str(error)) from error

    async def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.AsyncNetworkStream:
        try:
            async with asyncio.timeout(self._connecting):
                await self._writer.start_tls(ssl_context, server_hostname=server_hostname)
        except TimeoutError as error:
            raise httpcore.ConnectTimeout(f"no TLS handshake within {self._connecting:g} s") from error
        except (OSError, RuntimeError) as error:  # RuntimeError: the connection was closed meanwhile
            raise httpcore.ConnectError(f"TLS: {error}") from error
        return self

    async def aclose(self) -> None:
        self._writer.close()

    def get_extra_info(self, info: str) -> Any:
        if info == "is_readable":  # data without a request: the server has closed the connection
            return self._reader.at_eof() or self._writer.is_closing()
        return self._writer.get_extra_info(info)


class Bodies:
    """Reads bodies of at most `most` bytes."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)

    async def read(self, chunks: AsyncIterable[bytes], headers: httpx.Headers) -> bytes:
        """The whole body, unpacked. Raises httpx.DecodingError if it is too large or can't be unpacked."""
        body, waited = bytearray(), False
        try:
            async for chunk in chunks:
                body += chunk
                if len(body) > self._most:
                    del body
                    raise too_large(self._most)
                if len(body) > LARGE and not waited:
                    await self._large.acquire()
                    waited = True
        finally:
            if waited:
                self._large.release()
        encodings = [name for part in headers.get("content-encoding", "").split(",") if (name := part.strip().lower())]
        if len(encodings) > MOST_ENCODINGS:
            raise httpx.DecodingError("the reply is compressed more than twice")
        data = bytes(body)
        for encoding in reversed(encodings):
            data = self._unpacked(data, encoding)
        return data

    def _unpacked(self, data: bytes, encoding: str) -> bytes:
        if encoding == "identity" or not data:
            return data
        if encoding not in WINDOWS:
            raise httpx.DecodingError("the reply has a compression that was not requested")
        try:
            return self._inflated(data, WINDOWS[encoding])
        except zlib.error as error:
            if encoding != "deflate":
                raise httpx.DecodingError(str(error)) from error
        try:  # some servers send deflate without its header
            return self._inflated(data, -zlib.MAX_WBITS)
        except zlib.error as error:
            raise httpx.DecodingError(str(error)) from error

    def _inflated(self, data: bytes, window: int) -> bytes:
        unpacking = zlib.decompressobj(window)
        unpacked = unpacking.decompress(data, self._most + 1)
        if len(unpacked) > self._most:
            del unpacked, unpacking  # the error keeps this frame alive until the connection is closed
            raise too_large(self._most)
        if not unpacking.eof:
            raise zlib.error("the compressed reply is cut short")
        return unpacked


def too_large(most: int) -> httpx.DecodingError:
    return httpx.DecodingError(f"the reply is larger than {most / MEGABYTE:g} MB (max_reply_mb=)")
