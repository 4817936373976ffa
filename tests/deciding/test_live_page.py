"""`mm-eval view` of runs that go on: their comparison so far, and what the page gets when answers came in."""

import asyncio
import json
import re
from pathlib import Path

import pytest

pytest.importorskip("starlette")
import httpx

from mm_eval.deciding.live import LiveRun
from mm_eval.deciding.live_page import Comparison, compared
from mm_eval.verbs.report.site.app import app_of
from mm_eval.verbs.report.site.runs import Shown
from tests.deciding.test_live import cut, runs  # noqa: F401


def asked(shown: Shown, *paths: str) -> list[httpx.Response]:
    async def ask() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app_of(shown, "token", ("127.0.0.1",)))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return [await client.get(f"/token/{path}") for path in paths]

    return asyncio.run(ask())


def cells(about: dict) -> list:
    [row] = about["sections"][0]["tables"][0]["rows"]
    return row["cells"]


@pytest.mark.full
def test_the_page_follows_the_answers_of_both_runs(runs: list[Path], tmp_path: Path) -> None:  # noqa: F811
    [journal] = (runs[1] / "journal").iterdir()
    whole = journal.read_text()
    cut(runs[1], 100)
    shown = Shown(runs, tmp_path / "pages")
    index, page = asked(shown, "", "together/anytime.html")
    assert "Comparison so far" in index.text and "together/anytime.html" in index.text
    about = json.loads(re.search(r'id="data">(.*?)</script>', page.text, re.S)[1])
    assert (
        cells(about)[0] == "seedbench" and cells(about)[6].startswith("100 of 252 documents") and about["live"]["state"]
    )
    assert "'self' file:" in page.text
    state = about["live"]["state"]
    [same] = asked(shown, f"together/anytime.js?state={state}")
    assert same.text == "same();"
    journal.write_text("".join(whole.splitlines(keepends=True)[:200]))
    [fresh] = asked(shown, f"together/anytime.js?state={state}")
    assert fresh.text.startswith("again({") and "200 of 252 documents" in fresh.text
    assert "B is lower" in fresh.text
    assert asked(shown, "together/nothing.html")[0].status_code == 404


def test_only_new_answers_are_scored_and_the_numbers_are_those_of_all(runs, monkeypatch) -> None:  # noqa: F811
    from mm_eval.deciding import live

    [journal] = (runs[1] / "journal").iterdir()
    whole = journal.read_text()
    cut(runs[1], 90)
    known, scored = LiveRun.read(str(runs[1])), []
    score = live.score_docs
    monkeypatch.setattr(
        live, "score_docs", lambda o, t, docs, *more: scored.append(len(docs)) or score(o, t, docs, *more)
    )
    journal.write_text(whole)
    later = known.refreshed()
    assert scored == [252 - 90] and later.refreshed() is not None and len(scored) == 1
    assert later.values["seedbench"] == LiveRun.read(str(runs[1])).values["seedbench"]


def test_finished_runs_have_no_such_page_and_a_run_without_its_data_is_said(runs, tmp_path) -> None:  # noqa: F811
    assert compared(runs) is None
    cut(runs[1], 50)
    made = compared(runs)
    assert isinstance(made, Comparison)
    stored = (runs[0] / "run.json").read_text()
    (runs[0] / "run.json").write_text(stored.replace('"data": "', '"data": "0'))
    about = made.about()
    assert about["differs"] and "seedbench" in json.dumps(about["differs"]) and about["sections"] == []
