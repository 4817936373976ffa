"""Every family of the table: together = alone = a whole forward written out, generation = transformers' own, pictures matter.

The quick set holds one family of each sort (sliding window, recurrent, M-RoPE, tiles, a placeholder of its own, the plainest
way); `pytest -m slow` runs them all.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import pytest

import tests.models.tiny_others  # noqa: F401  (it adds to MORE)
from tests.models import tiny_2026
from tests.models.questions import instance, outputs, picture
from tests.models.tiny_more import MORE
from tests.models.tiny_newest import NEWEST
from tests.models.tiny_recent import RECENT
from tests.sets import few

Adapter = Callable[..., Any]
QUICK = ("gemma3", "glm4v", "internvl", "qwen3_5", "mllama", "blip2", "kosmos2", *RECENT, *NEWEST)
SINGLE = ("blip2", "instructblip", "kosmos2")
"""Types that take one picture in each prompt and have no chat template."""
PALIGEMMA = ("paligemma", "paligemma2", *tiny_2026.ONE_PICTURE)
"""Types that take one picture in each prompt, and have one."""
NEEDS_PICTURES = ("got_ocr2",)
"""Types that take several, and refuse a prompt without any."""
ALL = (*MORE, "idefics3", "paligemma")
KINDS = few(
    [kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.slow) for kind in ALL],
    "gemma3",
    "blip2",
    "ernie4_5_vl_moe",
)
ASKED = ("What is shown?", "Is there a person in the photo?", "Which color?")
CHOICES = (" A", " the yellow bus")
STEPS = {"max_new_tokens": 5, "min_new_tokens": 5}


def questions(kind: str, **fields: Any) -> list[Any]:
    """Three questions on each of two pictures of different sizes; where the type takes them, 0 and 2 pictures as well."""
    shown = [(text, [picture(90, 60, 1)]) for text in ASKED] + [(text, [picture(56, 112, 2)]) for text in ASKED]
    if kind not in (*SINGLE, *PALIGEMMA):
        shown += [("Which of the two?", [picture(60, 60, 3), picture(90, 60, 1)])]
        shown += [("Without any picture?", [])] if kind not in NEEDS_PICTURES else []
    return [instance(text, p, chat=kind not in SINGLE, doc_id=n, **fields) for n, (text, p) in enumerate(shown)]


def _inputs(model: Any, row: Any, continuation: str = "") -> Any:
    """What the processor makes of prompt and continuation."""
    written, pictures = model.writer.write(row).text, row.images() if row.images else []
    images = {"images": pictures if model.writer.family.flat else [pictures]} if pictures else {}
    if model.writer.family.types_on_request:
        images["return_mm_token_type_ids"] = True
    inputs = model.writer.processor(text=[written + continuation], return_tensors="pt", **images)
    return inputs.to(model.runtime.dtype)  # llama4's processor makes bfloat16 pixels


def _by_hand(model: Any, row: Any) -> tuple[float, bool]:
    """Log-likelihood in nats from one whole forward over prompt and continuation."""
    import torch

    scored = model.writer.tokenizer(row.continuation, add_special_tokens=False)["input_ids"]
    if model.checkpoint.model_type in ("paligemma", "instructblip"):  # their processors would read it as the question
        inputs = _inputs(model, row)
        for name, more in (("input_ids", scored), ("attention_mask", [1] * 9), ("token_type_ids", [1] * 9)):
            if name in inputs:
                inputs[name] = torch.cat([inputs[name], torch.tensor([more[: len(scored)]])], 1)
    else:
        inputs = _inputs(model, row, row.continuation)
    inputs.pop("labels", None)
    assert inputs["input_ids"][0, -len(scored) :].tolist() == scored
    with torch.no_grad():
        logits = model.runtime.model(**inputs).logits[0, -len(scored) - 1 : -1].double()
    chosen = torch.tensor(scored)
    total = torch.log_softmax(logits, -1).gather(1, chosen[:, None]).sum()
    return float(total), bool((logits.argmax(-1) == chosen).all())


@pytest.mark.parametrize("kind", few(KINDS, "blip2"))
def test_together_is_alone_is_a_whole_forward(adapter: Adapter, kind: str) -> None:
    rows = [questions(kind, continuation=text, choice=n) for n, text in enumerate(CHOICES)]
    scoring = [row for doc in zip(*rows, strict=True) for row in doc]
    alone, together = adapter(kind, batch_size=1), adapter(kind, batch_size=16)
    expected = {(row.doc_id, row.choice): _by_hand(alone, row) for row in scoring}
    separate: dict[Any, Any] = {}
    for row in scoring:
        separate |= outputs(alone.loglikelihood([row]))
    for found in (separate, outputs(together.loglikelihood(scoring)), outputs(alone.loglikelihood(scoring[::-1]))):
        assert found.keys() == expected.keys()
        for key, answer in found.items():
            assert isinstance(answer, tuple), f"{key}: {answer}"
            assert answer[0] < 0 and answer[0] == pytest.approx(expected[key][0], abs=1e-4), key
            assert answer[1] == expected[key][1]
    moved = [abs(found[0, choice][0] - found[3, choice][0]) for choice in range(len(CHOICES))]
    assert max(moved) > 1e-2, "the same question on another picture"


@pytest.mark.parametrize("kind", few(KINDS, "blip2"))
def test_generation_is_that_of_transformers(adapter: Adapter, kind: str) -> None:
    import torch

    generating = questions(kind, generation_kwargs=STEPS)
    alone, together = adapter(kind, batch_size=1), adapter(kind, batch_size=16)
    expected = {}
    for row in generating:
        inputs = _inputs(alone, row)
        inputs.pop("labels", None)
        with torch.no_grad():
            new = alone.runtime.model.generate(**inputs, **STEPS, do_sample=False)[0, inputs["input_ids"].shape[1] :]
        assert len(new) == STEPS["max_new_tokens"]
        expected[row.doc_id, 0] = alone.writer.tokenizer.decode(new, skip_special_tokens=True)
    assert len(set(expected.values())) >= 3, "a checkpoint that says the same to everything lets every fault pass"
    separate: dict[Any, Any] = {}
    for row in generating:
        separate |= outputs(alone.generate([row]))
    assert separate == expected
    assert outputs(together.generate(generating)) == expected


@pytest.mark.parametrize("kind", ["glm4v", pytest.param("qwen3_vl_moe", marks=pytest.mark.slow)])
def test_positions_of_one_picture_do_not_leak_into_another(adapter: Adapter, kind: str) -> None:
    """Prefill A, prefill B of another size, then go on with A: the model's own rope_deltas are B's by then."""
    import torch
    from mm_eval.models.hf.inference.prefixes import grown, prefill

    model = adapter(kind)
    runtime, writer = model.runtime, model.writer
    one = writer.write(instance("What is shown?", [picture(112, 112, 1)]))
    other = writer.write(instance("Is there a dog in it, or a cat?", [picture(56, 84, 2)]))
    with torch.inference_mode():
        clean = grown(runtime, prefill(runtime, [one]), [0], [[5, 6, 7]])
        kept = prefill(runtime, [one])
        prefill(runtime, [other])
        assert not torch.equal(runtime.model.model.rope_deltas, kept.shift), "the trap is set"
        assert torch.allclose(grown(runtime, kept, [0], [[5, 6, 7]]).logits, clean.logits, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ALL)
def test_many_prompts_together_are_alone(adapter: Adapter, kind: str) -> None:
    """Pictures of many sizes, small ones too, prompts and continuations of many lengths, repeated pictures, pairs and none."""
    from random import Random

    draw, words, shown = Random(1), " ".join((*ASKED, "a red car or the yellow bus, left or right")).split(), []
    scoring, generating = [], []
    for n in range(16):
        counts = (1,) if kind in (*SINGLE, *PALIGEMMA) else (1, 1, 1, 2) if kind in NEEDS_PICTURES else (1, 1, 1, 2, 0)
        if n % 3 != 1:
            sides = [(draw.choice((28, 60, 90)), draw.choice((40, 56, 112))) for _ in range(draw.choice(counts))]
            shown = [picture(*side, draw.randint(0, 2)) for side in sides]
        text, chat = " ".join(draw.choices(words, k=draw.randint(1, 14))), kind not in SINGLE
        steps = {"max_new_tokens": draw.choice((4, 9, 14)), "min_new_tokens": 4}
        generating.append(instance(text, shown, chat=chat, doc_id=n, generation_kwargs=steps))
        for choice in range(3):
            said = " " + " ".join(draw.choices(words, k=draw.randint(1, 5)))
            scoring.append(instance(text, shown, chat=chat, doc_id=n, choice=choice, continuation=said))
    together, alone = adapter(kind, batch_size=8), adapter(kind)
    alone.runtime.prefix_cache = alone.runtime.in_place = False
    found = outputs(together.loglikelihood(scoring))
    for row in scoring:
        [(key, answer)] = outputs(alone.loglikelihood([row])).items()
        assert found[key][0] == pytest.approx(answer[0], abs=1e-4) and found[key][1] == answer[1], key
    said = outputs(together.generate(generating))
    assert {key: text for row in generating for key, text in outputs(alone.generate([row])).items()} == said


@pytest.mark.parametrize("kind", few(["mllama", "paligemma"], at=[0]))
def test_prompts_of_other_kinds_of_attention_share_forwards(adapter: Adapter, kind: str) -> None:
    """Eight prompts and two choices each took sixteen whole forwards."""
    rows = [instance("What is shown?", [picture(90, 60, n)], doc_id=n // 2, choice=n % 2, continuation=CHOICES[n % 2])
            for n in range(16)]  # fmt: skip
    model = adapter(kind, batch_size=8)
    forwards: list[int] = []
    model.runtime.model.register_forward_hook(lambda *_: forwards.append(1))
    assert all(isinstance(answer, tuple) for answer in outputs(model.loglikelihood(rows)).values())
    assert len(forwards) <= 8


@pytest.mark.parametrize(
    ("message", "packages"),
    [
        ("TimmWrapperModel requires the timm library but it was not found in your environment.", "timm"),
        ("None could be imported. Missing optional dependencies: torchvision. Please install", "torchvision"),
        ("Missing optional dependencies: timm, torchvision. Please", "timm torchvision"),
        (
            "This modeling file requires the following packages that were not found in your environment: einops. Run",
            "einops",
        ),
    ],
)
def test_a_package_that_a_type_needs_is_named(message: str, packages: str) -> None:
    from mm_eval.models.hf.processor import naming

    from mm_eval.values.errors import ConfigError

    with pytest.raises(ConfigError, match=f"pip install {packages}\\."), naming("org/model", "weights"):
        raise ImportError(message)


def test_a_package_that_is_imported_without_a_word_is_named() -> None:
    """inkling's vision tower imports scipy, and transformers 5.23 does not say that it needs it."""
    from mm_eval.models.hf.processor import naming

    from mm_eval.values.errors import ConfigError

    with pytest.raises(ConfigError, match="pip install no_such_package\\.") as found, naming("org/model", "weights"):
        try:
            importlib.import_module("no_such_package.optimize")
        except ModuleNotFoundError as error:
            raise ImportError("Could not import module 'X'") from error
    assert "damaged" not in str(found.value)
    with pytest.raises(ConfigError, match="damaged"), naming("org/model", "weights"):
        importlib.import_module("transformers.models.no_such_type")


