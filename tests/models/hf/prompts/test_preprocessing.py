"""A picture is decoded and preprocessed once, and every prompt has the ids and tensors that the processor itself gives."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from mm_eval.models.hf.prompts import ahead, preprocessing

from mm_eval.data.decode import PixelBudget
from mm_eval.values.errors import DataError, ModelError
from tests.models.hf.test_more_families import ALL, PALIGEMMA, SINGLE
from tests.models.questions import instance, outputs, picture
from tests.models.tiny_random import FAMILIES
from tests.processes import HANGS
from tests.sets import few

Adapter = Callable[..., Any]
ASKED = ("What is shown?", "Is it a dog?", "Which color?", "Is there a bus?", "How many?", "Left or right?")
STEPS = {"max_new_tokens": 2, "min_new_tokens": 2}


class Counting:
    """An image processor that counts the pictures that it processes."""

    def __init__(self, own: Any) -> None:
        self._own = own
        self.calls: list[int] = []

    def __call__(self, images: Any, **options: Any) -> Any:
        self.calls.append(sum(map(len, images)))
        return self._own(images, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)


def counted(model: Any) -> list[int]:
    """How many pictures each call of the image processor gets from here on."""
    counting = Counting(model.writer.processor.image_processor)
    model.writer.processor.image_processor = counting
    return counting.calls


def on_pictures(seeds: range, **fields: Any) -> list[Any]:
    """Six questions on each of some pictures."""
    shown = [(text, picture(60, 60, seed)) for seed in seeds for text in ASKED]
    return [instance(text, [image], doc_id=n, **fields) for n, (text, image) in enumerate(shown)]


@pytest.mark.parametrize("kind", few(["llava", "qwen2_vl", "idefics3"], "qwen2_vl"))
def test_six_questions_on_a_picture_preprocess_it_once(adapter: Adapter, kind: str) -> None:
    model = adapter(kind, batch_size=4)
    calls = counted(model)
    loaded: list[int] = []
    rows = on_pictures(range(5), generation_kwargs=STEPS)
    for row in rows:
        row.images = lambda images=row.images: loaded.append(1) or images()  # type: ignore[func-returns-value]
    assert len(outputs(model.generate(rows))) == 30
    assert calls == [1] * 5 and len(loaded) == 5
    scored = on_pictures(range(5), continuation=" yes")
    assert len(outputs(model.loglikelihood(scored))) == 30
    assert len(calls) == 5, "the pictures of the task before are still kept"


@pytest.mark.parametrize("kind", few([*FAMILIES, *ALL], "llava", "qwen2_vl", "internvl"))
def test_each_prompt_is_the_processors_own(adapter: Adapter, kind: str) -> None:
    """The first and the further questions on a picture, alone and beside another one."""
    writer = adapter(kind).writer
    one, two = picture(90, 60, 1), picture(56, 112, 2)
    chat = kind not in SINGLE
    asked = [(text, [one]) for text in ASKED[:3]] + [("Is it?", [two])]
    if chat and kind not in (*PALIGEMMA, "perception_lm"):  # the latter's processor stacks no unequal tiles
        asked += [("Which?", [one, two]), ("Or which?", [one, two]), ("And now?", [two, one]), ("Again?", [one])]
    for text, shown in asked:
        prompt = writer.write(instance(text, shown, chat=chat))
        flat = kind == "got_ocr2"  # its processor takes the pictures of a prompt in one list
        own = writer.processor(
            text=[prompt.text],
            images=shown if flat else [shown],
            add_special_tokens=prompt.special,
            return_tensors="pt",
            **({"return_mm_token_type_ids": True} if writer.family.types_on_request else {}),
        )
        assert prompt.ids == own["input_ids"][0].tolist()
        for name, values in prompt.types.items():
            assert values == own[name][0].tolist()
        names = own.keys() - {"input_ids", "attention_mask", "labels", *prompt.types}
        assert all(part.tensors.keys() == names for part in prompt.pictures)
        for name in names - {
            "image_token_pooling"
        }:  # molmo2 numbers the patches of a whole prompt; here each picture's own
            found = preprocessing.joined([part.tensors[name] for part in prompt.pictures])
            assert found == own[name] if isinstance(found, list) else found.equal(own[name]), name


REPEATED = {
    "llava", "llava_next", "llava_onevision", "qwen2_vl", "qwen2_5_vl", "qwen3_vl", "vipllava", "qwen3_vl_moe", "qwen3_5",
    "glm4v", "video_llama_3", "llava_next_video", "exaone4_5", "glm46v", "glm4v_moe", "qwen3_5_moe", "deepseek_vl",
    "deepseek_vl_hybrid", "glm_ocr", "granite4_vision", "lfm3_vl", "kimi_k25", "fast_vlm", "perception_lm", "aria",
    "paddleocr_vl", "hunyuan_vl", "cohere_compass", "qwen4_exp", "got_ocr2", "qwen2_5_omni", "qwen3_omni_moe",
    "glmga", "cosmos3_omni", "cosmos3_edge", "hyperclovax_vision_v2", "dots3_note", "glm5_next", "deepseek_ocr2",
    "inkling_mm_model", "inkling2", "unlimited_ocr",
}  # fmt: skip
"""Types whose processors write a picture as its image token repeated and nothing else."""


@pytest.mark.parametrize("kind", few([*FAMILIES, *ALL], "llava", "qwen2_vl", "idefics3", "internvl", "granite4_vision"))
def test_known_pictures_need_no_processor_where_it_only_repeats_a_token(
    adapter: Adapter, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    writer = adapter(kind).writer
    runs: list[str] = []
    whole = preprocessing.Preprocessor.__call__

    def counted(self: Any, text: str, *rest: Any, **more: Any) -> Any:
        runs.append(text)
        return whole(self, text, *rest, **more)

    monkeypatch.setattr(preprocessing.Preprocessor, "__call__", counted)
    for text in ASKED:
        writer.write(instance(text, [picture(90, 60, 1)], chat=kind not in SINGLE))
    assert len(runs) == (1 if kind in REPEATED else 6)


@pytest.mark.parametrize("kind", few(["llava", "qwen2_vl"], at=[0]))
def test_special_tokens_and_bos_around_a_known_picture(adapter: Adapter, kind: str) -> None:
    """Questions that hold the image token or other special ones, and options that add BOS."""
    image = adapter(kind).writer.image_token
    asked = ["What?", f"Is {image} a tag?", "a</s>b", "<s>[INST] ?", f"{image}{image}"]
    for options in ({}, {"add_bos_token": "true"}, {"add_bos_token": "false"}):
        writer, fresh = adapter(kind, **options).writer, adapter(kind, **options).writer
        fresh._preprocessor._depends = "processor"
        for text in asked:
            row = instance(text, [picture(90, 60, 1)])
            found, expected = writer.write(row), fresh.write(row)
            assert (found.ids, found.types) == (expected.ids, expected.types)
            assert (found.image_places, found.text) == (expected.image_places, expected.text)
            for continuation in (" yes", "</s>"):
                assert writer.split(found, continuation)[1] == fresh.split(expected, continuation)[1]


@pytest.mark.parametrize(("kind", "calls"), [("qwen2_vl", [1, 1]), ("llava_onevision", [2, 1, 1])])
def test_what_depends_on_the_other_pictures_is_kept_with_them(adapter: Adapter, kind: str, calls: list[int]) -> None:
    model = adapter(kind)
    found = counted(model)
    one, two = picture(90, 60, 1), picture(56, 112, 2)
    for shown in ([one, two], [one, two], [one], [two], [one]):
        model.writer.write(instance("What?", shown))
    assert found == calls


@pytest.mark.parametrize("kind", ["llava", "qwen2_vl"])
def test_the_prompts_of_a_picture_share_its_tensors(adapter: Adapter, kind: str) -> None:
    writer = adapter(kind).writer
    one, two = picture(90, 60, 1), picture(56, 112, 2)
    prompts = [
        writer.write(instance(text, shown)) for text, shown in (("A?", [one]), ("B?", [one]), ("C?", [two, one]))
    ]
    assert len({prompt.pictures[-1].tensors["pixel_values"].data_ptr() for prompt in prompts}) == 1


def test_memory_is_bounded_and_pictures_without_digests_are_never_kept(
    adapter: Adapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    size = 3 * 28 * 28 * 4
    monkeypatch.setattr(preprocessing.Preprocessor.__init__, "__defaults__", (2 * size,))
    model = adapter("llava")
    calls = counted(model)
    for seed in (0, 1, 0, 1, 2, 1, 0):
        model.writer.write(instance("What?", [picture(60, 60, seed)]))
        assert model.writer._preprocessor._kept.bytes <= 2 * size
    assert len(calls) == 4, "0, 1, 2 and again 0"
    for _ in range(2):
        model.writer.write(instance("What?", [picture(60, 60, 5)], image_digests=()))
    assert len(calls) == 6


def test_a_broken_picture_fails_each_of_its_questions_and_nothing_else(adapter: Adapter) -> None:
    def broken() -> Any:
        raise DataError("a picture can't be decoded: truncated")

    model = adapter("llava", batch_size=4)
    rows = on_pictures(range(3), generation_kwargs=STEPS)
    for row in rows[6:12]:
        row.images = broken
    found = outputs(model.generate(rows))
    assert [n for n in range(18) if isinstance(found[n, 0], DataError)] == list(range(6, 12))
    assert all(f"doc {n}" in str(found[n, 0]) for n in range(6, 12))
    assert outputs(model.generate(on_pictures(range(1, 2), generation_kwargs=STEPS))), "it is not remembered as broken"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ZeroDivisionError("division by zero"), "refuses the prompt: ZeroDivisionError: division by zero"),
        (ValueError("absolute aspect ratio must be smaller than 200"), "refuses the prompt: absolute aspect ratio"),
    ],
    ids=["arithmetic", "on purpose"],
)
def test_whatever_a_processor_raises_fails_the_picture_and_nothing_else(
    adapter: Adapter, error: Exception, said: str
) -> None:
    """A processor that rounds a side to 0 pixels divides by it: the whole run ended in a traceback."""
    model = adapter("llava", batch_size=4)
    own = model.writer.processor.image_processor

    class Refusing(Counting):
        def __call__(self, images: Any, **options: Any) -> Any:
            if images[0][0].size == (300, 1):
                raise error
            return self._own(images, **options)

    model.writer.processor.image_processor = Refusing(own)
    shown = [picture(40, 30, 1), picture(300, 1, 2), picture(30, 40, 3)]
    rows = [instance("What is shown?", [each], doc_id=n, generation_kwargs=STEPS) for n, each in enumerate(shown)]
    found = outputs(model.generate(rows))
    assert isinstance(found[0, 0], str) and isinstance(found[2, 0], str)
    assert isinstance(found[1, 0], ModelError) and said in str(found[1, 0]) and "a_task, doc 1: " in str(found[1, 0])


@pytest.mark.full
def test_threads_preprocess_once_and_never_wait_for_each_other_for_ever(
    adapter: Adapter, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Pictures in opposite orders, and a budget of pixels that holds one question at a time."""
    monkeypatch.setattr(preprocessing, "IN_FLIGHT", PixelBudget(1000))
    model = adapter("qwen2_vl")
    calls = counted(model)
    images = [picture(60, 60, seed) for seed in range(6)]
    shown = [[images[a], images[b]] for a in range(6) for b in range(6) if a != b]
    rows = [instance(text, pair, pixels=800) for text in ASKED[:2] for pair in shown]
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(model.writer.write, rows, timeout=HANGS))
    assert sorted(calls) == [1] * 6
    assert [prompt.ids for prompt in found] == [adapter("qwen2_vl").writer.write(row).ids for row in rows]


