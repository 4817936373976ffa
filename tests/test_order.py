"""What has no written order is shuffled: directory listings, sets and the hashes of texts. The bytes of runs stay.

The order of a run's parts was once the alphabet of folder names, and no test noticed. A child process is shuffled from its
first import on, and so are the processes that it starts.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.baselines.runs import RUNS
from tests.baselines.test_bytes import EXPECTED

ROOT = Path(__file__).parent.parent
SHUFFLING = '''
import os, random

shuffled = random.Random(int(os.environ["PYTHONHASHSEED"]))
listdir, scandir = os.listdir, os.scandir


class Entries:
    """What os.scandir returns: an iterator that is a context as well."""

    def __init__(self, path="."):
        with scandir(path) as entries:
            found = list(entries)
        shuffled.shuffle(found)
        self.found = iter(found)

    def __iter__(self):
        return self

    def __next__(self):
        return next(self.found)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        pass

    def close(self):
        pass


def in_any_order(path="."):
    names = listdir(path)
    shuffled.shuffle(names)
    return names


os.listdir, os.scandir = in_any_order, Entries
'''
CHILD = """
import contextlib, json, os, sys
from pathlib import Path

from tests.baselines.runs import RUNS, TASKS, run

listings = {tuple(os.listdir(TASKS)) for _ in range(20)}
assert len(listings) > 1, "nothing is shuffled here"


def protocol(folder):
    words = ("--protocol", "llava-1.5", "--model", "dummy", "--sample", "--tasks", "mme,pope,mmvet", "--limit", 6)
    with contextlib.chdir(TASKS):
        judge = ("--judge", "replay", "--judge_args", "path=mmvet_replies.jsonl", "--judge_preflight", "false")
        return run(folder.resolve(), *words, *judge)


folder = Path(sys.argv[1])
with contextlib.redirect_stdout(sys.stderr):
    found = {name: {**RUNS, "protocol": protocol}[name](folder / name) for name in sys.argv[2:]}
print(json.dumps(found))
"""


def shuffled(folder: Path, seed: int, *names: str) -> dict[str, dict[str, str]]:
    """The digests of these runs, made in a process of which each directory is listed in another order every time."""
    (folder / "first").mkdir(parents=True)
    (folder / "first" / "sitecustomize.py").write_text(SHUFFLING)
    path = os.pathsep.join(filter(None, [str(folder / "first"), str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONHASHSEED": str(seed), "PYTHONPATH": path}
    command = [sys.executable, "-c", CHILD, str(folder / "runs"), *names]
    ran = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr[-3000:]
    found: dict[str, dict[str, str]] = json.loads(ran.stdout)
    return found


def test_no_byte_of_a_run_and_no_verdict_depends_on_an_order_that_nobody_wrote(tmp_path: Path) -> None:
    one = shuffled(tmp_path / "1", 1, "overrides", "protocol")
    other = shuffled(tmp_path / "2", 2, "protocol")
    assert one["protocol"] == other["protocol"]
    assert one["overrides"] == EXPECTED["overrides"]


@pytest.mark.full
@pytest.mark.parametrize("seed", [3, 4, 5])
def test_all_recorded_runs_have_their_bytes_in_any_order(seed: int, tmp_path: Path) -> None:
    names = [name for name in RUNS if name != "ray"]
    found = shuffled(tmp_path, seed, *names)
    differing = {
        name: sorted(
            file for file in {*found[name], *EXPECTED[name]} if found[name].get(file) != EXPECTED[name].get(file)
        )
        for name in names
    }
    assert {name: files for name, files in differing.items() if files} == {}
