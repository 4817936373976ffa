"""The numbers of a run in a tracker: Weights & Biases, MLflow, Trackio.

options  --wandb_args, --mlflow_args, --trackio_args
part     checks the arguments before the first request, and sends after the last file is written
tracked  what is sent, the same for every tracker
process  runs a tracker's library in a process of its own, so that none of its state is in ours
trackers of their names: one file each, with `check(args)` and `send(tracked, args)`
"""

from collections.abc import Sequence
from typing import Any

OPTIONS = {"trackers": "options"}
RUN_PARTS = {"trackers": "part:TrackersPart"}


def _needed(request: Any, configs: Sequence[Any]) -> bool:
    return request is not None and any(
        getattr(request, f"{name}_args") is not None for name in ("wandb", "mlflow", "trackio")
    )


NEEDED = {"trackers": _needed}
