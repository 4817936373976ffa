"""What a reader sees of a conversation: on the page of the run, and before any run with `mm-eval show --turns`."""

from collections.abc import Callable
from pathlib import Path

import pytest

from mm_eval import evaluate
from tests.recorded import in_page
from tests.rounds.talking import DOCS, Talker, write


def test_the_page_shows_each_turn_with_its_picture_and_tokens(tmp_path: Path) -> None:
    evaluate(write(tmp_path / "task"), Talker(), identity="talker", output_path=str(tmp_path / "run"))
    rows = in_page(tmp_path / "run" / "report.html", "rows")
    assert len(rows) == DOCS
    [turns] = rows[3]["n"]
    assert [turn["k"] for turn in turns] == [[10, 2], [20, 2], [30, 2], [40, 2]]
    assert "p" not in turns[0] and turns[1]["p"].startswith("[user]\nYou said")
    [digest] = turns[2]["i"]
    assert digest in in_page(tmp_path / "run" / "report.html", "media"), "the picture as it was shown"
    assert turns[3]["a"] == rows[3]["a"][0] and turns[3]["s"] >= 0


def test_the_pictures_of_later_turns_are_shown_after_a_kill(tmp_path: Path) -> None:
    """Those of turns that an earlier launch has asked are made again from the recorded answers."""
    task, folder = write(tmp_path / "task"), tmp_path / "run"
    evaluate(task, Talker(), identity="talker", output_path=str(folder))
    before = in_page(folder / "report.html", "media")
    for path in (folder / "media").glob("*"):
        path.unlink()
    for name in ("results.json", "finished.json", "report.html"):
        (folder / name).unlink(missing_ok=True)
    again = Talker()
    evaluate(task, again, identity="talker", output_path=str(folder))
    assert not again.asked and in_page(folder / "report.html", "media") == before


def test_show_turns_prints_the_conversation_with_a_scripted_model(tmp_path: Path, cli: Callable) -> None:
    task = write(tmp_path / "task")
    ran = cli("show", task, "--doc", "3", "--turns", "one", "two", "--model", "tiny-llava")
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert [line.strip("- ") for line in lines if line.startswith("----")] == [
        "turn 1, 1 picture in its prompt",
        "turn 2, 1 picture in its prompt",
        "turn 3, 2 pictures in its prompt",
        "turn 4, 2 pictures in its prompt",
        "end of the conversation, 4 answers: max_rounds",
    ]
    assert "assistant: one" in lines and "user: You said 'one'. Are you sure?" in lines
    assert "assistant: (answer 3)" in lines and any(line.startswith("picture 1: 4 x 4") for line in lines)
    assert "scored: '(answer 4)'" in lines


@pytest.mark.parametrize("words", [["--turns"], ["--turns", "a", "--html", "page.html"]])
def test_show_turns_of_a_task_of_one_turn_is_one_sentence(cli: Callable, words: list[str]) -> None:
    ran = cli("show", "mme", *words, "--model", "tiny-llava")
    assert ran.code == 2 and "--turns" in ran.err and "Traceback" not in ran.err
