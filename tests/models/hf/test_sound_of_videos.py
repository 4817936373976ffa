"""The sound of a video between its frames: tokens, numbers and answers are those of the family's own processor and model."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from mm_eval.engine.model import request_key
from mm_eval.values.errors import ConfigError, ModelError
from mm_eval.values.types import Clip, Instance
from tests.models.questions import digest, outputs, picture, sound
from tests.sets import each_of

Adapter = Callable[..., Any]
KINDS = ("qwen2_5_omni", "qwen3_omni_moe")
TIMES = tuple(n / 2 for n in range(6))
SECONDS = 3.0
STEPS = {"max_new_tokens": 6, "min_new_tokens": 6}
SMALL = {"video_min_pixels": 800, "video_max_pixels": 30_000}
HEARD, OTHER, BESIDE = sound(1.9, 500), sound(1.4, 800), sound(1.2, 300)


def asked(
    text: str,
    seed: int = 0,
    heard: Any = HEARD,
    stills: int = 0,
    beside: Sequence[Any] = (),
    chat: bool = True,
    **fields: Any,
) -> Instance:
    """A question on a video with its sound, if any, behind pictures and other sounds."""
    pictures = [picture(60, 60, 50 + n) for n in range(stills)]
    frames = [picture(70, 42, 100 * seed + n) for n in range(len(TIMES))]
    own = None if heard is None else len(beside)
    clip = Clip(stills, TIMES, tuple(range(6)), 6, SECONDS, 2.0, f"/v/{seed}.mp4", rule="fps=2", sound=own)
    sounds = [*beside, *([] if heard is None else [heard])]
    kinds = ["image"] * stills + ["audio"] * len(beside) + ["image"] * 6 + ["audio"] * (heard is not None)
    if chat:
        parts = [*({"type": kind} for kind in kinds), {"type": "text", "text": text}]
        fields["context"] = [{"role": "user", "content": parts}]
    shown = [*pictures, *frames]
    if sounds:
        fields |= {"sounds": lambda: sounds, "heard": tuple(each.heard for each in sounds)}
    if not chat:
        fields["context"] = "".join(f"<{kind}>\n" for kind in kinds) + text
    fields |= {"images": lambda: list(shown), "image_digests": tuple(map(digest, shown)), "clips": (clip,)}
    kind = "loglikelihood" if "continuation" in fields else "generate_until"
    return Instance(kind, "a_task", fields.pop("doc_id", 0), {}, **fields)  # type: ignore[arg-type]


class Made:
    """A video processor that was run before, for a machine without torchvision."""

    merge_size, temporal_patch_size, model_input_names = 2, 2, ()

    def __init__(self, tensors: dict[str, Any]) -> None:
        self.tensors = tensors

    def __call__(self, *_: Any, **__: Any) -> dict[str, Any]:
        return {name: self.tensors[name] for name in ("pixel_values_videos", "video_grid_thw")}


def inputs_of(model: Any, row: Instance, text: str, continuation: str = "") -> dict[str, Any]:
    """What the family's own processor makes of a prompt and a continuation, as its authors call it."""
    import numpy

    [video] = [each for each in model.writer.write(row).pictures if each.is_video]
    processor = copy.copy(model.writer.processor)
    processor.video_processor = Made(video.tensors)
    [clip] = row.clips
    given: dict[str, Any] = {"videos": [numpy.zeros((6, 42, 70, 3), numpy.uint8)], "videos_kwargs": {"fps": 2.0}}
    sounds = list(row.sounds()) if row.sounds else []
    if sounds:
        given |= {"audio": [each.samples(rate=16_000, mono=True) for each in sounds], "sampling_rate": 16_000}
    if clip.sound is not None:
        sources = [0 if number == clip.sound else None for number in range(len(sounds))]
        given |= {"load_audio_from_video": True, "audio_from_video_indices": sources}
    if clip.first and row.images is not None:
        given["images"] = [row.images()[: clip.first]]
    made = dict(processor(text=[text + continuation], return_tensors="pt", **given))
    made.pop("mm_token_type_ids", None)
    return {**made, "use_audio_in_video": clip.sound is not None}


VISION, AUDIO = "<|vision_bos|><|{}|><|vision_eos|>", "<|audio_bos|><|AUDIO|><|audio_eos|>"


def written(text: str, stills: int = 0, beside: int = 0) -> str:
    """The prompt before the processor, by the tiny checkpoint's template."""
    return f"user: {VISION.format('IMAGE') * stills}{AUDIO * beside}{VISION.format('VIDEO')}{text}\nassistant:"


def cases(**fields: Any) -> list[tuple[Instance, dict[str, int]]]:
    shown: list[tuple[str, dict[str, Any], dict[str, int]]] = [
        ("What is it?", {}, {}),
        ("What is it?", {"heard": OTHER}, {}),
        ("Which note do you hear?", {}, {}),
        ("What is it?", {"seed": 1}, {}),
        ("And beside?", {"stills": 1, "beside": (BESIDE,)}, {"stills": 1, "beside": 1}),
        ("Silent?", {"heard": None}, {}),
    ]
    return [(asked(text, doc_id=n, **given, **fields), shape) for n, (text, given, shape) in enumerate(shown)]


def text_of(row: Instance) -> str:
    return str(row.context[0]["content"][-1]["text"])  # type: ignore[index, call-overload]


