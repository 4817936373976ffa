"""Pictures and several videos in one prompt, with text between them and in few-shot examples."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from mm_eval.values.errors import ModelError
from mm_eval.values.types import FRAME_MARK, Clip, Instance
from tests.models.hf.prompts.test_videos import STEPS, TIMES, _numbers_in_words, asked, by_hand, tiny
from tests.models.questions import digest, instance, outputs, picture
from tests.sets import few

__all__ = ["_numbers_in_words"]

Adapter = Callable[..., Any]
Part = str | tuple[str, int]
"""Text, ("image", seed) or ("video", seed)."""
SIZES = [(56, 56), (90, 60), (42, 84)]
MIXING = ("llava_onevision", "qwen2_5_vl", "qwen3_vl", "internvl")
KINDS = [
    *MIXING,
    *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("llava_next_video", "qwen2_vl", "video_llama_3")),
]
STILL, OTHER, FILM, SECOND = ("image", 1), ("image", 2), ("video", 0), ("video", 1)


def shows(*turns: Sequence[Part], times: Sequence[float] = TIMES, **fields: Any) -> Instance:
    """A conversation of users' and assistants' turns. Every seed has a size of its own."""
    pictures, digests, videos, messages = list[Any](), list[str](), list[Clip](), []
    for number, turn in enumerate(turns):
        parts: list[dict[str, Any]] = []
        for part in turn:
            kind, seed = ("text", 0) if isinstance(part, str) else part
            if kind == "text":
                parts.append({"type": "text", "text": part})
            elif kind == "image":
                pictures.append(picture(*SIZES[seed % 3], 70 + seed))
                digests.append(digest(pictures[-1]))
                parts.append({"type": "image"})
            else:
                videos.append(
                    Clip(len(pictures), tuple(times), tuple(range(len(times))), 100, 5.0, 20.0, f"/videos/{seed}.mp4")
                )
                pictures += [picture(*SIZES[seed % 3], 100 * seed + n) for n in range(len(times))]
                digests += [FRAME_MARK + hashlib.sha256(f"{seed} {t}".encode()).hexdigest() for t in times]
                parts += [{"type": "image"}] * len(times)
        messages.append({"role": ("user", "assistant")[number % 2], "content": parts})
    fields = {"images": lambda: [one.copy() for one in pictures], "image_digests": tuple(digests), **fields}
    return instance("", context=messages, clips=tuple(videos), **fields)


@pytest.mark.parametrize("kind", few(KINDS, "qwen3_vl"))
def test_answers_are_those_of_a_whole_forward(adapter: Adapter, kind: str) -> None:
    """Alone and in a batch; the order of pictures and videos matters."""
    alone, together = tiny(adapter, kind), tiny(adapter, kind, batch_size=8)
    prompts: list[list[Part]] = [
        [STILL, "Then this. ", FILM, "What?"],
        [FILM, "Then this. ", STILL, "What?"],
        [STILL, FILM, OTHER, "Between. ", SECOND, "Which?"],
        [SECOND, FILM, "What differs?"],
        [STILL, OTHER, FILM, "What?"],
    ]
    rows = [shows(parts, doc_id=n, continuation=" the yellow bus") for n, parts in enumerate(prompts)]
    expected = {(row.doc_id, 0): by_hand(alone, row) for row in rows}
    assert abs(expected[0, 0] - expected[1, 0]) > 1e-3
    for model in (alone, together):
        found = outputs(model.loglikelihood(rows))
        assert {key: output[0] for key, output in found.items()} == pytest.approx(expected, abs=1e-4)
    rows = [shows(parts, doc_id=n, generation_kwargs=STEPS) for n, parts in enumerate(prompts)]
    assert outputs(alone.generate(rows)) == outputs(together.generate(rows))


@pytest.mark.parametrize("kind", few(KINDS))
def test_examples_with_videos_are_shared_and_change_no_answer(adapter: Adapter, kind: str) -> None:
    """Two questions on each of two videos, after the same examples with a video and a picture."""
    alone, together = tiny(adapter, kind, max_length=500), tiny(adapter, kind, batch_size=8, max_length=500)
    times = TIMES[:4]
    examples: list[list[Part]] = [[FILM, "What?"], ["A cat."], [STILL, "And here?"], ["A red car."]]
    questions: list[list[Part]] = [
        [part, text] for part in (SECOND, ("video", 2), OTHER) for text in ("What?", "Which?")
    ]
    rows = [
        shows(*examples, parts, times=times, doc_id=n, choice=c, continuation=text)
        for n, parts in enumerate(questions)
        for c, text in enumerate([" the yellow bus", " dog"])
    ]
    expected = {(row.doc_id, row.choice): by_hand(alone, row) for row in rows}
    for model in (alone, together):
        found = outputs(model.loglikelihood(rows))
        assert {key: output[0] for key, output in found.items()} == pytest.approx(expected, abs=1e-4)
    generating = [
        shows(*examples, parts, times=times, doc_id=n, generation_kwargs=STEPS) for n, parts in enumerate(questions)
    ]
    assert outputs(alone.generate(generating)) == outputs(together.generate(generating))


def test_pictures_around_a_video_that_depend_on_each_other_are_no_shared_beginning(adapter: Adapter) -> None:
    """llava_onevision has one tensor for both pictures, so that a part of the prompt can't be run with the first of them."""
    together = tiny(adapter, "llava_onevision", batch_size=8)
    rows = [
        shows([STILL, "One. ", FILM, "Two. ", OTHER, "Three. " * 4, text], doc_id=n, continuation=" the yellow bus")
        for n, text in enumerate(["What?", "Which color?", "Is there a dog?"])
    ]
    rows += [
        shows([STILL, "One. ", FILM, "Other text. ", OTHER, last, "What?"], doc_id=9 + n, continuation=" dog")
        for n, last in enumerate([SECOND, ("video", 2)])
    ]
    prompt = together.writer.write(rows[0])
    assert [len(shown.digests) for shown in prompt.pictures] == [2, 8] and not prompt.in_order
    expected = {(row.doc_id, 0): by_hand(together, row) for row in rows}
    found = outputs(together.loglikelihood(rows))
    assert {key: output[0] for key, output in found.items()} == pytest.approx(expected, abs=1e-4)


