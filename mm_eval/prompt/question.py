"""What a doc says: its question, target and choices, from the `doc_to_*` entries of a config.

An entry is a function, a column's name, a Jinja template, a format's field, or a plain value.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from mm_eval.config.formats import FormatField
from mm_eval.config.located import located
from mm_eval.config.task_config import TaskConfig
from mm_eval.prompt.blocks import PromptBlock, call
from mm_eval.values.errors import ConfigError, DataError, DocError, MMEvalError, did_you_mean, kind_and_text
from mm_eval.values.files import python_value
from mm_eval.values.types import Doc, Fields, Target, plain

_COLUMN = re.compile(r"[A-Za-z_]\w*\Z")


class Question(NamedTuple):
    """What a doc says.

    text: the question. target: the right answer; in multiple choice an index, or several. choices: None if there are none.
    answer: the right answer as an example shows it. prefix: the text that begins the answer.
    contexts: one text for each choice if these differ and `answer` is scored after each (winogrande); `text` is then the right
        one of them.
    option_texts: what a format shows behind its labels; None where `choices` are the texts themselves.
    """

    text: str
    target: Target
    choices: list[str] | None
    answer: str
    prefix: str = ""
    contexts: list[str] | None = None
    option_texts: list[str] | None = None


def question_of(config: TaskConfig, doc: Doc, block: PromptBlock, where: str, shown: Fields | None = None) -> Question:
    """The question of a doc.

    shown: for an example, the `fewshot_config`, whose entries come before those of the config. Null means not stated, except for
        gen_prefix, where it means none.
    """
    shown = shown or {}

    def entry(name: str) -> Any:
        return getattr(config, name) if shown.get(name) is None else shown[name]

    def place_of(name: str) -> str:
        field = entry(name) if name != "gen_prefix" else None
        if isinstance(field, FormatField) and (field.format.question or field.format.choices or field.format.answer):
            name = "formats"
        return config.where(name) if shown.get(name) is None else located(shown).where(name)

    def value(name: str, stated: object) -> Any:
        spaced = name == "doc_to_text"
        return evaluate_field(stated, doc, block, what=name, where=where, spaced=spaced, place=partial(place_of, name))

    stated_text, stated_target, stated_choices = entry("doc_to_text"), entry("doc_to_target"), entry("doc_to_choice")
    text = "" if stated_text is None else value("doc_to_text", stated_text)
    unused = stated_target is None or is_unused(config, stated_target, doc)
    target = None if unused else value("doc_to_target", stated_target)
    choices = None
    if stated_choices is not None:
        choices = choices_of(stated_choices, doc, block, where, partial(place_of, "doc_to_choice"))
    prefix = shown.get("gen_prefix", config.gen_prefix) or ""
    if prefix:
        prefix = text_of(prefix, doc, block, what="gen_prefix", where=where, place=partial(place_of, "gen_prefix"))

    if config.output_type != "multiple_choice":
        if choices and config.output_type == "generate_until" and not isinstance(stated_target, FormatField):
            target = _choice_texts(target, choices, where)
        answer = str(target[0] if isinstance(target, list) and target else "" if target is None else target)
        texts = None
        if isinstance(stated_choices, FormatField) and stated_choices.format.choice_labels:
            entries = replace(stated_choices, part="texts")
            texts = choices_of(entries, doc, block, where, partial(place_of, "doc_to_choice"))
        return Question(_as_text(text, "doc_to_text", where), target, choices, answer, prefix, option_texts=texts)
    if choices is None:
        raise ConfigError("multiple_choice needs doc_to_choice.", where=config.where("output_type"))
    if isinstance(text, (int, list)) and not isinstance(text, bool):
        return _of_contexts(text, target, choices, prefix, where)
    target = choice_index(target, choices, where)
    first = target[0] if isinstance(target, list) else target
    answer = choices[first] if first >= 0 else ""
    return Question(_as_text(text, "doc_to_text", where), target, choices, answer, prefix)


def changes_no_doc(config: TaskConfig, examples: bool = False) -> bool:
    """Whether a doc may be kept after it was asked: no function of others gets it, which may change it for its next reader.

    examples: of few-shot examples, whose functions `fewshot_config` may state.
    """
    entries = [config.doc_to_text, config.doc_to_target, config.doc_to_choice, config.gen_prefix]
    entries += config.fewshot_config.values() if examples else ()
    own = config.task_class or any(callable(entry) or isinstance(entry, FormatField) for entry in entries)
    return config.is_shipped or not own


QUESTION, TEXT = 400, 60
"""Bytes of a question that is kept, beside its texts, and of a text beside its characters."""


@dataclass
class Room:
    """What the questions that are kept may take, of all tasks of a run together. left: bytes."""

    left: int = 64_000_000


class Questions:
    """The questions of a task's docs, written once: the digest of a run, asking and scoring go over the same docs.

    Scoring comes last and forgets them, since it fills the memory with the scores.

    write: writes one. keeps: whether they are kept; where the room is used up, further ones are written again, too.
    """

    def __init__(
        self, write: Callable[[Doc, PromptBlock, str], Question], keeps: bool, room: Room | None = None
    ) -> None:
        self._write, self._keeps, self.room = write, keeps, room or Room()
        self._known: dict[tuple[int, str], Question] = {}

    def forget(self, doc_id: int, block: PromptBlock) -> None:
        """Frees the question of a doc. No further one is kept in its place: nearly all docs have been written by then."""
        self._known.pop((doc_id, block.cache_key), None)

    def of(self, doc_id: int, doc: Doc, block: PromptBlock, where: str) -> Question:
        """The question of a doc; its lists are the caller's."""
        key = doc_id, block.cache_key
        if (found := self._known.get(key)) is None:
            found = self._write(doc, block, where)
            if self._keeps and self.room.left > 0:
                self._known[key] = found
                texts = (found.text, *(found.choices or ()), *(found.contexts or ()), *(found.option_texts or ()))
                self.room.left -= QUESTION + sum(TEXT + len(text) for text in texts)
        if found.choices is None and not isinstance(found.target, list):
            return found
        target = [*found.target] if isinstance(found.target, list) else found.target
        choices = None if found.choices is None else [*found.choices]
        return found._replace(target=target, choices=choices)


