"""ChartQAPro: prompts by type, lists, years, numbers and texts, the five types."""

from pathlib import Path

import pytest

from tests.tasks.made_up import MadeUp, prompt

CHARTQAPRO = MadeUp("chartqapro", "ahmed-masry/ChartQAPro", "test")
HARD = [  # right answer, year flag, answer, score: those of the authors' script
    ("100", "NO", "105", 1),
    ("100", "NO", "105.1", 0),
    ("0", "NO", "0.0", 1),
    ("0", "NO", "0.01", 0),
    ("25%", "NO", "25", 1),
    ("25%", "NO", "0.25", 0),
    ("2018", "YES", "2019", 0),
    ("2018", "NO", "2019", 1),
    ("2018", "YES", "2018.", 1),
    ("2018", "YES", "2018.0", 0),
    ("Kyoto", "NO", "kyoto.", 1),
    ("Kyoto", "NO", "Kyot", 0.8),
    ("Kyoto", "NO", "Tokyo", 0),
    ("abcd", "NO", "abxy", 0),
    ("True", "NO", "true", 1),
    ("True", "NO", "false", 0),
    ("b", "NO", "b) Oslo", 0),
    ("[Oslo, Kyoto]", "NO", "[Oslo, Kyoto]", 0),
    ("[Oslo, Kyoto]", "NO", "['Oslo', 'Kyoto']", 1),
    ("[Oslo, Kyoto]", "NO", "['Kyoto', 'Oslo']", 0),
    ("[Oslo, Kyoto]", "NO", "['Oslo']", 0.5),
    ("['2019', '2020']", "YES", "[2019, 2020, 2021]", 2 / 3),
    ("[5.5, 6]", "NO", "[5.4, 7]", 0.5),
    ("1,234", "NO", "1234", 0.8),
    ("Lima", "NO", "The answer is Lima.", 0),
    ("Lima", "NO", "", 0),
    ("unanswerable", "NO", "Unanswerable", 1),
    ("Lima", "NO", "I cannot tell.", 0),
    ("\u7ea2", "NO", "\u7ea2", 1),
    ("24", "NO", "<think>98 - 74 = 24</think>24", 1),
    ("24", "NO", "<think>98 - 74 = 24", 0),
]


def test_prompts_by_type(cli) -> None:
    factoid, letter, fact, talk = (prompt(cli, "chartqapro", doc=doc) for doc in (0, 5, 6, 9))
    assert factoid.startswith("You are given a factoid question that you need to answer")
    assert (
        "Your answer should be a single word, number, or phrase. If the question is" in factoid
        and "Do not generate units." in factoid
    )
    assert factoid.endswith("without any additional text!\nQuestion: Which city is the best?")
    assert "one of the options letters only" in letter and "units" not in letter
    assert fact.startswith("Oslo has winters with much snow.\nYou are given a fact statement")
    said = "['How many loaves of rye were sold?', '12.5K', 'And of wheat?', '15K']"
    assert talk.endswith(f"\nConversation: {said} Question: What is the difference?")


def test_hard_answers(cli, tmp_path: Path) -> None:
    docs = [{"Answer": [right], "Year": [year]} for right, year, _, _ in HARD]
    found = CHARTQAPRO.scores(cli, tmp_path, docs, [row[2] for row in HARD], "relaxed_accuracy,none")
    assert found == pytest.approx([score for _, _, _, score in HARD])


def test_the_last_answer_of_a_conversation_counts(cli, tmp_path: Path) -> None:
    """With its own flag for years."""
    talk = {"Question": ["a?", "b?"], "Answer": ["5", "2020"], "Question Type": "Conversational"}
    docs = [{**talk, "Year": ["NO", "YES"]}, {**talk, "Year": ["YES", "NO"]}]
    assert CHARTQAPRO.scores(cli, tmp_path, docs, ["2021", "2021"], "relaxed_accuracy,none") == [0, 1]
