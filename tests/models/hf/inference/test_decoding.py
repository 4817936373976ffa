"""Decoding in place gives the logits of transformers' cache, and a full batch takes prompts as rows leave it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from mm_eval.engine.outcome import StopSignal
from mm_eval.values.types import Answer
from tests.models.hf.test_more_families import MORE
from tests.models.questions import instance, outputs, picture
from tests.models.tiny_random import FAMILIES
from tests.sets import few

Adapter = Callable[..., Any]
ASKED = (
    "What is shown?",
    "Is there a person in the photo?",
    "Is there a dog?",
    "Which color is the car, red or yellow?",
)
CLOSE = 1e-5
"""Difference of logits that is allowed."""


def _prompts(model: Any) -> list[Any]:
    shown = [[picture(90, 60, 1)]] * 3 + [[picture(56, 112, 2)]] * 2 + [[picture(60, 60, 3)]]
    if model.writer.processor is None:
        beginning = "The quick brown fox jumps over the lazy dog. " * 3
        rows = [instance(beginning + text, chat=False) for text in ASKED] + [instance("Is it?", chat=False)]
    else:
        rows = [instance(ASKED[n % 4], pictures) for n, pictures in enumerate(shown)]
    return [model.writer.write(row) for row in rows]


KINDS = ["llama", *FAMILIES, *(kind for kind in MORE if kind not in FAMILIES)]
COPIED = (
    "qwen3_5", "qwen3_5_moe", "minicpmv4_6", "minicpmv4_7", "lfm2_vl", "lfm3_vl", "gemma3n", "gemma4", "kimi_k25",
    "minimax_m3_vl", "mllama", "qwen4_exp", "dots3_note", "glm5_next", "mistral_large4", "mistral3_of_4",
    "inkling_mm_model", "inkling2",
)  # fmt: skip
"""Types that share prefixes on copies of transformers' own cache: recurrent layers, keys of other layers, latent keys, blocks,
pictures beside the tokens.
"""


@pytest.mark.parametrize("kind", few(KINDS, "qwen2_vl"))
def test_logits_are_those_of_transformers_cache(adapter: Adapter, kind: str) -> None:
    """Several pictures in one batch, questions of different lengths, rows that leave from the middle, windows of 16 tokens."""
    import torch
    from mm_eval.models.hf.inference.cache import Rows, root_of
    from mm_eval.models.hf.inference.prefixes import beginnings, grown, prefill

    model = adapter(kind, batch_size=8)
    runtime = model.runtime
    if not runtime.in_place:
        assert kind in COPIED or not runtime.prefix_cache, "a family that shares prefixes at all is decoded in place"
        return
    prompts = _prompts(model)
    with torch.inference_mode():
        rows, order = Rows(runtime), list[int]()
        for part, prefix in beginnings(runtime, prompts):
            for line, (beginning, places) in enumerate(part):
                order += places
                if len(places) == 1:
                    rows.add_whole(prefix, line)
                    continue
                rows.add(root_of(prefix, line, beginning), prefix.shift[line], len(places))
                rows.run([prompts[place].ids[len(beginning.ids) :] for place in places])
        alone = [prefill(runtime, [prompts[place]]) for place in order]
        for step in range(24):
            tokens = [(step * 7 + place * 3) % 90 + 5 for place in order]
            found = rows.run([[token] for token in tokens])[:, -1]
            alone = [grown(runtime, each, [0], [[token]]) for each, token in zip(alone, tokens, strict=True)]
            expected = torch.cat([each.logits for each in alone])
            assert float((found - expected).abs().max()) <= CLOSE * max(1.0, float(expected.abs().max()))
            if step in (2, 5):
                left = rows.drop([1] if step == 2 else [0, len(order) - 1])
                order, alone = [order[place] for place in left], [alone[place] for place in left]


def test_a_model_whose_attention_is_of_another_kind_says_so(
    adapter: Adapter, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """Its keys are changed after they were written: found before the first question, and the answers are right all the same."""
    from transformers.models.llama import modeling_llama

    rows = [
        instance(text, chat=False, doc_id=n, generation_kwargs={"max_new_tokens": 8}) for n, text in enumerate(ASKED)
    ]
    expected = outputs(adapter("llama", batch_size=4).generate(rows))
    forward = modeling_llama.LlamaAttention.forward

    def own(self: Any, *args: Any, **kwargs: Any) -> Any:
        name, self.config._attn_implementation_internal = self.config._attn_implementation_internal, "sdpa"
        try:
            return forward(self, *args, **kwargs)
        finally:
            self.config._attn_implementation_internal = name

    monkeypatch.setattr(modeling_llama.LlamaAttention, "forward", own)
    model = adapter("llama", batch_size=4)
    with caplog.at_level("INFO"):
        assert not model.runtime.in_place
    assert (
        "runs on transformers' own cache: RuntimeError: a layer wrote its keys and did not ask for attention"
        in caplog.text
    )
    assert outputs(model.generate(rows)) == expected


def _long(count: int, *, pictured: bool = True, **options: Any) -> list[Any]:
    """Answers of 3 to 30 tokens, the longest one first."""
    lengths = [30, *((n * 7) % 20 + 3 for n in range(1, count))]
    made = []
    for n, length in enumerate(lengths):
        kwargs = {"max_new_tokens": length, "min_new_tokens": length, **options}
        shown = [picture(60 + 8 * (n % 3), 60, n // 2)] if pictured else []
        made.append(instance(ASKED[n % 4], shown, chat=pictured, doc_id=n, generation_kwargs=kwargs))
    return made


@pytest.mark.full
@pytest.mark.parametrize("batch_size", [3, "auto"])
@pytest.mark.parametrize("kind", few(["llava", "qwen2_vl", "gemma3", "llama"], "llama"))
def test_answers_do_not_depend_on_when_a_prompt_came_in(adapter: Adapter, kind: str, batch_size: int | str) -> None:
    rows = _long(14, pictured=kind != "llama")
    expected: dict[Any, Any] = {}
    for row in rows:
        expected |= outputs(adapter(kind).generate([row]))
    model = adapter(kind, batch_size=batch_size)
    model.runtime.budget, model.runtime.depth = 260, 1
    assert outputs(model.generate(rows)) == expected


def _steps(model: Any) -> list[int]:
    """Rows of each step of one token from here on."""
    sizes: list[int] = []
    forward = model.runtime.model.forward

    def counted(*args: Any, **kwargs: Any) -> Any:
        if kwargs["input_ids"].shape[1] == 1:
            sizes.append(len(kwargs["input_ids"]))
        return forward(*args, **kwargs)

    model.runtime.model.forward = counted
    return sizes


def test_a_waiting_prompt_takes_the_place_of_a_finished_row(adapter: Adapter) -> None:
    """The batch stays full until the prompts run out, and the first answers come before the longest ends."""
    model = adapter("llava", batch_size=4)
    rows = _long(16)
    taken: list[int] = []

    def asked() -> Iterator[Any]:
        for row in rows:
            taken.append(row.doc_id)
            yield row

    sizes = _steps(model)
    came = [row.doc_id for row, _ in model.generate(asked())]
    assert came.index(0) > 3 and len(set(came)) == 16, (
        "the longest is the first one asked, and not the first one answered"
    )
    tokens = sum(row.generation_kwargs["max_new_tokens"] - 1 for row in rows)
    assert sum(sizes) == tokens and len(sizes) <= 1.25 * tokens / 4
    assert set(sizes[: len(sizes) // 2]) == {4}


@pytest.mark.full
def test_prompts_with_other_caps_and_stop_strings_share_a_batch(adapter: Adapter) -> None:
    rows = _long(8)
    free = outputs(adapter("llava", batch_size=8).generate(rows))
    for row in rows[:4]:
        row.generation_kwargs = {**row.generation_kwargs, "until": [free[row.doc_id, 0][1:3]]}
    model = adapter("llava", batch_size=8)
    sizes = _steps(model)
    found = outputs(model.generate(rows))
    assert max(sizes) > 4
    for n, row in enumerate(rows):
        whole = free[row.doc_id, 0]
        assert found[row.doc_id, 0] == (whole[: whole.index(whole[1:3])] if n < 4 else whole)


def test_after_a_stop_the_rows_in_the_batch_are_answered_and_no_more(adapter: Adapter) -> None:
    model = adapter("llava", batch_size=3)
    stop = StopSignal(notify=partial(model.stop, True))
    answered = []
    for row, answer in model.generate(_long(12)):
        assert isinstance(answer, Answer)
        answered.append(row.doc_id)
        if not stop.requested:
            stop(2, None)
    assert 0 in answered and len(answered) == 3, "the longest one, which had begun, is among them"


@pytest.mark.full
def test_auto_holds_what_is_there_and_not_what_may_come(adapter: Adapter) -> None:
    """A cap of 60 tokens does not keep prompts out; rows that grow beyond twice the budget are put off and answered later."""
    kwargs = {"max_new_tokens": 60, "min_new_tokens": 60}
    rows = [instance(f"{n} {text}", chat=False, doc_id=n, generation_kwargs=kwargs) for n, text in enumerate(ASKED * 2)]
    alone: dict[Any, Any] = {}
    for row in rows:
        alone |= outputs(adapter("llama").generate([row]))
    model = adapter("llama", batch_size="auto")
    model.runtime.budget, model.runtime.depth = 60, 1
    sizes, put_off = _steps(model), list[int]()
    overflows = model.runtime.overflows

    def looked_at(count: int, tokens: int) -> bool:
        found: bool = overflows(count, tokens)
        put_off.append(found)
        assert tokens <= 2 * 60 + count
        return found

    model.runtime.overflows = looked_at
    assert outputs(model.generate(rows)) == alone
    assert max(sizes) > 2 and any(put_off)


@pytest.mark.full
def test_after_out_of_memory_in_the_middle_every_answer_is_that_of_a_quiet_run(adapter: Adapter) -> None:
    import torch

    rows = _long(10)
    expected = outputs(adapter("llava", batch_size=1).generate(rows))
    model = adapter("llava", batch_size=6)
    forward, calls = model.runtime.model.forward, list[int]()

    def crowded(*args: Any, **kwargs: Any) -> Any:
        calls.append(len(kwargs["input_ids"]))
        if len(calls) > 6 and len(kwargs["input_ids"]) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return forward(*args, **kwargs)

    model.runtime.model.forward = crowded
    assert outputs(model.generate(rows)) == expected
    assert model.runtime.limit == 3
