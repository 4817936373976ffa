"""Means of unlike metrics: `of` in a group's aggregate_metric_list."""

import json
import math
from pathlib import Path

import pytest

YAML = """
dataset_path: json
dataset_kwargs: {{data_files: {{test: {data}}}}}
test_split: test
doc_to_text: "{{{{question}}}}"
doc_to_target: answer
"""

UTILS = """
def points(doc, results):
    return {"points": 1000.0 * (results[0] == doc["answer"])}
"""

GROUP = """
group: release
task:
  - {task: first, include: _base.yaml, metric_list: [{metric: exact_match}]}
  - {task: second, include: _base.yaml, process_results: !function utils.points,
     metric_list: [{metric: points, aggregation: mean}]}
  - group: inner
    task:
      - {task: third, include: _base.yaml, metric_list: [{metric: exact_match}]}
      - {task: fourth, include: _base.yaml, metric_list: [{metric: exact_match}]}
    aggregate_metric_list: [{metric: exact_match, weight_by_size: false}]
aggregate_metric_list:
  - metric: average
    of: {first: exact_match, second: {metric: points, scale: 0.001}, inner: "exact_match,none"}
"""

RIGHT = {"first": 3, "second": 6, "third": 4, "fourth": 8}
"""How many of 8 answers are right."""


def files(folder: Path, group: str = GROUP) -> Path:
    """A folder with the group, its data, and `path=` for its answers."""
    folder.mkdir(exist_ok=True)
    rows = [{"question": f"{n}?", "answer": "yes" if n % 3 else "no"} for n in range(8)]
    (folder / "data.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (folder / "_base.yaml").write_text(YAML.format(data=folder / "data.jsonl"))
    (folder / "utils.py").write_text(UTILS)
    (folder / "release.yaml").write_text(group)
    return folder


def answers(path: Path, right: dict[str, int]) -> str:
    rows = [
        {"task": task, "doc_id": n, "resps": [("yes" if n % 3 else "no") if n < count else "wrong"]}
        for task, count in right.items()
        for n in range(8)
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return f"path={path}"


def run(cli, tmp_path: Path, right: dict[str, int] = RIGHT, name: str = "run", group: str = GROUP):
    folder = files(tmp_path / "tasks", group)
    said = answers(tmp_path / f"{name}.jsonl", right)
    options = ("--include_path", folder, "--model", "replay", "--model_args", said, "--output_path", tmp_path / name)
    return cli("--tasks", "release", *options)


def test_a_group_is_the_mean_of_one_number_of_each_member(cli, tmp_path: Path) -> None:
    ran = run(cli, tmp_path)
    assert ran.code == 0, ran.err
    rows = ran.results["results"]
    release = rows["release"]
    assert release["average,none"] == pytest.approx((3 / 8 + 6 / 8 + (4 / 8 + 1) / 2) / 3)
    errors = [rows["first"]["exact_match_stderr,none"], rows["second"]["points_stderr,none"] / 1000]
    errors.append(rows["inner"]["exact_match_stderr,none"])
    assert release["average_stderr,none"] == pytest.approx(math.sqrt(sum(e * e for e in errors)) / 3)
    assert ran.results["higher_is_better"]["release"]["average"] is True
    assert release["n"] == 32
    assert "average" in ran.out


def test_two_runs_compare_paired_by_the_average(cli, tmp_path: Path) -> None:
    run(cli, tmp_path, name="a")
    run(cli, tmp_path, {**RIGHT, "first": 5, "fourth": 6}, name="b")
    said = cli("compare", tmp_path / "a", tmp_path / "b")
    assert said.code == 0, said.err
    line = next(line for line in said.out.splitlines() if "average" in line)
    before, after = 0.625, (5 / 8 + 6 / 8 + (4 / 8 + 6 / 8) / 2) / 3
    assert f"{100 * before:.1f}" in line and f"{100 * after:.1f}" in line and f"{100 * (after - before):+.1f}" in line


def test_without_one_member_there_is_no_average(cli, tmp_path: Path) -> None:
    folder = files(tmp_path / "tasks")
    said = answers(tmp_path / "answers.jsonl", {name: 8 for name in RIGHT if name != "second"})
    options = ("--include_path", folder, "--model", "replay", "--model_args", said, "--output_path", tmp_path / "run")
    ran = cli("--tasks", "release", *options)
    assert ran.code == 3
    release = ran.results["results"]["release"]
    assert release["average,none"] is None
    assert any(
        "average is a mean of 3 members and is not computed, since there is no score of second" in n
        for n in release["notes"]
    )


def test_a_mean_may_be_of_an_inner_groups_mean(cli, tmp_path: Path) -> None:
    group = GROUP.replace(
        "aggregate_metric_list: [{metric: exact_match, weight_by_size: false}]",
        "aggregate_metric_list: [{metric: worst, of: {third: exact_match}}]",
    ).replace('inner: "exact_match,none"', "inner: worst")
    ran = run(cli, tmp_path, group=group)
    assert ran.code == 0, ran.err
    assert ran.results["results"]["release"]["average,none"] == pytest.approx((3 / 8 + 6 / 8 + 4 / 8) / 3)
    run(cli, tmp_path, {**RIGHT, "third": 6}, name="b", group=group)
    said = cli("compare", tmp_path / "run", tmp_path / "b", "--categories")
    assert said.code == 0, said.err
    assert "(average)" in said.out and "worst" in said.out


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("of: {first:", "of: {frist:", "'frist', which is not a member of the group. Did you mean 'first'"),
        ("metric: points, scale: 0.001}, inner", "metric: pionts, scale: 0.001}, inner", "Did you mean 'points'"),
        ("scale: 0.001", "scael: 0.001", "unknown key 'scael'"),
        ("scale: 0.001", "scale: thousand", "'scale' must be a number"),
        ("- metric: average", "- metric: average\n    weight_by_size: true", "no meaning beside it"),
        ("second: {metric: points, scale: 0.001}", "second: 3", "`of` states 3 for 'second'"),
    ],
)
def test_a_wrong_entry_is_one_error_with_its_line(cli, tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in GROUP
    ran = run(cli, tmp_path, group=GROUP.replace(old, new))
    assert ran.code == 2
    assert said in ran.err and "release.yaml:" in ran.err, ran.err
    assert "Traceback" not in ran.err
