"""How far a run is, where the error stream is no terminal: plain lines now and then."""

import io
import sys
import threading
import time

from mm_eval.cli import progress
from mm_eval.cli.progress import ProgressBar, _Lines, clock


def test_a_log_gets_a_plain_line_every_half_minute_with_rate_and_time_left(monkeypatch) -> None:
    now, stream = [0.0], io.StringIO()
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(sys, "stderr", stream)
    shown = ProgressBar()
    shown.start("answering", 1000)
    for place in range(10):
        now[0] += 10
        shown.tick(99, 1 if place == 4 else 0)
    shown.stop()
    assert stream.getvalue().splitlines() == [
        "mm-eval: answering: 297 of 1,000 (29%), 9.9/s, 1:11 left",
        "mm-eval: answering: 595 of 1,000 (59%), 9.9/s, 0:41 left, 1 failed",
        "mm-eval: answering: 892 of 1,000 (89%), 9.9/s, 0:11 left, 1 failed",
        "mm-eval: answering: 991 of 1,000 in 1:40, 9.9/s, 1 failed",
    ]


def test_a_short_phase_leaves_no_line(monkeypatch) -> None:
    monkeypatch.setattr(sys, "stderr", stream := io.StringIO())
    shown = ProgressBar()
    shown.start("answering", 3)
    shown.tick(3, 0)
    shown.stop()
    assert stream.getvalue() == "" and clock(3723) == "1:02:03"


def test_a_log_says_that_nothing_comes_and_less_and_less_often(monkeypatch) -> None:
    """A server that takes requests and never replies left a log empty for the ten minutes of a request's time limit."""
    now, stream = [0.0], io.StringIO()
    monkeypatch.setattr(progress.time, "monotonic", lambda: now[0])
    lines = _Lines("answering", 12, stream)
    for _ in range(10):
        now[0] += 40
        lines.look()
    lines.update(3)
    now[0] += 70
    assert lines.look()
    lines.close()
    assert not lines.look()
    assert [line.partition("answering: ")[2] for line in stream.getvalue().splitlines()] == [
        "0 of 12, no answer for 1:20",
        "0 of 12, no answer for 2:40",
        "0 of 12, no answer for 5:20",
        "3 of 12 (25%), 0.4/min, 20:00 left",
        "3 of 12, no answer for 1:10",
        "3 of 12 in 7:50, 0.4/min",
    ]


def test_a_phase_looks_for_itself_until_it_is_dropped(monkeypatch) -> None:
    monkeypatch.setattr(progress, "SILENCE", 0.12)
    before, stream = threading.active_count(), io.StringIO()
    shown = _Lines("answering", 12, stream)
    ends = time.monotonic() + 20
    while not stream.getvalue() and time.monotonic() < ends:
        time.sleep(0.01)
    assert "no answer for 0:00" in stream.getvalue()
    del shown
    while threading.active_count() > before and time.monotonic() < ends:
        time.sleep(0.01)
    assert threading.active_count() <= before
