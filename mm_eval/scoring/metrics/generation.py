"""Metrics of generated answers: `(references, predictions) -> [one score per prediction]`.

references: [target] of one doc, or one target per prediction; a target that is a list holds several accepted answers.
predictions: the answers of the doc's repeats. None is an unparsed answer: it scores 0.
"""

from __future__ import annotations

import math
import re
import string
from collections.abc import Callable, Sequence
from typing import Any

from mm_eval.scoring.filters.extraction import removed
from mm_eval.scoring.metrics.bounds import too_large
from mm_eval.scoring.metrics.metric import metric

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_NO_DIGITS = str.maketrans("", "", string.digits)


def targets_of(references: object, predictions: Sequence[object], multiple_targets: bool = False) -> list[list[object]]:
    """The accepted answers for each prediction."""
    if not isinstance(references, (list, tuple)):
        references = [references]
    if multiple_targets and references and not isinstance(references[0], (list, tuple)):
        references = [list(references)]
    accepted = [list(target) if isinstance(target, (list, tuple)) else [target] for target in references]
    if len(accepted) == 1:
        return accepted * len(predictions)
    if len(accepted) != len(predictions):
        return [[target for targets in accepted for target in targets]] * len(predictions)
    return accepted


def best_over_targets(
    references: object,
    predictions: Sequence[object],
    score: Callable[[str, str], float],
    multiple_targets: bool = False,
) -> list[Any]:
    """For each prediction its best score over the accepted answers; 0 for None."""
    accepted = targets_of(references, predictions, multiple_targets)
    return [
        0
        if answer is None
        else max((score(str(target), str(answer)) for target in targets if target is not None), default=0)
        for answer, targets in zip(predictions, accepted, strict=True)
    ]


def lower_one_to_one(text: str) -> str:
    """Lower case by Unicode's one-to-one mappings; a letter without one ("İ") is kept, so that no text grows."""
    return "İ".join(part.lower() for part in text.split("İ"))


@metric("exact_match", output_type="generate_until", aggregation="mean", reduction="pass@k")
def exact_match_fn(
    references: object,
    predictions: Sequence[object],
    multiple_targets: bool = False,
    regexes_to_ignore: Sequence[str] | None = None,
    ignore_case: bool = False,
    ignore_punctuation: bool = False,
    ignore_numbers: bool = False,
) -> dict[str, list[int]]:
    """1 where an answer equals an accepted one, as text.

    First the regexes_to_ignore are removed from both, then, if requested, case, ASCII punctuation and ASCII digits are ignored.
    """
    patterns = [regexes_to_ignore] if isinstance(regexes_to_ignore, str) else regexes_to_ignore or ()
    ignored = [re.compile(pattern) for pattern in patterns]

    def plain(text: str) -> str:
        for pattern in ignored:
            text = removed(pattern, text)
        text = lower_one_to_one(text) if ignore_case else text
        text = text.translate(_NO_PUNCTUATION) if ignore_punctuation else text
        return text.translate(_NO_DIGITS) if ignore_numbers else text

    scores = best_over_targets(references, predictions, lambda t, a: int(plain(t) == plain(a)), multiple_targets)
    return {"exact_match": scores}


MOST_STEPS = 4_000_000_000
"""Texts with more pairs of characters are not compared by edit distance."""
_FEW_STEPS = 10_000
"""With fewer pairs of characters it takes longer to look for equal ends than to compare the texts."""


def _without_equal_ends(one: str, other: str) -> tuple[str, str]:
    start = _equal_beginning(one, other)
    one, other = one[start:], other[start:]
    end = _equal_beginning(one[::-1], other[::-1])
    return one[: len(one) - end], other[: len(other) - end]


