"""The figures of a release: SVG files that any reader opens, with every number, interval, rank and hole of the table."""

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mm_eval.cli import main
from mm_eval.results.recorded import RecordedRun
from mm_eval.verbs.report import pdf
from mm_eval.verbs.report.figures import _ticks, heat_map, write_figures
from mm_eval.verbs.report.release.numbers import Reported, release_table
from mm_eval.verbs.report.release.table import ReleaseNumber, ReleaseTable
from tests.sets import each_of

ODD = "</svg><script>alert(1)</script> & \x00\x1b[31m \u202e 'model' 模型" + "x" * 60


@pytest.fixture(scope="module")
def table(perfect, worse, dummy_run) -> ReleaseTable:
    runs = [RecordedRun.read(perfect, "good"), RecordedRun.read(worse, ODD), RecordedRun.read(dummy_run, "dummy")]
    return release_table(runs, [Reported("paper", "mme", "mme_perception_score", 1880.0, 30.0, "arXiv:1")])


def texts(path: Path) -> list[str]:
    return [each.text or "" for each in ElementTree.parse(path).iter("{http://www.w3.org/2000/svg}text")]


def test_the_heat_map_has_every_headline_number_interval_and_rank(table: ReleaseTable, tmp_path: Path) -> None:
    path, *_ = write_figures(tmp_path / "new" / "folder", table)
    found = texts(path)
    assert len(table.shown()) < len(table.rows) and not any("existence" in text for text in found)
    for row in table.shown():
        assert table.shown_label(row) in found
        for each in table.rows[row].values():
            assert any(text.startswith(table.text(row, each.value)) for text in found)
            if each.bounds:
                assert table.unit(row).ends(each.bounds, " to ") in found
    assert any(text.startswith("#1") for text in found) and "–" in found and "1880.00 *" in found
    assert any("Sample data" in text for text in found)


def test_there_are_bars_of_each_benchmark_with_whiskers(table: ReleaseTable, tmp_path: Path) -> None:
    written = write_figures(tmp_path, table)
    assert len(written) == 1 + len(table.rows) == len(set(written))
    bars = tmp_path / "bars-mme.mme_perception_score.svg"
    drawn = bars.read_text()
    assert drawn.count('height="18"') == len(table.rows["mme", "mme_perception_score"]) == 4
    assert drawn.count(f'stroke="{"#1d2125"}"') == 3 * 3, "three of ours have whiskers, the reported number has none"
    assert "good" in texts(bars) and "1880.00 *" in texts(bars)


def test_no_name_reaches_the_figure_as_markup(table: ReleaseTable, tmp_path: Path) -> None:
    for path in write_figures(tmp_path, table):
        ElementTree.parse(path)
        assert "<script" not in path.read_text() and "\x00" not in path.read_text()
        assert not re.search(r"(href|src|url)\W+https?:", path.read_text().replace("http://www.w3.org/2000/svg", ""))


def test_nothing_reaches_beyond_the_frame(table: ReleaseTable, tmp_path: Path) -> None:
    for path in write_figures(tmp_path, table):
        root = ElementTree.parse(path).getroot()
        wide, high = float(root.attrib["width"]), float(root.attrib["height"])
        for each in root.iter():
            if "x" in each.attrib:
                assert 0 <= float(each.attrib["x"]) <= wide and 0 <= float(each.attrib["y"]) <= high


def test_a_number_that_is_not_ranked_is_hatched_and_one_of_a_lone_model_is_white() -> None:
    numbers = {"a": ReleaseNumber(0.5), "b": ReleaseNumber(0.9, set_apart=True)}
    drawn = "".join(heat_map(ReleaseTable(["a", "b"], {("mme", "acc"): numbers}, headlines={("mme", "acc")})))
    assert drawn.count("url(#apart)") == 1 and "#ffffff" in drawn and "not ranked with it" in drawn


@each_of(
    ("low", "high", "ticks"),
    [(0, 1, [0, 0.2, 0.4, 0.6, 0.8, 1]), (0, 1750.96, [0, 500, 1000, 1500]), (0, 0, [0]), (-0.1, 1.2, [0, 0.5, 1])],
)
def test_the_ticks_are_round(low: float, high: float, ticks: list[float]) -> None:
    assert _ticks(low, high) == ticks


@pytest.mark.full
def test_the_command_writes_the_figures_and_nothing_else(perfect, worse, tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(perfect), str(worse), "--figures", "out"]) == 0
    names = ("heat-map", "bars-mme.mme_perception_score", "bars-mme.mme_cognition_score")
    endings = ["svg", *(["pdf"] if pdf.is_available() else [])]
    assert capsys.readouterr().out.split() == [f"out/{name}.{ending}" for ending in endings for name in names]
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    Path("file").write_text("")
    assert main(["report", str(perfect), "--figures", "file/here"]) == 3
    assert "can't be written" in capsys.readouterr().err


@pytest.mark.full
def test_each_figure_is_a_pdf_with_the_same_texts_at_the_same_places(table: ReleaseTable, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib", reason="pip install -e '.[figures]'")
    drawn = write_figures(tmp_path, table)
    written = pdf.write_pdfs(drawn[:2])
    assert [path.name for path in written] == [path.with_suffix(".pdf").name for path in drawn[:2]]
    assert all(path.read_bytes().startswith(b"%PDF-") for path in written)
    before = written[0].read_bytes()
    assert pdf.write_pdfs(drawn[:1])[0].read_bytes() == before, "equal tables give equal files"
    [axes] = pdf.figure_of(drawn[0]).axes
    assert [text.get_text() for text in axes.texts] == texts(drawn[0])
    assert len(axes.patches) == drawn[0].read_text().count("<rect") - 3, "without the page and the two of the pattern"


def test_without_matplotlib_there_are_svg_files_and_a_message(
    perfect: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(pdf, "is_available", lambda: False)
    assert main(["report", str(perfect), "--figures", str(tmp_path)]) == 0
    said = capsys.readouterr()
    assert "heat-map.svg" in said.out and "pip install 'mm-eval[figures]'" in said.err
    assert list(tmp_path.glob("*.svg")) and not list(tmp_path.glob("*.pdf"))
