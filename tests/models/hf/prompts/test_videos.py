"""A family's own video input: its tensors and text, each answer as by a whole forward, order and times matter, work done once."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mm_eval.engine.model import MODELS, ModelSettings
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import FRAME_MARK, Clip, Instance
from tests.models.questions import instance, outputs, picture
from tests.sets import each_of, few

Adapter = Callable[..., Any]
OMNI = ("qwen2_5_omni", "qwen3_omni_moe")
QUICK = ("llava_onevision", "qwen2_5_vl", "qwen3_vl", "internvl")
KINDS = [
    kind if kind in QUICK else pytest.param(kind, marks=pytest.mark.slow)
    for kind in (*QUICK, "llava_next_video", "qwen2_vl", "qwen3_vl_moe", "smolvlm", "video_llama_3", *OMNI)
]
TIMES = (0.0, 0.4, 0.9, 1.0, 3.04, 4.4)
QUESTIONS = ("What is shown?", "Is there a person in the photo?", "Which color?")
STEPS = {"max_new_tokens": 4, "min_new_tokens": 4}


def tiny(adapter: Adapter, kind: str, **options: Any) -> Any:
    """An adapter with small frames, where the family has limits for them."""
    fixed = kind in ("llava_onevision", "llava_next_video", "internvl", "smolvlm")
    return adapter(kind, **({} if fixed else {"video_min_pixels": 800, "video_max_pixels": 30_000}), **options)


@pytest.fixture(autouse=True)
def _numbers_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """SmolVLM's processor writes the number of frames with a package that is not installed here."""
    import transformers.models.smolvlm.processing_smolvlm as smolvlm

    monkeypatch.setattr(smolvlm, "num2words", lambda number: {6: "six", 3: "three"}[number])


def asked(
    text: str,
    seed: int = 0,
    times: Sequence[float] = TIMES,
    order: int = 1,
    size: tuple[int, int] = (70, 42),
    **fields: Any,
) -> Instance:
    """A question on a video of coloured blocks. order: -1 shows the frames in reverse at the same times."""
    frames = [picture(*size, 100 * seed + n) for n in range(len(times))][::order]
    name = f"{seed} {order} {size}"
    digests = tuple(FRAME_MARK + hashlib.sha256(f"{name} {time}".encode()).hexdigest() for time in times)
    clip = Clip(0, tuple(times), tuple(range(len(times))), 100, 5.0, 20.0, "/videos/a.mp4", rule="frames=6,ends")
    return instance(text, frames, image_digests=digests, clips=(clip,), **fields)


def by_hand(model: Any, row: Instance) -> float:
    """The log-likelihood of a continuation by transformers' own forward on the prompt's ids and tensors, positions and all."""
    import torch
    from mm_eval.models.hf.prompts.preprocessing import joined

    prompt = model.writer.write(row)
    scored = model.writer.tokenizer(row.continuation, add_special_tokens=False)["input_ids"]
    inputs: dict[str, Any] = {"input_ids": torch.tensor([prompt.ids + scored])}
    inputs |= {name: torch.tensor([values + [0] * len(scored)]) for name, values in prompt.types.items()}
    for shown in prompt.pictures:
        inputs |= {k: joined([inputs[k], v]) if k in inputs else v for k, v in shown.tensors.items()}
    with torch.no_grad():
        logits = model.runtime.model(attention_mask=torch.ones_like(inputs["input_ids"]), **inputs).logits[0]
    chosen = torch.log_softmax(logits[-len(scored) - 1 : -1].double(), -1)
    return float(chosen.gather(1, torch.tensor(scored)[:, None]).sum())


@pytest.mark.parametrize("kind", few(KINDS, "qwen3_vl"))
def test_answers_are_those_of_a_whole_forward_and_react_to_the_order(adapter: Adapter, kind: str) -> None:
    alone, together = tiny(adapter, kind), tiny(adapter, kind, batch_size=8)
    assert (alone.facts.frames_as, alone.facts.frames_rule) != ("pictures", "")
    rows = [asked(text, seed, doc_id=3 * seed + n, continuation=" the yellow bus", size=(70, 42) if seed else (42, 84))
            for seed in range(2) for n, text in enumerate(QUESTIONS)]  # fmt: skip
    rows.append(asked(QUESTIONS[0], order=-1, doc_id=6, continuation=" the yellow bus", size=(42, 84)))
    rows.append(asked(QUESTIONS[0], times=TIMES[:3], doc_id=7, continuation=" the yellow bus"))
    expected = {(row.doc_id, 0): by_hand(alone, row) for row in rows}
    for model in (alone, together):
        found = outputs(model.loglikelihood(rows))
        assert {key: output[0] for key, output in found.items()} == pytest.approx(expected, abs=1e-4)
    assert abs(expected[6, 0] - expected[0, 0]) > 1e-3, "reversed order"
    generating = [asked(text, doc_id=n, generation_kwargs=STEPS) for n, text in enumerate(QUESTIONS)]
    assert (
        outputs(alone.generate(generating)) == outputs(together.generate(generating)) == own_answers(alone, generating)
    )


