"""Connections for many requests at once: a lane each.

httpx keeps its connections in one pool that looks at every connection for every request: with 64 under way that was 8 ms of
CPU a request, so that the client and not the server set the pace. A lane is a pool of one connection; a request takes one
that is free. Below it are asyncio's own streams, which cost half of what httpx's default backend does.
"""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import Iterable
from typing import Any

import httpcore
import httpx

from .body import MOST, Bodies

CONNECT_TIMEOUT = 10.0
"""Seconds for a connection: a host that drops packets would otherwise hold each attempt for minutes."""


class Lanes(httpx.AsyncBaseTransport):
    """As many connections as requests are under way, each used again by the next request."""

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
    """httpx's own pool, which knows the proxies that the environment names."""

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
    """A reply whose body is unpacked already."""
    kept = [(name, value) for name, value in headers.raw if name.lower() != b"content-encoding"]
    return httpx.Response(status, headers=kept, content=body)


class Streams(httpcore.AsyncNetworkBackend):
    """Connections as asyncio makes them, each made within `connecting` seconds. Other deadlines are the caller's."""

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
    """One connection. What is written goes out when an answer is waited for: head and body in one packet."""

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
        if info == "is_readable":  # with nothing asked: the server has closed it
            return self._reader.at_eof() or self._writer.is_closing()
        return self._writer.get_extra_info(info)
