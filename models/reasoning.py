"""Token ids into reasoning and answer.

A tokenizer with a mark of its own for `</think>` tells the mark from a text that quotes it, and its special tokens are still
there: decoding without them (`skip_special_tokens`) would delete the marks of Gemma, Magistral, gpt-oss or Cohere together with
the padding.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from mm_eval.values.errors import ModelError
from mm_eval.values.reasoning.families import (
    CALL_MARKS,
    FAMILIES,
    FRAME_TOKENS,
    LIKE_REASONING,
    NO_MARKS,
    OPENS_HINT,
    Marks,
    marks_in_template,
    opened_by,
    what_opens,
)
from mm_eval.values.reasoning.split import Parts, Span, cut_at, split

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

_LIKE_REASONING = re.compile(LIKE_REASONING, re.IGNORECASE)
_CALL_MARK = re.compile(CALL_MARKS)


@dataclass(frozen=True)
class Reply:
    """What a model wrote after a prompt.

    answer: without its reasoning, before the first stop string. With a reasoning that never closed, all of the text, the mark
        that the prompt ended with in front.
    reasoning: what was cut; empty if the tokens hold none although the text spells marks; None if the text holds none either.
    stopped: a stop string ended the answer. is_open: the reasoning never closed.
    """

    answer: str
    reasoning: str | None = None
    stopped: bool = False
    is_open: bool = False


class TokenReader:
    """Reads the token ids that one model writes.

    template: its chat template, whose marks count as well. marks: those that the user states.
    end: the id of the token, or the text, that ends its reasoning (`think_end_token`).
    """

    def __init__(
        self,
        tokenizer: PreTrainedTokenizerBase,
        template: str = "",
        marks: Marks = NO_MARKS,
        end: str | int | None = None,
    ) -> None:
        self.tokenizer = tokenizer
        pairs = list(marks_in_template(template))
        if isinstance(end, int):
            end = str(tokenizer.decode([end], skip_special_tokens=False))
        if end:
            pairs.append(("", end))
        self.marks = marks.plus(pairs)
        known: Mapping[int, object] = getattr(tokenizer, "added_tokens_decoder", None) or {}
        texts = {int(token): str(getattr(added, "content", added)) for token, added in known.items()}
        kept = {*FRAME_TOKENS, *(each for pair in self.marks.pairs for each in pair)}
        for family in FAMILIES:
            if set(family.tokens[:2]) <= set(texts.values()):
                kept.update(family.tokens)
        self.tokens = {} if marks.off else {token: text for token, text in texts.items() if self._is_mark(text, kept)}
        kinds = {token: self.marks.anywhere.fullmatch(text) for token, text in self.tokens.items()}
        self._opening = {token for token, found in kinds.items() if found is not None and found["opening"]}
        self._closing = {token for token, found in kinds.items() if found is not None and found["closing"]}
        self._spelled = re.compile("|".join(map(re.escape, sorted(self.tokens.values(), key=len, reverse=True))))

    def _is_mark(self, text: str, kept: set[str]) -> bool:
        found = self.marks.anywhere.fullmatch(text) or _CALL_MARK.fullmatch(text)
        return text in kept or found is not None or _LIKE_REASONING.search(text) is not None

    @property
    def thinks(self) -> bool:
        """Whether the model has tokens or a template for reasoning."""
        return bool(self.marks.pairs or self._closing)

    def opened(self, prompt: str) -> str:
        """The opening mark that a prompt ends with, with what follows it; empty if it ends outside a reasoning.

        >>> TokenReader(tokenizer).opened("<|im_start|>assistant\\n<think>\\n")  # doctest: +SKIP
        '<think>\\n'
        """
        return opened_by(prompt, self.marks)

    def check_scored(self, prompt: str) -> None:
        """ModelError for a chat's prompt that ends inside a reasoning: what follows it is no option."""
        if mark := self.opened(prompt).strip():
            raise ModelError(what_opens(mark, "the chat template"), hint=OPENS_HINT)

    def read(
        self,
        ids: Sequence[int],
        opened: str = "",
        until: Sequence[str] = (),
        *,
        chat: bool = True,
        capped: bool = False,
    ) -> Reply:
        """The reply in token ids. opened: `opened` of the prompt. capped: the token cap ended them.

        chat: leading white space is not an answer yet, so no stop string is looked for in it. In a plain text it is:
            its continuation may begin with the string that ends it.
        """
        text, quoted, certain = self._text(ids)
        parts = self._split(text, opened, quoted, certain, capped)
        if not parts.closed:
            whole = opened + text
            if split(whole, self.marks, capped=capped).closed:  # it quotes a closing mark
                return Reply(_first_mark(whole, self.marks), whole, is_open=True)
            return Reply(whole, is_open=True)
        answer, stopped = cut_at(parts.answer, until, skips_lead=chat or parts.cut)
        if parts.cut:
            return Reply(answer, parts.reasoning, stopped)
        misread = not self.marks.off and split(answer, self.marks, capped=capped and not stopped) != Parts("", answer)
        return Reply(answer, "" if misread else None, stopped)

    def stops(self, ids: Sequence[int], opened: str, until: Sequence[str], *, chat: bool = True) -> bool:
        """Whether a stop string ends the answer so far; one inside the reasoning does not."""
        by_token = any(self.tokens[token] == opened.strip() for token in self._opening)
        if (by_token or not self._opening.isdisjoint(ids)) and self._closing.isdisjoint(ids):
            return False  # read from the ids alone: a long reasoning need not be decoded at each of its stop strings
        text, quoted, certain = self._text(ids)
        parts = self._split(text, opened, quoted, certain, capped=True)
        return parts.closed and cut_at(parts.answer, until, skips_lead=chat or parts.cut)[1]

    def _split(self, text: str, opened: str, quoted: Sequence[Span], certain: Sequence[int], capped: bool) -> Parts:
        moved = len(opened)
        return split(
            opened + text,
            self.marks,
            capped=capped,
            quoted=[(start + moved, end + moved) for start, end in quoted],
            certain=[*([0] if opened else []), *(place + moved for place in certain)],
        )

    def _text(self, ids: Sequence[int]) -> tuple[str, list[Span], list[int]]:
        """The decoded text with its marks and without other special tokens; where it quotes marks; where its marks begin."""
        pieces: list[str] = []
        quoted: list[Span] = []
        certain: list[int] = []
        length = start = 0
        for place in [*(n for n, token in enumerate(ids) if token in self.tokens), len(ids)]:
            if start < place:
                piece = str(self.tokenizer.decode(list(ids[start:place]), skip_special_tokens=True))
                if self.tokens:
                    quoted += [(length + m.start(), length + m.end()) for m in self._spelled.finditer(piece)]
                pieces.append(piece)
                length += len(piece)
            if place < len(ids):
                certain.append(length)
                pieces.append(self.tokens[ids[place]])
                length += len(pieces[-1])
            start = place + 1
        return "".join(pieces), quoted, certain


def _first_mark(text: str, marks: Marks) -> str:
    found = next((match for match in marks.anywhere.finditer(text) if match["opening"]), None)
    return found[0] if found else text
