"""Workers give the bytes of one process, and either goes on where the other stopped."""

import json
import signal
from collections.abc import Callable
from typing import Any

TINY = ("--model", "tiny-llava", "--limit", "40")


def test_generation_and_log_likelihoods_have_the_bytes_of_one_process(start: Callable[..., Any]) -> None:
    tasks = ("--tasks", "mme,seedbench,seedbench_ppl", *TINY, "--batch_size", "1")
    one = start(*tasks, workers=0, name="one")
    one.end()
    for workers in (1, 2):
        fleet = start(*tasks, workers=workers, name=f"fleet{workers}")
        fleet.end()
        assert fleet.content() == one.content()
        assert fleet.results["run"]["workers"] == {"CPU": workers}
    again = start(*tasks, workers=2, name="fleet2")
    assert "nothing was requested" in again.end()


def test_the_cut_into_blocks_moves_batched_log_likelihoods_by_rounding_only(start: Callable[..., Any]) -> None:
    tasks = ("--tasks", "mme,seedbench_ppl", *TINY)
    one, fleet = start(*tasks, workers=0, name="one"), start(*tasks, workers=2, name="fleet")
    one.end(), fleet.end()
    first, second = one.content(), fleet.content()
    assert first["results"] == second["results"] and first["mme.jsonl"] == second["mme.jsonl"]
    for line, other in zip(
        first["seedbench_ppl.jsonl"].splitlines(), second["seedbench_ppl.jsonl"].splitlines(), strict=True
    ):
        for (a, greedy), (b, also) in zip(json.loads(line)["resps"], json.loads(other)["resps"], strict=True):
            assert abs(a - b) < 1e-4 and greedy == also


def test_a_run_begun_by_one_executor_is_finished_by_the_other(start: Callable[..., Any]) -> None:
    tasks = ("--tasks", "mme,seedbench", "--limit", "100")
    whole = start(*tasks, workers=0, name="whole")
    whole.end()
    for first, then in ((2, 0), (0, 2)):
        name = f"from{first}"
        begun = start(*tasks, workers=first, name=name, seconds=0.02)
        begun.wait_for(40)
        begun.process.send_signal(signal.SIGINT)
        begun.end(130)
        kept = len({tuple(map(str, row["slots"][0])) for row in begun.answers()})
        assert 40 <= kept < 200
        last = start(*tasks, workers=then, name=name)
        assert "resumed" in last.end()
        assert len(last.noted("ask")) == 200 - kept and last.content() == whole.content()
