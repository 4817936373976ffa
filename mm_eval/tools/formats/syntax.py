"""How the call of each format is read: (text, place after its opening mark, schemas) -> (calls, where reading goes on).

Every reader raises Unreadable for a call that breaks the rules of its format.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from mm_eval.tools.formats.call import MOST_DEPTH, Call, Unreadable, arguments_of, call_of_json, json_at

Schemas = Mapping[str, Mapping[str, Any]]
"""{name of a tool: the JSON schema of its arguments}, for formats whose values are all texts."""
Reader = Callable[[str, int, Schemas], tuple[list[Call], int]]

MOST_ARGUMENTS = 64
"""Arguments of a call. Each may be looked for to the end of the text."""
_SPACE = re.compile(r"\s*")


def skip(text: str, place: int) -> int:
    """The place of the next character that is not white space."""
    found = _SPACE.match(text, place)
    return found.end() if found else place


def _closing(mark: str) -> re.Pattern[str]:
    return re.compile(rf"\s*{mark}")


_CLOSING_TOOL_CALL = _closing(r"</(?:\w+:)?tool_call>")
_OPENING_TOOL_CALL = re.compile(r"\s*<(?:\w+:)?tool_call>")


def tool_call(text: str, place: int, schemas: Schemas) -> tuple[list[Call], int]:
    """What stands inside of `<tool_call>`: JSON (Hermes), `<function=...>` (Qwen), or a name and `<arg_key>` (GLM)."""
    start = skip(text, place)
    if text.startswith("```", start):
        fence = re.compile(r"```\w*\s*").match(text, start)
        start = fence.end() if fence else start
    if text[start : start + 1] in ("{", "["):
        calls, end = _objects(text, start)
        end = skip(text, end) + 3 if text.startswith("```", skip(text, end)) else end
    elif text.startswith("<function", start):
        calls, end = function_tags(text, start, schemas)
    elif start == len(text):
        raise Unreadable("the call is cut off.", cut=True)
    else:
        return arg_tags(text, start, schemas)
    if closing := _CLOSING_TOOL_CALL.match(text, end):
        return calls, closing.end()
    if skip(text, end) == len(text) or _OPENING_TOOL_CALL.match(text, end):
        return calls, end  # the last call of an answer is often not closed
    if re.fullmatch(r"\s*<[/\w]{0,12}", text[end:]):
        return calls, len(text)  # the cap cut the closing mark
    raise Unreadable("there is text after the JSON of the call, before </tool_call>.", name=calls[-1].name)


def _objects(text: str, place: int) -> tuple[list[Call], int]:
    """One JSON object after another, or a list of them."""
    calls = list[Call]()
    while text[place : place + 1] in ("{", "["):
        value, end = json_at(text, place)
        calls += [call_of_json(each) for each in (value if isinstance(value, list) else [value])]
        place = skip(text, end)
        place = place if text[place : place + 1] in ("{", "[") else end
        if place == end:
            break
    if not calls:
        raise Unreadable("the list of calls is empty.")
    return calls, place


_FUNCTION = re.compile(r"<function\s*=\s*([^>\n]{1,128})>")
_PARAMETER = re.compile(r"\s*<parameter\s*=\s*([^>\n]{1,128})>\n?")
_END_OF_PARAMETER = re.compile(r"\n?</parameter>(?=\s*(?:<parameter\s*=|</function>|</(?:\w+:)?tool_call>|\Z))")
_END_OF_FUNCTION = re.compile(r"\s*</function>")
_NO_CLOSING = re.compile(r"\n?(?=<parameter\s*=|</function>)")


def function_tags(text: str, place: int, schemas: Schemas) -> tuple[list[Call], int]:
    """`<function=n><parameter=k>v</parameter></function>`, one or several."""
    calls = list[Call]()
    while opening := _FUNCTION.match(text, skip(text, place)):
        name, values = opening[1].strip().strip("\"'"), dict[str, Any]()
        place = opening.end()
        count = 0
        while parameter := _PARAMETER.match(text, place):
            count += 1
            if count > MOST_ARGUMENTS:
                raise Unreadable(f"the call has more than {MOST_ARGUMENTS} parameters.", name=name)
            ends = _END_OF_PARAMETER.search(text, parameter.end()) or _NO_CLOSING.search(text, parameter.end())
            if ends is None:
                raise Unreadable(f"the parameter {parameter[1].strip()} is cut off.", cut=True, name=name)
            key = parameter[1].strip().strip("\"'")
            values[key] = typed(text[parameter.end() : ends.start()], key, schemas.get(name, {}))
            place = ends.end()
        closing = _END_OF_FUNCTION.match(text, place)
        if closing is None and skip(text, place) < len(text) and not _CLOSING_TOOL_CALL.match(text, place):
            cut = re.fullmatch(r"\s*<[^>]{0,140}", text[place:]) is not None
            why = "the call is cut off." if cut else "there is text between the parameters of the call."
            raise Unreadable(why, name=name, cut=cut)
        if closing is None and skip(text, place) == len(text) and not values:
            raise Unreadable("the call is cut off.", cut=True, name=name)
        calls.append(Call(name, values))
        place = closing.end() if closing else place
    if not calls:
        raise Unreadable("the name of the function is missing or cut off.", cut=">" not in text[place:])
    return calls, place


_ARG_NAME = re.compile(r"\s*([\w.:/-]{1,128})\s*(?=<arg_key>|</tool_call>|\Z)")
_ARG = re.compile(r"\s*<arg_key>(.*?)</arg_key>\s*<arg_value>", re.DOTALL)
_END_OF_ARG = re.compile(r"</arg_value>(?=\s*(?:<arg_key>|</tool_call>|\Z))")


def arg_tags(text: str, place: int, schemas: Schemas) -> tuple[list[Call], int]:
    """`n<arg_key>k</arg_key><arg_value>v</arg_value></tool_call>`, as GLM writes."""
    opening = _ARG_NAME.match(text, place)
    if opening is None:
        raise Unreadable("the call is neither JSON nor a name with arguments.", cut="<" not in text[place:])
    name, values = opening[1], dict[str, Any]()
    place = opening.end()
    count = 0
    while argument := _ARG.match(text, place):
        count += 1
        if count > MOST_ARGUMENTS:
            raise Unreadable(f"the call has more than {MOST_ARGUMENTS} arguments.", name=name)
        ends = _END_OF_ARG.search(text, argument.end())
        if ends is None:
            raise Unreadable(f"the argument {argument[1].strip()} is cut off.", cut=True, name=name)
        key = argument[1].strip()
        values[key] = typed(text[argument.end() : ends.start()], key, schemas.get(name, {}))
        place = ends.end()
    if closing := _CLOSING_TOOL_CALL.match(text, place):
        return [Call(name, values)], closing.end()
    if skip(text, place) == len(text) and values:
        return [Call(name, values)], len(text)
    raise Unreadable("the call is cut off.", cut=True, name=name)


def typed(text: str, key: str, schema: Mapping[str, Any]) -> object:
    """A value that stands as text in a tag: as it is where the schema says string, else as the JSON that it spells.

    A text that spells no JSON stays a text, and the check of the arguments says what is wrong with it.
    """
    rule = schema.get("properties", {}).get(key, {})
    if rule.get("type") == "string":
        return text
    bare = text.strip()
    plain = {"True": True, "False": False, "None": None}
    if bare in plain:
        return plain[bare]
    try:
        value, end = json_at(bare, 0)
    except Unreadable:
        return text
    return text if bare[end:].strip() else value


_KIMI_SECTION_END = _closing(r"<\|tool_calls?_section_end\|>")
_KIMI_CALL = re.compile(r"\s*<\|tool_call_begin\|>\s*([^<]{1,160}?)\s*<\|tool_call_argument_begin\|>\s*")
_KIMI_CALL_END = _closing(r"<\|tool_call_end\|>")


def kimi(text: str, place: int, schemas: Schemas) -> tuple[list[Call], int]:
    """A section of calls whose names are `functions.n:0`; that text is the name of the call as well."""
    calls = list[Call]()
    while opening := _KIMI_CALL.match(text, place):
        ident = opening[1]
        name = re.sub(r"^functions\.|:\d+$", "", ident)
        try:
            value, end = json_at(text, opening.end())
        except Unreadable as error:
            raise Unreadable(error.why, cut=error.cut, name=name) from None
        calls.append(Call(name, arguments_of(value, name), ident))
        closing = _KIMI_CALL_END.match(text, end)
        place = closing.end() if closing else end
        if closing is None and skip(text, end) < len(text):
            raise Unreadable("there is text after the JSON of the call.", name=name)
    if not calls:
        raise Unreadable("the call is cut off or has no name.", cut="<|tool_call_end|>" not in text[place:])
    section = _KIMI_SECTION_END.match(text, place)
    return calls, section.end() if section else place


def kimi_call(text: str, place: int, schemas: Schemas) -> tuple[list[Call], int]:
    """The same without its section: the opening mark of the first call is read already."""
    return kimi(text, place - len("<|tool_call_begin|>"), schemas)


_QUOTE = '<|"|>'
_GEMMA_CALL = re.compile(r"\s*call:([\w.:/-]{1,128}?)\s*(?=\{)")
_GEMMA_END = _closing(r"<tool_call\|>")
_GEMMA_KEY = re.compile(r"\s*(?:<\|\"\|>(.*?)<\|\"\|>|\"([^\"\n]*)\"|([^\s:,{}\[\]\"<]{1,128}))\s*:", re.DOTALL)
_GEMMA_WORD = re.compile(r"\s*(-?\d+(?:\.\d+)?(?:[eE][+-]?\d{1,4})?|true|false|null|None)(?=\s*[,\]}])")
_WORDS = {"true": True, "false": False, "null": None, "None": None}


def gemma(text: str, place: int, schemas: Schemas) -> tuple[list[Call], int]:
    """`call:n{k:<|"|>v<|"|>,num:42}<tool_call|>`."""
    opening = _GEMMA_CALL.match(text, place)
    if opening is None:
        raise Unreadable("the call has no name and braces: call:NAME{...}.", cut="{" not in text[place:])
    try:
        values, end = _gemma_value(text, opening.end(), 0)
    except Unreadable as error:
        raise Unreadable(error.why, cut=error.cut, name=opening[1]) from None
    if closing := _GEMMA_END.match(text, end):
        return [Call(opening[1], values)], closing.end()
    if skip(text, end) == len(text) or re.fullmatch(r"\s*<[\w|]{0,12}", text[end:]):
        return [Call(opening[1], values)], len(text)
    raise Unreadable("there is text after the braces of the call.", name=opening[1])


def _gemma_value(text: str, place: int, depth: int) -> tuple[Any, int]:
    place = skip(text, place)
    if depth > MOST_DEPTH:
        raise Unreadable("the arguments are nested too deeply.")
    if text.startswith(_QUOTE, place):
        end = text.find(_QUOTE, place + len(_QUOTE))
        if end < 0:
            raise Unreadable("a text of the arguments is cut off.", cut=True)
        return text[place + len(_QUOTE) : end], end + len(_QUOTE)
    if text.startswith('"', place):
        return json_at(text, place)
    if text[place : place + 1] in ("{", "["):
        return _gemma_items(text, place, depth)
    word = _GEMMA_WORD.match(text, place)
    if word is None:
        cut = re.fullmatch(r"\s*[\w.+-]*", text[place:]) is not None
        raise Unreadable("a value of the arguments is neither a number nor a text in its marks.", cut=cut)
    value = _WORDS[word[1]] if word[1] in _WORDS else json_at(word[1], 0)[0]
    return value, word.end()


def _gemma_items(text: str, place: int, depth: int) -> tuple[object, int]:
    """An object or a list, whose opening bracket stands here."""
    mapping = text[place] == "{"
    values, items, closing = dict[str, Any](), list[Any](), "}" if mapping else "]"
    place = skip(text, place + 1)
    while not text.startswith(closing, place):
        key = None
        if mapping:
            key = _GEMMA_KEY.match(text, place)
            if key is None:
                raise Unreadable("the name of an argument is missing.", cut=not re.search(r"[:}\]]", text[place:]))
            place = key.end()
        value, place = _gemma_value(text, place, depth + 1)
        if key is None:
            items.append(value)
        else:
            values[next(part for part in key.groups() if part is not None)] = value
        place = skip(text, place)
        if text.startswith(",", place):
            place = skip(text, place + 1)
        elif not text.startswith(closing, place):
            raise Unreadable(f"{closing!r} is missing in the arguments.", cut=place >= len(text))
    return (values if mapping else items), place + 1


_MISTRAL_NAME = re.compile(r"\s*([\w.:/-]{1,128})\s*(?:\[CALL_ID\]\s*([\w-]{1,64})\s*)?(?:\[ARGS\])?\s*(?=\{|\Z)")


def mistral(text: str, place: int, schemas: Schemas) -> tuple[list[Call], int]:
    """`[TOOL_CALLS]n{...}`, or the older `[TOOL_CALLS][{...}]`."""
    start = skip(text, place)
    if text.startswith("[{", start) or text.startswith("[ {", start):
        value, end = json_at(text, start)
        return [call_of_json(each, str(each.get("id") or "")) for each in value if isinstance(each, dict)], end
    opening = _MISTRAL_NAME.match(text, place)
    if opening is None or opening.end() == len(text):
        raise Unreadable("the call has no name and arguments: NAME{...}.", cut=not re.search(r"[{\[]", text[place:]))
    try:
        value, end = json_at(text, opening.end())
    except Unreadable as error:
        raise Unreadable(error.why, cut=error.cut, name=opening[1]) from None
    return [Call(opening[1], arguments_of(value, opening[1]), opening[2] or "")], end


_HARMONY = re.compile(
    r"functions\.([\w.:/-]{1,128}?)\s*(?:<\|channel\|>commentary\s*)?(?:<\|constrain\|>\w{0,20}|json)?\s*<\|message\|>\s*"
)
_HARMONY_END = _closing(r"<\|(?:call|end|return)\|>")


def harmony(text: str, place: int, schemas: Schemas) -> tuple[list[Call], int]:
    """`to=functions.n<|constrain|>json<|message|>{...}<|call|>`."""
    opening = _HARMONY.match(text, place)
    if opening is None:
        raise Unreadable("the call has no message.", cut="<|message|>" not in text[place:])
    try:
        value, end = json_at(text, opening.end())
    except Unreadable as error:
        raise Unreadable(error.why, cut=error.cut, name=opening[1]) from None
    closing = _HARMONY_END.match(text, end)
    return [Call(opening[1], arguments_of(value, opening[1]))], closing.end() if closing else end


def _json_until(mark: str) -> Reader:
    closing = _closing(mark)

    def read(text: str, place: int, schemas: Schemas) -> tuple[list[Call], int]:
        start = skip(text, place)
        if start == len(text):
            raise Unreadable("the call is cut off.", cut=True)
        calls, end = _objects(text, start)
        if found := closing.match(text, end):
            return calls, found.end()
        if skip(text, end) == len(text):
            return calls, end
        raise Unreadable("there is text after the JSON of the call.", name=calls[-1].name)

    return read


intern = _json_until(r"<\|action_end\|>")
hunyuan = _json_until(r"</tool_calls>")
