"""Runs lmms-eval under its own Python: `python lmms_eval_run.py SPEC.json OUT.json`."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any


def main(spec: dict[str, Any]) -> dict[str, Any]:
    """What `lmms_eval.evaluator.simple_evaluate` gives. spec: checkpoint, model, tasks, include_path, options."""
    os.environ["DISABLE_MULTIPROC"] = "1"
    from lmms_eval.evaluator import simple_evaluate
    from lmms_eval.tasks import TaskManager

    options = dict(spec["options"])
    model, arguments = options.pop("model"), options.pop("model_args")
    if model == "qwen2_vl":
        _qwen_on_a_cpu()
    found = simple_evaluate(
        model=model, model_args=f"pretrained={spec['checkpoint']},{arguments}", tasks=spec["tasks"], batch_size=1,
        task_manager=TaskManager("ERROR", include_path=spec["include_path"], model_name=model), device="cpu",
        bootstrap_iters=2, log_samples=True, force_simple=True, **options,
    )  # fmt: skip
    return {name: found[name] for name in ("results", "groups", "samples") if name in found}


def _qwen_on_a_cpu() -> None:
    """What lmms-eval's Qwen adapter needs to see the same pixels, in float32, without torchvision.

    Its own path sends each picture as a JPEG of quality 85, and resizes it to multiples of 28 pixels, whatever the checkpoint's
    patches are; those belong to that adapter and not to the tasks. Here the picture goes to the processor as it is.
    """
    import torch
    import transformers

    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
    from lmms_eval.models.simple import qwen2_vl
    from mm_eval.models.hf.arguments import Arguments
    from mm_eval.models.hf.processor import load_processor

    def loaded(pretrained: str, **options: Any) -> Any:
        return load_processor(Path(pretrained), Arguments.read({"pretrained": pretrained, **options}))

    def pictures(conversations: Any) -> tuple[Any, None]:
        parts = [part for messages in conversations for message in messages for part in message["content"]]
        return [part["image"] for part in parts if isinstance(part, dict) and part["type"] == "image"] or None, None

    whole = transformers.Qwen2VLForConditionalGeneration.from_pretrained

    def in_float32(pretrained: str, **options: Any) -> Any:
        return whole(pretrained, **{**options, "torch_dtype": torch.float32})

    qwen2_vl.AutoProcessor = SimpleNamespace(from_pretrained=loaded)  # theirs alone: the loader needs the real one
    qwen2_vl.Qwen2VLForConditionalGeneration.from_pretrained = in_float32
    qwen2_vl.process_vision_info = pictures
    qwen2_vl.Qwen2_VL._encode_image_data_url = lambda self, image: image


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        result = main(json.load(file))
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(result, file, default=lambda value: value.tolist() if hasattr(value, "tolist") else str(value))
