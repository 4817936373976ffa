"""--offline opens no socket and names all that is missing at once; bundle brings the data for it."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from mm_eval.verbs.bundle.copying import size_text
from tests.processes import HANGS

NO_SOCKETS = """
import socket, sys
def refuse(*arguments, **named):
    print("A SOCKET WAS OPENED", arguments, file=sys.stderr)
    raise OSError("no network here")
socket.socket.connect = socket.socket.connect_ex = refuse
socket.create_connection = socket.getaddrinfo = refuse
from mm_eval.cli import main
sys.exit(main(sys.argv[1:]))
"""


def without_network(*words: object, cache: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "HF_HOME": str(cache)}
    environment.pop("HF_HUB_OFFLINE", None)
    command = [sys.executable, "-c", NO_SOCKETS, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANGS, env=environment)


def test_offline_opens_no_socket_though_it_succeeds(tmp_path: Path) -> None:
    words = ("--tasks", "mme,arc_easy", "--model", "dummy", "--sample", "--limit", "3", "--offline")
    done = without_network(*words, "--output_path", tmp_path / "run", cache=tmp_path)
    assert done.returncode == 0 and "SOCKET" not in done.stderr, done.stderr


def test_offline_opens_no_socket_though_it_fails_and_names_all_that_is_missing(tmp_path: Path) -> None:
    words = ("--tasks", "mme,gsm8k", "--model", "hf", "--model_args", "pretrained=some/model", "--offline")
    done = without_network(*words, "--output_path", tmp_path / "run", cache=tmp_path)
    assert done.returncode == 2 and "SOCKET" not in done.stderr, done.stderr
    assert "3 things are not on this machine" in done.stderr and "mm-eval bundle" in done.stderr
    for name in ("some/model", "lmms-lab/MME", "gsm8k"):
        assert name in done.stderr
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("words", [("mme",), ("mme,seedbench",), ("mme", "seedbench")], ids=str)
def test_the_last_word_of_tasks_is_the_folder_of_a_bundle(cli, tmp_path: Path, words: tuple[str, ...]) -> None:
    from mm_eval.aliases.command import words_of

    read, _ = words_of("bundle", ["--tasks", *words, "DIR", "--sample"], ["--tasks", "--sample"])
    assert read == ["DIR", f"--tasks={','.join(words)}", "--sample"]
    assert words_of("bundle", ["DIR", "--tasks", *words], ["--tasks"])[0] == ["DIR", f"--tasks={','.join(words)}"]
    done = cli("bundle", "--tasks", words[0])
    assert done.code == 2 and "DIR" in done.err


def test_a_bundle_is_a_data_root_with_equal_fingerprints(cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = tmp_path / "root"
    done = cli("bundle", "--sample", "--tasks", "mme,seedbench", root)
    assert done.code == 0 and f"--data_root {root} --offline" in done.out, done.err
    noted = json.loads((root / "bundle.json").read_text())["tasks"]
    monkeypatch.setattr(socket.socket, "connect", lambda *_: pytest.fail("a socket was opened"))
    arguments = ("--tasks", "mme,seedbench", "--model", "dummy", "--limit", "3", "--output_path", tmp_path / "run")
    ran = cli(*arguments, "--data_root", root, "--offline")
    assert ran.code == 0, ran.err
    assert {name: task["fingerprint"] for name, task in noted.items()} == ran.results["run"]["data"]
    original = cli(*arguments, "--sample", "--output_path", tmp_path / "original")
    assert original.results["run"]["data"] == ran.results["run"]["data"]
    before = {path: path.stat().st_mtime_ns for path in root.rglob("*.parquet")}
    assert before and cli("bundle", "--tasks", "mme", "--sample", root).code == 0
    assert {path: path.stat().st_mtime_ns for path in root.rglob("*.parquet")} == before, (
        "what is there is not copied again"
    )
    assert set(json.loads((root / "bundle.json").read_text())["tasks"]) == {"mme", "seedbench"}


def test_what_a_bundle_cannot_hold_is_told(cli, tmp_path: Path) -> None:
    (tmp_path / "own.yaml").write_text(
        "task: own\ndataset_path: json\ndataset_kwargs: {data_files: {test: rows.jsonl}}\ntest_split: test\n"
        "doc_to_text: question\ndoc_to_target: answer\nmetric_list: [{metric: exact_match}]\n"
    )
    refused = cli("bundle", "--tasks", "own", "--include_path", tmp_path, tmp_path / "root")
    assert refused.code == 2 and "not a data set of the hub" in refused.err
    missing = cli("bundle", "--tasks", "mme", "--offline", tmp_path / "root")
    assert missing.code == 2 and "lmms-lab/MME" in missing.err


def test_a_bundle_says_its_size_first_and_copies_nothing_twice(cli, tmp_path: Path) -> None:
    root = tmp_path / "root"
    first = cli("bundle", "--tasks", "mme,gsm8k", "--sample", root).out.splitlines()[0]
    copied = sum(path.stat().st_size for path in root.rglob("*") if path.is_file() and path.name != "bundle.json")
    assert first == f"2 data sets to copy: {size_text(copied)}"
    again = cli("bundle", "--tasks", "mme,gsm8k,seedbench", "--sample", root).out.splitlines()[0]
    assert again.startswith("1 data set to copy: ") and again.endswith(f"; 2 are in {root} already")
    assert cli("bundle", "--tasks", "mme", "--sample", root).out.startswith("0 data sets to copy; 1 is in")


def test_a_bundle_of_what_is_not_here_says_what_to_do(cli, tmp_path: Path) -> None:
    ran = cli("bundle", "--tasks", "mme", "--offline", tmp_path / "root")
    assert ran.code == 2 and "--data_root DIR" in ran.err


def test_a_bundle_asks_the_hub_for_sizes_and_takes_the_pinned_revision(
    cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets
    import huggingface_hub

    asked: list[object] = []

    def info(self: object, path: str, **options: object) -> SimpleNamespace:
        asked.append((path, options["revision"]))
        if path == "org/unknown":
            raise OSError("no such repository")
        return SimpleNamespace(siblings=[SimpleNamespace(size=2_000_000), SimpleNamespace(size=None)])

    def download(path: str, local_dir: Path, revision: str | None = None, **_: object) -> None:
        asked.append((path, revision))
        if path != "mirror/data":
            raise OSError("no such repository")
        for config in ("a", "b"):
            (Path(local_dir) / config).mkdir(parents=True)
            datasets.Dataset.from_list([{"q": config}]).to_parquet(Path(local_dir) / config / "test.parquet")
        lines = [f"- config_name: {config}\n  data_files: {config}/test*\n" for config in ("a", "b")]
        (Path(local_dir) / "README.md").write_text("---\nconfigs:\n" + "".join(lines) + "---\n")

    monkeypatch.setattr("mm_eval.verbs.bundle.copying.hub_answers", lambda: True)
    monkeypatch.setattr(huggingface_hub.HfApi, "dataset_info", info)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    (tmp_path / "own.yaml").write_text(
        "task: own\ndataset_path: org/unknown\ndataset_name: a\ndataset_revision: '111'\ntest_split: train\n"
        "dataset_mirrors: [{path: mirror/data, name: [a, b], revision: '222'}]\ndoc_to_text: q\n"
    )
    done = cli("bundle", "--tasks", "own", "--include_path", tmp_path, tmp_path / "root")
    assert done.code == 0, done.err
    assert done.out.startswith("1 data set to copy: 2.0 MB") and "own: mirror/data, 2 documents" in done.out
    assert asked == [("org/unknown", "111"), ("mirror/data", "222")] * 2
    assert cli("bundle", "--tasks", "own", "--include_path", tmp_path, tmp_path / "root").out.startswith("0 data sets")
