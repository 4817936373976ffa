"""TempCompass: the rules and the judge's replies of three recorded runs give the recorded ratings.

All 22,620 rows are replayed through the task's own functions.
"""

from typing import Any

import pytest
from mm_eval.tasks.tempcompass import judge, utils

from tests.papers.recordings import Recording
from tests.sets import each_of

REPOSITORY, COMMIT = "llyx97/TempCompass", "e1b463166400633e6061962d890a9ae85db29f70"
FORMS = ("multi-choice", "yes_no", "caption_matching", "captioning")
RULES = (utils.choice_is_right, utils.yes_no_is_right, utils.caption_is_right)
RIGHT = {  # ratings of 1 and, of the first three forms, answers that the rule can read
    "video-llava": ((720, 1580), (1383, 2453), (952, 1496), (698, 0)),
    "gemini": ((1010, 1458), (1725, 2438), (1164, 1353), (1160, 0)),
    "reka-core-20240501": ((965, 1058), (1598, 2453), (1113, 852), (1173, 0)),
}
SIZES = (1580, 2453, 1503, 2004)
RESULTS = {
    (model, form): Recording(REPOSITORY, COMMIT, f"auto_eval_results/{model}/{form}.json")
    for model in RIGHT
    for form in FORMS
}


def rows(model: str, form: str) -> list[dict[str, Any]]:
    return [row for video in RESULTS[model, form].json().values() for aspect in video.values() for row in aspect]


@each_of("model", RIGHT)
@each_of("form", range(3))
def test_recorded_answers_are_rated_as_recorded(model: str, form: int) -> None:
    right, read = 0, 0
    recorded = rows(model, FORMS[form])
    for row in recorded:
        doc = {"question": row["question"], "answer": row["gt-answer"]}
        said = row["video-llm-prediction"]
        rating = RULES[form](said.strip(), doc) if said else None
        assert (rating is not None) == row["match_success"] or said != said.strip(), "the script strips them today"
        read += bool(row["match_success"])
        if rating is None:
            rating = bool(said) and judge.correct(row["chatgpt-response"])
        assert rating == row["rating"], row
        right += bool(rating)
    assert (right, read) == RIGHT[model][form] and len(recorded) == SIZES[form]


@pytest.mark.parametrize("model", RIGHT)
def test_recorded_captions_are_rated_as_recorded(model: str) -> None:
    recorded = rows(model, "captioning")
    for row in recorded:
        reply = row.get("chatgpt-answer")
        rating = judge.description_is_right(f"Answer: {reply}", {"mc_answer": row["gt-answer"]}) if reply else 0
        assert rating == row["rating"], row
    assert sum(row["rating"] for row in recorded) == RIGHT[model][3][0] and len(recorded) == SIZES[3]
