"""A run folder is data from a stranger: reading one runs no code of it or for it, follows no link out of it, and never hangs or
ends in a traceback, whatever its files hold."""

import base64
import copy
import json
import os
import random
import shutil
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mm_eval.cli import main
from mm_eval.engine.journal import read_journal
from mm_eval.engine.records import encode
from mm_eval.results.media import Media
from mm_eval.values.files import make_folder
from mm_eval.values.run_files import DEPTH, json_value, lines_of, open_regular, read_bytes
from tests.conftest import Ran
from tests.folders import edited
from tests.processes import HANGS, child, wait_until
from tests.sets import few

READING: dict[str, list[str]] = {
    "report": ["report", "RUN"],
    "table": ["report", "RUN", "--format", "md", "--intervals", "--categories"],
    "csv": ["report", "RUN", "RUN", "--format", "csv"],
    "against": ["report", "RUN", "--against", "GOOD"],
    "inspect": ["report", "RUN", "--format", "inspect", "--output", "OUT"],
    "lm_eval": ["report", "RUN", "--format", "lm_eval", "--output", "OUT"],
    "eval_results": ["report", "RUN", "--format", "eval_results", "--output", "OUT"],
    "bundle": ["report", "RUN", "--site", "OUT"],
    "compare": ["compare", "GOOD", "RUN", "--categories"],
    "diagnose": ["diagnose", "RUN"],
    "judge": ["judge", "RUN", "--docs", "0"],
}
"""The verbs that only read."""
EVERY = {
    **READING,
    "score": ["score", "RUN"],
    "blind": ["blind", "RUN", "--docs", "2"],
    "why": ["why", "RUN", "--protocol", "llava-1.5"],
}
SECRET = b"a private line without a line break"


