"""Recorded answers belong to docs, and not to places in a file."""

import json

from mm_eval.config.task_config import TaskConfig


def test_rows_of_samples_are_not_taken_for_other_docs(cli, tmp_path) -> None:
    """Data in another order, or another revision of it, has other docs under the ids: a wrong number, without a word."""
    words = ("--tasks", "mme", "--sample", "--no_report", "--limit", "6")
    first = cli(*words, "--model", "dummy")
    rows = first.samples("mme")
    path = tmp_path / "rows.jsonl"

    def replayed(name: str, rows: list) -> list[str]:
        path.write_text("\n".join(map(json.dumps, rows)))
        ran = cli(*words, "--model", "replay", "--model_args", f"path={path}", "--output_path", tmp_path / name)
        assert ran.code == (3 if "the answer to another document" in ran.out else 0)
        return [row["status"] for row in ran.samples("mme")]

    assert replayed("same", rows[::-1]) == ["answered"] * 6
    moved = [{**row, "doc_id": 5 - row["doc_id"]} for row in rows]
    assert replayed("moved", moved) == ["failed"] * 6
    assert replayed("bare", [{**row, "doc": {}} for row in moved]) == ["answered"] * 6
    scored = [{**row, "doc": {**row["doc"], "answer": "changed"}} for row in rows]
    assert replayed("changed by scoring", scored) == ["answered"] * 6


def test_log_likelihoods_are_requested_once_whatever_the_repeats(cli, tmp_path, monkeypatch) -> None:
    """They do not vary: `--repeats 3` requested each of them three times and scored the first."""
    words = ("--tasks", "mmlu_anatomy", "--sample", "--no_report", "--limit", "3", "--repeats", "3")
    dummy = (*words, "--model", "dummy")
    once = cli(*dummy, "--output_path", tmp_path / "once")
    rows = once.samples("mmlu_anatomy")
    assert [len(row["resps"]) for row in rows] == [4] * 3
    assert "mmlu_anatomy: a log-likelihood does not vary, so `repeats` requests it once" in " ".join(once.out.split())

    with monkeypatch.context() as patch:  # as before
        patch.setattr(TaskConfig, "times_asked", property(lambda config: config.repeats))
        before = cli(*dummy, "--output_path", tmp_path / "thrice")
        assert [len(row["resps"]) for row in before.samples("mmlu_anatomy")] == [4 * 3] * 3
        args = ("--model", "replay", "--model_args", f"path={before.folder / 'samples'}")
        again = cli(*words, *args, "--output_path", tmp_path / "all replayed")
        assert [row["resps"] for row in again.samples("mmlu_anatomy")] == [
            row["resps"] for row in before.samples("mmlu_anatomy")
        ]
    replayed = cli(*words, *args, "--output_path", tmp_path / "replayed")
    assert [row["resps"] for row in replayed.samples("mmlu_anatomy")] == [row["resps"] for row in rows]
