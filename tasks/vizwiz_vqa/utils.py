"""VizWiz-VQA: what blind people asked about photos that they took.

Source: Gurari et al. 2018, arXiv:1802.08218; the score is VQA accuracy (vizwiz.org/tasks-and-datasets/vqa).
"""

from collections.abc import Mapping
from typing import Any

from mm_eval.tasks.rules.vqa import agreed_answer


def gold_answer(doc: Mapping[str, Any]) -> str | None:
    """An answer that gets full marks; None where too few people agree."""
    return agreed_answer(doc["answers"], "textvqa")
