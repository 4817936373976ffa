"""Recorded answers belong to docs, and not to places in a file."""

import json


def test_rows_of_samples_are_not_taken_for_other_docs(cli, tmp_path) -> None:
    """Data in another order, or another revision of it, has other docs under the ids: a wrong number, without a word."""
    words = ("--tasks", "mme", "--sample", "--no_report", "--limit", "6")
    first = cli(*words, "--model", "dummy")
    rows = first.samples("mme")
    path = tmp_path / "rows.jsonl"

    def replayed(name: str, rows: list) -> list[str]:
        path.write_text("\n".join(map(json.dumps, rows)))
        ran = cli(*words, "--model", "replay", "--model_args", f"path={path}", "--output_path", tmp_path / name)
        assert ran.code == (3 if "the answer to another doc" in ran.out else 0)
        return [row["status"] for row in ran.samples("mme")]

    assert replayed("same", rows[::-1]) == ["answered"] * 6
    moved = [{**row, "doc_id": 5 - row["doc_id"]} for row in rows]
    assert replayed("moved", moved) == ["failed"] * 6
    assert replayed("bare", [{**row, "doc": {}} for row in moved]) == ["answered"] * 6
    scored = [{**row, "doc": {**row["doc"], "answer": "changed"}} for row in rows]
    assert replayed("changed by scoring", scored) == ["answered"] * 6


def test_each_repeat_of_a_choice_has_its_own_answers(cli, tmp_path) -> None:
    """Two repeats of four choices looked like four choices with and without the question: the first repeat stood for both."""
    words = ("--tasks", "mmlu_anatomy", "--sample", "--no_report", "--limit", "3")
    for repeats in (2, 3):
        first = cli(*words, "--model", "dummy", "--repeats", repeats, "--output_path", tmp_path / f"{repeats}")
        rows = first.samples("mmlu_anatomy")
        assert [len(row["resps"]) for row in rows] == [4 * repeats] * 3
        assert any(row["resps"][:4] != row["resps"][4:8] for row in rows)
        path, again = first.folder / "samples", tmp_path / f"again-{repeats}"
        args = ("--repeats", repeats, "--model_args", f"path={path}", "--output_path", again)
        assert [row["resps"] for row in cli(*words, "--model", "replay", *args).samples("mmlu_anatomy")] == [
            row["resps"] for row in rows
        ]
