"""A judged number that is stopped: each look waits for its verdicts, and the judge is asked about no other doc."""

from tests.features.judge.conftest import judged, server

__all__ = ["judged", "server"]


def test_looks_wait_for_the_verdicts_and_the_judge_sees_no_more_docs(judged, server) -> None:
    docs = 300
    judged.write([{"q": f"{n}", "a": "1"} for n in range(docs)], ["1" if n % 4 else "2" for n in range(docs)])
    ran = judged.with_server(server, "--until_interval", "14")
    assert ran.code == 0, ran.out + ran.err
    row = ran.results["results"]["graded"]
    assert row["n"] < docs / 2 and row["stopped"].endswith("known well enough") and row["judge_failed"] == 0
    low, high = row["intervals_after_looking"]["judge_score,none"]
    assert (high - low) / 2 <= 0.14
    assert sum(server.asked.values()) == row["n"], "one verdict a doc that was decided on"
    assert ran.results["run"]["judge_usage"]["judge-1"]["prompt_tokens"] == 10 * row["n"]
    verdicts = [line for line in ran.out.splitlines() if "verdicts:" in line]
    assert verdicts and f"{row['n']} were requested" in verdicts[0]
    again = judged.with_server(server, "--until_interval", "14")
    assert again.results["results"] == ran.results["results"] and max(server.asked.values()) == 1
