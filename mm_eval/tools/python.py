"""The tool `python`: code of the model, in an interpreter that a document keeps to its end.

What code returns depends on what ran before it, so it is no function of its arguments: each call is recorded before the model is
told its result, and a run that goes on shows what is recorded. Where a call follows that is not, the recorded ones are run again
in a fresh interpreter, which restores its state; a result that is another one by then is noted in the record.

The pictures of the question lie in the working folder in the order in which they are shown, with the pixels that the data has;
pictures that tools return join them under the number of their place.
"""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import TYPE_CHECKING

from mm_eval.config.tools import PYTHON
from mm_eval.data.media import picture_digest
from mm_eval.engine.journal import Journal, JournalState
from mm_eval.engine.records import now
from mm_eval.engine.tool_records import GONE, REFUSED, ToolFiles, ToolRecord
from mm_eval.sandbox.interpreter import Asked, Interpreter, Ran, SandboxError
from mm_eval.sandbox.limits import Limits
from mm_eval.sandbox.pool import Pool
from mm_eval.tools.calls import ENDED, ERROR, NO_OUTPUT, RAISED, STOPPED
from mm_eval.tools.tool import Given, Result, Tool
from mm_eval.values.conversation import Conversation
from mm_eval.values.files import digest_of
from mm_eval.values.types import Answer, Clip, Slot

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_OPEN = 64
"""Interpreters at a time. The one that has waited longest gives way, and is restored when its document goes on."""
Png = Callable[[int], bytes]
"""The picture that a call is given at a place, as PNG. It is made only where it is needed."""
LIBRARIES = "numpy, scipy, sympy, PIL, cv2, skimage, matplotlib, pandas and networkx"


def _parameters(unit: str) -> dict[str, object]:
    code = {"type": "string", "description": "The code to run."}
    return {"type": "object", "properties": {"code": code}, "required": ["code"]}


def _use(arguments: Mapping[str, object], given: Given) -> Result:
    raise SandboxError("code of a model is run by a run alone.")


PYTHON_TOOL = Tool(PYTHON, PYTHON, "Runs Python code.", _parameters, _use)
"""Its calls are made by `PythonCalls`, and its description by `described`."""


def described(pictures: int) -> Tool:
    """The tool as it is told to a model, in the same words for every question. pictures: that a call returns at most."""
    about = (
        "Runs Python code in a Jupyter kernel. Variables, imports and files stay until the question is answered. "
        "The pictures of the question lie in the working folder in the order in which they are shown: image_01.png, "
        "image_02.png, ... (frames of a video: video_01_frame_0001.png, ...). Pictures that tools return are saved there too. "
        f"{LIBRARIES} are installed; there is no network. "
        "Returned are what the code prints, the value of its last line, a traceback, and pictures: what matplotlib shows, "
        f"a PIL picture that is the last value, and picture files that the code saves (at most {pictures} a call)."
    )
    return replace(PYTHON_TOOL, about=about)


def file_names(pictures: int, clips: Sequence[Clip] = (), before: int = 0) -> list[str]:
    """The file names of a question's pictures. clips: which of them are frames. before: pictures of examples."""
    frames: dict[int, str] = {}
    for number, clip in enumerate(clips, 1):
        for frame in range(clip.first, clip.last):
            frames[frame - before] = f"video_{number:02d}_frame_{frame - clip.first + 1:04d}.png"
    width = max(2, len(str(pictures)))
    return [frames.get(place) or f"image_{place + 1:0{width}d}.png" for place in range(pictures)]


@dataclass
class Open:
    """An interpreter of a document. keys: of the calls that it has made. put: pictures that lie in its folder.

    is_new: it has not run the code of its form of calls yet, such as what opens the pictures.
    """

    interpreter: Interpreter
    keys: list[str] = field(default_factory=list)
    put: int = 0
    used: int = 0
    busy: bool = True
    is_new: bool = True


@dataclass(frozen=True)
class Call:
    """A call of python. answer: the number of the answer that makes it. number: of the call, among those of python."""

    code: str
    answer: int
    number: int