def test_one_worker_writes_the_questions_on_a_picture(adapter: Adapter, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a picture is read, the other workers read other pictures and do not wait for the same one."""
    monkeypatch.setattr(ahead, "workers", lambda: 3)
    reading, all_reading = set[int](), threading.Event()

    def load(seed: int) -> Any:
        reading.add(seed)
        if len(reading) == 3:
            all_reading.set()
        assert all_reading.wait(HANGS)
        return [picture(60, 60, seed)]

    model = adapter("llava", batch_size=2)
    rows = on_pictures(range(3), generation_kwargs=STEPS)
    for n, row in enumerate(rows):
        row.images = lambda seed=n // 6: load(seed)
    assert len(outputs(model.generate(rows))) == 18


@pytest.mark.parametrize(
    ("cores", "ranks", "expected"), [(1, "1", 1), (2, "1", 1), (9, "1", 8), (9, "4", 2), (99, "", 16)]
)
def test_workers_follow_the_cores_of_this_process(
    monkeypatch: pytest.MonkeyPatch, cores: int, ranks: str, expected: int
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(cores)))
    monkeypatch.setenv("LOCAL_WORLD_SIZE", ranks)
    assert ahead.workers() == expected


def test_few_runs_are_ahead_however_many_questions_a_picture_has(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ahead, "workers", lambda: 2)
    taken: list[int] = []
    items = (taken.append(n) or n for n in range(6000))  # type: ignore[func-returns-value]
    most = 0
    for n, made in ahead.written_ahead(items, lambda n: n, lambda n: n // 100, most=4):
        assert made == n
        most = max(most, len(taken) - n)
    assert most <= 5 * ahead.LONGEST_RUN + 1


def test_what_a_processor_gives_as_lists_is_divided_and_joined() -> None:
    """unlimited_ocr counts the tiles of each picture in a list, and its model takes no tensor."""
    import torch
    from mm_eval.models.hf.inference.features import on_device
    from mm_eval.models.hf.prompts import preprocessing

    tensors = {"pixel_values": torch.zeros(2, 3, 4, 4), "num_local_patches": [2, 0]}
    pictures = preprocessing.pictures_of(tensors, [], 2, ("a", "b"))
    assert [picture.tensors["num_local_patches"] for picture in pictures] == [[2], [0]]
    assert preprocessing.joined([picture.tensors["num_local_patches"] for picture in pictures]) == [2, 0]
    assert on_device(None, [2, 0]) == [2, 0]
    of_patches = {"image_grid_thw": torch.tensor([[1, 1, 1], [1, 1, 2]]), "kinds": ["a", "b", "c"]}
    pictures = preprocessing.pictures_of(of_patches, [], 2, ("a", "b"))
    assert [picture.tensors["kinds"] for picture in pictures] == [["a"], ["b", "c"]]


@pytest.mark.parametrize("first", [0, 1])
def test_tensors_that_only_one_of_two_pictures_has_are_kept(first: int) -> None:
    """deepseek_ocr2 has tiles for large pictures alone: beside a small one they were lost, or the run ended with a KeyError."""
    import torch
    from transformers import BatchFeature

    tiles, whole = torch.ones(2, 3, 4, 4), torch.zeros(1, 3, 8, 8)
    of_each = [
        BatchFeature({"pixel_values": whole, "num_local_patches": [0]}),
        BatchFeature({"pixel_values": whole + 1, "num_local_patches": [2], "pixel_values_local": tiles}),
    ]
    ordered: Any = of_each[::-1] if first else of_each
    found: Any = preprocessing._combined(ordered)
    assert torch.equal(found["pixel_values_local"], tiles)
    assert found["pixel_values"].shape[0] == 2 and found["num_local_patches"] == ([2, 0] if first else [0, 2])
