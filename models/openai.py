"""Any server that speaks OpenAI's protocol: vLLM, SGLang, llama.cpp, OpenAI itself, one URL or a fleet.

    mm-eval --tasks mme --model openai --model_args base_url=http://localhost:8000/v1,model=Qwen/Qwen2.5-VL-7B-Instruct

    openai_http     attempts, waits, deadlines, adaptive concurrency
    openai_flight   many questions at once
    openai_replies  what a reply says
    openai_scores   log-likelihoods

The key comes from the environment (OPENAI_API_KEY, or the variable that api_key_env names) and goes nowhere but into requests.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import random
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from difflib import get_close_matches
from itertools import groupby
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies

from mm_eval.engine.model import TOKEN_CAPS, Answers, GenerationOptions, Model, ModelSettings, question, register_model
from mm_eval.errors import ConfigError, MMEvalError, ModelError, did_you_mean
from mm_eval.task.media import encoded
from mm_eval.types import Instance, Message, Response

if TYPE_CHECKING:
    import httpx

    from .openai_http import Client

ADAPTER_VERSION = 1
WHERE = "--model_args"
NUMBERS = {"num_concurrent": int, "max_retries": int, "timeout": float, "deadline": float}
PRICES = ("input_price", "output_price")
TEXTS = ("base_url", "model", "server", "api_key_env", "extra_body", "max_tokens_name", "loglikelihood")
KNOWN_OPTIONS = (
    *TOKEN_CAPS, "until", "do_sample", "temperature", "top_p", "top_k", "num_beams", "min_p", "repetition_penalty",
    "presence_penalty", "frequency_penalty", "min_tokens", "stop_token_ids", "ignore_eos", "logit_bias", "length_penalty",
    "best_of", "seed", "skip_special_tokens", "reasoning_effort", "max_completion_tokens",
)  # fmt: skip
"""Generation options in the field; one that is almost called like one of them is misspelt."""
Pair = tuple[Instance, Response | MMEvalError]


@register_model("openai")
class OpenAI(Model):
    """A server with OpenAI's protocol (vLLM, SGLang, ...): base_url=http://host:8000/v1,model=NAME."""

    chat = True

    def __init__(self, args: Mapping[str, Any], settings: ModelSettings) -> None:
        super().__init__(args, settings)
        self.urls = self._check()
        self.model = str(self.args["model"])
        self.extra_body = _json_object(self.args.get("extra_body", {}))
        self.max_tokens_name = str(self.args.get("max_tokens_name", "max_tokens"))
        self.way = str(self.args.get("loglikelihood", "auto"))
        self.server = str(self.args.get("server") or "|".join(self.urls))
        self._stop_soon: Callable[[], None] = lambda: None

    def _check(self) -> tuple[str, ...]:
        """The URLs, when all arguments make sense; no message quotes a value that may hold a secret."""
        known = (*TEXTS, *NUMBERS, *PRICES)
        for name in self.args:
            if name in ("api_key", "key", "token", "headers"):
                hint = (
                    "Keys are read from the environment: set OPENAI_API_KEY, or name a variable with api_key_env=NAME."
                )
                raise ConfigError(f"{name!r} is no argument of openai.", where=WHERE, hint=hint)
            if name not in known:
                raise ConfigError(f"openai has no argument {name!r}.", where=WHERE, hint=did_you_mean(name, known))
        for name in ("base_url", "model"):
            if not self.args.get(name):
                raise ConfigError(
                    f"openai needs {name}=...", where=WHERE, hint="base_url=http://host:8000/v1,model=NAME"
                )
        urls = tuple(url.strip().rstrip("/") for url in str(self.args["base_url"]).split("|"))
        for url in urls:
            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ConfigError("base_url is no http(s) URL.", where=WHERE, hint="base_url=http://host:8000/v1")
            if parts.username or parts.password or parts.query or parts.fragment:
                hint = (
                    "Keys are read from the environment: set OPENAI_API_KEY, or name a variable with api_key_env=NAME."
                )
                raise ConfigError("base_url holds a user, a password or a query.", where=WHERE, hint=hint)
        if self.args.get("loglikelihood", "auto") not in ("auto", "prompt", "token"):
            raise ConfigError("loglikelihood is auto, prompt or token.", where=WHERE)
        if self.settings.offline:
            raise ConfigError("--offline opens no connection, and a server is one.", where="--model openai")
        return urls

    @property
    def prices(self) -> tuple[float, float]:
        """Dollars a million prompt and completion tokens, 0 where not given."""
        return _number(self.args, "input_price", 0.0), _number(self.args, "output_price", 0.0)

    def prepare(self) -> None:
        self._limits()
        _ = self.prices

    def _limits(self) -> Any:
        try:
            from .openai_http import Limits
        except ImportError as error:
            hint = "Install it: pip install 'mm-eval[openai]'"
            raise ConfigError(f"--model openai needs httpx ({error}).", hint=hint) from error
        given = {name: _number(self.args, name, 0.0) for name in NUMBERS if name in self.args}
        limits = Limits(**{name: NUMBERS[name](value) for name, value in given.items()})
        if limits.num_concurrent < 1 or limits.max_retries < 0 or limits.timeout <= 0 or limits.deadline <= 0:
            raise ConfigError(f"{given} make no sense: counts and seconds are above 0.", where=WHERE)
        return limits

    def identity(self, instance: Instance) -> Mapping[str, Any]:
        return {**self.describe(), **question(instance, self.settings.seed)}

    def describe(self) -> Mapping[str, Any]:
        described = {"adapter": "openai", "version": ADAPTER_VERSION, "server": self.server, "model": self.model}
        if self.extra_body:
            described["extra_body"] = self.extra_body
        return described

    def shares(self, instance: Instance) -> bool:
        """A server draws anew each time, so a sampled answer belongs to its slot only."""
        sampled = (
            instance.request_type == "generate_until"
            and GenerationOptions.from_kwargs(instance.generation_kwargs).do_sample
        )
        return not sampled

    def check_generation(self, kwargs: Mapping[str, Any]) -> None:
        options = GenerationOptions.from_kwargs(kwargs)
        if options.num_beams > 1:
            raise ConfigError("num_beams is above 1, which servers do not offer.", hint="Set num_beams=1.")
        for name in options.extra:  # a server may have options of its own, and passes over those that it does not know
            if name not in KNOWN_OPTIONS and get_close_matches(name, KNOWN_OPTIONS, cutoff=0.8):
                raise ConfigError(f"Unknown generation option {name!r}.", hint=did_you_mean(name, KNOWN_OPTIONS))

    def account(self, usage: Mapping[str, int]) -> str:
        asked, written = usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0)
        said = f"{asked:,} prompt and {written:,} completion tokens"
        dollars = sum(tokens * price for tokens, price in zip((asked, written), self.prices, strict=True)) / 1e6
        return f"{said}, ${dollars:,.4f} at the given prices" if any(self.prices) else said

    def stop_soon(self) -> None:
        self._stop_soon()

    def generate(self, instances: Iterable[Instance]) -> Answers:
        async def one(client: Client, group: list[Instance]) -> list[Pair]:
            return [(instance, await self._generate_one(client, instance)) for instance in group]

        yield from self._fly(([instance] for instance in instances), one)

    def loglikelihood(self, instances: Iterable[Instance]) -> Answers:
        from .openai_scores import Scores

        scores = Scores(self)
        groups = (
            list(group) for _, group in groupby(instances, key=lambda i: (str(i.context), i.image_digests, i.doc_id))
        )
        yield from self._fly(groups, scores.of_group)

    def _fly(
        self, groups: Iterator[list[Instance]], work: Callable[[Client, list[Instance]], Awaitable[list[Pair]]]
    ) -> Answers:
        """Asks groups of instances, many at a time; a Fatal reply is raised when what was in flight has ended."""
        from .openai_flight import Flight
        from .openai_http import Client, Fatal

        limits, key = self._limits(), os.environ.get(str(self.args.get("api_key_env", "OPENAI_API_KEY")), "")
        loop = self.new_loop()
        transport = self.new_transport()
        headers = {"content-type": "application/json", **({"authorization": f"Bearer {key}"} if key else {})}
        secrets = (key,) if len(key) > 3 else ()
        client = Client(transport, self.urls, limits, headers, secrets, random.Random(self.settings.seed))
        flight = Flight(loop, limits.num_concurrent + limits.num_concurrent // 2)
        self._stop_soon = flight.stop_soon

        async def shielded(group: list[Instance]) -> list[Pair]:
            try:
                return await work(client, group)
            except Fatal:
                raise
            except MMEvalError as error:
                return [(instance, _copy(error)) for instance in group]

        try:
            for pairs in flight.run(groups, shielded):
                yield from pairs
        finally:
            self._stop_soon = lambda: None
            flight.close()
            loop.run_until_complete(transport.aclose())
            loop.close()

    def new_loop(self) -> asyncio.AbstractEventLoop:
        """Where the requests run; tests put a clock of their own here."""
        return asyncio.new_event_loop()

    def new_transport(self) -> httpx.AsyncBaseTransport:
        """The connections; deadlines are held by `Client`, so that they cover a whole attempt."""
        from .openai_lanes import Lanes, Proxied

        return Proxied() if getproxies() else Lanes()

    async def _generate_one(self, client: Client, instance: Instance) -> Response | MMEvalError:
        from .openai_replies import read_text

        options = GenerationOptions.from_kwargs(instance.generation_kwargs)
        path, body = self.body(instance, self._sampling(instance, options))
        try:
            found, attempts = await client.ask(path, body, lambda reply: read_text(reply, options.until))
        except ModelError as error:
            from .openai_http import Fatal

            if isinstance(error, Fatal):
                raise
            return error
        return Response(found.output, found.truncated, found.usage, attempts)

    def _sampling(self, instance: Instance, options: GenerationOptions) -> dict[str, Any]:
        fields: dict[str, Any] = {
            self.max_tokens_name: options.max_new_tokens,
            "temperature": options.temperature,
            "seed": self.settings.seed + instance.repeat,
            **options.extra,
        }
        if options.until:
            fields["stop"] = list(options.until[:4])  # OpenAI takes four; the answer is cut at all of them here
        if options.top_p is not None:
            fields["top_p"] = options.top_p
        if options.top_k is not None:
            fields["top_k"] = options.top_k
        return fields

    def body(
        self, instance: Instance, fields: Mapping[str, Any], prefill: str | None = None
    ) -> tuple[str, Callable[[], Awaitable[bytes]]]:
        """(path, what makes the request's body). Pictures are encoded in a thread, when the request is about to go.

        prefill: what the model's turn begins with.
        """
        common = {"model": self.model, **fields, **self.extra_body}
        if isinstance(instance.context, str):
            if instance.image_digests:
                raise ModelError("pictures can only be sent in chat messages.", hint="Leave --apply_chat_template on.")
            text = json.dumps({**common, "prompt": instance.context + (prefill or "")})

            async def plain() -> bytes:
                return text.encode()

            return "/completions", plain

        def make() -> bytes:
            messages = chat_messages(instance)
            if prefill is not None:
                if messages and messages[-1]["role"] == "assistant":  # a prefix of the answer is there already
                    messages = [*messages[:-1], {**messages[-1], "content": _text(messages[-1]) + prefill}]
                else:
                    messages.append({"role": "assistant", "content": prefill})
            turned = {}
            if messages[-1]["role"] == "assistant":
                turned = {"add_generation_prompt": False, "continue_final_message": True}
            return json.dumps({**common, **turned, "messages": messages}).encode()

        async def encoded_in_a_thread() -> bytes:
            return await asyncio.to_thread(make) if instance.image_digests else make()

        return "/chat/completions", encoded_in_a_thread


def chat_messages(instance: Instance) -> list[Message]:
    """The context as the protocol wants it, each picture a data URL in its place."""
    assert not isinstance(instance.context, str)
    pictures = iter(zip(instance.images() if instance.images else [], instance.image_digests, strict=True))
    messages = []
    for message in instance.context:
        content = message["content"]
        if not isinstance(content, str):
            parts = []
            for part in content:
                if part["type"] == "image":
                    if (shown := next(pictures, None)) is None:
                        raise ModelError("the prompt has more places for pictures than there are pictures.")
                    mime, data = encoded(*shown)
                    url = f"data:{mime};base64,{base64.b64encode(data).decode()}"
                    parts.append({"type": "image_url", "image_url": {"url": url}})
                else:
                    parts.append(part)
            only_text = all(part["type"] == "text" for part in parts)
            content = "".join(str(part["text"]) for part in parts) if only_text else parts
        messages.append({"role": message["role"], "content": content})
    return messages


def _text(message: Message) -> str:
    content = message["content"]
    return content if isinstance(content, str) else "".join(part.get("text", "") for part in content)


def _copy(error: MMEvalError) -> MMEvalError:
    again = type(error)(error.what, where=error.where, hint=error.hint)
    again.attempts = error.attempts
    return again


def _number(args: Mapping[str, Any], name: str, default: float) -> float:
    try:
        return float(args.get(name, default))
    except (TypeError, ValueError):
        raise ConfigError(f"{name}={args[name]!r} is no number.", where=WHERE) from None


def _json_object(value: Any) -> dict[str, Any]:
    try:
        found = json.loads(value) if isinstance(value, str) else value
        return dict(found)
    except (TypeError, ValueError) as error:
        raise ConfigError("extra_body is no JSON object.", where=WHERE, hint='extra_body={"top_k": 1}') from error
