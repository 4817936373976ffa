"""The sentences below the table: counts of one are in the singular."""

from types import SimpleNamespace
from typing import Any

import pytest

from mm_eval.engine.journal import JournalState
from mm_eval.engine.outcome import Outcome
from mm_eval.judge.judging import Judging
from mm_eval.results.run_table import merged_notes
from mm_eval.run_page import notes_of as page_notes
from mm_eval.scoring.task_scores import Scores, TaskScores, Ungraded
from mm_eval.values.types import MetricKey, Number
from mm_eval.write_run import notes_of, problems_of
from tests.sets import each_of


def notes(outcome: Outcome, damaged: int = 0, in_part: dict[str, list[int]] | None = None) -> list[str]:
    request = SimpleNamespace(blind=None, use_cache=None)
    parts = {"judging": Judging([]), "imported": None, "submissions": None}
    opened: Any = SimpleNamespace(notes=[], in_part=in_part or {}, request=request, **parts)
    return notes_of(opened, JournalState(damaged=damaged), outcome)


@each_of(
    ("outcome", "said"),
    [
        (Outcome(shared=1, requested=1), "1 request equals another one of this run and was not repeated"),
        (Outcome(shared=2, requested=1), "2 requests equal another one of this run and were not repeated"),
        (Outcome(reused=1), "1 answer was in the run folder already; nothing was requested"),
        (Outcome(reused=2), "all 2 answers were in the run folder already; nothing was requested"),
        (Outcome(reused=1, requested=2), "resumed an earlier launch: 1 answer was there, 2 were requested"),
        (Outcome(reused=2, requested=1), "resumed an earlier launch: 2 answers were there, 1 was requested"),
        (Outcome(cached=1), "1 answer came from earlier runs"),
        (
            Outcome(verdicts=Outcome(reused=1, requested=2, shared=1)),
            "verdicts: 1 was there already, 2 were requested, 1 is equal to another one",
        ),
        (Outcome(verdicts=Outcome()), "verdicts: none was needed"),
    ],
)
def test_what_became_of_the_requests(outcome: Outcome, said: str) -> None:
    assert notes(outcome) == [said]


def test_damaged_lines_and_parts_of_the_data() -> None:
    [damaged] = notes(Outcome(), damaged=1)
    assert damaged == "1 damaged journal line was skipped; `mm-eval run` requests their answers again"
    [part] = notes(Outcome(), in_part={"mme": [1, 60]})
    assert part == "only 1 of 60 documents of mme was requested; these scores are not benchmark results"
    [parts] = notes(Outcome(), in_part={name: [2, 60] for name in "abcde"})
    assert (
        parts.startswith("only 2 of 60 documents of a, ")
        and "2 of 60 documents of d and of 1 more task were requested" in parts
    )


@pytest.mark.parametrize(
    ("count", "failed", "not_requested"),
    [(1, "is", "has no answer yet and is"), (2, "are", "have no answer yet and are")],
)
def test_docs_without_an_answer(count: int, failed: str, not_requested: str) -> None:
    found = problems_of({"t": TaskScores(n=60, failed=count, not_requested=count)}, Outcome())
    assert found[0] == f"t: {count} of 60 documents failed and {failed} left out of all scores:"
    assert found[1].startswith(f"t: {count} of 60 documents {not_requested} left out of all scores. Run the same")


@pytest.mark.parametrize(("others", "said"), [((), "a has"), (("b", "c"), "a and 2 more have")])
def test_numbers_without_a_value_are_one_line(others: tuple[str, ...], said: str) -> None:
    numbers = [Number(MetricKey(name, "none"), None) for name in ("a", *others)]
    assert problems_of({"t": TaskScores(n=3, numbers=numbers)}, Outcome()) == [f"t: {said} no value (see the notes)"]


def test_a_note_on_several_numbers_is_one_line() -> None:
    keys = ["a,none", "b,none", "c,none"]
    found = ["a,none: few documents", "cut: all", "b,none: few documents", "c,none: none", "no colon"]
    said = ["a and 1 more: few documents", "cut: all", "c: none", "no colon"]
    assert list(merged_notes(found, keys)) == said


def test_a_page_says_notes_once_and_bounds_of_points_as_points() -> None:
    """A page said that a score would be 10000.0: its number had no value, so nothing showed that it is in points."""
    rows = {
        name: Scores(alias=name, n=3, numbers=[Number(MetricKey("judge_score", "none"), None)], notes=["cut"])
        for name in ("a", "b")
    }
    rows["a"].ungraded["judge"] = Ungraded(2, [0.0, 100.0])
    results = SimpleNamespace(rows=rows, protocol=None, main_numbers=lambda name: rows[name].numbers)
    run = SimpleNamespace(results=results, spec={"tasks": {"a": {}, "b": {}}})
    ends = "0.00 with the lowest verdict on them, 100.00 with the highest"
    assert list(page_notes(run)) == [
        f"a: 2 documents have no verdict and are left out. The score would be {ends}.",
        "a, b: cut",
    ]
