"""`mm-eval same` from the command line: what is asked, what is kept, and how it ends."""

import json
import re
from pathlib import Path

import pytest

from mm_eval.cli import main
from mm_eval.prepare import prepare
from mm_eval.request import RunRequest
from mm_eval.verbs.same.probe import docs as probe
from mm_eval.verbs.same.sides import Word, probe_files
from tests.verbs.same.sided import MODEL, TASK

DOCS = 150


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with a task of 150 short questions, and a model."""
    folder = tmp_path_factory.mktemp("same")
    (folder / "served.py").write_text(MODEL)
    (folder / "counted.yaml").write_text(TASK)
    rows = [{"question": f"Question {n}?", "answer": f"the answer is {n}"} for n in range(DOCS)]
    (folder / "docs.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return folder


@pytest.fixture
def same(made, tmp_path, capsys):
    """Runs the command on two sides of the model, or other words; gives its exit code and what it printed."""

    def run(*words: str, code: int, own: bool = True, tasks: bool = True):
        model = f"{made / 'served.py'}:Served"
        sides = [f"{model}{f',{word}' if word else ''}" for word in words[:2]] if own else list(words[:2])
        options = ["--tasks", str(made / "counted.yaml"), "--no_probe"] if tasks else []
        output = tmp_path / "out"
        found = main(["same", *sides, *options, "--output_path", str(output), *words[2:]])
        said = capsys.readouterr()
        assert found == code, said
        return said

    return run


@pytest.mark.parametrize(
    ("second", "code", "level"),
    [
        ("", 0, None),
        ("change=other_text,share=0.3", 1, "texts"),
        ("change=other_tokens,share=0.3", 1, "tokens"),
        ("change=other_places,share=0.3", 1, "logprobs"),
        ("change=sampled,share=0.6", 1, "steadiness"),
        ("change=wrong,share=0.3", 1, "accuracy"),
        ("change=fails,share=0.5", 3, None),
    ],
)
def test_the_exit_code_is_the_verdict(same, tmp_path, second, code, level):
    said = same("", second, "--format", "json", code=code)
    values = json.loads(said.out)
    assert values == json.loads((tmp_path / "out" / "same.json").read_text())
    assert values["verdict"] == {0: "same", 1: "differs", 3: "not decided"}[code]
    differing = [each["level"] for each in values["levels"] if each["state"] == "differs"]
    assert level is None and not differing or level in differing
    assert (tmp_path / "out" / "same.html").is_file() and [s["times_asked"] for s in values["sides"]] == [2, 2]


def test_a_side_that_answers_nothing_is_not_decided(same):
    said = same("", "change=fails", code=3)
    assert "NOT DECIDED: nothing was answered by" in said.err


def test_a_server_that_is_down_is_not_decided(made, tmp_path, capsys):
    down = "openai,base_url=http://127.0.0.1:9/v1,model=x,max_outage=0,max_retries=0"
    words = ["same", f"{made / 'served.py'}:Served", down, "--no_probe", "--tasks", str(made / "counted.yaml")]
    assert main([*words, "--limit", "3", "--output_path", str(tmp_path / "out")]) == 3
    said = capsys.readouterr()
    assert "NOT DECIDED: nothing was answered by openai x" in said.err and "Traceback" not in said.err


def test_a_killed_command_asks_only_what_is_owed(same, tmp_path, monkeypatch):
    log = tmp_path / "asked.txt"
    monkeypatch.setenv("STOP_AFTER", "40")
    same(f"log={log}", "", code=130)
    assert len(log.read_text().splitlines()) == 40
    monkeypatch.delenv("STOP_AFTER")
    same(f"log={log}", "", code=0)
    asked = log.read_text().splitlines()
    assert len(asked) == 2 * DOCS + 1 and len(set(asked)) == 2 * DOCS  # the one that was in flight is asked again


def test_a_repeated_command_asks_nothing(same, tmp_path):
    log = tmp_path / "asked.txt"
    words = (f"log={log}", "name=m-1", "--format", "json")
    first = same(*words, code=0)
    count = len(log.read_text().splitlines())
    again = same(*words, code=0)
    assert first.out == again.out and len(log.read_text().splitlines()) == count == 2 * DOCS
    repeats = [line.split()[2] for line in log.read_text().splitlines()]
    assert repeats == ["0"] * DOCS + ["1"] * DOCS  # a question comes again after all others


def test_run_folders_are_sides(same, made, tmp_path):
    same("", "change=other_text,share=0.3", code=1)
    runs = [str(tmp_path / "out" / label) for label in "ab"]
    log = tmp_path / "log.txt"
    code = main(["same", *runs, "--output_path", str(tmp_path / "runs"), "--include_path", str(made)])
    assert code == 1
    model = f"{made / 'served.py'}:Served,log={log}"
    other = tmp_path / "asked"
    assert main(["same", runs[0], model, "--output_path", str(other), "--include_path", str(made)]) == 0
    assert len(log.read_text().splitlines()) == 2 * DOCS and not (other / "a").exists()
    few = tmp_path / "few"
    assert main(["same", runs[0], model, "--docs", "20", "--output_path", str(few), "--include_path", str(made)]) == 3
    assert json.loads((few / "same.json").read_text())["documents"] == 20


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nosuchmodel", "dummy"], r"nosuchmodel.*unknown model|nosuchmodel"),
        (["{folder}", "dummy"], r"is a folder without run.json"),
        (["runs/nothing", "dummy"], r"there is no folder 'runs/nothing'"),
        (["dummy,x", "dummy"], r"'x' where name=value is needed"),
        ([",a=1", "dummy"], r"no model is named"),
        (["dummy", "dummy", "--levels", "text"], r"there is no level 'text'.*texts"),
        (["dummy", "dummy", "--levels", ""], r"there is no level ''"),
        (["dummy", "dummy", "--difference", "0"], r"--difference is 0; a number of percent above 0|--difference"),
        (["dummy", "dummy", "--tolerance", "2"], r"--tolerance"),
        (["dummy", "dummy", "--no_probe"], r"nothing is asked: --no_probe needs --tasks"),
        (["dummy", "dummy", "--docs", "5"], r"--docs is of a recorded run"),
        (["dummy"], r"required: B"),
    ],
)
def test_a_wrong_command_ends_with_one_sentence(words, said, tmp_path, capsys):
    words = [word.format(folder=tmp_path) for word in words]
    assert main(["same", *words, "--output_path", str(tmp_path / "out")]) == 2
    error = capsys.readouterr().err
    assert re.search(said, error, re.DOTALL) and "Traceback" not in error
    assert not (tmp_path / "out").exists()


def test_tasks_of_a_recorded_run_are_its_own(same, tmp_path, capsys):
    same("", "", code=0)
    assert main(["same", str(tmp_path / "out" / "a"), "dummy", "--tasks", "mme"]) == 2
    assert "a recorded run has its own tasks" in capsys.readouterr().err


def test_words(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (Path("dummy")).mkdir()
    (Path("dummy") / "run.json").write_text("{}")
    assert Word.read("dummy").folder == Path("dummy") and Word.read("model:dummy").folder is None
    found = Word.read("openai,base_url=http://x:1/v1,model=a/b")
    assert (found.model, found.args) == ("openai", {"base_url": "http://x:1/v1", "model": "a/b"})
    assert Word.read("models/mine.py:Mine").model == "models/mine.py:Mine"


def test_the_probe_set_has_200_documents_of_the_stated_kinds_and_is_drawn_alike():
    tasks = prepare(RunRequest(probe_files(), model="dummy", output_path="unused")).tasks
    rows = [doc for task in tasks.values() for _, doc in task.docs.texts(range(len(task.docs)))]
    assert len(rows) == 200 and {row["kind"] for row in rows} == set(probe.REASONS)
    assert probe.short() == probe.short()
    shown = [probe.picture(shape) for row in rows for shape in row["pictures"]]
    sizes = {picture.size for picture in shown}
    assert len(sizes) >= 24 and min(map(min, sizes)) >= 32 and max(max(s) / min(s) for s in sizes) <= 8.1
    assert probe.picture([40, 40, "red"]).getpixel((20, 20)) == probe.COLOURS["red"]


def test_every_kind_takes_its_right_answer_and_no_other():
    for row in [*probe.short()["test"], *probe.reasoning()["test"], *probe.tools()["test"]]:
        assert probe.right(row, [f"It is {row['answer']}.", "no idea"]) == {"right": 0.5}, row
