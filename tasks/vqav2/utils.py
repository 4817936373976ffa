"""VQAv2: questions on photos, each answered by ten people.

Source: Goyal et al. 2017, arXiv:1612.00837.
"""

from collections.abc import Mapping
from typing import Any

from mm_eval.tasks.rules.vqa import agreed_answer


def people(doc: Mapping[str, Any]) -> list[str]:
    """The ten people's answers."""
    return [given["answer"] if isinstance(given, Mapping) else str(given) for given in doc["answers"]]


def gold_answer(doc: Mapping[str, Any]) -> str | None:
    """An answer that gets full marks; None where too few people agree."""
    return agreed_answer(people(doc))
