"""`PEER/bin/python durability_peer.py FOLDER COUNT [KILL_AT]`: lmms-eval with its response cache, killed at its K-th answer.

Its own dummy model, made to take 10 ms an answer; each call is noted in FOLDER/calls. Run by `durability.py --lmms-eval
PEER/bin/python` for the same figure as ours: what was asked again of the questions that were answered before the kill.
"""

import json
import os
import runpy
import signal
import sys
import time
from pathlib import Path
from typing import Any

from lmms_eval.models.simple.dummy import Dummy

folder, count = Path(sys.argv[1]), int(sys.argv[2])
kill_at = int(sys.argv[3]) if len(sys.argv) > 3 else 0
folder.mkdir(parents=True, exist_ok=True)
calls = os.open(folder / "calls", os.O_CREAT | os.O_WRONLY | os.O_APPEND)
rows = "".join(json.dumps({"question": f"question {n}", "answer": "A"}) + "\n" for n in range(count))
(folder / "rows.jsonl").write_text(rows)
(folder / "killed.yaml").write_text(
    f"task: killed\ndataset_path: json\ndataset_kwargs: {{data_files: {{test: {folder / 'rows.jsonl'}}}}}\n"
    "test_split: test\noutput_type: generate_until\ndoc_to_text: '{{question}}'\ndoc_to_target: answer\n"
    "generation_kwargs: {max_new_tokens: 4, temperature: 0, do_sample: false}\n"
    "metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]\n"
)


def generate_until(self: Dummy, requests: list[Any]) -> list[str]:
    answers = []
    for number, request in enumerate(requests, start=1):
        os.write(calls, f"{request.doc_id}\n".encode())
        time.sleep(0.01)
        answers.append("A")
        if number == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
    return answers


Dummy.generate_until = generate_until
sys.argv = ["lmms_eval", "--model", "dummy", "--tasks", "killed", "--include_path", str(folder), "--batch_size", "1"]
sys.argv += ["--use_cache", str(folder / "cache"), "--output_path", str(folder / "out")]
runpy.run_module("lmms_eval", run_name="__main__")
