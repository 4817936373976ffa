"""Sounds at a server: the parts in which they are sent, and whether an endpoint hears at all."""

from __future__ import annotations

import base64
import io
import wave
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from mm_eval.data.places import Places
from mm_eval.data.sound.clip import Sound, sound_of
from mm_eval.engine.model import ModelSettings
from mm_eval.values.errors import ConfigError, DataError, MMEvalError, ModelError
from mm_eval.values.types import Instance
from tests.faults.server import Server, reply
from tests.models.questions import instance, picture, sound
from tests.sets import each_of

TONE = sound(0.5, 300, rate=44_100, channels=2)
MP3 = b"ID3\x04\x00\x00\x00\x00\x00\x00" + b"\xff\xfb\x90\x64" + bytes(413)


def sent(row: Instance, **args: Any) -> dict[str, Any]:
    """The body of the one request for an instance."""
    server = Server(lambda body, nth: reply("Yes"))
    [(_, found)] = server.model(**args).generate([row])
    if isinstance(found, MMEvalError):
        raise found
    [(_, body)] = server.requests
    return body


def parts(body: dict[str, Any]) -> list[dict[str, Any]]:
    return body["messages"][0]["content"]


def stored(content: bytes, name: str = "") -> Sound:
    found = sound_of({"bytes": content, "path": name}, Places(), sure=True)
    assert found is not None
    return found


def test_a_sound_is_sent_as_a_wav_at_its_own_rate_and_channels() -> None:
    body = sent(instance("What is it?", [picture(60, 60)], [TONE]))
    kinds = [part["type"] for part in parts(body)]
    assert kinds == ["image_url", "input_audio", "text"]
    given = parts(body)[1]["input_audio"]
    assert given["format"] == "wav"
    expected = TONE.samples()
    content = base64.b64decode(given["data"])
    again = stored(content)
    assert (again.rate, again.channels, again.length) == (44_100, 2, len(expected))
    assert np.array_equal(again.samples(), expected), "32-bit floats of an array stay what they are"


def pcm(seconds: float = 0.25, rate: int = 8_000) -> bytes:
    """A WAV of 16 bits."""
    file = io.BytesIO()
    with wave.open(file, "wb") as out:
        out.setnchannels(1)
        out.setsampwidth(2)
        out.setframerate(rate)
        out.writeframes(np.arange(round(seconds * rate), dtype="<i2").tobytes())
    return file.getvalue()


@each_of(
    ("way", "form"),
    [("input_audio", "wav"), ("data_url", "wav"), ("audio_url", "wav")],
)
def test_a_stored_wav_is_sent_as_it_is(way: str, form: str) -> None:
    content = pcm()
    part = parts(sent(instance("What?", [], [stored(content)]), audio=way))[0]
    if way == "audio_url":
        assert part["type"] == "audio_url"
        data = part["audio_url"]["url"].removeprefix("data:audio/wav;base64,")
    else:
        assert part["input_audio"]["format"] == form
        data = part["input_audio"]["data"].removeprefix("data:audio/wav;base64," if way == "data_url" else "")
    assert base64.b64decode(data) == content


def test_a_part_of_a_file_is_sent_alone() -> None:
    whole = stored(pcm(1.0))
    part = parts(sent(instance("What?", [], [Sound(whole.source, start=0.25, end=0.5)])))[0]
    again = stored(base64.b64decode(part["input_audio"]["data"]))
    assert again.length == 2_000 and np.array_equal(again.samples(mono=True), whole.samples(mono=True)[2_000:4_000])


def test_a_sound_that_is_too_large_fails_its_document() -> None:
    with pytest.raises(DataError, match=r"has 0\.1 MB as wav, more than 0\.05 MB") as failure:
        sent(instance("What?", [], [sound(1.5, 300)]), max_audio_mb=0.05)
    assert "max_audio_mb" in failure.value.hint


def counting(body: dict[str, Any], nth: int) -> Any:
    """A reply whose prompt counts 25 tokens for a sound."""
    content = body["messages"][-1]["content"]
    heard = 25 * sum(part["type"] in ("input_audio", "audio_url") for part in content if isinstance(part, dict))
    return reply("Yes", usage={"prompt_tokens": 10 + heard, "completion_tokens": 1})


