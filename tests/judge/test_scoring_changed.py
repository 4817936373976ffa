"""Verdicts when a judged task's scoring has changed: read again, and never mixed."""

import json

from tests.judge.conftest import JUDGE, TASK, UTILS


def test_verdicts_are_read_by_the_new_rule_and_never_asked_for_under_another_prompt(judged, server) -> None:
    assert judged.with_server(server).results["results"]["graded"]["judge_score,none"] == 4 / 6
    stricter = UTILS.replace('"C": 1.0', '"C": 0.5')
    (judged.folder / "utils.py").write_text(stricter)
    (judged.folder / "graded.yaml").write_text((TASK + JUDGE).replace('"GRADE: C", 1]', '"GRADE: C", 0.5]'))
    again = judged.with_server(server)
    assert again.code == 0, again.err
    assert again.results["results"]["graded"]["judge_score,none"] == 2 / 6, "every verdict is read by the new rule"
    assert len(server.asked) == 6 and max(server.asked.values()) == 1
    (judged.folder / "utils.py").write_text(UTILS.replace("Reference:", "Gold:"))
    (judged.folder / "graded.yaml").write_text(TASK + JUDGE)
    prompted = judged.with_server(server)
    assert prompted.code == 0 and sum("Gold:" in said for said in server.asked) == 6
    assert all("Gold:" in row["judge"]["prompt"] for row in prompted.samples("graded"))


def test_a_judge_asked_with_other_options_is_another_judge(judged, server) -> None:
    first = judged.with_server(server)
    run = json.loads((first.folder / "run.json").read_text())
    stated = first.results["judges"]["graded"][0]["options"]["generation_kwargs"]
    assert run["judges"][0]["options"]["graded"] == stated
    other = (TASK + JUDGE).replace("judge:\n", "judge:\n  generation_kwargs: {max_new_tokens: 7}\n")
    (judged.folder / "graded.yaml").write_text(other)
    refused = judged.with_server(server)
    assert refused.code == 2 and "asked the judge 'judge-1' with other generation_kwargs before" in refused.err
    assert "--judge_args name=judge-1-2" in refused.err
    named = judged.with_server(server, args="max_retries=0,max_outage=0.5,name=judge-1-2")
    assert named.code == 0, named.err
    judges = {entry["name"]: entry["options"]["generation_kwargs"] for entry in named.results["judges"]["graded"]}
    assert (
        list(judges) == ["judge-1", "judge-1-2"]
        and judges["judge-1-2"] == [{"temperature": 0, "max_new_tokens": 7}] != judges["judge-1"]
    )
    assert sum(server.asked.values()) == 12, "both judges' verdicts stand side by side, each under its own options"
