"""The view over the models of a release: a line a model on a terminal, a line a minute elsewhere."""

import io

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
    assert line.startswith("mm-eval: 0 of 3 models done, ") and "A answering 30/120 25%" in line and "B loading" in line
    assert "\x1b" not in line and "C waiting" not in line


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
