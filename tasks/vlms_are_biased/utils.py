"""VLMs Are Biased: whether an answer is the truth, or what one expects who knows the subject and does not look.

Source: Vo et al. 2025, arXiv:2505.23941, and anvo25/vlms-are-biased at 9d1afd9, which has no scorer and names lmms-eval's as the
official one (lmms_eval/tasks/vlms_are_biased/utils.py at 75571cf).
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.filters import UNPARSED

Doc = Mapping[str, Any]
IN_BRACES = re.compile(r"\{([^{}]*)\}")


def plain(text: str) -> str:
    """A text in small letters, without braces and blanks at its ends."""
    return text.strip().lower().strip("{}").strip()


def digits(text: str) -> str:
    """All digits of a text in a row."""
    return "".join(character for character in text if character.isdigit())


def scores(doc: Doc, is_right: bool, is_biased: bool, rule: str) -> dict[str, Any]:
    """Of one question: right, for the means over questions and over topics, and biased."""
    right = float(is_right)
    return {"accuracy": right, "bias_ratio": float(is_biased), "topic_mean": (doc["topic"], right), "__rule__": rule}


def process_results(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """lmms-eval's rule: the whole answer, else all its digits in a row, as the truth's or the bias's.

    "Between 3 and 4" is 34. An answer without a digit that is neither is unparsed.
    """
    said, truth, bias = (plain(str(text)) for text in (results[0] or "", doc["ground_truth"], doc["expected_bias"]))
    if said in (truth, bias):
        return scores(doc, said == truth, said == bias, "whole answer")
    number = digits(said)
    is_read = bool(number and (digits(truth) or digits(bias)))
    return scores(
        doc,
        is_read and number == digits(truth),
        is_read and number == digits(bias),
        "digits" if is_read else UNPARSED,
    )


def process_braces(doc: Doc, results: Sequence[str | None]) -> dict[str, Any]:
    """What stands in the last curly brackets, or the only number there; an answer without them is unparsed."""
    found = IN_BRACES.findall(results[0] or "")
    said = plain(found[-1].strip("\\")) if found else ""
    truth, bias = (plain(str(doc[column])) for column in ("ground_truth", "expected_bias"))
    numbers = re.findall(r"\d+", said)
    if said not in (truth, bias) and len(numbers) == 1:
        said = numbers[0]
    return scores(doc, said == truth, said == bias, "braces" if said else UNPARSED)
