"""The beginnings of questions on several pictures run in batches, and the pictures go through the vision tower together."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.models.hf.inference.test_prefixes import ASKED, CHOICES, STEPS, close, vision_runs
from tests.models.questions import instance, outputs, picture
from tests.sets import few

Adapter = Callable[..., Any]
SIZES = ((90, 60), (56, 112), (60, 60), (112, 112), (28, 84), (84, 56))
SLOW = [pytest.param(kind, marks=pytest.mark.slow) for kind in ("qwen2_vl", "gemma3", "internvl", "aya_vision")]
KINDS = few(["llava", "qwen3_vl", *SLOW])


def questions(count: int = 6, **fields: Any) -> list[Any]:
    """Three questions on each of some pictures of different sizes."""
    shown = [(text, [picture(*SIZES[n % 6], n)]) for n in range(count) for text in ASKED[:3]]
    return [instance(text, images, doc_id=n, **fields) for n, (text, images) in enumerate(shown)]


def shapes(model: Any) -> list[tuple[int, int]]:
    """(rows, tokens of a row) of each forward with pictures from here on."""
    found: list[tuple[int, int]] = []
    forward = model.runtime.model.forward

    def watched(*args: Any, **kwargs: Any) -> Any:
        if "mm_encoder_outputs" in kwargs:
            found.append(tuple(kwargs["input_ids"].shape))
        return forward(*args, **kwargs)

    model.runtime.model.forward = watched
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_batches_of_roots_give_the_answers_of_each_question_alone(adapter: Adapter, kind: str) -> None:
    together = adapter(kind, batch_size=18)
    generating = questions(generation_kwargs=STEPS)
    separate: dict[Any, Any] = {}
    for row in generating:
        separate |= outputs(adapter(kind).generate([row]))
    vision, forwards = vision_runs(together), shapes(together)
    assert outputs(together.generate(generating)) == separate
    assert sum(rows for rows, _ in forwards) == 6 and len(forwards) < 6, "several roots in a forward"
    assert len(vision) < 6, "several pictures in a run of the tower"
    rows = [questions(continuation=text, choice=n) for n, text in enumerate(CHOICES)]
    scoring = [row for doc in zip(*rows, strict=True) for row in doc]
    expected: dict[Any, Any] = {}
    for row in scoring:
        expected |= outputs(adapter(kind).loglikelihood([row]))
    close(outputs(together.loglikelihood(scoring)), expected)


@pytest.mark.parametrize("kind", few(["llava", "qwen2_vl"], at=[0]))
def test_all_pictures_of_a_batch_run_together(adapter: Adapter, kind: str) -> None:
    model = adapter(kind, batch_size=18)
    vision = vision_runs(model)
    assert len(outputs(model.loglikelihood(questions(continuation=" yes")))) == 18
    assert sum(vision) == 6 and max(vision) >= 2
    assert kind != "llava" or vision == [6]


def test_roots_of_like_length_run_together_and_little_is_padding(adapter: Adapter) -> None:
    model = adapter("qwen2_vl", batch_size=18)
    rows = questions(continuation=" yes")
    roots = [model.writer.write(row).picture_end for row in rows[::3]]
    forwards = shapes(model)
    list(model.loglikelihood(rows))
    assert sum(count for count, _ in forwards) == 6 and 1 < len(forwards) < 6
    assert sum(count * tokens for count, tokens in forwards) < sum(tokens + 8 for tokens in roots) / 0.8


@pytest.mark.parametrize(
    ("batch_size", "budget", "most"), few([(1, None, 1), (2, None, 2), ("auto", 2.5, 2), ("auto", None, 6)], at=[2, 3])
)
def test_a_batch_of_roots_keeps_to_the_limit_and_to_the_tokens_held(
    adapter: Adapter, batch_size: int | str, budget: float | None, most: int
) -> None:
    import torch
    from mm_eval.models.hf.inference.prefixes import prefixes, sharing

    model = adapter("llava", batch_size=batch_size)
    prompts = [model.writer.write(row) for row in questions()]
    if budget is not None:
        model.runtime.budget = int(budget * max(length for length, _ in sharing(model.runtime, prompts)))
    forwards = shapes(model)
    with torch.inference_mode():
        places = [place for some, _ in prefixes(model.runtime, prompts) for place in some]
    assert sorted(places) == list(range(18))
    assert max(rows for rows, _ in forwards) == most and sum(rows for rows, _ in forwards) == 6


@pytest.mark.full
@pytest.mark.parametrize("kind", few(["llava", "qwen2_vl", "gemma3"], "qwen2_vl"))
def test_the_last_picture_of_a_batch_is_kept_for_the_next_one(adapter: Adapter, kind: str) -> None:
    """Batches of five: all questions on a picture and two on the next one, or the last on one and all on the next, ..."""
    model = adapter(kind, batch_size=5)
    rows = questions(5, continuation=" yes")
    forwards = shapes(model)
    found = outputs(model.loglikelihood(rows))
    assert sum(rows for rows, _ in forwards) == (5 if kind != "gemma3" else 7)
    for row in rows:
        close({(row.doc_id, 0): found[row.doc_id, 0]}, outputs(adapter(kind).loglikelihood([row])))
