"""Scorers that bring their own extraction, and process_results as one more scorer."""

import math
from typing import Any

import pytest

from mm_eval.scorers import (
    ChoiceMatchScorer,
    FirstTokenScorer,
    ProcessResultsScorer,
    RegexExtractionScorer,
    build_scorer,
)
from mm_eval.values.errors import ConfigError, ScoringError
from mm_eval.values.types import Instance
from tests.scoring.scorers.answered import choices, gen, generated
from tests.sets import each_of


@each_of(
    ("target", "answer", "score"),
    [
        ("B", " B. dog", 1), ("B", "B", 1), ("B", "dog B", 0), ("New York", "New York, of course", 1), ("B", "", 0),
        ("B", "I think so. The best answer is B.", 1), ("Paris", "Reasons.\nThe final answer is **Paris**.", 1),
        (["x", "y"], "y!", 1), ("A", "The best answer is A or B", 1),
        ("x\ny", "x\ny", 1), ("New  York", "New York.", 1), (["New York City", "NY"], "NY, of course", 1),
    ],
)  # fmt: skip
def test_first_token_scorer_compares_the_first_token(target, answer, score):
    scorer = FirstTokenScorer.default_scorer(output_type="generate_until")
    scorer.run(generated(0, [answer], target))
    assert scorer.reduced_docs == {0: {"exact_match": score}}


READ_AS_B = [
    "The answer is B.", "ANSWER: B", "**Answer: B**", r"\boxed{B}", "(B)", "B) dog", "[B]", "option B", "I think B", "$B$", "b",
    "The correct option is B", "<answer>B</answer>", "Some thoughts.\n\nB", "A cat is there. The answer is B", "答案是B",
    "Answer:\n\n**B**", "A dog, so the best answer is B", "The answer is C. Wait, no. The answer is B.",
    r"The final answer is: $\boxed{B}$",
]  # fmt: skip
UNREAD = ["A dog is there", "a dog is there", "I see a dog", "dog", "E", "It is not B.", "The answer is unclear.", "?"]


@each_of("answer", READ_AS_B)
def test_first_token_scorer_reads_letters_as_mcq_letter_does(answer: str) -> None:
    for metadata in ({"choices": ["A", "B", "C", "D"]}, {}):
        scorer = FirstTokenScorer.default_scorer(output_type="generate_until")
        scorer.run(generated(0, [answer], "B", metadata=metadata) + generated(1, [answer], "C", metadata=metadata))
        assert [doc["exact_match"] for doc in scorer.reduced_docs.values()] == [1, 0]
        assert scorer.counts["unparsed"] == 0


@each_of("answer", UNREAD)
def test_first_token_scorer_counts_what_names_no_letter_as_unparsed(answer: str) -> None:
    scorer = FirstTokenScorer.default_scorer(output_type="generate_until")
    for target in "AB":
        scorer.run(generated(0, [answer], target, metadata={"choices": ["A", "B", "C", "D"]}))
        assert scorer.reduced_docs == {0: {"exact_match": 0}} and scorer.raw_docs[0].rules == ("unparsed",)


LONG = "First one looks at the picture, then at the second one, and so on, until all of them have been seen.\n\n"


@each_of(
    ("answer", "target", "choices", "score", "rule"),
    [
        ("2.", "2", ["1", "2", "3"], 1, ""), (r"\boxed{2}", "2", ["1", "2", "3"], 1, ""),
        ("option 2", "2", ["1", "2", "3"], 1, ""),
        ("5", "2", ["1", "2", "3"], 0, "unparsed"), ("II", "II", ["I", "II"], 1, ""),
        (LONG + "The final answer is that it doubles.", "It doubles.", ["It doubles.", "It halves."], 1, ""),
        (LONG + "The final answer is it halves.", "It doubles.", ["It doubles.", "It halves."], 0, ""),
        (LONG + "It doubles or it halves.", "It doubles.", ["It doubles.", "It halves."], 0, "unparsed"),
        (LONG + r"The final answer is $\boxed{42}$.", "42", None, 1, ""), (LONG + "Answer: 42", "42", None, 1, ""),
        (LONG + "So it may be 42", "42", None, 0, "unparsed"), ("41", "42", None, 0, ""), ("", "42", None, 0, ""),
    ],
)  # fmt: skip
def test_first_token_scorer_among_other_labels_and_texts(
    answer: str, target: str, choices: list[str] | None, score: int, rule: str
) -> None:
    scorer = FirstTokenScorer.default_scorer(output_type="generate_until")
    scorer.run(generated(0, [answer], target, metadata={"choices": choices}))
    assert scorer.reduced_docs == {0: {"exact_match": score}}
    assert (scorer.raw_docs[0].rules == ("unparsed",)) == (rule == "unparsed")


