"""Groups of whole runs: what each number of a group is of, and what of their members they show."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from mm_eval.results.sample_rows import sample_name
from tests.sets import few

TASK = """
task: %s
dataset_path: json
dataset_kwargs: {data_files: {test: %s}}
test_split: test
output_type: generate_until
doc_to_text: "{{question}}"
doc_to_target: answer
%s
"""

PARTS = """
def parts(doc, results):
    right = float(results[0] == doc["answer"])
    return {"all": right, "sub": right} if doc["sub"] else {"all": right}
"""


class Suite:
    """A folder of tasks of one's own with recorded answers."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.answers = folder, list[dict]()
        folder.mkdir()
        (folder / "utils.py").write_text(PARTS)

    def task(self, name: str, right: Sequence[bool], more: str, sub: int = 0) -> None:
        """A task of one doc for each of `right`; the first `sub` docs have the metric `sub`."""
        docs = [{"question": f"{name} {n}?", "answer": "1", "sub": n < sub} for n in range(len(right))]
        data = self.folder / f"{name}.jsonl"
        data.write_text("\n".join(map(json.dumps, docs)))
        (self.folder / f"{name}.yaml").write_text(TASK % (name, data, more))
        self.answers += [{"task": name, "doc_id": n, "resps": ["1" if r else "0"]} for n, r in enumerate(right)]

    def group(self, text: str, name: str = "g") -> None:
        (self.folder / f"{name}.yaml").write_text(text)

    def words(self, tasks: str) -> list[str]:
        replay = self.folder.parent / "replay.jsonl"
        replay.write_text("\n".join(map(json.dumps, self.answers)))
        where = ["--include_path", str(self.folder), "--model", "replay", "--model_args", f"path={replay}"]
        return ["--tasks", tasks, *where]


@pytest.fixture
def suite(tmp_path: Path) -> Suite:
    return Suite(tmp_path / "mine")


def number(row: Mapping[str, float], metric: str) -> tuple[float, float]:
    return row[f"{metric},none"], row[f"{metric}_stderr,none"]


def test_a_micro_mean_weighs_by_the_docs_that_have_the_metric(cli, suite: Suite) -> None:
    """1 of sa's 5 docs and all of sb's 5 are right: 6 of 10, however many docs without the metric sa has."""
    scoring = "process_results: !function utils.parts\nmetric_list: [{metric: all}, {metric: sub}]"
    suite.task("sa", [True] + [False] * 19, scoring, sub=5)
    suite.task("sb", [True] * 5, scoring, sub=5)
    suite.group("group: g\ntask: [sa, sb]\naggregate_metric_list: [{metric: sub}, {metric: all}]\n")
    results = cli(*suite.words("g")).results["results"]
    value, error = number(results["g"], "sub")
    assert value == pytest.approx(0.6)
    assert error == pytest.approx(0.5 * results["sa"]["sub_stderr,none"]) == pytest.approx(0.5 * 0.2)
    value, error = number(results["g"], "all")
    assert value == pytest.approx(6 / 25)
    assert error == pytest.approx(20 / 25 * math.sqrt(0.05 * 0.95 / 19))


def test_a_number_of_fewer_docs_than_the_row_says_of_how_many(cli, suite: Suite, tmp_path: Path) -> None:
    scoring = "process_results: !function utils.parts\nmetric_list: [{metric: all}, {metric: sub}]"
    suite.task("sa", [True] + [False] * 19, scoring, sub=5)
    suite.task("sb", [True] * 5, scoring, sub=5)
    suite.group("group: g\ntask: [sa, sb]\naggregate_metric_list: [{metric: sub}, {metric: all}]\n")
    ran = cli(*suite.words("g"))
    results = ran.results["results"]
    assert results["sa"]["n_by_metric"] == {"sub,none": 5} and results["g"]["n_by_metric"] == {"sub,none": 10}
    assert "n_by_metric" not in results["sb"], "of all its documents"
    lines = [line.split() for line in ran.out.splitlines()]
    assert "docs" in next(line for line in lines if "stderr" in line)
    assert [line[-1] for line in lines if line[:1] == ["sub"]] == ["5", "100.0"], "of 5 documents of sa, of all of sb"
    assert ["10", "25"] in [line[-2:] for line in lines], "the group's first number is of 10 documents of 25"
    alone = cli(*suite.words("sb"), "--output_path", tmp_path / "alone")
    assert "docs" not in next(line for line in alone.out.splitlines() if "stderr" in line).split()


PICTURES = """
task: pictures
dataset_path: lmms-lab/MME
test_split: test
output_type: generate_until
doc_to_visual: image
doc_to_text: "{{question}}"
doc_to_target: answer
metric_list: [{metric: exact_match}]
"""


