"""Letters over APIs: a task asks for " A", and a chat that lists "A" among its likeliest tokens answers it too."""

from typing import Any

import httpx
import pytest
from mm_eval.models.openai.client.logprobs import upper_bound

from mm_eval.values.errors import MMEvalError
from mm_eval.values.types import Answer, Instance, UpperBound
from tests.faults.server import Server
from tests.models.openai.test_openai import CHAT, prompt_scores, scored
from tests.sets import each_of


def tops(*pairs: tuple[str, float]) -> httpx.Response:
    top = [{"token": token, "logprob": ll} for token, ll in pairs]
    choice = {
        "message": {"content": pairs[0][0]},
        "finish_reason": "length",
        "logprobs": {"content": [{"top_logprobs": top}]},
    }
    return httpx.Response(200, json={"choices": [choice], "usage": {"prompt_tokens": 3, "completion_tokens": 1}})


def docs(count: int) -> list[Instance]:
    found = []
    for n in range(count):
        chat = [{"role": "user", "content": [{"type": "text", "text": f"Which letter? {n}"}]}]
        for each in scored(chat, " A", " B", " C"):
            each.doc_id = n
            found.append(each)
    return found


LETTERS = (("B", -0.1), ("A", -2.5), ("The", -4.0), (" A", -5.0), ("C", -7.0))
UNLISTED = (("B", -0.1), ("A", -2.5), ("The", -4.0))
NO = {"error": {"message": "Unrecognized request argument supplied: prompt_logprobs"}}


@pytest.mark.parametrize("refusal", [httpx.Response(400, json=NO), None])
def test_letters_without_a_space_are_read_where_prompts_are_not_scored(refusal: httpx.Response | None) -> None:
    """The endpoint refuses `prompt_logprobs`, or ignores it."""
    server = Server(lambda body, nth: refusal if refusal and "prompt_logprobs" in body else tops(*LETTERS))
    found = {instance.slot: each for instance, each in server.model().loglikelihood(docs(6))}
    assert len(found) == 18 and all(isinstance(each, Answer) for each in found.values())
    assert [found[slot].output for slot in sorted(found)] == [(-2.5, False), (-0.1, True), (-7.0, False)] * 6
    assert len(server.requests) == 7, "one a document, and one to find out"


def test_a_server_that_scores_prompts_scores_the_option_as_the_task_writes_it() -> None:
    server = Server(lambda body, nth: prompt_scores(body) if "prompt_logprobs" in body else tops(*LETTERS))
    found = [each.output for _, each in server.model().loglikelihood(scored(CHAT, " A", " B", " C"))]
    assert found == [(-5.0, False), (-0.25, True), (-0.25, True)]


@pytest.mark.parametrize("way", ["token", "auto"])
def test_a_letter_that_is_not_listed_is_at_most_as_likely_as_the_last_that_is(way: str) -> None:
    server = Server(lambda body, nth: httpx.Response(400, json=NO) if "prompt_logprobs" in body else tops(*UNLISTED))
    found = [each.output for _, each in server.model(loglikelihood=way).loglikelihood(docs(1))]
    assert found == [(-2.5, False), (-0.1, True), (-4.0, False)]
    assert [isinstance(each, UpperBound) for each in found] == [False, False, True]


def test_a_token_that_is_listed_because_it_was_drawn_is_no_bound() -> None:
    """vLLM puts the drawn token before the likeliest ones, in the place of the last of them."""

    def drawn(body: dict[str, Any], nth: int) -> httpx.Response:
        found = tops(("se", -8.2), *UNLISTED).json()
        found["choices"][0]["logprobs"]["content"][0]["token"] = "se"
        return httpx.Response(400, json=NO) if "prompt_logprobs" in body else httpx.Response(200, json=found)

    found = [each.output for _, each in Server(drawn).model().loglikelihood(docs(1))]
    assert found == [(-2.5, False), (-0.1, True), (-4.0, False)] and isinstance(found[2], UpperBound)


def test_a_server_that_scores_prompts_gives_no_bounds() -> None:
    server = Server(lambda body, nth: prompt_scores(body) if "prompt_logprobs" in body else tops(*UNLISTED))
    found = [each.output for _, each in server.model().loglikelihood(docs(1))]
    assert not any(isinstance(each, UpperBound) for each in found)


