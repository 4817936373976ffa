"""What a worker sees: requests and pixels, and no file of the data or of the run."""

from collections.abc import Callable
from typing import Any


def test_workers_open_no_file_of_data_or_run_and_get_the_drivers_pixels(start: Callable[..., Any]) -> None:
    run = start("--tasks", "mme,seedbench", "--limit", "50", watch=1)
    run.end()
    assert len(run.noted("ask")) == 100
    assert {what for _, what in run.noted("pixels")} == {"same"} and len(run.noted("pixels")) == 100
    opened = {what for _, what in run.noted("open")}
    assert not [path for path in opened if "assets/data" in path or str(run.folder) in path]


def test_a_cluster_of_this_machine_is_started_and_ended_where_none_is_named(start: Callable[..., Any]) -> None:
    run = start("--tasks", "mme", "--executor", "ray", "--worker_cpus", "0.5", workers=0)
    run.end()
    assert run.results["results"]["mme"]["n"] == 420


def test_without_a_cluster_at_the_address_the_command_ends_with_a_sentence(start: Callable[..., Any]) -> None:
    run = start("--tasks", "mme", "--executor", "ray", "--ray_address", "127.0.0.1:1", workers=0)
    assert "no cluster of Ray can be used at 127.0.0.1:1" in run.end(2)
