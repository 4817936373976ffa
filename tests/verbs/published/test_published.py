"""`check-published`: what a card, the hub's file, a record or a release table says of a run, at the digits that are printed."""

import json

import pytest
import yaml

from mm_eval.results.recorded import RecordedRun
from mm_eval.verbs.exports import hub
from mm_eval.verbs.exports.every_eval_ever import write_record
from mm_eval.verbs.published.cards import read_card
from mm_eval.verbs.published.check import check
from tests.sets import each_of


@pytest.fixture(scope="module")
def run(dummy_run):
    return RecordedRun.read(dummy_run)


def held(run, path, name="dummy"):
    """{(row, metric as printed): where it differs} of a file."""
    return check(read_card(path, [name]), run)


def test_every_home_of_a_number_says_the_same(cli, run, perfect, tmp_path, monkeypatch):
    """The card, the release table as CSV and Markdown, the hub's file and the record of one run are equal to it."""
    data = run.results.configs["seedbench"]["dataset_path"]
    monkeypatch.setitem(hub.REGISTERED, "seedbench", hub.HubTask(data, "seed", "a test"))  # type: ignore[arg-type]
    files = {
        "README.md": "---\n"
        + yaml.safe_dump({"license": "mit", "model-index": hub.model_index([run])})
        + "---\n# A model\n",
        "hub.yaml": yaml.safe_dump(hub.eval_results(run)),
        "release.csv": cli("report", run.folder, perfect, "--format", "csv").out,
        "release.md": cli("report", run.folder, perfect, "--format", "md", "--categories").out,
    }
    found = {"record": write_record(run, tmp_path / "store")}
    for name, text in files.items():
        found[name] = tmp_path / name
        found[name].write_text(text)
    for name, path in found.items():
        done = cli("check-published", path, run.folder)
        assert done.code == 0 and done.out.startswith("EQUAL: "), (name, done.out, done.err)
    counts = {name: len(held(run, path).held) for name, path in found.items()}
    assert counts["hub.yaml"] == 1 and counts["README.md"] == counts["record"] == 5 and counts["release.csv"] > 10
    assert held(run, found["release.csv"]).card.models == ["replay"] or held(run, found["release.csv"]).card.models


@each_of(
    ("printed", "equal"),
    [
        ("SHARE3", True), ("PERCENT1", True), ("PERCENT0", True), ("PERCENT1 ± 2.0", True), ("**PERCENT1**", True),
        ("PERCENT1%", True), ("SHARE3%", False), ("OFF1", False), ("-", False), ("1", False), ("n/a", False),
    ],
)  # fmt: skip
def test_a_value_is_compared_at_its_printed_digits(run, tmp_path, printed, equal):
    [number] = run.results.main_numbers("seedbench")
    words = {
        "SHARE3": f"{number.value:.3f}",
        "PERCENT1": f"{100 * number.value:.1f}",
        "PERCENT0": f"{100 * number.value:.0f}",
        "OFF1": f"{100 * number.value + 0.1:.1f}",
    }
    for word, text in words.items():
        printed = printed.replace(word, text)
    path = tmp_path / "README.md"
    path.write_text(
        f"| Benchmark | dummy | other |\n|---|---|---|\n| SEED-Bench | {printed} | 1 |\n| seedbench | {printed} | 1 |\n"
    )
    found = held(run, path).held[1]
    assert bool(found.faults) is not equal, found


