"""The judged variants of tasks that have a rule: what is asked, what replies stand for, and the numbers by hand."""

import time

import pytest
from mm_eval.tasks.charxiv import utils as charxiv
from mm_eval.tasks.hallusion_bench import utils as hallusion
from mm_eval.tasks.mathverse import utils as mathverse
from mm_eval.tasks.mathvista import utils as mathvista
from mm_eval.tasks.mmbench import utils as mmbench
from mm_eval.tasks.simplevqa import utils as simplevqa

from tests.sets import each_of
from tests.tasks.judged import judged
from tests.tasks.test_hallusion_bench import GOLD

MATHVISTA, HALLUSION, MMBENCH = "mathvista_testmini_judged", "hallusion_bench_judged", "mmbench_en_dev_judged"
ANIMALS = {"question": "What is it", "A": "cat", "B": "dog", "C": None, "D": "nan", "hint": None}


def choices(*texts: str, answer: str) -> dict[str, object]:
    return {"answer": answer, "answer_type": "text", "choices": list(texts), "precision": None}


SIDES, COUNT = choices("35°", "145°", answer="145°"), {**choices(answer="8"), "answer_type": "integer", "choices": None}


@pytest.mark.parametrize("task", [MATHVISTA, HALLUSION, MMBENCH])
def test_its_examples_hold(cli, task: str) -> None:
    assert cli("validate", task, "--sample").code == 0


@each_of(
    ("doc", "text", "score", "known"),
    [
        (SIDES, "145°", 1, True),
        (SIDES, "B", 1, False),
        (SIDES, "(b)", 1, False),
        (SIDES, "35°", 0, True),
        (SIDES, "145", 1, False),
        (SIDES, "The answer is (B).", 1, False),
        (SIDES, "\\boxed{B}", 0, False),
        (SIDES, "", 0, False),
        (COUNT, "8", 1, True),
        (COUNT, "-8", 0, True),
        (COUNT, "There are 8.", 0, False),
        (COUNT, "8.0", 0, False),
        (COUNT, "8 cm", 0, False),
        ({**COUNT, "answer_type": "float", "precision": 1.0, "answer": "1.2"}, "1.23", 1, True),
        ({**COUNT, "answer_type": "list", "answer": "[1, 2]"}, "[1, 2]", 1, False),
        ({**COUNT, "answer_type": "list", "answer": "[1, 2]"}, "It is [1, 2]", 0, False),
    ],
)
def test_mathvista_asks_the_judge_about_all_but_bare_answers(doc, text: str, score: int, known: bool) -> None:
    rule = "whole_answer" if known else "unparsed"
    assert mathvista.process_extraction(doc, [text]) == {"acc": score, "__rule__": rule}


def test_mathvista_by_hand(cli, tmp_path) -> None:
    said = [
        "I count 8.",
        "B",
        "Yes, it is.",
        "It is 10cm.",
        "(C)",
        "Five.",
        "0.75 m^2",
        "the first",
        "1, 2, 3, 4",
        "",
        "noon",
    ]
    replies = ["8", "B", "yes", "Extracted answer: B", "C", "5", "", "A", "[1, 2, 3, 4]", None, "quarter past"]
    ran = judged(cli, tmp_path, MATHVISTA, said, replies, code=3)
    row = ran.results["results"][MATHVISTA]
    # right: all but the empty answer, and one whose reply is empty, which is a failed judgement
    assert row["acc,none"] == pytest.approx(9 / 10) and row["judge_failed"] == 1
    assert row["judge_bounds"] == pytest.approx([9 / 11, 10 / 11])
    samples = ran.samples(MATHVISTA)
    assert row["unparsed"] == 2  # the empty answer, and the one whose verdict failed
    assert samples[6]["judge"]["verdict"] is None and samples[0]["judge"]["prompt"].startswith(
        "Please read the following example."
    )
    end = "Question: How many objects are in the picture?\n\nI count 8.\n\nExtracted answer: "
    assert samples[0]["judge"]["prompt"].endswith(end)


@each_of(
    ("reply", "value"),
    [
        ("correct", "yes"),
        ("Incorrect", "no"),
        ("unclear.", "unclear"),
        ("“correct”", "yes"),
        ("Output: incorrect", "no"),
        ("The prediction is correct.", "yes"),
        ("It does not conflict with the reference answer, so it is correct.", "yes"),
        ("It does not seem correct.", None),
        *(
            (text, None)
            for text in (
                "far from correct",
                "hardly correct",
                "partially correct",
                "It would be correct if it were a cat",
                "half correct",
                "never correct",
                "not entirely correct",
                "correct in part",
                "correct?",
                "80% correct",
                "1/2 correct",
                "anything but correct",
                "correct to some extent",
                "correct unless it is a dog",
                "nothing correct",
                "Without doubt correct",
                "correct-ish",
                "semi-correct",
                "The reference would be correct",
                "almost correct",
                "correct or not",
                "largely incorrect",
            )
        ),
        ("Incorrect: the picture shows a cat.", "no"),
        ("**Correct**", "yes"),
        ("The model's answer is incorrect.", "no"),
        ("incorrect because the reference says yes", "no"),
        ("The prediction answer is: “correct”.", "yes"),
        ("It may not conflict: correct", None),
        ("This cannot be correct.", None),
        ("not correct", None),
        ("It isn't incorrect", None),
        ("It can’t be correct", None),
        ("correct, not incorrect", None),
        ("correct or unclear", None),
        ("", None),
        ("yes", None),
        ("1", None),
        ("incorrectly said", None),
        ("correctness", None),
    ],
)
def test_hallusion_grades(reply: str, value: str | None) -> None:
    assert hallusion.verdict(reply, {"gt_answer": "1"}) == value
    other = {"yes": "no", "no": "yes"}
    assert hallusion.verdict(reply, {"gt_answer": "0"}) == (other.get(value, value) if value else None)