def is_unused(config: TaskConfig, target: object, doc: Doc) -> bool:
    """Whether a target names a missing column that nothing reads.

    lmms-eval's VQA tasks state `doc_to_target: "answer"` for docs with `answers`, which their `process_results` reads.
    """
    if config.process_results is None or config.output_type != "generate_until" or config.num_fewshot:
        return False
    return isinstance(target, str) and target.isidentifier() and target not in doc


def _choice_texts(target: Target, choices: list[str], where: str) -> Target:
    """The texts of the choices that a target names by index: the answers to generate (lm-eval's boolq-seq2seq)."""
    if isinstance(target, list):
        return [text for item in target if isinstance(text := _choice_texts(item, choices, where), str)]
    if not isinstance(target, int) or isinstance(target, bool):
        return target
    if not 0 <= target < len(choices):
        raise DataError(f"doc_to_target gave the index {target}, but there are {len(choices)} choices.", where=where)
    return choices[target]


def _of_contexts(text: int | list[object], target: Target, choices: list[str], prefix: str, where: str) -> Question:
    """A question whose choices are texts before one continuation. lm-eval has two ways to state it:

    doc_to_text gives an index, doc_to_choice the texts, doc_to_target the continuation; or doc_to_text gives the texts,
    doc_to_target the index, doc_to_choice a list of the one continuation.
    """
    if isinstance(text, int):
        if not 0 <= text < len(choices):
            raise DataError(f"doc_to_text gave the index {text}, but there are {len(choices)} choices.", where=where)
        return Question(choices[text], text, choices, str(target), prefix, choices)
    contexts = [str(context) for context in text]
    if len(choices) != 1:
        what = f"doc_to_text gave {len(contexts)} texts and doc_to_choice {len(choices)} continuations; one is needed."
        raise DataError(what, where=where)
    index = choice_index(target, contexts, where)
    if not isinstance(index, int) or index < 0:
        raise DataError(f"doc_to_target gave {target!r}, which names none of the texts.", where=where)
    return Question(contexts[index], index, contexts, choices[0], prefix, contexts)


def choice_index(target: Target, choices: Sequence[str], where: str) -> int | list[int]:
    """The index of the right choice; a list of all right ones if the target is a list.

    An int is an index (-100: none is right). A text is the one choice equal to it, else a single option letter; digits in a text
    are never an index. Anything else is a DataError.
    """
    if isinstance(target, list):
        return [index for item in target if isinstance(index := choice_index(item, choices, where), int)]
    if isinstance(target, bool) or not isinstance(target, (int, str)):
        what = f"doc_to_target gave {target!r}; expected an integer choice index or the text of a choice."
        hint = "Write {{ COLUMN | int }}: the index 1 for True." if isinstance(target, bool) else ""
        raise DataError(what, where=where, hint=hint)
    if isinstance(target, int):
        if target == -100 or 0 <= target < len(choices):
            return target
        named = str(target) in choices
        hint = (
            "If it means the choice with this text, write doc_to_target as a text: {{ COLUMN | string }}."
            if named
            else ""
        )
        what = f"doc_to_target gave the index {target}, but there are {len(choices)} choices."
        raise DataError(what, where=where, hint=hint)
    equal = [index for index, choice in enumerate(choices) if choice == target]
    if len(equal) == 1:
        return equal[0]
    letter = target.strip()
    if not equal and len(letter) == 1 and letter.isascii() and letter.isalpha():
        index = ord(letter.upper()) - ord("A")
        if index < len(choices):
            return index
    count = "several choices" if equal else "no choice"
    hint = "A text is never an index: write a template that is one {{ expression }} with an int."
    raise DataError(
        f"doc_to_target gave {target!r}, which equals {count} of {list(choices)!r}.",
        where=where,
        hint=hint if letter.isdigit() else "",
    )


