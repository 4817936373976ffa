"""`mm-eval show TASK --judge` and the mark in `mm-eval ls tasks`: nothing is asked."""

import pytest

from tests.judge.test_lmms_eval_tasks import TASK, UTILS

ROWS = [{"q": f"What is {n} + 1?", "a": str(n + 1)} for n in range(6)]


def shown(judged, *words: str):
    return judged.command("show", "graded", "--include_path", judged.folder, *words)


def test_the_judges_prompt_the_official_judge_and_the_cost(judged) -> None:
    ran = shown(judged, "--judge", "--doc", "2")
    assert ran.code == 0, ran.err
    assert "Reference: 3\nAnswer: 3\n" in ran.out and "judged answer: '3' (gold)" in ran.out
    assert "official judge: gpt-4o-2024-05-13" in ran.out
    assert (
        "verdicts on 6 documents: 6 calls, about 60 prompt tokens, at most 3,072 reply tokens, price unknown" in ran.out
    )


def test_another_answer_and_a_judge_with_prices(judged, server) -> None:
    args = f"base_url={server.url},model=gpt-4o,input_price=1000,output_price=1000"
    ran = shown(judged, "--judge", "openai", "--judge_args", args, "--answer", "x = 7")
    assert (
        ran.code == 0 and "Answer: x = 7" in ran.out and "by gpt-4o: 6 calls" in ran.out and "at most $3.13" in ran.out
    )
    assert not server.asked
    ran = shown(judged, "--judge", "openai", "--judge_args", f"base_url={server.url},model=gpt-4o")
    assert "price unknown" in ran.out and "give input_price=" in ran.out


def test_a_local_judges_own_tokenizer_counts(judged) -> None:
    ran = shown(judged, "--judge", "tiny-llava")
    assert ran.code == 0 and "prompt tokens" in ran.out and "about" not in ran.out and "price" not in ran.out


@pytest.mark.full
def test_a_task_whose_own_code_asks(judged) -> None:
    judged.write(ROWS, ["1"] * 6, task=TASK, utils=UTILS)
    ran = shown(judged, "--judge")
    assert ran.code == 0 and "Reference: 1\nAnswer: 1\n" in ran.out
    assert "official judge: gpt-4o-2024-11-20" in ran.out and "at most 768 reply tokens" in ran.out


def test_what_cannot_be_shown_is_said(judged) -> None:
    assert "--judge_args needs the judge's adapter" in shown(judged, "--judge", "--judge_args", "a=b").err
    ran = judged.command("show", "mme", "--judge")
    assert ran.code == 2 and "mme has no judge" in ran.err
    judged.write([{"q": "?", "a": ""}], ["1"])
    ran = shown(judged, "--judge")
    assert ran.code == 2 and "no gold answer is known for doc 0" in ran.err and "--answer" in ran.err


def test_judged_tasks_are_marked(judged) -> None:
    ran = judged.command("ls", "tasks", "graded", "--include_path", judged.folder)
    assert "judge_score (judged)" in ran.out


def test_a_missing_judge_is_said_with_an_example(judged) -> None:
    ran = judged.run()
    assert ran.code == 2 and "the answers to graded are scored by a judge model, and none is given" in ran.err
    assert "`--judge openai --judge_args base_url=https://api.openai.com/v1,model=gpt-4o-2024-05-13`" in ran.err
    assert "--no_judge" in ran.err and "mm-eval show graded --judge" in ran.err
