"""`mm-eval judge` on recorded verdicts alone: two judges, noise, length, and people's labels. Nothing is asked."""

import json
import random

import pytest

from mm_eval.config.judge import JudgeConfig
from mm_eval.judge.labels import read_labels
from mm_eval.judge.recorded_quality import judged_tasks, position, recorded_findings
from mm_eval.results.recorded import RecordedRun
from mm_eval.values.errors import ConfigError
from tests.results.judged import judge, judged_run
from tests.sets import each_of


def right(row) -> float:
    return float(row["resps"][0] == row["target"])


def erring(share: float, seed: int):
    """A judge that errs in a share of docs."""
    wrong = {doc_id for doc_id in range(420) if random.Random(f"{seed} {doc_id}").random() < share}
    return lambda row: 1 - right(row) if row["doc_id"] in wrong else right(row)


def findings(folder, labels=None):
    [task] = judged_tasks(RecordedRun.read(folder))
    return {found.check.strip(): found for found in recorded_findings(task, labels)}


@pytest.fixture
def two(worse, tmp_path):
    """MME with 140 wrong answers, judged by two judges that err in 5% and 10% of docs."""
    first, second = erring(0.05, 1), erring(0.1, 2)
    judges = [judge(), judge("llama")]
    return judged_run(worse, tmp_path / "two", judges, lambda place, row: (second if place else first)(row))


@pytest.mark.full
def test_two_judges_agreement_has_intervals_and_names_the_docs(two):
    found = findings(two)
    equal, kappa = found["gpt-4o and llama agree"], found["beyond chance (Cohen's kappa)"]
    assert equal.docs == 420 and equal.result == f"the same verdict on {420 - len(equal.doc_ids)} of 420 documents"
    assert 0.8 < equal.value < 0.92 and 0.5 < kappa.interval[0] < kappa.value < kappa.interval[1] < 0.85
    rows = [json.loads(line) for line in (two / "samples/mme.jsonl").read_text().splitlines()]
    differ = {row["doc_id"] for row in rows if row["judge"]["verdict"] != row["judge@llama"]["verdict"]}
    assert set(equal.doc_ids) == differ


def test_numbers_get_a_difference_and_an_order(perfect, tmp_path):
    def verdict(place, row):
        return (row["doc_id"] % 7) / 10 + 0.05 * place

    found = findings(judged_run(perfect, tmp_path / "n", [judge(), judge("llama")], verdict))
    difference = found["mean difference (llama - gpt-4o)"]
    assert difference.value == pytest.approx(0.05) and found["same order (Spearman)"].value == pytest.approx(1)
    assert "beyond chance (Cohen's kappa)" not in found


def test_repeated_verdicts_show_the_share_of_noise(perfect, tmp_path):
    def verdict(place, row):
        return [
            float(random.Random(f"{row['doc_id']} {n}").random() < (0.9 if row["doc_id"] % 2 else 0.1))
            for n in range(3)
        ]

    folder = judged_run(perfect, tmp_path / "k", [judge(repeats=3)], verdict)
    found = findings(folder)["gpt-4o: repeated verdicts on one answer"]
    assert found.interval[0] < 0.36 < found.interval[1] and "variance is the judge's noise" in found.result
    assert 60 < len(found.doc_ids) < 160


def test_length_is_compared_within_answers_that_somebody_else_calls_right_and_wrong(worse, tmp_path):
    def verdict(place, row):
        return right(row) if place else float(row["resps"][0] == "Yes")  # "Yes" is one letter longer than "No"

    folder = judged_run(worse, tmp_path / "long", [judge(), judge("llama")], verdict)
    by_judge = findings(folder)
    for kind in ("right", "wrong"):
        assert by_judge[f"gpt-4o: verdict and length, answers that llama calls {kind}"].value == pytest.approx(1)
    rows = [json.loads(line) for line in (folder / "samples/mme.jsonl").read_text().splitlines()]
    labels = {row["doc_id"]: right(row) for row in rows[:200]}
    by_people = findings(folder, labels)
    assert by_people["gpt-4o: verdict and length, answers that people call wrong"].docs == 140
    alone = findings(judged_run(worse, tmp_path / "alone", [judge()], verdict))
    assert "simply be better" in alone["gpt-4o: verdict and length, all answers"].note


def test_labels_give_sensitivity_specificity_and_the_corrected_number(two):
    rows = [json.loads(line) for line in (two / "samples/mme.jsonl").read_text().splitlines()]
    labels = {row["doc_id"]: right(row) for row in rows if row["doc_id"] % 2}
    found = findings(two, labels)
    passes, fails = (
        found[f"llama: {each}"] for each in ("passes right answers (sensitivity)", "fails wrong answers (specificity)")
    )
    assert 0.8 < passes.value < 1 and 0.8 < fails.value < 1 and passes.docs + fails.docs == 210
    assert all(labels[i] == 1 for i in passes.doc_ids) and all(labels[i] == 0 for i in fails.doc_ids)
    plain, corrected = (
        found[f"llama: share of right answers, {each}"] for each in ("as judged", "corrected for these errors")
    )
    truth = 280 / 420
    assert corrected.interval[0] < truth < corrected.interval[1]
    assert abs(corrected.value - truth) < abs(plain.value - truth)


