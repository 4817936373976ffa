"""`mm-eval validate`: a gold answer scores full marks, whatever a task asks for."""

import json
from pathlib import Path

import pytest

from mm_eval.cli import main
from mm_eval.gold_checks.trial import NONSENSE, wrong_text
from tests.conftest import Ran
from tests.sets import each_of

OWN = {
    "words": "output_type: loglikelihood\ndoc_to_text: q\ndoc_to_target: word\nmetric_list: [{metric: acc}]\n",
    "contexts": "output_type: multiple_choice\ndoc_to_text: label\ndoc_to_choice: '{{[q, word]}}'\ndoc_to_target: word\n"
    "metric_list: [{metric: acc}]\n",
    "rolling": "output_type: loglikelihood_rolling\ndoc_to_target: q\nmetric_list: [{metric: word_perplexity}]\n",
}


@pytest.mark.parametrize("name", OWN)
def test_a_gold_answer_scores_full_marks(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "d.jsonl").write_text('{"q": "a b?", "word": "c", "label": 1}\n{"q": "d?", "word": "e", "label": 0}\n')
    data = f"dataset_path: json\ndataset_kwargs: {{data_files: {{test: {tmp_path}/d.jsonl}}}}\ntest_split: test\n"
    (tmp_path / f"{name}.yaml").write_text(f"task: {name}\n{data}{OWN[name]}")
    assert main(["validate", name, "--include_path", str(tmp_path)]) == 0, capsys.readouterr().out


GENERATED = """task: {name}
dataset_path: json
dataset_kwargs: {{data_files: {{test: d.jsonl}}}}
test_split: test
doc_to_text: q
doc_to_target: a
process_results: !function utils.{rule}
metric_list: [{{metric: acc{aggregation}}}]
"""
RULES = """
def exact(doc, results):
    return {"acc": float(results[0] == doc["a"])}

def generous(doc, results):
    return {"acc": 1.0}

def empty_is_right(doc, results):
    return {"acc": float(results[0] in doc["a"])}

def raises(doc, results):
    return {"acc": float(doc["a"][: len(results[0])].index(results[0]) == 0)}

def pair(doc, results):
    return {"acc": ("kind", float(results[0] == doc["a"]))}

def share(pairs):
    return sum(score for _, score in pairs) / len(pairs)

def passing(doc):
    return [doc["a"], doc["a"]] if doc["a"] != "12" else None

def without(doc):
    return None

def wrong(doc):
    return [doc["a"], "else"]
"""


@pytest.fixture
def validated(cli, tmp_path: Path):
    (tmp_path / "utils.py").write_text(RULES)
    rows = [{"q": "?", "a": "Yes"}, {"q": "?", "a": "12"}, {"q": "?", "a": "(B)"}]
    (tmp_path / "d.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def validate(rule: str, more: str = "", aggregation: str = "") -> Ran:
        (tmp_path / "t.yaml").write_text(GENERATED.format(name="t", rule=rule, aggregation=aggregation) + more)
        return cli("validate", "t", "--include_path", tmp_path)

    return validate


def test_wrong_and_empty_answers_are_tried(validated) -> None:
    ran = validated("exact")
    counts = "wrong answers score 0 in 3 of 3; empty answers score 0 in 3 of 3"
    assert ran.code == 0 and f"3 documents; gold answers score acc,none = 1; {counts}" in ran.out


@pytest.mark.parametrize(
    ("rule", "said"),
    [("exact", "empty answers score 0 in 2 of 2"), ("empty_is_right", "empty answers score 0 in 0 of 2")],
)
def test_empty_answers_are_tried_where_all_gold_answers_are_equal(
    validated, tmp_path: Path, rule: str, said: str
) -> None:
    """A rule may then take silence for the one answer, so that full marks are no fault."""
    (tmp_path / "d.jsonl").write_text('{"q": "?", "a": "B"}\n' * 2)
    ran = validated(rule)
    assert (
        ran.code == 0
        and f"2 documents; gold answers score acc,none = 1; wrong answers score 0 in 2 of 2; {said}" in ran.out
    )


def test_a_pair_of_category_and_score_is_a_mark(validated) -> None:
    ran = validated("pair", aggregation=", aggregation: !function utils.share")
    assert ran.code == 0 and "wrong answers score 0 in 3 of 3" in ran.out


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ("generous", "wrong answers get full marks, too, in all 3 documents tried"),
        ("empty_is_right", "empty answers get full marks, too, in all 3 documents tried"),
        ("raises", "doc 0 can't be scored with the wrong answer 'No'"),
    ],
)
def test_a_rule_that_takes_wrong_answers_is_an_error(validated, rule: str, said: str) -> None:
    ran = validated(rule)
    assert ran.code == 2 and said in ran.out


