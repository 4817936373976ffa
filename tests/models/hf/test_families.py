"""For each family: answers do not depend on the batch, log-likelihoods are what they claim, and pictures matter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.models.questions import instance, mixed, outputs, picture
from tests.models.tiny_random import FAMILIES
from tests.sets import few

KINDS = (*FAMILIES, "llama", "idefics3")
CHOICES = (" A", " the yellow bus", " a red car", " dog")
STEPS = {"max_new_tokens": 8, "min_new_tokens": 8}


def _choices(kind: str) -> list[Any]:
    rows = []
    for choice, text in enumerate(CHOICES):
        rows.append(mixed(kind != "llama", continuation=text, choice=choice))
    return [row for doc in zip(*rows, strict=True) for row in doc]


@pytest.mark.parametrize("kind", few(KINDS, "qwen2_vl"))
def test_generation_is_the_same_in_any_batch(adapter: Callable[..., Any], kind: str) -> None:
    asked = mixed(kind != "llama", generation_kwargs=STEPS)
    alone = outputs(adapter(kind, batch_size=1).generate(asked))
    assert len(alone) == len(asked) and len(set(alone.values())) >= 3, alone
    for size in (5, "auto"):
        assert outputs(adapter(kind, batch_size=size).generate(asked)) == alone
    assert outputs(adapter(kind, batch_size=3).generate(asked[::-1])) == alone


@pytest.mark.parametrize("kind", few(KINDS, "llama"))
def test_loglikelihood_is_the_same_in_any_batch(adapter: Callable[..., Any], kind: str) -> None:
    asked = _choices(kind)
    alone = {}
    for row in asked:
        alone |= outputs(adapter_of(adapter, kind).loglikelihood([row]))
    for size, order in ((1, 1), (5, 1), ("auto", 1), (3, -1)):
        together = outputs(adapter(kind, batch_size=size).loglikelihood(asked[::order]))
        assert together.keys() == alone.keys()
        for key, (total, greedy) in together.items():
            assert total == pytest.approx(alone[key][0], abs=1e-4)
            assert greedy == alone[key][1]


_LOADED: dict[str, Any] = {}


def adapter_of(adapter: Callable[..., Any], kind: str) -> Any:
    """One loaded batch-1 adapter a kind, for tests that only read from it."""
    if kind not in _LOADED:
        _LOADED[kind] = adapter(kind)
    return _LOADED[kind]


def _by_hand(model: Any, prompt: str, continuation: str, images: list[Any]) -> tuple[float, bool]:
    """Sum of token log-probabilities from one whole forward over prompt and continuation, written out."""
    import torch

    writer, torch_model = model.writer, model.runtime.model
    if writer.processor is None:
        inputs = writer.tokenizer(prompt + continuation, return_tensors="pt", add_special_tokens=False)
    else:
        pictures = {"images": [images]} if images else {}
        inputs = writer.processor(text=[prompt + continuation], return_tensors="pt", **pictures)
    scored = writer.tokenizer(continuation, add_special_tokens=False)["input_ids"]
    with torch.no_grad():
        logits = torch_model(**inputs).logits[0]
    assert inputs["input_ids"][0, -len(scored) :].tolist() == scored
    total, greedy = 0.0, True
    for place, token in enumerate(scored):
        row = logits[logits.shape[0] - len(scored) - 1 + place].double()
        total += float(row[token] - row.exp().sum().log())
        greedy = greedy and int(row.argmax()) == token
    return total, greedy


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("kind", few(KINDS, "llava", "qwen2_vl", "llama"))
def test_loglikelihood_equals_a_whole_forward_in_nats(adapter: Callable[..., Any], kind: str, count: int) -> None:
    model = adapter_of(adapter, kind)
    images = [] if kind == "llama" else [picture(90, 60, 1), picture(56, 112, 2)][:count]
    rows = [instance("What is shown?", images, continuation=text, choice=n) for n, text in enumerate(CHOICES)]
    prompt = model.writer.write(rows[0]).text
    for key, (total, greedy) in outputs(model.loglikelihood(rows)).items():
        expected, expected_greedy = _by_hand(model, prompt, CHOICES[key[1]], images)
        assert total < 0
        assert total == pytest.approx(expected, abs=1e-4)
        assert greedy == expected_greedy


@pytest.mark.parametrize("kind", few([*(kind for kind in KINDS if kind != "llama"), "paligemma"], "llava", "qwen2_vl"))
def test_another_picture_changes_the_loglikelihood(adapter: Callable[..., Any], kind: str) -> None:
    model = adapter_of(adapter, kind)

    def scored(images: list[Any]) -> list[float]:
        rows = [instance("What is shown?", images, continuation=text, choice=n) for n, text in enumerate(CHOICES)]
        return [output[0] for output in outputs(model.loglikelihood(rows)).values()]

    one, other = scored([picture(90, 60, 1)]), scored([picture(90, 60, 2)])
    assert one == pytest.approx(scored([picture(90, 60, 1)]), abs=1e-4)  # several threads add in another order
    assert max(abs(a - b) for a, b in zip(one, other, strict=True)) > 1e-2
    first, last = [picture(90, 60, 1), picture(56, 56, 2)], [picture(90, 60, 1), picture(56, 56, 3)]
    assert max(abs(a - b) for a, b in zip(scored(first), scored(last), strict=True)) > 1e-2


@pytest.mark.parametrize("kind", few([*KINDS, "paligemma"], "llava"))
def test_generation_and_loglikelihood_see_the_same_model(adapter: Callable[..., Any], kind: str) -> None:
    """Scoring the model's own greedy tokens gives the log-probabilities that generation had, and says they are greedy."""
    import torch
    from mm_eval.models.hf.inference.scoring import Continuation, score

    model = adapter_of(adapter, kind)
    pictured = [row for row in mixed(kind != "llama", generation_kwargs=STEPS) if row.images or kind != "paligemma"]
    for row in pictured:
        prompt = model.writer.write(row)
        batch = model.runtime.collate([prompt])
        length = len(prompt.ids)
        steps = {"max_new_tokens": 6, "min_new_tokens": 6, "do_sample": False}
        kept = {"output_logits": True, "return_dict_in_generate": True}
        generated = model.runtime.model.generate(**batch, **steps, **kept)
        own = generated.sequences[0, length:].tolist()
        logits = [torch.log_softmax(step[0].double(), -1) for step in generated.logits]
        [(total, greedy)] = score(model.runtime, [Continuation(row, prompt, own)])
        assert greedy and total < 0
        assert total == pytest.approx(
            sum(float(step[token]) for step, token in zip(logits, own, strict=True)), abs=1e-4
        )
        changed = (own[0] + 1) % 400
        longer = model.runtime.collate([prompt]) | {"input_ids": torch.tensor([[*prompt.ids, changed]])}
        longer |= {name: torch.nn.functional.pad(longer[name], (0, 1)) for name in prompt.types}
        longer["attention_mask"] = torch.ones_like(longer["input_ids"])
        after = model.runtime.model.generate(**longer, max_new_tokens=4, min_new_tokens=4, do_sample=False)
        first_is_not, last_is_not = [changed, *after[0, length + 1 :].tolist()], [*own[:-1], (own[-1] + 1) % 400]
        for ids in (first_is_not, last_is_not):
            [(_, is_greedy)] = score(model.runtime, [Continuation(row, prompt, ids)])
            assert not is_greedy


