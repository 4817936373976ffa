"""MMHal-Bench: the question, the judge's prompt, which replies are ratings, and the rate of hallucinations."""

import json
from pathlib import Path

import pytest
from mm_eval.tasks.mmhal.utils import hallucination_rate, judge_prompt, verdict
from PIL import Image

from tests.papers.judged import replay_judged
from tests.sets import each_of
from tests.tasks.made_up import categories, prompt

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
          "Rating: 3-4",
          "Rating: 0 or 1", "Rating: 3 – 4", "Rating: 3 to 4", "Rating: 3/6", "Rating: 3 out of 6", "Rating: 3, or maybe 4",
          "Rating: **3** or **4**",
          "Rating: 3 or four", "Rating: 3?", "Rating: 3~4", "Rating: 3,5", "Rating: 50%", "Rating: 3+", "Rating: 2 and a half",
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


@each_of(("reply", "rating"), READ)
def test_a_rating_is_read(reply: str, rating: int) -> None:
    assert verdict(reply) == rating


@each_of("reply", UNREAD, ids=lambda reply: reply[:20])
def test_what_is_no_rating_is_not_read(reply: str) -> None:
    assert verdict(reply) is None


def test_a_rating_below_3_is_a_hallucination() -> None:
    assert hallucination_rate([0, 1, 2, 3, 4, 5, 6, 6]) == 3 / 8


def test_a_run_gives_mean_rate_and_types(cli, tmp_path: Path) -> None:
    replies = [
        *(f"Rating: {rating}, as listed" for rating in (6, 5, 2, 0, 3)),
        "Rating: 3 or Rating: 4",
        "Rating: 1",
        "Rating: 9",
    ]
    ran = replay_judged(cli, None, tmp_path, "mmhal", ["an answer"] * 6 + ["", "an answer"], replies)
    assert ran.code == 3
    row = ran.results["results"]["mmhal"]
    assert row["judge_failed"] == 2
    assert row["judge_score,none"] == pytest.approx((6 + 5 + 2 + 0 + 3 + 0) / 6)
    assert row["hallucination_rate,none"] == pytest.approx(3 / 6)
    assert row["judge_bounds"] == pytest.approx([16 / 8, 28 / 8])
    found = categories(ran, "mmhal", "question_type", "judge_score,none")
    assert list(found)[:4] == ["object attribute", "adversarial object", "comparison", "counting"]
    assert found["spatial relation"] == 3 and found["environment"] is None


@pytest.mark.full
def test_the_authors_json_file_and_pictures_are_a_data_root(cli, tmp_path: Path) -> None:
    """As the task file says for the data of the hub."""
    folder = tmp_path / "Shengcao1006" / "MMHal-Bench"
    (folder / "images").mkdir(parents=True)
    Image.new("RGB", (8, 8), "red").save(folder / "images" / "a.jpg")
    row = {
        "question_type": "attribute",
        "question_topic": "indoor",
        "image_id": "a",
        "image_src": "https://x.example/a.jpg",
    }
    row |= {"question": "What colour is it?", "gt_answer": "It is red.", "model_answer": ""}
    rows = [{**row, "image_content": ["Square"], "image_path": "images/a.jpg"}] * 2
    (folder / "test.json").write_text(json.dumps(rows), encoding="utf-8")
    ran = replay_judged(cli, tmp_path, tmp_path / "out", "mmhal", ["Red.", "Blue."], ["Rating: 5", "Rating: 0"])
    assert ran.code == 0, ran.err
    result = ran.results["results"]["mmhal"]
    assert (result["judge_score,none"], result["hallucination_rate,none"]) == (2.5, 0.5)
    assert ran.samples("mmhal")[0]["images"]
