"""A judged run from answers to the number, with a scripted judge."""


def test_the_number_is_the_rules(judged, server) -> None:
    ran = judged.with_server(server)
    assert ran.code == 0, ran.out + ran.err
    row = ran.results["results"]["graded"]
    assert row["judge_score,none"] == 4 / 6
    assert row["judge_failed"] == 0 and row["judge_bounds"] is None
    assert max(server.asked.values()) == 1 and len(server.asked) == 6
