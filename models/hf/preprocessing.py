"""A picture is decoded and preprocessed once, however many questions ask about it.

A checkpoint's processor turns pictures into tensors, writes their image tokens into the text, and tokenises it. Only the first
step is expensive, and it depends on the pixels alone. `Preprocessor` runs the checkpoint's own processor with a stand-in for its
image processor, which returns the tensors of known pictures. So the ids are those of the processor itself.

`Family.pictures` states whether the tensors of a picture depend on the other pictures of its prompt.
"""

from __future__ import annotations

import copy
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import torch

from mm_eval.errors import ModelError
from mm_eval.task.decode import IN_FLIGHT
from mm_eval.types import Instance

Value = TypeVar("Value")

MOST_BYTES = 128 * 2**20
"""Bytes of preprocessed pictures that are kept: 95 pictures of LLaVA-1.5, or six of Qwen2-VL with 1,000 tokens each."""
LOCKS = 64


@dataclass(frozen=True)
class Picture:
    """The processor's output for a picture (pixel_values, image_grid_thw, ...), or for all of a prompt if it can't be divided.

    digests: of its pictures; empty if unknown.
    """

    digests: tuple[str, ...]
    tensors: dict[str, Any] = field(repr=False)


class Kept(Generic[Value]):
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

    depends: "picture", "prompt" or "processor" (`Family.pictures`). The processor's options are fixed, so that digests are
    the key.
    """

    def __init__(self, processor: Any, depends: str, most_bytes: int = MOST_BYTES) -> None:
        self._processor, self._depends = processor, depends
        self._kept: Kept[Mapping[str, Any]] = Kept(most_bytes)
        self._locks = [threading.Lock() for _ in range(LOCKS)]

    def knows(self, instance: Instance) -> bool:
        """Whether the pictures of an instance are identified by their digests alone."""
        return bool(instance.image_digests) and self._processor is not None and self._depends != "processor"

    def __call__(
        self, text: str, instance: Instance, loaded: Sequence[Any] | None, *, special: bool
    ) -> tuple[Any, list[Mapping[str, Any]]]:
        """(The processor's output for a prompt, the tensors of each of its pictures if those do not depend on each other.)

        loaded: the pictures, or None if the instance `knows` them. special: whether special tokens are added.
        Raises DataError for a broken picture, and whatever the processor raises.
        """
        options = {"text": [text], "add_special_tokens": special, "return_tensors": "pt"}
        if loaded is not None:
            return self._processor(**({"images": [list(loaded)]} if loaded else {}), **options), []
        parts: list[Mapping[str, Any]] = []

        def known(given: Mapping[str, Any]) -> Any:
            parts[:] = self._tensors(instance, given)
            return _combined(parts)

        processor = copy.copy(self._processor)
        processor.image_processor = _StandIn(processor.image_processor, known)
        encoded = processor(images=[_blank_pictures(len(instance.image_digests))], **options)
        return encoded, parts if self._depends == "picture" else []

    def _tensors(self, instance: Instance, options: Mapping[str, Any]) -> list[Mapping[str, Any]]:
        """The image processor's output for each picture of an instance, or one for all of them."""
        digests = instance.image_digests
        keys = [(digest,) for digest in digests] if self._depends == "picture" else [digests]
        found = [self._kept.get(key) for key in keys]
        if all(value is not None for value in found):
            return [value for value in found if value is not None]
        loaded: list[Any] = []
        made = []
        with IN_FLIGHT.held(instance.pixels):  # before a lock is taken, so that nobody waits for pixels with one
            for place, key in enumerate(keys):
                with self._locks[hash(key) % LOCKS]:
                    value = found[place] or self._kept.get(key)
                    if value is None:
                        loaded = loaded or _pictures(instance)
                        some = loaded if key is digests else [loaded[place]]
                        value = self._processor.image_processor([some], **options)
                        self._kept.put(key, value, _size(value))
                made.append(value)
        return made


class _StandIn:
    """Takes the place of an image processor in a call of its processor, with the tensors of known pictures."""

    def __init__(self, own: Any, known: Callable[[Mapping[str, Any]], Any]) -> None:
        self._own, self._known = own, known

    def __call__(self, images: Any = None, **options: Any) -> Any:
        return self._known(options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)


def _blank_pictures(count: int) -> list[Any]:
    """Pictures of one pixel: a processor only counts them."""
    from PIL import Image

    return [Image.new("RGB", (1, 1)) for _ in range(count)]


def _pictures(instance: Instance) -> list[Any]:
    """The decoded pictures of an instance, as many as it has digests."""
    pictures = instance.images() if instance.images is not None else []
    if len(pictures) != len(instance.image_digests):
        raise ModelError(f"The question has {len(pictures)} pictures and {len(instance.image_digests)} digests.")
    return pictures


def _combined(outputs: Sequence[Mapping[str, Any]]) -> Any:
    """One output of an image processor for the pictures of several. A new object, since processors remove entries from it."""
    kind: Any = type(outputs[0])
    if len(outputs) == 1:
        return kind(data=dict(outputs[0]))
    columns = {name: [output[name] for output in outputs] for name in outputs[0]}
    return kind(
        data={
            name: joined(values)
            if isinstance(values[0], torch.Tensor)
            else [each for value in values for each in value]
            for name, values in columns.items()
        }
    )


def joined(parts: Sequence[Any]) -> Any:
    """Concatenated tensors. If later dimensions differ (tiles of a picture), they are padded with zeros."""
    shape = [max(sizes) for sizes in zip(*(part.shape[1:] for part in parts), strict=True)]
    filled = []
    for part in parts:
        missing = [want - have for want, have in zip(shape, part.shape[1:], strict=True)]
        pads = [size for gap in reversed(missing) for size in (0, gap)]
        filled.append(torch.nn.functional.pad(part, pads) if any(missing) else part)
    return torch.cat(filled)


def pictures_of(
    tensors: Mapping[str, Any], parts: Sequence[Mapping[str, Any]], count: int, digests: tuple[str, ...]
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
        divided[name] = value.split(rows)
    return tuple(
        Picture((digests[place],) if known else (), {name: values[place] for name, values in divided.items()})
        for place in range(count)
    )


def _size(output: Mapping[str, Any]) -> int:
    return sum(int(value.nbytes) for value in output.values() if hasattr(value, "nbytes"))