@pytest.fixture(scope="session")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run of a task with pictures, categories and a function of its own, and of a group."""
    folder = tmp_path_factory.mktemp("recorded") / "run"
    words = ["--tasks", "mme,bbh_boolean_expressions", "--model", "dummy", "--sample", "--limit", "4"]
    assert main([*words, "--output_path", str(folder)]) in (0, 3)
    return folder


def words_of(verb: str, run: Path, good: Path, out: Path) -> list[str]:
    places = {"RUN": str(run), "GOOD": str(good), "OUT": str(out)}
    return [places.get(word, word) for word in EVERY[verb]]


def ended_well(ran: Ran) -> None:
    """Exit code 0, 2 or 3, and where it is not 0 one sentence."""
    assert ran.code in (0, 2, 3), ran.err
    assert "Traceback" not in ran.err + ran.out
    if ran.code == 2 or ran.code == 3 and not ran.out:
        assert len([line for line in ran.err.splitlines() if line.startswith("mm-eval: ")]) >= 1, ran.err


# Code


def own_run(folder: Path, cli: Callable[..., Ran], named: str = "include_path") -> tuple[Ran, Path]:
    """A run of a task with code of its own, which leaves a mark whenever it is imported."""
    code, mark = folder / "own", folder / "imported"
    code.mkdir()
    (code / "utils.py").write_text(
        f"open({str(mark)!r}, 'a').close()\n\ndef total(values):\n    return sum(values)\n\n\n"
        "def results(doc, answers):\n    return {'points': 1.0}\n"
    )
    (code / "rows.jsonl").write_text('{"q": "1?", "a": "1"}\n{"q": "2?", "a": "2"}\n')
    (code / "own_task.yaml").write_text(
        "task: own_task\ndataset_path: json\ndataset_kwargs: {data_files: {test: rows.jsonl}}\ntest_split: test\n"
        "doc_to_text: q\ndoc_to_target: a\nprocess_results: !function utils.results\n"
        "metric_list: [{metric: points, aggregation: !function utils.total, higher_is_better: true}]\n"
    )
    tasks = ["own_task", "--include_path", code] if named == "include_path" else [code / "own_task.yaml"]
    ran = cli("--tasks", *tasks, "--model", "dummy", "--output_path", folder / "run")
    assert ran.code == 0 and mark.exists()
    mark.unlink()
    return ran, mark


def fresh(words: list[str], **more: Any) -> subprocess.CompletedProcess[str]:
    """A command in a process of its own, in which nothing is imported yet."""
    command = [sys.executable, "-m", "mm_eval", *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=HANGS, **more)


@pytest.mark.parametrize("named", few(["include_path", "file"], "file"))
def test_no_verb_runs_code_that_a_folder_names(
    named: str, tmp_path: Path, cli: Callable[..., Ran], recorded: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ran, mark = own_run(tmp_path, cli, named)
    (tmp_path / "own").rename(ran.folder / "own")  # where a stranger can put it
    for verb in EVERY:
        text = (ran.folder / "run.json").read_text().replace(str(tmp_path / "own"), str(ran.folder / "own"))
        (ran.folder / "run.json").write_text(text)
        shutil.rmtree(tmp_path / "out", ignore_errors=True)
        words = words_of(verb, ran.folder, ran.folder if verb in ("compare", "against") else recorded, tmp_path / "out")
        code = _in_child(words)
        assert code in (0, 2, 3) and not mark.exists(), verb
        assert code == (2 if verb in ("score", "blind", "why", "judge", "compare") else 0), verb


def _in_child(words: list[str]) -> int:
    """The exit code of a command in a forked process, so that it imports task code again."""
    pid = os.fork()
    if not pid:
        code = 99
        try:
            from mm_eval.config import functions

            functions._LOADED.clear()
            code = main(words)
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def test_scoring_says_what_to_type_and_does_it(tmp_path: Path, cli: Callable[..., Ran], capsys: Any) -> None:
    ran, mark = own_run(tmp_path, cli)
    capsys.readouterr()
    assert main(["score", str(ran.folder), "--bootstrap_iters", "7"]) == 2
    typed = f"mm-eval score {ran.folder} --bootstrap_iters 7 --include_path {tmp_path / 'own'}"
    assert capsys.readouterr().err.rstrip().endswith(typed) and not mark.exists()
    assert main(typed.split()[1:]) == 0


def test_a_number_of_own_code_is_reported_and_compared_only_where_that_code_is_named(
    tmp_path: Path, cli: Callable[..., Ran], capsys: Any
) -> None:
    ran, _ = own_run(tmp_path, cli)
    capsys.readouterr()
    assert main(["report", str(ran.folder), "--format", "csv"]) == 0
    assert "own_task" in capsys.readouterr().out
    assert main(["compare", str(ran.folder), str(ran.folder)]) == 2
    assert "points can't be compared: its aggregation is code of the task's own" in capsys.readouterr().err
    assert main(["compare", str(ran.folder), str(ran.folder), "--include_path", str(tmp_path / "own")]) == 0


# Files


def test_only_regular_files_inside_are_opened(tmp_path: Path) -> None:
    folder, outside = tmp_path / "run", tmp_path / "secret"
    (folder / "sub").mkdir(parents=True)
    outside.write_bytes(SECRET)
    (folder / "good").write_bytes(b"1\n22\n333")
    (folder / "sub" / "inner").symlink_to("../good")
    (folder / "out").symlink_to(outside)
    (folder / "round").symlink_to("round")
    (folder / "device").symlink_to("/dev/zero")
    (folder / "folder").symlink_to(tmp_path)
    os.mkfifo(folder / "pipe")
    assert read_bytes(folder, folder / "sub" / "inner") == b"1\n22\n333"
    for name in ("out", "round", "device", "pipe", "sub", "folder/secret", "missing", "x" * 300, "a\0b"):
        with pytest.raises(OSError):
            open_regular(folder, folder / name)
    with pytest.raises(OSError, match="more than a run writes"):
        read_bytes(folder, folder / "good", most=3)
    assert list(lines_of(folder, folder / "good", most=3)) == [(0, b"1\n"), (2, b"22\n"), (5, None)]


def test_values_may_lie_so_deep_and_no_deeper() -> None:
    assert json_value("[" * DEPTH + "]" * DEPTH)
    for depth in (DEPTH + 1, 5_000, 100_000):
        for text in ("[" * depth + "]" * depth, '{"a":' * depth + "1" + "}" * depth):
            with pytest.raises(ValueError, match="deep"):
                json_value(text)
    with pytest.raises(ValueError):
        json_value("[" * 100_000)
    assert json_value("[" + ",".join(["[]"] * 10_000) + "]")


def test_a_journal_line_without_end_or_too_deep_costs_that_line(tmp_path: Path) -> None:
    (tmp_path / "journal").mkdir()
    good = {"v": 1, "kind": "answer", "key": "k", "slots": [["t", 0, 0, 0]], "output": {"text": "yes"}}
    deep: Any = []
    for _ in range(300):
        deep = [deep]
    lines = [
        b"[" * 100_000 + b"\n",
        encode({**good, "key": "d", "more": deep}),
        encode({**good, "slots": 3}),
        encode(good),
    ]
    (tmp_path / "journal" / "a.jsonl").write_bytes(b"".join(lines))
    state = read_journal(tmp_path)
    assert state.damaged == 3 and list(state.answers) == ["k"]


@pytest.mark.full
def test_writing_into_a_folder_follows_no_link_out_of_it(tmp_path: Path, recorded: Path, capsys: Any) -> None:
    """`score` takes the lock, mends torn journals and writes samples: none of it may reach a file outside."""
    outside = tmp_path / "outside"
    for place in ("lock", "journal/a.jsonl", "journal", "samples", "media"):
        folder = tmp_path / "run"
        shutil.rmtree(folder, ignore_errors=True)
        shutil.rmtree(outside, ignore_errors=True)
        outside.mkdir()
        (outside / "a.jsonl").write_bytes(SECRET)
        shutil.copytree(recorded, folder)
        there, is_file = folder / place, "." in place or place == "lock"
        if there.is_dir():
            shutil.rmtree(there)
        there.unlink(missing_ok=True)
        there.symlink_to(outside / "a.jsonl" if is_file else outside)
        for verb in ("score", "report"):
            assert main([verb, str(folder)]) in (0, 2, 3), place
        assert [file.name for file in outside.iterdir()] == ["a.jsonl"], place
        assert (outside / "a.jsonl").read_bytes() == SECRET, place


def test_a_torn_tail_is_not_moved_through_a_link(tmp_path: Path) -> None:
    from mm_eval.engine.journal import mend_torn_tails

    (tmp_path / "run" / "journal").mkdir(parents=True)
    (tmp_path / "secret").write_bytes(SECRET)
    (tmp_path / "run" / "journal" / "a.jsonl").write_bytes(b"torn")
    (tmp_path / "run" / "journal" / "a.torn").symlink_to(tmp_path / "secret")
    mend_torn_tails(tmp_path / "run")
    assert (tmp_path / "secret").read_bytes() == SECRET


@pytest.mark.parametrize("way", few(["link", "name", "pack"], "link"))
def test_no_export_embeds_a_file_from_outside(way: str, tmp_path: Path, recorded: Path) -> None:
    folder, secret = tmp_path / "run", tmp_path / "outside_photo.jpg"
    shutil.copytree(recorded, folder)
    secret.write_bytes(SECRET)
    digest = "ab" * 32
    path = folder / "samples" / "mme.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    named = {"link": digest, "name": "../outside_photo", "pack": digest}[way]
    for row in rows:
        row["images"] = [named]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "media" / "ab").mkdir(parents=True, exist_ok=True)
    (folder / "media" / "thumbnails.jsonl").unlink(missing_ok=True)
    if way == "link":
        (folder / "media" / "ab" / f"{digest}.jpg").symlink_to(secret)
    elif way == "name":
        (folder / "media" / "..").resolve()
        (folder / "media" / ".." / ".." / "outside_photo.jpg").resolve(strict=True)
    else:
        (folder / "media" / "thumbnails.jsonl").symlink_to(secret)
    for verb in ("inspect", "report", "bundle"):
        main(words_of(verb, folder, recorded, tmp_path / f"out-{verb}"))
    spelled = (SECRET, base64.b64encode(SECRET).rstrip(b"=")[:-1], b"outside_photo.jpg")
    written = [*tmp_path.glob("out-*/**/*"), folder / "report.html"]
    assert len([file for file in written if file.is_file()]) > 2
    for file in (file for file in written if file.is_file()):
        assert not any(text in file.read_bytes() for text in spelled), file
    with Media(folder) as media:
        assert media.content(named) is None and media.address(named, folder) is None and named not in media


# Everything else: mutations


ODD: list[Any] = [
    None,
    [],
    {},
    "",
    "x",
    -1,
    0,
    3.5,
    1e308,
    float("nan"),
    True,
    [[]],
    {"a": {}},
    "../../x",
    10**400,
    ["x"] * 3,
]


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    if len(path) == 100:
        return  # a part that an earlier change has put deep
    if isinstance(value, dict):
        for key, item in value.items():
            yield from _places(item, (*path, key))
    elif isinstance(value, list):
        for place, item in enumerate(value[:5]):
            yield from _places(item, (*path, place))


def _mutate_value(value: Any, draw: random.Random) -> Any:
    """The value with one to three of its parts replaced, removed or doubled."""
    for _ in range(draw.randint(1, 3)):
        places = list(_places(value))
        if not places:
            return copy.deepcopy(draw.choice(ODD))
        *way, last = draw.choice(places[: draw.choice((8, 40, 10**6))])
        inner = value
        for step in way:
            inner = inner[step]
        change = draw.random()
        if change < 0.25:
            del inner[last]
        elif change < 0.3:
            deep: Any = 1
            for _ in range(draw.choice((50, 400, 900))):
                deep = [deep]
            inner[last] = deep
        else:
            inner[last] = copy.deepcopy(draw.choice(ODD))
    return value


def mutate(folder: Path, draw: random.Random, outside: Path, changed_files: set[Path]) -> str:
    """Changes a file of a run folder that was not changed yet, and returns what was done."""
    files = sorted(path for path in folder.rglob("*") if path.is_file() and path.suffix in (".json", ".jsonl"))
    path = draw.choice([file for file in files if file not in changed_files and file.stat().st_size])
    changed_files.add(path)
    content, kind = (
        path.read_bytes(),
        draw.choice(("value",) * 12 + ("bytes", "cut", "empty", "deep", "pipe", "link", "folder")),
    )
    said = f"{kind} in {path.relative_to(folder)}"
    if kind == "value" and path.suffix == ".json":
        path.write_text(json.dumps(_mutate_value(json.loads(content), draw)))
    elif kind == "value":
        lines = content.splitlines()
        place = draw.randrange(len(lines))
        changed = _mutate_value(json.loads(lines[place]), draw)
        of_journal = path.parent.name == "journal" and isinstance(changed, dict)
        if of_journal:
            changed.pop("crc", None)
        try:
            lines[place] = encode(changed)[:-1] if of_journal else json.dumps(changed).encode()
        except (ValueError, RecursionError):
            lines[place] = b"{}"
        path.write_bytes(b"\n".join(lines) + b"\n")
    elif kind == "bytes":
        changed_bytes = bytearray(content)
        for _ in range(8):
            changed_bytes[draw.randrange(len(changed_bytes))] = draw.randrange(256)
        path.write_bytes(changed_bytes)
    elif kind == "cut":
        path.write_bytes(content[: draw.randrange(len(content))])
    elif kind in ("empty", "deep"):
        path.write_bytes(b"" if kind == "empty" else b"[" * 100_000)
    else:
        path.unlink()
        if kind == "pipe":
            os.mkfifo(path)
        elif kind == "link":
            path.symlink_to(draw.choice((outside, Path("/dev/zero"), path, folder)))
        else:
            path.mkdir()
    return said


def fuzz(count: int, seed: int, recorded: Path, tmp_path: Path, capsys: Any, verbs: dict[str, list[str]]) -> None:
    """Every mutation under one verb, in turn."""
    secret = tmp_path / "secret"
    secret.write_bytes(SECRET)
    for number in range(count):
        draw = random.Random(f"{seed} {number}")
        run, out = tmp_path / "run", tmp_path / "out"
        for each in (run, out):
            shutil.rmtree(each, ignore_errors=True)
        shutil.copytree(recorded, run)
        changed = set[Path]()
        said = [mutate(run, draw, secret, changed) for _ in range(draw.choice((1, 1, 1, 2)))]
        verb = list(verbs)[number % len(verbs)]
        capsys.readouterr()
        begun = time.process_time()
        try:
            code = main(words_of(verb, run, recorded, out))
        except BaseException as error:
            raise AssertionError(f"seed {seed} {number}: {verb} after {said}") from error
        captured = capsys.readouterr()
        where = f"seed {seed} {number}: {verb} after {said}: {captured.err}"
        ended_well_here = code in (0, 2, 3) and "Traceback" not in captured.err and time.process_time() - begun < 60
        assert ended_well_here, where
        assert code == 0 or captured.err.startswith("mm-eval: ") or captured.out or code == 3, where
    assert secret.read_bytes() == SECRET


@pytest.mark.full
def test_every_verb_ends_in_a_sentence_on_mutated_folders(recorded: Path, tmp_path: Path, capsys: Any) -> None:
    fuzz(66, 1, recorded, tmp_path, capsys, READING)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_every_verb_ends_in_a_sentence_on_a_thousand_mutated_folders(
    seed: int, recorded: Path, tmp_path: Path, capsys: Any
) -> None:
    fuzz(250, 100 + seed, recorded, tmp_path, capsys, EVERY)


@pytest.mark.parametrize("content", [b"", b"[" * 100_000, b'{"results": []}', b'{"results": {"mme": 3}, "run": {}}'])
@pytest.mark.parametrize("name", ["results.json", "run.json"])
def test_files_of_another_form_are_one_sentence(
    name: str, content: bytes, recorded: Path, tmp_path: Path, cli: Any
) -> None:
    run = tmp_path / "run"
    shutil.copytree(recorded, run)
    (run / name).write_bytes(content)
    for verb in ("table", "diagnose", "compare"):
        ran = cli(*words_of(verb, run, recorded, tmp_path / "out"))
        ended_well(ran)
        assert ran.code in (2, 3) and len(ran.err.splitlines()) == 1 and name in ran.err, (verb, ran.err)


@pytest.mark.parametrize(
    ("stated", "said"), few([(None, "states `format: 1`"), (True, "states `format: 1`"), (2, "newer")], at=[0, 2])
)
def test_a_folder_of_another_format_is_one_sentence_for_every_verb(
    stated: Any, said: str, recorded: Path, tmp_path: Path, cli: Any
) -> None:
    """Also where it is one of several, or a step of a training: no page leaves it out."""
    run, step = tmp_path / "run", tmp_path / "study" / "step-00000100"
    shutil.copytree(recorded, run)
    with edited(run / "run.json") as found:
        assert found.pop("format") == 1 and "v" not in found
        found |= {"v": 1} if stated is None else {"format": stated}
    shutil.copytree(run, step)
    (tmp_path / "out").mkdir()
    again = ["run", "--tasks", "mme", "--model", "dummy", "--sample", "--limit", "4", "--output_path", str(run)]
    every = [words_of(verb, run, recorded, tmp_path / "out") for verb in EVERY]
    every += [again, ["view", str(run)], ["report", str(step.parent)], ["report", str(run), str(recorded)]]
    every += [["plan", "--from", str(run), str(recorded)], ["compare", str(recorded), str(run), "--anytime"]]
    if stated is None:
        watch = ["watch", str(tmp_path / "out"), "--tasks", "mme", "--sample", "--once"]
        every += [[*watch, "--output_path", str(step.parent)]]
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for words in every:
        ran = cli(*words)
        assert ran.code == 2 and said in ran.err and "run.json" in ran.err, (words, ran.out, ran.err)
        assert len(ran.err.splitlines()) == 1, ran.err
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file() and path.name != "lock"}
    assert after == {path: content for path, content in before.items() if path.name != "lock"}


# view


def shown(folders: list[Path], tmp_path: Path) -> Callable[[str], tuple[int, str]]:
    """Asks the pages of `mm-eval view` without a server."""
    from starlette.testclient import TestClient

    from mm_eval.verbs.report.site.app import app_of
    from mm_eval.verbs.report.site.runs import Shown

    client = TestClient(
        app_of(Shown(folders, tmp_path / "pages"), "token", ("testserver",)), raise_server_exceptions=True
    )

    def get(path: str) -> tuple[int, str]:
        reply = client.get(f"/token/{path}")
        return reply.status_code, reply.text

    return get


def test_one_odd_run_takes_no_other_from_the_index(recorded: Path, tmp_path: Path) -> None:
    pytest.importorskip("httpx")
    folders = [recorded]
    for number in range(12):
        draw = random.Random(f"view {number}")
        folders.append(tmp_path / f"odd{number}")
        shutil.copytree(recorded, folders[-1])
        results = folders[-1] / "results.json"
        if number == 0:
            results.write_bytes(b"[" * 100_000)
        elif number == 1:
            results.unlink()
            os.mkfifo(results)
        else:
            results.write_text(json.dumps(_mutate_value(json.loads(results.read_text()), draw)))
    get = shown(folders, tmp_path)
    code, page = get("")
    assert code == 200 and "odd0" in page
    code, page = get(f"{recorded.name}/report.html")
    assert code == 200
    for folder in folders[1:]:
        assert get(f"{folder.name}/report.html")[0] in (200, 500), folder


def test_a_row_number_of_5000_digits_is_not_found(recorded: Path, tmp_path: Path) -> None:
    pytest.importorskip("httpx")
    get = shown([recorded], tmp_path)
    for number in ("9" * 5_000, "9" * 300, "-1", "1e3", "%32%30%30", "٣"):
        assert get(f"{recorded.name}/rows/{number}.js")[0] == 404


@pytest.mark.full
@pytest.mark.parametrize("number", few(["TERM", "HUP", "INT"], "TERM"))
def test_a_server_that_is_ended_leaves_no_pages(number: str, recorded: Path, tmp_path: Path) -> None:
    import signal

    command = [sys.executable, "-u", "-m", "mm_eval", "view", str(recorded)]
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    with child(command, stdout=subprocess.PIPE, text=True, env=environment) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split(" at ")[1].strip()
        with urllib.request.urlopen(f"{address}{recorded.name}/report.html", timeout=HANGS) as reply:
            assert reply.status == 200
        # A page that takes longer is announced first.
        wait_until(lambda: list(tmp_path.glob("mm-eval-view-*/*")), "no page was written")
        server.send_signal(getattr(signal, f"SIG{number}"))
        assert server.wait(HANGS) == 0
    assert not list(tmp_path.glob("mm-eval-view-*"))


# Folders and their names


def test_new_folders_are_synced_in_their_parents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    synced: list[Path] = []
    monkeypatch.setattr("mm_eval.values.files.sync_folder", synced.append)
    make_folder(tmp_path / "deep" / "er" / "run")
    assert synced == [tmp_path, tmp_path / "deep", tmp_path / "deep" / "er"]
    make_folder(tmp_path / "deep" / "er" / "run")
    assert len(synced) == 3


@pytest.mark.parametrize("name", ["x" * 300, "..", ".", "é" * 200])
def test_an_export_of_a_model_with_any_name_stays_in_its_folder(
    name: str, recorded: Path, tmp_path: Path, cli: Any
) -> None:
    run, out = tmp_path / "deep" / "run", tmp_path / "deep" / "out"
    shutil.copytree(recorded, run)
    record = json.loads((run / "run.json").read_text())
    record["request"]["name"] = name
    (run / "run.json").write_text(json.dumps(record))
    before = set(tmp_path.rglob("*"))
    for kind in ("lm_eval", "lmms_eval", "inspect", "eval_results"):
        ran = cli("report", run, "--format", kind, "--output", out / kind)
        assert ran.code == 0, ran.err
    assert all(path.is_relative_to(out) or path in before for path in tmp_path.rglob("*"))


def test_the_folder_of_a_release_stands_for_its_runs(recorded: Path, tmp_path: Path, cli: Any) -> None:
    for name in ("a", "b"):
        shutil.copytree(recorded, tmp_path / "release" / name)
    (tmp_path / "release" / "release.html").write_text("")
    one, every = (
        cli("report", *each, "--format", "md")
        for each in ([tmp_path / "release"], [tmp_path / "release" / n for n in "ab"])
    )
    assert one.code == 0 and one.out == every.out
    assert cli("compare", tmp_path / "release").code == 0
    assert "there is no such folder" in cli("report", tmp_path / "nowhere").err


def test_what_a_folder_is_damaged_with_stays_as_it_is() -> None:
    before = repr(ODD)
    for seed in range(200):
        _mutate_value({"a": [1, {"b": 2}], "c": {"d": [3]}}, random.Random(seed))
    assert repr(ODD) == before


@pytest.mark.parametrize("part", few(["", "run.json", "results.json", "samples", "journal"], at=[0, 4]))
@pytest.mark.parametrize("circle", [1, 2])
def test_a_circle_of_links_takes_no_other_run_from_the_index(
    recorded: Path, tmp_path: Path, part: str, circle: int
) -> None:
    """A link to itself, or two that name each other, where a run folder or a part of it was, while the runs are viewed."""
    from mm_eval.cli.folders import run_folders
    from mm_eval.verbs.report.site.runs import Shown

    runs = tmp_path / "runs"
    for name in ("first", "second", "third"):
        shutil.copytree(recorded, runs / name)
    folders = list(map(Path, run_folders([str(runs)])))
    shown = Shown(folders, tmp_path / "pages", find=lambda: list(map(Path, run_folders([str(runs)]))))
    assert "second" in shown.index()
    broken = runs / "second" / part if part else runs / "second"
    (shutil.rmtree if broken.is_dir() else os.unlink)(broken)
    target = broken if circle == 1 else broken.with_name("the-other-link")
    broken.symlink_to(target)
    if circle == 2:
        target.symlink_to(broken)
    page = shown.index()
    assert "first" in page and "third" in page
    shutil.copytree(recorded, runs / "later")
    assert "later" in shown.index(), "runs that begin later are still found"
    for run in shown.runs.values():
        if run.folder.name != "second":
            assert "".join(shown.run_page(run))


@pytest.mark.parametrize("verb", READING)
def test_a_circle_of_links_in_place_of_a_run_folder(
    verb: str, recorded: Path, tmp_path: Path, cli: Callable[..., Ran]
) -> None:
    run = tmp_path / "circle"
    run.symlink_to(run)
    ended_well(cli(*words_of(verb, run, recorded, tmp_path / "out")))
