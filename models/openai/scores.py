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

from mm_eval.errors import MMEvalError, ModelError
from mm_eval.types import Answer, Instance

from .http import Client
from .replies import continuation_score, echoed_score, first_token, prompt_tokens, usage_of
from .status import Closed, Fatal, Passing

if TYPE_CHECKING:
    from .adapter import OpenAI


LIKELIEST = 20
"""How many alternatives OpenAI gives at most, and vLLM by default."""
LONGEST_OPTION = 12
ENOUGH = 3
"""Replies without numbers that show that a server gives none of them, where it has never given one."""
REFUSAL = "the server gives no log-probabilities of the prompt."
HINT = (
    "Use a server that does (vLLM; SGLang for prompts of text alone, with --apply_chat_template false), or choose a task with "
    "generate_until, such as NAME@generate."
)


class Scores:
    """Log-likelihoods of continuations that share a context, and what the server has shown of its abilities so far.

    A server that has never given a number, and leaves them out again, ends the run: every question would end so. Once it has
    given one, a reply without is the failure of its question.
    """

    def __init__(self, adapter: OpenAI) -> None:
        self._adapter = adapter
        self._by_token = self._from_prompt = False  # whether this way has ever given a number
        self._token_failures = self._prompt_failures = 0

    async def of_group(self, client: Client, group: Sequence[Instance]) -> list[tuple[Instance, Answer | MMEvalError]]:
        """The scores of all continuations of one context; when the run ends meanwhile, those that are there."""
        found: dict[int, Answer | MMEvalError] = {}
        if self._may_ask_first_token() and all(_maybe_one_token(instance) for instance in group):
            found = await self._by_first_token(client, group)
        rest = [place for place in range(len(group)) if place not in found]
        asked = {place: asyncio.ensure_future(self._by_prompt(client, group[place])) for place in rest}
        failure: BaseException | None = None
        try:
            await asyncio.gather(*asked.values())
        except BaseException as error:  # raised below, when the others have ended
            failure = error
            await asyncio.gather(*asked.values(), return_exceptions=True)
        answered = {n: each for n, each in asked.items() if not each.cancelled() and each.exception() is None}
        found.update((place, each.result()) for place, each in answered.items())
        ends = isinstance(failure, (Closed, Fatal, asyncio.CancelledError))  # the run: what is answered by then counts
        if failure is not None and not (ends and found):
            raise failure
        return [(instance, found[place]) for place, instance in enumerate(group) if place in found]

    def _may_ask_first_token(self) -> bool:
        way = self._adapter.way
        return way == "token" or (way == "auto" and (self._by_token or self._token_failures < ENOUGH))

    async def _by_first_token(self, client: Client, group: Sequence[Instance]) -> dict[int, Answer | MMEvalError]:
        """The options that are among the likeliest first tokens; temperature 1, since some servers divide by it."""
        first = group[0]
        fields: dict[str, Any] = {self._adapter.max_tokens_name: 1, "temperature": 1.0}
        plain = isinstance(first.context, str)
        fields |= {"logprobs": LIKELIEST} if plain else {"logprobs": True, "top_logprobs": LIKELIEST}
        path, body = self._adapter.body(first, fields)

        def read(reply: dict[str, Any]) -> tuple[dict[str, float], dict[str, int]]:
            top = first_token(reply)
            if not top and self._by_token:
                raise Passing("the reply has no top_logprobs")
            return top, usage_of(reply)

        try:
            (top, usage), attempts = await client.ask(path, body, read)
        except Fatal:
            raise
        except ModelError as error:
            self._token_failures += 1
            if self._by_token or self._adapter.way == "token":
                return dict.fromkeys(range(len(group)), error)
            return {}  # a server that refuses `logprobs` may still score prompts
        self._by_token = self._by_token or bool(top)
        self._token_failures += not top
        best = next(iter(top), None)
        found: dict[int, Answer | MMEvalError] = {}
        for place, instance in enumerate(group):
            option = str(instance.continuation)
            if option in top:
                found[place] = Answer(
                    (top[option], option == best), usage=usage if not found else {}, attempts=attempts
                )
            elif self._adapter.way == "token":
                found[place] = ModelError(
                    f"the option {option!r} is not among the {len(top)} likeliest tokens that the server names.",
                    hint=HINT,
                )
        return found

    async def _by_prompt(self, client: Client, instance: Instance) -> Answer | MMEvalError:
        """The sum over the continuation's tokens when the prompt ends in it."""
        if self._by_token and not self._from_prompt and self._prompt_failures >= ENOUGH:
            return ModelError(REFUSAL, hint=HINT)
        continuation = str(instance.continuation)
        plain = isinstance(instance.context, str)
        fields: dict[str, Any] = {self._adapter.max_tokens_name: 1, "temperature": 0.0}
        fields |= {"echo": True, "logprobs": 1} if plain else {"prompt_logprobs": 1}
        path, body = self._adapter.body(instance, fields, prefill=continuation)

        def read(reply: dict[str, Any]) -> Answer:
            if plain:
                score = echoed_score(reply, str(instance.context), continuation)
            else:
                tokens = prompt_tokens(reply)
                score = None if tokens is None else continuation_score(tokens, continuation)
            if score is None:
                raise self._without_numbers()
            self._from_prompt = True
            return Answer(score, usage=usage_of(reply))

        try:
            response, attempts = await client.ask(path, body, read)
        except Fatal:
            raise
        except ModelError as error:
            return error
        return Answer(response.output, usage=response.usage, attempts=attempts)

    def _without_numbers(self) -> Passing | Fatal:
        self._prompt_failures += 1
        if self._by_token or self._from_prompt or self._prompt_failures < ENOUGH:
            return Passing(REFUSAL)
        return Fatal(REFUSAL, where="--model openai", hint=HINT)


def _maybe_one_token(instance: Instance) -> bool:
    """Whether the continuation looks like one token: a letter, a number, a short word."""
    text = str(instance.continuation)
    return len(text.strip()) <= LONGEST_OPTION and " " not in text.strip()