def test_the_sentence_about_a_package_has_none_of_the_library() -> None:
    from mm_eval.models.hf.processor import naming

    from mm_eval.values.errors import ConfigError

    said = (
        "\nPixtralProcessor requires the Torchvision library but it was not found in your environment. Check out the"
        " instructions on the\ninstallation page: https://pytorch.org"
    )
    with pytest.raises(ConfigError) as found, naming("org/model", "processor"):
        raise ImportError(said)
    assert "can't be loaded: it needs torchvision. Install what" in str(found.value)
    assert "instructions" not in str(found.value)


def test_a_missing_flash_attention_is_no_damaged_file() -> None:
    from mm_eval.models.hf.processor import naming

    from mm_eval.values.errors import ConfigError

    said = "FlashAttention2 has been toggled on, but it cannot be used: the package doesn't seem to be installed."
    with (
        pytest.raises(ConfigError, match="Write attn_implementation=sdpa, or install flash-attn") as found,
        naming("org/model", "weights"),
    ):
        raise ImportError(said)
    assert "damaged" not in str(found.value)


def test_without_timm_a_type_that_needs_it_says_so() -> None:
    """The words are transformers' own: gemma3n's vision tower is timm's."""
    import transformers
    from mm_eval.models.hf.processor import naming

    from mm_eval.values.errors import ConfigError

    if importlib.util.find_spec("timm") is not None:
        pytest.skip("timm is installed")
    with pytest.raises(ConfigError, match="pip install timm"), naming("org/model", "weights"):
        transformers.AutoModel.from_config(transformers.Gemma3nConfig().vision_config)


def test_the_table_lists_what_is_tested() -> None:
    from mm_eval.models.hf.families import FAMILIES

    from tests.models.tiny_hearing import HEARING
    from tests.models.tiny_random import FAMILIES as FIRST

    renamed = {
        "blip2": "blip-2",
        "kosmos2": "kosmos-2",
        "pixtral_llava": "llava",
        "gemma4_large": "gemma4",
        "paligemma2": "paligemma",
        "mistral3_of_4": "mistral3",
    }
    of_sound = {kind for kind in HEARING if not kind.endswith("_hears")}  # test_hearing.py
    tested = {renamed.get(kind, kind) for kind in (*FIRST, *ALL)} | of_sound
    assert set(FAMILIES) == tested and len(FAMILIES) >= 57


@pytest.mark.parametrize("kind", few(["gemma3", "aya_vision"], at=[0]))
def test_sliding_windows_and_recurrent_layers_have_no_holes(adapter: Adapter, kind: str) -> None:
    runtime = adapter(kind).runtime
    assert runtime.prefix_cache and not runtime.holes
    runtime = adapter("qwen3_5", batch_size=8).runtime
    assert runtime.prefix_cache and not runtime.holes and runtime.limit == 8
