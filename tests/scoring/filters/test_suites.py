"""The letter rules of VLMEvalKit and lmms-eval, on the answers that their own code was run on."""

import pytest
from mm_eval.tasks.rules.suite_letters import LetterRule, LmmsEvalLetterFilter, VlmEvalKitLetterFilter

from mm_eval.scoring.filters import UNPARSED, build_filter_ensemble, rule_of
from tests.sets import each_of

DOC = {"A": "cat", "B": "dog", "C": "bird", "D": "fish"}
TABLE = [  # answer, VLMEvalKit, lmms-eval; read by both suites' code (VLMEvalKit e8e78f05, lmms-eval 75571cfe)
    ("The answer is (B).", "B", "B"),
    ("B. dog", "B", "B"),
    ("B)", "B", "B"),
    ("Answer: B because A is wrong", None, "A"),
    ("**B**", "B", "B"),
    ("\\boxed{B}", "B", "B"),
    ("b", None, None),
    ("(b)", None, None),
    ("A dog is shown in the picture", None, "A"),
    ("I think it is a bird because of the wings", None, None),
    ("I cannot answer this question, sorry about that", None, None),
    ("Between (A) and (B), I choose B", None, "B"),
    ("Both A and C are plausible", None, "C"),
    ("答案是B", None, "B"),
    ("Option B", "B", "B"),
    ("the answer is **c**", "C", None),
    ("It is clearly D, and I looked at it twice", None, "D"),
    ("I'm sorry, but without the image provided I say B", None, "B"),
    ("Z", None, None),
    ("dog", "B", None),
    ("dog or fish", None, None),
    ("", None, None),
    ("A B", None, "A"),
    ("The answer is A and B is wrong", "A", "B"),
]


@each_of(("answer", "vlmevalkit", "lmms_eval"), TABLE)
def test_each_rule_reads_what_the_suite_reads(answer: str, vlmevalkit: str | None, lmms_eval: str | None) -> None:
    assert VlmEvalKitLetterFilter().read(answer, DOC) == vlmevalkit
    assert LmmsEvalLetterFilter().read(answer, DOC) == lmms_eval


@pytest.mark.parametrize("name", ["vlmevalkit_letter", "lmms_eval_letter"])
def test_the_filters_take_only_letters_of_options_that_exist_and_mark_the_rule(name: str) -> None:
    steps = build_filter_ensemble("none", [{"function": name, "choices": ["A", "B", "C", "D"]}])
    doc = {"A": "cat", "B": "dog", "C": "nan", "D": None}
    [found] = steps.chain([["B", "D", "none of them"]], [doc])
    assert found == ["B", None, None]
    assert [rule_of(answer) for answer in found] == [name, UNPARSED, UNPARSED]


@pytest.mark.parametrize("rule", [VlmEvalKitLetterFilter(letters="AB"), LmmsEvalLetterFilter(letters="AB")])
def test_without_choices_the_letters_are_those_given(rule: LetterRule) -> None:
    assert [list(found) for found in rule.apply([["B"], ["C"]], [{}, {}])] == [["B"], [None]]
