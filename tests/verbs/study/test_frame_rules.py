"""`prompts` compares rules of frames as it compares prompt blocks: paired by doc, clustered by video."""

import json
from pathlib import Path
from typing import Any

import pytest
from mm_eval.models.dummy import Dummy

from mm_eval.values.types import Answer
from tests.cli.test_videos import made


@pytest.fixture
def needs_four(monkeypatch: pytest.MonkeyPatch) -> None:
    """A model that answers right if it sees four frames or more."""

    def generate(self: Dummy, instances: Any) -> Any:
        yield from ((each, Answer("red" if len(each.image_digests) >= 4 else "?")) for each in instances)

    monkeypatch.setattr(Dummy, "generate", generate)


def command(folder: Path) -> list[object]:
    return ["prompts", "--tasks", "clips", "--include_path", folder, "--model", "dummy"]


def test_rules_are_compared_paired_and_clustered_by_video(cli: Any, tmp_path: Path, needs_four: None) -> None:
    words = [*command(made(tmp_path / "task")), "--output_path", tmp_path / "out"]
    done = cli(*words, "--video", "frames=2", "--video", "frames=5,middle")
    assert done.code == 0, done.err
    assert "vs frames=2,ends" in done.out and "+100.0" in done.out
    assert "prompt 'frames=5,middle': clips post_prompt=' Answer:', video='frames=5,middle'" in done.out
    [model] = json.loads((tmp_path / "out/prompts.json").read_text())["models"]
    assert list(model["blocks"]) == ["frames=2,ends", "frames=5,middle"]
    [change] = [each for each in model["blocks"]["frames=5,middle"]["changes"] if each["metric"] == "exact_match,none"]
    assert change["difference"]["value"] == 1 and change["difference"]["clusters"] == 2, "three docs of two videos"
    again = cli(*words, "--video", "frames=2", "--video", "frames=5,middle")
    assert again.out == done.out
    assert len(list((tmp_path / "out").rglob("journal/*.jsonl"))) == 2, "nothing is asked twice"


def test_rules_and_blocks_are_crossed(cli: Any, tmp_path: Path, needs_four: None) -> None:
    folder = made(tmp_path / "task")
    (tmp_path / "mine.yaml").write_text('mine: {post_prompt: " Say."}\n')
    words = [*command(folder), "--prompt_file", tmp_path / "mine.yaml", "--keys", "default,mine", "--limit", 1]
    done = cli(
        *words, "--video", "frames=2", "--video", "frames=4", "--output_path", tmp_path / "out", "--format", "json"
    )
    [model] = json.loads(done.out)["models"]
    assert list(model["blocks"]) == [
        "default frames=2,ends", "default frames=4,ends", "mine frames=2,ends", "mine frames=4,ends",
    ]  # fmt: skip
    asked = {name: block["prompts"]["clips"] for name, block in model["blocks"].items()}
    assert (asked["mine frames=2,ends"]["key"], asked["mine frames=2,ends"]["video"]) == ("mine", "frames=2,ends")
    assert (
        "mine frames=4,ends (as"
        not in cli(*words, "--video", "frames=2", "--video", "frames=4", "--output_path", tmp_path / "out").out
    )


def test_a_task_without_videos_says_so(cli: Any, tmp_path: Path) -> None:
    words = [
        "prompts",
        "--tasks",
        "mme",
        "--sample",
        "--model",
        "dummy",
        "--limit",
        4,
        "--output_path",
        tmp_path / "out",
    ]
    done = cli(*words, "--video", "frames=2", "--video", "frames=4")
    assert done.code == 0 and "mme has no video: it was asked as with frames=2,ends." in done.out


def test_a_rule_given_twice_is_refused(cli: Any, tmp_path: Path) -> None:
    done = cli(*command(made(tmp_path / "task")), "--video", "frames=2", "--video", "frames=2,ends")
    assert done.code == 2 and "'frames=2,ends' is given twice" in done.err
    done = cli(*command(tmp_path / "task"), "--keys", "default", "--video", "frames=2")
    assert done.code == 2 and "several --video" in done.err


def test_parts_of_one_file_are_one_cluster(cli: Any, tmp_path: Path) -> None:
    folder = made(tmp_path / "task", "!function utils.part_of")
    text = (folder / "utils.py").read_text()
    (folder / "utils.py").write_text(
        text + "\ndef part_of(doc):\n    n = int(doc['question'][-2])\n"
        "    return [Image.new('RGB', (8, 8), (n, 0, 0)), Video(doc['video'], 0.5 * n, 0.5 * n + 0.3)]\n"
    )
    ran = cli("--tasks", "clips", "--include_path", folder, "--model", "dummy")
    assert ran.code == 0, ran.err
    first, again, other = ran.samples("clips")
    assert not set(first["images"]) & set(again["images"]), "other frames, and another picture before them"
    assert first["cluster"] == again["cluster"] != other["cluster"]


def test_a_rule_of_frames_is_named_only_for_tasks_that_show_some(cli: Any, tmp_path: Path) -> None:
    words = ("prompts", "--tasks", "mme", "--limit", "4", "--model", "dummy", "--sample", "--keys", "default,qwen_vl")
    done = cli(*words, "--video", "frames=2")
    assert done.code == 0 and "post_prompt=" in done.out and "video=" not in done.out, done.out + done.err
