"""HTTP below a question: connections, and replies of bounded size.

`Lanes` gives each request a connection of its own. httpx keeps its connections in one pool and looks at every connection for
every request: with 64 requests in flight that took 8 ms of CPU a request, so that the client and not the server set the pace.
A lane has one connection; a request takes a free one. It is made of asyncio's own streams and of h11, which httpx uses, too:
pools of one connection took twice the CPU. A head that was sent before, and a reply of the plainest form (`plain_head`), need no
h11, which took half of what is left. `Proxied` is httpx's own pool, used only when the environment names a proxy.

A compressed body is collected first and unpacked in one piece, so that at most one unpacked body is in memory, however many
requests are in flight.
"""

from __future__ import annotations

import asyncio
import re
import select
import ssl
import zlib
from collections.abc import AsyncIterable, AsyncIterator, Callable
from typing import NamedTuple

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
PLAIN_HEAD = re.compile(
    rb"HTTP/1\.1 ([2-5]\d\d)(?: [^\x00-\x1f\x7f]*)?\r\n((?:[!#$%&'*+.^_`|~\w-]+:[^\x00-\x08\n-\x1f\x7f]*\r\n)+)\r\n",
    re.ASCII,
)
"""A whole head without anything that is read in two ways. h11 reads every other one, and says what is wrong with it."""
WITHOUT_BODY = (204, 304)
SEVERAL_HEADS = 16
"""Different heads of requests that are remembered: one for each path of an endpoint."""
WINDOWS = {"gzip": zlib.MAX_WBITS | 16, "x-gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}

Raw = list[tuple[bytes, bytes]]
"""The headers of a reply in their order, names as they were written."""


class Lanes(httpx.AsyncBaseTransport):
    """One connection for each request in flight, reused by later requests.

    secure: some will be over TLS, so that what certificates are trusted is read now. OSError if it can't be.
    """

    def __init__(self, most: int = MOST, connecting: float = CONNECT_TIMEOUT, secure: bool = False) -> None:
        self._bodies, self._connecting = Bodies(most), connecting
        self._context: ssl.SSLContext | None = None
        if secure:
            self._secure()
        self._heads = Heads()
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
        lane = Lane(self._connecting, self._heads)
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


class PlainHead(NamedTuple):
    """A reply's head. length: of its body. size: of the head itself, in bytes."""

    status: int
    headers: Raw
    length: int
    size: int


def plain_head(data: bytes) -> PlainHead | None:
    """The head at the beginning of some bytes, where it is whole and of the plainest form: a body of a stated length follows on a
    connection that stays. None for any other, which h11 reads."""
    found = PLAIN_HEAD.match(data)
    if found is None or int(found[1]) in WITHOUT_BODY:
        return None
    parts = (line.partition(b":") for line in found[2].split(b"\r\n")[:-1])
    headers = [(name, value.strip(b" \t")) for name, _, value in parts]
    named = {name.lower(): value for name, value in headers}
    length = named.get(b"content-length", b"")
    is_plain = len(named) == len(headers) and length.isdigit() and len(length) < 16
    if (
        not is_plain
        or b"transfer-encoding" in named
        or named.get(b"connection", b"keep-alive").lower() != b"keep-alive"
    ):
        return None
    return PlainHead(int(found[1]), headers, int(length), found.end())


class Heads:
    """The heads of requests as h11 writes them, which are equal but for the length of the body."""

    def __init__(self) -> None:
        self._known: dict[tuple[object, ...], bytes] = {}

    def of(self, request: httpx.Request, size: int) -> bytes:
        """The head of a request whose body has so many bytes. Raises h11.LocalProtocolError for what can't be sent."""
        raw = request.headers.raw
        kept = [each for each in raw if each[0].lower() != b"content-length"]
        key = request.method, request.url.raw_path, *kept
        if (head := self._known.get(key)) is None:
            asked = h11.Request(method=request.method.encode(), target=request.url.raw_path, headers=raw)
            if any(name == b"transfer-encoding" for name, _ in asked.headers):
                raise h11.LocalProtocolError("a request's body is sent in one piece")
            lines = h11.Connection(h11.CLIENT).send(asked) or b""
            other = [line for line in lines.split(b"\r\n") if line and not line.lower().startswith(b"content-length:")]
            if len(self._known) >= SEVERAL_HEADS:
                self._known.clear()
            head = self._known[key] = b"\r\n".join(other)
        length = b"\r\nContent-Length: %d" % size if len(kept) < len(raw) else b""
        return head + length + b"\r\n\r\n"


class Lane:
    """One connection at a time: asyncio's streams, and h11 for all of HTTP/1.1 that is not plain.

    A connection is made within `connecting` seconds; the caller holds all other deadlines.
    """

    def __init__(self, connecting: float, heads: Heads | None = None) -> None:
        self._connecting, self._heads = connecting, heads or Heads()
        self._address: tuple[bytes, bytes, int | None] | None = None
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
        self._waiting = select.poll()

    async def ask(
        self, request: httpx.Request, bodies: Bodies, secure: Callable[[], ssl.SSLContext] | None
    ) -> httpx.Response:
        """The whole reply to a request. secure: gives the context of TLS; None for a connection without it."""
        url = request.url
        address = url.raw_scheme, url.raw_host, url.port
        if self._streams is None or self._address != address or not self._is_silent(*self._streams):
            self.close()
            self._streams = await self._connect(url, secure)
            self._address = address
            self._waiting = select.poll()
            self._waiting.register(self._streams[1].get_extra_info("socket").fileno(), select.POLLIN)
        reader, writer = self._streams
        try:
            content = request.content
            # in one piece, and read meanwhile: a server may refuse a long body before it has all of it
            writer.write(self._heads.of(request, len(content)) + content)
            data = await reader.read(READ_AT_ONCE)
            if (head := plain_head(data)) is not None and request.method != "HEAD":
                body = PlainBody(head.length, data[head.size :])
                status, headers = head.status, head.headers
                found = await bodies.read(body.chunks(reader), headers)
                whole = not body.more
            else:
                other = OtherReply(request, data)
                status, headers = await other.head(reader)
                found = await bodies.read(other.chunks(reader), headers)
                whole = other.whole
        except OSError as error:
            self.close()
            raise httpx.ReadError(str(error)) from error
        except (h11.RemoteProtocolError, h11.LocalProtocolError) as error:
            self.close()
            raise httpx.RemoteProtocolError(str(error)) from error
        except BaseException:
            self.close()
            raise
        if not whole or writer.transport.get_write_buffer_size():
            self.close()
        return read_reply(status, headers, found)

    def _is_silent(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        """Whether the server has neither closed a connection nor sent anything on it since the last reply.

        A reply that nothing was asked for (a second one, or a 408 of a proxy) would be taken for that to the next question.
        """
        if reader.at_eof() or writer.is_closing() or reader.exception() is not None:
            return False
        reading = reader.read(1)
        try:
            reading.send(None)  # it waits for a byte, or has one
        except (StopIteration, OSError):
            return False
        finally:
            reading.close()
        return not self._waiting.poll(0)

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


class PlainBody:
    """The body after a plain head. more: whether the server has sent more than the body."""

    def __init__(self, length: int, begun: bytes) -> None:
        self._length, self._begun = length, begun
        self.more = len(begun) > length

    async def chunks(self, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
        """The body as it comes. Raises httpx.RemoteProtocolError if the connection ends before it does."""
        left = self._length - len(self._begun)
        if self._begun and self._length:
            yield self._begun[: self._length]
        while left > 0:
            data = await reader.read(min(left, READ_AT_ONCE))
            if not data:
                raise httpx.RemoteProtocolError(
                    "peer closed connection without sending complete message body "
                    f"(received {self._length - left} bytes, expected {self._length})"
                )
            left -= len(data)
            yield data


class OtherReply:
    """A reply of any form, as h11 reads it. data: what came first."""

    def __init__(self, request: httpx.Request, data: bytes) -> None:
        self._state = h11.Connection(h11.CLIENT, max_incomplete_event_size=LONGEST_HEAD)
        target, raw = request.url.raw_path, request.headers.raw
        self._state.send(h11.Request(method=request.method.encode(), target=target, headers=raw))
        if request.content:
            self._state.send_with_data_passthrough(h11.Data(data=request.content))
        self._state.send(h11.EndOfMessage())
        self._take(data)

    @property
    def whole(self) -> bool:
        """Whether the reply has ended, nothing follows it, and the connection stays."""
        done = self._state.our_state is h11.DONE and self._state.their_state is h11.DONE
        return done and not self._state.trailing_data[0]

    async def head(self, reader: asyncio.StreamReader) -> tuple[int, Raw]:
        """The status and the headers of a reply."""
        while True:
            event = await self._event(reader)
            if (
                isinstance(event, h11.Response)
                or isinstance(event, h11.InformationalResponse)
                and event.status_code == 101
            ):
                return event.status_code, list(event.headers.raw_items())

    async def chunks(self, reader: asyncio.StreamReader) -> AsyncIterator[bytes]:
        """The body of a reply."""
        while isinstance(event := await self._event(reader), h11.Data):
            yield bytes(event.data)

    async def _event(self, reader: asyncio.StreamReader) -> object:
        """What the server says next."""
        while (event := self._state.next_event()) is h11.NEED_DATA:
            self._take(await reader.read(READ_AT_ONCE))
        return event

    def _take(self, data: bytes) -> None:
        if not data and self._state.their_state is h11.SEND_RESPONSE:
            raise httpx.RemoteProtocolError("Server disconnected without sending a response.")
        self._state.receive_data(data)


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
            body = await self._bodies.read(reply.aiter_raw(), reply.headers.raw)
        finally:
            await reply.aclose()
        return read_reply(reply.status_code, reply.headers.raw, body)

    async def aclose(self) -> None:
        await self._client.aclose()


def read_reply(status: int, headers: Raw, body: bytes) -> httpx.Response:
    """A reply with an unpacked body."""
    kept = [(name, value) for name, value in headers if name.lower() != b"content-encoding"]
    return httpx.Response(status, headers=kept, content=body)


class Bodies:
    """Reads bodies of at most `most` bytes."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)

    async def read(self, chunks: AsyncIterable[bytes], headers: Raw) -> bytes:
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
        stated = [value.decode("latin-1") for name, value in headers if name.lower() == b"content-encoding"]
        encodings = [name for part in ",".join(stated).split(",") if (name := part.strip().lower())]
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
