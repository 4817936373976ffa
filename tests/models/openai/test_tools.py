"""Tools on a server: sent natively, as text where the server refuses them, and nothing is asked where neither can be."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from mm_eval.models.openai.client.replies import read_text
from mm_eval.models.openai.client.streams import streamed

from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Answer
from tests.faults.server import Server, reply
from tests.sets import few
from tests.tools.scripted import call, rows_of, run, write

JINJA = httpx.Response(500, json={"error": {"code": 500, "message": "tools param requires --jinja flag"}})
VLLM = '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set'
REFUSALS = {
    "vllm": httpx.Response(400, json={"object": "error", "message": VLLM, "type": "BadRequestError", "code": 400}),
    "llama.cpp": JINJA,
    "openai": httpx.Response(
        400, json={"error": {"message": "tools is not supported in this model.", "param": "tools"}}
    ),
    "fastapi": httpx.Response(
        422, json={"detail": [{"type": "extra_forbidden", "loc": ["body", "tools"], "msg": "Extra"}]}
    ),
}
BOX = {"bbox_2d": [250, 250, 500, 500]}
ZOOM = call(bbox_2d=[250, 250, 500, 500])


def native(*calls: tuple[str, str], content: str | None = None) -> httpx.Response:
    """A reply that calls tools. calls: (name, arguments as text)."""
    made = [
        {"id": f"c{n}", "type": "function", "function": {"name": a, "arguments": b}} for n, (a, b) in enumerate(calls)
    ]
    message = {"role": "assistant", "content": content, "tool_calls": made}
    return httpx.Response(200, json={"choices": [{"message": message, "finish_reason": "tool_calls"}], "usage": {}})


def answered(body: dict[str, Any]) -> int:
    """How many answers a conversation has."""
    return sum(message["role"] == "assistant" for message in body["messages"])


def test_tools_are_sent_natively_and_results_go_back_so(tmp_path: Path) -> None:
    def handle(body: dict[str, Any], nth: int) -> httpx.Response:
        zoom = ("image_zoom_in_tool", json.dumps(BOX))
        return [native(zoom, ("calculator", '{"expression": "6*7"}'), content="I look."), reply("B")][answered(body)]

    server = Server(handle)
    run(write(tmp_path / "task", 2), tmp_path / "run", server.model(model="Qwen3-VL-8B-Instruct"))
    first, second = (body for _, body in server.requests[:1] + server.requests[-1:])
    assert [tool["function"]["name"] for tool in first["tools"]] == [
        "image_zoom_in_tool",
        "rotate",
        "calculator",
        "read_sign",
    ]
    assert "from 0 to 1000" in json.dumps(first["tools"]) and "system" not in [m["role"] for m in first["messages"]]
    assert second["tools"] == first["tools"]
    question, said, zoomed, computed, picture = second["messages"]
    assert said["content"] == "I look." and question["role"] == "user"
    assert [json.loads(each["function"]["arguments"]) for each in said["tool_calls"]] == [BOX, {"expression": "6*7"}]
    idents = [each["id"] for each in said["tool_calls"]]
    assert [(m["role"], m["tool_call_id"]) for m in (zoomed, computed)] == [("tool", ident) for ident in idents]
    assert "Picture 1 is this part" in zoomed["content"] and computed["content"] == "42"
    assert picture["role"] == "user" and [part["type"] for part in picture["content"]] == ["image_url"]
    for row in rows_of(tmp_path / "run"):
        assert (
            row["tools"]["by_tool"] == {"calculator": 1, "zoom": 1, "rotate": 0, "read_sign": 0}
            and row["tools"]["failed"] == 0
        )
        assert row["scores"]["exact_match,none"] == 1.0
    facts = json.loads((tmp_path / "run" / "run.json").read_text())["spec"]["tasks"]["looks"]["turns"]
    assert facts == {"format": "hermes", "boxes": "per_mille", "native": True}


def test_what_a_model_names_is_sent_back_in_a_form_that_servers_take(tmp_path: Path) -> None:
    """Else the server refuses the turn, and a document that the model has spoiled leaves the mean."""

    def handle(body: dict[str, Any], nth: int) -> httpx.Response:
        odd = ("zoom in, please!" + "x" * 80, "{}")
        calls = [native(odd, ("calculator", '{"expression": "1+1"}')), native(("calculator", '{"expression": "1+1"}'))]
        return [*calls, reply("B")][answered(body)]

    server = Server(handle)
    run(write(tmp_path / "task", 1), tmp_path / "run", server.model(model="Qwen3-VL-8B-Instruct"))
    last = server.requests[-1][1]["messages"]
    calls = [call for message in last for call in message.get("tool_calls", ())]
    assert calls[0]["function"]["name"] == ("zoom_in__please_" + "x" * 80)[:64]
    assert [call["id"] for call in calls] == ["call00000", "call00001", "call00002"]
    told = [message for message in last if message["role"] == "tool"]
    assert [message["tool_call_id"] for message in told] == [call["id"] for call in calls]
    assert "there is no tool 'zoom in, please!" in told[0]["content"] and told[1]["content"] == "2"
    assert rows_of(tmp_path / "run")[0]["scores"]["exact_match,none"] == 1.0


@pytest.mark.parametrize("turn", [0, 2])
def test_a_model_that_fills_its_context_has_no_answer(tmp_path: Path, turn: int) -> None:
    """It is wrong, and not left out of the mean. A question that does not fit is not the model's doing, and fails."""
    full = httpx.Response(400, json={"error": {"message": "This model's maximum context length is 4096 tokens."}})

    def handle(body: dict[str, Any], nth: int) -> httpx.Response:
        calls = [native(("calculator", json.dumps({"expression": f"1+{n}"}))) for n in range(3)]
        return full if answered(body) == turn else calls[answered(body)]

    results = run(write(tmp_path / "task", 1), tmp_path / "run", Server(handle).model(model="Qwen3-VL-8B-Instruct"))
    (row,) = rows_of(tmp_path / "run")
    if turn:
        assert row["status"] == "truncated" and row["scores"]["exact_match,none"] == 0.0 and results.exit_code == 0
        assert [each["ended"] for each in row["turns"][0]] == ["tool", "tool", "length"] and row["resps"] == [""]
    else:
        assert row["status"] == "failed" and results.exit_code == 3


