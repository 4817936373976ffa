"""What a task's functions show of a whole doc: the pictures and sounds of `doc_to_visual` and `doc_to_audio`, or the chat that
`doc_to_messages` writes."""

from __future__ import annotations

import logging
import os
import tempfile
import threading
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from mm_eval.config.foreign_code import during
from mm_eval.data.decode import MOST_PIXELS_OF_A_DOC, PixelCount, decoding, is_moving, open_picture
from mm_eval.data.frames import Frames
from mm_eval.data.media import (
    as_sent,
    encoded,
    of_sent_file,
    picture_digest,
    picture_in_text,
    stored_as,
    to_pictures,
)
from mm_eval.data.places import PLACES, SUFFIXES, Places
from mm_eval.data.sound.clip import Sound, sound_of
from mm_eval.data.sound.forms import names_sound
from mm_eval.data.video.medium import frames_of
from mm_eval.prompt.blind import others
from mm_eval.prompt.blocks import PromptBlock, call
from mm_eval.prompt.layout import PARTS
from mm_eval.prompt.question import evaluate_field, lacking, require_column
from mm_eval.values.errors import DataError, MMEvalError, kind_and_text
from mm_eval.values.types import FILE_MARK, Clip, Doc, Heard, JsonObject, Message

if TYPE_CHECKING:
    from PIL.Image import Image

    from mm_eval.data.shared import Original

logger = logging.getLogger(__name__)

Visual: TypeAlias = "Image | Frames | Sound"
"""What a question shows: a decoded picture, or the frames of a video or a sound, which are decoded when the question is asked."""

MOST_BYTES = 2 * 2**30
"""The most bytes of pixels in a cache: three windows of 512 docs with a picture of 640 x 480."""
REMEMBERED = 4096
"""The dropped pictures that a cache remembers, to notice that it is too small."""

PictureLoader: TypeAlias = "Callable[[], list[Visual]]"
Seen: TypeAlias = "Callable[[str, Image], None]"

ROLES = ("system", "user", "assistant")


def visuals_of(
    doc_to_visual: Callable[..., object] | str | list[str],
    doc: Doc,
    block: PromptBlock,
    where: str,
    places: Places | None = None,
) -> list[Visual]:
    """What a whole doc shows: pictures (RGB) and videos of one column, of several columns in order, or of the task's function.

    places: where the files are that a column names, and videos with a relative path.
    Errors: DataError if the column is missing, the function fails, or a picture can't be decoded or a video can't be read.
    """
    if isinstance(doc_to_visual, list):
        return [visual for column in doc_to_visual for visual in visuals_of(column, doc, block, where, places)]
    if callable(doc_to_visual):
        return to_visuals(_call("doc_to_visual", doc_to_visual, doc, block, where, places), block, where, places)
    found = require_column(doc, doc_to_visual, "doc_to_visual", where)
    names = [found] if isinstance(found, str) else found
    if places and isinstance(names, Sequence) and names and all(isinstance(name, str) for name in names):
        found, count = [], PixelCount()
        for name in names:
            with decoding(where):
                if name.lower().endswith(SUFFIXES) and "://" not in name:
                    found.append(places.locate(name))
                elif names_sound(name):
                    found.append(name)
                else:
                    stored = picture_in_text(name)
                    with decoding(where, name if stored is None else ""):
                        content = places.read(name) if stored is None else stored
                        if stored is None and is_moving(content):  # the name of an animation names a video
                            found.append(name)
                            continue
                        found.append(open_picture(content, later=decoding(where, name if stored is None else "")))
                    count.add(found[-1])
    return to_visuals(found, block, where, places)


