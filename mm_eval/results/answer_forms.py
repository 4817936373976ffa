"""The forms of answers that went wrong: what each looks like, its likely cause, and what would mend it.

An answer has the first form of `FORMS` that fits it, or none. The order matters: an answer that was cut may look like an
explanation, but it is the cut that has to be mended, and a text that the endpoint withheld is not an empty answer of the model.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from mm_eval.scoring.filters.base import FILTERED, REFUSED, TRUNCATED, UNPARSED
from mm_eval.scoring.sample_row import SampleRow
from mm_eval.values.reasoning.split import unknown_marks

Mending = Literal["again", "tokens", "template", "prompts", "show", "length", "marks"]
"""What mends a fault; `mm_eval.results.findings` makes a command of it."""

LONG = 30
"""Words from which an unparsed answer is an explanation."""
LETTERS = 8
"""Letters that an answer needs for its script to be known."""
WORD = 3
"""Letters from which a right answer says in which script it wants to be answered; an option's letter does not."""

_OPTION = re.compile(r"[(\[]?([A-Za-z]|\d{1,2})[)\].:]{0,2}")
"""An answer that is an option's letter or number and nothing else."""
_LISTED = re.compile(r"(?m)^\s*[(\[]?([A-Z]|\d{1,2})[)\].:]\s")
"""The beginning of an option in a question."""

