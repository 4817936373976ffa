"""What a run survives, and what that costs: `python benchmarks/durability.py [--quick]`.

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
from pathlib import Path

from mm_eval.engine.journal import Journal, answer_record, read_journal
from mm_eval.engine.model import ModelSettings
from mm_eval.types import Instance, Response, Slot

ROOT = Path(__file__).parent.parent
FAULTS = ROOT / "tests" / "faults"


def record(number: int, text: str = "x" * 200) -> dict[str, object]:
    instance = Instance("generate_until", "t", number, {})
    return answer_record(f"key{number}", [Slot("t", number)], instance, Response(text, usage={"prompt_tokens": 700}))


def fsync_milliseconds(folder: Path, tries: int = 100) -> float:
    fd = os.open(folder / "fsync", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
    times = []
    for _ in range(tries):
        started = time.perf_counter()
        os.write(fd, b"x" * 400)
        os.fdatasync(fd)
        times.append(time.perf_counter() - started)
    os.close(fd)
    return 1000 * statistics.median(times)


def kills(folder: Path, count: int, runs: int) -> None:
    """Kills a run of the engine at random answers; then finishes it."""
    draw, lost, beyond, in_flight = random.Random(0), 0, [], 4
    for run in range(runs):
        at = folder / f"kill{run}"
        command = [sys.executable, str(FAULTS / "echo.py"), str(at), str(count), "--delay", "0.01", "--in_flight", "4"]
        subprocess.run([*command, "--kill_at", str(draw.randrange(1, count))], stderr=subprocess.DEVNULL)
        before = len((at / "calls").read_text().split())
        safe = set((at / "acknowledged").read_text().split())
        subprocess.run(command, check=True)
        calls = (at / "calls").read_text().split()
        lost += len(safe & set(calls[before:]))
        beyond.append(len(calls) - count)
    print(f"acknowledged answers lost over {runs} kills: {lost}")
    most, middle = max(beyond), statistics.median(beyond)
    print(f"calls beyond one a question, after a kill ({in_flight} in flight): median {middle}, most {most}")


def latency(folder: Path, rate: float, seconds: float) -> None:
    """How long an adapter waits for the journal, and how long an answer waits for its acknowledgement, at a steady rate."""
    journal = Journal(folder / "latency")
    waits, acknowledged, started = [], [], time.perf_counter()
    for number in range(int(rate * seconds)):
        time.sleep(max(0.0, started + number / rate - time.perf_counter()))
        line, handed = record(number), time.perf_counter()
        journal.put(line, lambda handed=handed: acknowledged.append(time.perf_counter() - handed))
        waits.append(time.perf_counter() - handed)
    journal.close()
    sync = fsync_milliseconds(folder)
    p50, p99 = 1000 * statistics.median(waits), 1000 * statistics.quantiles(acknowledged, n=100)[98]
    print(f"at {rate:g} answers a second: an adapter waits {p50:.3f} ms (p50) for the journal;")
    print(f"  from hand-over to acknowledgement {p99:.1f} ms (p99) = {p99 / sync:.1f} fsyncs of {sync:.1f} ms")


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
    """The openai adapter against a server in a process of its own, 2% of whose replies fail in ways that pass."""
    from mm_eval.models.openai import OpenAI

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
        answered = 0
        for instance, found in model.generate(asked):
            if isinstance(found, Response):
                answered += 1
                journal.put(answer_record(str(instance.doc_id), [instance.slot], instance, found))
        journal.close()
        seconds, busy = time.perf_counter() - started, time.process_time() - busy
    finally:
        server.kill()
        server.wait()
    ideal = requests * latency / under_way
    kept = len(read_journal(folder / "throughput").answers)
    print(f"{requests} requests of {1000 * latency:.0f} ms, {under_way} under way, 2% faults: {seconds:.1f} s,")
    print(f"  {100 * ideal / seconds:.1f}% of the ideal {ideal:.1f} s; {answered} answered, {kept} in the journal;")
    print(f"  {1000 * busy / requests:.2f} ms of CPU a request")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of everything")
    quick = parser.parse_args().quick
    parts: list[Callable[[Path], None]] = [
        lambda folder: kills(folder, 50, 10 if quick else 100),
        lambda folder: latency(folder, 200, 3 if quick else 20),
        lambda folder: resume(folder, 10_000 if quick else 100_000),
        lambda folder: throughput(folder, 500 if quick else 5000, 0.5, 64),
    ]
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    for part in parts:
        with tempfile.TemporaryDirectory() as folder:
            part(Path(folder))


if __name__ == "__main__":
    main()
