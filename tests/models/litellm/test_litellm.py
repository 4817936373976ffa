"""`--model litellm` against scripted vendors on 127.0.0.1; skipped where the library is missing. `.ci/servers` runs these tests.

The library makes unknown reasons of an ending "stop"; what is checked here is what the vendor wrote.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import pytest
from mm_eval.models.litellm.adapter import LiteLLM
from PIL import Image

from mm_eval.data.media import encoded, picture_digest
from mm_eval.engine.model import ModelSettings, another_of, request_key
from mm_eval.values.errors import ConfigError, MMEvalError
from mm_eval.values.types import Answer, Instance
from tests.models.litellm import vendors
from tests.models.litellm.vendors import KEY, Vendors, anthropic, azure, gemini
from tests.models.questions import sound
from tests.processes import HANGS

pytest.importorskip("litellm")
VENDORS: dict[str, tuple[dict[str, str], Callable[..., Any]]] = {
    "anthropic": ({"model": "anthropic/claude-sonnet-4-5"}, anthropic),
    "gemini": ({"model": "gemini/gemini-2.5-flash"}, gemini),
    "azure": ({"model": "azure/dep", "api_version": "2024-10-21"}, azure),
}
QUICK = {"max_retries": 2, "num_concurrent": 2}


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Vendors]:
    monkeypatch.setenv("VENDOR_KEY", KEY)
    with vendors.serving() as served:
        yield served


def model(server: Vendors, vendor: str, **args: Any) -> LiteLLM:
    stated = {**VENDORS[vendor][0], "base_url": server.url, "api_key_env": "VENDOR_KEY", **QUICK, **args}
    made = LiteLLM(stated, ModelSettings())
    made.prepare()
    return made


def instance(doc_id: int = 0, pictures: int = 2, **fields: Any) -> Instance:
    """A question with texts around its pictures, each of which has a colour of its own."""
    shown = [Image.new("RGB", (8, 8), (40 * place, 90, doc_id)) for place in range(pictures)]
    parts = [part for place in range(pictures) for part in ({"type": "text", "text": f"{place}:"}, {"type": "image"})]
    messages = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": [*parts, {"type": "text", "text": f"Question {doc_id}?"}]},
    ]
    kwargs = {"max_gen_toks": 16, "until": ["\n\n"], "temperature": 0}
    made = Instance("generate_until", "t", doc_id, {}, messages, generation_kwargs=kwargs, images=lambda: shown)
    return replace(made, image_digests=tuple(map(picture_digest, shown)), **fields)


def answered(made: LiteLLM, *instances: Instance) -> list[Answer | MMEvalError]:
    found = {id(asked): answer for asked, answer in made.generate(iter(instances or (instance(),)))}
    return [found[id(asked)] for asked in instances] if instances else list(found.values())


@pytest.mark.parametrize("vendor", VENDORS)
def test_texts_and_pictures_reach_the_vendor_in_their_order(server: Vendors, vendor: str) -> None:
    asked = instance(pictures=3)
    (answer,) = answered(model(server, vendor), asked)
    assert isinstance(answer, Answer) and (answer.output, answer.ended) == ("Yes", "stop")
    assert answer.model.startswith(("claude-test", "gemini-test", "gpt-test"))
    assert asked.images is not None
    files = [encoded(shown, picture_digest(shown))[1] for shown in asked.images()]
    digests = [hashlib.sha256(file).hexdigest() for file in files]
    assert [each for each in server.pictures[-1] if each != "Be brief."] == [
        *(each for place in range(3) for each in (f"{place}:", digests[place])),
        "Question 0?",
    ]
    assert len(server.bodies) == 1  # nothing but the question is sent


@pytest.mark.parametrize(
    ("vendor", "reply", "ended", "output"),
    [
        ("anthropic", anthropic(stop_reason="stop_sequence"), "stop", "Yes"),
        ("anthropic", anthropic(stop_reason="max_tokens"), "length", "Yes"),
        ("anthropic", anthropic(stop_reason="model_context_window_exceeded"), "length", "Yes"),
        ("anthropic", anthropic(None, stop_reason="refusal"), "refused", ""),
        ("anthropic", anthropic("I can", stop_reason="refusal"), "refused", "I can"),
        ("anthropic", anthropic(stop_reason="pause_turn"), "failed", None),
        ("anthropic", anthropic(stop_reason="tool_use"), "failed", None),
        ("anthropic", anthropic(stop_reason="compaction"), "failed", None),
        ("anthropic", anthropic(stop_reason="of_tomorrow"), "failed", None),
        ("gemini", gemini(reason="MAX_TOKENS"), "length", "Yes"),
        ("gemini", gemini(reason="SAFETY", text=None), "filtered", ""),
        ("gemini", gemini(reason="SPII", text=None), "filtered", ""),
        ("gemini", gemini(candidates=None, promptFeedback={"blockReason": "PROHIBITED_CONTENT"}), "filtered", ""),
        ("gemini", gemini(reason="MALFORMED_RESPONSE"), "failed", None),
        ("gemini", gemini(reason="TOO_MANY_TOOL_CALLS"), "failed", None),
        ("gemini", gemini(reason="FINISH_REASON_UNSPECIFIED"), "failed", None),
        ("gemini", gemini(reason="OF_TOMORROW"), "failed", None),
        ("azure", azure(reason="length"), "length", "Yes"),
        ("azure", azure(None, reason="content_filter"), "filtered", ""),
        ("azure", azure(None, refusal="I can't help."), "refused", "I can't help."),
        ("azure", azure(reason="of_tomorrow"), "failed", None),
        ("azure", azure(reason="tool_calls"), "failed", None),
    ],
)
def test_how_an_answer_ended_is_what_the_vendor_wrote(
    server: Vendors, vendor: str, reply: Any, ended: str, output: str | None
) -> None:
    server.replies = [reply] * 3  # as often as it may be asked
    (answer,) = answered(model(server, vendor))
    if output is None:
        assert isinstance(answer, MMEvalError), answer
    else:
        assert isinstance(answer, Answer) and (answer.ended, answer.output) == (ended, output)


THOUGHT = {"type": "thinking", "thinking": "Hm.", "signature": "s"}


@pytest.mark.parametrize(
    ("vendor", "reply"),
    [
        ("anthropic", anthropic(content=[THOUGHT, {"type": "text", "text": "No"}])),
        ("gemini", gemini(parts=[{"text": "Hm.", "thought": True}, {"text": "No"}])),
        ("azure", azure("No", reasoning_content="Hm.")),
    ],
)
def test_thinking_stands_apart_from_the_answer(server: Vendors, vendor: str, reply: Any) -> None:
    server.replies = [reply]
    (answer,) = answered(model(server, vendor))
    assert isinstance(answer, Answer) and (answer.reasoning, answer.output) == ("Hm.", "No")


def test_thinking_that_its_vendor_hides_is_nothing(server: Vendors) -> None:
    server.replies = [anthropic(content=[{"type": "redacted_thinking", "data": "x"}, {"type": "text", "text": "No"}])]
    (answer,) = answered(model(server, "anthropic"))
    assert isinstance(answer, Answer) and (answer.reasoning, answer.output) == (None, "No")


OVERLOADED = {
    "anthropic": (
        529,
        {"retry-after": "0"},
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    ),
    "gemini": (503, {"retry-after": "0"}, {"error": {"code": 503, "message": "overloaded", "status": "UNAVAILABLE"}}),
    "azure": (429, {"retry-after": "0"}, {"error": {"code": "429", "message": "Rate limit is exceeded."}}),
}


@pytest.mark.parametrize("vendor", VENDORS)
def test_an_overloaded_vendor_is_asked_again_by_us_and_only_by_us(server: Vendors, vendor: str) -> None:
    server.replies = [OVERLOADED[vendor]] * 2
    (answer,) = answered(model(server, vendor))
    assert isinstance(answer, Answer) and answer.output == "Yes"
    refused_here = vendor == "anthropic"  # the library says that the vendor's protocol has no seed, and sends nothing
    assert answer.attempts - refused_here == len(server.bodies) == 3


def test_a_wrong_key_ends_the_run_and_no_message_has_it(server: Vendors, monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = "another-key-of-a-vendor-987654"
    monkeypatch.setenv("VENDOR_KEY", wrong)
    with pytest.raises(MMEvalError) as raised:
        answered(model(server, "anthropic"), *(instance(doc) for doc in range(8)))
    assert "401" in str(raised.value) and wrong not in str(raised.value)
    assert len(server.bodies) <= 3


def test_a_reply_that_the_library_can_t_read_is_no_answer(server: Vendors) -> None:
    server.replies = [(200, {}, {"hello": 1}), (200, {}, {"type": "message", "content": "Yes"})]
    (answer,) = answered(model(server, "anthropic"))
    assert isinstance(answer, Answer) and len(server.bodies) == 3


def test_a_vendor_that_is_not_there_ends_the_run_with_its_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("VENDOR_KEY", KEY)
    with vendors.serving() as gone:
        pass
    with pytest.raises(MMEvalError, match=rf"{gone.url} could not be reached"):
        answered(model(gone, "anthropic", max_outage=0.5))


def test_tokens_are_those_that_the_vendor_counts(server: Vendors) -> None:
    counted = {}
    for vendor in VENDORS:
        (answer,) = answered(model(server, vendor))
        assert isinstance(answer, Answer)
        counted[vendor] = dict(answer.usage)
    assert counted == {
        "anthropic": {"prompt_tokens": 17, "cached_tokens": 5, "cache_write_tokens": 2, "completion_tokens": 3},
        "gemini": {
            "prompt_tokens": 10,
            "cached_tokens": 4,
            "image_tokens": 6,
            "completion_tokens": 10,
            "reasoning_tokens": 7,
        },
        "azure": {"prompt_tokens": 10, "cached_tokens": 4, "completion_tokens": 3, "reasoning_tokens": 2},
    }


def test_a_provider_that_takes_no_pictures_ends_the_run_before_a_question_without_them_is_sent(server: Vendors) -> None:
    with pytest.raises(MMEvalError, match="left out 2 of 2 pictures"):
        answered(model(server, "anthropic", model="deepseek/deepseek-chat"))
    assert not server.bodies


def test_what_the_adapter_refuses_before_anything_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "VENDOR_KEY"):
        monkeypatch.delenv(name, raising=False)
    refusals: list[tuple[dict[str, Any], ModelSettings, str]] = [
        ({}, ModelSettings(), "model=PROVIDER/NAME"),
        ({"model": "claude"}, ModelSettings(), "model=PROVIDER/NAME"),
        ({"model": "anthropic/claude"}, ModelSettings(offline=True), "--offline"),
        ({"model": "anthropic/claude"}, ModelSettings(chat_template=False), "chat messages only"),
        ({"model": "anthropic/claude"}, ModelSettings(), "ANTHROPIC_API_KEY is not set"),
        ({"model": "anthropic/claude", "api_key_env": "VENDOR_KEY"}, ModelSettings(), "VENDOR_KEY is not set"),
        ({"model": "nobody/claude"}, ModelSettings(), "'nobody' can't be read"),
        ({"model": "anthropic/claude", "temprature": 1}, ModelSettings(), "temprature"),
    ]
    for args, settings, said in refusals:
        with pytest.raises(ConfigError, match=said):
            LiteLLM(args, settings).prepare()
    monkeypatch.setenv("ANTHROPIC_API_KEY", KEY)
    with pytest.raises(ConfigError, match="holds a key") as raised:
        LiteLLM({"model": "anthropic/claude", "server": KEY}, ModelSettings())
    assert KEY not in str(raised.value)


def test_the_request_key_has_the_vendor_and_not_the_key(server: Vendors, monkeypatch: pytest.MonkeyPatch) -> None:
    asked, made = instance(), model(server, "azure")
    before = request_key(made, asked)
    monkeypatch.setenv("VENDOR_KEY", "another")
    assert request_key(model(server, "azure"), asked) == before
    assert request_key(model(server, "azure", api_version="2025-01-01"), asked) != before
    assert request_key(another_of(made), asked) == before
    assert made.describe()["adapter"] == "litellm" and KEY not in json.dumps(made.describe())


SILENT = """
import socket, sys

