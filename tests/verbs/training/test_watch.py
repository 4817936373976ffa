"""`mm-eval watch` evaluates complete checkpoints in order, once, and goes on where it stopped."""

import json
import os
import shutil
from importlib.resources import files
from pathlib import Path

import pytest
from mm_eval.models.hf.checkpoint import DigestCache

from mm_eval.adapters import own_model
from mm_eval.cli import main
from mm_eval.engine.model import measured
from mm_eval.errors import ModelError, StoreError
from mm_eval.request import RunRequest
from mm_eval.verbs.training.watch_verb import Watch

TINY = Path(str(files("mm_eval.assets") / "models" / "tiny-llava"))
WORDS = ["--tasks", "mme", "--sample", "--limit", "3", "--model", "llava", "--no_report", "--offline"]


def checkpoint(folder: Path, step: int) -> Path:
    return Path(shutil.copytree(TINY, folder / f"checkpoint-{step}"))


@pytest.mark.full
def test_each_complete_checkpoint_is_evaluated_once_and_a_torn_one_is_named(tmp_path, capsys):
    for step in (1000, 200):
        checkpoint(tmp_path / "out", step)
    torn = checkpoint(tmp_path / "out", 1200)
    weights = torn / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-100])
    (tmp_path / "out" / "runs").mkdir()
    words = ["watch", str(tmp_path / "out"), "--once", *WORDS, "--output_path", str(tmp_path / "study")]
    assert main(words) == 3, "one was not evaluated"
    said = capsys.readouterr()
    assert said.out.index("checkpoint-200: ") < said.out.index("checkpoint-1000: ")
    assert "checkpoint-1200 can't be evaluated so far" in said.err and "header lists" in said.err
    assert sorted(path.name for path in (tmp_path / "study").iterdir()) == ["step-00000200", "step-00001000"]
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "study").glob("*/results.json")}
    shutil.copy(TINY / "model.safetensors", weights)
    assert main(words) == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before, "the others were not touched"
    assert (
        "checkpoint-200: " not in capsys.readouterr().out
        and (tmp_path / "study" / "step-00001200" / "results.json").is_file()
    )


def test_a_checkpoint_that_was_written_anew_is_no_longer_what_was_evaluated(tmp_path, capsys, monkeypatch):
    """A second training into the same folder: the numbers of the first one were shown as its own.

    So it was where the weights were written while the first ones were evaluated, or copied with their time of change.
    """
    monkeypatch.setenv("MM_EVAL_CACHE", str(tmp_path / "cache"))
    weights = checkpoint(tmp_path / "out", 200) / "model.safetensors"
    whole, time = weights.read_bytes(), weights.stat().st_mtime

    def run(request: RunRequest) -> int:
        model = own_model(request)
        model.describe()
        folder = Path(str(request.output_path))
        folder.mkdir(parents=True)
        constants = json.loads(json.dumps(measured(model).constants))
        stated = {"format": 1, "created": weights.stat().st_ctime, "constants": constants}
        (folder / "run.json").write_text(json.dumps(stated))
        weights.write_bytes(whole[:-1] + bytes([whole[-1] ^ 1]) if rewrites else whole)
        os.utime(weights, (time, time))
        (folder / "results.json").write_text("{}")
        return 4  # no curve is drawn

    for rewrites in (False, True):
        study = tmp_path / f"study-{rewrites}"
        watch = Watch(tmp_path / "out", study, RunRequest(("mme",), "llava", offline=True), run)
        watch.until_interrupted(None)
        assert ("written again" in capsys.readouterr().err) == rewrites
        watch.until_interrupted(None)
        assert "written again" not in capsys.readouterr().err, "it is said once"
    again = Watch(tmp_path / "out", study, RunRequest(("mme",), "llava", offline=True), run)
    assert again.until_interrupted(None) == 3
    said = capsys.readouterr().err
    assert "checkpoint-200 was written again after it was evaluated" in said and "Move that folder away" in said


def test_a_model_and_its_arguments_may_be_named_as_in_another_suite(tmp_path):
    """Only the name was put into our words before a checkpoint was looked at: it was never complete."""
    folder = checkpoint(tmp_path / "out", 1)
    request = RunRequest(("mme",), "llava_hf", model_args={"use_flash_attention_2": "False"}, offline=True)
    watch = Watch(tmp_path / "out", tmp_path / "study", request, lambda request: 0)
    assert watch.is_complete(folder), watch.seen


