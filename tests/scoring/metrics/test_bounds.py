"""Every metric gives full marks to an answer that equals the target, whatever its size, and counts one that is too large."""

import json
import random
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from mm_eval.tasks.rules.matching import Texts, normalised_distance

from mm_eval.scoring.metrics import bounds, generation
from mm_eval.scoring.metrics.generation import anls, edit_distance
from mm_eval.scoring.metrics.ll_results import LLResults
from mm_eval.scoring.metrics.metric import METRICS, Metric
from mm_eval.scoring.metrics.traits import CorpusMetric
from tests.conftest import Ran
from tests.sets import each_of, few

SIZES = [1, 10, 1000, 100_000]
FULL = {"bleu": 100, "chrf": 100, "chrf++": 100, "ter": 0, "cider": 10, "other_units": 0, "wer": 0, "cer": 0}
"""Full marks, where they are not 1."""
SHORTEST = {"bleu": 4, "caption_bleu_2": 2, "caption_bleu_3": 3, "caption_bleu_4": 4, "cider": 4}
"""The fewest words of a text that has full marks, where they are not 1: a text without n-grams of an order has no precision."""
GENERATED = [name for name in METRICS.names() if "generate_until" in METRICS.get(name).output_type and name != "bypass"]
OF_CHOICES = ["acc", "acc_bytes", "acc_mutual_info", "acc_norm", "exact_match_mc"]
PLACES = {"box_accuracy": 4, "box_iou": 4, "other_units": 4, "point_in_box": 2}


@cache
def text_of(words: int, seed: int) -> str:
    """A text of so many words, of at most 10^5 characters. Kept, since every metric is given the same."""
    stream = random.Random(seed)
    return " ".join(f"w{stream.randrange(words + 10):x}" for _ in range(words))[: 10**5].strip()


def pair(name: str, size: int, seed: int) -> tuple[str, str]:
    """A target and the answer that equals it, of so many words."""
    if name in PLACES:
        point = PLACES[name] == 2
        return f"[0, 0, {size}, {size}] in {size} x {size}", f"[0, {size}]" if point else f"[0, 0, {size}, {size}]"
    return (text_of(size, seed),) * 2


@pytest.mark.parametrize("size", few(SIZES, at=(0, 2)))
@pytest.mark.parametrize("name", GENERATED)
def test_an_answer_that_equals_the_target_has_full_marks(name: str, size: int) -> None:
    metric = Metric.from_dict({"metric": name}, "generate_until")
    if name in ("f1", "mcc", "matthews_corrcoef"):
        metric = Metric.from_dict({"metric": name, **({"average": "macro"} if name == "f1" else {})}, "generate_until")
    size = max(size, SHORTEST.get(name, 1))
    values = []
    with bounds.reports() as reported:
        for seed in range(3):
            target, answer = pair(name, size, seed)
            found = metric.compute([target], [answer])
            found = found[name] if isinstance(found, dict) else found
            values.append(found if isinstance(metric.fn, CorpusMetric) else found[0])
        assert metric.aggregate(values) == pytest.approx(FULL.get(name, 1))
    assert not reported


