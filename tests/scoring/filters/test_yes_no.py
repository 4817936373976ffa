"""yes_no: whether an answer says yes or no, and when it says neither."""

import time

from mm_eval.scoring.filters import build_filter_ensemble, rule_of
from tests.sets import each_of

READ = [
    ("Yes", "yes", "word"), ("no.", "no", "word"), ("YES!", "yes", "word"), ("**Yes**", "yes", "word"), ("y", "yes", "word"),
    ("N", "no", "word"), ("Ｙｅｓ", "yes", "word"), ("是", "yes", "word"), ("否", "no", "word"), ("不是。", "no", "word"),
    ("没有", "no", "word"), ("はい", "yes", "word"), ("いいえ", "no", "word"), ("아니요", "no", "word"), ("Sí", "yes", "word"),
    ("Oui.", "yes", "word"), ("Nein", "no", "word"), ("Нет", "no", "word"),
    ("$\\boxed{\\text{No}}$", "no", "boxed"), ("<answer>no</answer>", "no", "boxed"),
    ("The answer is yes", "yes", "answer_is"), ("Answer: No", "no", "answer_is"), ("**Answer:** yes, it is", "yes", "answer_is"),
    ("答案：是", "yes", "answer_is"), ("答案：否", "no", "answer_is"), ("Antwort: Nein", "no", "answer_is"),
    ("At first the answer is yes. But the answer is no.", "no", "answer_is"),
    ("Yes, there is a dog", "yes", "first"), ("No, there isn't.", "no", "first"), ("no it is not", "no", "first"),
    ("Yes - it is", "yes", "first"), ("Yes there is", "yes", "first"), ("是的，有一只狗", "yes", "first"),
    ("Yes, no dogs are visible", "yes", "first"), ("No, I know that", "no", "first"),
    ("The picture shows a cat.\n\nYes", "yes", "last_line"), ("I looked.\n**No**", "no", "last_line"),
    ("I think yes", "yes", "within"), ("I would say no.", "no", "within"),
    ("不，图中没有", "no", "first"), ("No (it is blue)", "no", "first"), ("**No**, there are none", "no", "first"),
    ("Yes\n\nExplanation: no dogs", "yes", "first"), ("Oui, il y a", "yes", "first"),
    ("Yes or no? Yes.", "yes", "word"), ("yes/no?\nno", "no", "word"), ("Answer (yes or no): no", "no", "answer_is"),
    ("Please answer yes or no. No", "no", "within"), ("Oui ou non ? Non.", "no", "word"), ("是还是否？是", "yes", "word"),
    ("This is a yes-or-no question. The answer is no.", "no", "answer_is"), ("You asked for yes or no: no.", "no", "within"),
    ("No doubt: yes", "yes", "word"), ("No doubt, yes", "yes", "word"), ("No problem! Yes, there is", "yes", "first"),
    ("No question about it, no.", "no", "word"), ("There's no doubt that the answer is yes.", "yes", "answer_is"),
    ("是否有狗？没有。", "no", "after_question"), ("有狗吗？是的。", "yes", "after_question"),
    ("Is there a dog? No.", "no", "after_question"), ("Is there no dog? No.", "no", "after_question"),
    ("Not a dog, but a cat, so no.", "no", "within"), ("I'd go with \"yes\".", "yes", "within"),
    ("There is not a single dog here, so the answer is no.", "no", "answer_is"), ("{\"answer\": \"yes\"}", "yes", "answer_is"),
    ("If you look closely, there is a dog, so the answer is yes.", "yes", "answer_is"), ("Yes: 2 dogs", "yes", "first"),
    ("Yes, there is a mistake in the code.", "yes", "first"), ("The answer is no, not yes.", "no", "answer_is"),
]  # fmt: skip

UNREAD = [
    "", "nothing", "Norway", "I know", "I don't know", "not sure", "I'm not sure, maybe yes", "yes or no", "Yes/No",
    "Yes and no",
    "No. Yes.", "No dogs are visible", "No one is there", "No idea", "No doubt", "No problem",
    "No doubt there is a dog", "There is no dog, so yes",
    "It is a no-brainer", "The answer is not yes", "eyes", "Yesterday", "是一只狗", "没有狗", "No. 5 is visible", "True",
    "There is a dog", "I cannot tell: yes?", "The answer isn't no", "I wouldn't say yes", "The button is labelled Yes.",
    "Yes, but no", "yes no", "Ja oder nein", "sí o no", "yes-or-no", "Yes? No.", "Yes\nNo\nYes\nNo", "否则", "否定", "예술",
    "네덜란드", "Sim City",
    "Yes or no?", "Yes/No/Maybe", "I can't say yes or no.", "The answer is neither yes nor no.", "Is it yes? I think so.",
    "If there were a dog, the answer would be yes.", "I don't think the answer is yes.", "There is no way the answer is yes.",
    "It is not true that the answer is yes", "It would be wrong to say yes.", "Saying yes would be a mistake.",
    "Yes... Actually, no.", "No. Actually, yes.", "No, sorry, yes.", "Yes. But no.", "The answer is yes... hmm, no.",
    "The text reads 'Yes'.", "The word on the picture is \"yes\"", "The translation of 'non' is 'no'.",
    "In the picture, the word \"No\" is written.", "Yes (1) or No (0): 1", "Yes = 1, No = 0. The answer is 1.",
    "The probability of yes is 0.8", "P(yes)=0.9", "Yes: 30%, No: 70%", "有狗吗？没有。有猫吗？有的。", "Yes? No, wait.",
]  # fmt: skip


def read(answer, **kwargs):
    return build_filter_ensemble("x", [("yes_no", kwargs)]).chain([[answer]], [{}])[0][0]


@each_of(("answer", "word", "rule"), READ)
def test_an_answer_is_read_by_the_strictest_rule_that_sees_it(answer, word, rule):
    found = read(answer)
    assert (found, rule_of(found)) == (word, f"yes_no:{rule}")


@each_of("answer", UNREAD)
def test_what_says_neither_is_unparsed_never_a_guess(answer):
    assert read(answer) is None


def test_strict_only_and_fallback():
    assert read("I think yes", lenient=False) is None
    fallback = read("hm", fallback="no")
    assert (fallback, fallback.rule) == ("no", "unparsed")
    assert read(None) is None


def test_the_time_of_a_long_answer_grows_with_its_length():
    started = time.process_time()
    read("the answer is not yes and " * 4000)
    read("yes " * 5000)
    assert time.process_time() - started < 2.0


@each_of("sign", ["\u200b", "\ufeff", "\u00ad", "\u200f", "\u2060", "\u00a0", "\x00"])
def test_what_shows_nothing_hides_no_answer(sign):
    found = build_filter_ensemble("x", ["yes_no"]).chain([[f"{sign}{sign}Yes{sign}.", f"{sign}no{sign}"]], [{}])[0]
    assert found == ["yes", "no"]