def test_weights_that_are_written_anew_while_they_are_loaded_are_not_recorded_under_their_old_digest(tmp_path):
    """save_total_limit and a second training write into a checkpoint that is being evaluated."""
    folder = checkpoint(tmp_path, 1)
    model = own_model(RunRequest(("mme",), "llava", model_args={"pretrained": str(folder)}))
    model.describe()
    weights = folder / "model.safetensors"
    os.utime(weights, (5, 5))
    with pytest.raises(ModelError, match="the weights were written again while they were loaded"):
        model.prepare()


@pytest.mark.parametrize("moment", ["looked at", "evaluated"])
def test_a_checkpoint_that_is_removed_meanwhile_does_not_end_the_watch(tmp_path, capsys, monkeypatch, moment):
    """`save_total_limit` removes the oldest one, as it likes: a traceback ended the watch while digests were taken."""
    monkeypatch.setenv("MM_EVAL_CACHE", str(tmp_path / "cache"))
    oldest, digest = checkpoint(tmp_path / "out", 100), DigestCache.digest
    checkpoint(tmp_path / "out", 200)
    evaluated: list[str] = []

    def removing(cache: DigestCache, path: Path) -> str:
        if oldest in path.parents and (moment == "looked at" or evaluated):
            shutil.rmtree(oldest, ignore_errors=True)
        return digest(cache, path)

    def run(request: RunRequest) -> int:
        folder = Path(str(request.output_path))
        evaluated.append(folder.name)
        (folder / "journal").mkdir(parents=True)
        (folder / "journal" / "0.jsonl").touch()
        own_model(request).describe()
        (folder / "results.json").write_text("{}")
        return 4  # no curve is drawn

    monkeypatch.setattr(DigestCache, "digest", removing)
    watch = Watch(tmp_path / "out", tmp_path / "study", RunRequest(("mme",), "llava", offline=True), run)
    code, said = watch.until_interrupted(None), capsys.readouterr().err
    assert evaluated[-1] == "step-00000200" and (tmp_path / "study" / "step-00000200" / "results.json").is_file()
    if moment == "evaluated":
        assert "checkpoint-100: the checkpoint was removed before it was evaluated" in said
        assert f"`mm-eval score {tmp_path / 'study' / 'step-00000100'}`" in said
    else:
        assert code == 4 and said == "", "nothing was asked, and nothing is left to do"


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
        calls.append(request)
        raise ModelError("it broke")

    watch = Watch(tmp_path / "out", tmp_path / "study", RunRequest(("mme",), "hf"), run)
    assert watch.until_interrupted(None) == 3 and watch.until_interrupted(None) == 3
    assert len(calls) == 1 and "checkpoint-1: it broke" in capsys.readouterr().err


def test_a_checkpoint_that_failed_because_it_was_written_is_tried_again(tmp_path, capsys):
    """Its files as they were after the failure counted as those that had failed: it was never evaluated."""
    weights, calls = checkpoint(tmp_path / "out", 1) / "model.safetensors", []

    def run(request: RunRequest) -> int:
        calls.append(request)
        os.utime(weights, (len(calls), len(calls)))
        raise ModelError("the weights were written again while they were loaded.")

    watch = Watch(tmp_path / "out", tmp_path / "study", RunRequest(("mme",), "hf"), run)
    watch.evaluate(next(watch.pending()))
    assert next(watch.pending(), None) is not None


PROCESSOR = ("processor_config.json", "tokenizer.json", "tokenizer_config.json", "chat_template.jinja")


def test_a_checkpoint_without_a_processor_gets_one_and_the_reader_hears_how(tmp_path, capsys):
    saved = checkpoint(tmp_path / "out", 3)
    for name in PROCESSOR:
        (saved / name).unlink()
    words = ["watch", str(tmp_path / "out"), "--once", *WORDS, "--output_path", str(tmp_path / "study")]
    assert main(words) == 3 and "It has no processor: name one by --processor DIR" in capsys.readouterr().err
    whole = Watch(tmp_path / "out", tmp_path / "study", RunRequest(("mme",), "hf"), lambda request: 0, processor=TINY)
    assert list(whole.pending()) == [saved]
    given = Path(whole.request_of(saved).model_args["pretrained"])
    assert given.name == saved.name and (given / "model.safetensors").resolve() == saved / "model.safetensors"
    assert (given / "tokenizer.json").resolve() == (TINY / "tokenizer.json").resolve()
    assert not set(PROCESSOR) & {path.name for path in saved.iterdir()}, "the checkpoint is as it was"
    for name in PROCESSOR:  # the training's own folder has them, as after processor.save_pretrained(output_dir)
        shutil.copy(TINY / name, tmp_path / "out" / name)
    assert main(words) == 0 and "mme_perception_score" in capsys.readouterr().out