def to_visuals(
    found: object, block: PromptBlock, where: str, places: Places | None = None, what: str = "doc_to_visual"
) -> list[Visual]:
    """Pictures, the frames of videos, and sounds, from what a task's function returned: a picture, Video, sound or path, or a
    list of them.

    what: the function's key, for errors. Errors: DataError as `to_pictures`, `frames_of` and `sound_of`.
    """
    places = places or Places()
    others: dict[int, Visual] = {}
    items: list[object] = []
    try:
        with decoding(where):
            for item in _flat(found):
                sound = sound_of(item, places, sure=what == "doc_to_audio")
                items.append(stored_as(item, places, where) if sound is None else sound)
                other = frames_of(items[-1], block.frames, places) if sound is None else sound
                if other is None:
                    continue
                others[len(items) - 1] = other
                if block.video_sound and isinstance(other, Frames):
                    clip = other.clip(0)
                    own = Sound(clip.path, clip.start, clip.end)
                    others[len(items) - 1], *heard = heard_beside([own], [other], where)
                    for each in heard:
                        items.append(each)
                        others[len(items) - 1] = each
    except DataError as error:
        raise error.located(where) from error
    if not others:
        return list(to_pictures(items, where, what))
    pictures = iter(to_pictures([item for n, item in enumerate(items) if n not in others], where, what))
    visuals = [others[n] if n in others else next(pictures) for n in range(len(items))]
    _check_pixels(visuals, where)
    return visuals


def sounds_of(
    doc_to_audio: Callable[..., object] | str | list[str],
    doc: Doc,
    block: PromptBlock,
    where: str,
    places: Places | None = None,
) -> list[Visual]:
    """What a whole doc lets the model hear: sounds of one column, of several in order, of a template that gives a name, or of
    the task's function.

    Errors: DataError if the column is missing, the function fails, or there is no such file.
    """
    if isinstance(doc_to_audio, list):
        return [sound for column in doc_to_audio for sound in sounds_of(column, doc, block, where, places)]
    if callable(doc_to_audio):
        found = _call("doc_to_audio", doc_to_audio, doc, block, where, places)
    elif "{{" in doc_to_audio or "{%" in doc_to_audio:
        found = evaluate_field(doc_to_audio, doc, block, what="doc_to_audio", where=where)
    else:
        found = require_column(doc, doc_to_audio, "doc_to_audio", where)
    return to_visuals(found, block, where, places, "doc_to_audio")


def heard_beside(sounds: Sequence[Visual], shown: Sequence[Visual], where: str) -> list[Visual]:
    """What a question shows, and behind it the sounds that it lets hear.

    The sound of a shown video is left out where it is there already, and where the video has none: a silent video is asked
    about without sound. Its frames say so, and the first one of a task is logged.
    """
    videos = [_part(each) for each in shown if isinstance(each, Frames)]
    there, heard = [_part(each) for each in shown if isinstance(each, Sound)], list[Sound]()
    silent = list[object]()
    for each in sounds:
        if not isinstance(each, Sound):
            continue
        if (part := _part(each)) in videos:
            if part in there:
                continue
            if each.is_of_silent_video:
                _say_silent(where.partition(" doc ")[0])(where, each.name)
                silent.append(part)
                continue
        heard.append(each)
    marked = [each.asked_for_sound() if isinstance(each, Frames) and _part(each) in silent else each for each in shown]
    return [*marked, *heard]


def _part(visual: Frames | Sound) -> tuple[object, float | None, float | None]:
    """(file, start, end) of a video or a sound: equal for a video and its own sound. Sound that is no file is of no video."""
    if isinstance(visual, Sound):
        return visual.source if isinstance(visual.source, str) else id(visual), visual.start, visual.end
    clip = visual.clip(0)
    return clip.path, clip.start, clip.end


@lru_cache(maxsize=64)
def _say_silent(task: str) -> Callable[[str, str], None]:
    """Logs the first video of a task that has no sound: called with its doc and its name."""
    told = list[str]()

    def say(where: str, name: str) -> None:
        if not told:
            told.append(name)
            said = "%s: the video %r has no sound and is asked about without. Others are counted in the results."
            logger.warning(said, where, name[-100:])

    return say


def _check_pixels(visuals: Sequence[Visual], where: str) -> None:
    """Raises DataError if what a doc shows has more pixels together than may be in memory."""
    if (pixels := sum(map(_pixels, visuals))) > MOST_PIXELS_OF_A_DOC:
        frames = any(isinstance(visual, Frames) for visual in visuals)
        what = f"the {'frames' if frames else 'pictures'} of this document have {pixels:,} pixels"
        hint = "Make them smaller, for example with --video frames=32,size=448." if frames else ""
        raise DataError(f"{what}; the limit is {MOST_PIXELS_OF_A_DOC:,}.", where=where, hint=hint)


def _flat(found: object) -> Iterator[object]:
    """The items of lists, also within lists, without None: a column of a picture that a doc has not."""
    if isinstance(found, Sequence) and not isinstance(found, (str, bytes, bytearray)):
        for item in found:
            yield from _flat(item)
    elif found is not None:
        yield found


