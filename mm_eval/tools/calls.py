"""What the answers of a conversation say: the calls of each, and whether it is an answer. Made from the recorded texts alone."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from mm_eval.config.tools import PYTHON
from mm_eval.tools.formats import fenced
from mm_eval.tools.formats.call import Broken, Call, Reading
from mm_eval.tools.formats.reading import read_calls
from mm_eval.values.reasoning.recorded import as_text, parts_of
from mm_eval.values.reasoning.split import Parts
from mm_eval.values.types import Answer

Schemas = Mapping[str, Mapping[str, object]]

_FINAL = re.compile(r"<answer>\s*[^\s<]|\\boxed\s*\{\s*[^\s}]")
"""The frames of an answer that a model intends as its last one."""
ERROR = "Error: "
"""The beginning of the result of a call that failed."""
UNREADABLE = f"{ERROR}the call can't be read: "
RAISED = f"{ERROR}the code raised an exception."
"""The beginning of the result of code that an exception ended."""
STOPPED = f"{ERROR}the code was stopped: "
"""The same of code that met a limit, and whose interpreter goes on."""
ENDED = f"{ERROR}the interpreter was ended: "
"""The same of code that ended its interpreter, or met a limit that ends it."""
NO_OUTPUT = "(no output)"
"""The result of code that printed and returned nothing."""


@dataclass(frozen=True)
class Said:
    """One answer of the model, read. text: without its reasoning. closed: its reasoning has ended. reasoning: with its marks."""

    text: str
    reading: Reading
    closed: bool = True
    reasoning: str = ""

    @property
    def calls(self) -> list[Call]:
        """The calls that can be read."""
        return [each for each in self.reading.calls if isinstance(each, Call)]

    @property
    def broken(self) -> list[Broken]:
        """The calls that can't be read."""
        return [each for each in self.reading.calls if isinstance(each, Broken)]

    @property
    def beside(self) -> str:
        """The text around its calls."""
        return "\n".join(filter(None, (self.reading.before, self.reading.after)))

    @property
    def is_answer(self) -> bool:
        """Whether it answers the question: without a call, or with a framed answer beside it."""
        return not self.reading.calls or _FINAL.search(self.beside) is not None


def said_in(answer: Answer, schemas: Schemas, *, with_fences: bool = False) -> Said:
    """An answer, read. Nothing inside of its reasoning is a call, but code in a fenced block that ends reasoning left open."""
    parts = parts_of(as_text("" if answer.output is None else answer.output))
    if with_fences and not parts.answer.strip() and (place := fenced.ends_in_code(parts.reasoning)) is not None:
        parts = Parts(parts.reasoning[:place], parts.reasoning[place:])
    return Said(parts.answer, read_calls(parts.answer, schemas, with_fences=with_fences), parts.closed, parts.reasoning)


def signature(call: Call) -> str:
    """A call as a text that is equal for equal calls."""
    return json.dumps([call.name, call.arguments], sort_keys=True, ensure_ascii=False)


@dataclass
class CodeCounts:
    """What a conversation did with `python`.

    raised: calls that ended by an exception. stopped, ended: by a limit, with the interpreter kept or gone.
    silent: that printed and returned nothing. opened: whether any of them names a file of a picture.
    """

    raised: int = 0
    stopped: int = 0
    ended: int = 0
    silent: int = 0
    opened: bool = False

    def add(self, code: str, result: str) -> None:
        self.stopped += result.startswith(STOPPED)
        self.ended += result.startswith(ENDED)
        self.raised += result.startswith(RAISED)
        self.silent += result == NO_OUTPUT
        self.opened = self.opened or _PICTURE.search(code) is not None


_OF_CODE = re.compile(
    "|".join(map(re.escape, (RAISED, STOPPED, ENDED, f"{ERROR}the argument '")))
    + rf"|{ERROR}only \d+ calls are allowed|{ERROR}the \S+ s of this question are spent"
)
"""The beginnings of results of `python` that are errors. Code may print one itself that begins with `ERROR`."""
_PICTURE = re.compile(r"image_|video_|glob|listdir|iterdir|scandir")
"""What code has that opens a picture of the question, or looks which there are."""


