"""Columns that a config names."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from mm_eval.catalog.config import TaskConfig
from mm_eval.catalog.formats import FormatField
from mm_eval.catalog.located import located
from mm_eval.errors import ConfigError, DataError, MMEvalError, RowError, did_you_mean
from mm_eval.task.blocks import PromptBlock, call
from mm_eval.task.template import render
from mm_eval.types import Doc, Target, plain


def require_column(doc: Doc, column: str, what: str, where: str) -> Any:
    """doc[column]; DataError that names the columns there are."""
    if column not in doc:
        raise DataError(
            f"{what} names the column {column!r}, which the doc lacks.", where=where, hint=did_you_mean(column, doc)
        )
    return doc[column]


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


@dataclass(frozen=True)
class Question:
    """What a doc says.

    text: the question. target: the right answer, an index (or several) in multiple choice. choices: None where there are none.
    answer: the right answer as an example shows it. prefix: how the answer begins.
    contexts: one text a choice where these are what differs and `answer` is scored after each (winogrande); `text` is
        then the right one of them.
    """

    text: str
    target: Target
    choices: list[str] | None
    answer: str
    prefix: str = ""
    contexts: list[str] | None = None


def question_of(
    config: TaskConfig, doc: Doc, block: PromptBlock, where: str, shown: Mapping[str, Any] | None = None
) -> Question:
    """The question of a doc.

    shown: the `fewshot_config`, for an example: what it states holds instead of the config's own; null states nothing, but for
        gen_prefix, where it means none.
    """
    shown = shown or {}

    def entry(name: str) -> Any:
        return getattr(config, name) if shown.get(name) is None else shown[name]

    def written(name: str) -> Callable[[], str]:
        field = entry(name) if name != "gen_prefix" else None
        if isinstance(field, FormatField) and (field.format.question or field.format.choices or field.format.answer):
            name = "formats"
        return partial(config.where if shown.get(name) is None else located(shown).where, name)

    def value(name: str) -> Any:
        if entry(name) is None:
            return None
        spaced = name == "doc_to_text"
        return evaluate_field(entry(name), doc, block, what=name, where=where, spaced=spaced, written=written(name))

    text = "" if entry("doc_to_text") is None else value("doc_to_text")
    target = None if _is_unused(config, entry("doc_to_target"), doc) else value("doc_to_target")
    choices = _choices(entry("doc_to_choice"), doc, block, where, written("doc_to_choice"))
    prefix = shown.get("gen_prefix", config.gen_prefix)
    prefix = (
        words_of(prefix, doc, block, what="gen_prefix", where=where, written=written("gen_prefix")) if prefix else ""
    )
    if config.output_type != "multiple_choice":
        if choices and config.output_type == "generate_until" and not isinstance(entry("doc_to_target"), FormatField):
            target = _chosen(target, choices, where)
        answer = str(target[0] if isinstance(target, list) and target else "" if target is None else target)
        return Question(as_text(text, "doc_to_text", where), target, choices, answer, prefix)
    if choices is None:
        raise ConfigError("multiple_choice needs doc_to_choice.", where=config.where("output_type"))
    if isinstance(text, (int, list)) and not isinstance(text, bool):
        return _of_contexts(text, target, choices, prefix, where)
    target = choice_index(target, choices, where)
    first = target[0] if isinstance(target, list) else target
    answer = choices[first] if first >= 0 else ""
    return Question(as_text(text, "doc_to_text", where), target, choices, answer, prefix)


def _chosen(target: Target, choices: list[str], where: str) -> Target:
    """The text that an index means, where an answer is written and the task lists what it may be (lm-eval's boolq-seq2seq)."""
    if isinstance(target, list):
        return [text for item in target if isinstance(text := _chosen(item, choices, where), str)]
    if not isinstance(target, int) or isinstance(target, bool):
        return target
    if not 0 <= target < len(choices):
        raise DataError(f"doc_to_target gave the index {target}, but there are {len(choices)} choices.", where=where)
    return choices[target]


def _is_unused(config: TaskConfig, target: Any, doc: Doc) -> bool:
    """Whether a target names a column that no doc has and nothing reads.

    lmms-eval's VQA tasks say `doc_to_target: "answer"` of docs with `answers`; their `process_results` reads those.
    """
    if config.process_results is None or config.output_type != "generate_until" or config.num_fewshot:
        return False
    return isinstance(target, str) and target.isidentifier() and target not in doc


def _of_contexts(text: int | list[Any], target: Target, choices: list[str], prefix: str, where: str) -> Question:
    """A question whose choices are what stands before one continuation, in either of lm-eval's two ways to write it.

    doc_to_text an index: doc_to_choice gives the texts, doc_to_target the continuation. doc_to_text a list: it gives the
    texts, doc_to_target the index, doc_to_choice the continuation alone.
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


def _choices(entry: Any, doc: Doc, block: PromptBlock, where: str, written: Callable[[], str]) -> list[str] | None:
    """The choices of a doc, None where the task or its format has none."""
    if isinstance(entry, FormatField):
        entry = evaluate_field(entry, doc, block, what="doc_to_choice", where=where, written=written)
    return None if entry is None else choices_of(entry, doc, block, where, written)
