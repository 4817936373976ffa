"""The built-in filters: what they do, and that none raises on what a model may give."""

import pytest

from mm_eval.scoring.filters import FILTERS, Completion, LLOutput, build_filter_ensemble, rule_of
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Instance
from tests.sets import each_of

NAMES = [
    "custom", "first_character", "format_span", "lowercase", "majority_vote", "map", "mcq_letter", "multi_choice_regex", "noop",
    "regex", "regex_pos",
    "remove_whitespace", "strip_thinking", "take_first", "take_first_k", "uppercase", "yes_no",
]  # fmt: skip
ARGUMENTS = {"custom": {"filter_fn": lambda resps, docs: resps}, "take_first_k": {"k": 2}}


def chain(steps, resps, docs=None):
    return build_filter_ensemble("x", steps).chain(resps, docs or [{} for _ in resps])


def one(steps, answer, doc=None):
    return chain(steps, [[answer]], [doc or {}])[0][0]


def test_every_name_is_registered_with_a_line_of_meaning():
    assert set(NAMES) <= set(FILTERS.names())
    for name in NAMES:
        assert len(FILTERS.summary(name)) > 20, name


@each_of("name", NAMES)
@each_of("answers", [[], [None], ["", None, 3, ("x", True)], [["a"]]])
def test_no_filter_raises_on_none_empty_or_odd_answers(name, answers):
    step = (name, ARGUMENTS.get(name))
    result = chain([step], [answers, answers], [{"choices": ["a", "b"]}, {}])
    assert len(result) == 2


@each_of("group", [5, -5])
@each_of("name", ["regex", "multi_choice_regex"])
def test_a_group_out_of_range_is_the_fallback(name, group):
    answer = one([(name, {"regex_pattern": r"(\d)", "group_select": group})], "1 2", {"choices": []})
    assert (answer, rule_of(answer)) == ("[invalid]", "unparsed")


def test_take_first_of_nothing_is_none_and_unparsed():
    ensemble = build_filter_ensemble("x", ["take_first"])
    assert ensemble.chain([[], ["a"]], [{}, {}]) == [[None], ["a"]]
    assert ensemble.rules([None]) == ("unparsed",)
    assert ensemble.rules([]) == ("unparsed",)


def test_regex_finds_selects_and_marks():
    found = one([{"function": "regex", "regex_pattern": r"(\d+)|(x)", "group_select": -1}], "1 then x")
    assert (found, found.rule) == ("x", "regex")
    assert one([("regex", {"fallback": "none"})], "no number") == "none"


def test_the_rule_survives_rewriting_voting_and_mapping():
    steps = [
        ("regex", {"regex_pattern": r"(\w+)!"}),
        "lowercase",
        "remove_whitespace",
        "uppercase",
        "majority_vote",
        "take_first",
    ]
    found = chain(steps, [["Yes!", "no", "yes!"]])[0][0]
    assert (found, found.rule) == ("YES", "regex")
    number = one([*steps, ("map", {"mapping_dict": {"YES": 1}})], "yes!")
    assert (number, rule_of(number)) == (1, "regex")
    absent = one([*steps, ("map", {"mapping_dict": {}, "default_value": -1})], "yes!")
    assert (absent, rule_of(absent)) == (-1, "unparsed")


def test_majority_vote_takes_the_first_of_equals_and_may_skip_the_unparsed():
    assert chain(["majority_vote"], [["b", "a", "a", "b"], []]) == [["b"], [None]]
    steps = [("regex", {"regex_pattern": r"\d+"}), ("majority_vote", {"skip_unparsed": True})]
    assert chain(steps, [["x", "y", "is 4"]]) == [["4"]]
    assert chain(steps[:1] + ["majority_vote"], [["x", "y", "is 4"]]) == [["[invalid]"]]


