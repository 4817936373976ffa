"""What sound costs: CPU milliseconds a clip and peak memory, of a scripted server's client, and of ten hours that are streamed.

    python benchmarks/sound.py [--clips 1000] [--seconds 15] [--flight 64] [--delay 0.005] [--way input_audio] [--hours 10]
                               [--files 50] [--peer] [--repetitions 3] [--no_report]

The clips are FLAC of 16 kHz, noise with a tone, in one parquet file as `datasets` stores it. The server is that of `server.py`.
It answers after --delay seconds; a longer delay has more of --flight held at a time. It takes WAV (`--way input_audio`), so that
each clip is decoded for its request, and each of the --files different ones once more for its identity; or FLAC (`audio_url`).
With --peer evalscope's own client asks about the same clips, by its benchmark wenet_speech, which sends WAV: whole processes,
one after the other, and the ratio within each repetition. Its environment is of `peer_environments.py`.
Other options, such as --no_report, are mm-eval's: the page encodes each different clip as Opus.
With --hours one file of that length is asked about in segments of 30 s, whose samples are read by the dummy model's run alone.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from measure import ONE_THREAD
from peer_environments import EVALSCOPE, environment
from server import serving

RATE = 16_000
TASK = """
task: clips
dataset_path: DATA
dataset_kwargs: {data_files: {test: FILE}}
test_split: test
doc_to_audio: AUDIO
doc_to_text: "What is said in {{id}}?"
doc_to_target: "{{id}}"
generation_kwargs: {max_gen_toks: 8}
metric_list: [{metric: exact_match}]
"""
SEGMENT = """
from mm_eval import Audio

def segment(doc):
    return [Audio(doc["file"], 30.0 * doc["id"], 30.0 * doc["id"] + 30.0)]
"""


def flac(seconds: float, seed: int) -> bytes:
    """A file of this length; the samples are drawn a minute at a time."""
    import av
    import numpy as np

    draw, content = np.random.default_rng(seed), io.BytesIO()
    with av.open(content, "w", format="flac") as file:
        stream = file.add_stream("flac", rate=RATE, layout="mono")
        left = round(seconds * RATE)
        while left:
            count = min(left, 60 * RATE)
            tone = 8000 * np.sin(2 * np.pi * (200 + seed % 800) * np.arange(count) / RATE)
            samples = (tone + draw.standard_normal(count) * 500).astype("i2").reshape(1, -1)
            frame = av.AudioFrame.from_ndarray(samples, format="s16", layout="mono")
            frame.sample_rate = RATE
            file.mux(stream.encode(frame))
            left -= count
        file.mux(stream.encode(None))
    return content.getvalue()


def of_clips(folder: str, clips: int, seconds: float, files: int = 50) -> None:
    """A task of clips in a parquet file. files: how many of them are different."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    made = [flac(seconds, number) for number in range(min(clips, files))]
    rows = [{"bytes": made[n % len(made)], "path": f"{n}.flac"} for n in range(clips)]
    text = {"dtype": "int64", "_type": "Value"}
    stated = {"huggingface": json.dumps({"info": {"features": {"audio": {"_type": "Audio"}, "id": text}}})}
    table = pa.table({"audio": rows, "id": list(range(clips))}).replace_schema_metadata(stated)
    pq.write_table(table, f"{folder}/test.parquet", row_group_size=100)
    texts = table.append_column("text", pa.array([str(number) for number in range(clips)]))
    Path(folder, "peer").mkdir()
    pq.write_table(texts, f"{folder}/peer/test.parquet", row_group_size=100)
    split = "data_files: [{split: test_meeting, path: test.parquet}]"
    Path(folder, "peer", "README.md").write_text(f"---\nconfigs: [{{config_name: default, {split}}}]\n---\n")
    task = TASK.replace("DATA", "parquet").replace("FILE", f"{folder}/test.parquet").replace("AUDIO", "audio")
    Path(folder, "clips.yaml").write_text(task)


def of_hours(folder: str, hours: float) -> int:
    """A task of segments of one file; returns their number."""
    count = round(hours * 120)
    Path(folder, "long.flac").write_bytes(flac(hours * 3600, 1))
    rows = (json.dumps({"id": number, "file": f"{folder}/long.flac"}) + "\n" for number in range(count))
    Path(folder, "rows.jsonl").write_text("".join(rows))
    Path(folder, "utils.py").write_text(SEGMENT)
    task = TASK.replace("DATA", "json").replace("FILE", f"{folder}/rows.jsonl")
    Path(folder, "clips.yaml").write_text(task.replace("AUDIO", "!function utils.segment"))
    return count