def test_hallusion_by_hand(cli, tmp_path) -> None:
    replies = ["correct"] * 12
    replies[1], replies[8], replies[11] = "Incorrect.", "unclear", "I can't say."
    ran = judged(cli, tmp_path, HALLUSION, ["They look so."] * 12, replies, code=3)
    row = ran.results["results"][HALLUSION]
    assert row["aAcc,none"] == pytest.approx(9 / 11) and row["judge_failed"] == 1 and GOLD[1] == "no"
    by_rule = judged(
        cli,
        tmp_path,
        HALLUSION,
        ["They look so."] * 12,
        ["correct" if n not in (1, 8, 11) else "unclear" for n in range(12)],
    )
    low = by_rule.results["results"][HALLUSION]["average,none"]
    assert row["judge_bounds"][0] == pytest.approx(low) == pytest.approx((9 / 12 + 3 / 6 + 3 / 6) / 3)
    asked = ran.samples(HALLUSION)[0]["judge"]["prompt"]
    assert asked.startswith("Imagine you are an intelligent teacher.") and asked.endswith(
        "\n\n Question:Do both balls have the same color?\nReference answer: Do both balls have the same color? Yes."
        "\nPrediction answer:They look so.\nOutput:"
    )


@each_of(
    ("reply", "value"),
    [
        ("A", "A"),
        ("B.", "B"),
        ("(A)", "A"),
        ("**B**", "B"),
        ("Your output: A", "A"),
        ("output：B", "B"),
        ("A. cat", "A"),
        ("Z", "Z"),
        ("A. dog", None),
        ("C", None),
        ("a cat", None),
        ("E", None),
        ("A or B", None),
        ("", None),
        ("A cat is most similar", None),
        ("AB", None),
        ("The answer is A", None),
        ("cat", None),
    ],
)
def test_mmbench_letters(reply: str, value: str | None) -> None:
    assert mmbench.verdict(reply, ANIMALS) == value


def test_mmbench_asks_in_the_language_of_the_question() -> None:
    end = "Question: What is it?\nOptions: There are several options: \nA. cat\nB. dog\n\nAnswer: a {kitten}\nYour output: "
    english = mmbench.judge_prompt(ANIMALS, "a {kitten}")
    assert english.startswith("You are an AI assistant who will help me to match") and english.endswith(end)
    assert mmbench.judge_prompt({**ANIMALS, "question": "是什么"}, "猫").startswith("你是一个帮助我匹配答案")


def test_mmbench_by_hand(cli, tmp_path) -> None:
    first = judged(cli, tmp_path, MMBENCH, ["I can't tell you which of these it might be."] * 17, ["Z"] * 17)
    gold = [row["target"] for row in first.samples(MMBENCH)]
    row = first.results["results"][MMBENCH]
    assert row["vanilla_all,none"] == 0 and row["unparsed"] == 0  # "none of them" was read
    said = [*gold[:1], *["None of what is written there fits at all, it seems to me."] * 16]
    ran = judged(cli, tmp_path, MMBENCH, said, [None, *gold[1:16], "either one"], code=3)
    row = ran.results["results"][MMBENCH]
    assert row["vanilla_all,none"] == 1 and row["judge_failed"] == 1
    assert "judge" not in ran.samples(MMBENCH)[0] and ran.samples(MMBENCH)[1]["judge"]["verdict"] == gold[1]
    assert row["judge_bounds"][0] < row["judge_bounds"][1] == 1


@each_of("reply", [" ", "!", "A", "output ", "{", "\\", "correct ", "not ", '"', "\n", "：", "[", "Judgement:"])
def test_hostile_replies_take_bounded_time(reply: str) -> None:
    started = time.process_time()
    for text in (reply * 50_000, f"B{reply * 50_000}", f"output: {reply * 50_000} A"):
        assert mmbench.verdict(text, ANIMALS) in (None, "A", "B")
        hallusion.verdict(text, {"gt_answer": "1"})
        mathvista.extraction(text)
        simplevqa.verdict(text)
        charxiv.reasoning_verdict(text)
        mathverse.judgement(text)
        mathverse.extraction(text)
        mathverse.extract_prompt({}, text)
    assert time.process_time() - started < 5
