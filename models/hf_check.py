"""The check that a model type nobody has tested does at start-up: are batches and caches as right as whole forwards?

Two pictures of different sizes, two questions on each, two continuations a question: once the plain way, one prompt at a
time with a whole forward a continuation, and once with everything shared that can be. Log-likelihoods must agree within 1e-4
and generated tokens must be equal. Half precision can't show that, so the check is for float32 alone.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from mm_eval.engine.model import GenerationOptions
from mm_eval.types import Instance, Message

from .hf_families import UNKNOWN, Family
from .hf_generate import Question, generate
from .hf_prompt import Prompt, PromptWriter
from .hf_runtime import Runtime
from .hf_score import Continuation, score

TOLERANCE = 1e-4
_SIZES = ((224, 160), (120, 200))
_ASKED = ("What is shown in the picture?", "Is there a dog?")
_CONTINUED = (" yes", " a red car on the street")


def quickest(model: Any, writer: PromptWriter, chat: bool) -> tuple[Family, str]:
    """The family with the short cuts that a model passes with, and why it is UNKNOWN where it passes with none."""
    if str(model.dtype) != "torch.float32":
        return UNKNOWN, f"{model.dtype} is too coarse to compare; dtype=float32 lets it check itself"
    core = getattr(model, "model", None)
    shifts = hasattr(core, "rope_deltas")
    family = replace(UNKNOWN, batched=True, prefix_cache=True, features=True, heads=False, mrope=shifts)
    try:
        rows = _rows(writer, chat)
        plain = Runtime(model, UNKNOWN, writer.tokenizer, 1)
        quick = Runtime(model, family, writer.tokenizer, len(rows))
        if not quick.prefix_cache:
            return UNKNOWN, "its forward can't go on from a cache"
        expected = [answer for row in rows for answer in score(plain, [row])]
        worst = max(abs(a[0] - b[0]) for a, b in zip(expected, score(quick, rows), strict=True))
        questions = [Question(row.instance, row.prompt, 4, 0) for row in rows[:: len(_CONTINUED)]]
        options = GenerationOptions(max_new_tokens=4, extra={"min_new_tokens": 4})
        alone = [generate(plain, [question], options)[0].output for question in questions]
        together = [answer.output for answer in generate(quick, questions, options)]
    except Exception as error:  # a model's own code, in a way that nobody has tried
        return UNKNOWN, f"{type(error).__name__}: {error}".splitlines()[0]
    if not worst <= TOLERANCE:
        return UNKNOWN, f"log-likelihoods differ by {worst:.1e}"
    return (family, "") if alone == together else (UNKNOWN, "generated tokens differ")


def _rows(writer: PromptWriter, chat: bool) -> list[Continuation]:
    rows = []
    for number, size in enumerate(_SIZES):
        for text in _ASKED:
            instance = _instance(number, size, text, chat)
            prompt: Prompt = writer.write(instance)
            for continuation in _CONTINUED:
                kept, ids = writer.split(prompt, continuation)
                rows.append(Continuation(instance, kept, ids))
    return rows


def _instance(number: int, size: tuple[int, int], text: str, chat: bool) -> Instance:
    from PIL import Image

    picture = Image.linear_gradient("L").resize(size).convert("RGB").rotate(90 * number)
    messages: list[Message] = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": text}]}]
    context = messages if chat else text
    return Instance(
        "generate_until",
        "self-check",
        number,
        {},
        context=context,
        images=lambda: [picture],
        image_digests=(str(number),),
    )