def test_gold_answer_is_tried_in_place_of_the_target(validated) -> None:
    ran = validated("exact", "gold_answer: !function utils.passing\n")
    assert ran.code == 0 and "3 documents, 1 without a gold answer; gold answers score acc,none = 1" in ran.out
    ran = validated("exact", "gold_answer: '{{a}}'\n")
    assert ran.code == 0 and "3 documents; gold" in ran.out
    ran = validated("exact", "gold_answer: !function utils.wrong\n")
    assert ran.code == 2 and "the gold answer of doc 0 scores acc,none = 0: answer ['else']" in ran.out
    ran = validated("exact", "gold_answer: !function utils.without\n")
    assert ran.code == 0 and "3 documents; none has a gold answer, so the scores were not checked" in ran.out
    ran = validated("exact", "gold_answer: nothere\n")
    assert ran.code == 2 and "gold_answer names the column 'nothere'" in ran.out


@each_of(
    ("gold", "choices", "wrong"),
    [
        (["A"], None, "B"), (["(C)"], None, "(A)"), (["yes"], None, "no"), (["NO"], None, "YES"), (["True"], None, "False"),
        (["cat"], ["cat", "dog"], "dog"), (["cat"], ["cat"], NONSENSE), (["3.5"], None, NONSENSE), ([], None, NONSENSE),
    ],
)  # fmt: skip
def test_wrong_texts(gold: list[str], choices: list[str] | None, wrong: str) -> None:
    assert wrong_text(gold, choices) == wrong


CORPUS = """task: t
dataset_path: json
dataset_kwargs: {data_files: {test: d.jsonl}}
test_split: test
doc_to_text: q
doc_to_target: a
process_results: !function corpus.both
metric_list: [{metric: part, aggregation: !function corpus.RULE, higher_is_better: true}]
metadata: {version: 1.0, metric: part}
"""
AGGREGATIONS = """
def both(doc, results):
    return {"part": (1, doc["a"], results[0])}

def right(items):
    return sum(gold == answer for _, gold, answer in items) / len(items)

def half(items):
    return right(items) / 2

def any_answer(items):
    return 1.0
"""


@pytest.mark.parametrize(
    ("rule", "code", "said"),
    [
        (
            "right",
            0,
            "gold answers score part,none = 1; wrong answers score part,none = 0; empty answers score part,none = 0",
        ),
        ("half", 2, "the gold answers score part,none = 0.5"),
        ("any_answer", 2, "wrong answers score part,none = 1, no worse than the gold answers"),
    ],
)
def test_a_number_over_all_docs_is_compared_where_docs_have_no_marks(
    validated, tmp_path: Path, cli, rule: str, code: int, said: str
) -> None:
    (tmp_path / "corpus.py").write_text(AGGREGATIONS)
    (tmp_path / "t.yaml").write_text(CORPUS.replace("RULE", rule))
    ran = cli("validate", "t", "--include_path", tmp_path)
    assert ran.code == code and said in ran.out, ran.out


def test_a_main_number_that_the_task_does_not_have_is_an_error(validated) -> None:
    ran = validated("exact", "metadata: {metric: accuracy}\n")
    assert (
        ran.code == 2 and "metadata.metric names 'accuracy', which is not a metric of the task; it has acc" in ran.out
    )
    assert validated("exact", "metadata: {metric: [acc, 'acc,none']}\n").code == 0


def test_the_least_of_a_range_is_no_mark(tmp_path: Path, cli) -> None:
    (tmp_path / "d.jsonl").write_text('{"q": "1?", "a": "x"}\n{"q": "2?", "a": "y"}\n')
    (tmp_path / "corpus.py").write_text(
        "def both(doc, results):\n    return {'part': 5.0 if results[0] == doc['a'] else 1.0}\n"
    )
    stated = CORPUS.replace("aggregation: !function corpus.RULE", "range: [1, 5]")
    (tmp_path / "t.yaml").write_text(stated)
    ran = cli("validate", "t", "--include_path", tmp_path)
    assert ran.code == 0 and "wrong answers score 0 in 2 of 2" in ran.out, ran.out


def test_tasks_without_sample_data_are_named(cli) -> None:
    ran = cli("validate", "mme,mmlu", "--sample")
    assert (
        ran.code == 0
        and "ok    mmlu: not checked, since there is no sample data: 54 tasks (mmlu_abstract_algebra, " in ran.out
    )
