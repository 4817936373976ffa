"""The lines below a run's table."""

from pathlib import Path

from mm_eval.results.run_table import brief_warnings, render
from mm_eval.scoring.run_results import Report, Results, RunFacts
from mm_eval.scoring.task_scores import Scores


def test_a_group_stands_for_its_tasks_and_an_equal_note_comes_once(tmp_path: Path) -> None:
    """A group of 14 tasks was named in full, twice, in each of several lines."""
    tasks = [f"t{number}" for number in range(9)]
    rows = {name: Scores(name, warnings=["3 of 3 answers are empty or unparsed, such as ''"]) for name in ("g", *tasks)}
    prompts = {name: {"key": "default", "kwargs": {"post_prompt": "!"}} for name in tasks}
    results = Results(
        rows=rows,
        members={"g": tasks[:8]},
        configs={name: {} for name in tasks},
        run=RunFacts({"prompts": prompts, "most": {name: {"calls": 5} for name in tasks[:8]}}),
    )
    notes = [*(f"{name}: asked as text" for name in tasks[:7]), "report: here"]
    lines = render(Report(results, tmp_path, 0, [], notes)).split("\n")
    assert "prompt of g, t8: default (post_prompt='!')" in lines and "g: at most 5 calls per document" in lines
    assert "note: t0, t1, t2, t3, t4, t5 and 1 more: asked as text" in lines and "note: report: here" in lines
    assert "t5 3 of 3" not in " ".join(brief_warnings(results)) and "and 4 more (" in " ".join(brief_warnings(results))
