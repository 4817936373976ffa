"""The catalogue of tasks in a browser: what is typed leaves the rows that have it, and stands in the address."""

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.browser
DOCS = Path(__file__).parents[2] / "docs"
PAGE = """<!DOCTYPE html><html lang="en" data-ready="1"><meta charset="utf-8"><link rel="icon" href="data:,">
<link rel="stylesheet" href="../styles.css"><body><div class="md-content">
<article class="md-content__inner md-typeset">%s</article></div><script src="../catalogue.js"></script></body></html>"""
ROWS = "[...document.querySelectorAll('tbody tr')].filter((row) => row.getClientRects().length)"


@pytest.fixture(scope="module")
def catalogue(tmp_path_factory) -> Path:
    markdown = pytest.importorskip("markdown")
    command = [sys.executable, str(DOCS / "make/tables.py"), str(DOCS / "reference/tasks.md")]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    folder = tmp_path_factory.mktemp("docs")
    for name in ("catalogue.js", "styles.css"):
        (folder / name).write_text((DOCS / name).read_text(encoding="utf-8"), encoding="utf-8")
    (folder / "tasks").mkdir()
    body = markdown.markdown(text, extensions=["tables", "toc", "attr_list", "md_in_html"])
    (folder / "tasks/index.html").write_text(PAGE % body, encoding="utf-8")
    return folder / "tasks/index.html"


def found(page, words: str) -> list[str]:
    """The first cells of the rows that are left."""
    page.execute_script(
        "const f = document.getElementById('find-task'); f.value = arguments[0]; f.dispatchEvent(new Event('input'))",
        words,
    )
    return page.execute_script(f"return {ROWS}.map((row) => row.children[0].innerText.trim())")


def test_the_search_leaves_the_rows_that_have_all_words(opened, catalogue) -> None:
    page = opened(catalogue)
    every = page.execute_script(f"return {ROWS}.length")
    names = found(page, "mmmu_val")
    assert any("mmmu_val" in name for name in names) and len(names) < 20 < 150 < every
    assert page.find_element("css selector", "#find-task + p").text == f"{len(names)} found"
    both, one = found(page, "video  CHINESE"), found(page, "video")
    assert set(both) < set(one)
    assert found(page, "no task has this") == [] and len(found(page, "")) == every
    assert page.execute_script("return location.hash") == ""
    found(page, "mathvista 中")
    kept = page.execute_script("return location.hash")
    page = opened(catalogue, kept)
    assert page.execute_script("return document.getElementById('find-task').value") == "mathvista 中"


@pytest.mark.parametrize("width", [360, 1400])
def test_no_name_is_broken_and_nothing_stands_out_of_the_page(opened, catalogue, width) -> None:
    page = opened(catalogue, width=width)
    broken = (
        "[...document.querySelectorAll('tbody td:first-child code')]"
        ".filter((name) => name.getClientRects().length > 1).map((name) => name.innerText)"
    )
    assert page.execute_script(f"return {broken}") == []
