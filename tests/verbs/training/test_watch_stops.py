"""`mm-eval watch` that stops: worse checkpoints end early, and a better one is what later ones are compared with."""

import json
import random
from pathlib import Path

import pytest

from mm_eval.cli import main
from mm_eval.engine.model import Model, register_model
from mm_eval.types import Answer
from mm_eval.verbs.training.watch_verb import is_better_than_reference

DOCS = 252


@register_model("trained")
class Trained(Model):
    """Knows the share of the answers that its checkpoint states."""

    @property
    def knows(self):
        return float((Path(self.args["pretrained"]) / "knows.txt").read_text())

    def generate(self, instances):
        for each in instances:
            drawn = random.Random(str(each.doc_id)).random()
            right = str(each.target)
            yield each, Answer(right if drawn < self.knows else "BCDA"["ABCD".index(right)])

    def identity(self, instance):
        return {**super().identity(instance), "knows": self.knows}

    def describe(self):
        return {"adapter": "trained", "knows": self.knows}


def save(folder: Path, step: int, knows: float) -> None:
    (folder / f"checkpoint-{step}").mkdir(parents=True)
    (folder / f"checkpoint-{step}" / "knows.txt").write_text(str(knows))


def watched(tmp_path: Path, *words: str) -> int:
    options = ["--tasks", "seedbench", "--sample", "--model", "trained", "--no_report", "--once"]
    return main(["watch", str(tmp_path / "out"), *options, "--output_path", str(tmp_path / "study"), *words])


def answered(tmp_path: Path, step: int) -> int:
    files = (tmp_path / "study" / f"step-{step:08d}" / "journal").glob("*.jsonl")
    return sum(json.loads(line)["kind"] == "answer" for path in files for line in path.read_text().splitlines())


@pytest.mark.full
def test_worse_checkpoints_end_early_and_a_better_one_is_compared_with_from_then_on(tmp_path, capsys):
    for step, knows in ((1, 0.5), (2, 0.2), (3, 0.9), (4, 0.5)):
        save(tmp_path / "out", step, knows)
    assert watched(tmp_path, "--stop_when", "decided") == 0
    said = capsys.readouterr().out
    counts = {step: answered(tmp_path, step) for step in (1, 2, 3, 4)}
    assert counts[1] == counts[3] == DOCS and counts[2] < DOCS and counts[4] < DOCS, counts
    assert "step-00000003 is better than step-00000001" in said and "stopped after" in said
    found = json.loads((tmp_path / "study" / "step-00000004" / "results.json").read_text())
    [pair] = found["run"]["looks"]["comparisons"] if "looks" in found["run"] else found["looks"]["comparisons"]
    assert (pair["first"], pair["second"], pair["ended"]) == ("step-00000003", "step-00000004", "differs")
    assert not is_better_than_reference(tmp_path / "study" / "step-00000004")
    before = {path: path.stat().st_mtime_ns for path in tmp_path.glob("study/*/results.json")}
    assert watched(tmp_path, "--stop_when", "decided") == 0
    assert {path: path.stat().st_mtime_ns for path in before} == before, "nothing is asked again"


@pytest.mark.full
def test_a_reference_that_was_cut_off_before_all_docs_goes_on(tmp_path):
    for step, knows in ((1, 0.5), (2, 0.2)):
        save(tmp_path / "out", step, knows)
    assert watched(tmp_path, "--stop_when", "decided") == 0 and answered(tmp_path, 2) < DOCS
    (tmp_path / "study" / "reference.txt").write_text("step-00000002")  # as a launch leaves it that was killed here
    assert watched(tmp_path, "--stop_when", "decided") == 0
    assert answered(tmp_path, 2) == DOCS and answered(tmp_path, 1) == DOCS


@pytest.mark.full
def test_each_checkpoint_runs_until_its_interval_is_narrow(tmp_path):
    for step, knows in ((1, 0.5), (2, 0.6)):
        save(tmp_path / "out", step, knows)
    assert watched(tmp_path, "--until_interval", "15") == 0
    assert all(20 < answered(tmp_path, step) < DOCS for step in (1, 2))


def test_both_together_are_refused(tmp_path, capsys):
    save(tmp_path / "out", 1, 0.5)
    assert watched(tmp_path, "--stop_when", "decided", "--until_interval", "5") == 2
    assert "can't be combined" in capsys.readouterr().err
