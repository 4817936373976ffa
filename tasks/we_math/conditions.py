"""What a model masters: the condition of each problem from the scores of its questions, and the numbers of all problems.

Source: Qiao et al. 2024, arXiv:2407.01284, section 3; evaluation/four_dimensional_metrics.py of github.com/We-Math/We-Math.
"""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.metrics import Undefined
from mm_eval.scoring.metrics.traits import declare

Item = Mapping[str, Any]
"""The score of a question: {"ID", "key", "score"}."""


def conditions(items: Sequence[Item], strict: bool) -> Counter[str]:
    """How many problems are under each condition: IK, IG, CM, RM. A problem of which a question is missing is left out.

    Raises Undefined where no problem is whole.
    """
    problems: dict[str, dict[str, bool]] = defaultdict(dict)
    for item in items:
        problems[item["ID"]][item["key"].partition("_")[2]] = bool(item["score"])
    found: Counter[str] = Counter()
    for name, answers in problems.items():
        whole = answers.pop("multi", None)
        if whole is None or len(answers) != int(name[0]):
            continue
        mastered = all(answers.values()) if strict else any(answers.values())
        if whole:
            found["CM" if mastered else "RM"] += 1
        else:
            found["IG" if all(answers.values()) else "IK"] += 1
    if not found:
        raise Undefined("no problem has all of its steps; a --limit cut them, or requests failed")
    return found


def share(items: Sequence[Item], strict: bool, weights: Mapping[str, float]) -> float:
    """The weighted share of problems under some conditions."""
    found = conditions(items, strict)
    return sum(weight * found[name] for name, weight in weights.items()) / found.total()


def rote(items: Sequence[Item], strict: bool) -> float:
    """RM / (CM + RM); 0 where both are 0."""
    found = conditions(items, strict)
    return found["RM"] / (found["RM"] + found["CM"]) if found["RM"] else 0.0


@declare(smooth=True, whole_clusters=True)
def score_strict(items: Sequence[Item]) -> float:
    """Complete mastery counts 1, inadequate generalization 0.5; the other problems count 0."""
    return share(items, True, {"CM": 1, "IG": 0.5})


@declare(smooth=True, whole_clusters=True)
def score_loose(items: Sequence[Item]) -> float:
    """The same, where one right step is enough for mastery."""
    return share(items, False, {"CM": 1, "IG": 0.5})


@declare(smooth=True, whole_clusters=True)
def insufficient_knowledge(items: Sequence[Item]) -> float:
    """The share of problems that are wrong, as is a step of theirs."""
    return share(items, True, {"IK": 1})


@declare(smooth=True, whole_clusters=True)
def inadequate_generalization(items: Sequence[Item]) -> float:
    """The share of problems that are wrong although their steps are right."""
    return share(items, True, {"IG": 1})


@declare(smooth=True, whole_clusters=True)
def mastery_strict(items: Sequence[Item]) -> float:
    """The share of problems that are right, as are all of their steps."""
    return share(items, True, {"CM": 1})


@declare(smooth=True, whole_clusters=True)
def mastery_loose(items: Sequence[Item]) -> float:
    """The share of problems that are right, as is a step of theirs."""
    return share(items, False, {"CM": 1})


@declare(smooth=True, whole_clusters=True)
def rote_strict(items: Sequence[Item]) -> float:
    """Of the right problems, the share with a wrong step; 0 where no problem is right."""
    return rote(items, True)


@declare(smooth=True, whole_clusters=True)
def rote_loose(items: Sequence[Item]) -> float:
    """Of the right problems, the share with no right step; 0 where no problem is right."""
    return rote(items, False)
