"""Categories in tables, on the page and from Python."""

import csv
import io
import json
from dataclasses import replace

import pytest

import mm_eval
from mm_eval.results.file import results_of, row_of
from mm_eval.results.recorded import RecordedRun
from mm_eval.results.run_table import hidden_numbers, main_numbers, table
from mm_eval.results.table import to_text
from mm_eval.scoring.metrics.stderr import exact_share
from mm_eval.values.types import MetricKey
from mm_eval.verbs.report.release.numbers import release_table
from mm_eval.verbs.report.release.text import as_csv, as_latex, as_markdown
from tests.recorded import in_page

TYPES = 12  # question types of SEED-Bench


def made(**sizes: dict[str, int]):
    """The results of tasks with levels of some sizes, and the order of its rows."""
    rows = {
        name: {"alias": name, "acc,none": 0.5, "acc_stderr,none": 0.1, "n": 9, "failed": 0, "unparsed": 0}
        for name in sizes
    }
    by_task = {
        name: {
            level: {f"{level} {i}": {"acc,none": i / 100, "n": 3} for i in range(size)}
            for level, size in levels.items()
        }
        for name, levels in sizes.items()
    }
    return results_of({"results": rows, "categories": by_task}), [(name, 0) for name in sizes]


def test_categories_and_further_numbers_are_shown_on_demand_and_counted_else() -> None:
    results, order = made(a={"kind": 20, "skill": 1}, b={})
    [said] = hidden_numbers(results)
    assert said.startswith("Not shown: 21 categories. Use --categories")
    shown = [[row.cells["task"] for row in table(results, order, every).rows] for every in (False, True)]
    assert shown[0] == ["a", "b"] and len(shown[1]) == 2 + 2 + 21
    assert shown[1][-4:-1] == ["    kind 19", "  by skill", "    skill 0"]
    results.rows["a"].numbers.append(replace(results.rows["a"].numbers[0], key=MetricKey("f1", "none")))
    assert len(main_numbers(results, "a")) == 2, "the task states no main number"
    results.configs["a"] = {"metadata": {"metric": "f1"}}
    assert [number.metric for number in main_numbers(results, "a")] == ["f1"]
    first = str(results.rows["a"].numbers[0].key)
    results.configs["a"] = {"metadata": {"metric": ["f1", first]}}
    assert len(main_numbers(results, "a")) == 2, "a benchmark that is reported by two numbers shows both"
    assert results.headline("a") is results.rows["a"].numbers[1], "the one that is stated first compares models"
    results.configs["a"] = {"metadata": {"metric": "f1"}}
    second = replace(results.rows["a"].numbers[1], key=MetricKey("f1", "second pipeline"))
    results.rows["a"].numbers.append(second)
    assert [number.filter for number in main_numbers(results, "a")] == ["none"], "a name means its first number alone"
    results.configs["a"] = {"metadata": {"metric": ["f1", "f1,second pipeline", "f1"]}}
    assert [number.filter for number in main_numbers(results, "a")] == ["none", "second pipeline"]
    results.configs["a"] = {"metadata": {"metric": "f1"}}
    results.rows["a"].numbers.pop()
    [said] = hidden_numbers(results)
    assert said.startswith("Not shown: 1 more metric, 21 categories.")
    results.categories.clear()
    [said] = hidden_numbers(results)
    assert said.startswith("Not shown: 1 more metric. Use --categories")


def test_rows_of_categories_stand_below_their_task() -> None:
    results, order = made(a={"kind": 2}, b={})
    of_kind = results.categories["a"]["kind"]
    of_kind["kind 1"] = row_of(
        "kind 1", {"acc,none": 0.01, "acc_stderr,none": 0.02, "n": 3, "failed": 1, "unparsed": 2}, {}
    )
    of_kind["kind 2"] = row_of("kind 2", {"acc,none": None, "n": 1, "failed": 0}, {})
    lines = [line.split() for line in to_text(table(results, order)).splitlines()[2:]]
    assert lines == [
        ["a", "acc", "50.0", "±", "10.0", "9", "0", "0"],
        ["by", "kind", "acc"],
        ["kind", "0", "0.0", "3"],
        ["kind", "1", "1.0", "±", "2.0", "3", "1", "2"],
        ["kind", "2", "-", "1"],
        ["b", "acc", "50.0", "±", "10.0", "9", "0", "0"],
    ]


