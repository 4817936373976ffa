"""Pictures that rows name by path: the row stays as it is when the file changes, so that the run has to look at the files."""

import json
import os
import subprocess
import sys
from pathlib import Path

import datasets
import pytest
from PIL import Image

from mm_eval.data.docs import Docs, picture_files
from mm_eval.data.places import Places

YAML = """task: pic
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder}/rows.jsonl}}}}
test_split: test
doc_to_visual: {visual}
doc_to_text: "{{{{question}}}}"
doc_to_target: answer
generation_kwargs: {{until: ["\\n"], max_gen_toks: 4}}
metric_list: [{{metric: exact_match}}]
"""
OWN = """from pathlib import Path
from PIL import Image

def picture(doc):
    return [Image.open(Path(__file__).parent / doc["image"])]
"""


def picture(path: Path, colour: str) -> None:
    Image.new("RGB", (4, 4), colour).save(path)


@pytest.fixture(params=["image", "!function utils.picture"])
def asked(request: pytest.FixtureRequest, tmp_path: Path) -> tuple[Path, tuple[object, ...]]:
    """(the folder of a task whose rows name a.png, b.png and a missing c.png, the command that asks it)."""
    folder = tmp_path / "task"
    folder.mkdir()
    rows = [{"image": f"{name}.png", "question": "What colour?", "answer": "red"} for name in "abc"]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "utils.py").write_text(OWN)
    (folder / "pic.yaml").write_text(YAML.format(folder=folder, visual=request.param))
    picture(folder / "a.png", "red")
    picture(folder / "b.png", "blue")
    return folder, ("--tasks", "pic", "--include_path", folder, "--model", "dummy")


def test_another_picture_under_the_same_name_is_another_run(cli, asked: tuple[Path, tuple[object, ...]]) -> None:
    folder, command = asked
    assert cli(*command).code == 3  # c.png is missing
    picture(folder / "b.png", "green")
    for again in (cli(*command), cli("score", cli(*command).folder)):
        assert again.code == 2 and "1 picture file has changed since the requests: b.png" in again.err
    picture(folder / "b.png", "blue")
    assert "2 answers were there, 0 were requested" in cli(*command).out


def test_a_file_that_was_missing_may_come_and_one_that_was_there_may_go(
    cli, asked: tuple[Path, tuple[object, ...]]
) -> None:
    folder, command = asked
    assert cli(*command).code == 3
    picture(folder / "c.png", "white")
    (folder / "a.png").unlink()
    ran = cli(*command)
    assert ran.code == 0 and "resumed an earlier launch: 2 answers were there, 1 was requested" in ran.out
    picture(folder / "a.png", "yellow")
    assert cli(*command).code == 2


def test_names_in_lists_and_picture_columns_are_found_and_urls_are_not_fetched(tmp_path: Path) -> None:
    for name in ("one.png", "two.JPG", "three.webp", "stored.png"):
        picture(tmp_path / name, "red")
    stored = {"bytes": (tmp_path / "stored.png").read_bytes(), "path": "stored.png"}
    rows = datasets.Dataset.from_dict(
        {
            "image": [stored, {"bytes": None, "path": "one.png"}],
            "more": [["two.JPG", "https://example.com/x.png"], []],
            "nested": [{"file": "three.webp"}, {"file": "no such.png"}],
            "question": ["one.png or not?", "x" * 5000 + ".png"],
        }
    ).cast_column("image", datasets.Image())
    docs = Docs(rows, places=Places((tmp_path,), urls=True))
    assert sorted(picture_files(docs, [0, 1], {})) == ["one.png", "three.webp", "two.JPG"]
    assert sorted(picture_files(docs, [0], {})) == ["three.webp", "two.JPG"]


def test_only_files_that_were_touched_are_read_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        picture(tmp_path / f"{name}.png", "red")
    docs = Docs(datasets.Dataset.from_dict({"image": [f"{name}.png" for name in "abc"]}), places=Places((tmp_path,)))
    known = picture_files(docs, [0, 1, 2], {})
    picture(tmp_path / "b.png", "blue")
    os.utime(tmp_path / "b.png", ns=(0, 0))
    (tmp_path / "c.png").touch()
    read, whole = list[str](), Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: read.append(path.name) or whole(path))
    now = picture_files(docs, [0, 1, 2], known)
    assert sorted(read) == ["b.png", "c.png"] and now["a.png"] == known["a.png"]
    assert now["b.png"].digest != known["b.png"].digest and now["c.png"].digest == known["c.png"].digest


def test_a_large_picture_is_no_warning_of_pillow() -> None:
    """It was printed with the path of a file of Pillow's where a picture has 90 to 178 million pixels."""
    said = "Image size (100000000 pixels) exceeds limit of 89478485 pixels, could be decompression bomb DOS attack."
    code = (
        "import logging, warnings\nfrom mm_eval.cli.say import guard_streams\nfrom PIL import Image\n"
        "guard_streams()\nlogging.basicConfig()\n"
        f"warnings.warn({said!r}, Image.DecompressionBombWarning)\nwarnings.warn('another')\n"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "bomb" not in ran.stdout + ran.stderr and "another" in ran.stderr