class Interpreters:
    """The interpreters of a run's documents, and where their calls are recorded."""

    def __init__(self, pool: Pool, journal: Journal, state: JournalState, files: ToolFiles) -> None:
        self._pool, self._journal, self._state, self._files = pool, journal, state, files
        self._lock, self._count = threading.Lock(), 0
        self._open: dict[tuple[str, int, int], Open] = {}

    @property
    def limits(self) -> Limits:
        return self._pool.sandbox.limits

    def recorded(self, key: str) -> ToolRecord | None:
        return self._state.tools.get(key)

    def read(self, record: ToolRecord) -> tuple[Image, ...]:
        """The pictures of a recorded call."""
        return tuple(self._files.read(digest) for _, digest in record.pictures)

    def record(self, record: ToolRecord, given: Png, returned: Sequence[Image] = ()) -> None:
        """Keeps a call. It is on the disk when the method returns. returned: the pictures that it returned."""
        for place, (_, digest) in enumerate(record.given):
            self._files.put(digest, partial(given, place))
        for (_, digest), picture in zip(record.pictures, returned, strict=True):
            self._files.put(digest, partial(png_of, picture))
        record = replace(record, sandbox=self._pool.sandbox.digest, at=now())
        self._journal.put(record.to_json())
        self._journal.drain()
        self._state.add_tool(record)

    def take(self, doc: tuple[str, int, int], keys: Sequence[str]) -> tuple[Open, bool]:
        """(the interpreter of a document, whether it has made these calls and no others)."""
        while True:
            with self._lock:
                self._count += 1
                found = self._open.get(doc)
                if found is not None and found.keys == list(keys) and not found.interpreter.is_closed:
                    found.used, found.busy = self._count, True
                    return found, True
                idle = [key for key, each in self._open.items() if not each.busy]
                gone = doc if found is not None else None
                if gone is None and len(self._open) >= MOST_OPEN and idle:
                    gone = min(idle, key=lambda key: self._open[key].used)
                left = self._open.pop(gone) if gone is not None else None
            if left is None:
                break
            self._pool.give_back(left.interpreter)
        taken = Open(self._pool.take(), used=self._count)
        with self._lock:
            self._open[doc] = taken
        return taken, False

    def run(self, opened: Open, record: ToolRecord, seconds: float, png: Png) -> Ran:
        """Runs the code of a call, as `run_in`. SandboxError where the run has ended meanwhile."""
        found = run_in(self._pool, opened, record, seconds, png)
        self.check_open()
        return found

    def leave(self, doc: tuple[str, int, int]) -> None:
        """Ends the interpreter of a document."""
        with self._lock:
            found = self._open.pop(doc, None)
        if found is not None:
            self._pool.give_back(found.interpreter)

    def check_open(self) -> None:
        """SandboxError where the run has ended: what its interpreters say then is nothing of the model's doing."""
        if self._pool.is_closed:
            raise SandboxError("the run was interrupted while code ran.")


class PythonCalls:
    """The calls of python in one task. interpreters: None outside of a run that asks a model.

    prelude: the code that an interpreter begins with, by the names of the question's pictures.
    """

    def __init__(
        self, pictures: int, characters: int, edge: int, prelude: Callable[[Sequence[str]], str] | None = None
    ) -> None:
        self.pictures, self._characters, self._edge, self._prelude = pictures, characters, edge, prelude
        self._interpreters: Interpreters | None = None
        self._path = ""

    def open(self, path: str, interpreters: Interpreters | None) -> None:
        """Gives the task its interpreters. path: of the task."""
        self._path, self._interpreters = path, interpreters

    def end(self, conversation: Conversation) -> None:
        """The document has its answer."""
        if self._interpreters is not None:
            self._interpreters.leave(self._doc(conversation))

    def result(self, conversation: Conversation, calls: Sequence[Call], pictures: Sequence[Image]) -> Result:
        """The result of the last of a document's calls. pictures: all that were shown before it, those of examples left out."""
        if (runs := self._interpreters) is None:
            raise SandboxError("code of a model is run while a run asks it, and not here.")
        keys, call = self._keys(conversation, calls), calls[-1]
        if (record := runs.recorded(keys[-1])) is not None:
            return Result(record.text, runs.read(record), record.failed)
        earlier = [runs.recorded(key) for key in keys[:-1]]
        known = [each for each in earlier if each is not None]
        slot = Slot(self._path, conversation.doc_id, conversation.repeat, turn=call.answer)
        asked = conversation.shown[0] - conversation.of_examples
        names = file_names(asked, conversation.clips, conversation.of_examples)
        names += [returned_name(place) for place in range(asked, len(pictures))]
        digests = list(map(picture_digest, pictures))
        png = cache(
            lambda place: png_of(pictures[place])
        )  # most lie in the folder and on the disk since an earlier call
        made = ToolRecord(
            keys[-1],
            slot,
            call.number,
            call.code,
            "",
            given=tuple(zip(names, digests, strict=True)),
            after=keys[-2] if len(keys) > 1 else "",
            most=(self._characters, self.pictures, self._edge),
            prelude=self._prelude(names[:asked]) if self._prelude is not None else "",
        )
        seconds = seconds_of(runs.limits, known)
        if seconds <= 0:
            text = f"{ERROR}the {runs.limits.doc_seconds:g} s of this question are spent: no code is run any more."
            made = replace(made, text=text, ending=REFUSED)
            runs.record(made, png)
            return Result(made.text, failed=True)
        doc = self._doc(conversation)
        opened, is_whole = runs.take(doc, keys[:-1])
        try:
            restored = None
            if not is_whole and len(keys) > 1:
                restored = tuple(self._restore(opened, known, png))
            opened.keys = list(keys)
            found = runs.run(opened, made, seconds, png)
        finally:
            opened.busy = False
        is_gone = opened.interpreter.is_closed
        text = told(found, len(pictures), is_gone)
        made = replace(
            made,
            text=text,
            pictures=tuple((name, picture_digest(picture)) for name, picture in found.pictures),
            ending=GONE if is_gone else found.ending,
            seconds=round(found.seconds, 3),
            restored=restored,
        )
        returned = tuple(picture for _, picture in found.pictures)
        runs.record(made, png, returned)
        return Result(text, returned, made.failed)

    def _doc(self, conversation: Conversation) -> tuple[str, int, int]:
        return self._path, conversation.doc_id, conversation.repeat

    def _keys(self, conversation: Conversation, calls: Sequence[Call]) -> list[str]:
        return self.keys(self._doc(conversation), conversation.answers, calls)

    def keys(self, doc: tuple[str, int, int], answers: Sequence[Answer], calls: Sequence[Call]) -> list[str]:
        """The keys of calls: each is a digest of the document, of all code up to it, and of the pictures that were shown."""
        shown = list[list[str]]()
        for answer in answers:
            parts = [part for message in answer.messages or () for part in message.get("content") or ()]
            shown.append([str(part.get("digest")) for part in parts if part.get("type") == "image"])
        begun = [*doc, self.pictures, self._characters, self._edge]
        codes = [call.code for call in calls]
        return [digest_of([begun, codes[: n + 1], shown[: call.answer + 1]]) for n, call in enumerate(calls)]

    def _restore(self, opened: Open, known: Sequence[ToolRecord], png: Png) -> Iterator[int]:
        """Makes recorded calls again. Yields the numbers of those whose result is another one.

        Those up to one that ended its sandbox are not made: nothing of what they did was left, and it would end this one too.
        """
        runs = self._interpreters
        assert runs is not None
        begin = max((place for place, each in enumerate(known, 1) if each.ending == GONE), default=0)
        for place, record in enumerate(known[begin:], begin):
            if record.ending != REFUSED:
                found = runs.run(opened, record, seconds_of(runs.limits, known[:place]), png)
                if differs(record, found, opened.interpreter.is_closed):
                    yield record.call


