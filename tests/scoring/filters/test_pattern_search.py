"""A pattern of a task that never ends fails its document; the others are searched as `re` does, here or in the child process."""

import random
import re
import string

import pytest

from mm_eval.scoring.filters import pattern_search
from mm_eval.scoring.filters.base import build_filter_ensemble
from mm_eval.scoring.filters.pattern_search import search, steps
from mm_eval.values.errors import ScoringError
from tests.sets import each_of

USUAL = [
    r"#### (\-?[0-9\.\,]+)",
    "(-?[$0-9.,]{2,})|(-?[0-9]+)",
    r"(?s).*answer is: (\d)",
    r"(?i)answer:\s*([A-J])",
    r"\(([A-Z])\)",
    "(?:a|bc)+?d",
    "(x)?(y)",
    "a*",
    r"(\w)\1",
    r"(.*answer is )?\(([A-D])\)",
    r"(?:.*: )?(\d)",
    r"(?s)(?-s:.*)#(\d)",
    r"(.+: )(\d)",
]
ENDLESS = ["^(a+)+$", "^(a|a)*$", "^(a*)*$", r"^(\w+\s?)*$", "^((a+)*b?)*$", "(?:a?){40}a{40}$", "^(?:(?:a+)+)+$"]


@pytest.mark.parametrize("pattern", USUAL)
def test_a_usual_pattern_is_searched_here_and_gives_what_re_gives(
    pattern: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    compiled, stream = re.compile(pattern), random.Random(1)
    texts = [
        "".join(stream.choice(string.ascii_letters + "  $#()\n:.0123456789") for _ in range(300)) for _ in range(5)
    ]
    texts += ["so #### 1,200 and #### -3", "the answer is: 4\nThe ANSWER: B (C)", "", "bcabcd xy y aab \ud800é"]
    wanted = [[(m.span(), m.groups()) for m in compiled.finditer(text)] for text in texts]
    if pattern != "(?:a|bc)+?d":  # a repeated choice may take any time, as far as its form says
        monkeypatch.setattr(pattern_search._CHILD, "search", None)
    assert [[(m.span(), m.groups()) for m in search(compiled, text)] for text in texts] == wanted
    monkeypatch.undo()
    monkeypatch.setattr(pattern_search, "MOST_STEPS", -1)
    found = [[(m.span(), m.groups()) for m in search(compiled, text)] for text in texts]
    assert found == wanted


@each_of("pattern", ENDLESS)
def test_a_pattern_that_may_never_end_is_not_searched_here(pattern: str) -> None:
    assert steps(pattern, re.compile(pattern).flags, 60) > pattern_search.MOST_STEPS


@pytest.mark.full
def test_a_pattern_that_never_ends_fails_its_document_alone() -> None:
    ensemble = build_filter_ensemble("x", [("regex", {"regex_pattern": "^(a+)+$"})])
    stuck, whole, other = ensemble._isolated([["a" * 40 + "b"], ["aaa"], ["b"]], [{}, {}, {}])
    assert isinstance(stuck, ScoringError) and "41 characters" in str(stuck)
    assert (whole, other) == (["aaa"], ["[invalid]"])
