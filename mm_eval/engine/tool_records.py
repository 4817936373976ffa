"""A call of a tool that depends on more than its arguments, as a record of the journal: code that ran in a sandbox.

    {"v":1,"kind":"tool","key":...,"slots":[[task,doc_id,repeat,choice,turn]],"call":0,"code":"...","text":"...",
     "pictures":[["a.png",sha256]],"given":[["image_01.png",sha256]],"ending":"ok","seconds":0.1,"after":"","most":[20000,4,2048],
     "sandbox":"...","t":...}

It is synced before the model is told the result. A resumed run shows what is recorded here. The pictures are in
`tool_files/DIGEST.png`, as do those that the code could read: they are part of the record, and never removed.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from mm_eval.engine.records import FIRST, now
from mm_eval.values.errors import StoreError
from mm_eval.values.files import write_atomic
from mm_eval.values.run_files import open_regular, refuse_links_out
from mm_eval.values.types import Fields, Slot

if TYPE_CHECKING:
    from PIL.Image import Image

KIND = "tool"
FOLDER = "tool_files"
MOST_FILE = 256 << 20
"""Bytes of a picture file that is read."""
FORMATS = ("PNG",)
GONE, REFUSED = "gone", "refused"


@dataclass(frozen=True)
class ToolRecord:
    """A call of `python`.

    key: of all that decides its result. slot: of the answer that made it. call: its number in the document, from 0.
    text: as the model is shown it. pictures: (name, digest) of those that it returned.
    ending: as of `sandbox.interpreter.Ran`, GONE where its sandbox ended with its files, or REFUSED where its time was spent.
    seconds: that it took.
    given: (name, digest) of the pictures that lay in its folder: those of the question, then those that tools had returned.
    after: the key of the call before it in the conversation; empty for the first.
    most: characters, pictures and the longest side of a picture that it could return.
    restored: earlier calls whose results were others when they were made again before it; None where none was made again.
    prelude: the code that its interpreter began with, which is the form of calls' and not the model's.
    """

    key: str
    slot: Slot
    call: int
    code: str
    text: str
    pictures: tuple[tuple[str, str], ...] = ()
    ending: str = "ok"
    seconds: float = 0.0
    given: tuple[tuple[str, str], ...] = ()
    after: str = ""
    most: tuple[int, int, int] = (0, 0, 0)
    restored: tuple[int, ...] | None = None
    sandbox: str = ""
    at: float = field(default=0.0, compare=False)
    prelude: str = ""

    @property
    def failed(self) -> bool:
        """Whether the code did not come to its end."""
        return self.ending != "ok"

    def to_json(self) -> dict[str, object]:
        record: dict[str, object] = {"v": FIRST, "kind": KIND, "key": self.key, "slots": [self.slot.to_json()]}
        record |= {"call": self.call, "code": self.code, "text": self.text}
        record |= {"pictures": list(map(list, self.pictures)), "given": list(map(list, self.given))}
        record |= {"ending": self.ending, "seconds": self.seconds, "after": self.after}
        record |= {"most": list(self.most), "sandbox": self.sandbox}
        if self.restored is not None:
            record["restored"] = list(self.restored)
        if self.prelude:
            record["prelude"] = self.prelude
        return {**record, "t": self.at or now()}

    @classmethod
    def of_json(cls, record: Fields) -> ToolRecord:
        """The record that `to_json` wrote. KeyError, TypeError or ValueError for another form."""
        (slot,) = record["slots"]
        texts = [record[name] for name in ("key", "code", "text", "ending", "sandbox")]
        if not all(isinstance(each, str) for each in texts):
            raise TypeError("a text is missing")
        key, code, text, ending, sandbox = texts
        restored, most = record.get("restored"), record["most"]
        return cls(
            key,
            Slot.from_json(slot),
            int(record["call"]),
            code,
            text,
            _named(record["pictures"]),
            ending,
            float(record["seconds"]),
            _named(record["given"]),
            str(record["after"]),
            (int(most[0]), int(most[1]), int(most[2])),
            None if restored is None else tuple(map(int, restored)),
            sandbox,
            float(record["t"]),
            str(record.get("prelude", "")),
        )


def _named(stated: Sequence[Sequence[str]]) -> tuple[tuple[str, str], ...]:
    found = tuple((str(name), str(digest)) for name, digest in stated)
    if not all(len(digest) == 64 and set(digest) <= set("0123456789abcdef") for _, digest in found):
        raise ValueError("a digest is invalid")
    return found


class ToolFiles:
    """The pictures of a run's calls, by the digest of their pixels."""

    def __init__(self, run: Path) -> None:
        self._run, self._folder = run, run / FOLDER

    def put(self, digest: str, content: Callable[[], bytes]) -> None:
        """Keeps the PNG of a picture, which is made if it is not there. It is on the disk when the call returns.

        Errors: StoreError where it can't be written.
        """
        path = self._path(digest)
        try:
            refuse_links_out(self._run, FOLDER)
            if not path.is_file():
                write_atomic(path, content())
        except OSError as error:
            what = f"a picture of a tool can't be written: {error.strerror or error}."
            hint = "Recorded answers are safe; the same command continues."
            raise StoreError(what, where=str(path), hint=hint) from error

    def read(self, digest: str) -> Image:
        """A picture that was kept. StoreError where it is gone or is another one."""
        from PIL import Image

        from mm_eval.data.media import picture_digest

        path = self._path(digest)
        try:
            with open_regular(self._run, path, MOST_FILE) as file, Image.open(file, formats=FORMATS) as opened:
                found = opened.convert("RGB")
            if picture_digest(found) != digest:
                raise ValueError("it has other pixels")
        except Exception as error:  # whatever a damaged picture does to its reader
            why = os.strerror(error.errno) if isinstance(error, OSError) and error.errno else error
            what = f"the picture of a recorded call can't be read: {why}."
            raise StoreError(what, where=str(path), hint="Restore it from a copy of the run folder.") from error
        return found

    def _path(self, digest: str) -> Path:
        return self._folder / f"{digest}.png"