def choices_of(
    value: object, doc: Doc, block: PromptBlock, where: str, place: Callable[[], str] | None = None
) -> list[str]:
    """A `doc_to_choice` as texts. It gives a list, a mapping, whose values are taken, or a text that is a Python list."""
    choices = evaluate_field(value, doc, block, what="doc_to_choice", where=where, place=place)
    if isinstance(choices, str):
        try:
            choices = python_value(choices.strip())
        except (ValueError, SyntaxError) as error:
            raise DataError(f"doc_to_choice gave the text {choices!r}; expected a list.", where=where) from error
    if isinstance(choices, Mapping):
        choices = list(choices.values())
    if not isinstance(choices, (list, tuple)) or len(choices) == 0:
        raise DataError(f"doc_to_choice gave {choices!r}; expected a list with at least one choice.", where=where)
    for number, choice in enumerate(choices):
        if choice is None or choice != choice:  # NaN: pandas writes it for an empty cell
            what = f"doc_to_choice gave {choice!r} as choice {number} of {len(choices)}; each must have a text."
            raise DocError(
                what, where=where, hint="Leave empty options out in doc_to_choice, or the document in process_docs."
            )
    return [str(choice) for choice in choices]


def text_of(
    value: object, doc: Doc, block: PromptBlock, *, what: str, where: str, place: Callable[[], str] | None = None
) -> str:
    """A `description` or `gen_prefix` as text. Unlike other entries, a single word that is not a column is plain text."""
    if isinstance(value, str) and value not in doc and "{{" not in value and "{%" not in value:
        return value
    found = evaluate_field(value, doc, block, what=what, where=where, spaced=True, place=place)
    return _as_text(found, what, where)


def _as_text(value: object, what: str, where: str) -> str:
    if isinstance(value, (list, dict)) or value is None:
        raise DataError(f"{what} gave {type(value).__name__}; expected text.", where=where)
    return str(value)


def evaluate_field(
    value: object,
    doc: Doc,
    block: PromptBlock,
    *,
    what: str,
    where: str,
    spaced: bool = False,
    place: Callable[[], str] | None = None,
) -> object:
    """The value of an entry for one doc.

    place: returns file:line of the entry, for a template that fails.
    spaced: white space around a template's one expression is part of the text.
    A template reads the columns of the doc and the keys of the prompt block; `pre_prompt` and `post_prompt` are always there.
    A text that looks like a column's name must be one, so that a misspelt column is an error and never a prompt.
    A template that is one `{{ expression }}` keeps the expression's type: `{{choices.text}}` is a list, `{{label}}` an int.
    Any other template gives text, even if that looks like a number or a list.
    Errors: DataError naming the doc if the column is missing or the function or template fails.
    """
    if isinstance(value, FormatField):
        block = block.without_texts()
        try:
            return value.evaluate(
                doc,
                lambda entry, of_doc, name: evaluate_field(
                    entry, dict(of_doc), block, what=name, where=where, place=place
                ),
                lambda entry: choices_of(entry, doc, block, where, place),
            )
        except DataError as error:
            raise error.located(f"{place()}: {where}" if place else where) from error
    if callable(value):
        try:
            return plain(call(value, doc, block, second=what == "doc_to_text"))
        except (ConfigError, DataError) as error:
            raise error.located(where) from error
        except Exception as error:  # the task's own code
            said, hint = f"{what} failed: {kind_and_text(error)}", lacking(error, doc)
            raise DataError(f"{said}." if hint else said, where=where, hint=hint) from error
    if not isinstance(value, str):
        return value
    if value in doc or _COLUMN.match(value):
        return require_column(doc, value, what, where)
    if "{{" not in value and "{%" not in value:
        return value
    from mm_eval.prompt.template import render  # jinja2 is imported where there is a template

    try:
        return render(value, doc, what=what, where=where, spaced=spaced, keywords=block.for_template())
    except MMEvalError as error:
        error.where = f"{place()}: {where}" if place else where
        raise


def lacking(error: Exception, doc: Doc) -> str:
    """A hint with the columns of a doc where code failed because it lacks one; empty for any other error."""
    if not isinstance(error, KeyError) or not error.args or not isinstance(error.args[0], str) or error.args[0] in doc:
        return ""
    near = did_you_mean(error.args[0], doc)
    guess = f"{near} " if near.startswith("Did you mean") else ""
    return f"{guess}The document has: {', '.join(sorted(map(str, doc)))}."


def require_column(doc: Doc, column: str, what: str, where: str) -> Any:
    """doc[column]; a DataError with a suggestion if the doc lacks it."""
    if column not in doc:
        raise DataError(
            f"{what} names the column {column!r}, which the document lacks.",
            where=where,
            hint=did_you_mean(column, doc),
        )
    return doc[column]