@dataclass
class Counts:
    """What a conversation, or all of a task, did with its tools.

    turns: answers of the model. calls: that could be read. failed: those of them whose result is an error. malformed: calls that
    could not be read. repeated: calls that were made before. pictures: that tools returned. by_tool: calls by the tool's name in
    the task file; "unknown" for a name that is not a tool. unanswered: it ended without an answer, since its turns were spent.
    """

    turns: int = 0
    calls: int = 0
    failed: int = 0
    malformed: int = 0
    repeated: int = 0
    pictures: int = 0
    unanswered: bool = False
    code: CodeCounts | None = None
    by_tool: Counter[str] = field(default_factory=Counter)

    @property
    def looked(self) -> bool:
        """Whether a tool returned something."""
        return self.calls > self.failed

    def to_json(self) -> dict[str, object]:
        """For a row of samples."""
        names = ("turns", "calls", "failed", "malformed", "repeated", "pictures", "looked", "unanswered")
        code = {"code": vars(self.code)} if self.code is not None else {}
        return {**{name: getattr(self, name) for name in names}, "by_tool": dict(sorted(self.by_tool.items())), **code}


UNKNOWN = "unknown"


def counts_of(
    turns: Sequence[Answer], schemas: Schemas, keys: Mapping[str, str], *, with_fences: bool = False
) -> Counts:
    """The counts of a conversation. keys: {name of a tool for the model: its name in the task file}."""
    found, seen = Counts(turns=len(turns)), set[str]()
    found.code = CodeCounts() if PYTHON in keys.values() else None
    said = [said_in(turn, schemas, with_fences=with_fences) for turn in turns]
    for number, each in enumerate(said):
        found.malformed += len(each.broken)
        for call in each.calls:
            found.calls += 1
            found.by_tool[keys.get(call.name, UNKNOWN)] += 1
            found.repeated += signature(call) in seen
            seen.add(signature(call))
        if number + 1 < len(turns):
            results = list(results_in(turns[number + 1]))
            pictures, texts = sum(pictures for pictures, _ in results), [text for _, text in results]
            found.pictures += pictures
            failed = sum(text.startswith(ERROR) for text in texts) - len(each.broken)
            told = [text for text in texts if not text.startswith(UNREADABLE)]
            for call, text in zip(each.calls, told, strict=False):
                if found.code is not None and keys.get(call.name) == PYTHON:
                    found.code.add(str(call.arguments.get("code")), text)
                    failed -= (
                        text.startswith(ERROR) and _OF_CODE.match(text) is None
                    )  # printed by code that came to its end
            found.failed += max(0, min(len(each.calls), failed))
        else:
            found.failed += len(each.calls)  # nobody has answered them
    found.unanswered = bool(said) and not said[-1].is_answer
    return found


def results_in(answer: Answer) -> Iterable[tuple[int, str]]:
    """(its pictures, its text) of each result that stands before a recorded answer."""
    opens, around = fenced.FRAMES
    for message in answer.messages or ():
        pictures, said, framed = 0, "", False
        for part in message["content"]:
            text = part["text"].strip() if part["type"] == "text" else ""
            if part["type"] == "image":
                pictures += 1
            elif _OPENS.fullmatch(text) or opens.fullmatch(text):
                if framed:
                    yield pictures, said
                pictures, said, framed = 0, "", True
            elif framed and text and not around.fullmatch(text) and not _CLOSES.fullmatch(text):
                said = said or text
            elif not framed and text and not _CLOSES.fullmatch(text):
                yield pictures, text
                pictures = 0
        if framed or pictures:
            yield pictures, said


_OPENS = re.compile(r"<tool_response>")
_CLOSES = re.compile(r"</tool_response>|This was the last result.*", re.DOTALL)
