"""TempCompass: hard answers by its rules, the judge where they can't read one, and captions."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.tempcompass import judge, utils

from tests.sets import each_of
from tests.tasks.answers import answered, prompt
from tests.tasks.judged import judged

CHOICE = {"question": "What?\nA. up\nB. down", "answer": "B. down"}
YES_NO = {"question": "Is it up?", "answer": "no"}
CAPTION = {"question": "Which?\nOption 1: It goes up.\nOption 2: It goes down.", "answer": "Option 2: It goes down."}
LETTERED = {
    "question": "Which?\nSentence A: It goes up.\nSentence B: It goes down.",
    "answer": "Sentence B: It goes down.",
}
HARD = [
    (utils.choice_is_right, CHOICE, {
        "B": True, "B. down": True, "B.": True, "B) up": True, "A": False, "A. down": False, "D": False, "E": None, "(B)": None,
        "b": None, "down": None, "The answer is B.": None, "B down": None, "B and A": None, "**B**": None,
        "答案是B": None, "": None,
    }),
    (utils.yes_no_is_right, YES_NO, {
        "no": True, "No.": True, "NO, it is not": True, "yes": False, "Yes, no": False, "nothing moves": True, "yesterday": False,
        "It is no": None, "**No**": None, "不是": None, "I'm sorry": None, "": None,
    }),
    (utils.caption_is_right, CAPTION, {
        "Option 2": True, "2": True, "2.": True, "Option 2.": True, "It goes down.": True, "Option 2: It goes down.": True,
        "(2) It goes down.": True, "1": False, "It goes up.": False, "Option 2: It goes up.": None, "It goes down": None,
        "B": None, "option 2": None, "Caption 2": None, "": None,
    }),
    (utils.caption_is_right, LETTERED, {"B": True, "Sentence B": True, "A": False, "B)": None, "B) It goes down.": True}),
]  # fmt: skip


@each_of(("rule", "doc", "said"), HARD)
def test_hard_answers(rule: Callable[..., bool | None], doc: dict[str, str], said: dict[str, bool | None]) -> None:
    assert {answer: rule(answer, doc) for answer in said} == said


def test_the_judge_decides_what_the_rule_cannot_read(cli: Any, tmp_path: Path) -> None:
    gold = ["C. purple", "D", "A. no", "the second one", "", "x", "y", "z"]
    plain = answered(cli, tmp_path, "tempcompass_multi_choice", gold)
    by_rule = plain.results["results"]["tempcompass_multi_choice"]
    replies = [None, None, None, "Correct", None, "Incorrect", "It is Incorrect.", "Correct."]
    row = judged(cli, tmp_path, "tempcompass_multi_choice_judged", gold, replies).results["results"][
        "tempcompass_multi_choice_judged"
    ]
    assert by_rule["unparsed"] == 5 and row["acc,none"] == pytest.approx(by_rule["acc,none"] + 2 / 8)


def test_replies_of_the_judge() -> None:
    said = {
        "Correct": 1,
        "Correct, since Incorrect ones differ": None,
        "This is Correct": 1,
        "Not Correct but Incorrect": None,
        "Incorrect.": 0,
        "The model prediction is Incorrect.": 0,
        "Not Correct": None,
        "Partially Correct": None,
        "Correct, if the bird flies": None,
        'The QA model prediction is correct. She buys bread. So the response is "Correct".': 1,
        'It is incorrect. The correct answer is "B. left", not A. Therefore, the correct response is "Incorrect."': 0,
        "It is incorrect. The model prediction is correct. It is incorrect.": None,
        "It is correct. It is not what was asked. It is incorrect.": None,
        "It is correct, not incorrect. The bird flies. It is correct.": None,
        "It is incorrect. The correct answer is B.": None,
        "yes": None,
    }
    assert {reply: judge.correct(reply) for reply in said} == said
    captions = {
        "Answer: B. up": 1,
        "B. up": 1,
        "Answer: B": 0,
        "B. up or A. down": 0,
        "None of the choices are correct": 0,
        "": None,
    }
    assert {reply: judge.description_is_right(reply, {"mc_answer": "B. up"}) for reply in captions} == captions


def test_captions_have_no_number_without_a_judge(cli: Any, tmp_path: Path) -> None:
    ran = cli("--tasks", "tempcompass", "--model", "dummy", "--sample", "--no_judge")
    results = ran.results["results"]
    assert ran.code == 0 and "acc,none" not in results["tempcompass_captioning"]
    assert [results[f"tempcompass_{form}"]["n"] for form in ("multi_choice", "yes_no", "caption_matching")] == [8] * 3
    asked = judged(cli, tmp_path, "tempcompass_captioning", ["It moves."] * 8, ["Answer: A. moves up"] * 8)
    assert asked.samples("tempcompass_captioning")[0]["judge"]["prompt"][1]["content"][0]["text"].endswith(
        "```\n\nVideo Description:It moves.\nMulti-Choice Question:\n"
        + asked.samples("tempcompass_captioning")[0]["doc"]["mc_question"] + "\n"
    )  # fmt: skip


def test_prompts(cli: Any) -> None:
    assert prompt(cli, "tempcompass_yes_no").endswith("?\nPlease answer yes or no:")
    assert prompt(cli, "tempcompass_multi_choice").endswith("\nPlease directly give the best option:")
    assert prompt(cli, "tempcompass_captioning").endswith("Generated Caption:")
