"""Counts and lists of names in sentences."""

import doctest

import mm_eval.values.words
from mm_eval.values.words import counted, listed, of_all


def test_the_examples_in_the_docstrings_hold() -> None:
    failed, tried = doctest.testmod(mm_eval.values.words)
    assert tried and not failed


def test_only_a_count_of_one_has_the_singular() -> None:
    assert [counted(n, "run") for n in (0, 1, 2, 4800)] == ["0 runs", "1 run", "2 runs", "4,800 runs"]
    assert [counted(n, "category", "categories") for n in (1, 2)] == ["1 category", "2 categories"]


def test_of_a_part_the_verb_agrees_with_the_part_and_the_noun_with_the_whole() -> None:
    said = [of_all(some, every, "document", "has", "have") for some, every in ((0, 3), (1, 3), (3, 3), (1, 1))]
    assert said == ["0 of 3 documents have", "1 of 3 documents has", "3 of 3 documents have", "1 of 1 document has"]


def test_a_list_is_cut_only_where_it_is_longer() -> None:
    assert listed("abc", 3) == "a, b, c" and listed("abcd", 3) == "a, b, c and 1 more" and listed([], 3) == ""
