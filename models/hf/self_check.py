"""The self-checks at start-up.

why_not_next_tokens  of every model: its forward gives the logits of the next token, which are asked of it
quickest             of a model type that is not listed: which short cuts give the same numbers as one prompt at a time
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from mm_eval.engine.model import Answers
from mm_eval.values.errors import MMEvalError, kind_and_text
from mm_eval.values.types import Instance, Message

from .families import TEXT, TEXT_FAMILIES, UNKNOWN, Family
from .inference.limits import free_bytes

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image
    from torch import Tensor
    from transformers import PreTrainedModel

    from .inference.runtime import Runtime
    from .prompts.prompt import Prompt, PromptWriter

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
_GOES_ON = " The quick brown fox jumps over the lazy dog."
LIKE = 0.01
"""Difference of two forwards' logits that is rounding in float32, as a share of their spread: it is 1e-6 in models that give the
logits of the next token, and from 0.02 on in random ones that give others."""
LIKE_QUANTISED = 0.2
"""The same for weights that can't be widened."""


class Asked(Protocol):
    """A loaded model with what writes its prompts (`asking.Asking`)."""

    @property
    def writer(self) -> PromptWriter: ...

    @property
    def runtime(self) -> Runtime: ...


class Answering(Protocol):
    """A loaded model that answers instances (`asking.Asking`)."""

    def generate(self, instances: Iterable[Instance]) -> Answers: ...

    def loglikelihood(self, instances: Iterable[Instance]) -> Answers: ...

    @property
    def caches(self) -> bool: ...


def why_not_next_tokens(model: PreTrainedModel, asking: Asked, *, pictured: bool, chat: bool, known: bool) -> str:
    """Why a model does not give the logits of the next token; empty if it does, or if it takes none of the prompts here.

    asking: the model run one prompt at a time with whole forwards. known: its type is listed. The others: as of `quickest`.

    The logits up to a token are the same whether the text goes on or ends there. They are not in a masked model or an encoder,
    which look at both sides, nor in a diffusion model, whose forward draws or fills a canvas. Two short forwards show it. Where
    they differ in half precision, two in float32 decide.
    """
    import torch

    shown = [1, 0] if pictured else [0]
    with torch.inference_mode():
        for pictures in shown[::-1] if known else shown:
            try:
                prompt = asking.writer.write(_question(_QUESTIONS[0], [0] * pictures, chat))
                after = asking.writer.encode_text(_GOES_ON)[:8]
                reason = _not_next(asking.runtime, prompt, after, LIKE)
                if reason and not _not_widened(model):
                    with in_float32(model):
                        reason = _not_next(asking.runtime, prompt, after, LIKE)
                elif reason:
                    reason = _not_next(asking.runtime, prompt, after, LIKE_QUANTISED)
            except Exception:  # the model's own code, which does not take every prompt
                continue
            return reason
    return ""


