"""The table on the terminal."""

from mm_eval.results.file import results_of
from mm_eval.results.run_table import _footer, table
from mm_eval.results.table import to_text


def test_a_share_is_in_percent_beside_points_and_a_zero_goes_by_its_row() -> None:
    counts = {"alias": "t", "n": 60, "failed": 0, "unparsed": 0}
    row = {"acc,none": 0.46667, "acc_stderr,none": 0.0649, "perplexity,none": 105.854, "perplexity_stderr,none": 40.39}
    points = {"existence,none": 0.0, "existence_stderr,none": 0.0, "count,none": 186.667}
    rows = {"t": {**counts, **row}, "mme": {**counts, **points}}
    shown = to_text(table(results_of({"results": rows}), [("t", 0), ("mme", 0)])).splitlines()
    words = [line.split() for line in shown[2:]]
    assert words[0][1:5] == ["acc", "46.7", "±", "6.5"] and words[1][:4] == ["perplexity", "105.85", "±", "40.39"]
    assert words[2][1:5] == ["existence", "0.00", "±", "0.00"] and words[3][:2] == ["count", "186.67"]


def test_tasks_with_the_same_note_share_a_line() -> None:
    row = {"n": 2, "failed": 0, "unparsed": 0, "acc,none": 0.5}
    rows = {
        name: {**row, "alias": name, "notes": notes} for name, notes in {"a": ["same", "own"], "b": ["same"]}.items()
    }
    assert list(_footer(results_of({"results": rows}))) == [
        "shares are in percent",
        "note: a, b: same",
        "note: a: own",
    ]


def footer_of(intervals: dict[str, list[float]], stderr: float = 0.0, notes: tuple[str, ...] = ()) -> list[str]:
    """The footer of a task with one category, of which half the docs are right."""
    counts = {"n": 4, "failed": 0, "unparsed": 0, "acc,none": 0.5, "acc_stderr,none": 0.1}
    category = {**counts, "acc_stderr,none": stderr, **({"intervals": intervals} if intervals else {})}
    results = {
        "results": {"t": {**counts, "alias": "t", "notes": list(notes)}},
        "categories": {"t": {"kind": {"a": category}}},
    }
    return list(_footer(results_of(results)))


def test_an_exact_interval_has_a_column_of_its_own_and_is_explained_once() -> None:
    percent, ends = footer_of({"acc,none": [0.2, 0.5]})
    assert percent == "shares are in percent" and ends.startswith(
        "exact 95%: Clopper-Pearson interval, used because every answer is right"
    )
    _, both = footer_of({"acc,none": [0.2, 0.9]})
    assert both.startswith("exact 95%: Clopper-Pearson interval, used because all clusters of documents score the same")
    row = {"alias": "t", "n": 20, "acc,none": 1.0, "acc_stderr,none": 0.0, "intervals": {"acc,none": [0.832, 1.0]}}
    head, _, line = to_text(table(results_of({"results": {"t": row}}), [("t", 0)])).splitlines()
    at = head.index("exact 95%") + len("exact 95%")
    assert line[:at].endswith("83.2 to 100.0") and "†" not in line and ">=" not in line
    assert not line[head.index("stderr") : head.index("stderr") + 6].strip()


def test_a_category_that_does_not_vary_and_has_no_interval_is_noted_once() -> None:
    said = "every document of a category scored the same, so no standard error can be estimated there"
    percent = "shares are in percent"
    assert footer_of({}) == [percent, f"note: t: {said}"] and footer_of({}, stderr=0.1) == [percent]
    own = "acc,none: every document scored the same, so no standard error can be estimated."
    assert footer_of({}, notes=(own,)) == [percent, f"note: t: {own.replace(',none', '')}"]


def test_the_table_shows_the_alias_that_a_task_file_states_and_results_json_the_name(cli, tmp_path) -> None:
    group = "group: fruit\ngroup_alias: Fruit and more\ntask:\n"
    member = "dataset_path: lmms-lab/MME\ntest_split: test\ndoc_to_text: question\ndoc_to_target: answer"
    lines = [
        f"  - {line}" if not at else f"    {line}" for at, line in enumerate(["task: apples", *member.split("\n")])
    ]
    (tmp_path / "fruit.yaml").write_text(group + "\n".join([*lines, "    task_alias: Apples, ripe", ""]))
    ran = cli("--tasks", "fruit", "--include_path", tmp_path, "--sample", "--limit", 1, "--model", "dummy")
    assert ran.code == 0, ran.err
    assert "\nFruit and more " in ran.out
    assert "\n  - Apples, ripe " in ran.out
    assert set(ran.results["results"]) == {"fruit", "apples"}
    assert ran.results["results"]["apples"]["alias"] == "apples"
