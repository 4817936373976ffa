"""Metrics of generated answers: `(references, predictions) -> [one score a prediction]`.

references: [target] of one doc, or one target a prediction; a target that is a list holds several accepted answers.
predictions: the answers of the doc's repeats. None is an answer that no rule could read: it scores 0.
"""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Sequence
from typing import Any

from mm_eval.metrics.metric import metric

_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)
_NO_DIGITS = str.maketrans("", "", string.digits)


def targets_of(references: Any, predictions: Sequence[Any], multiple_targets: bool = False) -> list[list[Any]]:
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
    references: Any, predictions: Sequence[Any], score: Callable[[str, str], float], multiple_targets: bool = False
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
    """Lower case by Unicode's one-to-one mappings: a letter without one ("İ") stays, so that no text grows."""
    return "İ".join(part.lower() for part in text.split("İ"))


@metric("exact_match", output_type="generate_until", aggregation="mean", reduction="pass@k")
def exact_match_fn(
    references: Any,
    predictions: Sequence[Any],
    multiple_targets: bool = False,
    regexes_to_ignore: Sequence[str] | None = None,
    ignore_case: bool = False,
    ignore_punctuation: bool = False,
    ignore_numbers: bool = False,
) -> dict[str, list[int]]:
    """1 where an answer equals an accepted one, as text.

    First the regexes_to_ignore are removed from both, then case, ASCII punctuation and ASCII digits as asked.
    """
    ignored = [regexes_to_ignore] if isinstance(regexes_to_ignore, str) else regexes_to_ignore or ()

    def plain(text: str) -> str:
        for pattern in ignored:
            text = re.sub(pattern, "", text)
        text = lower_one_to_one(text) if ignore_case else text
        text = text.translate(_NO_PUNCTUATION) if ignore_punctuation else text
        return text.translate(_NO_DIGITS) if ignore_numbers else text

    scores = best_over_targets(references, predictions, lambda t, a: int(plain(t) == plain(a)), multiple_targets)
    return {"exact_match": scores}
