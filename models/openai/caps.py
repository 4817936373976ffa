"""The token cap of an answer where the model's length leaves less room.

vLLM refuses every question whose cap is above its max_model_len; its older versions and SGLang also refuse a cap that does not
fit beside the prompt. The model could not write more than what is left, so a smaller cap changes no answer: one that reaches the
end counts as truncated, as with the cap that was stated.
"""

from __future__ import annotations

import json
from contextlib import suppress

from mm_eval.errors import ModelError
from mm_eval.types import Answer

from .tokens import Look, Unreachable

SLACK = 8
"""Tokens that a server may keep free at the end of the model's length."""


class Room:
    """The room for one answer. name: the field of the cap. length: the model's, in tokens; None where the server gives none."""

    def __init__(self, name: str, length: int | None, look: Look, model: str) -> None:
        self._name, self._length, self._look, self._model = name, length, look, model
        self._left_out = False

    async def smaller(self, content: bytes) -> bytes | None:
        """The body of a question that was refused as too long, with what is left as its cap; None where nothing is left.

        The default cap of a chat is what is left, at every server that gives its model's length. That of a text is 16 tokens,
        so that its prompt is counted.
        """
        if self._length is None:
            return None
        body = json.loads(content)
        if "prompt" not in body:
            self._left_out = body.pop(self._name, None) is not None
            return json.dumps(body).encode() if self._left_out else None
        asked, count = json.dumps({"model": self._model, "prompt": body["prompt"]}).encode(), None
        with suppress(Unreachable):
            count = (await self._look("/tokenize", asked)).get("count")
        if type(count) is not int or not 0 < self._length - count < body.get(self._name, 0):
            return None
        return json.dumps({**body, self._name: self._length - count}).encode()

    def checked(self, answer: Answer) -> Answer:
        """The answer. Raises ModelError if a default of the server ended it before the model's length."""
        used = answer.usage.get("prompt_tokens", 0) + answer.usage.get("completion_tokens", 0)
        if self._left_out and self._length and answer.truncated and 0 < used < self._length - SLACK:
            raise ModelError(
                f"the server ended the answer after {used:,} tokens of the model's {self._length:,}.",
                hint="The prompt and the cap do not fit together into the model's length: lower max_gen_toks.",
            )
        return answer
