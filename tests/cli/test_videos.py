"""A task whose rows name videos, from the command line: frames as pictures, resumed, shown, and an error for a bad file."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from mm_eval.data.video import frames, reader
from tests.data.video.movies import write
from tests.sets import few

YAML = """task: clips
dataset_path: json
dataset_kwargs: {{data_files: {{test: {folder}/rows.jsonl}}}}
test_split: test
doc_to_visual: {visual}
doc_to_text: !function utils.text
doc_to_messages: {messages}
doc_to_target: answer
generation_kwargs: {{until: ["\\n"], max_gen_toks: 4}}
model_specific_prompt_kwargs:
  default: {{post_prompt: " Answer:"{rule}}}
metric_list: [{{metric: exact_match}}]
"""
OWN = """from pathlib import Path
from PIL import Image
from mm_eval import Video

def text(doc, model_specific_prompt_kwargs):
    assert "video" not in model_specific_prompt_kwargs
    return doc["question"] + model_specific_prompt_kwargs["post_prompt"]

def path(doc):
    return [str(Path(__file__).parent / doc["video"])]

def part(doc):
    return [Image.new("RGB", (8, 8), "red"), Video(doc["video"], 0.4, 1.2)]

def chat(doc):
    return [{"role": "user", "content": [{"type": "text", "text": "Look."}, {"type": "video", "url": doc["video"]},
                                         {"type": "text", "text": doc["question"]}]}]
