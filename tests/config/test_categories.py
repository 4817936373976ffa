"""The key `categories` of a task file: what is accepted, what a doc's categories are, and what is said about each mistake."""

import math
from collections.abc import Callable
from pathlib import Path

import pytest

from mm_eval.config.categories import levels_of
from mm_eval.config.manager import TaskManager
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.values.errors import ConfigError, DataError
from tests.sets import each_of

LONG = """
categories:
  - column: question_type_id
    name: question type
    names: {1: Scene Understanding, 2: Instance Identity}
  - {column: metadata.skills}
"""


def load(write: Callable[..., Path], manager: Callable[[], TaskManager], more: str):
    write("t.yaml", more, task="t")
    return manager().load("t").tasks["t"]


def level(**entry):
    return levels_of([entry])[0]


def test_levels_have_names_and_lines(write, manager) -> None:
    config = load(write, manager, LONG)
    assert [found.name for found in config.category_levels] == ["question type", "skills"]
    assert config.category_levels[0].where.endswith("t.yaml:12")
    assert config.to_json()["categories"][0]["names"] == {"1": "Scene Understanding", "2": "Instance Identity"}


def test_a_function_gives_its_name_to_its_level(write, manager) -> None:
    write("utils.py", "def length(doc):\n    return len(doc['question'])\n")
    config = load(write, manager, "categories: [{column: !function utils.length}]")
    [found] = config.resolved(FOREIGN_CODE).category_levels
    assert found.name == "length" and found.of({"question": "abc"}) == ["3"]


def test_null_or_an_empty_list_is_no_level(write, manager) -> None:
    assert load(write, manager, "categories: null").category_levels == []
    assert load(write, manager, "categories: []").category_levels == []


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{colum: kind}", "12: unknown key 'colum' in an entry of categories. Did you mean 'column'?"),
        ("{column: kind, full_docs: true}", "12: unknown key 'full_docs' in an entry of categories."),
        ("{name: kind}", "12: each entry of categories needs a `column`"),
        ("{column: 3}", "12: each entry of categories needs a `column`"),
        ("{column: kind, name: 3}", "12: the `name` of a level of categories must be a text, not 3."),
        ("{column: kind, names: [a, b]}", "12: `names` of categories must map values to names"),
        ("{column: kind, names: {1: }}", "12: `names` of categories must map values to names"),
        (
            "{column: other.subject}",
            "12: two levels of categories are named 'subject'. Give one of them another `name`.",
        ),
        ("{column: !function utils.kindd}", "12: "),
    ],
)
def test_a_wrong_entry_is_an_error_with_its_line(write, manager, entry: str, said: str) -> None:
    write("utils.py", "def kind(doc):\n    return 1\n")
    with pytest.raises(ConfigError) as error:
        load(write, manager, f"categories:\n  - {{column: subject}}\n  - {entry}\n")
    assert f"t.yaml:{said}" in str(error.value)


def test_all_faults_are_reported_together(write, manager) -> None:
    with pytest.raises(ConfigError) as error:
        load(write, manager, "categories:\n  - {colum: a}\n  - {column: b, nam: c}\n")
    assert "t.yaml:11: " in str(error.value) and "t.yaml:12: " in str(error.value)


def test_it_must_be_a_list_of_mappings(write, manager) -> None:
    with pytest.raises(ConfigError, match="'categories' must be a list of mappings"):
        load(write, manager, "categories: question_type_id")


@each_of(
    ("value", "shown"),
    [
        (1, ["one"]), (1.0, ["one"]), ("1", ["one"]), (2, ["2"]), (2.5, ["2.5"]), ("text ", ["text"]), (True, ["True"]),
        (None, []), (math.nan, []), ("", []), (" ", []), ([], []),
        (["b", None, "a", "b"], ["b", "a"]), ([[1], [2]], ["one", "2"]),
        ({"b", "a"}, ["a", "b"]), (("x",), ["x"]),
    ],
)  # fmt: skip
def test_values_as_they_are_shown(value, shown) -> None:
    assert level(column="c", names={1: "one"}).of({"c": value}) == shown


def test_several_values_may_share_a_name() -> None:
    found = level(column="subject", name="discipline", names={"Art": "Art", "Music": "Art", "Biology": "Science"})
    assert found.of({"subject": ["Art", "Music"]}) == ["Art"]
    assert found.in_order(["Science", "Sport", "Art"]) == ["Art", "Science", "Sport"]


def test_a_path_goes_into_structs_and_lists_of_them() -> None:
    skills = level(column="metadata.skills")
    assert skills.of({"metadata": {"skills": ["see", "count"]}}) == ["see", "count"]
    assert skills.of({"metadata": None}) == [] and skills.of({"metadata.skills": "dotted"}) == ["dotted"]
    assert skills.of({"metadata": [{"skills": "see"}, {"skills": None}, {"skills": ["count"]}]}) == ["see", "count"]


@each_of(
    ("column", "doc", "said"),
    [
        ("kidn", {"kind": 1}, "Did you mean 'kind'"),
        ("a.kidn", {"a": {"kind": 1}}, "Did you mean 'kind'"),
        ("a.b", {"a": "text"}, "which the documents lack"),
        ("a", {"a": {"b": 1}}, "Name a part of it: 'a.b'."),
    ],
)
def test_a_column_that_does_not_fit_the_doc(column: str, doc, said: str) -> None:
    with pytest.raises(DataError) as error:
        level(column=column).of(doc)
    assert said in str(error.value)


def test_the_order_is_that_of_names_then_numbers_by_size_or_texts_naturally() -> None:
    assert level(column="c").in_order(["10", "9", "-1", "0.5"]) == ["-1", "0.5", "9", "10"]
    assert level(column="c").in_order(["q10", "Q2", "a", "10", "B"]) == ["10", "a", "B", "Q2", "q10"]
    assert level(column="c", names={"z": "Last", "a": "First"}).in_order(["b", "First", "Last"]) == [
        "Last",
        "First",
        "b",
    ]


def test_categories_change_no_digest_and_no_request(write, manager) -> None:
    without = load(write, manager, "metadata: {version: 1}")
    found = load(
        write, manager, LONG + "metadata: {version: 1, paper: x, metric: acc}\naliases: [u]\ngold_answer: answer\n"
    )
    assert found.digest() == without.digest()
    assert load(write, manager, "metadata: {version: 2}").digest() != without.digest()