def own_answers(model: Any, rows: Sequence[Instance]) -> dict[tuple[int, int], str]:
    """What transformers' `generate` gives."""
    import torch

    found = {}
    for row in rows:
        prompt = model.writer.write(row)
        ids = torch.tensor([prompt.ids])
        inputs = {name: torch.tensor([values]) for name, values in prompt.types.items()} | prompt.pictures[0].tensors
        with torch.no_grad():
            new = model.runtime.model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), **inputs, **STEPS)
        found[row.doc_id, 0] = model.writer.tokenizer.decode(new[0, ids.shape[1] :], skip_special_tokens=True)
    return found


@pytest.mark.parametrize("kind", few(KINDS, at=[2]))
def test_the_times_are_the_files_own(adapter: Adapter, kind: str) -> None:
    """Where the prompt has times, other times change it, and the answer; of Qwen2.5-VL the positions have the mean rate."""
    model = tiny(adapter, kind)
    one, other = (
        asked("What?", continuation=" the yellow bus"),
        asked("What?", times=(0.0, 1.1, 2.2, 3.3, 4.4, 4.5), continuation=" the yellow bus"),
    )
    changed = abs(by_hand(model, one) - by_hand(model, other))
    if kind in ("qwen3_vl", "qwen3_vl_moe", "smolvlm", "video_llama_3"):
        assert changed > 1e-3
    else:
        assert changed == 0
    if kind == "qwen2_5_vl":
        [clip] = one.clips
        slower = replace(one, clips=(replace(clip, duration=50.0),))
        assert abs(by_hand(model, one) - by_hand(model, slower)) > 1e-3
        assert float(model.writer.write(one).pictures[0].tensors["second_per_grid_ts"]) == pytest.approx(2 * 5 / 6)


WRITTEN = {
    "llava_onevision": "<video>" * (6 * 1 + 1) + "\n",
    "llava_next_video": "<video>" * (6 * 1) + "\n",
    "qwen2_vl": "<|vision_start|>" + "<|video_pad|>" * (3 * 4) + "<|vision_end|>",
    "qwen3_vl": "".join(f"<{t} seconds><|vision_start|>" + "<|video_pad|>" * 2 + "<|vision_end|>" for t in ("0.2", "0.9", "3.7")),
    "internvl": "\n".join(f"Frame{n}: <img>" + "<IMG_CONTEXT>" * 4 + "</img>" for n in range(1, 7)),
    "smolvlm": "You are provided the following series of six frames from a 0:00:05 [H:MM:SS] video.\n" + "".join(
        f"\nFrame from 00:0{t}:<fake_token_around_image><global-img>" + "<image>" * 4 + "<fake_token_around_image>"
        for t in (0, 0, 0, 1, 3, 4)) + "\n\n",
    "video_llama_3": ",".join(f"Time {t}s:" + "<video>" * 4 for t in ("0.0", "0.4", "0.9", "1.0", "3.0", "4.4")),
}  # fmt: skip


@pytest.mark.parametrize(
    "kind", [k if k in (*QUICK, "qwen2_vl") else pytest.param(k, marks=pytest.mark.slow) for k in WRITTEN]
)
def test_the_prompt_is_the_one_of_the_family(adapter: Adapter, kind: str) -> None:
    model = tiny(adapter, kind)
    prompt = model.writer.write(asked("What?"))
    text = model.writer.tokenizer.decode(prompt.ids)
    assert text.removeprefix("<s>") == f"user: {WRITTEN[kind]}What?\nassistant:"


