"""OCRBench: an answer is a hit if it contains a reference.

Source: Liu et al. 2023, arXiv:2305.07895; OCRBench/example.py of the benchmark's repository.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.metrics import smooth

FORMULAS = "HME100k"
"""The dataset of handwritten formulas, the only one that is compared with case and without blanks."""


def is_hit(answer: str, references: Sequence[str] | str, dataset: str) -> bool:
    """Whether the answer contains a reference. Line breaks are blanks; case counts, and blanks don't, only in formulas."""

    def plain(text: str) -> str:
        if dataset == FORMULAS:
            return text.strip().replace("\n", " ").replace(" ", "")
        return text.lower().strip().replace("\n", " ")

    accepted = [references] if isinstance(references, str) else references
    return any(plain(reference) in plain(answer) for reference in accepted)


def process_results(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """One question: 1 for a hit."""
    hit = float(is_hit(results[0] or "", doc["answer"], doc["dataset"]))
    return {"ocrbench_score": hit, "ocrbench_accuracy": hit, "hits": hit}


@smooth
def of_1000(results: Sequence[float]) -> float:
    """Hits in 1000 questions: the count of a full run, scaled where fewer are asked."""
    return 1000 * sum(results) / len(results)


@smooth
def total(results: Sequence[float]) -> float:
    """The number of hits."""
    return sum(results)


def section(doc: Mapping[str, Any]) -> str:
    """The part of the benchmark's table: the six types that only read text are one, of 300 questions."""
    kind: str = doc["question_type"]
    read = kind.endswith(" Recognition") and kind != "Handwritten Mathematical Expression Recognition"
    return "Text Recognition" if read else kind
