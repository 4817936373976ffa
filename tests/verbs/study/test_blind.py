"""`--blind` and `mm-eval blind`: recorded, part of the run's identity, never ranked with a run that sees; the gain is paired."""

import json
import re
from pathlib import Path

import pytest

from mm_eval.cli import main
from mm_eval.config.task_config import TaskConfig
from mm_eval.engine.model import Model, ModelFacts, register_model
from mm_eval.results.recorded import RecordedRun
from mm_eval.values.types import Answer
from mm_eval.verbs.report.release.numbers import release_table
from mm_eval.verbs.report.release.text import as_markdown
from tests.recorded import in_page
from tests.rounds.talking import write

SEEN: dict[int, tuple[str, ...]] = {}
ASKED: list[int] = []


@register_model("sees")
class Sees(Model):
    """Right for four of five docs where it is shown what it was shown first, else it says no."""

    facts = ModelFacts(chat=True)

    def generate(self, instances):  # type: ignore[no-untyped-def]
        for instance in instances:
            ASKED.append(instance.doc_id)
            right = instance.image_digests and SEEN.setdefault(instance.doc_id, instance.image_digests)
            right = right == instance.image_digests and right and instance.doc_id % 5
            yield instance, Answer(str(instance.target) if right else "No")


@register_model("hears")
class Hears(Model):
    """Says yes to everything."""

    facts = ModelFacts(chat=True, hears=True)

    def generate(self, instances):  # type: ignore[no-untyped-def]
        for instance in instances:
            yield instance, Answer("Yes")


def run(folder: Path, *more: str) -> int:
    command = ["--tasks", "mme", "--sample", "--model", "sees", "--limit", "60", "--output_path", str(folder)]
    return main([*command, "--no_report", *more])


@pytest.mark.full
def test_the_gain_of_seeing_stands_beside_each_blind_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    assert run(folder) == 0
    ASKED.clear()
    capsys.readouterr()
    assert main(["blind", str(folder)]) == 0
    said = capsys.readouterr().out
    lines = {line.split("  ")[0]: line for line in said.splitlines()}
    assert re.search(r"blind +.+ +\+\d+\.\d\d ± \d+\.\d\d \* +<0\.001", lines["blind"]), said
    assert "gain of seeing" in said and "mme (mme_perception_score): the gain of seeing is +" in said
    [found] = json.loads((folder / "blind" / "blind.json").read_text())["models"]
    assert list(found["blocks"]) == ["seeing", "blind", "shuffled"] and found["baseline"] == "seeing"
    assert in_page(folder / "blind" / "blind.html", "data")["own"] == "seeing"
    asked = len(ASKED)
    assert 60 < asked <= 120
    assert main(["blind", str(folder)]) == 0
    assert len(ASKED) == asked  # nothing is asked twice
    assert main(["blind", str(folder), "--docs", "20"]) == 0
    assert len(ASKED) == asked
    for blind in (folder / "blind").glob("blind-*/run.json"):
        assert json.loads(blind.read_text())["spec"]["blind"] == "without"


def test_some_tasks_of_a_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    command = ["--tasks", "mme,pope", "--sample", "--model", "sees", "--limit", "6", "--output_path", str(folder)]
    assert main([*command, "--no_report"]) == 0
    capsys.readouterr()
    assert main(["blind", str(folder), "--tasks", "pope", "--format", "json"]) == 0
    [found] = json.loads(capsys.readouterr().out)["models"]
    assert {task for block in found["blocks"].values() for task in block["numbers"]} == {"pope"}


def test_a_blind_run_says_so_everywhere(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    seeing, blind = tmp_path / "seeing", tmp_path / "blind"
    assert run(seeing, "--name", "Big") == 0 and run(blind, "--name", "Big", "--blind") == 0
    said = capsys.readouterr().out
    assert "model: sees (blind: without pictures)" in said and "note: --blind: their pictures were left out" in said
    results = json.loads((blind / "results.json").read_text())
    assert results["run"]["blind"] == "without"
    assert "blind" not in json.loads((seeing / "run.json").read_text())["spec"]

    def keys(folder: Path) -> set[str]:
        lines = "".join(path.read_text() for path in folder.glob("journal/*.jsonl")).splitlines()
        return {json.loads(line)["key"] for line in lines}

    assert not keys(seeing) & keys(blind)
    table = release_table([RecordedRun.read(seeing), RecordedRun.read(blind)])
    assert table.columns == ["Big", "Big (blind: without pictures)"]
    ranks = {name: [row[name].rank for row in table.rows.values()] for name in table.columns}
    assert set(ranks["Big (blind: without pictures)"]) == {None} and not any(
        found.best for row in table.rows.values() for found in row.values()
    )
    assert "Big (blind: without pictures): blind: without pictures: not ranked with the others." in as_markdown(table)

    capsys.readouterr()
    assert run(blind) == 2  # the folder is that of a blind run
    assert 'blind was "without"' in capsys.readouterr().err
    assert main(["score", str(blind)]) == 0
    assert "(blind: without pictures)" in capsys.readouterr().out


def test_a_blind_run_matches_no_report(tmp_path: Path) -> None:
    assert run(tmp_path / "run", "--blind", "shuffled", "--protocol", "llava-1.5") == 0
    [row, *_] = json.loads((tmp_path / "run" / "results.json").read_text())["protocol"]["rows"]
    assert row["verdict"].startswith("not comparable")


@pytest.mark.parametrize(
    ("more", "said"),
    [(("--docs", "0"), "at least one document"), (("--tasks", "pope"), "'pope' is not a task of the run")],
)
def test_mistakes_are_said(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...], said: str
) -> None:
    assert run(tmp_path / "run") == 0
    assert main(["blind", str(tmp_path / "run"), *more]) == 2
    assert said in capsys.readouterr().err


