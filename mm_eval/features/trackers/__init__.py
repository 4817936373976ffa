"""The numbers of a run in a tracker: Weights & Biases, MLflow, Trackio.

part     checks the arguments before the first request, and sends after the last file is written
tracked  what is sent, the same for every tracker
process  runs a tracker's library in a process of its own, so that none of its state is in ours
on_NAME  the tracker of that name, with `check(args)` and `send(tracked, args)`
"""

from mm_eval.values.features import Option

TRACKERS = {
    "wandb_args": "project=...,entity=...: log to Weights & Biases (arguments of wandb.init)",
    "mlflow_args": "experiment=...,tracking_uri=...: log to MLflow",
    "trackio_args": "project=...,space_id=...: log to Trackio (arguments of trackio.init)",
}
"""The option of each tracker, and its help. run.json does not have them: an address may hold a password."""
_EMPTY = {"nargs": "?", "const": ""}
OPTIONS = {
    "trackers": (
        ("run", "score"),
        *(
            Option(name, "K=V,...", what, pairs="typed", more=_EMPTY, rule="MAPPING", secret=True)
            for name, what in TRACKERS.items()
        ),
    )
}
