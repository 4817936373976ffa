"""A task of which more than a fifth of the answers are empty or unparsed says so above its table, and quotes two."""

import json
import re
from pathlib import Path

import pytest

from mm_eval.api import Results
from mm_eval.results.recorded import RecordedRun
from mm_eval.scoring.task_scores import LONGEST, SilentAnswers
from mm_eval.verbs.report.release.numbers import release_table
from mm_eval.verbs.report.release.text import as_markdown

LONG = "I\x1b[31m can't tell\n" + "what this is " * 1000


def replayed(cli, tmp_path: Path, answers: list[str], *words: object):
    file = tmp_path / "answers.jsonl"
    file.write_text("\n".join(json.dumps({"task": "mme", "doc_id": n, "resps": [a]}) for n, a in enumerate(answers)))
    common = ("--tasks", "mme", "--sample", "--limit", len(answers), "--model", "replay")
    return cli(*common, "--model_args", f"path={file}", *words)


@pytest.mark.parametrize(
    ("silent", "warned"),
    [(["", ""], False), (["", "", ""], True), (["maybe"] * 3, True), (["", " \n", LONG], True), ([], False)],
)
def test_more_than_a_fifth_and_not_a_fifth(cli, tmp_path: Path, silent: list[str], warned: bool) -> None:
    ran = replayed(cli, tmp_path, silent + ["Yes"] * (10 - len(silent)))
    assert ran.code == 0
    head = ran.out.split("task  n-shot")[0]
    assert ("warning: mme: 3 of 10 answers are empty or unparsed, such as " in head) is warned
    assert ("Its prompt blocks are default, " in head) is warned
    assert ("warnings" in ran.results["results"]["mme"]) is warned and ran.out.count("warning:") == warned
    assert "\x1b" not in ran.out and all(len(line) < 400 for line in ran.out.splitlines())


def test_two_are_quoted_where_it_can_be_two_that_differ() -> None:
    found = SilentAnswers()
    for doc_id, answer in enumerate(["", "", "", LONG, "perhaps"]):
        found.add(doc_id, [answer], {"none": ["unparsed"]})
    assert found.warning.startswith(
        f"5 of 5 answers are empty or unparsed, such as '' (doc 0) and {LONG[:LONGEST]!r}... (doc 3). Look at the prompt"
    )


def test_repeats_and_pipelines_and_loglikelihoods() -> None:
    """Each repeat is an answer; one is unparsed where no pipeline reads it; a log-likelihood is never empty."""
    found = SilentAnswers()
    found.add(
        0, ["A", "?", ""], {"strict": ["unparsed", "unparsed", "unparsed"], "loose": ["letter", "unparsed", "unparsed"]}
    )
    found.add(1, ["free text"], {"none": []})
    found.add(2, ["free text"], {})
    found.add(4, ["", ""], {"strict": ["filtered", "truncated"], "loose": ["filtered", "truncated"]})  # counted by kind
    found.add(3, [(-1.0, True), (-2.0, False)], {"none": ["unparsed"]})
    assert (found.answers, found.silent, [doc_id for doc_id, _ in found.quoted]) == (7, 2, [0, 0])


def test_it_is_said_wherever_the_numbers_are(cli, tmp_path: Path) -> None:
    ran = replayed(cli, tmp_path, ["", "hm <b>", *["Yes"] * 6])
    said = "2 of 8 answers are empty or unparsed, such as '' (doc 0) and 'hm <b>' (doc 1)."
    page = (ran.folder / "report.html").read_text(encoding="utf-8")
    [data] = re.findall(r'id="data">(.*?)</script>', page, flags=re.S)
    assert json.loads(data)["table"][0]["warnings"][0].startswith(said)
    assert "answers are empty or unparsed: mme 2 of 8 (" in as_markdown(release_table([RecordedRun.read(ran.folder)]))
    compared = cli("compare", ran.folder, ran.folder, "--html", tmp_path / "compared.html").out
    assert "warning: A and B: answers are empty or unparsed: mme 2 of 8 (" in compared.split("95% interval")[0]
    [data] = re.findall(r'id="data">(.*?)</script>', (tmp_path / "compared.html").read_text(), flags=re.S)
    assert [banner["title"] for banner in json.loads(data)["differs"]] == [
        f"{name}: look at the answers first" for name in "AB"
    ]
    assert f"warning: mme: {said}" in cli("score", ran.folder).out.split("task  n-shot")[0]


def test_in_a_notebook_and_in_a_release(cli, tmp_path: Path, monkeypatch) -> None:
    from mm_eval import evaluate

    monkeypatch.chdir(tmp_path)
    ran = replayed(cli, tmp_path, ["", "<b>", "No"])
    found = evaluate(
        "mme", "replay", {"path": tmp_path / "answers.jsonl"}, sample=True, limit=3, output_path=str(ran.folder)
    )
    assert isinstance(found, Results) and "2 of 3 answers are empty" in found._repr_html_().split("<table>")[0]
    models = [{"model": "replay", "model_args": {"path": str(tmp_path / "answers.jsonl")}, "name": "m"}]
    (tmp_path / "r.yaml").write_text(json.dumps({"tasks": ["mme"], "sample": True, "limit": 3, "models": models}))
    assert "warning: mme: 2 of 3 answers" in cli("run", "--config", tmp_path / "r.yaml").out.split("| benchmark")[0]
