"""A training of the bundled tiny-llava on texts of its own, deterministic on a CPU."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path
from typing import Any

import torch
from mm_eval.models.hf.arguments import Arguments
from mm_eval.models.hf.processor import load_processor

FOLDER = Path(str(files("mm_eval.assets") / "models" / "tiny-llava"))
EVALUATED = {"limit": 3, "sample": True}


def model() -> Any:
    """tiny-llava in float32 with some dropout, so that a changed random stream shows in the loss."""
    from transformers import AutoModelForImageTextToText

    found = AutoModelForImageTextToText.from_pretrained(FOLDER, dtype=torch.float32)
    found.config.text_config.attention_dropout = 0.1
    for each in found.modules():
        if hasattr(each, "attention_dropout"):
            each.attention_dropout = 0.1
    return found


def processor() -> Any:
    return load_processor(FOLDER, Arguments.read({"pretrained": str(FOLDER)}))


class Texts(torch.utils.data.Dataset):  # type: ignore[type-arg]
    """Seeded random tokens."""

    def __len__(self) -> int:
        return 64

    def __getitem__(self, number: int) -> dict[str, Any]:
        ids = torch.randint(5, 100, (12,), generator=torch.Generator().manual_seed(number))
        return {"input_ids": ids, "attention_mask": torch.ones_like(ids), "labels": ids}


def trainer(folder: Path, *callbacks: Any, steps: int = 4, save: int = 2, **more: Any) -> Any:
    """A real Trainer."""
    from transformers import Trainer, TrainingArguments

    arguments = TrainingArguments(
        str(folder),
        **{
            "max_steps": steps, "save_steps": save, "save_strategy": "steps", "per_device_train_batch_size": 2,
            "learning_rate": 1e-4, "use_cpu": True, "report_to": "none", "logging_steps": 1, "disable_tqdm": True,
            "dataloader_pin_memory": False, "seed": 3, **more,
        },
    )  # fmt: skip

    class Resuming(Trainer):  # type: ignore[misc]
        """The Trainer of transformers 5.23 does not rename the weights of a LLaVA checkpoint when it resumes."""

        def _load_from_checkpoint(self, checkpoint: str, model: Any = None) -> None:
            saved = type(self.model).from_pretrained(checkpoint, dtype=torch.float32)
            self.model.load_state_dict(saved.state_dict())

    torch.manual_seed(0)
    return Resuming(model(), arguments, train_dataset=Texts(), callbacks=list(callbacks))


def losses(made: Any) -> list[float]:
    return [entry["loss"] for entry in made.state.log_history if "loss" in entry]
