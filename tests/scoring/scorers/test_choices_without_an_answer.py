"""Choices that can't be compared are the doc's failure; exact ties are scored by the first choice and counted."""

import json
import math
from typing import Any

import pytest
import yaml

from mm_eval.scoring.of_task import build_scorer
from mm_eval.values.errors import DataError, ScoringError
from mm_eval.values.types import Instance

GOOD = {"q": "Which?", "options": ["cat", "dog"], "label": 0}


@pytest.fixture
def ask(cli, tmp_path):
    """Runs a task over some rows; answers: a list of log-likelihoods a doc."""

    def run(rows: list[Any], answers: list[list[float]], **keys: Any) -> Any:
        data = tmp_path / "rows.jsonl"
        data.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        config = {
            "task": "chosen", "dataset_path": "json", "dataset_kwargs": {"data_files": {"test": str(data)}}, "test_split": "test",
            "output_type": "multiple_choice", "doc_to_text": "q", "doc_to_choice": "options", "doc_to_target": "label",
            "metric_list": [{"metric": "acc"}, {"metric": "acc_norm"}], **keys,
        }  # fmt: skip
        (tmp_path / "chosen.yaml").write_text(yaml.safe_dump(config), encoding="utf-8")
        path = tmp_path / "answers.jsonl"
        lines = [{"task": "chosen", "doc_id": n, "resps": [[ll, False] for ll in lls]} for n, lls in enumerate(answers)]
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        return cli("--tasks", "chosen", "--include_path", tmp_path, "--model", "replay", "--model_args", f"path={path}")

    return run


@pytest.mark.parametrize(
    ("doc", "keys", "said"),
    [
        ({"options": ["cat", ""]}, {}, "empty text as choice 1 of 2"),
        ({"options": ["", ""]}, {"target_delimiter": ""}, "empty text as choice 0 of 2"),
        ({"options": ["cat", None]}, {}, "None as choice 1 of 2"),
        ({"options": [None, None]}, {}, "None as choice 0 of 2"),
        ({"options": "['cat', None]"}, {}, "None as choice 1 of 2"),
        ({}, {"doc_to_choice": "{{[options[0], none]}}"}, "None as choice 1 of 2"),
    ],
)
def test_an_option_without_text_is_that_docs_failure(ask, doc, keys, said) -> None:
    spoilt = {**GOOD, **doc}
    rows = [spoilt, {**GOOD, "options": str(GOOD["options"])} if isinstance(spoilt["options"], str) else GOOD]
    ran = ask(rows, [[-1.0, -2.0], [-1.0, -2.0]], **keys)
    row = ran.results["results"]["chosen"]
    broken = 2 if "doc_to_choice" in keys else 1
    assert ran.code == 3
    assert (row["n"], row["failed"], row["ties"]) == (2, broken, 0)
    sample = ran.samples("chosen")[0]
    assert sample["status"] == "failed" and sample["error"]["owner"] == "data" and said in sample["error"]["what"]
    assert broken == 2 or row["acc,none"] == 1.0


def test_an_option_of_white_space_is_an_option(ask) -> None:
    ran = ask([{**GOOD, "options": [" ", "\n"]}], [[-1.0, -2.0]], target_delimiter="")
    assert (ran.code, ran.results["results"]["chosen"]["acc,none"]) == (0, 1.0)


@pytest.mark.parametrize("target", [None, ""])
def test_a_continuation_without_text_is_that_docs_failure(ask, target) -> None:
    rows = [{"q": "It is a", "word": "dog"}, {"q": "It is a", "word": target}]
    keys = {
        "output_type": "loglikelihood",
        "doc_to_choice": None,
        "doc_to_target": "word",
        "metric_list": [{"metric": "acc"}],
    }
    ran = ask(rows, [[-1.0], [-1.0]], **keys)
    assert ran.code == 3
    assert ran.results["results"]["chosen"]["failed"] == 1
    assert "nothing to score" in ran.samples("chosen")[1]["error"]["what"]


def test_exact_ties_are_scored_by_the_first_choice_and_counted(ask) -> None:
    docs = [{**GOOD, "label": label, "options": ["cat", "cow"]} for label in (0, 1, 0, 0)]
    ran = ask(docs, [[-1.0, -1.0], [-1.0, -1.0], [-1.0, -1.5], [-1.0, -1.0 - 1e-15]])
    row = ran.results["results"]["chosen"]
    assert ran.code == 0
    assert (row["acc,none"], row["acc_norm,none"], row["ties"], row["failed"]) == (0.75, 0.75, 2, 0)
    assert [sample.get("ties", False) for sample in ran.samples("chosen")] == [True, True, False, False]
    assert "in 2 of 4 documents several choices share the best score" in ran.out


def test_options_that_are_equal_tie(ask) -> None:
    ran = ask([{**GOOD, "options": ["cat", "cat", "dog"], "label": 1}], [[-1.0, -1.0, -3.0]])
    row = ran.results["results"]["chosen"]
    assert (ran.code, row["acc,none"], row["ties"]) == (0, 0.0, 1)


