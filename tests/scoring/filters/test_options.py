"""The options of a multiple-choice doc and the prompt text with them."""

import math

import pytest

from mm_eval.scoring.filters.options import by_letter, is_missing, lettered, options_of, question_with_options
from mm_eval.values.errors import DataError


def test_options_that_are_null_blank_or_nan_do_not_exist() -> None:
    assert [is_missing(text) for text in (None, "", " ", "nan", math.nan, "0", 0, "NaN-like")] == [True] * 5 + [
        False
    ] * 3
    assert by_letter(["cat", None, "dog", "nan"]) == {"A": "cat", "C": "dog"}
    assert lettered({"B": "dog", "C": ""}, "({letter}) {option}") == "(B) dog"


def test_the_options_of_a_doc_come_from_one_field_or_several() -> None:
    assert options_of({"o": "['cat', 'it\\'s 5']"}, "o", "t") == {"A": "cat", "B": "it's 5"}
    assert options_of({"o": {"text": ["cat"], "label": ["A"]}}, "o", "t") == {"A": "cat"}
    assert options_of({"A": "cat", "B": None, "C": "dog"}, ["A", "B", "C"], "t") == {"A": "cat", "C": "dog"}
    with pytest.raises(DataError, match="no field 'D'"):
        options_of({"A": "cat"}, ["A", "D"], "t")
    with pytest.raises(DataError, match="must be a list"):
        options_of({"o": "cat"}, "o", "t")


def test_a_prompt_has_hint_question_options_and_instruction() -> None:
    block = {
        "hint": "Hint: ",
        "pre_prompt": "Q: ",
        "options": "Options:\n",
        "post_prompt": "Letter.",
        "post_prompt_chinese": "字母。",
    }
    assert question_with_options("Which?", ["cat", "dog"], block, "look") == (
        "Hint: look\nQ: Which?\nOptions:\nA. cat\nB. dog\nLetter."
    )
    assert question_with_options("哪个？", ["cat"], block, "nan") == "Q: 哪个？\nOptions:\nA. cat\n字母。"
    assert question_with_options("Why?", [None], {}) == "Why?\n"
