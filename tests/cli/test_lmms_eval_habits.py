"""Habits of lmms-eval's task files that decide a number: each of them is in a benchmark that releases print."""

import json
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Ran

YAML = """task: habits
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: !function utils.asked
doc_to_target: answer
lmms_eval_specific_kwargs: {default: {pre_prompt: "", post_prompt: " Shortly."}}
"""
UTILS = """import random
import socket
import subprocess
from pathlib import Path

TOTALS = {"right": 0}

def asked(doc, lmms_eval_specific_kwargs):
    return doc["question"] + lmms_eval_specific_kwargs["post_prompt"]

def same(doc, results):
    return {"same": {"right": results[0] == doc["answers"][0]}, "submission": results[0]}

def guessed(doc, results):
    return {"same": random.choice([0.0, 1.0])}

def total(results, args):
    for result in results:
        TOTALS["right"] += result.pop("right")
    folder = Path(args.output_path) / "submissions"
    folder.mkdir()
    (folder / "file.txt").write_text("right")
    print("printed by total")
    return TOTALS["right"]

def stateless(results):
    print("printed by stateless")
    return sum(result["right"] for result in results)

def judged(doc, results):
    return {"same": {"right": verdict() == "yes"}}

def judged_total(results, args):
    return sum(verdict() == "yes" for result in results)

def verdict():
    try:
        with socket.create_connection(("judge.example", 443), timeout=1):
            return "yes"
    except Exception:
        return "unclear"

def by_a_program(results):
    return int(subprocess.run(["echo", str(len(results))], capture_output=True, check=True).stdout)

def submit(results, args):
    assert args.any_option is None

class FirstLetter:
    def apply(self, resps, docs):
        return [answers[0][:3] for answers in resps]
"""
OWN_METRIC = """process_results: !function utils.%s
metric_list: [{metric: same, aggregation: !function utils.%s}]
"""
ANSWERS = ["red", " red\n", "Red", "blue"]

Run = Callable[..., Ran]


@pytest.fixture
def run(cli: Callable[..., Ran], tmp_path: Path) -> Run:
    """Runs the task with more YAML on four docs whose right answer is "red", with recorded answers."""
    (tmp_path / "utils.py").write_text(UTILS)

    def with_yaml(more: str, output: str = "out", column: str = "answers") -> Ran:
        (tmp_path / "habits.yaml").write_text(YAML + more)
        rows = [{"question": f"Which colour {n}?", column: ["red"] if column == "answers" else "red"} for n in range(4)]
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        given = [{"task": "habits", "doc_id": n, "resps": [answer]} for n, answer in enumerate(ANSWERS)]
        (tmp_path / "given.jsonl").write_text("".join(json.dumps(row) + "\n" for row in given))
        options = ("--model", "replay", "--model_args", f"path={tmp_path / 'given.jsonl'}", "--no_report")
        return cli("--tasks", "habits", "--include_path", tmp_path, *options, "--output_path", tmp_path / output)

    return with_yaml


def test_neither_a_target_column_that_no_doc_has_nor_an_unread_key_without_text_stops_a_task(run: Run) -> None:
    ran = run(OWN_METRIC % ("same", "stateless"))
    assert ran.code == 0, ran.err
    assert ran.results["results"]["habits"]["same,none"] == 2  # "red" and " red\n", without the white space around it
    assert ran.out.count("printed by stateless") == 1  # and not once for each doc that the jackknife leaves out


def test_an_aggregation_that_takes_the_command_line_and_adds_to_its_module_gives_the_number_of_one_call(
    run: Run,
) -> None:
    plain = run(OWN_METRIC % ("same", "stateless"), "plain").results["results"]["habits"]
    for output in ("first", "second"):  # in one process, so that the totals of the first would be in the second
        ran = run(OWN_METRIC % ("same", "total"), output)
        assert ran.results["results"]["habits"] == plain and plain["same_stderr,none"] > 0
        assert "printed" not in ran.out


