"""What a server says to every question ends the run with the first reply; an odd question fails alone."""

from typing import Any

import httpx
import pytest

from mm_eval.errors import MMEvalError, ModelError
from mm_eval.types import Answer
from tests.faults.server import Server, echo
from tests.models.openai.test_openai import CHAT, question, scored

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


@pytest.mark.parametrize(("status", "said"), UNKNOWN_FIELD)
def test_an_unknown_field_ends_the_run_at_once(status: int, said: Any) -> None:
    server = Server(lambda body, nth: httpx.Response(status, json=said))
    with pytest.raises(ModelError, match="does not know a field of the requests.*extra_body"):
        list(server.model(num_concurrent=4).generate([question([], f"q{n}") for n in range(50)]))
    assert len(server.requests) <= 4


@pytest.mark.parametrize(("status", "said"), UNKNOWN_MODEL)
def test_an_unknown_model_ends_the_run_at_once(status: int, said: Any) -> None:
    server = Server(lambda body, nth: httpx.Response(status, json=said))
    with pytest.raises(ModelError, match="does not serve this model.*/v1/models as model=NAME"):
        list(server.model(num_concurrent=4).generate([question([], f"q{n}") for n in range(50)]))
    assert len(server.requests) <= 4


@pytest.mark.parametrize(("status", "said"), [*UNKNOWN_FIELD, UNKNOWN_MODEL[0]])
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
