"""`report --bundle` and `view`: what is written, what is served to whom, and what a run that goes on shows."""

import asyncio
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
from PIL import Image

from mm_eval.cli import main
from mm_eval.data.media import picture_digest
from mm_eval.engine.journal import Journal
from mm_eval.engine.records import answer_record
from mm_eval.values.errors import ModelError
from mm_eval.values.types import Answer, Slot
from mm_eval.verbs.report.site.app import app_of
from mm_eval.verbs.report.site.live import LiveRun, is_live
from mm_eval.verbs.report.site.parts import RunPictures
from mm_eval.verbs.report.site.runs import Shown
from tests.folders import edited
from tests.processes import HANGS

TOKEN = "a-token"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bundle") / "dummy"
    words = ["--tasks", "mme,seedbench", "--limit", "40", "--model", "dummy", "--sample"]
    assert main([*words, "--output_path", str(folder)]) == 0
    return folder


@pytest.fixture
def own(run, tmp_path):
    """A copy of the run, to be changed."""
    return Path(shutil.copytree(run, tmp_path / "own"))


def asked(folders, *paths, method="GET", host="127.0.0.1:8000", token=TOKEN, pages=None):
    """The answers of the server to some paths below its token."""
    shown = Shown(folders, pages or folders[0].parent / "pages")

    async def ask():
        transport = httpx.ASGITransport(app_of(shown, TOKEN, ("127.0.0.1:8000", "localhost:8000")))
        async with httpx.AsyncClient(transport=transport, base_url=f"http://{host}") as client:
            return [await client.request(method, f"/{token}/{path}") for path in paths]

    return asyncio.run(ask())


def first_picture(run):
    row = json.loads((run / "samples/mme.jsonl").read_text().splitlines()[0])
    return row["images"][0]


def test_a_bundle_has_every_picture_as_the_prompt_showed_it_and_no_address_elsewhere(
    run, tmp_path, capsys, monkeypatch
):
    monkeypatch.setitem(sys.modules, "matplotlib", None)  # the extra is for --url only
    assert main(["report", str(run), "--site", str(tmp_path / "site")]) == 0
    assert "80 samples, 60 pictures in full size" in capsys.readouterr().out
    pictures = list((tmp_path / "site/pictures").glob("*/*"))
    assert len(pictures) == 60
    for path in pictures:
        assert picture_digest(Image.open(path).convert("RGB")) == path.stem and path.parent.name == path.stem[:2]
    for page in ("index.html", "dummy/report.html"):
        for found in re.findall(
            r"""(?:src|href)\\?["']?[=:]\s*\\?["']([^"'\\]+)""", (tmp_path / "site" / page).read_text()
        ):
            assert not found.startswith(("http", "/", "file:")), found
    assert not (tmp_path / "site/dummy/rows/2.js").exists() and not (tmp_path / "site/preview.png").exists()


@pytest.mark.full
def test_the_frames_of_a_video_are_there_in_full_size_too(tmp_path):
    pytest.importorskip("av")
    folder = tmp_path / "clips"
    words = ["--tasks", "videomme", "--limit", "1", "--model", "tiny-llava", "--video", "frames=2", "--sample"]
    assert main([*words, "--output_path", str(folder)]) == 0
    digests = json.loads((folder / "samples/videomme.jsonl").read_text().splitlines()[0])["images"]
    paths = [path for name in digests for path in (f"thumbnails/{name[:2]}/{name}.jpg", f"pictures/{name[:2]}/{name}")]
    answers = asked([folder], "clips/report.html", "clips/rows/1.js", *(f"clips/{path}" for path in paths))
    assert [each.status_code for each in answers] == [200] * 6
    assert main(["report", str(folder), "--site", str(tmp_path / "site")]) == 0
    assert {path.stem for path in (tmp_path / "site/pictures").glob("*/*")} == set(digests)


def test_a_bundle_is_not_written_over_other_files(run, tmp_path, capsys):
    (tmp_path / "mine.txt").write_text("kept")
    assert main(["report", str(run), "--site", str(tmp_path)]) == 2
    assert "there are files already" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]
    assert main(["report", str(run), "--site", str(tmp_path / "x"), "--format", "md"]) == 2


def test_a_bundle_without_the_data_has_the_thumbnails_and_says_why(own, tmp_path, capsys):
    with edited(own / "run.json") as stored:
        stored["spec"]["tasks"]["mme"]["data"] = "0" * 64
    assert main(["report", str(own), "--site", str(tmp_path / "site")]) == 0
    said = capsys.readouterr().out
    assert "60 only as thumbnails: " in said and "the data of 'mme' is not what the run was requested on" in said
    assert not (tmp_path / "site/pictures").exists() and len(list((tmp_path / "site/thumbnails").glob("*/*"))) == 60