@pytest.mark.parametrize("kind", few(["qwen2_vl", "qwen2_5_vl", "qwen3_vl"], at=[0]))
def test_positions_of_one_prompt_do_not_leak_into_another(adapter: Callable[..., Any], kind: str) -> None:
    """The model keeps rope_deltas as state: prefill A, prefill B, then extending A must still be right."""
    import torch
    from mm_eval.models.hf.inference.cache import Rows, root_of
    from mm_eval.models.hf.inference.prefixes import prefill, run_on

    runtime, writer = adapter_of(adapter, kind).runtime, adapter_of(adapter, kind).writer
    one = writer.write(instance("What is shown?", [picture(112, 112, 1)]))
    other = writer.write(instance("Is there a dog in it, or a cat?", [picture(56, 28, 2)]))
    ids = [5, 6, 7, 8]
    with torch.inference_mode():
        clean = run_on(runtime, prefill(runtime, [one]), [0], [ids])[0].logits
        kept = prefill(runtime, [one])
        prefill(runtime, [other])
        assert torch.allclose(run_on(runtime, kept, [0], [ids])[0].logits, clean, atol=1e-5)
        rows = Rows(runtime)
        rows.add(root_of(kept, 0, one), kept.shift[0])
        assert torch.allclose(rows.run([ids], keep=len(ids)), clean, atol=1e-5)
        assert kept.shift.item() < 0


