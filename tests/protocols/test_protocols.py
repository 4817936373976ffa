"""Named protocols: what they set, what a run says of the reported numbers, and how their files are checked."""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from mm_eval import evaluate
from mm_eval.config.manager import TaskManager
from mm_eval.prepare import prepare
from mm_eval.protocols.protocol import COPIED, KNOWN, UNSTATED, UNVERIFIED
from mm_eval.protocols.protocol_file import find_protocol, protocol_names
from mm_eval.protocols.run_under import protocol_of
from mm_eval.protocols.verdicts import differences
from mm_eval.request import RunRequest
from mm_eval.results.findings import as_command
from mm_eval.results.recorded import RecordedRun
from mm_eval.values.errors import ConfigError
from mm_eval.verbs.report.release.numbers import release_table
from mm_eval.verbs.report.release.text import as_csv, as_markdown
from tests.conftest import ROOT, Ran
from tests.sets import few

TASK = """
task: own
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: !function utils.asked
doc_to_target: answer
metric_list: [{metric: exact_match, higher_is_better: true}, {metric: anls}]
model_specific_prompt_kwargs: {default: {post_prompt: " Shortly."}, other: {post_prompt: " At length."}}
"""
UTILS = """
def asked(doc, model_specific_prompt_kwargs):
    return doc["question"] + model_specific_prompt_kwargs["post_prompt"]
"""
PROTOCOL = """
protocol: mine
title: Mine
report: "arXiv:1"
models: {Big-7B: [org/big-7b], Small-1B: []}
settings:
  num_fewshot: {value: 0, known: assumed}
  gen_kwargs: {value: {max_new_tokens: 9}, known: documented by the authors, source: README}
conditions: [{what: half precision, known: from memory}]
benchmarks:
  - task: own
    prompt: {value: {post_prompt: " Now."}, known: taken from the authors' code, source: eval.py}
    reported:
      metric: exact_match
      unit: percent
      numbers: {Big-7B: 75}
      tolerance: 0.5
      known: printed in the paper
      source: table 1
missing: [{benchmark: Other, why: its answers are on a server}]
"""
RunOwn = Callable[..., Ran]


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A folder with a task of 40 docs, a protocol for it, and answers of which 30 are right."""
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "own.yaml").write_text(TASK)
    (folder / "utils.py").write_text(UTILS)
    (folder / "mine.yaml").write_text(PROTOCOL)
    rows = [{"question": f"Is {number} even?", "answer": "yes" if number % 2 == 0 else "no"} for number in range(40)]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    write_answers(folder, 30)
    return folder


def write_answers(folder: Path, right: int) -> None:
    said = [("yes" if n % 2 == 0 else "no") if n < right else "?" for n in range(40)]
    lines = [json.dumps({"task": "own", "doc_id": n, "resps": [each]}) for n, each in enumerate(said)]
    (folder / "answers.jsonl").write_text("\n".join(lines))


@pytest.fixture
def run(cli, own: Path, monkeypatch: pytest.MonkeyPatch) -> RunOwn:
    """Runs the task on its recorded answers under the protocol, as Big-7B."""
    monkeypatch.chdir(own)  # where the rows lie

    def started(*more: str, name: str = "Big-7B", page: bool = False) -> Ran:
        words = ["--include_path", str(own), "--model", "replay", "--model_args", f"path={own}/answers.jsonl"]
        words += ["--name", name] if name else []
        words += [] if page else ["--no_report"]
        folder = own.parent / "run"
        ran = cli("--protocol", "mine", *words, "--output_path", folder, *more)
        assert ran.code == 0, ran.err
        return ran

    return started


def changed(own: Path, old: str, new: str) -> None:
    text = (own / "mine.yaml").read_text()
    assert old in text
    (own / "mine.yaml").write_text(text.replace(old, new))


def only_row(ran: Ran) -> dict[str, Any]:
    (row,) = ran.results["protocol"]["rows"]
    return row


def test_a_run_has_the_settings_of_the_protocol_and_matches(run: RunOwn) -> None:
    ran = run(page=True)
    row = only_row(ran)
    assert (row["verdict"], row["ours"], row["reported"], row["source"]) == ("matches", 0.75, 0.75, "table 1")
    assert {sample["prompt"][-5:] for sample in ran.samples("own")} == {" Now."}
    recorded = json.loads((ran.folder / "run.json").read_text())
    assert recorded["request"]["protocol"] == "mine" and recorded["request"]["tasks"] == ["own"]
    assert recorded["spec"]["tasks"]["own"]["config"]["stated"]["generation_kwargs"] == {"max_new_tokens": 9}
    assert "as Big-7B" in ran.out and "1 matches, 0 off, 0 not comparable" in ran.out
    assert "but no task here measures it: Other" in ran.out
    assert "protocol mine: exact_match 75.0 as reported (table 1): matches" in (ran.folder / "report.html").read_text()


def test_the_second_launch_and_a_new_scoring_say_the_same(run: RunOwn, cli) -> None:
    first = (run().folder / "results.json").read_text()
    again = run()
    assert cli("score", again.folder).code == 0
    assert json.loads(first)["protocol"] == again.results["protocol"]


def test_a_number_that_is_off_names_what_may_explain_it(run: RunOwn, own: Path) -> None:
    write_answers(own, 10)
    ran = run()
    assert only_row(ran)["verdict"] == "off by -50.00 (more than sampling error)"
    assert "num_fewshot of the protocol is assumed; half precision (from memory)" in ran.out


@pytest.mark.parametrize(
    ("reported", "verdict"), [("82.4", "matches"), ("82.5", "off by -7.50 (more than sampling error)")]
)
def test_the_tolerance_is_the_protocol_s_and_one_standard_error(
    run: RunOwn, own: Path, reported: str, verdict: str
) -> None:
    changed(own, "Big-7B: 75", f"Big-7B: {reported}")  # 75% of 40 docs: a standard error of 6.93, and 0.5
    row = only_row(run())
    assert row["verdict"] == verdict and row["allowed"] == pytest.approx(0.005 + row["stderr"])


def test_a_number_that_others_copied_is_near_and_never_matches(run: RunOwn, own: Path) -> None:
    changed(own, "known: printed in the paper", "known: copied by others")
    ran = run(page=True)
    assert only_row(ran)["verdict"] == "near (the reported number is copied by others)"
    assert "0 matches, 1 near, 0 off, 0 not comparable" in ran.out
    table = release_table([RecordedRun.read(ran.folder)])
    assert "75.0 § (near 75.0)" in as_markdown(table)
    assert "ours near (the reported number is copied by others), where 7.4 is allowed." in as_markdown(table)


def test_what_may_explain_that_a_number_is_off_has_the_copy_and_what_is_not_stated(run: RunOwn, own: Path) -> None:
    write_answers(own, 10)
    changed(own, "known: printed in the paper", "known: copied by others")
    changed(own, "{what: half precision, known: from memory}", "{what: the frames, known: not stated}")
    ran = run()
    assert only_row(ran)["verdict"] == "off by -50.00 (more than sampling error)"
    assert "the reported number is copied by others: table 1; the frames (not stated)" in ran.out


@pytest.mark.parametrize(("known", "status"), [("printed in the paper", "matches"), ("copied by others", "near")])
def test_the_verdict_says_what_the_report_does_not_state(run: RunOwn, own: Path, known: str, status: str) -> None:
    open_ones = "{what: the frames of its videos, known: not stated}, {what: the judge, known: not stated}"
    changed(own, "{what: half precision, known: from memory}", open_ones)
    changed(own, "known: printed in the paper", f"known: {known}")
    ran = run()
    row = only_row(ran)
    assert (
        row["verdict"].startswith(status)
        and "the report does not state the frames of its videos, the judge" in row["verdict"]
    )
    assert row["not_stated"] == ["the frames of its videos", "the judge"] and f"own: {row['verdict']}" in ran.out


def test_a_number_of_several_runs(run: RunOwn, own: Path) -> None:
    changed(own, "tolerance: 0.5", "tolerance: 0.5\n      runs: avg@3")
    row = only_row(run())
    assert (row["verdict"], row["runs"]) == ("matches", "avg@3")
    changed(own, "runs: avg@3", "runs: pass@5")
    why = "not comparable: the report's number is pass@5: one right answer of 5 is enough"
    assert only_row(run())["verdict"] == why
    changed(own, "runs: pass@5", "runs: pass@1")
    assert only_row(run())["verdict"] == "matches"


@pytest.mark.parametrize(
    ("old", "new", "more", "name", "why"),
    few([
        ("", "", ["--limit", "10"], "Big-7B", "part of the data (10 of 40 documents)"),
        ("", "", [], "", "other model (the report has Big-7B, Small-1B; --name says which one this is)"),
        ("", "", [], "Small-1B", "no number of Small-1B is in the report"),
        ("known: printed in the paper", "known: from memory", [], "BIG_7B", "the reported number is not verified (from memory)"),
        ("source: table 1", "source: table 1\n      docs: 41", [], "Big-7B", "other data (40 documents, the report's has 41)"),
        ("source: table 1", "source: t\n      not_comparable: of another split", [], "org/big-7b", "of another split"),
        ("", "", ["--gen_kwargs", "max_new_tokens=4"], "Big-7B", "settings overridden (max_new_tokens is 4 (protocol: 9))"),
        ("", "", ["--gen_kwargs", "top_p=0.5"], "Big-7B", "settings overridden (top_p is 0.5 (protocol: not stated))"),
        ("", "", ["--prompt_key", "other"], "Big-7B", "settings overridden (prompt is {'post_prompt': ' At length.'}"),
        ("", "", ["--system_instruction", "Be good."], "Big-7B", "settings overridden (system_instruction is 'Be good.'"),
        ("metric: exact_match", "metric: anls", ["--predict_only"], "Big-7B", ""),
        ("metric: exact_match", "metric: bleu", [], "Big-7B", "this run has no bleu"),
    ], at=[0, 1, 2]),
)  # fmt: skip
def test_what_can_not_be_compared(
    run: RunOwn, own: Path, old: str, new: str, more: list[str], name: str, why: str
) -> None:
    if old:
        changed(own, old, new)
    ran = run(*more, name=name)
    if "--predict_only" in more:
        assert not (ran.folder / "results.json").exists()
        return
    assert only_row(ran)["verdict"].startswith(f"not comparable: {why}")
    assert "1 not comparable" in ran.out
    if more and "limit" not in more[0]:
        assert "note: protocol mine: " in ran.out


def test_several_metrics_are_added_up_or_averaged(run: RunOwn, own: Path) -> None:
    changed(own, "metric: exact_match", "metric: [exact_match, anls]\n      of: sum")
    row = only_row(run())
    assert row["metric"] == "sum of exact_match, anls"
    numbers = json.loads((own.parent / "run" / "results.json").read_text())["results"]["own"]
    assert row["ours"] == pytest.approx(numbers["exact_match,none"] + numbers["anls,none"])
    changed(own, "of: sum", "of: mean")
    assert only_row(run())["ours"] == pytest.approx(row["ours"] / 2)


def test_a_task_that_the_protocol_does_not_have(run: RunOwn, cli, own: Path) -> None:
    (own / "more.yaml").write_text("include: own.yaml\ntask: more\n")
    lines = (own / "answers.jsonl").read_text()
    (own / "answers.jsonl").write_text(lines + "\n" + lines.replace('"own"', '"more"'))
    rows = {row["task"]: row["verdict"] for row in run("--tasks", "own,more").results["protocol"]["rows"]}
    assert rows == {"own": "matches", "more": "not comparable: the protocol does not have this benchmark"}
    ran = cli(
        "--protocol", "mine", "--tasks", "more", "--include_path", own, "--model", "dummy", "--output_path", own / "x"
    )
    assert ran.code == 2 and "has no benchmark of this run (more)" in ran.err


def test_the_release_table_marks_numbers_with_their_protocol(run: RunOwn) -> None:
    table = release_table([RecordedRun.read(run().folder)])
    text = as_markdown(table)
    assert "75.0 § (matches 75.0)" in text and "§ under a named protocol. Big-7B: mine (own)." in text
    assert "Big-7B, own: 75.0 as reported (table 1; protocol mine); ours matches, where 7.4 is allowed." in text
    assert as_csv(table).splitlines()[0].endswith(",protocol") and ",matches 75.0," in as_csv(table)


def test_a_release_file_states_a_protocol_for_a_model(cli, own: Path, run: RunOwn) -> None:
    model = {
        "model": "replay",
        "model_args": {"path": str(own / "answers.jsonl")},
        "name": "Big-7B",
        "protocol": "mine",
    }
    (own / "release.json").write_text(json.dumps({"models": [model], "include_path": str(own), "output_path": "out"}))
    ran = cli("run", "--config", own / "release.json")
    assert ran.code == 0 and "§" in ran.out, ran.err


@pytest.mark.full
def test_on_sample_data_every_verdict_on_a_benchmark_of_the_protocol_is_that_it_is_a_sample(cli) -> None:
    ran = cli("--protocol", "llava-1.5", "--model", "dummy", "--sample", "--tasks", "mme,pope,mmvet,gsm8k")
    assert ran.code == 0, ran.err
    verdicts = {row["task"]: row["verdict"] for row in ran.results["protocol"]["rows"]}
    sampled, outside = "not comparable: sample data", "not comparable: the protocol does not have this benchmark"
    assert verdicts == {"mme": sampled, "pope": sampled, "mmvet": sampled, "gsm8k": outside}
    notes = [note for note in release_table([RecordedRun.read(ran.folder)]).notes if "not comparable" in note]
    assert notes == [
        f"dummy, protocol llava-1.5, mme, pope, mmvet: {sampled}.",
        f"dummy, protocol llava-1.5, gsm8k: {outside}.",
    ]


def test_without_tasks_all_benchmarks_of_the_protocol_are_run() -> None:
    prepared = prepare(RunRequest.of_options((), model="dummy", sample=True, protocol="llava-1.5"))
    assert list(prepared.tasks) == list(find_protocol("llava-1.5").benchmarks)


# ---------------------------------------------------------------- model arguments, generation


def test_pixel_limits_are_arguments_of_the_model() -> None:
    alone = prepare(RunRequest.of_options(("ocrbench",), model="tiny-qwen2-vl", protocol="qwen2-vl"))
    assert dict(alone.request.model_args) == {"min_pixels": "78400", "max_pixels": "12845056"}
    assert alone.spec()["model"]["pixels"] == [78400, 12845056]
    several = prepare(RunRequest.of_options(("ocrbench", "mmstar"), model="tiny-qwen2-vl", protocol="qwen2-vl"))
    assert several.request.model_args["min_pixels"] == "1003520"
    assert any("min_pixels is '1003520' (protocol: 78400) in ocrbench" in note for note in several.notes)


def test_a_run_with_the_same_options_and_no_protocol_is_the_same_run() -> None:
    under = prepare(RunRequest.of_options(("pope",), protocol="llava-1.5"))
    protocol = find_protocol("llava-1.5")
    options = {
        "gen_kwargs": protocol.settings["gen_kwargs"].value,
        "system_instruction": protocol.settings["system_instruction"].value,
    }
    assert (
        prepare(RunRequest.of_options(("pope",), prompt_key="llava", num_fewshot=0, **options)).spec() == under.spec()
    )


def test_an_option_takes_precedence_over_the_protocol() -> None:
    request = RunRequest.of_options(
        ("mmstar",), model="tiny-qwen2-vl", protocol="qwen2-vl", model_args={"max_pixels": "3000000"}, seed=1
    )
    prepared = prepare(request)
    protocol = protocol_of(request)
    assert protocol is not None
    (found,) = differences(prepared, protocol, "mmstar")
    assert (found.name, found.ours, found.theirs, found.overridden) == ("max_pixels", "3000000", 12845056, True)


def test_what_the_adapter_does_not_have_is_left_out_and_listed() -> None:
    prepared = prepare(RunRequest.of_options(("mmstar",), protocol="qwen3-vl"))
    assert prepared.tasks["mmstar"].config.generation_kwargs["presence_penalty"] is None
    prepared.check_generation()
    assert "protocol qwen3-vl: presence_penalty is not set (protocol: 1.5) in mmstar" in prepared.notes
    whole = prepare(RunRequest.of_options(("mmstar",), protocol="qwen2-vl"))  # tiny-llava has no pixel limits
    assert not whole.request.model_args and any("min_pixels is not set" in note for note in whole.notes)


def test_the_tools_of_a_protocol_are_those_of_the_task(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(own)
    tools = "tools: {value: {use: [calculator], rounds: 3, boxes: pixels}, known: printed in the paper}"
    changed(own, "gen_kwargs:", f"{tools}\n  gen_kwargs:")
    request = RunRequest.of_options(("own",), model="dummy", protocol="mine", include_path=str(own))
    under = prepare(request)
    assert under.spec()["tasks"]["own"]["turns"] == {"format": "hermes", "boxes": "pixels", "known": False}
    assert not [note for note in under.notes if "tools is" in note]
    without = prepare(request.with_options(protocol_settings=("prompt",)))
    assert "turns" not in without.spec()["tasks"]["own"]
    assert any("tools is not set (protocol: {'use'" in note for note in without.notes)


# ---------------------------------------------------------------- the files


@pytest.mark.full
def test_every_shipped_protocol_is_right(cli) -> None:
    ran = cli("protocols", "check")
    assert ran.code == 0, ran.out
    assert ran.out.count("ok  ") == len(protocol_names()) >= 7


def test_a_protocol_with_broken_yaml_is_named_wherever_it_is_read(cli, own: Path) -> None:
    """It was passed over: `check` said ok of the others, and its name was "no protocol"."""
    (own / "mine.yaml").write_text(PROTOCOL + "\nbenchmarks: {own: [\n")
    for words in (["protocols", "check", "mine"], ["protocols"], ["protocols", "mine"], ["--protocol", "mine"]):
        ran = cli(*words, "--include_path", own)
        assert ran.code == 2 and "mine.yaml:" in ran.out + ran.err, (words, ran.out, ran.err)


def test_protocols_are_no_tasks(cli) -> None:
    manager = TaskManager()
    assert not set(protocol_names()) & set(manager.entries) and not manager.broken
    assert "protocols" not in cli("ls", "tasks").out
    for words in (["--tasks", "llava-1.5"], ["--tasks", str(ROOT / "tasks" / "protocols" / "llava-1.5.yaml")]):
        assert cli(*words).code == 2


def test_list_and_print(cli) -> None:
    every = cli("protocols").out
    assert "llava-1.5  " in every and max(map(len, every.splitlines())) <= 80
    shown = cli("protocols", "llava-1.5").out
    assert max(map(len, shown.split("\nnumbers\n")[1].split("not shown")[0].splitlines())) <= 80
    assert "prompt: 'llava' - taken from the authors' code: llava_pope_test.jsonl" in shown
    assert "VizWiz test: its answers are on a server (LLaVA-1.5-7B 50" in shown
    ran = cli("protocols", "llava1.5")
    assert ran.code == 2 and "Did you mean 'llava-1.5'?" in ran.err
    assert cli("--tasks", "mme", "--protocol", "llava").code == 2


def test_commands_to_try_have_the_protocol_where_they_take_one() -> None:
    request = RunRequest.of_options(("pope",), protocol="llava-1.5")
    assert as_command(request) == "mm-eval --tasks pope --protocol llava-1.5"
    assert as_command(request, "show") == "mm-eval show pope --protocol llava-1.5"
    assert as_command(request, "prompts") == "mm-eval prompts --tasks pope"


def test_from_python_without_tasks(own: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(own)
    args = {"path": str(own / "answers.jsonl")}
    found = evaluate(
        model="replay",
        model_args=args,
        protocol="mine",
        include_path=str(own),
        name="Big-7B",
        output_path=str(own / "out"),
    )
    assert found.raw["protocol"]["rows"][0]["verdict"] == "matches"
    with pytest.raises(ConfigError, match="no task is named"):
        evaluate(model="dummy")


def test_show_prints_where_each_setting_is_from(cli) -> None:
    ran = cli("show", "pope", "--doc", "1", "--protocol", "llava-1.5", "--gen_kwargs", "max_new_tokens=4")
    assert ran.code == 0, ran.err
    assert "A chat between a curious user" in ran.out and "single word or phrase. ASSISTANT:" in ran.out
    assert "prompt: 'llava' - taken from the authors' code" in ran.out
    assert "differs: max_new_tokens is 4 (protocol: 128)" in ran.out


def test_a_user_s_protocol_replaces_a_shipped_one(own: Path) -> None:
    changed(own, "protocol: mine", "protocol: llava-1.5")
    assert find_protocol("llava-1.5", [own]).title == "Mine"
    (own / "twin.yaml").write_text((own / "mine.yaml").read_text())
    with pytest.raises(ConfigError, match="two files declare the protocol 'llava-1.5'"):
        find_protocol("llava-1.5", [own])


def faults() -> Iterator[tuple[str, str, str]]:
    yield "title: Mine", "titel: Mine", "mine.yaml:3: unknown key 'titel' in a protocol. Did you mean 'title'?"
    yield "gen_kwargs:", "gen_kwarg:", "mine.yaml:8: unknown setting 'gen_kwarg'"
    yield "known: assumed}", "known: guessed}", "mine.yaml:7: 'known' must be one of: documented by the authors"
    yield "{value: 0, known: assumed}", "0", "mine.yaml:7: 'num_fewshot' must be a mapping with `value` and `known`"
    yield "{value: 0, known: assumed}", "{value: 0}", "mine.yaml:7: 'known' is missing"
    yield (
        "{value: 0, known: assumed}",
        "{value: few, known: assumed}",
        "mine.yaml:7: 'num_fewshot' must be a whole number",
    )
    yield "unit: percent", "unit: per cent", "mine.yaml:15: 'unit' must be percent, points or fraction"
    yield (
        "numbers: {Big-7B: 75}",
        "numbers: {Big-8B: 75}",
        "'Big-8B' is not one of the protocol's `models`. Did you mean",
    )
    yield "tolerance: 0.5", "tolerance: -1", "mine.yaml:17: 'tolerance' must be a number from 0"
    yield "models: {Big-7B: [org/big-7b], Small-1B: []}", "", "'models' is missing"
    yield "metric: exact_match", "metric: [exact_match, anls]", "several metrics need `of: sum` or `of: mean`"
    yield "    prompt: {", "    gen_kwargs: {", "'prompt' is missing"
    yield "unit: percent", "unit: percent\n      runs: best of 3", "mine.yaml:16: 'runs' must be avg@N or pass@N"
    yield "unit: percent", "unit: percent\n      direction: up", "mine.yaml:16: 'direction' must be higher or lower"
    yield "known: assumed}", "known: copied by others}", "mine.yaml:7: `known: copied by others` needs a `source`"
    yield "known: from memory}", "known: copied by others}", "mine.yaml:9: `known: copied by others` needs a `source`"
    yield "known: assumed}", "known: not stated}", "mine.yaml:7: 'known' must be one of: documented by the authors"
    yield (
        "why: its answers are on a server}",
        "why: no, numbers: {Big-7B: 1}, known: copied by others}",
        "`known: copied by others` needs a `source` that names the copy",
    )


@pytest.mark.parametrize(("old", "new", "said"), list(faults()))
def test_a_mistake_in_a_file_is_named_with_its_line(own: Path, old: str, new: str, said: str) -> None:
    changed(own, old, new)
    with pytest.raises(ConfigError) as error:
        find_protocol("mine", [own])
    assert said in str(error.value)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("task: own", "task: owm", "Did you mean"),
        (
            "metric: exact_match",
            "metric: exact_macht",
            "own gives no metric 'exact_macht'. Did you mean 'exact_match'?",
        ),
        ("unit: percent", "unit: percent\n      direction: lower", "exact_match of own is better when higher"),
        ("{max_new_tokens: 9}", "{max_new_tokens: nine}", "mine.yaml:8"),
        ('{post_prompt: " Now."}', '{post_promt: " Now."}', "nothing in own reads the key 'post_promt'"),
        ("num_fewshot: {value: 0,", "tools: {value: [zom],", "unknown tool 'zom'. Did you mean 'zoom'?"),
        ('{post_prompt: " Now."}', "othr", "own has no prompt key 'othr'. Did you mean 'other'?"),
    ],
)
def test_check_finds_what_does_not_fit_the_tasks(
    cli, own: Path, monkeypatch: pytest.MonkeyPatch, old: str, new: str, said: str
) -> None:
    monkeypatch.chdir(own)
    assert cli("protocols", "check", "mine", "--include_path", own).code == 0
    changed(own, old, new)
    ran = cli("protocols", "check", "mine", "--include_path", own)
    assert ran.code == 2 and said in ran.out and ran.out.startswith("FAIL"), ran.out


def test_every_number_and_setting_of_the_shipped_ones_says_how_it_is_known() -> None:
    for name in protocol_names():
        protocol = find_protocol(name)
        for benchmark in protocol.benchmarks.values():
            assert all(setting.known in KNOWN for setting in protocol.settings_of(benchmark).values())
            assert all(each.known in KNOWN and each.source for each in benchmark.reported)
        assert all(each.known in KNOWN for each in protocol.missing if each.numbers)
    assert set(UNVERIFIED) < set(KNOWN) and COPIED in KNOWN and COPIED not in UNVERIFIED and UNSTATED not in KNOWN


def test_the_reports_of_2026_have_a_file_each_that_fits_into_80_columns(cli) -> None:
    reports = "qwen3.5 qwen3.6 qwen3.8 kimi-k2.5 kimi-k2.6 kimi-k3 seed-2.1 glm-5.3 deepseek-v4.1 exaone-4.5"
    for name in reports.split():
        protocol = find_protocol(name)
        assert protocol.missing and any(each.known == UNSTATED for each in protocol.conditions)
        table = cli("protocols", name).out.split("\nnumbers\n")[1].split("\n\n")[0]
        assert max(map(len, table.splitlines())) <= 80 or "not shown" in table
    shown = cli("protocols", "qwen3.5").out
    assert "Qwen3.5-397B-A17B" in shown.split("\nnumbers\n")[1] and "copied by others: copies of the cards" in shown
    assert "(pass@5): copied by others" in cli("protocols", "kimi-k3").out
    assert "lower is better" in cli("protocols", "gemma-4").out.split("average edit distance")[1]


def test_one_benchmark_with_two_numbers_has_two_names() -> None:
    tasks = find_protocol("qwen3.5").benchmarks
    with_subtitles, without = (tasks[name].reported[0].numbers for name in ("videomme_w_subtitle", "videomme"))
    assert with_subtitles["Qwen3.5-9B"] == 0.845 and without["Qwen3.5-9B"] == 0.784
    score = next(each for each in find_protocol("qwen3.5").missing if each.benchmark == "OmniDocBench 1.5 (score)")
    distance = next(each for each in find_protocol("gemma-4").missing if each.benchmark.startswith("OmniDocBench"))
    assert (score.direction, distance.direction) == ("higher", "lower") and score.benchmark != distance.benchmark


def test_rows_with_python_are_benchmarks_of_their_own() -> None:
    protocol = find_protocol("kimi-k2.6")
    with_python, without = (protocol.benchmarks[name] for name in ("mathvision_test@python", "mathvision_test"))
    assert [each.reported[0].numbers["Kimi-K2.6"] for each in (with_python, without)] == pytest.approx([0.932, 0.874])
    caps = [protocol.settings_of(each)["gen_kwargs"].value["max_new_tokens"] for each in (with_python, without)]
    assert caps == [65536, 98304]
    assert protocol.benchmark_of("mathvision_test@python") is with_python
    assert protocol.benchmark_of("around@python::mathvision_test@python") is with_python
    assert protocol.benchmark_of("mathvision_test@none") is without
    assert protocol.benchmark_of("hle@python") is None, "the report has no such row"
    assert "vstar@python" in protocol.rows(with_python=True) and "vstar@python" not in protocol.rows(with_python=False)


def test_what_a_protocol_states_is_for_the_row_with_or_without_python() -> None:
    below = {"mme": {"num_fewshot": 1}, "mme@python": {"repeats": 2}, "pope": {"repeats": 3}}
    loaded = TaskManager().load(["mme", "mme@python", "pope", "pope@python"], below=below)
    found = {name: (task.num_fewshot, task.repeats) for name, task in loaded.tasks.items()}
    assert (found["mme"], found["mme@python"]) == ((1, 1), (0, 2))
    assert (found["pope"], found["pope@python"]) == ((0, 3), (0, 1))
