"""Tasks written for lmms-eval whose process_results asks a judge: asked by the engine, recorded, resumed, and never guessed."""

import json
from pathlib import Path
from typing import Any

import pytest

from mm_eval.scoring.of_task import scorers_of
from tests.judge import server as scripted

TASK = """task: graded
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
output_type: generate_until
doc_to_text: !function utils.asked
doc_to_target: a
process_results: !function utils.graded
generation_kwargs: {max_new_tokens: 16}
metric_list: [{metric: gpt_eval_score, aggregation: !function utils.total, higher_is_better: true}]
"""
UTILS = """import os
import time
from lmms_eval.llm_judge import Request, ServerConfig, get_server

MODEL = os.getenv("MODEL_VERSION", "gpt-4o-2024-11-20")
server = get_server(server_name=os.getenv("API_TYPE", "openai"), config=ServerConfig(model_name=MODEL, max_tokens=128))

def asked(doc, lmms_eval_specific_kwargs=None):
    return doc["q"]

def ask(prompt, temperature):
    for _ in range(3):
        try:
            config = ServerConfig(model_name=MODEL, temperature=temperature, max_tokens=128)
            reply = server.evaluate(Request(messages=[{"role": "user", "content": prompt}], config=config))
            if reply.content.strip():
                return reply.content.strip(), reply.model_used
        except Exception as error:
            print("failed", error)
            time.sleep(60)
    return "", ""

def graded(doc, results):
    temperature, score, model = 0.0, None, ""
    while score is None:
        content, model = ask(f"{doc['q']}\\nReference: {doc['a']}\\nAnswer: {results[0]}", temperature)
        if not content:
            score = 0.0
        elif content in ("GRADE: C", "GRADE: I"):
            score = float(content == "GRADE: C")
        else:
            time.sleep(60)
            temperature += 0.5
            score = 0.0 if temperature > 2 else None
    return {"gpt_eval_score": {"score": score, "model": model}}

def total(results):
    return 100 * sum(result["score"] for result in results) / len(results)
"""
ROWS = [{"q": f"What is {n} + 1?", "a": str(n + 1)} for n in range(6)]
ANSWERS = ["1", "2", "3", "no", "no", "6"]


@pytest.fixture
def theirs(judged):
    judged.write(ROWS, ANSWERS, task=TASK, utils=UTILS)
    return judged


def number(ran: Any) -> Any:
    return ran.results["results"]["graded"]["gpt_eval_score,none"]


