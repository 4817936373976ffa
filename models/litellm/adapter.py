"""Vendors' own protocols (Anthropic, Gemini, Bedrock, Vertex, Azure and many more) through the litellm library.

    mm-eval --tasks mme --model litellm --model_args model=anthropic/claude-sonnet-4-5

The model's name begins with litellm's name for the vendor. Keys are read from the variables that litellm reads
(ANTHROPIC_API_KEY, GEMINI_API_KEY, AZURE_API_KEY, ...), or from the one that api_key_env names.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from mm_eval.engine.model import Answers, ModelSettings, register_model
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Instance, Options

from ..openai.adapter import OpenAI
from ..openai.arguments import WHERE, key_of
from ..openai.client.redaction import LONG

if TYPE_CHECKING:
    import httpx

ADAPTER_VERSION = 1
OWN = ("base_url", "api_base", "api_version")
"""Arguments that are litellm's, not those of a server with OpenAI's protocol."""
SECRET_VARIABLES = re.compile(r"(?:_|^)(?:API_?KEY|TOKEN|SECRET\w*|PASSWORD|ACCESS_KEY)$")


@register_model("litellm")
class LiteLLM(OpenAI):
    """A vendor's own protocol through the litellm library: model=anthropic/NAME, gemini/NAME, azure/NAME, bedrock/NAME."""

    def __init__(self, args: Options, settings: ModelSettings) -> None:
        provider, slash, name = str(args.get("model") or "").partition("/")
        if not (provider and slash and name):
            raise ConfigError(
                "litellm needs model=PROVIDER/NAME.", where=WHERE, hint="model=anthropic/claude-sonnet-4-5"
            )
        if settings.offline:
            raise ConfigError("--offline allows no connection, and this model is a server.", where="--model litellm")
        if settings.chat_template is False:
            hint = "Leave --apply_chat_template on."
            raise ConfigError("vendors' protocols take chat messages only.", where="--apply_chat_template", hint=hint)
        for name, value in args.items():
            if any(len(secret) >= LONG and secret in str(value) for secret in secrets_in_environment()):
                hint = "Keys are read from the environment: name a variable with api_key_env=NAME."
                raise ConfigError(f"{name} holds a key, and arguments are recorded.", where=WHERE, hint=hint)
        own = {name: str(args[name]) for name in OWN if args.get(name)}
        self.address = own.get("base_url") or own.get("api_base") or ""
        others = {name: value for name, value in args.items() if name not in OWN}
        super().__init__({"loglikelihood": "token", **others, "base_url": self.address or "http://vendor"}, settings)
        self.args = dict(args)
        self.urls = (self.address.rstrip("/") or f"litellm://{provider}",)
        self.server = str(args.get("server") or self.address or provider)
        self.api_version = own.get("api_version", "")
        self._facts = replace(self._facts, ran_on=library_version())

    def prepare(self) -> None:
        """Checks arguments and keys, and loads the library. Raises ConfigError before the first request."""
        from .bridge import check_provider, library

        super().prepare()
        check_provider(self.model)
        if "api_key_env" in self.args:
            return
        found = library().validate_environment(model=self.model, api_base=self.address or None)
        missing = [] if found["keys_in_environment"] else found["missing_keys"]
        if missing and not (self.address and os.environ.get(f"{self.model.partition('/')[0].upper()}_API_KEY")):
            names = " and ".join(missing)
            hint = f"Keys are read from the environment: set {names}, or name a variable with api_key_env=NAME."
            raise ConfigError(f"there is no key: {names} is not set.", where=WHERE, hint=hint)

    @property
    def listed_name(self) -> str:
        return self.model

    def secrets(self) -> tuple[str, ...]:
        return (*super().secrets(), *secrets_in_environment())

    def describe(self) -> Mapping[str, object]:
        described = {**super().describe(), "adapter": "litellm", "version": ADAPTER_VERSION}
        return {**described, "api_version": self.api_version} if self.api_version else described

    def loglikelihood(self, instances: Iterable[Instance]) -> Answers:
        """Scores options of one token, where the vendor gives the likeliest tokens. Raises ConfigError where it does not."""
        from .bridge import library

        if "top_logprobs" not in (library().get_supported_openai_params(model=self.model) or ()):
            hint = "Choose a task with generate_until, such as NAME@generate."
            raise ConfigError(f"{self.model} gives no log-probabilities, by litellm's list.", hint=hint)
        yield from super().loglikelihood(instances)

    def _check_tools(self, tools: Sequence[Mapping[str, object]]) -> None:
        """Nothing: the library writes calls in each vendor's own form."""

    def new_transport(self) -> httpx.AsyncBaseTransport:
        """The connections of `--model openai`, with litellm before them."""
        from .bridge import Bridge

        stated = {"api_base": self.address, "api_version": self.api_version}
        stated["api_key"] = key_of(self.args) if "api_key_env" in self.args else ""
        return Bridge(super().new_transport(), {name: value for name, value in stated.items() if value}, self.address)


def library_version() -> dict[str, str]:
    """litellm's version; empty where it is not installed."""
    try:
        return {"litellm": importlib.metadata.version("litellm")}
    except importlib.metadata.PackageNotFoundError:
        return {}


def secrets_in_environment() -> tuple[str, ...]:
    """The values of the variables that hold a key, a token or a password by their names: litellm reads many of them."""
    found = (value.strip() for name, value in os.environ.items() if SECRET_VARIABLES.search(name.upper()))
    return tuple(value for value in found if value)
