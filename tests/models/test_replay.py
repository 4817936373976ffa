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
