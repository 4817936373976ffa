"""Text of data, task files, models and run folders, made safe for the place where it is shown.

One function for each kind of output: `in_line` and `terminal_safe` for a terminal, `json_safe` for JSON on a terminal, `html`
and `in_script` for a page, `href` for a link in a page, `markdown`, `latex` and `csv_cell` for a table in that format.
Text is kept as it is until it is written, and is escaped once, there.
"""

from __future__ import annotations

import json
import math
import re
import unicodedata
from collections.abc import Mapping
from pathlib import Path

from mm_eval.values.files import encoder

_NAMED = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}
_OPTIONS: dict[str, object] = {"ensure_ascii": False, "separators": (",", ":"), "default": str, "allow_nan": False}
_encode = encoder(**_OPTIONS)


def shown(character: str) -> bool:
    """Whether a character has a glyph or is a space: no control, direction mark, zero-width or unpaired one."""
    return character.isprintable() or unicodedata.category(character) == "Zs"


def terminal_safe(text: str) -> str:
    """Text without characters that control a terminal or reorder a line; line breaks are kept.

    >>> terminal_safe("a\\x1b[2J\\u202eb")
    'a\\\\x1b[2J\\\\u202eb'
    """
    if text.replace("\n", "").isprintable():
        return text
    return "".join(c if c == "\n" or shown(c) else _escape(c) for c in text)


def in_line(text: object, most: int | None = None) -> str:
    """`terminal_safe` text in one line, so that no name can add a row to a table or a line to a message.

    most: the largest number of characters; longer text is cut in the middle.
    """
    said = terminal_safe(str(text)).replace("\n", "\\n")
    if most is None or len(said) <= most:
        return said
    return f"{said[: most - most // 3 - 5]} ... {said[len(said) - most // 3 :]}"


def _escape(character: str) -> str:
    number = ord(character)
    wide = f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"
    return _NAMED.get(character) or (f"\\x{number:02x}" if number < 0x100 else wide)


def json_safe(text: str) -> str:
    """A JSON document in which characters that control a terminal are JSON escapes; its value is the same."""
    if (text.isascii() and "\x7f" not in text) or text.isprintable():  # JSON has escaped all other ones of ASCII
        return text
    return "".join(c if c == "\n" or shown(c) else json.dumps(c)[1:-1] for c in text.replace("\x7f", "\\u007f"))


def html(text: object) -> str:
    """Text for an element or a quoted attribute of HTML."""
    escaped = in_line(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return escaped.replace('"', "&quot;").replace("'", "&#39;")


def in_script(value: object) -> str:
    """JSON for a script element: nothing in it can end the element, open a comment or reorder the file's text.

    Numbers that JSON lacks (NaN, infinity) become text.
    """
    try:
        text = _encode(value)
    except ValueError:
        text = _encode(_finite(value))
    return json_safe(text).replace("<", "\\u003c")


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item) for item in value]
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def href(path: Path) -> str:
    """A relative path as the address of a link, escaped so that no part is read as a scheme, a query or a fragment."""
    from urllib.parse import quote

    return quote(path.as_posix().encode(errors="surrogateescape"))


def markdown(text: object) -> str:
    """Text for a cell or a paragraph of GitHub's Markdown, in which nothing is read as markup, formula, HTML or mention."""
    escaped = re.sub(r"([\\|*`\[\]])", r"\\\1", in_line(_one_space(text)))
    for pair in "~$":  # a single one is literal
        escaped = escaped.replace(pair, f"\\{pair}") if escaped.count(pair) > 1 else escaped
    escaped = escaped.replace("&", "&amp;").replace("<", "&lt;")
    escaped = re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", escaped)
    escaped = re.sub(r"(?<!\w)@(?=\w)", "&#64;", escaped)
    escaped = re.sub(r"^(>|[#+=-](?=[\s#+=-]|$))", r"\\\1", escaped)
    return re.sub(r"^(\d+)([.)])(?=\s|$)", r"\1\\\2", escaped)  # "1." would start a list


_LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "|": r"\textbar{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    '"': r"\textquotedbl{}",
    "`": r"\textasciigrave{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}


def latex(text: object) -> str:
    """Text for a cell of a tabular."""
    escaped = "".join(_LATEX.get(character, character) for character in in_line(_one_space(text)))
    escaped = re.sub(r"^([\[*])", r"{\1}", escaped)  # at the start of a row it would be an argument of the preceding \\
    return re.sub("-(?=-)", "-{}", escaped)  # two hyphens would make a dash


def latex_comment(text: object) -> str:
    """A comment line of LaTeX."""
    return f"% {in_line(_one_space(text))}"


_FORMULA = re.compile(r"(^|[;\t])(\s*)(?=[=+\-@＝＋－＠])")


def csv_cell(text: object) -> str:
    """Text that no spreadsheet reads as a formula, not even one that separates cells at semicolons."""
    return _FORMULA.sub(r"\1'\2", in_line(_one_space(text)))


def _one_space(text: object) -> str:
    return " ".join(str(text).split())
