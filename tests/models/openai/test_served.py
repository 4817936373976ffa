"""A served model is known by what its server says of it, not by address and name alone, which the next checkpoint gets too."""

import json
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mm_eval.models.openai.adapter import OpenAI
from mm_eval.models.openai.client.served import said_of

from mm_eval.engine.model import ModelSettings, request_key
from mm_eval.engine.served import as_recorded
from tests.conftest import Ran
from tests.judge.conftest import Judged, judged  # noqa: F401
from tests.judge.server import grade
from tests.models.openai.listening import Listening, listening, said
from tests.models.openai.test_openai import question
from tests.sets import each_of

TASK = """task: sums
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: q
doc_to_target: q
metric_list: [{metric: exact_match}]
generation_kwargs: {max_new_tokens: 16}
"""
STEP_100 = {"id": "m", "owned_by": "vllm", "root": "/ckpt/step-100", "parent": None, "created": 1}
STEP_200 = {**STEP_100, "root": "/ckpt/step-200", "created": 2}
GGUF = {"id": "m", "owned_by": "llamacpp", "meta": {"n_params": 7, "size": 100}}
OTHER_GGUF = {**GGUF, "meta": {"n_params": 7, "size": 90}}
SILENT = {"id": "m", "object": "model", "created": 5, "owned_by": "system"}


@pytest.fixture
def server() -> Iterator[Listening]:
    with listening(models=[STEP_100]) as served:
        yield served


@pytest.fixture
def ask(cli: Callable[..., Ran], tmp_path: Path) -> Callable[..., Ran]:
    """ask(server, *words, docs=2, folder="run", args=""): a run."""

    def run(server: Listening, *words: object, docs: int = 2, folder: str = "run", args: str = "") -> Ran:
        (tmp_path / "sums.yaml").write_text(TASK)
        (tmp_path / "rows.jsonl").write_text("".join(f'{{"q": "{n}"}}\n' for n in range(2)))
        shown = () if docs == 2 else ("--limit", docs)
        model = ("--model", "openai", "--model_args", f"base_url={server.url},model=m,max_outage=0.2{args}")
        where = ("--output_path", tmp_path / folder, "--no_report")
        return cli("--tasks", "sums", "--include_path", tmp_path, *model, *where, *shown, *words)

    return run


def lose_answers(folder: Path) -> None:
    """Of a run folder's answers the first is left."""
    [journal] = (folder / "journal").iterdir()
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(lines[0])
    shutil.rmtree(folder / "samples")
    (folder / "results.json").unlink()


@each_of(
    ("one", "other", "what"),
    [
        (STEP_100, STEP_200, 'model.served.root was "/ckpt/step-100" and is "/ckpt/step-200"'),
        (GGUF, OTHER_GGUF, "model.served.meta.size was 100 and is 90"),
        ({**STEP_100, "parent": "base"}, {**STEP_100, "parent": "base-2"}, 'served.parent was "base" and is "base-2"'),
        (STEP_100, {**STEP_100, "root": None}, "served was"),
    ],
)
def test_a_run_is_not_continued_with_another_checkpoint(
    one: Any, other: Any, what: str, ask: Any, tmp_path: Path
) -> None:
    shutil.rmtree(tmp_path / "run", ignore_errors=True)
    with listening(models=[one]) as server:
        ran = ask(server)
        assert ran.code == 0, ran.err
        spec = json.loads((tmp_path / "run" / "run.json").read_text())["spec"]
        assert spec["model"]["served"] == {name: one[name] for name in ("root", "parent", "meta") if one.get(name)}
        lose_answers(tmp_path / "run")
        server.models, before = [other], len(server.questions)
        again = ask(server)
        assert again.code == 2 and what in again.err, again.err
        assert len(server.questions) == before, "nothing was asked"
        server.models = [{**one, "created": 99}]
        assert ask(server).code == 0 and len(server.questions) == before + 1


def test_the_time_and_the_fingerprint_are_in_no_key(server: Listening) -> None:
    def key(entry: dict[str, Any], **args: Any) -> str:
        server.models = [entry]
        model = OpenAI({"base_url": server.url, "model": "m", **args}, ModelSettings())
        model.describe()
        return request_key(model, question([], "q"))

    assert key(STEP_100) == key(
        {**STEP_100, "created": 7, "permission": [{"id": "random"}], "system_fingerprint": "fp"}
    )
    assert (
        len(
            {key(STEP_100), key(STEP_200), key(GGUF), key(SILENT), key(SILENT, identity="a"), key(SILENT, identity="b")}
        )
        == 6
    )