def test_adapters_are_given_as_peft_on_the_model_that_they_name(tmp_path, capsys):
    saved = tmp_path / "out" / "checkpoint-7"
    saved.mkdir(parents=True)
    (saved / "adapter_config.json").write_text('{"peft_type": "LORA", "base_model_name_or_path": "org/base"}')
    plain = Watch(tmp_path / "out", tmp_path / "study", RunRequest(("mme",), "hf"), lambda request: 0)
    assert plain.request_of(saved).model_args == {"pretrained": "org/base", "peft": str(saved)}
    named = RunRequest(("mme",), "hf", model_args={"pretrained": "mine", "dtype": "bfloat16"})
    args = Watch(tmp_path / "out", tmp_path / "study", named, lambda request: 0).request_of(saved).model_args
    assert args == {"pretrained": "mine", "dtype": "bfloat16", "peft": str(saved)}
    checkpoint(tmp_path / "out", 8)
    words = ["watch", str(tmp_path / "out"), "--once", *WORDS, "--model_args", "pretrained=mine"]
    assert main([*words, "--output_path", str(tmp_path / "study")]) == 3
    assert "checkpoint-8 is not an adapter of 'mine'" in capsys.readouterr().err


def test_while_watching_a_checkpoint_that_stays_unreadable_is_reported_once(tmp_path, capsys, monkeypatch):
    from mm_eval.verbs.training import watch_verb

    torn = checkpoint(tmp_path, 5) / "model.safetensors"
    torn.write_bytes(torn.read_bytes()[:-100])
    watch = Watch(tmp_path, tmp_path / "study", RunRequest(("mme",), "hf"), lambda request: 0)
    errors = []

    def sleep(seconds):
        errors.append(capsys.readouterr().err)
        if len(errors) == 4:
            raise KeyboardInterrupt

    monkeypatch.setattr(watch_verb.time, "sleep", sleep)
    with pytest.raises(KeyboardInterrupt):
        watch.until_interrupted(30)
    assert [error.count("checkpoint-5 can't be evaluated so far") for error in errors] == [0, 1, 0, 0]


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--config", "x.yaml"], "watch runs one model"),
        ([], "no task is named"),
        (["--tasks", "mme", "--model_args", "peft=x"], "peft is each checkpoint"),
        (["--tasks", "mme", "--processor", "nowhere"], "no files of a processor"),
    ],
)
def test_a_wrong_command_is_one_sentence(tmp_path, capsys, words, said):
    assert main(["watch", str(tmp_path), *words]) == 2 and said in capsys.readouterr().err
    assert main(["watch", str(tmp_path / "none"), "--tasks", "mme"]) == 2


def test_a_folder_without_a_checkpoint_is_said(tmp_path, capsys):
    (tmp_path / "empty").mkdir()
    assert main(["watch", str(tmp_path / "empty"), "--once", *WORDS]) == 0
    assert "empty has no checkpoint" in capsys.readouterr().err


def test_a_checkpoint_that_found_a_full_disk_is_evaluated_at_the_next_look(tmp_path, monkeypatch):
    """It was left out until the watch was started again, though there was room a minute later."""
    checkpoint(tmp_path / "out", 1)
    calls = []

    def run(request: RunRequest) -> int:
        calls.append(request)
        if len(calls) == 1:
            raise StoreError("no space left on device")
        raise KeyboardInterrupt

    monkeypatch.setattr("mm_eval.verbs.training.watch_verb.time.sleep", lambda seconds: None)
    watch = Watch(tmp_path / "out", tmp_path / "study", RunRequest(("mme",), "hf"), run)
    with pytest.raises(KeyboardInterrupt):
        watch.until_interrupted(1)
    assert len(calls) == 2
