"""From a doc to the words of a question: columns, Jinja templates, functions, and the right answer among choices."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

from mm_eval.catalog.formats import FormatField
from mm_eval.errors import ConfigError, DataError, RowError, did_you_mean
from mm_eval.task.blocks import PromptBlock, call
from mm_eval.types import Doc, Target

_COLUMN = re.compile(r"[A-Za-z_]\w*\Z")
_ONE_EXPRESSION = re.compile(r"(\s*)\{\{[-+]?(.+?)-?\}\}(\s*)\Z", re.DOTALL)


def evaluate_field(value: Any, doc: Doc, block: PromptBlock, *, what: str, where: str, spaced: bool = False) -> Any:
    """What a `doc_to_*` entry says about one doc.

    value: a function, a column name, a Jinja template, a format's field, or a plain value.
    spaced: white space around a template's one expression is part of the text.
    A text that could be a column name has to be one, so that a misspelt column is an error and never a prompt.
    A template that is one `{{ expression }}` gives the expression's own type: `{{choices.text}}` a list, `{{label}}` an int.
    Any other template gives text, also where that looks like a number or a list.
    Errors: DataError naming the doc when the column is missing or the function or template fails.
    """
    if isinstance(value, FormatField):
        return value.evaluate(
            doc,
            lambda entry, of_doc, name: evaluate_field(entry, dict(of_doc), block, what=name, where=where),
            lambda entry: choices_of(entry, doc, block, where),
        )
    if callable(value):
        try:
            return call(value, doc, block, second=what == "doc_to_text")
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
    return render(value, doc, what=what, where=where, spaced=spaced)


def render(template: str, doc: Doc, *, what: str = "template", where: str = "", spaced: bool = False) -> Any:
    """A Jinja template over a doc's columns, in a sandbox; an undefined name is an error.

    spaced: a value keeps its own type only where no white space stands around its expression; a text keeps that anyway.
    """
    import jinja2

    try:
        if match := _ONE_EXPRESSION.match(template):
            before, source, after = match.groups()
            expression = _expression(source)
            if expression is not None:
                value = expression(**doc)
                if isinstance(value, jinja2.Undefined):
                    return str(value)  # which raises what is undefined
                if not (before or after) or not (spaced or isinstance(value, str)):
                    return value
        return _template(template).render(**doc)
    except jinja2.TemplateSyntaxError as error:
        raise ConfigError(f"{what} is no valid Jinja template: {error.message}: {template!r}", where=where) from error
    except jinja2.exceptions.SecurityError as error:
        raise ConfigError(f"{what} reaches outside the sandbox: {error}: {template!r}", where=where) from error
    except jinja2.UndefinedError as error:
        raise DataError(f"{what}: {error}", where=where, hint=f"The doc has: {', '.join(sorted(doc))}.") from error
    except (TypeError, ValueError, LookupError, ArithmeticError) as error:
        raise DataError(f"{what} failed: {type(error).__name__}: {error}", where=where) from error


@lru_cache(maxsize=1)
def _environment() -> Any:
    from jinja2 import StrictUndefined
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(undefined=StrictUndefined, keep_trailing_newline=True)
    environment.filters["regex_replace"] = _regex_replace
    return environment


def _regex_replace(string: str, pattern: str, repl: str = "", count: int = 0) -> str:
    """lm-eval's filter of this name, with its argument names."""
    return re.sub(pattern, repl, string, count=count)


@lru_cache(maxsize=1024)
def _template(source: str) -> Any:
    template = _environment().from_string(source)
    template.globals = dict(template.globals)  # a ChainMap by default, which every rendering would copy key by key
    return template


@lru_cache(maxsize=1024)
def _expression(source: str) -> Any:
    """The expression compiled, or None where `source` is not a single expression ("a}} and {{b")."""
    import jinja2

    try:
        return _environment().compile_expression(source, undefined_to_none=False)
    except jinja2.TemplateSyntaxError:
        return None


def as_text(value: Any, what: str, where: str) -> str:
    """A value that has to be words."""
    if isinstance(value, (list, dict)) or value is None:
        raise DataError(f"{what} gave {type(value).__name__}, not text.", where=where)
    return str(value)


def words_of(value: Any, doc: Doc, block: PromptBlock, *, what: str, where: str) -> str:
    """A `description` or `gen_prefix` as text: a column, a template, a function, or, as one word may be too, plain words."""
    if isinstance(value, str) and value not in doc and "{{" not in value and "{%" not in value:
        return value
    return as_text(evaluate_field(value, doc, block, what=what, where=where, spaced=True), what, where)


def choices_of(value: Any, doc: Doc, block: PromptBlock, where: str) -> list[str]:
    """A `doc_to_choice` as texts: a list, a mapping's values, a column, a template or function that gives one of these."""
    choices = evaluate_field(value, doc, block, what="doc_to_choice", where=where)
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
    if isinstance(target, bool) or target is None:
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
