"""What asking a server costs: CPU milliseconds and memory of the client, and how many requests the server holds at a time.

    python benchmarks/server.py [--docs 500] [--size 1152x896] [--delay 0.005] [--flight 64] [--text] [--made opened|array]

The server is a process of its own that answers after `delay` seconds. Each document has a picture of its own, none with --text.
With --made the task's function makes it: a changed file that it opens itself, or an array.
Two runs in new folders: first (with an empty cache folder) and second (with that of the first), after one that makes the
bytecode, which an installed package has. Prints CPU ms a request, the peak of memory that belongs to the client alone in MB, and
the median and most requests that the server held while it was busy.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from data import seed_shaped
from measure import ONE_THREAD

REPLY = {
    "id": "1",
    "object": "chat.completion",
    "model": "m",
    "choices": [{"index": 0, "message": {"role": "assistant", "content": "A"}, "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 9, "completion_tokens": 1, "total_tokens": 10},
}


async def serve(delay: float) -> None:
    """Answers until the standard input ends, then prints how many requests were held when each one came."""
    held, seen = 0, list[int]()
    body = json.dumps(REPLY).encode()
    reply = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    missing = b"HTTP/1.1 404 Not Found\r\nContent-Length: 2\r\nContent-Type: application/json\r\n\r\n{}"

    async def connection(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal held
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                lengths = [line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
                await reader.readexactly(int(lengths[0].split(b":")[1]) if lengths else 0)
                if b"/chat/completions" not in head:
                    writer.write(missing)
                    continue
                held += 1
                seen.append(held)
                await asyncio.sleep(delay)
                held -= 1
                writer.write(reply)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass

    server = await asyncio.start_server(connection, "127.0.0.1", 0, limit=2**26)
    print(server.sockets[0].getsockname()[1], flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    middle = sorted(seen[len(seen) // 4 : -len(seen) // 4] or seen)
    print(json.dumps({"median": statistics.median(middle), "most": max(seen)} if seen else {}), flush=True)


@contextlib.contextmanager
def serving(delay: float) -> Iterator[tuple[str, dict[str, float]]]:
    """Its base URL, and how many requests it held (median and most), which is known afterwards."""
    server = subprocess.Popen(
        [sys.executable, __file__, "--serve", "--delay", str(delay)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert server.stdin is not None and server.stdout is not None
    held = dict[str, float]()
    try:
        yield f"http://127.0.0.1:{int(server.stdout.readline())}/v1", held
    finally:
        server.stdin.close()
        held |= json.loads(server.stdout.readline() or "{}")
        server.wait()


MADE = """
task: made
dataset_path: json
dataset_kwargs: {data_files: {test: FOLDER/rows.jsonl}}
test_split: test
doc_to_visual: !function utils.FORM
doc_to_text: "Which is {{id}}?"
doc_to_target: "{{id}}"
metric_list: [{metric: exact_match}]
"""
UTILS = """
import numpy
from PIL import Image

def opened(doc):
    picture = Image.open("FOLDER/%d.jpg" % (doc["id"] % 100)).convert("RGB")
    picture.putpixel((0, 0), (doc["id"] % 256, doc["id"] // 256, 7))
    return [picture]

def array(doc):
    return [numpy.array(opened(doc)[0])]
"""


def made(folder: str, docs: int, size: tuple[int, int], form: str) -> list[str]:
    """The options of a task whose function makes the pictures, from 100 files."""
    from PIL import Image

    for number in range(100):
        small = Image.merge("RGB", [Image.effect_noise((40, 30), 80) for _ in "RGB"])
        small.resize(size, Image.Resampling.BICUBIC).save(f"{folder}/{number}.jpg", quality=90)
    Path(folder, "rows.jsonl").write_text("".join(f'{{"id": {number}}}\n' for number in range(docs)))
    Path(folder, "utils.py").write_text(UTILS.replace("FOLDER", folder))
    Path(folder, "made.yaml").write_text(MADE.replace("FOLDER", folder).replace("FORM", form))
    return ["--tasks", "made", "--include_path", folder]


def measure(args: argparse.Namespace, cache: str, docs: int) -> dict[str, float]:
    """One run of the client on so many documents."""
    width, height = map(int, args.size.split("x"))
    with tempfile.TemporaryDirectory() as folder, serving(args.delay) as (url, held):
        words = ["--model", "openai", "--limit", str(docs), "--output_path", folder + "/run"]
        words += ["--model_args", f"base_url={url},model=m,num_concurrent={args.flight}"]
        if args.made:
            words += made(folder, docs, (width, height), args.made)
        else:
            words += ["--tasks", "seedbench", "--data_root", str(seed_shaped(docs, (width, height)))]
        words += ["--blind"] if args.text else []
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        memory = str(Path(__file__).with_name("memory.py"))
        environment = os.environ | ONE_THREAD | {"MM_EVAL_CACHE": cache, "OPENAI_API_KEY": "none"}
        done = subprocess.run([sys.executable, memory, *words], env=environment, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak = json.loads(done.stdout.splitlines()[-1])["peak"] / 1024
    return {"cpu_ms": round(1000 * cpu / docs, 2), "peak_mb": round(peak), **held}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=int, default=500)
    parser.add_argument("--size", default="1152x896")
    parser.add_argument("--delay", type=float, default=0.005)
    parser.add_argument("--flight", type=int, default=64)
    parser.add_argument("--text", action="store_true")
    parser.add_argument("--made", choices=("opened", "array"))
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.serve:
        asyncio.run(serve(args.delay))
        return
    with tempfile.TemporaryDirectory() as nothing:
        measure(args, nothing, 2)
    with tempfile.TemporaryDirectory() as cache:
        for name in ("first", "second"):
            print(name, json.dumps(measure(args, cache, args.docs)), flush=True)


if __name__ == "__main__":
    main()
