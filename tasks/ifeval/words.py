"""Words of an English text, and those in capital letters.

The benchmark's own evaluation counts capital words with the Penn Treebank's rules (Marcus et al. 1993, Computational
Linguistics 19(2)): punctuation stands alone, a hyphen or an inner full stop does not divide, and a contraction is two words.
"""

import re

_DIVIDERS = re.compile(r"""[\s«“‘„»”’"`;@#$%&\u2012-\u2015?!*\[\](){}<>]|--|\.{2,}|''|[:,](?!\d)""")
_CONTRACTION = re.compile(r"(?<=[^'])(?:N'T|n't|'(?:LL|ll|RE|re|VE|ve|[SsMmDd]))$")
_TWO_WORDS = re.compile(r"(?:CAN(?=NOT$)|GON(?=NA$)|GOT(?=TA$)|WAN(?=NA$)|LEM(?=ME$)|GIM(?=ME$))")


def count_words(text: str) -> int:
    """Runs of letters, digits and underscores."""
    return len(re.findall(r"\w+", text))


def count_capital_words(text: str) -> int:
    """Words without a lower-case letter and with a capital one; both parts of a contraction count."""
    return sum(map(_capital_parts, _DIVIDERS.split(text)))


def _capital_parts(word: str) -> int:
    """How many of a word's parts are in capital letters."""
    word = word.rstrip(".")
    ending = _CONTRACTION.search(word)
    stem = word[: ending.start()] if ending else word
    own = 2 if _TWO_WORDS.match(stem) else 1
    return own * stem.isupper() + (ending is not None and ending[0].isupper())
