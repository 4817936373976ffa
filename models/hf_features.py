"""What the vision tower makes of pictures, computed once a picture and kept for a while.

transformers' models take features that are there already as `mm_encoder_outputs`. They are computed prompt by prompt, so
that they can't depend on what else is in a batch, and kept under the digests of the pictures.
"""

from __future__ import annotations

import copy
import inspect
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import Any

import torch

MOST_BYTES = 512 * 2**20
"""Features that are kept: about a hundred pictures of LLaVA-1.5-7B in half precision, 576 x 4096 each."""


class FeatureCache:
    """The features of the last pictures, by digest; bounded by bytes."""

    def __init__(self, model: Any, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes, self._bytes = most_bytes, 0
        self._kept: OrderedDict[tuple[str, ...], Any] = OrderedDict()
        self._owner = _owner(model)
        self._takes = inspect.signature(self._owner.get_image_features).parameters

    def of(self, key: tuple[str, ...], pictures: Mapping[str, Any]) -> Any:
        """The encoder's output for the pictures of one prompt. key: their digests, empty where they are not known."""
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        asked = {name: value for name, value in pictures.items() if name in self._takes}
        made = self._owner.get_image_features(**asked, return_dict=True)
        made = _slim(made)
        if key:
            self._kept[key] = made
            self._bytes += _size(made)
            while self._bytes > self._most_bytes and len(self._kept) > 1:
                self._bytes -= _size(self._kept.popitem(last=False)[1])
        return made

    def clear(self) -> None:
        """Forgets everything, for the memory."""
        self._kept.clear()
        self._bytes = 0


def supported(model: Any) -> bool:
    """Whether a model takes features that were computed before."""
    takes = inspect.signature(model.forward).parameters
    return hasattr(_owner(model), "get_image_features") and "mm_encoder_outputs" in takes


def _owner(model: Any) -> Any:
    return model.base_model if hasattr(model.base_model, "get_image_features") else model


def side_by_side(outputs: Sequence[Any]) -> Any:
    """Encoder outputs of several prompts as the output for all their pictures, in order."""
    joined = copy.copy(outputs[0])
    joined.pooler_output = _chained([output.pooler_output for output in outputs])
    layers = [getattr(output, "deepstack_features", None) for output in outputs]
    if layers[0] is not None:
        joined.deepstack_features = [_chained(each) for each in zip(*layers, strict=True)]
    return joined


def _chained(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], torch.Tensor):
        return torch.cat(list(parts))
    return [each for part in parts for each in part]


def _slim(output: Any) -> Any:
    """Without the tower's hidden states, which nothing reads after it."""
    slim = copy.copy(output)
    for name in ("last_hidden_state", "hidden_states", "attentions"):
        if getattr(slim, name, None) is not None:
            slim[name] = None
    return slim


def _size(output: Any) -> int:
    pending, total = [output.pooler_output, getattr(output, "deepstack_features", None)], 0
    while pending:
        part = pending.pop()
        if isinstance(part, torch.Tensor):
            total += part.numel() * part.element_size()
        elif part is not None:
            pending.extend(part)
    return total
