"""The runs whose bytes are held, and what is compared of them.

Compared: results.json, each file of samples/, files.json, and the records of the journal with their request keys.
Left out, and nothing else:
- `started`, `seconds` and `answering` of results.json's `run`, the journal's `t` and the crc over it: a clock.
- `libraries` and `python` of `run`: what is installed. `workers`: how many workers of Ray had loaded in time.
- `scored_by` of `run`: a digest of the task's Python files, whose imports may move.
- the order of the journal's lines, which is that of the answers' arrival.
"""

import hashlib
import json
import os
import re
from collections.abc import Callable, Iterator
from contextlib import chdir
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

from mm_eval.cli import main
from mm_eval.engine.model import request_key
from mm_eval.engine.records import single_records
from mm_eval.prepare import prepare
from mm_eval.request import RunRequest
from tests.judge.server import serving

HERE = Path(__file__).resolve().parent
TASKS = HERE / "tasks"
RECORDED = HERE / "digests.json"
HF_MODELS = ("tiny-llava", "tiny-qwen2-vl")
NOT_COMPARED = ("started", "seconds", "answering", "libraries", "python", "scored_by", "workers")
MME = ("--tasks", "mme", "--limit", "60", "--model", "dummy", "--sample")


def run(folder: Path, *words: object, code: int = 0) -> dict[str, str]:
    """The digests of a run of the command line in this process."""
    ended = main([*map(str, words), "--output_path", str(folder), "--no_report"])
    assert ended == code, f"the run {folder.name} ended with {ended}"
    return digests(folder)


def resumed(folder: Path) -> dict[str, str]:
    """The run of MME, of which every third answer, the last line's end and all that is derived are lost."""
    run(folder, *MME)
    for path in (folder / "journal").iterdir():
        lines = path.read_bytes().splitlines(keepends=True)
        path.write_bytes(b"".join(line for number, line in enumerate(lines) if number % 3)[:-20])
    for path in [folder / "results.json", *(folder / "samples").iterdir()]:
        path.unlink()
    return run(folder, *MME)


def judged(folder: Path) -> dict[str, str]:
    """A judge on a server: verdicts, one after a second request, one that can't be read, an empty answer.

    The server is the proxy of its address, so that the address is the same in each run.
    """
    return with_judge(folder, "base_graded", TASKS / "graded_answers.jsonl")


def with_judge(folder: Path, task: str, answers: Path) -> dict[str, str]:
    """A run of recorded answers with a judge on the scripted server, which gives no readable verdict on one of them."""
    words = ("--tasks", task, "--include_path", TASKS, "--model", "replay", "--model_args", f"path={answers}")
    words += ("--judge", "openai", "--judge_preflight", "false")
    args = "base_url=http://judge.example/v1,model=judge-1,max_retries=0,max_outage=0.5"
    with serving() as server, patch.dict(os.environ):
        for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
            del os.environ[name]
        os.environ["HTTP_PROXY"] = os.environ["http_proxy"] = server.url.removesuffix("/v1")
        return run(folder, *words, "--judge_args", args, code=3)


def replayed(folder: Path) -> dict[str, str]:
    """A judged benchmark whose judge answers from a file."""
    words = ("--tasks", "mmvet", "--limit", 6, "--model", "dummy", "--sample", "--judge_preflight", "false")
    with chdir(TASKS):
        return run(folder.resolve(), *words, "--judge", "replay", "--judge_args", "path=mmvet_replies.jsonl")


def on_workers(folder: Path) -> dict[str, str]:
    """The run of MME with two workers of Ray."""
    import ray

    try:
        return run(folder, *MME, "--executor", "ray", "--workers", 2)
    finally:
        ray.shutdown()


def of(*words: object) -> Callable[[Path], dict[str, str]]:
    """A run of the dummy model on the bundled sample data."""
    return lambda folder: run(folder, *words, "--model", "dummy", "--sample")


