"""Tokens at a server: how it writes prompts, the room that it leaves for an answer, and log-likelihoods.

How prompts are written is what /tokenize shows before the first question. vLLM writes a chat without the tokenizer's BOS. Most
templates write BOS themselves; those of LLaVA-1.5 and its relatives leave it to the processor, and without it their answers get
worse and nothing else shows it. An option that is sent as the beginning of the model's turn follows the template's own white
space: after "ASSISTANT: " the option " yes" would stand behind two spaces. A server that has no /tokenize is taken as it is. Its
list of models may state the model's length.

The room for an answer: vLLM refuses every question whose cap is above its max_model_len; its older versions and SGLang also
refuse a cap that does not fit beside the prompt. The model could not write more than what is left, so a smaller cap changes no
answer: one that reaches the end counts as truncated, as with the cap that was stated.

Log-likelihoods are of the prompt's own tokens, or of the first generated token. vLLM computes a prompt anew for
`prompt_logprobs`, with or without a prefix cache. Options of one token are therefore requested as one generated token with its
likeliest alternatives. If the option is among them, that is the same number. According to their sources, vLLM scores every
prompt: chat by `prompt_logprobs`, text by `echo`. SGLang scores text by `echo`, without token offsets, and no chat. There, chat
options of one token get a number and longer ones are refused.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from mm_eval.errors import MMEvalError, ModelError
from mm_eval.types import Answer, Instance

from .http import Body, Client
from .replies import (
    Closed,
    Fatal,
    Passing,
    Unreachable,
    continuation_score,
    echoed_score,
    first_token,
    prompt_tokens,
    usage_of,
)

PROBE = "a"
OPTION = " yes"
CAN_NOT = (
    "the server's chat template writes other text before an option than before an answer, so no option can be scored."
)


class Look(Protocol):
    """`Client.look`: a reply to what is not a question; {} where the server has no answer. Raises Unreachable."""

    async def __call__(self, path: str, content: bytes | None = None) -> dict[str, Any]: ...


@dataclass(frozen=True)
class Writing:
    """How prompts must be sent, so that the model reads what it was trained on.

    adds_bos: chats need `add_special_tokens`. strips_space: an option in a chat is sent without its leading space.
    refusal: why options can't be scored in a chat; empty where they can.
    length: the model's, in tokens of prompt and answer together. software: what the server says it is ("vllm").
    """

    adds_bos: bool = False
    strips_space: bool = False
    refusal: str = ""
    length: int | None = field(default=None, compare=False)
    software: str = field(default="", compare=False)

    @property
    def notes(self) -> str:
        """What a reader of the results should know; empty for nothing."""
        return "the server's chats lack BOS, which is requested with add_special_tokens" if self.adds_bos else ""


async def writing_of(look: Look, model: str) -> Writing:
    """What the server's /tokenize, /detokenize and list of models show."""
    found = await _prompts_of(look, model)
    listed: Any = []
    with suppress(Unreachable):
        listed = (await look("/models")).get("data")
    entries = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    named = {str(each.get("id")): each for each in entries}
    own = named.get(model, {})
    length = own.get("max_model_len") or named.get(str(own.get("parent")), {}).get(
        "max_model_len"
    )  # an adapter's parent
    software = own.get("owned_by")
    return replace(
        found,
        length=length if type(length) is int and length > 0 else None,
        software=software if isinstance(software, str) else "",
    )


async def _prompts_of(look: Look, model: str) -> Writing:

    async def tokens(**body: Any) -> list[int]:
        found = (await look("/tokenize", json.dumps({"model": model, **body}).encode())).get("tokens")
        return found if isinstance(found, list) and all(type(token) is int for token in found) else []

    async def text(ids: list[int]) -> str | None:
        reply = await look("/detokenize", json.dumps({"model": model, "tokens": ids}).encode())
        found = reply.get("prompt")
        return found if isinstance(found, str) else None

    framed = await tokens(prompt=PROBE, add_special_tokens=True)
    if not framed:
        return Writing()
    bare = await tokens(prompt=PROBE, add_special_tokens=False)
    user = {"role": "user", "content": PROBE}
    chat = await tokens(messages=[user], add_generation_prompt=True, add_special_tokens=False)
    if not chat or not bare:
        return Writing()
    start = next((i for i in range(len(framed)) if framed[i : i + len(bare)] == bare), 0)
    adds_bos = start > 0 and chat[:start] != framed[:start]

    before = await text(chat)
    if before is None:
        return Writing(adds_bos)
    for option in (OPTION, OPTION.lstrip()):
        messages = [user, {"role": "assistant", "content": option}]
        turned = {"add_generation_prompt": False, "continue_final_message": True, "add_special_tokens": False}
        if await text(await tokens(messages=messages, **turned)) == before + OPTION:
            return Writing(adds_bos, strips_space=option != OPTION)
    return Writing(adds_bos, refusal=CAN_NOT)


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


