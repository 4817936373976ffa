"""A text into its reasoning and its answer.

The rules, in this order:

- The answer follows the last closing mark. If nothing follows it, the answer is the last text outside the marks.
- A closing mark without an opening one closes what the prompt has opened.
- An opening mark that nothing closes is open if it stands at the beginning of a line, or if the token cap ended the text.
  Elsewhere it is quoted. An open reasoning has no answer, whatever it says.
- A tool call ends an open reasoning.
- Nothing inside the reasoning is ever read.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from mm_eval.values.reasoning.families import (
    AT_THE_START,
    FRAMES,
    LAST_MARKS,
    LIKE_REASONING,
    NO_MARKS,
    TOOL_CALL,
    Marks,
)

_TOOL = re.compile(TOOL_CALL)
_LAST = re.compile(rf"{LAST_MARKS}\Z")
_FRAMES = tuple((re.compile(opening, re.IGNORECASE), re.compile(closing, re.IGNORECASE)) for opening, closing in FRAMES)
_ANY_FRAME = re.compile("|".join([*(mark for frame in FRAMES for mark in frame), LAST_MARKS]), re.IGNORECASE)
_LEAD = re.compile(rf"(?:\s|{'|'.join(opening for opening, _ in FRAMES)})*", re.IGNORECASE)
_HALF = re.compile(r"</th(?:i|in|ink)?\Z")

Span = tuple[int, int]


@dataclass(frozen=True)
class Parts:
    """reasoning: what was cut, with its marks. answer: the rest; the text itself if nothing was cut.

    closed: False if the text ends inside the reasoning; then there is no answer.
    """

    reasoning: str
    answer: str
    closed: bool = True

    @property
    def cut(self) -> bool:
        """Whether there is any reasoning."""
        return bool(self.reasoning)


@dataclass(frozen=True)
class _Mark:
    start: int
    end: int
    opens: bool


def split(
    text: str,
    marks: Marks = NO_MARKS,
    *,
    capped: bool = False,
    quoted: Sequence[Span] = (),
    certain: Sequence[int] | None = None,
) -> Parts:
    """The reasoning and the answer of a text.

    capped: the token cap ended it. quoted: places that spell a mark and are none.
    certain: where marks begin that are marks wherever they stand, since a tokenizer or the prompt says so. None where the text
        is all that is known.

    >>> split("<think>A? No.</think>B").answer
    'B'
    >>> split("<think>A?").closed
    False
    """
    if marks.off or not (marks.pairs or _may_have_marks(text)):
        return Parts("", text)
    found, seen = _find_marks(text, marks, quoted)
    by_text = certain is None and not marks.alone
    if by_text and not any(not mark.opens for mark in found) and _ends_in_half_a_mark(text):
        return Parts(text, "", closed=False)
    closings = [place for place, mark in enumerate(found) if not mark.opens]
    last = closings[-1] if closings else -1
    begins = found[last].end if closings else 0
    for mark in found[last + 1 :]:
        line = max(begins, seen.rfind("\n", begins, mark.start) + 1)
        if not (capped or mark.start in (certain or ()) or not seen[line : mark.start].strip()):
            continue  # it is quoted
        if (call := _TOOL.search(seen, mark.end)) is not None:
            return Parts(text[: call.start()], text[call.start() :])
        return Parts(text, "", closed=False)
    if not closings:
        return Parts("", text)
    if text[begins:].strip():
        return Parts(text[:begins], text[begins:].lstrip())
    outside, before = "", 0
    for place, mark in enumerate(found[: last + 1]):
        follows = place and found[place - 1].opens
        if mark.opens and not follows and (between := text[before : mark.start].strip()):
            outside = between
        before = mark.end
    return Parts(text, outside)


def _may_have_marks(text: str) -> bool:
    """Whether a text has what the marks of the known families, and frames, begin with. Looking for each of them takes long."""
    return "<" in text or "[" in text or "◁" in text or text.lstrip().startswith(("analysis", "Here"))


def _find_marks(text: str, marks: Marks, quoted: Sequence[Span]) -> tuple[list[_Mark], str]:
    """The marks in a text, and the text with what is quoted blotted out."""
    seen = text
    for start, end in quoted:
        seen = f"{seen[:start]}{'.' * (end - start)}{seen[end:]}"
    found = {_Mark(match.start(), match.end(), bool(match["opening"])) for match in marks.anywhere.finditer(seen)}
    begin = len(seen) - len(seen.lstrip())
    for opening, closing, blocks in () if marks.alone else AT_THE_START:
        if (first := opening.match(seen, begin)) is not None:
            openings = opening.finditer(seen, begin) if blocks else [first]
            found |= {_Mark(match.start(), match.end(), True) for match in openings}
            found |= {_Mark(match.start(), match.end(), False) for match in closing.finditer(seen, begin)}
    return sorted(found, key=lambda mark: mark.start), seen


def _ends_in_half_a_mark(text: str) -> bool:
    """Whether a text ends in the beginning of `</think>` that is not the beginning of a table's `</th>`."""
    return _HALF.search(text, max(0, len(text) - 8)) is not None and "<th" not in text


