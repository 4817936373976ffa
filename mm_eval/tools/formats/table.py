"""The formats of calls, and which family of models uses which.

`FORMATS` says for each format by which mark a call begins and how it is read, how tools are announced in text, how a call is
written in text, and how its result is given back in text. Text is used where neither the chat template nor the server takes
`tools`: then the announcement stands in the system turn, and results in a user turn.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mm_eval.config.tools import PYTHON
from mm_eval.tools.formats import fenced, syntax
from mm_eval.tools.formats.call import Call, as_json, hermes_text
from mm_eval.tools.formats.fenced import Fence
from mm_eval.tools.formats.syntax import Reader

Schema = Mapping[str, Any]


@dataclass(frozen=True)
class Format:
    """A format of calls.

    opening: the mark that begins a call, as a regular expression. read: reads what follows the mark. announce: the text about the
    tools for the system turn. write: a call as the model writes it. reply: the text around a result in a user turn.
    fence: of code, which is called in a fenced block and is always text; calls of other tools are those of `hermes`.
    """

    name: str
    opening: str
    read: Reader
    announce: Callable[[Sequence[Schema]], str]
    write: Callable[[Call], str]
    reply: tuple[str, str] = ("<tool_response>\n", "\n</tool_response>")
    fence: Fence | None = None


def _listed(tools: Sequence[Schema]) -> str:
    return "\n".join(map(as_json, tools))


def _announce(way: str) -> Callable[[Sequence[Schema]], str]:
    """The text that Qwen's chat template writes about tools; other templates have the same with another `way`."""

    def text(tools: Sequence[Schema]) -> str:
        return (
            "# Tools\n\nYou may call one or more functions to assist with the user query.\n\n"
            "You are provided with function signatures within <tools></tools> XML tags:\n"
            f"<tools>\n{_listed(tools)}\n</tools>\n\n{way}"
        )

    return text


_HERMES = _announce(
    "For each function call, return a json object with function name and arguments within <tool_call></tool_call> XML tags:\n"
    '<tool_call>\n{"name": <function-name>, "arguments": <args-json-object>}\n</tool_call>'
)
_QWEN = _announce(
    "For each function call, reply in this format:\n"
    "<tool_call>\n<function=function-name>\n<parameter=parameter-name>\nvalue\n</parameter>\n</function>\n</tool_call>"
)
_GLM = _announce(
    "For each function call, output the function name and arguments within the following XML format:\n"
    "<tool_call>{function-name}\n<arg_key>{arg-key-1}</arg_key>\n<arg_value>{arg-value-1}</arg_value>\n"
    "<arg_key>{arg-key-2}</arg_key>\n<arg_value>{arg-value-2}</arg_value>\n...\n</tool_call>"
)


def _written(value: object) -> str:
    """A value in a tag: a text as it is, another value as JSON."""
    return value if isinstance(value, str) else as_json(value)


def _hermes(call: Call) -> str:
    return hermes_text(call.name, call.arguments)


def _qwen(call: Call) -> str:
    values = "".join(f"<parameter={key}>\n{_written(value)}\n</parameter>\n" for key, value in call.arguments.items())
    return f"<tool_call>\n<function={call.name}>\n{values}</function>\n</tool_call>"


def _seed(call: Call) -> str:
    return _qwen(call).replace("<tool_call>", "<seed:tool_call>").replace("</tool_call>", "</seed:tool_call>")


def _glm(call: Call) -> str:
    values = "".join(
        f"<arg_key>{key}</arg_key>\n<arg_value>{_written(value)}</arg_value>\n" for key, value in call.arguments.items()
    )
    return f"<tool_call>{call.name}\n{values}</tool_call>"


def _kimi(call: Call) -> str:
    ident = call.ident or f"functions.{call.name}:0"
    inner = f"<|tool_call_begin|>{ident}<|tool_call_argument_begin|>{as_json(dict(call.arguments))}<|tool_call_end|>"
    return f"<|tool_calls_section_begin|>{inner}<|tool_calls_section_end|>"


def _gemma_value(value: object) -> str:
    if isinstance(value, str):
        return f'<|"|>{value}<|"|>'
    if isinstance(value, Mapping):
        return "{" + ",".join(f"{key}:{_gemma_value(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ",".join(map(_gemma_value, value)) + "]"
    return as_json(value)


def _gemma(call: Call) -> str:
    return f"<|tool_call>call:{call.name}{_gemma_value(call.arguments)}<tool_call|>"


def _mistral(call: Call) -> str:
    return f"[TOOL_CALLS]{call.name}{as_json(dict(call.arguments))}"


def _harmony(call: Call) -> str:
    body = as_json(dict(call.arguments))
    return f"<|channel|>commentary to=functions.{call.name}<|constrain|>json<|message|>{body}<|call|>"


def _intern(call: Call) -> str:
    return (
        f"<|action_start|> <|plugin|>\n{as_json({'name': call.name, 'parameters': dict(call.arguments)})}<|action_end|>"
    )


def _hunyuan(call: Call) -> str:
    return f"<tool_calls>{as_json([{'name': call.name, 'arguments': dict(call.arguments)}])}</tool_calls>"


def _by_example(write: Callable[[Call], str]) -> Callable[[Sequence[Schema]], str]:
    """The announcement of a format whose family states none in words: the signatures, and a call as an example."""

    def text(tools: Sequence[Schema]) -> str:
        example = write(Call("function-name", {"argument-name": "value"}))
        return _announce(f"For each function call, reply in this format:\n{example}")(tools)

    return text