@pytest.fixture
def unlisted(monkeypatch: pytest.MonkeyPatch) -> None:
    """idefics3 and qwen2_vl as types that nobody has put into the table."""
    from mm_eval.models.hf.families import FAMILIES

    for kind in ("idefics3", "qwen2_vl"):
        monkeypatch.delitem(FAMILIES, kind)


def _warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]


@pytest.mark.full
@pytest.mark.usefixtures("unlisted")
@pytest.mark.parametrize("kind", ["idefics3", "qwen2_vl"])
def test_an_unlisted_type_that_passes_its_check_is_quick(
    adapter: Callable[..., Any], caplog: pytest.LogCaptureFixture, kind: str
) -> None:
    model = adapter(kind, batch_size=8)
    model.prepare()
    assert model.runtime.prefix_cache and model.runtime.limit == 8 and model.runtime.features is not None
    assert model.runtime.family.mrope == (kind == "qwen2_vl") and not _warnings(caplog)
    asked = mixed(generation_kwargs=STEPS)
    assert outputs(model.generate(asked)) == outputs(adapter(kind).generate(asked))


@pytest.mark.full
@pytest.mark.usefixtures("unlisted")
@pytest.mark.parametrize("broken", few(["wrong", "raises"], "wrong"))
def test_an_unlisted_type_that_fails_its_check_runs_alone_and_says_so_once(
    adapter: Callable[..., Any], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, broken: str
) -> None:
    """A short cut that is wrong by a few thousandths of a nat is found before the first question."""
    from mm_eval.models.hf.inference.cache import Rows

    run = Rows.run

    def off(rows: Any, ids: Any, keep: int = 1) -> Any:
        if broken == "raises" and keep > 1:
            raise TypeError("no such argument")
        logits = run(rows, ids, keep)
        logits[..., 7] += 5e-2 * (keep > 1)
        return logits

    monkeypatch.setattr(Rows, "run", off)
    model = adapter("idefics3", batch_size=8)
    model.prepare()
    assert model.runtime.limit == 1 and not model.runtime.prefix_cache and model.runtime.features is None
    [said] = _warnings(caplog)
    assert "idefics3" in said and "one prompt at a time" in said


@pytest.mark.full
@pytest.mark.usefixtures("unlisted")
@pytest.mark.parametrize("memory", few(["enough", "little"], "little"))
@pytest.mark.parametrize("dtype", few(["bfloat16", "float16"], "bfloat16"))
@pytest.mark.parametrize("kind", few(["idefics3", "qwen2_vl"], "qwen2_vl"))
def test_half_precision_is_compared_in_float32_and_keeps_its_bits(
    adapter: Callable[..., Any],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    kind: str,
    dtype: str,
    memory: str,
) -> None:
    """With little memory the weights of one module at a time are widened, so that a large model is checked too."""
    import torch
    from mm_eval.models.hf import self_check

    if memory == "little":
        monkeypatch.setattr(self_check, "free_bytes", lambda device: 0)
    model, other = adapter(kind, batch_size=8, dtype=dtype), adapter("llava", dtype=dtype)
    model.prepare()
    assert model.runtime.prefix_cache and model.runtime.limit == 8 and not _warnings(caplog)
    assert model.runtime.model.dtype == model.runtime.dtype == getattr(torch, dtype) == other.runtime.dtype
    loaded = type(model.runtime.model).from_pretrained(model.checkpoint.folder, dtype=getattr(torch, dtype))
    for name, tensor in loaded.state_dict().items():
        assert torch.equal(tensor, model.runtime.model.state_dict()[name]), name
    for (name, tensor), mine in zip(loaded.named_buffers(), model.runtime.model.buffers(), strict=True):
        assert tensor.dtype == mine.dtype and torch.equal(tensor, mine), name
    assert all(isinstance(answer, str) for answer in outputs(model.generate(mixed(generation_kwargs=STEPS))).values())


