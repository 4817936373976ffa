"""A task scored from its recorded answers: what is counted beside the numbers, and what ends a run with exit code 3."""

import json
from pathlib import Path
from typing import Any

import pytest

from mm_eval.scorers import GenScorer, register_scorer
from mm_eval.values.errors import ConfigError

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
    assert "exact_match has no value" in ran.out and "ZeroDivisionError" in ran.out


THREE_TIMES = "repeats: 3\nmetric_list: [{metric: exact_match, reduction: pass@3}]"


def test_repeats_that_are_all_equal_are_told(cli, tmp_path: Path) -> None:
    """Greedy decoding answers each repeat alike: pass@3 is then pass@1, and looks like more."""
    ran = run(cli, tmp_path, THREE_TIMES, [["1"] * 3, ["0"] * 3, ["3"] * 3])
    assert "note: sums: the 3 answers to each document are equal, as greedy decoding makes them" in ran.out


@pytest.mark.parametrize("options", ["temperature: 0.7", "do_sample: true"])
def test_repeats_that_are_equal_although_they_were_sampled_are_not_said_to_be_greedy(
    cli, tmp_path: Path, options
) -> None:
    """Short answers of a sure model are equal at any temperature."""
    scoring = f"{THREE_TIMES}\ngeneration_kwargs: {{{options}}}"
    ran = run(cli, tmp_path, scoring, [["1"] * 3, ["0"] * 3, ["3"] * 3])
    said = "note: sums: the 3 answers to each document are equal, although they were sampled: `repeats` adds nothing"
    assert said in ran.out and "greedy" not in ran.out


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


@register_scorer("test_executed")
class Executed(GenScorer):
    """A scorer of a program."""

    def score(self, reference, predictions, metric_kwargs=None):
        return {"passed": [float(answer == "1") for answer in predictions]}


def own_scorer(tmp_path: Path, **keys: Any) -> tuple[Any, list[Any]]:
    """(the results of three docs of the task, or the error of its run; the messages that the model got)."""
    from mm_eval import evaluate

    tmp_path.mkdir(exist_ok=True)
    asked: list[Any] = []

    def model(messages: Any) -> str:
        asked.append(messages)
        return "1"

    stated = {"include": str(task(tmp_path, "") / "sums.yaml"), "task": "own", "scorer": "test_executed", "repeats": 3}
    try:
        return evaluate([{**stated, **keys}], model, output_path=str(tmp_path / "run"), bootstrap_iters=50), asked
    except ConfigError as error:
        return error, asked


def test_the_scores_of_a_scorer_of_ones_own_are_reduced_as_metric_list_says(tmp_path: Path) -> None:
    """The guide's CodeExecScorer: its metric is known to itself alone."""
    found, _ = own_scorer(tmp_path, metric_list=[{"metric": "passed", "reduction": "pass@k"}])
    assert found.raw["results"]["own"]["pass@3(passed),none"] == 1.0
    assert found.raw["higher_is_better"]["own"]["pass@3(passed)"] is True


def test_several_answers_without_a_reduction_end_the_run_before_its_first_request(tmp_path: Path) -> None:
    """Each doc would fail, after all answers are paid."""
    error, asked = own_scorer(tmp_path)
    assert (
        "'passed' has 3 scores per document and no reduction. State one in metric_list, as in {metric: passed,"
        in str(error)
    )
    assert asked == []


def test_a_mean_for_want_of_a_metric_is_one_note(tmp_path: Path) -> None:
    found, asked = own_scorer(tmp_path, repeats=1)
    assert len(asked) == 3 and found.raw["results"]["own"]["passed,none"] == 1.0
    assert found.raw["results"]["own"]["notes"][-1] == (
        "passed,none: no metric of that name says how it is aggregated: it is the mean of its values."
    )


def test_a_metric_that_drops_answers_says_so_before_and_after_the_run(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    dropped = "bleu, anls count the first of the 3 answers to each document, as `reduction: take_first` does."
    metrics: list[Any] = [{"metric": "exact_match"}, {"metric": "bleu"}, {"metric": "anls"}]
    found, _ = own_scorer(tmp_path / "a", scorer=None, metric_list=metrics)
    assert dropped in caplog.text and dropped in found.raw["results"]["own"]["notes"]
    caplog.clear()
    first = [{"function": "take_first"}]
    for n, keys in enumerate(
        (
            {"metric_list": [{"metric": "anls", "reduction": "take_first"}]},
            {"metric_list": metrics, "filter_list": [{"name": "none", "filter": first}]},
            {"metric_list": metrics, "repeats": 1},
        )
    ):
        found, _ = own_scorer(tmp_path / str(n), scorer=None, **keys)
        assert "the first of the" not in caplog.text + str(found.raw["results"]["own"].get("notes")), keys


def test_without_draws_there_is_no_standard_error_and_the_reason(tmp_path: Path) -> None:
    from mm_eval import evaluate

    file = str(task(tmp_path, "metric_list: [{metric: exact_match}, {metric: bleu}]") / "sums.yaml")
    for draws in (0, None):
        found = evaluate(file, lambda messages: "1", output_path=str(tmp_path / str(draws)), bootstrap_iters=draws)
        row = found.raw["results"]["sums"]
        assert row["exact_match_stderr,none"] is None and row["bleu_stderr,none"] is None and "intervals" not in row
        assert row["notes"] == [
            f"{name},none: bootstrap_iters is 0: no standard error." for name in ("exact_match", "bleu")
        ]
