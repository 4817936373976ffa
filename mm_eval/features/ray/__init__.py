"""One model on many machines: workers on Ray, and the fleet that asks them."""

from mm_eval.values.features import Option

_WORKERS = (
    Option(
        "workers",
        "N",
        "workers that load the model (default 1); more machines may join while they answer",
        rule="COUNT_FROM_1",
    ),
    Option(
        "worker_gpus",
        "N",
        "GPUs of a worker, or a share of one (default: 1 if the cluster has GPUs, else 0)",
        rule="NUMBER_FROM_0",
    ),
    Option("worker_cpus", "N", "CPUs of a worker (default 1)", rule="ABOVE_0"),
    Option(
        "worker_timeout",
        "SECONDS",
        "a worker that says nothing for so long while it loads or answers is replaced (default 1800)",
        rule="ABOVE_0",
    ),
    Option(
        "ray_address",
        "ADDRESS",
        "HOST:PORT of a cluster (env RAY_ADDRESS; without either one is started on this machine, for this run)",
    ),
)
OPTIONS = {
    "ray": (
        ("run", "prompts"),
        Option(
            "executor",
            "ray",
            "workers on a cluster of Ray answer, each with the model (default: this process)",
            rule="options:EXECUTOR",
        ),
        *(each._replace(beside="executor", of_launch=True) for each in _WORKERS),
    )
}
