"""A judged run from answers to the number, with a scripted judge."""

import json
import shlex
from pathlib import Path

import pytest

from mm_eval import evaluate
from mm_eval.request import RunRequest
from mm_eval.results.findings import as_command
from mm_eval.values.errors import ConfigError
from mm_eval.verbs.report.site.live import LiveRun
from mm_eval.verbs.report.site.parts import RunPictures
from tests.judge.conftest import JUDGE, NO_WAIT, TASK, UTILS
from tests.judge.server import serving
from tests.sets import few

KEY = "sk-secret-0123456789abcdef0123"


def test_the_number_is_the_rules_and_no_prompt_is_asked_twice(judged, server) -> None:
    ran = judged.with_server(server)
    assert ran.code == 0, ran.out + ran.err
    row = ran.results["results"]["graded"]
    assert row["judge_score,none"] == 4 / 6 and row["judge_score_stderr,none"] > 0
    assert row["judge_failed"] == 0 and row["judge_bounds"] is None
    assert max(server.asked.values()) == 1 and len(server.asked) == 6
    [entry] = ran.results["judges"]["graded"]
    assert entry["name"] == entry["model"] == "judge-1" and entry["adapter"] == "openai"
    assert entry["models"] == {"judge-1 (fp_1)": 6} and entry["official"] == "gpt-4o-2024-05-13"
    assert "graded: judged by judge-1, official gpt-4o-2024-05-13: not comparable" in ran.out
    assert ran.results["run"]["judge_usage"] == {"judge-1": {"prompt_tokens": 60, "completion_tokens": 18}}
    first = ran.samples("graded")[0]["judge"]
    assert first["prompt"].endswith("Answer: 1") and first["reply"] == "GRADE: C"
    assert (first["verdict"], first["attempts"], first["model"]) == (1, 1, "judge-1 (fp_1)")


def test_the_official_judge_is_comparable(judged, server) -> None:
    ran = judged.with_server(server, model="gpt-4o-2024-05-13")
    assert "graded: judged by gpt-4o-2024-05-13\n" in ran.out and "not comparable" not in ran.out


@pytest.mark.parametrize("fault", few(["503", "429", "400", "HTML", "EMPTY", "CHATTY"], at=[0, 5]))
def test_a_fault_is_a_failed_verdict_and_no_score(judged, server, fault: str) -> None:
    rows = [{"q": f"{n}", "a": "1"} for n in range(4)]
    rows[2]["q"] = f"FAULT{fault}"
    judged.write(rows, ["1", "2", "1", "1"])
    ran = judged.with_server(server, args="max_retries=0,max_outage=0.2,timeout=5,deadline=3")
    row = ran.results["results"]["graded"]
    assert ran.code == 3, ran.out + ran.err
    assert row["judge_failed"] == 1 and row["failed"] == 0 and row["n"] == 4
    assert row["judge_score,none"] == 2 / 3 and row["judge_bounds"] == [2 / 4, 3 / 4]
    assert row["n_by_metric"] == {"judge_score,none": 3}
    assert "judge_score would be 50.0 with the lowest verdict on them, 75.0 with the highest" in ran.out
    sample = ran.samples("graded")[2]
    assert sample["judge"]["verdict"] is None and sample["judge"]["error"] and sample["status"] == "answered"
    assert "graded: 1 of 4 documents has no verdict and is left out of its score:" in ran.out


def test_a_wrong_key_stops_the_judging_and_keeps_what_there_is(judged, server) -> None:
    judged.write([{"q": "FAULT401", "a": "1"}, {"q": "2", "a": "2"}], ["1", "2"])
    ran = judged.with_server(server)
    assert ran.code == 3 and "judging stopped early" in ran.out
    assert ran.results["results"]["graded"]["judge_failed"] >= 1