def test_what_differs_is_named_with_its_line(cli, run, tmp_path):
    [number] = run.results.main_numbers("seedbench")
    right = f"{100 * number.value:.1f}"
    path = tmp_path / "README.md"
    path.write_text(
        f"# Model\n\n| Task | Metric | n | Score |\n|:--|---|--:|--:|\n| seedbench | seed_all | 252 | {right} |\n"
        f"| seedbench | seed_all | 17,990 | {right} |\n| seedbench | accuracy | 252 | {right} |\n| MMMU | acc | 900 | 51.2 |\n"
        "\n| lr | batch |\n|---|---|\n| 0.1 | 8 |\n\n```\n| Task | Score |\n|---|---|\n| code | 1 |\n```\n"
    )
    done = cli("check-published", path, run.folder, "--format", "json")
    found = json.loads(done.out)
    assert done.code == 1 and [each["equal"] for each in found["numbers"]] == [True, False, False, False]
    said = [each["difference"] for each in found["numbers"]]
    assert said[1] == "it is of 17,990 documents, the run's of 252"
    assert "the run has no 'accuracy' of it; it has seed_" in said[2] and said[3] == "the run has no 'MMMU'"
    assert [each["published"].rsplit(":", 1)[1] for each in found["numbers"]] == ["5", "6", "7", "8"]
    assert any("README.md:10 was not checked" in note for note in found["notes"]) and found["in_the_run_only"] == [
        "mme"
    ]
    text = cli("check-published", path, run.folder).out
    assert text.startswith("DIFFERENT: 3 of 4 numbers") and max(map(len, text.split("\n\n")[1].splitlines())) <= 80


def test_a_card_that_hides_that_the_data_is_a_sample_differs(run, tmp_path):
    [entry] = hub.model_index([run])
    for result in entry["results"]:
        result["dataset"]["name"] = result["dataset"]["name"].partition(" (")[0]
    path = tmp_path / "README.md"
    path.write_text(f"---\n{yaml.safe_dump({'model-index': [entry]})}---\n")
    assert {fault for each in held(run, path).held for fault in each.faults} == {"it does not say: sample data"}


def test_numbers_of_another_model_are_not_taken_for_the_runs(cli, run, tmp_path):
    path = tmp_path / "release.md"
    path.write_text(
        "| benchmark | alpha | beta | p |\n|---|---|---|---|\n| seedbench | 1.0 | 2.0 | 0.1 |\n| Average | 1 | 2 | |\n"
    )
    done = cli("check-published", path, run.folder)
    assert done.code == 2 and "numbers of alpha, beta: --name says which is the run's" in done.err
    done = cli("check-published", path, run.folder, "--name", "beta")
    assert done.code == 1 and "1 of 1 number" in done.out and "release.md:4: Average is of several rows" in done.out
    assert "not checked: numbers of alpha\n" in done.out


@each_of(
    ("name", "text", "said"),
    [
        ("README.md", "# nothing here\n", "it has no number of the run's model"),
        ("README.md", "---\nmodel-index: [\n---\n", "it is not YAML"),
        ("README.md", "---\nmodel-index: 3\n", "its metadata has no end"),
        ("hub.yaml", "a: 1\n", "it is no list of evaluation results"),
        ("hub.yaml", "- {value: 3}\n", "entry 1 has no `dataset`"),
        ("hub.yaml", "[]\n", "it has no number of the run's model"),
        ("eee.json", "{", "it is not JSON"),
        ("eee.json", "[]", "it is no record of Every Eval Ever"),
        ("eee.json", '{"evaluation_results": [3]}', "it has no number of the run's model"),
        ("release.csv", "a,b\n1,2\n", "release.csv:1: it is no release table: it has no column 'benchmark'"),
        ("release.csv", "", "it is no release table"),
        ("card.txt", "", "'.txt' is no form that is known"),
        ("missing.md", None, "it can't be read"),
    ],
)
def test_what_can_not_be_read_ends_with_2(cli, run, tmp_path, name, text, said):
    path = tmp_path / name
    if text is not None:
        path.write_text(text)
    done = cli("check-published", path, run.folder)
    assert done.code == 2 and said in done.err and not done.out, done.err


def test_odd_values_are_differences_and_no_fault(run, tmp_path):
    """A list as a value, a number of a thousand digits, a name that is none: each is named."""
    path = tmp_path / "card.yaml"
    metrics = [
        {"type": "seed_all", "name": "seed_all", "value": value}
        for value in ([1], "9" * 1000, "inf", "0x10", "1e999999")
    ]
    index = [
        {
            "name": "dummy",
            "results": [{"dataset": {"name": "seedbench (sample data)"}, "metrics": metrics}, {"metrics": metrics[:1]}],
        }
    ]
    path.write_text(yaml.safe_dump({"model-index": index}))
    assert all(each.faults for each in held(run, path).held) and len(held(run, path).held) == 6
