"""Secrets removed from the texts of servers and libraries: the API key and the passwords of proxies, in every usual spelling."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Sequence
from urllib.parse import quote

REPLACED = "[key]"
LONG = 16
"""Characters from which a secret is also replaced inside answers."""
A_WORD = 4
"""Characters below which a secret is replaced only where it stands as a word of its own."""
SHORTEST_ENCODED = 8
"""Shorter pieces of base64 or hexadecimal digits would match by chance."""
ESCAPES = ("\\", "%", "&")


class Redactor:
    """Replaces secrets in texts from a server."""

    def __init__(self, secrets: Sequence[str] = ()) -> None:
        known = sorted({secret for secret in secrets if secret}, key=len, reverse=True)
        self._short = [_Secret(secret) for secret in known if len(secret) < LONG]
        self._long = [_Secret(secret) for secret in known if len(secret) >= LONG]

    def answer(self, text: str) -> str:
        """An answer without any long secret."""
        for secret in self._long:
            text = secret.replaced(text)
        return text

    def error(self, text: str) -> str:
        """A message of a server or a library without any secret."""
        text = self.answer(text)
        for secret in self._short:
            text = secret.replaced(text)
        return text


class _Secret:
    """One secret in all the forms that are replaced: plain, base64, hexadecimal, and with any character escaped."""

    def __init__(self, secret: str) -> None:
        edge = (r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])") if len(secret) < A_WORD else ("", "")
        self._plain = re.compile(re.escape(secret).join(edge))
        self._escaped = re.compile("".join(map(_spellings, secret)).join(edge))
        self._encoded = [form for form in _encoded(secret) if len(form) >= SHORTEST_ENCODED]

    def replaced(self, text: str) -> str:
        text = self._plain.sub(REPLACED, text)
        if any(mark in text for mark in ESCAPES):
            text = self._escaped.sub(REPLACED, text)
        for form in self._encoded:
            text = text.replace(form, REPLACED)
        return text


def _spellings(character: str) -> str:
    r"""A pattern for one character: itself, \/, \u0073, \x73, %73, %2573, &#115;, &#x73;, &amp;."""
    code = ord(character)
    forms = [
        rf"\\{{0,4}}{re.escape(character)}",
        rf"\\{{1,4}}(?i:u00{code:02x}|x{code:02x}|u\{{0{{0,4}}{code:x}\}})",
        rf"(?i:&#0{{0,6}}{code};|&#x0{{0,6}}{code:x};)",
        r"%(?:25){0,3}" + r"%(?:25){0,3}".join(f"(?i:{byte:02x})" for byte in character.encode("utf-8", "replace")),
    ]
    if (named := html.escape(character)) != character:
        forms.append(re.escape(named))
    return f"(?:{'|'.join(forms)})"


def _encoded(secret: str) -> list[str]:
    """Base64 and hexadecimal digits of the secret, longest first; base64 for each of the three offsets in a group of bytes.

    Only the digits that the secret alone decides: the text around it ("user:", "Bearer ") decides the others.
    """
    data = secret.encode("utf-8", "replace")
    forms = {data.hex(), data.hex().upper(), quote(secret, safe="")}
    for before in range(3):
        digits = base64.b64encode(b"\0" * before + data + b"\0\0").decode()
        inner = digits[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
        forms |= {inner, inner.replace("+", "-").replace("/", "_")}
    return sorted(forms - {secret}, key=len, reverse=True)
