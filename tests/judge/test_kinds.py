"""The kinds of judged tasks: steps, extraction, only what rules could not read, metrics by name, own aggregations, pictures."""

import json
from pathlib import Path

import pytest

from tests.judge.conftest import JUDGE, TASK, UTILS

ROWS = [{"q": f"{n}", "a": "B"} for n in range(4)]
EXTRACTS = """metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]
judge:
  prompt: !function utils.judge_prompt
  verdict: !function utils.letter
  verdict_examples: [["Letter: B", "B"], ["no idea", null]]
  extracts: true
"""
LETTER = """
def letter(reply):
    found = re.search(r"Letter: ([A-E])", reply)
    return found[1] if found else None
"""
FILTERS = """filter_list:
  - name: none
    filter: [{function: mcq_letter}]
"""


def verdicts(judged, replies: dict[int, list[str]], step: str = "") -> list[object]:
    path: Path = judged.folder / "verdicts.jsonl"
    rows = [{"task": f"graded#judge{step}", "doc_id": n, "resps": resps} for n, resps in replies.items()]
    old = path.read_text() if step and path.exists() else ""
    path.write_text(old + "".join(json.dumps(row) + "\n" for row in rows))
    return ["--judge", "replay", "--judge_args", f"path={path},name=J"]


def test_extracts_what_the_judge_reads_takes_the_place_of_the_answer(judged) -> None:
    judged.write(ROWS, ["the second", "the first", "", "neither"], task=TASK + EXTRACTS, utils=UTILS + LETTER)
    words = verdicts(judged, {0: ["Letter: B"], 1: ["Letter: A"], 3: ["?"]})
    ran = judged.run(*words)
    row = ran.results["results"]["graded"]
    assert ran.code == 3 and row["exact_match,none"] == 1 / 3 and row["judge_failed"] == 1, ran.out
    assert row["judge_bounds"] == [1 / 4, 2 / 4]
    sample = ran.samples("graded")[0]
    assert sample["filtered_resps"] == {"none": ["B"]} and sample["resps"] == ["the second"]
    without = judged.run("--no_judge", "--output_path", judged.folder / "without")
    assert without.code == 0 and not [key for key in without.results["results"]["graded"] if "," in key]


def test_a_second_judge_that_extracts_has_numbers_of_its_own(judged) -> None:
    judged.write(ROWS, ["x"] * 4, task=TASK + EXTRACTS, utils=UTILS + LETTER)
    first = judged.run(*verdicts(judged, {n: ["Letter: B"] for n in range(4)}))
    assert first.code == 0
    words = [str(word).replace("name=J", "name=K") for word in verdicts(judged, {n: ["Letter: A"] for n in range(4)})]
    again = judged.command("score", first.folder, *words)
    row = json.loads((first.folder / "results.json").read_text())["results"]["graded"]
    assert again.code == 0 and (row["exact_match,none"], row["exact_match@K,none"]) == (1, 0)


def test_only_unparsed_judges_what_the_rules_could_not_read(judged) -> None:
    task = TASK + FILTERS + EXTRACTS + "  only_unparsed: true\n"
    judged.write(ROWS, ["B", "A", "no letter here", "none either"], task=task, utils=UTILS + LETTER)
    ran = judged.run(*verdicts(judged, {2: ["Letter: B"], 3: ["Letter: C"]}))
    row = ran.results["results"]["graded"]
    assert ran.code == 0 and row["exact_match,none"] == 2 / 4 and row["judge_failed"] == 0, ran.out
    assert ["judge" in sample for sample in ran.samples("graded")] == [False, False, True, True]


def test_a_verdict_is_the_value_of_a_doc_that_the_rules_could_not_read(judged) -> None:
    task = TASK + FILTERS + "metric_list: [{metric: exact_match}]\n" + JUDGE + "  only_unparsed: true\n"
    judged.write(ROWS, ["B", "A", "no letter here", "none either"], task=task)
    ran = judged.run(*verdicts(judged, {2: ["GRADE: C"], 3: ["?"]}))
    row = ran.results["results"]["graded"]
    assert ran.code == 3 and row["exact_match,none"] == 2 / 3 and row["judge_failed"] == 1, ran.out
    assert row["judge_bounds"] == [2 / 4, 3 / 4]