@pytest.mark.parametrize("kind", ["qwen2_5_vl", pytest.param("qwen2_vl", marks=pytest.mark.slow)])
def test_text_after_a_video_stands_behind_all_of_its_positions(adapter: Adapter, kind: str) -> None:
    """As in training: [0, t, 2t] for three patches of time, then text from the largest position + 1 on, generated text too."""
    import torch

    model = tiny(adapter, kind)
    prompt = model.writer.write(asked("What?"))
    [clip], step = asked("What?").clips, 1
    if kind == "qwen2_5_vl":
        step = float(model.runtime.model.config.vision_config.tokens_per_second) * 2 * clip.duration / 6
    ids = torch.tensor([prompt.ids])
    tensors = {name: value for name, value in prompt.pictures[0].tensors.items() if name != "pixel_values_videos"}
    positions, shift = model.runtime.model.model.get_rope_index(
        ids, torch.tensor([prompt.types["mm_token_type_ids"]]), **tensors
    )
    first, last = prompt.image_places[0], prompt.image_places[-1]
    assert positions[0, 0, first : last + 1].unique().tolist() == [first + int(n * step) for n in range(3)]
    behind = max(first + int(2 * step), first + 1) + 1
    assert positions[:, 0, last + 1 :].tolist() == [list(range(behind, behind + len(prompt.ids) - last - 1))] * 3
    assert int(shift) == int(positions.max()) + 1 - len(prompt.ids)