def test_smolvlm_takes_one_of_the_two_and_says_so(adapter: Adapter) -> None:
    """Its processor writes the pixels of the videos over those of the pictures."""
    with pytest.raises(ModelError, match="pictures beside videos.*keeps one of the two.*video=pictures"):
        adapter("smolvlm").writer.write(shows([STILL, FILM, "What?"]))
    assert len(adapter("smolvlm").writer.write(shows([FILM, SECOND, "What?"], times=TIMES[:3])).pictures) == 2


def between(row: Instance, *texts: str) -> Instance:
    """The frames of a video with a text after each; empty for none."""
    parts: list[dict[str, Any]] = []
    for text in texts:
        parts.append({"type": "image"})
        parts += [{"type": "text", "text": text}] if text else []
    parts.append({"type": "text", "text": "What?"})
    return replace(row, context=[{"role": "user", "content": parts}])


SUBTITLED = ("\n", "A cat. ", "", "", " A dog. ", "\n")


@pytest.mark.full
def test_subtitles_divide_a_video_of_video_llama_3(adapter: Adapter) -> None:
    """As in its own evaluation: what stands between two of them is a video with its times; white space is no text."""
    alone, together = tiny(adapter, "video_llama_3"), tiny(adapter, "video_llama_3", batch_size=4)
    row = between(asked("What?", size=SIZES[0], continuation=" the yellow bus"), *SUBTITLED)
    prompt = alone.writer.write(row)
    t = "<video>" * 4
    assert alone.writer.tokenizer.decode(prompt.ids) == (
        f"user: Time 0.0s:{t},Time 0.4s:{t}A cat. Time 0.9s:{t},Time 1.0s:{t},Time 3.0s:{t} A dog. Time 4.4s:{t}"
        "\nWhat?\nassistant:"
    )
    plain = replace(row, context="<image>\n<image>A cat. <image><image><image> A dog. <image>\nWhat?")
    assert [len(shown.digests) - 2 for shown in alone.writer.write(plain).pictures] == [2, 3, 1]
    assert [first for first, _ in alone.identity(row)["videos"]] == [0, 2, 5]
    rows = [row, between(asked("", size=SIZES[0], doc_id=1, continuation=" dog"), *SUBTITLED[::-1])]
    expected = {(each.doc_id, 0): by_hand(alone, each) for each in rows}
    for model in (alone, together):
        found = outputs(model.loglikelihood(rows))
        assert {key: output[0] for key, output in found.items()} == pytest.approx(expected, abs=1e-4)


def test_the_parts_of_a_video_share_its_pixels(adapter: Adapter) -> None:
    settings = adapter("video_llama_3", video_min_pixels=800, video_max_pixels=30_000).writer.settings
    for part in (1, 2, 5):
        assert settings.of_part(part, 6).frame_size(part, 300, 500) == settings.frame_size(6, 300, 500)
    assert settings.of_part(1, 6).frame_size(1, 300, 500) != settings.frame_size(1, 300, 500)
    assert settings.of_part(6, 6) is settings


@pytest.mark.parametrize("kind", ["qwen3_vl", "internvl"])
def test_subtitles_make_pictures_of_the_frames_of_other_families(adapter: Adapter, kind: str) -> None:
    model = tiny(adapter, kind)
    row = between(asked("What?", size=SIZES[0]), *SUBTITLED)
    prompt = model.writer.write(row)
    assert len(prompt.pictures) == 6 and "videos" not in model.identity(row)
    text = model.writer.tokenizer.decode(prompt.ids)
    assert "seconds>" not in text and "Frame1" not in text
