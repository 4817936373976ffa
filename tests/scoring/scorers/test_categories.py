"""The numbers of a task by category: each metric's own aggregation over the docs of the category."""

import json
import math
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from mm_eval.config.categories import levels_of
from mm_eval.scoring.categories import MOST_CATEGORIES, CategoryDocs
from mm_eval.scoring.metrics.corpus import F1
from mm_eval.scoring.metrics.stderr import mean_stderr

DOCS = [  # answer, kind, skills, said
    ("yes", 10, ["count", "see"], "yes"),
    ("no", 10, ["see"], "yes"),
    ("yes", 2, [], "yes"),
    ("no", 2, ["count", "count"], "no"),
    ("yes", None, None, "no"),
    ("no", 2, ["see"], "no idea"),
]
TASK = """
task: kinds
dataset_path: json
dataset_kwargs: {data_files: {test: %s}}
test_split: test
doc_to_text: "{{question}}"
doc_to_target: answer
filter_list: [{name: none, filter: [{function: yes_no}]}]
process_results: !function utils.score
metric_list:
  - {metric: acc, aggregation: mean}
  - {metric: f1, aggregation: !function utils.f1}
  - {metric: fussy, aggregation: !function utils.fussy}
%s
"""
UTILS = """
def score(doc, results):
    pair = (doc["answer"] == "yes", results[0] == "yes")
    return {"acc": float(results[0] == doc["answer"]), "f1": pair, "fussy": pair[0]}


def f1(pairs):
    hits = sum(gold and said for gold, said in pairs)
    return 2 * hits / (sum(gold for gold, _ in pairs) + sum(said for _, said in pairs))


def fussy(values):
    if len(values) < 6:
        raise ValueError("too few")
    return 1.0


def first_letter(doc):
    return doc["answer"][0]


def fails(doc):
    return doc["nothing"]


def fails_later(doc):
    return 1 / (1 - doc["row"])
"""
LEVELS = """categories:
  - {column: kind, name: kind of question, names: {10: ten, 3: three}}
  - {column: about.skills}
  - {column: !function utils.first_letter}
"""


