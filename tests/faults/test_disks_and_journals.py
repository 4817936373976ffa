"""Full disks at a relaunch, journals that were copied, edited or replaced, and a finished run that needs no weights."""

import errno
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from mm_eval import evaluate
from mm_eval.engine import journal as journal_module
from mm_eval.engine.journal import read_journal
from mm_eval.engine.model import Model
from mm_eval.engine.progress import Progress
from mm_eval.values import files as files_module
from mm_eval.values.errors import ConfigError, StoreError
from mm_eval.write_run import score_tasks
from tests.processes import HANGS
from tests.sets import few

TASKS = ("--tasks", "mme", "--model", "dummy", "--sample", "--limit", "60")
SLOW_MODEL = Path(__file__).parent.parent / "cli" / "slow_model.py"


def journal_file(folder: Path) -> Path:
    [path] = (folder / "journal").glob("*.jsonl")
    return path


def refusing_disk(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    """Whatever is written to a file from now on is refused, as a full or failing disk does it."""

    def refuse(*_: object) -> int:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(files_module.os, "write", refuse)


@pytest.mark.parametrize("number", few([errno.ENOSPC, errno.EDQUOT, errno.EIO], at=[0]))
def test_a_disk_that_is_still_full_at_the_relaunch_is_exit_3_and_one_sentence(cli, monkeypatch, number: int) -> None:
    first = cli(*TASKS, "--limit", "8")
    before = journal_file(first.folder).read_bytes()
    refusing_disk(monkeypatch, number)
    full = cli(*TASKS, "--limit", "8")
    assert full.code == 3 and os.strerror(number) in full.err and str(first.folder) in full.err
    assert len(full.err.strip().splitlines()) == 1 and "Traceback" not in full.err
    monkeypatch.undo()
    again = cli(*TASKS, "--limit", "8")
    assert again.code == 0 and "nothing was requested" in again.out
    assert journal_file(first.folder).read_bytes() == before


def test_a_full_disk_at_the_relaunch_with_a_torn_tail_loses_no_byte(cli, monkeypatch) -> None:
    first = cli(*TASKS, "--limit", "8")
    path = journal_file(first.folder)
    path.write_bytes(path.read_bytes()[:-5])
    before = path.read_bytes()
    refusing_disk(monkeypatch, errno.ENOSPC)
    assert cli(*TASKS, "--limit", "8").code == 3
    assert path.read_bytes() + b"".join(torn.read_bytes() for torn in path.parent.glob("*.torn")) == before


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_packed_journal_is_refused_and_not_asked_again(cli, ending: str) -> None:
    """`gzip runs/*/journal/*` makes room, and the next launch asked everything again."""
    first = cli(*TASKS, "--limit", "8")
    path = journal_file(first.folder)
    packed = path.with_name(path.name + ending)
    packed.write_bytes(gzip.compress(path.read_bytes()))
    if ending:
        path.unlink()
    before = packed.read_bytes()
    refused = cli(*TASKS, "--limit", "8")
    assert refused.code == 2 and f"{packed}: a file of the journal is packed" in refused.err
    assert packed.read_bytes() == before and len(list(packed.parent.iterdir())) == 1


def test_the_thumbnails_of_a_full_disk_give_way_to_the_answers(cli, monkeypatch, caplog, tmp_path: Path) -> None:
    """They took the room of answers, which ended the run; all of them can be made again."""
    write = journal_module.write_all

    def full(fd: int, data: bytes) -> None:
        if any(path.stat().st_size for path in (tmp_path / "run" / "media").glob(".*")):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        write(fd, data)

    monkeypatch.setattr(journal_module, "write_all", full)
    ran = cli(*TASKS)
    assert ran.code == 0 and caplog.text.count("The disk is full: the thumbnails in") == 1
    assert len(read_journal(ran.folder).answers) == 60
    assert [path.name for path in (ran.folder / "media").iterdir()] == ["thumbnails.jsonl"], "made again for the page"


@pytest.mark.parametrize("name", ["results.json", "mme.jsonl"])
def test_the_thumbnails_of_a_full_disk_give_way_to_samples_and_results(
    cli, monkeypatch, caplog, tmp_path: Path, name: str
) -> None:
    """They took the room of the results, which ended each launch of a finished run."""
    replace = os.replace

    def full(source: Path, target: Path) -> None:
        if Path(target).name == name and any((tmp_path / "run" / "media").glob("*")):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        replace(source, target)

    monkeypatch.setattr(files_module.os, "replace", full)
    ran = cli(*TASKS, "--limit", "8")
    assert ran.code == 0 and caplog.text.count("The disk is full: the thumbnails in") == 1
    assert len((ran.folder / "samples" / "mme.jsonl").read_text().splitlines()) == 8
    assert ran.results["results"]["mme"]["n"] == 8


@pytest.mark.parametrize("name", ["results.json", "samples/mme.jsonl"])
def test_results_that_cannot_be_written_are_exit_3_and_the_answers_stay(cli, tmp_path: Path, name: str) -> None:
    folder = tmp_path / "run"
    (folder / name).mkdir(parents=True)
    (folder / name / "in the way").write_text("")
    refused = cli(*TASKS, "--limit", "8")
    assert refused.code == 3 and str(folder / name) in refused.err and "same command" in refused.err
    assert len(refused.err.strip().splitlines()) == 1 and len(read_journal(folder).answers) == 8


@pytest.mark.parametrize(
    "raised", few([OSError(errno.ENOSPC, "No space left"), RuntimeError("a codec"), MemoryError()], at=[0])
)
def test_thumbnails_and_pages_that_fail_cost_a_note(cli, monkeypatch, raised: Exception) -> None:
    def refuse(*_: object) -> int:
        raise raised

    first = cli(*TASKS, "--limit", "8")
    shutil.rmtree(first.folder / "media")
    monkeypatch.setattr("mm_eval.write_run.write_thumbnails", refuse)
    done = cli("score", first.folder)
    assert done.code == 0 and "no report.html could be written" in done.out and done.results["results"]["mme"]["n"] == 8


def crlf(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))