@each_of(
    ("answer", "letter"),
    [
        ("category", "[invalid]"),
        ("a cat", "(A)"),
        ("see: Cats", "[invalid]"),
        ("it: B", "(B)"),
        ("concatenate", "[invalid]"),
    ],
)
def test_fault_multi_choice_regex_matched_choices_inside_words(answer, letter):
    assert (
        one([("multi_choice_regex", {"regex_pattern": r"(\([A-Z]\))"})], answer, {"choices": ["cat", "dog"]}) == letter
    )


def test_multi_choice_regex_says_which_step_found_the_letter():
    step = ("multi_choice_regex", {"regex_pattern": r"(\([A-Z]\))", "ignore_case": True})
    rules = [one([step], text, {"choices": ["cat", "dog"]}).rule for text in ("(B)", "DOG", "so: A", "?")]
    assert rules == ["multi_choice_regex:pattern", "multi_choice_regex:text", "multi_choice_regex:letter", "unparsed"]


@pytest.mark.parametrize(
    ("choice", "answer", "options"),
    [
        ("cat .", "a cat .", {"ignore_punctuation": True}),
        ("the dog", "it is the dog", {"regexes_to_ignore": ["the"]}),
        ("(A dog)", "A dog!", {"regexes_to_ignore": ["\\bA\\b"], "ignore_punctuation": True}),
    ],
)
def test_a_choice_that_ends_in_white_space_once_parts_are_ignored_is_found(choice, answer, options):
    step = ("multi_choice_regex", {"regex_pattern": "no such text", **options})
    assert one([step], answer, {"choices": ["bird", choice]}) == "(B)"


@each_of(
    ("choice", "answer", "options", "found"),
    [
        ("foo_bar", "answer:foo_bar", {"ignore_punctuation": True}, "(B)"),
        ("red panda", "It is the\nred  panda.", {"regexes_to_ignore": [r"\s+"]}, "(B)"),
        ("redpanda", "a red-panda!", {"ignore_punctuation": True}, "(B)"),
        (
            "Red Panda",
            "so:RED-panda",
            {"ignore_punctuation": True, "ignore_case": True, "regexes_to_ignore": " "},
            "(B)",
        ),
        ("cat", "a category.", {"ignore_punctuation": True, "regexes_to_ignore": [r"\s+"]}, "[invalid]"),
        ("cat", "category", {"regexes_to_ignore": ["[aeiou]"]}, "[invalid]"),
        ("b", "abc", {"regexes_to_ignore": ["a", "c"]}, "(B)"),
        ("b", "xabcx", {"regexes_to_ignore": ["bc", "a"]}, "[invalid]"),
    ],
)
def test_words_end_where_they_end_in_the_answer_whatever_is_ignored(choice, answer, options, found):
    step = ("multi_choice_regex", {"regex_pattern": "no such text", **options})
    assert one([step], answer, {"choices": ["bird", choice]}) == found


@pytest.mark.parametrize(
    ("answer", "found", "rule"),
    [("answer: 7", "7", "regex"), ("no idea", "0", "unparsed"), ("answer: x", "0", "unparsed")],
)
def test_a_later_regex_reads_the_fallback_that_an_earlier_one_was_given(answer, found, rule):
    steps = [
        ("regex", {"regex_pattern": r"answer: (\d+)", "fallback": "nothing, so 0"}),
        ("regex", {"regex_pattern": r"\d+", "fallback": "-1"}),
    ]
    value = one(steps, answer)
    assert (value, value.rule) == (found, rule)


@each_of("extractor", ["regex", "multi_choice_regex"])
@each_of("between", [[], ["uppercase"]])
def test_no_extractor_finds_a_letter_in_the_mark_of_an_unread_answer(extractor, between):
    steps = ["regex", *between, (extractor, {"regex_pattern": r"(?i)([A-D])"})]
    value = one(steps, "no number", {"choices": ["x", "y"]})
    assert (value, value.rule) == ("[invalid]", "unparsed")


