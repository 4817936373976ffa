"""One table value, written in six formats."""

from mm_eval.results.table import (
    Column,
    DocCount,
    Drawing,
    Row,
    Table,
    Value,
    to_csv,
    to_html,
    to_latex,
    to_markdown,
    to_page,
    to_text,
)
from mm_eval.values.types import UNNAMED, Number

COLUMNS = [Column("model", "text"), Column("a_b", cell="score"), Column("lost")]
ROWS = [
    Row(
        {
            "model": "x|y",
            "score": Value("0.5", " ± 0.1", bold=True),
            "lost": DocCount([("mme", 3), ("mme", 4)], "lost by B"),
        }
    ),
    Row({"model": "=z", "score": None, "lost": DocCount([], "lost by B")}, part=True),
]
TABLE = Table(COLUMNS, ROWS, ["a < b"])


def test_each_format_escapes_for_itself_and_shows_a_missing_number_as_a_dash() -> None:
    assert to_text(TABLE).splitlines() == [
        "model        a_b  lost",
        "----------------------",
        "x|y    0.5 ± 0.1     2",
        "=z             -     0",
    ]
    assert to_markdown(TABLE).splitlines() == [
        "| model | a_b | lost |",
        "| --- | ---: | ---: |",
        r"| x\|y | **0.5** ± 0.1 | 2 |",
        "| =z | – | 0 |",
        "",
        "a &lt; b",
    ]
    assert r"x\textbar{}y & \textbf{0.5} {\small $\pm$ 0.1} & 2 \\" in to_latex(TABLE).splitlines()
    assert to_csv(TABLE).splitlines() == ["model,a_b,lost", "x|y,0.5 ± 0.1,2", "'=z,,0"]
    assert "<td>x|y</td><td><b>0.5 ± 0.1</b></td><td>2</td>" in to_html(TABLE) and to_html(TABLE).endswith(
        "<p>a &lt; b</p>"
    )


def test_a_page_gets_docs_drawings_and_marks() -> None:
    found = Number(UNNAMED, 0.1, 0.05, (-0.1, 0.3), 9, clusters=9)
    rows = [*ROWS, Row({"model": "d", "score": Drawing(found, 0.4), "lost": ""}, marked=True)]
    drawn = to_page(Table(COLUMNS, rows))
    assert drawn["head"] == [["model", "", False], ["a_b", "n", False], ["lost", "n", False]]
    assert drawn["rows"][0]["cells"][2] == {
        "kind": "docs",
        "count": 2,
        "docs": {"mme": [3, 4]},
        "said": "lost by B",
        "model": None,
    }
    assert drawn["rows"][1] == {"cells": ["=z", "–", "0"], "part": True}
    assert drawn["rows"][2]["cells"][1] == {"kind": "interval", "value": 0.1, "interval": [-0.1, 0.3], "reach": 0.4}
    assert drawn["rows"][2]["marked"] and to_text(Table(COLUMNS, rows)).splitlines()[-1] == "d"
