"""Compares mm-eval with lm-eval and lmms-eval, live: the same tasks, data and checkpoints, every number and every answer.

    python tests/peers/compare.py [--quick] [--only RUN,...] [--docs N] [--show N]

The peers live in environments of their own below the scratch folder (MM_EVAL_BENCHMARKS), made from PyPI at the first call.
Data sets and checkpoints are made here, so that no hub is needed. The table has a line a task: how many values are equal,
how many differ on purpose (differences.py says why) and how many differ otherwise. The exit code is 1 if any does, and 2 if a
suite could not be run.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks.peer_environments import LM_EVAL, LMMS_EVAL, SCRATCH, environment  # noqa: E402
from tests.peers import picture_data, recorded, runs, shipped, suites, text_data  # noqa: E402
from tests.peers.differences import DIFFERENCES, Difference, own_rule  # noqa: E402

PEERS = {"lm-eval": LM_EVAL, "lmms-eval": LMMS_EVAL}


@dataclass
class Verdict:
    """What came of one task of one run. meant: by name of the difference."""

    run: str
    task: str
    equal: Counter[str] = field(default_factory=Counter)
    meant: dict[str, list[recorded.Unequal]] = field(default_factory=dict)
    wrong: list[recorded.Unequal] = field(default_factory=list)


def judge(
    run: str, task: str, mine: recorded.Recorded, theirs: recorded.Recorded, more: Sequence[Difference] = ()
) -> Verdict:
    """Every value of a task, divided into equal, different on purpose and different. more: differences of this run."""
    verdict = Verdict(run, task)
    for name, unequal in recorded.compared(mine, theirs):
        if unequal is None:
            verdict.equal[name] += 1
            continue
        why = next((each.name for each in (*DIFFERENCES, *more) if each.explains(run, task, name, unequal.of)), None)
        if why is None:
            verdict.wrong.append(unequal)
        else:
            verdict.meant.setdefault(why, []).append(unequal)
    return verdict


def judge_all(
    run: str,
    mine: dict[str, recorded.Recorded],
    theirs: dict[str, recorded.Recorded],
    more: Sequence[Difference] = (),
) -> list[Verdict]:
    """A verdict for each task and group; one that a suite does not have is different."""
    found = []
    for task in sorted(mine.keys() | theirs.keys()):
        if task in mine and task in theirs:
            found.append(judge(run, task, mine[task], theirs[task], more))
        else:
            found.append(Verdict(run, task, wrong=[recorded.Unequal("loads", task, task in mine, task in theirs)]))
    return found


def compare(run: suites.Run, scratch: Path, reuse: bool = False) -> list[Verdict]:
    """Runs both suites; a verdict for each task and group."""
    python = environment(PEERS[run.peer])
    checkpoint = runs.checkpoint(run, scratch)
    data, out = scratch / f"data-{run.peer}", scratch / "out"
    out.mkdir(exist_ok=True)
    result = out / f"{run.name}-peer.json"
    if not (reuse and result.exists()):
        suites.run_peer(run, python, checkpoint, data, out)
    theirs = recorded.peers(result)
    folder = suites.run_ours(run, python, checkpoint, data, out, run.tasks)
    mine = recorded.ours(folder)
    return judge_all(run.name, mine, theirs)


def shown(verdicts: list[Verdict], examples: int) -> str:
    """The table, the reasons that were used, and examples of what differs otherwise."""
    lines = [f"{'run':16} {'task':42} {'equal':>7} {'on purpose':>11} {'different':>10}"]
    for each in verdicts:
        meant = sum(map(len, each.meant.values()))
        names = ", ".join(each.meant)
        row = f"{each.run:16} {each.task:42} {each.equal.total():7} {meant:11} {len(each.wrong):10}  {names}"
        lines.append(row.rstrip())
    used = {name for each in verdicts for name in each.meant}
    lines += ["", "On purpose:"] + [
        f"- {each.name}: {each.reason}" for each in (*DIFFERENCES, own_rule(())) if each.name in used
    ]
    for each in verdicts:
        lines += [f"{each.run} {each.task}: {unequal}" for unequal in each.wrong[:examples]]
    return "\n".join(lines)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help=f"few docs, and only the runs {', '.join(runs.QUICK)}")
    parser.add_argument("--only", default="", metavar="RUN,...", help="these runs: " + ", ".join(runs.PEER_OF))
    parser.add_argument("--tasks", default="", metavar="TASK,...", help="of the shipped runs only these tasks of ours")
    parser.add_argument("--docs", type=int, metavar="N", help="docs a split (12; 6 with --quick)")
    parser.add_argument("--show", type=int, default=3, metavar="N", help="differences to print a task (3)")
    parser.add_argument("--reuse", action="store_true", help="take the peer's results of the last call")
    args = parser.parse_args()
    docs = args.docs or (6 if args.quick else 12)
    scratch = SCRATCH / f"peer-comparison-{docs}"
    names = args.only.split(",") if args.only else runs.QUICK if args.quick else list(runs.PEER_OF)
    if unknown := [name for name in names if name not in runs.PEER_OF]:
        parser.error(f"unknown run {unknown[0]!r}; the runs are {', '.join(runs.PEER_OF)}")
    for home in (scratch / "out").glob("home-*"):  # `datasets` would go by the name of a folder that was written again
        shutil.rmtree(home)
    text_data.write_data(scratch / "data-lm-eval", docs)
    picture_data.write_data(scratch / "data-lmms-eval", docs)
    verdicts, failed, notes = [], [], []
    for name in (name for name in names if name in runs.SHIPPED):
        peer = runs.SHIPPED[name]
        try:
            only = args.tasks.split(",") if args.tasks else ()
            report = shipped.compare(peer, environment(PEERS[peer]), scratch, args.quick, args.reuse, only)
        except suites.Failed as error:
            failed.append(f"{name}: {error}")
            continue
        verdicts += judge_all(name, report.mine, report.theirs, [own_rule(report.with_variant)])
        notes += [f"{name}: {line}" for line in report.notes()]
    for run in runs.chosen(scratch, names):
        try:
            verdicts += compare(run, scratch, args.reuse)
        except suites.Failed as error:
            failed.append(f"{run.name}: {error}")
    print(shown(verdicts, args.show))
    print(*notes, sep="\n")
    print(*failed, sep="\n\n")
    wrong = sum(bool(each.wrong) for each in verdicts)
    print(f"{len(verdicts)} tasks and groups; {wrong} differ otherwise; {len(failed)} runs failed")
    return 2 if failed else int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())
