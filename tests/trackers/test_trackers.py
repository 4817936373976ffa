"""Numbers in a tracker: what is sent, what is checked before the first request, and that a failure costs a note."""

import json
import os
from pathlib import Path

import pytest

from mm_eval.cli import main
from mm_eval.errors import ConfigError
from mm_eval.request import ScoreOptions, TrackersRequest
from mm_eval.results.recorded import RecordedRun
from mm_eval.run import score
from mm_eval.trackers import process
from mm_eval.trackers.on_mlflow import csv_lines, with_allowed_names, without_password
from mm_eval.trackers.tracked import Tracked

QUIET = (
    "def init(project, name=None, config=None, space_id=None, resume=None, embed=None, auto_log_gpu=0, auto_log_cpu=0):"
)


def test_what_is_sent_has_numbers_with_intervals_the_table_and_the_files(run, tmp_path):
    results = run()
    sent = Tracked.of(RecordedRun.read(results.folder))
    value = results["mme"]["mme_perception_score"]
    assert sent.numbers["mme/mme_perception_score"] == value.value
    assert sent.numbers["mme/mme_perception_score_stderr"] == value.stderr
    assert sent.numbers["mme/mme_perception_score_low"] <= value.value <= sent.numbers["mme/mme_perception_score_high"]
    assert {"gsm8k/exact_match,strict-match", "gsm8k/exact_match,flexible-extract"} < sent.numbers.keys()
    assert sent.numbers["gsm8k/exact_match,strict-match_high"] > 0, "all wrong: the exact interval"
    assert [row[0] for row in sent.rows] == ["mme", "mme", "gsm8k", "gsm8k", "gsm8k"] and sent.config["sample"]
    assert (Path(sent.page).name, Path(sent.results).name) == ("report.html", "results.json")
    assert Tracked.from_json(json.loads(json.dumps(sent.to_json()))) == sent
    assert Tracked.of(RecordedRun.read(results.folder)).key == sent.key, "a second launch updates the same entry"


def test_a_package_that_is_missing_is_one_sentence_before_the_first_request(run, monkeypatch, tmp_path):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(
        ConfigError, match="--wandb_args: the package wandb is not installed. Run: pip install 'mm-eval\\[wandb\\]'"
    ):
        run(wandb_args={})
    assert not (tmp_path / "run").exists()


def test_a_wrong_argument_is_found_before_the_first_request(run, package, tmp_path):
    package("trackio", QUIET + " pass")
    with pytest.raises(ConfigError, match="--trackio_args: there is no argument 'projekt'. Did you mean 'project'"):
        run(trackio_args={"projekt": "p"})
    assert not (tmp_path / "run").exists()


def test_a_tracker_that_fails_costs_a_note_and_no_result(run, package):
    package("trackio", QUIET + "\n    raise ConnectionError('no server at https://x')")
    results = run(trackio_args={"project": "p"})
    assert results.exit_code == 0 and results["mme"].n == 6
    (note,) = [note for note in results.report.notes if "trackio" in note]
    assert "ConnectionError: no server" in note and "mm-eval score" in note and "sends them again" in note


def test_a_tracker_that_never_answers_or_dies_costs_a_note(run, package, monkeypatch):
    package("trackio", QUIET + "\n    import os; os._exit(7)")
    results = run(trackio_args={"project": "p"})
    assert any("ended (7)" in note for note in results.report.notes)
    package("trackio", QUIET + "\n    import time; time.sleep(60)")
    monkeypatch.setattr(process, "SECONDS", 0.5)
    with pytest.raises(process.TrackerError, match=r"did not answer within 0.5 s"):
        process.call("trackio", "send", {}, Tracked.of(RecordedRun.read(results.folder)).to_json())


def test_a_training_run_in_the_environment_is_not_taken_for_ours(package, monkeypatch):
    package(
        "trackio", "import os\nraise RuntimeError(sorted(name for name in os.environ if name.startswith('WANDB_RUN')))"
    )
    monkeypatch.setenv("WANDB_RUN_ID", "training")
    with pytest.raises(process.TrackerError, match=r"RuntimeError: \[\]"):
        process.call("trackio", "check", {})


@pytest.mark.full
def test_scoring_again_sends_only_what_is_asked_for_and_run_json_holds_no_address(run, package):
    package("trackio", QUIET + "\n    raise ConnectionError('called')")
    results = run(trackio_args={"project": "secret-project"})
    assert "secret-project" not in (results.folder / "run.json").read_text()
    assert not any("called" in note for note in score(results.folder).notes)
    sent = ScoreOptions(trackers=TrackersRequest(trackio={}))
    assert any("called" in note for note in score(results.folder, options=sent).notes)


@pytest.mark.full
def test_fault_models_of_a_release_in_processes_of_their_own_sent_nothing(package, monkeypatch, tmp_path):
    source = QUIET + "\n    open(f'{name}.called', 'w').close()\n    raise ConnectionError('called')"
    package("trackio", source)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "packages"), prepend=os.pathsep)
    Path("release.yaml").write_text(
        "tasks: [mme]\nlimit: 2\nsample: true\noutput_path: out\ntrackio_args: {project: evals}\n"
        "models:\n  - {name: one, model: dummy}\n  - {name: two, model: dummy, seed: 1}\n"
    )
    assert main(["run", "--config", "release.yaml", "--parallel", "2", "--no_report", "--offline"]) == 0
    assert sorted(found.name.rpartition("-")[0] for found in Path().glob("*.called")) == ["one", "two"]


def test_names_and_addresses_fit_mlflow():
    assert with_allowed_names({"a/b,c": 1.0, "a/b(c": 2.0, "é@1": 3.0}) == {"a/b_c": 1.0, "a/b_c_2": 2.0, "__1": 3.0}
    assert without_password("https://user:secret@host/x") == "https://host/x"
    lines = list(csv_lines(Tracked("m", "k", {}, [["a,b", None]], columns=("task", "value"))))
    assert lines == ["task,value", '"a,b",']