def test_the_headline_is_the_stated_metric_else_the_first(dummy_run) -> None:
    results = RecordedRun.read(dummy_run).results
    assert str(results.headline("seedbench").key) == "seed_all,none"
    assert str(results.headline("mme").key) == "mme_perception_score,none"
    results.configs["seedbench"]["metadata"]["metric"] = "no such metric"
    assert str(results.headline("seedbench").key) == "seed_image,none"


def test_the_command_shows_them(cli) -> None:
    words = ["--tasks", "seedbench", "--model", "dummy", "--sample", "--limit", "50"]
    ran = cli(*words, "--categories")
    lines = ran.out.splitlines()
    at = next(n for n, line in enumerate(lines) if line.split()[:4] == ["by", "question", "type", "seed_all"])
    rows = ran.results["categories"]["seedbench"]["question type"]
    assert [line[4:].split("  ")[0] for line in lines[at + 1 : at + 1 + len(rows)]] == list(rows)
    assert "Not shown" not in ran.out
    short = cli(*words).out
    assert "Scene Understanding" not in short and "seed_image" not in short and "seed_all" in short
    assert max(map(len, short.split("task  ")[1].split("\n\n")[0].splitlines())) <= 80
    markdown = cli("score", ran.folder, "--format", "md").out
    assert "| task | n-shot | metric |" in markdown and "\n| seedbench | 0 | seed_" in markdown


@pytest.mark.full
def test_every_category_is_shown_where_that_is_asked_for(cli, tmp_path, base) -> None:
    words = ["--tasks", "seedbench,seedbench_ppl", "--model", "dummy", "--sample"]
    short = cli(*words)
    assert "Scene" not in short.out
    assert "24 categories. Use --categories" in short.out
    assert cli(*words, "--categories").out.count("Scene Understanding") == 2
    options = {"sample": True, "output_path": str(base / "every"), "categories": True}
    assert mm_eval.evaluate("seedbench,seedbench_ppl", "dummy", **options).table().count("Scene Understanding") == 2
    (tmp_path / "r.yaml").write_text("tasks: [seedbench]\nsample: true\ncategories: true\nmodels: [{model: dummy}]\n")
    assert (
        "seedbench / Scene Understanding"
        in cli("run", "--config", tmp_path / "r.yaml", "--output_path", tmp_path / "r").out
    )


def test_release_tables_have_them_on_demand_and_csv_always(dummy_run) -> None:
    found = release_table([RecordedRun.read(dummy_run, "m"), RecordedRun.read(dummy_run, "m2")])
    assert "Scene" not in as_markdown(found) and "Scene" not in as_latex(found)
    lines = as_markdown(found, categories=True).splitlines()
    at = next(n for n, line in enumerate(lines) if line.startswith("| seedbench |"))
    below = [line.split(" | ")[0] for line in lines[at + 1 :] if line.startswith("| seedbench ")]
    assert (
        below[0] == "| seedbench (seed_image)" and "| seedbench / Scene Understanding" in below and len(below) > TYPES
    )
    assert "seedbench / Scene Understanding & " in as_latex(found, categories=True)
    rows = [row for row in csv.DictReader(io.StringIO(as_csv(found))) if row["category"]]
    assert len(rows) == 2 * TYPES and {row["level"] for row in rows} == {"question type"}
    assert {(row["benchmark"], row["metric"]) for row in rows} == {("seedbench", "seed_all")}
    stored = json.loads((dummy_run / "results.json").read_text())["categories"]["seedbench"]["question type"]
    for row in rows:
        assert float(row["value"]) == stored[row["category"]]["seed_all,none"]
        assert float(row["low"]) <= float(row["value"]) <= float(row["high"])