def kinds_of(visuals: Iterable[Visual]) -> str:
    """What is shown, a letter each in its order: i for a picture and for each frame of a video, a for a sound."""
    return "".join(
        "a" if isinstance(each, Sound) else "i" * (len(each.digests) if isinstance(each, Frames) else 1)
        for each in visuals
    )


def with_frames(visuals: Sequence[Visual], cache: PictureCache, seen: Seen | None = None) -> list[Image]:
    """The pictures, with each video's frames in its place and without sounds. The last frames are kept in the cache.

    seen: called with the digest and the pixels of each frame that is decoded.
    """

    def decoded(frames: Frames) -> list[Visual]:
        pictures = frames.pictures()
        if seen is not None:
            for digest, picture in zip(frames.digests, pictures, strict=True):
                seen(digest, picture)
        return list(pictures)

    shown: list[Image] = []
    for visual in visuals:
        found = cache.get(visual.digests, partial(decoded, visual)) if isinstance(visual, Frames) else [visual]
        shown += [each for each in found if not isinstance(each, (Frames, Sound))]
    return shown


def _pixels(visual: Visual) -> int:
    if isinstance(visual, Sound):
        return 0
    return visual.pixels if isinstance(visual, Frames) else visual.width * visual.height


def messages_of(
    doc_to_messages: Callable[..., object], doc: Doc, block: PromptBlock, where: str, places: Places | None = None
) -> tuple[list[Message], list[Visual]]:
    """(the turns that a task's function writes for a whole doc, their pictures and videos in order).

    The function returns `[{"role": "user", "content": [{"type": "image", "url": picture}, {"type": "text", "text": "..."}]}]`.
    A part {"type": "video", "url": a path or a Video} becomes a place for each of its frames, and a part {"type": "audio", "url":
    ...} gives a sound as `doc_to_audio` does.
    Errors: DataError if it fails or returns another kind of turn or part.
    """
    turns = _call("doc_to_messages", doc_to_messages, doc, block, where, places)
    if not isinstance(turns, list) or not turns:
        raise DataError(f"doc_to_messages gave {turns!r:.80}; expected a list of turns.", where=where)
    for turn in turns:
        if not isinstance(turn, Mapping) or turn.get("role") not in ROLES or not isinstance(turn.get("content"), list):
            hint = f"A turn has a `role` ({', '.join(ROLES)}) and `content`, a list of parts."
            raise DataError(f"doc_to_messages gave the turn {turn!r:.80}.", where=where, hint=hint)
    chat = [{"role": turn["role"], "content": turn["content"]} for turn in turns]
    return with_places(
        chat, "doc_to_messages", where, lambda given, what: to_visuals(given, block, where, places, what)
    )


def with_places(
    messages: Sequence[Message], what: str, where: str, shows: Callable[[list[object], str], list[Visual]]
) -> tuple[list[Message], list[Visual]]:
    """(messages of a task's code with a place for each picture, frame and sound, these pictures, videos and sounds in order).

    what: the code, for errors. shows: (what a part gives, the code) -> what is shown of it, as of `to_visuals`.
    """
    visuals: list[Visual] = []

    def parts(part: Any) -> list[JsonObject]:
        kind = part.get("type") if isinstance(part, Mapping) else None
        if kind == "text" and isinstance(part.get("text"), str):
            return [{"type": "text", "text": part["text"]}]
        if kind not in ("image", "video", "audio") or not (kind in part or "url" in part):
            fault = f"{what} gave a part that is neither text nor picture nor video nor sound: {part!r:.80}."
            raise DataError(fault, where=where)
        given = part[kind] if kind in part else part["url"]
        found = shows([given], "doc_to_audio" if kind == "audio" else what)
        if kind == "audio":
            shown, before = heard_beside(found, visuals, where), len(visuals)
            visuals[:], found = shown[:before], shown[before:]
        if kind == "video" and not any(isinstance(visual, Frames) for visual in found):
            fault = f"{what} gave a part of type video with {type(given).__name__}; expected a Video or a path."
            raise DataError(fault, where=where)
        visuals.extend(found)
        return [{"type": PARTS[letter]} for letter in kinds_of(found)]

    placed = [
        {**message, "content": [each for part in message["content"] for each in parts(part)]} for message in messages
    ]
    _check_pixels(visuals, where)
    return placed, visuals