def written(tmp_path: Path, more: str) -> Path:
    folder = tmp_path / "mine"
    folder.mkdir(exist_ok=True)
    rows = [
        {"question": f"{n}?", "answer": gold, "kind": kind, "about": {"skills": skills}, "row": n}
        for n, (gold, kind, skills, _) in enumerate(DOCS)
    ]
    (folder / "kinds.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (folder / "kinds.yaml").write_text(TASK % (folder / "kinds.jsonl", more))
    (folder / "utils.py").write_text(UTILS)
    return folder


def run(cli, tmp_path: Path, more: str = LEVELS, *words: object, task: str = "kinds"):
    recorded = tmp_path / "answers.jsonl"
    rows = [{"task": "kinds", "doc_id": n, "resps": [said]} for n, (*_, said) in enumerate(DOCS)]
    recorded.write_text("\n".join(map(json.dumps, rows)))
    folder = written(tmp_path, more)
    replay = ("--model", "replay", "--model_args", f"path={recorded}")
    return cli("--tasks", task, "--include_path", folder, *replay, *words)


def test_every_metric_is_aggregated_over_each_category(cli, tmp_path: Path) -> None:
    ran = run(cli, tmp_path)
    assert ran.code == 0, ran.out + ran.err
    found = ran.results["categories"]["kinds"]
    assert list(found) == ["kind of question", "skills", "first_letter"]
    kinds = found["kind of question"]
    assert list(kinds) == ["ten", "2"]  # `names` first; no doc has 3, and null is in none
    ten, two = kinds.values()
    assert (ten["acc,none"], ten["acc_stderr,none"], ten["n"]) == (0.5, pytest.approx(0.5), 2)
    assert ten["f1,none"] == pytest.approx(2 / 3)
    assert (two["acc,none"], two["n"], two["unparsed"], two["failed"]) == (pytest.approx(2 / 3), 3, 1, 0)
    assert two["acc_stderr,none"] == pytest.approx(mean_stderr([1.0, 1.0, 0.0]))
    assert two["f1,none"] == 1.0 and two["f1_stderr,none"] is None  # without the one yes there is no F1
    assert {name: (row["acc,none"], row["n"]) for name, row in found["skills"].items()} == {
        "count": (1.0, 2),
        "see": (pytest.approx(1 / 3), 3),
    }
    assert {name: row["n"] for name, row in found["first_letter"].items()} == {"n": 3, "y": 3}


def test_an_aggregation_that_fails_on_a_category_is_null_there_only(cli, tmp_path: Path) -> None:
    ran = run(cli, tmp_path)
    assert ran.code == 0 and ran.results["results"]["kinds"]["fussy,none"] == 1.0
    ten = ran.results["categories"]["kinds"]["kind of question"]["ten"]
    assert ten["fussy,none"] is None and ten["fussy_stderr,none"] is None
    assert ten["notes"] == ["fussy,none: the aggregation raised ValueError: too few."]


def test_categories_change_nothing_else(cli, tmp_path: Path) -> None:
    plain = run(cli, tmp_path, "")
    assert "categories" not in plain.results
    row = plain.results["results"]["kinds"]
    ran = run(cli, tmp_path)  # the same folder: a task that gets categories goes on with its older run
    assert ran.code == 0 and ran.results["results"]["kinds"] == row
    again = cli("score", ran.folder)
    assert json.loads((ran.folder / "results.json").read_text())["categories"] == ran.results["categories"]
    assert again.code == 0


def test_samples_say_their_categories(cli, tmp_path: Path) -> None:
    rows = run(cli, tmp_path).samples("kinds")
    assert rows[0]["categories"] == {"kind of question": ["ten"], "skills": ["count", "see"], "first_letter": ["y"]}
    assert rows[4]["categories"] == {"kind of question": [], "skills": [], "first_letter": ["y"]}
    assert "categories" not in run(cli, tmp_path, "").samples("kinds")[0]


def test_a_task_in_a_group_has_its_categories_under_its_row(cli, tmp_path: Path) -> None:
    folder = written(tmp_path, LEVELS)
    (folder / "both.yaml").write_text("group: both\ntask: [kinds]\naggregate_metric_list: [{metric: acc}]\n")
    ran = run(cli, tmp_path, LEVELS, task="both")
    assert ran.code == 0, ran.out + ran.err
    [name] = ran.results["categories"]
    assert name in ran.results["results"] and "kind of question" in ran.results["categories"][name]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{column: knid}", "categories name the column 'knid', which the documents lack. Did you mean 'kind'?"),
        ("{column: about.skils}", "which the documents lack. Did you mean 'skills'?"),
        ("{column: about}", "Name a part of it: 'about.skills'."),
        ("{column: !function utils.fails}", "the function of the categories 'fails' raised KeyError"),
    ],
)
def test_a_column_that_does_not_fit_is_an_error_before_any_request(cli, tmp_path: Path, entry: str, said: str) -> None:
    ran = run(cli, tmp_path, f"categories:\n  - {entry}\n")
    assert ran.code == 2 and said in ran.err and not ran.folder.exists()
    assert "kinds.yaml:15: " in ran.err


def test_a_doc_that_a_function_fails_on_is_in_no_category_and_noted(cli, tmp_path: Path) -> None:
    ran = run(cli, tmp_path, "categories: [{column: !function utils.fails_later, name: f}]")
    assert ran.code == 0 and sum(row["n"] for row in ran.results["categories"]["kinds"]["f"].values()) == 5
    note = ran.results["results"]["kinds"]["notes"][-1]
    assert note.startswith("1 document is in no category of 'f', the first is doc 1: ") and "ZeroDivisionError" in note


class Numbered:
    """A level of as many categories as asked, without a task file."""

    def __init__(self, docs: int, categories: int) -> None:
        self.docs = CategoryDocs(levels_of([{"column": "c"}]))
        shown = self.docs.of_docs({n: {"c": n % categories} for n in range(docs)})
        for doc_id, of_doc in shown.items():
            self.docs.add(doc_id, of_doc, ["n"])

    def numbers(self, metric_list, values, clusters=None):
        from mm_eval.scorers import GenScorer

        scorer = GenScorer.from_dict({"metric_list": metric_list}, output_type="generate_until")
        scorer.clusters = clusters
        return self.docs.numbers([scorer], {"none": values}, 100_000)


def slow_share(values):
    return sum(values) / len(values)


