"""How a vendor's reply says that it ended, read from the reply itself.

litellm turns each vendor's reason into one of OpenAI's, and one that it does not know into "stop" (`pause_turn`,
`MALFORMED_RESPONSE`, `error`): half an answer would be scored as a whole one. So the reason is read here, as the vendor wrote it.
"""

from __future__ import annotations

from collections.abc import Mapping

BLOCKED = "content_filter"


def stated_ending(reply: Mapping[str, object]) -> object:
    """The reason in a vendor's reply; None if it has none, or none in a known place.

    >>> stated_ending({"type": "message", "stop_reason": "pause_turn"})
    'pause_turn'
    >>> stated_ending({"candidates": [{"finishReason": "SAFETY"}]}), stated_ending({"promptFeedback": {"blockReason": "OTHER"}})
    ('SAFETY', 'content_filter')
    """
    match reply:
        case {"choices": [{"finish_reason": reason}, *_]}:  # OpenAI, Azure, and what speaks like them
            return reason
        case {"promptFeedback": {"blockReason": str()}, **rest} if not rest.get("candidates"):
            return BLOCKED  # Gemini withheld the prompt from the model
        case {"candidates": [{"finishReason": reason}, *_]}:  # Gemini, Vertex
            return reason
        case {"stop_reason": reason}:  # Anthropic, also on Bedrock and Vertex
            return reason
        case {"stopReason": reason}:  # Bedrock's Converse
            return reason
        case {"done": done, **rest}:  # Ollama; without `done_reason` in old versions
            return rest.get("done_reason") if done is True else None
    return None


def counts_reasoning(reply: Mapping[str, object]) -> bool:
    """Whether the vendor itself counts the tokens of reasoning; litellm estimates them where it does not."""
    match reply:
        case {"usage": {"completion_tokens_details": {"reasoning_tokens": int()}}} | {
            "usageMetadata": {"thoughtsTokenCount": int()}
        }:
            return True
    return False


def counts_tokens(reply: Mapping[str, object]) -> bool:
    """Whether the vendor counts tokens at all; litellm estimates them where it does not."""
    return isinstance(reply.get("usage"), Mapping) or any(
        isinstance(reply.get(name), int | Mapping) for name in ("usageMetadata", "prompt_eval_count", "eval_count")
    )
