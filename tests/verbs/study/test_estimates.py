"""Groups in `compare` and `prompts`: their difference is that of their tasks together, whatever function makes their number."""

import json
import math
import random
import re

import pytest

from mm_eval.cli import main
from mm_eval.results.estimates import estimates, group_differences
from mm_eval.results.recorded import RecordedRun
from mm_eval.run_page import write_report
from mm_eval.values.distributions import t_quantile
from mm_eval.values.types import MetricKey
from mm_eval.verbs.report.release.numbers import release_table
from mm_eval.verbs.study.compare import compare
from mm_eval.verbs.study.prompts import Prompts
from mm_eval.verbs.study.variants_text import render

EXACT_MATCH = MetricKey("exact_match", "none")
TASK = """
task: NAME
dataset_path: json
dataset_kwargs: {data_files: {test: FILE}}
test_split: test
doc_to_text: "{{question}}"
doc_to_target: answer
metric_list: [{metric: exact_match}]
"""
UTILS = """
def weighted(values):
    return 3 * values[0] - values[1]


def product(values):
    return values[0] * values[1]
"""
GROUP = """
group: G
task: [one, two]
aggregate_metric_list:
  - {metric: exact_match, aggregation: FUNCTION}
"""


def right(generator, chances, added):
    return [float(generator.random() < chance + added) for chance in chances]


@pytest.fixture(scope="module")
def marks():
    """{run: {task: right or wrong, a doc each}}: two runs whose docs are hard for both alike."""
    generator = random.Random(11)
    chances = {
        "one": [generator.random() * 0.8 for _ in range(80)],
        "two": [generator.random() * 0.8 for _ in range(50)],
    }
    return {
        run: {task: right(generator, of, added) for task, of in chances.items()}
        for run, added in (("a", 0.0), ("b", 0.15))
    }


def asked(folder, marks, function, tasks="G"):
    """Runs of the group with these marks."""
    folder.mkdir(exist_ok=True)
    (folder / "utils.py").write_text(UTILS)
    (folder / "group.yaml").write_text(GROUP.replace("FUNCTION", function))
    for task, values in marks["a"].items():
        docs = [{"question": f"{task} {n}?", "answer": "1"} for n in range(len(values))]
        (folder / f"{task}.jsonl").write_text("\n".join(map(json.dumps, docs)))
        (folder / f"{task}.yaml").write_text(TASK.replace("NAME", task).replace("FILE", str(folder / f"{task}.jsonl")))
    runs = []
    for name, of_tasks in marks.items():
        rows = [
            {"task": task, "doc_id": n, "resps": [str(int(value))]}
            for task, values in of_tasks.items()
            for n, value in enumerate(values)
        ]
        (folder / f"{name}.answers").write_text("\n".join(map(json.dumps, rows)))
        words = ["--tasks", tasks, "--include_path", str(folder), "--model", "replay", "--no_report"]
        words += ["--model_args", f"path={folder / name}.answers", "--output_path", str(folder / name)]
        assert main(words) == 0
        runs.append(RecordedRun.read(folder / name, include_path=str(folder)))
    return runs


def of_group(comparison):
    [change] = [change for change in comparison.changes if change.task == "G"]
    return change


def spread(values):
    centre = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - 1))


def test_a_linear_function_is_exact(tmp_path, marks):
    runs = asked(tmp_path, marks, "!function utils.weighted")
    change = of_group(compare(runs)[0])
    found = change.difference
    mine, other = marks["a"], marks["b"]
    changes = {task: [b - a for a, b in zip(mine[task], other[task], strict=True)] for task in mine}
    means = {task: math.fsum(values) / len(values) for task, values in changes.items()}
    errors = {task: spread(values) / math.sqrt(len(values)) for task, values in changes.items()}
    assert found.value == pytest.approx(3 * means["one"] - means["two"])
    assert found.stderr == pytest.approx(math.hypot(3 * errors["one"], errors["two"]))
    assert change.headline and change.flips is None and found.n == 130
    number = runs[0].results.rows["G"]["exact_match"]
    assert change.first.value == pytest.approx(number.value)
    assert change.first.stderr == pytest.approx(number.stderr)


def test_a_function_that_is_not_linear_is_near_what_drawing_docs_anew_gives(tmp_path, marks):
    found = of_group(compare(asked(tmp_path, marks, "!function utils.product"))[0]).difference
    generator, drawn = random.Random(2), []
    for _ in range(4000):
        number = {"a": 1.0, "b": 1.0}
        for task in ("one", "two"):
            size = len(marks["a"][task])
            docs = generator.choices(range(size), k=size)
            for run in number:
                number[run] *= math.fsum(marks[run][task][i] for i in docs) / size
        drawn.append(number["b"] - number["a"])
    assert found.stderr == pytest.approx(spread(drawn), rel=0.06)
    apart = math.hypot(*(spread([math.prod(values) for values in drawn_apart(marks, run)]) for run in "ab"))
    assert found.stderr < apart, "what both runs share is taken out"


