"""What a run folder names is asked and loaded again only if this user made it: `blind`, `why` and `judge` on somebody else's."""

from __future__ import annotations

import errno
import json
import os
import shutil
import stat
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from mm_eval.engine.own_runs import is_own, key_file, mark_of
from mm_eval.trust import UntrustedRun, check_own
from mm_eval.values.errors import ConfigError
from tests.judge.conftest import judged, server  # noqa: F401
from tests.sets import few

ANSWER = {"choices": [{"message": {"content": "Yes"}, "finish_reason": "stop"}], "model": "m"}


class Listening(ThreadingHTTPServer):
    """A server with OpenAI's protocol that counts its requests, and those to look at it."""

    request_queue_size = 128  # of five, a client that connects more often at once waits a second

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.heard = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"


class Answering(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self.say(200, ANSWER) if self.path.endswith("/chat/completions") else self.say(404, {})

    def do_GET(self) -> None:
        self.say(404, {})

    def say(self, status: int, content: dict[str, Any]) -> None:
        self.server.heard += 1  # type: ignore[attr-defined]
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture
def listening() -> Iterator[Listening]:
    made = Listening()
    threading.Thread(target=made.serve_forever, args=[0.01], daemon=True).start()
    try:
        yield made
    finally:
        made.shutdown()
        made.server_close()


@pytest.fixture
def made(cli: Callable[..., Any], listening: Listening, tmp_path: Path) -> Path:
    """A run of this user at the server."""
    words = ("--tasks", "mme", "--sample", "--limit", "4", "--no_report", "--output_path", tmp_path / "run")
    ran = cli(*words, "--model", "openai", "--model_args", f"base_url={listening.url},model=m")
    assert ran.code == 0, ran.err
    return tmp_path / "run"


@pytest.fixture
def another_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Callable[[], None]:
    """Makes the rest of the test that of another user, who has made runs of his own."""

    def become() -> None:
        monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "another"))
        assert mark_of("a run of his own")

    return become


VERBS = {"blind": ("--docs", 2), "why": ("--protocol", "llava-1.5", "--tasks", "mme", "--docs", 2)}


@pytest.mark.full
@pytest.mark.parametrize("verb", VERBS)
def test_a_run_of_ones_own_needs_no_word_wherever_it_lies(
    cli: Any, made: Path, listening: Listening, tmp_path: Path, verb: str
) -> None:
    shutil.copytree(made, tmp_path / "copied")
    before = listening.heard
    ran = cli(verb, tmp_path / "copied", *VERBS[verb])
    assert ran.code == 0 and listening.heard > before, ran.err


@pytest.mark.parametrize("verb", few(VERBS, at=(0,)))
def test_the_address_of_somebody_elses_run_is_not_contacted(
    cli: Any, made: Path, listening: Listening, another_user: Callable[[], None], verb: str
) -> None:
    another_user()
    before = listening.heard
    ran = cli(verb, made, *VERBS[verb])
    assert ran.code == 2 and listening.heard == before and "Traceback" not in ran.err
    assert "nothing shows that you made this run on this machine" in ran.err and "--trust_run" in ran.err
    assert "--model 'openai'" in ran.err and listening.url in ran.err, "it says what would be asked"
    assert sorted(path.name for path in made.iterdir() if path.is_dir()) == ["journal", "samples"], "nothing is begun"
    ran = cli(verb, made, *VERBS[verb], "--trust_run")
    assert ran.code == 0 and listening.heard > before, ran.err


def test_a_model_that_is_shipped_needs_no_word(tmp_path: Path) -> None:
    check_own({"model": "tiny-qwen2-vl", "model_args": {}}, None, tmp_path)
    for request in ({"model": "tiny-qwen2-vl", "model_args": {"pretrained": "x"}}, {"model": "hf"}, {"model": "none"}):
        with pytest.raises(ConfigError, match="nothing shows that you made this run"):
            check_own(request, None, tmp_path)


def edited(folder: Path, change: Callable[[dict[str, Any]], None]) -> None:
    run = json.loads((folder / "run.json").read_text())
    change(run)
    (folder / "run.json").write_text(json.dumps(run))


