"""MathVerse: the prompts of the versions, the two steps of its judge, and the number of each version."""

import json

import pytest
from mm_eval.tasks.mathverse.utils import compare_prompt, doc_to_text, extract_prompt, extraction, judgement

from tests.papers.recordings import write_answers
from tests.sets import each_of, few
from tests.tasks.answers import prompt
from tests.tasks.judged import JUDGE, judged

VERSIONS = ["text_dominant", "text_lite", "vision_intensive", "vision_dominant", "vision_only"]
TASKS = ["mathverse_testmini", *(f"mathverse_testmini_{version}" for version in VERSIONS)]
LETTER = "lease directly answer the question and provide the correct option letter, e.g., A, B, C, D."
ASKED = "How long is the side x?\nChoices:\nA:4\nB:5\nC:6\nD:7"
PROMPTS = {
    "text_dominant": f"P{LETTER}\nQuestion: The triangle has a right angle between sides of 3 and 4. {ASKED}",
    "text_lite": f"P{LETTER}\nQuestion: The triangle has a right angle. {ASKED}",
    "vision_intensive": f"P{LETTER}\nQuestion: {ASKED}",
    "vision_dominant": f"P{LETTER}\nQuestion: The triangle has a right angle. {ASKED}",
    "vision_only": f"According to the question shown in the image, p{LETTER}",
}
TEXT_ONLY = "mathverse_testmini_text_only"
DOC = {"question": "", "question_for_eval": "Find {x}.", "answer": "\\frac{1}{2}"}


@pytest.mark.parametrize("place", range(5))
def test_the_prompt_of_each_version(cli, place: int) -> None:
    text = PROMPTS[VERSIONS[place]]
    assert prompt(cli, TASKS[place + 1]) == text and prompt(cli, TASKS[0], doc=place) == text


def test_the_version_without_a_picture(cli) -> None:
    assert prompt(cli, TEXT_ONLY) == PROMPTS["text_dominant"]
    shown = [cli("show", task, "--sample", "--model", "dummy", "--doc", 0).out for task in (TEXT_ONLY, TASKS[1])]
    assert ["picture 0:" in each for each in shown] == [False, True]


@pytest.mark.parametrize(
    ("group", "versions"),
    few(
        [
            ("mathverse", VERSIONS),
            ("mathverse_testmini_text", ["text_lite", "text_dominant", "text_only"]),
            ("mathverse_testmini_vision", VERSIONS[2:]),
        ],
        at=[1],
    ),
)
def test_a_group_is_the_mean_over_the_questions_of_its_versions(cli, tmp_path, group: str, versions: list[str]) -> None:
    names = [f"mathverse_testmini_{version}" for version in versions]
    answers = write_answers(tmp_path / "answers.jsonl", {name: ["B", "12"] for name in names})
    rows = [
        {"task": f"{name}#judge{step}@{JUDGE}", "doc_id": doc_id, "resps": [reply]}
        for place, name in enumerate(names)
        for step, replies in (("", ["B", "12"]), ("2", ["1", str(int(place > 0))]))
        for doc_id, reply in enumerate(replies)
    ]
    replies = tmp_path / "replies.jsonl"
    replies.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = cli(
        *("--tasks", group, "--model", "replay", "--model_args", f"path={answers}", "--sample"),
        *("--judge", "replay", "--judge_args", f"path={replies},name={JUDGE}", "--output_path", tmp_path / "run"),
    )
    assert ran.code == 0, ran.err
    count = 2 * len(names)
    assert ran.results["groups"][group]["judge_score,none"] == pytest.approx((count - 1) / count)


def test_step_one_shows_the_end_of_an_answer() -> None:
    text = extract_prompt(DOC, " ".join(map(str, range(100))))
    assert text.startswith("I am providing you a response from a model to a math problem, termed 'Model Response'.")
    assert text.endswith("\n\n7.\n\nModel response: '" + " ".join(map(str, range(70, 100))) + "'\nExtracted Answer: ")


