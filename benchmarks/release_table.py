"""What a release costs: 8 models on 20 tasks on the bundled samples, the page included, and the same command once more.

    python benchmarks/release_table.py [--limit 40] [--parallel N]

Two bundled models, each with two prompts, and four dummies. Prints CPU and wall seconds of the first and the second command, the
largest memory of a process, how many cells the table has, and the size of the page.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import time
from pathlib import Path

from measure import fresh, mm_eval

TASKS = (
    "ai2d", "blink", "chartqa", "docvqa_val", "gqa", "hallusion_bench_image", "infovqa_val",
    "mathvista_testmini_digits", "mmbench_en_dev", "mme", "mmmu_val", "mmstar", "vstar_bench", "ocrbench", "pope",
    "realworldqa", "scienceqa_img", "seedbench", "textvqa_val", "vizwiz_vqa_val",
)  # fmt: skip
MODELS = [
    *({"model": "tiny-llava", "name": f"LLaVA {key}", "prompt_key": key} for key in ("default", "qwen_vl")),
    *({"model": "tiny-qwen2-vl", "name": f"Qwen {key}", "prompt_key": key} for key in ("default", "qwen_vl")),
    *({"model": "dummy", "name": f"Dummy {seed}", "model_args": f"seed={seed}"} for seed in range(4)),
]


def measure(config: Path, words: list[str]) -> dict[str, float]:
    """CPU and wall seconds of the command and its children, and the largest memory of one of them in MB."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(mm_eval("run", "--config", config, *words), capture_output=True, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        raise SystemExit(done.stdout[-1000:] + done.stderr[-3000:])
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    wall = time.monotonic() - started
    return {"cpu_s": round(cpu, 1), "wall_s": round(wall, 1), "peak_mb": round(after.ru_maxrss / 1024)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--limit", type=int, default=40)
    parser.add_argument("--parallel", type=int, default=1)
    args = parser.parse_args()
    folder = fresh("release")
    folder.mkdir(parents=True)
    config = folder / "release.yaml"
    release = {
        "output_path": str(folder / "runs"),
        "tasks": TASKS,
        "sample": True,
        "limit": args.limit,
        "models": MODELS,
    }
    config.write_text(json.dumps(release))  # JSON is YAML
    words = ["--parallel", str(args.parallel)]
    for name in ("first", "second"):
        print(name, json.dumps(measure(config, words)), flush=True)
    page = folder / "runs/release.html"
    results = [json.loads(path.read_text())["results"] for path in (folder / "runs").glob("*/results.json")]
    numbers = sum(",none" in key for of_model in results for row in of_model.values() for key in row)
    print(f"{len(results)} models, {numbers} numbers, release.html {page.stat().st_size / 2**20:.1f} MB")


if __name__ == "__main__":
    main()