def test_its_questions_are_asked_once_recorded_and_read_by_its_own_code(theirs, server, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    ran = theirs.with_server(server, "--output_path", folder, preflight=True)
    assert ran.code == 0, ran.out + ran.err
    assert number(ran) == pytest.approx(100 * 4 / 6) and ran.results["results"]["graded"]["judge_failed"] == 0
    assert max(server.asked.values()) == 1 and len(server.asked) == 14  # 6 gold, 6 worthless, 2 wrong answers
    [judge] = ran.results["judges"]["graded"]
    assert judge["official"] == "gpt-4o-2024-11-20" and judge["preflight"] == "passed"
    assert judge["options"]["generation_kwargs"] == [{"max_new_tokens": 128, "temperature": 0.0}]
    assert judge["models"] == {"judge-1 (fp_1)": 6} and judge["prompt_digest"]
    [first, *_] = [json.loads(line) for line in (folder / "samples" / "graded.jsonl").open()]
    assert first["judge"]["reply"] == "GRADE: C" and first["judge"]["attempts"] == 1
    assert first["judge"]["prompt"] == "What is 0 + 1?\nReference: 1\nAnswer: 1"
    again = theirs.with_server(server, "--output_path", folder, preflight=True)
    assert again.code == 0 and number(again) == number(ran) and max(server.asked.values()) == 1


@pytest.mark.full
def test_its_scorers_are_built_once_for_each_pass_and_not_once_a_doc(
    theirs, server, tmp_path: Path, monkeypatch
) -> None:
    built: list[str] = []

    def counted(config: Any) -> Any:
        built.append(config.name)
        return scorers_of(config)

    monkeypatch.setattr("mm_eval.judge.code.scorers_of", counted)
    counts = []
    for docs in (2, 6):
        theirs.write(ROWS[:docs], ANSWERS[:docs], task=TASK, utils=UTILS)
        assert theirs.with_server(server, "--output_path", tmp_path / str(docs)).code == 0
        counts.append(len(built))
        built.clear()
    assert counts[0] == counts[1] > 0


@pytest.mark.full
@pytest.mark.parametrize("fault", ["503", "400", "HTML", "EMPTY", "CHATTY"])
def test_a_fault_of_the_judge_is_a_failed_verdict_and_not_its_codes_zero(theirs, server, fault: str) -> None:
    theirs.write([*ROWS[:5], {"q": f"FAULT{fault}", "a": "6"}], ANSWERS, task=TASK, utils=UTILS)
    ran = theirs.with_server(server)
    assert ran.code == 3 and ran.results["results"]["graded"]["judge_failed"] == 1
    assert number(ran) == pytest.approx(100 * 3 / 5)
    if fault in ("EMPTY", "CHATTY"):  # its code asks again at temperature 0.5, 1, 1.5 and 2
        assert server.asked[f"FAULT{fault}\nReference: 6\nAnswer: 6"] == 3
        assert "the judge's reply could not be read, 3 times" in ran.out


@pytest.mark.full
def test_a_reply_that_can_be_read_at_the_second_time_counts(theirs, server) -> None:
    theirs.write([*ROWS[:5], {"q": "FAULTONCE", "a": "6"}], ANSWERS, task=TASK, utils=UTILS)
    ran = theirs.with_server(server)
    assert ran.code == 0 and number(ran) == pytest.approx(100 * 4 / 6)


@pytest.mark.full
def test_where_every_verdict_fails_there_is_no_number(theirs, server) -> None:
    theirs.write([{"q": "FAULT400", "a": "1"}] * 3, ["1"] * 3, task=TASK, utils=UTILS)
    ran = theirs.with_server(server)
    assert ran.code == 3 and number(ran) is None and ran.results["results"]["graded"]["judge_failed"] == 3


def test_it_is_a_judged_task_and_needs_a_judge_or_no_judge(theirs) -> None:
    ran = theirs.run()
    assert ran.code == 2 and "graded" in ran.err and "--no_judge" in ran.err
    ran = theirs.run("--no_judge")
    assert ran.code == 0 and "gpt_eval_score,none" not in ran.results["results"]["graded"]
    assert "not judged" in ran.out


def test_a_judge_that_passes_everything_is_found_before_the_run(theirs, server, monkeypatch) -> None:
    monkeypatch.setattr(scripted, "grade", lambda prompt: "C")
    ran = theirs.with_server(server, preflight=True)
    assert ran.code == 2 and "scores the gold answer '1' to doc 0 with 100" in ran.err


@pytest.mark.full
def test_a_recorded_run_is_judged_later_and_by_a_second_judge(theirs, server, cli, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    assert theirs.run("--no_judge", "--output_path", folder).code == 0
    for name in ("one", "two"):
        words = [
            "--judge",
            "openai",
            "--judge_args",
            f"base_url={server.url},model={name}",
            "--judge_preflight",
            "false",
        ]
        ran = cli("score", folder, *words)
        assert ran.code == 0, ran.out + ran.err
    row = ran.results["results"]["graded"]
    assert row["gpt_eval_score,none"] == row["gpt_eval_score@two,none"] == pytest.approx(100 * 4 / 6)
    asked = dict(server.asked)
    assert cli("score", folder).code == 0 and server.asked == asked


COMPARED = """from lmms_eval.llm_judge import ServerConfig, get_server

class Evaluator:
    server = get_server("openai", ServerConfig(model_name="gpt-4o"))

    def right(self, question, answer, prediction):
        try:
            found = self.server.evaluate_binary(question=question, answer=answer, prediction=prediction)
            return found["result"] if found["success"] else 0
        except:
            return 0

def asked(doc):
    return doc["q"]

def graded(doc, results):
    return {"gpt_eval_score": Evaluator().right(doc["q"], doc["a"], results[0])}

def total(results):
    return sum(results) / len(results)
"""


@pytest.mark.parametrize(("said", "value", "code"), [("1", 1.0, 0), ("0. There are 10 errors", None, 3)])
def test_a_binary_verdict_is_read_by_our_rule(
    theirs, server, monkeypatch, said: str, value: float | None, code: int
) -> None:
    theirs.write(ROWS[:2], ["1", "x"], task=TASK, utils=COMPARED)
    monkeypatch.setattr(scripted.Judge, "say", _saying(said))
    ran = theirs.with_server(server)
    assert ran.code == code and number(ran) == value


def _saying(text: str) -> Any:
    original = scripted.Judge.say

    def say(self: Any, status: int, body: str) -> None:
        reply = json.loads(body)
        if "choices" in reply:
            reply["choices"][0]["message"]["content"] = text
        original(self, status, json.dumps(reply))

    return say


def test_validate_runs_its_code_until_it_asks(theirs, cli) -> None:
    ran = cli("validate", "graded", "--include_path", theirs.folder)
    assert ran.code == 0 and "its own code asks the judge about 3 of the first 3 documents" in ran.out
    theirs.write(ROWS, ANSWERS, task=TASK, utils=UTILS.replace("doc['a']}\\nAnswer", "doc['nothing']}\\nAnswer"))
    ran = cli("validate", "graded", "--include_path", theirs.folder)
    assert ran.code == 2 and "reads the column 'nothing'" in ran.out
