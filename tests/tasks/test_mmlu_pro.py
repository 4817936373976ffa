"""MMLU-Pro: the prompt with worked examples of the category, the letter by the authors' three stages, the mean over questions."""

from pathlib import Path

import pytest

from mm_eval.config.manager import TaskManager
from tests.tasks.answers import answered
from tests.tasks.made_up import MadeUp, prompt

HARD = [  # what is said of the right letter B, score by the authors' rule, score by lm-eval's
    ("22 and 42 are 64. The answer is (B).", 1, 1),
    ("the answer is B", 1, 1),
    ("The answer is (C). No: the answer is (B).", 0, 0),
    ("answer is (B) or (C)", 1, 1),
    ("The answer is (b).", 0, 0),
    ("The answer is: (B)", 1, 0),
    ("The answer is **B**", 1, 0),
    ("Answer: B", 1, 0),
    ("A is wrong.\nanswer: C, or rather answer: B\nAnswer: D", 1, 0),  # the last one of the first line that has it
    ("**B**", 1, 0),
    ("\\boxed{B}", 1, 0),
    ("(B) 64", 1, 0),
    ("B", 1, 0),
    ("C? No, B.", 1, 0),
    ("B, not C", 0, 0),  # the last letter on its own
    ("BC", 0, 0),
    ("", 0, 0),
    ("You can't answer this.", 0, 0),
    ("I can't answer this.", 0, 0),
    ("\u7b54\u6848\u662fB", 0, 0),
    ("<think>answer is (B)", 0, 0),
    ("<think>answer is (C)?</think>The answer is (B).", 1, 1),
]


def test_the_prompt(cli) -> None:
    text = prompt(cli, "mmlu_pro_law", doc=1)
    assert text.startswith(
        "The following are multiple choice questions (with answers) about law. Think step by step and then"
    )
    assert text.count("contracts are there now?\nOptions:\nA. ") == 6
    assert "Answer: Let's think step by step. 7 and 35 are 42. The answer is (E).\n\nQuestion:\n" in text
    assert text.endswith("Options:\nA. 59\nB. 64\nC. 68\nD. 70\nAnswer: Let's think step by step.")


def test_hard_answers(cli, tmp_path: Path) -> None:
    law = MadeUp("mmlu_pro_law", "TIGER-Lab/MMLU-Pro", "test")
    docs = [{"category": "law", "answer": "B"}] * len(HARD)
    ran = law.run(cli, tmp_path, docs, [answer for answer, *_ in HARD], options=("--num_fewshot", 0))
    found = [row["scores"]["exact_match,custom-extract"] for row in ran.samples("mmlu_pro_law")]
    assert found == [score for _, score, _ in HARD]


@pytest.mark.full
def test_the_rule_of_lm_eval_has_its_own_name(cli, tmp_path: Path) -> None:
    said = {name: ["B", "The answer is (B)."] for name in TaskManager().load(["mmlu_pro"]).tasks}
    ran = answered(cli, tmp_path, "mmlu_pro_lm_eval", said)
    for name in said:
        assert [row["filtered_resps"]["custom-extract"] for row in ran.samples(name)] == [["[invalid]"], ["B"]]


def test_a_long_answer_without_a_letter_is_read_in_linear_time() -> None:
    from mm_eval.tasks.mmlu_pro.utils import AuthorsLetter

    assert AuthorsLetter().one("no letter, " * 100_000) is None
    assert AuthorsLetter().one("A b " * 250_000) == "A"  # re.search with the script's own pattern takes hours


@pytest.mark.full
def test_the_group_weighs_questions_and_has_14_categories(cli, tmp_path: Path) -> None:
    names = list(TaskManager().load(["mmlu_pro"]).tasks)
    assert len(names) == 14
    said = {name: ["no", "no"] for name in names} | {"mmlu_pro_law": ["no", "The answer is (B)."]}
    ran = answered(cli, tmp_path, "mmlu_pro", said)
    assert ran.results["results"]["mmlu_pro_law"]["exact_match,custom-extract"] == 0.5
    group = {**ran.results.get("groups", {}), **ran.results["results"]}["mmlu_pro"]
    assert group["exact_match,custom-extract"] == pytest.approx(1 / 28)
