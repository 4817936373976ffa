"""The score of long texts with METEOR as the benchmark has it: NLTK with WordNet's synonyms, and jieba for Chinese words.

Both come with `pip install 'mm-eval[ocrbench-v2]'`, and are imported here only; WordNet with `python -m nltk.downloader wordnet`.
"""

import logging
from collections.abc import Sequence
from functools import cache, partial
from importlib.util import find_spec
from typing import Any

from mm_eval.scoring.metrics.bounds import too_large
from mm_eval.values.errors import DocError

from .utils import process
from .words import text_score

MOST_PAIRS = 4_000_000
INSTEAD = "or take --tasks ocrbench_v2_no_meteor, which is another number"


def with_packages(dataset: Any) -> Any:
    """All docs as they are, if what METEOR needs is there: it is looked for before the first request."""
    if missing := [name for name in ("nltk", "jieba") if find_spec(name) is None]:
        raise DocError(f"METEOR needs {' and '.join(missing)}: pip install 'mm-eval[ocrbench-v2]'; {INSTEAD}.")
    import nltk

    for path in ("corpora/wordnet", "corpora/wordnet.zip"):
        try:
            nltk.data.find(path)
            return dataset
        except LookupError:
            continue
    what = "METEOR needs WordNet, which is not among NLTK's data"
    raise DocError(f"{what}: python -m nltk.downloader wordnet (NLTK_DATA says where it lies); {INSTEAD}.")


@cache
def _segment() -> Any:
    import jieba

    jieba.setLogLevel(logging.WARNING)
    return jieba.lcut


def chinese_words(text: str) -> list[str]:
    """The words of a text with Chinese in it, blanks among them."""
    return list(_segment()(text))


def meteor(words: Sequence[str], gold: Sequence[str]) -> float:
    """METEOR of one text by NLTK, with stems and WordNet's synonyms."""
    if len(words) * len(gold) > MOST_PAIRS:
        too_large(f"METEOR (at most {MOST_PAIRS:,} pairs of words)")
        return 0.0
    from nltk.translate.meteor_score import meteor_score

    return float(meteor_score([gold], words))


process_results = partial(process, text=partial(text_score, words=chinese_words, meteor=meteor))
