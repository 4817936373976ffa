"""What evaluating in a training costs: the same training with and without the callback.

    python benchmarks/training.py [--steps 300] [--share 0.02]

tiny-llava is trained on a CPU by transformers' Trainer on made-up texts, by turns with and without `EvalCallback`, twice each. A
first run measures an evaluation and a step; then evaluations are as rare as makes them the stated share of the time. Printed:
whether all losses are equal bit for bit, the share of the time that evaluations took (inside `evaluate`), by how much the
training was slower beyond them, and the memory that came on top. Seconds are CPU seconds of the process, all threads.
"""

from __future__ import annotations

import argparse
import gc
import json
import logging
import tempfile
import time
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from typing import Any

TINY = Path(str(files("mm_eval.assets") / "models" / "tiny-llava"))
TASK = "mme"


def trained(steps: int, folder: Path, callback: Any = None) -> tuple[list[float], float]:
    """The losses of a training and its seconds."""
    import torch
    from transformers import AutoModelForImageTextToText, PrinterCallback, Trainer, TrainingArguments

    class Texts(torch.utils.data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return 256

        def __getitem__(self, number: int) -> dict[str, Any]:
            ids = torch.randint(5, 100, (96,), generator=torch.Generator().manual_seed(number))
            return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids}

    torch.manual_seed(0)
    model = AutoModelForImageTextToText.from_pretrained(TINY, dtype=torch.float32)
    for each in model.modules():
        if hasattr(each, "attention_dropout"):
            each.attention_dropout = 0.1
    arguments = TrainingArguments(
        str(folder), max_steps=steps, per_device_train_batch_size=8, use_cpu=True, report_to="none", logging_steps=1,
        save_strategy="no", disable_tqdm=True, dataloader_pin_memory=False, seed=3,
    )  # fmt: skip
    trainer = Trainer(model, arguments, train_dataset=Texts(), callbacks=[callback] if callback else [])
    trainer.remove_callback(PrinterCallback)
    started = time.process_time()
    trainer.train()
    seconds = time.process_time() - started
    return [entry["loss"] for entry in trainer.state.log_history if "loss" in entry], seconds


def evaluating(every: int, limit: int, folder: Path) -> tuple[Any, list[float]]:
    """The callback, and the seconds of each of its evaluations as they come."""
    from transformers import AutoProcessor

    module: Any = import_module("mm_eval.verbs.training.callback")
    from mm_eval.training import EvalCallback

    spent: list[float] = []
    given = module.evaluate

    def timed(*args: Any, **options: Any) -> Any:
        started = time.process_time()
        try:
            return given(*args, **options)
        finally:
            spent.append(time.process_time() - started)

    module.evaluate = getattr(given, "given", None) or given  # not one timer inside of another
    given = module.evaluate
    timed.given = given  # type: ignore[attr-defined]
    module.evaluate = timed
    processor = AutoProcessor.from_pretrained(TINY)
    options = {"limit": limit, "sample": True, "output_path": folder, "at_end": False}
    return EvalCallback(TASK, processor, every=every, **options), spent


def memory() -> float:
    """MB of this process that are resident now."""
    gc.collect()
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return float("nan")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--share", type=float, default=0.02, help="of the time that evaluations shall take (0.02)")
    parser.add_argument("--rounds", type=int, default=2)
    args = parser.parse_args()
    logging.disable(logging.INFO)
    base = Path(tempfile.mkdtemp(prefix="mm-eval-training-"))
    callback, spent = evaluating(10, 8, base / "probe")
    _, seconds = trained(20, base / "out", callback)  # warms everything up, too
    step, evaluation = (seconds - sum(spent)) / 20, spent[-1]
    every = max(1, min(args.steps, round(evaluation * (1 - args.share) / (args.share * step))))
    print(f"a step takes {step * 1000:.0f} ms, an evaluation of 8 docs {evaluation:.2f} s: one every {every} steps")
    rows = []
    for round_number in range(args.rounds):
        losses, plain = trained(args.steps, base / "out")
        before = memory()
        callback, spent = evaluating(every, 8, base / f"study-{round_number}")
        with_it, seconds = trained(args.steps, base / "out", callback)
        rows.append((plain, seconds, sum(spent), len(spent), with_it == losses, memory() - before))
        took, beyond = sum(spent), seconds - sum(spent) - plain
        print(
            f"round {round_number + 1}: without {plain:.1f} s, with {seconds:.1f} s; {len(spent)} evaluations took {took:.2f} s "
            f"({took / seconds:.1%}); beyond them {beyond / plain:+.1%}; losses equal: {with_it == losses}; "
            f"memory {rows[-1][-1]:+.0f} MB"
        )
    fastest = min(row[0] for row in rows), min(row[1] - row[2] for row in rows)
    result = {
        "slower_beyond_evaluations": fastest[1] / fastest[0] - 1,
        "share_of_evaluations": sum(row[2] for row in rows) / sum(row[1] for row in rows),
        "losses_equal": all(row[4] for row in rows),
        "memory_mb": [round(row[5]) for row in rows],
    }
    print(json.dumps(result))


if __name__ == "__main__":
    main()
