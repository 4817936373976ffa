"""`mm-eval view` of a training: its curve is the first page, and a new step loads it again. Nothing is written into it."""

import asyncio
import shutil

import pytest

pytest.importorskip("starlette")
import httpx

from mm_eval.cli.folders import run_folders
from mm_eval.verbs.report.site.app import app_of
from mm_eval.verbs.report.site.runs import Shown
from tests.verbs.training.studies import gold_of, write_step

TASK = "seedbench"


def asked(shown, *paths):
    async def ask():
        transport = httpx.ASGITransport(app_of(shown, "token", ("127.0.0.1",)))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            return [await client.get(f"/token/{path}") for path in paths]

    return asyncio.run(ask())


def test_the_curve_is_shown_and_grows(tmp_path):
    from pathlib import Path

    gold, study = gold_of(tmp_path / "gold", TASK, limit=20), tmp_path / "study"
    for step, right in ((1, 5), (2, 18), (3, 18)):
        write_step(study, step, TASK, gold, lambda row, right=right: row["doc_id"] < right, limit=20)
    later = shutil.move(study / "step-00000003", tmp_path / "later")

    def find():
        return list(map(Path, run_folders([str(study)])))

    shown = Shown(find(), tmp_path / "pages", None, find)
    before = {path: path.stat().st_mtime_ns for path in study.rglob("*")}
    first, page, index, same = asked(shown, "", "together/curve.html", "runs.html", "together/curve.js?state=1")
    assert first.status_code == 307 and first.headers["location"] == "together/curve.html"
    assert "steps 1 to 2" in page.text and "data:image/svg+xml" in page.text and '"address":"curve.js"' in page.text
    assert page.text.count("data:image/jpeg;base64") >= 1, "the pictures of the documents that changed"
    assert "Curve" in index.text and same.text == "same();"
    assert {path: path.stat().st_mtime_ns for path in study.rglob("*")} == before, "nothing is written into it"
    shutil.move(later, study / "step-00000003")
    changed, page, run = asked(
        shown, "together/curve.js?state=1", "together/curve.html", f"{list(shown.runs)[0]}/report.html"
    )
    assert changed.text == "reload();" and "steps 1 to 3" in page.text and run.status_code == 200
