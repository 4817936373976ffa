"""Whether a checkpoint's chat template writes tools, calls and results, pictures among them, as a trial shows."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, NoReturn

_MARKS = ("TOOLMARK", "CALLMARK", "KEYMARK", "VALUEMARK", "RESULTMARK")
_TOOL = {
    "type": "function",
    "function": {
        "name": "CALLMARK_tool",
        "description": "TOOLMARK",
        "parameters": {"type": "object", "properties": {"KEYMARK": {"type": "string"}}, "required": ["KEYMARK"]},
    },
}
_CALL = {
    "id": "call_0",
    "type": "function",
    "function": {"name": "CALLMARK_tool", "arguments": {"KEYMARK": "VALUEMARK"}},
}


@lru_cache(maxsize=64)
def writes_tools(template: str, pictures: bool) -> bool:
    """Whether a template writes declarations, calls and results. pictures: contents are lists of parts, and a result has one."""
    if "tools" not in template:
        return False
    try:
        with_picture, without = (_rendered(template, pictures, shown) for shown in (True, False))
        no_tool = _rendered(template, pictures, True, tools=None)
    except Exception:  # templates are third-party code, and refuse in their own ways
        return False
    if any(mark not in with_picture for mark in _MARKS) or "TOOLMARK" in no_tool:
        return False
    if "'type'" in with_picture or with_picture.count("RESULTMARK") != 1 or with_picture.count("VALUEMARK") != 1:
        return False  # it writes the Python form of a list of parts, or something twice
    return not pictures or with_picture != without


def _rendered(template: str, pictures: bool, shown: bool, tools: Any = (_TOOL,)) -> str:
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    def content(text: str, picture: bool = False) -> Any:
        if not pictures:
            return text
        return [*([{"type": "image"}] if picture else []), {"type": "text", "text": text}]

    def refuse(message: str) -> NoReturn:
        raise ValueError(message)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = lambda value, **more: json.dumps(
        value, ensure_ascii=False, indent=more.get("indent")
    )
    environment.globals.update(raise_exception=refuse, strftime_now=lambda form: datetime(2026, 1, 1).strftime(form))
    messages: list[Mapping[str, object]] = [
        {"role": "user", "content": content("question", picture=True)},
        {"role": "assistant", "content": content("I look."), "tool_calls": [_CALL]},
        {
            "role": "tool",
            "tool_call_id": "call_0",
            "name": "CALLMARK_tool",
            "content": content("RESULTMARK", picture=shown),
        },
    ]
    declared = list(tools) if tools else None
    tokens = {"bos_token": "<bos>", "eos_token": "<eos>", "add_generation_prompt": True}
    return environment.from_string(template).render(messages=messages, tools=declared, **tokens)
