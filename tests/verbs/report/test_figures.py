"""The figures of a release: every number, interval, rank and hole of the table, and nothing is cut off."""

import re
import sys
from collections.abc import Iterator
from functools import partial
from itertools import combinations
from pathlib import Path
from xml.etree import ElementTree

import pytest
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from mm_eval.cli import main
from mm_eval.results.recorded import RecordedRun
from mm_eval.verbs.figures import WIDTH, content, settings, wrapped, write_figures
from mm_eval.verbs.report.figures import PREVIEW, bars, heat_map, preview
from mm_eval.verbs.report.release.numbers import Reported, release_table
from mm_eval.verbs.report.release.table import ReleaseNumber, ReleaseTable
from tests.sets import each_of

ODD = "</svg><script>alert(1)</script> & \x00\x1b[31m \u202e 'model' $x$ 模型" + "x" * 60
ROW = ("mme", "mme_perception_score")


@pytest.fixture(scope="module")
def table(perfect, worse, dummy_run) -> ReleaseTable:
    runs = [RecordedRun.read(perfect, "good"), RecordedRun.read(worse, ODD), RecordedRun.read(dummy_run, "dummy")]
    return release_table(runs, [Reported("paper", *ROW, 1880.0, 30.0, "arXiv:1")])


@pytest.fixture(autouse=True)
def drawing() -> Iterator[None]:
    with settings():
        yield


def of_shares(models: int, rows: int = 3, name: str = "LLaVA-OneVision-1.5-8B-Instruct") -> ReleaseTable:
    """A table of benchmarks in percent."""
    columns = [f"{number}-{name}" for number in range(models)]
    numbers = {
        column: ReleaseNumber(0.4 + 0.3 / (1 + n), 0.02, best=n == 0, rank=1 + n) for n, column in enumerate(columns)
    }
    keys = [(f"a_benchmark_with_a_long_name_{number}", "acc") for number in range(rows)]
    return ReleaseTable(columns, dict.fromkeys(keys, numbers), headlines=set(keys), average=dict(numbers))


def texts(figure: Figure) -> list[str]:
    """All that is written in a figure, on one line each."""
    return [
        found for text in figure.findobj(Text) if (found := text.get_text().replace("\n", " ")) and text.get_visible()
    ]


def cells(figure: Figure) -> list[Rectangle]:
    return [patch for patch in figure.axes[0].patches if isinstance(patch, Rectangle)]


def test_the_heat_map_has_every_headline_number_interval_and_rank(table: ReleaseTable) -> None:
    found = texts(heat_map(table))
    assert len(table.shown()) < len(table.rows) and not any("existence" in text for text in found)
    for row in table.shown():
        assert wrapped(table.shown_label(row), 1.3).replace("\n", " ") in found
        for each in table.rows[row].values():
            assert any(text.startswith(table.text(row, each.value)) for text in found)
            if each.bounds:
                assert table.unit(row).ends(each.bounds, " to ") in found
    assert any(text.startswith("#1") for text in found) and "–" in found and "1880.00 *" in found
    assert any("Sample data" in text for text in found)


def test_bars_have_whiskers_and_stand_at_their_values(table: ReleaseTable) -> None:
    figure = bars(table, ROW)
    numbers = table.rows[ROW]
    assert [bar.get_width() for bar in cells(figure)] == [found.value for found in numbers.values()]
    whiskers = [line.get_xdata() for line in figure.axes[0].lines]
    assert [tuple(ends) for ends in whiskers] == [found.bounds for found in numbers.values() if found.bounds]
    assert len(whiskers) == 3 and len(numbers) == 4, "the reported number has no interval"
    assert "good" in texts(figure) and "1880.00 *" in texts(figure)
    shares = bars(of_shares(2), ("a_benchmark_with_a_long_name_0", "acc"))
    assert [bar.get_width() for bar in cells(shares)] == pytest.approx([70, 55]) and "percent" in texts(shares)
    assert shares.axes[0].get_xlim() == (0, 100)


@each_of("models", [1, 6])
def test_nothing_is_cut_off_or_lies_on_another_text(models: int) -> None:
    check_places(models)


@pytest.mark.full
@each_of("models", [2, 3, 4, 5, 12])
def test_nothing_is_cut_off_of_other_numbers_of_models(models: int) -> None:
    check_places(models)