def test_step_two_shows_the_question_that_is_only_in_the_picture() -> None:
    text = compare_prompt(DOC, "{y} 0.5")
    assert text.startswith("Below are two answers to a math question.") and "2√{3}" in text
    assert text.endswith("[Question]: Find {x}.\n[Standard Answer]: \\frac{1}{2}\n[Model_answer] : {y} 0.5\nJudgement:")
    assert "[Question]: How?\n" in compare_prompt({"question": "How?", "answer": "1"}, "2")


@each_of(
    ("reply", "text"),
    [
        ("14", "14"),
        ("Extracted Answer: D", "D"),
        ("extracted answer:  22.3 ", "22.3"),
        ("null", "null"),
        ("Domain: (-3, 3]\nRange: (-4, 1]", "Domain: (-3, 3]\nRange: (-4, 1]"),
        ("", None),
        ("Extracted Answer:", None),
        (" \n", None),
    ],
)
def test_replies_of_step_one(reply: str, text: str | None) -> None:
    assert extraction(reply) == text


@each_of(
    ("reply", "value"),
    [
        ("1", 1),
        ("0", 0),
        (" 1\n", 1),
        ("Judgement: 0", 0),
        ("Judgement:1", 1),
        ("10", None),
        ("1 (consistent)", None),
        ("yes", None),
        ("0. There are 10 errors", None),
        ("Judgement: 0 or 1", None),
        ("1.0", None),
        ("-1", None),
        ("", None),
        ("incorrect (0 of 1)", None),
        ("one", None),
    ],
)
def test_replies_of_step_two(reply: str, value: float | None) -> None:
    assert judgement(reply) == value


def test_a_judged_run_by_hand(cli, tmp_path) -> None:
    answers = ["The answer is B."] * 5 + ["12"] * 5 + ["I see -3"] * 4 + [""] + ["D"] * 5
    first = ["B"] * 5 + ["12"] * 5 + ["-3"] * 4 + [None, *["D"] * 3, "", "null"]
    second = ["1", "0", "1", "1", "0", *["1"] * 5, *["0"] * 4, None, "1", "1", "both are 1 and 0", None, "0"]
    ran = judged(cli, tmp_path, TASKS[0], answers, first, second, code=3)
    row = ran.results["results"][TASKS[0]]
    assert row["judge_failed"] == 2  # one extraction, one comparison
    assert row["judge_score,none"] == pytest.approx(10 / 18) and row["judge_bounds"] == pytest.approx(
        [10 / 20, 12 / 20]
    )
    found = {
        name: each["judge_score,none"] for name, each in ran.results["categories"][TASKS[0]]["problem_version"].items()
    }
    assert list(found) == ["Text Dominant", "Text Lite", "Vision Intensive", "Vision Dominant", "Vision Only"]
    assert list(found.values()) == pytest.approx([3 / 4, 2 / 4, 2 / 3, 2 / 3, 1 / 4])
    assert [step["verdict"] for step in ran.samples(TASKS[0])[0]["judge"]] == ["B", 1]


@pytest.mark.parametrize("task", [*TASKS, TEXT_ONLY])
def test_its_examples_hold(cli, task: str) -> None:
    assert cli("validate", task, "--sample").code == 0


def test_the_prompts_of_families() -> None:
    asked = "According to the question shown in the image, please directly answer the question and give the letter."
    doc = {"query_wo": asked}
    assert doc_to_text(doc, {"left_out": "directly answer the question and "}).endswith(
        "image, please give the letter."
    )
    assert doc_to_text(doc, {"post_prompt": "\nShortly."}) == f"{asked}\nShortly."
    assert doc_to_text(
        {"query_wo": "Please directly answer the question and ..."}, {"left_out": "directly answer the question and "}
    ) == ("Please directly answer the question and ..."), "the kit takes the small letter only"