RUNS: dict[str, Callable[[Path], dict[str, str]]] = {
    "mme": lambda folder: run(folder, *MME),
    "mme_of_a_family": of("--tasks", "mme", "--limit", 20, "--prompt_key", "qwen_vl", "--seed", 3),
    "seedbench": of("--tasks", "seedbench", "--limit", 60),
    "seedbench_ppl": of("--tasks", "seedbench_ppl", "--limit", 60),
    "mmlu": of("--tasks", "mmlu", "--limit", 8, "--num_fewshot", 2),
    "captions": of("--tasks", "coco2017_cap_val", "--limit", 12, "--bootstrap_iters", 200),
    "rolling": of("--tasks", "wikitext", "--limit", 6),
    "video": of("--tasks", "videomme", "--limit", 8, "--video", "frames=4"),
    "blind": of("--tasks", "mme", "--limit", 20, "--blind", "shuffled"),
    "overrides": of("--tasks", "base_overrides", "--include_path", TASKS, "--limit", 6),
    "judged": judged,
    "judged_from_a_file": replayed,
    "foreign": lambda folder: run(folder, "--tasks", "base_foreign", "--include_path", TASKS, "--model", "dummy"),
    "foreign_judged": lambda folder: with_judge(folder, "base_foreign_judged", TASKS / "foreign_judged_answers.jsonl"),
    "resumed": resumed,
    "ray": on_workers,
}


def digests(folder: Path) -> dict[str, str]:
    """{file: sha256 of what is compared of it} of a run folder."""
    files = {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted((folder / "samples").iterdir())}
    if (folder / "files.json").exists():
        files["files.json"] = (folder / "files.json").read_bytes()
    files["results.json"] = _without_clock((folder / "results.json").read_text("utf-8")).encode()
    files["journal"] = b"\n".join(sorted(_records(folder)))
    return {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}


def _without_clock(text: str) -> str:
    """The text of results.json without the keys of `run` in `NOT_COMPARED`."""
    before, start, rest = text.partition('\n  "run": {\n')
    block, end, after = rest.partition("\n  }")
    entries = re.split(r',\n(?=    ")', block)  # the keys of `run`, each with its value's lines
    kept = [entry for entry in entries if entry.split('"')[1] not in NOT_COMPARED]
    return before + start + ",\n".join(kept) + end + after


def _records(folder: Path) -> Iterator[bytes]:
    """The journal's records without their times, those of one line one by one. A line that was torn is none."""
    for path in (folder / "journal").glob("*.jsonl"):
        for line in path.read_bytes().splitlines():
            for record in map(dict, single_records(json.loads(line))):
                del record["t"]
                record.pop("crc", None)
                record.pop("seconds", None)
                yield json.dumps(record).encode()


def hf_keys(model: str) -> str:
    """A digest of the request keys of a bundled model on the CPU: pictures, few-shot examples and a video.

    They depend on whether torchvision is installed, since its resizing differs: that is set here. No weights are loaded.
    """
    args = {"dtype": "float32"}
    tasks = ("mme", "mmlu_anatomy", "seedbench_ppl", "videomme")
    request = RunRequest(
        tasks=tasks, model=model, model_args=args, limit=3, num_fewshot=None, sample=True, device="cpu"
    )
    prepared = prepare(request)
    adapter = prepared.model
    adapter.describe()
    adapter.facts = replace(adapter.facts, constants={**adapter.facts.constants, "torchvision": False})
    keys = [
        "Slot(task={!r}, doc_id={}, repeat={}, choice={})".format(
            *instance.slot[:4]
        )  # as when the digests were recorded
        + f" {request_key(adapter, instance)}\n"
        for name, task in prepared.tasks.items()
        for instance in task.instances(prepared.doc_ids[name], prepared.styles[name])
    ]
    return hashlib.sha256("".join(keys).encode()).hexdigest()
