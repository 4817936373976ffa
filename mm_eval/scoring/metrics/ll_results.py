"""The log-likelihoods of one doc's choices, as metrics receive them."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

from mm_eval.values.errors import DataError, ScoringError
from mm_eval.values.types import Instance, JsonObject, Target, UpperBound

if TYPE_CHECKING:
    from mm_eval.values.types import Floats


def count_utf8_bytes(text: str) -> int:
    """Bytes of a text in UTF-8."""
    return len(text.encode("utf-8", "surrogatepass"))


def count_split_words(text: str) -> int:
    """Parts of a text between runs of white space, as lm-eval counts words: white space at an end adds an empty one."""
    return len(re.split(r"\s+", text))


@cache
def _no_numbers() -> Floats:
    import numpy as np

    return np.array([], dtype=float)


@dataclass(frozen=True, slots=True)
class LLResults:
    """All choices of one doc.

    results: the filtered answers, one entry per choice.
    lls: log-likelihoods in nats, shape (choices,). is_greedy: whether greedy decoding gives the choice.
    targets: the index of the right choice, or several; -100 means that no choice is right.
    choices: the texts of the choices, without the delimiter between prompt and answer.
    bounds: the places of options whose log-likelihood is at most that in `lls` (`UpperBound`).
    lls_mutual_info: log-likelihood minus that without the question, shape (choices,); empty if that was not requested.
    """

    results: list[Any]
    targets: Target
    ctx: object = ""
    choices: Sequence[str] = field(default_factory=list)
    lls_mutual_info: Floats = field(default_factory=_no_numbers)
    metadata: JsonObject = field(default_factory=dict)
    lls: Floats = field(kw_only=True)
    is_greedy: Sequence[bool] = field(kw_only=True)
    bounds: Sequence[int] = field(default=(), kw_only=True)

    @property
    def is_choice(self) -> bool:
        """Whether the doc is a choice among options, possibly of a single one, and not a continuation."""
        return self.metadata.get("choices") is not None

    def check(self) -> None:
        """Raises ScoringError for a log-likelihood of NaN or +inf, DataError if all choices have -inf."""
        lls = self.lls.tolist()
        if lls and not (math.isfinite(sum(lls)) or all(ll < math.inf for ll in lls)):
            raise ScoringError(f"A log-likelihood is NaN or +inf: {lls}.")
        if len(lls) > 1 and max(lls) == -math.inf:
            raise DataError(f"All {len(lls)} choices have the log-likelihood -inf, so none is the likeliest.")

    def char_len(self) -> Floats:
        """Characters of each choice, shape (choices,)."""
        return self._lengths(len)

    def byte_len(self, count_bytes: Callable[[str], float] = count_utf8_bytes) -> Floats:
        """Bytes of each choice, shape (choices,)."""
        return self._lengths(count_bytes)

    def word_len(self, count_words: Callable[[str], float] = count_split_words) -> Floats:
        """Words of each choice, shape (choices,)."""
        return self._lengths(count_words)

    def _lengths(self, count: Callable[[str], float]) -> Floats:
        import numpy as np

        return np.array([float(count(text)) for text in self.choices]) if self.choices else np.ones(len(self.lls))

    @classmethod
    def from_instances(cls, results: Sequence[Instance], filter_name: str = "none") -> LLResults:
        """The choices of one doc from its filtered instances, in the order of the list; those without the question follow.

        Repeats after the first are ignored: a log-likelihood does not change. The text of a choice is the instance's
        metadata "choice_text", else its continuation. Raises ScoringError if an answer is missing or not a log-likelihood.
        """
        import numpy as np

        instances = [instance for instance in results if filter_name in instance.filtered_resps]
        if not instances and filter_name == "none" and not any(instance.filtered_resps for instance in results):
            instances = list(results)  # nothing was filtered: the answers as they are
        if not instances:
            raise ScoringError(f"No answers were filtered under the name {filter_name!r}.")
        bare = [instance for instance in instances if instance.metadata.get("acc_mutual_info")]
        asked = [instance for instance in instances if instance not in bare] if bare else instances
        answers = [instance.filtered_resps.get(filter_name, instance.resps) for instance in (*asked, *bare)]
        lls, greedy = zip(*map(_pair, answers), strict=True)
        choices, difference = list(map(_text, asked)), _no_numbers()
        if bare:
            if list(map(_text, bare)) != choices:
                raise ScoringError("The choices with and without the question are not the same.")
            difference = np.array(lls[: len(asked)]) - np.array(lls[len(asked) :])
        first = (*asked, *bare)[0]
        return cls(
            results=answers,
            targets=first.target,
            ctx=first.context,
            choices=choices,
            lls_mutual_info=difference,
            metadata=dict(first.metadata),
            lls=np.array(lls[: len(asked)]),
            is_greedy=list(greedy[: len(asked)]),
            bounds=[place for place, each in enumerate(answers) if each and isinstance(each[0], UpperBound)],
        )

    def to_metric_inputs(self) -> dict[str, object]:
        """The arguments of a metric function."""
        return {"references": self.targets, "predictions": self}


def _text(instance: Instance) -> str:
    text = instance.metadata.get("choice_text")
    return str(instance.args[1] if text is None else text)


def _pair(answers: Sequence[Any]) -> tuple[float, bool]:
    """(log-likelihood, is_greedy) of the first answer; a bare number is a rolling log-likelihood."""
    if not answers or answers[0] is None:
        raise ScoringError("A choice has no log-likelihood.")
    answer = answers[0]
    if isinstance(answer, (int, float)):
        return float(answer), False
    if isinstance(answer, (str, bytes)):
        raise ScoringError(f"{answer!r} is text; expected (log-likelihood, is_greedy).")
    try:
        ll, is_greedy = answer
        return float(ll), bool(is_greedy)
    except (TypeError, ValueError) as error:
        raise ScoringError(f"{answer!r} is not a pair (log-likelihood, is_greedy).") from error