def test_where_every_verdict_fails_there_is_no_number(judged, server) -> None:
    judged.write([{"q": "FAULTCHATTY", "a": "1"}, {"q": "FAULTEMPTY", "a": "1"}], ["1", "1"])
    ran = judged.with_server(server)
    row = ran.results["results"]["graded"]
    assert ran.code == 3 and row["judge_score,none"] is None
    assert row["judge_failed"] == 2 and row["judge_bounds"] == [0, 1]


def test_an_unreadable_reply_is_asked_for_again_and_all_are_kept(judged, server) -> None:
    judged.write([{"q": "FAULTONCE", "a": "1"}, {"q": "FAULTCHATTY", "a": "1"}], ["1", "1"])
    ran = judged.with_server(server, "--judge_retries", 3)
    row = ran.results["results"]["graded"]
    assert row["judge_score,none"] == 1 and row["judge_failed"] == 1
    assert sorted(server.asked.values()) == [2, 4]
    assert [sample["judge"]["attempts"] for sample in ran.samples("graded")] == [2, 4]
    lines = [json.loads(line) for path in (ran.folder / "journal").iterdir() for line in path.read_text().splitlines()]
    assert sum(line["kind"] == "judge" for line in lines) == 6
    asked = sum(server.asked.values())
    again = judged.with_server(server, "--judge_retries", 3)
    assert sum(server.asked.values()) == asked and again.code == 3
    assert again.results["results"] == ran.results["results"]


def test_two_versions_of_a_judge_are_named(judged, server) -> None:
    judged.write([{"q": "FAULTMODEL", "a": "1"}, {"q": "2", "a": "1"}], ["1", "1"])
    ran = judged.with_server(server)
    assert ran.results["judges"]["graded"][0]["models"] == {"judge-1 (fp_1)": 1, "judge-1-2026 (fp_1)": 1}
    assert "2 versions of it" in ran.out and "it answered as judge-1-2026" in ran.out
    assert "warning: graded: as the judge judge-1, 2 models answered: judge-1 (1), judge-1-2026 (1)." in ran.out


@pytest.mark.parametrize("fault", ["FAULTCUT ", "FAULTFILTER"])
def test_a_reply_that_did_not_end_by_itself_is_no_verdict(judged, server, fault: str) -> None:
    judged.write([{"q": f"{fault}?", "a": "1"}, {"q": "2", "a": "2"}], ["2", "2"])
    ran = judged.with_server(server)
    row = ran.results["results"]["graded"]
    assert ran.code == 3 and (row["judge_failed"], row["judge_score,none"]) == (1, 1.0), ran.out
    assert max(server.asked.values()) == 3, "asked again, as often as --judge_retries says"
    entry = ran.samples("graded")[0]["judge"]
    assert entry["verdict"] is None and entry["reply"] == "GRADE: C" and entry["ended"] in ("length", "filtered")


def test_a_reply_that_was_cut_once_is_asked_again(judged, server) -> None:
    judged.write([{"q": "FAULTCUTONCE", "a": "1"}], ["2"])
    ran = judged.with_server(server)
    assert ran.code == 0 and ran.results["results"]["graded"]["judge_score,none"] == 0.0


def test_failed_verdicts_are_asked_again_and_no_others(judged, server) -> None:
    rows = [{"q": "1", "a": "1"}, {"q": "FAULT400", "a": "1"}, {"q": "3", "a": "3"}]
    judged.write(rows, ["1", "1", None])
    first = judged.with_server(server)
    row = first.results["results"]["graded"]
    assert first.code == 3 and (row["failed"], row["judge_failed"]) == (1, 1), first.out
    assert "judge" not in first.samples("graded")[2], "an answer that failed is not judged"
    again = judged.with_server(server)
    assert again.code == 3 and sorted(server.asked.values()) == [1, 2]


