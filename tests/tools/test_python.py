"""The tool python in a run: what the model is told, what is recorded, and what a run that goes on does."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from mm_eval import evaluate
from mm_eval.engine.journal import read_journal
from mm_eval.engine.tool_records import ToolRecord
from mm_eval.results.findings import diagnose
from mm_eval.results.page import SampleRows
from mm_eval.results.recorded import RecordedRun
from mm_eval.sandbox.check import Wall
from mm_eval.sandbox.limits import Limits
from mm_eval.tools.calls import ENDED, RAISED, STOPPED, counts_of
from mm_eval.tools.python import PYTHON_TOOL, described, file_names, png_of, seconds_of
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Answer, Clip, Slot
from tests.conftest import Ran
from tests.folders import write_task
from tests.sandbox.there import sandbox
from tests.tools.scripted import Scripted, Way, call, rows_of, run, way

TASK = """task: counts
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: q
doc_to_target: a
doc_to_visual: !function utils.visual
tools: {use: [python, zoom]}
metric_list: [{metric: exact_match}]
"""
UTILS = """
from PIL import Image


def visual(doc):
    picture = Image.new("RGB", (60, 40), "white")
    picture.paste("red", (0, 0, 3 + doc["n"], 5))
    return [picture]
"""
COUNT = """from PIL import Image
picture = Image.open('image_01.png')
red = sum(pixel == (255, 0, 0) for pixel in picture.getdata())
print(red)"""


def code(text: str) -> str:
    return call("python", code=text)


def write(folder: Path, docs: int = 1, task: str = TASK) -> str:
    rows = [{"n": n, "q": "How many red pixels are there?", "a": str(5 * (3 + n))} for n in range(docs)]
    return write_task(folder, "counts", task, UTILS, rows)


class Counting(Scripted):
    """Counts by code, and answers with what the code printed."""

    def __init__(self, first: str = COUNT) -> None:
        super().__init__([Way((code(first), code("red"), "?"), {})] * 20)

    def generate(self, instances: Any) -> Any:
        for instance, answer in super().generate(instances):
            if answer.output == "?":
                shown = self.prompts[instance.doc_id, instance.turn].rstrip().splitlines()
                answer = answer.having(
                    output=next(line for line in reversed(shown) if line.strip().isdecimal()).strip()
                )
            yield instance, answer


def test_a_model_counts_by_code_and_all_of_it_is_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox()
    monkeypatch.setattr("mm_eval.sandbox.check.refuse_if_open", lambda sandbox: None)  # a start of its own
    model = Counting()
    results = run(write(tmp_path / "task", 1), tmp_path / "run", model)
    (row,) = rows_of(tmp_path / "run", "counts")
    assert results.exit_code == 0 and row["scores"]["exact_match,none"] == 1.0, row
    assert row["tools"]["by_tool"] == {"python": 2, "zoom": 0} and row["tools"]["failed"] == 0
    assert "image_01.png" in model.prompts[0, 0]
    first, second = sorted(read_journal(tmp_path / "run").tools.values(), key=lambda record: record.call)
    assert (first.text, second.text, first.code) == ("15", "15", COUNT)
    spec = json.loads((tmp_path / "run" / "run.json").read_text())["spec"]["sandbox"]
    assert spec["kind"] == "bwrap" and first.sandbox == second.sandbox != ""
    (given,) = first.given
    assert given[0] == "image_01.png" and (tmp_path / "run" / "tool_files" / f"{given[1]}.png").is_file()
    again = Counting()
    run(str(tmp_path / "task" / "counts.yaml"), tmp_path / "run", again)
    assert again.asked == []


def test_the_files_of_a_question_have_names_in_their_order() -> None:
    assert file_names(2) == ["image_01.png", "image_02.png"] and file_names(100)[0] == "image_001.png"
    clip = Clip(1, (0.0, 1.0), (0, 1), 2, 2.0, 1.0, "a.mp4")
    assert file_names(3, [clip]) == ["image_01.png", "video_01_frame_0001.png", "video_01_frame_0002.png"]
    assert file_names(2, [clip], before=1) == ["video_01_frame_0001.png", "video_01_frame_0002.png"]
    assert "image_01.png, image_02.png, ..." in described(4).about and "at most 4 a call" in described(4).about


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ("{use: [zoom], pictures: 2}", "'pictures' is a limit of the tool 'python', which is not used"),
        ("{use: [python], pictures: 17}", "pictures"),
        ("{use: [python], characters: 10}", "characters"),
    ],
)
def test_wrong_limits_are_errors_of_the_file(tools: str, said: str, tmp_path: Path) -> None:
    task = write(tmp_path / "task", 1, TASK.replace("{use: [python, zoom]}", tools))
    with pytest.raises(ConfigError, match=said):
        run(task, tmp_path / "run", Scripted([way("B")]))


def test_without_bubblewrap_nothing_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    task, model = write(tmp_path / "task"), Scripted([way("B")])
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(ConfigError, match="apt-get install bubblewrap"):
        run(task, tmp_path / "run", model)
    assert model.asked == [] and not (tmp_path / "run").exists()


@pytest.mark.full
def test_a_run_that_goes_on_shows_what_is_recorded_and_restores_the_rest(tmp_path: Path) -> None:
    sandbox()
    task = write(tmp_path / "task", 1)
    unlike = f"import random, os\n{COUNT}\nmark = int.from_bytes(os.urandom(4))\nprint(mark)\nred"
    run(task, tmp_path / "run", Counting(unlike))
    (journal,) = (tmp_path / "run" / "journal").iterdir()
    lines = journal.read_text().splitlines(keepends=True)
    kinds = [json.loads(line)["kind"] for line in lines]
    assert kinds == ["answer", "tool", "answer", "tool", "answer", "end"]
    journal.write_text("".join(lines[:3]))  # as a kill would leave it
    before = json.loads(lines[1])["text"]
    model = Counting(unlike)
    run(task, tmp_path / "run", model)
    assert model.asked == [(0, 2)] and before in model.prompts[0, 2]
    second = next(each for each in read_journal(tmp_path / "run").tools.values() if each.call == 1)
    assert second.text == "15" and second.restored == (0,)
    (row,) = rows_of(tmp_path / "run", "counts")
    assert row["scores"]["exact_match,none"] == 1.0
    assert row["tools"]["restored"] == [1], "the mark stands where people look, and not in the journal alone"
    (ran,) = row["tools"]["ran"]
    assert [(each["turn"], each["output"], each.get("restored")) for each in ran] == [(0, before, None), (1, "15", [1])]
    recorded = RecordedRun.read(tmp_path / "run")
    (fault,) = [fault for fault in diagnose(recorded) if fault.kind == "restored code"]
    assert fault.docs == 1 and fault.said.startswith("1 of 1 document continued after an interruption")
    (shown,) = list(SampleRows(recorded))
    assert shown["rs"] == [1] and [call["o"] for turn in shown["n"][0] for call in turn.get("c", ())] == [before, "15"]


WAYS = {
    "an exception": (way(code("1 / 0"), "B"), "Error: the code raised an exception.\nTraceback"),
    "prints nothing": (way(code("x = 1"), "B"), "(no output)"),
    "never ends": (
        way(code("while True: pass"), "B"),
        "Error: the code was stopped: it took more than 2 s, on the clock or of CPU.",
    ),
    "ends itself": (
        way(code("import os; os._exit(1)"), code("1"), "B"),
        "Error: the interpreter was ended: the code ended it with exit code 1. Its variables are gone, files are kept.",
    ),
    "no code": (way(call("python", file="a.py"), "B"), "the argument 'code' is missing"),
    "a picture": (
        way(code("from PIL import Image\nImage.open('image_01.png').crop((0, 0, 9, 9))"), "B"),
        "Picture 1 is image_02.png.",
    ),
    "a part that zoom returned": (
        way(call(bbox_2d=[0, 0, 500, 500]), code("__import__('PIL.Image').Image.open('image_02.png').size"), "B"),
        "Picture 1 is this part",
    ),
}


@pytest.mark.full
def test_what_comes_of_each_way_of_using_it(tmp_path: Path) -> None:
    sandbox()
    model = Scripted([each for each, _ in WAYS.values()])
    task = write(tmp_path / "task", len(WAYS))
    evaluate(model=model, tasks=[task], output_path=str(tmp_path / "run"), report=False, sandbox_args={"seconds": 2})
    rows = rows_of(tmp_path / "run", "counts")
    for number, (name, (_, told)) in enumerate(WAYS.items()):
        assert told in model.prompts[number, 1], (name, model.prompts[number, 1])
        assert rows[number]["status"] == "answered", name
    zoomed = list(WAYS).index("a part that zoom returned")
    assert "\n(512, 512)\n" in model.prompts[zoomed, 2]
    ended = list(WAYS).index("ends itself")
    assert "The interpreter is a new one" in model.prompts[ended, 2]


def test_an_open_wall_is_found_before_weights_are_loaded_and_leaves_no_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox()
    loaded: list[object] = []
    monkeypatch.setattr("mm_eval.run.prepare_once", loaded.append)
    monkeypatch.setattr(
        "mm_eval.sandbox.check.check_walls", lambda *_, **__: [Wall("no network", False, "it answered")]
    )
    monkeypatch.setattr("mm_eval.sandbox.check._HELD", set())
    with pytest.raises(ConfigError, match="these walls of the sandbox do not hold: no network"):
        run(write(tmp_path / "task", 1), tmp_path / "run", Counting())
    assert not loaded and not (tmp_path / "run").exists()


@pytest.mark.full
def test_a_sandbox_that_does_not_start_fails_the_request(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    sandbox()
    monkeypatch.setattr("mm_eval.sandbox.check.refuse_if_open", lambda sandbox: monkeypatch.setenv("PATH", "/nowhere"))
    task = write(tmp_path / "task", 1)
    results = run(task, tmp_path / "run", Counting())
    (row,) = rows_of(tmp_path / "run", "counts")
    assert results.exit_code == 3 and row["status"] == "failed" and "sandbox can't be started" in row["error"]["what"]


@pytest.mark.full
def test_the_page_shows_returned_pictures_also_when_it_is_made_again(tmp_path: Path, cli: Callable[..., Ran]) -> None:
    sandbox()
    crop = code("from PIL import Image\nImage.open('image_01.png').crop((0, 0, 9, 9))")
    task, model = write(tmp_path / "task", 1), Scripted([Way((crop, "B"), {})])
    evaluate(model=model, tasks=[task], output_path=str(tmp_path / "run"))
    (row,) = rows_of(tmp_path / "run", "counts")
    (digest,) = [part["digest"] for part in row["turns"][0][1]["messages"][0]["content"] if part["type"] == "image"]
    shutil.rmtree(tmp_path / "run" / "media", ignore_errors=True)
    assert cli("score", tmp_path / "run").code == 0
    assert digest in (tmp_path / "run" / "media" / "thumbnails.jsonl").read_text()


@pytest.mark.full
def test_recorded_code_is_run_again_and_what_differs_is_listed(tmp_path: Path, cli: Callable[..., Ran]) -> None:
    sandbox()
    steady = (
        code("picture = 1"),
        call(bbox_2d=[0, 0, 500, 500]),
        code("len(open('image_02.png', 'rb').read()) > 0"),
        "B",
    )
    unlike = (code("import os\nos.urandom(8).hex()"), "B")
    task = write(tmp_path / "task", 2)
    run(task, tmp_path / "run", Scripted([Way(steady, {}), Way(unlike, {})]))
    ran = cli("tools", "replay", tmp_path / "run")
    assert ran.code == 1 and "counts doc 1, call 1: another text" in ran.out, ran.out + ran.err
    assert "3 calls of 2 conversations made again: 1 result differs" in ran.out
    assert cli("tools", "replay", tmp_path / "run", "--sandbox", "none").code == 2
    records = sorted(read_journal(tmp_path / "run").tools.values(), key=lambda record: record.slot)
    question = next(record for record in records if record.slot.doc_id == 1).given[0][1]
    (tmp_path / "run" / "tool_files" / f"{question}.png").unlink()
    ran = cli("tools", "replay", tmp_path / "run")
    assert (
        ran.code == 1
        and f"counts doc 1, call 1: not made again: {tmp_path / 'run' / 'tool_files' / question}.png: " in ran.out
    )
    assert "2 calls of 2 conversations made again: none of their results differs; 1 call was not made again" in ran.out
    (row, _) = rows_of(tmp_path / "run", "counts")
    assert row["tools"]["code"] == {"raised": 0, "stopped": 0, "ended": 0, "silent": 1, "opened": True}


@pytest.mark.full
def test_code_that_ended_its_sandbox_is_not_run_again_with_what_it_was_told_to_be_gone(tmp_path: Path) -> None:
    sandbox()
    ends = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)"
    ways = [Way((code("x = 1"), code(ends), code("y = 2"), code("print(y)\nx"), "B"), {})]
    task, model = write(tmp_path / "task", 1), Scripted(ways)
    run(task, tmp_path / "run", model)
    records = sorted(read_journal(tmp_path / "run").tools.values(), key=lambda record: record.call)
    assert [record.ending for record in records] == ["ok", "gone", "ok", "error"], [r.text for r in records]
    assert "Its variables and files are gone." in records[1].text and records[3].text.splitlines()[1].startswith("2")
    assert records[2].restored == () and records[3].restored is None


@pytest.mark.full
def test_a_picture_is_encoded_once_for_all_calls_of_its_question(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sandbox()
    made = list[int]()

    def counted(picture: Any) -> bytes:
        made.append(1)
        return png_of(picture)

    monkeypatch.setattr("mm_eval.tools.python.png_of", counted)
    task = write(tmp_path / "task", 1)
    run(task, tmp_path / "run", Scripted([Way((*[code(f"print({n})") for n in range(4)], "B"), {})]))
    assert len(read_journal(tmp_path / "run").tools) == 4 and len(made) == 1


@pytest.mark.parametrize(
    ("result", "failed"),
    [
        ("Error: no circle found", 0),
        ("Error: the code is 12", 0),
        (f"{RAISED}\nTraceback", 1),
        (f"{STOPPED}it ran for more than 2 s. Variables and files are kept.", 1),
        (f"{ENDED}out of memory. Its variables are gone, files are kept.", 1),
        ("Error: the argument 'code' is missing.", 1),
        ("Error: only 50 calls are allowed. Answer the question now.", 1),
        ("Error: the 300 s of this question are spent: no code is run any more.", 1),
    ],
)
def test_an_error_that_code_prints_is_no_call_that_failed(result: str, failed: int) -> None:
    told = ({"role": "user", "content": [{"type": "text", "text": result}]},)
    turns = [Answer(code("look()"), messages=()), Answer("B", messages=told)]
    found = counts_of(turns, {"python": PYTHON_TOOL.parameters("pixels")}, {"python": "python"})
    assert (found.calls, found.failed, found.looked) == (1, failed, not failed)


def test_a_call_may_take_what_the_calls_before_it_have_left() -> None:
    limits = Limits(seconds=60, doc_seconds=100)
    before = [ToolRecord("k", Slot("t", 0), 0, "", "", seconds=45.5)]
    assert (seconds_of(limits, []), seconds_of(limits, before), seconds_of(limits, before * 3)) == (60, 54.5, -36.5)


@pytest.mark.full
def test_another_sandbox_is_another_run(tmp_path: Path) -> None:
    sandbox()
    task = write(tmp_path / "task", 1)
    run(task, tmp_path / "run", Counting())
    with pytest.raises(ConfigError, match="sandbox"):
        run(task, tmp_path / "run", Counting(), sandbox_args={"memory": 1024})


@pytest.mark.full
def test_without_walls_run_table_and_page_say_so(tmp_path: Path, cli: Callable[..., Ran]) -> None:
    sandbox()
    task = write(tmp_path / "task", 1)
    results = evaluate(model=Counting(), tasks=[task], output_path=str(tmp_path / "run"), sandbox="none")
    assert results.exit_code == 0
    said = "code that the model wrote was run without a sandbox"
    assert said in (tmp_path / "run" / "report.html").read_text() and said in cli("score", tmp_path / "run").out
    assert json.loads((tmp_path / "run" / "run.json").read_text())["spec"]["sandbox"]["kind"] == "none"


SLOW = f"{COUNT}\nimport time\ntime.sleep(4)"
LAUNCH = """
import sys
from pathlib import Path
from tests.tools.test_python import SLOW, Counting, run
run(sys.argv[1], Path(sys.argv[2]), Counting(SLOW))
"""


def below(pid: int) -> set[int]:
    """The processes that one has started, and theirs."""
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError, IndexError):
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
    found, more = set[int](), {pid}
    while more:
        more = {each for each, parent in parents.items() if parent in found | more} - found - {pid}
        if more <= found:
            break
        found |= more
    return found


@pytest.mark.full
def test_no_interpreter_outlives_a_run_that_is_killed_and_nothing_answered_is_asked_again(tmp_path: Path) -> None:
    sandbox()
    task, folder = write(tmp_path / "task", 1), tmp_path / "run"
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    child = subprocess.Popen([sys.executable, "-c", LAUNCH, task, str(folder)], env=environment)
    until = time.monotonic() + 120
    while time.monotonic() < until and not list((folder / "journal").glob("*.jsonl")):
        time.sleep(0.05)
    while time.monotonic() < until and '"answer"' not in "".join(f.read_text() for f in (folder / "journal").iterdir()):
        time.sleep(0.05)
    time.sleep(1)  # the code runs
    started = below(child.pid)
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    until = time.monotonic() + 20
    while time.monotonic() < until and any(Path(f"/proc/{pid}").exists() for pid in started):
        time.sleep(0.1)
    assert started and not [pid for pid in started if Path(f"/proc/{pid}").exists()]
    model = Counting(SLOW)
    run(task, folder, model)
    assert model.asked == [(0, 1), (0, 2)]
    (row,) = rows_of(folder, "counts")
    assert row["scores"]["exact_match,none"] == 1.0 and row["tools"]["code"]["stopped"] == 0


RANK = """
import json, os, sys
from pathlib import Path
from tests.tools.test_python import COUNT, Counting, run
model = Counting(f"{COUNT}\\nimport time\\ntime.sleep(float({seconds}))")
code = run(sys.argv[1], Path(sys.argv[2]), model).exit_code
(Path(sys.argv[2]).parent / f"asked-{os.getpid()}").write_text(json.dumps(model.asked))
sys.exit(code)
"""


@pytest.mark.slow
def test_several_processes_run_code_each_and_go_on_after_one_is_killed(tmp_path: Path) -> None:
    sandbox()
    docs, folder = 4, tmp_path / "run"
    task = write(tmp_path / "task", docs)
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2"]

    def start(seconds: float) -> subprocess.Popen[str]:
        script = tmp_path / "rank.py"
        script.write_text(RANK.replace("{seconds}", str(seconds)))
        words = [*command, str(script), task, str(folder)]
        return subprocess.Popen(words, env=environment, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def journals() -> list[str]:
        return [path.read_text() for path in (folder / "journal").glob("*.jsonl")]

    launcher = start(1)
    until = time.monotonic() + 120
    while time.monotonic() < until and sum('"kind":"tool"' in text for text in journals()) < 2:
        time.sleep(0.05)
    started = below(launcher.pid)
    ranks = [pid for pid in started if b"rank.py" in Path(f"/proc/{pid}/cmdline").read_bytes()]
    os.kill(max(ranks), signal.SIGKILL)
    said = launcher.communicate(timeout=120)[0]
    assert launcher.returncode != 0, said
    until = time.monotonic() + 20
    while time.monotonic() < until and any(Path(f"/proc/{pid}").exists() for pid in started):
        time.sleep(0.1)
    assert not [pid for pid in started if Path(f"/proc/{pid}").exists()]
    answered, made = sum(text.count('"kind":"answer"') for text in journals()), set(read_journal(folder).tools)
    again = start(0)
    said = again.communicate(timeout=120)[0]
    assert again.returncode == 0, said
    rows = rows_of(folder, "counts")
    assert [row["scores"]["exact_match,none"] for row in rows] == [1.0] * docs
    asked = [json.loads(path.read_text()) for path in tmp_path.glob("asked-*")]
    assert len(asked) == 2 and all(asked) and sum(map(len, asked)) == 3 * docs - answered
    found = read_journal(folder).tools
    assert made and made <= set(found) and len(found) == 2 * docs
