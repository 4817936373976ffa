"""What a task's functions show of a whole doc: the pictures of `doc_to_visual`, or the chat that `doc_to_messages` writes."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from mm_eval.errors import DataError, MMEvalError
from mm_eval.task.blocks import PromptBlock, call
from mm_eval.task.decode import PixelCount, decoding
from mm_eval.task.media import picture_digest, to_pictures
from mm_eval.task.question import require_column
from mm_eval.types import Doc, Message

if TYPE_CHECKING:
    from PIL.Image import Image

MOST_BYTES = 2 * 2**30
"""The most bytes of pixels in a cache: three windows of 512 docs with a picture of 640 x 480."""
REMEMBERED = 4096
"""The dropped pictures that a cache remembers, to notice that it is too small."""

PictureLoader: TypeAlias = "Callable[[], list[Image]]"
Seen: TypeAlias = "Callable[[str, Image], None]"

ROLES = ("system", "user", "assistant")


def visuals_of(
    doc_to_visual: Callable[..., Any] | str | list[str],
    doc: Doc,
    block: PromptBlock,
    where: str,
    open_file: Callable[[str, str], Image] | None = None,
) -> list[Image]:
    """The pictures of a whole doc, RGB: of one column, of several columns in their order, or what the task's function returns.

    open_file: opens the picture file that a column names; called with its name and `where`.
    Errors: DataError if the column is missing, the function fails, or a picture can't be decoded.
    """
    if isinstance(doc_to_visual, list):
        return [picture for column in doc_to_visual for picture in visuals_of(column, doc, block, where, open_file)]
    if callable(doc_to_visual):
        return to_pictures(_returned("doc_to_visual", doc_to_visual, doc, block, where), where)
    found = require_column(doc, doc_to_visual, "doc_to_visual", where)
    names = [found] if isinstance(found, str) else found
    if open_file and isinstance(names, Sequence) and names and all(isinstance(name, str) for name in names):
        found, count = [], PixelCount()
        for name in names:
            found.append(open_file(name, where))
            with decoding(where):
                count.add(found[-1])
    return to_pictures(found, where)


def messages_of(
    doc_to_messages: Callable[..., Any], doc: Doc, block: PromptBlock, where: str
) -> tuple[list[Message], list[Image]]:
    """(the turns that a task's function writes for a whole doc, their pictures in order).

    The function returns `[{"role": "user", "content": [{"type": "image", "url": picture}, {"type": "text", "text": "..."}]}]`.
    Errors: DataError if it fails or returns another kind of turn or part, such as video or audio.
    """
    turns = _returned("doc_to_messages", doc_to_messages, doc, block, where)
    if not isinstance(turns, list) or not turns:
        raise DataError(f"doc_to_messages gave {turns!r:.80}; expected a list of turns.", where=where)
    pictures: list[Image] = []
    return [_turn(turn, pictures, where) for turn in turns], pictures


def _returned(name: str, function: Callable[..., Any], doc: Doc, block: PromptBlock, where: str) -> Any:
    """What a task's function returns. It may decode pictures, so all that it raises is a DataError of this doc."""
    with decoding(where):
        try:
            return call(function, doc, block, second=True)
        except (MMEvalError, OSError, SyntaxError, ValueError):
            raise
        except Exception as error:  # the task's own code
            what, hint = f"{name} failed: {type(error).__name__}: {error}", _undecoded(doc)
            raise DataError(f"{what}." if hint else what, where=where, hint=hint) from error


def _undecoded(doc: Doc) -> str:
    """A hint at columns with pictures as bytes, which a data set written without `datasets` has; empty where there are none."""
    names = [name for name, value in doc.items() if isinstance(value, Mapping) and value.keys() == {"bytes", "path"}]
    if not names:
        return ""
    said = ", ".join(map(repr, names[:5]))
    return f"Pictures stand there as bytes ({said}): give the columns the type of pictures, cast_column(NAME, datasets.Image())."


def _turn(turn: Any, pictures: list[Image], where: str) -> Message:
    if not isinstance(turn, Mapping) or turn.get("role") not in ROLES or not isinstance(turn.get("content"), list):
        raise DataError(
            f"doc_to_messages gave the turn {turn!r:.80}.",
            where=where,
            hint=f"A turn has a `role` ({', '.join(ROLES)}) and `content`, a list of parts.",
        )
    return {"role": turn["role"], "content": [_part(part, pictures, where) for part in turn["content"]]}


def _part(part: Any, pictures: list[Image], where: str) -> dict[str, Any]:
    """A part of a turn. A picture is appended to `pictures` and leaves its place."""
    kind = part.get("type") if isinstance(part, Mapping) else None
    if kind == "text" and isinstance(part.get("text"), str):
        return {"type": "text", "text": part["text"]}
    if kind == "image" and "url" in part:
        pictures += to_pictures([part["url"]], where, "doc_to_messages")
        return {"type": "image"}
    raise DataError(f"doc_to_messages gave a part that is neither text nor picture: {part!r:.80}.", where=where)


def digests_of(
    loaders: Sequence[PictureLoader], where: str, seen: Seen | None = None
) -> tuple[list[list[str]], int, MMEvalError | None]:
    """(picture digests of each turn, pixels of all pictures, the error if one can't be decoded).

    seen: called with the digest and the pixels of each picture.
    """
    digests: list[list[str]] = []
    pixels = 0
    try:
        for load in loaders:
            pictures = load()
            with decoding(where):
                digests.append([picture_digest(picture) for picture in pictures])
            pixels += sum(picture.width * picture.height for picture in pictures)
            if seen is not None:
                for digest, picture in zip(digests[-1], pictures, strict=True):
                    seen(digest, picture)
    except DataError as error:
        return [], pixels, error.located(where)
    return digests, pixels, None


class PictureCache:
    """The decoded pictures of the last docs, since a request's key and, some windows of docs later, its prompt need them.

    It is bounded by bytes of pixels. A model that needs no picture (dummy, replay) leaves it small. For one that does, it grows
    with each picture that was dropped too early, until it holds the docs in flight: a picture is then decoded once.
    """

    def __init__(self, max_bytes: int = 64 * 2**20, most_bytes: int | None = None) -> None:
        self._max_bytes, self._bytes = max_bytes, 0
        self._most_bytes = most_bytes or max(max_bytes, min(MOST_BYTES, _memory() // 8))
        self._pictures: OrderedDict[object, list[Image]] = OrderedDict()
        self._dropped: OrderedDict[object, None] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: object, load: Callable[[], list[Image]]) -> list[Image]:
        """The pictures under a key, loaded if they are not cached. An error of `load` is not cached."""
        with self._lock:
            if key in self._dropped:
                del self._dropped[key]
                self._max_bytes = min(2 * self._max_bytes, self._most_bytes)
            if key in self._pictures:
                self._pictures.move_to_end(key)
                return self._pictures[key]
            if self._bytes > self._max_bytes:  # one large picture: two of them should not be in memory
                self._pictures.clear()
                self._bytes = 0
        pictures = load()
        with self._lock:
            if key not in self._pictures:
                self._pictures[key] = pictures
                self._bytes += _size(pictures)
            while self._bytes > self._max_bytes and len(self._pictures) > 1:
                dropped, oldest = self._pictures.popitem(last=False)
                self._bytes -= _size(oldest)
                self._dropped[dropped] = None
                if len(self._dropped) > REMEMBERED:
                    self._dropped.popitem(last=False)
        return pictures


def _size(pictures: list[Image]) -> int:
    return sum(4 * picture.width * picture.height for picture in pictures)


def _memory() -> int:
    """Bytes of memory of this machine."""
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
