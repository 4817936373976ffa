"""The differences of a release: a column for two models, who beats whom among more, and why a lone p-value is not enough."""

import csv
import io

import pytest

from mm_eval.results.recorded import RecordedRun
from mm_eval.values.types import UNNAMED, Number
from mm_eval.verbs.report.release.differences import why_not_significant, wins
from mm_eval.verbs.report.release.numbers import release_table
from mm_eval.verbs.report.release.table import ReleaseDifference
from mm_eval.verbs.report.release.text import as_csv, as_latex, as_markdown, as_text
from mm_eval.verbs.study.compare import compare

ROW = "mme", "mme_perception_score"


def test_two_models_have_a_column_with_their_difference(perfect, worse) -> None:
    """The same numbers as `compare`, with the interval and both p-values in every form."""
    runs = [RecordedRun.read(perfect, "good"), RecordedRun.read(worse, "bad")]
    table = release_table(runs)
    [change] = [each for each in compare(runs)[0].changes if each.main]
    found = table.difference(ROW)
    assert found is not None and (found.first, found.second) == ("good", "bad")
    assert (found.number.value, found.number.interval) == (change.difference.value, change.difference.interval)
    assert found.number.p_value == change.difference.p_value and found.corrected == change.corrected
    text = f"{change.difference.value:.2f} ["
    for shown in (as_text(table, width=200), as_markdown(table).replace("\\", ""), as_latex(table)):
        assert text in shown and "p (Holm)" in shown and "bad minus good, paired by document" in shown
    narrow = as_text(table, intervals=True, width=60)
    assert "±" in narrow and text in narrow, "a table of its own, where there is no room: no interval is lost for it"
    [line] = [row for row in csv.DictReader(io.StringIO(as_csv(table))) if row["difference"]]
    assert line["model"] == "bad" and float(line["difference"]) == change.difference.value
    assert float(line["p"]) == change.difference.p_value and float(line["p_holm"]) == change.corrected
    other = release_table(runs[::-1]).difference(ROW)
    assert other is not None and other.number.value == -found.number.value


def test_of_three_models_a_table_says_who_beats_whom(perfect, worse, dummy_run) -> None:
    runs = [RecordedRun.read(dummy_run, "dummy"), RecordedRun.read(worse, "bad"), RecordedRun.read(perfect, "good")]
    table = release_table(runs)
    won = wins(table)
    assert table.pair is None and won["good", "dummy"] == won["good", "bad"] == won["bad", "dummy"] == 1
    assert won["dummy", "good"] == 0
    part = table.parts[0]
    assert part.title == "Who beats whom" and part.table.rows[2].cells["bad"] == "1 of 1"
    assert "good over bad 1 to 0" in part.note and part.note in as_markdown(table)


def test_the_headline_says_why_a_lone_interval_is_not_enough(perfect, worse) -> None:
    table = release_table([RecordedRun.read(perfect, "a"), RecordedRun.read(worse, "b")])
    number = Number(UNNAMED, -0.04, exact=(-0.073, -0.007), exact_p=0.019)
    table.differences = {ROW: [ReleaseDifference("a", "b", number, 0.187)]}
    table.comparisons = 10
    said = why_not_significant(table, "b", "a")
    assert said == ("Significant before, but not after correction for 10 comparisons: mme (p 0.019, 0.187 corrected)")
    table.differences = {ROW: [ReleaseDifference("a", "b", number, 0.03)]}
    assert why_not_significant(table, "a", "b") == ""


@pytest.mark.parametrize(("comparisons", "factor"), [(1, 2.802), (10, 3.649)])
def test_the_smallest_visible_difference_is_corrected_for_the_comparisons(comparisons: int, factor: float) -> None:
    """z(1 - 0.05 / 2m) + z(0.8), of many clusters."""
    number = Number(UNNAMED, 0.1, stderr=0.01, clusters=100_000, freedom=100_000)
    assert number.smallest_visible(comparisons) == pytest.approx(0.01 * factor, rel=1e-3)