def mixed(path: Path) -> None:
    lines = path.read_bytes().split(b"\n")[:-1]
    path.write_bytes(b"".join(line + (b"\r\n" if number % 3 else b"\n") for number, line in enumerate(lines)))


def marked(path: Path) -> None:
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())


def padded(path: Path) -> None:
    path.write_bytes(b"\n \n" + path.read_bytes().replace(b"\n", b"\n\0\0\0", 5) + b"\r\n\n")


def with_cr(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r"))


def without_last_end(path: Path) -> None:
    path.write_bytes(path.read_bytes().rstrip(b"\n"))


@pytest.mark.parametrize("copied", few([crlf, mixed, marked, padded, with_cr, without_last_end], at=[1]))
def test_a_journal_that_was_copied_or_edited_loses_none_of_its_answers(cli, copied) -> None:
    """CRLF, CR and mixed line ends, a byte order mark, blank lines, NUL bytes around records, no newline at the end."""
    first = cli(*TASKS)
    copied(journal_file(first.folder))
    again = cli(*TASKS)
    assert again.code == 0 and "all 60 answers were in the run folder already" in again.out, again.err + again.out
    assert "damaged" not in again.out and again.results["results"] == first.results["results"]


def test_a_line_of_nul_bytes_and_a_record_of_another_form_count_as_damaged(cli) -> None:
    first = cli(*TASKS, "--limit", "8")
    path = journal_file(first.folder)
    from mm_eval.engine.records import encode

    for record in ({}, {"v": 1}, {"v": "x", "kind": "answer"}, {"v": 1, "kind": "answer", "key": "k", "output": 3}):
        path.write_bytes(path.read_bytes() + encode({"a": 0, **record}))
    path.write_bytes(path.read_bytes() + b"\0" * 100 + b"\n")
    again = cli(*TASKS, "--limit", "8")
    assert again.code == 0 and "5 damaged journal lines" in again.out and "all 8 answers" in again.out


def folder_in_its_place(path: Path) -> None:
    path.mkdir()


def dangling_link(path: Path) -> None:
    path.symlink_to(path.with_name("unmounted"))


@pytest.mark.parametrize("spoil", few([folder_in_its_place, dangling_link, os.mkfifo], at=[0]))
@pytest.mark.parametrize("verb", ["run", "score"])
def test_a_journal_file_that_cannot_be_opened_is_one_clear_error(cli, spoil, verb: str) -> None:
    first = cli(*TASKS, "--limit", "8")
    path = first.folder / "journal" / "other.jsonl"
    spoil(path)
    refused = cli(*TASKS, "--limit", "8") if verb == "run" else cli("score", first.folder)
    assert refused.code == 2 and str(path) in refused.err and "the journal can't be read" in refused.err
    assert len(refused.err.strip().splitlines()) == 1
    assert len(read_journal_without(first.folder, path).answers) == 8


def read_journal_without(folder: Path, path: Path):
    path.rmdir() if path.is_dir() else path.unlink()
    return read_journal(folder)


@pytest.mark.full
@pytest.mark.parametrize("name", ["run.json", "files.json", "lock"])
@pytest.mark.parametrize("content", [None, "pipe", "[1]", '{"spec": 1, "files": 2}'])
def test_a_run_folder_with_a_file_of_another_kind_is_one_sentence(cli, name: str, content: str | None) -> None:
    first = cli(*TASKS, "--limit", "2")
    path = first.folder / name
    path.unlink(missing_ok=True)
    if content is None:
        path.mkdir()
    elif content == "pipe":
        os.mkfifo(path)
    else:
        path.write_text(content)
    found = cli(*TASKS, "--limit", "2")
    if name == "lock" and content is not None and content != "pipe":
        assert found.code == 0
    else:
        assert found.code in (2, 3) and len(found.err.strip().splitlines()) == 1, found.err
        assert str(path if name != "lock" else first.folder) in found.err


class Loads(Model):
    """Counts how often weights are loaded."""

    loaded = 0


def test_a_finished_run_loads_no_weights(cli, monkeypatch) -> None:
    monkeypatch.setattr("mm_eval.models.dummy.Dummy.prepare", lambda self: setattr(Loads, "loaded", Loads.loaded + 1))
    Loads.loaded = 0
    first = cli(*TASKS, "--limit", "8")
    assert first.code == 0 and Loads.loaded == 1
    assert cli(*TASKS, "--limit", "8").code == 0 and Loads.loaded == 1
    path = journal_file(first.folder)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:-1]))
    assert cli(*TASKS, "--limit", "8").code == 0 and Loads.loaded == 2


