"""A judged number that is stopped: each look waits for its verdicts, and the judge is asked about no other doc."""

import json
import random
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.deciding.test_release import results
from tests.judge import server as judge_server
from tests.judge.conftest import JUDGE, NO_WAIT, TASK, Judged, judged, server

__all__ = ["judged", "server"]


@pytest.mark.full
def test_looks_wait_for_the_verdicts_and_the_judge_sees_no_more_docs(judged, server) -> None:
    docs = 300
    judged.write([{"q": f"{n}", "a": "1"} for n in range(docs)], ["1" if n % 4 else "2" for n in range(docs)])
    ran = judged.with_server(server, "--until_interval", "14")
    assert ran.code == 0, ran.out + ran.err
    row = ran.results["results"]["graded"]
    assert row["n"] < docs / 2 and row["stopped"].endswith("known well enough") and row["judge_failed"] == 0
    low, high = row["intervals_after_looking"]["judge_score,none"]
    assert (high - low) / 2 <= 0.14
    assert sum(server.asked.values()) == row["n"], "one verdict a document that was decided on"
    assert ran.results["run"]["judge_usage"]["judge-1"]["prompt_tokens"] == 10 * row["n"]
    verdicts = [line for line in ran.out.splitlines() if "verdicts:" in line]
    assert verdicts and f"{row['n']} were requested" in verdicts[0]
    again = judged.with_server(server, "--until_interval", "14")
    assert again.results["results"] == ran.results["results"] and max(server.asked.values()) == 1


def test_a_judge_with_weights_on_this_machine_is_refused_before_any_request(judged) -> None:
    judged.write([{"q": "1", "a": "1"}], ["1"])
    ran = judged.run("--judge", "tiny-llava", "--judge_preflight", "false", "--until_interval", "14")
    assert ran.code == 2 and not ran.folder.exists()
    assert "--until_interval: the judge has its weights on this machine" in ran.err
    assert "Let a model behind a server grade them." in ran.err


@pytest.mark.full
def test_a_judge_that_fails_for_a_time_changes_no_decision(judged, server, tmp_path: Path, monkeypatch) -> None:
    docs = 300
    judged.write([{"q": f"{n}", "a": "1"} for n in range(docs)], ["1" if n % 4 else "2" for n in range(docs)])
    words = ("--until_interval", "14", "--output_path")
    whole = judged.with_server(server, *words, tmp_path / "whole")
    decided = sum(server.asked.values())
    server.asked.clear()

    def replied(text: str, prompt: str) -> str:
        if sum(server.asked.values()) >= decided // 2:
            monkeypatch.setitem(judge_server.FAULTS, "Reference", (503, "busy"))
        return text

    with monkeypatch.context() as patch:
        patch.setattr(judge_server, "replied", replied)
        broken = judged.with_server(server, *words, tmp_path / "broken")
    assert broken.code == 3 and "judging stopped early" in broken.out + broken.err
    assert not (tmp_path / "broken/looks.json").exists()
    assert sum(server.asked.values()) < decided / 2 + 8, "no further look is asked without verdicts"
    monkeypatch.delitem(judge_server.FAULTS, "Reference")
    again = judged.with_server(server, *words, tmp_path / "broken")
    assert again.code == 0 and again.results["results"] == whole.results["results"]
    kept = int(re.search(r"verdicts: (\d+) were there already", again.out)[1])
    assert decided // 2 <= kept < decided and f"{decided - kept} were requested" in again.out
    assert answers_of(tmp_path / "broken") == answers_of(tmp_path / "whole") == decided


def answers_of(folder: Path) -> int:
    lines = [line for path in (folder / "journal").glob("*.jsonl") for line in path.read_text().splitlines()]
    return sum(json.loads(line)["kind"] == "answer" for line in lines)


DOCS = 240
PLAIN = TASK + "metric_list: [{metric: exact_match}]\n"


def a_release(judged: Judged, kind: str, task: str) -> Path:
    """Two models, one right on nine docs of ten and one on six; the same task with a judge or without one."""
    folder = judged.folder.parent / kind
    shutil.copytree(judged.folder, folder)
    (folder / "graded.yaml").write_text(task)
    models = []
    for name, right in (("good", 0.9), ("bad", 0.6)):
        drawn = random.Random(name)
        rows = [{"task": "graded", "doc_id": n, "resps": ["1" if drawn.random() < right else "2"]} for n in range(DOCS)]
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        models.append({"name": name, "model": "replay", "model_args": {"path": str(folder / f"{name}.jsonl")}})
    release = {"tasks": ["graded"], "include_path": str(folder), "no_report": True, "parallel": 1, "models": models}
    (folder / "release.yaml").write_text(json.dumps({**release, "output_path": str(folder / "out")}))
    return folder


def answered(folder: Path, name: str) -> int:
    files = (folder / "out" / name / "journal").glob("*.jsonl")
    lines = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    return len({json.dumps(slot) for line in lines if line["kind"] == "answer" for slot in line["slots"]})


def comparison(folder: Path) -> dict[str, Any]:
    [found] = json.loads((folder / "out" / "good" / "results.json").read_text())["looks"]["comparisons"]
    return {key: value for key, value in found.items() if key not in ("row", "metric", "number")}


@pytest.mark.full
def test_a_comparison_by_verdicts_is_that_of_the_same_scores_without_a_judge(judged, server, cli) -> None:
    judged.write([{"q": f"{n}", "a": "1"} for n in range(DOCS)], [])
    plain, by_judge = a_release(judged, "plain", PLAIN), a_release(judged, "by_judge", TASK + JUDGE)
    stops = ("--stop_when", "decided")
    assert cli("run", "--config", plain / "release.yaml", *stops).code == 0
    asked = f"base_url={server.url},model=judge-1,{NO_WAIT}"
    words = ("--config", by_judge / "release.yaml", "--judge", "openai", "--judge_args", asked)
    judge = (*words, "--judge_preflight", "false")
    done = cli("run", *judge, *stops)
    assert done.code == 0, done.out + done.err
    found = comparison(by_judge)
    assert found == comparison(plain) and found["ended"] == "differs"
    docs = {name: results(by_judge, name)["results"]["graded"]["n"] for name in ("good", "bad")}
    assert docs["good"] == docs["bad"] < DOCS / 2
    judged_docs = {name: answered(by_judge, name) for name in docs}
    assert sum(server.asked.values()) == sum(judged_docs.values()), "one verdict an answer that was asked for"
    before = server.asked.copy()
    assert cli("run", *judge, *stops).code == 0 and server.asked == before, "a second launch asks nothing"
    whole = cli("run", *judge)
    assert whole.code == 0 and max(server.asked.values()) <= 2, "each model's answer is judged once"
    assert [results(by_judge, name)["results"]["graded"]["n"] for name in docs] == [DOCS, DOCS]
    assert sum(server.asked.values()) == 2 * DOCS
