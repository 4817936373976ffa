"""What Python adds to a task that is asked without and with it, in words, in numbers, and in a release."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mm_eval import evaluate
from mm_eval.engine.model import Answers, Model, ModelFacts, ModelSettings, question
from mm_eval.engine.prices import Price
from mm_eval.request import RunRequest
from mm_eval.results.changes import Change
from mm_eval.results.recorded import RecordedRun
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import Answer, Instance, MetricKey, Number
from mm_eval.verbs.report.release.numbers import release_table
from mm_eval.verbs.report.release.page import about
from mm_eval.verbs.report.release.plan import read_release
from mm_eval.verbs.report.release.text import as_csv, as_latex, as_markdown
from mm_eval.verbs.study.compare import compare
from mm_eval.verbs.study.compare_text import as_json, render
from mm_eval.verbs.study.gains import Gain, Use, dollars_text, sentences
from mm_eval.verbs.study.gains_table import gains_table
from tests.conftest import Ran
from tests.sandbox.there import why_not


class Helped(Model):
    """Without tools it answers A; with them it is right on `tasks`, and wrong elsewhere. It runs no code."""

    def __init__(self, name: str, tasks: str) -> None:
        super().__init__({}, ModelSettings())
        self.tasks = tasks.split(",")
        self.facts = ModelFacts(name=name, chat=True, price=Price(2, 10))

    def identity(self, instance: Instance) -> dict[str, Any]:
        return {"helped": self.facts.name, **question(instance, 0)}

    def generate(self, instances: Iterable[Instance]) -> Answers:
        for instance in instances:
            said, tokens = "A", 100
            if "<tools>" in str(instance.context):
                said, tokens = (
                    (str(instance.target) if instance.task.rpartition("::")[2].split("@")[0] in self.tasks else "none"),
                    410,
                )
            yield instance, Answer(said, usage={"prompt_tokens": tokens, "completion_tokens": 0})


class Wavering(Helped):
    """As Helped, but it takes another answer and other tokens in each attempt."""

    def generate(self, instances: Iterable[Instance]) -> Answers:
        for instance, answer in super().generate(instances):
            assert isinstance(answer, Answer)
            output = "ABCD"[(instance.doc_id + instance.repeat) % 4] if instance.repeat else answer.output
            yield (
                instance,
                answer.having(output=output, usage={"prompt_tokens": 1, "completion_tokens": 10**instance.repeat}),
            )


TASKS = ["mmstar", "mmstar@python", "seedbench", "seedbench@python", "scienceqa_img"]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, RecordedRun]]:
    if why := why_not():
        pytest.skip(why)
    folder, made = tmp_path_factory.mktemp("gains"), {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mm_eval.sandbox.check.refuse_if_open", lambda sandbox: None)
        for name, helped in (("first", "mmstar"), ("second", "mmstar,seedbench")):
            more = {"sample": True, "limit": 60, "output_path": str(folder / name), "report": False}
            evaluate(model=Helped(name, helped), tasks=TASKS, **more)
            made[name] = RecordedRun.read(folder / name, name)
        yield made


def test_one_run_says_what_python_adds_in_one_sentence_on_top(runs: dict[str, RecordedRun]) -> None:
    run = runs["first"]
    (found,) = compare([run, run])
    assert [change.task for change in found.changes if change.main] == ["mmstar", "seedbench"], "no task beside pairs"
    gain, loss = found.gains
    assert (gain.task, gain.name, gain.is_better, loss.is_better) == ("mmstar", "mmstar@python", True, False)
    assert gain.use.tokens == (100, 410) and gain.use.dollars == pytest.approx((0.0002, 0.00082))
    assert (gain.use.calls, gain.use.used) == (0, 0) and gain.use.docs == gain.change.difference.n
    low, high = gain.change.difference.interval or (0, 0)
    said = f"Python adds {100 * gain.change.difference.value:.1f} ({100 * low:.1f} to {100 * high:.1f}) on mmstar"
    shown = render(run, [found])
    assert shown.startswith(f"{said} at 4.1 times the tokens; it takes "), shown
    assert " from seedbench at 4.1 times the tokens.\n" in shown
    assert "at 4.1 times the tokens (410 a document, 100 without), with 0.0 calls a document, code in 0 of" in shown
    assert "$0.00082 a document ($0.00020 without)" in shown
    stated = json.loads(as_json(run, [found]))["compared"][0]
    assert stated["sentence"] == shown.split("\n")[0] and stated["gains"][0]["tokens"] == {"without": 100, "with": 410}
    keys = [column.key for column in gains_table([("", gain)]).columns]
    assert keys[-5:] == ["tokens", "times", "calls", "used in", "dollars"]
    uncounted = replace(gain, use=replace(gain.use, tokens=(0.0, 0.0), dollars=None))
    assert [column.key for column in gains_table([("", uncounted)]).columns][-2:] == ["calls", "used in"]
    assert "tokens" not in [column.key for column in gains_table([("", uncounted)]).columns], "it would be empty"
    assert stated["gains"][0]["gained"] > 0 == stated["gains"][0]["lost"]
    assert compare([run, run], only=["mmstar@python"])[0].gains[0].task == "mmstar"


def test_a_group_has_a_gain_of_its_own_and_its_members_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if why := why_not():
        pytest.skip(why)
    monkeypatch.setattr("mm_eval.sandbox.check.refuse_if_open", lambda sandbox: None)
    group = "group: both\ntask: [mmstar, scienceqa_img]\n"
    (tmp_path / "both.yaml").write_text(f"{group}aggregate_metric_list: [{{metric: acc, weight_by_size: false}}]\n")
    more = {"sample": True, "limit": 8, "output_path": str(tmp_path / "run"), "report": False}
    tasks = ["both", "both@python", "mme"]
    evaluate(model=Helped("first", "mmstar,scienceqa_img"), tasks=tasks, include_path=str(tmp_path), **more)
    run = RecordedRun.read(tmp_path / "run", "first", str(tmp_path))
    (found,) = compare([run, run])[0].gains
    assert (found.task, found.name, found.use.tokens, found.use.docs) == ("both", "both@python", (100, 410), 16)
    before, after = (run.results.rows[name].numbers[0].value for name in ("both", "both@python"))
    assert found.change.difference.value == pytest.approx(after - before) and found.flips and found.flips[1] == 0
    table = release_table([run])
    assert [row[0] for row in table.shown()][:2] == ["both", "both@python"] and len(table.gains) == 1
    assert "| both: gain | +" in as_markdown(table)


def test_two_models_are_no_pair(runs: dict[str, RecordedRun], tmp_path: Path) -> None:
    both = [RecordedRun.read(runs[name].folder, name) for name in ("first", "second")]
    assert compare(both)[0].gains == []


def change(task: str, value: float, p: float, better: bool = True, metric: str = "acc") -> Change:
    numbers = [
        Number(MetricKey(metric, "none"), each, 0.02, freedom=50, clusters=51, n=51)
        for each in (0.4, 0.4 + value, value)
    ]
    return Change(task, MetricKey(metric, "none"), *numbers, None, better, corrected=p, main=True)


def gain(*args: Any, tokens: tuple[float, float] = (10, 30), what: str = "python", **more: Any) -> Gain:
    found = change(*args, **more)
    return Gain(f"{found.task}@python", what, found, Use(tokens))


@pytest.mark.parametrize(
    ("gains", "said"),
    [
        (
            [gain("a", 0.123, 0.001), gain("b", 0.01, 0.6)],
            "Python adds 12.3 (8.3 to 16.3) on a at 3.0 times the tokens; on b it makes no significant difference.",
        ),
        (
            [gain("a", 0.01, 0.9), gain("b", 0, 1), gain("c", 0, 1)],
            "Python makes no significant difference on a, b and c.",
        ),
        (
            [gain("a", 0.1, 0.01, tokens=(0, 0)), gain("b", -0.2, 0.01), gain("c", 0.2, 0.01)],
            "Python adds 10.0 (6.0 to 14.0) on a and 20.0 (16.0 to 24.0) on c at 3.0 times the tokens; it takes "
            "20.0 (16.0 to 24.0) from b at 3.0 times the tokens.",
        ),
        (
            [gain("a", -0.1, 0.01, better=False, metric="slips"), gain("b", 0.1, 0.01, better=False, metric="slips")],
            "Python lowers slips of a, which is better low, by 10.0 (6.0 to 14.0) at 3.0 times the tokens; it raises slips of b, "
            "which is better low, by 10.0 (6.0 to 14.0) at 3.0 times the tokens.",
        ),
        ([gain("a", -0.2, 0.01, what="zoom")], "Zoom takes 20.0 (16.0 to 24.0) from a at 3.0 times the tokens."),
    ],
)
def test_the_sentence_names_tasks_by_what_the_corrected_tests_say(gains: list[Gain], said: str) -> None:
    assert sentences(gains) == [said]


def test_dollars_of_a_document_are_parts_of_a_cent() -> None:
    shown = [dollars_text(each) for each in (0, 0.00082, 0.0002, 0.0123, 0.1, 1.234, 1234.5)]
    assert shown == ["$0.00", "$0.00082", "$0.00020", "$0.012", "$0.10", "$1.23", "$1,234.50"]


def test_a_release_shows_the_pair_and_counts_a_benchmark_once(runs: dict[str, RecordedRun]) -> None:
    table = release_table([runs["first"], runs["second"]])
    names = [row[0] for row in table.shown()]
    assert names == ["mmstar", "mmstar@python", "seedbench", "seedbench@python", "scienceqa_img"]
    assert [said.split(" ")[:3] for said in table.gains_said] == [
        ["first:", "Python", "adds"],
        ["second:", "Python", "adds"],
    ]
    gains = table.gains["seedbench@python", table.shown()[3][1]]
    assert gains["first"].is_better is False and gains["second"].is_better is True
    shown = as_markdown(table)
    assert shown.startswith("first: Python adds ") and shown.count(": gain |") == 2, shown
    (line,) = [line for line in shown.split("\n") if line.startswith("| mmstar: gain |")]
    assert line.count("[+") == 2 and "n.s." not in line
    assert as_latex(table).startswith("% first: Python adds ") and "mmstar: gain & +" in as_latex(table)
    assert any(note.startswith("Average: of 3 benchmarks (mmstar, seedbench, scienceqa_img)") for note in table.notes)
    average = sum(table.rows[row]["first"].value for row in table.shown() if "@" not in row[0]) / 3
    assert table.average["first"].value == pytest.approx(average)
    assert "of 3 benchmarks" in table.sentence
    rows = list(csv.DictReader(io.StringIO(as_csv(table))))
    (paired,) = [row for row in rows if row["gain"] and (row["benchmark"], row["model"]) == ("mmstar@python", "first")]
    assert (
        float(paired["gain"]) == pytest.approx(float(paired["value"]) - float(paired["without"]))
        and paired["used"] == "0.0"
    )
    assert float(paired["gain_low"]) > 0 and (paired["tokens"], paired["tokens_without"]) == ("410.0", "100.0")
    page = about(table, {})
    assert page["benchmarks"] == 3 and page["ranks"] is None, "the one benchmark of two columns ranks nobody twice"
    assert page["gains"] == table.gains_said and page["rows"][1]["cells"][0]["gain"].startswith("gain +")
    assert page["parts"][0]["title"] == "Without and with Python" and len(page["parts"][0]["table"]["rows"]) == 4


def test_gained_and_lost_are_said_once_of_repeated_answers(
    tmp_path: Path, cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why := why_not():
        pytest.skip(why)
    monkeypatch.setattr("mm_eval.sandbox.check.refuse_if_open", lambda sandbox: None)
    more = {"sample": True, "limit": 12, "repeats": 3, "gen_kwargs": {"temperature": 1.0}, "report": False}
    evaluate(model=Wavering("m", "mmstar"), tasks=TASKS[:2], output_path=str(tmp_path / "run"), **more)
    [compared] = compare([RecordedRun.read(tmp_path / "run")] * 2)
    [said] = compared.said
    changes = {change.key.metric: change for change in compared.changes if change.headline}
    assert changes.keys() >= {"acc", "avg@3(acc)", "pass@3(acc)"} and changes["acc"].flips is not None
    gained = len(changes["acc"].flips.gained)
    assert f"python gained {gained} documents, lost 0 by acc, " in said and said.count("gained") == 1
    assert "with 0.0 calls an attempt" in said and "(38 an attempt, 38 without)" in said
    ran: Ran = cli("compare", tmp_path / "run")
    assert "mmstar (acc) gained: " in ran.out and "pass@3(acc)) gained" not in ran.out
    assert RecordedRun.read(tmp_path / "run").output_tokens["mmstar"] == dict.fromkeys(range(12), 37.0)


def test_a_release_file_asks_each_task_in_each_column(tmp_path: Path) -> None:
    file = tmp_path / "release.yaml"

    def tasks(text: str, models: str = "[{model: dummy}]") -> Any:
        file.write_text(f"{text}\nmodels: {models}\n")
        return [run.tasks for run in read_release(str(file), RunRequest(())).runs.values()]

    both = ("mme", "mme@python", "mmlu@generate", "mmlu@generate@python")
    assert tasks("tasks: [mme, mmlu@generate]\ncolumns: [plain, python]") == [both]
    assert tasks("tasks: mme,mmlu@generate\ncolumns: [plain, python]") == [both]
    assert tasks('tasks: ["mme,mmlu@generate"]\ncolumns: [python]') == [both[1::2]]
    stated = [{"task": "mme", "num_fewshot": 1}, {"task": "mme@python", "num_fewshot": 1}]
    assert list(tasks("tasks: [{task: mme, num_fewshot: 1}]\ncolumns: [plain, python]")[0]) == stated
    own = "[{model: dummy}, {model: dummy, name: b, columns: [plain]}]"
    assert tasks("tasks: [mme]\ncolumns: [plain, python]", own) == [("mme", "mme@python"), ("mme",)]
    for text, said in (
        ("tasks: [mme]\ncolumns: [plain, pythn]", "a list of plain and python is needed"),
        ("tasks: [mme]\ncolumns: [plain, plain]", "a list of plain and python is needed"),
        ("tasks: [mme@python]\ncolumns: [plain, python]", "asks 'mme@python' twice"),
        ("tasks: [mme]\ntools: python\ncolumns: [plain, python]", "Leave one of them out"),
        ("tasks: [{group: g, task: [mme]}]\ncolumns: [plain, python]", "a file of its own"),
    ):
        with pytest.raises(ConfigError, match=said):
            tasks(text)


def test_a_column_that_is_added_to_a_release_keeps_its_runs(
    tmp_path: Path, cli: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    if why := why_not():
        pytest.skip(why)
    monkeypatch.setattr("mm_eval.sandbox.check.refuse_if_open", lambda sandbox: None)  # a start of its own
    file, out = tmp_path / "release.yaml", tmp_path / "out"
    text = f"output_path: {out}\nsample: true\nno_report: true\nlimit: 3\ntasks: [mmstar]\nmodels: [dummy]\n"
    file.write_text(text)
    assert cli("--config", file).code == 0
    [journal] = out.glob("*/journal/*.jsonl")
    answers = journal.read_text()
    file.write_text(f"{text}columns: [plain, python]\n")
    ran: Ran = cli("--config", file)
    assert ran.code == 0 and "| mmstar@python" in ran.out, ran.out + ran.err
    assert journal.read_text() == answers
    [added] = set(out.glob("*/journal/*.jsonl")) - {journal}
    asked = [json.loads(line) for line in added.read_text().splitlines()]
    slots = {tuple(slot[:2]) for record in asked if record["kind"] == "answer" for slot in record["slots"]}
    assert slots == {("mmstar@python", doc_id) for doc_id in range(3)}


def test_a_task_of_log_likelihoods_ends_a_release_with_columns_before_anything_is_asked(
    tmp_path: Path, cli: Any
) -> None:
    file = tmp_path / "release.yaml"
    head = f"output_path: {tmp_path / 'out'}\nsample: true\ncolumns: [plain, python]\n"
    file.write_text(f"{head}tasks: [mme, arc_easy, mmlu_anatomy]\nmodels: [{{model: dummy}}]\n")
    ran: Ran = cli("--config", file)
    assert ran.code == 2 and not (tmp_path / "out").exists()
    assert "Ask arc_easy@generate@python." in ran.err and "Ask mmlu_anatomy@generate@python." in ran.err
