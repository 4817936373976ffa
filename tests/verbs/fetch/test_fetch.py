"""`mm-eval fetch`: recipes are followed, resumed, checked and printed, and what is fetched is what a run reads."""

import base64
import hashlib
import io
import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from mm_eval.data import manifest
from mm_eval.values.errors import ConfigError, DataError, NotHereError
from mm_eval.verbs.fetch import download as downloads
from mm_eval.verbs.fetch.download import Unreachable, download
from mm_eval.verbs.fetch.recipe import Recipe, last_parts
from tests.verbs.fetch.server import FileServer, serving_files

MMBENCH = "opencompass/MMBench_DEV_EN_V11"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FileServer]:
    with serving_files() as found:
        monkeypatch.setenv("HF_ENDPOINT", found.url)
        monkeypatch.setenv("no_proxy", "127.0.0.1")
        monkeypatch.setattr(downloads.time, "sleep", lambda seconds: None)
        yield found


def picture() -> bytes:
    written = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(written, "PNG")
    return written.getvalue()


def known(monkeypatch: pytest.MonkeyPatch, path: str, **changes: Any) -> None:
    """The manifest with other facts about a data set."""
    stored = {**manifest.manifest(), path: replace(manifest.manifest()[path], **changes)}
    monkeypatch.setattr(manifest, "_by_name", lambda: {name: each for each in stored.values() for name in each.names})


def table() -> bytes:
    """MMBench v1.1 with two questions, as a TSV."""
    names = ("index", "question", "hint", "A", "B", "C", "D", "answer", "category", "image", "l2-category", "split")
    image = base64.b64encode(picture()).decode()
    rows = [(str(n), "What is it?", "", "a", "b", "", "", "A", "kind", image, "wide", "dev") for n in (1, 2)]
    return "\n".join("\t".join(row) for row in (names, *rows)).encode()


def test_a_table_is_fetched_checked_and_read_by_a_run(
    cli: Any, tmp_path: Path, server: FileServer, monkeypatch: Any
) -> None:
    content = table()
    server.files["/v11.tsv"] = content
    step = {"get": f"{server.url}/v11.tsv", "as": "MMBench_DEV_EN_V11.tsv", "md5": hashlib.md5(content).hexdigest()}
    known(monkeypatch, MMBENCH, fetch=[step])
    ran = cli("fetch", "mmbench_en_dev_v11", tmp_path / "root")
    assert ran.code == 0, ran.err
    assert "mmbench_en_dev_v11: 2 documents in" in ran.out and f"use it with --data_root {tmp_path / 'root'}" in ran.out
    assert [path.name for path in (tmp_path / "root" / MMBENCH).iterdir()] == ["MMBench_DEV_EN_V11.tsv"]
    again = cli("fetch", "mmbench_en_dev_v11", tmp_path / "root")
    assert again.code == 0 and len(server.asked) == 1, "what is there is not asked for again"
    options = ("--model", "dummy", "--data_root", tmp_path / "root", "--output_path", tmp_path / "run", "--no_report")
    assert cli("--tasks", "mmbench_en_dev_v11", *options).code == 0


def test_another_content_than_the_known_one_is_refused(
    cli: Any, tmp_path: Path, server: FileServer, monkeypatch: Any
) -> None:
    server.files["/v11.tsv"] = b"other"
    known(monkeypatch, MMBENCH, fetch=[{"get": f"{server.url}/v11.tsv", "as": "a.tsv", "md5": "0" * 32}])
    ran = cli("fetch", "mmbench_en_dev_v11", tmp_path)
    assert ran.code == 2 and "has changed: its md5 is " in ran.err and "0" * 32 in ran.err
    assert not (tmp_path / MMBENCH).exists()


def test_a_download_goes_on_where_it_stopped(tmp_path: Path, server: FileServer) -> None:
    server.files["/big"] = content = bytes(range(256)) * 4000
    server.breaks["/big"] = [300_000, 300_000, 300_000]
    with pytest.raises(NotHereError, match="ended early"):
        download(f"{server.url}/big", tmp_path / "big")
    assert not (tmp_path / "big").exists() and (tmp_path / "big.partial").stat().st_size == 900_000
    server.breaks.pop("/big")
    download(f"{server.url}/big", tmp_path / "big", hashlib.md5(content).hexdigest())
    assert (tmp_path / "big").read_bytes() == content
    assert [asked for _, asked in server.asked] == ["", "bytes=300000-", "bytes=600000-", "bytes=900000-"]
    assert [path.name for path in tmp_path.iterdir()] == ["big"]


def test_two_versions_of_a_file_are_never_joined(tmp_path: Path, server: FileServer) -> None:
    server.files["/big"], server.breaks["/big"] = b"a" * 1000, [400, 0, 0]
    with pytest.raises(NotHereError):
        download(f"{server.url}/big", tmp_path / "big")
    server.breaks.pop("/big")
    server.files["/big"], server.versions["/big"] = b"b" * 1000, '"2"'
    download(f"{server.url}/big", tmp_path / "big")
    assert (tmp_path / "big").read_bytes() == b"b" * 1000