def test_a_text_without_chat_whose_prompts_are_not_scored() -> None:
    def handle(body: dict[str, Any], nth: int) -> httpx.Response:
        top = {} if body.get("echo") else {" B": -0.2, " A": -3.0, " the": -5.0}
        choice = {"text": " B", "finish_reason": "length", "logprobs": {"top_logprobs": [top]} if top else None}
        return httpx.Response(200, json={"choices": [choice]})

    found = [
        each.output for _, each in Server(handle).model(max_retries=0).loglikelihood(scored("Q", " A", " B", " C"))
    ]
    assert found == [(-3.0, False), (-0.2, True), (-5.0, False)] and isinstance(found[2], UpperBound)


def test_where_no_letter_is_listed_each_fails() -> None:
    server = Server(lambda body, nth: tops(("The", -0.1), ("I", -2.5)))
    found = [each for _, each in server.model(loglikelihood="token").loglikelihood(docs(1))]
    assert all(isinstance(each, MMEvalError) for each in found)


@pytest.mark.parametrize("way", ["auto", "token"])
def test_a_doc_whose_likeliest_tokens_are_no_options_says_so_and_is_asked_once(way: str) -> None:
    """It was said to be without log-probabilities, and asked again until the retries were spent."""

    def handle(body: dict[str, Any], nth: int) -> httpx.Response:
        is_odd = "Which letter? 1" in str(body["messages"])
        return tops(("The", -0.1), ("I", -2.5)) if is_odd else tops(*LETTERS)

    server = Server(handle)
    found = list(server.model(loglikelihood=way, max_retries=5).loglikelihood(docs(3)))
    errors = [str(each) for instance, each in found if instance.doc_id == 1]
    assert len(errors) == 3 and all(
        "none of the options ' A', ' B', ' C' is among the 2 likeliest" in e for e in errors
    )
    assert all(isinstance(each, Answer) for instance, each in found if instance.doc_id != 1)
    assert len(server.requests) == 3 + (way == "auto"), "one a doc, and one to find out whether prompts are scored"


def test_a_text_whose_likeliest_tokens_are_no_options_is_not_asked_again() -> None:
    def handle(body: dict[str, Any], nth: int) -> httpx.Response:
        top = {" the": -0.2, " a": -3.0} if not body.get("echo") else None
        choice = {"text": " B", "finish_reason": "length", "logprobs": {"top_logprobs": [top]} if top else None}
        return httpx.Response(200, json={"choices": [choice]})

    server = Server(handle)
    found = [str(each) for _, each in server.model(max_retries=5).loglikelihood(scored("Q", " A", " B"))]
    assert all("none of the options ' A', ' B' is among the 2 likeliest" in each for each in found)
    assert len(server.requests) == 3, "the tokens, and the prompt of each option"


@each_of(
    ("option", "tokens", "bound"),
    [
        ("C", {"A": -0.1, "the": -3.0}, -3.0), ("yes", {"ye": -0.5, "no": -3.0}, -0.5), (" C", {" ": -0.2, " A": -2.0}, -0.2),
        (" C", {"\u2581": -0.2, " A": -2.0}, -0.2), ("C", {"A": -0.1, "B": float("-inf")}, float("-inf")),
    ],
)  # fmt: skip
def test_the_bound_of_an_option(option: str, tokens: dict[str, float], bound: float) -> None:
    assert upper_bound(option, tokens) == bound


def test_an_endpoint_with_fewer_alternatives_is_asked_for_as_many() -> None:
    says = "Invalid value for 'top_logprobs': must be less than or equal to 5."

    def handle(body: dict[str, Any], nth: int) -> httpx.Response:
        if "prompt_logprobs" in body:
            return httpx.Response(400, json=NO)
        return httpx.Response(400, json={"error": {"message": says}}) if body["top_logprobs"] > 5 else tops(*LETTERS)

    server = Server(handle)
    model = server.model()
    assert all(isinstance(each, Answer) for _, each in model.loglikelihood(docs(3)))
    assert model.facts.findings["top_logprobs_at_most"] == 5 and len(server.requests) == 5
