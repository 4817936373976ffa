"""A clip of sound in a question, not decoded, and what it is made of: a file, bytes, an array, or what `datasets` stores."""

from __future__ import annotations

import hashlib
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import ceil
from typing import IO, TYPE_CHECKING, Any

from mm_eval.data import kept_files
from mm_eval.data.archives import is_of_bytes
from mm_eval.data.data_files import file_digest
from mm_eval.data.places import SUFFIXES as OF_VIDEOS
from mm_eval.data.places import Places, put_in_place
from mm_eval.data.sound.forms import CODECS, Form, form_of, names_sound
from mm_eval.data.sound.known import About, keep, key_of, known
from mm_eval.values.errors import DataError
from mm_eval.values.types import Audio, Heard

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from mm_eval.data.sound.wav import Block, Wav

    Samples = NDArray[np.float32]

KEYS = ("path", "array", "sampling_rate")
"""What a decoded column of `datasets` has."""

MOST_RATE, MOST_CHANNELS = 768_000, 64
"""The highest rate and the most channels of an array that is taken for sound."""

LARGE = 2**24
"""Bytes of a file that takes longer to read than its digest in a file of its own."""

SMALL = 1e-6
"""Of a sample: 0.1 s is 0.1 s, whatever a float makes of it."""


@dataclass(frozen=True)
class _Array:
    """Samples that a task's code gave: a row for each moment."""

    rate: int
    block: Any
    bits: int


