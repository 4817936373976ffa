"""Special tokens in data are text: `<|im_end|>` in a question ends no turn, and `<image>` there is not a picture.

`DataText` keeps them out of the data of a chat in three steps:

    hide    before the chat template: puts marks in place of the special tokens in a message's text
    divide  after the template: puts one placeholder token in place of each stretch of text with marks
    spread  after the tokenizer: puts the ids of the stretches in place of the placeholders

A stretch reaches from one special token of the template to the next, where every tokenizer divides a text anyway. A copy of the
tokenizer without special tokens tokenises it as a whole, so that it gets the ids of a text that only looks special. Everything
else is tokenised as before: a prompt without special tokens in its data keeps its ids.
"""

from __future__ import annotations

import json
import re
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mm_eval.values.errors import ModelError

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase, ProcessorMixin

MARK = "\U0010fffd"
"""Begins a mark. The next character is the number of the special token. This character in data is replaced by a mark too."""
FIRST = 0x100000
_MARKED = re.compile(f"{MARK}(.)", re.DOTALL)


@dataclass(frozen=True)
class Stretch:
    """A stretch of text with special tokens from data. first: the prompt begins with it."""

    text: str
    first: bool


class DataText:
    """Keeps the special tokens of a tokenizer and its processor out of the data of chat messages.

    Create it before threads write prompts: it adds a token to the tokenizer.
    template: its Jinja source. Added tokens that are not declared special count as special if the template writes them.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, processor: ProcessorMixin | None, template: str) -> None:
        self.tokenizer = tokenizer
        added = getattr(tokenizer, "added_tokens_decoder", {}).values()
        own = {
            token.content
            for token in added
            if token.special or (_is_markup(token.content) and token.content in template)
        }
        written = {v for k, v in vars(processor).items() if k.endswith("_token")} if processor is not None else set()
        found = {str(token) for token in own | set(tokenizer.all_special_tokens) | written if isinstance(token, str)}
        special = sorted((token for token in found if token.strip() and len(token) > 1), key=lambda t: (-len(t), t))
        self.special = [MARK, *special]
        self._marks = {token: MARK + chr(FIRST + place) for place, token in enumerate(self.special)}
        self._in_data = re.compile("|".join(map(re.escape, self.special)))
        self._in_template = re.compile(f"({'|'.join(map(re.escape, special))})") if special else None
        self._flags = {token.content: (token.lstrip, token.rstrip) for token in added}
        self._placeholder = f"{MARK}{secrets.token_hex(8)}"
        self._placeholder_id = self._added(self._placeholder)

    def _added(self, token: str) -> int | None:
        """Adds a token to the tokenizer that is in no data. Returns its id; None if the tokenizer allows none.

        It is special, so that a model with more rows than its tokenizer has tokens does not write it into an answer.
        """
        from transformers import AddedToken

        try:
            self.tokenizer.add_tokens([AddedToken(token, normalized=False, special=True)])
        except (NotImplementedError, AttributeError, ValueError, TypeError):
            return None
        return int(self.tokenizer.convert_tokens_to_ids(token))

    def hide(self, text: str) -> str:
        """A text from data with a mark in place of each special token."""
        return self._in_data.sub(lambda found: self._marks[found.group()], text)

    def divide(self, text: str) -> tuple[str, list[Stretch]]:
        """A rendered prompt with a placeholder for each stretch that has marks, and the stretches in their original text."""
        if MARK not in text:
            return text, []
        pieces = self._in_template.split(text) if self._in_template else [text]
        stretches = []
        for place in range(0, len(pieces), 2):
            if MARK in pieces[place]:
                shown = _MARKED.sub(lambda found: self.special[ord(found[1]) - FIRST], pieces[place])
                if place > 0 and self._flags.get(pieces[place - 1], (False, False))[1]:
                    shown = shown.lstrip()
                if place + 1 < len(pieces) and self._flags.get(pieces[place + 1], (False, False))[0]:
                    shown = shown.rstrip()
                stretches.append(Stretch(shown, first=not any(pieces[:place])))
                pieces[place] = self._placeholder
        return "".join(pieces), stretches

    def spread(self, ids: Sequence[int], stretches: Sequence[Stretch]) -> tuple[list[int], list[int]]:
        """The ids with those of the stretches in place of the placeholders, and for each its place in the given ids."""
        if sum(token == self._placeholder_id for token in ids) != len(stretches):
            raise ModelError(
                "The question has special tokens, and this tokenizer can't read them as text.",
                hint="Remove them from the data.",
            )
        found, places = list[int](), list[int]()
        left: Iterator[Stretch] = iter(stretches)
        for place, token in enumerate(ids):
            some = self._ids(next(left)) if token == self._placeholder_id and stretches else [token]
            found += some
            places += [place] * len(some)
        return found, places

    def _ids(self, stretch: Stretch) -> list[int]:
        """The ids of a stretch, in which no token is special."""
        if self._plain is None:
            text = self.tokenizer(stretch.text, add_special_tokens=False, split_special_tokens=True)
            return [int(token) for token in text["input_ids"]]
        if stretch.first:
            return list(self._plain.encode(stretch.text, add_special_tokens=False).ids)
        # Some tokenizers treat a text after a special token differently from one at the beginning of a prompt.
        return list(self._plain.encode(self._placeholder + stretch.text, add_special_tokens=False).ids[1:])

    @cached_property
    def _plain(self) -> Any:
        """A copy of the tokenizer that reads special tokens as text; None for a tokenizer in pure Python."""
        backend = getattr(self.tokenizer, "backend_tokenizer", None)
        if backend is None:
            return None
        from tokenizers import Tokenizer

        stored = json.loads(backend.to_str())
        for token in stored["added_tokens"]:
            token["special"] = token["content"] != self._placeholder and (
                token["special"] or token["content"] in self._marks
            )
        copy = Tokenizer.from_str(json.dumps({**stored, "truncation": None, "padding": None}))
        copy.encode_special_tokens = True
        return copy


def _is_markup(token: str) -> bool:
    """Whether a token looks like markup of a template, not like text ("\\n\\n")."""
    return len(token) > 2 and token[0] in "<[" and token[-1] in ">]"
