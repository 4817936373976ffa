"""`score --gold_fixes FILE` scores by other golds, says so, and is never ranked with scores by the data's own."""

import json
import shutil
from pathlib import Path

import pytest

from mm_eval.deciding.policy import UNDECIDED, read_policy
from mm_eval.results.recorded import RecordedRun
from mm_eval.verbs.exports import hub
from mm_eval.verbs.gate.gate import gate
from tests.sets import each_of

ROWS = [
    {"q": f"Question {n}?", "a": "y", "i": n % 2, "many": ["y", "yes"], "other": "y", "c": ["x", "y"]} for n in range(4)
]
HEAD = "dataset_path: json\ndataset_kwargs: {data_files: {test: rows.jsonl}}\ntest_split: test\ndoc_to_text: '{{q}}'\n"
TASKS = {
    "column": "doc_to_target: a\nmetric_list: [{metric: exact_match}]\n",
    "template": "doc_to_target: '{{a | upper}}'\nmetric_list: [{metric: exact_match}]\n",
    "choice": "output_type: multiple_choice\ndoc_to_target: a\ndoc_to_choice: c\nmetric_list: [{metric: acc}]\n",
    "index": "output_type: multiple_choice\ndoc_to_target: i\ndoc_to_choice: c\nmetric_list: [{metric: acc}]\n",
    "several": "doc_to_target: many\nmetric_list: [{metric: anls}]\n",
    "own": "doc_to_target: a\nprocess_results: !function utils.own\nmetric_list: [{metric: good, aggregation: mean}]\n",
    "asked": "output_type: loglikelihood\ndoc_to_target: a\nmetric_list: [{metric: acc}]\n",
}
UTILS = "def own(doc, results):\n    return {'good': float(results[0] == doc['other'])}\n"
SAID = {"column": "n", "template": "N", "several": "n", "own": "n"}
Line = dict[str, object]


@pytest.fixture
def scored(cli, tmp_path):
    """Runs a small task whose model says "n" to every question; returns what scores it by lines of decisions."""

    def of(name: str):
        (tmp_path / f"{name}.yaml").write_text(f"task: {name}\n{HEAD}{TASKS[name]}")
        (tmp_path / "utils.py").write_text(UTILS)
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in ROWS))
        words = [
            "--tasks",
            name,
            "--include_path",
            tmp_path,
            "--output_path",
            tmp_path / "runs" / name,
            "--model",
            "dummy",
        ]
        if name in SAID:
            said = [{"task": name, "doc_id": n, "resps": [SAID[name]]} for n in range(len(ROWS))]
            (tmp_path / "said.jsonl").write_text("".join(json.dumps(row) + "\n" for row in said))
            words[-1:] = ["replay", "--model_args", f"path={tmp_path / 'said.jsonl'}"]
        ran = cli(*words)
        assert ran.code == 0, ran.err

        def score(*lines: Line | str):
            file = tmp_path / "decisions.jsonl"
            file.write_text("".join((line if isinstance(line, str) else json.dumps(line)) + "\n" for line in lines))
            done = cli("score", ran.folder, "--gold_fixes", file, "--include_path", tmp_path)
            return done if done.code else RecordedRun.read(ran.folder)

        return score

    return of


def wrong(task: str, gold: object, target: object, doc_id: int = 0, **more: object) -> Line:
    return {"task": task, "doc_id": doc_id, "gold": gold, "decision": "wrong", "target": target, **more}


