"""MMVU: the authors' prompts, their judge, and the questions with options by rule."""

from mm_eval.tasks.mmvu.utils import OF, judge_prompt, verdict

from tests.tasks.judged import judged
from tests.tasks.made_up import MadeUp, prompt
from tests.tasks.of_sample import replay

MCQ = MadeUp("mmvu_val_mcq", "lmms-eval/MMVU", "validation")
CHOICES = {"A": "a zoom", "B": "a pan", "C": "a cut", "D": "a tilt", "E": "a dolly"}


def test_the_prompts(cli) -> None:
    own, open_ = prompt(cli, "mmvu_val"), prompt(cli, "mmvu_val", doc=1)
    assert own.startswith("\nQuestion: What does the ") and "\nE: " in own
    assert own.endswith("where $LETTER is one of the options. Think step by\nstep before answering.")
    assert "A: " not in open_ and "'Therefore, the final answer is: 'Answer: $ANSWER' (without quotes)" in open_
    assert prompt(cli, "mmvu_val", "direct").endswith(
        "Answer directly with the option letter from the given choices.\n"
    )


def test_letters(cli, tmp_path) -> None:
    said = {
        "E": 1.0,
        "Therefore, the final answer is: $E": 1.0,
        "**E**": 1.0,
        "a dolly": 1.0,
        "A": 0.0,
        "F": 0.0,
        "": 0.0,
    }
    docs = [{"question_type": "multiple-choice", "choices": CHOICES, "answer": "E"}] * len(said)
    assert MCQ.scores(cli, tmp_path, docs, list(said), "acc,none") == list(said.values())


def test_the_rule_has_the_questions_with_options_alone(cli, tmp_path) -> None:
    assert (
        len(replay(cli, tmp_path, "mmvu_val_mcq", ["A"] * 3, "--output_path", tmp_path / "run").samples("mmvu_val_mcq"))
        == 3
    )


def test_the_judge(cli, tmp_path) -> None:
    doc = {"question_type": "open-ended", "question": "Which?", "choices": dict.fromkeys("ABCDE", ""), "answer": "zoom"}
    system, user = judge_prompt(doc, "a zoom")
    assert "word-for-word" in system["content"] and "Options" not in user["content"]
    assert user["content"] == "Question: Which?\n\nGround Truth Answer: zoom\n\nModel Response to the Question: a zoom"
    assert [verdict(text) for text in ('{"correct": true}', '{"correct": 1}', "true")] == [1, None, None]
    yes, no = '{"extracted_answer": "x", "correct": true}', '{"extracted_answer": "x", "correct": false}'
    ran = judged(cli, tmp_path, "mmvu_val", ["x"] * 6, [yes, yes, no, yes, no, no])
    row = ran.results["results"]["mmvu_val"]
    assert row["acc,none"] == 0.5 and set(ran.results["categories"]["mmvu_val"]["discipline"]) == {
        *("Engineering", "Humanities & Social Science", "Science")
    }
    assert len(OF) == 27