@each_of(
    ("answer", "option"),
    [
        ("Answer: red", "B"), ("red", "B"), ("Red.", "B"), ("I think it is red", "B"), ("The best answer is red.", "B"),
        (r"\boxed{green}", "A"), ("**blue**", "C"), ("red or blue", None), ("It is not red", None), ("pink", None),
    ],
)  # fmt: skip
def test_the_texts_behind_labels_are_read_too(answer: str, option: str | None) -> None:
    for labels in ("ABC", "123"):
        metadata = {"choices": [*labels], "option_texts": ["green", "red", "blue"]}
        target = labels["ABC".index(option or "B")]
        scorer = FirstTokenScorer.default_scorer(output_type="generate_until")
        scorer.run(generated(0, [answer], target, metadata=metadata))
        assert scorer.reduced_docs == {0: {"exact_match": int(option is not None)}}
        assert (scorer.raw_docs[0].rules == ("unparsed",)) == (option is None)


@each_of(
    ("answer", "target", "score"),
    [
        ("**Final Answer:** 42", "42", 1), ("**Final Answer**: 42", "42", 1), ("## Final answer\n42", "42", 1),
        (r"The final answer is \( x \).", "x", 1), ("The final answer is “42”.", "42", 1), ("**Answer:** 41", "42", 0),
        ("The final answer is -5", "5", 0), ("The final answer is 5.", "-5", 0), ("Answer: 3.5", "35", 0), ("$-5", "-5", 1),
        ("Answer: 1,000.", "1000", 1), ("Answer: $5", "5", 1), ("-5.", "-5", 1), ("5", ["-5", "5"], 1), ("0.50", "0.50", 1),
        ("The final answer is A-B", "AB", 1),
    ],
)  # fmt: skip
def test_marks_around_an_answer_are_no_token_and_signs_of_a_number_count(answer: str, target: Any, score: int) -> None:
    scorer = FirstTokenScorer.default_scorer(output_type="generate_until")
    scorer.run(generated(0, [answer], target))
    assert scorer.reduced_docs == {0: {"exact_match": score}}


@pytest.mark.parametrize("kind", ["regex", "regex_extraction"])
def test_regex_scorer_takes_its_pattern_from_yaml(kind):
    scorer = gen(kind={"type": kind, "kwargs": {"regex_pattern": r"is (\w+)"}})
    scorer.run(generated(0, ["it is Red."], "red") + generated(1, ["#### red"], "red"))
    assert isinstance(scorer, RegexExtractionScorer)
    assert [doc["exact_match"] for doc in scorer.reduced_docs.values()] == [1, 0]
    assert scorer.counts["unparsed"] == 1
    plain = gen(kind=kind)
    plain.run(generated(0, ["#### 4"], "4"))
    assert plain.reduced_docs == {0: {"exact_match": 1}}


@each_of(
    ("target", "answer", "score"),
    [
        ("red panda", "B", 1), ("B", "The red panda!", 1), (1, "(B) red panda", 1), ("red panda", "A", 0),
        ("red panda", "a cat or a red panda", 0), (["cat", "red panda"], "Answer: B", 1),
    ],
)  # fmt: skip
def test_choice_match_scorer_looks_at_the_choices(target, answer, score):
    scorer = gen(kind="choice_match")
    scorer.run(generated(0, [answer], target, doc={"choices": ["cat", "red panda"]}))
    assert isinstance(scorer, ChoiceMatchScorer)
    assert scorer.reduced_docs == {0: {"exact_match": score}}