def test_what_the_server_refuses_is_said_once(tmp_path: Path, server: FileServer) -> None:
    with pytest.raises(NotHereError, match="the server answered 404"):
        download(f"{server.url}/none", tmp_path / "none")
    assert len(server.asked) == 1
    with pytest.raises(ConfigError, match="not a web address"):
        download("file:///etc/passwd", tmp_path / "a")


def test_without_network_the_recipe_is_printed(cli: Any, tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.setattr(downloads.time, "sleep", lambda seconds: None)
    known(monkeypatch, MMBENCH, fetch=[{"get": "http://127.0.0.1:9/v11.tsv", "as": "a.tsv", "md5": "1" * 32}])
    ran = cli("fetch", "mmbench_en_dev_v11", tmp_path)
    assert ran.code == 2 and "can't be reached" in ran.err
    assert f"1. download http://127.0.0.1:9/v11.tsv to {tmp_path}/{MMBENCH}/a.tsv (md5 {'1' * 32})" in ran.out
    printed = cli("fetch", "mmlongbench_doc", tmp_path, "--offline")
    assert printed.code == 0 and "install pdftoppm: apt-get install poppler-utils" in printed.out
    assert f"python -m mm_eval.tasks.mmlongbench_doc.draw {tmp_path}/yubo2333/MMLongBench-Doc" in printed.out


def test_pictures_that_a_template_names_are_fetched_and_its_rows_written(
    cli: Any, tmp_path: Path, server: FileServer
) -> None:
    hub = "/datasets/Shengcao1006/MMHal-Bench/resolve/main"
    rows = [
        {"question_type": "attribute", "question_topic": "t", "image_id": str(n), "image_src": f"https://a.org/x/{n}.png",
         "image_content": ["Person"], "question": "Which?", "gt_answer": "red"}
        for n in (1, 2)
    ]  # fmt: skip
    server.files[f"{hub}/response_template.json"] = json.dumps(rows).encode()
    server.files[f"{hub}/images/1.png"] = picture()
    ran = cli("fetch", "mmhal", tmp_path)
    assert ran.code == 2 and "images/2.png: the server answered 404" in ran.err
    server.files[f"{hub}/images/2.png"] = picture()
    ran = cli("fetch", "mmhal", tmp_path)
    assert ran.code == 0, ran.err
    assert "mmhal: 2 documents" in ran.out and "note: mmhal has 2 rows, where 96 are known" in ran.out
    assert [path for path, _ in server.asked].count(f"{hub}/images/1.png") == 1
    folder = tmp_path / "Shengcao1006" / "MMHal-Bench"
    assert sorted(path.name for path in folder.iterdir()) == ["images", "test.json"]
    assert cli("show", "mmhal", "--data_root", tmp_path, "--model", "dummy").code == 0


def test_what_a_recipe_names_stays_inside_its_folder(tmp_path: Path) -> None:
    recipe = Recipe.of_task("mmhal", tmp_path)
    for name in ("../a", "/etc/a", "a/../../b", ""):
        with pytest.raises(DataError, match="not a file inside"):
            recipe._inside(name)
    (tmp_path / "rows.json").write_text('[{"f": "https://a/../../x"}, {"f": "x"}, {"f": ".."}]')
    assert last_parts(tmp_path / "rows.json", "f") == ["x", ".."]


def test_a_program_that_is_missing_is_named_before_anything_is_downloaded(
    cli: Any, tmp_path: Path, server: FileServer, monkeypatch: Any
) -> None:
    monkeypatch.setattr("mm_eval.verbs.fetch.recipe.shutil.which", lambda name: None)
    ran = cli("fetch", "mmlongbench_doc", tmp_path)
    assert ran.code == 2 and "pdftoppm is missing" in ran.err and not server.asked


def test_a_program_that_fails_is_quoted(tmp_path: Path) -> None:
    recipe = Recipe.of_task("mmhal", tmp_path)
    recipe.unfinished.mkdir(parents=True)
    with pytest.raises(DataError, match="mm_eval.tasks.mmhal.prepare failed: .* has no response_template.json"):
        recipe._do({"run": "mm_eval.tasks.mmhal.prepare"}, lambda line: None)


def test_a_data_set_that_is_loaded_by_name_has_no_recipe(cli: Any, tmp_path: Path) -> None:
    ran = cli("fetch", "mme", tmp_path)
    assert (
        ran.code == 2
        and "lmms-lab/MME is loaded by its name and has no recipe" in ran.err
        and "mm-eval bundle" in ran.err
    )


def test_the_errors_of_a_run_and_of_bundle_name_the_command(cli: Any, tmp_path: Path) -> None:
    ran = cli(
        "--tasks", "mmbench_en_dev_v11", "--model", "dummy", "--data_root", tmp_path, "--output_path", tmp_path / "run"
    )
    assert ran.code == 2 and "`mm-eval fetch mmbench_en_dev_v11 DIR` gets it" in ran.err
    assert "hub: opencompass" not in ran.err, "the hub is not asked for what it does not have"
    ran = cli("bundle", tmp_path / "root", "--tasks", "mmbench_en_dev_v11")
    assert ran.code == 2 and "`mm-eval fetch mmbench_en_dev_v11 DIR` gets it" in ran.err


def test_unreachable_is_a_kind_of_not_here() -> None:
    assert issubclass(Unreachable, NotHereError)