def _equal_beginning(one: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    least, most = 0, min(len(one), len(other))
    while least < most:
        middle = (least + most + 1) // 2
        if one[least:middle] == other[least:middle]:
            least = middle
        else:
            most = middle - 1
    return least


def edit_distance(one: str, other: str) -> int:
    """The fewest insertions, deletions and substitutions of characters that turn one text into the other (Levenshtein).

    Equal beginnings and ends are left out. Where the product of the remaining lengths is beyond MOST_STEPS, the result is the
    most that it can be, the length of the longer text, and that is reported (`mm_eval.scoring.metrics.bounds`).
    The table is computed one column at a time, one step per character of the longer text. The bits of two integers say where
    the column increases and where it decreases (Myers 1999, in the form of Hyyrö 2003).
    """
    if len(one) < len(other):
        one, other = other, one
    if not other:
        return len(one)
    if len(one) * len(other) > _FEW_STEPS:
        longest, (one, other) = len(one), _without_equal_ends(one, other)
        if not other:
            return len(one)
        if len(one) * len(other) > MOST_STEPS:
            too_large(f"the edit distance of two texts (at most {MOST_STEPS:,} pairs of characters where they differ)")
            return longest
    places: dict[str, int] = {}
    for j, character in enumerate(other):
        places[character] = places.get(character, 0) | 1 << j
    every, last = (1 << len(other)) - 1, 1 << (len(other) - 1)
    up, down, distance = every, 0, len(other)
    for character in one:
        equal = places.get(character, 0)
        diagonal = (((equal & up) + up) ^ up) | equal | down
        right_up, right_down = down | (every & ~(diagonal | up)), up & diagonal
        distance += bool(right_up & last) - bool(right_down & last)
        right_up, right_down = (right_up << 1 | 1) & every, (right_down << 1) & every
        up, down = right_down | (every & ~(diagonal | right_up)), right_up & diagonal
    return distance


@metric("anls", output_type="generate_until", aggregation="mean")
def anls(references: object, predictions: Sequence[object], threshold: float = 0.5) -> list[float]:
    """Average normalised Levenshtein similarity, the score of DocVQA and InfoVQA: 1 for equal texts, 0 below the threshold.

    The closest of several accepted answers counts. As in the server's script, case and runs of white space are ignored, and the
    distance is divided by the longer text as it was given, extra white space included (Biten et al. 2019, arXiv 1907.00490;
    rrc.cvc.uab.es, challenge 17). A similarity equal to the threshold counts there, though not in the paper's formula.
    """

    def similarity(target: str, answer: str) -> float:
        longest = max(len(target.upper()), len(answer.upper()))
        target, answer = " ".join(target.lower().split()), " ".join(answer.lower().split())
        if abs(len(target) - len(answer)) > (1 - threshold) * longest + 1e-9:  # more edits than the threshold allows
            return 0.0
        score = 1 - edit_distance(target, answer) / longest if longest else 1.0
        return score if score >= threshold else 0.0

    return best_over_targets(references, predictions, similarity, multiple_targets=True)


def number_in(text: str) -> float | None:
    """The number that the whole text is ("45%" and "45 %" are 0.45), or None. No thousands commas and no currency signs."""
    digits = text.strip()
    try:
        number = float(digits.rstrip("%")) / 100.0 if digits.endswith("%") else float(digits)
    except ValueError:
        return None
    return number if math.isfinite(number) else None


@metric("relaxed_accuracy", output_type="generate_until", aggregation="mean")
def relaxed_accuracy(references: object, predictions: Sequence[object], tolerance: float = 0.05) -> list[int]:
    """ChartQA's score: a number may differ from the target by 5% of it, any other answer must be equal apart from case.

    The paper states the tolerance (Masry et al. 2022, arXiv 2203.10244, section 5.1); the rest is as in the script that
    evaluations share (google-research/pix2struct, metrics.py): "45%" is 0.45, so it does not match "45", and a target of 0 is
    compared as text. White space at the ends is ignored.
    """

    def close(target: str, answer: str) -> int:
        expected, given = number_in(target), number_in(answer)
        if expected and given is not None:
            return int(abs(given - expected) / abs(expected) <= tolerance)
        return int(target.strip().lower() == answer.strip().lower())

    return best_over_targets(references, predictions, close, multiple_targets=True)
