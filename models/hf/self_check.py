"""The self-check of a model type that is not listed: which short cuts give the same numbers as one prompt at a time."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from mm_eval.engine.model import Answers
from mm_eval.values.errors import MMEvalError
from mm_eval.values.types import Instance, Message

from .families import TEXT, TEXT_FAMILIES, UNKNOWN, Family

if TYPE_CHECKING:
    from PIL.Image import Image

TOLERANCE = 1e-4
"""Nats by which log-likelihoods of the self-check may differ."""
_SIZES = ((224, 160), (120, 200))
_BEGINNINGS = (
    "The quick brown fox jumps over the lazy dog. " * 8,
    "Question: is one and one two? Answer: yes.\n\n" * 6,
)
_QUESTIONS = ("What is shown in the picture?", "Is there a dog?")
_CONTINUATIONS = (" yes", " a red car on the street")
_OPTIONS = {"max_new_tokens": 4, "min_new_tokens": 4}


class Answering(Protocol):
    """A loaded model that answers instances (`asking.Asking`)."""

    def generate(self, instances: Iterable[Instance]) -> Answers: ...

    def loglikelihood(self, instances: Iterable[Instance]) -> Answers: ...

    @property
    def caches(self) -> bool: ...


def quickest(
    model: Any, answering: Callable[[Family, int], Answering], *, pictured: bool, chat: bool
) -> tuple[Family, str]:
    """The self-check of an unlisted type: the family with the short cuts that pass, or UNKNOWN and the reason.

    answering: the model run as a family with a batch size. pictured: whether it reads pictures. chat: whether it has a template.

    Two pictures of different sizes (for a text model: two beginnings), two questions on each, two continuations a question: once
    one prompt at a time with a whole forward a continuation, and once with everything shared that can be. Log-likelihoods must
    agree within TOLERANCE and generated tokens must be equal. Rounding in half precision is as large as the effect of a masked
    place that is seen, so such a model is compared in float32, to which its weights are widened meanwhile.
    """
    if reason := _not_widened(model):
        return UNKNOWN, reason
    text = str(model.config.get_text_config().model_type)
    if TEXT_FAMILIES.get(text, TEXT) is not TEXT:
        return UNKNOWN, f"its text part is of the type {text!r}"
    shifts = hasattr(getattr(model, "model", None), "rope_deltas")
    family = replace(UNKNOWN, batched=True, prefix_cache=True, features=True, heads=False, mrope=shifts)
    questions = list(_questions(pictured, chat))
    rows = [replace(each, continuation=text) for each in questions for text in _CONTINUATIONS]
    with in_float32(model):
        return _compared(answering, family, questions, rows)


def _compared(
    answering: Callable[[Family, int], Answering], family: Family, questions: list[Instance], rows: list[Instance]
) -> tuple[Family, str]:
    """The family if it gives the same numbers as UNKNOWN, or UNKNOWN and the reason."""
    try:
        plain, quick = answering(UNKNOWN, 1), answering(family, len(rows))
        if not quick.caches:
            return UNKNOWN, "its forward can't go on from a cache"
        expected, found = (_outputs(each.loglikelihood(rows), rows) for each in (plain, quick))
        worst = max(abs(a[0] - b[0]) for a, b in zip(expected, found, strict=True))
        alone, together = (_outputs(each.generate(questions), questions) for each in (plain, quick))
    except Exception as error:  # the model's own code, in a combination that nobody has tested
        return UNKNOWN, f"{type(error).__name__}: {error}".splitlines()[0]
    if not worst <= TOLERANCE:
        return UNKNOWN, f"log-likelihoods differ by {worst:.1e}"
    return (family, "") if alone == together else (UNKNOWN, "generated tokens differ")


def _not_widened(model: Any) -> str:
    """Why a model's weights can't be widened to float32 for a moment; empty if they can."""
    import torch

    tensors = [*model.parameters(), *model.buffers()]
    if getattr(model, "is_quantized", False) or any(
        not t.is_floating_point() or t.itemsize < 2 for t in model.parameters()
    ):
        return "its weights are quantised, so that it can't be compared in float32"
    if any(t.device.type == "meta" for t in tensors):
        return "a part of its weights is not in the device's memory"
    for device in {t.device for t in tensors if t.device.type == "cuda"}:
        more = (
            sum(4 * t.numel() for t in tensors if t.device == device and t.dtype in (torch.bfloat16, torch.float16))
            // 2
        )
        free = torch.cuda.mem_get_info(device)[0]
        if more > 0.8 * free:
            return f"comparing it in float32 needs {more / 1e9:.0f} GB more than its weights, and {free / 1e9:.0f} GB are free"
    return ""


@contextlib.contextmanager
def in_float32(model: Any) -> Iterator[None]:
    """Inside, the model's half-precision weights are float32. Afterwards each has its own type and the same bits again."""
    import torch

    half = [t for t in (*model.parameters(), *model.buffers()) if t.dtype in (torch.bfloat16, torch.float16)]
    own = [t.dtype for t in half]
    try:
        for tensor in half:
            tensor.data = tensor.data.float()
        yield
    finally:
        for tensor, dtype in zip(half, own, strict=True):
            tensor.data = tensor.data.to(dtype)


def _outputs(answers: Answers, instances: list[Instance]) -> list[Any]:
    """The outputs in the order of the instances. Raises the first failure."""
    outputs = {}
    for instance, answer in answers:
        if isinstance(answer, MMEvalError):
            raise answer
        outputs[id(instance)] = answer.output
    return [outputs[id(instance)] for instance in instances]


def _questions(pictured: bool, chat: bool) -> Iterator[Instance]:
    for number, (size, beginning) in enumerate(zip(_SIZES, _BEGINNINGS, strict=True)):
        shown: dict[str, Any] = {}
        if pictured:
            shown = {"images": partial(_pictures, number, size), "image_digests": (str(number),)}
        for question in _QUESTIONS:
            text = question if pictured else beginning + question
            parts = [*([{"type": "image"}] if pictured else []), {"type": "text", "text": text}]
            messages: list[Message] = [{"role": "user", "content": parts}]
            context = messages if chat else text
            yield Instance("generate_until", "self-check", number, {}, context, generation_kwargs=_OPTIONS, **shown)


def _pictures(number: int, size: tuple[int, int]) -> list[Image]:
    from PIL.Image import linear_gradient

    return [linear_gradient("L").resize(size).convert("RGB").rotate(90 * number)]