def test_answers_of_the_cache_need_no_weights(cli, tmp_path: Path, monkeypatch) -> None:
    cached = (*TASKS, "--limit", "8", "--use_cache", tmp_path / "shared")
    first = cli(*cached)
    path = journal_file(first.folder)
    path.write_bytes(b"".join(path.read_bytes().splitlines(keepends=True)[:4]))

    def refuse(self) -> None:
        raise ConfigError("the weights are gone")

    monkeypatch.setattr("mm_eval.models.dummy.Dummy.prepare", refuse)
    assert cli(*cached).code == 0
    path.write_bytes(path.read_bytes()[:10])
    refused = cli(*TASKS, "--limit", "8")
    assert refused.code == 2 and "the weights are gone" in refused.err


def test_a_model_that_cannot_be_loaded_leaves_no_new_folder(cli, monkeypatch) -> None:
    def refuse(self) -> None:
        raise ConfigError("no such weights")

    monkeypatch.setattr("mm_eval.models.dummy.Dummy.prepare", refuse)
    refused = cli(*TASKS)
    assert refused.code == 2 and not refused.folder.exists()


@pytest.mark.full
def test_docs_that_an_interrupt_left_are_not_requested_and_none_of_them_failed(cli, tmp_path: Path) -> None:
    folder, log = tmp_path / "run", tmp_path / "log"
    words = ["--tasks", "mme,seedbench", "--model", "slow", "--sample", "--limit", "60", "--output_path", str(folder)]
    child = subprocess.Popen([sys.executable, str(SLOW_MODEL), str(log), *words], stdout=subprocess.PIPE, text=True)
    deadline = time.monotonic() + HANGS
    while not log.exists() or len(log.read_text().splitlines()) < 20:
        assert child.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    child.send_signal(signal.SIGINT)
    out, _ = child.communicate(timeout=HANGS)
    assert child.returncode == 130
    rows = json.loads((folder / "results.json").read_text())["results"]
    answered = len(read_journal(folder).slots)
    assert [rows[name]["failed"] for name in rows] == [0, 0]
    assert sum(row["n"] - row["not_requested"] for row in rows.values()) == answered < 120
    left = sum(row["not_requested"] for row in rows.values())
    assert f"2 tasks: {left} of 120 documents have no answer yet" in out and "failed and are" not in out
    statuses = [json.loads(line)["status"] for line in (folder / "samples" / "mme.jsonl").read_text().splitlines()]
    assert statuses.count("not requested") == rows["mme"]["not_requested"]
    scored = cli("score", folder)
    assert scored.code == 3, scored.err


