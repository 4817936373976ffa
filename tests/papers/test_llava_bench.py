"""LLaVA-Bench in the wild: the recorded reviews of LLaVA-1.5 give what the authors' script prints; the rule is theirs."""

from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.llava_bench.utils import RULE

from tests.conftest import ROOT
from tests.papers.judged import replay_judged
from tests.papers.recordings import Recording, tiny_picture, verdict, write_table

COMMIT = "32cebc3809441cc40d8ac7b2855d148308741f2a"
FOLDER = Recording("haotian-liu/LLaVA", COMMIT, "playground/data/eval/llava-bench-in-the-wild")
RULES = Recording("haotian-liu/LLaVA", "c121f0432da27facab705978f83c4ada465e46fd", "llava/eval/table/rule.json")
PUBLISHED = {"llava-v1.5-13b": (72.8, 72.7, 72.1), "llava-v1.5-7b": (64.7, 65.3, 66.3)}
"""The relative scores of each model in three rounds of reviews. The paper prints their means, 72.5 and 65.4."""
SHOWN = {"llava_bench_conv": "conversation", "llava_bench_detail": "detail", "llava_bench_complex": "reasoning"}


def recorded(kind: str, name: str) -> list[dict[str, Any]]:
    """The rows of a file of answers or reviews."""
    return Recording(FOLDER.repository, COMMIT, f"{FOLDER.path}/{kind}/{name}.jsonl").jsonl()


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with the 60 questions. Descriptions and GPT-4's answers are not recorded, and the reviews need none."""
    from datasets import Image, Value

    folder, text = tmp_path_factory.mktemp("llava_bench"), Value("string")
    names = ("question_id", "question", "image_id", "category", "caption", "gpt_answer")
    asked, reviews = recorded("answers", "llava-v1.5-7b"), recorded("reviews", "llava-v1.5-7b-eval1")
    rows = [
        {
            "question_id": str(row["question_id"]),
            "question": row["prompt"],
            "image_id": str(row["question_id"]),
            "category": review["category"].removeprefix("llava_bench_"),
            "caption": "",
            "gpt_answer": "?",
            "image": tiny_picture(),
        }
        for row, review in zip(asked, reviews, strict=True)
    ]
    features = {**dict.fromkeys(names, text), "image": Image()}
    write_table(folder, "lmms-lab/llava-bench-in-the-wild", "train", rows, features=features)
    return folder


def printed(reviews: list[dict[str, Any]]) -> tuple[float, float, float]:
    """The three numbers that summarize_gpt_review.py prints for these reviews."""
    gpt, own = (round(sum(row["tuple"][side] for row in reviews) / len(reviews), 3) for side in (0, 1))
    return round(own / gpt * 100, 1), round(gpt * 10, 1), round(own * 10, 1)


def numbers(row: dict[str, Any]) -> tuple[float, float, float]:
    """The same numbers of a row of results.json."""
    return tuple(round(row[f"{name},none"], 1) for name in ("judge_score", "gpt_score", "own_score"))  # type: ignore[return-value]


def check(cli: Any, root: Path, folder: Path, model: str, run: int) -> None:
    """All twelve numbers of one file of reviews."""
    reviews = recorded("reviews", f"{model}-eval{run}")
    answers = [row["text"] for row in recorded("answers", model)]
    replies = [row["content"] for row in reviews]
    under = ("--protocol", "llava-1.5", "--name", model)
    ran = replay_judged(cli, root, folder, "llava_in_the_wild", answers, replies, *under, judge_name="gpt-4-0314")
    assert ran.code == 0, ran.err
    assert verdict(ran.results, "llava_in_the_wild") == "matches"
    row = ran.results["results"]["llava_in_the_wild"]
    assert row["judge_failed"] == 0 and row["judge_score_stderr,none"] > 0
    assert numbers(row) == printed(reviews)
    assert numbers(row)[0] == PUBLISHED[model][run - 1]
    found = ran.results["categories"]["llava_in_the_wild"]["category"]
    assert set(found) == set(SHOWN.values())
    for category, name in SHOWN.items():
        assert numbers(found[name]) == printed([each for each in reviews if each["category"] == category])


def test_llava_13b(cli, root: Path, tmp_path: Path) -> None:
    check(cli, root, tmp_path, "llava-v1.5-13b", 1)


@pytest.mark.slow
@pytest.mark.parametrize("model", PUBLISHED)
@pytest.mark.parametrize("run", (1, 2, 3))
def test_all_reviews(cli, root: Path, tmp_path: Path, model: str, run: int) -> None:
    check(cli, root, tmp_path, model, run)


def test_three_rounds_of_reviews_are_three_verdicts_a_doc(cli, root: Path, tmp_path: Path) -> None:
    """The mean pair of each doc is its value."""
    path = tmp_path / "three.yaml"
    path.write_text(f"include: {ROOT}/tasks/llava_bench/llava_in_the_wild.yaml\ntask: three\njudge: {{repeats: 3}}\n")
    rounds = [recorded("reviews", f"llava-v1.5-13b-eval{run}") for run in (1, 2, 3)]
    replies = [[review["content"] for review in each] for each in zip(*rounds, strict=True)]
    answers = [row["text"] for row in recorded("answers", "llava-v1.5-13b")]
    ran = replay_judged(cli, root, tmp_path, "three", answers, replies, "--include_path", tmp_path)
    assert ran.code == 0, ran.err
    assert numbers(ran.results["results"]["three"]) == printed([review for each in rounds for review in each])


@pytest.mark.parametrize(("model", "paper"), [("llava-v1.5-13b", 72.5), ("llava-v1.5-7b", 65.4)])
def test_the_paper_s_number_is_the_mean_of_three_rounds(model: str, paper: float) -> None:
    assert round(sum(PUBLISHED[model]) / 3, 1) == paper


def test_the_rule_is_the_authors() -> None:
    rules = RULES.json()
    for category in SHOWN:
        assert rules[category] == {"role": "Assistant", "prompt": RULE}