@pytest.mark.full
@pytest.mark.usefixtures("unlisted")
@pytest.mark.parametrize("memory", ["enough", "little"])
def test_a_fault_that_rounding_would_hide_is_found_in_half_precision(
    adapter: Callable[..., Any], caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, memory: str
) -> None:
    from mm_eval.models.hf import self_check
    from mm_eval.models.hf.inference.cache import Rows

    if memory == "little":
        monkeypatch.setattr(self_check, "free_bytes", lambda device: 0)
    run = Rows.run

    def off(rows: Any, ids: Any, keep: int = 1) -> Any:
        logits = run(rows, ids, keep)
        logits[..., 7] += 5e-2 * (keep > 1)
        return logits

    monkeypatch.setattr(Rows, "run", off)
    model = adapter("idefics3", batch_size=8, dtype="bfloat16")
    model.prepare()
    assert model.runtime.limit == 1 and not model.runtime.prefix_cache
    assert "log-likelihoods differ by" in _warnings(caplog)[0]


def test_only_the_weights_of_the_running_module_are_widened_where_memory_is_little(
    adapter: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    import torch
    from mm_eval.models.hf import self_check

    monkeypatch.setattr(self_check, "free_bytes", lambda device: 0)
    model = adapter("llava", dtype="bfloat16").runtime.model
    widened: list[int] = []

    def count(module: Any, given: Any, output: Any) -> None:
        widened.append(sum(parameter.dtype == torch.float32 for parameter in model.parameters()))

    hooks = [module.register_forward_hook(count) for module in model.modules() if isinstance(module, torch.nn.Linear)]
    with torch.inference_mode(), self_check.in_float32(model):
        output = model(input_ids=torch.tensor([[5, 6, 7]]))
    for hook in hooks:
        hook.remove()
    assert output.logits.dtype == torch.float32 and widened and max(widened) <= 2, "a weight and its bias"
    assert {parameter.dtype for parameter in model.parameters()} == {torch.bfloat16}
    with pytest.raises(ZeroDivisionError), self_check.in_float32(model):
        monkeypatch.setattr(type(model.lm_head), "forward", lambda *_: 1 / 0)
        model(input_ids=torch.tensor([[5, 6, 7]]))
    assert {parameter.dtype for parameter in model.parameters()} == {torch.bfloat16}


@pytest.mark.full
@pytest.mark.parametrize(
    ("kind", "short_cuts"),
    [
        ("granite4_vision", {"batched": True, "prefix_cache": True, "features": False}),  # features of another shape
        (
            "exaone4_5",
            {"batched": True, "prefix_cache": True, "mrope": False},
        ),  # it has the name of M-RoPE, and no more
        ("minimax_m3_vl", {"batched": False, "prefix_cache": True}),  # padding moves the blocks of its attention
    ],
)
def test_an_unlisted_type_keeps_the_short_cuts_that_agree(
    adapter: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, kind: str, short_cuts: dict[str, bool]
) -> None:
    from mm_eval.models.hf.families import FAMILIES

    monkeypatch.delitem(FAMILIES, kind)
    model = adapter(kind, batch_size=8)
    model.prepare()
    found = model.runtime.family
    assert {name: getattr(found, name) for name in short_cuts} == short_cuts
    asked = mixed(generation_kwargs=STEPS)
    assert outputs(model.generate(asked)) == outputs(adapter(kind).generate(asked))


@pytest.mark.parametrize(
    ("kind", "name", "keys"),
    [
        ("llava", "hf", ("llava",)),
        ("llava_next", "llava", ("llava_next", "llava")),
        ("qwen2_5_vl", "qwen_vl", ("qwen2_5_vl", "qwen_vl")),
        ("llava", "qwen_vl", ("qwen_vl",)),
        ("llama", "hf", ()),
    ],
)
def test_prompt_keys(adapter: Callable[..., Any], kind: str, name: str, keys: tuple[str, ...]) -> None:
    assert adapter(kind, name).facts.prompt_keys == keys