def test_choice_match_scorer_says_which_rule_found_the_choice_and_takes_metadata():
    scorer = gen(kind={"type": "choice_match", "choices_field": "options"})
    scorer.run(
        generated(0, ["B"], "y", doc={"options": {"text": ["x", "y"]}})
        + generated(1, ["?"], "y", metadata={"choices": ["x", "y"]})
    )
    assert [doc.rules for doc in scorer.raw_docs.values()] == [("mcq_letter:letter",), ("unparsed",)]


# process_results


def by_length(doc, results):
    if not results[0]:
        return {"size": 0, "__rule__": "unparsed"}
    return {"size": len(results[0]), "category": {"name": doc["name"], "value": 1.0}, "extra": 1}


def processed(fn=by_length, output_type="generate_until", metric_list=None, **config):
    metric_list = metric_list or [{"metric": "size", "aggregation": "mean", "higher_is_better": False}]
    return build_scorer({"metric_list": metric_list, **config}, output_type, process_results=fn)


def test_process_results_is_one_more_scorer():
    scorer = processed(
        metric_list=[{"metric": "size", "higher_is_better": False}, {"metric": "category", "aggregation": len}]
    )
    scorer.run(generated(0, ["abc"], "", doc={"name": "x"}) + generated(1, ["a"], "", doc={"name": "y"}))
    assert isinstance(scorer, ProcessResultsScorer)
    numbers, n = scorer.aggregate()
    assert (numbers["size,none"], numbers["category,none"], n) == (2.0, 2, 2)
    assert scorer.higher_is_better == {"size": False, "category": True}
    assert any("'extra'" in note for note in scorer.notes)


def test_process_results_says_which_answers_it_could_not_read():
    scorer = processed()
    scorer.run(generated(0, [""], "", doc={"name": "x"}) + generated(1, ["a"], "", doc={"name": "x"}))
    assert [doc.rules for doc in scorer.raw_docs.values()] == [("unparsed",), ("whole_answer",)]
    assert scorer.counts["unparsed"] == 1


def test_process_results_gets_text_for_an_answer_that_no_filter_could_read():
    scorer = processed(filter=["mcq_letter"])
    scorer.run(generated(0, ["?"], "", doc={"name": "x"}))
    assert scorer.reduced_docs == {0: {"size": 0}}


def test_process_results_gets_pairs_for_choices_and_numbers_for_rolling_texts():
    seen = []

    def keep(doc, results):
        seen.append(results)
        return {"size": 1}

    processed(keep, "multiple_choice").run(choices(0, [-1.0, -2.0], 0, greedy={1})[::-1])
    rolling = Instance("loglikelihood_rolling", "t", 0, {}, continuation="x", resps=[(-3.0, False)])
    processed(keep, "loglikelihood_rolling").run([rolling])
    assert seen == [[(-1.0, False), (-2.0, True)], [-3.0]]


@each_of("returned", [None, 3, {}, {"other": 1}])
def test_a_doc_for_which_process_results_gives_nothing_is_failed(returned):
    scorer = processed(lambda doc, results: returned)
    scorer.run(generated(0, ["a"], ""))
    assert isinstance(scorer.raw_docs[0].error, ScoringError)
    failing = processed()
    failing.run(generated(0, ["a"], "", doc={}) + generated(1, ["a"], "", doc={"name": "x"}))
    assert "KeyError" in str(failing.raw_docs[0].error) and failing.reduced_docs == {1: {"size": 1}}


def test_process_results_sees_no_nan():
    scorer = processed(lambda doc, results: {"size": 1}, "multiple_choice")
    scorer.run(choices(0, [-1.0, math.nan], 0))
    assert "NaN" in str(scorer.raw_docs[0].error)


def test_process_results_with_a_wrong_config_is_a_config_error():
    with pytest.raises(ConfigError, match="not both"):
        build_scorer(None, "generate_until", "regex", process_results=by_length)
    with pytest.raises(ConfigError, match="Did you mean 'mean'"):
        processed(metric_list=[{"metric": "size", "aggregation": "maen"}])
    with pytest.raises(ConfigError, match="metric's name"):
        processed(metric_list=[{"metric": "a,b"}])
