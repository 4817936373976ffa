"""The vision tower runs once for a picture: its output is kept for the last pictures.

transformers' models accept it as `mm_encoder_outputs`. New pictures of a batch run together if the output can be divided by
picture or by tile, and else one by one.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Iterator, Sequence
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import torch

from ..prompts.preprocessing import LastValues, Picture, joined

if TYPE_CHECKING:
    from transformers import PreTrainedModel
    from transformers.utils import ModelOutput

MOST_BYTES = 512 * 2**20
"""Bytes of features that are kept: about a hundred pictures of LLaVA-1.5-7B in half precision, 576 x 4096 each."""
IMAGES, VIDEOS = "get_image_features", "get_video_features"
"""The methods of transformers' models that run the vision tower."""
PIXEL_BYTES = 64 * 2**20
"""Bytes of pixels in one run of the vision tower: 48 pictures of LLaVA-1.5, or three of Qwen2-VL with 1,000 tokens each. Either
is enough work for a large GPU.
"""


class FeatureCache:
    """The features of the last pictures by digest, limited in bytes. together: those of several prompts may run at once."""

    def __init__(self, model: PreTrainedModel, together: bool = True, most_bytes: int = MOST_BYTES) -> None:
        self.kept: LastValues[ModelOutput] = LastValues(most_bytes)
        self._model, self._owner = model, _owner(model)
        self._takes = {
            name: inspect.signature(found).parameters
            for name in (IMAGES, VIDEOS)
            if (found := getattr(self._owner, name, None))
        }
        self._together = together

    def of(self, pictures: Sequence[Picture]) -> list[ModelOutput]:
        """The encoder's output for each picture. Pictures without digests are always computed."""
        found = [self.kept.get(picture.digests) for picture in pictures]
        new: dict[object, Picture] = {}
        for place, (picture, known) in enumerate(zip(pictures, found, strict=True)):
            if known is None:
                new.setdefault(picture.digests or place, picture)
        with torch.inference_mode():
            made = dict(zip(new, self._made(list(new.values())), strict=True))
        for key, output in made.items():
            if isinstance(key, tuple):
                self.kept.put(key, output, _size(output))
        places = enumerate(zip(pictures, found, strict=True))
        return [made[p.digests or place] if known is None else known for place, (p, known) in places]

    def tokens(self, pictures: Sequence[Picture]) -> list[int]:
        """How many image tokens each picture or video fills."""
        counts = []
        for picture, output in zip(pictures, self.of(pictures), strict=True):
            kept = picture.tensors.get("video_compression_mask")
            whole = sum(part.numel() // part.shape[-1] for part in output.pooler_output)
            counts.append(whole if kept is None else int(kept.sum()))
        return counts

    def clear(self) -> None:
        """Drops everything to free memory."""
        self.kept.clear()

    def _made(self, pictures: list[Picture]) -> list[ModelOutput]:
        """The outputs for new pictures. Those with equally shaped tensors run together."""
        made: dict[int, ModelOutput] = {}
        for places in self._batches(pictures):
            some = [pictures[place] for place in places]
            outputs = _each(self._run(some), [len(picture.tensors.get("pixel_values", ())) for picture in some])
            if outputs is None:
                self._together = False
                outputs = [self._run([picture]) for picture in some]
            made.update(zip(places, outputs, strict=True))
        return [made[place] for place in range(len(pictures))]

    def _batches(self, pictures: list[Picture]) -> Iterator[list[int]]:
        """The places of pictures that run together: equally shaped, at most PIXEL_BYTES."""
        groups: dict[object, list[int]] = {}
        sizes: dict[object, int] = {}
        for place, picture in enumerate(pictures):
            shape = tuple(sorted((name, tuple(_shape(value)[1:])) for name, value in picture.tensors.items()))
            key = shape if self._together else place
            size = sum(value.nbytes for value in picture.tensors.values() if isinstance(value, torch.Tensor))
            if key in groups and sizes[key] + size > PIXEL_BYTES:
                yield groups.pop(key)
            if key not in groups:
                groups[key], sizes[key] = [], 0
            groups[key].append(place)
            sizes[key] += size
        yield from groups.values()

    def _run(self, pictures: Sequence[Picture]) -> ModelOutput:
        tensors = {name: joined([p.tensors[name] for p in pictures]) for name in pictures[0].tensors}
        kind = VIDEOS if pictures[0].is_video else IMAGES
        accepted = {name: on_device(self._model, value) for name, value in tensors.items() if name in self._takes[kind]}
        return _slim(getattr(self._owner, kind)(**accepted, return_dict=True))


def supported(model: PreTrainedModel) -> bool:
    """Whether a model accepts features that were computed before."""
    takes = inspect.signature(model.forward).parameters
    return hasattr(_owner(model), "get_image_features") and "mm_encoder_outputs" in takes


def on_device(model: PreTrainedModel, value: object) -> object:
    """A tensor of the processor on the model's device, pixels in the model's dtype. Times (one dimension) keep theirs.

    A list is as it was.
    """
    if not isinstance(value, torch.Tensor):
        return value
    is_pixels = value.is_floating_point() and value.ndim > 1
    return value.to(model.device, model.dtype) if is_pixels else value.to(model.device)


def _shape(value: object) -> Sequence[int]:
    return value.shape if isinstance(value, torch.Tensor) else ()


def _owner(model: PreTrainedModel) -> PreTrainedModel:
    return model.base_model if hasattr(model.base_model, "get_image_features") else model


def side_by_side(outputs: Sequence[ModelOutput]) -> ModelOutput:
    """Joins encoder outputs into one output for all their pictures."""
    joined = copy.copy(outputs[0])
    joined.pooler_output = _chained([output.pooler_output for output in outputs])
    layers = [getattr(output, "deepstack_features", None) for output in outputs]
    if layers[0] is not None:
        joined.deepstack_features = [_chained(each) for each in zip(*layers, strict=True)]
    return joined


def _chained(parts: Sequence[Any]) -> object:
    if isinstance(parts[0], torch.Tensor):
        differ = len({part.shape[1:] for part in parts}) > 1  # videos: (1, tokens, width), with other numbers of tokens
        return torch.cat(list(parts), 1 if differ else 0)
    return [each for part in parts for each in part]


def _each(output: ModelOutput, rows: Sequence[int]) -> list[ModelOutput] | None:
    """Divides an output into one per picture, each with its own memory; None if that is not possible.

    rows: of pixel values of each picture: its tiles, where a tower gives an output for each tile.
    """
    if len(rows) == 1:
        return [output]
    if len(output.pooler_output) == len(rows):
        rows = [1] * len(rows)
    elif len(output.pooler_output) != sum(rows):
        return None
    layers = getattr(output, "deepstack_features", None)
    outputs = []
    for end, count in zip(accumulate(rows), rows, strict=True):
        own = copy.copy(output)
        own.pooler_output = _part(output.pooler_output, end - count, end)
        if layers is not None:
            own.deepstack_features = [_part(layer, end - count, end) for layer in layers]
        outputs.append(own)
    return outputs


def _part(values: Any, start: int, end: int) -> object:
    some = values[start:end]
    return some.clone() if isinstance(some, torch.Tensor) else [each.clone() for each in some]


def _slim(output: ModelOutput) -> ModelOutput:
    """An output without the tower's hidden states, which nothing reads later."""
    slim = copy.copy(output)
    for name in ("last_hidden_state", "hidden_states", "attentions"):
        if getattr(slim, name, None) is not None:
            slim[name] = None
    return slim


def _size(output: ModelOutput) -> int:
    """Bytes of an output's tensors, which may lie in lists."""
    size, pending = 0, [output.pooler_output, getattr(output, "deepstack_features", None)]
    while pending:
        part = pending.pop()
        if isinstance(part, torch.Tensor):
            size += part.nbytes
        elif part is not None:
            pending.extend(part)
    return size
