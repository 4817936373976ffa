"""The arguments of `--model openai` and its key: every rule once. No message quotes a value that may hold a secret."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies

from mm_eval.errors import ConfigError, did_you_mean

from .openai_secrets import LONG

if TYPE_CHECKING:
    from .openai_http import Limits

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

        from .openai_http import Limits
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
