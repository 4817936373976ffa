"""Log-likelihoods of long texts, long choices, and choices with nothing before them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mm_eval.values.errors import ModelError
from tests.models.questions import instance, outputs, picture

Adapter = Callable[..., Any]
LONG = "The quick brown fox jumps over the lazy dog. Is there a person in the photo? " * 3


def _logprobs(model: Any, ids: list[int]) -> Any:
    """Log-probability of each token of ids but the first, from one whole forward."""
    import torch

    with torch.no_grad():
        logits = model.runtime.model(torch.tensor([ids])).logits[0].double()
    return torch.log_softmax(logits[:-1], -1).gather(1, torch.tensor(ids[1:])[:, None])[:, 0]


def test_rolling_is_the_whole_text_in_disjoint_windows(adapter: Adapter) -> None:
    row = instance("", chat=False, continuation=LONG, request_type="loglikelihood_rolling")
    model = adapter("llama", max_length=16, batch_size=3)
    ids = model.writer.encode_text(LONG)
    assert len(ids) > 48 and len(ids) % 16
    expected, scored = 0.0, 0
    for start in range(0, len(ids), 16):
        window = ids[start : start + 16]
        begin = max(0, start + len(window) - 17) if start else 0
        context = [1] if start == 0 else ids[begin:start]
        expected += float(_logprobs(model, context + window)[-len(window) :].sum())
        scored += len(window)
        assert len(context) + len(window) <= 17
    assert scored == len(ids)
    [(total, greedy)] = outputs(model.loglikelihood_rolling([row])).values()
    assert total == pytest.approx(expected, abs=1e-3) and not greedy


def test_rolling_of_a_short_text_is_one_forward_after_bos(adapter: Adapter) -> None:
    model = adapter("llama")
    rows = [instance("", chat=False, continuation=text, doc_id=n) for n, text in enumerate([LONG, ""])]
    found = outputs(model.loglikelihood_rolling(rows))
    assert found[0, 0][0] == pytest.approx(
        float(_logprobs(model, [1, *model.writer.encode_text(LONG)]).sum()), abs=1e-3
    )
    assert found[1, 0] == (0.0, True)


def test_rolling_refuses_pictures(adapter: Adapter) -> None:
    row = instance("", [picture(28, 28)], continuation="x", request_type="loglikelihood_rolling")
    [answer] = outputs(adapter("llava").loglikelihood_rolling([row])).values()
    assert isinstance(answer, ModelError)


def test_an_empty_context_is_conditioned_on_bos(adapter: Adapter) -> None:
    for options in ({}, {"add_bos_token": "false"}):
        model = adapter("llama", **options)
        [(total, _)] = outputs(model.loglikelihood([instance("", chat=False, continuation="the dog")])).values()
        assert total == pytest.approx(
            float(_logprobs(model, [1, *model.writer.encode_text("the dog")]).sum()), abs=1e-4
        )


def test_an_empty_continuation_is_certain(adapter: Adapter) -> None:
    assert outputs(adapter("llama").loglikelihood([instance("A", chat=False, continuation="")])) == {
        (0, 0): (0.0, True)
    }


def test_a_long_text_context_is_cut_from_the_left_for_its_own_row_only(adapter: Adapter) -> None:
    model = adapter("llama", max_length=20, batch_size=4)
    texts = (" dog", " the yellow bus in the photo")
    rows = [instance(LONG, chat=False, continuation=text, choice=n) for n, text in enumerate(texts)]
    together = outputs(model.loglikelihood(rows))
    ids = model.writer.encode_text(LONG.rstrip())
    for n, text in enumerate(texts):
        whole = model.writer.encode_text(LONG + text)
        scored = len(whole) - len(ids)
        expected = float(_logprobs(model, whole[-21:])[-scored:].sum())
        assert together[0, n][0] == pytest.approx(expected, abs=1e-4)
        assert outputs(model.loglikelihood([rows[n]]))[0, n][0] == pytest.approx(expected, abs=1e-4)


def test_a_prompt_with_pictures_or_a_choice_that_does_not_fit_is_an_error(adapter: Adapter) -> None:
    model = adapter("llava", max_length=20)
    rows = [
        instance(LONG, [picture(28, 28)], continuation=" yes", doc_id=0),
        instance("?", [picture(28, 28)], continuation=" yes", doc_id=1),
        instance("?", chat=False, continuation=LONG, doc_id=2),
    ]
    found = outputs(model.loglikelihood(rows))
    assert isinstance(found[0, 0], ModelError) and "never cut" in str(found[0, 0])
    assert found[1, 0][0] < 0
    assert isinstance(found[2, 0], ModelError) and "a_task, doc 2" in str(found[2, 0])


def test_choices_of_a_doc_run_their_prompt_once(adapter: Adapter) -> None:
    model = adapter("llava", batch_size=2)
    calls: list[int] = []
    features = model.runtime.model.model.get_image_features

    def counted(*args: Any, **kwargs: Any) -> Any:
        calls.append(1)
        return features(*args, **kwargs)

    model.runtime.model.model.get_image_features = counted
    decoded: list[int] = []

    def load() -> Any:
        decoded.append(1)
        return [picture(28, 28)]

    one = instance("What?", [picture(28, 28)])
    rows = [
        instance(
            "What?", continuation=text, choice=n, images=load, image_digests=one.image_digests, context=one.context
        )
        for n, text in enumerate((" A", " the yellow bus", " a red car", " dog"))
    ]
    assert len(outputs(model.loglikelihood(rows))) == 4
    assert (len(calls), len(decoded)) == (1, 1)


@pytest.mark.full
@pytest.mark.parametrize(("batch_size", "forwards"), [(1, 1 + 3), ("auto", 1 + 1)])
def test_many_continuations_extend_in_pieces(adapter: Adapter, batch_size: int | str, forwards: int) -> None:
    """Of eight with a batch size of one, and of what the budget of tokens holds otherwise."""
    texts = [f" {a} {b}" for a in ("red", "yellow", "the") for b in ("car", "dog", "bus", "cat", "fox", "photo", "a")]
    rows = [instance("What?", chat=False, continuation=text, choice=n) for n, text in enumerate(texts)]
    model = adapter("llama", batch_size=batch_size)
    calls: list[int] = []
    model.runtime.model.register_forward_pre_hook(lambda *_: calls.append(1))
    together = outputs(model.loglikelihood(rows))
    assert len(calls) == forwards
    for n in range(len(texts)):
        [(total, _)] = outputs(adapter("llama").loglikelihood([rows[n]])).values()
        assert together[0, n][0] == pytest.approx(total, abs=1e-4)
