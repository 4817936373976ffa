"""`mm-eval watch` evaluates complete checkpoints in order, once, and goes on where it stopped."""

import shutil
from importlib.resources import files
from pathlib import Path

import pytest

from mm_eval.cli import main
from mm_eval.features.training.watch_verb import Watch
from mm_eval.request import RunRequest

TINY = Path(str(files("mm_eval.assets") / "models" / "tiny-llava"))
WORDS = ["--tasks", "mme", "--sample", "--limit", "3", "--model", "llava", "--no_report", "--offline"]


def checkpoint(folder: Path, step: int) -> Path:
    return Path(shutil.copytree(TINY, folder / f"checkpoint-{step}"))


def test_each_complete_checkpoint_is_evaluated_once_and_a_torn_one_is_named(tmp_path, capsys):
    for step in (1000, 200):
        checkpoint(tmp_path / "out", step)
    torn = checkpoint(tmp_path / "out", 1200)
    weights = torn / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    (tmp_path / "out" / "runs").mkdir()
    words = ["watch", str(tmp_path / "out"), "--once", *WORDS, "--output_path", str(tmp_path / "study")]
    assert main(words) == 0
    said = capsys.readouterr()
    assert said.out.index("checkpoint-200: ") < said.out.index("checkpoint-1000: ")
    assert "checkpoint-1200 is not complete" in said.err and "header lists" in said.err
    assert sorted(path.name for path in (tmp_path / "study").iterdir()) == ["step-00000200", "step-00001000"]
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "study").glob("*/results.json")}
    shutil.copy(TINY / "model.safetensors", weights)
    assert main(words) == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before, "the others were not touched"
    assert (
        "checkpoint-200: " not in capsys.readouterr().out
        and (tmp_path / "study" / "step-00001200" / "results.json").is_file()
    )


def test_the_newest_comes_first_and_what_appears_meanwhile_is_found(tmp_path):
    order = []

    def run(request: RunRequest) -> int:
        order.append(Path(request.model_args["pretrained"]).name)
        folder = Path(request.output_path)
        folder.mkdir(parents=True)
        (folder / "results.json").write_text("{}")
        if len(order) == 1:
            checkpoint(tmp_path, 9)
        return 130 if len(order) == 3 else 2

    for step in (2, 5):
        checkpoint(tmp_path, step)
    watch = Watch(tmp_path, tmp_path / "study", RunRequest(("mme",), "hf"), run, newest_first=True)
    assert watch.until_interrupted(1) == 130
    assert order == ["checkpoint-5", "checkpoint-9", "checkpoint-2"]


def test_a_checkpoint_that_fails_does_not_end_the_watch_and_is_not_tried_again(tmp_path, capsys):
    checkpoint(tmp_path / "out", 1)
    calls = []

    def run(request: RunRequest) -> int:
        from mm_eval.errors import ModelError

        calls.append(request)
        raise ModelError("it broke")

    watch = Watch(tmp_path / "out", tmp_path / "study", RunRequest(("mme",), "hf"), run)
    assert watch.until_interrupted(None) == 3 and watch.until_interrupted(None) == 3
    assert len(calls) == 1 and "checkpoint-1: it broke" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--config", "x.yaml"], "watch runs one model"),
        ([], "no task is named"),
        (["--tasks", "mme", "--model_args", "pretrained=x"], "pretrained is each checkpoint"),
    ],
)
def test_a_wrong_command_is_one_sentence(tmp_path, capsys, words, said):
    assert main(["watch", str(tmp_path), *words]) == 2 and said in capsys.readouterr().err
    assert main(["watch", str(tmp_path / "none"), "--tasks", "mme"]) == 2
