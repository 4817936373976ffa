"""The name of an animated file is a video, from a function or a column; a column of pictures shows its first frame."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from PIL import Image

from tests.data.video.movies import drawn

TASK = """task: moving
dataset_path: json
dataset_kwargs: {data_files: {test: moving.jsonl}}
test_split: test
doc_to_visual: WAY
doc_to_text: "Does it move?"
doc_to_target: a
generation_kwargs: {max_new_tokens: 4, until: []}
metric_list: [{metric: exact_match}]
"""
UTILS = """from pathlib import Path

def path(doc):
    return Path(__file__).parent / doc["v"]

def name(doc):
    return [doc["v"]]

def content(doc):
    return [path(doc).read_bytes()]
"""
NAMES = ("a.gif", "a.png", "a.avif", "a.webp", "still.gif")


def show(cli: Any, folder: Path, way: str, doc: int, *options: str) -> Any:
    if not (folder / "a.gif").exists():
        write(folder)
    (folder / "moving.yaml").write_text(TASK.replace("WAY", way))
    return cli("show", "moving", "--include_path", folder, "--model", "dummy", "--doc", doc, *options)


def write(folder: Path) -> None:
    frames = [Image.fromarray(drawn(number)) for number in range(10)]
    for name in NAMES[:4]:
        frames[0].save(folder / name, save_all=True, append_images=frames[1:], duration=100)
    frames[0].save(folder / "still.gif")
    (folder / "moving.jsonl").write_text("".join(json.dumps({"v": name, "a": "x"}) + "\n" for name in NAMES))
    (folder / "utils.py").write_text(UTILS)


def test_the_name_of_an_animation_is_a_video(cli: Any, tmp_path: Path) -> None:
    for way in ("v", "!function utils.path", "!function utils.name"):
        for doc in range(4):
            ran = show(cli, tmp_path, way, doc, "--video", "frames=4")
            assert ran.code == 0, ran.err
            assert (
                "frame 0 at 0.000 s" in ran.out and "frame 9 at 0.900 s" in ran.out and ran.out.count("picture ") == 4
            )
        ran = show(cli, tmp_path, way, 4, "--video", "frames=4")
        assert ran.code == 0 and "sha256" in ran.out and ran.out.count("picture ") == 1, "a picture"


def test_the_bytes_of_an_animation_are_its_first_picture(cli: Any, tmp_path: Path) -> None:
    for doc in range(len(NAMES)):
        ran = show(cli, tmp_path, "!function utils.content", doc)
        assert ran.code == 0 and ran.out.count("picture ") == 1


def test_a_picture_that_cannot_be_decoded_is_no_video(cli: Any, tmp_path: Path) -> None:
    """FFmpeg gives one tile of a HEIC as a video of one frame."""
    write(tmp_path)
    (tmp_path / "a.heic").write_bytes(b"\0\0\0\x18ftypheic\0\0\0\0heicmif1" + (tmp_path / "a.avif").read_bytes()[44:])
    (tmp_path / "moving.jsonl").write_text(json.dumps({"v": "a.heic", "a": "x"}) + "\n")
    for way in ("v", "!function utils.name", "!function utils.path"):
        ran = show(cli, tmp_path, way, 0)
        assert ran.code == 2 and "'a.heic' can't be decoded: its " in ran.err.replace(f"{tmp_path}/", "")