def test_a_blind_run_has_no_blind_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path / "run", "--blind") == 0
    assert main(["blind", str(tmp_path / "run")]) == 2
    assert "the run was made with --blind" in capsys.readouterr().err
    assert run(tmp_path / "other", "--blind", "sometimes") == 2


def test_frames_of_videos_are_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["show", "mvbench_action_sequence", "--doc", "1", "--blind"]) == 0
    said = capsys.readouterr().out
    assert "of which 0 stand for pictures" in said and "blind: without pictures" in said


@pytest.mark.full
def test_where_all_docs_gain_alike_the_gain_has_an_exact_interval(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["--tasks", "mme", "--sample", "--limit", "4", "--output_path", str(tmp_path / "run"), "--no_report"]
    assert main(command) == 0
    capsys.readouterr()
    assert main(["blind", str(tmp_path / "run")]) == 0
    said = capsys.readouterr().out
    for over in ("of seeing", "over shuffled"):
        assert f"mme (mme_perception_score): no significant gain {over} with 4 documents (+" in said
    assert "no interval" not in said and "\n\n\n" not in said


def test_a_task_with_rounds_is_asked_without_pictures_alone(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Its function shows the doc's own pictures, so those of other docs can't stand in for them."""
    task, folder = write(tmp_path / "task", docs=4), tmp_path / "run"
    command = [
        "--tasks",
        task,
        "--model",
        "dummy",
        "--apply_chat_template",
        "--output_path",
        str(folder),
        "--no_report",
    ]
    assert main(command) == 0
    capsys.readouterr()
    assert main(["blind", str(folder), "--include_path", str(tmp_path / "task")]) == 0
    said = capsys.readouterr().out
    assert "no run with pictures of other documents: `rounds` gets the document's own pictures" in " ".join(
        said.split()
    )
    [found] = json.loads((folder / "blind" / "blind.json").read_text())["models"]
    assert list(found["blocks"]) == ["seeing", "blind"]


def test_a_blind_run_names_what_it_leaves_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "run"
    command = ["--sample", "--model", "hears", "--no_report", "--limit", "4"]
    assert main(["--tasks", "mmau_mini,mme", *command, "--output_path", str(folder)]) == 0
    capsys.readouterr()
    assert main(["blind", str(folder), "--tasks", "mmau_mini"]) == 0
    said = capsys.readouterr().out
    assert "run 'blind': the questions without sounds" in said and "with sounds of other documents" in said
    assert "run 'hearing': the questions with their own sounds" in said and "gain of hearing" in said
    assert "picture" not in said and "seeing" not in said, said
    assert main(["blind", str(folder), "--output_path", str(tmp_path / "both")]) == 0
    said = capsys.readouterr().out
    assert "the questions without pictures and sounds" in said and "run 'seeing and hearing'" in said
    assert (
        "mmau_mini (" in said and "no significant gain of hearing" in said and "no significant gain of seeing w" in said
    )
    found = in_page(tmp_path / "both" / "blind.html", "data")
    assert "What does seeing and hearing give" in json.dumps(found)

    alone = tmp_path / "alone"
    assert main(["--tasks", "mmau_mini", *command, "--blind", "--output_path", str(alone)]) == 0
    said = capsys.readouterr().out
    assert "(blind: without sounds)" in said and "note: --blind: their sounds were left out" in said
    assert json.loads((alone / "results.json").read_text())["run"]["blind_to"] == {"mmau_mini": "sounds"}
    [column] = release_table([RecordedRun.read(alone)]).columns
    assert column == "hears (blind: without sounds)"
    assert main(["show", "mmau_mini", "--model", "dummy", "--blind", "shuffled", "--sample"]) == 0
    assert "blind: with sounds of other documents" in capsys.readouterr().out


def test_sounds_of_doc_to_visual_are_sounds(tmp_path: Path) -> None:
    """As the audio tasks of lmms-eval have them."""
    from mm_eval.data.docs import Docs
    from mm_eval.prompt.task import PromptStyle, Task

    datasets = pytest.importorskip("datasets")

    def media(**columns: object) -> str:
        features = datasets.Features({"q": datasets.Value("string"), **columns})
        rows = datasets.Dataset.from_dict({name: [] for name in features}, features=features)
        config = TaskConfig.from_mapping({"task": "t", "dataset_path": "d", "test_split": "test", "doc_to_text": "q",
                                          "doc_to_visual": "x", "doc_to_target": "q"})  # fmt: skip
        return Task(config, Docs(rows)).media(PromptStyle())

    assert media(x=datasets.Audio(decode=False)) == "sounds" and media(x=datasets.Image(decode=False)) == "pictures"
    assert media(x=datasets.Audio(decode=False), y=datasets.Image(decode=False)) == "pictures and sounds"
    assert media() == "pictures", "a path in the data"