def _not_next(runtime: Runtime, prompt: Prompt, after: list[int], allowed: float) -> str:
    from .inference.scoring import whole

    part = after[: len(after) // 2]
    goes_on, ends = (whole(runtime, prompt, ids).float() for ids in (after, part))
    if (rows := goes_on.shape[0]) <= len(after):
        return f"its forward gives logits of {rows} tokens and no more"
    spread = float(ends.std())
    if not float((goes_on[: len(ends)] - ends).abs().mean()) > allowed * spread:
        return ""
    again = whole(runtime, prompt, part).float()
    if float((again - ends).abs().mean()) > allowed * spread:
        return "its logits for one prompt are other ones each time"
    return "its logits up to a token change with what follows it"


def quickest(
    model: PreTrainedModel, answering: Callable[[Family, int], Answering], *, pictured: bool, chat: bool
) -> tuple[Family, str]:
    """The self-check of an unlisted type: the quickest family that passes, or UNKNOWN and the reason.

    answering: the model run as a family with a batch size. pictured: whether it reads pictures. chat: whether it has a template.

    Two pictures of different sizes (for a text model: two beginnings), two questions on each, two continuations a question, and
    a question on both pictures and one on none where the model takes those: once one prompt at a time with a whole forward a
    continuation, and once with everything shared that can be. Log-likelihoods must agree within TOLERANCE and generated tokens
    must be equal. If they don't, fewer short cuts are tried. Rounding in half precision is as large as the effect of a masked
    place that is seen, so such a model is compared in float32 (`in_float32`).
    """
    if reason := _not_widened(model):
        return UNKNOWN, reason
    text = str(model.config.get_text_config().model_type)
    if TEXT_FAMILIES.get(text, TEXT) is not TEXT:
        return UNKNOWN, f"its text part is of the type {text!r}"
    with in_float32(model):
        try:
            plain = answering(UNKNOWN, 1)
            questions = [*_questions(pictured, chat), *(_taken(plain, _further(chat)) if pictured else ())]
            expected = _answers(plain, questions)
        except Exception as error:  # the model's own code
            return UNKNOWN, _said(error)
        reasons = []
        for family in _families(model):
            reasons.append(_differs(answering, family, questions, expected))
            if not reasons[-1]:
                return family, ""
    return UNKNOWN, reasons[0]


def _families(model: PreTrainedModel) -> Iterator[Family]:
    """The families to try, from the quickest: with batches, or one prompt at a time with its continuations on a cache."""
    shifts = hasattr(getattr(model, "model", None), "rope_deltas")
    for batched in (True, False):
        for features in (True, False):
            for mrope in (True, False) if shifts else (False,):
                yield replace(
                    UNKNOWN,
                    batched=batched,
                    prefix_cache=True,
                    holes=batched,
                    features=features,
                    heads=False,
                    mrope=mrope,
                )


def _answers(model: Answering, questions: list[Instance]) -> tuple[list[Any], list[Any]]:
    """Log-likelihoods of two continuations a question, and generated texts."""
    rows = [replace(each, continuation=text) for each in questions for text in _CONTINUATIONS]
    return _outputs(model.loglikelihood(rows), rows), _outputs(model.generate(questions), questions)


def _differs(
    answering: Callable[[Family, int], Answering],
    family: Family,
    questions: list[Instance],
    expected: tuple[list[Any], list[Any]],
) -> str:
    """How a family's answers differ from the expected ones; empty if they don't, and its short cuts are in use."""
    try:
        quick = answering(family, len(questions) * len(_CONTINUATIONS))
        if not (quick.caches or family.batched):
            return "its forward can't continue from a cache"
        scores, texts = _answers(quick, questions)
    except Exception as error:  # the model's own code, in a combination that nobody has tested
        return _said(error)
    worst = max(abs(a[0] - b[0]) for a, b in zip(expected[0], scores, strict=True))
    if not worst <= TOLERANCE:
        return f"log-likelihoods differ by {worst:.1e}"
    return "" if texts == expected[1] else "generated tokens differ"


def _taken(model: Answering, questions: Iterable[Instance]) -> Iterator[Instance]:
    """The questions that a model takes at all: some take one picture in each prompt, and no less."""
    for question in questions:
        try:
            _answers(model, [question])
        except Exception:
            continue
        yield question


def _said(error: Exception) -> str:
    return kind_and_text(error).splitlines()[0]


def _not_widened(model: PreTrainedModel) -> str:
    """Why a model's weights can't be widened to float32 for a moment; empty if they can."""
    if getattr(model, "is_quantized", False) or any(
        not t.is_floating_point() or t.itemsize < 2 for t in model.parameters()
    ):
        return "its weights are quantised, so that it can't be compared in float32"
    if any(t.device.type == "meta" for t in (*model.parameters(), *model.buffers())):
        return "a part of its weights is not in the device's memory"
    return ""


def _half(tensors: Iterable[Tensor]) -> list[Tensor]:
    import torch

    return [tensor for tensor in tensors if tensor.dtype in (torch.bfloat16, torch.float16)]


def _fits(model: PreTrainedModel) -> bool:
    """Whether all half-precision weights can be float32 at once."""
    half = _half((*model.parameters(), *model.buffers()))
    return all(
        sum(2 * tensor.numel() for tensor in half if tensor.device == device) <= 0.8 * free_bytes(device)
        for device in {tensor.device for tensor in half}
    )


@contextlib.contextmanager
def in_float32(model: PreTrainedModel) -> Iterator[None]:
    """Inside, the model computes in float32. Afterwards each half-precision weight has its own type and the same bits again.

    Where the memory does not hold all weights in float32, those of one module at a time are widened, while it runs.
    """
    half = _half((*model.parameters(), *model.buffers()))
    if not _fits(model):
        with _module_by_module(model):
            yield
        return
    own = [tensor.dtype for tensor in half]
    try:
        for tensor in half:
            tensor.data = tensor.data.float()
        yield
    finally:
        for tensor, dtype in zip(half, own, strict=True):
            tensor.data = tensor.data.to(dtype)


@contextlib.contextmanager
def _module_by_module(model: PreTrainedModel) -> Iterator[None]:
    """Inside, the half-precision weights of a module and what it is given are float32 while it runs."""
    kept: dict[int, list[tuple[Tensor, Tensor]]] = {}

    def widen(module: torch.nn.Module, given: tuple[object, ...], named: dict[str, object]) -> tuple[object, object]:
        half = _half((*module.parameters(recurse=False), *module.buffers(recurse=False)))
        kept.setdefault(id(module), []).extend((tensor, tensor.data) for tensor in half)
        for tensor in half:
            tensor.data = tensor.data.float()
        return _widened(given), _widened(named)

    def restore(module: torch.nn.Module, *_: object) -> None:
        for tensor, data in kept.pop(id(module), ()):
            tensor.data = data

    hooks = []
    try:
        for module in model.modules():
            if _half((*module.parameters(recurse=False), *module.buffers(recurse=False))):
                hooks.append(module.register_forward_pre_hook(widen, with_kwargs=True))
                hooks.append(module.register_forward_hook(restore, always_call=True))
        yield
    finally:
        for hook in hooks:
            hook.remove()
        for tensor, data in (pair for pairs in kept.values() for pair in pairs):
            tensor.data = data


def _widened(given: Any) -> object:
    """Tensors in half precision as float32, in tuples, lists and dicts as well."""
    import torch

    if isinstance(given, torch.Tensor):
        return given.float() if given.dtype in (torch.bfloat16, torch.float16) else given
    if type(given) in (tuple, list):
        return type(given)(_widened(each) for each in given)
    return {name: _widened(each) for name, each in given.items()} if type(given) is dict else given


def _outputs(answers: Answers, instances: list[Instance]) -> list[object]:
    """The outputs in the order of the instances. Raises the first failure."""
    outputs = {}
    for instance, answer in answers:
        if isinstance(answer, MMEvalError):
            raise answer
        outputs[id(instance)] = answer.output
    return [outputs[id(instance)] for instance in instances]


def _questions(pictured: bool, chat: bool) -> Iterator[Instance]:
    for number, beginning in enumerate(_BEGINNINGS):
        for question in _QUESTIONS:
            yield _question(question if pictured else beginning + question, [number] if pictured else [], chat)


def _further(chat: bool) -> Iterator[Instance]:
    """A question on both pictures, and one on none."""
    yield _question("Which of the two is larger?", [0, 1], chat)
    yield _question("How many legs does a dog have?", [], chat)


def _question(text: str, pictures: list[int], chat: bool) -> Instance:
    shown: dict[str, Any] = {}
    if pictures:
        shown = {"images": partial(_pictures, pictures), "image_digests": tuple(map(str, pictures))}
    parts = [*({"type": "image"} for _ in pictures), {"type": "text", "text": text}]
    messages: list[Message] = [{"role": "user", "content": parts}]
    context = messages if chat else text
    return Instance("generate_until", "self-check", 0, {}, context, generation_kwargs=_OPTIONS, **shown)


def _pictures(numbers: list[int]) -> list[Image]:
    from PIL.Image import linear_gradient

    return [linear_gradient("L").resize(_SIZES[number]).convert("RGB").rotate(90 * number) for number in numbers]
