"""The comparison of shipped tasks: which are paired, the answers that both get, and which numbers belong together."""

from __future__ import annotations

import json
from pathlib import Path

from tests.peers import compare, given_answers, recorded, shipped
from tests.peers.differences import own_rule
from tests.peers.given_answers import FORMS, Gold
from tests.sets import each_of


def test_tasks_are_paired_by_name_by_alias_and_as_a_variant() -> None:
    found = shipped.pairs(
        ["pope", "pope_lmms", "emma_mini", "emma_mini_lmms", "ours"],
        {"emma-mini": "emma_mini"},
        {"pope", "emma-mini", "x"},
    )
    assert [(pair.ours, pair.theirs) for pair in found] == [
        ("pope", "pope"),
        ("pope_lmms", "pope"),
        ("emma_mini", "emma-mini"),
        ("emma_mini_lmms", "emma-mini"),
    ]


def test_answers_have_every_form_and_the_same_ones_each_time() -> None:
    golds = {0: Gold("B", "A"), 1: Gold("yes", "no")}
    found = given_answers.answers("t", golds, (*FORMS, "mixed"))
    assert found.keys() == {*FORMS, "mixed"}
    assert found["sentence"] == {0: "The answer is B.", 1: "The answer is yes."}
    assert found["two"][1] == "yes or no" and found["empty"][0] == "" and found["wrong"] == {0: "A", 1: "no"}
    assert found["mixed"][0] in [form("B", "A") for form in FORMS.values()]
    assert found == given_answers.answers("t", golds, (*FORMS, "mixed"))
    assert given_answers.answers("t", golds, ("gold",)) == {"gold": {0: "B", 1: "yes"}}


def test_likelihoods_prefer_the_right_choices_the_wrong_ones_or_neither() -> None:
    found = given_answers.answers("t", {3: Gold(choices=4, right=(2,))}, ("gold",))
    assert found.keys() == set(given_answers.LIKELIHOODS)
    best = {form: max(range(4), key=lambda place: each[3][place][0]) for form, each in found.items()}
    assert best["gold"] == 2 and best["wrong"] != 2
    assert all(-32 < ll < 0 and greedy is False for each in found.values() for ll, greedy in each[3])


@each_of(
    ("key", "value"),
    [
        ("acc,none", 0.5),
        ("pope_accuracy,none", 0.5),
        ("pope_f1_score,none", 0.25),
        ("pope_Chart,none", 0.75),
        ("pope_bleu,none", None),
    ],
)
def test_a_number_of_the_peer_has_its_counterpart(key: str, value: float | None) -> None:
    row = {"acc,none": 0.5, "acc_stderr,none": 0.1, "f1,none": 0.25, "n": 4}
    levels = {"type": {"Chart": {"acc,none": 0.75, "n": 2}}}
    pair = shipped.Pair("pope", "pope")
    assert shipped.counterpart(key, pair, row, levels, alone=False) == value
    assert shipped.counterpart("pope_bleu,none", pair, row, levels, alone=True) == 0.5


def test_a_sample_is_there_under_all_its_names(tmp_path: Path) -> None:
    root = shipped.data_root(tmp_path / "data", [["lmms-lab/POPE", "someone/POPE"]])
    assert (root / "lmms-lab" / "POPE").samefile(root / "lmms-lab-encoder" / "POPE")
    assert (root / "someone" / "POPE" / "README.md").exists()


def test_our_side_runs_over_the_answers_and_agrees_with_a_peer_that_says_the_same(tmp_path: Path) -> None:
    root = shipped.data_root(tmp_path / "data", [])
    right = shipped.golds("pope", root)
    assert len(right) == 18 and right[0] == Gold("yes", "no")
    found = given_answers.answers("pope", right, ("gold", "wrong"))
    path = tmp_path / "answers.jsonl"
    path.write_text(
        "".join(json.dumps({"task": "pope", "doc_id": n, "resps": [t]}) + "\n" for n, t in found["wrong"].items())
    )
    folder = shipped.run_ours(["pope"], path, root, tmp_path / "run")
    prompts = {str(n): text for n, text in recorded.ours(folder)["pope"].values["prompt"].items()}
    numbers = {"pope_accuracy,none": 0.0, "pope_yes_ratio,none": 0.4, "pope_bleu,none": 1.0}
    report = shipped.Report()
    theirs = {"pope": {"prompts": {**prompts, "0": "Is it?"}, "numbers": {"wrong": numbers}}}
    shipped.add(report, "wrong", [shipped.Pair("pope", "pope")], folder, theirs)
    [verdict] = compare.judge_all("shipped-pictures", report.mine, report.theirs)
    assert verdict.equal == {"prompt": 17, "number": 1}
    assert [(each.field, each.of) for each in verdict.wrong] == [("prompt", 0), ("number", "pope_yes_ratio,none@wrong")]
    [excused] = compare.judge_all("shipped-pictures", report.mine, report.theirs, [own_rule(["pope"])])
    assert not excused.wrong and report.alone == {"pope": ["pope_bleu,none"]}
    assert "no counterpart of ours: pope: pope_bleu,none" in report.notes()


def test_the_own_rule_excuses_no_form_of_the_gold_answer() -> None:
    meant = own_rule(["pope"])
    assert meant.explains("shipped-pictures", "pope", "number", "f1,none@sentence")
    assert not meant.explains("shipped-pictures", "pope", "number", "f1,none@gold")
    assert not meant.explains("shipped-pictures", "pope_lmms", "number", "f1,none@sentence")
    assert not meant.explains("own", "pope", "prompt", 0)


def test_a_task_that_the_peer_refuses_is_noted(tmp_path: Path) -> None:
    (tmp_path / "samples").mkdir()
    (tmp_path / "results.json").write_text('{"results": {"t": {}}, "groups": {}}')
    report = shipped.Report(lacking=["x"])
    shipped.add(report, "gold", [shipped.Pair("t", "t")], tmp_path, {"t": {"refused": "ImportError: y"}})
    assert report.notes() == ["not run: t: ImportError: y", "the peer lacks 1 of our tasks: x"]