@pytest.mark.parametrize("refusal", few(REFUSALS, at=[0, 3]))
def test_a_server_that_refuses_tools_gets_them_as_text(tmp_path: Path, refusal: str) -> None:
    def handle(body: dict[str, Any], nth: int) -> httpx.Response:
        if "tools" in body:
            return REFUSALS[refusal]
        return reply([ZOOM, "B"][answered(body)])

    server = Server(handle)
    run(write(tmp_path / "task", 3), tmp_path / "run", server.model(model="Qwen3-VL-8B-Instruct"))
    assert sum("tools" in body for _, body in server.requests) == 1, "it is refused once, and never sent again"
    last = server.requests[-1][1]["messages"]
    assert "<tools>" in last[0]["content"] and [m["role"] for m in last] == ["system", "user", "assistant", "user"]
    assert last[2]["content"] == ZOOM
    assert [part["type"] for part in last[3]["content"]] == ["text", "image_url", "text", "text"]
    assert last[3]["content"][0]["text"] == "<tool_response>\n"
    assert [row["tools"]["pictures"] for row in rows_of(tmp_path / "run")] == [1, 1, 1]
    results = json.loads((tmp_path / "run" / "results.json").read_text())
    assert results["run"]["endpoint"]["dropped"] == ["tools"]
    again = Server(handle)
    run(str(tmp_path / "task" / "looks.yaml"), tmp_path / "run", again.model(model="Qwen3-VL-8B-Instruct"))
    assert again.requests == [], "the second launch knows it"


def test_a_server_of_an_unknown_family_that_refuses_tools_is_asked_nothing(tmp_path: Path) -> None:
    server = Server(lambda body, nth: REFUSALS["vllm"])
    with pytest.raises(ConfigError, match="how 'my-model' calls tools is not known.*State `format` under `tools`"):
        run(write(tmp_path / "task", 2), tmp_path / "run", server.model(model="my-model"))
    assert [body["messages"] for _, body in server.requests] == [[{"role": "user", "content": "Hi"}]]
    assert not (tmp_path / "run").exists()


def test_a_server_of_an_unknown_family_that_takes_tools(tmp_path: Path) -> None:
    server = Server(lambda body, nth: [native(("calculator", '{"expression": "1+1"}')), reply("B")][answered(body)])
    run(write(tmp_path / "task", 1), tmp_path / "run", server.model(model="my-model"))
    assert rows_of(tmp_path / "run")[0]["tools"]["by_tool"]["calculator"] == 1


def test_a_call_that_is_in_the_text_as_well_is_one_call() -> None:
    """transformers serve 5.8.1 leaves it there: the tool was run twice."""
    written = 'I look.\n<tool_call>\n{"name": "a", "arguments": {"x": 1}}\n</tool_call>'
    found = read_text(native(("a", '{"x": 1}'), content=written).json(), [], tools=True, calls=True)
    assert found.output == written and found.ended == "tool"


def test_calls_that_the_server_gives_apart_are_part_of_the_answer() -> None:
    found = read_text(native(("a", '{"x": 1}'), ("b", "")).json(), [], tools=True, calls=True)
    assert (found.output, found.ended) == (f"{call('a', x=1)}\n{EMPTY}", "tool")
    cut = read_text(native(("a", '{"x": [1, 2'), content="I look.").json(), [], tools=True, calls=True)
    assert cut.output == 'I look.\n<tool_call>\n{"name": "a", "arguments": {"x": [1, 2}\n</tool_call>'
    odd = {
        "choices": [
            {"message": {"content": None, "tool_calls": [None, {"function": 3}]}, "finish_reason": "tool_calls"}
        ]
    }
    assert read_text(odd, [], tools=True, calls=True).output == ""
    plain = read_text(native(("a", "{}"), content="B").json(), [], tools=True)
    assert isinstance(plain, Answer) and plain.output == "B", "a task without `tools` reads the text alone"


EMPTY = '<tool_call>\n{"name": "b", "arguments": {}}\n</tool_call>'


def test_calls_that_come_in_pieces() -> None:
    pieces = [
        {"index": 0, "id": "c0", "function": {"name": "zoom", "arguments": ""}},
        {"index": 0, "function": {"arguments": '{"x": '}},
        {"index": 1, "id": "c1", "function": {"name": "rotate", "arguments": '{"angle"'}},
        {"index": 0, "function": {"arguments": "1}"}},
        {"index": 1, "function": {"arguments": ": 90}"}},
    ]
    events = [{"choices": [{"index": 0, "delta": {"tool_calls": [piece]}}]} for piece in pieces]
    events.append({"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
    found = streamed("".join(f"data: {json.dumps(event)}\n\n" for event in events) + "data: [DONE]\n")
    assert found is not None
    said = read_text(found, [], tools=True, calls=True)
    assert said.output == f"{call('zoom', x=1)}\n{call('rotate', angle=90)}"
