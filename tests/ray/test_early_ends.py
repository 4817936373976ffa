"""Runs that end early, have nothing to do, or meet what is broken: a sentence in bounded time, and nothing recorded is lost."""

import json
import signal
import socket
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.ray.model import HANGS

MME = ("--tasks", "mme")
WORKERS = 2
"""The workers of `start` where a test says nothing else."""


def test_a_finished_run_starts_no_worker_and_asks_no_cluster(start: Callable[..., Any]) -> None:
    words = (*MME, "--limit", "6", "--model", "tiny-llava")
    start(*words, workers=2).end()
    closed = ("--executor", "ray", "--ray_address", "127.0.0.1:1")
    assert "nothing was requested" in start(*words, *closed, workers=0).end()


def test_a_limit_of_failures_hands_out_nothing_more(start: Callable[..., Any]) -> None:
    """Without it the two blocks of each worker would be answered, 256 requests.

    A worker answers its first request at once, and its second when the rest was called back.
    """
    run = start(*MME, "--fail_on_error", "1", fails="?", recalled=1)
    said = run.end(3)
    assert "failed, and --fail_on_error stops the run at 1" in said
    asked = len(run.noted("ask"))
    assert 1 <= asked == len(run.answers()) <= 2 * WORKERS, (
        "what the workers had begun is recorded, and nothing else was asked"
    )


def test_an_interrupt_while_workers_load_ends_them(start: Callable[..., Any], nodes: Any) -> None:
    run = start(*MME, loading=3600)  # longer than any test waits: an end at all is an early one
    while len(run.noted("load")) < 2:
        assert run.process.poll() is None
        time.sleep(0.1)
    run.process.send_signal(signal.SIGINT)
    run.end(130)
    assert not run.folder.exists()
    end = time.monotonic() + HANGS
    while nodes.free_cpus() < WORKERS:
        assert time.monotonic() < end, "the workers were not given back"


def test_broken_pictures_fail_alone(start: Callable[..., Any], tmp_path: Path) -> None:
    data = tmp_path / "tasks"
    data.mkdir()
    rows = []
    for number in range(20):
        Image.new("RGB", (32, 32), (12 * number, 80, 90)).save(data / f"{number}.png")
        rows.append({"q": "Is it red?", "a": "No", "image": str(data / f"{number}.png")})
    (data / "3.png").write_bytes(b"no picture")
    (data / "7.png").write_bytes((data / "7.png").read_bytes()[:60])
    (data / "11.png").unlink()
    (data / "rows.jsonl").write_text("\n".join(map(json.dumps, rows)))
    (data / "utils.py").write_text(
        "from PIL import Image\n\ndef pictures(doc):\n    return [Image.open(doc['image']).convert('RGB')]\n"
    )
    (data / "red.yaml").write_text(
        f"task: red\ndataset_path: json\ndataset_kwargs: {{data_files: {{test: {data}/rows.jsonl}}}}\ntest_split: test\n"
        "output_type: generate_until\ndoc_to_visual: !function utils.pictures\ndoc_to_text: q\ndoc_to_target: a\n"
        "metric_list: [{metric: exact_match}]\n"
    )
    words = ("--tasks", "red", "--include_path", data)
    one, fleet = start(*words, workers=0, name="one"), start(*words, name="fleet")
    one.end(3), fleet.end(3)
    assert fleet.content() == one.content() and fleet.results["results"]["red"]["failed"] == 3


def test_a_worker_whose_disk_is_full_is_told_and_the_answers_are_kept(start: Callable[..., Any]) -> None:
    run = start(*MME, seconds=0.01, full="30")
    said = run.end(3)
    assert "No space left on device" in said and len(run.answers()) >= 29, "one worker has answered so many"
    start(*MME).end()


def test_prompts_are_compared_on_workers(start: Callable[..., Any]) -> None:
    words = (*MME, "--limit", "4", "--keys", "default,qwen_vl")
    run = start("prompts", *words, name="prompts")
    out = run.end()
    assert "qwen_vl" in out and "(raylet)" not in out
    assert len({pid for pid, _ in run.noted("load")}) <= 2, "workers stay for the next prompt"


@pytest.mark.parametrize(
    ("says", "why"),
    [(b"HTTP/1.1 400 Bad Request\r\n\r\n", "the program that listens there is not Ray"), (b"", "timed out")],
)
def test_an_address_where_something_else_listens_is_told_at_the_first_try(
    start: Callable[..., Any], says: bytes, why: str
) -> None:
    """Ray itself would try again for minutes."""
    tries: list[socket.socket] = []

    def listen(server: socket.socket) -> None:
        with suppress(OSError):  # the test has ended
            while True:
                tries.append(server.accept()[0])
                tries[-1].sendall(says)

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=listen, args=(server,), daemon=True).start()
        address = f"127.0.0.1:{server.getsockname()[1]}"
        run = start(*MME, "--executor", "ray", "--ray_address", address, workers=0)
        assert why in run.end(2) and len(tries) == 1
