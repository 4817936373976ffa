"""Models that write down what they hear: their transcriptions are those of their own processor and `generate`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mm_eval.engine.model import request_key
from mm_eval.values.errors import ConfigError, ModelError
from tests.models.questions import instance, outputs, picture, sound
from tests.models.tiny_hearing import WINDOW
from tests.sets import each_of, few

Adapter = Callable[..., Any]
CAP = {"max_new_tokens": 8}
SECONDS = (0.7, 1.3, WINDOW, 1.9, WINDOW + 1.5)


def asked(**fields: Any) -> list[Any]:
    return [
        instance("Write it down.", [], [sound(seconds, 200 + 150 * n)], doc_id=n, generation_kwargs=CAP, **fields)
        for n, seconds in enumerate(SECONDS)
    ]


def by_hand(model: Any, row: Any, **how: Any) -> str:
    """What the type's own processor and `generate` make of a sound alone."""
    import torch

    samples = row.sounds()[0].samples(rate=16_000, mono=True)
    given: dict[str, Any] = {}
    if model.kind.window and len(samples) > 16_000 * WINDOW:
        given, how = {"truncation": False, "padding": "longest"}, {**how, "return_timestamps": True}
    inputs = model.processor.feature_extractor(
        samples, sampling_rate=16_000, return_tensors="pt", return_attention_mask=True, **given
    )
    with torch.no_grad():
        tokens = model.model.generate(**inputs, do_sample=False, **CAP, **how)
    return model.processor.batch_decode(tokens, skip_special_tokens=True)[0].strip()


@pytest.mark.parametrize("kind", few(["whisper", "moonshine"], at=[0]))
def test_transcriptions_are_those_of_generate(adapter: Adapter, kind: str) -> None:
    model = adapter(kind, "whisper", batch_size=3)
    expected = {(row.doc_id, 0): by_hand(model, row) for row in asked()}
    assert len(set(expected.values())) >= 3
    assert outputs(model.generate(asked())) == expected
    assert outputs(model.generate(asked()[::-1])) == expected


@pytest.mark.full
def test_the_language_and_the_task_are_stated(adapter: Adapter) -> None:
    model = adapter("whisper", "whisper", language="de", task="translate")
    rows = asked()[:2]
    how = {"language": "de", "task": "translate"}
    assert outputs(model.generate(rows)) == {(row.doc_id, 0): by_hand(model, row, **how) for row in rows}
    assert request_key(model, rows[0]) != request_key(adapter("whisper", "whisper", language="en"), rows[0])


def test_how_a_transcription_ended_and_its_tokens_are_known(adapter: Adapter) -> None:
    [(_, answer)] = adapter("whisper", "whisper").generate(asked()[:1])
    assert answer.ended == "length" and answer.usage == {"completion_tokens": 8}
    model = adapter("whisper", "whisper")
    [(_, answer)] = model.generate([instance("", [], [sound(1, 440)], generation_kwargs={"max_new_tokens": 500})])
    assert isinstance(answer.output, str), "a cap above the decoder's places is the decoder's own"
    assert model.facts.hears and model.facts.family == "whisper"


@each_of(
    ("pictures", "sounds", "said"),
    [(0, 0, "has 0 sounds"), (0, 2, "has 2 sounds"), (1, 1, "has 1 sound and 1 picture")],
)
def test_one_sound_is_transcribed_and_nothing_else(adapter: Adapter, pictures: int, sounds: int, said: str) -> None:
    row = instance("What?", [picture(60, 60)] * pictures, [sound(0.5, 300)] * sounds, generation_kwargs=CAP)
    [(_, found)] = adapter("whisper", "whisper").generate([row])
    assert isinstance(found, ModelError) and said in found.what


@each_of(
    ("kind", "name", "args", "said"),
    [
        ("whisper", "hf", {}, "writes down what it hears"),
        ("qwen2_audio", "whisper", {}, "is not a model that transcribes"),
        ("moonshine", "whisper", {"language": "de"}, "takes no language"),
        ("whisper", "whisper", {"task": "sing"}, "transcribe or translate"),
        ("whisper", "whisper", {"min_pixels": 4}, "min_pixels"),
    ],
)
def test_what_is_not_meant_is_refused_in_a_sentence(
    adapter: Adapter, kind: str, name: str, args: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError) as failure:
        adapter(kind, name, **args).prepare()
    assert said in str(failure.value)
