"""The average over the benchmarks that all models have, the sentence on top, and one headline row a benchmark."""

import csv
import io
import json
from pathlib import Path

import pytest

from mm_eval.results.recorded import RecordedRun
from mm_eval.values.words import counted
from mm_eval.verbs.report.release.average import abilities
from mm_eval.verbs.report.release.numbers import release_table
from mm_eval.verbs.report.release.table import ReleaseNumber, ReleaseTable
from mm_eval.verbs.report.release.text import as_csv, as_latex, as_markdown, as_text

TASKS = "mmstar,scienceqa_img,seedbench,mme"


@pytest.fixture(scope="module")
def answer_rows(tmp_path_factory) -> dict[str, list[dict]]:
    from mm_eval.cli import main

    out = tmp_path_factory.mktemp("gold")
    words = [
        "--tasks",
        f"{TASKS},pope",
        "--model",
        "dummy",
        "--sample",
        "--limit",
        "60",
        "--output_path",
        str(out),
        "--no_report",
    ]
    assert main(words) in (0, 3)
    return {
        task: [json.loads(line) for line in (out / "samples" / f"{task}.jsonl").read_text().splitlines()]
        for task in [*TASKS.split(","), "pope"]
    }


@pytest.fixture
def model(cli, answer_rows, tmp_path: Path):
    """A run whose answers are right but for the first `wrong` docs of each task."""

    def run(name: str, tasks: str = TASKS, **wrong: int) -> RecordedRun:
        path = tmp_path / f"{name}.jsonl"
        rows = [row for task in tasks.split(",") for row in answer_rows[task]]
        path.write_text(
            "\n".join(
                json.dumps(
                    {
                        "task": row["task"],
                        "doc_id": row["doc_id"],
                        "resps": ["Z" if n < wrong.get(row["task"], 0) else str(row["target"])],
                    }
                )
                for task in tasks.split(",")
                for n, row in enumerate(answer_rows[task])
            )
        )
        assert rows
        words = ("--tasks", tasks, "--model", "replay", "--model_args", f"path={path}", "--sample", "--limit", 60)
        done = cli(*words, "--no_report", "--output_path", tmp_path / name)
        assert done.code == 0, done.err
        return RecordedRun.read(done.folder, name)

    return run


def test_the_average_counts_each_benchmark_once_and_has_an_interval(model) -> None:
    a, b = model("a", seedbench=2), model("b", seedbench=20, mmstar=4)
    table = release_table([a, b])
    shares = [table.rows[row] for row in table.shown() if table.in_percent(row)]
    assert len(shares) == 3, "MME is in points"
    for name in ("a", "b"):
        found = table.average[name]
        assert found.value == pytest.approx(sum(numbers[name].value for numbers in shares) / 3)
        assert found.bounds is not None and found.bounds[0] < found.value < found.bounds[1]
    [note] = [note for note in table.notes if note.startswith("Average: of 3 benchmarks")]
    assert note.endswith("mme in points left out.")
    text = as_markdown(table)
    [row] = [line for line in text.splitlines() if line.startswith("| Average |")]
    assert f"{100 * table.average['a'].value:.1f}" in row
    last = list(csv.DictReader(io.StringIO(as_csv(table))))[-2:]
    assert [(each["benchmark"], each["model"]) for each in last] == [("Average", "a"), ("Average", "b")]
    assert float(last[0]["value"]) == table.average["a"].value, "a share, as results.json has it"


@pytest.mark.full
def test_the_sentence_says_what_the_tests_say(model) -> None:
    a, b = model("a"), model("b", seedbench=40, mme=50)
    table = release_table([b, a])
    told = sum(bool(table.told_apart[row]) for row in table.shown())
    assert told >= 1
    assert table.sentence.startswith(
        f"a is ahead of b on {told} of 4 benchmarks; {counted(4 - told, 'shows', 'show')} no significant difference. Average "
    )
    low, high = table.sentence.rpartition("(")[2].rstrip(").").split(" to ")
    assert 0 < float(low) < float(high)
    assert table.sentence in as_markdown(table) and "% a is ahead of b" in as_latex(table)
    assert abilities(table), "two of the benchmarks share a tag"
    assert not abilities(release_table([model("two", tasks="mmstar,mme"), model("of", tasks="mmstar,mme")]))
    same = release_table([model("c"), model("d")])
    assert same.sentence.startswith("c and d show no significant difference on any of 4 benchmarks. Average ")
    three = release_table([model("c"), model("d"), model("e")])
    assert three.sentence.startswith("The two best on average: c and d show no significant difference on any of 4")
    assert "No model is significantly ahead of another." in three.notes
    assert "Who beats whom" not in [part.title for part in three.parts], "a table of zeros says nothing"


