"""The exports of `mm-eval export --format NAME`: a run, the folder of all, its name there, and whether it is the only one."""

from __future__ import annotations

from pathlib import Path

from mm_eval.cli.say import complain_briefly
from mm_eval.results.recorded import RecordedRun
from mm_eval.values.files import write_atomic
from mm_eval.values.words import listed
from mm_eval.verbs.exports import harness, hub
from mm_eval.verbs.exports.every_eval_ever import write_record
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


def eval_results(run: RecordedRun, folder: Path, name: str, source: str | None = None) -> list[Path]:
    """The YAML file of a model's repository on the hub, `.eval_results/NAME.yaml`; none without a registered benchmark.

    source: the address of a page that shows the run, which the hub links.
    """
    import yaml

    if others := hub.not_registered(run):
        what = f"not a benchmark that the hub lists, as far as was read on {hub.READ_ON}: {listed(others, 6)}"
        complain_briefly(f"note: {name}: {what}; left out")
    entries = hub.eval_results(run, source)
    for row in run.results.rows:
        if (fixed := run.results.fixed_golds(row)) and row not in others:
            complain_briefly(f"warning: {name}: {row} is left out: {fixed}, and the hub ranks it with others")
    for task in run.spec["tasks"]:
        if (flaws := hub.flaws_of(run, task)) and task not in others:
            said = f"warning: {name}: {task} is of {', '.join(flaws)}. It is not a benchmark result, and its notes say so. Do not"
            complain_briefly(f"{said} publish it")
    if not entries:
        return []
    path = folder / ".eval_results" / f"{name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, yaml.safe_dump(entries, sort_keys=False), durable=False)
    return [path]


def every_eval_ever(run: RecordedRun, folder: Path, organization: str | None, relationship: str | None) -> list[Path]:
    """The record of Every Eval Ever. Numbers that are no benchmark results say so, and a warning does."""
    flaws = {task: found for task in run.spec["tasks"] if (found := hub.flaws_of(run, task))}
    for task, found in flaws.items():
        said = f"warning: {task} is of {', '.join(found)}. It is not a benchmark result, and the record says so. Do not"
        complain_briefly(f"{said} publish it")
    return [write_record(run, folder, organization, relationship)]


FORMATS = {"inspect": inspect, "lm_eval": lm_eval, "lmms_eval": lmms_eval}
"""The formats of other suites by the name of `--format`."""
OF_THE_HUB = ("hub", "eval_results")
"""The names of the hub's format."""
OF_THE_STORE = "every_eval_ever"
EXPORTS = (*FORMATS, *OF_THE_HUB, OF_THE_STORE)
