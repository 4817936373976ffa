"""POPE's and VLMEvalKit's rules for yes and no, exactly as published, also where they surprise."""

from mm_eval.tasks.rules.yes_no import PopeYesNoFilter, YesNoWordsFilter, without_punctuation

from mm_eval.scoring.filters import FilterEnsemble, rule_of
from mm_eval.scoring.filters.transformation import StripThinkingFilter
from tests.sets import each_of

HARD = [
    # answer, POPE's reading and whether it counts as unparsed, VLMEvalKit's reading
    ("Yes", "yes", False, "yes"),
    ("no", "no", False, "no"),
    ("No.", "no", False, "no"),
    ("Yes.", "yes", False, "yes"),
    ("Yes, there is a dog.", "yes", False, "yes"),
    ("Yes, there is no dog", "no", False, None),
    ("No, there is not a dog in the image.", "no", False, "no"),
    ("There is no dog", "no", False, "no"),
    ("There is nothing", "yes", True, None),
    ("Not really", "yes", False, None),
    ("NO", "yes", False, "no"),
    ("no!", "yes", False, "no"),
    ("\nNo", "yes", False, "no"),
    ('"No"', "yes", False, "no"),
    ("", "yes", True, None),
    ("I cannot tell", "yes", True, None),
    ("Yes. No.", "yes", False, None),
    ("The answer is yes, not no", "no", False, None),
    ("The statement is correct", "yes", True, None),
    ("Yesterday", "yes", True, None),
    ("**No**", "yes", False, None),
    ("Answer: no", "no", False, "no"),
    ("Yes: a dog", "yes", False, None),
    ("\\boxed{No}", "yes", False, "no"),
    ("Sorry, I do not know.", "no", False, None),
    ("没有", "yes", True, None),
    ("I see 1,000 dogs.Yes", "yes", False, None),
    ("(no)", "yes", False, "no"),
    ("yes/no", "yes", False, None),
]


@each_of(("answer", "pope", "unparsed", "words"), HARD)
def test_hard_answers(answer: str, pope: str, unparsed: bool, words: str | None) -> None:
    found = PopeYesNoFilter().one(answer)
    assert (found, rule_of(found) == "unparsed") == (pope, unparsed)
    assert YesNoWordsFilter().one(answer) == words


def test_a_comma_between_digits_deletes_every_mark() -> None:
    assert without_punctuation("no/yes") == "no yes"
    assert without_punctuation("no/yes 1,000") == "noyes 1000"
    assert without_punctuation("no- yes-") == "no yes"
    assert without_punctuation("1.5 is a.b.") == "1.5 is ab"


def test_only_32_full_stops_are_deleted() -> None:
    assert YesNoWordsFilter().one("a." * 31 + " yes.") == "yes"
    assert YesNoWordsFilter().one("a." * 32 + " yes.") is None


def test_unclosed_thinking_is_no_answer() -> None:
    chain = FilterEnsemble("none", [StripThinkingFilter, PopeYesNoFilter])
    [[cut], [closed]] = chain.chain([["<think>There is no dog"], ["<think>no</think>Yes"]], [{}, {}])
    assert cut is None and closed == "yes"
    words = FilterEnsemble("none", [StripThinkingFilter, YesNoWordsFilter])
    assert words.chain([["<think>no"]], [{}]) == [[None]]


def test_a_fallback_is_marked_as_unparsed() -> None:
    assert rule_of(YesNoWordsFilter(fallback="no").one("maybe")) == "unparsed"
    assert YesNoWordsFilter().one(None) is None and PopeYesNoFilter().one(None) is None
