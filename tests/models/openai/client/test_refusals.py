"""What a server says to every question ends the run with the first reply; an odd question fails alone."""

from typing import Any

import httpx
import pytest

from mm_eval.engine.model import dollars
from mm_eval.values.errors import MMEvalError, ModelError
from mm_eval.values.types import Answer
from tests.faults.server import Server, echo
from tests.models.openai.test_openai import CHAT, question, scored
from tests.sets import each_of

FIELDS = "Unexpected fields in the request: {'prompt_logprobs', 'add_generation_prompt'}"
FORBIDDEN = [
    {"type": "extra_forbidden", "loc": ["body", "top_k"], "msg": "Extra inputs are not permitted", "input": -1}
]
UNKNOWN_FIELD = [
    (422, {"detail": FIELDS}),
    (422, {"detail": FORBIDDEN}),
    (400, {"error": {"message": "Unrecognized request argument supplied: top_k", "type": "invalid_request_error"}}),
]
UNKNOWN_MODEL = [
    (400, {"detail": "Server is pinned to 'tiny-llava'; requested 'm'."}),
    (
        404,
        {
            "error": {
                "message": "The model `m` does not exist. Valid aliases: tiny-llava.",
                "param": "model",
                "code": 404,
            }
        },
    ),
    (400, {"error": {"message": "no such model", "code": "model_not_found"}}),
    (400, {"error": {"message": "Invalid model name passed in model=m. Call `/v1/models` ...", "code": "400"}}),
]

UNSUPPORTED = [
    (
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.",
        r"refuses the temperature.*extra_body=.*--judge_args",
    ),
    (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        r"another name.*max_tokens_name=max_completion_tokens",
    ),
]


@pytest.mark.parametrize(("said", "hint"), UNSUPPORTED)
def test_an_option_that_the_model_refuses_ends_the_run_at_once_with_what_to_do(said: str, hint: str) -> None:
    server = Server(lambda body, nth: httpx.Response(400, json={"error": {"message": said}}))
    with pytest.raises(ModelError, match=hint):
        list(server.model(num_concurrent=4).generate([question([], f"q{n}") for n in range(50)]))
    assert len(server.requests) <= 4


@pytest.mark.parametrize(("name", "field"), [("o3-mini", "max_completion_tokens"), ("gpt-4o", "max_tokens")])
def test_the_field_of_the_token_cap_is_the_one_that_the_model_takes(name: str, field: str) -> None:
    server = Server(lambda body, nth: echo(body))
    list(server.model(model=name).generate([question([], "q")]))
    assert {"max_completion_tokens", "max_tokens"} & server.requests[0][1].keys() == {field}


def test_a_refused_temperature_is_the_users_own_in_extra_body() -> None:
    server = Server(lambda body, nth: echo(body))
    list(server.model(extra_body='{"temperature": 1}').generate([question([], "q")]))
    assert server.requests[0][1]["temperature"] == 1


def test_tokens_have_a_price_where_one_is_given() -> None:
    server, used = Server(lambda body, nth: echo(body)), {"prompt_tokens": 2_000_000, "completion_tokens": 500_000}
    assert dollars(server.model(), used) is None
    assert dollars(server.model(input_price="2.5", output_price="10"), used) == 10


@pytest.mark.parametrize(("status", "said"), UNKNOWN_FIELD)
def test_an_unknown_field_ends_the_run_at_once(status: int, said: Any) -> None:
    server = Server(lambda body, nth: httpx.Response(status, json=said))
    with pytest.raises(ModelError, match="does not know a field of the requests.*extra_body"):
        list(server.model(num_concurrent=4).generate([question([], f"q{n}") for n in range(50)]))
    assert len(server.requests) <= 4


@each_of(("status", "said"), UNKNOWN_MODEL)
def test_an_unknown_model_ends_the_run_at_once(status: int, said: Any) -> None:
    server = Server(lambda body, nth: httpx.Response(status, json=said))
    with pytest.raises(ModelError, match="does not serve this model.*/v1/models as model=NAME"):
        list(server.model(num_concurrent=4).generate([question([], f"q{n}") for n in range(50)]))
    assert len(server.requests) <= 4