def test_an_empty_answer_is_not_sent(judged, server) -> None:
    judged.write([{"q": f"{n}", "a": "1"} for n in range(3)], ["1", "  \n", "<think>1</think>\n"])
    ran = judged.with_server(server)
    assert ran.results["results"]["graded"]["judge_score,none"] == 1 / 3 and len(server.asked) == 1
    sample = ran.samples("graded")[2]
    assert sample["judge"]["empty"] and sample["judge"]["verdict"] == 0 and sample["judge"]["attempts"] == 0


@pytest.mark.parametrize(
    ("made", "said"),
    few(
        [
            (
                "raise RuntimeError('no table')",
                "its verdict of an empty answer failed: the judge's `empty` failed: RuntimeError: no table",
            ),
            ("return 7", "the verdict that `empty` gives can't be used: it is 7, outside of the range 0 to 1"),
            ("return float('nan')", "the verdict that `empty` gives can't be used: it is nan"),
            ("return None", "the verdict that `empty` gives can't be used: it is None"),
        ],
        at=[0],
    ),
)
def test_a_verdict_of_an_empty_answer_that_fails_is_no_verdict(judged, server, made: str, said: str) -> None:
    """The function is the task's own. What it does to one doc is a failed verdict of that doc, never a score."""
    rows = [{"q": "1", "a": "1"}, {"q": "2", "a": "2"}, {"q": "3", "a": "3"}]
    utils = f"{UTILS}\n\ndef of_empty(doc):\n    {made}\n"
    judge = JUDGE.replace("  official", "  empty: !function utils.of_empty\n  official")
    judged.write(rows, ["1", "", "no"], TASK + judge, utils)
    ran = judged.with_server(server)
    row = ran.results["results"]["graded"]
    assert ran.code == 3 and len(server.asked) == 2, ran.err
    assert (row["judge_failed"], row["failed"], row["judge_score,none"]) == (1, 0, 1 / 2)
    assert row["judge_bounds"] == [1 / 3, 2 / 3]
    sample = ran.samples("graded")[1]
    assert sample["judge"]["verdict"] is None and said in sample["judge"]["error"] and said in ran.out
    judged.write(rows, ["1", "", "no"], TASK + judge, utils.replace(made, "return 0.0"))
    assert judged.run("--judge", "openai", "--judge_args", f"base_url={server.url},model=judge-1,{NO_WAIT}").code == 0


def test_the_judge_is_shown_the_answer_without_its_thinking(judged, server) -> None:
    judged.write([{"q": "1", "a": "1"}], ["<think>Reference: 7</think>1"])
    ran = judged.with_server(server)
    assert ran.code == 0 and list(server.asked) == ["1\nReference: 1\nAnswer: 1"]


def test_a_judged_task_with_neither_option_exits_2_before_anything(judged) -> None:
    ran = judged.run()
    assert ran.code == 2 and "--judge" in ran.err and "--no_judge" in ran.err and "gpt-4o-2024-05-13" in ran.err
    assert not ran.folder.exists()


def test_without_a_judge_the_number_is_left_out_and_the_row_says_so(judged) -> None:
    ran = judged.run("--no_judge")
    row = ran.results["results"]["graded"]
    assert ran.code == 0 and not [key for key in row if "," in key] and "judge_failed" not in row
    assert row["notes"][0].startswith("not judged") and ran.results["judges"] == {"graded": []}
    assert "note: graded: not judged" in ran.out


