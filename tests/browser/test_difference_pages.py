"""The pages of `compare` and `prompts` in a browser: tables lead to their docs, all answers stand together, no script runs."""

import pytest

from mm_eval.cli import main
from mm_eval.results.recorded import RecordedRun
from mm_eval.verbs.study.compare import compare
from mm_eval.verbs.study.compare_text import write_comparison

from .conftest import ATTACK
from .test_report_page import choose, count, detail, search

pytestmark = [pytest.mark.browser, pytest.mark.full]


@pytest.fixture(scope="session")
def compared(base, perfect, worse, attacked):
    """Two runs against a first one; the last answered doc 3 with everything that could harm a page."""
    runs = [RecordedRun.read(folder) for folder in (perfect, worse, attacked.parent)]
    return write_comparison(base / "compared" / "page.html", runs[0], compare(runs))


@pytest.fixture(scope="session")
def prompts(base):
    words = ["prompts", "--tasks", "mme,seedbench", "--model", "dummy", "--model", "dummy", "--sample", "--limit", "50"]
    assert main([*words, "--keys", "default,qwen_vl", "--output_path", str(base / "trial")]) == 0
    return base / "trial" / "prompts.html"


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", ["compared", "prompts"])
def test_the_pages_draw_at_each_width_and_never_scroll_sideways(opened, request, name, width, dark):
    page = opened(request.getfixturevalue(name), width=width, dark=dark)
    assert page.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    text = page.execute_script("return document.body.innerText")
    for words in ("mme_perception_score", "95% interval", "Bundled sample data, not MME"):
        assert words in text
    heads = page.execute_script("return document.querySelector('#overview').textContent")  # a phone labels each cell
    assert all(words in heads for words in ("p (Holm)", "lost", "gained"))
    assert page.execute_script("return document.querySelectorAll('#overview .track').length") >= 2
    size = page.execute_script("return document.querySelector('#overview .track').getBoundingClientRect().width")
    assert size == 150, "an interval is as wide in a narrow table as in a wide one"


def test_no_column_is_cut_off_on_a_wide_screen(opened, compared, prompts):
    """Lost and gained stand in their table at 1400 pixels, all columns at 1920; narrower tables scroll inside their frame."""
    for path, width in ((compared, 1400), (compared, 1920), (prompts, 1920)):
        page = opened(path, width=width)
        if width == 1920:
            page.execute_script("for (const one of document.querySelectorAll('.buttons button')) one.click()")
        sizes = page.execute_script(
            "return [...document.querySelectorAll('#overview .scroll')].map((e) => [e.scrollWidth, e.clientWidth])"
        )
        assert sizes and all(inside <= frame for inside, frame in sizes)
    page = opened(compared, width=1920)
    head = page.find_element("css selector", "#overview thead").text
    assert "lost" in head and "gained" in head and "McNemar p" not in head
    page.execute_script("for (const one of document.querySelectorAll('.buttons button')) one.click()")
    assert "McNemar p" in page.find_element("css selector", "#overview thead").text


def counts(page):
    return page.execute_script(
        "return [...document.querySelectorAll('button.count')].map((e) => [e.title, e.textContent])"
    )


def test_a_count_shows_its_docs_and_all_answers_to_each(opened, compared):
    page = opened(compared)
    assert counts(page)[:2] == [
        ["Show the documents lost by worse.jsonl in mme (mme_perception_score)", "130"],
        ["Show the documents gained by worse.jsonl in mme (mme_perception_score)", "10"],
    ]
    page.execute_script("document.querySelectorAll('button.count')[1].click()")
    assert count(page) == "10 of 420" and "10 gained by worse.jsonl in mme" in page.execute_script(
        "return document.body.innerText"
    )
    shown = detail(page)
    assert "mme, doc 0 " in shown and all(f"Answer in {name}.jsonl" in shown for name in ("perfect", "worse", "attack"))
    page.execute_script("document.querySelector('#only button').click()")
    assert count(page) == "420 of 420"
    hidden = page.execute_script("return [...document.querySelectorAll('tr.part')].filter((e) => e.hidden).length")
    assert hidden == 28, "the 14 categories of each of two comparisons"