def test_answers_of_a_checkpoint_are_shared_and_those_of_another_are_not(
    server: Listening, ask: Any, tmp_path: Path
) -> None:
    cache = ("--use_cache", tmp_path / "cache")
    assert ask(server, *cache).code == 0 and len(server.questions) == 2
    again = ask(server, *cache, folder="again")
    assert len(server.questions) == 2 and "2 answers came from --use_cache" in again.out
    server.models = [STEP_200]
    other = ask(server, *cache, folder="other")
    assert other.code == 0 and len(server.questions) == 4 and "--use_cache" not in other.out


@each_of("models", [None, [], [SILENT], [SILENT, {**SILENT, "id": "other"}]])
def test_of_a_model_known_by_its_name_alone_nothing_is_shared(models: Any, ask: Any, tmp_path: Path) -> None:
    for name in ("run", "other", "cache"):
        shutil.rmtree(tmp_path / name, ignore_errors=True)
    cache = ("--use_cache", tmp_path / "cache")
    with listening(models=models) as server:
        for count, folder in ((2, "run"), (4, "other")):
            ran = ask(server, *cache, folder=folder)
            assert ran.code == 0 and len(server.questions) == count
            assert ran.out.count("--use_cache was not used") == 1 and "identity=NAME in --model_args" in ran.out
        assert not list((tmp_path).glob("cache/*"))
        assert "--use_cache" not in ask(server, folder="third").out, "nobody asked for a cache"


def test_a_model_that_the_user_names_is_shared(ask: Any, tmp_path: Path) -> None:
    cache = ("--use_cache", tmp_path / "cache")
    with listening(models=[SILENT]) as server:
        assert ask(server, *cache, args=",identity=step-100").code == 0
        spec = json.loads((tmp_path / "run" / "run.json").read_text())["spec"]
        assert spec["model"]["identity"] == "step-100"
        ask(server, *cache, folder="again", args=",identity=step-100")
        assert len(server.questions) == 2
        ask(server, *cache, folder="other", args=",identity=step-200")
        assert len(server.questions) == 4
        refused = ask(server, args=",identity=step-200")
        assert refused.code == 2 and 'model.identity was "step-100" and is "step-200"' in refused.err


@each_of(("name", "cached"), [("m", 2), ("org/M", 2), ("m-2026-01-01", 2), ("other", 0), ("m-mini", 0), ("", 2)])
def test_a_reply_under_another_name_is_not_cached(name: str, cached: int, ask: Any, tmp_path: Path) -> None:
    for each in ("run", "cache", "again"):
        shutil.rmtree(tmp_path / each, ignore_errors=True)
    with listening(models=[STEP_100]) as server:
        server.names = lambda asked: name
        ask(server, "--use_cache", tmp_path / "cache")
        server.names = lambda asked: asked
        ask(server, "--use_cache", tmp_path / "cache", folder="again")
        assert len(server.questions) == 4 - cached


def test_two_fingerprints_in_a_run_are_a_note(server: Listening, ask: Any, tmp_path: Path) -> None:
    server.more = {"system_fingerprint": "fp_1"}
    one = ask(server)
    assert "under 2 fingerprints" not in one.out
    lose_answers(tmp_path / "run")
    server.more = {"system_fingerprint": "fp_2"}
    two = ask(server)
    assert two.code == 0 and "note: m answered under 2 fingerprints" in two.out and "fp_1 (1)" in two.out, two.out


def test_a_finished_run_needs_no_server(ask: Any) -> None:
    with listening(models=[STEP_100]) as server:
        ask(server)
    again = ask(server)
    assert again.code == 0 and "sums" in again.out, again.err


def test_a_run_that_begins_before_its_server_is_up_belongs_to_what_it_met(ask: Any, tmp_path: Path) -> None:
    with listening(models=[STEP_100]) as server:
        server.loading = 1  # when the run is described
        assert ask(server).code == 0
        run = json.loads((tmp_path / "run" / "run.json").read_text())
        assert run["spec"]["model"]["served"] is None
        assert run["endpoints"]["model"]["served"] == {"root": "/ckpt/step-100"}
        lose_answers(tmp_path / "run")
        server.models = [STEP_200]
        refused = ask(server)
        assert refused.code == 2 and '"/ckpt/step-100" and is "/ckpt/step-200"' in refused.err
        server.models = [STEP_100]
        assert ask(server).code == 0