def other_address(run: dict[str, Any]) -> None:
    run["request"]["model_args"]["base_url"] = "http://127.0.0.1:9/v1"


def own_code(run: dict[str, Any]) -> None:
    run["request"].update(model="hf", model_args={"pretrained": "evil/model", "trust_remote_code": True})


def a_judge(run: dict[str, Any]) -> None:
    run["request"].update(judge=["openai"], judge_args=[{"base_url": "http://127.0.0.1:9/v1", "model": "j"}])


def no_mark(run: dict[str, Any]) -> None:
    del run["mark"]


def invented_mark(run: dict[str, Any]) -> None:
    run["mark"] = "0" * 64


def odd_mark(run: dict[str, Any]) -> None:
    run["mark"] = "\u00e9" * 64


def mark_of_another_run(run: dict[str, Any]) -> None:
    run["mark"] = mark_of({"request": {**run["request"], "model_args": {}}})


@pytest.mark.parametrize(
    "change", [other_address, own_code, a_judge, no_mark, invented_mark, odd_mark, mark_of_another_run]
)
def test_no_edit_keeps_a_run_ones_own(cli: Any, made: Path, listening: Listening, change: Any) -> None:
    edited(made, change)
    before = listening.heard
    ran = cli("blind", made, "--docs", 2)
    assert ran.code == 2 and "--trust_run" in ran.err and listening.heard == before, ran.err
    if change is own_code:
        assert "'trust_remote_code': True" in ran.err and "evil/model" in ran.err
    if change is a_judge:
        assert "--judge 'openai'" in ran.err


def test_the_code_of_a_checkpoint_that_it_names_is_not_run(
    cli: Any, made: Path, another_user: Callable[[], None], tmp_path: Path
) -> None:
    checkpoint, ran_code = tmp_path / "checkpoint", tmp_path / "ran"
    checkpoint.mkdir()
    named = {"AutoConfig": "own.OwnConfig", "AutoModelForCausalLM": "own.OwnModel"}
    (checkpoint / "config.json").write_text(json.dumps({"model_type": "own", "auto_map": named}))
    (checkpoint / "own.py").write_text(f"import pathlib\npathlib.Path({str(ran_code)!r}).write_text('ran')\n")

    def name(run: dict[str, Any]) -> None:
        run["request"].update(model="hf", model_args={"pretrained": str(checkpoint), "trust_remote_code": True})

    edited(made, name)
    another_user()
    for verb, words in VERBS.items():
        assert cli(verb, made, *words).code == 2
    assert not ran_code.exists()


def test_runs_that_ask_nobody_need_no_mark(tmp_path: Path) -> None:
    for request in ({}, {"model": "tiny-llava"}, {"model": "dummy"}, {"model": "replay", "model_args": {"path": "x"}}):
        check_own(request, None, tmp_path)
    asks: list[dict[str, Any]] = [
        {"model": "openai"},
        {"model": "tiny-llava", "model_args": {"pretrained": "x"}},
        {"judge": "openai"},
        {"model": "dummy", "judge": ["replay", "hf"], "judge_args": [{}, {"pretrained": "x"}]},
    ]
    for request in asks:
        with pytest.raises(UntrustedRun):
            check_own(request, None, tmp_path)
        check_own(request, mark_of({"request": request}), tmp_path)


def test_the_judge_that_somebody_elses_run_names_is_not_asked(
    cli: Any,
    judged: Any,  # noqa: F811
    server: Any,  # noqa: F811
    another_user: Callable[[], None],
) -> None:
    ran = judged.with_server(server)
    words = ("judge", ran.folder, "--include_path", judged.folder, "--docs", 2)
    assert cli(*words).code == 0
    asked = sum(server.asked.values())
    assert asked > 6, "the judge of one's own run is asked"
    another_user()
    refused = cli("judge", ran.folder, "--include_path", judged.folder, "--docs", 3)
    assert refused.code == 2 and sum(server.asked.values()) == asked
    assert "--judge 'openai'" in refused.err and server.url in refused.err and "--trust_run" in refused.err
    assert cli("judge", ran.folder, "--include_path", judged.folder, "--docs", 0).code == 0, (
        "what is recorded can be read"
    )
    named = f"base_url={server.url},model=judge-1,max_retries=0,max_outage=0.5"
    assert cli(*words[:-1], 3, "--judge", "openai", "--judge_args", named).code == 0, "the command names it"
    asked = sum(server.asked.values())
    assert cli(*words[:-1], 4, "--trust_run").code == 0 and sum(server.asked.values()) > asked


