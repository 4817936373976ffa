"""Spreadsheets: texts as they were written, whoever wrote the file; a small file costs little, whatever it says."""

import zipfile
from pathlib import Path

import pytest

from mm_eval.values.errors import ConfigError
from mm_eval.verbs.exports.logs import xlsx
from mm_eval.verbs.exports.logs.xlsx import rows_of

REAL = Path(__file__).parent / "real" / "xlsx"
NAMES = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
BOOK = f"""<workbook {NAMES} xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships">
<sheets><sheet name="s" sheetId="1" r:id="rId1"/></sheets>%s</workbook>"""
LINKS = """<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship
Id="rId1" Target="worksheets/sheet1.xml" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/worksheet"/></Relationships>"""
FIRST = '<row r="1"><c r="A1" t="str"><v>index</v></c><c r="B1" t="str"><v>prediction</v></c></row>'


def made(path: Path, rows: str, calculation: str = "", **members: str) -> Path:
    """A file with one sheet, all of whose texts stand in the cells."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", BOOK % calculation)
        archive.writestr("xl/_rels/workbook.xml.rels", LINKS)
        archive.writestr(
            "xl/worksheets/sheet1.xml", f"<worksheet {NAMES}><sheetData>{FIRST}{rows}</sheetData></worksheet>"
        )
        for name, content in members.items():
            archive.writestr(f"xl/{name}.xml", content)
    return path


@pytest.mark.parametrize("writer", ["xlsxwriter-3.2.9", "openpyxl-3.1.5"])
def test_texts_are_what_pandas_was_given(writer: str) -> None:
    """ "=5" came as "" or "0", and a carriage return as "_x000D_" or not at all."""
    rows = [row for _, row in rows_of(REAL / f"{writer}.xlsx")]
    predictions = [row["prediction"] for row in rows]
    assert predictions[:6] == ["=5", '=A1&"x" <&>', "{=5}", "==5", "http://a.b/c", "007"]
    assert predictions[6:10] == [5, 0.1, 1, True] and predictions[-1] is None
    others = [row["x y"] for row in rows]
    assert others[0] == "a\r\nb" and others[2:5] == ["tab\there", None, " lead"]
    assert others[6:9] == ["5", "2021-05-01", "2021-05-01 12:30:00"] and others[-3:] == ["😀 é", None, "after empty"]


def test_a_formula_that_a_spreadsheet_has_computed_is_its_value(tmp_path: Path) -> None:
    cell = '<row r="2"><c r="A2"><v>1</v></c><c r="B2" t="str"><f>A2&amp;"x"</f><v>1x</v></c></row>'
    [(line, row)] = rows_of(made(tmp_path / "a.xlsx", cell))
    assert (line, row) == (2, {"index": 1, "prediction": "1x"})
    [(_, row)] = rows_of(made(tmp_path / "b.xlsx", cell, '<calcPr calcId="1" fullCalcOnLoad="1"/>'))
    assert row["prediction"] == '=A2&"x"', "nobody has computed it"
    bare = '<row r="2"><c r="A2"><v>1</v></c><c r="B2"><f>5</f></c></row>'
    assert [row["prediction"] for _, row in rows_of(made(tmp_path / "c.xlsx", bare))] == ["=5"]


def test_shared_texts_in_pieces_and_without_their_pronunciation(tmp_path: Path) -> None:
    cells = '<row r="2"><c r="A2" t="s"><v>1</v></c><c r="B2" t="s"><v>0</v></c></row>'
    shared = (
        "<si><r><t>one </t></r><r><t>two</t></r><rPh><t>no</t></rPh></si><si><t>_xD83D__xDE00_ _x005F_x000D_</t></si>"
    )
    path = made(tmp_path / "a.xlsx", cells, sharedStrings=f"<sst {NAMES}>{shared}</sst>")
    assert [row for _, row in rows_of(path)] == [{"index": "\U0001f600 _x000D_", "prediction": "one two"}]
    path = made(tmp_path / "b.xlsx", cells.replace(">1<", ">2<"), sharedStrings=f"<sst {NAMES}>{shared}</sst>")
    with pytest.raises(ConfigError, match="there is no shared text 2"):
        list(rows_of(path))


def test_cells_far_apart_cost_nothing(tmp_path: Path) -> None:
    far = '<row r="3"><c r="B3"><v>3</v></c><c r="XFD3"><v>1</v></c></row><row r="1048576"><c r="A1048576"><v>9</v></c></row>'
    found = list(rows_of(made(tmp_path / "a.xlsx", far)))
    assert found == [(3, {"index": None, "prediction": 3})], "no column has a name there, and the table has ended"


def test_many_empty_rows_end_the_table(tmp_path: Path) -> None:
    empty = "".join(f'<row r="{n}"><c r="A{n}" s="0"/></row>' for n in range(3, xlsx.MOST_EMPTY + 5))
    row = '<row r="2"><c r="B2"><v>2</v></c></row>'
    last = f'<row r="{xlsx.MOST_EMPTY + 5}"><c r="B{xlsx.MOST_EMPTY + 5}"><v>7</v></c></row>'
    assert [line for line, _ in rows_of(made(tmp_path / "a.xlsx", row + empty + last))] == [2]
    assert [line for line, _ in rows_of(made(tmp_path / "b.xlsx", row + last))] == [2]
    near = last.replace(str(xlsx.MOST_EMPTY + 5), "40")
    assert [line for line, _ in rows_of(made(tmp_path / "c.xlsx", row + near))] == [2, 40]


def test_a_member_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(tmp_path / "a.xlsx", '<row r="2"><c r="B2"><v>2</v></c></row>' + " " * 50_000)
    assert path.stat().st_size < 5_000
    monkeypatch.setattr(xlsx, "MOST_MEMBER", 20_000)
    with pytest.raises(ConfigError, match="sheet1.xml in it has more than 20,000 bytes"):
        list(rows_of(path))


def test_a_member_of_too_many_cells_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = made(tmp_path / "a.xlsx", '<row r="2">' + "<c/>" * 5_000 + "</row>")
    assert list(rows_of(path)) == []
    monkeypatch.setattr(xlsx, "MOST_ELEMENTS", 4_000)
    with pytest.raises(ConfigError, match="sheet1.xml in it has more than 4,000 elements"):
        list(rows_of(path))


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ('<row r="2"><c r="B2"><v>two</v></c></row>', "could not convert string to float"),
        ('<row r="2"><c r="B2"><v>1e999</v></c></row>', "which is not a number"),
        ('<row r="2"><c r="B2">', "not a whole xlsx file"),
    ],
)
def test_damage_has_file_and_line(tmp_path: Path, rows: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said) as caught:
        list(rows_of(made(tmp_path / "a.xlsx", rows)))
    assert caught.value.where == f"{tmp_path}/a.xlsx:2"


def test_entities_and_two_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    shared = '<!DOCTYPE sst [<!ENTITY a "b">]><sst><si><t>&a;</t></si></sst>'
    with pytest.raises(ConfigError, match="defines entities of its own"):
        list(rows_of(made(tmp_path / "a.xlsx", "", sharedStrings=shared)))
    with zipfile.ZipFile(tmp_path / "d.xlsx", "w") as archive:
        archive.writestr("xl/workbook.xml", BOOK % "")
        archive.writestr("xl/_rels/workbook.xml.rels", LINKS)
        twice = FIRST.replace("index", "prediction")
        archive.writestr("xl/worksheets/sheet1.xml", f"<worksheet {NAMES}><sheetData>{twice}</sheetData></worksheet>")
    with pytest.raises(ConfigError, match="two columns are named 'prediction'"):
        list(rows_of(tmp_path / "d.xlsx"))