STEPS = """judge:
  - prompt: !function utils.judge_prompt
    verdict: !function utils.letter
    verdict_examples: [["Letter: B", "B"], ["no idea", null]]
  - prompt: !function utils.compare
    verdict: !function utils.verdict
    verdict_examples: [["GRADE: C", 1], ["", null]]
    official: gpt-4
"""
COMPARE = """
def compare(doc, answer):
    return [{"role": "system", "content": "Compare."}, {"role": "user", "content": f"{answer} and {doc['a']}"}]
"""


def test_steps_follow_each_other(judged) -> None:
    judged.write(ROWS, ["b", "a", "c", "d"], task=TASK + STEPS, utils=UTILS + LETTER + COMPARE)
    first = verdicts(judged, {0: ["Letter: B"], 1: ["Letter: A"], 2: ["?", "Letter: B"], 3: ["?"]})
    verdicts(judged, {0: ["GRADE: C"], 1: ["GRADE: I"], 2: ["GRADE: C"]}, "2")
    ran = judged.run(*first)
    row = ran.results["results"]["graded"]
    assert ran.code == 3 and row["judge_score,none"] == 2 / 3 and row["judge_failed"] == 1, ran.out + ran.err
    two = ran.samples("graded")[2]["judge"]
    assert [step["attempts"] for step in two] == [2, 1] and two[1]["prompt"][1]["content"][0]["text"] == "B and B"


def test_verdicts_by_metric_with_categories_beside_a_rule(judged) -> None:
    own = """metric_list: [{metric: exact_match}]
categories: [{name: kind, column: kind}]
judge:
  prompt: !function utils.judge_prompt
  verdict: !function utils.points
  verdict_examples: [["3 of 5", {rating: 3, good: 0}], ["9 of 5", null]]
  range: [{rating: 0, good: 0}, {rating: 5, good: 1}]
  empty: {rating: 0, good: 0}
  metric_list:
    - {metric: rating, aggregation: !function utils.total, higher_is_better: true}
    - {metric: good, aggregation: mean, higher_is_better: true}
"""
    points = """
def points(reply, doc):
    found = re.match(r"([0-5]) of 5", reply)
    return {"rating": int(found[1]), "good": float(int(found[1]) > 3)} if found else None

def total(values):
    return sum(values)
"""
    rows = [{**row, "kind": "x" if n < 2 else "y"} for n, row in enumerate(ROWS)]
    judged.write(rows, ["B", "A", "", "B"], task=TASK + own, utils=UTILS + points)
    ran = judged.run(*verdicts(judged, {0: ["5 of 5"], 1: ["2 of 5"], 3: ["hm"]}))
    row = ran.results["results"]["graded"]
    assert ran.code == 3 and (row["exact_match,none"], row["rating,none"], row["good,none"]) == (0.5, 7, 1 / 3), ran.out
    assert row["judge_bounds"] == [7, 12]
    by = ran.results["categories"]["graded"]["kind"]
    assert by["x"]["rating,none"] == 7 and by["y"]["rating,none"] == 0 and by["y"]["judge_failed"] == 1


def test_a_value_outside_of_the_range_is_no_verdict(judged) -> None:
    utils = UTILS.replace('"I": 0.0}', '"I": 11.0}')
    judged.write(ROWS, ["x"] * 4, utils=utils, task=TASK + JUDGE.replace('["GRADE: I", 0], ', ""))
    ran = judged.run(*verdicts(judged, {n: ["GRADE: I"] * 3 for n in range(4)}))
    assert ran.code == 3 and ran.results["results"]["graded"]["judge_score,none"] is None
    assert "it is 11, outside of the range 0 to 1" in ran.out