def unframed(answer: str, kept: Sequence[str] = ()) -> str:
    """The answer without the frame around it: of several the last one's content.

    A frame that is not closed counts only at the beginning. kept: frames that the task reads itself, such as "<answer>".

    >>> unframed("It is <answer><|begin_of_box|>B<|end_of_box|></answer>")
    'B'
    >>> unframed("<answer><|begin_of_box|>B<|end_of_box|></answer>", ["<|begin_of_box|>"])
    '<|begin_of_box|>B<|end_of_box|>'
    """
    if not (_may_have_marks(answer) and _ANY_FRAME.search(answer)):
        return answer
    found, left = answer, list[re.Pattern[str]]()
    for opening, closing in _FRAMES:
        if any(opening.fullmatch(frame) for frame in kept):
            left.append(closing)
            continue
        closes = _last(closing, found, len(found))
        end = closes.start() if closes else len(found)
        opens = _last(opening, found, end)
        if opens is not None and (closes is not None or not found[: opens.start()].strip()):
            found = found[opens.end() : end].strip()
        elif opens is None and closes is not None and not found[closes.end() :].strip():
            found = found[:end].strip()
    while (mark := _LAST.search(bare := found.rstrip(), max(0, len(bare) - 40))) is not None:
        if any(closing.fullmatch(mark[0]) for closing in left):
            break
        found = bare[: mark.start()].rstrip()
    return found


def _last(mark: re.Pattern[str], text: str, end: int) -> re.Match[str] | None:
    return max(mark.finditer(text, 0, end), key=lambda found: found.start(), default=None)


_UNKNOWN = re.compile(
    rf"<[|/]{{0,2}}[\w:.-]{{0,30}}?(?:{LIKE_REASONING})[\w:.-]{{0,30}}[|]?>|\A\s*thought\n|\A\s*<(?P<tag>[A-Za-z][\w-]{{2,20}})>",
    re.IGNORECASE,
)
_MARKUP = frozenset((
    "html", "body", "head", "div", "span", "table", "thead", "tbody", "caption", "title", "pre", "code", "sub", "sup",
    "strong", "svg", "img", "answer", "response", "conclusion",
))  # fmt: skip


def unknown_marks(answer: str) -> tuple[str, ...]:
    """The marks in an answer that look like those of a reasoning which was not cut, the opening one first.

    >>> unknown_marks("<muse>A or B?</muse>B")
    ('<muse>', '</muse>')
    """
    found: dict[str, None] = {}
    for match in _UNKNOWN.finditer(answer):
        tag = match["tag"]
        if tag is None or re.search(LIKE_REASONING, tag, re.IGNORECASE):
            found[match[0].strip()] = None
        elif tag.lower() not in _MARKUP and answer.partition(f"</{tag}>")[2].strip():  # an answer follows it
            found.update(dict.fromkeys((f"<{tag}>", f"</{tag}>")))
    return tuple(found)[:4]


def lead(answer: str) -> int:
    """How many characters come before an answer's first word: white space and the opening marks of frames."""
    match = _LEAD.match(answer)
    return match.end() if match else 0


def cut_at(answer: str, until: Sequence[str], *, skips_lead: bool = True) -> tuple[str, bool]:
    """An answer before the first stop string, and whether there is one. skips_lead: none is looked for before its first word.

    >>> cut_at("\\n\\nB\\nbecause", ["\\n"])
    ('\\n\\nB', True)
    """
    start = lead(answer) if skips_lead else 0
    cuts = [place for stop in until if stop and (place := answer.find(stop, start)) >= 0]
    return (answer[: min(cuts)], True) if cuts else (answer, False)
