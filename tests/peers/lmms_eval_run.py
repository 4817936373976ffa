"""Runs lmms-eval under its own Python: `python lmms_eval_run.py SPEC.json OUT.json`."""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def main(spec: dict[str, Any]) -> dict[str, Any]:
    """What `lmms_eval.evaluator.simple_evaluate` gives. spec: checkpoint, model, tasks, include_path, options."""
    os.environ["DISABLE_MULTIPROC"] = "1"
    from lmms_eval.evaluator import simple_evaluate
    from lmms_eval.tasks import TaskManager

    options = dict(spec["options"])
    model, arguments = options.pop("model"), options.pop("model_args")
    if model == "qwen2_vl":
        _without_torchvision()
    found = simple_evaluate(
        model=model, model_args=f"pretrained={spec['checkpoint']},{arguments}", tasks=spec["tasks"], batch_size=1,
        task_manager=TaskManager("ERROR", include_path=spec["include_path"], model_name=model), device="cpu",
        bootstrap_iters=2, log_samples=True, force_simple=True, **options,
    )  # fmt: skip
    return {name: found[name] for name in ("results", "groups", "samples") if name in found}


def _without_torchvision() -> None:
    """Qwen's processor loads a video processor, which needs torchvision; the pictures' own part does not."""
    import transformers

    sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", ".."))
    from mm_eval.models.hf_processor import load_processor

    transformers.AutoProcessor.from_pretrained = load_processor


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        result = main(json.load(file))
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(result, file, default=lambda value: value.item() if hasattr(value, "item") else str(value))
