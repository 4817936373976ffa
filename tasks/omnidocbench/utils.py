"""OmniDocBench 1.5: a page as Markdown, by the edit distance of texts, formulas and order and the similarity of tables.

Source: Ouyang et al. 2024, arXiv:2412.07626; github.com/opendatalab/OmniDocBench, v1.5 (main of 2025-11, through the fork
pichiu/OmniDocBench at 7bd6c2e) with match_method quick_match.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from mm_eval.tasks.rules.tables import teds

from mm_eval.scoring.metrics import smooth
from mm_eval.scoring.process_results import NO_VALUE

from .pages import compared, gold_markdown, order_distance, share_of_edits
from .prompt import PROMPT

Doc = Mapping[str, Any]


def doc_to_visual(doc: Doc) -> list[str]:
    """The page's file in the folder images/."""
    return [f"images/{doc['page_info']['image_path']}"]


def doc_to_text(doc: Doc, model_specific_prompt_kwargs: Mapping[str, str] | None = None) -> str:
    """The instruction, the same for all pages."""
    block = model_specific_prompt_kwargs or {}
    return f"{block.get('pre_prompt', '')}{PROMPT}{block.get('post_prompt', '')}"


def doc_to_target(doc: Doc) -> str:
    """The page in Markdown."""
    return gold_markdown(doc)


def process_results(doc: Doc, results: Sequence[str | None]) -> Any:
    """The distances of a page's texts, formulas and order and the similarities of its tables, for what the page has.

    A page that has nothing of it (a header and pictures) is in no number.
    """
    page = compared(doc, results[0] or "")
    found: dict[str, Any] = {
        "text_edit_distance": share_of_edits(page.texts),
        "formula_edit_distance": share_of_edits(page.formulas),
        "reading_order_edit_distance": order_distance(page),
    }
    for name, structure_only in (("table_teds", False), ("table_teds_structure", True)):
        values = [teds(said, gold, structure_only=structure_only) for gold, said in page.tables]
        found[name] = {"score": sum(values) / len(values), "tables": values} if values else None
    return {name: value for name, value in found.items() if value is not None} or NO_VALUE


@smooth
def mean_of_tables(results: Sequence[Mapping[str, Any]]) -> float:
    """The mean similarity of all tables."""
    tables: list[float] = [similarity for page in results for similarity in page["tables"]]
    return sum(tables) / len(tables)


def attribute(doc: Doc, name: str) -> Any:
    """An attribute of the page."""
    return (doc["page_info"].get("page_attribute") or {}).get(name)


def data_source(doc: Doc) -> Any:
    """The kind of document."""
    return attribute(doc, "data_source")


def language(doc: Doc) -> Any:
    """The page's language."""
    return attribute(doc, "language")


def layout(doc: Doc) -> Any:
    """The columns of the page."""
    return attribute(doc, "layout")


def special_issue(doc: Doc) -> list[str]:
    """What makes the page hard. What makes its tables hard is left out, as in the script."""
    return [issue for issue in attribute(doc, "special_issue") or [] if "table" not in issue]
