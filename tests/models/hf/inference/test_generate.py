"""Generation: where an answer ends, what sampling depends on, and what happens when a row or the memory fails."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mm_eval.engine.model import check_generation
from mm_eval.values.errors import ConfigError, DataError, ModelError
from mm_eval.values.types import Answer, Instance
from tests.models.questions import instance, mixed, outputs, picture
from tests.sets import few

Adapter = Callable[..., Any]


def _responses(answers: Any) -> dict[int, Any]:
    return {asked.doc_id: answer for asked, answer in answers}


def _steps(count: int, **more: Any) -> dict[str, Any]:
    return {"generation_kwargs": {"max_new_tokens": count, **more}}


def test_an_answer_is_cut_before_the_first_stop_string(adapter: Adapter) -> None:
    model = adapter("llava", batch_size=5)
    free = _responses(model.generate(mixed(**_steps(12, min_new_tokens=12))))
    for doc_id, answer in free.items():
        text = answer.output
        stop = text[3:5]
        cut = text[: text.index(stop)]
        rows = mixed(**_steps(12, min_new_tokens=12, until=["never this", stop]))
        again = _responses(model.generate(rows))[doc_id]
        assert again.output == cut
        assert not again.truncated and answer.truncated
        assert again.usage["completion_tokens"] <= answer.usage["completion_tokens"]
        alone = _responses(adapter("llava").generate([rows[doc_id]]))[doc_id]
        assert alone.output == cut


def test_a_stop_string_ends_its_row_at_once(adapter: Adapter) -> None:
    model = adapter("llama")
    [row] = [instance("The quick", chat=False, **_steps(40, min_new_tokens=40))]
    text = outputs(model.generate([row]))[0, 0]
    steps: list[int] = []
    forward = model.runtime.model.forward

    def counted(*args: Any, **kwargs: Any) -> Any:
        steps.append(1)
        return forward(*args, **kwargs)

    model.runtime.model.forward = counted
    cut = instance("The quick", chat=False, **_steps(40, until=text[2:4]))
    answer = _responses(model.generate([cut]))[0]
    assert answer.output == text[: text.index(text[2:4])]
    assert len(steps) < 20


def test_eos_ends_an_answer_and_is_not_in_it(adapter: Adapter) -> None:
    model = adapter("llama")
    row = instance("The quick", chat=False, **_steps(6, min_new_tokens=6))
    prompt = model.writer.write(row)
    batch = model.runtime.collate([prompt])
    tokens = model.runtime.model.generate(**batch, max_new_tokens=6, min_new_tokens=6)[0, len(prompt.ids) :].tolist()
    model.runtime.model.generation_config.eos_token_id = [tokens[3], 2]
    answer = _responses(model.generate([instance("The quick", chat=False, **_steps(6))]))[0]
    place = tokens.index(tokens[3])
    assert answer.output == model.writer.tokenizer.decode(tokens[:place], skip_special_tokens=True)
    assert not answer.truncated and answer.usage["completion_tokens"] == place + 1


def test_a_special_token_as_stop_string_ends_the_answer(adapter: Adapter) -> None:
    from mm_eval.models.hf.inference.generate import _stop_tokens

    runtime = adapter("qwen2_vl").runtime
    ends, stops = _stop_tokens(runtime, ["<|vision_end|>", "\n", "</s>"])
    assert stops == ["\n"]
    assert runtime.tokenizer.convert_tokens_to_ids("<|vision_end|>") in ends and 2 in ends


def test_usage_counts_tokens(adapter: Adapter) -> None:
    model = adapter("llava", batch_size=5)
    for doc_id, answer in _responses(model.generate(mixed(**_steps(4, min_new_tokens=4)))).items():
        prompt = model.writer.write(mixed()[doc_id])
        pictures = (1, 0, 2, 1, 1)[doc_id]
        expected = {"prompt_tokens": len(prompt.ids), "completion_tokens": 4, "image_tokens": 4 * pictures}
        assert answer.usage == expected


def test_rows_with_different_options_keep_their_own(adapter: Adapter) -> None:
    rows = [instance("The quick", chat=False, doc_id=n, **_steps(2 + n % 3, min_new_tokens=2)) for n in range(7)]
    together = _responses(adapter("llama", batch_size=4).generate(rows))
    for row in rows:
        assert together[row.doc_id] == _responses(adapter("llama").generate([row]))[row.doc_id]
        assert together[row.doc_id].usage["completion_tokens"] <= 2 + row.doc_id % 3


@pytest.mark.full
@pytest.mark.parametrize("kind", ["llava", "janus"])
def test_a_sampled_answer_depends_on_seed_and_key_and_on_nothing_else(adapter: Adapter, kind: str) -> None:
    """janus has a `generate` of its own, which passes no logits processors on."""
    rows = mixed(**_steps(8, temperature=1.0))
    alone: dict[int, Any] = {}
    for row in rows:
        alone |= _responses(adapter(kind).generate([row]))
    assert _responses(adapter(kind, batch_size=4).generate(rows[::-1])) == alone
    assert _responses(adapter(kind, seed=1).generate(rows)) != alone
    repeats = [mixed(repeat=n, **_steps(8, temperature=1.0))[0] for n in range(4)]
    texts = [outputs(adapter(kind).generate([row]))[0, 0] for row in repeats]
    assert len(set(texts)) > 1


def test_sampling_leaves_the_callers_random_state_alone(adapter: Adapter) -> None:
    import torch

    model = adapter("llama")
    model.prepare()
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    list(model.generate([instance("Hi", chat=False, **_steps(4, temperature=0.7))]))
    assert torch.equal(torch.rand(1), expected)


def test_a_checkpoints_own_sampling_defaults_do_not_leak(
    adapter: Adapter, checkpoint: Callable[[str], Path], tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """generation_config.json of Qwen2-VL says do_sample, top_k=1: greedy stays greedy, and sampling really samples."""
    folder = shutil.copytree(checkpoint("llama"), tmp_path / "own_defaults")
    own = {"do_sample": True, "temperature": 5.0, "top_k": 1, "top_p": 0.001, "min_p": 0.999, "max_length": 3}
    (folder / "generation_config.json").write_text(json.dumps({"eos_token_id": 2, **own}))
    model, plain = adapter("llama", pretrained=str(folder)), adapter("llama")
    greedy = instance("The quick", chat=False, **_steps(8, min_new_tokens=8))
    assert outputs(model.generate([greedy])) == outputs(plain.generate([greedy]))
    sampled = [instance("The quick", chat=False, repeat=n, doc_id=n, **_steps(8, temperature=1.0)) for n in range(4)]
    assert len(set(outputs(model.generate(sampled)).values())) > 1
    assert "generation flags" not in capfd.readouterr().err


def test_the_checkpoints_repetition_penalty_holds(adapter: Adapter) -> None:
    model = adapter("llama")
    row = instance("The quick", chat=False, **_steps(12, min_new_tokens=12))
    before = outputs(model.generate([row]))
    model.runtime.model.generation_config.repetition_penalty = 0.1
    assert outputs(model.generate([row])) != before


def test_beams(adapter: Adapter) -> None:
    rows = mixed(**_steps(6, num_beams=3))
    alone = outputs(adapter("llava").generate(rows))
    assert outputs(adapter("llava", batch_size=5).generate(rows)) == alone


def test_the_token_budget_follows_a_devices_free_memory() -> None:
    """LLaVA-1.5-7B in half precision: 512 KiB of keys and values a token, held twice, and a fifth more for the layers."""
    import transformers as tf
    from mm_eval.models.hf.inference.limits import MOST_TOKENS, TOKENS, token_budget

    llava = tf.LlavaConfig(text_config=tf.LlamaConfig())
    assert [token_budget(llava, 2, free * 2**30) for free in (0, 4, 500)] == [TOKENS, TOKENS, MOST_TOKENS]
    half, whole = (token_budget(llava, 2, free * 2**30) for free in (20, 40))
    assert 2 * 2**20 * 0.5 * half < 10 * 2**30 < 2 * 2**20 * 0.7 * half and whole == pytest.approx(2 * half, abs=1)
    assert token_budget(tf.MambaConfig(), 2, 0) == TOKENS


@pytest.mark.parametrize("batch_size", [2, "auto"])
def test_answers_come_as_they_complete_and_batches_stay_small(adapter: Adapter, batch_size: int | str) -> None:
    """The first answer needs no more questions than one batch, and memory does not grow with the number of docs."""
    model = adapter("llama", batch_size=batch_size)
    model.runtime.budget, model.runtime.depth = 60, 1
    sizes: list[tuple[int, int]] = []
    collate = model.runtime.collate

    def counted(prompts: Any) -> Any:
        sizes.append((len(prompts), max(len(prompt.ids) for prompt in prompts)))
        return collate(prompts)

    model.runtime.collate = counted
    for fields, ask in (
        ({"generation_kwargs": {"max_new_tokens": 3}}, model.generate),
        ({"continuation": " a"}, model.loglikelihood),
    ):
        taken: list[int] = []

        def questions(fields: dict[str, Any] = fields, taken: list[int] = taken) -> Any:
            for n in range(12):
                taken.append(n)
                yield instance(f"The quick brown fox {n}", chat=False, doc_id=n, **fields)

        answers = ask(questions())
        next(answers)
        assert len(taken) <= 8
        assert len(list(answers)) == 11
    assert max(rows for rows, _ in sizes) <= (2 if batch_size == 2 else 60 // min(length for _, length in sizes))
    assert max(rows for rows, _ in sizes) > 1


def test_an_unknown_option_is_named(adapter: Adapter) -> None:
    with pytest.raises(ConfigError, match="'repetition_penalti'.*repetition_penalty"):
        list(adapter("llama").generate([instance("Hi", chat=False, **_steps(4, repetition_penalti=1.1))]))


def _broken() -> Any:
    raise DataError("The picture is truncated.")


def test_a_broken_picture_fails_its_own_doc_only(adapter: Adapter) -> None:
    rows = mixed(**_steps(6, min_new_tokens=6))
    expected = outputs(adapter("llava").generate(rows))
    rows[2].images = _broken
    answers = _responses(adapter("llava", batch_size=5).generate(rows))
    assert isinstance(answers[2], DataError) and "a_task, doc 2" in str(answers[2])
    assert {n: a.output for n, a in answers.items() if n != 2} == {n: t for (n, _), t in expected.items() if n != 2}


def test_a_broken_picture_fails_all_choices_of_its_doc(adapter: Adapter) -> None:
    rows = [row for n in range(2) for row in mixed(continuation=(" yes", " no")[n], choice=n)]
    rows.sort(key=lambda row: row.doc_id)
    for row in rows:
        if row.doc_id == 0:
            row.images = _broken
    answers = outputs(adapter("llava", batch_size=2).loglikelihood(rows))
    assert len(answers) == 10
    assert {key for key, answer in answers.items() if isinstance(answer, DataError)} == {(0, 0), (0, 1)}


@pytest.mark.full
@pytest.mark.parametrize(
    ("message", "batch_size", "room"),
    few(
        [
            ("CUDA out of memory. Tried to allocate", "auto", 2),
            ("CUDA out of memory. Tried to allocate", 5, 2),
            ("DefaultCPUAllocator: out of memory", 8, 1),
        ],
        at=(0,),
    ),
)
def test_out_of_memory_halves_the_batch_and_keeps_answers(
    adapter: Adapter, monkeypatch: pytest.MonkeyPatch, message: str, batch_size: int | str, room: int
) -> None:
    """room: the largest batch that fits; answers are those of a model that never ran out (fault 26)."""
    generating, scoring = mixed(**_steps(6, min_new_tokens=6)), mixed(continuation=" the yellow bus")
    expected = outputs(adapter("llava").generate(generating)), outputs(adapter("llava").loglikelihood(scoring))
    model = adapter("llava", batch_size=batch_size)
    collate = model.runtime.collate

    def small(prompts: Any) -> Any:
        if len(prompts) > room:
            raise RuntimeError(message)
        return collate(prompts)

    monkeypatch.setattr(model.runtime, "collate", small)
    assert outputs(model.generate(generating)) == expected[0]
    longest = max(len(model.writer.write(row).ids) for row in generating)
    assert model.runtime.is_full(room, longest), "as many fit as there is room for"
    for key, (total, _) in outputs(model.loglikelihood(scoring)).items():
        assert total == pytest.approx(expected[1][key][0], abs=1e-4)


@pytest.mark.parametrize("batch_size", ["auto", 8])
def test_the_batch_after_out_of_memory_is_told_in_prompts_and_not_in_choices(
    adapter: Adapter, batch_size: int | str
) -> None:
    """Four choices a prompt: where two prompts fit, two are taken, and what is left of a batch runs out no more."""
    import torch

    rows = [
        instance(f"What is shown {n}?", chat=False, doc_id=n, choice=choice, continuation=text)
        for n in range(12)
        for choice, text in enumerate((" a", " b", " c", " d"))
    ]
    model = adapter("llama", batch_size=batch_size)
    collate, failed, taken = model.runtime.collate, list[int](), list[int]()

    def small(prompts: Any) -> Any:
        (failed if len(prompts) > 2 else taken).append(len(prompts))
        if len(prompts) > 2:
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return collate(prompts)

    model.runtime.collate = small
    assert len(outputs(model.loglikelihood(rows))) == 48
    assert len(failed) <= 3 and max(taken) == 2


def test_out_of_memory_at_one_row_is_that_rows_error(adapter: Adapter, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    model = adapter("llava", batch_size=5)
    collate = model.runtime.collate

    def small(prompts: Any) -> Any:
        if any(prompt.image_tokens > 4 for prompt in prompts):
            raise torch.OutOfMemoryError("CUDA out of memory.")
        return collate(prompts)

    monkeypatch.setattr(model.runtime, "collate", small)
    answers = _responses(model.generate(mixed(**_steps(3))))
    assert isinstance(answers[2], ModelError) and "max_pixels" in str(answers[2])
    assert all(isinstance(answers[n], Answer) for n in (0, 1, 3, 4))


def test_a_prompt_with_pictures_is_never_cut(adapter: Adapter, caplog: pytest.LogCaptureFixture) -> None:
    model = adapter("llava", max_length=24, batch_size=4)
    long = "What is the color of the car? " * 4
    rows: list[Instance] = [
        instance(long, [picture(28, 28)], doc_id=0, **_steps(4, min_new_tokens=4)),
        instance("What?", [picture(28, 28)], doc_id=1, **_steps(4, min_new_tokens=4)),
        instance("What?", [picture(28, 28)], doc_id=2, **_steps(100, min_new_tokens=1)),
        instance(long, doc_id=3, **_steps(4, min_new_tokens=4)),
    ]
    answers = _responses(model.generate(rows))
    assert isinstance(answers[0], ModelError) and "max_length is 24" in str(answers[0])
    assert answers[1].usage["completion_tokens"] == 4
    assert answers[2].usage["prompt_tokens"] + answers[2].usage["completion_tokens"] <= 24
    assert answers[3].usage["prompt_tokens"] == 20, "a text prompt is cut from the left, and that is logged"
    assert "its last 20 are used" in caplog.text


LENGTHS = (1, 9, 3, 20, 5)
"""How many words stand before the question in the tests below, so that no two prompts are equally long."""


def _of_different_lengths(**options: Any) -> list[Instance]:
    steps = {"max_new_tokens": 16, **options}
    return [instance("dog " * n + "What is it?", chat=False, doc_id=n, generation_kwargs=steps) for n in LENGTHS]


def _ended_by_padding(model: Any, token: int) -> Any:
    """The model with a padding token that ends answers, as Qwen2-VL's does."""
    model.runtime.tokenizer.pad_token_id = token
    model.runtime.model.generation_config.eos_token_id = [2, token]
    return model


