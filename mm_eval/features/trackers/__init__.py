"""The numbers of a run in a tracker: Weights & Biases, MLflow, Trackio.

part     checks the arguments before the first request, and sends after the last file is written
tracked  what is sent, the same for every tracker
process  runs a tracker's library in a process of its own, so that none of its state is in ours
trackers of their names: one file each, with `check(args)` and `send(tracked, args)`
"""

from collections.abc import Sequence
from typing import Any

from mm_eval.values.features import Option

_EMPTY = {"nargs": "?", "const": ""}
OPTIONS = {
    "trackers": (
        ("run", "score"),
        *(
            Option(name, "K=V,...", what, pairs="typed", more=_EMPTY, rule="MAPPING")
            for name, what in (
                ("wandb_args", "project=...,entity=...: log to Weights & Biases (arguments of wandb.init)"),
                ("mlflow_args", "experiment=...,tracking_uri=...: log to MLflow"),
                ("trackio_args", "project=...,space_id=...: log to Trackio (arguments of trackio.init)"),
            )
        ),
    )
}
RUN_PARTS = {"trackers": "part:TrackersPart"}


def _needed(request: Any, configs: Sequence[Any]) -> bool:
    return request is not None and any(
        getattr(request, f"{name}_args") is not None for name in ("wandb", "mlflow", "trackio")
    )


NEEDED = {"trackers": _needed}
