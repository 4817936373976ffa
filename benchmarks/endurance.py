"""What a long run against a server survives: SIGKILLs, a full disk and a slow server, at 100,000 documents with a picture each.

    python benchmarks/endurance.py [--docs 100000] [--kills 4] [--flight 64] [--delay 0.005] [--size 1152x896]

Needs root and Linux: the run folder lies on a small disk of its own (an ext4 image, else tmpfs), which is filled on purpose. The
server is a process of its own. It answers two questions of three rightly, so the score is known, and it counts how often each
document is asked. The run is killed `kills` times, meets a full disk once, and a server that takes a second for 2,000 requests.
Prints a line for each tenth of the documents (wall and CPU seconds, memory that belongs to the client alone), one for each thing
that happened, and at the end whether every answer was kept, which documents were asked twice, and the score beside the right one.
"""

from __future__ import annotations

import argparse
import asyncio
import io
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from data import TEXT
from measure import ONE_THREAD, SCRATCH

TASK = """
task: endurance
dataset_path: parquet
dataset_kwargs: {data_files: {test: FOLDER/docs.parquet}}
test_split: test
doc_to_visual: image
doc_to_text: "Is the number {{id}} right? Answer yes or no."
doc_to_target: answer
metric_list: [{metric: exact_match}]
"""
BASES = 50
FOR_A_SECOND = 2000


def is_right(number: int) -> bool:
    return number % 3 != 0


def write_task(docs: int, size: tuple[int, int]) -> Path:
    """A folder with `endurance.yaml` and a parquet file: drawn JPEGs, each with a comment of its own."""
    folder = SCRATCH / f"endurance-{docs}-{size[0]}x{size[1]}"
    if (folder / "endurance.yaml").exists():
        return folder
    import pyarrow as pa
    import pyarrow.parquet as pq
    from PIL import Image

    folder.mkdir(parents=True, exist_ok=True)
    bases = []
    for _ in range(BASES):
        small, file = Image.merge("RGB", [Image.effect_noise((40, 30), 80) for _ in "RGB"]), io.BytesIO()
        small.resize(size, Image.Resampling.BICUBIC).save(file, "JPEG", quality=88)
        bases.append(file.getvalue())

    def picture(number: int) -> bytes:
        comment, base = b"%08d" % number, bases[number % BASES]
        return base[:2] + b"\xff\xfe" + (len(comment) + 2).to_bytes(2, "big") + comment + base[2:]

    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    features = {"id": {"dtype": "int64", "_type": "Value"}, "answer": TEXT, "image": {"_type": "Image"}}
    schema = pa.schema([("id", pa.int64()), ("answer", pa.string()), ("image", image)])
    schema = schema.with_metadata({"huggingface": json.dumps({"info": {"features": features}})})
    with pq.ParquetWriter(folder / "docs.parquet", schema) as writer:
        for start in range(0, docs, 200):
            numbers = range(start, min(start + 200, docs))
            rows = [
                {"id": number, "answer": "yes", "image": {"bytes": picture(number), "path": None}} for number in numbers
            ]
            writer.write_table(pa.Table.from_pylist(rows, schema=schema))
    (folder / "endurance.yaml").write_text(TASK.replace("FOLDER", str(folder)))
    return folder


async def serve(docs: int, delay: float) -> None:
    """Answers until the standard input ends. GET /asked: how often each document was asked. GET /slow: replies take a second."""
    asked, slow = [0] * docs, 0

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal slow
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = re.search(rb"(?i)content-length: *(\d+)", head)
                body = await reader.readexactly(int(length[1]) if length else 0)
                if found := re.search(rb"Is the number (\d+) right", body):
                    number = int(found[1])
                    asked[number] += 1
                    slow, wait = max(0, slow - 1), 1.0 if slow else delay
                    await asyncio.sleep(wait)
                    reply = _reply("yes" if is_right(number) else "no")
                elif b"/asked" in head:
                    reply = json.dumps(asked).encode()
                elif b"/slow" in head:
                    slow, reply = FOR_A_SECOND, b"{}"
                else:
                    reply = _reply("yes")
                ending = b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(reply), reply)
                writer.write(b"HTTP/1.1 200 OK\r\n" + ending)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass

    server = await asyncio.start_server(connection, "127.0.0.1", 0, limit=2**26)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


def _reply(text: str) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
    usage = {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10}
    return json.dumps(
        {"id": "1", "object": "chat.completion", "model": "m", "choices": [choice], "usage": usage}
    ).encode()


@contextmanager
def serving(docs: int, delay: float) -> Iterator[str]:
    command = [sys.executable, __file__, "--serve", "--docs", str(docs), "--delay", str(delay)]
    server = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert server.stdin is not None and server.stdout is not None
    try:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}"
    finally:
        server.stdin.close()
        server.wait()


