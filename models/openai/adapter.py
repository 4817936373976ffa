"""Any server with OpenAI's protocol (vLLM, SGLang, llama.cpp, OpenAI itself): one URL, or several.

    mm-eval --tasks mme --model openai --model_args base_url=http://localhost:8000/v1,model=Qwen/Qwen2.5-VL-7B-Instruct

The key is read from the environment (OPENAI_API_KEY, or the variable named by api_key_env) and is used in requests only.
"""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from difflib import get_close_matches
from itertools import groupby
from typing import TYPE_CHECKING, Any
from urllib.request import getproxies

from mm_eval.engine.generation import TOKEN_CAPS, GenerationOptions
from mm_eval.engine.model import Answers, Model, ModelSettings, Preview, question, register_model
from mm_eval.errors import ConfigError, MMEvalError, ModelError, did_you_mean
from mm_eval.task.decode import IN_FLIGHT, decoding
from mm_eval.types import Answer, Instance

from .arguments import (
    cap_name,
    check,
    check_key,
    drawn_from,
    json_object,
    key_of,
    limits_of,
    note,
    number,
    prompt_keys,
    secrets_of,
)
from .messages import SHOWN_AS, Videos, chat_messages, preview_messages, text_of

if TYPE_CHECKING:
    import httpx

    from .client.http import Client
    from .client.tokens import Writing


ADAPTER_VERSION = 2
KNOWN_OPTIONS = (
    *TOKEN_CAPS, "until", "do_sample", "temperature", "top_p", "top_k", "num_beams", "min_p", "repetition_penalty",
    "presence_penalty", "frequency_penalty", "min_tokens", "stop_token_ids", "ignore_eos", "logit_bias", "length_penalty",
    "best_of", "seed", "skip_special_tokens", "reasoning_effort", "max_completion_tokens",
)  # fmt: skip
"""Generation options of known servers. An option with a name close to one of these is a typo."""
Pair = tuple[Instance, Answer | MMEvalError]


