"""MIA-Bench: the instruction, the judge's prompt for each number of components, and which replies are points."""

from pathlib import Path

import pytest
from mm_eval.tasks.mia_bench.utils import components_text, judge_prompt, verdict, weights_text
from PIL import Image

from tests.papers.judged import replay_judged
from tests.sets import each_of
from tests.tasks.made_up import categories, prompt

PICTURE = Image.new("RGB", (2, 2), "red")
DOC = {
    "image": PICTURE,
    "instruction": "Describe it in two sentences.",
    "components": ["Describe it", "in two sentences"],
    "component_weight": [6, 4],
    "component_type": ["describe", "length_limit"],
}
FULL = {"judge_score": 0.7, "describe": 0.5, "length_limit": 1.0}
READ = [
    "score of component 1: 3/6, score of component 2: 4/4, total score: 7/10. The answer is short.",
    "Score of Component 1: 3/6, Score of Component 2: 4/4, Total Score: 7/10",
    "**Score of component 1: 3/6**, **score of component 2: 4/4**, **total score: 7/10**.",
    "- Score of component 1: 3 / 6\n- Score of component 2: 4 / 4\n- Total score: 7 / 10\n\nIt has two sentences.",
    "component 1: 3.0/6, component 2: 4/4, total score: 7.0/10",
    "score of component 1: 3/6, score of component 2: 4/4, total score: 7/10. Then component 1: 0/6 would be too strict.",
]
ONE, TWO, ALL = "score of component 1: 3/6, ", "score of component 2: 4/4, ", "total score: 7/10"
UNREAD = [
    "",
    "7/10",
    ALL,
    ONE + ALL,
    ONE + TWO,
    TWO + ONE + ALL,
    ALL + ONE + TWO,
    ONE + "score of component 1: 4/6, " + TWO + ALL,
    ONE + TWO + "score of component 3: 0/2, " + ALL,
    ONE + "score of component 2: 4/0, " + ALL,
    ONE + TWO + "total score: 12/10",
    "score of component 1: 8/6, " + TWO + ALL,
    "score of component 1: x/6, score of component 2: y/4, total score: z/10",
    "component 1: 3 of 6, component 2: 4 of 4, total score: 7 of 10",
    "1" * 100_000,
]


def test_the_prompts(cli) -> None:
    assert prompt(cli, "mia_bench") == "Describe the picture."
    assert prompt(cli, "mia_bench", doc=1) == "Describe the chart in exactly two sentences."


def test_the_judge_gets_the_text_and_then_the_picture() -> None:
    (turn,) = judge_prompt(DOC, "A red square. It is small.")
    text, picture = turn["content"]
    assert turn["role"] == "user" and picture["type"] == "image"
    assert picture["image"].getpixel((0, 0)) == (255, 0, 0)
    assert text["text"] == (
        "Here is an instruction for a multimodal LLM: ' Describe it in two sentences. You need to grade if the response from the "
        "model follows each component of the instruction. The first component is:' Describe it', and the second component is:' "
        "in two sentences' The response is:' A red square. It is small.' You need to score the response and be strict. The total "
        "score ranges from 0 to 10, depending on if the response follows the instruction. The first and second component is each "
        "worth 6 and 4 scores. List scores of each component, and the total score in one sentence in this format: score of "
        "component 1: x/2, score of component 2: y/8, total score: z/10. Then explain your reasons."
    )


@each_of(
    ("weights", "sentence"),
    [
        ([10], "The first component is worth 10 scores."),
        ([6, 4], "The first and second component is each worth 6 and 4 scores."),
        ([4, 3, 3], "The first second, and third component is each worth 4, 3 and 3 scores."),
        ([3, 3, 2, 2], "The first second, third, and fourth component is each worth 3, 3, 2 and 2 scores."),
        ([2, 2, 2, 2, 2], "The first second, third, fourth and fifth component is each worth 2, 2, 2, 2 and 2 scores."),
    ],
)
def test_the_points_are_told_in_the_authors_words(weights: list[int], sentence: str) -> None:
    assert weights_text({"component_weight": weights}) == sentence
    told = components_text({"components": [f"c{weight}" for weight in weights]})
    assert told.startswith(f"The first component is:' c{weights[0]}'") and told.count("component is:'") == len(weights)


@each_of("reply", READ)
def test_points_are_read(reply: str) -> None:
    assert verdict(reply, DOC) == FULL


@each_of("reply", UNREAD, ids=lambda reply: reply[:40])
def test_what_is_not_all_points_is_not_read(reply: str) -> None:
    assert verdict(reply, DOC) is None


def test_the_stated_total_counts_and_the_last_component_of_a_type() -> None:
    doc = {**DOC, "component_type": ["describe", "describe"]}
    assert verdict("component 1: 6/6, component 2: 1/4, total score: 8/10", doc) == {
        "judge_score": 0.8,
        "describe": 0.25,
    }


def test_a_run_counts_the_types_of_components_that_a_doc_has(cli, tmp_path: Path) -> None:
    points = ["component 1: 5/10, total score: 5/10", "component 1: 3/6, component 2: 4/4, total score: 7/10"]
    replies = [*points, *["total score: 10/10"] * 6]
    ran = replay_judged(cli, None, tmp_path, "mia_bench", ["a"] * 7 + [""], replies)
    assert ran.code == 3
    row = ran.results["results"]["mia_bench"]
    assert row["judge_failed"] == 5
    assert row["judge_score,none"] == pytest.approx((0.5 + 0.7 + 0) / 3)
    assert row["judge_bounds"] == pytest.approx([1.2 / 8, 6.2 / 8])
    empty = ran.samples("mia_bench")[7]
    assert empty["scores"] == dict.fromkeys(
        (f"{name},none" for name in ("judge_score", *empty["doc"]["component_type"])), 0
    )
    docs = [row for row in ran.samples("mia_bench") if "describe,none" in row["scores"]]
    assert row["n_by_metric"]["describe,none"] == len(docs)
    assert row.get("perspective,none") is None  # of docs whose verdicts can't be read
    assert categories(ran, "mia_bench", "type", "judge_score,none")["basic"] == pytest.approx(0.6)
    asked = ran.samples("mia_bench")[1]["judge"]["prompt"]
    assert [part["type"] for part in asked[0]["content"]] == ["text", "image"]