@contextmanager
def small_disk(megabytes: int) -> Iterator[Path]:
    """A mounted file system of its own: ext4 in a file, or tmpfs where there is no loop device."""
    folder = Path(tempfile.mkdtemp())
    image, mounted = folder / "image", folder / "disk"
    mounted.mkdir()
    with image.open("wb") as file:
        file.truncate(megabytes * 2**20)
    made = subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], capture_output=True).returncode == 0
    if not made or subprocess.run(["mount", "-o", "loop", str(image), str(mounted)], capture_output=True).returncode:
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={megabytes}m", "tmpfs", str(mounted)], check=True)
        print("the disk is tmpfs: no loop device can be used here", flush=True)
    try:
        yield mounted
    finally:
        subprocess.run(["umount", str(mounted)], check=False)
        with suppress(OSError):
            image.unlink()


def asked(url: str) -> list[int]:
    with urllib.request.urlopen(url + "/asked") as reply:
        counts: list[int] = json.load(reply)
    return counts


def used(pid: int) -> tuple[float, float]:
    """CPU seconds of a living process, and the memory in MB that belongs to it alone."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
        status = Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return 0.0, 0.0
    memory = re.search(r"RssAnon:\s*(\d+)", status)
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK"), int(memory[1]) / 1024 if memory else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=int, default=100_000)
    parser.add_argument("--kills", type=int, default=4)
    parser.add_argument("--flight", type=int, default=64)
    parser.add_argument("--delay", type=float, default=0.005)
    parser.add_argument("--size", default="1152x896")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        asyncio.run(serve(args.docs, args.delay))
        return
    width, height = map(int, args.size.split("x"))
    task = write_task(args.docs, (width, height))
    with ExitStack() as stack:
        url = stack.enter_context(serving(args.docs, args.delay))
        disk = stack.enter_context(small_disk(400 + args.docs // 25))
        endure(args, url, task, disk)


def endure(args: argparse.Namespace, url: str, task: Path, disk: Path) -> None:
    """The run, and what happens to it."""
    words = [sys.executable, "-m", "mm_eval", "--tasks", "endurance", "--include_path", str(task), "--model", "openai"]
    words += ["--model_args", f"base_url={url}/v1,model=m,num_concurrent={args.flight}", "--output_path", f"{disk}/run"]
    environment = os.environ | ONE_THREAD | {"MM_EVAL_CACHE": f"{disk}/cache", "OPENAI_API_KEY": "none"}
    places = [(number + 1) / (args.kills + 3) for number in range(args.kills + 2)]
    events = [*["kill"] * args.kills, "full disk", "slow server"]
    events[1:1], events = [events.pop(-2)], events  # the full disk between two kills
    due = [(int(place * args.docs), event) for place, event in zip(places, events, strict=True)]
    tenth, cpu, peak, beyond, started = 1, 0.0, 0.0, 0, time.monotonic()
    while True:
        with open(disk.parent / "log", "wb") as log:
            run = subprocess.Popen(words, env=environment, stdout=log, stderr=subprocess.STDOUT)
            filler, here = disk / "filler", 0.0
            while run.poll() is None:
                time.sleep(0.25 if args.docs < 20_000 else 1)
                here, memory = used(run.pid) if run.poll() is None else (here, 0.0)
                peak = max(peak, memory)
                done = sum(map(bool, asked(url)))
                while tenth <= 10 and done >= tenth * args.docs // 10:
                    wall = time.monotonic() - started
                    print(
                        f"{done:>8,} documents: {wall:7.0f} s, {cpu + here:7.0f} CPU s, peak {peak:.0f} MB", flush=True
                    )
                    tenth, peak = tenth + 1, 0.0
                if due and done >= due[0][0]:
                    _, event = due.pop(0)
                    print(f"{done:>8,} documents: {event}", flush=True)
                    if event == "kill":
                        run.send_signal(signal.SIGKILL)
                    elif event == "slow server":
                        urllib.request.urlopen(url + "/slow").close()
                    else:
                        with suppress(OSError), filler.open("wb") as file:
                            while True:
                                file.write(bytes(2**20))
            code = run.wait()
        cpu += here
        counts = asked(url)
        extra, beyond = sum(counts) - sum(map(bool, counts)) - beyond, sum(counts) - sum(map(bool, counts))
        said = (disk.parent / "log").read_text(errors="replace").replace("\r", "\n").strip().splitlines()
        print(f"  exit code {code}; asked again in this part: {extra}; last line: {said[-1][:200] if said else ''}")
        if filler.exists():
            filler.unlink()
        if code == 0 or (code != -signal.SIGKILL and code != 3):
            break
    results = json.loads((disk / "run/results.json").read_text())
    right = sum(map(is_right, range(args.docs))) / args.docs
    value = results["results"]["endurance"]["exact_match,none"]
    journal = sum(path.stat().st_size for path in (disk / "run/journal").glob("*")) / 2**20
    print(f"exact_match {value} where {right} is right; most often asked {max(counts)}, never asked {counts.count(0)}")
    print(f"asked again over all parts {beyond} of {args.docs:,}; journal {journal:.0f} MB; CPU ms a document", end=" ")
    print(f"{1000 * cpu / args.docs:.2f}")
    if value != right or 0 in counts or code:
        raise SystemExit("an answer was lost, or the score is wrong")


if __name__ == "__main__":
    main()