"""


def made(folder: Path, visual: str = "video", messages: str = "null", rule: str = "", bad: bool = False) -> Path:
    folder.mkdir(exist_ok=True)
    names = ["a.mp4", "a.mp4", "b.mp4", *(["bad.mp4", "cut.mp4"] if bad else [])]
    rows = [{"video": name, "question": f"What is it, {n}?", "answer": "red"} for n, name in enumerate(names)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "utils.py").write_text(OWN)
    text = YAML.format(folder=folder, visual=visual, messages=messages, rule=rule and f', video: "{rule}"')
    (folder / "clips.yaml").write_text(text)
    write(folder / "a.mp4", count=50)
    write(folder / "b.mp4", count=40)
    (folder / "bad.mp4").write_bytes(b"<html>")
    content = write(folder / "c.mp4", count=200, file_options={"movflags": "faststart"}).read_bytes()
    (folder / "cut.mp4").write_bytes(content[: len(content) // 2])
    return folder


def command(folder: Path, model: str = "dummy") -> tuple[object, ...]:
    return ("--tasks", "clips", "--include_path", folder, "--model", model)


@pytest.mark.parametrize("visual", few(["video", "!function utils.path"], at=[0]))
def test_the_frames_are_shown_as_pictures_and_the_table_says_so(cli: Any, tmp_path: Path, visual: str) -> None:
    ran = cli(*command(made(tmp_path / "task", visual)))
    assert ran.code == 0, ran.err
    assert "3 of 3 documents show a video: the frames are shown as pictures (frames=8,ends)" in ran.out
    first, again, other = ran.samples("clips")
    assert len(first["images"]) == 8 and first["images"] == again["images"] != other["images"]
    [clip] = first["videos"]
    assert (clip["first"], clip["path"], clip["numbers"][:2], clip["seconds"][:2]) == (0, "a.mp4", [0, 7], [0.0, 0.28])
    assert [row["cluster"] for row in (first, again)] == [first["cluster"]] * 2 != [other["cluster"]] * 2
    assert "3 of 3 documents show a video" in cli("score", ran.folder).out


def test_a_bundled_model_sees_them_and_a_second_run_decodes_nothing(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = (*command(made(tmp_path / "task"), "tiny-llava"), "--video", "frames=3,middle")
    ran = cli(*asked)
    assert ran.code == 0, ran.err
    assert "shown as pictures (frames=3,middle)" in ran.out
    recorded = json.loads((ran.folder / "run.json").read_text())["spec"]["tasks"]["clips"]["prompt"]
    assert recorded["video"] == ran.results["run"]["prompts"]["clips"]["video"] == "frames=3,middle"
    monkeypatch.setattr(frames, "frames_at", None)
    monkeypatch.setattr(reader, "index_of", None)
    frames._chosen.cache_clear()
    assert "all 3 answers were in the run folder already; nothing was requested" in cli(*asked).out
    refused = cli(*command(tmp_path / "task", "tiny-llava"), "--video", "frames=4", "--output_path", ran.folder)
    assert refused.code == 2 and "frames=3,middle" in refused.err


@pytest.mark.full
def test_a_family_with_a_video_input_gets_a_video_by_its_own_rule(cli: Any, tmp_path: Path) -> None:
    folder = made(tmp_path / "task")
    ran = cli(*command(folder, "tiny-qwen2-vl"), "--limit", 2)
    assert ran.code == 0, ran.err
    assert "2 of 2 documents show a video: the frames are shown as a video (frames=32,starts)" in ran.out
    recorded = json.loads((ran.folder / "run.json").read_text())["spec"]["tasks"]["clips"]["prompt"]
    assert (recorded["video"], recorded["video_input"]) == ("frames=32,starts", "video")
    assert "shown as a video (frames=32,starts)" in cli("score", ran.folder).out
    shown = cli("show", "clips", "--include_path", folder, "--model", "tiny-qwen2-vl", "--video", "frames=4,middle")
    assert "video: the frames are shown as a video (frames=4,middle)" in shown.out
    assert "<|vision_start|><|video_pad|>" in shown.out and "image_pad" not in shown.out


@pytest.mark.full
def test_a_resumed_run_reads_only_what_is_left(cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made(tmp_path / "task")
    asked, shown = (*command(folder, "tiny-llava"), "--video", "frames=2"), []
    own = frames.frames_at
    (folder / "b.mp4").rename(tmp_path / "b.mp4")
    assert cli(*asked).code == 3
    (tmp_path / "b.mp4").rename(folder / "b.mp4")
    monkeypatch.setattr(frames, "frames_at", lambda path, *rest: shown.append(Path(path).name) or own(path, *rest))
    assert "2 answers were there, 1 was requested" in cli(*asked).out
    assert shown == ["b.mp4"]


def test_a_video_that_cannot_be_read_is_a_failed_doc(cli: Any, tmp_path: Path) -> None:
    ran = cli(*command(made(tmp_path / "task", bad=True), "tiny-llava"), "--video", "frames=2")
    assert ran.code == 3
    assert [row["status"] == "failed" for row in ran.samples("clips")] == [False] * 3 + [True] * 2
    told = [row["error"]["what"] for row in ran.samples("clips")[3:]]
    assert "'bad.mp4' can't be read: Invalid data" in told[0] and "cut off" in told[1]


def test_pictures_and_parts_of_a_video_stand_in_one_question(cli: Any, tmp_path: Path) -> None:
    folder = made(tmp_path / "task", "!function utils.part", rule="frames=3")
    shown = cli("show", "clips", "--include_path", folder, "--model", "tiny-llava")
    assert shown.code == 0, shown.err
    assert "video: the frames are shown as pictures (frames=3,ends)" in shown.out
    assert "picture 0: 8 x 8   sha256 " in shown.out
    assert "picture 1: 160 x 64   frame 10 at 0.400 s of a.mp4" in shown.out
    assert "picture 3: 160 x 64   frame 30 at 1.200 s of a.mp4" in shown.out
    own = cli("show", "clips", "--include_path", folder, "--model", "tiny-llava", "--video", "fps=5,inside")
    assert "frame 14 at 0.560 s" in own.out and "frame 26" in own.out, own.out


def test_a_chat_of_the_task_has_the_frames_in_their_place(cli: Any, tmp_path: Path) -> None:
    folder = made(tmp_path / "task", messages="!function utils.chat", rule="frames=2")
    shown = cli("show", "clips", "--include_path", folder, "--model", "tiny-llava")
    assert shown.code == 0, shown.err
    assert "picture 1: 160 x 64   frame 49 at 1.960 s of a.mp4" in shown.out
    assert "Look." in shown.out and "of which 128 stand for pictures" in shown.out


def test_examples_show_their_videos_too(cli: Any, tmp_path: Path) -> None:
    ran = cli(*command(made(tmp_path / "task", rule="frames=3")), "--num_fewshot", 1)
    assert ran.code == 0, ran.err
    assert [len(row["images"]) for row in ran.samples("clips")] == [6, 6, 6]


def test_the_page_has_the_frames_that_a_request_decoded(cli: Any, tmp_path: Path) -> None:
    ran = cli(*command(made(tmp_path / "task", rule="frames=3"), "tiny-llava"))
    assert (ran.folder / "report.html").read_text().count("data:image/jpeg") == 6  # two videos


def test_a_rule_that_is_none_is_told_before_anything_is_asked(cli: Any, tmp_path: Path) -> None:
    folder = made(tmp_path / "task", rule="8 frames")
    stated = cli(*command(folder))
    assert stated.code == 2 and "'8 frames' is not a rule of frames" in stated.err and "clips.yaml" in stated.err
    typed = cli(*command(folder), "--video", "frames=many")
    assert typed.code == 2 and "--video" in typed.err and "frames=32,middle" in typed.err


def test_without_pyav_the_run_ends_with_how_to_install_it(
    cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = made(tmp_path / "task")
    monkeypatch.setitem(__import__("sys").modules, "av", None)
    ran = cli(*command(folder))
    assert ran.code == 2 and "pip install 'mm-eval[video]'" in ran.err


def test_show_writes_a_page_with_the_frames_and_their_times(cli: Any, tmp_path: Path) -> None:
    folder, page = made(tmp_path / "task", "!function utils.part", rule="frames=3"), tmp_path / "new/shown.html"
    words = ("show", "clips", "--include_path", folder, "--model", "tiny-llava", "--html", page)
    assert f"page: {page}" in cli(*words).out
    text = page.read_text()
    assert text.count('<img src="data:image/jpeg;base64,') == 4 and text.count('class="strip"') == 2
    captions = ["picture 0", "0.400 s", "0.800 s", "1.200 s"]
    assert re.findall("<figcaption>(.*?)</figcaption>", text) == captions
    assert "a.mp4: 3 of 50 frames (frames=3,ends), 2.0 s, from 0.4 s to 1.2 s" in text
    assert "<script" not in text and "What is it, 0?" in text and "target: &#39;red&#39;" in text
    (tmp_path / "file").write_text("")
    assert cli(*words[:-1], tmp_path / "file" / "page.html").code == 2
    assert cli(*words, "--keys", "default,mine").code == 2
