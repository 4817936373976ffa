"""A judge that runs here: it sees the pictures that the prompt shows, and the model under test is closed before it is loaded."""

import socket
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from mm_eval.config.manager import TaskManager
from mm_eval.data.source import DataSource
from mm_eval.engine.model import MODELS, Model, ModelFacts, ModelSettings, prepare_once, register_model
from mm_eval.foreign_code.runner import FOREIGN_CODE
from mm_eval.judge.prompts import judge_instance
from mm_eval.prompt.task import Task
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Answer
from tests.judge.conftest import JUDGE, TASK, UTILS

SEEING = """task: seen
dataset_path: parquet
dataset_kwargs: {data_files: {test: rows.parquet}}
test_split: test
doc_to_text: q
doc_to_target: a
"""
SEES = """

def judge_prompt(doc, answer):
    shown = {"type": "image", "image": doc["picture"]}
    return [{"role": "user", "content": [shown, {"type": "text", "text": f"Is it {answer}?"}]}]


def verdict(reply, doc):
    return float("y" in reply.lower())
"""
EVENTS: list[str] = []


@pytest.fixture
def pictured(tmp_path: Path) -> Path:
    from datasets import Dataset, Image
    from PIL import Image as Pillow

    colours = ["red", "blue", "red"]
    pictures = [Pillow.new("RGB", (64, 64), colour) for colour in colours]
    rows = {"q": ["what?"] * 3, "a": colours, "picture": pictures}
    Dataset.from_dict(rows).cast_column("picture", Image()).to_parquet(tmp_path / "rows.parquet")
    (tmp_path / "seen.yaml").write_text(SEEING + JUDGE)
    (tmp_path / "utils.py").write_text(UTILS + SEES)
    return tmp_path


def test_a_judge_sees_the_pictures(pictured: Path) -> None:
    config = TaskManager(include_path=str(pictured)).load(["seen"]).tasks["seen"].resolved(FOREIGN_CODE)
    task = Task.load(config, DataSource())
    judge = MODELS.get("tiny-llava")({}, ModelSettings(device="cpu"))
    asked = [judge_instance(task, "tiny", 0, n, task.docs.text(n), "red", chat=judge.facts.chat) for n in range(3)]
    assert [len(instance.image_digests) for instance in asked] == [1, 1, 1] and asked[0].images
    assert asked[0].image_digests == asked[2].image_digests != asked[1].image_digests
    scored = [replace(each, request_type="loglikelihood", continuation=" yes") for each in asked]
    prepare_once(judge)
    found = {instance.doc_id: answer.output[0] for instance, answer in judge.loglikelihood(scored)}
    assert found[0] == pytest.approx(found[2], abs=1e-4) and abs(found[0] - found[1]) > 1e-3


def test_a_run_with_a_local_judge_that_sees(cli, pictured: Path) -> None:
    words = (
        "--tasks",
        "seen",
        "--include_path",
        pictured,
        "--model",
        "dummy",
        "--judge",
        "tiny-llava",
        "--judge_preflight",
        "false",
    )
    ran = cli(*words)
    assert ran.code == 0, ran.out + ran.err
    row = ran.results["results"]["seen"]
    assert row["n"] == 3 and row["judge_failed"] == 0 and ran.results["judges"]["seen"][0]["adapter"] == "tiny-llava"
    prompt = ran.samples("seen")[0]["judge"]["prompt"]
    assert [part["type"] for part in prompt[0]["content"]] == ["image", "text"]
    again = cli(*words)
    assert again.code == 0 and "verdicts: 3 were there already" in again.out


@register_model("noted")
class Noted(Model):
    """Notes when it is loaded and closed."""

    facts = ModelFacts(local=True)
    name = "model"

    def prepare(self) -> None:
        EVENTS.append(f"{self.name} loaded")

    def close(self) -> None:
        EVENTS.append(f"{self.name} closed")

    def generate(self, instances):
        for instance in instances:
            EVENTS.append(self.name)
            yield instance, Answer("GRADE: C")


@register_model("noted-judge")
class NotedJudge(Noted):
    """The same as a judge."""

    name = "judge"


def test_the_model_is_closed_before_a_local_judge_is_loaded(judged) -> None:
    EVENTS.clear()
    judged.write([{"q": "1", "a": "1"}, {"q": "2", "a": "1"}], ["1", "1"], task=TASK + JUDGE)
    words = ("--tasks", "graded", "--include_path", judged.folder, "--model", "noted")
    ran = judged.command(*words, "--judge", "noted-judge", "--judge_preflight", "false")
    assert ran.code == 0, ran.out + ran.err
    assert EVENTS[:6] == ["model loaded", "model", "model", "model closed", "judge loaded", "judge"]
    assert EVENTS[7] == "judge closed"
    EVENTS.clear()
    assert judged.command("score", ran.folder).code == 0 and not EVENTS


@register_model("resolving-judge")
class Resolving(Model):
    """Looks its server up in threads of its own, as event loops do."""

    def generate(self, instances):
        with ThreadPoolExecutor() as pool:
            for instance in instances:
                [pool.submit(socket.getaddrinfo, "judge.example", 443).result() for _ in range(20)]
                yield instance, Answer("GRADE: C")


@pytest.mark.full
def test_a_judges_adapter_opens_connections_while_the_tasks_code_may_not(
    judged, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_: [])
    monkeypatch.setattr("mm_eval.judge.asking.AT_ONCE", 20)
    head = "def judge_prompt(doc, answer):\n"
    utils = "import time\n" + UTILS.replace(head, f"{head}    time.sleep(0.002)\n")
    judged.write([{"q": str(n), "a": "1"} for n in range(200)], ["1"] * 200, utils=utils)
    ran = judged.run("--judge", "resolving-judge", "--judge_preflight", "false")
    assert ran.code == 0, ran.out + ran.err


@register_model("broken-judge")
class Broken(Model):
    """Can't be loaded."""

    def prepare(self) -> None:
        raise ConfigError("the weights are damaged.", where="broken")


def test_a_judge_that_cannot_be_loaded_costs_no_answer_and_no_results(judged) -> None:
    ran = judged.run("--judge", "broken-judge", "--judge_preflight", "false")
    assert ran.code == 3 and "judging stopped early: broken: the weights are damaged" in ran.out, ran.out + ran.err
    assert ran.results["results"]["graded"]["judge_failed"] == 6