@pytest.mark.parametrize(
    "options",
    [
        pytest.param({"no_repeat_ngram_size": 1}, id="no_repeat_ngram_size", marks=pytest.mark.full),
        pytest.param({"min_length": 24}, id="min_length", marks=pytest.mark.slow),
    ],
)
def test_padding_is_not_text_of_the_prompt(adapter: Adapter, options: dict[str, Any]) -> None:
    """An end token must not be forbidden because shorter prompts were filled up with it, nor a minimum be met by padding."""
    free = outputs(adapter("llama").generate(_of_different_lengths(min_new_tokens=16)))
    likely = {token for text in free.values() for token in adapter("llama").writer.encode_text(text)}
    for token in sorted(likely)[-20:]:
        rows = _of_different_lengths(**options)
        alone = [outputs(_ended_by_padding(adapter("llama"), token).generate([row])) for row in rows]
        together = outputs(_ended_by_padding(adapter("llama", batch_size=8), token).generate(rows))
        assert together == {key: text for one in alone for key, text in one.items()}


def test_a_penalty_meets_no_token_that_the_prompt_does_not_hold(adapter: Adapter) -> None:
    model = adapter("llama", batch_size=8)
    generate, padded = model.runtime.model.generate, []

    def looked_at(**kwargs: Any) -> Any:
        for row, mask in zip(kwargs["input_ids"].tolist(), kwargs["attention_mask"].tolist(), strict=True):
            assert {token for token, real in zip(row, mask, strict=True) if not real} <= set(row[mask.index(1) :])
            padded.append(0 in mask)
        return generate(**kwargs)

    model.runtime.model.generate = looked_at
    assert len(outputs(model.generate(_of_different_lengths(repetition_penalty=1.3)))) == len(padded) == 5
    assert sum(padded) == 4


