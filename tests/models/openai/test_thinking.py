"""Thinking models on a server: reasoning in a field, in a part of the content, or in the text; stop strings; the token cap."""

from __future__ import annotations

from typing import Any

import httpx
import pytest
from mm_eval.models.openai.client.replies import read_text

from mm_eval.values.reasoning.families import marks_of
from mm_eval.values.types import Answer
from tests.faults.server import Server, reply
from tests.models.openai.test_openai import question
from tests.sets import each_of


def said(content: Any, finish: str = "stop", **fields: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"content": content, **fields}, "finish_reason": finish}]}


@pytest.mark.parametrize("field", ["reasoning", "reasoning_content", "thinking"])
def test_reasoning_in_a_field_is_recorded_beside_the_answer(field: str) -> None:
    found = read_text(said("\n\nB\nso", **{field: "A?\nNo"}), ["\n"])
    assert (str(found.output).strip(), found.reasoning, found.ended) == ("B", "A?\nNo", "stop")
    cut = read_text(said("", "length", **{field: "A?"}), ["\n"])
    assert (cut.output, cut.ended, cut.reasoning) == ("<think>A?", "length", None)


def test_content_that_is_a_list_of_parts() -> None:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": "A?"}, {"type": "text", "text": " No"}]}
    found = read_text(said([thought, {"type": "text", "text": "B"}]), [])
    assert (found.output, found.reasoning) == ("B", "A? No")
    assert (
        read_text(said([{"type": "thinking", "thinking": "A?"}, {"type": "text", "text": "B"}]), []).reasoning == "A?"
    )
    assert read_text(said([thought], "length"), []).output == "<think>A? No"


@each_of(
    ("content", "output"),
    [
        ("<think>A?\nNo</think>\n\nB\nso", "B"),
        ("A?\nNo</think>\n\nB\nso", "B"),
        ("\n\nB\nso", "\n\nB"),
        ("[THINK]A?\n[/THINK]B\nso", "B"),
        ("<think>A?</think><answer>\nB\n</answer>", "<answer>\nB"),
    ],
)
def test_stop_strings_are_looked_for_in_the_answer(content: str, output: str) -> None:
    assert read_text(said(content), ["\n"]).output == output


def test_an_open_reasoning_is_not_cut_at_a_stop_string() -> None:
    found = read_text(said("<think>I lean to A\nso", "length"), ["\n"])
    assert (found.output, found.ended) == ("<think>I lean to A\nso", "length")
    # Without marks the prompt may have opened it: how it ended must stay known.
    assert read_text(said("I lean to A\nso", "length"), ["\n"], thinks=True).ended == "length"
    assert read_text(said("B\nso", "length"), ["\n"]).ended == "stop"


def test_marks_of_the_user() -> None:
    assert read_text(said("<muse>A?</muse>B"), [], marks=marks_of("<muse>,</muse>")).output == "B"


class Writing(Server):
    """A server whose model writes a text, and stops where a request's stop string stands in it."""

    def __init__(self, text: str) -> None:
        super().__init__(self.answer)
        self.text = text

    def answer(self, body: dict[str, Any], nth: int) -> httpx.Response:
        cuts = [place for stop in body.get("stop", ()) if (place := self.text.find(stop)) >= 0]
        return reply(self.text[: min(cuts)] if cuts else self.text, "stop", usage={"completion_tokens": 5})


@each_of(
    ("text", "args", "stops"),
    [
        ("<think>A?\nNo</think>\n\nB\nso", {}, [True, False]),
        ("\n\nB\nso", {}, [True, False]),
        ("B\nso", {}, [True]),
        ("A?\nNo</think>\n\nB\nso", {"model": "Qwen3-VL-8B-Thinking"}, [False]),
        ("A?\nNo</think>\n\nB\nso", {"think_end_token": "</think>"}, [False]),
    ],
)
def test_a_stop_string_that_would_end_the_reasoning_is_not_sent(
    text: str, args: dict[str, Any], stops: list[bool]
) -> None:
    server = Writing(text)
    asked = question([], "A or B?")
    asked.generation_kwargs = {"until": ["\n"]}
    [(_, found)] = list(server.model(**args).generate([asked]))
    assert isinstance(found, Answer), found
    assert str(found.output).strip() == "B"
    assert ["stop" in body for _, body in server.requests] == stops
    assert found.usage["completion_tokens"] == 5 * len(stops)  # all that was paid for
