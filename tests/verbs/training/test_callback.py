"""EvalCallback in a real Trainer: numbers in its log, answers of the checkpoint, a training that nothing disturbs."""

import json
import logging
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from transformers import TrainerCallback

from mm_eval import evaluate
from mm_eval.errors import ConfigError
from mm_eval.training import EvalCallback
from mm_eval.verbs.training.curve import Study
from mm_eval.verbs.training.study import begin_at, recorded, step_folder, step_of
from tests.verbs.training.trainings import EVALUATED, losses, processor, trainer

NUMBER = "eval/mme/mme_perception_score"


class Tracker(TrainerCallback):
    """Keeps what a tracker is given."""

    def __init__(self):
        self.seen = []

    def on_log(self, args, state, control, logs=None, **kwargs):
        self.seen.append((state.global_step, dict(logs)))


@pytest.mark.full
def test_numbers_with_intervals_stand_in_the_log_and_reach_the_trackers(tmp_path):
    tracker = Tracker()
    callback = EvalCallback("mme", processor(), every=2, output_path=tmp_path / "study", **EVALUATED)
    made = trainer(tmp_path / "out", tracker, callback)
    made.train()
    logged = {entry["step"]: entry for entry in made.state.log_history if NUMBER in entry}
    assert list(logged) == [2, 4] == list(callback.results)
    for step, entry in logged.items():
        assert entry[NUMBER] == callback.results[step]["mme"]["mme_perception_score"].value
        assert entry[f"{NUMBER}_low"] <= entry[NUMBER] <= entry[f"{NUMBER}_high"]
        assert [logs[NUMBER] for at, logs in tracker.seen if at == step and NUMBER in logs] == [entry[NUMBER]]
    assert recorded(tmp_path / "study") == {n: step_folder(tmp_path / "study", n) for n in (2, 4)}


@pytest.mark.full
def test_trackers_that_write_names_anew_show_them_under_eval(tmp_path):
    from transformers.integrations import rewrite_logs

    class Rewriting(Tracker):
        def on_log(self, args, state, control, logs=None, **kwargs):
            self.seen.append(rewrite_logs(logs))

    tracker = Rewriting()
    callback = EvalCallback("mme", processor(), every=1, output_path=tmp_path / "study", **EVALUATED)
    trainer(tmp_path / "out", tracker, callback, steps=1).train()
    assert any(NUMBER in logs for logs in tracker.seen) and not any(f"train/{NUMBER}" in logs for logs in tracker.seen)


def test_the_loss_curve_is_the_same_bit_for_bit_and_each_answer_is_that_of_the_saved_checkpoint(tmp_path):
    plain = trainer(tmp_path / "plain", steps=5)
    plain.train()
    callback = EvalCallback("mme,arc_easy", processor(), output_path=tmp_path / "study", at_end=False, **EVALUATED)
    with_it = trainer(tmp_path / "out", callback, steps=5)
    with_it.train()
    assert losses(with_it) == losses(plain) and len(losses(plain)) == 5
    for step in (2, 4):
        saved = tmp_path / "out" / f"checkpoint-{step}"
        processor().save_pretrained(saved)
        offline = evaluate(
            "mme,arc_easy", "hf", {"pretrained": str(saved)}, report=False, output_path=str(saved / "e"), **EVALUATED
        )
        for task in ("mme", "arc_easy"):
            answers = [[row["resps"] for row in found.samples(task)] for found in (callback.results[step], offline)]
            assert answers[0] == answers[1]
        assert callback.results[step].raw["results"] == offline.raw["results"]


@pytest.mark.full
def test_nothing_of_an_evaluation_stays_in_memory(tmp_path):
    import gc

    def tensors():
        gc.collect()
        return sum(isinstance(each, torch.Tensor) for each in gc.get_objects())

    counts = []

    class Counting(TrainerCallback):
        def on_step_begin(self, args, state, control, **kwargs):
            counts.append(tensors())

    callback = EvalCallback("mme", processor(), every=2, output_path=tmp_path / "study", at_end=False, **EVALUATED)
    trainer(tmp_path / "out", Counting(), callback, steps=6, save=100).train()
    assert counts[3] == counts[5], "after the first and after the second evaluation"