LIKELIEST = 20
"""Alternatives per token: the maximum of OpenAI, and vLLM's default maximum."""
LONGEST_OPTION = 12
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
    refusal: why options can't be scored in a chat; empty where they can, or before the server was looked at.

    A server that has never given a number ends the run after a few replies without one: every question would fail. Once it
    has given one, a reply without numbers fails only its own question.
    """

    def __init__(
        self, way: str, max_tokens_name: str, body: Callable[..., tuple[str, Body]], refusal: Callable[[], str]
    ) -> None:
        self._refusal = refusal
        self._way, self._max_tokens_name, self._body = way, max_tokens_name, body
        self._by_token = self._from_prompt = False  # whether this way has given a number
        self._token_failures = self._prompt_failures = 0

    async def of_group(self, client: Client, group: Sequence[Instance]) -> list[tuple[Instance, Answer | MMEvalError]]:
        """The scores of all continuations of one context. If the run ends meanwhile, those that are finished."""
        found: dict[int, Answer | MMEvalError] = {}
        if self._may_use_first_token() and all(_maybe_one_token(instance) for instance in group):
            found = await self._by_first_token(client, group)
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
        return [(instance, found[place]) for place, instance in enumerate(group) if place in found]

    def _may_use_first_token(self) -> bool:
        return self._way == "token" or (self._way == "auto" and (self._by_token or self._token_failures < ENOUGH))

    async def _by_first_token(self, client: Client, group: Sequence[Instance]) -> dict[int, Answer | MMEvalError]:
        """Scores of the options that are among the likeliest first tokens. temperature is 1: some servers divide by it."""
        first = group[0]
        fields: dict[str, Any] = {self._max_tokens_name: 1, "temperature": 1.0}
        plain = isinstance(first.context, str)
        fields |= {"logprobs": LIKELIEST} if plain else {"logprobs": True, "top_logprobs": LIKELIEST}
        path, body = self._body(first, fields)

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
            if self._by_token or self._way == "token":
                return dict.fromkeys(range(len(group)), error)
            return {}  # a server without `logprobs` may still score prompts
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
            elif self._way == "token":
                found[place] = ModelError(
                    f"the option {option!r} is not among the {len(top)} likeliest tokens of the server.",
                    hint=HINT,
                )
        return found

    async def _by_prompt(self, client: Client, instance: Instance) -> Answer | MMEvalError:
        """The log-likelihood of a continuation at the end of the prompt."""
        if self._refusal() and not isinstance(instance.context, str):
            return ModelError(self._refusal(), hint="Use --apply_chat_template false, --model vllm, or NAME@generate.")
        if self._by_token and not self._from_prompt and self._prompt_failures >= ENOUGH:
            return ModelError(REFUSAL, hint=HINT)
        continuation = str(instance.continuation)
        plain = isinstance(instance.context, str)
        fields: dict[str, Any] = {self._max_tokens_name: 1, "temperature": 0.0}
        fields |= {"echo": True, "logprobs": 1} if plain else {"prompt_logprobs": 1}
        path, body = self._body(instance, fields, prefill=continuation)

        def read(reply: dict[str, Any]) -> Answer:
            tokens = prompt_tokens(reply)  # vLLM has them beside an echo too, without the echo's trouble with BOS
            if tokens is not None:
                score: tuple[float, bool] | None = continuation_score(tokens, continuation)
            else:
                score = echoed_score(reply, str(instance.context), continuation) if plain else None
            if score is None:
                raise self._no_numbers()
            self._from_prompt = True
            return Answer(score, usage=usage_of(reply))

        try:
            answer, attempts = await client.ask(path, body, read)
        except Fatal:
            raise
        except ModelError as error:
            return error
        return replace(answer, attempts=attempts)

    def _no_numbers(self) -> Passing | Fatal:
        self._prompt_failures += 1
        if self._by_token or self._from_prompt or self._prompt_failures < ENOUGH:
            return Passing(REFUSAL)
        return Fatal(REFUSAL, where="--model openai", hint=HINT)


def _maybe_one_token(instance: Instance) -> bool:
    """Whether the continuation may be a single token: a letter, a number, a short word."""
    text = str(instance.continuation)
    return len(text.strip()) <= LONGEST_OPTION and " " not in text.strip()
