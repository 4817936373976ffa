"""The calls in an answer. All formats are looked for: a model that was trained further may use another one than its family."""

from __future__ import annotations

import re
from collections.abc import Mapping

from mm_eval.tools.formats import fenced, syntax
from mm_eval.tools.formats.call import MOST_CALLS, Broken, Found, Reading, Unreadable
from mm_eval.tools.formats.syntax import Reader
from mm_eval.tools.formats.table import FORMATS

_READERS: dict[str, Reader] = {form.opening: form.read for form in FORMATS.values() if form.fence is None}
_OUTER = re.compile("|".join(_READERS))
"""The opening marks that do not stand inside of a call."""
_READERS[r"<\|tool_call_begin\|>"] = syntax.kimi_call
_READERS[r"<function=(?=[\w.:-]{1,128}>\s*(?:<parameter|</function>))"] = lambda text, place, schemas: (
    syntax.function_tags(text, place - len("<function="), schemas)
)
_READERS[fenced.OPENING] = fenced.read  # the last one: it is left out where it was not announced
_FENCED = re.compile("|".join(f"({mark})" for mark in _READERS))
_OPENINGS = re.compile("|".join(f"({mark})" for mark in list(_READERS)[:-1]))
_OF_GROUP = list(_READERS.values())
_HALF = re.compile(r"<[^<>\n]{0,40}\Z")
"""A mark that the end of the text cuts."""
_STRAY = re.compile(
    r"</(?:\w+:)?tool_calls?>|<\|tool_calls?_section_end\|>|<\|tool_call_end\|>|<tool_call\|>|<\|action_end\|>|<\|call\|>|\[/TOOL_CALLS\]"
)


def read_calls(
    text: str, schemas: Mapping[str, Mapping[str, object]] | None = None, *, with_fences: bool = False
) -> Reading:
    """The calls in an answer without its reasoning, in their order; those that can't be read among them.

    schemas: {name of a tool: the JSON schema of its arguments}, which says what a value in a tag is. with_fences: code in a
    fenced block is a call, since the model was told so.

    >>> read_calls('I zoom.\\n<tool_call>{"name": "zoom", "arguments": {"label": "}"}}</tool_call>').calls
    (Call(name='zoom', arguments={'label': '}'}, ident=''),)
    """
    calls, around, place = list[Found](), list[str](), 0
    openings = _FENCED if with_fences else _OPENINGS
    while (opening := openings.search(text, place)) is not None and len(calls) < MOST_CALLS:
        around.append(text[place : opening.start()])
        reader = _OF_GROUP[next(n for n, found in enumerate(opening.groups()) if found is not None)]
        try:
            found, place = reader(text, opening.end(), schemas or {})
            calls += found
        except Unreadable as error:
            closed, place = _after(text, opening.end())
            cut = not closed and place == len(text) and (error.cut or _HALF.search(text, opening.end()) is not None)
            calls.append(Broken("the answer ended before the call did." if cut else error.why, error.name, cut))
    around.append(text[place:])
    if not calls:
        return Reading(text)
    return Reading(around[0].strip(), tuple(calls[:MOST_CALLS]), _STRAY.sub("", "".join(around[1:])).strip())


def _after(text: str, place: int) -> tuple[bool, int]:
    """(whether the call that begins here has a closing mark, where reading goes on after it, which can't be read)."""
    closing, opening = _STRAY.search(text, place), _OUTER.search(text, place)
    if closing is not None and (opening is None or closing.start() < opening.start()):
        return True, closing.end()
    return False, opening.start() if opening is not None else len(text)
