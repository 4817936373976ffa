"""What questions share is computed once, and the answers are those of each question alone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.models.questions import instance, mixed, outputs, picture
from tests.models.tiny_random import FAMILIES
from tests.sets import few

Adapter = Callable[..., Any]
ASKED = (
    "What is shown?",
    "Is there a person in the photo?",
    "Is there a dog?",
    "Which color is the car, red or yellow?",
)
CHOICES = (" A", " the yellow bus", " a red car")
STEPS = {"max_new_tokens": 6, "min_new_tokens": 6}
EXAMPLES = "user: What is shown in the image? assistant: a red car\n" * 4


def questions(kind: str, **fields: Any) -> list[Any]:
    """Two pictures of different sizes with four questions each, one alone, one of two pictures, and text after examples."""
    if kind == "llama":
        texts = [*(EXAMPLES + text for text in ASKED), *ASKED[:2]]
        return [instance(text, chat=False, doc_id=n, **fields) for n, text in enumerate(texts)]
    shown = [(text, [picture(90, 60, 1)]) for text in ASKED] + [(text, [picture(56, 112, 2)]) for text in ASKED]
    shown += [("What is it?", [picture(60, 60, 3)])]
    shown += [(text, [picture(60, 60, 3), picture(90, 60, 1)]) for text in ASKED[:2]]
    shown += [(EXAMPLES + text, []) for text in ASKED[:3]]
    return [instance(text, pictures, doc_id=n, **fields) for n, (text, pictures) in enumerate(shown)]


def close(found: dict[Any, Any], expected: dict[Any, Any]) -> None:
    assert found.keys() == expected.keys()
    for key, (total, greedy) in found.items():
        assert total == pytest.approx(expected[key][0], abs=1e-4), key
        assert greedy == expected[key][1]


@pytest.mark.parametrize("kind", few([*FAMILIES, "llama"], "qwen2_vl"))
def test_shared_is_separate(adapter: Adapter, kind: str) -> None:
    """Generation gives equal tokens, log-likelihoods are within 1e-4, together and alone."""
    alone, together = adapter(kind, batch_size=1), adapter(kind, batch_size=16)
    generating = questions(kind, generation_kwargs=STEPS)
    separate: dict[Any, Any] = {}
    for row in generating:
        alone.runtime.kept = None
        separate |= outputs(alone.generate([row]))
    assert outputs(together.generate(generating)) == separate
    rows = [questions(kind, continuation=text, choice=n) for n, text in enumerate(CHOICES)]
    scoring = [row for doc in zip(*rows, strict=True) for row in doc]
    expected: dict[Any, Any] = {}
    for row in scoring:
        expected |= outputs(alone.loglikelihood([row]))
    close(outputs(together.loglikelihood(scoring)), expected)
    close(outputs(adapter(kind, batch_size=5).loglikelihood(scoring[::-1])), expected)


def counting(model: Any) -> list[int]:
    """Tokens of each forward of the language model from here on."""
    sizes: list[int] = []
    forward = model.runtime.model.forward

    def counted(*args: Any, **kwargs: Any) -> Any:
        sizes.append(kwargs["input_ids"].numel())
        return forward(*args, **kwargs)

    model.runtime.model.forward = counted
    return sizes


def vision_runs(model: Any) -> list[int]:
    """How many pictures the tower sees in each of its runs from here on."""
    calls: list[int] = []
    owner = model.runtime.features._owner
    features = owner.get_image_features

    def counted(*args: Any, **kwargs: Any) -> Any:
        calls.append(len(kwargs.get("image_grid_thw", kwargs["pixel_values"])))
        return features(*args, **kwargs)

    owner.get_image_features = counted
    return calls


@pytest.mark.parametrize("kind", ["llava", "qwen2_vl"])
def test_a_pictures_tokens_run_once_for_all_its_questions(adapter: Adapter, kind: str) -> None:
    model = adapter(kind, batch_size=4)
    rows = [instance(t, [picture(90, 60, 1)], doc_id=n, generation_kwargs=STEPS) for n, t in enumerate(ASKED * 2)]
    prompt = model.writer.write(rows[0])
    vision, tokens = vision_runs(model), counting(model)
    assert len(outputs(model.generate(rows))) == 8
    assert sum(vision) == 1
    assert sum(size >= prompt.picture_end for size in tokens if size == tokens[0]) == 1, (
        "the root runs once, in the first batch"
    )
    longest = max(len(model.writer.write(row).ids) for row in rows) - tokens[0]
    assert sum(tokens) <= tokens[0] + 2 * 4 * longest + 8 * STEPS["max_new_tokens"]


def test_vision_runs_once_a_picture_even_where_prompts_share_nothing(adapter: Adapter) -> None:
    model = adapter("llava", batch_size=1)
    shown = picture(90, 60, 1)
    rows = [
        instance(
            "", [shown], doc_id=n, generation_kwargs=STEPS,
            context=[{"role": "user", "content": [{"type": "text", "text": text}, {"type": "image"}]}],
        )
        for n, text in enumerate(ASKED)
    ]  # fmt: skip
    calls = vision_runs(model)
    assert len(outputs(model.generate(rows))) == 4 and sum(calls) == 1


def test_examples_run_once_over_batches(adapter: Adapter) -> None:
    model = adapter("llama", batch_size=2)
    rows = [instance(EXAMPLES + t, chat=False, doc_id=n, continuation=" yes") for n, t in enumerate(ASKED * 2)]
    sizes = counting(model)
    list(model.loglikelihood(rows))
    shared = len(model.writer.encode_text(EXAMPLES))
    assert sum(size > shared for size in sizes) <= 4
    assert sum(sizes) < 0.7 * sum(len(model.writer.write(row).ids) for row in rows)


@pytest.mark.full
def test_other_pictures_of_equal_size_are_never_shared(adapter: Adapter) -> None:
    model = adapter("llava", batch_size=8)
    rows = [instance("What is shown?", [picture(56, 56, n)], doc_id=n, continuation=" the bus") for n in range(6)]
    found = outputs(model.loglikelihood(rows))
    assert len({round(total, 3) for total, _ in found.values()}) > 4
    for row in rows:
        close({(row.doc_id, 0): found[row.doc_id, 0]}, outputs(adapter("llava").loglikelihood([row])))


@pytest.mark.parametrize("batch_size", few([1, 4], at=(1,)))
def test_without_digests_nothing_is_taken_for_equal(adapter: Adapter, batch_size: int) -> None:
    model = adapter("llava", batch_size=batch_size)
    rows = [
        instance("What is shown?", [picture(56, 56, n)], doc_id=n, continuation=" the bus", image_digests=())
        for n in range(4)
    ]
    found = outputs(model.loglikelihood(rows))
    for row in rows:
        close({(row.doc_id, 0): found[row.doc_id, 0]}, outputs(adapter("llava").loglikelihood([row])))
    assert len({round(total, 3) for total, _ in found.values()}) > 2


@pytest.mark.full
def test_finished_rows_leave_the_batch(adapter: Adapter) -> None:
    model = adapter("llama", batch_size=4)
    rows = [instance(f"The quick {n}", chat=False, doc_id=n, generation_kwargs=STEPS) for n in range(4)]
    expected = outputs(model.generate(rows))
    stops = [stop for n in range(3) if (stop := expected[n, 0][1:3])]
    sizes = counting(model)
    again = [
        instance(
            f"The quick {n}", chat=False, doc_id=n, generation_kwargs={**STEPS, "max_new_tokens": 40, "until": stops}
        )
        for n in range(4)
    ]
    found = outputs(model.generate(again))
    assert sizes[1:] == sorted(sizes[1:], reverse=True) and sizes[-1] < 4
    for row in again:
        assert outputs(adapter("llama").generate([row])) == {(row.doc_id, 0): found[row.doc_id, 0]}


def test_features_are_bounded_by_bytes(adapter: Adapter) -> None:
    model = adapter("llava", batch_size=1)
    model.runtime.features.kept.most_bytes = 3000
    calls = vision_runs(model)
    rows = [instance("What?", [picture(56, 56, n)], doc_id=n, continuation=" a") for n in (0, 1, 2, 3, 4, 0)]
    list(model.loglikelihood(rows))
    assert sum(calls) == 6 and model.runtime.features.kept.bytes <= 3000
    assert len(outputs(model.generate(mixed(generation_kwargs=STEPS)))) == 5


def after_examples(kind: str, **fields: Any) -> list[Any]:
    """Two examples with pictures before each question: the same ones for six questions, other ones for the last."""
    shots = [(60, 60, 3), (90, 60, 1)]
    asked = [(56, 112, 2), (90, 60, 4), (90, 60, 4), (90, 60, 4), (90, 60, 1), (28, 84, 5)]
    rows = [(shots, own) for own in asked] + [([(60, 60, 3), (90, 60, 6)], (56, 56, 2))]
    return [_with_examples(pictures, own, n, **fields) for n, (pictures, own) in enumerate(rows)]


def _with_examples(shots: list[tuple[int, int, int]], own: tuple[int, int, int], n: int, **fields: Any) -> Any:
    def user(text: str) -> dict[str, Any]:
        return {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": text}]}

    turns = [turn for text in ("Is it red?", "Is it a dog or a cat?") for turn in (user(text), _said("yes, it is"))]
    context = [*turns, user(ASKED[n % len(ASKED)])]
    return instance("", [picture(*size) for size in (*shots, own)], doc_id=n, context=context, **fields)


def _said(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": [{"type": "text", "text": text}]}


HEADED = ("llava", "qwen2_vl", "qwen2_5_vl", "qwen3_vl")


@pytest.mark.full
@pytest.mark.parametrize("kind", few(FAMILIES, "llava"))
def test_after_examples_with_pictures_together_is_alone(adapter: Adapter, kind: str) -> None:
    together = adapter(kind, batch_size=16)
    generating = after_examples(kind, generation_kwargs=STEPS)
    separate: dict[Any, Any] = {}
    expected: dict[Any, Any] = {}
    rows = [after_examples(kind, continuation=text, choice=n) for n, text in enumerate(CHOICES)]
    scoring = [row for doc in zip(*rows, strict=True) for row in doc]
    for row in generating:
        separate |= outputs(adapter(kind).generate([row]))
    alone = adapter(kind)
    alone.runtime.prefix_cache = False
    for row in scoring:
        expected |= outputs(alone.loglikelihood([row]))
    assert outputs(together.generate(generating)) == separate
    close(outputs(together.loglikelihood(scoring)), expected)
    close(outputs(adapter(kind, batch_size=3).loglikelihood(scoring)), expected)


@pytest.mark.parametrize("kind", few(HEADED, "llava", "qwen2_vl"))
@pytest.mark.parametrize("batch_size", few([1, 2], at=[1]))
def test_examples_with_pictures_run_once_over_batches(adapter: Adapter, kind: str, batch_size: int) -> None:
    model = adapter(kind, batch_size=batch_size)
    rows = after_examples(kind, continuation=" yes")[:6]
    prompts = [model.writer.write(row) for row in rows]
    vision, sizes = vision_runs(model), counting(model)
    list(model.loglikelihood(rows))
    [own] = model.runtime.features.tokens(prompts[0].pictures[2:])
    head = prompts[0].image_places[-own]
    assert head > 20 + prompts[0].image_places[0]
    assert sum(sizes) <= head + sum(len(prompt.ids) - head for prompt in prompts) + 60, "the examples run once"
    assert sum(vision) == 5, "of eighteen pictures that are shown five are different"


@pytest.mark.parametrize("kind", few([*HEADED, "llava_onevision", "llama"], "qwen2_vl"))
def test_a_batch_of_one_goes_on_with_the_last_prompts_picture(adapter: Adapter, kind: str) -> None:
    """Long prompts come one a batch, and share what they begin with all the same."""
    rows = questions(kind, continuation=" the yellow bus")[:4]
    model, fresh = adapter(kind), adapter(kind)
    sizes = counting(model)
    found = outputs(model.loglikelihood(rows))
    prompts = [model.writer.write(row) for row in rows]
    scored = 4 * len(model.writer.encode_text(" the yellow bus"))
    once = max(len(p.ids) for p in prompts) + sum(len(p.ids) - p.picture_end for p in prompts if p.pictures) + scored
    assert sum(sizes) <= (once if kind != "llama" else 0.6 * sum(len(p.ids) for p in prompts) + scored)
    for row in rows:
        fresh.runtime.kept = None
        close({(row.doc_id, 0): found[row.doc_id, 0]}, outputs(fresh.loglikelihood([row])))


@pytest.mark.full
def test_where_memory_is_too_small_to_keep_anything_every_question_is_answered(
    adapter: Adapter, caplog: pytest.LogCaptureFixture
) -> None:
    import torch

    rows = questions("llava", generation_kwargs=STEPS)
    expected = outputs(adapter("llava", batch_size=4).generate(rows))
    model = adapter("llava", batch_size=4)
    forward = model.runtime.model.forward

    def crowded(*args: Any, **kwargs: Any) -> Any:
        if model.runtime.kept is not None:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return forward(*args, **kwargs)

    model.runtime.model.forward = crowded
    assert outputs(model.generate(rows)) == expected
    assert "the beginnings of prompts are no longer kept" in caplog.text
