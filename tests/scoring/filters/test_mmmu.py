"""MMMU's reading of answers: letters by three rules, random letters for the rest, and open answers."""

import random
from collections.abc import Sequence

import pytest
from mm_eval.tasks.rules.mmmu import (
    MMMULetterFilter,
    listed_options,
    mmmu_letter,
    natural_order,
    open_answer_is_right,
    open_answers,
)

from mm_eval.scoring.filters import FILTERS, TRUNCATED, UNPARSED, found_by
from mm_eval.scoring.filters.base import rule_of
from mm_eval.values.errors import ConfigError, DataError
from tests.sets import each_of

OPTIONS = ["cat", "dog", "bird", "fish"]
ANSWERS = [  # answer, MMMU, MMMU-Pro, lmms-eval; None: drawn at random
    ("B", "B", "B", "B"),
    ("The answer is (B).", "B", "B", "B"),
    ("B. cat", None, "B", "B"),
    ("B)", None, None, None),
    ("Answer: B because A is wrong", "A", "A", "A"),
    ("**B**", None, None, None),
    (r"\boxed{B}", None, None, None),
    ("b", None, None, None),
    ("(b)", None, None, None),
    ("A dog is shown in the picture", "A", "A", "A"),
    ("I think it is a bird because of the wings", "C", "C", "C"),
    ("I cannot answer this question, sorry about that", None, None, None),
    ("Between (A) and (B), I choose B", "B", "B", "B"),
    ("Both A and C are plausible", "C", "C", "C"),
    ("答案是B", None, "B", "B"),
    ("Option B", "B", "B", "B"),
    ("A or B?", "B", "B", "B"),
    ("So.\nAnswer: C because of CO2", "C", "C", "C"),
    ("A B C\nAnswer: D", "D", "D", "D"),
    ("Answer: Choice B", "B", "B", "B"),
    ("The cat, the dog, and the cat again are here", "A", "A", "A"),
    ("dog", None, None, None),
    ("E", None, None, None),
    ("", None, None, None),
]  # fmt: skip


@each_of(("answer", "mmmu", "pro", "lmms"), ANSWERS)
def test_the_letter_of_an_answer(answer: str, mmmu: str | None, pro: str | None, lmms: str | None) -> None:
    found = {rule: mmmu_letter(answer, OPTIONS, rule) for rule in ("mmmu", "mmmu_pro", "lmms")}
    assert {rule: letter for rule, (letter, _) in found.items()} == {"mmmu": mmmu, "mmmu_pro": pro, "lmms": lmms}
    for rule, (letter, name) in found.items():
        assert name == UNPARSED if letter is None else name.startswith(f"{rule}:")


@each_of(
    ("answer", "gold", "right"),
    [
        ("1,234.50", "1234.5", True),
        ("0.5", "1/2", False),
        (r"\boxed{\frac{1}{2}}", "0.5", False),
        ("Florida is a state", "Florida", False),
        ("The place is Florida", "Florida", True),
        ("It is MgSO4", "$MgS$", False),
        ("It is MgSO4", "MgS", True),
        ("not transformation", "transformation", True),
        ("1.06mm", "1.06", True),
        ("12.968", "12.97", True),
        ("x = 3.5", "3.5", True),
        ("3e2", "300", True),
        ("1,2", "1", False),
        ("C", "C", True),
        ("The answer is C", "C", True),
        ("Option C is right", "C", False),
        ("nan", "nan", False),
        ("25 %", "25", True),
        ("", "5", False),
    ],
)
def test_an_open_answer(answer: str, gold: str, right: bool) -> None:
    assert open_answer_is_right(answer, [gold]) is right


def test_any_of_several_golds_is_right() -> None:
    assert open_answer_is_right("It is 24/7", ["24/7", "3.429"])
    assert open_answer_is_right("3.43", ["24/7", "3.429"])
    assert not open_answer_is_right("3.4", ["24/7", "3.429"])


