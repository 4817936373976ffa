"""A question that was asked and not answered has the worst value of each metric, and is counted by kind.

Filtered, refused, empty at the token cap, reasoning that never closed: only a failed request leaves the mean.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from mm_eval.api import evaluate
from mm_eval.scoring.answered import AnsweredDoc, missing_of
from mm_eval.scoring.builtin import GenScorer
from mm_eval.scoring.filters.base import UNANSWERED
from mm_eval.scoring.metrics.metric import METRICS, Metric
from mm_eval.scoring.process_results import ProcessResultsScorer
from mm_eval.values.types import ENDINGS, Answer, Instance
from tests.sets import each_of

MISSING = [
    Answer("", ended="filtered"),
    Answer("Yes", ended="filtered"),
    Answer("I can't help with that.", ended="refused"),
    Answer("", ended="length"),
    Answer(" \n", ended="length"),
    Answer("<think>it is a cat", ended="length"),
    Answer("<think>it is a cat", ended="stop"),
]


def scored(scorer: Any, answers: list[Answer], target: Any, doc: dict[str, Any] | None = None) -> dict[int, Any]:
    """{doc id: its scores}, or the error of a doc."""
    docs = {
        number: AnsweredDoc.of(
            [Instance("generate_until", "t", number, doc or {}, "Q", target=target)], lambda slot, found=answer: found
        )
        for number, answer in enumerate(answers)
    }
    found = scorer.run_docs({number: each.instances for number, each in docs.items()})
    return {number: each.error or each.scores for number, each in found.items()}


def gen(metric: Any, **more: Any) -> GenScorer:
    return GenScorer.from_dict({"metric_list": [{"metric": metric, **more}]}, output_type="generate_until")


def distance(references: Any, predictions: Any) -> float:
    """An edit distance that takes no None: 1 for an empty answer."""
    return float(predictions[0].strip() != references[0])


def hallucinated(references: Any, predictions: Any) -> float:
    """The share of words that are not in the reference: 0, the best, for an empty answer."""
    words = predictions[0].split()
    return sum(word not in references[0] for word in words) / max(1, len(words))


GENERATED = sorted(
    name
    for name in METRICS.names()
    if isinstance(found := METRICS.get(name), Metric) and "generate_until" in found.output_type and name != "bypass"
)


@each_of("answer", MISSING, ids=lambda answer: f"{answer.ended} {answer.output!r}")
@each_of("metric", [distance, hallucinated])
def test_where_lower_is_better_the_worst_is_not_0(metric: Any, answer: Answer) -> None:
    [scores] = scored(gen(metric, higher_is_better=False), [answer], "Yes").values()
    assert list(scores.values()) == [[1]]
    [scores] = scored(gen(metric, higher_is_better=False, worst=7), [answer], "Yes").values()
    assert list(scores.values()) == [[7]]


@each_of("name", GENERATED)
def test_no_metric_gives_a_missing_answer_more_than_another(name: str) -> None:
    target = "[0.1, 0.1, 0.5, 0.5]" if "box" in name or name == "other_units" else "42"
    values = []
    for answer in (Answer(target), Answer("something else"), *MISSING):
        scorer = gen(name, **({"average": "macro"} if name == "f1" else {}))
        [scores] = scored(scorer, [answer], target).values()
        assert not isinstance(scores, Exception), scores
        values.append(scorer.numbers(scorer.reduced_docs, 0)[0].value)
    [metric] = scorer.metrics or ()
    if metric.higher_is_better is None:
        return
    if name in (
        "ter",
        "wer",
        "cer",
    ):  # more edits than the reference has words are possible: a missing answer lacks them all
        assert values == [0.0, 700.0 if name == "cer" else 200.0, *[100.0] * len(MISSING)]
        return
    worst = max if metric.higher_is_better is False else min
    assert set(values[2:]) == {worst(values)}, values


@each_of("answer", MISSING, ids=lambda answer: f"{answer.ended} {answer.output!r}")
def test_a_tasks_own_function_can_not_reward_a_missing_answer(answer: Answer) -> None:
    def says_no_by_default(doc: Any, results: list[str]) -> dict[str, Any]:
        said = "yes" if "yes" in results[0].lower() else "no"
        return {"acc": float(said == doc["target"]), "lies": float(bool(results[0]) and said != doc["target"])}

    def breaks(doc: Any, results: list[str]) -> dict[str, Any]:
        return {"acc": json.loads(results[0])["x"], "lies": 0}

    metrics = [{"metric": "acc"}, {"metric": "lies", "higher_is_better": False}]
    for function in (says_no_by_default, breaks):
        more = [{**metrics[1], "worst": 1}] if function is breaks else metrics[1:]
        scorer = ProcessResultsScorer.from_dict(
            {"metric_list": [metrics[0], *more]}, output_type="generate_until", fn=function
        )
        [scores] = scored(scorer, [answer], "no", {"target": "no"}).values()
        assert scores == {"acc": [0], "lies": [1]}


def test_an_ending_decides_what_is_missing() -> None:
    assert {ended: missing_of(Answer("text", ended=ended)) for ended in ENDINGS if ended != "failed"} == {
        "stop": "",
        "length": "",
        "filtered": "filtered",
        "refused": "refused",
        "tool": "",
        "unknown": "",  # of an imported log that does not say
    }
    assert missing_of(Answer("", ended="stop")) == "" and missing_of(Answer("", ended="length")) in UNANSWERED


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    rows: list[dict[str, Any]] = [{"task": "mme", "doc_id": n, "resps": ["Yes"]} for n in range(8)]
    rows[0]["ended"], rows[1]["ended"], rows[3]["ended"] = "filtered", ["refused"], "length"
    rows[2].update(resps=[""], ended=["length"])
    rows[4]["resps"] = ["<think>so far"]
    (folder / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    args = {"path": str(folder / "rows.jsonl")}
    found = evaluate("mme", "replay", args, sample=True, limit=8, output_path=str(folder / "run"))
    (folder / "table").write_text(found.table())
    assert found.exit_code == 0
    return folder


def test_a_run_counts_them_by_kind_and_says_the_number_without_them(run: Path) -> None:
    row = json.loads((run / "run" / "results.json").read_text())["results"]["mme"]
    counts = ("n", "failed", "filtered", "refused", "truncated", "unanswered")
    assert [row[name] for name in counts] == [8, 0, 1, 1, 3, 4]
    key = "mme_perception_score,none"
    assert row["value_without_unanswered"][key] > row[key]
    table = (run / "table").read_text()
    assert "4 of 8 documents (1 filtered, 1 refused, 2 cut before an answer) have no answer and count as wrong" in table
    assert f"without them mme_perception_score is {row['value_without_unanswered'][key]:.2f}" in table
    assert "cut before an answer" in (run / "run" / "report.html").read_text()


def test_its_samples_are_replayed_to_the_same_numbers(run: Path, tmp_path: Path) -> None:
    samples = [json.loads(line) for line in (run / "run" / "samples" / "mme.jsonl").read_text().splitlines()]
    assert [row["status"] for row in samples[:4]] == ["filtered", "refused", "truncated", "truncated"]
    assert [row["ended"] for row in samples[:4]] == [["filtered"], ["refused"], ["length"], ["length"]]
    args = {"path": str(run / "run" / "samples")}
    again = evaluate("mme", "replay", args, sample=True, limit=8, output_path=str(tmp_path / "again"))
    first = json.loads((run / "run" / "results.json").read_text())
    assert again.raw["results"] == first["results"]
