"""What the suite itself costs beside its peers: the whole process, a model that answers at once, the same docs.

    python benchmarks/peers.py [--repetitions 5] [--docs 2000] [--text_docs 10000] [--peers lmms-eval,lm-eval,inspect_ai]

Each peer lives in a virtual environment of its own (peer_environments.py), made from PyPI at the first call. The two
processes of a repetition run one after the other, and the ratio is taken within it. lm-eval and lmms-eval write their
samples, as mm-eval always does; mm-eval writes its journal and report.html besides. inspect_ai has no log-likelihoods: it
generates one answer a doc, while the others score four choices. A peer that can't be installed or run is named, and the others
go on.
"""

from __future__ import annotations

import argparse
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from data import four_choices, mme_shaped
from measure import SCRATCH, fresh, mm_eval, process, shown
from peer_environments import INSPECT, LM_EVAL, LMMS_EVAL, environment


def text(docs: int, repetitions: int) -> Iterator[tuple[float, float]]:
    """(ours, lm-eval's) CPU seconds on a four-choice text task."""
    python, folder = environment(LM_EVAL), four_choices(docs)
    task = ("--tasks", "four_choices", "--include_path", str(folder), "--model", "dummy")
    for _ in range(repetitions):
        ours, _ = process(mm_eval(*task, "--output_path", fresh("run")))
        theirs, _ = process([str(python), "-m", "lm_eval", *task, "--output_path", fresh("peer"), "--log_samples"])
        yield ours, theirs


def inspect_text(docs: int, repetitions: int) -> Iterator[tuple[float, float]]:
    """(ours, inspect_ai's) CPU seconds on the same questions, of which inspect_ai generates an answer with its mock model."""
    python, folder = environment(INSPECT), four_choices(docs)
    file = folder / "inspect_task.py"
    file.write_text(INSPECT_TASK.format(rows=str(folder / "docs.jsonl")))
    task = ("--tasks", "four_choices", "--include_path", folder, "--model", "dummy")
    for _ in range(repetitions):
        ours, _ = process(mm_eval(*task, "--output_path", fresh("run")))
        words = [
            "eval",
            os.path.relpath(file),
            "--model",
            "mockllm/model",
            "--log-dir",
            fresh("peer"),
            "--display",
            "none",
        ]
        theirs, _ = process([python, "-m", "inspect_ai._cli.main", *words])
        yield ours, theirs


INSPECT_TASK = """import json

from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import choice
from inspect_ai.solver import multiple_choice


@task
def four_choices():
    with open({rows!r}) as file:
        rows = [json.loads(line) for line in file]
    samples = [Sample(row["question"], row["choices"], "ABCD"[row["answer"]]) for row in rows]
    return Task(dataset=MemoryDataset(samples), solver=multiple_choice(), scorer=choice())
"""


def pictures(docs: int, repetitions: int, *options: str) -> Iterator[tuple[float, float]]:
    """(ours, lmms-eval's) CPU seconds on docs in MME's shape, two on a picture. options: further ones of ours."""
    python, root = environment(LMMS_EVAL), mme_shaped(docs)
    folder = _their_mme(root, docs)
    theirs_of = ("--tasks", "mme_shaped", "--include_path", str(folder), "--model", "dummy", "--batch_size", "1")
    for _ in range(repetitions):
        ours, _ = process(
            mm_eval(
                *("--tasks", "mme", "--data_root", root, "--offline", "--model", "dummy"),
                *("--output_path", fresh("run"), *options),
            )
        )
        theirs, _ = process(
            [str(python), "-m", "lmms_eval", *theirs_of, "--output_path", fresh("peer"), "--log_samples"]
        )
        yield ours, theirs


def _their_mme(root: Path, docs: int) -> Path:
    """lmms-eval's own MME functions on our file: its task names a data set of the hub, which is not here."""
    folder = SCRATCH / f"their-mme-{docs}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "their_mme.py").write_text("from lmms_eval.tasks.mme.utils import *\n")
    file = root / "lmms-lab" / "MME" / "data" / "test-00000-of-00001.parquet"
    sums = "{metric: %s, aggregation: !function their_mme.mme_aggregate_results, higher_is_better: true}"
    (folder / "mme_shaped.yaml").write_text(
        "task: mme_shaped\ndataset_path: parquet\n"
        f"dataset_kwargs: {{data_files: {{test: {file}}}}}\ntest_split: test\noutput_type: generate_until\n"
        "doc_to_visual: !function their_mme.mme_doc_to_visual\ndoc_to_text: !function their_mme.mme_doc_to_text\n"
        "doc_to_target: answer\ngeneration_kwargs: {max_new_tokens: 16, temperature: 0, num_beams: 1}\n"
        "process_results: !function their_mme.mme_process_results\n"
        f"metric_list: [{sums % 'mme_perception_score'}, {sums % 'mme_cognition_score'}]\n"
        'lmms_eval_specific_kwargs: {default: {pre_prompt: "", post_prompt: "\\nAnswer with a word."}}\n'
    )
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--docs", type=int, default=2_000)
    parser.add_argument("--text_docs", type=int, default=10_000)
    parser.add_argument("--peers", default="lmms-eval,lm-eval,inspect_ai", metavar="NAME,...")
    args = parser.parse_args()
    SCRATCH.mkdir(parents=True, exist_ok=True)
    print("| whole process, CPU s | ours | peer | ours / peer |\n|---|---|---|---|", flush=True)
    for peer, what, found in (
        (LMMS_EVAL, f"MME-shaped, {args.docs} docs", pictures(args.docs, args.repetitions)),
        (LMMS_EVAL, "the same without report.html", pictures(args.docs, args.repetitions, "--no_report")),
        (LM_EVAL, f"4 choices, {args.text_docs} docs", text(args.text_docs, args.repetitions)),
        (INSPECT, f"4 choices, {args.text_docs} docs", inspect_text(args.text_docs, args.repetitions)),
    ):
        if peer.partition("=")[0] not in args.peers.split(","):
            continue
        try:
            pairs = list(found)
        except (SystemExit, subprocess.CalledProcessError) as error:
            said = str(error).strip().splitlines() or ["without a word"]
            print(f"| {what}, {peer} | failed: {said[-1][:200]} | | |", flush=True)
            continue
        ours, theirs = ([pair[side] for pair in pairs] for side in (0, 1))
        ratio = shown([mine / other for mine, other in pairs], 3)
        print(f"| {what}, {peer} | {shown(ours)} | {shown(theirs)} | {ratio} |", flush=True)


if __name__ == "__main__":
    main()
