"""What a run survives, and what that costs: `python benchmarks/durability.py [--quick] [--lmms-eval PYTHON]`.

Real processes and real SIGKILLs. Every figure is printed beside what one fsync costs on this disk at this moment, since that is
what a promise of durability is made of.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from mm_eval.engine.journal import Journal, read_journal
from mm_eval.engine.model import ModelSettings
from mm_eval.engine.records import answer_record, encode
from mm_eval.values.types import Answer, Instance, Slot

ROOT = Path(__file__).parent.parent
FAULTS = ROOT / "tests" / "faults"


def record(number: int, text: str = "x" * 200) -> dict[str, object]:
    answer = Answer(text, usage={"prompt_tokens": 700}, key=f"key{number}")
    return answer_record(answer, [Slot("t", number)])


def kills(folder: Path, count: int, runs: int) -> None:
    """Kills a run of the engine at random answers; then finishes it.

    In flight is what the model had been asked and the disk had not acknowledged: with the model, or waiting for its sync.
    """
    draw, lost, beyond, over = random.Random(0), 0, [], 0
    for run in range(runs):
        at = folder / f"kill{run}"
        command = [sys.executable, str(FAULTS / "echo.py"), str(at), str(count), "--delay", "0.01", "--in_flight", "4"]
        subprocess.run([*command, "--kill_at", str(draw.randrange(1, count))], stderr=subprocess.DEVNULL)
        before = (at / "calls").read_text().split()
        safe = set((at / "acknowledged").read_text().split())
        subprocess.run(command, check=True)
        after = (at / "calls").read_text().split()[len(before) :]
        lost += len(safe & set(after))
        beyond.append(len(before) + len(after) - count)
        over += beyond[-1] > len(before) - len(safe)
    print(f"acknowledged answers lost over {runs} kills: {lost}")
    print(f"  calls beyond one a question, 4 with the model: median {statistics.median(beyond)}, most {max(beyond)};")
    print(f"  runs with more than were in flight: {over}")


def peer_kills(folder: Path, python: str, count: int, runs: int) -> None:
    """The same kills of lmms-eval with its response cache, one question at a time; `python` is one that has it installed."""
    draw, again, answered = random.Random(0), 0, 0
    offline = {**os.environ, "HF_HUB_OFFLINE": "1", "HF_HOME": str(folder / "home")}
    for run in range(runs):
        at = folder / f"peer{run}"
        command = [python, str(Path(__file__).with_name("durability_peer.py")), str(at), str(count)]
        subprocess.run([*command, str(draw.randrange(2, count))], env=offline, capture_output=True)
        before = set((at / "calls").read_text().split())
        subprocess.run(command, env=offline, capture_output=True, check=True)
        answered += len(before)
        again += len(before & set((at / "calls").read_text().split()[len(before) :]))
    print(f"lmms-eval, {runs} kills: {again} of {answered} answers were asked again")


def latency(folder: Path, rate: int, seconds: int) -> None:
    """How long an adapter waits for the journal, and how long an answer waits for its acknowledgement, at a steady rate.

    Seconds of answers alternate with seconds of bare writes and syncs of as many bytes at the same rate, so that both meet the
    same disk in the same state: one sync after another without a pause costs a tenth.
    """
    journal = Journal(folder / "latency")
    fd = os.open(folder / "bare", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    waits, acknowledged, bare, started = list[float](), list[float](), list[float](), time.perf_counter()

    def acknowledge(handed: float) -> None:
        acknowledged.append(1000 * (time.perf_counter() - handed))

    for number in range(2 * rate * seconds):
        line = record(number)
        time.sleep(max(0.0, started + number / rate - time.perf_counter()))
        handed = time.perf_counter()
        if number // rate % 2:
            os.write(fd, encode(line))
            os.fdatasync(fd)
            bare.append(1000 * (time.perf_counter() - handed))
        else:
            journal.put(line, partial(acknowledge, handed))
            waits.append(1000 * (time.perf_counter() - handed))
    journal.close()
    os.close(fd)
    print(f"at {rate} answers a second: an adapter waits {statistics.median(waits):.3f} ms (p50) for the journal;")
    for name, percent in (("p50", 50), ("p99", 99)):
        ours, sync = (statistics.quantiles(each, n=100)[percent - 1] for each in (acknowledged, bare))
        print(
            f"  from hand-over to acknowledgement {name} {ours:.1f} ms = {ours / sync:.1f} bare syncs ({name} {sync:.1f} ms)"
        )


def resume(folder: Path, count: int) -> None:
    journal = Journal(folder / "resume")
    for number in range(count):
        journal.put(record(number))
    journal.close()
    started = time.perf_counter()
    state = read_journal(folder / "resume")
    seconds = time.perf_counter() - started
    assert len(state.answers) == count
    size = sum(path.stat().st_size for path in (folder / "resume" / "journal").iterdir()) / 2**20
    print(f"a journal of {count} answers ({size:.0f} MiB) is read in {seconds:.2f} s")


def throughput(folder: Path, requests: int, latency: float, under_way: int) -> None:
    """The openai adapter against a server in a process of its own, 2% of whose replies fail in ways that pass.

    Ideal: every attempt takes `latency` seconds of one of the `under_way` places, and no place is ever empty. A reply that
    failed took its place too, and must be asked for again by any client, so that attempts count and not questions.
    """
    from mm_eval.models.openai.adapter import OpenAI

    port = folder / "port"
    server = subprocess.Popen([sys.executable, str(FAULTS / "http_server.py"), str(port), str(latency), "0.02"])
    try:
        while not (port.exists() and port.read_text()):
            time.sleep(0.05)
        args = {"base_url": f"http://127.0.0.1:{port.read_text()}/v1", "model": "m", "num_concurrent": under_way}
        model = OpenAI(args, ModelSettings())
        model.prepare()
        asked = [
            Instance("generate_until", "t", n, {}, [{"role": "user", "content": f"question {n}"}])
            for n in range(requests)
        ]
        journal, started, busy = Journal(folder / "throughput"), time.perf_counter(), time.process_time()
        answered = attempts = 0
        for instance, found in model.generate(asked):
            attempts += found.attempts
            if isinstance(found, Answer):
                answered += 1
                journal.put(answer_record(replace(found, key=str(instance.doc_id)), [instance.slot]))
        journal.close()
        seconds, busy = time.perf_counter() - started, time.process_time() - busy
    finally:
        server.kill()
        server.wait()
    ideal, plain = attempts * latency / under_way, requests * latency / under_way
    kept = len(read_journal(folder / "throughput").answers)
    print(f"{requests} requests of {1000 * latency:.0f} ms, {under_way} under way, 2% faults: {seconds:.1f} s,")
    print(f"  {100 * ideal / seconds:.1f}% of the ideal {ideal:.1f} s for {attempts} attempts")
    print(f"  ({100 * plain / seconds:.1f}% of what it would be without a fault);")
    print(f"  {answered} answered, {kept} in the journal; {1000 * busy / requests:.2f} ms of CPU a request")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    parser.add_argument("--lmms-eval", metavar="PYTHON", help="the interpreter of an environment that has lmms-eval")
    args = parser.parse_args()
    quick, peer = args.quick, args.lmms_eval
    parts: list[Callable[[Path], None]] = [
        lambda folder: kills(folder, 50, 10 if quick else 100),
        lambda folder: latency(folder, 200, 3 if quick else 20),
        lambda folder: resume(folder, 10_000 if quick else 100_000),
        lambda folder: throughput(folder, 500 if quick else 5000, 0.5, 64),
    ]
    if peer:
        parts.insert(1, lambda folder: peer_kills(folder, peer, 50, 3 if quick else 20))
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    for part in parts:
        with tempfile.TemporaryDirectory() as folder:
            part(Path(folder))


if __name__ == "__main__":
    main()
