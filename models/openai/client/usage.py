"""The token counts of a reply, as the vendor counts and charges them."""

from __future__ import annotations

from collections.abc import Mapping

from mm_eval.engine.prices import token_count, token_counts

DETAILS = {
    "video_tokens": (("prompt_tokens_details", "multimodal_tokens", "video"),),
    "image_tokens": (("prompt_tokens_details", "image_tokens"),),
    "cached_tokens": (("prompt_tokens_details", "cached_tokens"), ("prompt_cache_hit_tokens",)),
    "cache_write_tokens": (("prompt_tokens_details", "cache_write_tokens"), ("prompt_tokens_details", "cache_creation_tokens")),
    "reasoning_tokens": (("completion_tokens_details", "reasoning_tokens"), ("reasoning_tokens",)),
}  # fmt: skip
"""Where the parts of the two counts stand: OpenAI, DeepSeek (prompt_cache_hit_tokens), vLLM (multimodal_tokens), litellm."""


def usage_of(reply: Mapping[str, object]) -> dict[str, int]:
    """The valid token counts of a reply. Parts of a count ("cached_tokens", ...) are given where there are any.

    prompt_tokens includes cached ones and pictures, completion_tokens includes reasoning. Gemini and xAI leave reasoning out
    of the count, and only their total has it: what the total has beside the two counts was generated and is charged so.

    >>> usage_of({"usage": {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 20}})
    {'prompt_tokens': 10, 'completion_tokens': 10}
    """
    usage: object = reply.get("usage")
    if not isinstance(usage, Mapping):
        return {}
    counts = token_counts(usage)
    found: dict[str, int] = {name: counts[name] for name in ("prompt_tokens", "completion_tokens") if name in counts}
    if len(found) == 2:
        found["completion_tokens"] = max(
            found["completion_tokens"], counts.get("total_tokens", 0) - found["prompt_tokens"]
        )
    for name, places in DETAILS.items():
        part = next((count for place in places if (count := _count_at(usage, place))), 0)
        if part:
            found[name] = part
    return found


def _count_at(usage: Mapping[str, object], place: tuple[str, ...]) -> int:
    value: object = usage
    for name in place[:-1]:
        value = value.get(name) if isinstance(value, Mapping) else None
    return token_count(value.get(place[-1])) or 0 if isinstance(value, Mapping) else 0
