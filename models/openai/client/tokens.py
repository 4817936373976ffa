"""Tokens at a server: how it writes prompts, and the room that it leaves for an answer.

How prompts are written is what /tokenize shows before the first question. vLLM writes a chat without the tokenizer's BOS. Most
templates write BOS themselves; those of LLaVA-1.5 and its relatives leave it to the processor, and without it their answers get
worse and nothing else shows it. An option that is sent as the beginning of the model's turn follows the template's own white
space: after "ASSISTANT: " the option " yes" would stand behind two spaces. A server that has no /tokenize is taken as it is. Its
list of models may state the model's length.

vLLM looks into a chat template for a loop over the parts of a content. Where it finds none, it passes one text to the template: a
line for each picture, whatever their places, then one for each text. Two texts that come back as two lines show it.

Where a chat's prompt ends in the opening mark of a reasoning, the next token is none of an option. llama.cpp, which shows its
prompts by /apply-template, sets `enable_thinking` for every template that reads it, also where the model's own default is off.

The room for an answer: vLLM refuses every question whose cap is above its max_model_len; its older versions and SGLang also
refuse a cap that does not fit beside the prompt. The model could not write more than what is left, so a smaller cap changes no
answer: one that reaches the end counts as truncated, as with the cap that was stated.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Protocol

from mm_eval.values.errors import ModelError
from mm_eval.values.reasoning.families import NO_MARKS, Marks, opened_by
from mm_eval.values.types import Answer, Fields

from .endpoint import CAPS
from .errors import Unreachable

PROBE = "a"
OPTION = " yes"
CAN_NOT = (
    "the server's chat template writes other text before an option than before an answer, so no option can be scored."
)


FLATTENS = (
    "the server shows the pictures of a turn before its text, each on a line of its own, in whatever order they are sent: "
    "start vLLM with --chat-template-content-format openai if the chat template takes lists of parts"
)


class Look(Protocol):
    """`Client.look`: a reply to what is not a question; {} where the server has no answer. Raises Unreachable."""

    async def __call__(
        self, path: str, content: bytes | None = None, *, at_root: bool = False
    ) -> dict[str, object]: ...


@dataclass(frozen=True)
class Writing:
    """How prompts must be sent, so that the model reads what it was trained on.

    adds_bos: chats need `add_special_tokens`. strips_space: an option in a chat is sent without its leading space.
    refusal: why options can't be scored in a chat; empty where they can. opens: the mark of a reasoning that a chat's prompt ends
    with; empty where it ends with none. flattens: pictures are shown before all text of a turn, each part
    on a line of its own.
    length: the model's, in tokens of prompt and answer together. software: what the server says it is ("vllm").
    """

    adds_bos: bool = False
    strips_space: bool = False
    refusal: str = ""
    opens: str = ""
    flattens: bool = False
    length: int | None = field(default=None, compare=False)
    software: str = field(default="", compare=False)

    @property
    def generated_only(self) -> bool:
        """Whether the server gives log-probabilities of generated tokens, and none of a prompt's."""
        return self.software == "llamacpp"

    @property
    def repeats_beginning(self) -> bool:
        """Whether an answer whose beginning was given in the prompt comes with that beginning."""
        return self.software == "llamacpp"

    @property
    def likeliest(self) -> int:
        """How many alternatives of a token can be requested: 20 at OpenAI and by vLLM's default, any number at llama.cpp."""
        return 1000 if self.software == "llamacpp" else 20

    @property
    def notes(self) -> str:
        """What a reader of the results should know; empty for nothing."""
        bos = "the server's chats lack BOS, which is requested with add_special_tokens" if self.adds_bos else ""
        return "; ".join(filter(None, [bos, FLATTENS if self.flattens else ""]))


async def writing_of(look: Look, model: str, variables: Fields | None = None, marks: Marks = NO_MARKS) -> Writing:
    """What the server's /tokenize, /detokenize and list of models show.

    variables: what its chat template is given. marks: those of a reasoning that the user states.
    """
    variables = variables or {}
    found = await _prompts_of(look, model, variables, marks)
    listed: object = []
    with suppress(Unreachable):
        listed = (await look("/models")).get("data")
    entries = [each for each in listed if isinstance(each, dict)] if isinstance(listed, list) else []
    named = {str(each.get("id")): each for each in entries}
    own = named.get(model, {})
    length = own.get("max_model_len") or named.get(str(own.get("parent")), {}).get(
        "max_model_len"
    )  # an adapter's parent
    owners = {str(each.get("owned_by") or "") for each in [own] if each} or {
        str(each.get("owned_by") or "") for each in entries
    }  # llama.cpp answers to any name
    software = owners.pop() if len(owners) == 1 else ""
    if software == "vllm":
        found = replace(found, flattens=await _flattens(look, model))
    if software == "llamacpp":
        found = replace(found, opens=await _opened_at_llamacpp(look, variables, marks))
    return replace(found, length=length if type(length) is int and length > 0 else None, software=software)


