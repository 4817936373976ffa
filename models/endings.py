"""How an answer ended, from the reason that a server, a vendor's API or an engine states.

The one table of such reasons. An adapter asks it for every answer:

    >>> ending_of("max_tokens").ended, ending_of("SAFETY").ended, ending_of("end_turn").ended
    ('length', 'filtered', 'stop')
    >>> ending_of("a word of tomorrow").ended
    'failed'

A reason that the table lacks is "failed", never "stop": text without a known end may be half an answer.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mm_eval.values.errors import ModelError
from mm_eval.values.types import ENDINGS, Ended

_TABLE = """
stop      stop                                              # OpenAI, vLLM, SGLang, llama.cpp, Gemini (STOP)
stop      eos eos_token stop_token                          # Together, TGI
stop      end_turn end_of_turn stop_sequence                # Anthropic, Bedrock, TGI, Cohere
stop      complete completed                                # Cohere, the Responses API
stop      finish finished endoftext normal                  # Titan, AI21, Qianfan
length    length max_tokens max_length                      # OpenAI, Anthropic, Gemini, Bedrock, Cohere
length    max_new_tokens max_output_tokens max_completion_tokens token_limit
length    model_length error_limit                          # the model's own length: Mistral, Cohere
length    model_context_window_exceeded context_length_exceeded
length    repetition                                        # vLLM ended an answer that goes round in circles
filtered  content_filter content_filtered                   # OpenAI, Azure, Bedrock
filtered  guardrail_intervened guardrails model_armor       # Bedrock, Vertex
filtered  sensitive error_toxic                             # Zhipu, Cohere
filtered  safety recitation language blocklist prohibited_content spii
filtered  image_safety image_prohibited_content image_recitation
refused   refusal                                           # Anthropic
tool      tool_calls tool_call tool_use function_call
retried   error server_error internal_error network_error unavailable overloaded
retried   insufficient_system_resource resource_exhausted   # DeepSeek
retried   abort aborted cancelled canceled user_cancel      # vLLM, SGLang
retried   timeout time_limit not_finished null none
"""
"""How an answer ended, and the reasons that say so. "retried" is a failure that says nothing about the question.

A missing reason is one of those: the reply broke off.
"""
_ENDED: dict[str, str] = {
    reason: row.split()[0] for row in _TABLE.strip().splitlines() for reason in row.partition("#")[0].split()[1:]
}


@dataclass(frozen=True)
class Ending:
    """How one generation ended.

    ended: "failed" for an ending that leaves no answer. retried: the same request may succeed. reason: as it was stated.
    """

    ended: Ended
    retried: bool = False
    reason: str = ""

    @property
    def fault(self) -> str:
        """Why there is no answer, for an ending that is "failed"."""
        if self.ended != "failed":
            return ""
        if not self.reason:
            return "the reply does not say how the answer ended."
        if _ENDED.get(_word(self.reason)) == "tool":
            return f"the model called a tool instead of answering ({self.reason})."
        broke_off = "the answer broke off" if self.retried else "the answer did not end in a known way"
        return f"{broke_off} ({self.reason})."

    @property
    def error(self) -> ModelError:
        """The failure of the request."""
        return ModelError(self.fault)


def ending_of(reason: object, *, tools: bool = False) -> Ending:
    """How a generation ended that states this reason.

    reason: a text in any case, an enum of one, or None. tools: the request offered tools; without it, a call is not an answer.
    """
    value = getattr(reason, "value", reason)  # an enum's
    said = value if isinstance(value, str) else "" if value is None else repr(value)
    said = "".join(character for character in said[:60] if character.isprintable()).strip()
    found = _ENDED.get(_word(said), "failed") if said else "retried"
    if found not in ENDINGS or found == "tool" and not tools:
        return Ending("failed", found == "retried", said)
    return Ending(found, reason=said)


def _word(reason: str) -> str:
    """A reason as the table has it: `FinishReason.MAX_TOKENS`, `FINISH_REASON_MAX_TOKENS` and `max-tokens` are `max_tokens`."""
    word = reason.rpartition(".")[2].strip().lower().replace("-", "_").replace(" ", "_")
    return word.removeprefix("finish_reason_")


_FILTER_CODE = re.compile(
    r"content_?filter|content_?polic|responsible_?ai|data_?inspection_?failed|sensitive_?content|risk_?content|moderation"
    r"|safety_(?:violation|error|check)|guardrail|prohibited_content|^1301$",
    re.IGNORECASE,
)
"""Codes and types of an error: OpenAI, Azure, DashScope, Volcengine, Zhipu (1301), Moonshot, LiteLLM."""
_FILTER_WORDS = re.compile(
    r"content management policy|content[- ](?:filter|safety|moderation|policy)|Content Exists Risk|inappropriate content"
    r"|considered high risk|(?:by|of) our safety system|violates (?:our )?(?:usage|content) (?:guidelines|polic)"
    r"|(?:prompt|input|content|output|response|image)\b[^.]{0,60}\b(?:flagged|blocked|prohibited|potentially violating)"
    r"|敏感内容|不安全",
    re.IGNORECASE,
)
"""Messages of the same and of Anthropic, DeepSeek, OpenRouter, xAI."""
FILTER_STATUSES = (400, 403, 422, 451)
"""HTTP statuses under which vendors withhold an answer because of its content."""


def says_filtered(error: object) -> bool:
    """Whether an error's body, or its text, says that the vendor's filter withheld the answer or refused the prompt.

    >>> says_filtered({"error": {"code": "content_filter", "message": "The response was filtered"}})
    True
    """
    if isinstance(error, str):
        return bool(_FILTER_WORDS.search(error))
    return any(
        bool((_FILTER_WORDS if name in ("message", "msg", "detail", "error", "raw") else _FILTER_CODE).search(text))
        for name, text in _texts(error)
    )


def _texts(value: object, name: str = "", depth: int = 0) -> Iterator[tuple[str, str]]:
    """(name, text) of the fields of an error that say what it is, down to the fourth level."""
    if isinstance(value, Mapping) and depth < 4:
        for inner in ("error", "code", "type", "status", "innererror", "metadata", "message", "msg", "detail", "raw"):
            if inner in value:
                yield from _texts(value[inner], inner, depth + 1)
    elif isinstance(value, str | int) and not isinstance(value, bool):
        yield name, str(value)[:2000]
