"""Log-likelihoods of continuations: of the prompt's own tokens, or of the first generated token.

vLLM computes a prompt again for `prompt_logprobs`, with or without a prefix cache. So options of one token are requested as
one generated token with its likeliest alternatives. If the option is among them, that is the same number. If it is not, and the
server scores no prompts, it is at most as likely as the last of them (`UpperBound`). According to their sources, vLLM scores
every prompt: chat by `prompt_logprobs`, text by `echo`. SGLang scores text by `echo`, without token offsets, and no chat. There,
chat options of one token get a number and longer ones are refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace

from mm_eval.values.errors import MMEvalError, ModelError
from mm_eval.values.reasoning.families import OPENS_HINT, what_opens
from mm_eval.values.types import Answer, Instance, UpperBound

from .errors import Closed, Fatal, Passing
from .http import Body, Client
from .logprobs import (
    continuation_score,
    drawn_token,
    echoed_score,
    first_token,
    maybe_one_token,
    prompt_tokens,
    upper_bound,
)
from .replies import check_ending
from .tokens import Writing
from .usage import usage_of

SPACES = " \u2581\u0120"
"""A space at the beginning of a token, as servers write it."""
ENOUGH = 3
"""Replies without numbers after which a server that never gave one counts as unable to."""
REFUSAL = "the server gives no log-probabilities of the prompt."
HINT = (
    "Use a server that gives them (vLLM; SGLang for prompts of text only, with --apply_chat_template false), or choose a task "
    "with generate_until, such as NAME@generate."
)


class Scores:
    """Requests log-likelihoods of continuations that share a context, and keeps track of what the server supports.

    way: "auto", "prompt" or "token". max_tokens_name: the field for the token cap. body: `OpenAI.body`.
    writing: what the server says of its prompts and of itself.

    A server that has never given a number ends the run after a few replies without one: every question would fail. Once it
    has given one, a reply without numbers fails only its own question.
    """

    def __init__(
        self, way: str, max_tokens_name: str, body: Callable[..., tuple[str, Body]], writing: Callable[[], Writing]
    ) -> None:
        self._writing = writing
        self._way, self._max_tokens_name, self._body = way, max_tokens_name, body
        self._by_token = self._from_prompt = False  # whether this way has given a number
        self._token_failures = self._prompt_failures = 0
        self._prompts: bool | None = None  # whether chats are scored; None before a letter without a space was met

    async def of_group(self, client: Client, group: Sequence[Instance]) -> list[tuple[Instance, Answer | MMEvalError]]:
        """The scores of all continuations of one context. If the run ends meanwhile, those that are finished."""
        if (opens := self._writing().opens) and not isinstance(group[0].context, str):
            return [(instance, ModelError(what_opens(opens, "the server"), hint=OPENS_HINT)) for instance in group]
        found: dict[int, Answer | MMEvalError] = {}
        bounded: dict[int, Answer | MMEvalError] = {}
        if self._may_use_first_token() and all(maybe_one_token(str(instance.continuation)) for instance in group):
            found, bounded = await self._by_first_token(client, group)
        if len(found) < len(group) and bounded and not await self._scores_prompts(client, group[0]):
            return [(instance, bounded[place]) for place, instance in enumerate(group)]
        rest = [place for place in range(len(group)) if place not in found]
        tasks = {place: asyncio.ensure_future(self._by_prompt(client, group[place])) for place in rest}
        failure: BaseException | None = None
        try:
            await asyncio.gather(*tasks.values())
        except BaseException as error:  # raised below, after the others have ended
            failure = error
            await asyncio.gather(*tasks.values(), return_exceptions=True)
        for place, task in tasks.items():
            if not task.cancelled() and task.exception() is None:
                found[place] = task.result()
        run_ends = isinstance(failure, (Closed, Fatal, asyncio.CancelledError))  # finished answers are kept
        if failure is not None and not (run_ends and found):
            raise failure
        unscored = [found.get(place) for place in rest]
        if bounded and not self._from_prompt and any(REFUSAL in str(each) for each in unscored):
            found = bounded
        return [(instance, found[place]) for place, instance in enumerate(group) if place in found]

    def _may_use_first_token(self) -> bool:
        return self._way == "token" or (self._way == "auto" and (self._by_token or self._token_failures < ENOUGH))

    async def _scores_prompts(self, client: Client, instance: Instance) -> bool:
        """Whether the server scores prompts in a chat, found out with one question."""
        if self._writing().generated_only:
            return False
        if self._prompts is None:
            if isinstance(instance.context, str) or self._from_prompt:
                return True
            self._prompts = not isinstance(await self._by_prompt(client, instance, tentative=True), MMEvalError)
        return self._prompts

    async def _by_first_token(
        self, client: Client, group: Sequence[Instance]
    ) -> tuple[dict[int, Answer | MMEvalError], dict[int, Answer | MMEvalError]]:
        """Scores of the options that are among the likeliest first tokens; and those of all options.

        Among the second, a chat's options are tokens without spaces, and an option that is not listed has an upper bound; where
        none is listed, each is an error that says so. They are empty where the server lists no token.
        temperature is 1: some servers divide by it.
        """
        first = group[0]
        fields: dict[str, object] = {self._max_tokens_name: 1, "temperature": 1.0}
        plain, most = isinstance(first.context, str), self._writing().likeliest
        fields |= {"logprobs": most} if plain else {"logprobs": True, "top_logprobs": most}
        path, body = self._body(first, fields)

        def read(reply: dict[str, object]) -> tuple[dict[str, float], str, dict[str, int]]:
            check_ending(reply)
            top = first_token(reply)
            if not top and self._by_token:
                raise Passing("the reply has no top_logprobs")
            return top, drawn_token(reply), usage_of(reply)

        try:
            (top, drawn, usage), attempts = await client.ask(path, body, read)
        except Fatal:
            raise
        except ModelError as error:
            self._token_failures += 1
            if self._by_token or self._way == "token":
                return dict.fromkeys(range(len(group)), error), {}
            return {}, {}  # a server without `logprobs` may still score prompts
        self._by_token = self._by_token or bool(top)
        self._token_failures += not top
        options = [str(instance.continuation) for instance in group]
        used = usage

        def scored(tokens: dict[str, float], names: Sequence[str]) -> dict[int, Answer | MMEvalError]:
            best = next(iter(tokens), None)
            return {
                place: Answer((tokens[name], name == best), usage=used if place == 0 else {}, attempts=attempts)
                for place, name in enumerate(names)
                if name in tokens
            }

        found = scored(top, options)
        bare_tokens: dict[str, float] = {}
        for token, number in top.items():  # likeliest first
            bare_tokens.setdefault(token.strip(SPACES), number)
        bare = [option.strip() for option in options]
        by_letter = not plain and len(set(bare)) == len(bare)
        names, tokens = (bare, bare_tokens) if by_letter else (options, top)
        bounded = scored(tokens, names)
        if bounded:
            for place, name in enumerate(names):
                bound = upper_bound(name, tokens, drawn.strip(SPACES) if by_letter else drawn)
                usage_of_first = used if place == 0 else {}
                bounded.setdefault(place, Answer(UpperBound((bound, False)), usage=usage_of_first, attempts=attempts))
        elif top:
            listed_options = ", ".join(map(repr, options[:6])) + (", ..." if len(options) > 6 else "")
            what = f"none of the options {listed_options} is among the {len(top)} likeliest first tokens of the server"
            unlisted = ModelError(f"{what}{'' if self._way == 'token' else ', which scores no prompts'}.", hint=HINT)
            bounded = dict.fromkeys(range(len(options)), unlisted)
        if self._way == "token" and len(found) < len(group):
            found, bounded = bounded, {}
            for place, option in enumerate(options):
                what = f"the option {option!r} is not among the {len(top)} likeliest tokens of the server."
                found.setdefault(place, ModelError(what, hint=HINT))
        return found, bounded

    async def _by_prompt(self, client: Client, instance: Instance, tentative: bool = False) -> Answer | MMEvalError:
        """The log-likelihood of a continuation at the end of the prompt. tentative: to find out whether the server gives it."""
        writing = self._writing()
        if writing.generated_only:
            what = f"{str(instance.continuation)!r} is none of the server's {writing.likeliest} likeliest first tokens."
            return ModelError(f"the server scores no prompts, and {what}", hint=HINT)
        if writing.refusal and not isinstance(instance.context, str):
            return ModelError(writing.refusal, hint="Use --apply_chat_template false, --model vllm, or NAME@generate.")
        if self._by_token and not self._from_prompt and self._prompt_failures >= ENOUGH:
            return ModelError(REFUSAL, hint=HINT)
        continuation = str(instance.continuation)
        plain = isinstance(instance.context, str)
        fields: dict[str, object] = {self._max_tokens_name: 1, "temperature": 0.0}
        fields |= {"echo": True, "logprobs": 1} if plain else {"prompt_logprobs": 1}
        path, body = self._body(instance, fields, prefill=continuation)

        def read(reply: dict[str, object]) -> Answer:
            check_ending(reply)
            tokens = prompt_tokens(reply)  # vLLM has them beside an echo too, without the echo's trouble with BOS
            if tokens is not None:
                score: tuple[float, bool] | None = continuation_score(tokens, continuation)
            else:
                score = echoed_score(reply, str(instance.context), continuation) if plain else None
            if score is None:
                raise ModelError(REFUSAL, hint=HINT) if tentative else self._no_numbers()
            self._from_prompt = True
            return Answer(score, usage=usage_of(reply))

        try:
            answer, attempts = await client.ask(path, body, read, tentative=tentative)
        except Fatal:
            raise
        except ModelError as error:
            return error
        return replace(answer, attempts=attempts)

    def _no_numbers(self) -> Passing | Fatal | ModelError:
        """The error of a reply without numbers: asked again from a server that has given some for a prompt, or nothing yet."""
        self._prompt_failures += 1
        if self._by_token and not self._from_prompt:
            return ModelError(REFUSAL, hint=HINT)
        if self._from_prompt or self._prompt_failures < ENOUGH:
            return Passing(REFUSAL)
        return Fatal(REFUSAL, where="--model openai", hint=HINT)
