"""What OmniDocBench 1.5 compares of a text and of a formula.

Source: utils/data_preprocess.py of github.com/opendatalab/OmniDocBench, v1.5 (through the fork pichiu/OmniDocBench at 7bd6c2e).
"""

import re
from functools import lru_cache

from .latex_text import as_text

INLINE = re.compile(r"\$(.*?)\$|\\\((.*?)\\\)")
ALONE = re.compile(r"\\\[(.+?)(?<!\\)\\\]")
LEFT_OUT = [
    re.compile(pattern)
    for pattern in (r"\\tag\{.*?\}", r"\\hspace\{.*?\}", r"\\begin\{.*?\}", r"\\end\{.*?\}", r"\\arraycolsep.*?\}")
]
FONTS = (
    r"\mathbf \mathrm \mathnormal \mathit \mathbb \mathcal \mathscr \mathfrak \mathsf \mathtt \textbf \text \boldmath"
)
FONTS += r" \boldsymbol \operatorname \bm \symbfit \mathbfcal \symbf \scriptscriptstyle \notag \setlength \coloneqq"
BLANKS = r"\space \thickspace \thinspace \medspace \nobreakspace \negmedspace \quad \qquad \enspace \substackw"
STYLES = [*FONTS.split(), *BLANKS.split(), " ", "$$", r"\left", r"\right", r"\displaystyle", r"\text"]
"""Left out of a formula wherever they stand, one after the other: `\\leftarrow` becomes `arrow`."""
MARKS = ("\\t", "\\n", "\t", "\n", "/t", "/n")
"""Left out of a text, as if each were a tab or a line break: a/n is a."""


@lru_cache(maxsize=4096)
def plain_text(text: str) -> str:
    """The letters, digits and underscores of a text, in which a formula with commands or indices is what it looks like."""
    parts, at = list[str](), 0
    for match in INLINE.finditer(text):
        formula = re.sub(r"\\([\\_&%^])", "", match[1] if match[1] is not None else match[2])
        if any(character in formula for character in r"\^_"):
            shown = as_text(formula + " " if formula.endswith("\\") else formula)
            if shown is not None:
                parts += [text[at : match.start()], shown.strip()]
                at = match.end()
    return letters("".join([*parts, text[at:]]))


def letters(text: str) -> str:
    """The letters, digits and underscores of a text."""
    for mark in MARKS:
        text = text.replace(mark, "")
    return re.sub(r"[^\w\u4e00-\u9fff]", "", text)


@lru_cache(maxsize=4096)
def plain_formula(formula: str) -> str:
    """A formula in small letters without its delimiters, blanks, fonts, spacing, numbers and the names of environments."""
    text = formula.strip().strip("$").strip("\n")
    if alone := ALONE.search(text):
        text = alone[1].strip()
    for pattern in LEFT_OUT:
        text = pattern.sub("", text)
    text = text.strip(".")
    for style in STYLES:
        text = text.replace(style, "")
    return text.lower()