def deaf(body: dict[str, Any], nth: int) -> Any:
    return reply("Yes", usage={"prompt_tokens": 10, "completion_tokens": 1})


def refusing(said: str, status: int = 400) -> Callable[[dict[str, Any], int], Any]:
    def handle(body: dict[str, Any], nth: int) -> Any:
        content = body["messages"][-1]["content"]
        if not isinstance(content, str) and any(part["type"] == "input_audio" for part in content):
            import httpx

            return httpx.Response(status, json={"error": {"message": said}})
        return counting(body, nth)

    return handle


def test_an_endpoint_that_hears_is_found_out_once_and_kept() -> None:
    row = instance("What?", [], [TONE])
    server = Server(counting)
    model = server.model()
    assert model.facts.hears
    model.check([row])
    assert len(server.requests) == 2, "with a tone and without"
    model.check([row])
    assert len(server.requests) == 2
    list(model.generate([row]))
    again = Server(counting)
    other = again.model()
    other.facts = model.facts
    other.check([row])
    assert not again.requests, "an earlier launch has found it out"


def test_questions_without_sound_ask_nothing_beforehand() -> None:
    server = Server(deaf)
    server.model().check([instance("What?")])
    assert not server.requests


@each_of(
    ("handle", "said"),
    [
        (deaf, "does not hear: the server counts 10 tokens for a question with a tone, and 10 without it"),
        (refusing("Unsupported content part: input_audio"), "which 'm' does not take: "),
        (refusing("audio input is not supported - hint: provide the mmproj", 500), "which 'm' does not take: "),
    ],
)
def test_an_endpoint_that_does_not_hear_is_refused_before_the_run(handle: Any, said: str) -> None:
    server = Server(handle)
    with pytest.raises(ConfigError) as failure:
        server.model().check([instance("What?", [], [TONE])])
    assert said in failure.value.what and "audio=input_audio" in failure.value.hint


def test_a_stated_way_is_taken_without_a_question() -> None:
    server = Server(deaf)
    model = server.model(audio="audio_url")
    model.check([instance("What?", [], [TONE])])
    assert not server.requests
    list(model.generate([instance("What?", [], [TONE])]))
    assert parts(server.requests[0][1])[0]["type"] == "audio_url"


@each_of(
    ("said", "way"),
    [
        (
            "Input tag 'input_audio' found using 'type' does not match any of the expected tags: 'text', 'audio_url'",
            "audio_url",
        ),
        ("The provided URL does not appear to be valid. Ensure it is correctly formatted.", "data_url"),
    ],
)
def test_an_endpoint_that_names_another_way_gets_it(said: str, way: str) -> None:
    def handle(body: dict[str, Any], nth: int) -> Any:
        import httpx

        content = body["messages"][-1]["content"]
        bare = [
            part
            for part in content
            if isinstance(part, dict)
            and part["type"] == "input_audio"
            and not part["input_audio"]["data"].startswith("data:")
        ]
        return httpx.Response(400, json={"error": {"message": said}}) if bare else counting(body, nth)

    server = Server(handle)
    model = server.model()
    row = instance("What?", [], [TONE])
    model.check([row])
    assert model.endpoint.sound == way
    before = len(server.requests)
    [(_, answer)] = model.generate([row])
    assert answer.output == "Yes" and len(server.requests) == before + 1
    assert model.facts.findings["sound"] == way and model.facts.findings["hears"] is True


def test_a_plain_text_prompt_has_no_place_for_a_sound() -> None:
    row = instance("What?", [], [TONE], chat=False)
    server = Server(counting)
    [(_, found)] = server.model(settings=ModelSettings(chat_template=False)).generate([row])
    assert isinstance(found, ModelError) and "sounds can only be sent in chat messages" in found.what


def test_a_server_gets_the_sound_of_videos_where_the_user_asks_for_it() -> None:
    assert Server(lambda body, nth: reply("Yes")).model(use_audio_in_video="true").facts.hears_videos
    assert not Server(lambda body, nth: reply("Yes")).model().facts.hears_videos
    with pytest.raises(ConfigError, match="sends the file, sound and all") as failure:
        Server(lambda body, nth: reply("Yes")).model(use_audio_in_video=True, video="file")
    assert "mm_processor_kwargs" in failure.value.hint