@pytest.mark.parametrize("kind", KINDS)
def test_numbers_and_answers_are_those_of_the_own_processor_and_generate(adapter: Adapter, kind: str) -> None:
    import torch

    model = adapter(kind, batch_size=8, **SMALL)
    expected: dict[tuple[int, int], Any] = {}
    own = model.runtime.model
    scoring = cases(continuation=" the yellow bus")
    for row, shape in scoring:
        scored = model.writer.tokenizer(row.continuation, add_special_tokens=False)["input_ids"]
        inputs = inputs_of(model, row, written(text_of(row), **shape), row.continuation or "")
        assert model.writer.write(row).ids == inputs["input_ids"][0, : -len(scored)].tolist(), row.doc_id
        with torch.no_grad():
            logits = own(**inputs).logits[0, -len(scored) - 1 : -1].double()
        chosen = torch.log_softmax(logits, -1).gather(1, torch.tensor(scored)[:, None])
        expected[row.doc_id, 0] = float(chosen.sum())
    found = outputs(model.loglikelihood([row for row, _ in scoring]))
    assert {key: each[0] for key, each in found.items()} == pytest.approx(expected, abs=1e-4)
    assert len({round(value, 3) for value in expected.values()}) == len(expected), "each clip and sound counts"
    generating, answers = cases(generation_kwargs=STEPS), {}
    for row, shape in generating:
        inputs = inputs_of(model, row, written(text_of(row), **shape))
        with torch.no_grad():
            new = own.generate(**inputs, **STEPS, do_sample=False)[0, inputs["input_ids"].shape[1] :]
        answers[row.doc_id, 0] = model.writer.tokenizer.decode(new, skip_special_tokens=True)
    assert outputs(model.generate([row for row, _ in generating])) == answers
    sampled = [asked("What?", generation_kwargs={**STEPS, "do_sample": True, "temperature": 1.0})]
    assert isinstance(outputs(model.generate(sampled))[0, 0], str)


@pytest.mark.parametrize("kind", KINDS)
def test_frames_and_sound_stand_between_each_other(adapter: Adapter, kind: str) -> None:
    model = adapter(kind, **SMALL)
    ids = model.writer.write(asked("What?")).ids
    audio, video = (model.writer.tokenizer.convert_tokens_to_ids(f"<|{name}|>") for name in ("AUDIO", "VIDEO"))
    places = [place for place, token in enumerate(ids) if token in (audio, video)]
    kinds = [ids[place] for place in places]
    changes = sum(one != other for one, other in zip(kinds, kinds[1:], strict=False))
    assert changes > 1 and places == list(range(places[0], places[-1] + 1)), "one block of both"
    plain = model.writer.write(asked("What?", chat=False))
    assert (
        plain.text == f"{VISION.format('VIDEO')}\nWhat?"
        and [each for each in plain.ids if each in (audio, video)] == kinds
    )


def test_behind_its_video_where_the_user_says_so(adapter: Adapter) -> None:
    model, other = adapter("qwen2_5_omni", **SMALL), adapter("qwen2_5_omni", use_audio_in_video=False, **SMALL)
    row = asked("What?", generation_kwargs=STEPS)
    assert f"{VISION.format('VIDEO')}{AUDIO}What?" in other.writer.write(row).text
    assert AUDIO not in model.writer.write(row).text
    assert request_key(model, row) != request_key(other, row)
    found = outputs(other.generate([row]))[0, 0]
    assert isinstance(found, str)
    assert not model.facts.hears_videos and adapter("qwen2_5_omni", use_audio_in_video=True).facts.hears_videos


@each_of(
    ("kind", "given", "said"),
    [
        (
            "gemma4_hears",
            {},
            "needs a model that takes the sound of a video between its frames: gemma4 has no place for it",
        ),
        ("qwen2_vl", {}, "qwen2_vl has no place for it"),
        ("qwen2_5_omni", {"video": "pictures"}, "its videos are shown as pictures"),
    ],
)
def test_a_model_that_takes_none_is_refused(adapter: Adapter, kind: str, given: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError) as failure:
        adapter(kind, use_audio_in_video=True, **given)
    assert said in failure.value.what


def test_videos_of_two_rates_are_refused_and_a_sound_that_is_cut_is_counted(adapter: Adapter) -> None:
    model = adapter("qwen2_5_omni", **SMALL)
    one, two = asked("What?", generation_kwargs=STEPS), asked("What?", 1)
    later = replace(two.clips[0], first=6, duration=9.0, sound=1)
    assert one.images and two.images
    shown = [*one.images(), *two.images()]
    parts = [{"type": kind} for kind in [*["image"] * 6, "audio", *["image"] * 6, "audio"]]
    both = replace(
        one,
        context=[{"role": "user", "content": [*parts, {"type": "text", "text": "What?"}]}],
        images=lambda: shown,
        image_digests=(*one.image_digests, *two.image_digests),
        clips=(*one.clips, later),
        sounds=lambda: [HEARD, OTHER],
        heard=(HEARD.heard, OTHER.heard),
    )
    [(_, found)] = model.generate([both])
    assert isinstance(found, ModelError) and "one frame rate" in found.what
    alike = replace(both, clips=(both.clips[0], replace(later, duration=SECONDS)))
    assert isinstance(outputs(model.generate([alike]))[0, 0], str)
    [(_, cut)] = model.generate([asked("What?", heard=sound(3.5, 440), generation_kwargs=STEPS)])
    assert cut.cut, "the tiny extractor takes two seconds"
