"""`dataset_kwargs: {video: true, cache_dir: ...}` of lmms-eval: its task code, run as it is, finds the files that it expects."""

import os
import zipfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from mm_eval.data import places as files
from mm_eval.data.source import repository
from mm_eval.values.errors import NotHereError
from tests.data.video.movies import write

YAML = """dataset_path: org/clips
dataset_kwargs: {token: True, video: True, cache_dir: clips, force_download: False, create_link: True}
task: clips
test_split: test
output_type: generate_until
doc_to_visual: !function utils.clips_doc_to_visual
doc_to_text: !function utils.clips_doc_to_text
doc_to_target: answer
generation_kwargs: {max_new_tokens: 4, until: []}
metric_list: [{metric: exact_match}]
lmms_eval_specific_kwargs: {default: {post_prompt: " Answer:"}}
"""
CODE = """import os
import sys

base_cache_dir = os.path.expanduser(os.getenv("HF_HOME", "~/.cache/huggingface/"))
cache_dir = os.path.join(base_cache_dir, "clips")


def clips_doc_to_visual(doc):
    video_path = os.path.join(cache_dir, "data", doc["videoID"] + ".mp4")
    if not os.path.exists(video_path):
        sys.exit(f"video path:{video_path} does not exist, please check")
    return [video_path]


def clips_doc_to_text(doc, lmms_eval_specific_kwargs=None):
    subtitle_path = os.path.join(cache_dir, "subtitle", doc["videoID"] + ".srt")
    said = open(subtitle_path).read() if os.path.exists(subtitle_path) else "none"
    return f"Subtitles: {said} {doc['question']}{lmms_eval_specific_kwargs['post_prompt']}"
"""


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data root with org/clips, whose videos and subtitles are zipped, and the task in the folder `task`."""
    root = tmp_path / "root"
    folder = root / "org" / "clips"
    (folder / "data").mkdir(parents=True)
    table = pa.table({"videoID": ["a", "b", "a"], "question": ["what?", "who?", "where?"], "answer": ["x"] * 3})
    pq.write_table(table, folder / "data" / "test-00000-of-00001.parquet")
    with zipfile.ZipFile(folder / "videos_chunked_01.zip", "w") as archive:
        archive.writestr("data/a.mp4", write(tmp_path / "m.mp4", count=30).read_bytes())
        archive.writestr("data/unasked.mp4", b"x")
    with zipfile.ZipFile(folder / "videos_chunked_02.zip", "w") as archive:
        archive.writestr("data/b.mp4", write(tmp_path / "m.mp4", count=20).read_bytes())
    with zipfile.ZipFile(folder / "subtitle.zip", "w") as archive:
        archive.writestr("subtitle/a.srt", "1\n00:00:00,000 --> 00:00:01,000\nhello\n")
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "clips.yaml").write_text(YAML)
    (tmp_path / "task" / "utils.py").write_text(CODE)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    for name in ("exists", "isfile"):
        monkeypatch.setattr(os.path, name, getattr(os.path, name))
    monkeypatch.setattr(files, "_known", {})
    return root


def test_its_task_runs_as_it_is_and_only_what_is_asked_for_is_unpacked(cli: Any, tmp_path: Path, data: Path) -> None:
    asked = ("--tasks", "clips", "--include_path", tmp_path / "task", "--data_root", data, "--model", "dummy")
    ran = cli(*asked, "--video", "frames=2")
    assert ran.code == 0, ran.err
    images = [row["images"] for row in ran.samples("clips")]
    assert images[0] == images[2] != images[1]
    prompts = [row["prompt"] for row in ran.samples("clips")]
    assert "hello" in prompts[0] and "Subtitles: none who?" in prompts[1]
    placed = sorted(
        str(path.relative_to(tmp_path)) for path in (tmp_path / "home" / "clips").rglob("*") if path.is_file()
    )
    assert placed == ["home/clips/data/a.mp4", "home/clips/data/b.mp4", "home/clips/subtitle/a.srt"]


@pytest.mark.full
def test_a_bundle_has_the_archives_and_runs_offline(cli: Any, tmp_path: Path, data: Path) -> None:
    task = ("--tasks", "clips", "--include_path", tmp_path / "task")
    made = cli("bundle", tmp_path / "bundle", *task, "--data_root", data)
    assert made.code == 0, made.err
    copied = tmp_path / "bundle" / "org" / "clips"
    assert {"videos_chunked_01.zip", "videos_chunked_02.zip", "subtitle.zip"} <= {
        path.name for path in copied.iterdir()
    }
    ran = cli(*task, "--data_root", tmp_path / "bundle", "--offline", "--model", "dummy")
    assert ran.code == 0 and len(ran.samples("clips")[0]["images"]) == 8


def test_a_repository_that_is_not_here_is_told_with_its_names() -> None:
    with pytest.raises(
        NotHereError,
        match=r"here: the files of the dataset 'org/x' are not on this machine: org/x: .*other/x: .*bundle",
    ):
        repository([("org/x", None), ("other/x", "video")], offline=True, where="here")
