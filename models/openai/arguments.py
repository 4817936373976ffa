"""The arguments of `--model openai` and its key: every rule once. No message quotes a value that may hold a secret."""

from __future__ import annotations

import base64
import html
import json
import os
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, unquote, urlsplit
from urllib.request import getproxies

from mm_eval.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from .http import Limits


WHERE = "--model_args"
KEY_VARIABLE = "OPENAI_API_KEY"
NUMBERS = {
    "num_concurrent": int,
    "max_retries": int,
    "timeout": float,
    "deadline": float,
    "max_outage": float,
    "max_reply_mb": float,
}
MOST_MEGABYTES = 1024
PRICES = ("input_price", "output_price")
TEXTS = ("base_url", "model", "server", "api_key_env", "extra_body", "max_tokens_name", "loglikelihood")
KEY_HINT = "Keys are read from the environment: set OPENAI_API_KEY, or name a variable with api_key_env=NAME."
URL_HINT = "base_url=http://host:8000/v1"


def check(args: Mapping[str, Any]) -> tuple[str, ...]:
    """The URLs, when all arguments make sense."""
    known = (*TEXTS, *NUMBERS, *PRICES)
    for name in args:
        if name in ("api_key", "key", "token", "headers"):
            raise ConfigError(f"{name!r} is no argument of openai.", where=WHERE, hint=KEY_HINT)
        if name not in known:
            raise ConfigError(f"openai has no argument {name!r}.", where=WHERE, hint=did_you_mean(name, known))
    for name in ("base_url", "model"):
        if not args.get(name):
            raise ConfigError(f"openai needs {name}=...", where=WHERE, hint=f"{URL_HINT},model=NAME")
    urls = tuple(url.strip().rstrip("/") for url in str(args["base_url"]).split("|"))
    for url in urls:
        _check_url(url)
    if args.get("loglikelihood", "auto") not in ("auto", "prompt", "token"):
        raise ConfigError("loglikelihood is auto, prompt or token.", where=WHERE)
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", str(args.get("api_key_env", KEY_VARIABLE))):
        raise ConfigError("api_key_env is not the name of an environment variable.", where=WHERE, hint=KEY_HINT)
    key = os.environ.get(str(args.get("api_key_env", KEY_VARIABLE)), "").strip()
    for name, value in args.items():
        if len(key) >= LONG and key in str(value):
            raise ConfigError(f"{name} holds the API key, and arguments are recorded.", where=WHERE, hint=KEY_HINT)
    return urls


def _check_url(url: str) -> None:
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # a port above 65535, a bracket that is not closed
        valid = False
    if not valid:
        raise ConfigError("base_url is no http(s) URL.", where=WHERE, hint=URL_HINT)
    if parts.username or parts.password or parts.query or parts.fragment:
        raise ConfigError("base_url holds a user, a password or a query.", where=WHERE, hint=KEY_HINT)


def key_of(args: Mapping[str, Any]) -> str:
    """The API key; empty where there is none. White space around it, as a file's last newline, is left out."""
    variable = str(args.get("api_key_env", KEY_VARIABLE))
    key = os.environ.get(variable, "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigError("the API key holds characters that no HTTP header can carry.", where=f"variable {variable}")
    return key


def secrets_of(args: Mapping[str, Any]) -> tuple[str, ...]:
    """All that must stand in no file and on no terminal: the key, and the passwords of the proxies."""
    passwords = []
    for proxy in getproxies().values():
        try:
            passwords.append(unquote(urlsplit(proxy).password or ""))
        except ValueError:
            continue
    return tuple(secret for secret in (key_of(args), *passwords) if secret)


def limits_of(args: Mapping[str, Any], urls: tuple[str, ...]) -> Limits:
    """The limits that the arguments ask for. ConfigError also where httpx is missing or can't use a URL."""
    try:
        import httpx

        from .http import Limits
    except ImportError as error:
        hint = "Install it: pip install 'mm-eval[openai]'"
        raise ConfigError(f"--model openai needs httpx ({error}).", hint=hint) from error
    given = {name: number(args, name, 0.0) for name in NUMBERS if name in args}
    try:
        limits = Limits(**{name: NUMBERS[name](value) for name, value in given.items()})
    except (ValueError, OverflowError):
        raise ConfigError(f"{given} make no sense.", where=WHERE) from None
    positive = (limits.num_concurrent, limits.timeout, limits.deadline, limits.max_reply_mb)
    if not all(value > 0 for value in positive) or limits.max_retries < 0 or not (limits.max_outage or 0) >= 0:
        raise ConfigError(f"{given} make no sense: counts and seconds are above 0.", where=WHERE)
    if limits.max_reply_mb > MOST_MEGABYTES:
        raise ConfigError(f"max_reply_mb is at most {MOST_MEGABYTES}.", where=WHERE)
    for url in urls:
        try:
            httpx.URL(url)
        except httpx.InvalidURL:
            raise ConfigError("base_url is no http(s) URL.", where=WHERE, hint=URL_HINT) from None
    return limits


def number(args: Mapping[str, Any], name: str, default: float) -> float:
    """An argument as a number."""
    try:
        return float(args.get(name, default))
    except (TypeError, ValueError):
        raise ConfigError(f"{name}={args[name]!r} is no number.", where=WHERE) from None


def json_object(value: Any) -> dict[str, Any]:
    """extra_body: a JSON object, or its text."""
    try:
        found = json.loads(value) if isinstance(value, str) else value
        return dict(found)
    except (TypeError, ValueError, RecursionError) as error:
        raise ConfigError("extra_body is no JSON object.", where=WHERE, hint='extra_body={"top_k": 1}') from error


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
        """What a server or a library said, without any secret."""
        text = self.answer(text)
        for secret in self._short:
            text = secret.replaced(text)
        return text


class _Secret:
    """One secret in all the forms that are looked for: plain, base64, hexadecimal, and with any character escaped."""

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
    """Base64 and hexadecimal digits of the secret, longest first; base64 for each place in which it may begin.

    Only the digits that the secret alone decides: its neighbours ("user:", "Bearer ") share the others.
    """
    data = secret.encode("utf-8", "replace")
    forms = {data.hex(), data.hex().upper(), quote(secret, safe="")}
    for before in range(3):
        digits = base64.b64encode(b"\0" * before + data + b"\0\0").decode()
        inner = digits[-(-before * 8 // 6) : (before + len(data)) * 8 // 6]
        forms |= {inner, inner.replace("+", "-").replace("/", "_")}
    return sorted(forms - {secret}, key=len, reverse=True)