def test_scoring_with_a_judge_of_ones_own_does_not_vouch_for_the_recorded_one(
    cli: Any,
    judged: Any,  # noqa: F811
    server: Any,  # noqa: F811
    another_user: Callable[[], None],
) -> None:
    ran = judged.with_server(server)
    another_user()
    named = f"base_url={server.url},model=judge-2,name=mine,max_retries=0,max_outage=0.5"
    words = ("--judge", "openai", "--judge_args", named, "--judge_preflight", "false")
    assert cli("score", ran.folder, "--include_path", judged.folder, *words).code == 0
    first, mine = json.loads((ran.folder / "run.json").read_text())["judges"]
    assert first["name"] == "judge-1" and mine["name"] == "mine" and first["mark"] != mine["mark"]
    refused = cli("judge", ran.folder, "--include_path", judged.folder, "--docs", 2)
    assert refused.code == 2 and "judge-1" in refused.err


def test_a_run_is_made_without_a_key_and_then_needs_a_word(
    cli: Any, listening: Listening, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", "not/absolute")
    words = ("--tasks", "mme", "--sample", "--limit", "2", "--no_report", "--output_path", tmp_path / "run")
    ran = cli(*words, "--model", "openai", "--model_args", f"base_url={listening.url},model=m")
    assert ran.code == 0 and "mark" not in json.loads((tmp_path / "run" / "run.json").read_text())
    assert cli("blind", tmp_path / "run").code == 2
    file = tmp_path / "file"
    file.write_text("in the way")
    monkeypatch.setenv("XDG_STATE_HOME", str(file))
    assert mark_of("x") is None and not is_own("x", "0")


@pytest.mark.full
def test_the_same_command_makes_a_run_ones_own_and_another_one_does_not(
    cli: Any, made: Path, listening: Listening, another_user: Callable[[], None]
) -> None:
    """As after a new version, or on another machine. What is no part of the spec, such as a header, must be the same as well."""
    another_user()
    words = ("--tasks", "mme", "--sample", "--limit", "4", "--no_report", "--output_path", made, "--model", "openai")
    args = f"base_url={listening.url},model=m"
    assert cli(*words, "--model_args", f"{args},max_retries=1").code == 0
    assert cli("blind", made, "--docs", 2).code == 2
    assert cli(*words, "--model_args", args).code == 0
    assert cli("blind", made, "--docs", 2).code == 0


def test_the_key_is_this_users_and_made_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert not is_own("x", "0" * 64) and not list(tmp_path.iterdir()), "to look makes none"
    marks: list[str | None] = []
    threads = [threading.Thread(target=lambda: marks.append(mark_of("x"))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    path = key_file()
    assert path is not None and len(set(marks)) == 1 and is_own("x", marks[0])
    assert stat.S_IMODE(path.stat().st_mode) == 0o600 and stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert os.listdir(path.parent) == [path.name], "nothing is left over"
    path.write_bytes(b"")
    assert mark_of("x") is None and not is_own("x", marks[0]), "an empty key is none"


def test_a_key_is_made_where_files_cannot_be_linked(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """exFAT and some FUSE file systems have no hard links: without a key each run of one's own would be a stranger's."""

    def link(*_: object) -> None:
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    monkeypatch.setattr(os, "link", link)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path))
    assert is_own("x", mark_of("x")) and is_own("x", mark_of("x"))
    path = key_file()
    assert path is not None and stat.S_IMODE(path.stat().st_mode) == 0o600 and os.listdir(path.parent) == [path.name]
