"""The options of a multiple-choice doc: which exist, under which letters, and the prompt text that lists them."""

from __future__ import annotations

import re
import string
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.values.errors import DataError, did_you_mean
from mm_eval.values.files import python_value
from mm_eval.values.types import Doc

_CHINESE = re.compile(r"[\u4e00-\u9fff]")


def is_missing(text: object) -> bool:
    """Whether an option or a hint does not exist: None, NaN, blank, or the text "nan" (as MMBench's rows have it)."""
    return text is None or text != text or str(text).strip() in ("", "nan")


def lettered(options: Sequence[object] | Mapping[str, object], form: str = "{letter}. {option}") -> str:
    """The options that exist as lines "A. dog"; each keeps the letter of its place.

    >>> lettered(["dog", None, "cat"])
    'A. dog\\nC. cat'
    """
    return "\n".join(form.format(letter=letter, option=text) for letter, text in by_letter(options).items())


def texts_of(values: Any) -> list[str]:
    """The texts of a list, or of a string that holds a Python list; none for None and a blank string."""
    if isinstance(values, str):
        values = as_list(values, "options") if values.strip() else []
    return ["" if text is None else str(text) for text in values or ()]


def by_letter(options: Sequence[object] | Mapping[str, object]) -> dict[str, str]:
    """{letter: text} of the options that exist. options: a list in order of the letters, which may be a Python list as text,
    or a mapping by letter.
    """
    options = texts_of(options) if isinstance(options, str) else options
    items = (
        options.items() if isinstance(options, Mapping) else zip(string.ascii_uppercase, options, strict=False)
    )  # more than 26 options have no letters
    return {letter: str(text) for letter, text in items if not is_missing(text)}


def options_of(doc: Doc, choices: str | Sequence[str], where: str) -> dict[str, str]:
    """{letter: text} of the options that exist in a doc.

    choices: the field with the list of texts (which may be a Python list as text), or one field per option in order.
    where: the filter or task, for errors. Raises DataError for a missing field and for a field that has no list.
    """
    fields = [choices] if isinstance(choices, str) else list(choices)
    missing = [field for field in fields if field not in doc]
    if missing:
        raise DataError(
            f"{where}: the document has no field {missing[0]!r}.", hint=did_you_mean(missing[0], map(str, doc))
        )
    if len(fields) > 1:
        return by_letter([doc[field] for field in fields])
    values = doc[fields[0]]
    if isinstance(values, Mapping):
        values = values.get("text", list(values.values()))
    return by_letter(as_list(values, where))


def question_with_options(
    question: str, options: Sequence[object] | Mapping[str, object], block: Mapping[str, str], hint: object = None
) -> str:
    """The prompt of a question: hint, question, lettered options and instruction, a line each.

    block: the texts around them: `hint` and `pre_prompt` come before the hint and the question, `options` before the options;
        `post_prompt` ends the prompt, or `post_prompt_chinese` if there is one and the text has Chinese characters.
        `no_hint` replaces a missing hint; without it the line is left out.
    """
    before_hint, before, before_options, end = (
        block.get(key, "") for key in ("hint", "pre_prompt", "options", "post_prompt")
    )
    chinese, no_hint = block.get("post_prompt_chinese", end), block.get("no_hint", "")
    shown = no_hint if is_missing(hint) else hint
    text = f"{before_hint}{shown}\n" if shown else ""
    text += f"{before}{question}\n"
    if listed := lettered(options):
        text += f"{before_options}{listed}\n"
    return text + (chinese if _CHINESE.search(text) else end)


def as_list(values: object, where: str) -> list[object]:
    """The option texts of one field, which may contain the list as text (as in MMMU). Raises DataError for any other value.

    where: the filter or task, for the error.
    """
    if isinstance(values, str):
        try:
            values = python_value(values)
        except (ValueError, SyntaxError):
            values = None
    if not isinstance(values, (list, tuple)):
        raise DataError(f"{where}: the field of the choices must be a list, not {values!r:.80}.")
    return list(values)