def test_the_tail_after_the_shortest_indicator_counts_and_equals_in_the_last_line_only() -> None:
    assert set(open_answers("so a = 3\nthe result is b = 4")) == {"a = 3", 3.0, 4.0}
    assert open_answers("the answer is :") == ["the answer is :"]


def drawn(ids: Sequence[str], **kwargs: object) -> dict[str, str]:
    """The letter that each doc gets for an answer without one."""
    filter_ = FILTERS.get("mmmu_letter")(**kwargs)
    found = filter_.apply([["?"]] * len(ids), [{"id": each, "options": str(OPTIONS)} for each in ids])
    letters = [answer for [answer] in found]
    assert {rule_of(letter) for letter in letters} == {UNPARSED}
    return dict(zip(ids, letters, strict=True))


def test_the_draws_follow_the_order_of_a_field_whatever_order_the_docs_have() -> None:
    ids = [f"validation_{subject}_{n}" for subject in ("Art", "Art_Theory", "Biology") for n in range(1, 12)]
    stream = random.Random(42)
    wanted = {each: stream.choice("ABCD") for each in ids}
    assert drawn(ids, order="id") == wanted
    shuffled = random.Random(1).sample(ids, len(ids))
    assert drawn(shuffled, order="id") == wanted
    assert list(drawn(shuffled).values()) == list(wanted.values())
    assert drawn(ids, seed=0) != wanted


def test_repeats_draw_from_streams_of_their_own_and_an_answer_cut_while_thinking_draws_nothing() -> None:
    docs = [{"options": OPTIONS}] * 3
    cut = found_by("", TRUNCATED)
    found = FILTERS.get("mmmu_letter")().apply([["?", "?"], [cut, "(B)"], ["?", "?"]], docs)
    stream = random.Random(42)
    first, second = stream.choice("ABCD"), stream.choice("ABCD")
    assert [list(answers) for answers in found] == [[first, first], ["", "B"], [second, second]]
    assert rule_of(found[1][0]) == TRUNCATED


def test_a_doc_without_options_keeps_its_answer() -> None:
    docs = [{"options": "[]"}, {"options": ""}, {"options": None}]
    found = FILTERS.get("mmmu_letter")().apply([["It is 5"], [" "], ["x"]], docs)
    assert [(answer, rule_of(answer)) for [answer] in found] == [
        ("It is 5", "mmmu:open"), (" ", UNPARSED), ("x", "mmmu:open")
    ]  # fmt: skip


def test_options_are_a_list_or_a_text_with_one() -> None:
    assert listed_options("['a', None, 'c', 'nan', '']") == ["a", "", "c"]
    assert listed_options(["a", 2]) == ["a", "2"]
    assert listed_options(None) == listed_options(" ") == listed_options("nan") == []
    with pytest.raises(DataError, match="must be a list, not"):
        listed_options("['a', 'b'")


def test_numbers_are_ordered_by_value() -> None:
    names = ["x_10", "x_2", "x_y_1", "a_3"]
    assert sorted(names, key=natural_order) == ["a_3", "x_2", "x_10", "x_y_1"]


def test_an_unknown_rule_is_an_error() -> None:
    with pytest.raises(ConfigError, match="mmmu_letter: rule"):
        FILTERS.get("mmmu_letter")(rule="other")


def test_a_long_answer_takes_time_in_proportion() -> None:
    import time

    start = time.process_time()
    for text in ("1" * 100_000 + "x", "is " * 50_000, "1,222," * 20_000, "A " * 50_000):
        mmmu_letter(text, OPTIONS, "mmmu_pro")
        open_answers(text)
    assert time.process_time() - start < 5


@pytest.mark.parametrize("rule", ["mmmu", "mmmu_pro", "lmms"])
def test_white_space_around_an_answer_hides_no_letter(rule: str) -> None:
    """A model often begins with a blank and ends with a newline; the benchmark's own runs strip both."""
    doc = {"options": repr(list(OPTIONS))}
    [[said]] = MMMULetterFilter(rule=rule).apply([[" B\n"]], [doc])
    assert said == "B" and said.rule.startswith(f"{rule}:")