@each_of(
    ("answer", "rest", "rule"),
    [
        ("B", "B", "whole_answer"),
        ("<think>A? B?</think>\n\nB", "B", "whole_answer"),
        ("it is A, no</think> B", "B", "whole_answer"),
        ("<think>a</think>x<think>b</think> c", "c", "whole_answer"),
        ("[THINK]a[/THINK]c", "c", "whole_answer"),
        ("◁think▷a◁/think▷c", "c", "whole_answer"),
        ("<THINKING>a</THINKING> c", "c", "whole_answer"),
        ("<think>A? B? and so", "", "truncated"),
        ("<think>a</think>x\n<think>more", "", "truncated"),
        ("<think>a</think>x <think> is a tag", "x <think> is a tag", "whole_answer"),
        ("<think>B</think>", "", "unparsed"),
    ],
)
def test_strip_thinking_keeps_what_follows_and_marks_what_never_ends(answer, rest, rule):
    found = one(["strip_thinking"], answer)
    assert (found, rule_of(found)) == (rest, rule)


@each_of("extractor", ["mcq_letter", "yes_no", "regex", "multi_choice_regex", "map"])
def test_no_extractor_reads_an_answer_that_is_still_thinking(extractor):
    found = one(["strip_thinking", extractor], "<think>Answer: A. yes. #### 4", {"choices": ["x"]})
    assert rule_of(found) in ("truncated", "unparsed")
    assert found in (None, "[invalid]")


def test_format_span_takes_white_space_before_the_colon():
    assert one(["format_span"], "PER : Ann$$location: Perth") == "per: ann $ loc: perth"


def test_format_span_rewrites_labels_only():
    assert (
        one(["format_span"], "Person: Ann $$ location: Perth, Time square")
        == "per: ann $ loc: perth $ loc: time square"
    )


def test_a_custom_function_is_a_filter():
    def shout(resps, docs):
        return ([answer + doc["mark"] for answer in answers] for answers, doc in zip(resps, docs, strict=True))

    for step in (("custom", {"filter_fn": shout}), {"function": shout}, shout):
        assert one([step], "hi", {"mark": "!"}) == "hi!"
    ensemble = build_filter_ensemble("x", [shout])
    assert ensemble.rules(["hi!"]) == ("CustomFilter",)


@each_of(
    ("step", "message"),
    [
        ("regx", "Did you mean 'regex'"),
        (("regex", {"regex_patern": "x"}), "Did you mean 'regex_pattern'"),
        (("regex", {"regex_pattern": "("}), "not a valid regular expression"),
        (("take_first_k", {"k": 0}), "at least 1"),
        (("take_first_k", {}), "can't be built"),
        ({"regex_pattern": "x"}, "needs `function`"),
        (("map", {"mapping_dict": [1]}), "must be a mapping"),
        (("custom", {"filter_fn": "os.system"}), "!function"),
    ],
)
def test_a_wrong_step_is_a_config_error_when_it_is_built(step, message):
    with pytest.raises(ConfigError, match=message):
        build_filter_ensemble("x", [step])


def test_log_likelihood_answers_pass_through():
    answer: LLOutput = (-1.5, True)
    text: Completion = "a"
    instances = [Instance("loglikelihood", "t", 0, {}, choice=i, resps=[answer]) for i in range(2)]
    build_filter_ensemble("none", ["noop"]).apply(instances)
    assert [instance.filtered_resps["none"] for instance in instances] == [[answer], [answer]]
    assert one(["noop"], text) == "a"


@each_of(
    ("answer", "first", "rule"),
    [
        ("B", "B", "first_character"), (" B. dog", "B", "first_character"), ("Blue", "B", "first_character"),
        ("b", "b", "first_character"), ("(B)", "(", "unparsed"), ("", None, "unparsed"), ("\n", None, "unparsed"),
        (None, None, "unparsed"),
    ],
)  # fmt: skip
def test_the_first_character_is_what_lmms_eval_takes_for_the_letter(answer, first, rule):
    found = one(["first_character"], answer)
    assert (found, rule_of(found)) == (first, rule)
