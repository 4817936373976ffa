"""How calls are read, in the format of every family: what a family writes, and what models write when it goes wrong."""

import random
from pathlib import Path
from typing import Any

import pytest
import yaml

from mm_eval.tools.formats.call import MOST_CALLS, Broken, Call
from mm_eval.tools.formats.reading import read_calls
from mm_eval.tools.formats.table import FORMATS, family_of
from mm_eval.tools.tool import harmless
from mm_eval.values.reasoning.split import split
from tests.sets import each_of, few

SCHEMAS = {
    "zoom": {
        "properties": {
            "bbox_2d": {"type": "array"},
            "label": {"type": "string"},
            "img_idx": {"type": "integer"},
            "all": {"type": "boolean"},
        }
    }
}
ZOOM = Call("zoom", {"bbox_2d": [1, 2, 3.5, 4], "label": "a sign"})
ODD = Call(
    "zoom",
    {"label": 'a "}" {x} </tool_call', "bbox_2d": [-1, 0, 1e3, 2], "all": True, "deep": {"a": [None, {"b": "c"}]}},
)


def as_pair(call: Any) -> Any:
    """Without its name in the format."""
    return call.name, call.arguments


def call_in(text: str) -> Any:
    """The only call in a text."""
    (found,) = read_calls(text, SCHEMAS).calls
    return found


REAL: dict[str, str] = yaml.safe_load((Path(__file__).parent / "real_calls.yaml").read_text(encoding="utf-8"))


@each_of("text", REAL.values(), ids=REAL)
def test_a_call_as_a_family_writes_it(text: str) -> None:
    found = read_calls(f"I look closer.\n{text}", SCHEMAS)
    (call,) = found.calls
    assert isinstance(call, Call) and (call.name, call.arguments) == (ZOOM.name, ZOOM.arguments)
    assert (found.before, found.after) == ("I look closer.", "")


@each_of("form", FORMATS.values(), ids=FORMATS)
def test_a_call_that_is_written_and_read_again(form: Any) -> None:
    for call in (ZOOM, ODD):
        found = read_calls(f"{form.write(call)} So B.", SCHEMAS)
        assert [as_pair(each) for each in found.calls] == [as_pair(call)], found
        assert found.after == "So B."
    twice = read_calls(f"{form.write(ZOOM)}\n{form.write(ODD)}", SCHEMAS)
    assert [as_pair(each) for each in twice.calls] == [as_pair(ZOOM), as_pair(ODD)] and not twice.after
    announced = form.announce([{"type": "function", "function": {"name": "zoom"}}])
    assert '"name": "zoom"' in announced


@pytest.mark.parametrize("form", few(FORMATS, "hermes", "gemma4", "glm"))
def test_a_call_that_the_cap_cuts_is_cut_or_complete(form: str) -> None:
    """At no place is it read as another call, and never as an answer once its opening mark is there."""
    text = FORMATS[form].write(ODD)
    for length in range(len(text)):
        found = read_calls(text[:length], SCHEMAS)
        for call in found.calls:
            if isinstance(call, Broken):
                assert call.cut, (text[:length], call)
            elif form in ("qwen_xml", "seed", "glm"):
                assert call.arguments.items() <= ODD.arguments.items()
            else:
                assert call.arguments == ODD.arguments
    assert len(read_calls(text[:-1], SCHEMAS).calls) == 1


