"""VizWiz-VQA: prompts, answers of ten people, unanswerable questions, categories."""

import pytest

from tests.tasks.made_up import ENDINGS, SHORT, MadeUp, categories, prompt

VIZWIZ = MadeUp("vizwiz_vqa_val", "lmms-lab/VizWiz-VQA", "val")
MISSING = "When the provided information is insufficient, respond with 'Unanswerable'."


@pytest.mark.parametrize(
    ("key", "ending"),
    [
        (None, f"\n{MISSING}{SHORT}"),
        ("internvl", f" {MISSING} {SHORT.strip()}"),
        ("qwen_vl", ENDINGS["qwen_vl"]),
        ("qwen3_custom", ENDINGS["qwen3_custom"]),
    ],
)
def test_the_prompt_of_each_model_family(cli, key: str | None, ending: str) -> None:
    assert prompt(cli, "vizwiz_vqa_val", key, 6) == "What's in this can? thank you." + ending


NONE = ["unanswerable"] * 10
SOUP = ["tomato soup"] * 5 + ["soup"] * 3 + ["food"] * 2
HARD = [
    (NONE, "Unanswerable", 1.0),
    (NONE, "unanswerable.", 1.0),
    (NONE, "I can't tell from this picture.", 0.0),
    (NONE, "Unsuitable image", 0.0),
    (NONE, "", 0.0),
    (SOUP, "Tomato Soup", 1.0),
    (SOUP, "the soup", 0.9),
    (SOUP, "food", 0.6),
    (SOUP, "Unanswerable", 0.0),
    (SOUP, "The answer is soup.", 0.0),
    (SOUP, "soup or food", 0.0),
    (SOUP, "番茄汤", 0.0),
    (SOUP, "<think>food?</think>tomato soup", 1.0),
    (SOUP, "<think>tomato soup", 0.0),
    (["2"] * 9 + ["3"], "two", 1.0),
]


def test_hard_answers(cli, tmp_path) -> None:
    docs = [{"answers": people} for people, _, _ in HARD]
    found = VIZWIZ.scores(cli, tmp_path, docs, [answer for _, answer, _ in HARD], "vqa_accuracy,none")
    assert found == [pytest.approx(score) for _, _, score in HARD]


def test_categories(cli, tmp_path) -> None:
    docs = [{"answers": NONE, "category": "unanswerable"}, {"answers": SOUP, "category": "other"}]
    ran = VIZWIZ.run(cli, tmp_path, docs, ["unanswerable"] * 2)
    assert ran.results["results"]["vizwiz_vqa_val"]["vqa_accuracy,none"] == 0.5
    found = categories(ran, "vizwiz_vqa_val", "category", "vqa_accuracy,none")
    assert found == {"other": 0, "unanswerable": 1}
