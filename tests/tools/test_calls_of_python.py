"""The table of docs/guides/tools.md: how each family calls Python, and in what frame it gets the result."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mm_eval.tools.formats.call import Call
from mm_eval.tools.formats.reading import read_calls
from mm_eval.tools.formats.table import FORMATS, family_of
from mm_eval.tools.python import PYTHON_TOOL
from tests.tools.test_code_in_formats import CODES

PAGE = (Path(__file__).parents[2] / "docs" / "guides" / "tools.md").read_text(encoding="utf-8")
SCHEMAS = {"python": PYTHON_TOOL.parameters("")}
CALL = Call("python", {"code": "print(1)"})
NAMES = {
    "Qwen3-VL": "Qwen/Qwen3-VL-8B-Instruct",
    "Qwen3.5": "Qwen/Qwen3.5-9B",
    "Kimi K2.5": "moonshotai/Kimi-K2.5",
    "GLM-4.6V": "zai-org/GLM-4.6V-Flash",
    "Gemma 4": "google/gemma-4-12b-it",
    "DeepEyes-v2": "honglyhly/DeepEyesV2_7B_1031",
    "Thyme": "Kwai-Keye/Thyme-RL",
    "PyVision": "PyVision-Image-7B-RL",
    "others": "someone/unknown-vl",
}
"""A model of each family of the table."""


def inline(cell: str) -> str:
    """The first code of a cell, as text."""
    found = re.search(r"(`+)(.+?)(?<!`)\1(?!`)", cell)
    assert found is not None, cell
    return found[2].replace("\\|", "|").replace("↵", "\n")


def rows() -> dict[str, list[str]]:
    section = PAGE.partition("### A call of Python")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| ")][1:]
    return {
        cells[0]: cells for cells in ([cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines)
    }


ROWS = rows()


def test_the_table_has_every_family() -> None:
    assert ROWS.keys() == {"OpenAI's `tools`, any server", *NAMES} and all(
        len(cells) == 5 and cells[4] for cells in ROWS.values()
    )


@pytest.mark.parametrize("family", NAMES)
def test_the_call_is_the_one_that_is_announced_and_read(family: str) -> None:
    _, form, call, _, _ = ROWS[family]
    found = family_of([NAMES[family]])
    name = found.format if found is not None else "hermes"
    assert inline(form) == name
    written, text = FORMATS[name].write(CALL), inline(call)
    assert text == written
    (read,) = read_calls(f"I count.\n{text}", SCHEMAS, with_fences=FORMATS[name].fence is not None).calls
    assert isinstance(read, Call) and (read.name, read.arguments) == ("python", {"code": "print(1)"})
    announced = FORMATS[name].announce([PYTHON_TOOL.schema("")])
    marks = [mark for mark in re.findall(r"<[^<>\s]*>|\[\w+\]", text) if "print" not in mark and "code" not in mark]
    assert (
        all(mark in announced for mark in marks if not mark.startswith("<function")) and PYTHON_TOOL.about in announced
    )


def test_the_call_of_a_server_is_recorded_and_read() -> None:
    stated = json.loads(inline(ROWS["OpenAI's `tools`, any server"][2]))
    recorded = f"<tool_call>\n{json.dumps(stated)}\n</tool_call>"
    assert [call.arguments for call in read_calls(recorded, SCHEMAS).calls if isinstance(call, Call)] == [
        {"code": "print(1)"}
    ]


@pytest.mark.parametrize("family", ["DeepEyes-v2", "Thyme", "PyVision"])
def test_the_result_of_fenced_code_has_its_frame(family: str) -> None:
    _, form, _, result, _ = ROWS[family]
    fence = FORMATS[inline(form)].fence
    assert fence is not None
    assert "".join(part["text"] for part in fence.result([{"type": "text", "text": "1"}], [], False, 1)) == inline(
        result
    )


TEMPLATES = {
    "Qwen3-VL": (
        '{% for m in messages %}{% for c in m.tool_calls or [] %}<tool_call>\n{"name": "{{ c.function.name }}", "arguments": '
        "{{ c.function.arguments | tojson }}}\n</tool_call>{% endfor %}"
        "{% if m.role == 'tool' %}<tool_response>\n{{ m.content }}\n</tool_response>{% endif %}{% endfor %}"
    ),
    "Qwen3.5": (
        "{% for m in messages %}{% for c in m.tool_calls or [] %}<tool_call>\n<function={{ c.function.name }}>\n"
        "{% for k, v in c.function.arguments | items %}<parameter={{ k }}>\n{{ v }}\n</parameter>\n{% endfor %}</function>\n"
        "</tool_call>{% endfor %}"
        "{% if m.role == 'tool' %}<tool_response>\n{{ m.content }}\n</tool_response>{% endif %}{% endfor %}"
    ),
    "Kimi K2.5": (
        "{% for m in messages %}{% if m.tool_calls %}<|tool_calls_section_begin|>{% for c in m.tool_calls %}<|tool_call_begin|>"
        "{{ c.id }}<|tool_call_argument_begin|>{{ c.function.arguments | tojson }}<|tool_call_end|>{% endfor %}"
        "<|tool_calls_section_end|>{% endif %}"
        "{% if m.role == 'tool' %}## Return of {{ m.tool_call_id }}\n{{ m.content }}{% endif %}{% endfor %}"
    ),
    "GLM-4.6V": (
        "{% for m in messages %}{% for c in m.tool_calls or [] %}<tool_call>{{ c.function.name }}\n"
        "{% for k, v in c.function.arguments | items %}<arg_key>{{ k }}</arg_key>\n<arg_value>{{ v }}"
        "</arg_value>\n{% endfor %}</tool_call>{% endfor %}"
        "{% if m.role == 'tool' %}<tool_response>\n{{ m.content }}\n</tool_response>{% endif %}{% endfor %}"
    ),
    "Gemma 4": (
        "{% for m in messages %}{% for c in m.tool_calls or [] %}<|tool_call>call:{{ c.function.name ~ '{' }}"
        '{% for k, v in c.function.arguments | items %}{{ k }}:<|"|>{{ v }}<|"|>{% endfor %}}<tool_call|>{% endfor %}'
        "{% if m.role == 'tool' %}<|tool_response>response:{{ m.name ~ '{value:<|\"|>' ~ m.content }}<|\"|>}"
        "<tool_response|>{% endif %}{% endfor %}"
    ),
}
"""The calls and results of the families' templates, and nothing else of them."""


