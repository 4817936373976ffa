"""MLflow: `pip install mm-eval[mlflow]`. Runs in the process of a tracker; uses the client, which has no state of its own."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping
from typing import Any

from mm_eval.trackers.arguments import check_names
from mm_eval.trackers.tracked import Tracked
from mm_eval.values.errors import ConfigError

NAMES = ("tracking_uri", "experiment", "experiment_name", "run_name", "tags")
MOST_METRICS, MOST_PARAMS, LONGEST_PARAM = 1000, 100, 500
"""What one call of its server takes."""
KEY = "mm_eval.run"
LOCAL = ("sqlite:", "file:", "/", ".")


def check(args: Mapping[str, object]) -> None:
    """ConfigError for an unknown argument."""
    from mlflow import MlflowClient  # noqa: F401  # that it can be imported

    check_names(args, NAMES)
    if "experiment" in args and "experiment_name" in args:
        raise ConfigError("experiment and experiment_name are one argument.", hint="Give one of them.")


def send(tracked: Tracked, args: Mapping[str, Any]) -> str:
    """Logs numbers, table and page to the run of this folder. Returns where it is."""
    from mlflow import MlflowClient
    from mlflow.entities import Metric, Param

    client = MlflowClient(args.get("tracking_uri"))
    uri = client.tracking_uri
    if tracked.offline and not uri.startswith(LOCAL):
        raise ConfigError(f"--offline, and {uri!r} is a server.", hint="tracking_uri=sqlite:///mlflow.db is a file.")
    experiment = str(args.get("experiment") or args.get("experiment_name") or "mm-eval")
    known = client.get_experiment_by_name(experiment)
    experiment_id = known.experiment_id if known else client.create_experiment(experiment)
    earlier = client.search_runs([experiment_id], f"tags.`{KEY}` = '{tracked.key}'", max_results=1)
    tags = {**{str(name): str(value) for name, value in dict(args.get("tags") or {}).items()}, KEY: tracked.key}
    run = (
        earlier[0]
        if earlier
        else client.create_run(experiment_id, run_name=str(args.get("run_name") or tracked.name), tags=tags)
    )
    run_id, now = run.info.run_id, int(time.time() * 1000)
    metrics = [Metric(name, value, now, 0) for name, value in with_allowed_names(tracked.numbers).items()]
    for begin in range(0, len(metrics), MOST_METRICS):
        client.log_batch(run_id, metrics=metrics[begin : begin + MOST_METRICS])
    params = [Param(name, value) for name, value in flat(tracked.config) if name not in run.data.params]
    client.log_batch(run_id, params=params[:MOST_PARAMS])
    client.log_text(run_id, "\n".join(csv_lines(tracked)) + "\n", "results.csv")
    for path in filter(None, (tracked.results, tracked.page)):
        client.log_artifact(run_id, path)
    client.set_terminated(run_id)
    return f"mlflow: run {run_id} of {experiment!r} at {without_password(uri)}"


def with_allowed_names(numbers: Mapping[str, float]) -> dict[str, float]:
    """Numbers under names of the characters that MLflow takes; two that would become one are numbered."""
    found: dict[str, float] = {}
    for name, value in numbers.items():
        allowed = re.sub(r"[^\w\-. /:]", "_", name, flags=re.ASCII)
        place, unique = 1, allowed
        while unique in found:
            place, unique = place + 1, f"{allowed}_{place + 1}"
        found[unique] = value
    return found


def flat(config: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """(name, text) of each parameter, those of a mapping by their path."""
    for name, value in config.items():
        if isinstance(value, Mapping):
            yield from ((f"{name}.{inner}", text) for inner, text in flat(value))
        else:
            yield re.sub(r"[^\w\-. /:]", "_", str(name), flags=re.ASCII), str(value)[:LONGEST_PARAM]


def csv_lines(tracked: Tracked) -> Iterator[str]:
    """The table as lines of CSV."""
    import csv
    import io

    for row in (tracked.columns, *tracked.rows):
        line = io.StringIO()
        csv.writer(line, lineterminator="").writerow(["" if value is None else value for value in row])
        yield line.getvalue()


def without_password(uri: str) -> str:
    """An address without the user and password in it."""
    return re.sub(r"//[^/@]*@", "//", uri)
