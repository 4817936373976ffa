"""How far a run is, where the error stream is no terminal: plain lines now and then."""

import io
import sys

from mm_eval.cli import progress
from mm_eval.cli.progress import ProgressBar, clock


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
