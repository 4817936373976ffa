"""A test of many values in one tries each of them and names those that fail."""

import re
from pathlib import Path

import pytest

from tests.sets import each_of


def test_each_test_that_is_named_as_slow_is_there() -> None:
    root = Path(__file__).parent.parent
    for name in (root / "tests" / "slow.txt").read_text(encoding="utf-8").splitlines():
        file, _, test = name.partition("::")
        assert f"def {test.partition('[')[0]}(" in (root / file).read_text(encoding="utf-8"), name


@pytest.fixture(scope="module")
def least() -> int:
    return 2


@each_of("number", [3, 4])
@each_of("text, length", [("a", 1), ("bc", 2)], ids=["one", "two"])
def test_each_value_is_tried_beside_fixtures(text: str, length: int, number: int, least: int) -> None:
    assert len(text) == length < number > least


def test_all_that_fail_are_named_and_the_others_are_tried() -> None:
    tried = []

    @each_of("number, text", [(1, "a"), (2, "b"), (3, "c"), (4, "d")])
    def case(number: int, text: str) -> None:
        tried.append(number)
        if number == 4:
            pytest.fail(text)
        assert number != 2

    with pytest.raises(ExceptionGroup, match="2 of 4 cases") as caught:
        case()
    assert tried == [1, 2, 3, 4]
    assert [error.__notes__ for error in caught.value.exceptions] == [
        ["case 1: number=2, text='b'"],
        ["case 3: number=4, text='d'"],
    ]


def test_what_is_skipped_is_said_and_hides_no_failure() -> None:
    @each_of("number", [1, 2, 3])
    def case(number: int) -> None:
        assert number < limit
        if number != 2:
            pytest.skip("not here")

    limit = 4
    with pytest.raises(pytest.skip.Exception, match="2 of 3 cases: not here"):
        case()
    limit = 2
    with pytest.raises(ExceptionGroup, match="2 of 3 cases"):
        case()


def test_a_name_that_the_test_does_not_take_and_values_with_marks_are_refused() -> None:
    with pytest.raises(AssertionError, match="lacks {'other'}"):
        each_of("other", [1])(lambda number: None)
    with pytest.raises(AssertionError):
        each_of("number", [pytest.param(1, marks=pytest.mark.full)])
    with pytest.raises(AssertionError):
        each_of("number", [])


def test_the_recorded_runs_are_made_once_a_process() -> None:
    """A file that imports such a fixture has one of its own: the runs were made five times in each process."""
    folder = Path(__file__).parent
    imported = re.compile(r"from tests\.recorded import (?:\([^)]*|[^\n]*)\b(base|dummy_run|mme_rows|perfect|worse)\b")
    found = [path for path in folder.rglob("*.py") if imported.search(path.read_text(encoding="utf-8"))]
    assert found == [folder / "conftest.py"]