def _fenced(name: str, fence: Fence) -> Format:
    """A format in which code is called in a fenced block."""

    def announce(tools: Sequence[Schema]) -> str:
        others = [tool for tool in tools if tool["function"]["name"] != PYTHON]
        code = [fence.announce(tool["function"]["description"]) for tool in tools if tool not in others]
        return "\n\n".join([*code, *([_HERMES(others)] if others else [])])

    def write(call: Call) -> str:
        return fenced.write(call.arguments["code"]) if _is_code(call) else _hermes(call)

    return Format(name, fenced.OPENING, fenced.read, announce, write, fence=fence)


def _is_code(call: Call) -> bool:
    return call.name == PYTHON and isinstance(call.arguments.get("code"), str)


_HARMONY = r"<\|channel\|>commentary\s+to=(?=functions\.)|<\|start\|>assistant\s+to=(?=functions\.)"
FORMATS: dict[str, Format] = {
    form.name: form
    for form in (
        Format("hermes", r"<tool_call>", syntax.tool_call, _HERMES, _hermes),
        Format("qwen_xml", r"<tool_call>", syntax.tool_call, _QWEN, _qwen),
        Format("glm", r"<tool_call>", syntax.tool_call, _GLM, _glm),
        Format("seed", r"<seed:tool_call>", syntax.tool_call, _by_example(_seed), _seed),
        Format("kimi", r"<\|tool_calls?_section_begin\|>", syntax.kimi, _by_example(_kimi), _kimi),
        Format("gemma4", r"<\|tool_call>", syntax.gemma, _by_example(_gemma), _gemma),
        Format("mistral", r"\[TOOL_CALLS\]", syntax.mistral, _by_example(_mistral), _mistral),
        Format("harmony", _HARMONY, syntax.harmony,
               _by_example(_harmony), _harmony),
        Format("intern", r"<\|action_start\|>\s*<\|plugin\|>", syntax.intern, _by_example(_intern), _intern),
        Format("hunyuan", r"<tool_calls>", syntax.hunyuan, _by_example(_hunyuan), _hunyuan),
        _fenced("deepeyes_v2", fenced.DEEPEYES_V2),
        _fenced("thyme", fenced.THYME),
        _fenced("pyvision", fenced.PYVISION_FORM),
    )
}  # fmt: skip
"""Sources: the parsers of vLLM 0.33 and SGLang 0.5.23, and the chat templates in llama.cpp's models/templates."""


@dataclass(frozen=True)
class Family:
    """What a family of models does with tools.

    names: of its models and their prompt keys, in lower case with "-" for every other sign, as a regular expression.
    format: of its calls. unit: of its boxes, by its name in `boxes.UNITS`. resized: (factor, fewest, most pixels) of its
    processor, where boxes are in pixels of the picture that the model sees.
    """

    names: re.Pattern[str]
    format: str
    unit: str = "per_mille"
    resized: tuple[int, int, int] | None = None


def _family(names: str, form: str, unit: str = "per_mille", resized: tuple[int, int, int] | None = None) -> Family:
    return Family(re.compile(rf"(?<![a-z0-9])(?:{names})(?![a-z0-9])"), form, unit, resized)


FAMILIES: tuple[Family, ...] = (
    _family("deepeyes-?v2.*", "deepeyes_v2", "pixels"),
    _family("thyme.*", "thyme", "pixels"),
    _family("pyvision.*", "pyvision", "pixels"),
    _family("deepeyes.*", "hermes", "pixels"),  # of the original, as its authors' toolbox crops
    _family("qwen-?3-[5-9].*|qwen-?3-coder.*", "qwen_xml"),
    _family("qwen-?3.*", "hermes"),
    _family("qwen-?2-5.*", "hermes", "resized", (28, 56 * 56, 28 * 28 * 16384)),
    _family("qwen-?2.*|qwen-vl.*", "hermes"),
    _family("glm-?4-?1?v.*|glm-?4-?[5-9].*|glm-?[5-9].*", "glm"),
    _family("kimi-k-?2.*", "kimi"),
    _family("gemma-?[4-9].*", "gemma4"),
    _family("mimo.*|step-?3-?5.*|minicpm-v.*", "qwen_xml"),
    _family("seed-oss.*", "seed"),
    _family("magistral.*|ministral.*|mistral.*|pixtral.*", "mistral"),
    _family("gpt-oss.*", "harmony"),
    _family("intern-?s1.*", "intern"),
    _family("hunyuan.*", "hunyuan"),
    _family("ernie-?4-?5.*", "hermes"),
)
"""The first family whose names are found counts. Qwen's and GLM's were trained with boxes from 0 to 1000; for the others
the unit is a choice, and every model is told which."""


_SIZE = re.compile(r"-\d+b(?![a-z0-9])")
"""A number of parameters, which is no version: Qwen3-8B does not write its calls as Qwen3.5 does."""


def family_of(names: Sequence[str]) -> Family | None:
    """The family of a model by its names, such as prompt keys or the name of a server's model; None for an unknown one.

    >>> family_of(["Qwen/Qwen3-VL-8B-Instruct"]).format
    'hermes'
    """
    for name in names:
        read = re.sub(r"[^a-z0-9]+", "-", name.rstrip("/").rpartition("/")[2].lower())
        read = _SIZE.sub("", read)
        found = next((family for family in FAMILIES if family.names.search(read)), None)
        if found is not None:
            return found
    return None
