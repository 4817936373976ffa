"""Ranks of the release table: only what can be told apart is ranked apart, and unlike measurements are not ranked together."""

import json
import random
from dataclasses import replace
from pathlib import Path

import pytest

from mm_eval import evaluate
from mm_eval.results.recorded import RecordedRun
from mm_eval.values.errors import ConfigError
from mm_eval.verbs.report.figures import shade
from mm_eval.verbs.report.release.numbers import Reported, release_table
from mm_eval.verbs.report.release.ranking import ranked_columns, set_apart
from mm_eval.verbs.report.release.table import ReleaseNumber
from mm_eval.verbs.report.release.text import as_markdown
from tests.recorded import answers_with, ran
from tests.sets import few


@pytest.fixture(scope="module")
def noisy(base, mme_rows) -> list[RecordedRun]:
    """Four models on MME: two that are wrong on 60 docs each, drawn alike, one wrong on 61, and one wrong on 200."""
    runs = []
    for number, (name, wrong) in enumerate([("a", 60), ("b", 60), ("c", 61), ("d", 200)]):
        docs = set(random.Random(number).sample(range(len(mme_rows)), wrong))
        path = answers_with(base / f"noisy-{name}.jsonl", mme_rows, docs)
        folder = ran(
            base / f"noisy-{name}", "--tasks", "mme", "--model", "replay", "--model_args", f"path={path}", "--no_report"
        )
        runs.append(RecordedRun.read(folder, name))
    return runs


@pytest.mark.full
def test_noise_shares_a_rank_and_is_bold_together(noisy) -> None:
    table = release_table(noisy)
    numbers = table.rows["mme", "mme_perception_score"]
    values = [numbers[name].value for name in "abc"]
    assert len(set(values)) > 1, "the three differ by chance"
    assert dict(ranked_columns(numbers)) == {"a": "1=", "b": "1=", "c": "1=", "d": "4"}
    assert [numbers[name].best for name in "abcd"] == [True, True, True, False]
    [line] = [line for line in as_markdown(table).splitlines() if line.startswith("| mme |")]
    assert line.count("**") == 6


@pytest.mark.full
def test_where_nothing_is_told_apart_nothing_is_bold(noisy) -> None:
    numbers = release_table(noisy[:3]).rows["mme", "mme_perception_score"]
    assert not any(found.best for found in numbers.values()) and dict(ranked_columns(numbers)) == {}


def test_a_number_below_one_that_is_behind_is_not_bold(noisy) -> None:
    """A reported number inside the interval of ours is told apart from neither ours nor the reported first."""
    key = ("mme", "mme_perception_score")
    ours = release_table(noisy[:1]).rows[key]["a"].value
    reported = [Reported("first", *key, 2000.0, 1.0, "x"), Reported("last", *key, ours - 1, 1.0, "x")]
    numbers = release_table(noisy[:1], reported).rows[key]
    assert [(numbers[name].rank, numbers[name].best) for name in ("first", "a", "last")] == [
        (1, True),
        (2, False),
        (1, False),
    ]


@pytest.mark.full
def test_a_part_of_the_docs_is_not_ranked_with_all_of_them(noisy, base, mme_rows) -> None:
    path = answers_with(base / "few.jsonl", mme_rows, set())
    few = ran(base / "few", "--tasks", "mme", "--model", "replay", "--model_args", f"path={path}", "--limit", "60")
    table = release_table([*noisy, RecordedRun.read(few, "few")])
    found = table.rows["mme", "mme_perception_score"]["few"]
    assert found.set_apart and found.rank is None and not found.best
    assert "few: the choice of documents differs from most models on mme: not ranked there." in table.notes
    assert "‡" in as_markdown(table)


@pytest.mark.full
def test_nothing_is_bold_beside_a_better_number_that_is_not_ranked(noisy, base, mme_rows) -> None:
    """Ten docs, all right: the best number of the row, of a part of the docs."""
    path = answers_with(base / "ten.jsonl", mme_rows, set())
    words = ("--tasks", "mme", "--model", "replay", "--model_args", f"path={path}")
    ten = RecordedRun.read(ran(base / "ten", *words), "ten")
    tasks = {"mme": {**ten.spec["tasks"]["mme"], "docs": {"count": 10, "first": 0, "sha256": "x"}}}
    apart = replace(ten, spec={**ten.spec, "tasks": tasks}, name="ten")
    for runs in ([*noisy, apart], [apart, *noisy]):
        numbers = release_table(runs).rows["mme", "mme_perception_score"]
        assert numbers["ten"].set_apart and numbers["ten"].value > numbers["a"].value
        assert not any(found.best for found in numbers.values()) and numbers["d"].rank == 4


def test_what_is_usual_does_not_depend_on_the_order_of_columns(noisy) -> None:
    """Two models on one data set, two on another: the same two are ranked, whoever comes first."""
    part = [
        replace(run, spec={**run.spec, "tasks": {"mme": {**run.spec["tasks"]["mme"], "data": "0" * 64}}})
        for run in noisy[2:]
    ]
    found = []
    for runs in ([*noisy[:2], *part], [*part, *noisy[:2]]):
        table = release_table(runs)
        found.append({name: number.set_apart for name, number in table.rows["mme", "mme_perception_score"].items()})
    assert found[0] == found[1] and sum(found[0].values()) == 2