async def _flattens(look: Look, model: str) -> bool:
    """Whether vLLM makes one text of the parts of a turn."""
    parts = [{"type": "text", "text": PROBE}, {"type": "text", "text": PROBE}]
    counts: list[object] = []
    for content in (parts, f"{PROBE}\n{PROBE}", PROBE + PROBE):
        asked = {"model": model, "messages": [{"role": "user", "content": content}]}
        with suppress(Unreachable):
            counts.append((await look("/tokenize", json.dumps(asked).encode(), at_root=True)).get("tokens"))
    match counts:
        case [list() as given, list() as lined, list() as joined]:
            return given == lined and given != joined
    return False


async def _opened_at_llamacpp(look: Look, variables: Fields, marks: Marks) -> str:
    """The mark of a reasoning that a chat's prompt ends with at llama.cpp; empty where it ends with none, or is not shown."""
    asked: dict[str, object] = {"messages": [{"role": "user", "content": PROBE}]}
    if variables:
        asked["chat_template_kwargs"] = dict(variables)
    with suppress(Unreachable):
        prompt = (await look("/apply-template", json.dumps(asked).encode(), at_root=True)).get("prompt")
        return opened_by(prompt, marks).strip() if isinstance(prompt, str) else ""
    return ""


async def _prompts_of(look: Look, model: str, variables: Fields, marks: Marks) -> Writing:

    async def tokens(**body: object) -> list[int]:
        if variables and "messages" in body:
            body["chat_template_kwargs"] = dict(variables)
        sent = json.dumps({"model": model, **body}).encode()
        found = (await look("/tokenize", sent, at_root=True)).get("tokens")
        return found if isinstance(found, list) and all(type(token) is int for token in found) else []

    async def text(ids: list[int]) -> str | None:
        reply = await look("/detokenize", json.dumps({"model": model, "tokens": ids}).encode(), at_root=True)
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
    if opens := opened_by(before, marks).strip():
        return Writing(adds_bos, opens=opens)
    for option in (OPTION, OPTION.lstrip()):
        messages = [user, {"role": "assistant", "content": option}]
        turned = {"add_generation_prompt": False, "continue_final_message": True, "add_special_tokens": False}
        if await text(await tokens(messages=messages, **turned)) == before + OPTION:
            return Writing(adds_bos, strips_space=option != OPTION)
    return Writing(adds_bos, refusal=CAN_NOT)


SLACK = 8
"""Tokens that a server may keep free at the end of the model's length."""


class Room:
    """The room for one answer. name: the field of the cap. length: the model's, in tokens; None where the server gives none."""

    def __init__(self, name: str, length: int | None, look: Look, model: str) -> None:
        self._name, self._length, self._look, self._model = name, length, look, model
        self._left_out = False

    async def smaller(self, content: bytes) -> bytes | None:
        """The body of a question that was refused as too long, with what is left as its cap; None where nothing is left.

        The default cap of a chat is what is left, at every server that gives its model's length. That of a text is 16 tokens,
        so that its prompt is counted.
        """
        if self._length is None:
            return None
        body = json.loads(content)
        name = next((each for each in CAPS if each in body), self._name)
        if "prompt" not in body:
            self._left_out = body.pop(name, None) is not None
            return json.dumps(body).encode() if self._left_out else None
        asked, count = json.dumps({"model": self._model, "prompt": body["prompt"]}).encode(), None
        with suppress(Unreachable):
            count = (await self._look("/tokenize", asked, at_root=True)).get("count")
        if type(count) is not int or not 0 < self._length - count < body.get(name, 0):
            return None
        return json.dumps({**body, name: self._length - count}).encode()

    def checked(self, answer: Answer) -> Answer:
        """The answer. Raises ModelError if a default of the server ended it before the model's length."""
        used = answer.usage.get("prompt_tokens", 0) + answer.usage.get("completion_tokens", 0)
        if self._left_out and self._length and answer.truncated and 0 < used < self._length - SLACK:
            raise ModelError(
                f"the server ended the answer after {used:,} tokens of the model's {self._length:,}.",
                hint="The prompt and the cap do not fit together into the model's length: lower max_gen_toks.",
            )
        return answer