def run(folder: str, count: int, *words: str) -> dict[str, float]:
    """One run of the task in a folder: its CPU milliseconds a clip, and its peak memory."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    memory = str(Path(__file__).with_name("memory.py"))
    command = [sys.executable, memory, "--tasks", "clips", "--include_path", folder, "--output_path", f"{folder}/run"]
    environment = os.environ | {"MM_EVAL_CACHE": f"{folder}/cache", "OPENAI_API_KEY": "none"}
    done = subprocess.run([*command, *words], env=environment, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(done.stderr[-3000:])
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    peak = json.loads(done.stdout.splitlines()[-1])["peak"] / 1024
    return {"cpu_s": round(cpu, 1), "cpu_ms_a_clip": round(1000 * cpu / count, 2), "peak_mb": round(peak)}


def run_peer(folder: str, count: int, url: str, flight: int) -> dict[str, float]:
    """One run of evalscope on the same clips: its CPU milliseconds a clip."""
    given = {"wenet_speech": {"local_path": f"{folder}/peer", "subset_list": ["test_meeting"]}}
    command = [
        str(environment(EVALSCOPE)),
        "-m",
        "evalscope.cli.cli",
        "eval",
        "--model",
        "m",
        "--api-url",
        url,
        "--api-key",
        "none",
    ]
    command += ["--eval-type", "openai_api", "--datasets", "wenet_speech", "--dataset-args", json.dumps(given)]
    command += [
        "--eval-batch-size",
        str(flight),
        "--work-dir",
        f"{folder}/peer-run",
        "--generation-config",
        '{"max_tokens": 8}',
    ]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    caches = dict.fromkeys(("EVALSCOPE_CACHE", "HF_HOME", "MODELSCOPE_CACHE"), f"{folder}/peer-cache")
    done = subprocess.run(command, env=os.environ | ONE_THREAD | caches, cwd=folder, capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    predictions = Path(folder, "peer-run").rglob("predictions/**/*.jsonl")
    answered = sum(len(path.read_text().splitlines()) for path in predictions)
    if done.returncode or answered != count:
        raise SystemExit(f"evalscope answered {answered} of {count}: {(done.stdout + done.stderr)[-3000:]}")
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"cpu_s": round(cpu, 1), "cpu_ms_a_clip": round(1000 * cpu / count, 2)}


def beside_a_peer(args: argparse.Namespace, more: list[str]) -> None:
    """Prints both sides of each repetition, and how many of the peer's CPU seconds ours are."""
    for _ in range(args.repetitions):
        with tempfile.TemporaryDirectory() as folder:
            of_clips(folder, args.clips, args.seconds, args.files)
            found: dict[str, dict[str, float]] = {}
            with serving(args.delay) as (url, held):
                options = f"base_url={url},model=m,num_concurrent={args.flight},audio={args.way}"
                found["mm-eval"] = run(folder, args.clips, "--model", "openai", "--model_args", options, *more)
            found["mm-eval"] |= held
            with serving(args.delay) as (url, held):
                found[EVALSCOPE] = run_peer(folder, args.clips, url, args.flight)
            found[EVALSCOPE] |= held
            share = found["mm-eval"]["cpu_s"] / found[EVALSCOPE]["cpu_s"]
            print(
                json.dumps(
                    {"clips": args.clips, "files": args.files, "way": args.way, **found, "share": round(share, 3)}
                ),
                flush=True,
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clips", type=int, default=1000)
    parser.add_argument("--seconds", type=float, default=15.0)
    parser.add_argument("--flight", type=int, default=64)
    parser.add_argument("--delay", type=float, default=0.005)
    parser.add_argument("--way", default="input_audio")
    parser.add_argument("--hours", type=float, default=0.0)
    parser.add_argument("--files", type=int, default=50)
    parser.add_argument("--peer", action="store_true")
    parser.add_argument("--repetitions", type=int, default=3)
    args, more = parser.parse_known_args()
    if args.peer:
        beside_a_peer(args, more)
        return
    with tempfile.TemporaryDirectory() as folder:
        if args.hours:
            count = of_hours(folder, args.hours)
            print(json.dumps({"segments": count, **run(folder, count, "--model", "dummy")}))
            return
        of_clips(folder, args.clips, args.seconds, args.files)
        with serving(args.delay) as (url, held):
            options = f"base_url={url},model=m,num_concurrent={args.flight},audio={args.way}"
            found = run(folder, args.clips, "--model", "openai", "--model_args", options, *more)
        print(json.dumps({"clips": args.clips, "way": args.way, **found, **held}))


if __name__ == "__main__":
    main()