def test_other_data_is_not_ranked(noisy) -> None:
    tasks = {"mme": {**noisy[0].spec["tasks"]["mme"], "data": "0" * 64}}
    unlike = replace(noisy[0], spec={**noisy[0].spec, "tasks": tasks}, name="unlike")
    table = release_table([*noisy[1:], unlike])
    assert table.rows["mme", "mme_perception_score"]["unlike"].set_apart
    assert "unlike: the data differs from most models on mme: not ranked there." in table.notes


@pytest.mark.parametrize(
    ("change", "what"),
    few(
        [
            ({"prompt": {"key": "mine", "kwargs": {"post_prompt": "?"}}}, "prompt"),
            ({"system": "Be brief."}, "system instruction"),
            ({"chat": "another"}, "chat template"),
        ],
        at=(0,),
    ),
)
def test_each_model_is_ranked_under_its_own_prompt(noisy, change: dict, what: str) -> None:
    """That is what releases do. The cell is marked, a note says it once, and --same_prompt ranks equal prompts only."""
    of_task = {"mme": {**noisy[0].spec["tasks"]["mme"], **{k: v for k, v in change.items() if k == "prompt"}}}
    of_run = {k: v for k, v in change.items() if k != "prompt"}
    own = replace(noisy[0], spec={**noisy[0].spec, **of_run, "tasks": of_task}, name="own")
    row = ("mme", "mme_perception_score")
    table = release_table([*noisy[1:], own])
    assert table.rows[row]["own"].rank == 1 and table.rows[row]["own"].own_prompt == what
    assert [bool(found.own_prompt) for found in table.rows[row].values()].count(True) == 1
    text = as_markdown(table)
    assert f"¶ asked with another {what} than most of its row" in text
    assert text.count(f"On 1 benchmark (mme) the models differ in the {what} (each was given its own).") == 1
    strict = release_table([*noisy[1:], own], same_prompt=True)
    assert strict.rows[row]["own"].set_apart and strict.rows[row]["own"].rank is None
    assert f"own: the {what} differs from most models on mme: not ranked there." in strict.notes


def test_no_cell_is_marked_where_a_row_has_no_usual_prompt(noisy) -> None:
    """Of two prompts for two models neither is the odd one. The note says it, and the order of the runs changes nothing."""
    of_task = {"mme": {**noisy[0].spec["tasks"]["mme"], "prompt": {"key": "mine", "kwargs": {"post_prompt": "?"}}}}
    own = replace(noisy[0], spec={**noisy[0].spec, "tasks": of_task}, name="own")
    for runs in ([own, noisy[1]], [noisy[1], own]):
        table = release_table(runs)
        assert not any(found.own_prompt for numbers in table.rows.values() for found in numbers.values())
        text = as_markdown(table)
        assert "¶" not in text and "the models differ in the prompt (each was given its own)" in text
        table.rows["mme@python", "mme_perception_score"] = table.rows["mme", "mme_perception_score"]
        [note] = [note for note in set_apart(table) if "differ in the prompt" in note]
        assert note.startswith("On 1 benchmark (mme, mme@python) the models"), "without and with Python is one"


def test_a_colour_says_what_the_tests_say() -> None:
    numbers = [ReleaseNumber(value, rank=rank, best=rank == 1) for value, rank in ((9, 1), (8, 1), (5, 3), (1, 4))]
    assert [shade(found, numbers) for found in numbers] == [1, 1, pytest.approx(1 / 3), 0]
    ties = [ReleaseNumber(value, rank=1) for value in (9.0, 1.0)]
    assert [shade(found, ties) for found in (*ties, None)] == [0, 0, 0]


@pytest.mark.full
@pytest.mark.parametrize(("value", "rank"), [(2100.0, 1), (1.0, 5)])
def test_a_reported_number_is_ranked_by_our_intervals(noisy, value: float, rank: int) -> None:
    table = release_table(noisy, [Reported("paper", "mme", "mme_perception_score", value, 0.0, "x")])
    numbers = table.rows["mme", "mme_perception_score"]
    assert numbers["paper"].rank == rank and numbers["paper"].best == (rank == 1)
    near = Reported("paper", "mme", "mme_perception_score", numbers["a"].value + 1, 0.0, "x")
    again = release_table(noisy, [near]).rows["mme", "mme_perception_score"]
    assert again["paper"].rank == again["a"].rank == 1


