"""The body of a reply within bounds: bytes as they come, bytes when unpacked, and how many large ones are held at a time.

A compressed body is collected first and unpacked in one piece, so that at most one unpacked body is in memory, however many
requests are under way.
"""

from __future__ import annotations

import asyncio
import zlib
from collections.abc import AsyncIterable

import httpx

MEGABYTE = 1 << 20
MOST = 32 * MEGABYTE
"""Bytes of a reply. The longest honest ones are log-probabilities of a prompt: about 160 bytes a token."""
LARGE = MEGABYTE
LARGE_AT_ONCE = 4
"""So many replies may grow beyond LARGE at a time; the others wait, which a server feels as a slow reader."""
MOST_ENCODINGS = 2
WINDOWS = {"gzip": zlib.MAX_WBITS | 16, "x-gzip": zlib.MAX_WBITS | 16, "deflate": zlib.MAX_WBITS}


class Bodies:
    """Reads bodies of at most `most` bytes."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._large = asyncio.Semaphore(LARGE_AT_ONCE)

    async def read(self, chunks: AsyncIterable[bytes], headers: httpx.Headers) -> bytes:
        """The whole body, unpacked. httpx.DecodingError when it is too large or can't be unpacked."""
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
            raise httpx.DecodingError("the reply is compressed in a way that was not asked for")
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