def refuse(*args, **kwargs):
    raise SystemExit(f"a socket was opened: {args[1:]}")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = socket.create_connection = refuse
from mm_eval.models.litellm.adapter import LiteLLM
from mm_eval.engine.model import ModelSettings
from mm_eval.errors import ConfigError
assert "litellm" not in sys.modules
try:
    LiteLLM({"model": "anthropic/claude-sonnet-4-5"}, ModelSettings(offline=True))
except ConfigError:
    pass
else:
    raise SystemExit("--offline allowed it")
assert "litellm" not in sys.modules
LiteLLM({"model": "anthropic/claude-sonnet-4-5"}, ModelSettings()).prepare()
assert "litellm" in sys.modules
"""


def test_no_socket_is_opened_on_import_by_offline_or_by_prepare() -> None:
    env = {**os.environ, "ANTHROPIC_API_KEY": KEY}
    env.pop("LITELLM_LOCAL_MODEL_COST_MAP", None)
    done = subprocess.run([sys.executable, "-c", SILENT], env=env, capture_output=True, text=True, timeout=HANGS)
    assert done.returncode == 0, done.stderr[-2000:]


def test_a_run_ends_to_end_and_is_resumed(server: Vendors, tmp_path: Any, cli: Any) -> None:
    args = f"model=anthropic/claude-sonnet-4-5,base_url={server.url},api_key_env=VENDOR_KEY,num_concurrent=2"
    command = ["--tasks", "mme", "--model", "litellm", "--model_args", args, "--sample", "--limit", "6"]
    command += ["--output_path", str(tmp_path / "run")]
    first = cli(*command)
    assert first.code == 0, first.err
    assert len(server.bodies) == 6
    again = cli(*command)
    assert again.code == 0 and len(server.bodies) == 6
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert results["run"]["litellm"] and KEY not in (tmp_path / "run" / "run.json").read_text()


def sounding() -> Instance:
    heard = sound(0.5, 300, rate=44_100, channels=2)
    parts = [{"type": "text", "text": "Listen."}, {"type": "audio"}, {"type": "text", "text": "What is it?"}]
    asked = Instance("generate_until", "t", 0, {}, [{"role": "user", "content": parts}], generation_kwargs={})
    return replace(asked, sounds=lambda: [heard], heard=(heard.heard,))


@pytest.mark.parametrize("vendor", ["gemini", "azure"])
def test_a_sound_reaches_the_vendor_as_it_is(server: Vendors, vendor: str) -> None:
    asked = sounding()
    (answer,) = answered(model(server, vendor), asked)
    assert isinstance(answer, Answer) and answer.output == "Yes"
    assert asked.sounds is not None
    _, content = asked.sounds()[0].encoded()
    assert server.pictures[-1] == ["Listen.", hashlib.sha256(content).hexdigest(), "What is it?"]
    if vendor == "gemini":
        [inline] = [part for part in server.bodies[-1]["contents"][0]["parts"] if "text" not in part]
        assert "audio/wav" in json.dumps(inline)


def test_a_vendor_that_takes_no_sound_does_not_get_the_question_without_it(server: Vendors) -> None:
    with pytest.raises(MMEvalError):
        found = answered(model(server, "anthropic"), sounding())
        raise found[0] if isinstance(found[0], MMEvalError) else AssertionError(found)
    assert not server.bodies


def test_a_picture_file_is_sent_as_it_was(server: Vendors) -> None:
    file = io.BytesIO()
    Image.linear_gradient("L").resize((30, 20)).convert("RGB").save(file, "PNG")
    picture = Image.open(io.BytesIO(file.getvalue())).convert("RGB")
    asked = replace(instance(pictures=1), images=lambda: [picture], image_digests=(picture_digest(picture),))
    answered(model(server, "gemini"), asked)
    sent = encoded(picture, picture_digest(picture))[1]
    assert hashlib.sha256(sent).hexdigest() in server.pictures[-1]