def test_thumbnails_have_a_progress_of_their_own(cli, monkeypatch) -> None:
    started: dict[str, int] = {}
    ticks: list[str] = []

    class Told(Progress):
        current = ""

        def start(self, name: str, total: int) -> None:
            self.current = name
            started[name] = total

        def tick(self, done: int, failed: int) -> None:
            ticks.append(self.current)

    monkeypatch.setattr("mm_eval.cli.progress.ProgressBar", Told)
    ran = cli(*TASKS, "--limit", "8")
    assert ran.code == 0 and "thumbnails" not in started, "all were made while the model answered"
    shutil.rmtree(ran.folder / "media")
    assert cli("score", ran.folder).code == 0
    assert started["thumbnails"] == 8 == ticks.count("thumbnails")
    assert (ran.folder / "media/thumbnails.jsonl").is_file()


def test_an_interrupt_does_not_wait_for_pictures_of_questions_that_nobody_asks() -> None:
    """The thread that prepares the order stops in the middle of a window."""
    from mm_eval.engine.order import CheapestOrder
    from mm_eval.values.types import Instance

    made: list[int] = []

    def slow():
        for number in range(10_000):
            made.append(number)
            time.sleep(0 if number < 64 else 0.05)
            yield Instance("generate_until", "t", number, {}, context="x")

    source = CheapestOrder(slow())
    next(source)
    source.close()
    assert len(made) < 200


def test_a_journal_file_of_another_run_is_named_and_its_answers_are_not_used(cli, tmp_path: Path) -> None:
    """Files are merged by copying them: `score` took the answers of the last file, and a launch blamed the task's code."""
    for word in ("yes", "no"):
        rows = ({"task": "mme", "doc_id": n, "resps": [word]} for n in range(8))
        (tmp_path / word).write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("--tasks", "mme", "--sample", "--limit", "8", "--no_report", "--model", "replay", "--model_args")
    other = cli(*words, f"path={tmp_path / 'no'}", "--output_path", tmp_path / "other")
    first = cli(*words, f"path={tmp_path / 'yes'}")
    journal_file(other.folder).rename(first.folder / "journal" / "zzz.jsonl")
    scored = cli("score", first.folder)
    assert scored.code == 2 and ": the journal has answers to two different questions for one document" in scored.err
    again = cli(*words, f"path={tmp_path / 'yes'}")
    assert again.code == 0 and "nothing was requested" in again.out, again.err
    assert "a file of another run is in the journal" in again.out
    assert all("yes" in json.dumps(row["resps"]) for row in again.samples("mme"))
    assert again.results["results"] == first.results["results"]


def test_a_run_folder_that_was_moved_away_is_said_and_no_new_one_is_made(tmp_path: Path) -> None:
    """Results were written into a new folder without a run.json, and the error said that this was no run folder."""

    def answer(messages: list) -> str:
        if folder.exists():
            folder.rename(tmp_path / "moved")
        return "yes"

    folder = tmp_path / "run"
    with pytest.raises(StoreError, match="moved or removed while the run wrote to it"):
        evaluate("mme", answer, limit=4, sample=True, report=False, output_path=str(folder))
    assert len(read_journal(tmp_path / "moved").answers) == 4 and not (folder / "results.json").exists()


def test_a_run_folder_that_is_moved_away_while_it_is_scored_is_said_too(tmp_path: Path, monkeypatch) -> None:
    def score_and_move(*given):
        scores = score_tasks(*given)
        folder.rename(tmp_path / "moved")
        return scores

    folder = tmp_path / "run"
    monkeypatch.setattr("mm_eval.run.score_tasks", score_and_move)
    with pytest.raises(StoreError, match="moved or removed while the run wrote to it"):
        evaluate("mme", lambda messages: "yes", limit=4, sample=True, report=False, output_path=str(folder))
    assert (tmp_path / "moved" / "run.json").is_file() and not folder.exists()
