"""The marks around reasoning and the frames around answers of known model families, as data.

`FAMILIES` and `FRAMES` are what a text without a known model is read by: a recorded answer, the text of a server. A new family
is one line. A model's own files and the user may add pairs (`marks_of`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from mm_eval.values.errors import ConfigError

TAG = r"(?:[\w.-]{1,20}:)?(?:think|thinking|thoughts?|reasoning|analysis)(?::[\w.-]{1,20})?"
"""A tag's name: <think>, <seed:think>, <mm:think>, <think:opensource>, <thought>, <analysis>, <REASONING>."""


@dataclass(frozen=True)
class Family:
    """The marks of a family, as regular expressions.

    at: "start" where the marks are plain words that a text may contain: they count only in a text that begins with the opening
        one. "opens at start" where that holds for the opening mark alone.
    blocks: at the start, whether one block of reasoning may follow another.
    tokens: those that its marks are made of, where they differ from the marks. A tokenizer with the first two has them all.
    """

    name: str
    opening: str
    closing: str
    at: Literal["anywhere", "start", "opens at start"] = "anywhere"
    tokens: tuple[str, ...] = ()
    blocks: bool = False


FAMILIES: tuple[Family, ...] = (
    # DeepSeek, Qwen, GLM, MiMo, MiniMax, Seed, Hunyuan, Intern, Nemotron, EXAONE, Keye, LLaVA-CoT, ...
    Family("tags", rf"<[ \t]*{TAG}[ \t]*>", rf"<[ \t]*/[ \t]*{TAG}[ \t]*>"),
    Family("magistral", r"\[THINK\]", r"\[/THINK\]"),
    Family("kimi_vl", r"◁think▷", r"◁/think▷"),
    Family("open_thoughts", r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>"),
    Family("gemma4", r"<\|channel>(?:thought\b)?", r"<channel\|>", tokens=("<|channel>", "<channel|>")),
    Family("medgemma", r"<unused94>(?:thought\b)?", r"<unused95>", tokens=("<unused94>", "<unused95>")),
    Family(
        "harmony",
        r"(?:<\|start\|>assistant)?<\|channel\|>(?:analysis|commentary)[^<>\n]{0,80}(?:<\|constrain\|>\w{0,20})?<\|message\|>",
        r"(?:<\|end\|>)?(?:<\|start\|>assistant)?<\|channel\|>final[^<>\n]{0,80}(?:<\|constrain\|>\w{0,20})?<\|message\|>",
        tokens=("<|channel|>", "<|message|>", "<|start|>", "<|end|>", "<|constrain|>", "<|call|>", "<|return|>"),
    ),
    Family(
        "harmony_without_marks",
        r"analysis(?=[A-Z0-9\"'*(]|[\s\S]*assistant\s?final)",
        r"assistant\s?final",
        at="start",
    ),
    Family("cohere", r"<\|START_THINKING\|>", r"<\|END_THINKING\|>"),
    Family(
        "kimi_k3",
        r"<\|open\|>think<\|sep\|>",
        r"<\|close\|>think<\|sep\|>",
        tokens=("<|close|>", "<|sep|>", "<|open|>"),
    ),
    Family("granite_3", r"Here(?:'s|’s| is) my thought process:", r"Here(?:'s|’s| is) my response:", at="start"),
    Family("apriel", r"Here are my reasoning steps:", r"\[BEGIN FINAL RESPONSE\]", at="opens at start"),
    Family(
        "llava_cot", r"<(?:SUMMARY|CAPTION|REASONING)>", r"</(?:SUMMARY|CAPTION|REASONING)>", at="start", blocks=True
    ),
)

FRAMES: tuple[tuple[str, str], ...] = (
    (r"<answer>", r"</answer>"),
    (r"<response>", r"</response>"),
    (r"<CONCLUSION>", r"</CONCLUSION>"),
    (r"<\|begin_of_solution\|>", r"<\|end_of_solution\|>"),
    (r"<\|START_RESPONSE\|>", r"<\|END_RESPONSE\|>"),
    (r"<\|START_TEXT\|>", r"<\|END_TEXT\|>"),
    (r"<\|open\|>response<\|sep\|>", r"<\|close\|>response<\|sep\|>"),
    (r"\[BEGIN FINAL RESPONSE\]", r"\[END FINAL RESPONSE\]"),
    (r"<\|begin_of_box\|>", r"<\|end_of_box\|>"),
)
"""The marks around an answer, an outer one before an inner one."""

LAST_MARKS = r"(?:<\|(?:return|end|call|END_RESPONSE|END_TEXT|end_of_box|end_of_solution)\|>|\[END FINAL RESPONSE\])"
"""Marks that may stand at the end of an answer without the ones that belong to them."""

TOOL_CALL = r"<(?:\w+:)?tool_call>|<\|tool_calls_section_begin\|>|<\|tool_call>|\[TOOL_CALLS\]|<\|action_start\|>"
"""The beginnings of tool calls, which end an open reasoning. Hunyuan's `<tool_calls>` is text inside it."""

CALL_MARKS = (
    r"</?(?:\w+:)?tool_calls?>|<\|tool_calls?(?:_section)?_(?:begin|end)\|>|<\|tool_call_argument_begin\|>|<\|tool_call>|<tool_call\|>"
    r"|<\|\"\|>|\[(?:TOOL_CALLS|ARGS|CALL_ID)\]|<\|action_(?:start|end)\|>|<\|plugin\|>|</?arg_(?:key|value)>"
)
"""All marks of tool calls that a tokenizer may have as special tokens: a call can't be read without them."""

FRAME_TOKENS = (
    "<|begin_of_box|>", "<|end_of_box|>", "<|START_RESPONSE|>", "<|END_RESPONSE|>", "<|START_TEXT|>", "<|END_TEXT|>",
    "<|begin_of_solution|>", "<|end_of_solution|>", "<answer>", "</answer>", "<response>", "</response>",
)  # fmt: skip
"""Frames that a tokenizer may have as special tokens."""

FRAMES_BY_NAME = {
    "answer>": "<answer>", "response>": "<response>", "CONCLUSION": "<CONCLUSION>", "begin_of_box": "<|begin_of_box|>",
}  # fmt: skip
"""The frames that a task may read itself, by the word that its files name them with."""

LIKE_REASONING = r"think|thought|reason|analysis|scratch_?pad|ponder|reflect|cot\b"
"""Words in marks that look like reasoning."""


@dataclass(frozen=True)
class Marks:
    """The pairs of marks beside those of the known families. An empty opening mark: the closing one alone is known.

    off: nothing is cut (`--reasoning_tags none`). alone: those of the known families do not count, since they are cut already.
    """

    pairs: tuple[tuple[str, str], ...] = ()
    off: bool = False
    alone: bool = False

    @property
    def anywhere(self) -> re.Pattern[str]:
        """Every mark that counts wherever it stands; its group is "opening" or "closing"."""
        return _union(self.pairs, self.alone)

    def plus(self, pairs: Iterable[tuple[str, str]]) -> Marks:
        """With more pairs."""
        return Marks(tuple(dict.fromkeys((*self.pairs, *pairs))), self.off)

    def beyond(self, known: Marks) -> Marks:
        """The pairs that whoever knew `known`, and the families, has not cut."""
        own = [pair for pair in self.pairs if pair not in known.pairs]
        return Marks(tuple(pair for pair in own if not all(map(NO_MARKS.anywhere.fullmatch, pair))), alone=True)


NO_MARKS = Marks()


@lru_cache(maxsize=64)
def _union(pairs: tuple[tuple[str, str], ...], alone: bool) -> re.Pattern[str]:
    families = () if alone else FAMILIES
    opening = [re.escape(one) for one, _ in pairs if one]
    opening += [family.opening for family in families if family.at == "anywhere"]
    closing = [re.escape(one) for _, one in pairs if one]
    closing += [family.closing for family in families if family.at != "start"]
    return re.compile(rf"(?P<closing>{'|'.join(closing)})|(?P<opening>{'|'.join(opening)})", re.IGNORECASE)


AT_THE_START = tuple(
    (re.compile(family.opening), re.compile(family.closing), family.blocks)
    for family in FAMILIES
    if family.at != "anywhere"
)
"""(opening mark, closing mark, `blocks`) of the families whose opening mark counts only where a text begins with it."""


def marks_of(stated: str | Sequence[Sequence[str]] | None, where: str = "--reasoning_tags") -> Marks:
    """The marks that a user or a task states: `"<a>,</a>"`, pairs or their JSON (`[["<a>", "</a>"], ["<b>", "</b>"]]`), "none".

    >>> marks_of("<a>,</a>").pairs
    (('<a>', '</a>'),)

    Errors: ConfigError for a text that is neither.
    """
    if not stated:
        return NO_MARKS
    if isinstance(stated, str) and stated.strip().lower() in ("none", "null", "[]", "false"):
        return Marks(off=True)
    found = stated
    if isinstance(stated, str):
        if stated.lstrip().startswith("[") and not stated.lstrip().lower().startswith("[think"):
            try:
                found = json.loads(stated)
            except (ValueError, RecursionError):
                found = stated.split(",")
        else:
            found = stated.split(",")
    if isinstance(found, (list, tuple)) and len(found) == 2 and all(isinstance(each, str) for each in found):
        found = [found]  # type: ignore[list-item]
    pairs = []
    for pair in found if isinstance(found, (list, tuple)) else [None]:
        match pair:
            case [str() as opening, str() as closing] if opening.strip() and closing.strip():
                pairs.append((opening.strip(), closing.strip()))
            case _:
                raise ConfigError(
                    f"{str(stated)[:200]!r} names no marks.",
                    where=where,
                    hint='Give an opening and a closing mark, "<think>,</think>", pairs of them as JSON, or none.',
                )
    if any(opening == closing for opening, closing in pairs):
        raise ConfigError(
            f"{str(stated)[:200]!r}: the opening and the closing mark are the same.",
            where=where,
            hint='Give two that differ, such as "<think>,</think>".',
        )
    return Marks(tuple(pairs))


THINKING_NAMES = re.compile(
    r"think|reason|cot\b|r1(?![a-z0-9])|r1v|qwq|qvq|qwen-?3(?!.*(?:instruct|coder|embed|rerank))|deepseek-v3-[1-9]|deepseek-v[4-9]"
    r"|kimi-k|glm-4-[1-9]|glm-[5-9]|gemma-[4-9]|medgemma|gpt-oss|magistral|ministral-3|mistral-small-4|seed-oss|seed1-|internvl-?3-5"
    r"|intern-?s1|minicpm-v-4-[5-9]|mimo|keye|(?<![a-z])r-4b|granite-(?:3-2|4-2)|nemotron|exaone|hunyuan|(?<![a-z])hy3|ernie|step-?3"
    r"|minimax-m|command-a|apriel|phi-4-|deepeyes|smollm3",
)
"""Names of models that may reason before they answer, in lower case with "-" for every other sign."""


def may_think(name: str, variables: Mapping[str, object] | None = None) -> bool:
    """Whether a server's model may reason, by its name and by what its chat template is given.

    >>> may_think("Qwen/Qwen3-VL-8B-Thinking"), may_think("Qwen/Qwen3-VL-8B-Instruct"), may_think("openai/gpt-oss-20b")
    (True, False, True)
    """
    for switch in ("enable_thinking", "thinking"):
        if isinstance(stated := (variables or {}).get(switch), bool):
            return stated
    read = re.sub(r"[^a-z0-9]+", "-", name.rstrip("/").rpartition("/")[2].lower())
    return THINKING_NAMES.search(read) is not None


_BUDGET = re.compile(r"\s*<seed:cot_budget_reflect>[^<]*</seed:cot_budget_reflect>\s*\Z")
_TAIL = 400
"""Characters at the end of a prompt in which its last mark is looked for."""


OPENS_HINT = (
    'Turn the reasoning off, as with chat_template_kwargs={"enable_thinking": false} in the model\'s arguments, or choose a task '
    "with generate_until, such as NAME@generate."
)


def what_opens(mark: str, opener: str) -> str:
    """Why no option is scored in a chat whose prompt ends with the opening mark of a reasoning. opener: who writes it."""
    return f"{opener} begins the model's turn with {mark!r}, so the next token belongs to a reasoning and not to an option."


def opened_by(prompt: str, marks: Marks = NO_MARKS) -> str:
    """The opening mark that a prompt ends with, with what follows it; empty if it ends outside a reasoning.

    >>> opened_by("<|im_start|>assistant\\n<think>\\n"), opened_by("<|im_start|>assistant\\n<think>\\n\\n</think>\\n\\n")
    ('<think>\\n', '')
    """
    if marks.off:
        return ""
    tail = prompt[-_TAIL:]
    before = _BUDGET.sub("", tail).rstrip()
    found = [match for match in marks.anywhere.finditer(before) if match.end() == len(before)]
    if found and found[-1]["opening"]:
        return tail[found[-1].start() :]
    for family in FAMILIES:
        if family.at != "anywhere" and (place := re.search(rf"{family.opening}\Z", before)):
            return tail[place.start() :]
    return ""


_IN_A_TEMPLATE = re.compile(r"""['"](?P<closing>[<\[◁][^'"\s]{0,3}/[^'"\s]{1,40}[>\]▷])['"]\s*(?:in\b|\))""")
_NOT_REASONING = re.compile(r"tool|answer|response|image|video|audio|function|\bim_|inst|box|text", re.IGNORECASE)


def marks_in_template(template: str) -> tuple[tuple[str, str], ...]:
    """The pairs that a chat template removes from earlier turns: `content.split('</x>')`, or `'</x>' in content`.

    >>> marks_in_template("{% if '</muse>' in content %}{{ content.split('</muse>')[-1] }}{% endif %}")
    (('<muse>', '</muse>'),)
    """
    found = dict.fromkeys(match["closing"] for match in _IN_A_TEMPLATE.finditer(template))
    return tuple((mark.replace("/", "", 1), mark) for mark in found if not _NOT_REASONING.search(mark))
