"""The check that a model type nobody has tested does at start-up: are batches and caches as right as whole forwards?

Two pictures of different sizes (for a model of text: two beginnings), two questions on each, two continuations a question:
once the plain way, one prompt at a time with a whole forward a continuation, and once with everything shared that can be.
Log-likelihoods must agree within 1e-4 and generated tokens must be equal. Half precision can't show that, so the check is for
float32 alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TypeVar

from mm_eval.engine.generation import GenerationOptions
from mm_eval.errors import ModelError
from mm_eval.types import Instance, Message

from .families import TEXT, TEXT_FAMILIES, UNKNOWN, Family
from .generate import Question, generate
from .prompt import Prompt, PromptWriter
from .runtime import Runtime
from .score import Continuation, score

Answer = TypeVar("Answer")
TOLERANCE = 1e-4
_SIZES = ((224, 160), (120, 200))
_BEGUN = ("The quick brown fox jumps over the lazy dog. " * 8, "Question: is one and one two? Answer: yes.\n\n" * 6)
_ASKED = ("What is shown in the picture?", "Is there a dog?")
_CONTINUED = (" yes", " a red car on the street")


def quickest(model: Any, writer: PromptWriter, chat: bool) -> tuple[Family, str]:
    """The family with the short cuts that a model passes with, and why it is UNKNOWN where it passes with none."""
    if str(model.dtype) != "torch.float32":
        return UNKNOWN, f"{model.dtype} is too coarse to compare; dtype=float32 lets it check itself"
    text = str(model.config.get_text_config().model_type)
    if TEXT_FAMILIES.get(text, TEXT) is not TEXT:
        return UNKNOWN, f"its text part is of the type {text!r}"
    core = getattr(model, "model", None)
    shifts = hasattr(core, "rope_deltas")
    family = replace(UNKNOWN, batched=True, prefix_cache=True, features=True, heads=False, mrope=shifts)
    try:
        rows = _rows(writer, chat)
        plain = Runtime(model, UNKNOWN, writer.tokenizer, 1)
        quick = Runtime(model, family, writer.tokenizer, len(rows))
        if not quick.prefix_cache:
            return UNKNOWN, "its forward can't go on from a cache"
        expected = [answer for row in rows for answer in _whole(score(plain, [row]))]
        worst = max(abs(a[0] - b[0]) for a, b in zip(expected, _whole(score(quick, rows)), strict=True))
        questions = [Question(row.instance, row.prompt, 4, 0) for row in rows[:: len(_CONTINUED)]]
        options = GenerationOptions(max_new_tokens=4, extra={"min_new_tokens": 4})
        alone = [answer.output for question in questions for answer in _whole(generate(plain, [question], options))]
        together = [answer.output for answer in _whole(generate(quick, questions, options))]
    except Exception as error:  # a model's own code, in a way that nobody has tried
        return UNKNOWN, f"{type(error).__name__}: {error}".splitlines()[0]
    if not worst <= TOLERANCE:
        return UNKNOWN, f"log-likelihoods differ by {worst:.1e}"
    return (family, "") if alone == together else (UNKNOWN, "generated tokens differ")


def _whole(answers: Sequence[Answer | ModelError]) -> list[Answer]:
    """The answers; raises the first failure among them."""
    for answer in answers:
        if isinstance(answer, ModelError):
            raise answer
    return list(answers)  # type: ignore[arg-type]


def most_shared(config: Any, max_length: int) -> int | None:
    """Tokens above which a sequence may share no forward with others; None where max_length allows none that long.

    Frequencies of two kinds of RoPE follow the longest sequence of a forward (Phi-3's and Phi-4's longrope, dynamic), so that
    a long prompt would change the answers beside it, and a continuation would run on keys of other frequencies than its own.
    """
    text = config.get_text_config()
    stated = getattr(text, "rope_parameters", None) or {}
    for rope in [stated, *(each for each in stated.values() if isinstance(each, dict))]:
        kind = str(rope.get("rope_type"))
        if kind == "longrope" or "dynamic" in kind:
            own = rope.get("original_max_position_embeddings") if kind == "longrope" else None
            shared = int(own or text.max_position_embeddings)
            return shared if max_length > shared else None
    return None


def _rows(writer: PromptWriter, chat: bool) -> list[Continuation]:
    rows = []
    for instance in _instances(writer.processor is not None, chat):
        prompt: Prompt = writer.write(instance)
        for continuation in _CONTINUED:
            kept, ids = writer.split(prompt, continuation)
            rows.append(Continuation(instance, kept, ids))
    return rows


def _instances(pictured: bool, chat: bool) -> Iterator[Instance]:
    for number, (size, begun) in enumerate(zip(_SIZES, _BEGUN, strict=True)):
        for asked in _ASKED:
            if pictured:
                yield _about_a_picture(number, size, asked, chat)
            else:
                text = begun + asked
                context: Any = [{"role": "user", "content": [{"type": "text", "text": text}]}] if chat else text
                yield Instance("generate_until", "self-check", number, {}, context=context)


def _about_a_picture(number: int, size: tuple[int, int], text: str, chat: bool) -> Instance:
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
