"""One table of reasons: a reason that leaves an answer is known, and any other is a failure."""

import enum

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mm_eval.models.endings import ending_of, says_filtered

from tests.sets import each_of

STATED = {
    "stop": ["stop", "STOP", "eos", "eos_token", "stop_sequence", "end_turn", "COMPLETE", "FinishReason.STOP"],
    "length": ["length", "max_tokens", "MAX_TOKENS", "model_length", "model_context_window_exceeded", "ERROR_LIMIT"],
    "filtered": ["content_filter", "SAFETY", "RECITATION", "PROHIBITED_CONTENT", "guardrail_intervened", "sensitive"],
    "refused": ["refusal"],
}  # fmt: skip
FAILED = [
    "pause_turn",
    "unknown",
    "OTHER",
    "tool_calls",
    "function_call",
    "tool_use",
    "malformed_function_call",
    "incomplete",
]
RETRIED = ["error", "abort", "insufficient_system_resource", "network_error", "null", None, ""]


@each_of(("ended", "reason"), [(ended, reason) for ended, some in STATED.items() for reason in some])
def test_a_known_reason_is_an_ending(ended: str, reason: str) -> None:
    assert (ending_of(reason).ended, ending_of(reason).retried, ending_of(reason).fault) == (ended, False, "")


@each_of("reason", FAILED + RETRIED)
def test_a_reason_that_leaves_no_answer_is_a_failure_with_its_word(reason: str | None) -> None:
    ending = ending_of(reason)
    assert (ending.ended, ending.retried) == ("failed", reason in RETRIED)
    assert str(reason or "does not say") in str(ending.error)


def test_a_tool_call_is_an_ending_only_where_tools_were_offered() -> None:
    assert ending_of("tool_calls", tools=True).ended == ending_of("function_call", tools=True).ended == "tool"
    assert "called a tool" in ending_of("tool_use").fault


def test_an_enum_ends_as_its_value() -> None:
    reason = enum.Enum("FinishReason", {"LENGTH": "length"})
    assert ending_of(reason.LENGTH).ended == "length"


KNOWN = {reason.lower().rpartition(".")[2] for some in STATED.values() for reason in some}


@pytest.mark.full
@given(st.one_of(st.text(max_size=20), st.integers(), st.booleans(), st.lists(st.text())))
def test_whatever_a_server_states_only_known_words_leave_an_answer(reason: object) -> None:
    if str(reason).lower() not in KNOWN:
        assert ending_of(reason).ended == "failed"


FILTERS = {
    "Azure": {"error": {"code": "content_filter", "message": "The response was filtered due to the prompt", "status": 400}},
    "Azure inner": {"error": {"code": None, "innererror": {"code": "ResponsibleAIPolicyViolation"}}},
    "OpenAI": {"error": {"message": "rejected as a result of our safety system"}},
    "OpenAI prompt": {"error": {"code": "invalid_prompt", "message": "your prompt was flagged as potentially violating ..."}},
    "DashScope": {"error": {"code": "data_inspection_failed", "message": "Input data may contain inappropriate content."}},
    "DeepSeek": {"error": {"message": "Content Exists Risk", "type": "invalid_request_error"}},
    "Zhipu": {"error": {"code": "1301", "message": "系统检测到输入或生成内容可能包含不安全或敏感内容"}},
    "Moonshot": {"error": {"type": "content_filter", "message": "The request was rejected because it was considered high risk"}},
    "Volcengine": {"error": {"code": "InputImageSensitiveContentDetected", "message": "x"}},
    "OpenRouter": {"error": {"code": 403, "message": "x requires moderation. Your input was flagged for violence"}},
    "xAI": {"code": "permission denied", "error": "Content violates usage guidelines."},
}  # fmt: skip
OTHERS = [
    {"error": {"message": "image_url: the image could not be decoded", "code": "invalid_image"}},
    {"error": {"message": "Unsupported value: 'temperature'", "type": "invalid_request_error", "param": "temperature"}},
    {
        "error": {
            "message": "Your account was closed, because its use violates our policies",
            "code": "account_deactivated",
        }
    },
    {"error": {"message": "Unknown parameter: 'seed'"}},
    {"error": {"message": "You must be 18", "code": 403}},
    "<html>Forbidden</html>",
    {"error": None},
    {},
    None,
    [1],
]


@each_of("vendor", FILTERS)
def test_a_vendors_filter_is_known_by_its_error(vendor: str) -> None:
    assert says_filtered(FILTERS[vendor])


@each_of("error", OTHERS)
def test_another_error_is_no_filter(error: object) -> None:
    assert not says_filtered(error)
