"""What some frames of a long video cost: its index, the frames, and, on request, decoding in order for comparison.

    python benchmarks/video.py [--minutes 120] [--width 1280] [--height 720] [--frames 32] [--repeats 3] [--in_order SECONDS]

Makes an H.264 file of 25 frames a second with a key frame each 250: ten seconds are encoded and their packets repeated. Each
repeat is a process of its own. Prints JSON: CPU seconds (median, least, most), peak memory in MB, and the file's MB. With
--in_order, the frames that one CPU second decodes from the start, counted over that many seconds of video.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

RATE, SECONDS = 25, 10


def write_long(path: Path, minutes: float, width: int, height: int) -> None:
    """A video whose frames are a texture that moves, with noise; its ten seconds are repeated."""
    import av
    import numpy

    random = numpy.random.default_rng(0)
    texture = random.integers(0, 255, (height // 16 + 40, width // 16 + 40, 3), numpy.uint8).repeat(16, 0).repeat(16, 1)
    with av.open(str(path), "w") as file:
        stream: Any = file.add_stream("libx264", rate=RATE, options={"preset": "veryfast", "bf": "0", "crf": "33"})
        stream.width, stream.height, stream.pix_fmt = width, height, "yuv420p"
        stream.codec_context.gop_size = RATE * SECONDS
        packets = []
        for number in range(RATE * SECONDS):
            pixels = texture[2 * number % 600 :, number % 600 :][:height, :width]
            frame = av.VideoFrame.from_ndarray(numpy.ascontiguousarray(pixels), format="rgb24")
            frame.pts = number
            packets += stream.encode(frame)
        packets += stream.encode()
        kept = [(bytes(packet), packet.pts, packet.dts, packet.is_keyframe, packet.time_base) for packet in packets]
        for part in range(max(1, round(minutes * 60 / SECONDS))):
            for content, pts, dts, is_key, unit in kept:
                packet = av.Packet(content)
                shift = int(part * SECONDS / unit)
                packet.pts, packet.dts, packet.time_base, packet.stream = pts + shift, dts + shift, unit, stream
                packet.is_keyframe = is_key
                file.mux(packet)


def measure(path: str, frames: int, in_order: float) -> dict[str, float]:
    import av  # noqa: F401  (its import is not the file's cost)

    from mm_eval.features.video.reader import frames_at, index_of
    from mm_eval.features.video.rule import read_rule

    began = time.process_time()
    index = index_of(path)
    indexed = time.process_time()
    ticks = [index.ticks[number] for number in read_rule(f"frames={frames}").places(len(index.ticks), 0)]
    for picture in frames_at(path, ticks, [index.key_of(tick) for tick in ticks]):
        picture.load()
    found = {"index_cpu_s": indexed - began, "frames_cpu_s": time.process_time() - indexed, "frames": len(index.ticks)}
    found["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    if in_order:
        count, began = int(in_order * RATE), time.process_time()
        some = list(index.ticks[:count])
        for _ in frames_at(path, some, [index.keys[0]] * len(some)):
            pass
        found["in_order_frames_per_cpu_s"] = len(some) / (time.process_time() - began)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=120)
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--height", type=int, default=720)
    parser.add_argument("--frames", type=int, default=32)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--in_order", type=float, default=0)
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.measure:
        print(json.dumps(measure(args.measure, args.frames, args.in_order)))
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "long.mp4"
        write_long(path, args.minutes, args.width, args.height)
        again = [sys.executable, __file__, "--measure", str(path), "--frames", args.frames, "--in_order", args.in_order]
        runs = [
            json.loads(subprocess.run(list(map(str, again)), check=True, capture_output=True, text=True).stdout)
            for _ in range(args.repeats)
        ]
        said: dict[str, Any] = {"file_mb": round(path.stat().st_size / 1e6, 1)}
        for name in runs[0]:
            values = sorted(run[name] for run in runs)
            said[name] = [round(value, 2) for value in (statistics.median(values), values[0], values[-1])]
        print(json.dumps(said))


if __name__ == "__main__":
    main()
