"""WikiText: an article as it was written, and the size of its tokenized text.

Source: Merity et al. 2016, arXiv:1609.07843. The order of the replacements is that of Megatron-LM and lm-eval, whose reported
numbers depend on it.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

_PLAIN = (("s '", "s'"),)
_NUMBERS = ((" @-@ ", "-"), (" @,@ ", ","), (" @.@ ", "."))
_PUNCTUATION = tuple((f" {mark} ", f"{mark} ") for mark in ":;.!?,")
_PAIRS = (
    (re.compile(r"\(\s*([^\)]*?)\s*\)"), r"(\1)"),
    (re.compile(r"\[\s*([^\]]*?)\s*\]"), r"[\1]"),
    (re.compile(r"{\s*([^}]*?)\s*}"), r"{\1}"),
    (re.compile(r'"\s*([^"]*?)\s*"'), r'"\1"'),
    (re.compile(r"'\s*([^']*?)\s*'"), r"'\1'"),
)
_REST = (
    ("= = = =", "===="),
    ("= = =", "==="),
    ("= =", "=="),
    (" ° ", "°"),
    (" \n", "\n"),
    ("\n ", "\n"),
    (" N ", " 1 "),
    (" 's", "'s"),
)


def detokenized(doc: Mapping[str, Any]) -> str:
    """The article without the blanks and marks of the tokenizer."""
    text: str = doc["page"]
    for old, new in (*_PLAIN, *_NUMBERS, *_PUNCTUATION):
        text = text.replace(old, new)
    for pattern, inside in _PAIRS:
        text = pattern.sub(inside, text)
    for old, new in _REST:
        text = text.replace(old, new)
    return text


def per_word_and_byte(doc: Mapping[str, Any], results: Sequence[float]) -> dict[str, tuple[float, int]]:
    """The log-likelihood with the words and bytes of the tokenized text; an article's outer blanks count as words."""
    words, size = len(re.split(r"\s+", doc["page"])), len(doc["page"].encode())
    return {
        "word_perplexity": (results[0], words),
        "byte_perplexity": (results[0], size),
        "bits_per_byte": (results[0], size),
    }