def test_a_tie_below_the_best_is_none(ask) -> None:
    ran = ask([{**GOOD, "options": ["cat", "dog", "cow"]}], [[-1.0, -2.0, -2.0]])
    assert ran.results["results"]["chosen"]["ties"] == 0


@pytest.mark.parametrize("label", [0, -100])
def test_the_only_option_of_a_doc_is_chosen_under_every_metric(ask, label) -> None:
    ran = ask([{**GOOD, "options": ["cat"], "label": label}], [[-5.0]])
    row = ran.results["results"]["chosen"]
    right = float(label == 0)
    assert (row["acc,none"], row["acc_norm,none"], row["ties"]) == (right, right, 0)


def scored(
    lls: list[float], metrics: tuple[str, ...] = ("acc",), kind: str = "multiple_choice", texts: str = "abcd"
) -> Any:
    config = {"name": "none", "metric_list": [{"metric": name} for name in metrics]}
    scorer = build_scorer(config, kind)
    instances = [
        Instance("loglikelihood", "t", 0, {}, continuation=text, choice=n, target=0, resps=[(ll, True)])
        for n, (ll, text) in enumerate(zip(lls, texts, strict=False))
    ]
    return scorer.run(instances)[0]


@pytest.mark.parametrize("lls", [[-math.inf, -math.inf], [-math.inf] * 4])
def test_choices_that_are_all_impossible_are_the_docs_failure(lls) -> None:
    doc = scored(lls)
    assert isinstance(doc.error, DataError) and "-inf" in str(doc.error) and not doc.scores


@pytest.mark.parametrize("ll", [math.nan, math.inf])
def test_what_is_no_log_likelihood_fails_the_doc(ll) -> None:
    assert isinstance(scored([-1.0, ll]).error, ScoringError)


def test_an_impossible_choice_beside_a_possible_one_is_scored() -> None:
    doc = scored([-math.inf, -9.0])
    assert (doc.error, doc.scores, doc.tied) == (None, {"acc": [0]}, False)


def test_a_single_impossible_continuation_is_only_not_greedy() -> None:
    assert scored([-math.inf], kind="loglikelihood").error is None


@pytest.mark.parametrize(
    ("metrics", "texts", "tied"),
    [
        (("acc",), ["ab", "abcd"], False),
        (("acc_norm",), ["ab", "abcd"], True),
        (("acc", "acc_norm"), ["ab", "abcd"], True),
    ],
)
def test_a_tie_is_of_the_scores_that_a_metric_compares(metrics, texts, tied) -> None:
    assert scored([-1.0, -2.0], metrics, texts=texts).tied is tied


def test_an_own_function_gets_no_impossible_choices_and_its_ties_are_counted() -> None:
    config = {"name": "none", "metric_list": [{"metric": "own", "aggregation": "mean", "higher_is_better": True}]}
    scorer = build_scorer(config, "multiple_choice", process_results=lambda doc, results: {"own": 1.0})
    for lls, failed, tied in (
        ([-math.inf] * 2, True, False),
        ([-1.0, -1.0], False, True),
        ([-1.0, -2.0], False, False),
    ):
        instances = [
            Instance("loglikelihood", "t", 0, {}, continuation="x", choice=n, target=0, resps=[(ll, True)])
            for n, ll in enumerate(lls)
        ]
        doc = scorer.run(instances)[0]
        assert (isinstance(doc.error, DataError), doc.tied) == (failed, tied)


@pytest.mark.parametrize(
    ("labels", "target", "noted", "right"),
    [
        (
            [1, 2, 1],
            "label",
            True,
            0.0,
        ),  # the values of choices, of which the second and third are asked for as indices
        ([1, 2, 1], "{{ label | string }}", False, 1.0),
        ([1, 2, 0], "label", False, 0.0),  # 0 is no choice: they are indices
    ],
)
def test_an_int_that_may_be_the_choice_itself_is_noted(
    ask, labels: list[int], target: str, noted: bool, right: float
) -> None:
    """lm-eval takes every int for an index, too, and says nothing."""
    rows = [{"q": "How many?", "options": [1, 2, 3], "label": label} for label in labels]
    likely = [[-1.0 if place + 1 == label else -2.0 for place in range(3)] for label in labels]
    ran = ask(
        rows,
        [lls if label else [-2.0, -1.0, -2.0] for lls, label in zip(likely, labels, strict=True)],
        doc_to_target=target,
    )
    assert (ran.code, ran.results["results"]["chosen"]["acc,none"]) == (0, right)
    assert ("It was taken as an index from 0" in ran.out) is noted


def test_an_index_beyond_the_choices_that_names_one_says_how_to_state_it(ask) -> None:
    ran = ask([{"q": "How many?", "options": [1, 2, 3], "label": 3}], [[-1.0, -2.0, -3.0]])
    assert ran.code == 2 and "the index 3" in ran.err and "{{ COLUMN | string }}" in ran.err
