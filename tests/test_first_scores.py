"""The score of a task is shown as soon as its last answer is there, before the run ends, and is the one that the run has."""

import json

from mm_eval import finished
from mm_eval.check_runs import check_models
from mm_eval.engine.progress import Progress
from mm_eval.request import RunRequest
from mm_eval.run import evaluate


class Watched(Progress):
    """Notes what comes in which order: scores, and how many requests were answered by then."""

    shows_scores = True

    def __init__(self) -> None:
        self.asked: dict[str, int] = {}
        self.scores: list[tuple[str, str, bool]] = []
        self.scoring = False

    def tasks(self, requests) -> None:
        self.asked = dict(requests)

    def start(self, name: str, total: int) -> None:
        self.scoring = self.scoring or name == "scoring"

    def scored(self, name: str, score: str) -> None:
        self.scores.append((name, score, self.scoring))


def run(tmp_path, *tasks: object, **options: object) -> Watched:
    watched = Watched()
    options = {"model": "dummy", "sample": True, "limit": 6, "report": False, **options}
    report = evaluate(RunRequest(tasks, output_path=str(tmp_path / "run")).with_options(**options), watched)
    assert report.exit_code == 0
    return watched


def test_each_task_and_each_whole_group_has_its_score_before_the_run_is_scored(tmp_path):
    watched = run(tmp_path, "mme", "blink", "pope")
    early = [(name, score) for name, score, scoring in watched.scores if not scoring]
    late = [(name, score) for name, score, scoring in watched.scores if scoring]
    assert [name for name, _ in early] == ["mme", "blink", "pope"], "a group once, and none of its members"
    assert early == late and watched.asked["mme"] == 6, "the final scores are the same"
    again = run(tmp_path, "mme", "blink", "pope")
    assert not again.asked or not any(again.asked.values())


def test_a_function_of_the_user_is_not_called_for_it(tmp_path):
    """It may count its calls: what is scored twice would not be what the run scores."""
    (tmp_path / "data.jsonl").write_text(json.dumps({"question": "q?", "answer": "a"}) + "\n")
    (tmp_path / "utils.py").write_text(
        "CALLS = []\n\n\ndef score(doc, results):\n    CALLS.append(1)\n    return {'calls': float(len(CALLS))}\n"
    )
    task = {
        "task": "counted",
        "dataset_path": "json",
        "dataset_kwargs": {"data_files": {"test": str(tmp_path / "data.jsonl")}},
        "test_split": "test",
        "doc_to_text": "question",
        "doc_to_target": "answer",
        "process_results": "!function utils.score",
        "metric_list": [{"metric": "calls", "aggregation": "mean", "higher_is_better": True}],
    }
    text = json.dumps(task).replace('"!function utils.score"', "!function utils.score")
    (tmp_path / "counted.yaml").write_text(text)
    watched = run(tmp_path, "counted", include_path=str(tmp_path), sample=False, limit=None)
    assert [scoring for _, _, scoring in watched.scores] == [True]


def test_a_finished_task_needs_no_requests_and_a_new_one_does(tmp_path, monkeypatch):
    monkeypatch.setattr(
        finished, "SCORING", ()
    )  # a run with names that other tests have registered is never known as finished

    def size(*tasks: str) -> int:
        request = RunRequest(tasks, output_path=str(tmp_path / "run")).with_options(
            model="dummy", sample=True, limit=6, report=False
        )
        return check_models({"A": request})["A"]

    assert size("mme") == 6
    run(tmp_path, "mme")
    assert size("mme") == 0 and size("mme", "pope") == 6
