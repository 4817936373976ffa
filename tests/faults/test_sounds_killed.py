"""A run with sounds that is killed at any answer: nothing is lost, and the clips of the rows are the same."""

import json
import signal
import subprocess
import sys
from pathlib import Path

from tests.data.sound.sounds import tone, wav
from tests.folders import write_task
from tests.processes import HANGS

DOCS = 12
TASK = """
task: tones
dataset_path: json
dataset_kwargs: {data_files: rows.jsonl}
test_split: train
output_type: generate_until
doc_to_audio: audio
doc_to_text: question
doc_to_target: answer
generation_kwargs: {max_new_tokens: 5, until: []}
metric_list: [{metric: exact_match}]
"""


def started(folder: Path, at: int, *words: str) -> int:
    script = str(Path(__file__).parent / "hears_and_dies.py")
    given = ("--model", "hears", "--output_path", str(folder / "run"), *words)
    command = [sys.executable, script, str(folder / "calls"), str(at), *given]
    return subprocess.run(command, timeout=HANGS, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL).returncode


def test_a_run_with_sounds_is_killed_twice_and_finished(tmp_path: Path) -> None:
    data = tmp_path / "own"
    data.mkdir()
    for number in range(DOCS):
        (data / f"{number}.wav").write_bytes(wav(tone(200 + 50 * number)))
    rows = [{"audio": f"{number}.wav", "question": "What?", "answer": "1"} for number in range(DOCS)]
    task = write_task(data, "tones", TASK, "", rows)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir(), killed.mkdir()
    assert started(whole, 0, "--tasks", task) == 0
    assert [started(killed, at, "--tasks", task) for at in (5, 4, 0)] == [-signal.SIGKILL, -signal.SIGKILL, 0]
    asked = (killed / "calls").read_text().split()
    assert set(asked) == set(map(str, range(DOCS))) and len(asked) < 2 * DOCS
    found = [
        [json.loads(line) for line in (folder / "run" / "samples" / "tones.jsonl").read_text().splitlines()]
        for folder in (whole, killed)
    ]
    shown = [
        [(row["doc_id"], row["resps"], row["sounds"], row["turn_shown"], row["scores"]) for row in some]
        for some in found
    ]
    assert shown[0] == shown[1] and len({row["sounds"][0]["digest"] for row in found[1]}) == DOCS
