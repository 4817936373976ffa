"""Small faults at the edges of a command: data files, threads, streams, words that are no command."""

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import Ran
from tests.processes import HANGS, child

THREADS = """
import sys, threading
from mm_eval import evaluate

ended = []

def one(number):
    try:
        found = evaluate(model="dummy", tasks=["mme"], sample=True, limit=2, output_path=f"{sys.argv[1]}/{number}", report=False)
        ended.append(found.exit_code)
    except BaseException as error:
        ended.append(repr(error))

threads = [threading.Thread(target=one, args=(number,)) for number in range(4)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
print(ended)
"""


@pytest.mark.full
def test_cold_evaluations_in_threads(tmp_path: Path) -> None:
    found = subprocess.run(
        [sys.executable, "-c", THREADS, str(tmp_path)], capture_output=True, text=True, timeout=HANGS
    )
    assert found.stdout.strip() == "[0, 0, 0, 0]", found.stdout + found.stderr


def test_a_thread_that_comes_while_names_are_read_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    from mm_eval.values import registry

    reading, go_on = threading.Event(), threading.Event()

    def declared(package: str, decorator: str, text: str) -> list[tuple[str, registry._Lazy]]:
        reading.set()
        assert go_on.wait(HANGS)
        return [("known", registry._Lazy("json:dumps"))]

    monkeypatch.setattr(registry, "_declared", declared)
    names: registry.Registry[object] = registry.Registry("thing", package="p", decorator="d")
    found: list[object] = []
    first, second = (threading.Thread(target=lambda: found.append(names.get("known"))) for _ in range(2))
    first.start()
    assert reading.wait(HANGS)
    second.start()
    second.join(0.2)
    go_on.set()
    first.join(HANGS)
    second.join(HANGS)
    assert found == [json.dumps, json.dumps]


def own_task(folder: Path, content: bytes, more: str = "") -> Path:
    (folder / "rows.jsonl").write_bytes(content)
    file = folder / "own.yaml"
    file.write_text(
        "task: own\ndataset_path: json\ndataset_kwargs: {data_files: {test: rows.jsonl}}\ntest_split: test\n"
        f"doc_to_text: q\ndoc_to_target: a\nmetric_list: [{{metric: exact_match}}]\n{more}"
    )
    return file


def nested(depth: int) -> bytes:
    return b'{"q": "1?", "a": "1", "deep": ' + b"[" * depth + b"1" + b"]" * depth + b"}\n"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\n",
        b"\n\n \n",
        b"\0",
        b"[",
        pytest.param(nested(5_000), marks=pytest.mark.full),
        nested(900),
        nested(150),
        nested(60),
        nested(40),
        pytest.param(b'{"q": "1?", "a": "1"}\n' + nested(5_000), marks=pytest.mark.full),
    ],
)
def test_a_data_file_without_rows_or_of_any_depth(content: bytes, tmp_path: Path, cli: Callable[..., Ran]) -> None:
    ran = cli("--tasks", own_task(tmp_path, content), "--model", "dummy")
    assert ran.code in (0, 2) and "Traceback" not in ran.err
    if ran.code:
        assert len(ran.err.strip().splitlines()) == 1 and len(ran.err) < 2_000, ran.err[:3_000]
    else:
        assert cli("report", ran.folder, "--format", "md").code == 0


def test_a_picture_column_that_no_row_has_is_found_before_the_first_request(
    tmp_path: Path, cli: Callable[..., Ran]
) -> None:
    for stated in ("pictur", "[q, pictur]"):
        ran = cli(
            "--tasks", own_task(tmp_path, b'{"q": "1?", "a": "1"}\n', f"doc_to_visual: {stated}\n"), "--model", "dummy"
        )
        assert ran.code == 2 and "doc_to_visual names the column 'pictur', which the data lacks" in ran.err, ran.err
        assert "own.yaml:8" in ran.err and not ran.folder.exists()


@pytest.mark.full
def test_a_lost_table_is_exit_code_3(tmp_path: Path) -> None:
    run = [sys.executable, "-m", "mm_eval"]
    for words in (
        ["--tasks", "mme", "--model", "dummy", "--sample", "--limit", "2", "--output_path", "run"],
        ["score", "run"],
    ):
        with open("/dev/full", "w") as full:
            ended = subprocess.run(
                [*run, *words], stdout=full, stderr=subprocess.PIPE, text=True, cwd=tmp_path, timeout=HANGS
            )
        assert ended.returncode == 3 and ended.stderr.count("can't be written") == 1, ended.stderr
        assert (tmp_path / "run" / "results.json").exists()


def on_a_terminal(words: list[str], folder: Path) -> str:
    """What a command writes to a terminal as its error stream."""
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "mm_eval", *words]
    with child(command, stdout=subprocess.DEVNULL, stderr=theirs, cwd=folder) as process:
        os.close(theirs)
        said = b""
        while True:
            try:
                part = os.read(ours, 4096)
            except OSError:
                break
            if not part:
                break
            said += part
        process.wait(HANGS)
    os.close(ours)
    return said.decode()


@pytest.mark.full
@pytest.mark.parametrize("model", ["dummy", "replay"])
def test_no_loading_stays_on_the_last_line_of_a_terminal(model: str, tmp_path: Path) -> None:
    """At the end, and before an error: `replay` fails after its first phase, since it is given no file."""
    words = ["--tasks", "mme", "--sample", "--limit", "2", "--output_path", str(tmp_path / "run")]
    more = ["--model", model, *(["--model_args", "path=/nowhere.jsonl"] if model == "replay" else [])]
    said = on_a_terminal([*words, *more], tmp_path)
    for line in said.replace("\r\n", "\n").split("\n"):
        shown = line.split("\x1b[2K\r")[-1]
        assert "loading" not in shown, said


def test_words_that_are_tasks_or_files_are_said_to_be(tmp_path: Path, cli: Callable[..., Ran]) -> None:
    said = cli("mme", "--limit", "2")
    assert said.code == 2 and "mm-eval --tasks mme --limit 2" in said.err
    assert "--tasks mme,seedbench" in cli("mme,seedbench").err and "--tasks" not in cli("repot").err
    file = own_task(tmp_path, b"{}")
    named = cli("run", "--config", file)
    assert named.code == 2 and "this is a task file" in named.err and f"--tasks {file}" in named.err