def _call(
    name: str, function: Callable[..., object], doc: Doc, block: PromptBlock, where: str, places: Places | None
) -> object:
    """What a task's function returns. It may decode pictures, so all that it raises is a DataError of this doc."""
    with decoding(where), during(PLACES, places or Places()):
        try:
            return call(function, doc, block, second=True)
        except (MMEvalError, OSError, SyntaxError, ValueError):
            raise
        except Exception as error:  # the task's own code
            what, hint = f"{name} failed: {kind_and_text(error)}", _undecoded_columns(doc) or lacking(error, doc)
            raise DataError(f"{what}." if hint else what, where=where, hint=hint) from error


def _undecoded_columns(doc: Doc) -> str:
    """A hint at columns with pictures as bytes, which a data set written without `datasets` has; empty where there are none."""
    names = [name for name, value in doc.items() if isinstance(value, Mapping) and value.keys() == {"bytes", "path"}]
    if not names:
        return ""
    said = ", ".join(map(repr, names[:5]))
    return (
        f"The pictures are bytes ({said}): give the columns the type of pictures, cast_column(NAME, datasets.Image())."
    )


def pictures_of_another(
    doc_id: int, own: list[Visual], pictures_of: Callable[[int], list[Visual]], count: int, seed: int, where: str
) -> list[Visual]:
    """As many pictures and sounds as a doc has, of the next of `count` docs with other ones that can be read (`blind.others`).

    Each is of the same kind as the doc's own in its place.
    own: the doc's pictures and sounds. pictures_of: those of another doc. Errors: DataError if no doc has other ones.
    """
    mine = identities_of([lambda: own], where)
    for other in others(doc_id, count, seed) if own else ():
        try:
            found = pictures_of(other)
            theirs = identities_of([lambda found=found: found], where)  # type: ignore[misc]
        except DataError:
            continue
        if (swapped := _in_place_of(own, found)) and not _shares_any(mine, theirs):
            return swapped
    if own:
        kinds = {isinstance(each, Sound) for each in own}
        what = "pictures and sounds" if len(kinds) > 1 else "sounds" if True in kinds else "pictures"
        raise DataError(f"no other document of the task has other {what}.", where=where, hint="Use --blind alone.")
    return own


def _in_place_of(own: list[Visual], found: list[Visual]) -> list[Visual]:
    """For each of a doc's pictures and sounds one of its kind of another doc, which may come again; none if it has none."""
    sounds = [each for each in found if isinstance(each, Sound)]
    shown = [each for each in found if not isinstance(each, Sound)]
    swapped, counts = list[Visual](), {True: 0, False: 0}
    for each in own:
        is_sound = isinstance(each, Sound)
        choice: Sequence[Visual] = sounds if is_sound else shown
        if not choice:
            return []
        swapped.append(choice[counts[is_sound] % len(choice)])
        counts[is_sound] += 1
    return swapped


def _shares_any(mine: Identities, theirs: Identities) -> bool:
    """Whether two docs show the same pictures, or let the model hear the same sounds."""
    if mine.error is not None or theirs.error is not None:
        return theirs.error is not None
    sounds = [[each.digest for each in one.heard] for one in (mine, theirs)]
    pictures = [list(one.digests) for one in (mine, theirs)]
    same_pictures = any(pictures[0]) and pictures[0] == pictures[1]
    return same_pictures or bool(sounds[0]) and sounds[0] == sounds[1]


def as_files(visuals: Sequence[Visual], seen: Seen | None, where: str) -> list[Visual]:
    """What is shown, each picture without its pixels in memory (`as_sent`). seen: as of `identities_of`."""
    found = list[Visual]()
    for visual in visuals:
        if isinstance(visual, (Frames, Sound)):
            found.append(visual)
            continue
        with decoding(where):
            sent = as_sent(visual)
            if sent is not visual and seen is not None:
                seen(picture_digest(sent), visual)
        found.append(sent)
    return found


class Identities(NamedTuple):
    """What the turns of a prompt show.

    digests: of each turn's pictures and frames. pixels: of all. clips: which of them are the frames of a video.
    error: why one can't be shown; None if all can. heard: the sounds. kinds: of each turn what it shows, as of `kinds_of`.
    """

    digests: list[list[str]]
    pixels: int
    clips: tuple[Clip, ...] = ()
    error: MMEvalError | None = None
    heard: tuple[Heard, ...] = ()
    kinds: tuple[str, ...] = ()