@each_of(
    ("name", "gold", "target", "more"),
    [
        ("column", "y", "n", {}),
        ("template", "Y", "N", {}),
        ("choice", 1, 0, {}),
        ("index", 0, 1, {}),
        ("several", ["y", "yes"], ["n"], {}),
        ("own", "y", "n", {"columns": {"a": "n", "other": "n"}}),
    ],
)
def test_a_new_gold_in_the_form_of_the_old_one_scores(scored, name, gold, target, more):
    run = scored(name)(wrong(name, gold, target, **more))
    first, *others = run.rows(name)
    assert first["target"] == target and all(row["target"] != target for row in others if name != "index")
    [metric] = {key.partition(",")[0] for key in first["scores"]} - {"acc_norm"} if name != "choice" else ["acc"]
    if name in SAID:
        assert [row["scores"][f"{metric},none"] for row in (first, *others)] == [1, 0, 0, 0]
    assert run.results.fixed_golds(name).startswith("1 gold fixed by decisions.jsonl (")
    assert any("not the benchmark's own score" in note for note in run.results.rows[name].notes)


@each_of(
    ("name", "line", "said"),
    [
        ("column", wrong("column", "y", 3), r":1: the target of column doc 0 is 3; a text is needed"),
        ("column", wrong("column", "y", " "), r"a text is needed"),
        ("column", wrong("column", "y", "y"), r"is the gold itself"),
        ("column", wrong("column", "x", "n"), r'the gold of column doc 0 is "y", and the line says "x"'),
        ("column", wrong("column", "y", "n", doc_id=4), r"has no document 4; it has 4 documents"),
        ("column", wrong("column", "y", "n", columns={"b": 1}), r"has no column 'b'"),
        ("column", wrong("column", "y", "n", columns={"a": "n", "q": "?"}), r"changes what was asked"),
        ("column", wrong("column", "y", "n", data="0000"), r"made on other data"),
        ("choice", wrong("choice", 1, 2), r"the index of a choice from 0 to 1 is needed"),
        ("choice", wrong("choice", 1, "x"), r"the index of a choice from 0 to 1 is needed"),
        ("choice", wrong("choice", 1, False), r"the index of a choice from 0 to 1 is needed"),
        ("several", wrong("several", ["y", "yes"], "n"), r"a list of accepted answers is needed"),
        ("several", wrong("several", ["y", "yes"], [1]), r"a list, each of which is a text is needed"),
        ("own", wrong("own", "y", "n"), r"is not scored by the new gold \"n\".*`columns`"),
        ("asked", wrong("asked", "y", "n"), r"changes what was asked in asked doc 0.*\"drop\""),
        ("column", {"task": "column", "doc_id": 0, "gold": "y", "decision": "wrong"}, r"states no `target`"),
        ("column", {**wrong("column", "y", "n"), "decision": "drop"}, r"has a `target`"),
        ("column", {**wrong("column", "y", "n"), "decision": "yes"}, r"the decision is 'yes'; one of wrong, drop"),
        ("column", {**wrong("column", "y", "n"), "decison": "drop"}, r"unknown key 'decison'.*'decision'"),
        ("column", {**wrong("column", "y", "n"), "doc_id": True}, r"a whole number from 0"),
        ("column", wrong("colum", "y", "n"), r"decides on no task of this run.*'column'"),
        ("column", "{", r":1: the line is not JSON"),
        ("column", '{"gold": NaN}', r":1: the line is not JSON"),
        ("column", "[]", r":1: the line is not a mapping"),
        ("column", "", r"decides on no task of this run"),
    ],
)
@pytest.mark.full
def test_a_wrong_line_is_one_error_and_changes_nothing(scored, name, line, said):
    check_refused(scored(name)(line), said)


def check_refused(done, said):
    import re

    assert done.code == 2 and re.search(said, " ".join(done.err.split())), done.err
    assert "Traceback" not in done.err


def test_mistakes_have_file_and_line(scored):
    score = scored("column")
    check_refused(
        score("", wrong("column", "y", 3)), r"decisions\.jsonl:2: the target of column doc 0 is 3; a text is needed"
    )
    check_refused(
        score(wrong("column", "y", "n"), wrong("column", "y", "m")), r":2: column doc 0 is decided twice; first in .*:1"
    )
    drops = [{"task": "column", "doc_id": n, "gold": "y", "decision": "drop"} for n in range(4)]
    check_refused(score(*drops), "every document of column is dropped")