def check_places(models: int) -> None:
    table = of_shares(models)
    for figure in (heat_map(table), bars(table, ("a_benchmark_with_a_long_name_0", "acc"))):
        assert models > 7 or figure.get_figwidth() <= WIDTH, "as wide as a page"
        figure.draw_without_rendering()
        drawn = [text for text in figure.findobj(Text) if text.get_text().strip() and text.get_visible()]
        boxes = [text.get_window_extent() for text in drawn]
        for text, box in zip(drawn, boxes, strict=True):
            inside = figure.bbox.contains(box.x0, box.y0) and figure.bbox.contains(box.x1, box.y1)
            assert inside, (text.get_text(), box, figure.bbox)
        for (one, box), (other, another) in combinations(zip(drawn, boxes, strict=True), 2):
            across = min(box.x1, another.x1) - max(box.x0, another.x0)
            down = min(box.y1, another.y1) - max(box.y0, another.y0)
            assert across < 2 or down < 2, (one.get_text(), other.get_text())


@pytest.mark.full
def test_no_name_reaches_the_figure_as_markup_or_as_a_formula(table: ReleaseTable) -> None:
    for draw in (partial(heat_map, table), partial(bars, table, ROW)):
        drawn = content(draw(), "svg").decode()
        ElementTree.fromstring(drawn)
        assert "<script" not in drawn and "\x00" not in drawn
        assert not re.search(r"""(href|src)=["'](?!#)""", drawn)
        assert content(draw(), "svg").decode() == drawn, "equal tables give equal files"
    assert "a$x$b</text>" in content(heat_map(of_shares(1, 1, "a$x$b")), "svg").decode()


def test_a_number_that_is_not_ranked_is_hatched_and_one_of_a_lone_model_is_white() -> None:
    numbers = {"a": ReleaseNumber(0.5), "b": ReleaseNumber(0.9, set_apart=True)}
    figure = heat_map(ReleaseTable(["a", "b"], {("mme", "acc"): numbers}, headlines={("mme", "acc")}))
    assert [bool(cell.get_hatch()) for cell in cells(figure)] == [False, True]
    assert all(cell.get_facecolor() == (1, 1, 1, 1) for cell in cells(figure))
    assert any("not ranked with it" in text for text in texts(figure))


@each_of(
    ("name", "width", "lines"),
    [
        ("mme", 1, ["mme"]),
        ("mathvista_testmini", 0.9, ["mathvista_", "testmini"]),
        ("LLaVA-OneVision", 0.5, ["LLaVA-", "One", "Vision"]),
        ("a b", 1, ["a b"]),
        ("x" * 30, 1, ["x" * 15, "x" * 15]),
    ],
)
def test_names_are_broken_where_a_reader_expects_it(name: str, width: float, lines: list[str]) -> None:
    assert wrapped(name, width).split("\n") == lines


def test_a_preview_has_the_first_rows_and_says_what_it_leaves_out() -> None:
    drawn = preview(of_shares(9, rows=10))
    assert drawn.startswith(b"\x89PNG") and int.from_bytes(drawn[16:20]) == PREVIEW[0]


@pytest.mark.full
def test_the_command_writes_the_figures_and_nothing_else(perfect, worse, tmp_path: Path, capsys, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["report", str(perfect), str(worse), "--figures", "out"]) == 0
    names = ("heat-map", "bars-mme.mme_perception_score", "bars-mme.mme_cognition_score")
    written = [f"out/{name}.{ending}" for name in names for ending in ("svg", "pdf", "png")]
    assert capsys.readouterr().out.split() == written
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    starts = {".svg": b"<?xml", ".pdf": b"%PDF-", ".png": b"\x89PNG"}
    before = {path: Path(path).read_bytes() for path in written}
    assert all(found.startswith(starts[Path(path).suffix]) for path, found in before.items())
    assert main(["report", str(perfect), str(worse), "--figures", "out"]) == 0
    assert before == {path: Path(path).read_bytes() for path in written}, "equal runs give equal files"
    Path("file").write_text("")
    assert main(["report", str(perfect), "--figures", "file/here"]) == 2
    assert "can't be written" in capsys.readouterr().err


@each_of("words", [("--figures", "out"), ("--site", "out", "--url", "https://example.org/x")])
def test_without_matplotlib_nothing_is_written(
    words: tuple[str, ...],
    perfect: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert main(["report", str(perfect), "--model_index", "card.yaml", *words]) == 2
    assert "pip install 'mm-eval[figures]'" in capsys.readouterr().err and not list(tmp_path.iterdir())


def test_a_figure_that_fails_leaves_the_earlier_file(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text("before")
    with pytest.raises(ZeroDivisionError):
        write_figures(tmp_path, {"a": lambda: Figure((1 / 0, 1))})
    assert (tmp_path / "a.svg").read_text() == "before"
