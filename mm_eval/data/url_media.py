"""Fetches a picture that a row names by URL (`--allow_url_media`), from public addresses only.

The host of each redirect is looked up once, all its addresses must be public, and the connection goes to a checked address: a
second look-up with another answer (DNS rebinding) has no effect.
"""

from __future__ import annotations

import http.client
import ipaddress
import socket
import ssl
import time
from urllib.parse import urljoin, urlsplit

from mm_eval.values.errors import DataError, kind_and_text

MOST_BYTES = 64 * 2**20
MOST_REDIRECTS = 5
SECONDS = 30.0


def fetch(url: str, most_bytes: int = MOST_BYTES, seconds: float = SECONDS) -> bytes:
    """The content of an http(s) URL. DataError for other schemes, private addresses, and too many redirects, bytes or seconds."""
    deadline = time.monotonic() + seconds
    for _ in range(MOST_REDIRECTS + 1):
        try:
            status, target, body = _get(url, most_bytes, deadline)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise DataError(f"{url[:200]!r} can't be fetched: {kind_and_text(error)}.") from error
        if target is None:
            if status != 200:
                raise DataError(f"{url[:200]!r} answers HTTP {status}.")
            return body
        url = urljoin(url, target)
    raise DataError(f"{url[:200]!r} has more than {MOST_REDIRECTS} redirects.")


def public_address(host: str, port: int) -> str:
    """An address of a host. DataError if one of its addresses is not public."""
    found = [str(info[4][0]) for info in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)]
    for text in found:
        address = ipaddress.ip_address(text.split("%")[0])
        mapped = getattr(address, "ipv4_mapped", None) or getattr(address, "sixtofour", None) or address
        if not mapped.is_global or mapped.is_multicast or not address.is_global and mapped is address:
            raise DataError(
                f"{host!r} is {text}, which is not a public address.", hint="Put the pictures beside the data."
            )
    return found[0]


def _get(url: str, most_bytes: int, deadline: float) -> tuple[int, str | None, bytes]:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise DataError(f"{url[:200]!r} is not an http(s) URL.")
    port = parts.port or (443 if parts.scheme == "https" else 80)
    address = public_address(parts.hostname, port)
    connection = http.client.HTTPConnection(parts.hostname, port, timeout=_seconds_left(deadline))
    raw = socket.create_connection((address, port), timeout=_seconds_left(deadline))
    try:
        if parts.scheme == "https":
            raw = ssl.create_default_context().wrap_socket(raw, server_hostname=parts.hostname)
        connection.sock = raw
        path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        connection.request("GET", path, headers={"User-Agent": "mm-eval", "Accept": "image/*"})
        reply = connection.getresponse()
        if reply.status in (301, 302, 303, 307, 308):
            return reply.status, reply.headers.get("Location", ""), b""
        body = bytearray()
        while chunk := reply.read1(65536):
            body += chunk
            if len(body) > most_bytes:
                raise DataError(f"{url[:200]!r} is larger than {most_bytes} bytes.")
            raw.settimeout(_seconds_left(deadline))
        return reply.status, None, bytes(body)
    finally:
        connection.close()
        raw.close()


def _seconds_left(deadline: float) -> float:
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError("time limit exceeded")
    return left