@each_of("size", SIZES)
@each_of("name", OF_CHOICES)
def test_the_likeliest_choice_has_full_marks_among_any_number(name: str, size: int) -> None:
    metric = Metric.from_dict({"metric": name}, "multiple_choice")
    lls = [-100.0] * size
    lls[size // 2] = -1.0
    found = LLResults(
        results=lls,
        targets=size // 2,
        choices=["x"] * size,
        lls=np.array(lls),
        lls_mutual_info=np.array(lls),
        is_greedy=[ll == -1.0 for ll in lls],
    )
    assert metric.compute(found.targets, found) == 1


def test_all_texts_at_once_have_the_distances_of_one_by_one() -> None:
    stream = random.Random(3)

    def drawn(longest: int) -> str:
        return "".join(stream.choice("abcdé") for _ in range(stream.randint(0, longest)))

    for _ in range(200):
        texts = [drawn(stream.choice([3, 70, 100])) for _ in range(stream.randint(1, 20))]
        one = drawn(stream.choice([5, 64, 80])) if stream.random() < 0.8 else "ab" * 32
        assert Texts(texts).distances(one) == pytest.approx([normalised_distance(one, text) for text in texts])


def test_texts_that_are_too_long_have_the_worst_value_and_are_reported() -> None:
    one, other = text_of(200_000, 1), text_of(200_000, 2)
    with bounds.reports() as reported:
        assert anls([one], [one]) == [1.0]
        assert anls([one], [one[:-9] + "x" * 9]) == [pytest.approx(1, abs=1e-4)]
        assert not reported
        assert anls([one], [other]) == [0.0]
    assert edit_distance(one, other) == max(len(one), len(other))
    assert len(reported) == 1 and f"{generation.MOST_STEPS:,}" in reported[0]


TASK = """
task: long_texts
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
output_type: generate_until
doc_to_text: "{{{{q}}}}"
doc_to_target: "{{{{a}}}}"
metric_list: [{{metric: anls}}]
"""


def test_a_run_counts_them(cli: Callable[..., Ran], tmp_path: Path) -> None:
    texts = [text_of(20_000, seed) for seed in range(2)]
    (tmp_path / "data.jsonl").write_text("".join(json.dumps({"q": "Read.", "a": text}) + "\n" for text in texts))
    (tmp_path / "long_texts.yaml").write_text(TASK.format(data=tmp_path / "data.jsonl"))
    answers = [texts[0], text_of(20_000, 7)]
    rows = [{"task": "long_texts", "doc_id": i, "resps": [text]} for i, text in enumerate(answers)]
    (tmp_path / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(generation, "MOST_STEPS", 1_000_000)
        ran = cli(
            "--tasks", "long_texts", "--include_path", tmp_path, "--model", "replay",
            "--model_args", f"path={tmp_path / 'answers.jsonl'}",
        )  # fmt: skip
    assert ran.code == 0, ran.err
    row: dict[str, Any] = ran.results["results"]["long_texts"]
    assert (row["anls,none"], row["n"], row["failed"], row["too_large"]) == (0.5, 2, 0, 1)
    assert any("1 of 2 documents has the worst value: too large for the edit distance" in note for note in row["notes"])
    assert "too large for the edit distance" in ran.out
    assert ["too_large" in sample for sample in ran.samples("long_texts")] == [False, True]


ODD = ["[", "]", "[]", "[[", "[nan, nan, nan, nan]", "[NaN, 1, 2, 3]", "[Infinity, 1, 2, 3]", "[-Infinity, 0, 1e999, 1]",
       f"[{'9' * 400}, 1, 2, 3]", f"[{'9' * 5000}, 1, 2, 3]", "[1e308, -1e308, 1e308, 1e308]", "[[0, 0, 10, 10]]",
       "[[0, 0], [10, 10]]", '[{"bbox_2d": [0, 0, 10, 10]}]', '["0", "0", "10", "10"]', "[null, null, null, null]",
       "[true, true, true, true]", "[0, 0, 10]", "[0, 0, 10, 10, 10]", "[0, 0, 10, 10] in", "[0, 0, 10, 10", "{}", "0", "",
       "[" * 100_000, "[0, " * 100_000, " [", "[{}, {}, {}, {}]", "[1,]", "[\x00]", "\ud800["]  # fmt: skip
"""Answers that name no place; as models write them, or as a model that is broken would."""


@each_of("name", PLACES)
def test_an_answer_that_is_no_place_scores_0_without_a_filter(name: str) -> None:
    metric = Metric.from_dict({"metric": name}, "generate_until")
    for answer in [*ODD, None, 3, float("nan"), [0, 0, 10, 10], {}]:
        for target in ("[0, 0, 10, 10] in 100 x 100", "", None):
            elsewhere = name == "other_units" and target and str(answer).startswith("[1e308")  # a place, far outside
            assert metric.compute([target], [answer]) == [int(bool(elsewhere))], answer
    assert metric.compute(["[0, 0, 10, 10] in 100 x 100"], [["[0, 0]", "[0, 0, 10, 10]"][PLACES[name] == 4]]) == [
        int(name != "other_units")
    ]
