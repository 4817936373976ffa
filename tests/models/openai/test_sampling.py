"""A sampled answer is drawn from the whole distribution, not from what the served checkpoint's files say."""

from typing import Any

import httpx

from mm_eval.engine.model import account
from tests.faults.server import Server, echo
from tests.models.openai.test_openai import question
from tests.sets import each_of


class Owned(Server):
    """A server that says what it is."""

    def __init__(self, software: str) -> None:
        super().__init__(lambda body, nth: echo(body))
        self.software = software

    def listed(self) -> httpx.Response:
        return httpx.Response(200, json={"data": [{"id": "m", "owned_by": self.software}]})


def sent(software: str, options: dict[str, Any], **args: Any) -> tuple[dict[str, Any], str]:
    """top_p and top_k of the request, and the report's line."""
    server, asked = Owned(software), question([], "q")
    asked.generation_kwargs = options
    model = server.model(**args)
    list(model.generate([asked]))
    return {name: server.requests[0][1][name] for name in ("top_p", "top_k") if name in server.requests[0][1]}, (
        account(model, {})
    )


@each_of(
    ("software", "options", "expected", "noted"),
    [
        ("vllm", {"temperature": 0.7}, {"top_p": 1.0, "top_k": -1}, "with top_p=1 and top_k=-1 where"),
        ("sglang", {"do_sample": True}, {"top_p": 1.0, "top_k": -1}, "with top_p=1 and top_k=-1 where"),
        (
            "openai",
            {"temperature": 0.7},
            {"top_p": 1.0},
            "with top_p=1 where the task states none; the server's own top_k",
        ),
        ("vllm", {"temperature": 0.7, "top_p": 0.9}, {"top_p": 0.9, "top_k": -1}, "with top_k=-1 where"),
        ("vllm", {"temperature": 0.7, "top_p": 0.9, "top_k": 5}, {"top_p": 0.9, "top_k": 5}, None),
        (
            "openai",
            {"temperature": 0.7, "top_k": 5},
            {"top_p": 1.0, "top_k": 5},
            "with top_p=1 where the task states none",
        ),
        ("vllm", {"temperature": 0}, {}, None),
        ("vllm", {"temperature": 0.7, "do_sample": False, "top_p": 0.9}, {}, None),
        ("vllm", {}, {}, None),
    ],
)
def test_a_sampled_answer_states_what_its_task_does_not(
    software: str, options: dict[str, Any], expected: dict[str, Any], noted: str | None
) -> None:
    found, line = sent(software, options)
    assert found == expected
    assert noted in line if noted else "sampled" not in line
    assert ("server's own top_k" in line) is (software == "openai" and "top_k" not in options)


def test_extra_body_decides() -> None:
    assert sent("vllm", {"temperature": 1}, extra_body='{"top_p": 0.5}')[0] == {"top_p": 0.5, "top_k": -1}