@pytest.mark.full
def test_beams_beside_a_row_with_another_cap(adapter: Adapter) -> None:
    """Prompts near max_length have fewer tokens left, and the beams of each are weighed at its own length."""
    rows = _of_different_lengths(num_beams=3, max_new_tokens=30)
    rows += [instance("A", [picture(28, 28)], doc_id=99, generation_kwargs={"num_beams": 3, "max_new_tokens": 30})]
    model = adapter("llava", batch_size=8, max_length=40)
    steps: list[int] = []
    generate = model.runtime.model.generate

    def counted(*args: Any, **kwargs: Any) -> Any:
        steps.append(kwargs["input_ids"].shape[1] + kwargs["generation_config"].max_new_tokens)
        return generate(*args, **kwargs)

    model.runtime.model.generate = counted
    together = outputs(model.generate(rows))
    assert max(steps) <= 40
    for row in rows:
        assert outputs(adapter("llava", max_length=40).generate([row])) == {(row.doc_id, 0): together[row.doc_id, 0]}


def test_beams_without_an_end_token(adapter: Adapter, monkeypatch: pytest.MonkeyPatch) -> None:
    model = adapter("llama", batch_size=4)
    monkeypatch.setattr("mm_eval.models.hf.inference.generate._stop_tokens", lambda *_: ([], ["dog"]))
    found = outputs(model.generate(_of_different_lengths(num_beams=2)))
    assert all(isinstance(text, str) and text for text in found.values())


