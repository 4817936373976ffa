"""lmms-eval's scoring functions that ask a judge: their questions become ours, and so do the judge's failures."""

import base64
import io
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from mm_eval.config.functions import FunctionRef
from mm_eval.config.suites.askers import _roots, asks
from mm_eval.foreign_code.child.stand_ins.llm_judge import binary_of, object_of, pair_of
from mm_eval.foreign_code.remote import RemoteFunction
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.scoring.asked import RETRIES, Asked, Lookup
from mm_eval.scoring.metrics.metric import aggregation_named
from mm_eval.values.errors import ConfigError, ModelError, ScoringError
from mm_eval.values.types import Answer
from tests.sets import each_of

GRADED = """import time
from lmms_eval.llm_judge import Request, ServerConfig, get_server

server = get_server(server_name="openai", config=ServerConfig(model_name="gpt-4o", temperature=0.0, max_tokens=128))

def ask(prompt, temperature):
    config = ServerConfig(model_name="gpt-4o", temperature=temperature, max_tokens=128)
    for _ in range(3):
        try:
            reply = server.evaluate(Request(messages=[{"role": "user", "content": prompt}], config=config))
            if reply.content.strip():
                return reply.content, reply.model_used
        except Exception:
            time.sleep(30)
    return "", ""

def graded(doc, results):
    temperature, score = 0.0, None
    while score is None:
        content, model = ask(f"{doc['question']} | {doc['answer']} | {results[0]} |", temperature)
        if not content:
            score = 0.0
            break
        try:
            score = float(content.split(" ")[0])
        except ValueError:
            time.sleep(30)
            temperature += 0.5
            if temperature >= 2:
                score = 0.0
    return {"score": score, "model": model}
"""
COMPARED = """from lmms_eval.llm_judge import ServerConfig, get_server

class Evaluator:
    server = get_server("openai", ServerConfig(model_name="gpt-4o"))

    def right(self, question, answer, prediction, way):
        try:
            found = self.server.evaluate_binary(question=question, answer=answer, prediction=prediction, output_format=way)
            return found["result"] if found["success"] else 0
        except:
            return 0

def compared(doc, results):
    return {"acc": int(Evaluator().right(doc["question"], doc["answer"], results[0], doc.get("way", "0/1")))}
"""
VERIFIED = """from lmms_eval.verifiers import VerificationPipeline
from lmms_eval.verifiers.extractors import StripReasoningExtractor
from lmms_eval.verifiers.openai import OpenAIVerifier

def prompt(question, prediction, truth, **more):
    return f"{question} | {truth} | {prediction}"

pipeline = VerificationPipeline([StripReasoningExtractor()], OpenAIVerifier(model="gpt-4o", custom_prompt=prompt))

def verified(doc, results):
    found = pipeline(doc["question"], results[0], doc["answer"])
    return {"acc": found.score, "said": found.metadata["extracted_prediction"]}
"""
DOC = {"question": "What is x?", "answer": "-1 <AND> -5"}
Load = Callable[[str, str], Callable[..., Any]]


@pytest.fixture(scope="module")
def load(tmp_path_factory: pytest.TempPathFactory) -> Load:
    """A function of a file. One process serves all tests of a text."""

    @cache
    def folder_of(text: str) -> Path:
        folder = tmp_path_factory.mktemp("judged")
        (folder / "utils.py").write_text(text)
        return folder

    return lambda text, name: FunctionRef(f"utils.{name}", folder_of(text) / "t.yaml", 1).resolve(FOREIGN_CODE)


def asked(function: Callable[..., Any], *replies: str, doc: dict[str, Any] = DOC) -> Asked:
    left = [Answer(reply) for reply in replies]
    return judged(function, doc, ["x = -1"], lambda question: left.pop(0) if left else None)


def judged(function: Any, doc: dict[str, Any], results: list[str], lookup: Lookup) -> Asked:
    assert isinstance(function, RemoteFunction), "it runs in a process of its own"
    return function.run_with_replies(doc, results, lookup)


def test_a_question_without_a_known_reply_ends_the_function_and_its_own_except_does_not_see_it(load: Load) -> None:
    found = asked(load(GRADED, "graded"))
    assert found.pending is not None and found.value is None and found.error is None
    assert found.pending.messages == [{"role": "user", "content": "What is x? | -1 <AND> -5 | x = -1 |"}]
    assert dict(found.pending.generation_kwargs) == {"max_new_tokens": 128, "temperature": 0.0}
    assert "lmms_eval.llm_judge" not in sys.modules


def test_a_known_reply_is_what_the_function_reads(load: Load) -> None:
    found = asked(load(GRADED, "graded"), "0.5")
    assert found.value == {"score": 0.5, "model": "gpt-4o"} and [q.repeat for q in found.questions] == [0]


