"""`--executor ray`: the model of a run as a fleet of workers, and one cluster for several runs."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from mm_eval.engine.model import Model
from mm_eval.ray.fleet import Fleet
from mm_eval.ray.worker import Cluster
from mm_eval.request import RunRequest

WORKERS, CPUS, TIMEOUT = 1, 1, 1800


def fleet_of(model: Model, request: RunRequest) -> Model:
    """The model on workers, as the request states them. Starts nothing."""

    def join(make: Callable[[], Model]) -> Cluster:
        from mm_eval.ray.process import RayCluster

        return RayCluster(make, request.ray.address, request.ray.cpus or CPUS, request.ray.gpus)

    return Fleet(model, join, request.ray.workers or WORKERS, request.ray.timeout or TIMEOUT)


@contextmanager
def on_one_cluster(requests: Mapping[str, RunRequest]) -> Iterator[Mapping[str, RunRequest]]:
    """The same runs with the address of a cluster that all of them share, started here for those that state none."""
    without = [
        name for name, request in requests.items() if request.ray.executor == "ray" and request.ray.address is None
    ]
    if not without or os.environ.get("RAY_ADDRESS"):
        yield requests
        return
    from mm_eval.ray.process import local_cluster

    with local_cluster() as address:
        placed = {
            name: replace(each, ray=replace(each.ray, address=address))
            for name, each in requests.items()
            if name in without
        }
        yield {**requests, **placed}
