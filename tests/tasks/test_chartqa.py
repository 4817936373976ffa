"""ChartQA: prompts, relaxed accuracy with its surprises, the two halves."""

import pytest

from tests.tasks.made_up import ENDINGS, MadeUp, categories, prompt

CHARTQA = MadeUp("chartqa", "lmms-lab/ChartQA", "test")
WORD = "\nAnswer the question with a single word."


@pytest.mark.parametrize(("key", "ending"), [(None, WORD), *{**ENDINGS, "llava": WORD}.items()])
def test_the_prompt_of_each_model_family(cli, key: str | None, ending: str) -> None:
    assert prompt(cli, "chartqa", key) == "Which city has the most trains on time?" + ending


HARD = [
    ("100", "105", 1),
    ("100", "105.1", 0),
    ("2010", "1950", 1),
    ("0", "0.0", 0),
    ("0%", "0", 0),
    ("25%", "25", 0),
    ("25%", "25%", 1),
    ("25%", "25 %", 1),
    ("25%", "0.25", 1),
    ("1234.5", "1,234.50", 0),
    ("1,234.50", "1,234.50", 1),
    ("12", "12.", 1),
    ("12%", "12%.", 0),
    ("5", ".5.", 0),
    ("Yes", "yes", 1),
    ("Yes", "Yes.", 0),
    ("Yes", "yes, there is no dog", 0),
    ("[2018, 2020]", "[2018, 2020]", 1),
    ("[2018, 2020]", "[2020, 2018]", 0),
    ("Lima", "The answer is Lima.", 0),
    ("0.5", "\\boxed{\\frac{1}{2}}", 0),
    ("红", "红", 1),
    ("24", "I cannot tell.", 0),
    ("24", "<think>98 - 74 = 24</think>\n24", 1),
    ("24", "<think>98 - 74 = 24", 0),
]


def test_hard_answers(cli, tmp_path) -> None:
    docs = [{"answer": gold} for gold, _, _ in HARD]
    found = CHARTQA.scores(cli, tmp_path, docs, [answer for _, answer, _ in HARD], "relaxed_accuracy,none")
    assert found == [score for _, _, score in HARD]


def test_overall_human_and_augmented(cli, tmp_path) -> None:
    docs = [{"answer": "10", "type": kind} for kind in ("human_test", "human_test", "human_test", "augmented_test")]
    ran = CHARTQA.run(cli, tmp_path, docs, ["10", "11", "9.5", "10"])
    assert ran.results["results"]["chartqa"]["relaxed_accuracy,none"] == pytest.approx(3 / 4)
    halves = categories(ran, "chartqa", "split", "relaxed_accuracy,none")
    assert list(halves) == ["human", "augmented"]
    assert halves == {"human": pytest.approx(2 / 3), "augmented": 1}
    assert categories(ran, "chartqa", "split", "n") == {"human": 3, "augmented": 1}
