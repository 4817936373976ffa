"""From a doc to the words of a question: columns, Jinja templates, functions, and the right answer among choices."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from mm_eval.catalog.formats import FormatField
from mm_eval.errors import ConfigError, DataError, MMEvalError, RowError, did_you_mean
from mm_eval.task.blocks import PromptBlock, call
from mm_eval.task.template import render
from mm_eval.types import Doc, Target, plain

_COLUMN = re.compile(r"[A-Za-z_]\w*\Z")


def evaluate_field(
    value: Any,
    doc: Doc,
    block: PromptBlock,
    *,
    what: str,
    where: str,
    spaced: bool = False,
    written: Callable[[], str] | None = None,
) -> Any:
    """What a `doc_to_*` entry says about one doc.

    value: a function, a column name, a Jinja template, a format's field, or a plain value.
    written: gives file:line of the entry, for a template that fails.
    spaced: white space around a template's one expression is part of the text.
    A text that could be a column name has to be one, so that a misspelt column is an error and never a prompt.
    A template that is one `{{ expression }}` gives the expression's own type: `{{choices.text}}` a list, `{{label}}` an int.
    Any other template gives text, also where that looks like a number or a list.
    Errors: DataError naming the doc when the column is missing or the function or template fails.
    """
    if isinstance(value, FormatField):
        return value.evaluate(
            doc,
            lambda entry, of_doc, name: evaluate_field(
                entry, dict(of_doc), block, what=name, where=where, written=written
            ),
            lambda entry: choices_of(entry, doc, block, where, written),
        )
    if callable(value):
        try:
            return plain(call(value, doc, block, second=what == "doc_to_text"))
        except (ConfigError, DataError) as error:
            raise error.located(where) from error
        except Exception as error:  # the task's own code
            raise DataError(f"{what} failed: {type(error).__name__}: {error}", where=where) from error
    if not isinstance(value, str):
        return value
    if value in doc:
        return doc[value]
    if _COLUMN.match(value):
        hint = did_you_mean(value, doc)
        raise DataError(f"{what} names the column {value!r}, which the doc lacks.", where=where, hint=hint)
    if "{{" not in value and "{%" not in value:
        return value
    try:
        return render(value, doc, what=what, where=where, spaced=spaced)
    except MMEvalError as error:
        error.where = f"{written()}: {where}" if written else where
        raise


def as_text(value: Any, what: str, where: str) -> str:
    """A value that has to be words."""
    if isinstance(value, (list, dict)) or value is None:
        raise DataError(f"{what} gave {type(value).__name__}, not text.", where=where)
    return str(value)


def words_of(
    value: Any, doc: Doc, block: PromptBlock, *, what: str, where: str, written: Callable[[], str] | None = None
) -> str:
    """A `description` or `gen_prefix` as text: a column, a template, a function, or, as one word may be too, plain words."""
    if isinstance(value, str) and value not in doc and "{{" not in value and "{%" not in value:
        return value
    found = evaluate_field(value, doc, block, what=what, where=where, spaced=True, written=written)
    return as_text(found, what, where)


def choices_of(
    value: Any, doc: Doc, block: PromptBlock, where: str, written: Callable[[], str] | None = None
) -> list[str]:
    """A `doc_to_choice` as texts: a list, a mapping's values, a column, a template or function that gives one of these."""
    choices = evaluate_field(value, doc, block, what="doc_to_choice", where=where, written=written)
    if isinstance(choices, str):
        try:
            choices = ast.literal_eval(choices.strip())
        except (ValueError, SyntaxError) as error:
            raise DataError(f"doc_to_choice gave the text {choices!r}, not a list.", where=where) from error
    if isinstance(choices, Mapping):
        choices = list(choices.values())
    if not isinstance(choices, (list, tuple)) or len(choices) == 0:
        raise DataError(f"doc_to_choice gave {choices!r}; a list with at least one choice is needed.", where=where)
    for number, choice in enumerate(choices):
        if choice is None or choice != choice:  # NaN, as pandas writes an empty cell
            what = f"doc_to_choice gave {choice!r} as choice {number} of {len(choices)}; each must have a text."
            raise RowError(
                what, where=where, hint="Leave empty options out in doc_to_choice, or the doc in process_docs."
            )
    return [str(choice) for choice in choices]


def choice_index(target: Target, choices: Sequence[str], where: str) -> int | list[int]:
    """The index of the right choice, or of all right ones when the target is a list.

    An int is an index (-100: no gold). A text is the one choice that equals it, else a single option letter; digits in a
    text are never an index. Anything else is a DataError.
    """
    if isinstance(target, list):
        return [index for item in target if isinstance(index := choice_index(item, choices, where), int)]
    if isinstance(target, bool) or not isinstance(target, (int, float, str)):
        raise DataError(f"doc_to_target gave {target!r}, which names no choice.", where=where)
    if isinstance(target, int):
        if target == -100 or 0 <= target < len(choices):
            return target
        raise DataError(f"doc_to_target gave the index {target}, but there are {len(choices)} choices.", where=where)
    if isinstance(target, float):
        raise DataError(f"doc_to_target gave the number {target!r}, which is no index.", where=where)
    equal = [index for index, choice in enumerate(choices) if choice == target]
    if len(equal) == 1:
        return equal[0]
    letter = target.strip()
    if not equal and len(letter) == 1 and letter.isascii() and letter.isalpha():
        index = ord(letter.upper()) - ord("A")
        if index < len(choices):
            return index
    count = "several choices" if equal else "no choice"
    hint = (
        "A text is never an index: write a template that is one {{ expression }} with an int."
        if letter.isdigit()
        else ""
    )
    raise DataError(
        f"doc_to_target gave {target!r}, which equals {count} of {list(choices)!r}.", where=where, hint=hint
    )