def test_a_table_without_categories_has_no_columns_for_them(perfect) -> None:
    assert (
        as_csv(release_table([RecordedRun.read(perfect)]))
        .splitlines()[0]
        .endswith(",source,verdict,sample,partial,prompt,answered,documents")
    )


def test_the_page_has_bars_and_samples_of_each_category(dummy_run) -> None:
    mme, seedbench = in_page(dummy_run / "report.html", "data")["tasks"]
    assert mme["levels"] == []
    [level] = seedbench["levels"]
    stored = json.loads((dummy_run / "results.json").read_text())["categories"]["seedbench"]["question type"]
    assert level["by"] == "seed_all by question type"
    assert [part["name"] for part in level["parts"]] == list(stored)
    for part, row in zip(level["parts"], stored.values(), strict=True):
        assert (part["label"], part["value"], part["n"]) == (part["name"], row["seed_all,none"], row["n"])
        assert part["interval"][0] <= part["value"] <= part["interval"][1]
    rows = [row for row in in_page(dummy_run / "report.html", "rows") if row["t"] == "seedbench"]
    assert {name: sum(row["c"] == [name] for row in rows) for name in stored} == {
        name: row["n"] for name, row in stored.items()
    }


def test_an_exact_interval_of_a_category_is_that_of_its_docs(dummy_run) -> None:
    run = RecordedRun.read(dummy_run)
    rows = run.results.categories["seedbench"]["question type"]
    name, row = next((name, row) for name, row in rows.items() if row["seed_all"].value == 0)
    found = run.tasks["seedbench"].number_of_category("question type", name, row, row["seed_all"].key)
    assert found.interval == pytest.approx(exact_share(0, found.clusters))


def test_results_from_python(base) -> None:
    results = mm_eval.evaluate("seedbench", "dummy", sample=True, limit=30, output_path=str(base / "categories"))
    scene = results.categories["seedbench"]["question type"]["Scene Understanding"]
    stored = results.raw["categories"]["seedbench"]["question type"]["Scene Understanding"]
    assert scene["seed_all"].value == stored["seed_all,none"] and scene["seed_all"].n == scene.n == 24
    assert scene["seed_all"].higher_is_better and "Scene Understanding" in results.table(categories=True)


@pytest.mark.full
def test_runs_are_compared_by_category_on_demand(cli, dummy_run, base, tmp_path) -> None:
    words = ("--tasks", "seedbench", "--sample", "--model", "replay")
    rows = [json.loads(line) for line in (dummy_run / "samples" / "seedbench.jsonl").read_text().splitlines()]
    answers = tmp_path / "answers.jsonl"
    answers.write_text("".join(json.dumps({**row, "resps": [row["target"]]}) + "\n" for row in rows))
    right = cli(*words, "--model_args", f"path={answers}", "--output_path", tmp_path / "right").folder
    plain, with_categories = (
        json.loads(cli("compare", dummy_run, right, "--tasks", "seedbench", "--format", "json", *more).out)["compared"][
            0
        ]
        for more in ((), ("--categories",))
    )
    changes = with_categories["changes"]
    assert [change for change in changes if "category" not in change] == plain["changes"]
    by_category = [change for change in changes if "category" in change]
    stored = json.loads((dummy_run / "results.json").read_text())["categories"]["seedbench"]["question type"]
    assert [change["category"] for change in by_category] == list(stored)
    for change, row in zip(by_category, stored.values(), strict=True):
        assert change["metric"] == "seed_all,none" and change["second"]["value"] == 1.0
        assert change["first"]["value"] == row["seed_all,none"] and change["difference"]["docs"] == row["n"]
    shown = cli("compare", dummy_run, right, "--tasks", "seedbench", "--categories", "--html", tmp_path / "c.html").out
    assert "  Scene Understanding" in shown and "is corrected for the categories alone" in shown


def test_one_hidden_category_is_one() -> None:
    [said] = hidden_numbers(results_of({"results": {}, "categories": {"a": {"kind": {"x": {}}}}}))
    assert said.startswith("Not shown: 1 category. Use --categories")