@pytest.mark.full
def test_a_bare_except_hides_no_question(load: Load) -> None:
    function = load(COMPARED, "compared")
    found = asked(function)
    assert found.pending is not None and "Ground Truth Answer:\n```\n-1 <AND> -5\n```" in str(
        found.pending.messages[0]["content"]
    )
    assert asked(function, "1").value == {"acc": 1} and asked(function, "[0]").value == {"acc": 0}


def test_a_reply_that_cannot_be_read_is_asked_for_again_with_the_first_options_and_then_fails(load: Load) -> None:
    function = load(GRADED, "graded")
    began = time.monotonic()
    again = asked(function, "well")
    assert again.pending is not None and again.pending.repeat == 1
    assert dict(again.pending.generation_kwargs)["temperature"] == 0.0  # its code raises it to 2
    assert asked(function, "well", "0.3").value["score"] == 0.3
    failed = asked(function, *["well"] * (RETRIES + 1))
    assert failed.value is None and "the judge's reply could not be read, 3 times; the last: 'well'" in str(
        failed.error
    )
    assert time.monotonic() - began < 100  # its code waits 30 s before each: two minutes in all


@pytest.mark.full
def test_a_verdict_is_not_read_into_a_reply_that_says_something_else(load: Load) -> None:
    function = load(COMPARED, "compared")
    found = asked(function, "0. There are 10 errors")
    assert found.pending is not None and found.pending.repeat == 1
    failed = asked(function, *["0. There are 10 errors"] * 3)
    assert failed.error is not None and failed.error.owner == "judge" and failed.value is None


def test_a_judge_that_failed_is_an_error_and_never_the_functions_own_zero(load: Load) -> None:
    gone = Answer(None, error=ModelError("the server is gone."))
    for text, name in ((GRADED, "graded"), (COMPARED, "compared")):
        function = load(text, name)
        found = judged(function, DOC, ["x"], lambda question: gone)
        assert found.error is not None and "the server is gone" in str(found.error) and found.value is None
        assert found.pending is not None  # a later run asks it again


@each_of(
    ("reply", "way", "verdict"),
    [
        ("1", "0/1", 1),
        ("**0**", "0/1", 0),
        ("Score: 1.", "0/1", 1),
        ("Judgement = [0]", "1/0", 0),
        ("incorrect (score 0 out of 1)", "0/1", None),
        ("10", "0/1", None),
        ("", "0/1", None),
        ("Yes.", "yes/no", True),
        ("No, the answer is 7, so yes is wrong", "yes/no", False),
        ("Not sure", "yes/no", None),
    ],
)
def test_a_binary_reply_is_its_verdict_or_nothing(reply: str, way: str, verdict: int | None) -> None:
    assert binary_of(reply, way) is verdict


def test_a_verifier_asks_the_judge_and_a_reply_without_a_verdict_is_none(load: Load) -> None:
    function = load(VERIFIED, "verified")
    found = judged(function, DOC, ["<think>hm</think>x = -1"], lambda question: None)
    assert found.pending is not None and found.pending.messages[0]["content"] == "What is x? | -1 <AND> -5 | x = -1"
    assert asked(function, "CORRECT").value == {"acc": 1.0, "said": "x = -1"}
    assert asked(function, "INCORRECT").value["acc"] == 0.0
    again = asked(function, "I see 10 ways")
    assert again.value is None and again.pending is not None and again.pending.repeat == 1


def test_two_scores_are_the_whole_first_line_and_a_rubric_needs_an_object() -> None:
    assert pair_of("8 6\nThe first is better.") == (8, 6) and pair_of("7.5,9") == (7.5, 9)
    assert pair_of("Assistant 1: 8, Assistant 2: 6") is pair_of("") is pair_of("8") is None
    assert object_of('Here: {"clear": 3}') == {"clear": 3} and object_of("none") is object_of("[1]") is None


def test_pictures_reach_the_judge(load: Load, tmp_path: Path) -> None:
    content = io.BytesIO()
    Image.new("RGB", (3, 2), "red").save(content, "PNG")
    (tmp_path / "p.png").write_bytes(content.getvalue())
    found = asked(
        load(
            """
from lmms_eval.llm_judge import Request, get_server
from lmms_eval.llm_judge.protocol import ServerConfig
def f(doc, results):
    config = ServerConfig(model_name="m", system_prompt="Be strict.")
    content = [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": doc["url"]}}]
    request = Request([{"role": "user", "content": content}], images=[doc["path"], doc["bytes"]])
    get_server("azure", config).evaluate(request)
""",
            "f",
        ),
        doc={
            "url": f"data:image/png;base64,{base64.b64encode(content.getvalue()).decode()}",
            "path": str(tmp_path / "p.png"),
            "bytes": base64.b64encode(content.getvalue()),
        },
    )
    assert found.pending is not None
    system, user = found.pending.messages
    assert system == {"role": "system", "content": "Be strict."}
    assert [part["type"] for part in user["content"]] == ["text", "image", "image", "image"]
    assert all(part["image"].size == (3, 2) for part in user["content"][1:])


