"""Videos at a server: frames with the family's time text, or the file; all of it in the request key."""

import base64
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from mm_eval.models.openai.adapter import OpenAI
from mm_eval.models.openai.messages import in_words

from mm_eval.data.places import Places
from mm_eval.data.video.frames import frames_of
from mm_eval.data.video.rule import read_rule
from mm_eval.engine.model import ModelSettings, account, request_key
from mm_eval.values.errors import ConfigError, DataError, MMEvalError, ModelError
from mm_eval.values.types import Instance, Video
from tests.cli.test_videos import command, made
from tests.data.video.movies import write
from tests.faults.server import Server, reply
from tests.sets import each_of

IMAGE = {"type": "image"}


@pytest.fixture(scope="module")
def movie(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("movies") / "a.mp4", count=100)


def asked(video: Path | Video, rule: str = "frames=3", between: str = "") -> Instance:
    """A question about a video. between: a text between its frames."""
    frames = frames_of(video, read_rule(rule), Places())
    assert frames is not None
    shown = [
        part for _ in frames.ticks for part in ([IMAGE, {"type": "text", "text": between}] if between else [IMAGE])
    ]
    context = [
        {"role": "user", "content": [{"type": "text", "text": "Look."}, *shown, {"type": "text", "text": "What?"}]}
    ]
    load = frames.pictures
    return Instance(
        "generate_until", "t", 0, {}, context, images=load, image_digests=frames.digests, clips=(frames.clip(0),)
    )


def sent(instance: Instance, **args: Any) -> dict[str, Any]:
    """The body of the one request for an instance."""
    server = Server(lambda body, nth: reply("Yes"))
    [(_, found)] = server.model(**args).generate([instance])
    if isinstance(found, MMEvalError):
        raise found
    [(_, body)] = server.requests
    return body


def outline(body: dict[str, Any]) -> list[str]:
    """The parts of the message: texts, and PICTURE or VIDEO."""
    content = body["messages"][0]["content"]
    return [part.get("text") or part["type"].removesuffix("_url").upper() for part in content]


@each_of(
    ("name", "between"),
    [
        ("Qwen/Qwen3-VL-4B-Instruct", ["<0.0 seconds>", "IMAGE", "<2.0 seconds>", "IMAGE", "<4.0 seconds>", "IMAGE"]),
        ("DAMO-NLP-SG/VideoLLaMA3-7B", ["Time 0.0s:", "IMAGE", ",Time 2.0s:", "IMAGE", ",Time 4.0s:", "IMAGE"]),
        ("OpenGVLab/InternVL3-8B", ["Frame1: ", "IMAGE", "\nFrame2: ", "IMAGE", "\nFrame3: ", "IMAGE"]),
        (
            "HuggingFaceTB/SmolVLM2-2.2B-Instruct",
            [
                "You are provided the following series of three frames from a 0:00:04 [H:MM:SS] video.\n\nFrame from 00:00:",
                *("IMAGE", "\nFrame from 00:01:", "IMAGE", "\nFrame from 00:03:", "IMAGE", "\n\n"),
            ],
        ),
        ("Qwen/Qwen2.5-VL-7B-Instruct", ["IMAGE"] * 3),
    ],
)
def test_a_family_gets_its_own_time_text(movie: Path, name: str, between: list[str]) -> None:
    assert outline(sent(asked(movie), model=name)) == ["Look.", *between, "What?"]


def test_the_ways_are_stated_recorded_and_in_the_key(movie: Path) -> None:
    instance, keys = asked(movie), set()
    arguments = {"base_url": "http://a/v1", "model": "Qwen3-VL-4B-Instruct"}
    for way, said in [("pictures", "pictures"), ("times", "pictures with times"), ("file", "file")]:
        model = OpenAI({**arguments, "video": way}, ModelSettings())
        assert model.facts.frames_as == said
        keys.add(request_key(model, instance))
        assert request_key(model, instance) != request_key(model, asked(movie, "frames=4"))
    assert len(keys) == 3
    assert OpenAI(arguments, ModelSettings()).facts.frames_as == "pictures with times"
    assert OpenAI({**arguments, "model": "Qwen2-VL-7B"}, ModelSettings()).facts.frames_as == "pictures"
    later = replace(instance.clips[0], seconds=(0.0, 1.0, 2.0))
    moved = replace(instance, clips=(later,))
    times = OpenAI({**arguments, "video": "times"}, ModelSettings())
    assert request_key(times, moved) != request_key(times, instance)
    with pytest.raises(ConfigError, match="pictures, times or file"):
        OpenAI({**arguments, "video": "frames"}, ModelSettings())


def test_times_for_a_family_without_a_text_and_none_where_pictures_are_asked_for(movie: Path) -> None:
    assert outline(sent(asked(movie), model="m", video="times"))[1:4] == ["<0.0 seconds>", "IMAGE", "<2.0 seconds>"]
    body = sent(asked(movie), model="Qwen3-VL-4B-Instruct", video="pictures")
    assert outline(body) == ["Look.", *["IMAGE"] * 3, "What?"] and "media_io_kwargs" not in body
    subtitles = outline(sent(asked(movie, between="Hello."), model="Qwen3-VL-4B-Instruct"))
    assert subtitles[1:5] == ["<0.0 seconds>", "IMAGE", "Hello.", "<2.0 seconds>"]


