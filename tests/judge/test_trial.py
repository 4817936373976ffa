"""A judge is tried before the first answer, and what it will cost is known."""

import itertools
import json
import random
import re
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest

from mm_eval.engine.launch import Processes
from mm_eval.engine.model import Answers, Model, ModelFacts, register_model
from mm_eval.judge.trial import DOCS, EMPTY, OTHERS, _Trial, chance_of_passing, family_of
from mm_eval.values.types import Answer
from tests.judge import server as scripted
from tests.judge.conftest import JUDGE, NO_WAIT, TASK
from tests.sets import each_of, few


def state(ran: Any) -> str:
    [judge] = ran.results["judges"]["graded"]
    return str(judge["preflight"])


def refused(ran: Any, folder: Path) -> str:
    """What the command says that ended before anything was asked of the model."""
    assert ran.code == 2 and not folder.exists(), ran.out + ran.err
    return str(ran.err)


def test_the_replies_are_recorded_and_not_asked_for_again(judged, server, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    ran = judged.with_server(server, "--output_path", folder, preflight=True)
    assert ran.code == 0 and state(ran) == "passed"
    asked = dict(server.asked)
    assert sorted(prompt for prompt in asked if EMPTY in prompt) == [
        f"What is {n} + 1?\nReference: {n + 1}\nAnswer: {EMPTY}" for n in range(6)
    ]
    assert len(asked) == 14 and max(asked.values()) == 1  # four of the gold answers are the model's, too
    again = judged.with_server(server, "--output_path", folder, preflight=True)
    assert again.code == 0 and server.asked == asked and state(again) == "passed"
    assert ran.results["results"]["graded"]["judge_score,none"] == 4 / 6
    kinds = [json.loads(line)["kind"] for path in (folder / "journal").glob("*") for line in path.open()]
    assert kinds.count("judge") == 14


@pytest.mark.parametrize("verdict", ["C", "I"])
def test_a_judge_that_scores_all_answers_alike_ends_the_run(
    judged, server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verdict: str
) -> None:
    monkeypatch.setattr(scripted, "grade", lambda prompt: verdict)
    said = refused(judged.with_server(server, "--output_path", tmp_path / "run", preflight=True), tmp_path / "run")
    assert "scores the gold answer '1' to doc 0 with" in said and f"it said 'GRADE: {verdict}' and" in said
    assert "--judge_preflight false" in said and sum(server.asked.values()) == 12


# ------------------------------------------------------------------ judges that do not look
NUMBERS = """
import re


def judge_prompt(doc, answer):
    return f"{doc['q']}\\nReference: {doc['a']}\\nAnswer: {answer}"


def verdict(reply):
    return float(reply) if re.fullmatch(r"[01]\\.\\d+", reply) else None
"""
NUMBERED = TASK + JUDGE.replace(
    '[["GRADE: C", 1], ["GRADE: I", 0], ["well, 1 of 10", null]]', '[["1.0", 1.0], ["0.0", 0.0], ["good", null]]'
)


def _tried(judged: Any, server: Any, monkeypatch: pytest.MonkeyPatch, replies: Any, docs: int = 12) -> Any:
    """A run whose judge says the given texts in turn, whatever it is asked; one question at a time."""
    monkeypatch.setattr(scripted, "replied", lambda text, prompt: next(replies))
    rows = [{"q": f"What is {n} + 1?", "a": str(n + 1)} for n in range(docs)]
    judged.write(rows, ["1"] * docs, NUMBERED, NUMBERS)
    return judged.with_server(server, args=f"{NO_WAIT},num_concurrent=1", preflight=True)


CYCLES = [cycle for length in (1, 2, 3, 4) for cycle in product(("1.0", "0.0", "0.5"), repeat=length) if "1.0" in cycle]


@pytest.mark.parametrize("cycle", [("1.0", "0.0", "0.5"), ("1.0", "0.0"), ("1.0", "0.9", "0.1", "0.0"), ("0.5",)])
def test_a_judge_that_repeats_a_cycle_is_refused(judged, server, monkeypatch: pytest.MonkeyPatch, cycle) -> None:
    ran = _tried(judged, server, monkeypatch, itertools.cycle(cycle))
    assert ran.code == 2 and "of 10 documents" in ran.err and sum(server.asked.values()) == 20


def test_no_short_cycle_and_hardly_any_random_judge_passes() -> None:
    """The rule itself on verdicts that depend on nothing but the order of the questions."""
    rounds = _Trial(SimpleNamespace(path="graded"), "graded", None, {n: str(n) for n in range(DOCS)}).rounds()  # type: ignore[arg-type]
    asked = [pair for round_ in rounds for pair in sorted(round_)]

    def hits(verdicts: Any) -> int:
        said = dict(zip(asked, verdicts, strict=False))
        return sum(said[n, str(n)] > said[n, EMPTY] for n in range(DOCS))

    assert len(asked) == 2 * DOCS and len(CYCLES) > 60
    assert all(hits(itertools.cycle(cycle)) < DOCS - 1 for cycle in CYCLES)
    draw = random.Random(1)
    passed = sum(hits(iter(draw.random, 2.0)) >= DOCS - 1 for _ in range(20_000)) / 20_000
    chance = chance_of_passing(DOCS, 1, 1)
    assert chance == 11 / 1024 and passed == pytest.approx(chance, abs=0.003)


@pytest.mark.parametrize(("odd", "code"), [("What is 3 ", 0), ("What is [34] ", 2)])
def test_one_odd_gold_answer_ends_no_run_and_two_do(
    judged, server, monkeypatch: pytest.MonkeyPatch, odd: str, code: int
) -> None:
    honest = scripted.grade
    monkeypatch.setattr(scripted, "grade", lambda prompt: "I" if re.match(odd, prompt) else honest(prompt))
    judged.write([{"q": f"What is {n} + 1?", "a": str(n + 1)} for n in range(12)], ["1"] * 12)
    ran = judged.with_server(server, preflight=True)
    assert ran.code == code, ran.out + ran.err


def test_with_one_doc_there_are_more_worthless_answers_and_a_note(judged, server) -> None:
    judged.write([{"q": "What is 0 + 1?", "a": "1"}], ["1"])
    ran = judged.with_server(server, preflight=True)
    assert ran.code == 0 and len(server.asked) == 1 + OTHERS[1]
    assert "on 1 of 1 document: too few to tell it from chance, which passes in up to 11% of cases" in " ".join(
        ran.out.split()
    )


def test_a_gold_answer_that_abstains_is_not_compared_with_one_that_does(judged, server) -> None:
    rows = [{"q": f"What is {n} + 1?", "a": "unanswerable" if n < 3 else str(n + 1)} for n in range(12)]
    judged.write(rows, ["1"] * 12)
    assert judged.with_server(server, preflight=True).code == 0
    assert not any("unanswerable" in prompt and EMPTY in prompt for prompt in server.asked)


@pytest.mark.parametrize(
    ("fault", "told"),
    few(
        [
            ("FAULT401", "the judge judge-1 does not answer: HTTP 401"),
            ("FAULT503", "the judge judge-1 does not answer"),
            ("FAULTHTML", "does not answer"),
            (
                "FAULTCHATTY",
                "gives no verdict on the answer '1' to doc 2: the judge's reply can't be read: 'Well, 1 of 10",
            ),
            ("FAULTEMPTY", "the judge's reply is empty"),
        ],
        at=[0, 1, 2],
    ),
)
def test_a_judge_that_gives_no_verdict_ends_the_run(judged, server, tmp_path: Path, fault: str, told: str) -> None:
    judged.write([{"q": f"{fault} {n}?", "a": "1"} for n in range(3)], ["1", "1", "2"])
    said = refused(judged.with_server(server, "--output_path", tmp_path / "run", preflight=True), tmp_path / "run")
    assert told in said and "Traceback" not in said


def test_a_single_odd_doc_ends_no_run(judged, server) -> None:
    judged.write([{"q": "FAULT400", "a": "1"}, {"q": "2", "a": "1"}], ["1", "1"])
    ran = judged.with_server(server, preflight=True)
    assert ran.code == 3 and state(ran) == "passed" and ran.results["results"]["graded"]["judge_score,none"] == 1


def test_a_server_that_is_not_there_ends_the_run(judged, server, tmp_path: Path) -> None:
    words = ["--judge", "openai", "--judge_args", "base_url=http://127.0.0.1:9/v1,model=m,max_retries=0,max_outage=0.5"]
    said = refused(judged.run(*words, "--output_path", tmp_path / "run"), tmp_path / "run")
    assert "the judge m does not answer" in said


def test_a_key_that_is_not_there_is_said_before_a_socket_is_opened(
    judged, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    for args, variable in (
        ("base_url=https://api.openai.com/v1,model=gpt-4o", "OPENAI_API_KEY"),
        ("base_url=http://127.0.0.1:9/v1,model=gpt-4o,api_key_env=MY_KEY", "MY_KEY"),
    ):
        said = refused(
            judged.run("--judge", "openai", "--judge_args", args, "--output_path", tmp_path / "run"), tmp_path / "run"
        )
        assert f"the variable {variable} is not set" in said


def test_it_can_be_skipped_and_that_is_recorded(judged, server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripted, "grade", lambda prompt: "C")
    ran = judged.with_server(server)
    assert ran.code == 0 and state(ran) == "skipped" and len(server.asked) == 6


def test_replies_from_a_file_are_exempt(judged, tmp_path: Path) -> None:
    rows = [{"task": f"graded#judge@{tmp_path.name}", "doc_id": 0, "resps": ["GRADE: C"]}]
    (tmp_path / "replies.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = judged.run("--judge", "replay", "--judge_args", f"path={tmp_path / 'replies.jsonl'}")
    assert ran.code == 3 and state(ran) == "exempt"


@pytest.mark.parametrize(
    "place", few([Processes(), Processes(0, 2), Processes(1, 2)], at=[1]), ids=["alone", "first", "second"]
)
def test_a_recorded_run_is_judged_after_the_same_test(
    judged, server, cli, tmp_path: Path, monkeypatch, place: Processes
) -> None:
    """Also by a process of a training, whose launch has several."""
    folder = tmp_path / "run"
    assert judged.run("--no_judge", "--output_path", folder).code == 0
    words = ["score", folder, "--judge", "openai", "--judge_args", f"base_url={server.url},model=judge-1"]
    monkeypatch.setattr("mm_eval.run.processes", lambda: place)
    with monkeypatch.context() as broken:
        broken.setattr(scripted, "grade", lambda prompt: "C")
        assert cli(*words).code == 2
    scored = cli(*words)
    assert scored.code == 0 and state(scored) == "passed" and max(server.asked.values()) <= 2


def test_a_task_without_gold_answers_is_judged_and_the_note_says_so(judged, server) -> None:
    judged.write([{"q": f"{n}?", "a": ""} for n in range(3)], ["1", "1", "2"])
    ran = judged.with_server(server, preflight=True)
    assert ran.code == 0 and "no gold answer is known, so the judge judge-1 was not tried on it" in ran.out
    assert state(ran) == "skipped"  # it did not pass anything
    judged.command("score", ran.folder)
    assert state(ran) == "skipped"


def test_a_judge_that_is_refused_is_not_in_the_folder(judged, server, cli, monkeypatch) -> None:
    ran = judged.run("--no_judge")
    words = ["score", ran.folder, "--judge", "openai", "--judge_args", f"base_url={server.url},model=judge-1"]
    monkeypatch.setattr(scripted, "grade", lambda prompt: "C")
    assert cli(*words).code == 2
    assert cli("score", ran.folder).code == 0 and ran.results["judges"]["graded"] == []


def test_a_judge_that_passed_stays_so(judged, server, cli) -> None:
    ran = judged.run("--no_judge")
    words = ["score", ran.folder, "--judge", "openai", "--judge_args", f"base_url={server.url},model=judge-1"]
    for more in (words[2:], [], [*words[2:], "--judge_preflight", "false"], []):
        assert cli(*words[:2], *more).code == 0 and state(ran) == "passed"


# ------------------------------------------------------------------ local judges
@register_model("test-local-judge")
class Local(Model):
    """A judge that runs here: notes when it is loaded and freed."""

    facts = ModelFacts(local=True, chat=True)
    events: ClassVar[list[str]] = []

    def prepare(self) -> None:
        self.events.append("load judge")

    def close(self) -> None:
        self.events.append("free judge")

    def generate(self, instances: Any) -> Answers:
        for instance in instances:
            yield instance, Answer(f"GRADE: {scripted.grade(instance.context[-1]['content'][0]['text'])}")


@register_model("test-local-model")
class Measured(Local):
    """The model under test, whose loading is noted in the same list."""

    def prepare(self) -> None:
        self.events.append("load model")

    def close(self) -> None:
        self.events.append("free model")


@pytest.fixture
def local() -> list[str]:
    Local.events.clear()
    return Local.events


def test_a_local_judge_is_loaded_and_freed_before_the_model_is_loaded(judged, local, cli, tmp_path: Path) -> None:
    words = ["--tasks", "graded", "--include_path", judged.folder, "--judge", "test-local-judge"]
    words += ["--model", "test-local-model", "--model_args", "pretrained=Qwen/Qwen2-VL-2B"]
    words += ["--judge_args", "pretrained=Qwen/Qwen3-VL-32B", "--output_path", tmp_path / "run"]
    ran = cli(*words)
    assert ran.code == 0, ran.out + ran.err
    changes = [event for n, event in enumerate(local) if n == 0 or local[n - 1] != event]
    assert changes[:5] == ["load judge", "free judge", "load model", "free model", "load judge"]
    assert "the judge Qwen3-VL-32B is of the model's own family (qwen)" in ran.out
    local.clear()
    assert cli(*words).code == 0 and not {"load judge", "load model"} & set(local)  # every reply is recorded


# ------------------------------------------------------------------ cost
PRICED = "max_retries=0,input_price=1000,output_price=1000"


def test_an_estimate_above_the_budget_ends_the_run_before_any_call(judged, server, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    ran = judged.with_server(server, "--judge_budget", "0.5", "--output_path", folder, args=PRICED, preflight=True)
    said = refused(ran, folder)
    assert "may cost more than $0.50: 6 calls" in said and "at most $3.13" in said and "3,072 reply tokens" in said
    assert not server.asked


def test_a_budget_needs_prices(judged, server, tmp_path: Path) -> None:
    ran = judged.with_server(server, "--judge_budget", "20", "--output_path", tmp_path / "run", preflight=True)
    said = refused(ran, tmp_path / "run")
    assert "the prices of the judge judge-1 are unknown" in said and "input_price=" in said and not server.asked


def test_a_run_stops_when_its_budget_is_spent_and_goes_on_with_a_higher_one(
    judged, server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The estimate counts on 512 tokens a reply; this server's replies have 3, and 10 in the prompt."""
    monkeypatch.setattr("mm_eval.judge.trial._check_budget", lambda *args: None)
    args, folder = "max_retries=0,num_concurrent=1,input_price=1000,output_price=1000", tmp_path / "run"
    ran = judged.with_server(server, "--judge_budget", "0.03", "--output_path", folder, args=args)
    assert ran.code == 3 and "--judge_budget is $0.03" in ran.out + ran.err
    spent = dict(server.asked)
    assert 3 <= len(spent) < 6  # 0.013 dollars each; a few may be under way
    row = ran.results["results"]["graded"]
    assert row["judge_failed"] == 6 - len(spent)
    again = judged.with_server(server, "--judge_budget", "20", "--output_path", folder, args=args)
    assert again.code == 0 and max(server.asked.values()) == 1 and len(server.asked) == 6


# ------------------------------------------------------------------ families
@each_of(
    ("name", "family"),
    [
        ("Qwen/Qwen2.5-VL-7B-Instruct", "qwen"),
        ("gpt-4o-2024-05-13", "gpt"),
        ("chatgpt-4o-latest", ""),
        ("o3-mini", "gpt"),
        ("llava-hf/llava-1.5-7b-hf", "llava"),
        ("my-own-model", ""),
        ("phi-4", "phi"),
        ("graphite", ""),
    ],
)
def test_families(name: str, family: str) -> None:
    assert family_of(name) == family
