"""CC-OCR: text in scenes and ten languages, key information and parsed documents, each averaged over its data sets.

Source: Yang et al. 2024, arXiv:2412.02210.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.scoring.metrics import smooth, stratified_by
from mm_eval.types import shown_picture
from mm_eval.values.types import found_in

from .rules import PARSING, fields_of, tokens

CHARACTERS = ("Arabic", "Japanese", "Korean")
"""Data sets that are compared by characters, as are those with Chinese text."""


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The picture, in base64 in the TSV files."""
    return [shown_picture(doc["image"])]


def counted(doc: Mapping[str, Any], gold: Sequence[Any], said: Sequence[Any]) -> dict[str, Any]:
    """How many tokens or fields are right, and the F1 of the doc."""
    right = sum((Counter(gold) & Counter(said)).values())
    both = len(gold) + len(said)
    return {"score": 2 * right / both if both else 0.0, "data_set": doc["split"], "right": right, "both": both}


def text_scores(doc: Mapping[str, Any], answer: str | None, letters_only: bool) -> dict[str, Any]:
    """The F1 of a text's words or characters."""
    words = doc["split"] not in CHARACTERS and "zh" not in doc["split"]
    gold, said = (tokens(str(text or ""), words, letters_only and words) for text in (doc["answer"], answer))
    found = counted(doc, gold, said)
    return {"macro_f1": found, "micro_f1": found}


def process_scene(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """The F1 of words without marks."""
    return text_scores(doc, results[0], letters_only=True)


def process_languages(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """The F1 of words as they are written."""
    return text_scores(doc, results[0], letters_only=False)


def process_fields(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """The F1 of fields. An answer that is not JSON has none."""
    return {"f1": counted(doc, fields_of(str(doc["answer"])), fields_of(results[0] or ""))}


def process_parsing(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """How similar the parsed document is, by the rule of its kind."""
    score = found_in(PARSING, doc["l2-category"], "l2-category")(results[0] or "", str(doc["answer"]))
    return {"score": {"score": score, "data_set": doc["split"]}}


def by_data_set(results: Sequence[Mapping[str, Any]]) -> list[list[Mapping[str, Any]]]:
    """The docs of each data set."""
    found: dict[str, list[Mapping[str, Any]]] = {}
    for each in results:
        found.setdefault(each["data_set"], []).append(each)
    return list(found.values())


@smooth
@stratified_by("data_set")
def macro(results: Sequence[Mapping[str, Any]]) -> float:
    """The mean over data sets of the mean over docs."""
    means: list[float] = [sum(doc["score"] for doc in docs) / len(docs) for docs in by_data_set(results)]
    return sum(means) / len(means)


@smooth
@stratified_by("data_set")
def micro(results: Sequence[Mapping[str, Any]]) -> float:
    """The mean over data sets of the F1 of all tokens or fields."""
    sums = [(sum(doc["right"] for doc in docs), sum(doc["both"] for doc in docs)) for docs in by_data_set(results)]
    found: list[float] = [2 * right / both if both else 0.0 for right, both in sums]
    return sum(found) / len(found)