_ROLES = re.compile(
    r"(?:^|\n)\s*(?:user|human|assistant|question|q)\s*:|<\|(?:im_start|im_end|user|assistant|eot_id)|\[/?INST\]",
    re.IGNORECASE,
)
_REFUSAL = re.compile(
    r"\bI(?:['’]m| am)? (?:sorry|apologi[sz]e|unable to|not able to)"
    r"|\bI can(?:no|['’])t (?:assist|help|answer|see|view|determine|provide|identify)"
    r"|\bas an? (?:AI|language model)"
    r"|\bI (?:do not|don['’]t) (?:see|have) (?:an?|any|access to (?:the|any)) (?:image|picture|photo)"
    r"|\bno (?:image|picture) (?:was |is |has been )?(?:provided|attached|given)"
    r"|抱歉|对不起|无法(?:回答|看到|识别|确定)",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Answered:
    """One answer to a doc.

    rules: what each filter pipeline said of it. ended: how it ended (`mm_eval.values.types.Ended`). asked: the question's text.
    reasoning: what was cut from it, or is given beside it. gold: the right answers, as far as they are text.
    """

    text: str
    rules: tuple[str, ...]
    ended: str
    asked: str
    reasoning: str = ""
    gold: tuple[str, ...] = ()

    @property
    def marks(self) -> tuple[str, ...]:
        """The marks that look like those of a reasoning which was not cut."""
        return unknown_marks(self.text.removeprefix(self.reasoning))

    @property
    def in_other_script(self) -> bool:
        """Whether its script is not that of the right answers; nor of the question, where these are a letter or a number."""
        if not (said := script(self.text)):
            return False
        right = {found for gold in self.gold if (found := script(gold, least=1))}
        if said in right:
            return False
        if any(script(gold, least=WORD) for gold in self.gold):
            return True
        asked = script(self.asked)
        return bool(asked) and said != asked

    @property
    def names_no_option(self) -> bool:
        """Whether it is an option's letter or number alone, of no option that the question lists; read by no rule."""
        if not self.unparsed or not (said := _OPTION.fullmatch(self.text.strip())):
            return False
        letter = said[1].upper()
        listed = {each[1].upper() for each in _LISTED.finditer(self.asked) if each[1].isdecimal() == letter.isdecimal()}
        if listed:
            return letter not in listed
        return letter.isalpha() and any(re.fullmatch("[A-Z]", gold.strip()) for gold in self.gold)

    @property
    def unparsed(self) -> bool:
        """No filter pipeline found an answer in the text."""
        return bool(self.rules) and all(rule == UNPARSED for rule in self.rules)


@dataclass(frozen=True)
class Form:
    """A form of answers. said: what they are, after "12 of 60 answers". fits: whether an answer has it."""

    name: str
    said: str
    cause: str
    mending: Mending
    fits: Callable[[Answered], bool]


FORMS: tuple[Form, ...] = (
    Form(
        "filtered",
        "were withheld by the vendor's filter",
        "the filter objects to the picture, the question or the answer; the vendor's settings for content may allow them",
        "show",
        lambda answer: answer.ended == FILTERED or FILTERED in answer.rules,
    ),
    Form(
        "refused",
        "are refusals, by the endpoint's own statement",
        "the model declines the question or the picture, or its system prompt forbids them",
        "show",
        lambda answer: answer.ended == REFUSED or REFUSED in answer.rules,
    ),
    Form(
        "thinking",
        "end while the model is thinking",
        "the token cap is too small for a model that thinks before it answers",
        "tokens",
        lambda answer: TRUNCATED in answer.rules and bool(answer.text.strip() or answer.reasoning.strip()),
    ),
    Form(
        "truncated",
        "were ended by the token cap",
        "max_new_tokens is too small for what the model writes or thinks, or the model repeats itself",
        "tokens",
        lambda answer: answer.ended == "length" or TRUNCATED in answer.rules,
    ),
    Form(
        "reasoning alone",
        "are empty, although there is reasoning",
        "the server took the whole text for reasoning: its reasoning parser is that of another model, or thinking is switched "
        "off (start it without --reasoning-parser, or switch thinking on); or the model ended without an answer",
        "show",
        lambda answer: not answer.text.strip() and bool(answer.reasoning.strip()),
    ),
    Form(
        "empty",
        "are empty",
        "the model ends at once: the chat template is not the one it was trained with, or a stop string is at the "
        "beginning of its answers",
        "show",
        lambda answer: not answer.text.strip(),
    ),
    Form(
        "marks",
        "contain marks that look like those of reasoning, which was not cut",
        "the marks of this model are unknown, so its text before the answer is read as its answer",
        "marks",
        lambda answer: bool(answer.marks),
    ),
    Form(
        "dialogue",
        "continue with a dialogue of their own",
        "the model continues the text in place of answering it: its chat template is missing or is another model's",
        "template",
        lambda answer: _ROLES.search(answer.text) is not None,
    ),
    Form(
        "refusal",
        "are refusals",
        "the model says that it can't see or answer: the picture may not reach it, or its system prompt forbids the question",
        "show",
        lambda answer: _REFUSAL.search(answer.text) is not None,
    ),
    Form(
        "script",
        "are in another script than the right answer",
        "the model answers in another language than the gold answers, or the question where a gold answer is only a letter",
        "prompts",
        lambda answer: answer.in_other_script,
    ),
    Form(
        "other option",
        "name an option that is not there",
        "the answers have the form that the task reads and are wrong: the question has fewer options",
        "show",
        lambda answer: answer.names_no_option,
    ),
    Form(
        "explanation",
        "are explanations in which no answer was found",
        "the prompt does not ask for the short answer in words that this model follows",
        "prompts",
        lambda answer: answer.unparsed and len(answer.text.split()) >= LONG,
    ),
    Form(
        "unparsed",
        "are in a form that the task's rules do not read",
        "the prompt does not ask for the form that the rules expect, or the model does not follow it",
        "prompts",
        lambda answer: answer.unparsed,
    ),
)


def form_of(answer: Answered) -> Form | None:
    """The form of an answer; None if nothing is odd about it."""
    return next((form for form in FORMS if form.fits(answer)), None)


def answers_of(row: SampleRow) -> list[Answered]:
    """The generated answers of a row of samples/<task>.jsonl, one a repeat; none where choices were scored."""
    asked, reasoning = _question(row["prompt"]), row.get("reasoning") or []
    ended = row.get("ended") or []
    return [
        Answered(
            text,
            tuple(found[place] for found in row["rules"].values() if place < len(found)),
            str(ended[place]) if place < len(ended) else "stop",
            asked,
            reasoning[place] if place < len(reasoning) else "",
            _texts_of(row.get("target")),
        )
        for place, text in enumerate(row["resps"])
        if isinstance(text, str)
    ]


def _texts_of(target: object) -> tuple[str, ...]:
    """The right answers of a doc that are texts."""
    found = target if isinstance(target, list) else [target]
    return tuple(each for each in found if isinstance(each, str))


_LATIN = re.compile("[A-Za-z]")
_JAPANESE = {"HIRAGANA": "CJK", "KATAKANA": "CJK"}


def script(text: str, least: int = LETTERS) -> str:
    """The script of most letters of a text: "LATIN", "CJK", "CYRILLIC", ...; empty for fewer letters than `least`.

    >>> script("The answer is a red bus."), script("这是一张图片，里面有一辆红色的公共汽车"), script("B")
    ('LATIN', 'CJK', '')
    """
    start = text[:400]
    latin = len(_LATIN.findall(start))
    if start.isascii():
        return "LATIN" if latin >= least else ""
    letters = (character for character in start if not character.isascii() and character.isalpha())
    names = (unicodedata.name(character, "?").split()[0] for character in letters)
    found = Counter({"LATIN": latin})
    found.update(_JAPANESE.get(name, name) for name in names)
    if found.total() < least:
        return ""
    return found.most_common(1)[0][0]


def _question(prompt: Any) -> str:
    """The text of the last turn, or the end of a plain prompt."""
    if isinstance(prompt, str):
        return prompt[-400:]
    if not prompt:
        return ""
    return " ".join(str(part["text"]) for part in prompt[-1]["content"] if part.get("type") == "text")
