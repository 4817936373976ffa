"""The benchmark of long videos runs, and its small variant shows what the large one shows."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parent.parent.parent / "benchmarks" / "video.py"


@pytest.mark.full
def test_few_frames_of_a_long_video_cost_less_than_decoding_it() -> None:
    size = ["--minutes", "2", "--width", "320", "--height", "192"]
    options = [*size, "--rule", "frames=4", "--repeats", "1", "--in_order", "120"]
    ran = subprocess.run([sys.executable, SCRIPT, *options], capture_output=True, text=True, check=True)
    found = json.loads(ran.stdout)
    [frames, *_], [rate, *_] = found["frames"], found["in_order_frames_per_cpu_s"]
    assert frames == 3000
    assert found["index_cpu_s"][0] + found["frames_cpu_s"][0] < frames / rate