def test_a_finished_run_is_judged_without_its_model_and_by_a_second_judge(judged, server) -> None:
    ran = judged.run("--no_judge")
    (judged.folder / "answers.jsonl").unlink()
    words = (
        "--judge",
        "openai",
        "--judge_args",
        f"base_url={server.url},model=a/judge-1,{NO_WAIT}",
        "--judge_preflight",
        "false",
    )
    first = judged.command("score", ran.folder, *words)
    assert first.code == 0, first.out + first.err
    assert "judge_score" in first.out and len(server.asked) == 6
    with serving() as other:
        more = f"base_url={other.url},model=b/judge-2,{NO_WAIT}"
        second = judged.command(
            "score", ran.folder, "--judge", "openai", "--judge_args", more, "--judge_preflight", "false"
        )
        assert second.code == 0 and len(other.asked) == 6 and sum(server.asked.values()) == 6
    results = json.loads((ran.folder / "results.json").read_text())
    row = results["results"]["graded"]
    assert row["judge_score,none"] == row["judge_score@judge-2,none"] == 4 / 6
    assert row["judge_failed@judge-2"] == 0 and row["judge_bounds@judge-2"] is None
    assert [entry["name"] for entry in results["judges"]["graded"]] == ["judge-1", "judge-2"]
    sample = json.loads((ran.folder / "samples" / "graded.jsonl").read_text().splitlines()[0])
    assert sample["scores"] == {"judge_score,none": 1.0, "judge_score@judge-2,none": 1.0}
    assert sample["judge"]["reply"] == sample["judge@judge-2"]["reply"] == "GRADE: C"
    again = judged.command("score", ran.folder)
    assert again.code == 0 and json.loads((ran.folder / "results.json").read_text())["results"] == results["results"]
    assert results["higher_is_better"]["graded"] == {"judge_score": True, "judge_score@judge-2": True}


def test_a_judged_run_is_scored_without_its_judges(judged, server, cli) -> None:
    ran = judged.with_server(server)
    without = cli("score", ran.folder, "--no_judge")
    assert without.code == 0 and "not judged" in without.out and ran.results["judges"] == {"graded": []}
    assert cli("score", ran.folder).code == 0 and ran.results["results"]["graded"]["judge_score,none"] == 4 / 6
    again = judged.run("--no_judge", "--output_path", ran.folder)
    assert again.code == 0 and "not judged" in again.out and again.results["judges"] == {"graded": []}
    assert cli("score", ran.folder).code == 0 and ran.results["results"]["graded"]["judge_score,none"] == 4 / 6


def test_the_digest_holds_the_functions_and_not_only_the_first_prompts(judged, server, cli) -> None:
    def digest() -> str:
        [judge] = ran.results["judges"]["graded"]
        return str(judge["prompt_digest"])

    ran = judged.with_server(server)
    before = digest()
    (judged.folder / "utils.py").write_text(
        UTILS.replace("def verdict(reply):", "def verdict(reply):\n    reply = reply[:99]")
    )
    assert cli("score", ran.folder).code == 0 and digest() != before
    (judged.folder / "utils.py").write_text(UTILS)
    assert cli("score", ran.folder).code == 0 and digest() == before


def test_two_judges_in_one_command(judged, server) -> None:
    both = ("--judge", "openai", "--judge_args", f"base_url={server.url},model=two,{NO_WAIT}")
    ran = judged.with_server(server, *both)
    assert ran.code == 0 and ran.results["results"]["graded"]["judge_score@two,none"] == 4 / 6
    clash = judged.with_server(server, *("--judge", "openai", "--judge_args", f"base_url={server.url},model=judge-1"))
    assert clash.code == 2 and "two judges are called 'judge-1'" in clash.err


def test_a_judge_without_a_key_does_not_end_the_next_one(judged, server) -> None:
    judged.write([{"q": "FAULT401", "a": "1"}, {"q": "2", "a": "2"}], ["1", "2"])
    with serving() as other:
        scripted = f"base_url={other.url},model=two,{NO_WAIT},num_concurrent=1"
        ran = judged.with_server(
            server, "--judge", "openai", "--judge_args", scripted, args=f"{NO_WAIT},num_concurrent=1"
        )
        assert ran.code == 3 and "judging stopped early: HTTP 401" in ran.out and other.asked
    judged.write([{"q": f"FAULT400 {n}", "a": "1"} for n in range(6)], ["1"] * 6)
    with serving() as other:
        scripted = f"base_url={other.url},model=two,{NO_WAIT}"
        limited = ("--fail_on_error", 3, "--output_path", judged.folder / "limited")
        ran = judged.with_server(server, "--judge", "openai", "--judge_args", scripted, *limited)
        assert ran.code == 3 and "--fail_on_error stops the run" in ran.out and not other.asked


