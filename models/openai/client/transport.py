"""HTTP below a question: connections, and replies of bounded size.

`Lanes` gives each request a connection of its own. httpx keeps its connections in one pool and looks at every connection for
every request: with 64 requests in flight that took 8 ms of CPU a request, so that the client and not the server set the pace.
A lane has one connection; a request takes a free one. It is made of h11, which httpx uses, too, and of asyncio's own streams:
pools of one connection took twice the CPU. `Proxied` is httpx's own pool, used only when the environment names a proxy.

A compressed body is collected first and unpacked in one piece, so that at most one unpacked body is in memory, however many
requests are in flight.
"""

from __future__ import annotations

import asyncio
import ssl
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Callable

import h11
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
LONGEST_HEAD = 100 * 1024
"""Bytes of a reply's head at most."""
READ_AT_ONCE = 64 * 1024
WINDOWS = {"gzip": zlib.MAX_WBITS | 16, "x-gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}


class Lanes(httpx.AsyncBaseTransport):
    """One connection for each request in flight, reused by later requests.

    secure: some will be over TLS, so that what certificates are trusted is read now. OSError if it can't be.
    """

    def __init__(self, most: int = MOST, connecting: float = CONNECT_TIMEOUT, secure: bool = False) -> None:
        self._bodies, self._connecting = Bodies(most), connecting
        self._context: ssl.SSLContext | None = None
        if secure:
            self._secure()
        self._free: list[Lane] = []
        self._all: list[Lane] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Sends a request and reads the whole reply, so that the lane is free again when this returns."""
        lane = self._free.pop() if self._free else self._open()
        try:
            return await lane.ask(request, self._bodies, self._secure if request.url.scheme == "https" else None)
        finally:
            self._free.append(lane)

    def _open(self) -> Lane:
        lane = Lane(self._connecting)
        self._all.append(lane)
        return lane

    def _secure(self) -> ssl.SSLContext:
        if self._context is None:
            self._context = httpx.create_ssl_context()
            self._context.set_alpn_protocols(["http/1.1"])
        return self._context

    async def aclose(self) -> None:
        for lane in self._all:
            lane.close()


class Lane:
    """One connection at a time: asyncio's streams, and h11 for what HTTP/1.1 says.

    A connection is made within `connecting` seconds; the caller holds all other deadlines.
    """

    def __init__(self, connecting: float) -> None:
        self._connecting = connecting
        self._address: tuple[bytes, bytes, int | None] | None = None
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._state = h11.Connection(h11.CLIENT)

    async def ask(
        self, request: httpx.Request, bodies: Bodies, secure: Callable[[], ssl.SSLContext] | None
    ) -> httpx.Response:
        """The whole reply to a request. secure: gives the context of TLS; None for a connection without it."""
        url = request.url
        address = url.raw_scheme, url.raw_host, url.port
        if self._streams is None or self._address != address or not await self._is_silent(*self._streams):
            self.close()
            self._streams = await self._connect(url, secure)
            self._address = address
            self._state = h11.Connection(h11.CLIENT, max_incomplete_event_size=LONGEST_HEAD)
        reader, writer = self._streams
        try:
            writer.write(
                self._written(request)
            )  # read meanwhile: a server may refuse a long body before it has all of it
            status, headers = await self._head(reader)
            body = await bodies.read(self._chunks(reader), headers)
        except OSError as error:
            self.close()
            raise httpx.ReadError(str(error)) from error
        except (h11.RemoteProtocolError, h11.LocalProtocolError) as error:
            self.close()
            raise httpx.RemoteProtocolError(str(error)) from error
        except BaseException:
            self.close()
            raise
        whole = self._state.our_state is h11.DONE and self._state.their_state is h11.DONE
        if whole and not self._state.trailing_data[0] and not writer.transport.get_write_buffer_size():
            self._state.start_next_cycle()
        else:
            self.close()
        return read_reply(status, headers, body)

    def _written(self, request: httpx.Request) -> bytes:
        """A request as it is sent, head and body in one piece."""
        target, state = request.url.raw_path, self._state
        head = state.send(h11.Request(method=request.method.encode(), target=target, headers=request.headers.raw))
        content = request.content
        parts = [head, *(state.send_with_data_passthrough(h11.Data(data=content)) or () if content else ())]
        return b"".join([each for each in (*parts, state.send(h11.EndOfMessage())) if each])

    async def _head(self, reader: asyncio.StreamReader) -> tuple[int, httpx.Headers]:
        """The status and the headers of a reply."""
        while True:
            event = await self._event(reader)
            if (
                isinstance(event, h11.Response)
                or isinstance(event, h11.InformationalResponse)
                and event.status_code == 101
            ):
                return event.status_code, httpx.Headers(list(event.headers.raw_items()))

    async def _chunks(self, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
        """The body of a reply."""
        while isinstance(event := await self._event(reader), h11.Data):
            yield bytes(event.data)

    async def _event(self, reader: asyncio.StreamReader) -> object:
        """What the server says next."""
        while (event := self._state.next_event()) is h11.NEED_DATA:
            data = await reader.read(READ_AT_ONCE)
            if not data and self._state.their_state is h11.SEND_RESPONSE:
                raise httpx.RemoteProtocolError("Server disconnected without sending a response.")
            self._state.receive_data(data)
        return event

    @staticmethod
    async def _is_silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the server has neither closed a connection nor sent anything on it since the last reply.

        A reply that nothing was asked for (a second one, or a 408 of a proxy) would be taken for that to the next question.
        """
        if reader.at_eof() or writer.is_closing():
            return False
        try:
            async with asyncio.timeout(0):
                await reader.read(1)
        except OSError:  # no byte came, or the connection broke
            return reader.exception() is None and not writer.is_closing()
        return False

    async def _connect(
        self, url: httpx.URL, secure: Callable[[], ssl.SSLContext] | None
    ) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, port = url.raw_host.decode("ascii"), url.port or (443 if secure else 80)
        try:
            async with asyncio.timeout(self._connecting):
                reader, writer = await asyncio.open_connection(host, port)
        except TimeoutError as error:
            raise httpx.ConnectError(f"no connection within {self._connecting:g} s") from error
        except (OSError, ValueError) as error:  # ValueError: a host name that DNS can't hold
            raise httpx.ConnectError(str(error)) from error
        if secure is None:
            return reader, writer
        try:
            async with asyncio.timeout(self._connecting):
                await writer.start_tls(secure(), server_hostname=host)
        except TimeoutError as error:
            writer.close()
            raise httpx.ConnectError(f"no TLS handshake within {self._connecting:g} s") from error
        except (OSError, RuntimeError) as error:  # RuntimeError: the connection was closed meanwhile
            writer.close()
            raise httpx.ConnectError(f"TLS: {error}") from error
        except BaseException:
            writer.close()
            raise
        return reader, writer

    def close(self) -> None:
        """Ends the connection, if there is one. What the server has not taken of a request is dropped."""
        if self._streams is not None:
            transport = self._streams[1].transport
            if transport.get_write_buffer_size():
                transport.abort()
            else:
                transport.close()
            self._streams = None


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