@pytest.mark.full
def test_an_error_in_an_evaluation_never_ends_the_training_unless_asked(tmp_path, caplog, monkeypatch):
    from mm_eval.verbs.training import callback as module

    def broken(*args, **kwargs):
        raise RuntimeError("out of disk")

    monkeypatch.setattr(module, "evaluate", broken)
    with caplog.at_level(logging.WARNING):
        made = trainer(
            tmp_path / "a", EvalCallback("mme", processor(), every=2, output_path=tmp_path / "s", **EVALUATED)
        )
        made.train()
    assert (
        made.state.global_step == 4
        and "step 2 failed; the training continues: RuntimeError: out of disk" in caplog.text
    )
    raising = EvalCallback("mme", processor(), every=2, output_path=tmp_path / "s", on_error="raise", **EVALUATED)
    with pytest.raises(RuntimeError, match="out of disk"):
        trainer(tmp_path / "b", raising).train()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"tasks": "mmee"}, "mmee.*Did you mean"),
        ({"tasks": "mme", "processor": None}, "comes without its processor"),
        ({"tasks": "mme", "every": 0}, "every=0; a number of steps is needed"),
        ({"tasks": "mme", "limitt": 3}, "unknown option.*limitt"),
        ({"tasks": "mme", "model": "hf"}, "model is stated by the callback itself"),
        ({"tasks": "mme", "on_error": "stop"}, "It is 'note' or 'raise'"),
    ],
)
def test_what_is_wrong_is_said_before_the_first_step(tmp_path, given, said):
    with pytest.raises(ConfigError, match=said):
        callback = EvalCallback(**{"processor": processor(), "output_path": tmp_path / "study", **EVALUATED, **given})
        made = trainer(tmp_path / "out", callback)
        made.train()
    assert not (tmp_path / "study").exists()


KILLED = """
import json, os, sys
from pathlib import Path
from mm_eval.training import EvalCallback
from tests.verbs.training.trainings import EVALUATED, losses, processor, trainer
from mm_eval.engine.journal import Journal
folder, after = Path(sys.argv[1]), int(sys.argv[2])
put, puts = Journal.put, []
def dying(self, *args, **kwargs):
    result = put(self, *args, **kwargs)
    puts.append(1)
    if len(puts) == after:
        self.close()
        os.kill(os.getpid(), 9)
    return result
Journal.put = dying
callback = EvalCallback("mme", processor(), output_path=folder / "study", limit=6, sample=True)
made = trainer(folder / "out", callback, steps=6)
made.train(resume_from_checkpoint=(folder / "out" / "checkpoint-2").is_dir())
(folder / "losses.json").write_text(json.dumps(losses(made)))
"""


@pytest.mark.full
def test_a_training_that_is_killed_in_an_evaluation_goes_on_with_its_answers(tmp_path):
    """Killed at answers 2, 5 (of step 2), and 9 (of step 4) of 18: every launch resumes, and no answer is asked for twice."""
    root = Path(__file__).parent.parent.parent.parent

    def launch(after):
        words = [sys.executable, "-c", KILLED, str(tmp_path), str(after)]
        return subprocess.run(words, cwd=root, capture_output=True, text=True)

    counts = []
    for after in (2, 3, 4):
        done = launch(after)
        assert done.returncode == -9, done.stderr
        lines = [line for path in tmp_path.glob("study/*/journal/*.jsonl") for line in path.read_text().splitlines()]
        counts.append(sum('"kind":"answer"' in line for line in lines))
    last = launch(10**6)
    assert last.returncode == 0, last.stderr
    assert counts == sorted(counts) and counts[0] >= 2
    keys = [
        json.loads(line)["key"]
        for path in tmp_path.glob("study/*/journal/*.jsonl")
        for line in path.read_text().splitlines()
        if '"kind":"answer"' in line
    ]
    assert len(keys) == len(set(keys)) == 18, "each answer was given once"
    assert [step_of(path) for path in recorded(tmp_path / "study").values()] == [2, 4, 6]
    whole = trainer(tmp_path / "whole", steps=6)
    whole.train()
    assert json.loads((tmp_path / "losses.json").read_text()) == losses(whole), "the training is that of one launch"