@each_of(("status", "said"), [*UNKNOWN_FIELD, UNKNOWN_MODEL[0]])
def test_an_odd_question_fails_alone_after_an_answer(status: int, said: Any) -> None:
    server = Server(lambda body, nth: httpx.Response(status, json=said) if "q3" in str(body) else echo(body))
    found = [each for _, each in server.model(num_concurrent=2).generate([question([], f"q{n}") for n in range(10)])]
    assert sum(isinstance(each, Answer) for each in found) == 9
    [failed] = [each for each in found if isinstance(each, MMEvalError)]
    assert f"HTTP {status}" in str(failed) and failed.attempts == 1


def test_options_that_need_prompt_scores_end_the_run_with_what_to_do() -> None:
    """transformers serve: it ignores `logprobs` and refuses `prompt_logprobs`."""

    def handle(body: dict[str, Any], nth: int) -> httpx.Response:
        return httpx.Response(422, json={"detail": FIELDS}) if "prompt_logprobs" in body else echo(body)

    server = Server(handle)
    with pytest.raises(ModelError, match="field of the requests.*prompt_logprobs.*NAME@generate"):
        list(server.model().loglikelihood(scored(CHAT, " red house", " blue house")))
    assert len(server.requests) <= 2


ALIKE = [
    (422, "Failed to deserialize the JSON body: messages[0]: unknown variant `image_url`, expected `text`", "no pictures"),
    (400, "qwen3-8b is not a multimodal model None", "takes no pictures"),
    (500, "image input is not supported - hint: if this is unexpected, you may need to provide the mmproj", "takes no pictures"),
    (400, "At most 1 image(s) may be provided in one prompt.", "fewer pictures"),
    (413, "<html>413 Request Entity Too Large</html>", "larger than it takes"),
    (400, "We could not process the request 8f3a99c1d2.", "HTTP 400|takes none"),
]  # fmt: skip


@each_of("concurrency", [1, 16])
@each_of(("status", "said", "reason"), ALIKE)
def test_eight_refusals_that_are_alike_end_a_run_without_answers(
    status: int, said: str, reason: str, concurrency: int
) -> None:
    server = Server(lambda body, nth: httpx.Response(status, text=f"{said} (request {len(server.requests)})"))
    with pytest.raises(ModelError, match=f"refused 8 questions in a row in the same way: .*({reason})"):
        list(server.model(num_concurrent=concurrency).generate([question([], f"q{n}") for n in range(200)]))
    assert len(server.requests) == 8


@each_of(("status", "said", "reason"), ALIKE)
def test_after_an_answer_it_takes_twenty_in_a_row_and_answers_are_kept(status: int, said: str, reason: str) -> None:
    def handle(body: dict[str, Any], nth: int) -> httpx.Response:
        number = int(body["messages"][0]["content"][1:])
        return httpx.Response(status, text=said) if 3 <= number < 22 or number >= 30 else echo(body)

    server, found = Server(handle), []
    with pytest.raises(ModelError, match=f"refused 20 questions in a row in the same way: .*({reason})"):
        for _, each in server.model(num_concurrent=1).generate([question([], f"q{n}") for n in range(200)]):
            found.append(each)
    assert sum(isinstance(each, Answer) for each in found) == 11 and len(server.requests) == 50


def test_questions_that_are_too_long_or_refused_for_different_reasons_end_no_run() -> None:
    long = "This model's maximum context length is 4096 tokens, and the prompt has 9000."
    server = Server(lambda body, nth: httpx.Response(400, json={"error": {"message": long}}))
    assert len(list(server.model().generate([question([], f"q{n}") for n in range(60)]))) == 60
    words = ["zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven"]
    server = Server(lambda body, nth: httpx.Response(400, text=f"odd question {words[len(server.requests) - 1]}"))
    assert len(list(server.model().generate([question([], f"q{n}") for n in range(12)]))) == 12
