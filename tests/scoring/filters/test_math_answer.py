r"""math_answer: the final answer of a solution, in a box, after "answer", or as a short text whole."""

import time

from mm_eval.tasks.rules.math_answer import MathAnswerFilter

from mm_eval.scoring.filters import build_filter_ensemble, rule_of
from tests.sets import each_of

READ = [
    ("So we get \\boxed{\\frac{1}{2}}.", "\\frac{1}{2}", "boxed"),
    ("\\boxed{1}, no: \\boxed{2}", "2", "boxed"),
    ("$$\\boxed{ \\{1, 2\\} }$$", "\\{1, 2\\}", "boxed"),
    ("\\boxed 7", "7", "boxed"),
    ("\\fbox{A}", "A", "boxed"),
    ("\\boxed{4} or \\boxed{5", "4", "boxed"),
    ("It follows.\n\nAnswer: $\\frac{3}{4}$", "$\\frac{3}{4}$", "answer_is"),
    ("**Answer:** 12", "12", "answer_is"),
    ("The final answer is 3.5. I hope it is correct.", "3.5", "answer_is"),
    ("Final Answer: The final answer is $6$. I hope it is correct.", "$6$", "answer_is"),
    ("The answer is 3 at first. But the answer is 4.", "4", "answer_is"),
    ("The answer is 1,234.50", "1,234.50", "answer_is"),
    ("答案是 5。", "5", "answer_is"),
    ("42", "42", "whole_answer"),
    ("$x = 5$", "$x = 5$", "whole_answer"),
    ("25 %", "25 %", "whole_answer"),
]
UNREAD = [
    "",
    "\\boxed{}",
    "The answer is",
    "First we add 3 and 4.\nThen we take away 2.",
    "I can't say what " + "it is " * 20,
]


@each_of(("text", "answer", "rule"), READ)
def test_final_answers(text: str, answer: str, rule: str) -> None:
    found = MathAnswerFilter().one(text)
    assert (found, rule_of(found)) == (answer, rule)


@each_of("text", UNREAD)
def test_unparsed_solutions(text: str) -> None:
    found = MathAnswerFilter().one(text)
    assert found is None
    assert rule_of(found) == "unparsed"


def test_is_registered() -> None:
    assert build_filter_ensemble("none", [("math_answer", None)])


@each_of("text", ["answer is " * 20_000, "\\boxed{" * 30_000, "\\boxed" * 30_000, "9" * 200_000, ". " * 100_000])
def test_long_solutions_take_bounded_time(text: str) -> None:
    started = time.process_time()
    MathAnswerFilter().one(text)
    assert time.process_time() - started < 2