def refused(function: Callable[..., Any]) -> str:
    with pytest.raises(ScoringError) as raised:
        asked(function)
    return str(raised.value)


@pytest.mark.full
@pytest.mark.parametrize(
    "call",
    [
        "get_server().evaluate_batch([])",
        "get_server().client",
        "__import__('lmms_eval.llm_judge', fromlist=['x']).ResponseParser",
    ],
)
def test_what_the_module_lacks_here_ends_the_function_whatever_it_catches(load: Load, call: str) -> None:
    body = f"    try:\n        {call}\n    except:\n        return {{'acc': 0}}\n"
    text = f"from lmms_eval.llm_judge import get_server\ndef f(doc, results):\n{body}"
    assert "which mm-eval does not have" in refused(load(text, "f"))


def test_code_that_posts_by_itself_is_refused_with_a_key_too(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "a key")
    body = (
        "    try:\n        socket.create_connection(('judge.example', 443))\n    except:\n        return {'acc': 0}\n"
    )
    said = refused(load(f"import socket\ndef f(doc, results):\n{body}", "f"))
    assert "judge.example by itself" in said and "`judge:`" in said and "--judge" in said


def test_a_judge_in_an_aggregation_is_refused(load: Load) -> None:
    function = load("from lmms_eval.llm_judge import *\ndef f(doc, results):\n    return 0\n", "f")
    assert asked(function).value == 0
    total = load(COMPARED + "\ndef total(results):\n    return compared(results[0], ['x'])\n", "total")
    with pytest.raises(ScoringError, match=r"calls lmms_eval\.llm_judge by itself"):
        aggregation_named(total)([DOC])


def test_a_file_that_asks_while_it_is_imported_is_a_fault_of_the_config(load: Load) -> None:
    text = "from lmms_eval.llm_judge import Request, get_server\nget_server().evaluate(Request([]))\ndef f(): pass\n"
    with pytest.raises(ConfigError, match="while it is imported"):
        load(text, "f")


FILES = {
    "direct.py": COMPARED + "\ndef plain(doc, results):\n    return {'acc': len(results)}\n",
    "late.py": "def f(doc, results):\n    from lmms_eval.llm_judge.protocol import Request\ndef g(doc, results): pass\n",
    "beside.py": "from .direct import compared as f, plain as g\n",
    "whole.py": "from . import late\ndef f(doc, results):\n    return late.f(doc, results)\ndef g(doc, results): pass\n",
    "task.py": "from lmms_eval.tasks.made_up.evals import Evaluator\nthe = Evaluator()\n"
    "def f(doc, results):\n    return the.right(doc)\ndef g(doc, results): pass\n",
    "tried.py": "try:\n    from lmms_eval.llm_judge import get_server\nexcept ImportError:\n    get_server = None\n"
    "def f(doc, results):\n    return get_server()\ndef g(doc, results): pass\n",
    "verifies.py": "from lmms_eval.verifiers.openai import OpenAIVerifier\nv = OpenAIVerifier()\n"
    "def f(doc, results):\n    return v.verify('', '', '')\ndef g(doc, results): pass\n",
    "none.py": "# lmms_eval.llm_judge\nimport json\ndef f(doc, results):\n    return json.dumps(f)\ndef g(): pass\n",
}


def test_which_functions_ask(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made_up = tmp_path / "lmms_eval" / "tasks" / "made_up"
    made_up.mkdir(parents=True)
    (tmp_path / "lmms_eval" / "__init__.py").write_text("raise ImportError('it is not imported')\n")
    (made_up / "evals.py").write_text(COMPARED)
    monkeypatch.syspath_prepend(tmp_path)
    _roots.cache_clear()
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    assert asks(tmp_path / "direct.py", "compared") and not asks(tmp_path / "direct.py", "plain")
    found = {name: asks(tmp_path / name, "f") for name in FILES if name != "direct.py"}
    assert found == {**dict.fromkeys(found, True), "none.py": False}
    assert not any(asks(tmp_path / name, "g") for name in found)
    _roots.cache_clear()


@pytest.mark.full
def test_a_real_module_stands_as_before_afterwards(load: Load, monkeypatch: pytest.MonkeyPatch) -> None:
    real = type(sys)("lmms_eval.llm_judge")
    monkeypatch.setitem(sys.modules, "lmms_eval.llm_judge", real)
    assert asked(load(COMPARED, "compared")).pending is not None
    assert sys.modules["lmms_eval.llm_judge"] is real