MEANS = [{"metric": slow_share, "aggregation": "mean"}]


def test_numbers_and_errors_are_those_of_the_docs_alone() -> None:
    level = Numbered(40, 4)
    values = {n: {"slow_share": float(n % 3 == 0)} for n in range(40)}
    clusters = {n: n // 8 for n in range(40)}
    for name, [number] in level.numbers(MEANS, values, clusters)["c"].items():
        own = [n for n in range(40) if n % 4 == int(name)]
        marks = [values[n]["slow_share"] for n in own]
        assert number.value == sum(marks) / 10 and number.n == 10
        assert number.stderr == pytest.approx(mean_stderr(marks, [clusters[n] for n in own]))


def test_a_corpus_metric_is_computed_anew_in_each_category() -> None:
    level = Numbered(200, 2)
    pairs = {n: {"f1": (int(n % 5 == 0), int(n % 5 < 2 or n % 4 == 1))} for n in range(200)}
    for name, [number] in level.numbers([{"metric": "f1"}], pairs)["c"].items():
        own = [pair["f1"] for n, pair in pairs.items() if n % 2 == int(name)]
        assert number.value == pytest.approx(F1().aggregation(own)) and 0 < number.stderr < 0.2
    assert number.value != pytest.approx(F1().aggregation([pair["f1"] for pair in pairs.values()]))


def test_the_order_of_docs_changes_no_byte() -> None:
    forward, backward = (CategoryDocs(levels_of([{"column": "c", "names": {"b": "B", "a": "A"}}])) for _ in range(2))
    docs = {n: {"c": ["x10", "x2", "a", "b", None][n % 5]} for n in range(30)}
    values = {n: {"slow_share": n / 7} for n in docs}
    found = []
    for level, order in ((forward, sorted(docs)), (backward, sorted(docs, reverse=True))):
        for doc_id in order:
            level.add(doc_id, level.of_docs({doc_id: docs[doc_id]})[doc_id], ["n"])
        holder = SimpleNamespace(docs=level)
        found.append(Numbered.numbers(holder, MEANS, values)["c"])
    assert list(found[0]) == list(found[1]) == ["B", "A", "x2", "x10"]
    assert found[0] == found[1]


def test_a_level_of_ids_is_left_out_with_a_note() -> None:
    level = Numbered(MOST_CATEGORIES + 1, MOST_CATEGORIES + 1)
    assert level.numbers(MEANS, {n: {"slow_share": 1.0} for n in range(MOST_CATEGORIES + 1)}) == {}
    assert level.docs.notes == ["categories by 'c' are left out: there are 1,001 of them, more than 1,000."]


@pytest.mark.full
def test_a_hundred_thousand_docs_by_a_hundred_categories_take_seconds() -> None:
    names = ("exact_match", "first", "second")  # what a metric gives without being listed is a mean
    values = {n: {name: float((n * 7919) % 10 < 6) for name in names} for n in range(100_000)}
    clusters = {n: n // 2 for n in range(100_000)}
    started = time.process_time()
    found = Numbered(100_000, 100).numbers([{"metric": "exact_match"}], values, clusters)["c"]
    assert len(found) == 100 and all(len(numbers) == 3 for numbers in found.values())
    assert time.process_time() - started < 20


@pytest.mark.full
def test_a_slow_aggregation_costs_as_much_as_over_the_whole_task() -> None:
    calls = []

    def spread(values):
        calls.append(len(values))
        return math.fsum(value * value for value in values) / len(values)

    values = {n: {"slow_share": math.sin(n)} for n in range(20_000)}
    found = Numbered(20_000, 100).numbers([{"metric": slow_share, "aggregation": spread}], values)["c"]
    assert all(numbers[0].stderr > 0 for numbers in found.values())
    assert sum(calls) < 6_000_000


def test_names_that_no_doc_has_are_noted() -> None:
    found = CategoryDocs(levels_of([{"column": "c", "names": {True: "Yes", False: "No"}}]))
    found.add(0, found.of_docs({0: {"c": "yes"}})[0], ["n"])
    assert found.notes == ["no document has a value that `names` of the categories 'c' has, such as 'True'."]
    found.add(1, found.of_docs({1: {"c": True}})[1], ["n"])
    assert found.notes == []
