"""Log-likelihoods from a server: what it says of the prompt's own tokens, or of the first token that it would write.

vLLM computes a prompt anew for `prompt_logprobs`, prefix cache or not, so options of one token are asked as one generated
token with its likeliest alternatives: where the option's text is one of those tokens, that is the same number.

What servers say of a prompt, by their sources: vLLM all of it, by `prompt_logprobs` for chat and by `echo` for text; SGLang by
`echo` for text, without saying where tokens stand, and nothing for chat, so that there only options of one token have a
number and longer ones are refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from mm_eval.errors import ConfigError, MMEvalError, ModelError
from mm_eval.types import Instance, Response

from .openai_http import Client, Fatal
from .openai_replies import continuation_score, echoed_score, first_token, prompt_tokens, usage_of

if TYPE_CHECKING:
    from .openai import OpenAI

LIKELIEST = 20
"""How many alternatives OpenAI gives at most, and vLLM by default."""
LONGEST_OPTION = 12
REFUSAL = "the server gives no log-probabilities of the prompt."
HINT = (
    "Use a server that does (vLLM; SGLang for prompts of text alone, with --apply_chat_template false), or choose a task with "
    "generate_until, such as NAME@generate."
)


class Scores:
    """Log-likelihoods of continuations that share a context."""

    def __init__(self, adapter: OpenAI) -> None:
        self._adapter = adapter

    async def of_group(
        self, client: Client, group: Sequence[Instance]
    ) -> list[tuple[Instance, Response | MMEvalError]]:
        """The scores of all continuations of one context."""
        if self._adapter.way == "prompt" or not all(_maybe_one_token(instance) for instance in group):
            found: dict[int, Response | MMEvalError] = {}
        else:
            found = await self._by_first_token(client, group)
        rest = [place for place in range(len(group)) if place not in found]
        scored = await asyncio.gather(*(self._by_prompt(client, group[place]) for place in rest))
        found.update(zip(rest, scored, strict=True))
        return [(instance, found[place]) for place, instance in enumerate(group)]

    async def _by_first_token(self, client: Client, group: Sequence[Instance]) -> dict[int, Response | MMEvalError]:
        """The options that are among the likeliest first tokens; temperature 1, since some servers divide by it."""
        first = group[0]
        fields: dict[str, Any] = {self._adapter.max_tokens_name: 1, "temperature": 1.0}
        plain = isinstance(first.context, str)
        fields |= {"logprobs": LIKELIEST} if plain else {"logprobs": True, "top_logprobs": LIKELIEST}
        path, body = self._adapter.body(first, fields)
        try:
            (top, usage), attempts = await client.ask(path, body, lambda reply: (first_token(reply), usage_of(reply)))
        except Fatal:
            raise
        except ModelError:
            if self._adapter.way == "token":
                raise
            return {}  # a server that refuses `logprobs` may still score prompts
        best = next(iter(top), None)
        found: dict[int, Response | MMEvalError] = {}
        for place, instance in enumerate(group):
            option = str(instance.continuation)
            if option in top:
                found[place] = Response(
                    (top[option], option == best), usage=usage if not found else {}, attempts=attempts
                )
            elif self._adapter.way == "token":
                found[place] = ModelError(
                    f"the option {option!r} is not among the {len(top)} likeliest tokens that the server names.",
                    hint=HINT,
                )
        return found

    async def _by_prompt(self, client: Client, instance: Instance) -> Response | MMEvalError:
        """The sum over the continuation's tokens when the prompt ends in it."""
        continuation = str(instance.continuation)
        plain = isinstance(instance.context, str)
        fields: dict[str, Any] = {self._adapter.max_tokens_name: 1, "temperature": 0.0}
        fields |= {"echo": True, "logprobs": 1} if plain else {"prompt_logprobs": 1}
        path, body = self._adapter.body(instance, fields, prefill=continuation)

        def read(reply: dict[str, Any]) -> Response:
            if plain:
                score = echoed_score(reply, str(instance.context), continuation)
            else:
                tokens = prompt_tokens(reply)
                score = None if tokens is None else continuation_score(tokens, continuation)
            if score is None:
                raise ConfigError(REFUSAL, where="--model openai", hint=HINT)
            return Response(score, usage=usage_of(reply))

        try:
            response, attempts = await client.ask(path, body, read)
        except Fatal:
            raise
        except ConfigError as error:  # every further one would end so: the run stops with this sentence
            raise Fatal(error.what, where=error.where, hint=error.hint) from error
        except ModelError as error:
            return error
        return Response(response.output, usage=response.usage, attempts=attempts)


def _maybe_one_token(instance: Instance) -> bool:
    """Whether the continuation looks like one token: a letter, a number, a short word."""
    text = str(instance.continuation)
    return len(text.strip()) <= LONGEST_OPTION and " " not in text.strip()
