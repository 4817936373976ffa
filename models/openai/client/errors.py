"""Why a question has no answer: errors that are retried, that concern one question, and that end the run."""

from __future__ import annotations

import re

from mm_eval.values.errors import LongPrompt, ModelError


class Unreachable(Exception):
    """The server can't be reached, or is still loading."""


class Passing(Exception):
    """A transient error: the request is retried.

    what: our message. said: the message of the server or a library; it is redacted and shortened before it is shown.
    wait: seconds to wait, if the server states them. throttled: it was a 429. free: it does not count as a retry.
    status: of the reply; 0 where there was none.
    """

    def __init__(
        self,
        what: str,
        wait: float | None = None,
        throttled: bool = False,
        *,
        said: object = None,
        free: bool = False,
        status: int = 0,
    ) -> None:
        super().__init__(what)
        self.what, self.said, self.status = what, said, status
        self.wait, self.throttled, self.free = wait, throttled, free

    def forget_reply(self) -> None:
        """Drops the traceback, whose frames hold the reply and would keep it in memory until the next collection."""
        self.__traceback__ = self.__cause__ = self.__context__ = None


class Fatal(ModelError):
    """Every further question would fail in the same way."""


class Filtered(ModelError):
    """The vendor's filter refused the question or withheld the answer. A generated answer is recorded as filtered."""


class Refused(ModelError):
    """The server refuses the request: status and text say why. Another question, or other settings, may do better."""

    status: int = 0
    said: str = ""

    @classmethod
    def by(cls, status: int, said: str, what: str) -> Refused:
        """A refusal. said: the reply's text as it came, never shown. what: our message, redacted."""
        error = cls(what)
        error.status, error.said = status, said
        return error


class TooLong(LongPrompt):
    """The prompt does not fit into the model's length, or not with the token cap."""


TOO_LONG = re.compile(
    r"context_length_exceeded|exceed_context_size|(maximum|available|model's) context (length|size)|maximum model length"
    r"|(prompt|input) is too long|`?max_new_tokens`? must be <=|exceeds the maximum number of tokens"
    r"|cannot be greater than `?max_model_len",
    re.IGNORECASE,
)
"""Messages of OpenAI, vLLM, SGLang, TGI, llama.cpp and others for a prompt that exceeds the model's length."""
CAP_ALONE = re.compile(r"max_(?:completion_)?tokens=\d+ cannot be greater than max_model_len=(?:max_total_tokens=)?\d+")
"""What vLLM says to a cap that is above the model's length, whatever the prompt. A proxy before it does not state the length."""


class Closed(Exception):
    """The run ended before this question was sent. It stays pending."""
