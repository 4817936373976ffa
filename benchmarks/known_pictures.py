"""What a document with a picture costs before a model sees it: in a first run and in a second one.

    python benchmarks/known_pictures.py [--docs 200] [--size 640x480] [--repetitions 5]

CPU milliseconds a document, median with least and most, each in a process of its own, one thread: plain (the row is read and its
picture decoded to RGB), first (all requests of the task are made, digests included, with an empty cache folder), second (the same
with the cache folder of the first). The last lines are the ratios to plain; the goals are 1.2 and .3.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time

from data import seed_shaped


def measure(way: str, docs: int, size: tuple[int, int]) -> float:
    """CPU ms a document."""
    from mm_eval.data import decode
    from mm_eval.prepare import prepare
    from mm_eval.request import RunRequest

    decode.cores = lambda: 1
    root = str(seed_shaped(docs, size))
    prepared = prepare(RunRequest(("seedbench",), model="dummy", data_root=root, offline=True, report=False))
    task, style = prepared.tasks["seedbench"], prepared.styles["seedbench"]
    decode._decode(_png(), lambda picture: None)  # imports
    began = time.process_time()
    if way == "plain":
        import io

        from PIL import Image

        for _, row in task.docs.stored(list(range(docs))):
            for picture in row["image"]:
                Image.open(io.BytesIO(picture["bytes"])).convert("RGB").load()
    else:
        assert sum(len(instance.image_digests) for instance in task.instances(range(docs), style)) >= docs
    return 1000 * (time.process_time() - began) / docs


def _png() -> bytes:
    import io

    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (8, 8)).save(file, "PNG")
    return file.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", type=int, default=200)
    parser.add_argument("--size", default="640x480")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    args = parser.parse_args()
    width, height = map(int, args.size.split("x"))
    if args.measure:
        print(measure(args.measure, args.docs, (width, height)))
        return
    seed_shaped(args.docs, (width, height))
    found: dict[str, list[float]] = {"plain": [], "first": [], "second": []}
    for _ in range(args.repetitions):
        with tempfile.TemporaryDirectory() as cache:
            for way, values in found.items():
                words = [sys.executable, __file__, "--measure", way, "--docs", str(args.docs), "--size", args.size]
                done = subprocess.run(words, env=os.environ | {"MM_EVAL_CACHE": cache}, check=True, capture_output=True)
                values.append(float(done.stdout))
    for way, values in found.items():
        print(f"{way}: {statistics.median(values):.2f} ms ({min(values):.2f} to {max(values):.2f})")
    for way in ("first", "second"):
        ratios = [value / plain for value, plain in zip(found[way], found["plain"], strict=True)]
        print(f"{way} / plain: {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})")


if __name__ == "__main__":
    main()