class Sound(dict[str, Any]):
    """A clip of sound, or a segment of one, decoded when its samples are asked for.

    As a dict it has the three keys of a decoded column of `datasets`: `array` (a channel alone, or the mean of all),
    `sampling_rate` and `path`. So the code of a task reads it as it reads that. Some of lmms-eval's takes what is no dict for
    missing, and asks with silence.
    """

    def __init__(
        self,
        source: str | bytes | _Array,
        start: float | None = None,
        end: float | None = None,
        name: str = "",
    ) -> None:
        """source: a path as `kept_files` takes it, the bytes of a file, or samples. start, end: seconds. name: of the file."""
        super().__init__()
        self.source, self.start, self.end = source, start, end
        self.name = os.path.basename(name or (source if isinstance(source, str) else ""))

    # What it is

    @property
    def rate(self) -> int:
        """Samples a second, as the file has them."""
        return self.form.rate

    @property
    def channels(self) -> int:
        return self.form.channels

    @property
    def length(self) -> int:
        """The samples of each channel in this segment. The segment is decoded once for it."""
        return self._about.length

    @property
    def duration(self) -> float:
        """The seconds of this segment."""
        return self.length / self.rate

    @property
    def digest(self) -> str:
        """The identity of the clip: of a lossless one its samples and rate, of a lossy one the file's bytes and the segment.

        It is decoded once for it, so that a file that can't be read is found before its question is asked.
        """
        return self._about.digest

    @property
    def is_stored(self) -> bool:
        """Whether it is a file, and no samples that a task's code made."""
        return not isinstance(self.source, _Array)

    @property
    def is_of_silent_video(self) -> bool:
        """Whether its file is a video without sound. A file that can't be read is none: it fails where it is heard."""
        if not isinstance(self.source, str):
            return False
        with suppress(OSError):
            return _is_silent_video(self.source, kept_files.stamp(self.source))
        return False

    @property
    def heard(self) -> Heard:
        """The clip as an instance and the journal have it."""
        about = self._about
        return Heard(about.digest, about.form.rate, about.form.channels, about.length, self.name, about.first)

    @property
    def held(self) -> int:
        """The bytes in memory."""
        if isinstance(self.source, str):
            return 256
        return len(self.source) if isinstance(self.source, bytes) else int(self.source.block.nbytes)

    @cached_property
    def form(self) -> Form:
        """How its file stores samples, from the head of the file."""
        from mm_eval.data.sound.reader import form_in, opened, reading

        if (known := self.__dict__.get("_about")) is not None:
            return known.form  # type: ignore[no-any-return]
        if isinstance(self.source, _Array):
            return _form_of_array(self.source)
        with reading(self.name), self._file() as (file, size, path):
            if (found := _wav(file, size)) is not None:
                return found.form
            with opened(path or file, self._unstated) as container:
                return form_in(container)

    @cached_property
    def _about(self) -> About:
        from mm_eval.data.sound.reader import reading

        if isinstance(self.source, _Array):
            return self._decoded()
        with reading(self.name):
            with self._file() as (file, size, _):
                is_wav = _wav(file, size) is not None
            key = key_of(self._file_digest() + self._unstated, self.start, self.end, is_wav)
        if (found := known(key)) is None:
            found = self._decoded()
            keep(key, found)
        return found

    def _decoded(self) -> About:
        """What is known of the clip by decoding it."""
        form = self.form
        first, end = self._segment
        counted, whole, points = 0, hashlib.sha256(), hashlib.sha256()
        is_whole = form.lossless
        begun = f"{form.rate} {form.channels} ".encode()
        whole.update(b"whole " + begun)
        points.update(b"points " + begun)
        for block in self.blocks():
            counted += len(block)
            if not form.lossless:
                continue
            if block.dtype.kind == "i":
                whole.update(block.astype("<i4", copy=False).tobytes())
            else:
                left = block * 2.0**31
                fits = (left == left.round()) & (left >= -(2.0**31)) & (left < 2.0**31)
                is_whole = is_whole and bool(fits.all())
                if is_whole:
                    whole.update(left.astype("<i4").tobytes())
                points.update((block.astype("<f4") + 0.0).tobytes())
        if not counted:
            length = f" of {self.start or 0:g} to {self.end:g} s" if self.end is not None else ""
            length = length or (f" from {self.start:g} s on" if self.start else "")
            raise self._fault(f"it has no sample{length}.")
        if form.lossless:
            return About(form, first, counted, (whole if is_whole else points).hexdigest())
        reaches_end = end is None or first + counted < end
        segment = "" if not first and reaches_end else f" {first} {first + counted}"
        return About(form, first, counted, hashlib.sha256(f"file {self._file_digest()}{segment}".encode()).hexdigest())

    @property
    def _segment(self) -> tuple[int, int | None]:
        """The first sample of the segment, and the one after its last; None for the end of the file.

        A sample belongs to [start, end) if its time does.
        """
        for edge in (self.start, self.end):
            if edge is not None and not (isinstance(edge, (int, float)) and 0 <= edge < 1e9):
                raise self._fault(f"it begins or ends at {edge!r}, which is not a number of seconds from 0.")
        rate = self.form.rate
        first = ceil((self.start or 0) * rate - SMALL)
        return first, None if self.end is None else ceil(self.end * rate - SMALL)

    def _fault(self, what: str) -> DataError:
        return DataError(f"the sound {self.name[-100:]!r} can't be read: {what}" if self.name else f"a sound: {what}")

    # Its samples

    def blocks(self) -> Iterator[Block]:
        """The samples of the segment as the file has them, some at a time: a row for each moment, a column for each channel.

        Integers use the highest of 32 bits; floats are around 1. Errors: DataError for a damaged or cut file.
        """
        from mm_eval.data.sound.reader import opened, read_from, reading
        from mm_eval.data.sound.wav import read_blocks

        first, end = self._segment
        if isinstance(self.source, _Array):
            yield self.source.block[first:end]
            return
        with reading(self.name), self._file() as (file, size, path):
            if (found := _wav(file, size)) is not None:
                last = found.length if end is None else min(end, found.length)
                yield from read_blocks(file, found, first, last)
                return
            with opened(path or file, self._unstated) as container:
                for at, block in read_from(container, file, size, first):
                    taken = block[max(0, first - at) : None if end is None else max(0, end - at)]
                    if len(taken):
                        yield taken
                    if end is not None and at + len(block) >= end:
                        return

    def samples(self, rate: int | None = None, mono: bool = False) -> Samples:
        """The samples as floats around 1: (count,) if `mono`, else (count, channels).

        mono: the mean of all channels. rate: another rate than the file's, converted as `resampled` says. First the channels are
        mixed, then the rate is converted.
        """
        import numpy as np

        from mm_eval.data.sound.convert import as_floats, mixed, resampled

        parts = [mixed(as_floats(block)) if mono else as_floats(block) for block in self.blocks()]
        if not parts:
            return np.zeros(0 if mono else (0, self.channels), np.float32)
        found = parts[0] if len(parts) == 1 else np.concatenate(parts)
        return found if rate is None or rate == self.rate else resampled(found, self.rate, rate)

    def wav(self) -> bytes:
        """The segment as a WAV file, at its own rate and with its own channels.

        Whole numbers keep their bits; decoded lossy sound is written with 16 bits, floats of a lossless file as floats.
        """
        from mm_eval.data.sound.wav import head_of, stored

        form = self.form
        is_float = form.lossless and not form.bits
        bits = 32 if is_float else -(-(form.bits or 16) // 8) * 8
        body = [stored(block, bits, is_float) for block in self.blocks()]
        size = sum(map(len, body))
        head = head_of(form.rate, form.channels, bits, size // (form.channels * bits // 8), is_float)
        return b"".join([head, *body, b"\0" * (size % 2)])

    def encoded(self, forms: tuple[str, ...] = ("wav",)) -> tuple[str, bytes]:
        """(form, content) of a file with these samples: the stored one if it is in one of the forms and no segment is cut, else
        a WAV.

        forms: keys of `forms.MIME` that the receiver takes.
        """
        if self.start is None and self.end is None and not isinstance(self.source, _Array):
            with self._file() as (file, _, _):
                form = form_of(
                    file.read(16)
                )  # an ID3 tag may stand before other forms than MP3, so the codec is looked at
                if form in forms and self.form.codec in CODECS[form]:
                    file.seek(0)
                    return form, file.read()
        return "wav", self.wav()

    # As a decoded column of `datasets`

    def __getitem__(self, key: str) -> Any:
        if key == "array":
            return self.samples(mono=True)
        if key == "sampling_rate":
            return self.rate
        if key == "path":
            return self.source if isinstance(self.source, str) else self.name or None
        raise KeyError(key)

    def __contains__(self, key: object) -> bool:
        return key in KEYS

    def __iter__(self) -> Iterator[str]:
        return iter(KEYS)

    def __len__(self) -> int:
        return len(KEYS)

    def get(self, key: str, default: object = None) -> Any:
        """As of a plain dict."""
        return self[key] if key in KEYS else default

    def keys(self) -> Any:
        """As of a plain dict, and so `values` and `items`."""
        return dict.fromkeys(KEYS).keys()

    def values(self) -> Any:
        return [self[key] for key in KEYS]

    def items(self) -> Any:
        return [(key, self[key]) for key in KEYS]

    __hash__ = object.__hash__  # type: ignore[assignment]

    def __eq__(self, other: object) -> bool:
        return self is other

    def __repr__(self) -> str:
        return f"Sound({self.name or type(self.source).__name__})"

    # Its file

    def packed(self) -> list[object]:
        """The clip for another machine, where `of_wire` makes one with the same samples and the same encoded file of it."""
        found = self
        if isinstance(self.source, str) and self.start is None and self.end is None:
            with self._file() as (file, _, _):
                found = Sound(file.read(), name=self.name)
        elif not isinstance(self.source, _Array):
            import numpy as np

            form = self.form
            bits = form.bits or (0 if form.lossless else 16)  # a WAV of it has so many
            found = Sound(_Array(form.rate, np.concatenate([*self.blocks()]), bits), name=self.name)
        return found.to_wire()

    def to_wire(self) -> list[object]:
        """What another process makes the same clip of by `of_wire`: plain values, bytes and arrays."""
        given = self.source
        source = [given.rate, given.block, given.bits] if isinstance(given, _Array) else given
        return [source, self.start, self.end, self.name]

    @classmethod
    def of_wire(cls, parts: Sequence[Any]) -> Sound:
        """The clip that `to_wire` stated."""
        source, start, end, name = parts
        return cls(_Array(*source) if isinstance(source, list) else source, start, end, name)

    @property
    def _unstated(self) -> str:
        """FFmpeg's name of the format of bytes that do not state it."""
        return "gsm" if self.name.lower().endswith(".gsm") else ""

    @contextmanager
    def _file(self) -> Iterator[tuple[IO[bytes], int, str]]:
        """(the file, its size, its path if it is on this machine)."""
        if isinstance(self.source, bytes):
            yield io.BytesIO(self.source), len(self.source), ""
            return
        assert isinstance(self.source, str)
        with kept_files.local(self.source) as path, open(path, "rb") as file:
            yield file, os.fstat(file.fileno()).st_size, path

    def _file_digest(self) -> str:
        """sha256 of the file. That of a large one is kept: its segments are many."""
        from pathlib import Path

        if isinstance(self.source, bytes):
            return hashlib.sha256(self.source).hexdigest()
        with self._file() as (file, size, path):
            return file_digest(Path(path)) if size > LARGE else hashlib.file_digest(file, "sha256").hexdigest()  # type: ignore[arg-type]


@lru_cache(maxsize=4096)
def _is_silent_video(path: str, stamp: tuple[int, ...]) -> bool:
    from mm_eval.data.sound.reader import has_pictures_alone

    with kept_files.local(path) as real:
        return has_pictures_alone(real)


def _wav(file: IO[bytes], size: int) -> Wav | None:
    from mm_eval.data.sound.wav import read_head

    found = read_head(file, size)
    if found is None:
        file.seek(0)
    return found


def _form_of_array(array: _Array) -> Form:
    return Form(array.rate, int(array.block.shape[1]), array.bits, True, "array")


def sound_of(item: object, places: Places, sure: bool = False) -> Sound | None:
    """The clip of what a task's function returned; None if the item is none.

    item: a Sound or an Audio, {"array", "sampling_rate"}, {"bytes", "path"}, a decoder of `datasets`, the bytes of a file, or a
    path. A relative path is looked for below the data's folders; an absolute one is the function's own.
    sure: the item is sound whatever it looks like, as of `doc_to_audio`: then a video is taken for its sound.
    Errors: DataError if there is no such file, or the samples of an array are none.
    """
    if isinstance(item, Sound):
        return item
    start = end = None
    if isinstance(item, Audio):
        part, start, end, sure = item, item.start, item.end, True
        item = part.source
        if isinstance(item, Mapping):
            inner = sound_of(item, places, sure=True)
            return None if inner is None else Sound(inner.source, start, end, inner.name)
    if isinstance(item, Mapping):
        if item.get("array") is not None and "sampling_rate" in item:
            return Sound(_array_of(item["array"], item["sampling_rate"]), name=str(item.get("path") or ""))
        if not item.keys() <= {"bytes", "path", "sampling_rate", "array"} or not item.keys() & {"bytes", "path"}:
            if sure:
                raise DataError(f"the sound has the keys {', '.join(map(str, item))}.", hint=FORMS)
            return None
        content, name = item.get("bytes"), str(item.get("path") or "")
        if content is None:
            return sound_of(name, places, sure) if name else None
        known = form_of(bytes(content[:16]))
        return Sound(bytes(content), name=name) if sure or known or names_sound(name) else None
    if type(item).__name__ == "AudioDecoder" and hasattr(item, "get_all_samples"):
        found: Any = item.get_all_samples()
        return Sound(_array_of(found.data.numpy(), found.sample_rate))
    if isinstance(item, os.PathLike):
        item = os.fspath(item)
    if isinstance(item, (bytes, bytearray)):
        return Sound(bytes(item), start, end) if sure or form_of(bytes(item[:16])) else None
    if isinstance(item, str) and (names_sound(item) or sure):
        return Sound(_found(item, places), start, end)
    if sure:
        raise DataError(f"the sound is {type(item).__name__}.", hint=FORMS)
    return None


FORMS = (
    'Give a path, the bytes of a file, {"array", "sampling_rate"}, {"bytes", "path"}, or an Audio with start and end.'
)


def _found(name: str, places: Places) -> str:
    """The path of a file of sound, as `kept_files` takes it."""
    if "://" in name or "\0" in name:
        raise DataError(f"the sound {name[:200]!r} is not the name of a file; sound is read from a file.")
    if os.path.isabs(name) or is_of_bytes(name):
        if not (kept_files.exists(name) or put_in_place(name)):
            raise DataError(f"there is no sound file {name[-200:]!r}.")
        return name
    return places.locate(name, "video" if name.lower().endswith(OF_VIDEOS) else "sound")


def _array_of(array: object, rate: object) -> _Array:
    """Samples that a task's code gave: (count,), or (channels, count) as `datasets` has them."""
    import numpy as np

    block = np.asarray(array)
    if isinstance(rate, bool) or not isinstance(rate, (int, np.integer)) or not 0 < int(rate) <= MOST_RATE:
        raise DataError(f"the sampling_rate of a sound is {rate!r:.40}.")
    if block.ndim not in (1, 2) or not block.size or block.ndim == 2 and block.shape[0] > MOST_CHANNELS:
        shape = " x ".join(map(str, block.shape)) or "a single value"
        raise DataError(f"the array of a sound is {shape}; samples are (count,) or (channels, count).")
    rows = block.reshape(-1, 1) if block.ndim == 1 else block.T
    bits = {"int16": 16, "uint8": 8, "int32": 32}.get(str(rows.dtype), 0)
    if bits == 16:
        rows = rows.astype("i4") << 16
    elif bits == 8:
        rows = (rows.astype("i4") - 128) << 24
    elif rows.dtype.kind == "f":
        if not np.isfinite(rows).all():
            raise DataError("the array of a sound has values that are not numbers.")
        steps = rows * 2.0**15
        if (steps == np.rint(steps)).all() and steps.min() >= -(2**15) and steps.max() < 2**15:
            rows, bits = steps.astype("i4") << 16, 16  # decoded from 16 bits, as nearly all sound is
        else:
            rows = rows.astype("f4")
    elif not bits:
        raise DataError(f"the array of a sound has values of the type {block.dtype}; floats around 1 are needed.")
    return _Array(int(rate), np.ascontiguousarray(rows), bits)
