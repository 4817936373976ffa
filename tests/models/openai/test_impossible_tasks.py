"""Tasks that an endpoint can't answer end the command before anything is sent, whatever other tasks it names."""

from typing import Any

import pytest
from mm_eval.models.openai.adapter import OpenAI

from tests.faults.server import Server, echo


@pytest.mark.parametrize(
    ("task", "url", "model", "said"),
    [
        ("wikitext", "http://server/v1", "m", "rolling"),
        ("hellaswag", "https://api.openai.com/v1", "gpt-4o", "can't score"),
        ("seedbench@mcqa", "https://api.anthropic.com/v1", "claude", "no log-probabilities"),
        ("seedbench@mcqa", "https://api.openai.com/v1", "gpt-5.1", "no log-probabilities"),
    ],
)
def test_an_impossible_task_ends_the_command_before_the_first_request(
    cli: Any, monkeypatch: pytest.MonkeyPatch, task: str, url: str, model: str, said: str
) -> None:
    server = Server(lambda body, nth: echo(body))
    made = server.model()
    monkeypatch.setattr(OpenAI, "new_loop", lambda self: made.new_loop())
    monkeypatch.setattr(OpenAI, "new_transport", lambda self: made.new_transport())
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-123456")
    words = ("--tasks", f"mme,{task}", "--sample", "--limit", "2", "--model", "openai")
    ran = cli(*words, "--model_args", f"base_url={url},model={model}")
    assert ran.code == 2 and said in ran.err and task.partition("@")[0] in ran.err and not server.requests, ran.err
    assert not ran.folder.exists()