def test_code_of_the_task_that_fails_is_a_failed_verdict(judged) -> None:
    utils = UTILS.replace(
        "def judge_prompt(doc, answer):\n", "def judge_prompt(doc, answer):\n    1 / (answer != 'bad')\n"
    )
    judged.write(ROWS, ["x", "bad", "x", "x"], utils=utils)
    ran = judged.run(*verdicts(judged, {n: ["GRADE: C"] for n in range(4)}))
    row = ran.results["results"]["graded"]
    assert ran.code == 3 and row["judge_failed"] == 1 and row["judge_score,none"] == 1
    assert "the judge's prompt failed: ZeroDivisionError" in ran.out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("verdict_examples", "verdict_exampels", "verdict_exampels"),
        ("  official: gpt-4o-2024-05-13", "  officially: x", "unknown key 'officially' in judge"),
        (', ["well, 1 of 10", null]', "", "must be a reply that is unreadable"),
        ("utils.verdict\n", "utils.verdikt\n", "has no function 'verdikt'"),
        ("  prompt: !function utils.judge_prompt\n", "", "judge needs `prompt`"),
        ('["GRADE: C", 1]', '["GRADE: C", 7]', "outside of the range"),
        ("  official", "  repeats: 0\n  official", "'repeats' must be"),
        ("  official", "  range: [0, 1, 2]\n  official", "'range' must be"),
        (
            "  official",
            "  range: [-2, 1]\n  empty: 7\n  official",
            "the verdict of an empty answer can't be used: it is 7",
        ),
        ("  official", "  range: [1, 2]\n  official", "State it as `empty`"),
        (
            "  official",
            "  only_unparsed: true\n  official",
            "extracts and only_unparsed need the task's own metric_list",
        ),
        ("  official", "  extracts: true\n  official", "and `extracts` needs a text"),
        ("  official", "  metric_list: [{metrik: x}]\n  official", "needs a `metric`"),
    ],
)
def test_a_fault_in_the_yaml_is_an_error_with_its_place(judged, old: str, new: str, said: str) -> None:
    task = TASK + JUDGE
    assert old in task
    judged.write(ROWS, ["x"] * 4, task=task.replace(old, new))
    ran = judged.run("--no_judge")
    assert ran.code == 2 and said in ran.err and "graded.yaml:" in ran.err, ran.err


def test_a_judge_needs_generated_answers(judged) -> None:
    judged.write(ROWS, ["x"] * 4, task=TASK + "output_type: loglikelihood\n" + JUDGE)
    ran = judged.run("--no_judge")
    assert ran.code == 2 and "judge needs output_type generate_until" in ran.err


def test_include_and_overrides_reach_into_the_judge(judged) -> None:
    judged.write(ROWS, ["x"] * 4)
    (judged.folder / "other.yaml").write_text("include: graded.yaml\ntask: other\njudge: {official: gpt-4}\n")
    ran = judged.command("--tasks", "other", "--include_path", judged.folder, "--model", "dummy", "--judge", "dummy")
    assert ran.results["judges"]["other"][0]["official"] == "gpt-4"
    (judged.folder / "third.yaml").write_text("include: graded.yaml\ntask: third\njudge: null\n")
    ran = judged.command(
        "--tasks", "third", "--include_path", judged.folder, "--model", "dummy", "--output_path", judged.folder / "o"
    )
    assert ran.code == 0 and "exact_match,none" in ran.results["results"]["third"]


def test_validate_writes_prompts_and_reads_the_examples(judged) -> None:
    ran = judged.command("validate", "graded", "--include_path", judged.folder)
    assert ran.code == 0 and "prompts of 3 documents were written and 3 examples of replies were read" in ran.out, (
        ran.out
    )
    wrong = JUDGE.replace('["well, 1 of 10", null]', '["GRADE: I", null]').replace('["GRADE: I", 0], ', "")
    judged.write(ROWS, ["x"] * 4, task=TASK + wrong)
    ran = judged.command("validate", "graded", "--include_path", judged.folder)
    assert ran.code == 2 and "the reply 'GRADE: I' is read as 0.0, and None is stated" in ran.out
    judged.write(ROWS, ["x"] * 4, utils=UTILS.replace("doc['q']", "doc['nothing']"))
    ran = judged.command("validate", "graded", "--include_path", judged.folder)
    assert ran.code == 2 and "the judge's prompt failed: KeyError" in ran.out


@pytest.mark.parametrize("preflight", [False, True])
def test_a_prompt_that_changes_with_each_call_is_not_asked_for_ever(judged, server, preflight: bool) -> None:
    changing = UTILS.replace("import re", "import re, itertools\n\nCALLS = itertools.count()")
    judged.write(ROWS, ["x"] * 4, utils=changing.replace('return f"', 'return f"{next(CALLS)} '))
    ran = judged.with_server(server, preflight=preflight)
    assert ran.code == (2 if preflight else 3) and sum(server.asked.values()) <= 4
    assert "the judge's prompt is different each time it is written" in ran.out + ran.err
    if not preflight:
        checked = judged.command("judge", ran.folder)
        assert "is different each time" in checked.out + checked.err and sum(server.asked.values()) < 40
