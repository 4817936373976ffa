"""Damaged weights and overflows: logits that are not finite are that request's failure, and no answer beside it changes."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from mm_eval.engine.model import MODELS, ModelSettings
from mm_eval.values.errors import ModelError
from mm_eval.values.types import Instance
from tests.conftest import Ran
from tests.models.conftest import adapter, checkpoint  # noqa: F401 (fixtures)
from tests.models.questions import instance, outputs
from tests.sets import few

Adapter = Callable[..., Any]
STEPS = {"max_new_tokens": 6, "min_new_tokens": 6}
WAYS: dict[str, dict[str, Any]] = {
    "greedy": STEPS,
    "stopped": {**STEPS, "until": ["never"]},
    "sampled": {**STEPS, "do_sample": True, "temperature": 1.0},
    "beams": {**STEPS, "num_beams": 2},
    "penalty": {**STEPS, "repetition_penalty": 1.2},
}
WORD, TEXTS = (
    "fox",
    ("the dog", "the quick brown dog jumps over", "a fox", "cat B. dog C. a red car", "the lazy dog. fox"),
)
"""Prompts of different lengths; the third and the fifth have the word whose embedding is damaged."""


def damaged(model: Any, value: float, *tokens: int) -> Any:
    """A model whose embeddings of some tokens have a value that is not finite, or that overflows."""
    with torch.no_grad():
        model.runtime.model.get_input_embeddings().weight[list(tokens), 0] = value
    return model


def asked(kind: str, **options: Any) -> list[Instance]:
    more: dict[str, Any] = {"continuation": options["text"]} if kind == "score" else {"generation_kwargs": options}
    return [instance(text, chat=False, doc_id=n, **more) for n, text in enumerate(TEXTS)]


def word_of(model: Any) -> list[int]:
    shared = [set(model.writer.encode_text(text)) for text in TEXTS]
    return sorted((shared[2] & shared[4]) - shared[0] - shared[1] - shared[3])


VALUES = [float("nan"), *(pytest.param(each, marks=pytest.mark.full) for each in (float("inf"), -float("inf")))]


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("way", few(WAYS, "greedy", "beams"))
def test_some_rows_of_a_batch_fail_and_the_others_answer_as_alone(adapter: Adapter, way: str, value: float) -> None:  # noqa: F811
    model = adapter("llama", batch_size=8)
    word = word_of(model)
    assert word
    sound = outputs(adapter("llama").generate(asked("text", **WAYS[way])))
    found = outputs(damaged(model, value, *word).generate(asked("text", **WAYS[way])))
    for doc_id in (2, 4):
        assert isinstance(found[doc_id, 0], ModelError) and "not finite" in str(found[doc_id, 0])
        assert f"doc {doc_id}" in str(found[doc_id, 0])
    assert {key: found[key] for key in ((0, 0), (1, 0), (3, 0))} == {
        key: sound[key] for key in ((0, 0), (1, 0), (3, 0))
    }


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("text", [" a", " red car"])
def test_log_likelihoods_and_rolling(adapter: Adapter, value: float, text: str) -> None:  # noqa: F811
    model, sound = adapter("llama", batch_size=8), adapter("llama")
    damaged(model, value, *word_of(model))
    rows = asked("score", text=text)
    for found, right in (
        (outputs(model.loglikelihood(rows)), outputs(sound.loglikelihood(rows))),
        (outputs(model.loglikelihood_rolling(_texts())), outputs(sound.loglikelihood_rolling(_texts()))),
    ):
        for (doc_id, choice), answer in found.items():
            if doc_id in (2, 4):
                assert isinstance(answer, ModelError) and "not finite" in str(answer)
            else:
                assert answer[0] == pytest.approx(right[doc_id, choice][0], abs=1e-4)


def _texts() -> list[Instance]:
    return [Instance("loglikelihood_rolling", "t", n, {}, continuation=text + " it") for n, text in enumerate(TEXTS)]


@pytest.mark.parametrize("way", few([*WAYS, "score"], "greedy", "score"))
def test_a_damaged_padding_token_harms_no_row(adapter: Adapter, way: str) -> None:  # noqa: F811
    """Masked places get no weight, but no weight times NaN is NaN: a row that fails beside others is asked again alone."""
    model, sound = damaged(adapter("llama", batch_size=8), float("nan"), 0), adapter("llama")
    assert model.runtime.pad_token == 0
    for each in (model, sound):
        with torch.no_grad():
            each.runtime.model.lm_head.weight[0] = 0  # never an answer's token
    if way == "score":
        rows = asked("score", text=" red car")
        found, right = outputs(model.loglikelihood(rows)), outputs(sound.loglikelihood(rows))
        assert all(found[key][0] == pytest.approx(right[key][0], abs=1e-4) for key in right)
    else:
        rows = asked("text", **WAYS[way])
        assert outputs(model.generate(rows)) == outputs(sound.generate(rows))


def test_an_overflow_of_half_precision_is_a_failure(adapter: Adapter) -> None:  # noqa: F811
    """Weights that are fine in float32 give infinite logits in float16."""
    wide, narrow = adapter("llama", batch_size=4, dtype="float32"), adapter("llama", batch_size=4, dtype="float16")
    for model in (wide, narrow):
        with torch.no_grad():
            model.runtime.model.lm_head.weight.mul_(30000)
    rows = [*asked("text", **STEPS), *asked("score", text=" a")]
    assert not any(isinstance(answer, ModelError) for answer in outputs(wide.generate(rows[:5])).values())
    answers = [*outputs(narrow.generate(rows[:5])).values(), *outputs(narrow.loglikelihood(rows[5:])).values()]
    assert len(answers) == 10 and all(isinstance(answer, ModelError) for answer in answers)
    assert "dtype=bfloat16" in str(answers[0])


@pytest.mark.parametrize("kind", few(["llava", "qwen2_vl", "paligemma"], "llava"))
def test_a_model_of_nothing_but_nan_answers_nothing(adapter: Adapter, kind: str) -> None:  # noqa: F811
    from tests.models.questions import picture

    model = adapter(kind, batch_size=4)
    with torch.no_grad():
        for weights in model.runtime.model.parameters():
            weights.fill_(float("nan"))
    rows = [instance("What?", [picture(56, 56, n)], doc_id=n, generation_kwargs=STEPS) for n in range(3)]
    scores = [instance("What?", [picture(56, 56)], doc_id=n, continuation=" a dog") for n in range(3)]
    answers = [*outputs(model.generate(rows)).values(), *outputs(model.loglikelihood(scores)).values()]
    assert len(answers) == 6 and all("not finite" in str(answer) for answer in answers)


def test_a_type_that_checks_itself_survives_its_check(adapter: Adapter, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811
    from mm_eval.models.hf import families
    from mm_eval.models.hf import weights as loading

    monkeypatch.delitem(families.FAMILIES, "llava")
    load = loading.load_model

    def broken(*args: Any) -> Any:
        model = load(*args)
        with torch.no_grad():
            model.lm_head.weight.fill_(float("nan"))
        return model

    monkeypatch.setattr(loading, "load_model", broken)
    model = adapter("llava")
    answers = outputs(model.generate([instance("What?", doc_id=0, generation_kwargs=STEPS)]))
    assert "not finite" in str(answers[0, 0]) and not model.runtime.batched


def test_a_run_with_nan_weights_ends_with_exit_code_3_and_no_score(cli: Callable[..., Ran], tmp_path: Path) -> None:
    from safetensors.torch import load_file, save_file

    source = Path(MODELS.get("tiny-llava")({}, ModelSettings(device="cpu")).checkpoint.folder)
    folder = shutil.copytree(source, tmp_path / "damaged")
    weights = load_file(folder / "model.safetensors")
    save_file(
        {name: torch.full_like(value, float("nan")) for name, value in weights.items()},
        folder / "model.safetensors",
        {"format": "pt"},
    )
    options = ("--sample", "--limit", 3, "--device", "cpu", "--bootstrap_iters", 0, "--no_report")
    ran = cli("--tasks", "mme,seedbench", "--model", "hf", "--model_args", f"pretrained={folder}", *options)
    assert ran.code == 3, ran.out
    for name in ("mme", "seedbench"):
        assert ran.results["results"][name]["failed"] == 3
        assert all("not finite" in sample["error"]["what"] for sample in ran.samples(name))
    assert "NaN" not in json.dumps(ran.results)