def identities_of(
    loaders: Sequence[PictureLoader],
    where: str,
    seen: Seen | None = None,
    identify: Callable[[Image], str] = picture_digest,
) -> Identities:
    """The identities of what is shown. Videos are not decoded; sounds are, once, and not kept.

    seen: called with the digest and the pixels of each picture that was decoded for it. identify: gives the digest of a picture.
    """
    if not loaders:
        return Identities([], 0)
    found, clips = Identities([], 0), list[Clip]()
    heard, kinds = list[Heard](), list[str]()
    parts, videos = dict[object, int](), list[object]()
    pixels = 0
    try:
        for load in loaders:
            found.digests.append([])
            visuals = load()
            kinds.append(kinds_of(visuals))
            for visual in visuals:
                if isinstance(visual, Sound):
                    parts.setdefault(_part(visual), len(heard))
                    heard.append(visual.heard)
                elif isinstance(visual, Frames):
                    clips.append(visual.clip(sum(map(len, found.digests))))
                    videos.append(_part(visual))
                    found.digests[-1].extend(visual.digests)
                else:
                    try:
                        with decoding(where):
                            digest = identify(visual)
                    except DataError as error:  # decoded only now; its file may have been opened for another doc
                        raise DataError(error.what, where=where, hint=error.hint) from error
                    found.digests[-1].append(digest)
                    if seen is not None and not digest.startswith(FILE_MARK):
                        seen(digest, visual)
                pixels += _pixels(visual)
    except DataError as error:
        return Identities([], pixels, error=error.located(where))
    if parts:
        pairs = zip(clips, videos, strict=True)  # two videos that are one file and part have one sound
        clips = [replace(clip, sound=parts.pop(video, None)) for clip, video in pairs]
    return found._replace(pixels=pixels, clips=tuple(clips), heard=tuple(heard), kinds=tuple(kinds))


class _Kept(NamedTuple):
    """A file of a picture on the disk: its path, length and check sum, and what `of_sent_file` needs."""

    path: str
    length: int
    check: int
    mime: str
    digest: str
    size: tuple[int, int]


class _Spilled:
    """The files of pictures that a cache has dropped and that only a task's function can make again, on the disk.

    They have a temporary folder, which ends with this. The oldest go where they are more than `most` bytes.
    """

    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most, self._bytes, self._count = most, 0, 0
        self._folder: tempfile.TemporaryDirectory[str] | None = None
        self._found: OrderedDict[object, list[_Kept]] = OrderedDict()

    def put(self, key: object, visuals: Sequence[Visual]) -> None:
        """Keeps the pictures of a doc if all of them are such files. A full disk keeps none: they are made again."""
        files = [each for visual in visuals if (each := _sent_file(visual)) is not None]
        if len(files) != len(visuals) or key in self._found:
            return
        kept = list[_Kept]()
        try:
            self._folder = self._folder or tempfile.TemporaryDirectory(prefix="mm-eval-pictures-")
            for mime, content, digest, size in files:
                self._count += 1
                path = os.path.join(self._folder.name, str(self._count))
                kept.append(_Kept(path, len(content), zlib.crc32(content), mime, digest, size))
                with open(path, "wb") as file:
                    file.write(content)
        except OSError:
            self._remove(kept)
            return
        self._found[key] = kept
        self._bytes += sum(each.length for each in kept)
        while self._bytes > self._most:
            _, oldest = self._found.popitem(last=False)
            self._bytes -= sum(each.length for each in oldest)
            self._remove(oldest)

    def get(self, key: object) -> list[Visual] | None:
        """The pictures of a doc; None where they are not kept, or not as they were written."""
        visuals = list[Visual]()
        for each in self._found.get(key, ()):
            try:
                with open(each.path, "rb") as file:
                    content = file.read()
            except OSError:
                return None
            if (len(content), zlib.crc32(content)) != (each.length, each.check):
                return None
            visuals.append(of_sent_file(each.mime, content, each.digest, each.size))
        return visuals or None

    @staticmethod
    def _remove(kept: Sequence[_Kept]) -> None:
        for each in kept:
            with suppress(OSError):
                os.unlink(each.path)


