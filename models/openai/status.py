"""What a request to a server can come to when it is no answer."""

from __future__ import annotations

import reprlib
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from mm_eval.errors import ModelError


class Passing(Exception):
    """What may pass when asked again.

    what: in our words. said: what the server or a library said; it is redacted and shortened before anybody reads it.
    wait: seconds, where the server says so. throttled: it was a 429. free: it costs the question none of its retries.
    """

    def __init__(
        self, what: str, wait: float | None = None, throttled: bool = False, *, said: object = None, free: bool = False
    ) -> None:
        super().__init__(what)
        self.what, self.said = what, said
        self.wait, self.throttled, self.free = wait, throttled, free

    def forget_reply(self) -> None:
        """Lets go of the frames that it passed. They hold the reply, and a cycle would keep them until the next collection."""
        self.__traceback__ = self.__cause__ = self.__context__ = None


class Fatal(ModelError):
    """Every further question would fail in the same way."""


class Closed(Exception):
    """The run ends before this question was asked; it stays owed."""


PASSING = frozenset({408, 409, 425, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
LOADING = frozenset({502, 503, 504})
"""What stands in for a server that is not there yet: one that loads its weights, or a gateway before it."""

MOVED = "Give the address that answers itself as base_url (it usually ends in /v1)."
FATAL = {
    **dict.fromkeys((301, 302, 303, 307, 308, 405), MOVED),
    401: "Set the key in the environment variable that api_key_env names (default OPENAI_API_KEY).",
    402: "The account can't pay for more.",
    403: "Check the key and what it gives access to.",
    404: "Check base_url (it usually ends in /v1) and model.",
    407: "The proxy that the environment names wants a user and a password.",
    422: "The server takes requests of another form; extra_body and the task's generation options are sent as they are.",
}
AT_ONCE = frozenset(FATAL) - {403, 422}
UNTIL_ANSWERED = {403: 1, 422: 5}
"""Refusals that may concern one question alone. So many in a row end the run while nothing has been answered."""
AFTER_ANSWERS = 20
"""So many of them in a row end the run later on: a key that was withdrawn."""
QUOTA, UNKNOWN_MODEL = "insufficient_quota", "model_not_found"


@dataclass
class Refusals:
    """Refused questions in a row, to tell a question that is refused from a client that is."""

    any_answered: bool = False
    in_a_row: int = 0

    def answered(self) -> None:
        self.any_answered, self.in_a_row = True, 0

    def ends_run(self, status: int) -> bool:
        """Counts a refusal. Whether every further question would be refused as well."""
        if status not in UNTIL_ANSWERED:
            return status in AT_ONCE
        self.in_a_row += 1
        return self.in_a_row >= (AFTER_ANSWERS if self.any_answered else UNTIL_ANSWERED[status])


def stated_status(content: Mapping[str, Any]) -> int | None:
    """The HTTP status that an error inside a reply of status 200 states as its code; None where it states none."""
    error = content.get("error")
    code = error.get("code") if isinstance(error, dict) else content.get("code")
    if isinstance(code, str) and code.isascii() and code.isdigit() and len(code) == 3:
        code = int(code)
    return code if isinstance(code, int) and 400 <= code < 600 else None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """The seconds that a Retry-After header asks for, given as seconds or as an HTTP date; None when there is none.

    A date is compared with the server's own clock where it tells it.
    """
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
        return seconds if 0 <= seconds < float("inf") else None
    except ValueError:
        pass
    until = _time(value)
    if until is None:
        return None
    now = _time(headers.get("date", ""))
    return max(0.0, until - (time.time() if now is None else now))


def _time(date: str) -> float | None:
    try:
        return parsedate_to_datetime(date).timestamp()
    except (TypeError, ValueError, ArithmeticError, LookupError, OSError):
        return None


_brief = reprlib.Repr()
_brief.maxstring = _brief.maxother = 10_000  # not less: secrets are looked for in what it gives


brief = _brief.repr
"""`repr` of bounded length and depth."""


def as_text(value: object) -> str:
    """Any JSON value as text."""
    return value if isinstance(value, str) else brief(value)


def shortened(text: str, length: int = 300) -> str:
    """The beginning of what a server said, on one line, without control characters."""
    line = "".join(character if character.isprintable() else " " for character in text[: 2 * length])
    return repr(line if len(line) <= length else f"{line[:length]}...")