def test_flips_are_a_filter_for_each_run(opened, compared):
    page = opened(compared)
    choose(page, "f-result", "flipped")
    assert count(page) == "140 of 420"
    choose(page, "f-beside", "1")
    assert count(page) == "0 of 420", "the third run was right where the first was"
    choose(page, "f-beside", "0")
    choose(page, "f-result", "lost")
    assert count(page) == "130 of 420" and "(wrong)" in detail(page)


def test_a_link_opens_a_doc_and_no_answer_is_ever_run(opened, compared):
    page = opened(compared, "#mme/3")
    assert "mme, doc 3 " in detail(page) and ATTACK.split(" \x1b")[0] in detail(page)
    assert page.execute_script("return window.attacked") is None
    assert page.execute_script("return document.querySelectorAll('img[src=x]').length") == 0
    search(page, "no doc says this")
    assert count(page) == "0 of 420"


def test_several_models_are_told_apart(opened, prompts):
    page = opened(prompts, "#dummy'/mme/7")
    assert "mme, doc 7 " in detail(page) and page.current_url.endswith("/mme/7")
    assert "dummy' · mme 7" in page.execute_script("return document.querySelector('.row.chosen').innerText")
    choose(page, "f-model", "1")
    assert count(page) == "100 of 200"
    choose(page, "f-task", "seedbench")
    assert count(page) == "50 of 200"
    assert "Answer in default" in detail(page) and "Answer in qwen_vl" in detail(page)
    prompt = page.execute_script("return document.querySelector('#detail details pre').textContent")
    assert prompt.endswith("\nAnswer:"), "the other block's prompt, where it differs"
    shown = [[title, int(number)] for title, number in counts(page)]
    page.execute_script("[...document.querySelectorAll('button.count')].at(-1).click()")
    assert count(page) == f"{shown[-1][1]} of 200" and "dummy'" in page.execute_script(
        "return document.querySelector('.row').innerText"
    )


def test_each_pair_of_runs_has_a_matrix_whose_cells_show_their_samples(opened, compared):
    page = opened(compared)
    tables = page.execute_script(
        "return [...document.querySelectorAll('#charts table.confusion')]"
        ".map((t) => [t.caption.textContent, ...[...t.querySelectorAll('td')].map((e) => e.textContent)])"
    )
    assert len(tables) == 3
    [ab] = [
        counts for caption, *counts in tables if caption.startswith("perfect.jsonl") and " and worse.jsonl" in caption
    ]
    assert ab[1:3] == ["130", "10"] and sum(map(int, ab)) == 420, "lost and gained, as in the table"
    page.execute_script(
        "[...document.querySelectorAll('#charts table.confusion button')].find((e) => e.textContent === '130').click()"
    )
    assert count(page) == "130 of 420" and "cell=pair" in page.current_url
    assert "right in perfect.jsonl" in page.execute_script("return document.getElementById('only').innerText")


def test_prompts_have_a_map_and_dots_by_model_that_fit_on_a_phone(opened, prompts):
    """No label stands on another one, however long the names: each prompt has a row of its own, the best one first."""
    page = opened(prompts, width=390)
    drawn = page.execute_script(
        "return [...document.querySelectorAll('#charts .dots')].map((e) => [e.querySelectorAll('.lanes').length,"
        " e.querySelector('.lanes').childElementCount, e.getBoundingClientRect().right <= innerWidth])"
    )
    assert drawn and all(found == [2, 2, True] for found in drawn), "two prompts of two models"
    cells = page.execute_script("return [...document.querySelectorAll('table.prompts td')].map((e) => e.className)")
    assert len(cells) == 2 * 2 * 2 and set(cells) <= {"", "best", "up", "down", "up best", "down best"}
    head = page.execute_script("return document.querySelector('table.prompts thead').innerText")
    assert "default" in head and "qwen_vl" in head


def test_metrics_beside_the_main_one_are_behind_a_button(opened, prompts):
    page = opened(prompts)
    rows = page.find_elements("css selector", "#overview tr.part")
    assert rows and not any(row.is_displayed() for row in rows)
    page.execute_script(
        "[...document.querySelectorAll('button')].find((e) => /more number/.test(e.textContent)).click()"
    )
    assert any(row.is_displayed() for row in rows)
