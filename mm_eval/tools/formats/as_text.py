"""A conversation with tools as plain messages, for a model that takes neither `tools` nor messages with calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mm_eval.tools.formats.call import Call
from mm_eval.tools.formats.table import FORMATS, Format
from mm_eval.values.types import Context, Message


def tools_as_text(context: Context, tools: Sequence[Mapping[str, object]], form: str) -> Context:
    """The context with the tools at the end of its system turn, calls in the text of answers, and results in turns of the user.

    form: the name of the format.
    """
    found = announced(context, FORMATS[form].announce(tools))
    return found if isinstance(found, str) else plain(found, FORMATS[form])


def announced(context: Context, text: str) -> Context:
    """A context with a text about tools at the end of its system turn, or before all where there is none."""
    if isinstance(context, str):
        return f"{text}\n\n{context}"
    if context and context[0]["role"] == "system":
        return [{**context[0], "content": [*_parts(context[0]), *as_part(f"\n\n{text}")]}, *context[1:]]
    return [{"role": "system", "content": as_part(text)}, *context]


def plain(messages: Sequence[Message], form: Format) -> list[Message]:
    """Messages without `tool_calls`, and without the role `tool`: results that follow each other are one turn of the user."""
    found = list[Message]()
    after_result = False
    for message in messages:
        if message["role"] == "tool":
            opening, closing = form.reply
            parts = [*as_part(opening), *_parts(message), *as_part(closing)]
            if after_result:
                found[-1]["content"] += parts
            else:
                found.append({"role": "user", "content": parts})
            after_result = True
        elif message["role"] == "user" and after_result:
            found[-1]["content"] += [*as_part("\n"), *_parts(message)]
            after_result = False
        elif calls := message.get("tool_calls"):
            written = [form.write(Call(each["function"]["name"], each["function"]["arguments"])) for each in calls]
            before = [part for part in _parts(message) if part.get("text") != ""]
            text = "\n".join([*([""] if before else []), *written])
            found.append({"role": message["role"], "content": [*before, *as_part(text)]})
            after_result = False
        else:
            found.append(message)
            after_result = False
    return found


def as_part(text: str) -> list[dict[str, object]]:
    """A text as the parts of a message."""
    return [{"type": "text", "text": text}]


def _parts(message: Message) -> list[dict[str, object]]:
    content = message["content"]
    return as_part(content) if isinstance(content, str) else list(content)