@pytest.mark.parametrize("option", ["eos_token_id", "stop_strings", "num_return_sequences"])
def test_an_option_that_a_task_says_otherwise_is_refused(adapter: Adapter, option: str) -> None:
    said = "'until'" if option != "num_return_sequences" else "num_return_sequences is 2: .*`repeats`"
    with pytest.raises(ConfigError, match=said):
        check_generation(adapter("llama"), {option: 2})


def test_a_checkpoint_that_names_a_kind_of_cache_is_decoded_quickly(adapter: Adapter) -> None:
    """generation_config.json of Gemma 2 and 3 says `hybrid`; it decides no token."""
    model = adapter("llama", batch_size=4)
    expected = outputs(model.generate(_of_different_lengths()))
    model.runtime.model.generation_config.cache_implementation = "hybrid"
    model.runtime.model.generate = None
    assert outputs(model.generate(_of_different_lengths())) == expected


def test_a_long_prompt_does_not_join_a_batch_of_many_short_ones(adapter: Adapter) -> None:
    """The budget of --batch_size auto is for padded tokens: one long row makes all those beside it as long."""
    model = adapter("llama", batch_size="auto")
    model.runtime.budget = 400
    sizes: list[int] = []
    collate = model.runtime.collate

    def counted(prompts: Any) -> Any:
        sizes.append(len(prompts) * max(len(prompt.ids) for prompt in prompts))
        return collate(prompts)

    model.runtime.collate = counted
    texts = [*("Is it?" for _ in range(30)), "The quick brown fox jumps over the lazy dog. " * 20]
    for fields, ask in (
        ({"generation_kwargs": {"max_new_tokens": 2}}, model.generate),
        ({"continuation": " a"}, model.loglikelihood),
    ):
        rows = [instance(f"{n}{text}", chat=False, doc_id=n, **fields) for n, text in enumerate(texts)]
        assert len(outputs(ask(rows))) == 31
    assert len(sizes) == 4 and max(sizes) <= 400
