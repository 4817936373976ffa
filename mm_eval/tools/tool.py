"""What a tool is: a name, a schema of its arguments, and a pure function of them and of what the conversation has shown.

A tool is called by a model, so its arguments may be anything. What the model did wrong is a `ToolError`: its sentence is the
tool's reply, and the call counts as failed. Every other exception is a fault of the tool, and fails the document.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mm_eval.data.decode import as_rgb

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_TEXT = 4_000
"""Characters of a tool's text that are shown to the model."""


class ToolError(ValueError):
    """What a model did wrong in a call, as the sentence that it gets for a reply."""


@dataclass(frozen=True)
class Limits:
    """What a conversation may take.

    calls: of a document; the ones that follow are refused. edge: the longest side of a picture that a tool returns, in pixels; a
    larger one is made smaller. text: characters of a tool's reply; the rest is left out, and the reply says so.
    """

    calls: int = 8
    edge: int = 2048
    text: int = MOST_TEXT


@dataclass(frozen=True)
class Given:
    """What a call may look at.

    pictures: all that were shown so far, those of the question first, then the results of earlier calls. unit: of boxes, by its
    name in `UNITS`. shown_as: the size at which the model sees a picture of this size, where its unit is that of the resized one.
    doc: the row of the data. limits: as of the task.
    """

    pictures: Sequence[Image]
    unit: str = "pixels"
    shown_as: Callable[[int, int], tuple[int, int]] | None = None
    doc: Mapping[str, object] = field(default_factory=dict)
    limits: Limits = Limits()


@dataclass(frozen=True)
class Result:
    """What a call returns: a text, pictures, or both. failed: the text says what the model did wrong."""

    text: str = ""
    pictures: tuple[Image, ...] = ()
    failed: bool = False


@dataclass(frozen=True)
class Tool:
    """A tool of a task.

    key: its name in task files and counts. name: the one under which models know it. about: what it does, for the model.
    parameters: the JSON schema of its arguments, for a unit of boxes. use: (arguments, what it may look at) -> its result.
    sees_doc: it gets the row of the data, with the doc's own pictures.
    """

    key: str
    name: str
    about: str
    parameters: Callable[[str], Mapping[str, object]]
    use: Callable[[Mapping[str, object], Given], Result]
    sees_doc: bool = False

    def schema(self, unit: str) -> dict[str, Any]:
        """The declaration in OpenAI's form, as servers and chat templates take it."""
        stated = {"name": self.name, "description": self.about, "parameters": dict(self.parameters(unit))}
        return {"type": "function", "function": stated}

    def call(self, arguments: Mapping[str, object], given: Given) -> Result:
        """The result of a call, within the limits. What the model did wrong is a result that failed."""
        try:
            check_arguments(arguments, self.parameters(given.unit))
            found = self.use(arguments, given)
        except ToolError as error:
            return Result(f"Error: {shortened(str(error), given.limits.text)}", failed=True)
        pictures = tuple(within(picture, given.limits.edge) for picture in found.pictures)
        return Result(shortened(found.text, given.limits.text), pictures, found.failed)


def within(picture: Image, edge: int) -> Image:
    """A picture in RGB, turned as its EXIF orientation says, whose longer side has at most `edge` pixels."""
    from PIL.ImageOps import exif_transpose

    picture = as_rgb(exif_transpose(picture))
    longest = max(picture.size)
    if longest <= edge:
        return picture
    width, height = (max(1, round(side * edge / longest)) for side in picture.size)
    from PIL.Image import Resampling

    return picture.resize((width, height), Resampling.BICUBIC)


def shortened(text: str, most: int) -> str:
    """The beginning of a text, and how much is left out.

    >>> shortened("abcdef", 4)
    'abcd ... (2 more characters)'
    """
    return text if len(text) <= most else f"{text[:most]} ... ({len(text) - most:,} more characters)"


MOST_NUMBER = 1e15
"""The largest number of a call, in absolute value: beyond it a float is no longer exact, and int may not fit into one."""

KINDS: dict[str, Callable[[object], bool]] = {
    "string": lambda value: isinstance(value, str),
    "number": lambda value: isinstance(value, (int, float)) and not isinstance(value, bool),
    "integer": lambda value: _is_whole(value),
    "boolean": lambda value: isinstance(value, bool),
    "array": lambda value: isinstance(value, list),
    "object": lambda value: isinstance(value, Mapping),
}
"""The types of JSON schema. A number such as 2.0 is whole."""


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) or isinstance(value, float) and value.is_integer()


def check_arguments(arguments: Mapping[str, object], schema: Mapping[str, Any]) -> None:
    """ToolError if arguments do not fit a schema: one is missing, or of another type. Those that it lacks are ignored."""
    properties: Mapping[str, Any] = schema.get("properties", {})
    for name in schema.get("required", ()):
        if name not in arguments:
            raise ToolError(f"the argument {name!r} is missing.")
    for name, rule in properties.items():
        if name in arguments:
            check_value(name, arguments[name], rule)


def check_value(name: str, value: Any, rule: Mapping[str, Any]) -> None:
    """ToolError if a value is not of the type that its schema states, or not one of its `enum`."""
    kind = rule.get("type")
    if kind in KINDS and not KINDS[kind](value):
        raise ToolError(f"the argument {name!r} must be of type {kind} (got {brief(value)}).")
    if (
        kind in ("number", "integer") and MOST_NUMBER < abs(value) < math.inf
    ):  # a whole number may be too large for a float
        raise ToolError(f"the argument {name!r} must be from -1e15 to 1e15 (got {brief(value)}).")
    if "enum" in rule and value not in rule["enum"]:
        raise ToolError(
            f"the argument {name!r} must be one of {', '.join(map(str, rule['enum']))} (got {brief(value)})."
        )
    if kind == "array":
        least, most = rule.get("minItems", 0), rule.get("maxItems")
        if len(value) < least or most is not None and len(value) > most:
            count = str(least) if least == most else f"{least} to {most}" if most is not None else f"at least {least}"
            raise ToolError(f"the argument {name!r} must have {count} items (got {len(value)}).")
        for place, item in enumerate(value):
            check_value(f"{name}[{place}]", item, rule.get("items", {}))


def brief(value: object) -> str:
    """A value of the model's for a sentence, of bounded length."""
    try:
        text = repr(value)
    except (RecursionError, ValueError):
        text = f"a {type(value).__name__}"
    return text if len(text) <= 80 else f"{text[:80]}..."


_MARKS = re.compile(
    r"<(?=\uff5c|/?s>|(?:bos|eos|pad|unk|mask|sop|eop)>|(?:start|end)_of_\w+>|unused\d+>|\w{1,32}_token>|begin_of_\w+>)"
    r"|<(?=\||/?(?:\w+:)?(?:tool_calls?|tool_response|tools?|function|parameter|arg_key|arg_value|think|image)\b)"
    r"|<(?=(?:tool_call|tool_response|channel|turn|tool)\|>)"
    r"|\[(?=/?(?:TOOL_CALLS|TOOL_RESULTS|AVAILABLE_TOOLS|INST|THINK|ARGS|IMG|SYSTEM_PROMPT|g?MASK))"
)


def harmless(text: str) -> str:
    """A tool's text in which no mark of a chat or of a call is left: a blank follows the sign that begins one.

    The text of a tool is data, and may come from a picture or from a web page. Adapters that write token ids themselves keep
    special tokens out of every text from data; a server can't be told to.

    >>> harmless('</tool_response><|im_end|> 3 < 4')
    '< /tool_response>< |im_end|> 3 < 4'
    """
    return _MARKS.sub(lambda found: f"{found[0]} ", text)
