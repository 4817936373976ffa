"""MMLU-Pro: hard answers, and the prompt."""

from collections.abc import Callable
from pathlib import Path

from tests.conftest import Ran
from tests.tasks.of_sample import read_one_doc

FILE = "TIGER-Lab/MMLU-Pro/default/test-00000-of-00001.parquet"
ANSWERS = [  # answer, the letter that is read
    ("Only one fits. The answer is (E).", "E"),
    ("the answer is E", "E"),
    ("The answer is (E) and (B).", "E"),
    ("The answer is (B). No, the answer is (E).", "B"),  # the first one counts, as in the authors' script
    ("The answer is (J).", "J"),
    ("The answer is (K).", None),
    ("The answer is: (E).", None),
    ("The answer is **E**.", None),
    ("The answer is e.", None),
    ("The answer is Entropy.", "E"),  # their rule sees a letter here
    ("(E)", None),
    ("Answer: E", None),  # their later script reads this one
    ("La respuesta es (E).", None),
    ("I can't answer that.", None),
    ("<think>The answer is (B).</think>The answer is (E).", "E"),
    ("<think>The answer is (E).", None),  # thinking that never ends is no answer
    ("", None),
]


def test_hard_answers(cli: Callable[..., Ran], tmp_path: Path) -> None:
    answers = [answer for answer, _ in ANSWERS]
    ran = read_one_doc(cli, tmp_path, "mmlu_pro_biology", FILE, 0, answers)
    assert ran.code == 0, ran.err
    for row, (text, letter) in zip(ran.samples("mmlu_pro_biology"), ANSWERS, strict=True):
        assert row["filtered_resps"]["custom-extract"] == [letter or "[invalid]"], text
        assert row["scores"]["exact_match,custom-extract"] == (letter == row["target"]), text


def test_prompt(cli: Callable[..., Ran]) -> None:
    """The introduction, five worked examples of the category, and the question."""
    ran = cli("--tasks", "mmlu_pro_computer_science", "--model", "dummy", "--sample", "--limit", 1)
    prompt = ran.samples("mmlu_pro_computer_science")[0]["prompt"]
    assert prompt.startswith(
        "The following are multiple choice questions (with answers) about computer science. Think step by step and then finish"
        ' your answer with "the answer is (X)" where X is the correct letter choice.\nQuestion:\nWhich of these'
    )
    assert prompt.count("Question:\n") == 6 and prompt.count("Let's think step by step. Of these words, only") == 5
    assert ").\n\nQuestion:\n" in prompt and prompt.endswith("Answer: Let's think step by step.")
