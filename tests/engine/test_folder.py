"""A run folder belongs to one spec and one launch at a time."""

import subprocess
import sys
import time
from pathlib import Path

import pytest

from mm_eval.engine.folder import RunFolder, differences
from mm_eval.values.errors import ConfigError
from mm_eval.values.run_files import read_json

HOLDER = """
import sys, time
from pathlib import Path
from mm_eval.engine.folder import RunFolder
with RunFolder(Path(sys.argv[1])).locked():
    print("held", flush=True)
    time.sleep(60)
"""


def test_a_second_launch_is_refused_at_once_with_the_holders_pid(tmp_path: Path) -> None:
    holder = subprocess.Popen([sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    try:
        assert holder.stdout.readline() == "held\n"
        started = time.monotonic()
        with pytest.raises(ConfigError, match=f"pid {holder.pid} on "), RunFolder(tmp_path).locked():
            pass
        assert time.monotonic() - started < 30, "it does not wait for the minute that the holder lives"
    finally:
        holder.kill()
        holder.wait()
    with RunFolder(tmp_path).locked():
        pass  # the lock of a killed launch is nobody's


def test_another_spec_is_refused_with_the_difference(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    assert folder.claim({"seed": 0, "tasks": {"mme": {"docs": 4}}}, {}) is False
    assert folder.claim({"seed": 0, "tasks": {"mme": {"docs": 4}}}, {}) is True
    with pytest.raises(ConfigError, match=r"tasks\.mme\.docs was 4 and is 8"):
        folder.claim({"seed": 0, "tasks": {"mme": {"docs": 8}}}, {})


def test_differences_name_added_and_removed_keys() -> None:
    assert list(differences({"a": 1, "b": 2}, {"b": 3, "c": 4})) == [
        "a was 1 and is null",
        "b was 2 and is 3",
        "c was null and is 4",
    ]


def test_a_failed_write_leaves_the_old_file(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    folder.write("results.json", "old")

    def breaks():
        yield "new"
        raise OSError(28, "No space left on device")

    with pytest.raises(Exception, match="No space left"):
        folder.write_lines("results.json", breaks())
    assert (tmp_path / "results.json").read_text() == "old\n"
    assert [path.name for path in tmp_path.iterdir()] == ["results.json"], "no temporary file stays"


def test_a_folder_that_cannot_be_written_is_reported_before_any_request(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="can't be written"), RunFolder(tmp_path / "file" / "run").locked():
        pass
    with pytest.raises(ConfigError, match="can't be written"), RunFolder(tmp_path / ("x" * 300)).locked():
        pass


def test_a_digest_that_differs_is_explained_in_words() -> None:
    old = {"tasks": {"mme": {"asked": "0649f3", "docs": {"count": 60, "sha256": "ab"}}}}
    new = {"tasks": {"mme": {"asked": "5531aa", "docs": {"count": 5, "sha256": "cd"}}}}
    assert list(differences(old, new)) == [
        "tasks.mme: the prompts differ",
        "tasks.mme.docs.count was 60 and is 5",
        "tasks.mme.docs: the documents differ",
    ]


def test_the_machine_is_recorded_and_no_part_of_the_spec(tmp_path):
    folder = RunFolder(tmp_path)
    folder.claim({"seed": 0, "tasks": {}}, {}, {"device": "cuda:0 (A)", "parameters": 7})
    assert folder.claim({"seed": 0, "tasks": {}}, {}, {"device": "cpu"}) is True
    assert folder.read("run.json")["machine"] == {"device": "cuda:0 (A)", "parameters": 7}


def test_an_entry_that_is_no_mapping_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()
    (tmp_path / "run.json").write_text('{"format": 1, "spec": {}, "machine": null}')
    RunFolder(tmp_path).add_to_entry("machine", {"threads": 1})
    assert RunFolder(tmp_path).entry("machine") == {"threads": 1}


def test_processes_of_one_srun_are_told_to_start_one_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "4")
    with RunFolder(tmp_path).locked():
        with pytest.raises(
            ConfigError, match="a launcher started this command 4 times: start it once, with --executor"
        ):
            RunFolder(tmp_path).refuse_if_held()
        monkeypatch.setenv("SLURM_STEP_NUM_TASKS", "1")
        with pytest.raises(ConfigError) as alone:
            RunFolder(tmp_path).refuse_if_held()
        assert "launcher" not in str(alone.value)


def test_run_json_names_the_commit_and_another_one_goes_on(cli, monkeypatch) -> None:
    """It is read from the checkout's files; a run goes on with whatever code there is now."""
    monkeypatch.setattr("mm_eval.engine.folder.commit_of_checkout", lambda: "a" * 40)
    ran = cli("--tasks", "mme", "--model", "dummy", "--sample", "--limit", 2)
    (ran.folder / "results.json").unlink()
    monkeypatch.setattr("mm_eval.engine.folder.commit_of_checkout", lambda: "b" * 40)
    again = cli("--tasks", "mme", "--model", "dummy", "--sample", "--limit", 2)
    run = read_json(again.folder, "run.json")
    assert (ran.code, again.code, run["commit"], "commit" in run["spec"]) == (0, 0, "a" * 40, False)


def test_a_run_reads_run_json_four_times(cli, monkeypatch) -> None:
    """Before it is locked, to claim it, once it is claimed, and after the answers, while which other processes may write it."""
    read: list[str] = []
    for module in ("mm_eval.engine.folder", "mm_eval.results.file"):
        monkeypatch.setattr(
            f"{module}.read_json", lambda folder, name, *more: read.append(name) or read_json(folder, name, *more)
        )
    assert cli("--tasks", "mme", "--model", "dummy", "--sample", "--limit", "1").code == 0
    assert sorted(read) == ["files.json", "results.json", *["run.json"] * 4]