@pytest.mark.full
def test_categories_are_ranked_too(base) -> None:
    def seed(name: str, right) -> RecordedRun:
        rows = [json.loads(line) for line in (base / "dummy" / "samples" / "seedbench.jsonl").read_text().splitlines()]
        path = base / f"seed-{name}.jsonl"
        answers = [(row["doc_id"], row["target"] if right(row) else "none") for row in rows]
        path.write_text("\n".join(json.dumps({"task": "seedbench", "doc_id": n, "resps": [a]}) for n, a in answers))
        folder = ran(base / f"seed-{name}", "--tasks", "seedbench", "--model", "replay", "--model_args", f"path={path}")
        return RecordedRun.read(folder, name)

    blind = "Scene Understanding"
    runs = [seed("all", lambda row: True), seed("blind", lambda row: row["categories"]["question type"] != [blind])]
    [parts] = [found for row, found in release_table(runs).categories.items() if row[0] == "seedbench"]
    scene, others = parts["question type", blind], [found for key, found in parts.items() if key[1] != blind]
    assert scene["all"].best and not scene["blind"].best and scene["blind"].rank == 2
    assert not any(found["all"].best or found["blind"].best for found in others)


def test_groups_are_ranked_by_their_members(cli, base, tmp_path: Path) -> None:
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "both.yaml").write_text(
        "group: both\ntask: [mmstar, scienceqa_img]\naggregate_metric_list:\n"
        "  - {of: {mmstar: acc, scienceqa_img: acc}, metric: average}\n"
    )
    runs = []
    for name, share in (("good", 1.0), ("bad", 0.0)):
        gold = cli(
            "--tasks", "mmstar,scienceqa_img", "--model", "dummy", "--sample", "--output_path", tmp_path / "gold"
        )
        rows = [row for task in ("mmstar", "scienceqa_img") for row in gold.samples(task)]
        path = tmp_path / f"{name}.jsonl"
        answers = [{**row, "answer": str(row["target"]) if share else "Z"} for row in rows]
        path.write_text(
            "\n".join(json.dumps({"task": r["task"], "doc_id": r["doc_id"], "resps": [r["answer"]]}) for r in answers)
        )
        words = (
            "--tasks",
            "both",
            "--include_path",
            folder,
            "--sample",
            "--model",
            "replay",
            "--model_args",
            f"path={path}",
        )
        done = cli(*words, "--output_path", tmp_path / f"run-{name}")
        assert done.code == 0, done.err
        runs.append(RecordedRun.read(done.folder, name))
    [numbers] = [found for row, found in release_table(runs).rows.items() if row[0] == "both"]
    assert numbers["good"].rank == 1 and numbers["bad"].rank == 2 and numbers["good"].best


@pytest.mark.full
def test_a_number_without_a_direction_has_no_ranks(perfect, worse):
    runs = [RecordedRun.read(folder, name) for folder, name in ((perfect, "good"), (worse, "bad"))]
    for run in runs:
        run.results.rows["mme"].better["mme_perception_score"] = None
    table = release_table(runs)
    row = ("mme", "mme_perception_score")
    assert table.better[row] is None and all(
        found.rank is None and not found.best for found in table.rows[row].values()
    )
    assert table.rows["mme", "mme_cognition_score"]["good"].rank == 1


def test_a_model_that_lacks_its_hard_docs_is_not_ahead(tmp_path: Path) -> None:
    """On the docs that both answered the other is better: the two numbers say the opposite, and none of them is first."""
    rows = [{"id": doc_id, "right": "yes"} for doc_id in range(100)]
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def run(name: str, answers: list[str]) -> RecordedRun:
        tasks = [
            {
                "task": task, "dataset_path": "json", "dataset_kwargs": {"data_files": {"test": str(tmp_path / "docs.jsonl")}},
                "test_split": "test", "output_type": "generate_until", "doc_to_text": "{{id}}", "doc_to_target": "{{right}}",
                "metric_list": [{"metric": "exact_match"}],
            }
            for task in ("one", "two")
        ]  # fmt: skip
        said = [
            {"task": task, "doc_id": n, "resps": [text]} for task in ("one", "two") for n, text in enumerate(answers)
        ]
        path = tmp_path / f"{name}.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in said))
        evaluate(tasks, "replay", {"path": str(path)}, output_path=str(tmp_path / name), report=False)
        return RecordedRun.read(tmp_path / name, name)

    lacking = run("lacking", ["no" if n % 5 == 0 else "yes" for n in range(50)])
    whole = run("whole", ["yes" if n < 50 or n % 3 == 0 else "no" for n in range(100)])
    with pytest.raises(ConfigError, match=r"x reports 85 for paper, and one is a share, from 0 to 1. Write 0.85"):
        release_table([lacking, whole], [Reported("paper", "one", "exact_match", 85.0, 0.0, "x")])
    table = release_table([lacking, whole])
    for task in ("one", "two"):
        numbers = table.rows[task, "exact_match"]
        assert numbers["lacking"].value == 0.8 > numbers["whole"].value == 0.67
        assert dict(ranked_columns(numbers)) == {} and not any(found.best for found in numbers.values())
    assert "show no significant difference on any of 2 benchmarks" in table.sentence
    assert "Average 80.0 against 67.0, +13.0; -20.0 on the documents that both answered (-2" in table.sentence
