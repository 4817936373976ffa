"""OmniDocBench v1.0: what is read of an answer, how its pieces are matched, and the numbers of a run."""

import json
from typing import Any

import pytest

from tests.tasks.made_up import MadeUp, categories

OMNIDOC = MadeUp("omnidocbench_v1", "ouyanglinke/OmniDocBench_tsv", "train")
TEXT = [("title", "Tides"), ("text_block", "The ferry runs."), ("header", "Page one")]
FORMULA = [("equation_isolated", "$$d = \\frac{a}{b} \\tag{3}$$")]
TABLE = [("table", "<table><tr><th>Name</th><th>Age</th></tr><tr><td>Lena</td><td>9</td></tr></table>")]
HTML = TABLE[0][1]


def doc(pieces: list[tuple[str, str]], joined: list[tuple[int, int]] | None = None) -> dict[str, Any]:
    keys = {"table": "html", "equation_isolated": "latex"}
    dets = [
        {"category_type": k, "anno_id": n, "order": n + 1, keys.get(k, "text"): c} for n, (k, c) in enumerate(pieces)
    ]
    relations = [{"source_anno_id": a, "target_anno_id": b, "relation_type": "truncated"} for a, b in joined or ()]
    about = {"language": "english", "watermark": True}
    page = {"layout_dets": dets, "page_info": {"page_attribute": about}, "extra": {"relation": relations}}
    return {"answer": json.dumps(page)}


HARD = [  # pieces, answer, text distance, formula distance, TEDS
    (TEXT, "# Tides\n\nThe ferry runs.", 0, None, None),  # the header may be left out
    (TEXT, "# Tides\n\nThe ferry runs.\n\nPage one", 0, None, None),
    (TEXT, "The ferry runs.\n\nTides", 0, None, None),  # the order is another number
    (TEXT, "```markdown\nTides\n\nThe ferry runs!\n```", 0, None, None),  # marks and fences are not compared
    (TEXT, "Tides\nThe ferry runs.", 0, None, None),  # single line breaks, if there are no others
    (TEXT, "tides\n\nThe ferry runs.", 1 / 17, None, None),  # case is
    (TEXT, "The ferry runs.", 5 / 17, None, None),
    (TEXT, "Tides\n\nThe ferry runs.\n\nPage one\n\nSure, anything else?", 16 / 33, None, None),
    (TEXT, "", 1, None, None),
    (TEXT, "I can't read it.", 1, None, None),
    (TEXT, "<think>Tides?</think>Tides\n\nThe ferry runs.", 0, None, None),
    (FORMULA, "\\[ d=\\frac{a}{b} \\]", None, 0, None),
    (FORMULA, "$$\nd = \\mathrm{\\frac{A}{b}}\n$$", None, 2 / 15, None),  # the font goes, its braces stay
    (FORMULA, "It is $d = \\frac{a}{b}$.", None, 0, None),
    (FORMULA, "d = a/b", None, 1, None),
    (TABLE, HTML, None, None, 1),
    (TABLE, f"```html\n{HTML.replace('th>', 'td>')}\n```", None, None, 1),
    (TABLE, "| Name | Age |\n|---|---|\n| Lena | 9 |", None, None, 1),
    (TABLE, "<table><tr><td>Name<td>Age<tr><td>Lena<td>9</table>", None, None, 1),
    (TABLE, "<table><tr><td>Name</td><td>Age</td></tr></table>", None, None, 1 / 2),
    (TABLE, "<table><tr><td>Name</td><td>Age</td></tr><tr><td>Lens</td><td>9</td></tr></table>", None, None, 1 - 0.25 / 6),
    (TABLE, "<table></table>", None, None, 0),
    (TABLE, "<table><tr><td>Name</td>", None, None, 0),  # cut off, which is no table
    (TABLE, "Name Age\nLena 9", None, None, 0),
]  # fmt: skip


def test_hard_answers(cli, tmp_path) -> None:
    ran = OMNIDOC.run(cli, tmp_path, [doc(pieces) for pieces, *_ in HARD], [row[1] for row in HARD])
    names = ("text_edit_distance", "formula_edit_distance", "table_teds")
    for (_, answer, *expected), row in zip(HARD, ran.samples("omnidocbench_v1"), strict=True):
        found = [row["scores"].get(f"{name},none") for name in names]
        found[2] = found[2]["score"] if found[2] else None
        assert found == [pytest.approx(each, abs=1e-6) if each is not None else None for each in expected], answer


def test_the_parts_of_a_text_are_joined_and_tables_are_matched_by_their_content(cli, tmp_path) -> None:
    other = "<table><tr><td>Quarter</td><td>Sales</td></tr></table>"
    docs = [doc([("text_block", "The fer"), ("text_block", "ry runs.")], [(0, 1)]), doc([*TABLE, ("table", other)])]
    row = OMNIDOC.run(cli, tmp_path, docs, ["The ferry runs.", f"{other}\n\n{HTML}"]).results["results"][
        "omnidocbench_v1"
    ]
    assert (row["overall,none"], row["text_edit_distance,none"], row["table_teds,none"]) == (100, 0, 1)


def test_the_overall_number_and_the_attributes_of_pages(cli, tmp_path) -> None:
    docs = [doc(TEXT), doc(FORMULA), doc([*TABLE, *TABLE]), doc([("header", "Page one")])]
    ran = OMNIDOC.run(cli, tmp_path, docs, ["The ferry runs.", "nothing", HTML, "Page one"])
    row = ran.results["results"]["omnidocbench_v1"]
    assert row["table_teds,none"] == 0.5  # of both tables, one of which is left out
    assert row["overall,none"] == pytest.approx(100 * (12 / 17 + 0 + 0.5) / 3)
    assert categories(ran, "omnidocbench_v1", "special_issue", "text_edit_distance,none") == {"watermark": 5 / 17}