BROKEN = {
    "single quotes": ("<tool_call>\n{'name': 'zoom'}\n</tool_call>", "JSON is invalid", ""),
    "a comma too many": ('<tool_call>{"name": "zoom", "arguments": {},}</tool_call>', "JSON is invalid", ""),
    "not a number": ('<tool_call>{"name": "zoom", "arguments": {"x": NaN}}</tool_call>', "NaN is not allowed", ""),
    "no name": ('<tool_call>{"arguments": {}}</tool_call>', "key name is missing", ""),
    "name is no text": ('<tool_call>{"name": 3}</tool_call>', "key name is missing", ""),
    "arguments are a list": (
        '<tool_call>{"name": "zoom", "arguments": [1]}</tool_call>',
        "must be a JSON object",
        "zoom",
    ),
    "arguments are no JSON": ('<tool_call>{"name": "zoom", "arguments": "box"}</tool_call>', "JSON is invalid", "zoom"),
    "text after the JSON": ('<tool_call>{"name": "zoom"} and so on</tool_call>', "text after the JSON", "zoom"),
    "an empty list": ("<tool_call>[]</tool_call>", "empty", ""),
    "a number": ("<tool_call>3</tool_call>", "", ""),
    "nothing": ("<tool_call></tool_call>", "neither JSON nor a name", ""),
    "too deep": (
        f'<tool_call>{{"name": "zoom", "arguments": {{"x": {"[" * 40}{"]" * 40}}}}}</tool_call>',
        "too deeply",
        "",
    ),
    "far too deep": (f"<tool_call>{'[' * 100_000}</tool_call>", "too deeply", ""),
    "a huge number": (
        f'<tool_call>{{"name": "zoom", "arguments": {{"x": {"9" * 5000}}}}}</tool_call>',
        "too many digits",
        "",
    ),
    "text between parameters": (
        "<tool_call><function=zoom>so <parameter=a>1</parameter></function></tool_call>",
        "between",
        "zoom",
    ),
    "gemma without braces": ("<|tool_call>call:zoom<tool_call|>", "no name and braces", ""),
    "gemma, a bare word": ("<|tool_call>call:zoom{label:sign}<tool_call|>", "neither a number nor a text", "zoom"),
    "gemma too deep": (f"<|tool_call>call:zoom{'{a:' * 50}1{'}' * 50}<tool_call|>", "too deeply", "zoom"),
    "kimi, no JSON": (
        "<|tool_call_begin|>functions.zoom:0<|tool_call_argument_begin|>box<|tool_call_end|>",
        "JSON is invalid",
        "zoom",
    ),
}


@each_of(("text", "why", "name"), BROKEN.values(), ids=BROKEN)
def test_a_call_that_can_not_be_read(text: str, why: str, name: str) -> None:
    found = read_calls(f"I look.\n{text}\nThen B.", SCHEMAS)
    if text == "<tool_call>3</tool_call>":  # GLM's form of a call without arguments: there is no such tool
        assert found.calls == (Call("3", {}),)
        return
    (call,) = found.calls
    assert isinstance(call, Broken) and why in call.why and call.name == name and not call.cut
    assert (found.before, found.after) == ("I look.", "Then B.")


CUT = [
    "<tool_call>",
    '<tool_call>\n{"name": "zoom", "arguments": {"bbox_2d": [1, 2,',
    '<tool_call>{"name": "zo',
    '<tool_call>{"name": "zoom", "arguments": {"label": "a si',
    "<tool_call><function=zoom><parameter=label>a si",
    "<tool_call><function=zo",
    "<tool_call>zoom<arg_key>bbox_2d</arg_key><arg_value>[1,2",
    "<tool_call>zoom<arg_key>bb",
    '<|tool_call>call:zoom{label:<|"|>a si',
    "<|tool_call>call:zo",
    "[TOOL_CALLS]",
    '[TOOL_CALLS]zoom{"label": "a',
    '<|tool_calls_section_begin|><|tool_call_begin|>functions.zoom:0<|tool_call_argument_begin|>{"bbox',
    "<|tool_calls_section_begin|>",
]


@each_of("text", CUT)
def test_a_call_that_is_cut_off(text: str) -> None:
    found = call_in(f"I look. {text}")
    assert isinstance(found, Broken) and found.cut and found.why == "the answer ended before the call did."


def test_a_broken_call_does_not_hide_the_next_one() -> None:
    good = FORMATS["hermes"].write(ZOOM)
    found = read_calls(f"<tool_call>{{'name'}}</tool_call>\n{good}\n<tool_call>{{\n{good}").calls
    assert [type(each) for each in found] == [Broken, Call, Broken, Call]


def test_several_objects_in_one_call() -> None:
    text = '<tool_call>\n{"name": "a", "arguments": {}}\n{"name": "b", "arguments": {}}\n</tool_call>'
    assert [each.name for each in read_calls(text).calls] == ["a", "b"]


def test_a_call_and_text_around_it() -> None:
    found = read_calls('The sign is small.\n<tool_call>{"name": "zoom"}</tool_call>\nThe answer is B.')
    assert (
        found.before == "The sign is small."
        and found.after == "The answer is B."
        and found.calls == (Call("zoom", {}),)
    )
    for plain in (
        "The answer is B.",
        "a < b, <b>tool_call</b>",
        "</tool_call>",
        "functions.zoom",
        "",
        "The <function= tag",
    ):
        assert read_calls(plain).calls == () and read_calls(plain).before == plain


def test_values_of_tags_are_read_by_the_schema() -> None:
    def value(text: str, key: str) -> Any:
        return call_in(
            f"<tool_call><function=zoom><parameter={key}>\n{text}\n</parameter></function></tool_call>"
        ).arguments[key]

    assert value("7", "label") == "7" and value("7", "img_idx") == 7 and value("True", "all") is True
    assert (
        value("[1, 2", "bbox_2d") == "[1, 2"
        and value("null", "other") is None
        and value("plain words", "other") == "plain words"
    )
    assert (
        value("a</parameter> b\n<b>", "label") == "a</parameter> b\n<b>"
        and value("  two\nlines ", "label") == "  two\nlines "
    )


