"""A token cap above what the model's length leaves: vLLM refuses the question, and it is sent again with what is left."""

import json
from typing import Any

import httpx
import pytest

from mm_eval.values.errors import ModelError
from mm_eval.values.types import Answer, Instance
from tests.faults.server import Server, reply
from tests.models.openai.test_openai import question
from tests.sets import each_of

LENGTH = 100


class Strict(Server):
    """A server whose model has LENGTH tokens, one a word. It refuses a cap that does not fit beside the prompt, as vLLM did.

    lists: what its list of models says. default: its own cap where a question states none; None: what is left.
    """

    def __init__(self, lists: Any = None, default: int | None = None) -> None:
        super().__init__(self.answer)
        own = {"id": "m", "max_model_len": LENGTH, "owned_by": "vllm"}
        self.lists, self.default = lists if lists is not None else {"data": [own]}, default

    def answer(self, body: dict[str, Any], nth: int) -> httpx.Response:
        text = body["messages"][0]["content"] if "messages" in body else body["prompt"]
        prompt = len(text.split())
        cap = body.get("max_tokens", 16 if "prompt" in body else self.default or LENGTH - prompt)
        if prompt >= LENGTH or prompt + cap > LENGTH:
            return httpx.Response(400, json={"message": f"This model's maximum context length is {LENGTH} tokens. ..."})
        usage = {"prompt_tokens": prompt, "completion_tokens": cap}
        if "prompt" in body:
            return httpx.Response(200, json={"choices": [{"text": "a", "finish_reason": "length"}], "usage": usage})
        return reply("a", "length", usage=usage)

    def tokenized(self, request: httpx.Request) -> httpx.Response:
        text = json.loads(request.content).get("prompt")
        return httpx.Response(200, json={"count": len(text.split())} if text else {})

    def listed(self) -> httpx.Response:
        return httpx.Response(200, json=self.lists)


def asked(words: int, cap: int, chat: bool = True) -> Instance:
    text = " ".join(["word"] * words)
    found = question([], text) if chat else Instance("generate_until", "t", 0, {}, text)
    found.generation_kwargs = {"max_new_tokens": cap}
    return found


def caps(server: Server) -> list[int | None]:
    return [body.get("max_tokens") for _, body in server.requests]


@each_of(("words", "cap", "sent"), [(40, 50, [50]), (40, 80, [80, None]), (40, 5000, [100, None]), (99, 1, [1])])
def test_a_chat_that_fits_without_its_cap_is_answered(words: int, cap: int, sent: list[int | None]) -> None:
    server = Strict()
    [(_, found)] = server.model().generate([asked(words, cap)])
    assert isinstance(found, Answer) and found.truncated and caps(server) == sent
    assert found.attempts == len(sent)


@pytest.mark.parametrize(("words", "cap", "sent"), [(40, 50, [50]), (40, 80, [80, 60]), (40, 5000, [100, 60])])
def test_a_text_is_sent_again_with_what_is_left_since_its_default_is_16(words: int, cap: int, sent: list[int]) -> None:
    server = Strict()
    [(_, found)] = server.model().generate([asked(words, cap, chat=False)])
    assert isinstance(found, Answer) and found.truncated and caps(server) == sent


@pytest.mark.parametrize("chat", [True, False])
def test_a_prompt_that_does_not_fit_by_itself_fails_alone(chat: bool) -> None:
    server = Strict()
    found = [each for _, each in server.model().generate([asked(200, 50, chat), asked(20, 50, chat)])]
    [failed] = [each for each in found if isinstance(each, ModelError)]
    assert "too long for the server's model" in str(failed) and len(server.requests) <= 3
    assert sum(isinstance(each, Answer) for each in found) == 1


def test_a_server_that_ends_the_answer_by_a_default_of_its_own_gives_none() -> None:
    [(_, found)] = Strict(default=16).model().generate([asked(40, 80)])
    assert isinstance(found, ModelError) and "ended the answer after 56 tokens of the model's 100" in str(found)


@each_of(
    "lists",
    [
        {}, [], {"data": None}, {"data": [3]}, {"data": [{"id": "other", "max_model_len": 9}]}, {"data": [{"id": "m"}]},
        {"data": [{"id": "m", "max_model_len": "100"}]}, {"data": [{"id": "m", "max_model_len": -1}]},
    ],
)  # fmt: skip
def test_a_server_that_gives_no_length_is_asked_as_stated(lists: Any) -> None:
    server = Strict(lists)
    [(_, found)] = server.model().generate([asked(40, 80)])
    assert isinstance(found, ModelError) and caps(server) == [80]


@each_of("words", ["", "max_total_tokens="])  # vLLM 0.32, 0.30
def test_a_cap_above_the_length_is_lowered_to_what_vllm_says_behind_a_proxy(words: str) -> None:
    """LiteLLM's list of models has no length: each question failed as too long."""

    def refuses(body: dict[str, Any], nth: int) -> httpx.Response:
        if body["max_tokens"] <= 2048:
            return reply("Yes")
        what = f"max_tokens={body['max_tokens']} cannot be greater than max_model_len={words}2048."
        said = f"litellm.BadRequestError: Hosted_vllmException - {json.dumps({'error': {'message': what}})}"
        return httpx.Response(400, json={"error": {"message": said, "type": None, "param": None, "code": "400"}})

    server = Server(refuses)
    found = [each for _, each in server.model(num_concurrent=1).generate([asked(4, 5000), asked(5, 5000)])]
    assert all(isinstance(each, Answer) for each in found) and caps(server) == [5000, 2048, 2048]


def test_an_adapters_length_is_its_parents() -> None:
    adapter = {"id": "m", "max_model_len": None, "parent": "base"}
    server = Strict({"data": [{"id": "base", "max_model_len": LENGTH}, adapter]})
    [(_, found)] = server.model().generate([asked(40, 80)])
    assert isinstance(found, Answer)


def test_a_cap_in_extra_body_is_sent_as_it_is() -> None:
    server = Strict()
    [(_, found)] = server.model(extra_body='{"max_tokens": 5000}').generate([asked(40, 10)])
    assert isinstance(found, ModelError) and caps(server) == [5000]


def test_a_server_that_was_not_there_at_first_answers_a_question_that_it_refused() -> None:
    class Late(Strict):
        looks = 0

        def tokenized(self, request: httpx.Request) -> httpx.Response:
            self.looks += 1
            return super().tokenized(request) if self.looks > 1 else httpx.Response(503, text="loading")

    server = Late()
    [(_, found)] = server.model().generate([asked(40, 80)])
    assert isinstance(found, Answer) and caps(server) == [80, 80, None]


def test_retries_and_the_smaller_cap_share_one_count_of_attempts() -> None:
    server = Strict()
    whole = server.handle

    def unsteady(body: dict[str, Any], nth: int) -> Any:
        return httpx.Response(500, text="oops") if nth == 1 else whole(body, nth)

    server.handle = unsteady
    [(_, found)] = server.model().generate([asked(40, 80)])
    assert isinstance(found, Answer) and caps(server) == [80, 80, None, None] and found.attempts == 4
    server.requests.clear()
    [(_, failed)] = server.model(max_retries=1).generate([asked(41, 80)])
    assert isinstance(failed, ModelError) and caps(server) == [80, 80, None]
