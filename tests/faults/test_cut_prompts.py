"""A prompt that is too long for the model: counted where it was cut, failed where that is asked for, never silent."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from mm_eval.engine.cache import AnswerCache
from mm_eval.engine.journal import Journal, read_journal
from mm_eval.engine.model import Model, ModelSettings, request_key
from mm_eval.engine.records import answer_record, decode, encode
from mm_eval.values.errors import ModelError
from mm_eval.values.types import Answer, Instance
from tests.conftest import Ran
from tests.faults.server import Server, echo
from tests.sets import each_of, few

GENERATE = "generation_kwargs: {max_gen_toks: 4, until: []}\nmetric_list: [{metric: exact_match}]"
CHOOSE = "output_type: multiple_choice\ndoc_to_choice: [cat, dog]"
ROLL = "output_type: loglikelihood_rolling\nmetric_list: [{metric: word_perplexity}]"
YAML = """task: long
dataset_path: json
dataset_kwargs: {data_files: {test: %s/long.jsonl}}
test_split: test
doc_to_text: "%s"
doc_to_target: %s
%s
"""


@pytest.fixture
def ask(cli: Callable[..., Ran], tmp_path: Path) -> Callable[..., Ran]:
    """Asks the bundled tiny-llava three docs of text, of which the second is far too long for it."""

    def run(kind: str, *more: object) -> Ran:
        rows = [{"question": word * n, "answer": "cat"} for word, n in (("dog ", 4), ("dog ", 3000), ("cat ", 4))]
        (tmp_path / "long.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        text, target = ("", "question") if kind is ROLL else ("{{question}}", "answer")
        (tmp_path / "long.yaml").write_text(YAML % (tmp_path, text, target, kind))
        options = ("--tasks", "long", "--include_path", tmp_path, "--model", "tiny-llava", "--device", "cpu")
        return cli(*options, "--apply_chat_template", "false", "--bootstrap_iters", 0, *more)

    return run


@pytest.mark.parametrize("kind", few([GENERATE, CHOOSE], at=(0,)))
def test_a_cut_prompt_is_counted_in_row_sample_table_and_page(ask: Callable[..., Ran], kind: str, cli: Any) -> None:
    ran = ask(kind)
    assert ran.code == 0, ran.out
    row = ran.results["results"]["long"]
    assert (row["n"], row["failed"], row["cut"]) == (3, 0, 1)
    assert [sample["cut"] for sample in ran.samples("long")] == [False, True, False]
    head, _, first, *_ = ran.out[ran.out.index("task ") :].splitlines()
    assert head.split()[-1] == "cut" and first.split()[-1] == "1"
    page = (ran.folder / "report.html").read_text()
    assert '"cut": 1' in page or '"cut":1' in page
    again = cli("score", ran.folder)
    assert again.code == 0 and json.loads((ran.folder / "results.json").read_text())["results"]["long"]["cut"] == 1


@pytest.mark.full
@pytest.mark.parametrize("kind", [GENERATE, CHOOSE])
def test_under_fail_the_doc_fails_and_the_others_have_equal_answers(
    ask: Callable[..., Ran], kind: str, tmp_path: Path
) -> None:
    cut = ask(kind, "--output_path", tmp_path / "cut")
    failed = ask(kind, "--on_long_prompt", "fail", "--output_path", tmp_path / "fail")
    assert failed.code == 3
    row = failed.results["results"]["long"]
    assert (row["failed"], row["cut"]) == (1, 0)
    error = failed.samples("long")[1]["error"]["what"]
    assert "--on_long_prompt cut" in error and "doc 1" in error and "max_length is 2048" in error
    for doc_id in (0, 2):
        assert failed.samples("long")[doc_id]["resps"] == cut.samples("long")[doc_id]["resps"]


def test_a_run_is_not_gone_on_with_under_the_other_setting(ask: Callable[..., Ran], tmp_path: Path) -> None:
    assert ask(GENERATE).code == 0
    other = ask(GENERATE, "--on_long_prompt", "fail")
    assert other.code == 2 and 'on_long_prompt was "cut" and is "fail"' in other.err
    again = ask(GENERATE)
    assert again.code == 0 and "nothing was requested" in again.out and again.results["results"]["long"]["cut"] == 1


@pytest.mark.full
def test_a_long_text_is_scored_in_windows_and_not_cut(ask: Callable[..., Ran]) -> None:
    ran = ask(ROLL, "--on_long_prompt", "fail")
    assert ran.code == 0, ran.out + ran.err
    row = ran.results["results"]["long"]
    assert (row["failed"], row["cut"]) == (0, 0)
    assert head_of(ran.out).split()[-1] != "cut", "the column is shown where a prompt was cut"


def head_of(out: str) -> str:
    return next(line for line in out.splitlines() if line.startswith("task "))


class Cutting(Model):
    """Cuts the prompt of doc 1."""

    def generate(self, instances: Any) -> Any:
        for instance in instances:
            yield instance, Answer("yes", cut=instance.doc_id == 1)


def test_a_cached_answer_to_a_cut_prompt_is_no_answer_under_fail(tmp_path: Path) -> None:
    """The request keys are the same, so that answers to prompts that fit are shared between the two settings."""
    rows = [Instance("generate_until", "t", n, {}, f"q{n}") for n in range(2)]
    cut, fail = Cutting({}, ModelSettings()), Cutting({}, ModelSettings(on_long_prompt="fail"))
    cache = AnswerCache(tmp_path, cut)
    for row, response in cut.generate(rows):
        assert request_key(cut, row) == request_key(fail, row)
        cache.put(replace(response, key=request_key(cut, row)), row)
    cache.close()
    known = AnswerCache(tmp_path, cut)
    assert [known.find(request_key(cut, row), row).cut for row in rows] == [False, True]
    known.close()
    known = AnswerCache(tmp_path, fail)
    assert [known.find(request_key(fail, row), row) is not None for row in rows] == [True, False]
    known.close()


def test_a_journal_without_the_field_is_read(tmp_path: Path) -> None:
    row = Instance("generate_until", "t", 0, {}, "q")
    record = json.loads(json.dumps(answer_record(Answer("yes", key="key", cut=True), [row.slot])))
    journal = Journal(tmp_path)
    journal.put(record)
    del record["output"]["cut"]
    journal.put({**record, "key": "old", "slots": [["t", 1, 0, 0]]})
    journal.close()
    state = read_journal(tmp_path)
    assert (state.answers["key"].cut, state.answers["old"].cut, state.answers["old"].output) == (True, None, "yes")
    assert decode(encode(record)[:-1])["output"] == {"text": "yes"}


LONG = "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens."


@each_of(
    ("status", "said"),
    [
        (400, {"error": {"message": LONG, "code": "context_length_exceeded"}}),
        (
            400,
            {"object": "error", "message": "The input (5000 tokens) is longer than the model's context length (4096)."},
        ),
        (
            400,
            {"error": {"type": "exceed_context_size_error", "message": "request exceeds the available context size"}},
        ),
        (422, {"error": "`inputs` tokens + `max_new_tokens` must be <= 4096", "error_type": "validation"}),
        (500, {"error": {"message": "the request exceeds the available context size"}}),
        (200, {"error": {"message": LONG}}),
    ],
)
def test_a_prompt_too_long_for_a_server_fails_at_once_and_alone(status: int, said: dict[str, Any]) -> None:
    def handle(body: dict[str, Any], nth: int) -> httpx.Response:
        return httpx.Response(status, json=said) if "q1" in str(body) else echo(body)

    server = Server(handle)
    chat = [[{"role": "user", "content": f"q{n}"}] for n in range(3)]
    rows = [Instance("generate_until", "t", n, {}, context) for n, context in enumerate(chat)]
    found = {row.doc_id: answer for row, answer in server.model().generate(rows)}
    assert isinstance(found[1], ModelError) and found[1].attempts == 1
    assert "too long for the server's model" in str(found[1])
    assert (found[0].output, found[2].output) == ("echo q0", "echo q2")
    assert len(server.requests) == 3