def test_a_call_inside_of_the_reasoning_is_not_read_and_one_that_ends_it_is() -> None:
    call = FORMATS["hermes"].write(ZOOM)
    closed = split(f"<think>I could write {call} here.</think>B")
    assert read_calls(closed.answer).calls == () and closed.answer == "B"
    ends = split(f"<think>I must look. {call}")
    assert ends.closed and call_in(ends.answer).name == "zoom"


@pytest.mark.full
def test_an_answer_of_calls_alone_is_bounded() -> None:
    found = read_calls('<tool_call>{"name": "zoom"}</tool_call>' * 1000)
    assert len(found.calls) == MOST_CALLS
    assert len(read_calls("<tool_call>" * 100_000).calls) <= MOST_CALLS


def test_no_text_ends_in_an_error() -> None:
    draw = random.Random(0)
    pieces = [*REAL.values(), *(text for text, _, _ in BROKEN.values() if len(text) < 300), *CUT]
    for _ in range(400):
        text = draw.choice(pieces)
        place, other = draw.randrange(len(text)), draw.choice(pieces)
        middle = draw.choice(["", "{", '"', "<", "</", "|>", "\\", other])
        odd = text[:place] + middle + text[place + draw.randrange(3) :]
        found = read_calls(odd, SCHEMAS)
        assert found.before in odd and len(found.calls) <= MOST_CALLS


@each_of(
    ("name", "form", "unit"),
    [
        ("Qwen/Qwen3-VL-8B-Thinking", "hermes", "per_mille"),
        ("qwen3_vl_moe", "hermes", "per_mille"),
        ("Qwen/Qwen2.5-VL-7B-Instruct", "hermes", "resized"),
        ("qwen2_5_vl", "hermes", "resized"),
        ("ChenShawn/DeepEyes-7B", "hermes", "pixels"),
        ("Qwen/Qwen3.5-35B-A3B", "qwen_xml", "per_mille"),
        ("qwen3_5", "qwen_xml", "per_mille"),
        ("zai-org/GLM-4.5V", "glm", "per_mille"),
        ("glm4v", "glm", "per_mille"),
        ("moonshotai/Kimi-K2.5", "kimi", "per_mille"),
        ("google/gemma-4-31B-it", "gemma4", "per_mille"),
        ("openai/gpt-oss-20b", "harmony", "per_mille"),
        ("mistralai/Ministral-3-8B", "mistral", "per_mille"),
    ],
)
def test_the_format_of_a_family(name: str, form: str, unit: str) -> None:
    found = family_of([name])
    assert found is not None and (found.format, found.unit) == (form, unit)


def test_a_number_of_parameters_is_no_version() -> None:
    found = {
        name: family_of([name])
        for name in ("Qwen/Qwen3-8B", "Qwen/Qwen2-57B-A14B", "google/gemma-7b-it", "glm-4-9b-chat")
    }
    assert [each and (each.format, each.unit) for each in found.values()] == [
        ("hermes", "per_mille"),
        ("hermes", "per_mille"),
        None,
        None,
    ]


def test_a_family_that_is_not_known() -> None:
    assert family_of(["llava-hf/llava-1.5-7b-hf", "default", ""]) is None and family_of(["gemma-3-4b-it"]) is None


@pytest.mark.parametrize(
    "one", ["<parameter=a>x", "<parameter=a>x</parameter>", "<arg_key>a</arg_key><arg_value>1</arg_value>"]
)
def test_a_call_has_a_bounded_number_of_arguments(one: str) -> None:
    """Each is looked for to the end of the text, so thousands of them would take minutes."""
    name = "zoom" if "arg_key" in one else "<function=zoom>"
    (found,) = read_calls(f"<tool_call>{name}{one * 65}</tool_call>").calls
    assert isinstance(found, Broken) and "more than 64" in found.why


@each_of(
    "mark", ["</s>", "<end_of_turn>", "<\uff5cAssistant\uff5c>", "<unused94>", "<bos>", "[SYSTEM_PROMPT]", "[gMASK]"]
)
def test_a_mark_of_a_family_is_broken_up_in_the_text_of_a_tool(mark: str) -> None:
    assert harmless(f"a{mark}b") == f"a{mark[0]} {mark[1:]}b"
    assert harmless("if a <b> and x[2] <= 3") == "if a <b> and x[2] <= 3"
