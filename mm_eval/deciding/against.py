"""A run that stops when it is decided against a finished one: a new checkpoint against the best one so far.

    evaluate(against(request, Path("runs/sft/step-00000500")))

What the finished run is worth after each look is scored from its journal, so its model is not needed. Only the new run asks.
"""

from __future__ import annotations

from pathlib import Path

from mm_eval.deciding.live import LiveRun
from mm_eval.deciding.looks import Schedule, score_docs, write_look
from mm_eval.engine.folder import RunFolder
from mm_eval.engine.journal import read_journal
from mm_eval.request import RunRequest
from mm_eval.values.files import write_atomic

REFERENCE = "lockstep"


def against(request: RunRequest, finished: Path) -> RunRequest:
    """The request, linked with the looks of a finished run of the same docs. They are written beside the two run folders.

    Errors: ConfigError where the data of the finished run is not at hand, or is not what it was.
    """
    run = LiveRun.read(str(finished), request.include_path)
    schedule = Schedule.of(run.opened, int(request.deciding.looks), request.seed)
    state = read_journal(finished, run.opened.conversations)
    place = Path(str(request.output_path)).parent / REFERENCE / finished.name
    place.mkdir(parents=True, exist_ok=True)
    leaves = {leaf.task: leaf for unit in run.units for leaf in unit.leaves}
    for look in range(schedule.count):
        values = {
            name: score_docs(run.opened, name, sorted(docs), state.lookup, leaf.key_of)
            for name, leaf in leaves.items()
            if (docs := schedule.looks[name][look])
        }
        write_look(RunFolder(place), look + 1, schedule.digest, values)
    over = place / "over"
    write_atomic(over, "", durable=False)
    own = Path(str(request.output_path))
    linked = {
        "folders": {finished.name: str(place), own.name: str(own)},
        "over": {finished.name: str(over), own.name: str(own.parent / REFERENCE / f"{own.name}.over")},
        "pairs": [[finished.name, own.name]],
        "seed": request.seed,
        "together": True,
        "name": own.name,
    }
    return request.with_options(linked=linked)
