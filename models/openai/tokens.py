"""How a server writes prompts: what its /tokenize shows before the first question.

vLLM writes a chat without the tokenizer's BOS. Most templates write BOS themselves; those of LLaVA-1.5 and its relatives leave
it to the processor, and without it their answers get worse and nothing else shows it. An option that is sent as the beginning of
the model's turn follows the template's own white space: after "ASSISTANT: " the option " yes" would stand behind two spaces.

A server that has no /tokenize is taken as it is. Its list of models may state the model's length.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

PROBE = "a"
OPTION = " yes"
CAN_NOT = (
    "the server's chat template writes other text before an option than before an answer, so no option can be scored."
)


class Look(Protocol):
    """`Client.look`: a reply to what is not a question; {} where the server has no answer. Raises Unreachable."""

    async def __call__(self, path: str, content: bytes | None = None) -> dict[str, Any]: ...


class Unreachable(Exception):
    """The server can't be reached, or is still loading."""


@dataclass(frozen=True)
class Writing:
    """How prompts must be sent, so that the model reads what it was trained on.

    adds_bos: chats need `add_special_tokens`. strips_space: an option in a chat is sent without its leading space.
    refusal: why options can't be scored in a chat; empty where they can.
    length: the model's, in tokens of prompt and answer together. software: what the server says it is ("vllm").
    """

    adds_bos: bool = False
    strips_space: bool = False
    refusal: str = ""
    length: int | None = field(default=None, compare=False)
    software: str = field(default="", compare=False)

    @property
    def notes(self) -> str:
        """What a reader of the results should know; empty for nothing."""
        return "the server's chats lack BOS, which is requested with add_special_tokens" if self.adds_bos else ""


async def writing_of(look: Look, model: str) -> Writing:
    """What the server's /tokenize, /detokenize and list of models show."""
    found = await _prompts_of(look, model)
    listed: Any = []
    with suppress(Unreachable):
        listed = (await look("/models")).get("data")
    entries = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    named = {str(each.get("id")): each for each in entries}
    own = named.get(model, {})
    length = own.get("max_model_len") or named.get(str(own.get("parent")), {}).get(
        "max_model_len"
    )  # an adapter's parent
    software = own.get("owned_by")
    return replace(
        found,
        length=length if type(length) is int and length > 0 else None,
        software=software if isinstance(software, str) else "",
    )


async def _prompts_of(look: Look, model: str) -> Writing:

    async def tokens(**body: Any) -> list[int]:
        found = (await look("/tokenize", json.dumps({"model": model, **body}).encode())).get("tokens")
        return found if isinstance(found, list) and all(type(token) is int for token in found) else []

    async def text(ids: list[int]) -> str | None:
        reply = await look("/detokenize", json.dumps({"model": model, "tokens": ids}).encode())
        found = reply.get("prompt")
        return found if isinstance(found, str) else None

    framed = await tokens(prompt=PROBE, add_special_tokens=True)
    if not framed:
        return Writing()
    bare = await tokens(prompt=PROBE, add_special_tokens=False)
    user = {"role": "user", "content": PROBE}
    chat = await tokens(messages=[user], add_generation_prompt=True, add_special_tokens=False)
    if not chat or not bare:
        return Writing()
    start = next((i for i in range(len(framed)) if framed[i : i + len(bare)] == bare), 0)
    adds_bos = start > 0 and chat[:start] != framed[:start]

    before = await text(chat)
    if before is None:
        return Writing(adds_bos)
    for option in (OPTION, OPTION.lstrip()):
        messages = [user, {"role": "assistant", "content": option}]
        turned = {"add_generation_prompt": False, "continue_final_message": True, "add_special_tokens": False}
        if await text(await tokens(messages=messages, **turned)) == before + OPTION:
            return Writing(adds_bos, strips_space=option != OPTION)
    return Writing(adds_bos, refusal=CAN_NOT)
