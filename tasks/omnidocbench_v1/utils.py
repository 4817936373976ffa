"""OmniDocBench 1.0: a page as Markdown, by the edit distance of its texts and formulas and the similarity of its tables.

Source: Ouyang et al. 2024, arXiv:2412.07626; version 1.0 of github.com/opendatalab/OmniDocBench with match_method
simple_match, but for details.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.tasks.omnidocbench.prompt import PROMPT
from mm_eval.tasks.rules.matching import matched
from mm_eval.tasks.rules.tables import teds

from mm_eval.scoring.metrics import smooth
from mm_eval.types import shown_picture

from .pages import annotated, pair_distance, plain_formula, plain_text, written


def doc_to_visual(doc: Mapping[str, Any]) -> list[Any]:
    """The page, in base64 in the TSV file."""
    return [shown_picture(doc["image"])]


def doc_to_text(doc: Mapping[str, Any], model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The instruction, the same for all pages."""
    block = model_specific_prompt_kwargs or {}
    return f"{block.get('pre_prompt', '')}{PROMPT}{block.get('post_prompt', '')}"


def doc_to_target(doc: Mapping[str, Any]) -> str:
    """The page in Markdown, its texts first."""
    found = annotated(json.loads(doc["answer"]))
    formulas = [f"$${plain_formula(latex)}$$" for _, latex in found["formula"]]
    return "\n\n".join([*(text for _, text in found["text"]), *formulas, *(html for _, html in found["table"])])


def process_results(doc: Mapping[str, Any], results: Sequence[str | None]) -> dict[str, Any]:
    """The distances of a page's texts and formulas and the similarities of its tables, for what the page has."""
    gold, said = annotated(json.loads(doc["answer"])), written(results[0] or "")
    distances = {
        "text_edit_distance": pair_distance(gold["text"], said["text"], plain_text),
        "formula_edit_distance": pair_distance(gold["formula"], said["formula"], plain_formula),
    }
    tables = [html for _, html in gold["table"]]
    partners = [said["table"][at] if at >= 0 else "" for at in matched(tables, said["table"])]
    similar = {
        name: [
            teds(one, other, structure_only=name != "table_teds") for one, other in zip(partners, tables, strict=True)
        ]
        for name in ("table_teds", "table_teds_structure")
    }
    parts = [[1 - distance] if distance is not None else [] for distance in distances.values()] + [
        similar["table_teds"]
    ]
    means = [sum(part) / len(part) for part in parts if part]
    scores: dict[str, Any] = {"overall": {"score": sum(means) / len(means) if means else None, "parts": parts}}
    for name, values in similar.items() if tables else ():
        scores[name] = {"score": sum(values) / len(values), "tables": values}
    return scores | {name: distance for name, distance in distances.items() if distance is not None}


@smooth
def mean_of_tables(results: Sequence[Mapping[str, Any]]) -> float:
    """The mean similarity of all tables."""
    tables: list[float] = [similarity for page in results for similarity in page["tables"]]
    return sum(tables) / len(tables)


@smooth
def overall(results: Sequence[Mapping[str, Any]]) -> float:
    """100 times the mean of three: pages' texts and formulas (1 minus the distance) and tables, of those that occur."""
    parts = [[score for page in results for score in page["parts"][kind]] for kind in range(3)]
    means = [sum(part) / len(part) for part in parts if part]
    return 100 * sum(means) / len(means) if means else 0.0


def attribute(doc: Mapping[str, Any], name: str) -> Any:
    """An attribute of the page."""
    return (json.loads(doc["answer"])["page_info"].get("page_attribute") or {}).get(name)


def data_source(doc: Mapping[str, Any]) -> Any:
    """The kind of document."""
    return attribute(doc, "data_source")


def language(doc: Mapping[str, Any]) -> Any:
    """The page's language."""
    return attribute(doc, "language")


def layout(doc: Mapping[str, Any]) -> Any:
    """The columns of the page."""
    return attribute(doc, "layout")


def special_issue(doc: Mapping[str, Any]) -> list[str]:
    """What makes the page hard: a list, or attributes that are true."""
    listed = attribute(doc, "special_issue") or []
    return [
        *listed,
        *(name for name in ("watermark", "fuzzy_scan", "colorful_backgroud") if attribute(doc, name) is True),
    ]
