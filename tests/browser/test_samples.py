"""The samples of a page: sorted, filtered by several conditions, as a grid of pictures, and as files of what is shown."""

import csv
import io
import json

import pytest

from tests.recorded import answers_with, ran

from .conftest import ATTACK
from .test_report_page import choose, count, detail, search

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def wordy(base, mme_rows):
    """40 documents, of which doc 3 has the longest answer, doc 5 a formula of a spreadsheet, and doc 7 what tries everything."""
    said = {3: "Yes, since the picture shows it", 5: '=HYPERLINK("x"), no', 7: ATTACK}
    path = answers_with(base / "wordy-samples.jsonl", mme_rows[:40], set(), said=said)
    words = ["--tasks", "mme", "--limit", "40", "--model", "replay", "--model_args", f"path={path}"]
    return ran(base / "wordy-samples", *words)


def docs(page) -> list[int]:
    return list(page.execute_script("return shown.map((row) => row.d)"))


def test_samples_are_sorted_and_filtered_by_several_conditions(opened, wordy) -> None:
    page = opened(wordy / "report.html", "#?sort=-length")
    lengths = page.execute_script("return shown.map((row) => row.z[0])")
    assert len(lengths) == 40 and lengths == sorted(lengths, reverse=True) and lengths[0] > 30
    choose(page, "f-sort", "score")
    scores = page.execute_script("return shown.map((row) => VALUES.score(row) ?? null)")
    assert scores == sorted(scores) and len(set(scores)) > 1
    choose(page, "f-sort", "")
    assert docs(page) == list(range(40)) and "sort" not in page.current_url
    search(page, "length>10 doc<=5 picture shows")
    assert docs(page) == [3] and "text=length" in page.current_url
    assert page.execute_script("return document.querySelector('#detail mark').textContent") == "picture shows"
    search(page, "score=1 length>10")
    assert docs(page) == [3]
    page.execute_script("for (const row of rows) row.z = [1, 1, 1, 0, row.d / 8]")
    search(page, "seconds>4.5")
    choose(page, "f-sort", "-seconds")
    assert docs(page) == [39, 38, 37]
    choose(page, "f-sort", "")
    search(page, "score=1 length>10")
    choose(page, "f-result", "unparsed")
    assert count(page) == "0 of 40"


def test_what_is_filtered_can_be_exported_and_copied(opened, wordy) -> None:
    page = opened(wordy / "report.html", "#?text=length%3E10")
    assert docs(page) == [3, 5, 7]
    lines = [json.loads(line) for line in page.execute_script("return exported('jsonl')").splitlines()]
    assert [line["doc"] for line in lines] == [3, 5, 7] and lines[1]["answers"] == ['=HYPERLINK("x"), no']
    assert lines[0]["result"] == "right" and lines[0]["scores"] and lines[0]["task"] == "mme"
    rows = list(csv.DictReader(io.StringIO(page.execute_script("return exported('csv')"))))
    assert [row["doc"] for row in rows] == ["3", "5", "7"] and json.loads(rows[2]["answers"])[0].startswith("</script>")
    formula = page.execute_script("shown = [{ ...shown[0], p: '=1+1' }]; return exported('csv')")
    assert list(csv.DictReader(io.StringIO(formula)))[0]["prompt"] == "'=1+1"
    markdown = page.execute_script("return asMarkdown({ ...shown[0], p: 'Is it ```code```?' })")
    assert markdown.startswith("**mme, doc 3**: right") and "````text\nIs it ```code```?\n````" in markdown
    assert page.execute_script("return window.attacked") is None


def test_the_grid_shows_whole_pictures_and_draws_only_what_is_in_view(opened, dummy_run) -> None:
    page = opened(dummy_run / "report.html", "#?view=grid")
    assert count(page) == "672 of 672"
    boxes = page.execute_script(
        "return [...document.querySelectorAll('#list .row')].map((e) => [e.offsetLeft, e.offsetTop, e.offsetWidth])"
    )
    beside = sum(top == boxes[0][1] for _, top, _ in boxes)
    assert beside >= 4 and len(boxes) < 120 and len({(left, top) for left, top, _ in boxes}) == len(boxes)
    assert {width for *_, width in boxes} == {128}
    fit = "return getComputedStyle(document.querySelector('.row img')).objectFit"
    assert page.execute_script(fit) == "contain", "a wide picture is not a blank square"
    page.execute_script("document.querySelectorAll('#list .row')[2].click()")
    assert "mme, doc 2" in detail(page)
    page.execute_script("byId('list').scrollTop = 1e6; paint()")
    last = page.execute_script(
        "return Math.max(...[...document.querySelectorAll('#list .row')].map((e) => +e.dataset.index))"
    )
    assert last == 671
    choose(page, "f-view", "")
    assert page.execute_script("return document.querySelector('.row.chosen').offsetHeight") == 64
