"""Runs lm-eval under its own Python: `python lm_eval_run.py SPEC.json OUT.json`.

A task that it can't load is listed under "refused" and ends nothing.
"""

from __future__ import annotations

import json
import os
import sys
from typing import Any


def main(spec: dict[str, Any]) -> dict[str, Any]:
    """What `lm_eval.simple_evaluate` gives. spec: checkpoint, tasks, include_path, options of simple_evaluate."""
    os.environ["DISABLE_MULTIPROC"] = "1"  # a pool of processes for two draws of a bootstrap that nothing reads
    import lm_eval
    from lm_eval.tasks import TaskManager

    manager, loaded, refused = TaskManager(include_path=spec["include_path"]), [], {}
    for name in spec["tasks"]:
        try:
            manager.load([name])
            loaded.append(name)
        except Exception as error:  # of the task's own code, or of the package
            refused[name] = f"{type(error).__name__}: {error}"
    found = lm_eval.simple_evaluate(
        model="hf", model_args={"pretrained": spec["checkpoint"], "dtype": "float32"}, tasks=loaded,
        task_manager=manager, batch_size=4, device="cpu",
        bootstrap_iters=2, log_samples=True, **spec["options"],
    )  # fmt: skip
    parts = {name: found[name] for name in ("results", "groups", "samples") if name in found}
    return {**parts, "refused": refused}


if __name__ == "__main__":
    with open(sys.argv[1], encoding="utf-8") as file:
        result = main(json.load(file))
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(result, file, default=lambda value: value.tolist() if hasattr(value, "tolist") else str(value))
