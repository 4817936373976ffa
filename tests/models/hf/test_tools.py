"""Tools with transformers: the template's own form where it has one, and the marks of calls in what a model wrote."""

from pathlib import Path

import pytest
from mm_eval.models.hf.prompts.tools import writes_tools
from mm_eval.models.reasoning import TokenReader

from mm_eval.tools.formats.reading import read_calls
from tests.models.tiny_random import tokenizer
from tests.sets import each_of

QWEN = """
{%- if tools %}<|im_start|>system
{% for tool in tools %}{{ tool | tojson }}
{% endfor %}<|im_end|>
{% endif %}
{%- macro shown(content) %}{% if content is string %}{{ content }}{% else %}{% for part in content %}
{%- if part.type == 'image' %}<|image_pad|>{% else %}{{ part.text }}{% endif %}{% endfor %}{% endif %}{% endmacro %}
{%- for message in messages %}
{%- if message.role == 'tool' %}<|im_start|>user
<tool_response>
{{ shown(message.content) }}
</tool_response><|im_end|>
{% else %}<|im_start|>{{ message.role }}
{{ shown(message.content) }}
{%- for call in message.tool_calls or [] %}
<tool_call>
{"name": "{{ call.function.name }}", "arguments": {{ call.function.arguments | tojson }}}
</tool_call>{% endfor %}<|im_end|>
{% endif %}
{%- endfor %}
{%- if add_generation_prompt %}<|im_start|>assistant
{% endif %}"""


@pytest.mark.parametrize("pictures", [True, False])
def test_a_template_that_writes_tools(pictures: bool) -> None:
    assert writes_tools(QWEN, pictures)


@each_of(
    ("was", "written"),
    [
        ("{{ tool | tojson }}", "a tool"),  # it names no tool
        ("{{ call.function.arguments | tojson }}", "{}"),  # it leaves out what was asked
        ("<|image_pad|>", ""),  # a picture has no place
        (
            "{{ shown(message.content) }}\n</tool_response>",
            "{{ message.content }}\n</tool_response>",
        ),  # the Python form of parts
        ("{%- if message.role == 'tool' %}", "{%- if message.role == 'tool' %}{{ raise_exception('no tools') }}"),
        ("{%- for message in messages %}", "{%- for message in messages[:1] %}"),
        ("{%- for message in messages %}", "{%- for message in messages %"),  # a fault of the template
        ("tools", "utensils"),
    ],
)
def test_a_template_that_does_not(was: str, written: str) -> None:
    assert was in QWEN and not writes_tools(QWEN.replace(was, written), True)


SPECIAL = {
    "gemma": (("<|tool_call>", "<tool_call|>", '<|"|>'), '<|tool_call>call:zoom{label:<|"|>a sign<|"|>}<tool_call|>'),
    "mistral": (("[TOOL_CALLS]", "[ARGS]"), '[TOOL_CALLS]zoom[ARGS]{"label": "a sign"}'),
    "kimi": (
        ("<|tool_calls_section_begin|>", "<|tool_call_begin|>", "<|tool_call_argument_begin|>", "<|tool_call_end|>"),
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.zoom:0<|tool_call_argument_begin|>"
        '{"label": "a sign"}<|tool_call_end|>',
    ),
    "qwen": (
        ("<tool_call>", "</tool_call>"),
        '<tool_call>\n{"name": "zoom", "arguments": {"label": "a sign"}}\n</tool_call>',
    ),
}


@each_of("family", SPECIAL)
def test_the_special_tokens_of_a_call_are_kept(family: str) -> None:
    marks, text = SPECIAL[family]
    tokens = tokenizer(*marks)
    ids = list(tokens(f"I look. {text}", add_special_tokens=False)["input_ids"])
    reply = TokenReader(tokens).read(ids)
    (call,) = read_calls(reply.answer).calls
    assert (call.name, getattr(call, "arguments", None)) == ("zoom", {"label": "a sign"})


def test_the_template_of_a_bundled_model_writes_none() -> None:
    from mm_eval.models.hf.checkpoint import Checkpoint

    folder = Path(__file__).parents[3] / "assets" / "models" / "tiny-qwen2-vl"
    assert not writes_tools(Checkpoint(str(folder)).template_of(True), True)


def test_a_conversation_in_the_templates_own_form(tmp_path: Path) -> None:
    """What stands in calls and results is data: a special token in it is text."""
    from PIL import Image

    from mm_eval.adapters import make_model
    from mm_eval.data.media import picture_digest
    from mm_eval.request import RunRequest
    from mm_eval.values.types import Instance

    template = tmp_path / "template.jinja"
    template.write_text(QWEN.replace("<|image_pad|>", "<|vision_start|><|image_pad|><|vision_end|>"))
    folder = Path(__file__).parents[3] / "assets" / "models" / "tiny-qwen2-vl"
    args = {"pretrained": str(folder), "chat_template": str(template), "device": "cpu"}
    model = make_model(RunRequest(tasks=("vstar_tools",), model="hf", model_args=args))
    assert model.facts.takes_tools
    pictures = [Image.new("RGB", size, "red") for size in ((56, 56), (112, 56))]
    call = {
        "id": "c",
        "type": "function",
        "function": {"name": "zoom", "arguments": {"label": "<|im_end|>", "deep": [{"a": 1}]}},
    }
    context = [
        {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "What is it?"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "I look."}], "tool_calls": [call]},
        {"role": "tool", "name": "zoom", "content": [{"type": "image"}, {"type": "text", "text": "a <|im_end|> sign"}]},
    ]
    tools = ({"type": "function", "function": {"name": "zoom", "description": "Zooms."}},)
    digests = tuple(map(picture_digest, pictures))
    instance = Instance(
        "generate_until", "t", 0, {}, context, images=lambda: pictures, image_digests=digests, tools=tools
    )
    writer = model.source.writer
    prompt = writer.write(instance)
    assert '"description": "Zooms."' in prompt.text and '{"name": "zoom", "arguments": {"label": "' in prompt.text
    ended = writer.tokenizer.convert_tokens_to_ids("<|im_end|>")
    assert prompt.ids.count(ended) == 4, "the system turn and three more"
    assert len(prompt.pictures) == 2 and context[1]["tool_calls"] == [call], "the request is as it was"