def test_a_submission_is_no_number_and_no_failure(run: Run) -> None:
    submission = "{metric: submission, aggregation: !function utils.submit}"
    same = "{metric: same, aggregation: !function utils.stateless}"
    both = run(f"process_results: !function utils.same\nmetric_list: [{same}, {submission}]\n", "both")
    assert both.code == 0 and "submission,none" not in both.results["results"]["habits"]
    assert "submission: not a number but a file" in both.out
    alone = run(f"process_results: !function utils.same\nmetric_list: [{submission}]\n", "alone")
    assert alone.code == 3 and alone.out.count("submission: not a number") == 1 and "TypeError" not in alone.out


@pytest.mark.parametrize(
    ("by", "told"),
    [
        (OWN_METRIC % ("judged", "stateless"), "4 of 4"),
        (OWN_METRIC % ("same", "judged_total"), "has no value"),
    ],
)
def test_code_that_calls_a_judge_by_itself_fails_with_a_key_too(
    run: Run, monkeypatch: pytest.MonkeyPatch, by: str, told: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a key")  # of --judge openai
    ran = run(by)
    assert ran.code == 3 and "the task's code calls judge.example by itself" in ran.out + ran.err
    assert told in ran.out + ran.err and "`judge:`" in ran.out + ran.err
    assert ran.results["results"]["habits"].get("same,none") is None


def test_a_standard_error_does_not_start_a_program_again(run: Run) -> None:
    ran = run(OWN_METRIC % ("same", "by_a_program"))
    assert ran.code == 0 and ran.results["results"]["habits"]["same,none"] == 4
    assert ran.results["results"]["habits"]["same_stderr,none"] is None and "it starts a program" in ran.out


@pytest.mark.full
def test_a_guess_is_the_one_of_lmms_eval_in_each_run(run: Run) -> None:
    task = "process_results: !function utils.guessed\nmetric_list: [{metric: same, aggregation: mean}]\n"
    drawn = random.Random(0)
    guesses = [drawn.choice([0.0, 1.0]) for _ in ANSWERS]
    random.seed(7)
    expected = random.random()
    random.seed(7)
    for output in ("first", "second"):
        rows = run(task, output).samples("habits")
        assert [row["scores"]["same,none"] for row in rows] == guesses
    assert random.random() == expected  # and the guesses take nothing from anyone else


def test_an_answer_is_compared_without_the_white_space_around_it_and_a_filter_may_give_one_text_a_doc(run: Run) -> None:
    ran = run("metric_list: [{metric: exact_match}]\n", "plain", column="answer")
    assert [row["scores"]["exact_match,none"] for row in ran.samples("habits")] == [1, 1, 0, 0]
    cut = "filter_list: [{name: cut, filter: [{function: !function utils.FirstLetter}]}]\n"
    rows = run(f"{cut}metric_list: [{{metric: exact_match}}]\n", "cut", column="answer").samples("habits")
    assert [row["filtered_resps"]["cut"] for row in rows] == [["red"], ["re"], ["Red"], ["blu"]]


def test_process_docs_finds_a_second_data_set_below_the_data_root(cli: Callable[..., Ran], tmp_path: Path) -> None:
    root = tmp_path / "root" / "org" / "two"
    for name, rows in (("questions", [{"question": "a?", "key": "k"}]), ("answers", [{"key": "k", "answer": "red"}])):
        (root / name).mkdir(parents=True)
        (root / name / "test.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    configs = [
        {"config_name": n, "data_files": [{"split": "test", "path": f"{n}/*"}]} for n in ("questions", "answers")
    ]
    (root / "README.md").write_text(f"---\nconfigs: {json.dumps(configs)}\n---\n")
    (tmp_path / "utils.py").write_text(
        "from datasets import load_dataset\n\ndef joined(docs):\n"
        "    found = load_dataset('org/two', 'answers', split='test', token=True)\n"
        "    return docs.map(lambda doc: {'answer': found[0]['answer']})\n"
    )
    (tmp_path / "two.yaml").write_text(
        "task: two\ndataset_path: org/two\ndataset_name: questions\ntest_split: test\ndoc_to_text: question\n"
        "doc_to_target: answer\nprocess_docs: !function utils.joined\nmetric_list: [{metric: exact_match}]\n"
    )
    data = ("--data_root", tmp_path / "root", "--offline")
    ran = cli("--tasks", "two", "--include_path", tmp_path, *data, "--model", "dummy", "--no_report")
    assert ran.code == 0, ran.err
    assert ran.samples("two")[0]["target"] == "red"