@pytest.mark.parametrize(
    ("rule", "passed"),
    [("frames=3", {"num_frames": 3}), ("fps=2,max=6", {"fps": 2.0, "num_frames": 6})],
)
def test_the_file_is_sent_with_the_rule(movie: Path, rule: str, passed: dict[str, Any]) -> None:
    body = sent(replace(asked(movie, rule), images=None), model="m", video="file")
    assert outline(body) == ["Look.", "VIDEO", "What?"], "no frame is decoded"
    url = body["messages"][0]["content"][1]["video_url"]["url"]
    assert url == f"data:video/mp4;base64,{base64.b64encode(movie.read_bytes()).decode()}"
    assert body["media_io_kwargs"] == {"video": {"video_backend": "opencv", **passed}} and body[
        "mm_processor_kwargs"
    ] == {"do_sample_frames": False}


def test_what_a_file_cannot_be_sent_for_is_one_clear_error(movie: Path, tmp_path: Path) -> None:
    for instance, said in [
        (asked(Video(movie, start=1.0)), "part of 'a.mp4', and a server gets whole files"),
        (asked(movie, "frames=3,middle"), "frames=3,middle can't be passed on"),
        (asked(movie, "fps=1,min=4"), "can't be passed on"),
        (asked(movie, "frames=3,size=64"), "can't be passed on"),
        (asked(movie, between="Hello."), "text is between the frames"),
    ]:
        with pytest.raises(DataError, match=said) as error:
            sent(instance, model="m", video="file")
        assert "video=times" in error.value.hint
    with pytest.raises(DataError, match=r"more than 0\.001 MB") as error:
        sent(asked(movie), model="m", video="file", max_video_mb=0.001)
    assert "max_video_mb" in error.value.hint
    own = write(tmp_path / "own.mp4", count=30)
    instance = asked(own)
    write(own, count=31)
    with pytest.raises(DataError, match="has changed during the run"):
        sent(instance, model="m", video="file")
    own.unlink()
    with pytest.raises(DataError, match="can't be read"):
        sent(instance, model="m", video="file")


REFUSALS = [
    "Invalid value: 'video_url'. Supported values are: 'text', 'image_url', 'input_audio', 'refusal', and 'file'.",
    "At most 0 video(s) may be provided in one prompt.",
    "Per-request media_io_kwargs are disabled by default because they can change multimodal media loading resource usage.",
]


@pytest.mark.parametrize("said", REFUSALS)
def test_a_server_that_takes_no_files_ends_the_run_with_what_to_do(movie: Path, said: str) -> None:
    server = Server(lambda body, nth: httpx.Response(400, json={"error": {"message": said}}))
    with pytest.raises(ModelError, match="refuses the file of a video") as error:
        list(server.model(video="file").generate([asked(movie)]))
    assert "video=times or video=pictures" in error.value.hint and len(server.requests) == 1


def test_the_report_says_what_the_server_took_as_far_as_it_says_it(movie: Path) -> None:
    usage = {"prompt_tokens": 80, "completion_tokens": 1, "prompt_tokens_details": {"multimodal_tokens": {"video": 64}}}
    server = Server(lambda body, nth: reply("Yes", usage=usage))
    model = server.model(video="file")
    [(_, found)] = model.generate([asked(movie)])
    assert found.usage["video_tokens"] == 64
    assert "which frames the server took of a file is unknown (64 tokens" in account(model, found.usage)
    assert "is unknown (it does not report it)" in account(model, {"prompt_tokens": 80})
    assert "unknown" not in account(server.model(video="times"), {"prompt_tokens": 80})


def test_a_run_says_how_and_resumes(cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, server = made(tmp_path / "task"), Server(lambda body, nth: reply("red"))
    monkeypatch.setattr(OpenAI, "new_transport", lambda self: httpx.MockTransport(server))
    words = [*command(folder, "openai"), "--video", "frames=2", "--model_args"]
    times = [*words, "base_url=http://a/v1,model=Qwen3-VL-4B-Instruct"]
    ran = cli(*times)
    assert ran.code == 0 and "shown as pictures with times (frames=2,ends)" in ran.out, ran.err
    stated = json.loads((ran.folder / "run.json").read_text())["spec"]["tasks"]["clips"]["prompt"]
    assert stated["video_input"] == "pictures with times"
    assert "all 3 answers were in the run folder already" in cli(*times).out, "the times are in the journal"
    shown = cli("show", *words[1:2], *words[2:], times[-1])
    assert "<0.0 seconds><image>" in shown.out.replace("\n", "") and "<2.0 seconds>" in shown.out, shown.out
    filed = cli(*words, "base_url=http://a/v1,model=m,video=file", "--output_path", tmp_path / "other")
    assert filed.code == 0 and "the server samples the file (frames=2,ends was asked for)" in filed.out, filed.err
    assert "it does not report it" in filed.out
    shown = cli("show", *words[1:2], *words[2:], "base_url=http://a/v1,model=m,video=file")
    assert "<the file a.mp4>" in shown.out


def test_numbers_in_words_are_those_of_the_family_prompt() -> None:
    said = {
        1: "one",
        15: "fifteen",
        20: "twenty",
        64: "sixty-four",
        100: "one hundred",
        768: "seven hundred and sixty-eight",
    }
    assert {number: in_words(number) for number in said} == said