@pytest.mark.full
def test_two_processes_of_accelerate_share_an_evaluation(tmp_path):
    root, script = Path(__file__).parent.parent.parent.parent, tmp_path / "train.py"
    script.write_text(
        "import sys, json\nfrom pathlib import Path\nfrom mm_eval.training import EvalCallback\n"
        "from tests.verbs.training.trainings import EVALUATED, processor, trainer\n"
        "folder = Path(sys.argv[1])\n"
        "callback = EvalCallback('mme', processor(), every=2, output_path=folder / 'study', limit=6, sample=True)\n"
        "made = trainer(folder / 'out', callback, steps=4)\nmade.train()\n"
        "rank = made.args.process_index\n"
        "logged = [entry for entry in made.state.log_history if 'eval/mme/mme_perception_score' in entry]\n"
        "(folder / f'rank{rank}.json').write_text(json.dumps([rank, made.args.world_size, logged]))\n"
    )
    words = ["-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2", "--num_machines", "1"]
    words += [
        "--mixed_precision",
        "no",
        "--dynamo_backend",
        "no",
        "--main_process_port",
        "0",
        str(script),
        str(tmp_path),
    ]
    environment = {**__import__("os").environ, "PYTHONPATH": str(root), "ACCELERATE_USE_CPU": "true"}
    done = subprocess.run([sys.executable, *words], cwd=root, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    ranks = [json.loads((tmp_path / f"rank{rank}.json").read_text()) for rank in range(2)]
    assert [rank[:2] for rank in ranks] == [[0, 2], [1, 2]]
    assert [entry["step"] for entry in ranks[0][2]] == [2, 4] and ranks[1][2] == []
    folder = step_folder(tmp_path / "study", 4)
    assert len(list((folder / "journal").glob("*.jsonl"))) == 2, "each rank answered its share"
    assert json.loads((folder / "results.json").read_text())["results"]["mme"]["n"] == 6


@pytest.mark.full
def test_a_new_training_in_an_old_folder_has_a_curve_of_its_own(tmp_path, caplog):
    """The default folder holds a longer training of yesterday: its later steps were shown as those of this one."""
    study = tmp_path / "study"
    for name in ("step-00000001", "step-00000004"):
        (study / name).mkdir(parents=True)
        (study / name / "results.json").write_text("{}")
    with caplog.at_level(logging.WARNING):
        assert begin_at(study, 1) == ["step-00000004"], "a training that goes on keeps what was before"
        assert list(recorded(study)) == [1] and begin_at(study, 0) == ["step-00000001"] and not recorded(study)
        callback = EvalCallback("mme", processor(), every=2, output_path=study, **EVALUATED)
        trainer(tmp_path / "out", callback, steps=2).train()
    assert list(recorded(study)) == [2] and not Study(study).waiting
    assert begin_at(study, 0) == ["step-00000002"] and not recorded(study)
    again = EvalCallback("mme", processor(), every=2, output_path=study, **EVALUATED)
    trainer(tmp_path / "out", again, steps=2).train()
    assert list(recorded(study)) == [2], "the same weights once more are of this training"


@pytest.mark.full
def test_a_resumed_step_that_another_training_evaluated_is_evaluated_with_these_weights(tmp_path, caplog):
    """The point of the other training was kept, and its earlier points with it."""
    study = tmp_path / "study"

    def train(name, seed, steps, **more):
        callback = EvalCallback("mme", processor(), every=1, output_path=study, **EVALUATED)
        made = trainer(tmp_path / name, callback, steps=steps, save=1, seed=seed, learning_rate=1e-2)
        made.train(**more)
        return made, callback

    train("other", 9, 2)
    assert not caplog.text
    before = recorded(study)
    plain = trainer(tmp_path / "own", steps=2, save=1, learning_rate=1e-2)
    plain.train()
    with caplog.at_level(logging.WARNING):
        made, callback = train("own", 3, 3, resume_from_checkpoint=str(tmp_path / "own" / "checkpoint-2"))
    assert "holds step 2 of another training" in caplog.text and "1 evaluation before it left out" in caplog.text
    assert list(recorded(study)) == [2, 3] and recorded(study)[2] != before[2], "step 1 is of the other training"
    assert [entry["step"] for entry in made.state.log_history if NUMBER in entry] == [2, 3]
    caplog.clear()
    made, callback = train("own", 3, 4, resume_from_checkpoint=str(tmp_path / "own" / "checkpoint-3"))
    assert not caplog.text and list(recorded(study)) == [2, 3, 4], "a step of the same weights is as it was"
    assert [entry["step"] for entry in made.state.log_history if NUMBER in entry] == [2, 3, 4]
    train("other", 9, 3, resume_from_checkpoint=str(tmp_path / "other" / "checkpoint-2"))
    assert recorded(study)[2] == before[2], "the first one goes on: its step is back"


def test_two_callbacks_of_one_folder_are_refused_before_the_first_step(tmp_path):
    """Of each step only one of the two was in the curve."""
    two = [
        EvalCallback(task, processor(), every=2, output_path=tmp_path / "s", **EVALUATED)
        for task in ("mme", "seedbench")
    ]
    with pytest.raises(ConfigError, match="two callbacks evaluate into"):
        trainer(tmp_path / "out", *two).train()
