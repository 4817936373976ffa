"""What the list of models says of the one that is served: `root` and `parent` (vLLM, SGLang), `meta` (llama.cpp).

A server answers by a name, and the next checkpoint may get the same one. `created` is the time of the start, or of the request.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence

from mm_eval.values.errors import ConfigError

from .errors import Unreachable
from .http import Client

LONGEST = 2000
"""Characters of what is said of a model; more is kept as its digest."""
FIELDS = ("root", "parent", "meta")
PASSING = (408, 425, 429)


async def served_by(client: Client, model: str, named: str = "") -> Mapping[str, object] | None:
    """What the servers say of a model: empty for nothing, None where none of them was reached.

    named: what the user calls the checkpoint. Without it, ConfigError where two servers say different things.
    """
    found = {url: said for url in client.urls if (said := await _said_by(client, url, model)) is not None}
    if not found:
        return None
    first, said = next(iter(found.items()))
    for url, other in found.items():
        if other != said and named:
            return {}
        if other != said:
            what = f"the servers have different models called {model!r}: {difference(said, other)}."
            hint = f"Serve one checkpoint at {first} and {url}. identity=NAME states that they are one."
            raise ConfigError(what, hint=hint)
    return said


def difference(one: Mapping[str, object], other: Mapping[str, object]) -> str:
    """The first thing that two servers say differently.

    >>> difference({"root": "/ckpt/step-100"}, {"root": "/ckpt/step-200"})
    "root is '/ckpt/step-100' and '/ckpt/step-200'"
    """
    name = next(name for name in {**one, **other} if one.get(name) != other.get(name))
    return f"{name} is {one.get(name)!r} and {other.get(name)!r}"


async def _said_by(client: Client, url: str, model: str) -> Mapping[str, object] | None:
    try:
        status, reply = await client.page(url, "/models")
    except Unreachable:
        return None
    if status >= 500 or status in PASSING:
        return None
    listed = reply.get("data")
    entries = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    clean = client.redactor.answer
    said = said_of(model, entries)
    return {name: clean(value) if isinstance(value, str) else value for name, value in said.items()}


def said_of(model: str, entries: Sequence[Mapping[str, object]]) -> dict[str, object]:
    """What tells a model from others of its name, by the entries of a list of models.

    A server with one model answers by it to any name.

    >>> said_of("m", [{"id": "m", "root": "/ckpt/step-200", "parent": None, "created": 1}])
    {'root': '/ckpt/step-200'}
    """
    by_name = {str(each.get("id")): each for each in entries}
    own = by_name.get(model) or (entries[0] if len(entries) == 1 else {})
    found = {name: own[name] for name in FIELDS if own.get(name)}
    if base := by_name.get(str(own.get("parent")), {}).get("root"):
        found["parent_root"] = base  # an adapter's own root says nothing of the weights below it
    return {name: _bounded(value) for name, value in found.items()}


def _bounded(value: object) -> object:
    text = json.dumps(value, sort_keys=True)
    return value if len(text) <= LONGEST else f"sha256 {hashlib.sha256(text.encode()).hexdigest()}"
