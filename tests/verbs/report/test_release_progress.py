"""The view over the models of a release: a line a model on a terminal, a line a minute elsewhere."""

import io
import sys

from mm_eval.verbs.report.release.progress import ReleaseProgress, clock


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def view(stream: io.StringIO) -> tuple[ReleaseProgress, list[float]]:
    time = [100.0]
    return ReleaseProgress(["A", "B", "C"], stream, lambda: time[0]), time


def events(progress: ReleaseProgress, time: list[float]) -> None:
    """A has answered 30 of 120 in 10 s, 2 of them failed, for 31 cents; B loads; C waits."""
    progress.take("A", "start", ["answering", 120])
    progress.take("B", "phase", ["model"])
    time[0] += 10
    progress.take("A", "tick", [28, 2, 0.31])


def test_a_line_a_model_with_rate_time_left_failures_and_cost() -> None:
    stream = Terminal()
    progress, time = view(stream)
    events(progress, time)
    progress.draw()
    lines = stream.getvalue().replace("\x1b[K", "").replace("\x1b[J", "").splitlines()
    assert lines == [
        "A  answering 30/120 25%, 3.0/s, 0:30 left, 2 failed, $0.31",
        "B  loading model",
        "C  waiting",
        "0 of 3 models done, 3.0/s, at least 0:30 left, 2 failed, $0.31",
    ]
    stream.truncate(0)
    progress.draw()
    assert stream.getvalue() == "", "not again at once"
    time[0] += 1
    for name, code, numbers in (("A", 3, True), ("B", 3, False), ("C", 130, True)):
        progress.ended(name, code, numbers)
    progress.say("B: a message \x1b[2J")
    progress.draw()
    said = stream.getvalue()
    assert "\x1b[4A\x1b[J" in said and "B: a message \\x1b[2J\n" in said, "the message stands above, made safe"
    assert "A  done in part, 2 failed" in said and "B  no scores" in said and "C  interrupted" in said
    assert "3 of 3 models done, 2 failed, $0.31" in said


def test_a_line_a_minute_where_there_is_no_terminal() -> None:
    stream = io.StringIO()
    progress, time = view(stream)
    events(progress, time)
    progress.draw()
    assert stream.getvalue() == ""
    time[0] += 55
    progress.draw()
    progress.draw(last=True)
    [line] = stream.getvalue().splitlines()
    assert line.startswith("mm-eval: 0 of 3 models done, ") and "A answering 25%" in line and "B loading" in line
    assert "\x1b" not in line and "C waiting" not in line


def of_release(stream: io.StringIO, at_a_time: int) -> tuple[ReleaseProgress, list[float]]:
    """A has answered 60 of its 120 requests in 60 s, all of mme; B, which needs 240, and C, which is finished, wait."""
    time = [100.0]
    progress = ReleaseProgress(["A", "B", "C"], stream, lambda: time[0], {"A": 120, "B": 240, "C": 0}, at_a_time)
    progress.take("A", "tasks", [{"pope": 0, "mme": 60, "seedbench": 60}])
    progress.take("A", "start", ["answering", 120])
    for _ in range(3):
        time[0] += 20
        progress.take("A", "tick", [20, 0, None])
    return progress, time


def test_models_in_turn_share_a_line_with_the_task_and_the_time_left_of_all(monkeypatch) -> None:
    stream = Terminal()
    monkeypatch.setattr(sys, "stderr", stream)
    progress, time = of_release(stream, at_a_time=1)
    progress.draw()
    assert stream.getvalue() == "\x1b[2K\rA (1 of 3): seedbench (3 of 3) 50%, 1:00 left, all about 5:00"
    progress.take("A", "scored", ["mme", "1213.00"])
    assert stream.getvalue().endswith("\x1b[2K\rmm-eval: A: mme 1213.00\n")
    progress.take("A", "start", ["scoring", 120])
    progress.take("A", "tick", [120, 0, None])
    progress.take("A", "phase", ["report"])
    time[0] += 1
    progress.draw()
    assert stream.getvalue().endswith("A (1 of 3): loading report, all about 4:00"), "no time that has passed is left"


def test_models_side_by_side_share_the_time() -> None:
    stream = Terminal()
    progress, _ = of_release(stream, at_a_time=2)
    progress.draw()
    assert "0 of 3 models done, 1.0/s, about 4:00 left" in stream.getvalue(), "the longest model decides"


def test_the_scores_of_a_minute_are_one_line_of_a_log() -> None:
    stream = io.StringIO()
    progress, time = of_release(stream, at_a_time=1)
    for name, score in (("mme", "1213.00"), ("seedbench", "52.1"), ("mme", "1213.00"), ("a" * 50, "1.0")):
        progress.take("A", "scored", [name, score])
    time[0] += 10
    progress.draw()
    long = f"mm-eval: A: {'a' * 50} 1.0"
    head = "mm-eval: 0 of 3 models done, about 5:30 left: A seedbench (3 of 3) 50%, 1:30 left"
    assert stream.getvalue().splitlines() == ["mm-eval: A: mme 1213.00; seedbench 52.1", long, head]
    progress.take("A", "scored", ["seedbench", "52.0"])
    progress.ended("A", 0, True)
    assert stream.getvalue().splitlines()[-1] == "mm-eval: A: seedbench 52.0", "another one at the end is printed"
    time[0] += 60
    progress.draw()
    assert stream.getvalue().splitlines()[-1] == "mm-eval: 1 of 3 models done, about 4:00 left"


def test_more_models_than_lines(monkeypatch) -> None:
    monkeypatch.setattr("shutil.get_terminal_size", lambda: (40, 8))
    stream = Terminal()
    progress = ReleaseProgress([f"model-{number}" for number in range(20)], stream)
    progress.take("model-17", "start", ["answering", 10])
    progress.draw()
    lines = stream.getvalue().splitlines()
    assert len(lines) <= 8 and any("model-17" in line for line in lines), "those that run are shown"
    assert all(len(line) < 50 for line in lines)


def test_clock() -> None:
    assert [clock(each) for each in (None, 0, 95, 7295)] == ["?", "0:00", "1:35", "2:01:35"]