def _sent_file(visual: Visual) -> tuple[str, bytes, str, tuple[int, int]] | None:
    """(MIME type, content, digest of the pixels, size) of a picture of `of_sent_file`; None for any other visual."""
    from mm_eval.data.shared import original_of

    if isinstance(visual, (Frames, Sound)):
        return None
    original = original_of(visual)
    if original is None or original.digest is None or original.file_digest != "":
        return None  # it is read again from the data
    return (*encoded(visual, original.digest), original.digest, visual.size)


class PictureCache:
    """The pictures of the last docs, since a request's key and, some windows of docs later, its prompt need them.

    It is bounded by bytes of pixels, or of files whose pixels are not decoded. A model that needs none (dummy,
    replay, servers) leaves it small. For another one it grows with each picture that is decoded once more because it was dropped
    too early, until it holds the docs in flight. Pictures of `as_sent` that are dropped go to the disk. Docs with
    nothing but stored files of sound are not kept.
    """

    def __init__(self, max_bytes: int = 24 * 2**20, most_bytes: int | None = None) -> None:
        self._spilled = _Spilled()
        self._max_bytes, self._bytes = max_bytes, 0
        memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")  # of this machine, in bytes
        self._most_bytes = most_bytes or max(max_bytes, min(MOST_BYTES, memory // 8))
        self._pictures: OrderedDict[object, list[Visual]] = OrderedDict()
        self._sizes: dict[object, int] = {}
        self._dropped: OrderedDict[object, None] = OrderedDict()
        self._lock = threading.RLock()

    def get(self, key: object, load: PictureLoader) -> list[Visual]:
        """The pictures under a key, loaded if they are not cached. An error of `load` is not cached."""
        with self._lock:
            again = key in self._dropped
            self._dropped.pop(key, None)
            if key in self._pictures:
                self._pictures.move_to_end(key)
                return self._pictures[key]
            if self._bytes > self._max_bytes:  # one large picture: two of them should not be in memory
                for known, shown in self._pictures.items():
                    self._spilled.put(known, shown)
                self._pictures.clear()
                self._sizes.clear()
                self._bytes = 0
            spilled = self._spilled.get(key)
        again = again and spilled is None
        pictures = load() if spilled is None else spilled
        if pictures and all(isinstance(each, Sound) and each.is_stored for each in pictures):
            return pictures  # read again from the data as quickly as from here
        undecoded = [each for visual in pictures if (each := _undecoded(visual)) is not None]
        with self._lock:
            if again and not undecoded:
                self._grow()
            self._pictures.setdefault(key, pictures)
            self._count(key)
        for original in undecoded:
            original.decoded = partial(self._note_decoded, key, again)
        return pictures

    def _note_decoded(self, key: object, again: bool) -> None:
        """Pixels of a key's pictures were decoded. again: they had been before."""
        with self._lock:
            if again:
                self._grow()
            self._count(key)

    def _grow(self) -> None:
        self._max_bytes = min(2 * self._max_bytes, self._most_bytes)

    def _count(self, key: object) -> None:
        """Brings the size of a key's pictures up to date, and drops the oldest ones."""
        if key in self._pictures:
            size = _size(self._pictures[key])
            self._bytes += size - self._sizes.get(key, 0)
            self._sizes[key] = size
        while self._bytes > self._max_bytes and len(self._pictures) > 1:
            dropped, pictures = self._pictures.popitem(last=False)
            self._spilled.put(dropped, pictures)
            self._bytes -= self._sizes.pop(dropped)
            self._dropped[dropped] = None
            if len(self._dropped) > REMEMBERED:
                self._dropped.popitem(last=False)


def _undecoded(visual: Visual) -> Original | None:
    """As `shared.undecoded`; None for a video."""
    from mm_eval.data.shared import undecoded

    return None if isinstance(visual, (Frames, Sound)) else undecoded(visual)


def _size(visuals: list[Visual]) -> int:
    """Bytes in memory: frames of a video, sounds, and pictures whose digest was known, are not decoded yet."""
    pictures = [visual for visual in visuals if not isinstance(visual, (Frames, Sound))]
    originals = [(visual, _undecoded(visual)) for visual in pictures]
    return sum(visual.held for visual in visuals if isinstance(visual, Sound)) + sum(
        4 * visual.width * visual.height if original is None else original.root.file_bytes
        for visual, original in originals
    )
