"""LLaVA-Bench: the questions, the judge's prompt in both orders, which replies are two scores, and the relative score."""

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from mm_eval.tasks.llava_bench.utils import gpt_score, judge_prompt, own_score, reference, relative, verdict

from tests.papers.judged import replay_judged
from tests.sets import each_of, few
from tests.tasks.made_up import categories, prompt
from tests.tasks.of_sample import DATA

DOC = {"question": "When does it close?", "caption": "A sign.", "gpt_answer": "At 18.", "category": "conv"}
READ = [
    ("8 7", [8, 7]),
    ("9 8.5\nAssistant 1 is better.", [9, 8.5]),
    ("10, 9", [10, 9]),
    ("10,9", [10, 9]),
    ("7.5 10", [7.5, 10]),
    ("**8 7**\n\nBoth", [8, 7]),
    ("\n 8 7 \n", [8, 7]),
    ("1 1", [1, 1]),
    ("10.0 10.0", [10, 10]),
    ("8  7", [8, 7]),
]
UNREAD = ["", "8", "8 7 6", "0 8", "8 11", "-1 -1", "Assistant 1: 8, Assistant 2: 6", "8/10 7/10", "8 of 10", "eight seven",
          "Scores: 8 7", "Here are the scores\n8 7", "8\n7", "87", "8.5.1 7", "٨ ٧", "I can't compare them.", "8" * 100_000,
          " ".join("8" * 100_000)]  # fmt: skip


def test_the_prompts(cli) -> None:
    question = "When does the cafe close?"
    for task in ("llava_in_the_wild", "llava_bench_coco"):
        assert prompt(cli, task) == question
        assert prompt(cli, task, "internvl") == f"{question}\nAnswer this question in detail."


def test_the_judge_reads_the_description_and_both_answers() -> None:
    system, user = judge_prompt(DOC, "At six.")
    assert system == {
        "role": "system",
        "content": "You are a helpful and precise assistant for checking the quality of the answer.",
    }
    assert user["role"] == "user"
    start = "[Context]\nA sign.\n\n[Question]\nWhen does it close?\n\n[Assistant 1]\nAt 18.\n\n[End of Assistant 1]\n\n"
    assert user["content"].startswith(
        f"{start}[Assistant 2]\nAt six.\n\n[End of Assistant 2]\n\n[System]\nWe would like to"
    )
    assert user["content"].endswith("were presented does not affect your judgment.\n\n")


def test_a_swapped_prompt_has_the_answers_in_the_other_order_and_nothing_else() -> None:
    kept, swapped = (judge_prompt(DOC, "At six.", swapped)[1]["content"] for swapped in (False, True))
    assert kept != swapped
    assert swapped == kept.replace("At 18.", "#").replace("At six.", "At 18.").replace("#", "At six.")
    assert verdict("8 3\nThe first", swapped=True) == [3, 8]


def test_several_captions_are_lines_and_coco_has_another_column_for_gpt_s_answer() -> None:
    doc = {"question": "Q", "caption": ["one", "two"], "answer": "A"}
    assert reference(doc) == "A"
    assert judge_prompt(doc, "B")[1]["content"].startswith("[Context]\none\ntwo\n\n[Question]\nQ\n\n[Assistant 1]\nA\n")


@each_of(("reply", "scores"), READ)
def test_two_scores_are_read(reply: str, scores: list[float]) -> None:
    assert verdict(reply) == scores


@each_of("reply", UNREAD, ids=lambda reply: reply[:20])
def test_what_is_not_two_scores_is_not_read(reply: str) -> None:
    assert verdict(reply) is None


def test_the_relative_score_is_a_ratio_of_means_and_not_a_mean_of_ratios() -> None:
    pairs = [[10, 5], [5, 5]]
    assert relative(pairs) == pytest.approx(100 * 10 / 15)
    assert (own_score(pairs), gpt_score(pairs)) == (50, 75)


@pytest.mark.parametrize("task", few(["llava_in_the_wild", "llava_bench_coco"], at=[1]))
def test_a_run_gives_the_three_numbers_of_each_category(cli, tmp_path: Path, task: str) -> None:
    """The sample has 4 questions of a conversation, 3 for details, and 4 of reasoning."""
    kinds = [row["category"] for row in sample_rows(task)]
    replies = [{"conv": "10 5", "detail": "8 8", "complex": "8 4"}[kind] for kind in kinds]
    ran = replay_judged(cli, None, tmp_path / "one", task, ["an answer"] * len(kinds), replies)
    assert ran.code == 0, ran.err
    row = ran.results["results"][task]
    gpt, own = 10 * 4 + 8 * 3 + 8 * 4, 5 * 4 + 8 * 3 + 4 * 4
    assert row["judge_score,none"] == pytest.approx(100 * round(own / 11, 3) / round(gpt / 11, 3))
    assert (row["gpt_score,none"], row["own_score,none"]) == pytest.approx(
        (10 * round(gpt / 11, 3), 10 * round(own / 11, 3))
    )
    assert row["judge_score_stderr,none"] > 0
    relative = {"conversation": 50.0, "detail": 100.0, "reasoning": 50.0}
    assert categories(ran, task, "category", "judge_score,none") == relative
    answers = ["", *["an answer"] * 10]
    ran = replay_judged(cli, None, tmp_path / "two", task, answers, ["-1 -1"] * 11)
    row = ran.results["results"][task]
    assert ran.code == 3 and row["judge_failed"] == 10
    assert row["judge_score,none"] == 10  # of the empty answer: the worst pair of the scale
    assert ran.results["higher_is_better"][task]["gpt_score"] is None, "it is no score of the model, and 100 here"
    low, high = row["judge_bounds"]
    assert low == 10 and high > 400


def sample_rows(task: str) -> list[dict[str, Any]]:
    """The docs of the bundled sample."""
    folder = {"llava_in_the_wild": "llava-bench-in-the-wild", "llava_bench_coco": "llava-bench-coco"}[task]
    return pq.read_table(DATA / "lmms-lab" / folder / "default" / "train-00000-of-00001.parquet").to_pylist()
