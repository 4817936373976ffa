"""Cells that a judged task can't do without: a null answer is no text "None", a column of options is a list."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.babyvision import utils as babyvision
from mm_eval.tasks.charxiv import utils as charxiv
from mm_eval.tasks.hallusion_bench import utils as hallusion_bench
from mm_eval.tasks.hle import utils as hle
from mm_eval.tasks.llava_bench import utils as llava_bench
from mm_eval.tasks.mmmu import utils as mmmu
from mm_eval.tasks.perceptionbench import utils as perceptionbench
from mm_eval.tasks.vlmsareblind import utils as vlmsareblind
from mm_eval.tasks.worldvqa import utils as worldvqa

from mm_eval.config.judge import JudgeConfig
from mm_eval.values.errors import ConfigError, DocError
from tests.papers.recordings import write_answers
from tests.sets import each_of
from tests.tasks.made_up import MadeUp

BLANK = {"question": "How many?", "ansType": "blank", "options": None, "choiceAns": None, "blankAns": "7"}
CHOICE = {"question": "Which?", "ansType": "choice", "options": ["a", "b"], "choiceAns": 1, "blankAns": None}
PLACE = {"question": "What?", "answer": "x", "language": "en", "category": "Nature"}
SIGHT = {"problem": "What?", "answer": "5", "image": []}
EXAM = {"question": "What?", "answer": "x", "image": ""}


@each_of(
    ("function", "doc", "said"),
    [
        (babyvision.doc_to_target, BLANK | {"blankAns": None}, "'blankAns' is null"),
        (babyvision.doc_to_target, CHOICE | {"choiceAns": None}, "'choiceAns' is null"),
        (babyvision.doc_to_target, CHOICE | {"choiceAns": 2}, "'choiceAns' is 2, and there are 2 options"),
        (babyvision.doc_to_target, CHOICE | {"choiceAns": -1}, "'choiceAns' is -1"),
        (babyvision.doc_to_text, BLANK | {"question": None}, "'question' is null"),
        (babyvision.doc_to_text, CHOICE | {"options": None}, "'options' is null"),
        (babyvision.doc_to_text, CHOICE | {"options": "['a', 'b']"}, "'options' is text"),
        (babyvision.doc_to_text, CHOICE | {"options": {"A": "a", "B": "b"}}, "'options' is a record"),
        (worldvqa.doc_to_target, PLACE | {"answer": None}, "'answer' is null"),
        (worldvqa.doc_to_text, PLACE | {"question": None}, "'question' is null"),
        (perceptionbench.doc_to_target, SIGHT | {"answer": None}, "'answer' is null"),
        (perceptionbench.doc_to_target, SIGHT | {"answer": '{"answer": null}'}, "an answer that is null"),
        (perceptionbench.doc_to_text, SIGHT | {"problem": None}, "'problem' is null"),
        (perceptionbench.doc_to_text, SIGHT | {"image": None}, "'image' is null"),
        (perceptionbench.doc_to_text, SIGHT | {"image": "data:image/png;base64,AAAA"}, "'image' is text"),
        (hle.doc_to_target, EXAM | {"answer": None}, "'answer' is null"),
        (hle.doc_to_text, EXAM | {"question": None}, "'question' is null"),
        (hle.doc_to_messages, EXAM | {"question": None}, "'question' is null"),
        (charxiv.descriptive_answer, {"question_number": 2, "descriptive_a2": None}, "'descriptive_a2' is null"),
        (llava_bench.reference, {"gpt_answer": None, "answer": "x"}, "'gpt_answer' is null"),
        (llava_bench.reference, {"answer": None}, "'answer' is null"),
        (
            partial(hallusion_bench.judge_prompt, answer="Yes."),
            PLACE | {"gt_answer_details": None},
            "'gt_answer_details' is",
        ),
        (mmmu.gold_answer, {"answer": None}, "'answer' is null"),
        (vlmsareblind.doc_to_target, {"groundtruth": None}, "'groundtruth' is null"),
    ],
)
def test_a_cell_that_a_question_needs(function: Any, doc: Any, said: str) -> None:
    with pytest.raises(DocError, match=said):
        function(doc)


def test_a_cell_that_it_does_not_need() -> None:
    assert babyvision.doc_to_target(BLANK) == "7" and babyvision.doc_to_text(BLANK).startswith("How many?\nThink")
    assert babyvision.doc_to_target(CHOICE) == "B" and hle.doc_to_target(EXAM) == "x"
    assert worldvqa.doc_to_target(PLACE | {"answer": 0, "category": None}) == "0"


def test_a_data_set_without_the_column_that_is_left_out_by() -> None:
    with pytest.raises(KeyError, match="category"):
        worldvqa.doc_to_target({"question": "What?", "answer": "x", "language": "en"})


def test_a_judges_function_that_fails_is_named() -> None:
    """It was a traceback at the end of a run whose verdicts were paid for."""
    judge = JudgeConfig((), range=lambda doc: doc["least"], empty=lambda doc: doc["least"])
    with pytest.raises(ConfigError, match=r"the judge's `range` failed: KeyError: 'least'"):
        judge.bounds({})
    with pytest.raises(ConfigError, match=r"the judge's `empty` failed: KeyError: 'least'"):
        judge.of_empty({})


def test_a_process_docs_that_leaves_nothing(cli: Any, tmp_path: Path) -> None:
    folder = tmp_path / "cais/hle"
    folder.mkdir(parents=True)
    row = EXAM | {"id": "1", "answer_type": "exactMatch", "category": "Math"}
    (folder / "test.jsonl").write_text(json.dumps(row) + "\n")
    ran = cli("--tasks", "hle_vision", "--data_root", tmp_path, "--model", "dummy", "--no_judge", "--no_report")
    assert ran.code == 2 and "process_docs leaves no document of split 'test' of 'cais/hle'" in ran.err, ran.err


@pytest.mark.parametrize(
    "made",
    [
        MadeUp("simplevqa", "m-a-p/SimpleVQA", "test"),
        MadeUp("mathvista_testmini", "AI4Math/MathVista", "testmini"),
        MadeUp("treebench", "HaochenWang/TreeBench", "train"),
    ],
    ids=lambda made: made.task,
)
def test_a_document_without_a_right_answer_fails_alone(cli: Any, tmp_path: Path, made: MadeUp) -> None:
    """The judge was asked about the word None, and an answer that no rule reads was right."""
    root = made.write(tmp_path / "data", [{"answer": None}, {}])
    answers = write_answers(tmp_path / "answers.jsonl", {made.task: ["?", "?"]})
    ran = cli(
        "--tasks", made.task, "--data_root", root, "--model", "replay", "--model_args", f"path={answers}", "--no_judge"
    )
    assert ran.code == 3, ran.out + ran.err
    row = ran.results["results"][made.task]
    assert (row["n"], row["failed"], row.get("acc,none", 0)) == (2, 1, 0)
    assert f"{made.task} doc 0: doc_to_target gave None: there is no right answer to compare with." in ran.out + ran.err
