"""`mm-eval plan`: how many docs a difference takes, and what a release can detect."""

import json
import math
import re
from pathlib import Path

import pytest

from mm_eval.deciding.design import FLIPPED, Planned, Question, answered
from mm_eval.deciding.plan_verb import without_spread
from mm_eval.results.recorded import RecordedRun
from mm_eval.verbs.study.compare import compare


def test_the_docs_of_a_difference_are_those_of_the_formula() -> None:
    """(1.960 + 0.842)^2 s^2 / d^2: 2 points on a benchmark like BLINK take about 8,300 docs, and it has 1,901."""
    [row] = answered([Planned("blink", "acc", 1901, (65, 65), True)], Question(difference=2))
    needed = (65 * (1.959964 + 0.841621) / 2) ** 2
    assert row.needed == (math.ceil(needed),) * 2 and row.enough is False and 8200 < needed < 8400
    assert row.detectable[0] == pytest.approx(65 * 2.801585 / math.sqrt(1901))
    [large] = answered([Planned("large", "acc", 60_000, (65, 65), True)], Question(difference=2))
    assert large.enough and large.share is not None and large.share[0] < 0.4 < 0.8 < (row.share or (0,))[0]


def test_more_comparisons_take_more_docs_and_an_average_fewer() -> None:
    rows = [Planned(name, "acc", 1000, (50, 50), True) for name in "ab"]
    two = answered(rows, Question(difference=3, models=2))
    four = answered(rows, Question(difference=3, models=4))
    assert [row.name for row in two] == ["a", "b", "average"] and two[2].is_average
    assert (two[0].needed or (0,))[0] < (four[0].needed or (0,))[0]
    assert two[2].detectable[0] < two[0].detectable[0]
    points = [rows[0], Planned("mme", "score", 2374, (900, 900), True, is_fraction=False)]
    assert [row.name for row in answered(points, Question())] == ["a", "mme"], "no average of unlike units"


def test_without_runs_sizes_are_stated_and_the_spread_is_assumed(cli) -> None:
    done = cli("plan", "--tasks", "blink,mmmu_val", "--difference", "2", "--models", "3")
    assert done.code == 0, done.err
    assert "corrected for 6 comparisons (3 models, all pairs)" in done.out and "The spread is assumed" in done.out
    assert "blink is too small to show 2 points" in done.out and "average" in done.out
    table = done.out.split("\nnot shown, the terminal is too narrow")[0].splitlines()
    assert len(table) > 4 and max(map(len, table)) <= 80
    found = json.loads(
        cli("plan", "--tasks", '["blink", {"task": "mmmu_val", "num_fewshot": 0}]', "--format", "json").out
    )
    assert [row["name"] for row in found["rows"]][:2] == ["blink", "mmmu_val"], "as `--tasks` of a run states them"
    assert (
        found["rows"][0]["spread"] == [100 * math.sqrt(share) for share in FLIPPED] and not found["rows"][0]["measured"]
    )


@pytest.mark.full
def test_with_runs_the_spread_is_that_of_their_paired_differences(
    cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "300")
    runs = []
    for seed in ("0", "1"):
        runs.append(tmp_path / seed)
        tasks = "run", "--tasks", "seedbench,mme", "--sample", "--limit", "100", "--no_report"
        options = "--model", "dummy", "--seed", seed, "--name", f"m{seed}", "--output_path", runs[-1]
        assert cli(*tasks, *options).code == 0
    found = json.loads(cli("plan", "--from", *runs, "--tasks", "seedbench", "--format", "json").out)
    changes = compare([RecordedRun.read(run) for run in runs])[0].changes
    [change] = [each for each in changes if (each.task, str(each.key)) == ("seedbench", "seed_all,none")]
    [row] = found["rows"]
    spread = 100 * (change.difference.stderr or 0) * math.sqrt(change.difference.n or 0)
    assert row["measured"] and row["spread"] == pytest.approx([spread, spread])
    assert row["docs"] == 252, "of the benchmark, not of the part that the runs were asked"
    both = [RecordedRun.read(run) for run in runs]
    assert without_spread(both, None, {"seedbench"}) == ["mme"], "what is left out of the table is named"
    assert without_spread(both, ["seedbench"], {"seedbench"}) == without_spread([], None, set()) == []
    for run in both:
        run.results.members["together"] = ["mme", "seedbench"]
    assert without_spread(both, None, {"together"}) == [], "a group covers its tasks"
    for run in both:
        del run.results.members["together"]
    table = cli("plan", "--from", *runs, "--difference", "2")
    assert (
        table.code == 0
        and "Spread: standard deviation of the per-document difference" in table.out
        and "mme" in table.out
    )
    release = cli("report", *runs, "--format", "md")
    [found_mme] = [each for each in changes if each.task == "mme" and each.main]
    said = {"seedbench": 100 * (change.smallest_visible or 0), "mme": (found_mme.smallest_visible or 0) / 20}
    assert change.comparisons == 2, (
        "one definition: corrected for the comparisons of the table, in percent of the scale"
    )
    notes = "; ".join(f"{name} {share:.1f}%" for name, share in said.items())
    assert f"Smallest visible difference, in percent of the scale: {notes}." in release.out
    compared = cli("compare", *runs).out
    assert all(f"{share:.1f}%" in compared for share in said.values())
    assert cli("report", *runs, "--output", tmp_path / "release.html").code == 0
    data = re.search(r'id="data">(.*?)</script>', (tmp_path / "release.html").read_text(), re.DOTALL)
    [part] = json.loads(data[1])["parts"] if data else []
    assert part["title"] == "Smallest visible difference"
    cells = {row["cells"][0]: row["cells"][-1] for row in part["table"]["rows"]}
    assert cells == {name: f"{share:.1f}%" for name, share in said.items()}


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ((), "name --tasks, or runs by --from"),
        (("--tasks", "mme"), "points of its own"),
        (("--tasks", "mmhal"), "points of its own"),
        (("--tasks", "mmbench_en_dev"), "is a share of questions of several documents each, whose spread is not known"),
        (("--tasks", "blinkk"), "Did you mean 'blink'"),
        (("--tasks", "blink", "--models", "1"), "needs two models"),
        (("--tasks", "blink", "--difference", "-1"), "a number above 0"),
        (("--tasks", "blink", "--power", "1"), "between 0.5 and 1"),
    ],
)
def test_what_makes_no_sense_is_refused(cli, options: tuple[str, ...], said: str) -> None:
    done = cli("plan", *options)
    assert done.code == 2 and said in done.err