@pytest.mark.parametrize("kind", few(QUICK, at=[2]))
def test_three_questions_on_a_video_encode_and_read_it_once(
    adapter: Adapter, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = tiny(adapter, kind, batch_size=8)
    runtime = model.runtime
    runs: list[int] = []
    run = runtime.features._run
    monkeypatch.setattr(runtime.features, "_run", lambda pictures: runs.append(len(pictures)) or run(pictures))
    decoded, tokens = [0], [0]
    forward = runtime.model.forward

    def counted(**inputs: Any) -> Any:
        tokens[0] += inputs["input_ids"].numel()
        return forward(**inputs)

    monkeypatch.setattr(runtime.model, "forward", counted)
    rows = [asked(text, doc_id=n, generation_kwargs=STEPS) for n, text in enumerate(QUESTIONS)]
    load = rows[0].images
    assert load is not None
    for row in rows:
        row.images = lambda: decoded.__setitem__(0, decoded[0] + 1) or load()
    assert len(outputs(model.generate(rows))) == 3
    length = len(model.writer.write(rows[0]).ids)
    assert runs == [1] and decoded == [1]
    assert tokens[0] < 2 * length + 60, "the beginning runs once"


def test_text_between_frames_shows_them_as_pictures(adapter: Adapter) -> None:
    model = tiny(adapter, "qwen2_5_vl")
    row = asked("What?", times=TIMES[:3])
    parts = [part for n in range(3) for part in ({"type": "text", "text": f"line {n}"}, {"type": "image"})]
    between = replace(row, context=[{"role": "user", "content": parts}])
    assert [shown.is_video for shown in model.writer.write(between).pictures] == [False] * 3
    assert "videos" not in model.identity(between) and "videos" in model.identity(row)
    plain = replace(row, context="<image>\n<image>\n<image>\nWhat?")
    assert [shown.is_video for shown in model.writer.write(plain).pictures] == [True]
    unmarked = model.writer.write(replace(row, context="What?"))
    assert unmarked.text == "<|vision_start|><|video_pad|><|vision_end|>\nWhat?"


def test_the_key_has_the_times_the_limits_and_the_pair(adapter: Adapter) -> None:
    from mm_eval.engine.model import request_key

    row = asked("What?")
    keys = {request_key(adapter("qwen3_vl", **args), row) for args in
            ({}, {"video": "pictures"}, {"video_pair": "keep"}, {"video_max_pixels": 40_000_000})}  # fmt: skip
    assert len(keys) == 4
    model = adapter("qwen3_vl")
    [clip] = row.clips
    assert model.identity(row)["videos"] == [[0, list(TIMES)]]
    assert request_key(model, row) == request_key(model, replace(row, clips=(replace(clip, path="/elsewhere/b.mp4"),)))
    assert request_key(model, row) != request_key(
        model, replace(row, clips=(replace(clip, seconds=(0, 1, 2, 3, 4, 5)),))
    )
    still = instance("What?", [picture(40, 40)])
    assert "video" not in model.identity(still)


CAPS = [
    # Qwen2-VL: the share of the video's tokens, less a tenth; 64 of 14 * 2 pixels, which 6 frames share in pairs
    ("qwen2_vl", {}, (252, 420)),
    ("qwen2_vl", {"cap_pixels_per_frame": True, "max_video_tokens": 640}, (252, 420)),
    ("qwen2_vl", {"cap_pixels_per_frame": False, "max_video_tokens": 64}, (252, 420)),
    ("qwen2_vl", {"max_video_tokens": 64}, (84, 140)),
    # Qwen3-VL: tokens of each frame
    ("qwen3_vl", {}, (288, 512)),
    ("qwen3_vl", {"max_video_tokens": 40}, (288, 512)),
    ("qwen3_vl", {"cap_pixels_per_frame": True, "max_video_tokens": 40}, (128, 256)),
    ("qwen3_vl", {"cap_pixels_per_frame": False}, (288, 512)),
]


@pytest.mark.full
@each_of(("kind", "stated", "size"), CAPS)
def test_the_cap_of_a_checkpoint_is_its_own(
    checkpoint: Callable[[str], Path], tmp_path: Path, kind: str, stated: dict[str, Any], size: tuple[int, int]
) -> None:
    """And it is part of the key only where it is not the family's."""

    def written(name: str, more: Mapping[str, Any]) -> Any:
        folder = tmp_path / f"{kind}-{name}"
        shutil.copytree(checkpoint(kind), folder, dirs_exist_ok=True)
        limits = {"shortest_edge": 800, "longest_edge": 1_000_000 if kind == "qwen3_vl" else 120_000}
        numbers = {"image_mean": [0.5] * 3, "image_std": [0.5] * 3, "patch_size": 16 if kind == "qwen3_vl" else 14}
        content = {"size": limits, **numbers, "merge_size": 2, "temporal_patch_size": 2, **more}
        (folder / "video_preprocessor_config.json").write_text(json.dumps(content))
        return MODELS.get("hf")({"pretrained": str(folder)}, ModelSettings(device="cpu"))

    plain, model = written("plain", {}), written("own", stated)
    assert model.writer.settings.frame_size(6, 300, 500) == size
    identities = [each.identity(asked("What?")) for each in (plain, model)]
    settings = model.writer.settings
    has_own = settings.cap is not None or settings.most_tokens is not None
    assert "cap" not in identities[0]["video"] and (identities[0]["video"] != identities[1]["video"]) is has_own


def test_the_outer_pair_of_qwen3_vl_is_a_switch(adapter: Adapter) -> None:
    kept, dropped = tiny(adapter, "qwen3_vl", video_pair="keep"), tiny(adapter, "qwen3_vl", video_pair="auto")
    with_pair, without = (model.writer.write(asked("What?")).ids for model in (kept, dropped))
    pair = [kept.writer.tokenizer.convert_tokens_to_ids(f"<|vision_{side}|>") for side in ("start", "end")]
    assert len(with_pair) == len(without) + 2
    assert [with_pair.count(token) - without.count(token) for token in pair] == [1, 1]
    row = asked("What?", continuation=" the yellow bus")
    assert abs(by_hand(kept, row) - by_hand(dropped, row)) > 1e-3


@pytest.mark.parametrize(
    ("kind", "args", "told"),
    [
        ("llava", {"video": "video"}, "video=video needs a video input: there is none here for llava"),
        ("llava", {"video_max_pixels": 9}, "video_max_pixels needs a video input"),
        ("llava_onevision", {"video_min_pixels": 9}, "video_min_pixels has no meaning for llava_onevision"),
        ("qwen2_vl", {"video_pair": "keep"}, "video_pair has no meaning for qwen2_vl"),
        ("qwen3_vl", {"video_pair": "both"}, "auto, keep or drop"),
        ("qwen3_vl", {"video": "pictures", "video_pair": "keep"}, "video=pictures shows the frames as pictures"),
        ("qwen3_vl", {"video_min_pixels": 9, "video_max_pixels": 8}, "video_min_pixels=9 is above video_max_pixels=8"),
    ],
)
def test_arguments_without_meaning_are_errors(adapter: Adapter, kind: str, args: dict[str, Any], told: str) -> None:
    with pytest.raises(ConfigError, match=told):
        adapter(kind, **args)


def test_a_family_or_a_template_without_videos_gets_pictures(adapter: Adapter, tmp_path: Any) -> None:
    assert (adapter("llava").facts.frames_as, adapter("llava").facts.frames_rule) == ("pictures", "")
    path = tmp_path / "template.jinja"
    path.write_text("{% for m in messages %}{% for c in m['content'] %}{% if c['type'] == 'image' %}<image>\n{% else %}"
                    "{{ c['text'] }}{% endif %}{% endfor %}{% endfor %}")  # fmt: skip
    model = adapter("llava_onevision", chat_template=str(path))
    assert model.facts.frames_as == "pictures" and not model.writer.write(asked("What?")).pictures[0].is_video
    assert adapter("qwen3_vl", video="pictures").facts.frames_as == "pictures"