@pytest.mark.full
def test_an_average_needs_benchmarks_that_all_have(model) -> None:
    table = release_table([model("a"), model("b", tasks="mmstar,mme")])
    assert not table.average and "Average" not in as_markdown(table)
    assert release_table([model("c")]).average == {} and release_table([model("c")]).sentence == ""


def test_one_headline_row_a_benchmark_and_the_rest_on_demand(model) -> None:
    table = release_table([model("a", "mme,pope", pope=9), model("b", "mme,pope", pope=3, mme=4)])
    short, whole = as_markdown(table), as_markdown(table, categories=True)
    below = [other for row in table.shown() for other in table.below(row)]
    assert {metric for _, metric in below} >= {"acc", "precision", "recall", "yes_rate"} and len(table.shown()) == 2
    assert not any(f"({metric.replace('_', chr(92) + '_')})" in short for _, metric in below)
    assert f"{len(below)} more metric" in short and len(whole.splitlines()) >= len(short.splitlines()) + len(below) - 2


@pytest.mark.full
def test_the_csv_says_what_stands_behind_each_number(model) -> None:
    rows = list(csv.DictReader(io.StringIO(as_csv(release_table([model("a", seedbench=3), model("b")])))))
    first = next(row for row in rows if row["benchmark"] == "seedbench" and row["model"] == "a")
    assert 0 < float(first["stderr"]) < 1 and float(first["low"]) < float(first["value"]) < float(first["high"])
    assert first["n"] and first["sample"] == "1" and first["prompt"] == "default" and first["partial"] in ("0", "1")
    assert float(first["value"]) < 1, "no percent"


def test_points_near_zero_are_no_share(model) -> None:
    table = release_table([model("a", tasks="mme,mmstar", mme=60), model("b", tasks="mme,mmstar", mme=60)])
    row = next(row for row in table.shown() if row[0] == "mme")
    assert {found.value for found in table.rows[row].values()} == {0.0} and not table.in_percent(row)
    assert not table.average, "one share only"


def test_the_table_on_a_terminal_fits_its_width_and_its_notes_are_plain(model) -> None:
    table = release_table(
        [model(name, tasks="mmstar,mme", mme=n) for n, name in enumerate(("one", "two", "three", "four"))]
    )
    whole = as_text(table, intervals=True, width=200)
    assert "[" in whole.split("\n\n")[0] and len(whole.split("\n\n")) == 2
    bare = as_text(table, intervals=True, width=50)
    assert "[" not in bare.split("\n\n")[0] and "The intervals: no room" in bare
    narrow = as_text(table, width=30).split("\n\n")
    assert len(narrow) > 2 and narrow[0].startswith("benchmark") and narrow[1].startswith("benchmark")
    assert all(len(line) <= 30 for part in narrow[:-1] for line in part.splitlines())
    assert (
        sum(name in line.split() for part in narrow[:-1] for line in part.splitlines()[:1] for name in table.columns)
        == 4
    )
    assert "\\" not in whole and "**" not in whole and table.sentence in whole.splitlines()


def test_the_best_of_a_row_has_a_mark_on_a_terminal_and_is_bold_elsewhere() -> None:
    row = ("mmstar", "acc")
    numbers = {"a": ReleaseNumber(0.9, best=True), "b": ReleaseNumber(0.5)}
    table = ReleaseTable(["a", "b"], {row: numbers}, headlines={row})
    head, _, line, _, mark, *rest = as_text(table, width=80).splitlines()
    assert line.split() == ["mmstar", "★", "90.0", "50.0"] and line.endswith("50.0") and len(head) == len(line)
    assert mark.startswith("★ first of its row") and "Shares are in percent." in rest
    assert "**90.0**" in as_markdown(table) and "★" not in as_markdown(table)
    numbers["a"].best = False
    assert "★" not in as_text(table, width=80)
