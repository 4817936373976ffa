"""OmniDocBench: small pages with texts, formulas and tables, annotated as the benchmark's are."""

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


def row(number: int) -> Row:
    """One page and its annotation."""
    (source, language, layout, issues), pieces, joined = PAGES[number]
    found: list[dict[str, Any]] = []
    for place, (kind, content) in enumerate(pieces):
        key = {"table": "html", "equation_isolated": "latex"}.get(kind, "text")
        found.append({"category_type": kind, "anno_id": place, "order": place + 1, "ignore": False, key: content})
    relations = [
        {"source_anno_id": one, "target_anno_id": other, "relation_type": "truncated"} for one, other in joined
    ]
    about = {"data_source": source, "language": language, "layout": layout, "special_issue": issues}
    answer = {
        "layout_dets": found,
        "page_info": {"page_no": 1, "image_path": f"page_{number}.png", "page_attribute": about},
        "extra": {"relation": relations},
    }
    picture = png(page("\n".join(content[:60] for _, content in pieces if content.isascii()), (320, 90)))["bytes"]
    return {
        "index": number, "image": base64.b64encode(picture).decode(), "answer": json.dumps(answer, ensure_ascii=False),
    }  # fmt: skip


def samples() -> list[Sample]:
    """The only split."""
    return [Sample("ouyanglinke/OmniDocBench_tsv", "train", FEATURES, [row(number) for number in range(len(PAGES))])]