def rendered(family: str, code: str) -> tuple[str, str]:
    """(the call, its result) as transformers writes them by the family's template."""
    from transformers.utils.chat_template_utils import render_jinja_template

    called = {"name": "python", "arguments": {"code": code}}
    says = {
        "role": "assistant",
        "content": "",
        "tool_calls": [{"id": "functions.python:0", "type": "function", "function": called}],
    }
    told = {"role": "tool", "name": "python", "tool_call_id": "functions.python:0", "content": "1"}
    texts = [render_jinja_template([[message]], chat_template=TEMPLATES[family])[0][0] for message in (says, told)]
    return texts[0], texts[1]


@pytest.mark.parametrize("family", TEMPLATES)
def test_a_template_writes_what_the_table_says_and_code_comes_back(family: str) -> None:
    call, result = rendered(family, "print(1)")
    assert call == inline(ROWS[family][2]) and result == inline(ROWS[family][3])
    for code in CODES.values():
        (read,) = read_calls(rendered(family, code)[0], SCHEMAS).calls
        assert isinstance(read, Call) and read.arguments == {"code": code}


@pytest.mark.parametrize(("family", "kind"), [("Qwen3-VL", "qwen3_vl"), ("Qwen3.5", "qwen3_5"), ("Gemma 4", "gemma4")])
def test_transformers_reads_the_calls_that_we_write(family: str, kind: str) -> None:
    """Its server knows three of the families (5.23, cli/serving/utils.py). Of Qwen3.5's code it drops white space around it."""
    from transformers.cli.serving.utils import _RESPONSE_TEMPLATE_FALLBACKS as known
    from transformers.utils.chat_parsing.response_parser import ResponseParser

    form = next(form for types, form in known.items() if kind in types)
    begun = "<|turn>model\n" if kind == "gemma4" else "<|im_start|>assistant\n"
    for code in CODES.values():
        parser: Any = ResponseParser(form, prefix=begun, tools=[PYTHON_TOOL.schema("")])
        parser.feed(FORMATS[inline(ROWS[family][1])].write(Call("python", {"code": code})))
        (call,) = parser.finalize()[0]["tool_calls"]
        expected = code.strip() if kind == "qwen3_5" else code
        assert call["function"] == {"name": "python", "arguments": {"code": expected}}
