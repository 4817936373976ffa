"""CPU microseconds a document of each stage of a run with the dummy model: four choices a document, one generated answer, and
four choices after five examples of 2,000 characters.

    git worktree add ../old COMMIT
    python benchmarks/stages.py [../old] [--docs 5000] [--rounds 3]

With another tree both run in turn, other, this, this, other, so that a busy machine slows both alike. Each run is a process with
one thread; the least of all its runs stands for a tree, since what other work adds is never negative.
"""

from __future__ import annotations

import argparse
import gc
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from data import four_choices
from measure import HERE, ONE_THREAD, fresh

STAGES = {"prepare": "prepare", "_answer": "ask", "score_tasks": "score", "write_page": "page"}
"""Functions of mm_eval/run.py, and what each is called here."""


def one_answer(docs: int) -> Path:
    """The same questions as of `four_choices`, answered with text."""
    folder = four_choices(docs)
    task = folder / "one_answer.yaml"
    task.write_text(
        "task: one_answer\ndataset_path: json\n"
        f"dataset_kwargs: {{data_files: {{test: {folder / 'docs.jsonl'}}}}}\n"
        "test_split: test\noutput_type: generate_until\ngeneration_kwargs: {max_new_tokens: 8}\n"
        'doc_to_text: "{{question}}\\nAnswer:"\ndoc_to_target: "{{choices[answer]}}"\n'
        "metric_list: [{metric: exact_match, aggregation: mean, higher_is_better: true}]\n"
    )
    return task


def five_examples(docs: int) -> Path:
    """The same questions as of `four_choices`, each after the same five examples of 400 characters."""
    folder = four_choices(docs)
    words = " ".join(f"word{number:02d}" for number in range(52))
    examples = [
        {"question": f"{words} {number}?", "choices": list("abcd"), "answer": number % 4} for number in range(5)
    ]
    (folder / "examples.jsonl").write_text("".join(f"{json.dumps(example)}\n" for example in examples))
    task = folder / "five_examples.yaml"
    text = (folder / "four_choices.yaml").read_text().replace("task: four_choices", "task: five_examples")
    files = f"{{test: {folder / 'docs.jsonl'}, train: {folder / 'examples.jsonl'}}}"
    text = text.replace(f"{{test: {folder / 'docs.jsonl'}}}", files)
    task.write_text(f"{text}fewshot_split: train\nnum_fewshot: 5\nfewshot_config: {{sampler: first_n}}\n")
    return task


def stages(task: str, output: str) -> dict[str, float]:
    """CPU seconds of each stage of a run, all threads."""
    import mm_eval.run as run
    from mm_eval.cli import GARBAGE_AFTER
    from mm_eval.request import RunRequest

    gc.set_threshold(GARBAGE_AFTER)
    found: dict[str, float] = {}

    def timed(name: str) -> None:
        own = getattr(run, name)

        def stage(*args: Any, **kwargs: Any) -> Any:
            begin = time.process_time()
            try:
                return own(*args, **kwargs)
            finally:
                found[STAGES[name]] = time.process_time() - begin

        setattr(run, name, stage)

    def evaluate(limit: int | None) -> None:
        run.evaluate(
            RunRequest(tasks=(task,), model="dummy", offline=True, limit=limit, output_path=str(fresh(output)))
        )

    for name in STAGES:
        timed(name)
    evaluate(50)  # imports
    begin = time.process_time()
    evaluate(None)
    return {**found, "all": time.process_time() - begin}


def measured(tree: Path, task: Path) -> dict[str, float]:
    """The same of a process with the code of a tree."""
    command = [sys.executable, str(HERE / "stages.py"), "--task", str(task)]
    environment = {**os.environ, **ONE_THREAD, "PYTHONPATH": str(tree)}
    done = subprocess.run(command, env=environment, cwd=tree, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, nargs="?")
    parser.add_argument("--docs", type=int, default=5000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--task", help=argparse.SUPPRESS)  # a run in this process
    args = parser.parse_args()
    if args.task:
        print(json.dumps(stages(args.task, output := f"stages-{os.getpid()}")))
        fresh(output)
        return
    this = HERE.resolve().parent
    trees = [args.other.resolve(), this, this, args.other.resolve()] if args.other else [this]
    for task in (four_choices(args.docs) / "four_choices.yaml", one_answer(args.docs), five_examples(args.docs)):
        found: dict[Path, list[dict[str, float]]] = {}
        for tree in trees * args.rounds:
            found.setdefault(tree, []).append(measured(tree, task))
        for stage in (*STAGES.values(), "all"):
            costs = [1e6 * min(run[stage] for run in of_tree) / args.docs for of_tree in found.values()]
            ratio = f", {costs[1] / costs[0]:.2f}" if len(costs) > 1 else ""
            print(
                f"{task.stem} {stage}: {' -> '.join(f'{cost:.1f}' for cost in costs)} us a document{ratio}", flush=True
            )


if __name__ == "__main__":
    main()
