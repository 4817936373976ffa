"""MMHal-Bench: the question, the judge's prompt, which replies are ratings, and the rate of hallucinations."""

import pytest
from mm_eval.tasks.mmhal.utils import hallucination_rate, judge_prompt, verdict

from tests.tasks.made_up import prompt

DOC = {"question": "Is it day?", "image_content": ["Sun", "Sky"], "gt_answer": "Yes, it is day."}
READ = [
    ("Rating: 6, very informative with good analysis or reasoning, no hallucination", 6),
    ("The answer is right.\nRating: 4, somewhat informative, no hallucination", 4),
    ("rating: 0", 0),
    ("**Rating: 5**", 5),
    ("**Rating:** 5", 5),
    ("Rating: 3.", 3),
    ("- Rating: 2, very informative, with hallucination", 2),
    ("Rating:1", 1),
    ("I would say Rating: 4, and so Rating: 4, somewhat informative", 4),
    (
        "### Evaluation\n\nIt says that it is night.\n\n### Rating\n\nRating: 1, somewhat informative, with hallucination",
        1,
    ),
]
UNREAD = ["", "4", "It is 4.", "Rating 4", "Rating: 3 or Rating: 2", "Rating: 7", "Rating: 10", "Rating: 3.5", "Rating: -1",
          "Rating: four", "Rating:", "no hallucination", "Rating: 4/6 Rating: 5", "x rating: 60", "rating:" * 50_000]  # fmt: skip


def test_the_prompts(cli) -> None:
    assert prompt(cli, "mmhal") == "What colour are the letters of the sign?"
    assert prompt(cli, "mmhal", doc=7) == "How long is it until noon?"


def test_the_judge_reads_contents_question_and_both_answers() -> None:
    asked = judge_prompt(DOC, "It is night.")
    assert asked.startswith("Please act as an impartial and objective judge and evaluate the quality of the response")
    assert asked.count("### Example ") == 5 and asked.count("- Hallucination: Yes.\n") == 2
    assert asked.endswith(
        "- Rating: 0, not informative, with hallucination\n\n### Image Contents\nSun, Sky\n\n### Question\nIs it day?\n\n"
        "### Standard Human-Generated Answer\nYes, it is day.\n\n### LMM Response to Evaluate\nIt is night.\n"
    )


@pytest.mark.parametrize(("reply", "rating"), READ)
def test_a_rating_is_read(reply: str, rating: int) -> None:
    assert verdict(reply) == rating


@pytest.mark.parametrize("reply", UNREAD, ids=lambda reply: reply[:20])
def test_what_is_no_rating_is_not_read(reply: str) -> None:
    assert verdict(reply) is None


def test_a_rating_below_3_is_a_hallucination() -> None:
    assert hallucination_rate([0, 1, 2, 3, 4, 5, 6, 6]) == 3 / 8
