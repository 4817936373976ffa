"""OmniDocBench: small pages with texts, formulas and tables, annotated as in v1.5 and in v1.0."""

import base64
import json
from typing import Any

from datasets import Value

from samples import Row, Sample, page, png

FEATURES = {"index": Value("int64"), "image": Value("string"), "answer": Value("string")}
Piece = tuple[str, str]
PAGES: list[tuple[tuple[str, str, str, list[str]], list[Piece], list[tuple[int, int]]]] = [
    (("book", "english", "single_column", []), [
        ("title", "# Tides of the Northern Harbour"),
        ("text_block", "The ferry runs from April to October, and the last boat leaves at nine in the evening."),
        ("header", "Chapter 4"),
    ], []),
    (("academic_literature", "english", "double_column", ["colorful_backgroud"]), [
        ("text_block", "The distance grows with the angle $\\alpha_1$ and the"),
        ("text_block", "width of the beam, as (3) shows."),
        ("equation_isolated", "$$d = \\frac{a + b}{2} \\tag{3}$$"), ("figure_caption", "Figure 2. The beam"),
    ], [(0, 1)]),
    (("research_report", "simplified_chinese", "single_column", ["watermark"]), [
        ("text_block", "本季度销售额为一千二百万元，同比增长百分之八。"),
        ("table", "<table><thead><tr><th>季度</th><th>销售额</th></tr></thead><tr><td>一</td><td>1200</td></tr></table>"),
        ("table_caption", "表一"),
    ], []),
    (("exam_paper", "en_ch_mixed", "1andmore_column", ["fuzzy_scan"]), [
        ("equation_isolated", "\\[ u = 3 t + 5 \\]"),
        ("table", '<table><tr><td rowspan="2">Class</td><td>Girls</td><td>Boys</td></tr><tr><td>12</td><td>14</td></tr></table>'),
        ("table", "<table><tr><td>Name</td><td>Age</td></tr><tr><td>Lena</td><td>9</td></tr></table>"),
    ], []),
    (("newspaper", "english", "three_column", []), [
        ("title", "Bridge reopens"), ("text_block", "Cars may cross again from Monday."),
        ("text_block", "The council met on Friday."), ("page_number", "7"),
    ], []),
    (("note", "other", "other_layout", []), [("equation_isolated", "a^{2} + b^{2} = c^{2}")], []),
]  # fmt: skip


TEXT = Value("string")
PARTS = {
    "category_type": TEXT, "anno_id": Value("int64"), "order": Value("int64"), "ignore": Value("bool"), "text": TEXT,
    "latex": TEXT, "html": TEXT,
}  # fmt: skip
INFO = {
    "page_no": Value("int64"), "image_path": TEXT,
    "page_attribute": {"data_source": TEXT, "language": TEXT, "layout": TEXT, "special_issue": [TEXT]},
}  # fmt: skip
RELATION = {"source_anno_id": Value("int64"), "target_anno_id": Value("int64"), "relation_type": TEXT}
PAGE_FEATURES = {"layout_dets": [PARTS], "page_info": INFO, "extra": {"relation": [RELATION]}}


def annotation(number: int) -> dict[str, Any]:
    """The annotation of a page."""
    (source, language, layout, issues), pieces, joined = PAGES[number]
    found: list[dict[str, Any]] = []
    for place, (kind, content) in enumerate(pieces):
        key = {"table": "html", "equation_isolated": "latex"}.get(kind, "text")
        found.append({"category_type": kind, "anno_id": place, "order": place + 1, "ignore": False, key: content})
    relations = [
        {"source_anno_id": one, "target_anno_id": other, "relation_type": "truncated"} for one, other in joined
    ]
    about = {"data_source": source, "language": language, "layout": layout, "special_issue": issues}
    return {
        "layout_dets": found,
        "page_info": {"page_no": 1, "image_path": f"page_{number}.png", "page_attribute": about},
        "extra": {"relation": relations},
    }


def picture(number: int) -> bytes:
    """The page."""
    text = "\n".join(content[:60] for _, content in PAGES[number][1] if content.isascii())
    drawn: bytes = png(page(text, (320, 90)))["bytes"]
    return drawn


def samples() -> list[Sample]:
    """The only split of either version."""
    numbers = range(len(PAGES))
    answers = [json.dumps(annotation(number), ensure_ascii=False) for number in numbers]
    rows: list[Row] = [
        {"index": number, "image": base64.b64encode(picture(number)).decode(), "answer": answers[number]}
        for number in numbers
    ]
    pages = [annotation(number) for number in numbers]
    files = {f"images/page_{number}.png": picture(number) for number in numbers}
    files["OmniDocBench.json"] = json.dumps(pages, ensure_ascii=False).encode()
    return [
        Sample("ouyanglinke/OmniDocBench_tsv", "train", FEATURES, rows),
        Sample("opendatalab/OmniDocBench", "train", PAGE_FEATURES, pages, files=files),
    ]
