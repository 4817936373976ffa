"""Pictures cost the most time, so their work is done ahead and done once.

`written_ahead` writes prompts with pictures in threads while the model computes. `FeatureCache` keeps the output of the vision
tower for the last pictures; transformers' models accept it as `mm_encoder_outputs`. New pictures of a batch run together if
the output can be divided by picture, and else one by one.
"""

from __future__ import annotations

import copy
import inspect
import os
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import torch

from mm_eval.errors import DataError, ModelError

from .prompt import Picture

Item = TypeVar("Item")
Written = TypeVar("Written")

AHEAD = 16
"""Prompts with pictures that are ready or being written: two batches of eight."""
MOST_BYTES = 512 * 2**20
"""Bytes of features that are kept: about a hundred pictures of LLaVA-1.5-7B in half precision, 576 x 4096 each."""


def written_ahead(
    items: Iterable[Item],
    write: Callable[[Item], Written],
    has_pictures: Callable[[Item], bool],
    most: int = AHEAD,
) -> Iterator[tuple[Item, Written | DataError | ModelError]]:
    """Yields each item with the result of `write`, in order. A DataError or ModelError of an item is its result."""
    waiting: deque[tuple[Item, Future[Written | DataError | ModelError]]] = deque()

    def attempt(item: Item) -> Written | DataError | ModelError:
        try:
            return write(item)
        except (DataError, ModelError) as error:
            return error

    def finished(left: int) -> Iterator[tuple[Item, Written | DataError | ModelError]]:
        """Waits for the first items until `left` are in the queue."""
        while len(waiting) > left:
            item, made = waiting.popleft()
            yield item, made.result()

    workers = max(1, min(4, (os.cpu_count() or 2) // 2))
    pool = ThreadPoolExecutor(workers, thread_name_prefix="pictures")
    try:
        for item in items:
            if has_pictures(item):
                waiting.append((item, pool.submit(attempt, item)))
                yield from finished(most)
            else:
                yield from finished(0)
                yield item, attempt(item)
        yield from finished(0)
    finally:
        pool.shutdown(wait=True, cancel_futures=True)


class FeatureCache:
    """The features of the last pictures by digest, limited in bytes."""

    def __init__(self, model: Any, most_bytes: int = MOST_BYTES) -> None:
        self._model, self._most_bytes, self._bytes = model, most_bytes, 0
        self._kept: OrderedDict[tuple[str, ...], Any] = OrderedDict()
        self._owner = _owner(model)
        self._takes = inspect.signature(self._owner.get_image_features).parameters
        self._together = True

    def of(self, pictures: Sequence[Picture]) -> list[Any]:
        """The encoder's output for each picture. Pictures without digests are always computed."""
        found = [self._kept.get(picture.digests) for picture in pictures]
        new: dict[Any, Picture] = {}
        for place, (picture, known) in enumerate(zip(pictures, found, strict=True)):
            if known is None:
                new.setdefault(picture.digests or place, picture)
            else:
                self._kept.move_to_end(picture.digests)
        with torch.inference_mode():
            made = dict(zip(new, self._made(list(new.values())), strict=True))
        for key, output in made.items():
            if isinstance(key, tuple):
                self._keep(key, output)
        places = enumerate(zip(pictures, found, strict=True))
        return [made[p.digests or place] if known is None else known for place, (p, known) in places]

    def tokens(self, pictures: Sequence[Picture]) -> list[int]:
        """How many image tokens each picture fills."""
        return [sum(part.numel() // part.shape[-1] for part in output.pooler_output) for output in self.of(pictures)]

    def clear(self) -> None:
        """Drops everything to free memory."""
        self._kept.clear()
        self._bytes = 0

    def _keep(self, key: tuple[str, ...], output: Any) -> None:
        self._kept[key] = output
        self._bytes += _size(output)
        while self._bytes > self._most_bytes and len(self._kept) > 1:
            self._bytes -= _size(self._kept.popitem(last=False)[1])

    def _made(self, pictures: list[Picture]) -> list[Any]:
        """The outputs for new pictures. Those with equally shaped tensors run together."""
        groups: dict[Any, list[int]] = {}
        for place, picture in enumerate(pictures):
            shape = tuple(sorted((name, tuple(value.shape[1:])) for name, value in picture.tensors.items()))
            groups.setdefault(shape if self._together else place, []).append(place)
        made: dict[int, Any] = {}
        for places in groups.values():
            some = [pictures[place] for place in places]
            outputs = _each(self._run(some), len(some))
            if outputs is None:
                self._together = False
                outputs = [self._run([picture]) for picture in some]
            made.update(zip(places, outputs, strict=True))
        return [made[place] for place in range(len(pictures))]

    def _run(self, pictures: Sequence[Picture]) -> Any:
        tensors = {name: torch.cat([p.tensors[name] for p in pictures]) for name in pictures[0].tensors}
        accepted = {name: on_device(self._model, value) for name, value in tensors.items() if name in self._takes}
        return _slim(self._owner.get_image_features(**accepted, return_dict=True))


def supported(model: Any) -> bool:
    """Whether a model accepts features that were computed before."""
    takes = inspect.signature(model.forward).parameters
    return hasattr(_owner(model), "get_image_features") and "mm_encoder_outputs" in takes


def on_device(model: Any, value: Any) -> Any:
    """A tensor of the processor on the model's device, pixels in the model's dtype."""
    return value.to(model.device, model.dtype) if value.is_floating_point() else value.to(model.device)


def _owner(model: Any) -> Any:
    return model.base_model if hasattr(model.base_model, "get_image_features") else model


def side_by_side(outputs: Sequence[Any]) -> Any:
    """Joins encoder outputs into one output for all their pictures."""
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


def _each(output: Any, count: int) -> list[Any] | None:
    """Divides an output into one per picture, each with its own memory; None if that is not possible."""
    if count == 1:
        return [output]
    if len(output.pooler_output) != count:
        return None
    layers = getattr(output, "deepstack_features", None)
    outputs = []
    for place in range(count):
        own = copy.copy(output)
        own.pooler_output = _part(output.pooler_output, place)
        if layers is not None:
            own.deepstack_features = [_part(layer, place) for layer in layers]
        outputs.append(own)
    return outputs


def _part(values: Any, place: int) -> Any:
    some = values[place : place + 1]
    return some.clone() if isinstance(some, torch.Tensor) else [each.clone() for each in some]


def _slim(output: Any) -> Any:
    """An output without the tower's hidden states, which nothing reads later."""
    slim = copy.copy(output)
    for name in ("last_hidden_state", "hidden_states", "attentions"):
        if getattr(slim, name, None) is not None:
            slim[name] = None
    return slim


def _size(output: Any) -> int:
    return sum(part.numel() * part.element_size() for part in _tensors(output))


def _tensors(output: Any) -> Iterable[Any]:
    pending = [output.pooler_output, getattr(output, "deepstack_features", None)]
    while pending:
        part = pending.pop()
        if isinstance(part, torch.Tensor):
            yield part
        elif part is not None:
            pending.extend(part)