@register_model("openai")
class OpenAI(Model):
    """A server with OpenAI's protocol (vLLM, SGLang, ...): base_url=http://host:8000/v1,model=NAME."""

    chat = True

    def __init__(self, args: Mapping[str, Any], settings: ModelSettings) -> None:
        super().__init__(args, settings)
        self.urls = check(self.args)
        if settings.offline:
            raise ConfigError("--offline allows no connection, and this model is a server.", where="--model openai")
        self.model = str(self.args["model"])
        self.prompt_keys = prompt_keys(self.model)
        self.videos = Videos.of(self.args, self.prompt_keys)
        self.video_input = SHOWN_AS[self.videos.way]
        self.extra_body = json_object(self.args.get("extra_body", {}))
        self.max_tokens_name = str(self.args.get("max_tokens_name") or cap_name(self.model))
        self.way = str(self.args.get("loglikelihood", "auto"))
        self.server = str(self.args.get("server") or "|".join(self.urls))
        variables = self.args.get("chat_template_kwargs")
        self.variables = json_object(variables) if variables else {}
        self.sends_stop = str(self.args.get("send_stop", True)).lower() != "false"
        self.writing: Writing | None = None  # how the server writes prompts; None before it was looked at
        self._unstated: dict[str, Any] = {}  # fields of sampled answers that no task states
        self._stop_soon: Callable[[], None] = lambda: None

    @property
    def prices(self) -> tuple[float, float]:
        """Dollars per million prompt and completion tokens, 0 if not given."""
        return number(self.args, "input_price", 0.0), number(self.args, "output_price", 0.0)

    def prepare(self) -> None:
        """Checks arguments, key and proxy. Raises ConfigError before the first request."""
        limits_of(self.args, self.urls)
        secrets_of(self.args)
        check_key(self.args, self.urls)
        _ = self.prices
        from httpx import InvalidURL

        try:
            self.new_transport()
        except (ImportError, ValueError, InvalidURL) as error:  # its message may contain the proxy's password
            hint = "Check HTTP_PROXY, HTTPS_PROXY and ALL_PROXY; SOCKS needs pip install 'httpx[socks]'."
            raise ConfigError(f"the proxy can't be used ({type(error).__name__}).", hint=hint) from None

    def identity(self, instance: Instance) -> Mapping[str, Any]:
        return {**self.describe(), **question(instance, self.settings.seed), **self.videos.identity(instance)}

    def describe(self) -> Mapping[str, Any]:
        described = {"adapter": "openai", "version": ADAPTER_VERSION, "server": self.server, "model": self.model}
        if self.extra_body:
            described["extra_body"] = self.extra_body
        if self.variables:
            described["chat_template_kwargs"] = self.variables
        return described

    def shares(self, instance: Instance) -> bool:
        """False for sampled answers: a server samples anew each time."""
        sampled = (
            instance.request_type == "generate_until"
            and GenerationOptions.from_kwargs(instance.generation_kwargs).do_sample
        )
        return not sampled

    def check_generation(self, kwargs: Mapping[str, Any]) -> None:
        options = GenerationOptions.from_kwargs(kwargs)
        if options.num_beams > 1:
            raise ConfigError("num_beams is above 1, which servers do not support.", hint="Set num_beams=1.")
        for name in options.extra:  # unknown options are allowed: servers have their own
            if name not in KNOWN_OPTIONS and get_close_matches(name, KNOWN_OPTIONS, cutoff=0.8):
                raise ConfigError(f"Unknown generation option {name!r}.", hint=did_you_mean(name, KNOWN_OPTIONS))

    def dollars(self, usage: Mapping[str, int]) -> float | None:
        if "input_price" not in self.args and "output_price" not in self.args:
            return None
        prompt, completion = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
        return (prompt * self.prices[0] + completion * self.prices[1]) / 1e6

    def account(self, usage: Mapping[str, int]) -> str:
        prompt, completion = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
        tokens = f"{prompt:,} prompt and {completion:,} completion tokens"
        dollars = self.dollars(usage)
        counted = tokens if dollars is None else f"{tokens}, ${dollars:,.4f} at the given prices"
        notes = [self.writing.notes if self.writing else "", note(self._unstated) if self._unstated else ""]
        notes.append(self.videos.note(usage))
        return "; ".join([counted, *filter(None, notes)])

    def stop_soon(self) -> None:
        self._stop_soon()

    def preview(self, instance: Instance) -> Preview:
        if isinstance(instance.context, str):
            return super().preview(instance)
        return super().preview(replace(instance, context=preview_messages(instance, self.videos)))

    def generate(self, instances: Iterable[Instance]) -> Answers:
        async def one(client: Client, group: list[Instance]) -> list[Pair]:
            return [(instance, await self._generate_one(client, instance)) for instance in group]

        yield from self._run(([instance] for instance in instances), one)

    def loglikelihood(self, instances: Iterable[Instance]) -> Answers:
        from .client.scores import Scores

        scores = Scores(self.way, self.max_tokens_name, self.body, lambda: self.writing.refusal if self.writing else "")
        groups = (
            list(group) for _, group in groupby(instances, key=lambda i: (str(i.context), i.image_digests, i.doc_id))
        )
        yield from self._run(groups, scores.of_group)

    def _run(
        self, groups: Iterator[list[Instance]], work: Callable[[Client, list[Instance]], Awaitable[list[Pair]]]
    ) -> Answers:
        """Requests groups of instances, many at a time. Fatal is raised when all requests in flight have ended."""
        from .client.errors import Fatal, TooLong, Unreachable
        from .client.flight import Flight
        from .client.http import Client
        from .client.tokens import Writing, writing_of

        limits, key = limits_of(self.args, self.urls), key_of(self.args)
        loop = self.new_loop()
        transport = self.new_transport()
        headers = {"content-type": "application/json", **({"authorization": f"Bearer {key}"} if key else {})}
        draw = random.Random(self.settings.seed)
        client = Client(transport, self.urls, limits, headers, secrets_of(self.args), draw)
        flight = Flight(loop, max(2, limits.num_concurrent + limits.num_concurrent // 2))
        self._stop_soon = flight.stop_soon

        looking, looked = asyncio.Lock(), False

        async def look() -> None:
            nonlocal looked
            async with looking:  # the others wait for it
                if self.writing is None:
                    looked = True
                    with suppress(Unreachable):
                        self.writing = await writing_of(client.look, self.model)

        async def shielded(group: list[Instance]) -> list[Pair]:
            try:
                if not looked or looking.locked():
                    await look()
                used = self.writing
                pairs = await work(client, group)
                if self.writing is None and any(isinstance(found, Answer | TooLong) for _, found in pairs):
                    await look()  # no server was there at first
                    self.writing = self.writing or Writing()  # one answers questions and not this: not looked at again
                too_long = used is None and any(isinstance(found, TooLong) for _, found in pairs)
                if too_long or self.writing not in (used, used or Writing()):
                    pairs = await work(client, group)
                return pairs
            except Fatal:
                raise
            except MMEvalError as error:
                return [(instance, _copy(error)) for instance in group]

        try:
            with quiet_libraries():
                for pairs in flight.run(groups, shielded, lambda: client.fatal is not None):
                    yield from pairs
            if client.fatal is not None:
                raise client.fatal
        finally:
            self._stop_soon = lambda: None
            flight.close()
            loop.run_until_complete(transport.aclose())
            loop.close()

    def new_loop(self) -> asyncio.AbstractEventLoop:
        """The event loop of the requests; tests replace it with one that has its own clock."""
        return asyncio.new_event_loop()

    def new_transport(self) -> httpx.AsyncBaseTransport:
        """The connections. `Client` holds the deadlines, so that they cover a whole attempt."""
        from .client.transport import CONNECT_TIMEOUT, MEGABYTE, Lanes, Proxied

        limits = limits_of(self.args, self.urls)
        most, connecting = int(limits.max_reply_mb * MEGABYTE), min(CONNECT_TIMEOUT, limits.timeout / 2)
        return Proxied(most, connecting) if getproxies() else Lanes(most, connecting)

    async def _generate_one(self, client: Client, instance: Instance) -> Answer | MMEvalError:
        from .client.errors import Fatal
        from .client.replies import read_text
        from .client.tokens import Room

        options = GenerationOptions.from_kwargs(instance.generation_kwargs)
        stated = self.max_tokens_name in self.extra_body  # sent as the user states it
        length = self.writing.length if self.writing and not stated else None
        room = Room(self.max_tokens_name, length, client.look, self.model)
        path, body = self.body(instance, self._sampling(instance, options))
        try:
            clean = client.redactor.answer
            found, attempts = await client.ask(
                path, body, lambda reply: room.checked(read_text(reply, options.until, clean)), room.smaller
            )
        except Fatal:
            raise
        except ModelError as error:
            return error
        return replace(found, attempts=attempts)

    def _sampling(self, instance: Instance, options: GenerationOptions) -> dict[str, Any]:
        longest = self.writing.length if self.writing else None
        fields: dict[str, Any] = {
            self.max_tokens_name: min(options.max_new_tokens, longest or options.max_new_tokens),
            "temperature": options.temperature,
            "seed": self.settings.seed + instance.repeat,
            **options.extra,
        }
        if options.until and self.sends_stop:
            fields["stop"] = list(options.until[:4])  # OpenAI accepts four; `read_text` cuts at all of them
        drawn = drawn_from(options, self.writing.software if self.writing else "")
        if options.do_sample:
            unstated = [name for name in ("top_p", "top_k") if getattr(options, name) is None]
            self._unstated |= {name: drawn.get(name) for name in unstated}
        return {**fields, **drawn}

    def body(
        self, instance: Instance, fields: Mapping[str, Any], prefill: str | None = None
    ) -> tuple[str, Callable[[], Awaitable[bytes]]]:
        """(path, a function that makes the body). Pictures are encoded in a thread, just before the request is sent.

        prefill: the beginning of the model's turn.
        """
        common = {"model": self.model, **fields, **self.videos.fields(instance), **self.extra_body}
        writing = self.writing
        if isinstance(instance.context, str):
            if instance.image_digests:
                raise ModelError("pictures can only be sent in chat messages.", hint="Leave --apply_chat_template on.")
            text = json.dumps({**common, "prompt": instance.context + (prefill or "")})

            async def plain() -> bytes:
                return text.encode()

            return "/completions", plain

        if self.variables:
            common.setdefault("chat_template_kwargs", self.variables)
        if writing is not None and writing.adds_bos:
            common.setdefault("add_special_tokens", True)
        if prefill is not None and writing is not None and writing.strips_space:
            prefill = prefill.removeprefix(" ")

        def make() -> bytes:
            with IN_FLIGHT.held(instance.pixels), decoding(f"{instance.task} doc {instance.doc_id}"):
                messages = chat_messages(instance, self.videos)
            if prefill is not None:
                if messages and messages[-1]["role"] == "assistant":  # the context ends in the beginning of an answer
                    messages = [*messages[:-1], {**messages[-1], "content": text_of(messages[-1]) + prefill}]
                else:
                    messages.append({"role": "assistant", "content": prefill})
            turned = {}
            if messages[-1]["role"] == "assistant":
                turned = {"add_generation_prompt": False, "continue_final_message": True}
            return json.dumps({**common, **turned, "messages": messages}).encode()

        async def encoded_in_a_thread() -> bytes:
            return await asyncio.to_thread(make) if instance.image_digests else make()

        return "/chat/completions", encoded_in_a_thread


@contextmanager
def quiet_libraries() -> Iterator[None]:
    """Stops httpx and httpcore from logging requests and replies: a server may echo the key in a header."""
    loggers = [logging.getLogger(name) for name in ("httpcore", "httpx")]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def _copy(error: MMEvalError) -> MMEvalError:
    again = type(error)(error.what, where=error.where, hint=error.hint)
    again.attempts = error.attempts
    return again