def test_a_group_whose_number_one_task_cannot_give_has_none(tmp_path):
    """It was the difference of the other tasks, without a word: where graders differ, or a task's own function is gone."""
    small = {run: {"one": [0.0, 1.0, end], "two": [1.0, end, 1.0]} for run, end in (("a", 0.0), ("b", 1.0))}
    runs = asked(tmp_path, small, "mean")
    changes = {change.task: change for change in compare(runs)[0].changes}
    assert changes["G"].difference.value == pytest.approx(1 / 3)
    triples = {name: (each.first, each.second, each.difference) for name, each in changes.items()}
    both = {name: {EXACT_MATCH: triples[name]} for name in ("one", "two")}
    assert [key for key, *_ in group_differences(runs[0], "G", both)] == [EXACT_MATCH]
    lacking = {**both, "two": {MetricKey("length", "none"): triples["two"]}}
    assert list(group_differences(runs[0], "G", lacking)) == []


def drawn_apart(marks, run):
    generator = random.Random(3)
    for _ in range(2000):
        yield [math.fsum(generator.choices(values, k=len(values))) / len(values) for values in marks[run].values()]


def test_prompts_have_a_table_for_the_group(tmp_path, marks):
    runs = asked(tmp_path, marks, "mean")
    for key, run in zip(("default", "other"), runs, strict=True):
        for prompt in run.results.run.prompts.values():
            prompt["key"] = key
    trial = Prompts.read("recorded", {"default": runs[0].folder, "other": runs[1].folder})
    trial.runs = {"default": runs[0], "other": runs[1]}
    text = render([trial])
    table = text[text.index("\nG ") :].splitlines()
    lost = sum(a > b for task in ("one", "two") for a, b in zip(marks["a"][task], marks["b"][task], strict=True))
    cells = table[4].split()
    assert cells[0] == "other" and int(cells[-3]) == lost
    found = estimates(runs[1], "G")[EXACT_MATCH]
    assert f"{100 * found.value:.1f} ± {100 * found.margin:.1f}" in table[4] and (found.n, found.freedom) == (130, 128)
    assert "On G (exact_match)" in text and "n one (exact_match)" not in text, (
        "a verdict for the whole, not for its parts"
    )


def test_every_report_gives_a_group_the_same_students_interval(tmp_path):
    """Two tasks count alike, and nearly all the doubt is the small one's: its 4 degrees of freedom count, not 203."""
    small = {"one": [1.0] * 150 + [0.0] * 50, "two": [1.0, 0.0, 1.0, 0.0, 1.0]}
    run, _ = asked(tmp_path, {"a": small, "b": small}, "mean, weight_by_size: false")
    found = estimates(run, "G")[EXACT_MATCH]
    # the small task is of few docs: its interval is exact, and the group's is made of both tasks'
    assert found.freedom in (4, 5) and found.exact is not None
    plain = {"one": [1.0] * 150 + [0.0] * 50, "two": [1.0, 0.0] * 15}
    run, _ = asked(tmp_path / "plain", {"a": plain, "b": plain}, "mean, weight_by_size: false")
    found = estimates(run, "G")[EXACT_MATCH]
    share = {name: run.tasks[name].number(EXACT_MATCH) for name in plain}
    v = [e.stderr**2 / 4 for e in share.values()]
    freedom = round(sum(v) ** 2 / sum(each**2 / e.freedom for each, e in zip(v, share.values(), strict=True)))
    assert found.exact is None and found.freedom == freedom < 45
    assert found.margin == pytest.approx(t_quantile(0.975, freedom) * found.stderr)
    cell = release_table([run]).rows[("G", "exact_match")][run.model]
    assert (cell.margin, cell.interval) == (found.margin, found.interval)
    page = run.folder / "report.html"
    write_report(run)
    data = json.loads(re.search(r'id="data">(.*?)</script>', page.read_text(), re.DOTALL)[1])
    [row] = [row for row in data["table"] if row["name"] == "G"]
    assert row["numbers"][0]["interval"] == pytest.approx(list(found.interval))


def test_a_group_of_which_all_is_right_has_an_interval(tmp_path, capsys):
    whole = {"one": [1.0] * 40, "two": [1.0] * 10}
    runs = asked(tmp_path, {"a": whole, "b": whole}, "mean, weight_by_size: false")
    low = 1 - math.hypot(*((1 - 0.025 ** (1 / n)) / 2 for n in (40, 10)))
    found = estimates(runs[0], "G")[EXACT_MATCH]
    assert found.interval == pytest.approx((low, 1.0)) and found.exact
    number = runs[0].results.rows["G"]["exact_match"]
    assert number.stderr == 0.0 and number.exact == pytest.approx((low, 1.0))
    assert f"{100 * low:.1f} to 100.0" in capsys.readouterr().out
    change = of_group(compare(runs)[0])
    assert change.difference.interval == pytest.approx((low - 1, 1 - low)) and change.corrected == 1.0
