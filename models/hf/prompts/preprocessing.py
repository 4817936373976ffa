"""A picture is decoded and preprocessed once, however many questions ask about it.

A checkpoint's processor turns pictures into tensors, writes their image tokens into the text, and tokenises it. Only the first
step is expensive, and it depends on the pixels alone. `Preprocessor` runs the checkpoint's own processor with a stand-in for its
image processor, which returns the tensors of known pictures. So the ids are those of the processor itself.

The processors of many families write a picture as its image token repeated, and nothing else. Where that was so in a picture's
first prompt (`learn`), the next ones are tokenised with one image token and expanded without the processor (`written`). An added
token is never merged with the text around it, so that the ids are the same.

`Family.pictures` states whether the tensors of a picture depend on the other pictures of its prompt.
"""

from __future__ import annotations

import copy
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, groupby
from typing import TYPE_CHECKING, Any, Generic, TypeVar
from weakref import WeakValueDictionary

from mm_eval.data.decode import IN_FLIGHT
from mm_eval.values.errors import ModelError, kind_and_text, said_by
from mm_eval.values.types import Instance, Options

from .sounds import of_sound

if TYPE_CHECKING:
    from numpy.typing import NDArray
    from PIL.Image import Image

Value = TypeVar("Value")

MOST_BYTES = 128 * 2**20
"""Bytes of preprocessed pictures that are kept: 95 pictures of LLaVA-1.5, or six of Qwen2-VL with 1,000 tokens each."""


@dataclass(frozen=True)
class Picture:
    """The processor's output for a picture (pixel_values, image_grid_thw, ...), or for all of a prompt if it can't be divided.

    A video is one, too (videos.py), and so are all sounds of a prompt together (sounds.py).

    digests: of its pictures or sounds; empty if unknown. in_video: these sounds stand between the frames of videos.
    """

    digests: tuple[str, ...]
    tensors: dict[str, Any] = field(repr=False)
    in_video: bool = False

    @property
    def is_video(self) -> bool:
        """Whether the model has an encoder of its own for these tensors."""
        return "pixel_values_videos" in self.tensors

    @property
    def is_sound(self) -> bool:
        """Whether these are the tensors of sounds, which the model takes as they are."""
        return bool(of_sound(self.tensors))


@dataclass
class Known:
    """What is known of a picture, or of all pictures of a prompt if they depend on each other.

    tensors: the image processor's output. The rest is learned from the first prompt, if the processor only repeats image tokens.
    counts: image tokens of each picture. types: the value of each per-token row at image tokens; it is 0 elsewhere.
    """

    tensors: Mapping[str, Any] = field(repr=False)
    pictures: tuple[Picture, ...] = ()
    types: dict[str, int] = field(default_factory=dict)
    counts: tuple[int, ...] = ()


class LastValues(Generic[Value]):
    """The last values by key, limited in bytes. The newest is kept whatever its size. Threads may share it."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes, self.bytes = most_bytes, 0
        self._values: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable) -> Value | None:
        """The value of a key; None if it is not kept."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: Hashable, value: Value, size: int) -> None:
        """Keeps a value of so many bytes and drops the oldest ones for which there is no room."""
        with self._lock:
            if key in self._values:
                self.bytes -= self._values.pop(key)[1]
            self._values[key] = value, size
            self.bytes += size
            while self.bytes > self.most_bytes and len(self._values) > 1:
                self.bytes -= self._values.popitem(last=False)[1][1]

    def clear(self) -> None:
        """Drops everything to free memory."""
        with self._lock:
            self._values.clear()
            self.bytes = 0


