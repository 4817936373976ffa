"""The exports of `mm-eval report --format NAME`: a run, the folder of all, its name there, and whether it is the only one."""

from __future__ import annotations

from pathlib import Path

from mm_eval.cli.say import complain_briefly
from mm_eval.results.recorded import RecordedRun
from mm_eval.values.files import write_atomic
from mm_eval.verbs.exports import harness, hub
from mm_eval.verbs.exports.inspect import write_inspect


def inspect(run: RecordedRun, folder: Path, name: str, alone: bool) -> list[Path]:
    """Logs of inspect_ai, in a folder for each run where there are several."""
    return write_inspect(run, folder if alone else folder / name)


def lm_eval(run: RecordedRun, folder: Path, name: str, alone: bool) -> list[Path]:
    """The files of lm-evaluation-harness."""
    return harness.write_harness(run, folder, "lm_eval")


def lmms_eval(run: RecordedRun, folder: Path, name: str, alone: bool) -> list[Path]:
    """The files of lmms-eval."""
    return harness.write_harness(run, folder, "lmms_eval")


def eval_results(run: RecordedRun, folder: Path, name: str, alone: bool) -> list[Path]:
    """The YAML file of a model's repository on the hub."""
    import yaml

    for task in run.spec["tasks"]:
        if flaws := hub.flaws_of(run, task):
            said = f"warning: {name}: {task} is of {', '.join(flaws)}. It is not a benchmark result, and its notes say so. Do not"
            complain_briefly(f"{said} publish it")
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.yaml"
    write_atomic(path, yaml.safe_dump(hub.eval_results(run), sort_keys=False), durable=False)
    return [path]


FORMATS = {"inspect": inspect, "lm_eval": lm_eval, "lmms_eval": lmms_eval, "eval_results": eval_results}
"""The formats of other tools by the name of `--format`."""
