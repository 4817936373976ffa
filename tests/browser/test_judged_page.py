"""The page of a judged run: prompt, reply and reading of each judge, its filters, and nothing that is cut off."""

import pytest

from mm_eval.results.recorded import RecordedRun
from mm_eval.run_page import write_report
from tests.results.judged import judge, judged_run

from .conftest import ATTACK
from .test_report_page import choose, count, detail, search

pytestmark = [pytest.mark.browser, pytest.mark.full]
LONG = "x" * 300


def verdict(place, row):
    """The first judge reads nothing for docs 0 to 4; the second differs from it on docs 10 to 19."""
    if place == 0 and row["doc_id"] < 5:
        return None
    return float(row["doc_id"] % 2) if place == 0 or not 10 <= row["doc_id"] < 20 else 1.0 - row["doc_id"] % 2


@pytest.fixture(scope="module")
def judged(base, perfect):
    judges = [judge(returned="gpt-4o-2024-11-20"), judge("llama-3.1-70b-instruct-quantised", official="gpt-4o")]
    prompt = [
        {"role": "system", "content": f"You grade answers. {ATTACK}"},
        {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": f"Reply GRADE: C or I. {LONG}"}]},
    ]
    folder = judged_run(perfect, base / "judged", judges, verdict, prompt=prompt, failed=5)
    return write_report(RecordedRun.read(folder))


def test_each_sample_shows_what_the_judges_were_asked_said_and_what_was_read(opened, judged):
    page = opened(judged, "#mme/10")
    said = detail(page)
    assert "Judge gpt-4o (gpt-4o-2024-11-20)" in said and "Judge llama-3.1-70b-instruct-quantised" in said
    assert "GRADE: 0.0" in said and "GRADE: 1.0" in said and "The judges disagree." in said
    assert "Reply GRADE" not in said, "prompts are folded"
    page.execute_script("for (const one of document.querySelectorAll('#detail details')) one.open = true")
    assert (
        "You grade answers." in detail(page) and "<image>" in detail(page) and ATTACK.split(" \x1b")[0] in detail(page)
    )
    assert page.execute_script("return window.attacked") is None
    page = opened(judged, "#mme/2")
    assert "nothing: unreadable" in detail(page) and "no grade here" in detail(page) and "no verdict" in detail(page)
    attempts = page.execute_script(
        "return [...document.querySelectorAll('.verdict dl.facts dd')].map((e) => e.textContent)"
    )
    assert attempts == ["nothing: unreadable", "3", "0", "1"]


def test_filters_find_docs_where_judges_disagree_and_verdicts_that_could_not_be_read(opened, judged):
    page = opened(judged)
    choose(page, "f-result", "judges disagree")
    assert count(page) == "10 of 420" and "doc 10 " in detail(page)
    choose(page, "f-result", "unreadable")
    assert count(page) == "5 of 420"
    choose(page, "f-result", "no verdict")
    assert count(page) == "5 of 420"
    choose(page, "f-result", "")
    search(page, "no grade here")
    assert count(page) == "5 of 420", "replies are searched"


def test_a_page_without_judges_has_none_of_it(opened, perfect):
    page = opened(perfect / "report.html")
    options = page.execute_script("return [...document.querySelectorAll('#f-result option')].map((one) => one.value)")
    assert not {"judges disagree", "unreadable", "no verdict"} & set(options)
    assert "judge" not in page.execute_script("return document.getElementById('top').textContent.toLowerCase()")


def test_the_head_names_the_judges_and_counts_what_has_no_verdict(opened, judged):
    page = opened(judged)
    top = page.execute_script("return document.getElementById('asked').textContent")
    assert "gpt-4o (gpt-4o-2024-11-20) through openai; official gpt-4-0613: not comparable" in top
    assert "second judge of mme" in top and "llama-3.1-70b-instruct-quantised through openai" in top
    results = page.execute_script("return document.getElementById('overview').innerText")
    assert "no verdict" in results and "5 (1.2%)" in results
    assert "40.0 with the lowest verdict" in page.execute_script("return document.body.textContent")


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [360, 768, 1280, 2560])
def test_nothing_is_cut_off_at_any_width(opened, judged, width, dark):
    page = opened(judged, "#mme/10", width=width, dark=dark)
    page.execute_script("for (const one of document.querySelectorAll('#detail details')) one.open = true")
    assert page.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    beyond = page.execute_script(
        "const edge = document.getElementById('detail').getBoundingClientRect();"
        "const wide = (e) => e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline';"
        "const out = (e) => { const at = e.getBoundingClientRect(); return at.right > edge.right + 0.5 || at.left < edge.left; };"
        "const parts = [...document.querySelectorAll('.verdict, .verdict *')];"
        "return parts.filter((e) => wide(e) || out(e)).map((e) => e.outerHTML.slice(0, 200))"
    )
    assert beyond == []
