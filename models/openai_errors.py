"""What a request to a server can come to when it is no answer."""

from __future__ import annotations

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
