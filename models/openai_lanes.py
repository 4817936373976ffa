"""Connections for many requests at once: a lane each.

httpx keeps its connections in one pool that looks at every connection for every request: with 64 under way that was 8 ms of
CPU a request, so that the client and not the server set the pace. A lane is a pool of one connection; a request takes one
that is free.
"""

from __future__ import annotations

import ssl

import httpx


class Lanes(httpx.AsyncBaseTransport):
    """As many connections as requests are under way, each used again by the next request."""

    def __init__(self) -> None:
        self._context: ssl.SSLContext = httpx.create_ssl_context()
        self._free: list[httpx.AsyncHTTPTransport] = []
        self._all: list[httpx.AsyncHTTPTransport] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request and reads the whole reply, so that the lane is free again when this returns."""
        lane = self._free.pop() if self._free else self._open()
        try:
            reply = await lane.handle_async_request(request)
            assert isinstance(reply.stream, httpx.AsyncByteStream)
            try:
                body = b"".join([chunk async for chunk in reply.stream])
            finally:
                await reply.stream.aclose()
        finally:
            self._free.append(lane)
        return httpx.Response(reply.status_code, headers=reply.headers, stream=httpx.ByteStream(body))

    def _open(self) -> httpx.AsyncHTTPTransport:
        lane = httpx.AsyncHTTPTransport(verify=self._context, trust_env=False)
        self._all.append(lane)
        return lane

    async def aclose(self) -> None:
        for lane in self._all:
            await lane.aclose()