def test_a_judge_that_is_no_better_than_chance_is_not_corrected(two):
    rows = [json.loads(line) for line in (two / "samples/mme.jsonl").read_text().splitlines()]
    found = findings(two, {row["doc_id"]: 1 - right(row) for row in rows})
    assert "sum to at most 1" in found["gpt-4o, measured by people"].note
    assert not any("corrected" in check for check in found)


def test_empty_answers_and_missing_verdicts_are_no_verdicts_of_the_judge(perfect, tmp_path):
    folder = judged_run(
        perfect, tmp_path / "e", [judge(), judge("b")], lambda place, row: None if row["doc_id"] == 1 else 1.0
    )
    path = folder / "samples/mme.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for name in ("judge", "judge@b"):
        rows[0][name] = {**rows[0][name], "verdict": 0, "attempts": 0, "empty": True}
    path.write_text("\n".join(map(json.dumps, rows)) + "\n")
    [task] = judged_tasks(RecordedRun.read(folder))
    assert task.empty == {0} and 0 not in task.single("gpt-4o") and 1 not in task.single("b")
    assert len(task.single("gpt-4o")) == 418


@each_of(
    ("ends", "verdict", "place"),
    [
        ([0, 10], 5, 0.5),
        ([[10, 1], [1, 10]], [8, 8], 0.5),
        ([[10, 1], [1, 10]], [10, 1], 0),
        ([{"a": 0}, {"a": 1}], {"a": 0.25, "b": 9}, 0.25),
        ([0, 1], "C", None),
        (["A", "E"], "C", None),
    ],
)
def test_where_a_verdict_stands_in_its_range(ends, verdict, place):
    assert position(JudgeConfig((), range=ends), {}, verdict) == (None if place is None else pytest.approx(place))


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("a.jsonl", '{"task": "mme", "doc_id": 1, "label": 1}\nnope\n', "a.jsonl:2: it is not JSON"),
        ("a.jsonl", "[1]\n", "a.jsonl:1: it is not a mapping"),
        ("a.jsonl", '{"task": "mne", "doc_id": 1, "label": 1}\n', "'mne' is not a judged task of this run"),
        ("a.jsonl", '{"doc_id": 999, "label": 1}\n', "mme has no judged doc 999"),
        ("a.jsonl", '{"doc_id": true, "label": 1}\n', "doc_id is True"),
        ("a.jsonl", '{"doc_id": 1.5, "label": 1}\n', "doc_id is 1.5"),
        ("a.jsonl", '{"doc_id": 1, "label": NaN}\n', "label is nan"),
        ("a.jsonl", '{"doc_id": 1, "labell": 1}\n', "Did you mean"),
        ("a.jsonl", '{"doc_id": 1, "label": 1}\n{"doc_id": 1, "label": 0}\n', "a.jsonl:2: mme doc 1 has another label"),
        ("a.jsonl", "\n", "no labels"),
        ("a.csv", "doc_id,label\n1,maybe\n", "a.csv:2: label is 'maybe'"),
    ],
)
def test_a_label_that_is_wrong_is_an_error_with_its_line(tmp_path, name, text, said):
    (tmp_path / name).write_text(text)
    with pytest.raises(ConfigError, match=said):
        read_labels(str(tmp_path / name), {"mme": range(420)})


def test_labels_are_read_from_json_lines_and_csv(tmp_path):
    (tmp_path / "a.jsonl").write_text(
        '{"task": "mme", "doc_id": 1, "label": true}\n\n{"task": "mme", "doc_id": 2, "label": 0}\n'
    )
    (tmp_path / "a.csv").write_text("task,doc_id,label\nmme,1,right\nmme,2,0\n", encoding="utf-8-sig")
    for name in ("a.jsonl", "a.csv"):
        assert read_labels(str(tmp_path / name), {"mme": range(420), "other": [1]}) == {"mme": {1: 1.0, 2: 0.0}}


def test_the_command_prints_it_all_offline(cli, two, tmp_path):
    (tmp_path / "labels.csv").write_text(
        "doc_id,label\n" + "".join(f"{n},{int(n < 10 or n > 149)}\n" for n in range(300))
    )
    said = cli("judge", two, "--judge_labels", tmp_path / "labels.csv")
    assert said.code == 0, said.err
    for words in (
        "mme, judged by gpt-4o through openai",
        "and by llama",
        "Cohen's kappa",
        "corrected for these errors",
        "left out:",
    ):
        assert words in " ".join(said.out.split())
    table = [line for line in said.out.split("left out:")[0].splitlines() if line and not line.startswith("- ")]
    assert max(map(len, table)) <= 80
    assert any(line.count("%") == 3 for line in table), "a share and both ends of its interval"
    found = json.loads(cli("judge", two, "--format", "json", "--docs", 0).out)
    assert found["left_out"] and found["tasks"]["mme"]["findings"][0]["interval"]
