"""MMAU's comparison of an answer with options: by the words in it, in any order.

Source: Sakshi et al. 2024, arXiv:2410.19168; string_match in evaluation.py of Sakshi113/MMAU at 110127f. MMAR's evaluation.py
(ddlBoJack/MMAR at 3bce090) has the same.
"""

import re
from collections.abc import Sequence

WORD = re.compile(r"\b\w+\b")


def words_of(text: str) -> set[str]:
    """The words of a text, in small letters."""
    return set(WORD.findall(text.lower()))


def names_option(answer: str, right: str, options: Sequence[str]) -> bool:
    """Whether an answer has all words of the right option, and none that only other options have.

    So the order of words does not count, "not rain" names the option "rain", and a letter alone names none.
    """
    said, wanted = words_of(answer), words_of(right)
    # An option with the words of the right one has no words of its own.
    others = set[str]().union(*(words_of(option) for option in options)) - wanted
    return bool(said) and wanted <= said and not said & others