def test_dropped_documents_are_in_no_number_and_other_decisions_change_nothing(scored):
    score = scored("column")
    run = score(
        {"task": "column", "doc_id": 1, "gold": "y", "decision": "drop"},
        {"task": "column", "doc_id": 2, "gold": "y", "decision": "unsure"},
        {"task": "column", "doc_id": 3, "gold": "y", "decision": "right"},
        {"task": "another", "doc_id": 9, "gold": 1, "decision": "drop"},
    )
    assert [row["doc_id"] for row in run.rows("column")] == [0, 2, 3] and run.results.rows["column"].n == 3
    assert run.results.gold_fixes["tasks"] == {"column": {"dropped": 1}} and not run.results.run.in_part
    same = score({"task": "column", "doc_id": 2, "gold": "y", "decision": "right"})
    assert same.results.gold_fixes["tasks"] == {} and not same.results.fixed_golds("column")


@pytest.fixture(scope="module")
def fixed(base, dummy_run, tmp_path_factory):
    """The same answers, scored by one other gold of SEED-Bench."""
    from mm_eval.cli import main

    folder, file = base / "fixed golds", tmp_path_factory.mktemp("golds") / "golds.jsonl"
    shutil.copytree(dummy_run, folder)
    first = json.loads((folder / "samples" / "seedbench.jsonl").read_text().splitlines()[0])
    other = next(letter for letter in "ABCD" if letter != first["target"])
    file.write_text(json.dumps(wrong("seedbench", first["target"], other)) + "\n")
    assert main(["score", str(folder), "--gold_fixes", str(file)]) == 0
    return folder


def test_a_fixed_row_is_not_compared_with_one_by_the_datas_golds(cli, dummy_run, fixed, tmp_path):
    found = cli("compare", dummy_run, fixed)
    assert found.code == 0 and "the set of golds differs on seedbench" in found.out
    table = found.out.split("\n\n")
    assert any(line.startswith("mme ") for part in table for line in part.split("\n"))
    assert not any(line.startswith("seedbench ") and "%" in line for part in table for line in part.split("\n"))
    alone = cli("compare", dummy_run, fixed, "--tasks", "seedbench")
    assert alone.code == 2 and "was scored by two sets of golds" in alone.err
    (tmp_path / "policy.yaml").write_text("seedbench: {loss: 90}")
    held = gate(read_policy(str(tmp_path / "policy.yaml")), RecordedRun.read(fixed), RecordedRun.read(dummy_run))
    assert held.verdict == UNDECIDED and "two sets of golds" in held.checked[0].why


def test_a_fixed_row_has_no_rank_beside_others_and_is_marked(cli, dummy_run, fixed):
    found = cli("report", dummy_run, fixed, "--format", "md")
    assert "the set of golds differs from most models on seedbench: not ranked there" in found.out.replace("\n", " ")
    assert "1 gold fixed by golds.jsonl" in found.out


def test_the_hub_gets_no_fixed_number_and_a_card_says_it(fixed, monkeypatch):
    run = RecordedRun.read(fixed)
    path = run.results.configs["seedbench"]["dataset_path"]
    monkeypatch.setitem(hub.REGISTERED, "seedbench", hub.HubTask(path, "seedbench", "a test"))  # type: ignore[arg-type]
    assert hub.eval_results(run) == []
    [entry] = hub.model_index([run])
    names = [result["dataset"]["name"] for result in entry["results"]]
    assert any("1 gold fixed by golds.jsonl" in name for name in names if name.startswith("seedbench"))


def test_doubt_takes_no_run_whose_golds_are_fixed(cli, dummy_run, fixed):
    found = cli("doubt", dummy_run, fixed)
    assert found.code == 2 and "fixed already" in found.err


def test_without_the_file_the_datas_golds_score_again(cli, fixed, tmp_path):
    folder = Path(shutil.copytree(fixed, tmp_path / "again"))
    assert cli("score", folder).code == 0
    assert RecordedRun.read(folder).results.gold_fixes is None