def seconds_of(limits: Limits, before: Sequence[ToolRecord]) -> float:
    """The seconds that a call may take after others of its conversation: 0 or less where theirs are spent."""
    return min(limits.seconds, limits.doc_seconds - sum(each.seconds for each in before))


def run_in(pool: Pool, opened: Open, record: ToolRecord, seconds: float, png: Png) -> Ran:
    """Runs the code of a call in an interpreter, in whose folder the pictures lie that the call was given.

    One whose sandbox the call before has ended gives way to another, with an empty folder.
    """
    if opened.interpreter.is_closed:
        pool.give_back(opened.interpreter)
        opened.interpreter, opened.put, opened.is_new = pool.take(), 0, True
    opened.interpreter.put([(record.given[place][0], png(place)) for place in range(opened.put, len(record.given))])
    opened.put = len(record.given)
    characters, pictures, edge = record.most
    fresh = False
    if record.prelude and opened.is_new:
        fresh = opened.interpreter.run(Asked(record.prelude, seconds, characters, 0, edge, 1)).fresh
    found = opened.interpreter.run(Asked(record.code, seconds, characters, pictures, edge, len(record.given) + 1))
    opened.is_new = found.ending == "ended"  # its variables are gone
    return replace(found, fresh=found.fresh or fresh)


def differs(record: ToolRecord, found: Ran, is_gone: bool) -> str:
    """How a call that was made again differs from its record, in a few words; empty where it does not."""
    if told(found, len(record.given), is_gone) != record.text:
        return "another text"
    digests = [picture_digest(picture) for _, picture in found.pictures]
    return "" if digests == [digest for _, digest in record.pictures] else "other pictures"


def told(found: Ran, shown: int, is_gone: bool) -> str:
    """What the model is told of what came of its code. shown: pictures before it. is_gone: its sandbox has ended."""
    kept = "Its variables and files are gone." if is_gone else "Its variables are gone, files are kept."
    said = {
        "error": RAISED,
        "stopped": f"{STOPPED}{found.reason}. Variables and files are kept.",
        "ended": f"{ENDED}{found.reason}. {kept}",
    }
    returned = [f"Picture {shown + n} is {name}." for n, (name, _) in enumerate(found.pictures)]
    fresh = ["The interpreter is a new one: variables of earlier calls are gone."] if found.fresh else []
    lines = [said.get(found.ending, ""), found.text, *found.remarks, *returned, *fresh]
    return "\n".join(line for line in lines if line) or NO_OUTPUT


def returned_name(place: int) -> str:
    """The file of a picture that a tool has returned. place: of it among all that were shown."""
    return f"image_{place + 1:02d}.png"


def png_of(picture: Image) -> bytes:
    file = io.BytesIO()
    picture.save(file, "PNG", compress_level=1)
    return file.getvalue()


@contextmanager
def interpreters(pool: Pool, journal: Journal, state: JournalState, files: ToolFiles) -> Iterator[Interpreters]:
    """The interpreters of a run, which end with it."""
    try:
        yield Interpreters(pool, journal, state, files)
    finally:
        with suppress(Exception):
            pool.close()