def test_the_pictures_of_few_shot_examples_are_no_part_of_a_docs_cluster(cli, suite: Suite, tmp_path: Path) -> None:
    """Two questions about a picture belong together, whatever pictures the shots of each show."""
    suite.group(PICTURES, "pictures")
    suite.answers = [{"task": "pictures", "doc_id": n, "resps": ["No" if n // 2 % 3 else "Yes"]} for n in range(40)]
    found = []
    for shots in (0, 2):
        options = ("--sample", "--limit", 40, "--num_fewshot", shots, "--output_path", tmp_path / f"shots{shots}")
        ran = cli(*suite.words("pictures"), *options)
        rows = ran.samples("pictures")
        assert ran.code == 0 and {len(row["images"]) for row in rows} == {1 + shots}
        found.append((ran.results["results"]["pictures"], [row.get("cluster") for row in rows]))
    (row, clusters), (with_shots, with_shots_clusters) = found
    assert clusters == with_shots_clusters and len({str(c) for c in clusters}) == 20
    assert number(with_shots, "exact_match") == number(row, "exact_match")


def test_every_row_has_a_file_of_its_own() -> None:
    plain = ["mme", "arc_easy@mcqa", "seedbench_ppl", "a__b", "Größe", "a.b-c+d"]
    assert [sample_name(name) for name in plain] == plain
    forged = [sample_name("a::b"), "t-0123abcd"]
    odd = ["a::b", "a b", "a/b", "a:b", "\U0001f600", "\U0001f601", ".hidden", "..", "../evil", "hidden", "", "x" * 300]
    odd += ["x" * 301, "\udcff", *forged]
    names = [sample_name(name) for name in plain + odd]
    assert len(set(names)) == len(names)
    assert all("/" not in name and not name.startswith(".") and 0 < len(name.encode()) < 240 for name in names)


def test_samples_are_a_replay_file_whatever_the_tasks_are_called(cli, suite: Suite, tmp_path: Path) -> None:
    """`a::b` and `c::b` differ, and so do their files and rows, by their names and not by an alias."""
    scoring = "metric_list: [{metric: exact_match}]\nfewshot_config: {sampler: first_n}\ntask_alias: Shown name"
    suite.task("b", [True, False, True, True], scoring)
    suite.task("a__b", [False] * 4, "metric_list: [{metric: exact_match}]")
    suite.group("group: a\ntask: [b]\n", "a")
    suite.group("group: c\ntask: [{task: b, num_fewshot: 1}]\n", "c")
    suite.answers += [{"task": "c::b", "doc_id": n, "resps": ["0"]} for n in range(4)]
    first = cli(*suite.words("a,c,a__b"), "--output_path", tmp_path / "first")
    values = {name: row.get("exact_match,none") for name, row in first.results["results"].items()}
    assert values == {"a": None, "a::b": 0.75, "c": None, "c::b": 0, "a__b": 0}
    files = sorted((first.folder / "samples").glob("*.jsonl"))
    assert len(files) == 3 and {row["task"] for row in first.samples(sample_name("c::b"))} == {"c::b"}
    assert {name: row["alias"] for name, row in first.results["results"].items()} == {name: name for name in values}
    assert first.out.count("- Shown name ") == 2, "below the groups"
    again = ("--model", "replay", "--model_args", f"path={first.folder / 'samples'}", "--include_path", suite.folder)
    second = cli("--tasks", "a,c,a__b", *again, "--output_path", tmp_path / "second")
    assert second.code == 0 and second.results["results"] == first.results["results"]
    alone = cli("--tasks", "b", *again, "--output_path", tmp_path / "alone")
    assert alone.code == 3 and "no row" in alone.out, "which of the two b is meant can't be told"
    kept = first.folder / "samples" / f"{sample_name('a::b')}.jsonl"
    alone = cli("--tasks", "b", *again[:3], f"path={kept}", *again[4:], "--output_path", tmp_path / "alone2")
    assert alone.code == 0 and alone.results["results"]["b"]["exact_match,none"] == 0.75


def test_the_parts_of_a_metric_have_its_direction(cli, suite: Suite) -> None:
    (suite.folder / "own.py").write_text(
        "from mm_eval.scoring.metrics.metric import metric\n\n\n@metric('parts_of_it', higher_is_better=False)\n"
        "def parts_of_it(references, predictions, **kwargs):\n    return {'p': 1.0, 'q': 0.5}\n"
    )
    suite.task("t", [True, False], "metric_list: [{metric: !function own.parts_of_it, higher_is_better: false}]")
    ran = cli(*suite.words("t"))
    better = ran.results["higher_is_better"]["t"]
    assert ran.results["results"]["t"]["p,none"] == 1 and (better["p"], better["q"]) == (False, False)
    assert ran.out.count("\u2193") == 2


def test_a_task_counts_once_for_each_place_where_it_stands(cli, suite: Suite) -> None:
    """Six places, four tasks: what stands twice has twice the weight and, being one measurement, one error."""
    metric = "metric_list: [{metric: exact_match}]\nfewshot_config: {sampler: first_n}"
    suite.task("x1", [True, True, True, False], metric)
    suite.task("y1", [True, False, False, False], metric)
    suite.group("group: ggm\ntask: [x1, y1]\n", "ggm")
    suite.group("group: gg\ntask: [x1, y1]\n", "gg")
    macro = "aggregate_metric_list: [{metric: exact_match, weight_by_size: false}]"
    suite.task("z1", [True] * 4, metric)
    suite.group(f"group: top\ntask: [ggm, gg, {{task: gg, num_fewshot: 1}}, z1]\n{macro}\n", "top")
    ran = cli(*suite.words("top"))
    row = ran.results["results"]["top"]
    value, error = number(row, "exact_match")
    assert value == pytest.approx((3 * (0.75 + 0.25) + 1) / 7) and row["n"] == 28
    one = 0.25  # the standard error of 3 or 1 of 4
    assert error == pytest.approx(math.sqrt(2 * (2 * one) ** 2 + 2 * one**2) / 7)
    shown = [line.split()[1] for line in ran.out.splitlines() if line.startswith("    - ")]
    assert [name.rpartition("::")[2] for name in shown] == ["x1", "y1"] * 3 and set(shown) <= set(
        ran.results["results"]
    )


def test_the_same_number_twice_is_refused(cli, suite: Suite) -> None:
    suite.task("t", [True], "metric_list: [{metric: exact_match}]")
    suite.group("group: g\ntask: [t]\naggregate_metric_list:\n  - metric: exact_match\n  - metric: exact_match\n")
    ran = cli(*suite.words("g"))
    assert ran.code == 2 and "g.yaml:5" in ran.err + ran.out and "twice" in ran.err + ran.out


METRIC = "metric_list: [{metric: exact_match}]"
THEIRS = f"{METRIC}\nlmms_eval_specific_kwargs: {{default: {{pre_prompt: ''}}}}"


def halves(suite: Suite, more: str, group: str = "") -> None:
    """Tasks of 1 and 3 docs: 1.0 and 0.0, so that the mean over tasks is 0.5 and that over docs 0.25."""
    suite.task("small", [True], more)
    suite.task("large", [False] * 3, more)
    suite.group(f"group: g\ntask: [small, large]\naggregate_metric_list: [{{metric: exact_match{group}}}]\n")


@pytest.mark.parametrize(
    ("folder", "more", "group", "value"),
    few(
        [
            ("mine", METRIC, "", 0.25),
            ("mine", THEIRS, "", 0.5),
            ("mine", THEIRS, ", weight_by_size: true", 0.25),
            ("mine", METRIC, ", weight_by_size: false", 0.5),
            ("lmms_eval/tasks/halves", METRIC, "", 0.5),
            ("lmms_eval/tasks/halves", METRIC, ", weight_by_size: null", 0.5),
            ("lmms_eval/tasks/halves", METRIC, ", weight_by_size: true", 0.25),
            ("lm_eval/tasks/halves", METRIC, "", 0.25),
        ],
        at=[0, 3, 6],
    ),
)
def test_a_group_of_lmms_eval_has_that_suites_default_weights_and_says_so(
    cli, tmp_path: Path, folder: str, more: str, group: str, value: float
) -> None:
    (tmp_path / folder).parent.mkdir(parents=True, exist_ok=True)
    suite = Suite(tmp_path / folder)
    halves(suite, more, group)
    words = suite.words("g")
    ran = cli(*words, "--include_path", suite.folder, "--output_path", tmp_path / "run")
    row = ran.results["results"]["g"]
    assert ran.code == 0 and number(row, "exact_match")[0] == value
    noted = value == 0.5 and "false" not in group
    assert ("the mean over tasks, each of which counts the same, as lmms-eval" in ran.out) is noted
    assert any("as lmms-eval" in note for note in row.get("notes", ())) is noted
    again = cli("score", tmp_path / "run")
    assert again.code == 0 and ran.results["results"]["g"] == row


def test_a_group_of_ones_own_over_tasks_of_lmms_eval_keeps_our_default(cli, tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    suite = Suite(tmp_path / "mine" / "theirs")
    halves(suite, THEIRS)
    (suite.folder / "g.yaml").rename(tmp_path / "kept.yaml")
    own = tmp_path / "mine" / "own"
    own.mkdir()
    (tmp_path / "kept.yaml").rename(own / "g.yaml")
    ran = cli(*suite.words("g"), "--include_path", tmp_path / "mine", "--output_path", tmp_path / "run")
    assert ran.code == 0 and number(ran.results["results"]["g"], "exact_match")[0] == 0.25
