"""A task scored from its recorded answers: what is counted beside the numbers, and what ends a run with exit code 3."""

import json
from pathlib import Path

TASK = """
task: sums
dataset_path: json
dataset_kwargs: {data_files: {test: %s}}
test_split: test
doc_to_text: "{{question}}"
doc_to_target: answer
%s
"""


def task(tmp_path: Path, scoring: str) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir()
    rows = [{"question": f"1+{n}?", "answer": str(1 + n), "choices": ["1", "2"]} for n in range(3)]
    (folder / "sums.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    (folder / "sums.yaml").write_text(TASK % (folder / "sums.jsonl", scoring))
    (folder / "utils.py").write_text(
        "def broken(values):\n    raise ZeroDivisionError('no')\n\n\n"
        "def numpys(doc, results):\n    import numpy as np\n    right = results[0] == doc['answer']\n"
        "    return {'right': np.bool_(right), 'share': np.float32(0.5), 'kept': {'score': np.int64(right)}}\n\n\n"
        "def total(values):\n    return float(sum(value['score'] for value in values))\n\n\n"
        "def one_fails(doc, results):\n    return {'right': 1 / (int(doc['answer']) - 2)}\n"
    )
    return folder


def run(cli, tmp_path: Path, scoring: str, answers: list[str | list[str]]):
    """answers: one a doc, or one a repeat of each."""
    recorded = tmp_path / "answers.jsonl"
    repeats = [answer if isinstance(answer, list) else [answer] for answer in answers]
    rows = [{"task": "sums", "doc_id": n, "resps": answer} for n, answer in enumerate(repeats)]
    recorded.write_text("\n".join(json.dumps(row) for row in rows))
    folder = task(tmp_path, scoring)
    return cli("--tasks", "sums", "--include_path", folder, "--model", "replay", "--model_args", f"path={recorded}")


def test_an_unclosed_thought_is_truncated_and_scores_nothing(cli, tmp_path: Path) -> None:
    answers = ["<think>1+0 is 1", "<think>easy</think>2", "3"]
    ran = run(cli, tmp_path, "metric_list: [{metric: exact_match}]", answers)
    row = ran.results["results"]["sums"]
    assert row["truncated"] == 1 and row["exact_match,none"] == 2 / 3
    assert [sample["status"] for sample in ran.samples("sums")] == ["truncated", "answered", "answered"]


def test_a_doc_that_cannot_be_scored_is_failed_and_loses_nothing_else(cli, tmp_path: Path) -> None:
    ran = run(
        cli, tmp_path, "process_results: !function utils.one_fails\nmetric_list: [{metric: right}]", ["1", "2", "3"]
    )
    row = ran.results["results"]["sums"]
    assert ran.code == 3 and row["failed"] == 1 and row["right,none"] == 0
    assert "sums" in ran.out and "doc 1" in ran.out and "ZeroDivisionError" in ran.out
    assert ran.samples("sums")[1]["error"]["owner"] == "scoring"


def test_scores_of_numpy_are_numbers_in_the_samples_too(cli, tmp_path: Path) -> None:
    """As text ("True") no page and no comparison of two runs would know which docs were right."""
    scoring = (
        "process_results: !function utils.numpys\n"
        "metric_list: [{metric: right}, {metric: share}, {metric: kept, aggregation: !function utils.total}]"
    )
    ran = run(cli, tmp_path, scoring, ["1", "2", "wrong"])
    assert ran.code == 0 and ran.results["results"]["sums"]["kept,none"] == 2.0
    scores = [sample["scores"] for sample in ran.samples("sums")]
    assert [score["right,none"] for score in scores] == [True, True, False]
    assert [score["kept,none"] for score in scores] == [{"score": 1}, {"score": 1}, {"score": 0}]
    assert scores[0]["share,none"] == 0.5


def test_an_aggregation_that_raises_is_no_silent_gap(cli, tmp_path: Path) -> None:
    ran = run(
        cli, tmp_path, "metric_list: [{metric: exact_match, aggregation: !function utils.broken}]", ["1", "2", "3"]
    )
    assert ran.code == 3 and ran.results["results"]["sums"]["exact_match,none"] is None
    assert "exact_match,none has no value" in ran.out and "ZeroDivisionError" in ran.out


THREE_TIMES = "repeats: 3\nmetric_list: [{metric: exact_match, reduction: pass@3}]"


def test_repeats_that_are_all_equal_are_told(cli, tmp_path: Path) -> None:
    """Greedy decoding answers each repeat alike: pass@3 is then pass@1, and looks like more."""
    ran = run(cli, tmp_path, THREE_TIMES, [["1"] * 3, ["0"] * 3, ["3"] * 3])
    assert "note: sums: the 3 answers to each doc are equal, as greedy decoding makes them" in ran.out


def test_repeats_of_which_one_differs_are_as_they_should_be(cli, tmp_path: Path) -> None:
    ran = run(cli, tmp_path, THREE_TIMES, [["1"] * 3, ["0", "2", "0"], ["3"] * 3])
    assert ran.results["results"]["sums"]["pass@3(exact_match),none"] == 1.0 and "are equal" not in ran.out


def test_a_scorer_that_replaces_the_public_methods_is_heard() -> None:
    from mm_eval.scorers import GenScorer

    class Own(GenScorer):
        def aggregate(self, *args, **kwargs):
            return {"mine,none": 7.0, "mine_stderr,none": 0.5}, 1

    [number] = Own.default_scorer().results({}, 0)
    assert (str(number.key), number.value, number.stderr) == ("mine,none", 7.0, 0.5)