def test_another_judge_of_the_same_name_is_refused(judged, server) -> None:
    judged.with_server(server)
    with serving() as other:
        ran = judged.with_server(other)
        assert ran.code == 2 and "another judge called 'judge-1'" in ran.err and not other.asked
        named = judged.with_server(other, args=f"{NO_WAIT},name=mine")
        assert named.code == 0 and named.results["results"]["graded"]["judge_score@mine,none"] == 4 / 6


def test_another_judge_of_the_same_name_costs_no_numbers_of_a_run_that_would_get_more_docs(judged, server) -> None:
    few = judged.with_server(server, "--limit", 4)
    with serving() as other:
        ran = judged.with_server(other)
        assert ran.code == 2 and "another judge called 'judge-1'" in ran.err and not other.asked
        assert (few.folder / "results.json").exists() and judged.with_server(server, "--limit", 4).code == 0
        assert judged.with_server(server).code == 0


def test_the_key_is_in_no_file(judged, server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    ran = judged.with_server(server)
    assert ran.code == 0
    assert not [path for path in ran.folder.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]


def replay(judged, replies: list[list[str]], task: str = "graded#judge", file: str = "verdicts.jsonl") -> str:
    rows = [{"task": task, "doc_id": n, "resps": resps} for n, resps in enumerate(replies)]
    path: Path = judged.folder / file
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return f"path={path}"


def test_recorded_verdicts_are_replayed(judged) -> None:
    given = replay(judged, [["GRADE: C"], ["hm", "GRADE: I"], ["GRADE: C"], ["GRADE: C"], ["hm"], ["GRADE: I"]])
    ran = judged.run("--judge", "replay", "--judge_args", f"{given},name=gpt-4o-2024-05-13")
    row = ran.results["results"]["graded"]
    assert ran.code == 3 and row["judge_score,none"] == 3 / 5 and row["judge_failed"] == 1
    assert row["judge_bounds"] == [3 / 6, 4 / 6] and ran.samples("graded")[1]["judge"]["attempts"] == 2
    entry = ran.results["judges"]["graded"][0]
    assert entry["preflight"] == "exempt" and entry["name"] == "gpt-4o-2024-05-13"
    assert "not comparable" not in ran.out


PROTOCOL = """
protocol: judged_so
title: Judged so
report: "arXiv:1"
models: {Big-7B: []}
benchmarks:
  - task: graded
    prompt: {value: {}, known: assumed}
    judge: {value: gpt-4-0613, known: documented by the authors, source: README}
    reported:
      metric: judge_score
      unit: percent
      numbers: {Big-7B: 66.7}
      tolerance: 0.5
      known: printed in the paper
      source: table 1
"""


def test_a_protocol_compares_no_number_of_another_judge(judged) -> None:
    """The verdict is made after the judges are known: without them, a number of any judge would match."""
    (judged.folder / "judged_so.yaml").write_text(PROTOCOL)
    given = replay(judged, [["GRADE: C"], ["GRADE: C"], ["GRADE: C"], ["GRADE: C"], ["GRADE: I"], ["GRADE: I"]])
    words = ("--protocol", "judged_so", "--name", "Big-7B", "--judge", "replay", "--judge_args")
    ran = judged.run(*words, f"{given},name=gpt-4-0613")
    assert [row["verdict"] for row in ran.results["protocol"]["rows"]] == ["matches"]
    ran = judged.run(*words, f"{given},name=some-other-judge", "--output_path", judged.folder / "other")
    said = "not comparable: judged by some-other-judge (the report's judge is gpt-4-0613)"
    assert [row["verdict"] for row in ran.results["protocol"]["rows"]] == [said] and said in ran.out


def test_a_runs_own_samples_are_replayed_as_verdicts(judged, server, cli) -> None:
    first = judged.with_server(server)
    path = first.folder / "samples" / "graded.jsonl"
    again = judged.run("--judge", "replay", "--judge_args", f"path={path}", "--output_path", judged.folder / "again")
    assert again.code == 0, again.out + again.err
    assert again.results["results"]["graded"] == first.results["results"]["graded"]


def test_repeats_give_the_mean_of_a_docs_verdicts(judged) -> None:
    judged.write([{"q": "1", "a": "1"}, {"q": "2", "a": "1"}], ["1", "1"], task=TASK + JUDGE + "  repeats: 2\n")
    given = replay(judged, [["GRADE: C", "GRADE: I"], ["GRADE: C", "hm", "no", "GRADE: C"]])
    ran = judged.run("--judge", "replay", "--judge_args", given)
    assert ran.code == 0, ran.out
    assert ran.results["results"]["graded"]["judge_score,none"] == 0.75
    assert [len(sample["judge"]) for sample in ran.samples("graded")] == [2, 2]


def test_from_python(judged, server, tmp_path: Path) -> None:
    options = {"include_path": str(judged.folder), "output_path": str(tmp_path / "python")}
    given = {"model": "replay", "model_args": {"path": str(judged.folder / "answers.jsonl")}, **options}
    args = {"base_url": server.url, "model": "judge-1"}
    results = evaluate("graded", judge="openai", judge_args=args, **given)
    assert results.exit_code == 0 and results["graded"]["judge_score"].value == 4 / 6
    with pytest.raises(ConfigError, match="--no_judge"):
        evaluate("graded", **given)


@pytest.mark.full
def test_in_a_release_file(judged, server, tmp_path: Path) -> None:
    answers = judged.folder / "answers.jsonl"
    release = tmp_path / "release.yaml"
    release.write_text(
        f"output_path: {tmp_path / 'release'}\ntasks: [graded]\ninclude_path: {judged.folder}\njudge: openai\n"
        f"judge_args: {{base_url: '{server.url}', model: judge-1}}\n"
        f"models: [{{model: replay, name: one, model_args: {{path: {answers}}}}}]\n"
    )
    ran = judged.command("run", "--config", release)
    assert ran.code == 0, ran.out + ran.err
    assert json.loads((tmp_path / "release/one/results.json").read_text())["results"]["graded"]["judge_failed"] == 0


@pytest.mark.full
def test_no_socket_is_opened_by_a_judged_tasks_code(judged, server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    calls = "    import socket\n    socket.create_connection(('judge.example', 443))\n"
    judged.write(
        [{"q": "1", "a": "1"}], ["1"], utils=UTILS.replace("def verdict(reply):\n", f"def verdict(reply):\n{calls}")
    )
    ran = judged.with_server(server)
    assert ran.code == 3 and "which a task with `judge` may not" in ran.out
    own = TASK + "process_results: !function utils.own\nmetric_list: [{metric: own}]\n" + JUDGE
    judged.write([{"q": "1", "a": "1"}], ["1"], task=own, utils=UTILS + f"\ndef own(doc, results):\n{calls}")
    ran = judged.with_server(server, "--output_path", judged.folder / "own")
    assert ran.code == 3 and "judge.example" in ran.out and ran.results["results"]["graded"]["failed"] == 1


def test_failed_and_unreadable_verdicts_count_for_fail_on_error(judged, server) -> None:
    rows = [{"q": f"FAULTCHATTY {n}", "a": "1"} for n in range(6)]
    judged.write(rows, ["1"] * 6)
    ran = judged.with_server(server, "--fail_on_error", 3, "--judge_retries", 0)
    assert ran.code == 3 and "judging stopped early: 6 requests have failed" in ran.out, ran.out
    whole = judged.with_server(server, "--fail_on_error", 8, "--judge_retries", 0)
    assert "stopped early" not in whole.out and sum(server.asked.values()) == 6


def test_a_live_page_counts_verdicts_that_are_equal_to_others(judged, server) -> None:
    judged.write([{"q": "What is 1 + 1?", "a": "2"}] * 3, ["2"] * 3)
    folder = judged.with_server(server, "--judge_preflight", "false").folder
    assert sum(server.asked.values()) == 1
    live = LiveRun(folder, RunPictures.of_folder(folder))
    live.read()
    assert (live.progress()["docs"], live.progress()["verdicts"]) == (3, 3)


def test_verdicts_are_shared_between_runs(judged, server, tmp_path: Path) -> None:
    cache, args = ("--use_cache", tmp_path / "cache"), f"{NO_WAIT},identity=rev-1"
    assert judged.with_server(server, *cache, args=args).code == 0
    again = judged.with_server(server, *cache, "--output_path", tmp_path / "other", args=args)
    assert again.code == 0 and sum(server.asked.values()) == 6, again.out
    assert "verdicts: 6 came from --use_cache" in again.out
    assert again.results["judges"]["graded"][0]["models"] == {"judge-1 (fp_1)": 6}


def test_verdicts_of_a_judge_known_by_its_name_alone_are_not_shared(judged, server, tmp_path: Path) -> None:
    """The next checkpoint at that address would get the verdicts of the last."""
    cache = ("--use_cache", tmp_path / "cache")
    assert judged.with_server(server, *cache).code == 0
    again = judged.with_server(server, *cache, "--output_path", tmp_path / "other")
    assert again.code == 0 and sum(server.asked.values()) == 12, again.out
    assert "--use_cache was not used for judge judge-1" in again.out
    assert "identity=NAME in --judge_args" in again.out


def test_a_judge_that_never_replied_makes_way(judged, server) -> None:
    with serving() as gone:
        url = gone.url
    wrong = ("--judge", "openai", "--judge_args", f"base_url={url},model=typo,{NO_WAIT}")
    first = judged.run(*wrong, "--judge_preflight", "false")
    assert first.code == 3 and first.results["results"]["graded"]["judge_score,none"] is None
    assert "judging stopped early" in first.out
    ran = judged.with_server(server)
    assert ran.code == 0 and ran.results["results"]["graded"]["judge_score,none"] == 4 / 6
    assert [entry["name"] for entry in ran.results["judges"]["graded"]] == ["judge-1"]


def test_a_run_that_only_predicted_is_not_scored_without_a_word_about_its_judge(judged, server) -> None:
    ran = judged.run("--predict_only")
    assert ran.code == 0
    refused = judged.command("score", ran.folder)
    assert refused.code == 2 and "--no_judge" in refused.err
    assert judged.command("score", ran.folder, "--no_judge").code == 0
    words = ("--judge", "openai", "--judge_args", f"base_url={server.url},model=j")
    assert judged.command("score", ran.folder, *words).code == 0


def test_judges_that_are_stated_in_vain_or_wrongly(judged, cli) -> None:
    ran = cli("--tasks", "mme", "--limit", 1, "--sample", "--model", "dummy", "--judge", "dummy")
    assert ran.code == 0 and "no task of this run is judged" in ran.out
    both = judged.run("--judge", "dummy", "--no_judge")
    assert both.code == 2 and "can't be combined" in both.err
    unknown = judged.run("--judge", "opanai")
    assert unknown.code == 2 and "Did you mean 'openai'" in unknown.err and "--judge" in unknown.err
    lacking = judged.run("--judge", "openai")
    assert (
        lacking.code == 2
        and "base_url" in lacking.err
        and "--judge_args" in lacking.err
        and "--model" not in lacking.err
    )
    more = judged.run("--judge", "dummy", "--judge_args", "a=1", "--judge_args", "b=2")
    assert more.code == 2 and "1 --judge and 2 --judge_args" in more.err


def test_a_group_of_judged_tasks(judged, server) -> None:
    judged.write([{"q": "FAULTCHATTY", "a": "1"}, {"q": "2", "a": "1"}], ["1", "1"])
    (judged.folder / "other.yaml").write_text("include: graded.yaml\ntask: other\n")
    group = "group: both\ntask: [graded, other]\naggregate_metric_list: [{metric: judge_score, weight_by_size: true}]\n"
    (judged.folder / "both.yaml").write_text(group)
    answers = [{"task": name, "doc_id": n, "resps": ["1"]} for name in ("graded", "other") for n in range(2)]
    (judged.folder / "answers.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    words = [word.replace("graded", "both") if word == "graded" else word for word in judged.words]
    ran = judged.command(*words, "--judge", "openai", "--judge_args", f"base_url={server.url},model=j")
    row = ran.results["groups"]["both"]
    assert ran.code == 3 and row["judge_score,none"] == 1 and row["judge_failed"] == 2, ran.out + ran.err
    assert row["judge_bounds"] == [0.5, 1.0]
    with serving() as other:
        more = ("--judge", "openai", "--judge_args", f"base_url={other.url},model=k")
        judged.command("score", ran.folder, *more)
    again = json.loads((ran.folder / "results.json").read_text())["groups"]["both"]
    assert again["judge_score@k,none"] == again["judge_score,none"] == 1
    bare = judged.command(*words, "--no_judge", "--output_path", judged.folder / "bare")
    assert bare.code == 0, bare.err


def test_judged_runs_are_compared_and_reported(judged, server, tmp_path: Path) -> None:
    first = judged.with_server(server)
    (judged.folder / "answers.jsonl").write_text((judged.folder / "answers.jsonl").read_text().replace('"no"', '"4"'))
    second = judged.with_server(server, "--output_path", tmp_path / "second")
    assert second.results["results"]["graded"]["judge_score,none"] == 5 / 6
    compared = judged.command("compare", first.folder, second.folder)
    assert compared.code == 0 and "judge_score" in compared.out, compared.out + compared.err
    assert "gained: " in compared.out and "report.html" not in compared.out, "these runs have no page"
    table = judged.command("report", first.folder, second.folder, "--format", "md")
    assert table.code == 0, table.err


def test_a_verdict_that_one_of_two_judges_lacks_is_no_failed_doc(judged, tmp_path: Path) -> None:
    """The doc was said to be left out, and it was in the number that was shown."""

    def run(name: str, replies: list[list[str]]) -> Path:
        first, folder = replay(judged, [["GRADE: C"]] * 6), judged.folder / name
        both = [f"{first},name=one", f"{replay(judged, replies, file=f'{name}.jsonl')},name=two"]
        words = [word for args in both for word in ("--judge", "replay", "--judge_args", args)]
        judged.run(*words, "--output_path", folder)
        return folder

    runs = run("whole", [["GRADE: I"]] * 6), run("lacking", [["GRADE: I"]] * 5 + [["hm"]])
    compared = judged.command("compare", *runs, "--mix_judges")
    assert "failed in one" not in compared.out, compared.out
    assert "graded: 1 document has judge_score@two in one of the runs only: left out of it" in compared.out


def test_the_command_of_a_recorded_run_names_its_judges(judged, server) -> None:
    ran = judged.with_server(server, "--judge", "replay", "--judge_args", replay(judged, []))
    stored = json.loads((ran.folder / "run.json").read_text())["request"]
    words = shlex.split(as_command(RunRequest.from_json(stored)))
    first, second = (place for place, word in enumerate(words) if word == "--judge")
    assert words[first + 1] == "openai" and words[second + 1] == "replay"
    assert f"base_url={server.url}" in words[first + 3] and "verdicts.jsonl" in words[second + 3]
    assert judged.command(*words[1:]).code == ran.code == 3, "the replayed judge has no verdicts"
