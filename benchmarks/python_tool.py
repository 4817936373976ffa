"""What the tool python costs: CPU of a call and of a start, and memory of many interpreters.

    python benchmarks/python_tool.py [--calls 40] [--starts 8] [--held 64] [--repetitions 5] [--wall] [--inspect PYTHON]

It needs bubblewrap (or --sandbox podman:IMAGE). --inspect is the Python of an environment with inspect_ai, numpy and pillow: its
python() in its local sandbox is measured beside it. CPU is that of this process, of those that have ended below it, and of those
that run below it, for a number of calls in a row, which is made --repetitions times: the median, the lowest and the highest. All
have one thread (OMP_NUM_THREADS=1). --wall prints milliseconds on the clock as well, which other work on the machine makes worse.
Memory is the proportional set size of all processes below this one, so that pages which interpreters share count once.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from functools import partial
from pathlib import Path

CODES = {
    "1 + 1": "1 + 1",
    "numpy, 1000 x 1000": "import numpy as np\nfloat(np.ones((1000, 1000)).sum())",
    "a picture is opened": "from PIL import Image\nImage.open('image_01.png').getpixel((9, 9))",
    "a crop is returned": "from PIL import Image\nImage.open('image_01.png').crop((0, 0, 320, 240))",
}
PRINTED = {
    name: "\n".join([*code.splitlines()[:-1], f"print({code.splitlines()[-1]})"]) for name, code in CODES.items()
}
"""The same for inspect_ai, whose python() returns what is printed, and no picture."""
TICK = os.sysconf("SC_CLK_TCK")


def below() -> set[int]:
    """The processes below this one."""
    parents: dict[int, int] = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, ValueError, IndexError):
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    found, grown = {os.getpid()}, True
    while grown:
        more = {pid for pid, parent in parents.items() if parent in found} - found
        grown = bool(more)
        found |= more
    return found - {os.getpid()}


def cpu() -> float:
    """CPU seconds of this process and of all below it."""
    ended = resource.getrusage(resource.RUSAGE_CHILDREN)
    total = time.process_time() + ended.ru_utime + ended.ru_stime
    for pid in below():
        with suppress(OSError, ValueError, IndexError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[11:15])) / TICK
    return total


def memory() -> float:
    """MiB of all processes below this one."""
    total = 0
    for pid in below():
        with suppress(OSError, ValueError):
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
            total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


def spread(values: Sequence[float]) -> str:
    return f"{statistics.median(values):.1f} ({min(values):.1f} to {max(values):.1f}, n={len(values)})"


def measured(run: Callable[[], None], count: int, repetitions: int, wall: bool) -> str:
    """Milliseconds of CPU of one of `count` calls, and those on the clock if they are wanted."""
    cpus, walls = list[float](), list[float]()
    run()
    for _ in range(repetitions):
        before, began = cpu(), time.perf_counter()
        for _ in range(count):
            run()
        walls.append(1000 * (time.perf_counter() - began) / count)
        cpus.append(1000 * (cpu() - before) / count)
    return spread(cpus) + (f"; {spread(walls)} on the clock" if wall else "")


def picture() -> bytes:
    import io

    from PIL import Image

    file = io.BytesIO()
    Image.new("RGB", (640, 480), "red").save(file, "PNG")
    return file.getvalue()


def ours(options: argparse.Namespace) -> dict[str, str]:
    from mm_eval.sandbox.interpreter import Asked, Interpreter
    from mm_eval.sandbox.limits import Limits
    from mm_eval.sandbox.pool import Pool
    from mm_eval.sandbox.walls import sandbox_of

    def call(interpreter: Interpreter, code: str) -> None:
        found = interpreter.run(Asked(code, 60, 20_000, 4, 2048, 2))
        if found.ending != "ok":
            raise SystemExit(f"the code failed: {found}")

    sandbox, found = sandbox_of(options.sandbox, Limits(), say=print), {}
    with closing(Pool(sandbox, 0)) as pool:
        starts = list[float]()
        for _ in range(options.starts):
            before = cpu()
            interpreter = pool.take()
            starts.append(cpu() - before)
        found["an interpreter is started, CPU s"] = spread(starts)
        interpreter.put([("image_01.png", picture())])
        for name, code in CODES.items():
            run = partial(call, interpreter, code)
            found[name] = measured(run, options.calls, options.repetitions, options.wall)
    with closing(Pool(sandbox, options.held - 1)) as pool:
        began = time.perf_counter()
        held = [pool.take() for _ in range(options.held)]
        seconds = time.perf_counter() - began
        found[f"memory of {options.held}, MiB"] = f"{memory():,.0f}"
        if options.wall:
            found["started a second, on the clock"] = f"{options.held / seconds:.2f}"
        del held
    return found


INSPECT = """
import sys
sys.path.insert(0, {folder!r})
import base64, json
from python_tool import PRINTED, measured, picture, cpu
import inspect_ai
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.solver import solver
from inspect_ai.tool import python
from inspect_ai.util import sandbox
import asyncio, os, numpy, statistics, time