@each_of("late", [False, True])
def test_a_server_that_comes_back_with_another_checkpoint_gets_no_question(
    late: bool, ask: Any, tmp_path: Path
) -> None:
    """late: it was not reached when the run was described, so the folder's statement is compared with the first look."""
    shutil.rmtree(tmp_path / "run", ignore_errors=True)
    with listening(models=[STEP_100]) as server:
        assert ask(server, docs=1).code == 0
        lose_answers(tmp_path / "run")
        (next((tmp_path / "run" / "journal").iterdir())).write_bytes(b"")
        server.models, server.loading, before = [STEP_200], int(late), len(server.questions)
        ran = ask(server, docs=1)
        assert len(server.questions) == before
        assert ran.code == (3 if late else 2), ran.err
        assert "/ckpt/step-100" in ran.out + ran.err and "/ckpt/step-200" in ran.out + ran.err


def test_a_server_that_said_nothing_when_the_run_began_serves_another_model_once_it_says_something(
    ask: Any, tmp_path: Path
) -> None:
    with listening(models=[]) as server:
        assert ask(server, docs=1).code == 0
        lose_answers(tmp_path / "run")
        server.models = [STEP_100]
        refused = ask(server, docs=1)
        assert refused.code == 2 and "model.served was null and is" in refused.err


def test_two_servers_with_different_checkpoints_are_no_fleet(server: Listening, cli: Any, tmp_path: Path) -> None:
    with listening(models=[STEP_200]) as other:
        words = ("--tasks", "arc_easy@generate", "--sample", "--limit", "2", "--model", "openai", "--no_report")
        args = f"base_url={server.url}|{other.url},model=m"
        ran = cli(*words, "--model_args", args)
        assert ran.code == 2 and "root is '/ckpt/step-100' and '/ckpt/step-200'" in ran.err
        assert not server.questions + other.questions
        assert cli(*words, "--model_args", f"{args},identity=copied").code == 0


def test_a_judge_is_known_in_the_same_way(judged: Judged, server: Listening) -> None:  # noqa: F811
    judged.write([{"q": f"{n}", "a": "1"} for n in range(2)], ["1", "2"])
    server.answer = lambda body: f"GRADE: {grade(said(body))}"
    words = ("--judge", "openai", "--judge_args", f"base_url={server.url},model=m", "--judge_preflight", "false")
    assert judged.run(*words).code == 0 and judged.run(*words).code == 0
    server.models = [STEP_200]
    refused = judged.run(*words)
    assert refused.code == 2 and "verdicts of another judge" in refused.err


def test_the_weights_below_an_adapter_count() -> None:
    lora = {"id": "tuned", "root": "/lora", "parent": "base"}
    served = said_of("tuned", [{"id": "base", "root": "/base-1"}, lora])
    assert served == {"root": "/lora", "parent": "base", "parent_root": "/base-1"}
    assert said_of("tuned", [{"id": "base", "root": "/base-2"}, lora]) != served
    assert said_of("any", [{"id": "alias", "meta": {"size": 1}}]) == {"meta": {"size": 1}}, (
        "llama.cpp answers to any name"
    )
    assert said_of("any", [lora, {"id": "base", "root": "/base"}]) == {}
    assert said_of("m", [{"id": "m", "meta": {"much": "x" * 9999}}])["meta"].startswith("sha256 ")


def test_what_is_unknown_of_either_is_as_the_other_has_it() -> None:
    old, new = {"model": "m", "served": {"root": "a"}}, {"model": "m", "served": {"root": "b"}}
    assert as_recorded(old, new) == old and as_recorded({"model": "m"}, new) == {"model": "m"}
    assert as_recorded({"model": "m", "served": None}, new) == new
    assert as_recorded({"model": "m", "served": None}, new, {"root": "a"}) == old
    assert as_recorded(old, {"model": "m", "served": None}) == {"model": "m", "served": None}
    assert as_recorded(old, {"model": "m"}) == old and as_recorded({"model": "m"}, {"model": "m"}) == {"model": "m"}
    assert as_recorded({"model": "m", "served": None}, {"model": "m"}, {}) == {"model": "m"}