class Preprocessor:
    """A checkpoint's processor with the tensors of the last pictures. Threads may share it.

    depends: "picture", "prompt" or "processor" (`Family.pictures`). flat, types_on_request: as of `Family`. The processor's
    options are fixed, so that digests are the key.
    """

    def __init__(
        self,
        processor: Any,
        depends: str,
        flat: bool = False,
        types_on_request: bool = False,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        self._processor, self._depends, self._is_flat = processor, depends, flat
        self._options = {"return_mm_token_type_ids": True} if types_on_request else {}
        self._kept: LastValues[Known] = LastValues(most_bytes)
        self._locks = WeakValueDictionary[tuple[str, ...], threading.Lock]()
        self._taking = threading.Lock()

    def knows(self, instance: Instance) -> bool:
        """Whether the pictures of an instance are identified by their digests alone."""
        return bool(instance.image_digests) and self._processor is not None and self._depends != "processor"

    def __call__(
        self, text: str, instance: Instance, loaded: Sequence[Image] | None, *, special: bool
    ) -> tuple[object, list[Known]]:
        """(The processor's output for a prompt, what is known of each of its pictures, or of all together.)

        loaded: the pictures, or None if the instance `knows` them. special: whether special tokens are added.
        Raises DataError for a broken picture, and whatever the processor raises.
        """
        options = {"text": [text], "add_special_tokens": special, "return_tensors": "pt", **self._options}
        if loaded is not None:
            return self._processed(list(loaded), options), []
        units: list[Known] = []

        def known(given: Mapping[str, Any]) -> Any:
            units[:] = self._known(instance, given)
            return _combined([unit.tensors for unit in units])

        processor = copy.copy(self._processor)
        processor.image_processor = _StandIn(processor.image_processor, known)
        blank = _blank_pictures(len(instance.image_digests))
        encoded = processor(images=blank if self._is_flat else [blank], **options)
        return encoded, units

    def heard(
        self, text: str, pictures: list[Image], samples: list[NDArray[Any]], rate: int, *, special: bool
    ) -> object:
        """The processor's output for a prompt with sounds."""
        options = {"text": [text], "add_special_tokens": special, "return_tensors": "pt", **self._options}
        return self._processed(pictures, {**options, "audio": samples, "sampling_rate": rate})

    def _processed(self, pictures: list[Image], options: Options) -> object:
        """The output for a prompt; its pictures stand in a list of their own, or in one list where that is refused."""
        if not pictures or self._is_flat:
            return self._processor(**({"images": pictures} if pictures else {}), **options)
        try:
            return self._processor(images=[pictures], **options)
        except (ValueError, TypeError, AttributeError) as error:
            if self._depends != "processor":
                raise
            try:
                found = self._processor(images=pictures, **options)
            except Exception:
                raise error from None
            self._is_flat = True
            return found

    def learned(self, instance: Instance) -> list[Known]:
        """What is known of an instance's pictures, if all of it is kept and its prompts need no processor; else nothing."""
        if not self.knows(instance):
            return []
        units = [self._kept.get(key) for key in self._keys(instance)]
        found = [unit for unit in units if unit is not None and unit.counts]
        return found if len(found) == len(units) else []

    def once(self, key: tuple[str, ...], make: Callable[[], Known], pixels: int) -> Known:
        """What is kept under a key, or what `make` gives, in one thread only. pixels: that it decodes."""
        known = self._kept.get(key)
        if known is not None:
            return known
        with IN_FLIGHT.held(pixels), self._lock(key):
            known = self._kept.get(key)
            if known is None:
                known = make()
                self._kept.put(key, known, _size(known.tensors))
            return known

    def _lock(self, key: tuple[str, ...]) -> threading.Lock:
        """The lock of one key, so that threads wait for each other only on the same pictures."""
        with self._taking:
            return self._locks.setdefault(key, threading.Lock())

    def _keys(self, instance: Instance) -> list[tuple[str, ...]]:
        digests = instance.image_digests
        return [(digest,) for digest in digests] if self._depends == "picture" else [digests]

    def _known(self, instance: Instance, options: Options) -> list[Known]:
        """The image processor's output for each picture of an instance, or one for all of them."""
        keys = self._keys(instance)
        found = [self._kept.get(key) for key in keys]
        if all(value is not None for value in found):
            return [value for value in found if value is not None]
        loaded: list[Image] = []
        made = []
        with IN_FLIGHT.held(instance.pixels):  # before a lock is taken, so that nobody waits for pixels with one
            for place, key in enumerate(keys):
                with self._lock(key):
                    value = found[place] or self._kept.get(key)
                    if value is None:
                        loaded = loaded or decoded(instance)
                        some = [loaded[place]] if self._depends == "picture" else loaded
                        value = Known(self._processor.image_processor([some], **options))
                        self._kept.put(key, value, _size(value.tensors))
                made.append(value)
        return made


def refusal(name: str, error: Exception) -> ModelError:
    """What the processor of a model raised for one prompt, as the error of this prompt alone.

    Processors raise ValueError on purpose. For a picture that they did not expect others follow from their arithmetic, such as
    ZeroDivisionError for a side of 0 pixels; these are told with their kind.
    """
    said = (said_by(error) if isinstance(error, ValueError) else "") or kind_and_text(error)
    return ModelError(f"The processor of {name!r} refuses the prompt: {said}")


class _StandIn:
    """Takes the place of an image processor in a call of its processor, with the tensors of known pictures."""

    def __init__(self, own: object, known: Callable[[Options], object]) -> None:
        self._own, self._known = own, known

    def __call__(self, images: object = None, **options: object) -> object:
        return self._known(options)

    def __getattr__(self, name: str) -> object:
        return getattr(self._own, name)


def _blank_pictures(count: int) -> list[Image]:
    """Pictures of one pixel: a processor only counts them."""
    from PIL import Image

    return [Image.new("RGB", (1, 1)) for _ in range(count)]


def decoded(instance: Instance) -> list[Image]:
    """The decoded pictures of an instance, as many as it has digests."""
    pictures = instance.images() if instance.images is not None else []
    if len(pictures) != len(instance.image_digests):
        raise ModelError(f"The question has {len(pictures)} pictures and {len(instance.image_digests)} digests.")
    return pictures


def _combined(outputs: Sequence[Mapping[str, Any]]) -> object:
    """One output of an image processor for the pictures of several. A new object, since processors remove entries from it.

    A tensor that only some pictures have is theirs in order: deepseek_ocr2 has tiles for large pictures alone.
    """
    kind: Any = type(outputs[0])
    if len(outputs) == 1:
        return kind(data=dict(outputs[0]))
    import torch

    names = dict.fromkeys(name for output in outputs for name in output)
    columns = {name: [output[name] for output in outputs if name in output] for name in names}
    return kind(
        data={
            name: joined(values)
            if isinstance(values[0], torch.Tensor)
            else [each for value in values for each in value]
            for name, values in columns.items()
        }
    )


def joined(parts: Sequence[Any]) -> object:
    """Concatenated tensors, or lists. If later dimensions differ (tiles of a picture), they are padded with zeros."""
    import torch

    if isinstance(parts[0], list):  # unlimited_ocr counts tiles in lists
        return [each for part in parts for each in part]
    shape = [max(sizes) for sizes in zip(*(part.shape[1:] for part in parts), strict=True)]
    filled = []
    for part in parts:
        missing = [want - have for want, have in zip(shape, part.shape[1:], strict=True)]
        pads = [size for gap in reversed(missing) for size in (0, gap)]
        filled.append(torch.nn.functional.pad(part, pads) if any(missing) else part)
    return torch.cat(filled)


def written(
    units: Sequence[Known], brief: Sequence[int], token: int
) -> tuple[list[int], dict[str, list[int]], tuple[int, ...], tuple[Picture, ...]]:
    """(ids, per-token rows, places of image tokens, pictures) of a prompt whose pictures are learned.

    brief: its ids with one image token for each picture.
    """
    ids, places = _expanded(brief, token, [count for unit in units for count in unit.counts])
    rows = {name: _row(len(ids), places, value) for name, value in units[0].types.items()}
    return ids, rows, places, tuple(picture for unit in units for picture in unit.pictures)


def learn(
    units: Sequence[Known], brief: Sequence[int], token: int, ids: list[int], types: Mapping[str, list[int]],
    pictures: Sequence[Picture], tensors: Iterable[str],
) -> None:  # fmt: skip
    """Learns from a prompt of the processor how its pictures are written, if `written` would give the same prompt.

    brief: the prompt's ids with one image token for each picture. ids, types, pictures: the processor's. tensors: names of its
    tensors; nothing is learned if one of them is not the image processor's, since it depends on the text (mllama's mask).
    """
    runs = [len(list(run)) for each, run in groupby(ids, token.__eq__) if each]
    names = set(tensors)
    if brief.count(token) != len(runs) or not all(names <= unit.tensors.keys() for unit in units):
        return
    found, places = _expanded(brief, token, runs)
    values = {name: row[places[0]] for name, row in types.items()} if found == ids else {}
    if found != ids or any(row != _row(len(ids), places, values[name]) for name, row in types.items()):
        return
    one_each = len(units) == len(runs) == len(pictures)
    if len(units) > 1 and not one_each:
        return
    for place, unit in enumerate(units):
        unit.pictures, unit.types = (pictures[place],) if one_each else tuple(pictures), values
        unit.counts = (runs[place],) if one_each else tuple(runs)  # last, since other threads ask for it


def _expanded(brief: Sequence[int], token: int, counts: Sequence[int]) -> tuple[list[int], tuple[int, ...]]:
    """(ids with each image token repeated by its count, the places of the image tokens)."""
    ids, places = list[int](), list[int]()
    left = iter(counts)
    for each in brief:
        if each == token:
            count = next(left)
            places += range(len(ids), len(ids) + count)
            ids += [token] * count
        else:
            ids.append(each)
    return ids, tuple(places)


def _row(length: int, places: Sequence[int], value: int) -> list[int]:
    row = [0] * length
    for place in places:
        row[place] = value
    return row


def pictures_of(
    tensors: Mapping[str, Any], parts: Sequence[Mapping[str, object]], count: int, digests: tuple[str, ...]
) -> tuple[Picture, ...]:
    """The pictures of a prompt one by one where that is possible, else one for all of them.

    tensors: the processor's, for all pictures. parts: those of each picture, if they do not depend on each other. Without parts
    the tensors are divided, if each has one row per picture or one row per patch.
    """
    known = len(digests) == count
    if len(parts) == count and all(tensors.keys() <= part.keys() for part in parts):
        pairs = zip(digests, parts, strict=True)
        return tuple(Picture((digest,), {name: part[name] for name in tensors}) for digest, part in pairs)
    patches = tensors["image_grid_thw"].prod(-1).tolist() if "image_grid_thw" in tensors else []
    divided: dict[str, Any] = {}
    for name, value in tensors.items():
        rows = [1] * count if len(value) == count else patches
        if len(rows) != count or sum(rows) != len(value):
            return (Picture(digests if known else (), dict(tensors)),)
        divided[name] = [value[end - some : end] for some, end in zip(rows, accumulate(rows), strict=True)]
    return tuple(
        Picture((digests[place],) if known else (), {name: values[place] for name, values in divided.items()})
        for place in range(count)
    )


def _size(output: Mapping[str, object]) -> int:
    return sum(int(value.nbytes) for value in output.values() if hasattr(value, "nbytes"))
