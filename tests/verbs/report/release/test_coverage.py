"""A model that answered nothing, an interrupted one and a part of the documents: in the cell and in the notes of every form."""

import csv
import io
import shutil
from pathlib import Path

import pytest

from mm_eval.results.recorded import RecordedRun
from mm_eval.verbs.report.release.numbers import release_table
from mm_eval.verbs.report.release.page import about
from mm_eval.verbs.report.release.table import ReleaseTable
from mm_eval.verbs.report.release.text import as_csv, as_latex, as_markdown, as_text
from tests.folders import edited

ROW = "mme", "mme_perception_score"


@pytest.fixture(scope="module")
def table(base: Path, perfect: Path, worse: Path) -> ReleaseTable:
    """Of three models: one whole, one interrupted after 192 of 420 documents, one that answered nothing."""
    runs = [RecordedRun.read(perfect, "whole")]
    for name, missing in (("stopped", 228), ("dead", 420)):
        shutil.copytree(worse, base / f"covered-{name}")
        with edited(base / f"covered-{name}" / "results.json") as results:
            row = results["results"]["mme"]
            row["not_requested"] = missing
            if missing == row["n"]:
                results["results"]["mme"] = {k: v for k, v in row.items() if "," not in k}
        runs.append(RecordedRun.read(base / f"covered-{name}", name))
    return release_table(runs)


def test_the_notes_are_true_of_each_model(table: ReleaseTable) -> None:
    assert "dead: no answer: 0 of 420 documents of mme." in table.notes
    assert "stopped: 192 of 420 documents of mme, not a benchmark result." in table.notes
    assert not any(note.startswith(("whole", "stopped, dead")) for note in table.notes)


@pytest.mark.parametrize("form", [as_markdown, as_latex, lambda table: as_text(table, width=200)])
def test_a_cell_says_what_it_lacks(table: ReleaseTable, form) -> None:
    [line] = [line for line in form(table).splitlines() if line.startswith(("mme", "| mme"))]
    assert "no answer !" in line and line.count("(192 of 420)") == 1
    assert "! documents without an answer" in form(table)
    assert "(192 of 420) is a score of a part of the documents." in form(table)  # a number that stands there


def test_the_csv_has_a_line_for_a_model_without_an_answer(table: ReleaseTable) -> None:
    rows = [row for row in csv.DictReader(io.StringIO(as_csv(table))) if (row["benchmark"], row["metric"]) == ROW]
    assert {row["model"]: (row["answered"], row["documents"], row["partial"]) for row in rows} == {
        "whole": ("420", "420", "0"),
        "stopped": ("192", "420", "1"),
        "dead": ("0", "420", "1"),
    }
    [dead] = [row for row in rows if row["model"] == "dead"]
    assert dead["value"] == "" and dead["verdict"] == "no answer"


def test_the_page_has_the_same_in_its_cells(table: ReleaseTable) -> None:
    cells = about(table, {})["rows"][0]["cells"]
    assert "part" not in cells[0] and cells[1]["part"] == "192 of 420" and "v" in cells[1]
    assert cells[2] == {"lacking": "no answer", "part": "0 of 420"}