# the sandbox's python3 is that of a login shell, which has no packages
PACKAGES = f"import sys; sys.path.append({{os.path.dirname(os.path.dirname(numpy.__file__))!r}})\\n"
found = {{}}

@solver
def calls():
    async def solve(state, generate):
        tool = python(timeout=60)
        await sandbox().write_file("image_01.png", picture())
        for name, code in PRINTED.items():
            code = PACKAGES + code
            result = await tool(code=code)
            assert "Error" not in str(result), result
            cpus, walls = [], []
            for _ in range({repetitions}):
                before, began = cpu(), time.perf_counter()
                for _ in range({calls}):
                    await tool(code=code)
                cpus.append(1000 * (cpu() - before) / {calls})
                walls.append(1000 * (time.perf_counter() - began) / {calls})
            found[name] = [cpus, walls]
        return state
    return solve

task = Task(dataset=[Sample(input="a", target="b")], solver=calls(), sandbox="local")
logs = eval(task, model="mockllm/model", display="none", log_dir={logs!r})
assert logs[0].status == "success", logs[0].error
print(json.dumps([inspect_ai.__version__, found]))
"""


def theirs(options: argparse.Namespace) -> tuple[str, dict[str, str]]:
    """inspect_ai's version and its numbers: each call starts a Python of its own, so nothing is held."""
    import tempfile

    with tempfile.TemporaryDirectory() as logs:
        code = INSPECT.format(
            folder=str(Path(__file__).parent), repetitions=options.repetitions, calls=options.calls, logs=logs
        )
        path = f"{Path(options.inspect).parent}:{os.environ['PATH']}"
        done = subprocess.run(
            [options.inspect, "-c", code], capture_output=True, text=True, env={**os.environ, "PATH": path}, cwd=logs
        )
    if done.returncode:
        raise SystemExit(done.stderr[-2000:])
    version, found = json.loads(done.stdout.strip().splitlines()[-1])
    said = {
        name: spread(cpus) + (f"; {spread(walls)} on the clock" if options.wall else "")
        for name, (cpus, walls) in found.items()
    }
    return version, {**said, "a crop is returned": "returns no picture"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=40)
    parser.add_argument("--starts", type=int, default=8)
    parser.add_argument("--held", type=int, default=64)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--sandbox", default="bwrap")
    parser.add_argument("--wall", action="store_true", help="milliseconds on the clock as well")
    parser.add_argument("--inspect", metavar="PYTHON", help="the Python of an environment with inspect_ai")
    options = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    version, beside = theirs(options) if options.inspect else ("", dict[str, str]())
    found = ours(options)
    print(f"CPU ms a call,mm-eval in {options.sandbox}" + (f",inspect_ai {version} local" if version else ""))
    for name, said in found.items():
        print(f'{name},"{said}"' + (f',"{beside.get(name, "none is held")}"' if version else ""))


if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1]))
    main()
