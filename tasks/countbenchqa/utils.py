"""CountBenchQA: how many objects a picture shows.

Source: Beyer et al. 2024 (PaliGemma), arXiv:2407.07726; Paiss et al. 2023 (CountBench), arXiv:2302.12066.
"""

from collections.abc import Mapping, Sequence
from typing import Any


def contained(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """VLMEvalKit's rule: 1 if the digits of the number are in the answer."""
    return {"contains": float(str(doc["number"]) in (results[0] or ""))}