def test_a_run_without_a_page_has_its_thumbnails_in_a_bundle(own, tmp_path):
    """With --no_report no thumbnails are made; the samples of the site said that their picture is not there."""
    shutil.rmtree(own / "media")
    assert main(["report", str(own), "--site", str(tmp_path / "site")]) == 0
    found = [{path.stem for path in (tmp_path / "site" / kind).glob("*/*")} for kind in ("thumbnails", "pictures")]
    assert len(found[0]) == 60 and found[0] == found[1]


@pytest.mark.full
@pytest.mark.parametrize("words", [("--site", "site"), ("--output", "page.html"), ("--figures", "figures")])
def test_a_run_without_numbers_is_named(run, own, tmp_path, caplog, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    (own / "results.json").unlink()
    assert main(["report", str(run), str(own), str(run), *words]) == 3
    assert "own has no scores: " in caplog.text


def test_two_folders_of_one_name_have_two_pages(run, own, tmp_path):
    twin = shutil.copytree(run, tmp_path / "twin" / "dummy")
    assert main(["report", str(run), str(twin), "--site", str(tmp_path / "site")]) == 0
    assert (tmp_path / "site/dummy/report.html").is_file() and (tmp_path / "site/dummy-2/report.html").is_file()


def test_the_server_answers_with_the_token_at_its_own_host_and_only_to_reading(run):
    digest = first_picture(run)
    paths = ["dummy/report.html", "dummy/rows/1.js", f"dummy/pictures/{digest[:2]}/{digest}"]
    answers = asked([run], *paths, f"dummy/thumbnails/{digest[:2]}/{digest}.jpg")
    assert [answer.status_code for answer in answers] == [200] * 4
    assert [answer.headers["content-type"].split(";")[0] for answer in answers] == [
        "text/html",
        "text/javascript",
        "image/png",
        "image/jpeg",
    ]
    for answer in answers:
        assert answer.headers["referrer-policy"] == "no-referrer" and TOKEN not in answer.text
        assert answer.headers["cross-origin-resource-policy"] == "same-origin"
        assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert asked([run], "", token="another")[0].status_code == 404
    assert asked([run], "dummy/report.html", token=f"{TOKEN}x")[0].status_code == 404
    for host in ("evil.example", "evil.example:8000", "127.0.0.1:9", "127.0.0.1.evil.example:8000"):
        assert asked([run], "", host=host)[0].status_code == 403
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert asked([run], "", method=method)[0].status_code == 405
    assert asked([run], "", host="localhost:8000")[0].headers["location"] == "dummy/report.html"


def test_no_path_leads_out_of_the_folders(own, tmp_path):
    (tmp_path / "secret.json").write_text("secret")
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages/secret.js").write_text("secret")
    out = [
        "../secret.json",
        "..%2fsecret.json",
        "own/../../secret.json",
        "own/rows/..%2f..%2fsecret.js",
        "own/run.json",
    ]
    out += ["own/pictures/se/secret", "own/rows/-1.js", "own/live.js?from=-1", "own/live.js", "%2e%2e/secret.json"]
    digest = "ab" + "0" * 62
    link = own / "media/ab" / f"{digest}.jpg"
    link.parent.mkdir()
    link.symlink_to(tmp_path / "secret.json")
    out.append(f"own/thumbnails/ab/{digest}.jpg")
    for answer in asked([own], *out):
        assert answer.status_code == 404 and "secret" not in answer.text.replace("secret.j", "")
    samples = own / "samples/mme.jsonl"
    samples.rename(tmp_path / "elsewhere.jsonl")
    samples.symlink_to(tmp_path / "elsewhere.jsonl")
    [answer] = asked([own], "own/report.html", pages=tmp_path / "other")
    assert "link to outside of the run folder" in answer.text and "purple cross" not in answer.text


def test_nothing_is_written_into_the_run_folder(own):
    def files():
        return {path: (path.stat().st_mtime_ns, path.stat().st_ino) for path in own.rglob("*")}

    before = files()
    asked([own], "own/report.html", "own/rows/1.js", "own/live.js?from=0")
    assert files() == before


def test_a_page_is_written_again_when_the_results_have_changed(own):
    shown = Shown([own], own.parent / "pages")
    [run] = shown.runs.values()
    first = "".join(shown.run_page(run))
    assert "".join(shown.run_page(run)) == first
    with edited(own / "results.json") as results:
        results["run"]["seed"] = 4711
    assert '"seed":4711' in "".join(shown.run_page(run)) and '"seed":4711' not in first


def test_a_run_that_cannot_be_read_breaks_no_other(run, own):
    (own / "samples/mme.jsonl").write_text(
        '{"doc_id": 0, "status": 1, "document": 2, "prompt": 3, "target": 4, "resps": 5, "scores": 6}\n'
    )
    mine, other, index = asked([own, run], "own/report.html", "dummy/report.html", "")
    assert "can&#39;t be shown" in mine.text and '"kind":"run"' in other.text and "dummy/report.html#" in index.text
    assert "own/report.html#" not in index.text


def going_on(folder, pid):
    """Makes a folder one whose run has begun and not ended."""
    (folder / "results.json").unlink(missing_ok=True)
    (folder / "lock").write_text(f"pid {pid} on {socket.gethostname()}")


def put(folder, *answers):
    """Records (doc id, output or error) of mme."""
    journal = Journal(folder)
    for doc_id, output in answers:
        failed = output if isinstance(output, Exception) else None
        answer = Answer("" if failed else output, key=f"key {doc_id}", error=failed)
        journal.put(answer_record(answer, [Slot("mme", doc_id)]))
    journal.close()


def test_a_run_goes_on_while_its_process_lives_and_has_no_newer_results(own):
    assert not is_live(own), "it has ended, though the process that ran it is alive"
    going_on(own, os.getpid())
    assert is_live(own)
    (own / "results.json").write_text("{}")
    os.utime(own / "lock", (time.time() + 5,) * 2)
    assert is_live(own), "resumed: the results are those of the launch before"
    going_on(own, 2**22 + 1)
    assert not is_live(own)
    (own / "lock").write_text("pid 1 on another-machine")
    assert is_live(own), "its journal has just grown"
    for path in (own / "journal").iterdir():
        os.utime(path, (time.time() - 600,) * 2)
    assert not is_live(own)


def test_a_live_run_shows_answers_and_failures_as_they_come(own):
    going_on(own, os.getpid())
    shutil.rmtree(own / "journal")
    live = LiveRun(own, RunPictures.of_folder(own))
    put(own, (0, "Yes"), (1, ModelError("the server said <no>.")))
    live.read()
    rows, at, more = live.rows(0)
    assert [(row["d"], row["s"], row["a"]) for row in rows] == [
        (0, "answered", ["Yes"]),
        (1, "failed", []),
    ] and not more
    assert rows[1]["e"] == "the server said <no>." and "purple cross" in rows[0]["p"] and rows[0]["g"] == "Yes"
    now = live.progress()
    assert (now["docs"], now["failed"], now["total"], now["done"]) == (1, 1, 80, "") and 0 < now["rate"] <= 2
    torn = own / "journal/torn.jsonl"
    put(own, (1, "No"), (2, "Yes"))
    torn.write_bytes(b'{"v":1,"kind":"answer","key":"k","slo')
    live.read()
    rows, at, _ = live.rows(at)
    assert [(row["d"], row["s"], row["a"]) for row in rows] == [(1, "answered", ["No"]), (2, "answered", ["Yes"])]
    put(own, (2, ModelError("late")))
    live.read()
    assert live.rows(at)[0] == [] and live.progress()["docs"] == 3, "a failure never replaces an answer"
    going_on(own, 2**22 + 1)
    assert "stopped without results" in live.progress()["done"]


def test_the_page_of_a_live_run_names_its_first_part_and_the_last_ends(own):
    shutil.copy(own / "results.json", own.parent)
    going_on(own, os.getpid())
    page, part, index = asked([own, own], "own/report.html", "own/live.js?from=0", "")
    assert '"next":"live.js?from=0"' in page.text and '"kind":"live"' in page.text
    assert '"next":"live.js?from=80","wait":1500' in part.text and '"docs":80' in part.text
    assert '"said":"80 of 80 documents, 0 failed"' in index.text
    results = (own.parent / "results.json").read_text()
    (own / "results.json").write_text(results)
    os.utime(own / "lock", (time.time() - 60,) * 2)
    [part] = asked([own], "own/live.js?from=80")
    assert '"next":null' in part.text


@pytest.mark.full
def test_interrupting_the_server_ends_it_cleanly(run, tmp_path):
    words = [sys.executable, "-m", "mm_eval", "view", str(run)]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, bufsize=1)
    try:
        address = re.search(r"http://127\.0\.0\.1:\d+/[\w-]{30,}/", process.stdout.readline())[0]
        assert httpx.get(f"{address}dummy/report.html", timeout=HANGS).status_code == 200
        port = address.split(":")[2].split("/")[0]
        taken = subprocess.run([*words, "--port", port], capture_output=True, text=True)
        assert taken.returncode == 2 and f"port {port} can't be used" in taken.stderr
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=HANGS)
    finally:
        process.kill()
    assert process.returncode == 0 and "Traceback" not in err and err == ""


def test_what_is_no_run_is_refused(run, tmp_path, capsys):
    assert main(["view", str(tmp_path)]) == 2 and "run.json" in capsys.readouterr().err
    (tmp_path / "run.json").write_text("[]")
    assert main(["view", str(tmp_path)]) == 2 and "run.json" in capsys.readouterr().err
    assert main(["view", str(run), "--port", "70000"]) == 2 and "a port from 0 to 65535" in capsys.readouterr().err


def test_without_the_extra_it_says_how_to_install_it(run, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["view", str(run)]) == 2
    assert "pip install 'mm-eval[view]'" in capsys.readouterr().err
