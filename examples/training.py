"""Trains the bundled tiny-llava for a few steps on made-up texts, and evaluates it every two of them.

python examples/training.py runs/example
"""

import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForImageTextToText, AutoProcessor, Trainer, TrainingArguments

from mm_eval.training import EvalCallback


class Texts(torch.utils.data.Dataset):  # type: ignore[type-arg]
    """Random tokens: a training needs something to learn."""

    def __len__(self) -> int:
        return 16

    def __getitem__(self, number: int) -> dict[str, Any]:
        ids = torch.randint(5, 100, (12,), generator=torch.Generator().manual_seed(number))
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids}


def main(folder: Path) -> None:
    """Writes checkpoints and evaluations below the folder, and prints the number of each step."""
    checkpoint = str(files("mm_eval.assets") / "models" / "tiny-llava")
    model = AutoModelForImageTextToText.from_pretrained(checkpoint, dtype=torch.float32)
    processor = AutoProcessor.from_pretrained(checkpoint)
    evaluations = EvalCallback("mme", processor, every=2, limit=4, sample=True, output_path=folder / "evaluations")
    arguments = TrainingArguments(
        str(folder / "checkpoints"), max_steps=4, per_device_train_batch_size=2, use_cpu=True, report_to="none"
    )
    Trainer(model, arguments, train_dataset=Texts(), callbacks=[evaluations]).train()
    for step, results in evaluations.results.items():
        number = results["mme"]["mme_perception_score"]
        print(f"step {step}: {number.value:.1f}, 95% interval {number.interval}")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
