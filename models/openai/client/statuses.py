"""What the status of a reply means: try again, this question is refused, or every question is."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

PASSING = frozenset({408, 409, 425, 500, 502, 503, 504, 520, 521, 522, 523, 524, 529})
LOADING = frozenset({502, 503, 504})
"""Statuses of a server that is still loading its weights, or of a gateway in front of it."""

MOVED = "Give the final address as base_url (it usually ends in /v1)."
FATAL = {
    **dict.fromkeys((301, 302, 303, 307, 308, 405), MOVED),
    401: "Set the key in the environment variable that api_key_env names (default OPENAI_API_KEY).",
    402: "The account has no credit left.",
    403: "Check the key and its permissions.",
    404: "Check base_url (it usually ends in /v1) and model.",
    407: "The proxy in the environment requires a user and a password.",
    422: "The server rejects the form of the requests: check extra_body and the task's generation options.",
}
AT_ONCE = frozenset(FATAL) - {403, 422}
UNTIL_ANSWERED = {403: 1, 422: 5}
"""Refusals that may concern a single question: how many in a row end the run before the first answer."""
AFTER_ANSWERS = 20
"""How many of them in a row end the run after the first answer, as for a withdrawn key."""
QUOTA = "insufficient_quota"
SYSTEMATIC = (
    (
        re.compile(
            r"model_not_found|Server is pinned to|Invalid model name passed|[Tt]he model [`'\"\w./:-]+ does not exist"
        ),
        "the server does not serve this model",
        "Give a name that the server lists at /v1/models as model=NAME.",
    ),
    (
        re.compile(r"Unsupported parameter: 'max_tokens'|max_completion_tokens' instead"),
        "the model takes its token cap under another name",
        "Add max_tokens_name=max_completion_tokens to the model's arguments (--model_args, or --judge_args of a judge).",
    ),
    (
        re.compile(r"Unsupported (?:value|parameter): '?temperature"),
        "the model refuses the temperature that the task states",
        'Choose another model, or state the one that it takes: extra_body={"temperature": 1} in its arguments (--model_args, or '
        "--judge_args of a judge). Its answers are sampled then, and the recorded arguments say so.",
    ),
    (
        re.compile(
            r"Unexpected fields in the request|extra_forbidden|Extra inputs are not permitted"
            r"|Unrecognized request argument|Unknown parameter"
        ),
        "the server does not know a field of the requests",
        "Check extra_body, chat_template_kwargs and the task's generation options. Where options of a question are scored, use "
        "a server that scores prompts (vLLM), --model hf or vllm, or NAME@generate.",
    ),
    (
        re.compile(
            r"video_url|[Aa]t most 0 video|not support (?:the )?video|(?:media_io|mm_processor)_kwargs are disabled"
        ),
        "the server refuses the file of a video, or the rule of its frames",
        "vLLM takes the rule if it is started with --trust-request-mm-kwargs. Or send the chosen frames as pictures: video=times "
        "or video=pictures in --model_args.",
    ),
)
"""What a server says to every question of a run (vLLM, OpenAI, LiteLLM, transformers serve): pattern, what is wrong, a hint."""
SYSTEMATIC_STATUSES = (400, 404, 422)


@dataclass
class Refusals:
    """Counts refusals in a row, to distinguish a refused question from a refused client."""

    any_answered: bool = False
    in_a_row: int = 0

    def answered(self) -> None:
        self.any_answered, self.in_a_row = True, 0

    def ends_run(self, status: int, systematic: bool = False) -> bool:
        """Counts a refusal. Returns whether every further question would be refused as well.

        systematic: the server says so (`SYSTEMATIC`). Once it has answered, only the question may be odd.
        """
        if status in AT_ONCE or not (systematic or status in UNTIL_ANSWERED):
            return status in AT_ONCE
        self.in_a_row += 1
        return self.in_a_row >= (AFTER_ANSWERS if self.any_answered else 1 if systematic else UNTIL_ANSWERED[status])


def stated_status(content: Mapping[str, Any]) -> int | None:
    """The HTTP status in the `code` of an error inside a reply of status 200; None if there is none."""
    error = content.get("error")
    code = error.get("code") if isinstance(error, dict) else content.get("code")
    if isinstance(code, str) and code.isascii() and code.isdigit() and len(code) == 3:
        code = int(code)
    return code if isinstance(code, int) and 400 <= code < 600 else None


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds of a Retry-After header, which holds seconds or an HTTP date; None if it is missing or invalid.

    A date is compared with the server's own clock if the reply has a Date header.
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
