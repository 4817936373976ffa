"""A run goes on when only its scoring has changed: no answer is requested again, and none is scored by the older rule."""

import json
from pathlib import Path

import pytest
from PIL import Image

from mm_eval.cli import main
from tests.sets import few

NOTE = "scoring of shown changed since the folder was made: all answers are scored again"
YAML = """task: shown
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_visual: !function utils.pictures
doc_to_text: !function utils.text
doc_to_target: a
generation_kwargs: {max_new_tokens: 16}
process_results: !function utils.score
metric_list: [{metric: hit, aggregation: mean}]
metadata: {version: 1.0}
model_specific_prompt_kwargs: {default: {post: ''}}
"""
CODE = """from pathlib import Path
from PIL import Image

FOLDER = Path(__file__).parent


def pictures(doc):
    return [Image.open(FOLDER / doc["p"], formats=["PNG"]).convert("RGB")]


def text(doc, model_specific_prompt_kwargs):
    return doc["q"] + model_specific_prompt_kwargs["post"]


def score(doc, results):
    return {"hit": float(results[0] == doc["a"])}
"""
OTHER_RULE = CODE.replace('results[0] == doc["a"]', "len(results[0]) % 2")
DOCS = 40
CHANGES = {
    "process_results": (YAML, OTHER_RULE),
    "metric_list": (YAML.replace("aggregation: mean", "aggregation: median"), CODE),
    "filter_list": (YAML + "filter_list: [{name: low, filter: [{function: lowercase}]}]\n", CODE),
    "no process_results": (YAML.replace("process_results: !function utils.score\n", "").replace(
        "{metric: hit, aggregation: mean}", "{metric: exact_match}"), CODE),
    "target": (YAML.replace("doc_to_target: a", "doc_to_target: b"), CODE.replace('doc["a"]', 'doc["b"]')),
    "prompt of another family": (YAML.replace("{post: ''}}", "{post: ''}, qwen_vl: {post: '?'}}"), CODE),
    "metadata, tag": (YAML.replace("version: 1.0", "version: 2.0, size: 7") + "tag: [mine]\n", CODE),
}  # fmt: skip


class Shown:
    """A task with pictures, in a folder of its own."""

    def __init__(self, folder: Path, command) -> None:
        self.folder, self.command = folder, command
        rows = [{"q": f"question {n}", "a": "Yes", "b": "no", "p": f"{n % 3}.png"} for n in range(DOCS)]
        (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        for n in range(3):
            Image.new("RGB", (4 + n, 4), (80 * n, 0, 0)).save(folder / f"{n}.png")

    def write(self, yaml: str = YAML, code: str = CODE) -> None:
        (self.folder / "shown.yaml").write_text(yaml)
        (self.folder / "utils.py").write_text(code)

    def run(self, *more: object):
        return self.command("--tasks", "shown", "--include_path", self.folder, "--model", "dummy", *more)


@pytest.fixture
def shown(tmp_path: Path, cli) -> Shown:
    folder = tmp_path / "task"
    folder.mkdir()
    made = Shown(folder, cli)
    made.write()
    return made


def without_run(results: dict) -> dict:
    return {key: value for key, value in results.items() if key != "run"}


def lose_half(folder: Path) -> None:
    """Leaves half of the answers in the journal, as a kill does."""
    [journal] = (folder / "journal").glob("*.jsonl")
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[: len(lines) // 2]))


@pytest.mark.parametrize("change", few(CHANGES, at=[0, 2]))
@pytest.mark.parametrize("half", few([False, True], at=(1,)), ids=["finished", "interrupted"])
def test_a_changed_rule_takes_every_answer_and_scores_all_of_them(
    shown: Shown, tmp_path: Path, change: str, half: bool
) -> None:
    first = shown.run()
    assert first.code == 0, first.err
    if half:
        lose_half(first.folder)
        (first.folder / "results.json").unlink()
    shown.write(*CHANGES[change])
    again = shown.run()
    assert again.code == 0, again.err
    assert NOTE in again.out
    counts = f"{DOCS // 2} answers were there, {DOCS // 2} were requested" if half else f"all {DOCS} answers were in"
    assert counts in again.out
    fresh = shown.run("--output_path", tmp_path / "fresh")
    assert NOTE not in fresh.out
    assert without_run(again.results) == without_run(fresh.results)
    assert again.samples("shown") == fresh.samples("shown")


REQUESTS = {
    "doc_to_text": (YAML, CODE.replace('doc["q"]', 'doc["q"] + ("!" if doc["q"].endswith("39") else "")')),
    "doc_to_visual": (YAML, CODE.replace('convert("RGB")', 'convert("RGB").rotate(90)')),
    "one picture": (YAML, CODE.replace('convert("RGB")', 'convert("RGB").resize((6, 4 + doc["q"].endswith("39")))')),
    "doc_to_visual fails": (YAML, CODE.replace('doc["p"]', 'doc["none"]')),
    "process_docs": (YAML + "process_docs: !function utils.docs\n", CODE + "\n\ndef docs(rows):\n    return rows\n"),
    "the prompt itself": (YAML.replace("{post: ''}}", "{post: '!'}}"), CODE),
    "generation_kwargs": (YAML.replace("max_new_tokens: 16", "max_new_tokens: 17"), CODE),
    "few-shot": (YAML + "num_fewshot: 1\nfewshot_split: test\n", CODE),
    "data": (YAML.replace("rows.jsonl", "other.jsonl"), CODE),
}


@pytest.mark.parametrize("change", few(REQUESTS, at=[0, 2, 5, 8]))
def test_a_changed_request_is_refused_and_leaves_the_folder_as_it_is(shown: Shown, change: str) -> None:
    first = shown.run()
    assert first.code == 0, first.err
    (shown.folder / "other.jsonl").write_text((shown.folder / "rows.jsonl").read_text().replace("Yes", "yes"))
    before = {path: path.read_bytes() for path in first.folder.rglob("*.json*") if path.is_file()}
    shown.write(*REQUESTS[change])
    changed = shown.run()
    assert changed.code == 2, changed.out
    refused = "the folder holds another run", "the recorded answer is to another question", "reads the column"
    assert any(said in changed.err for said in refused), changed.err
    assert {path: path.read_bytes() for path in before} == before


def test_a_target_in_the_prompt_is_part_of_the_request(shown: Shown) -> None:
    shots = YAML + "num_fewshot: 1\nfewshot_split: test\nfewshot_config: {sampler: first_n}\n"
    shown.write(shots)
    assert shown.run().code == 0
    shown.write(shots.replace("doc_to_target: a", "doc_to_target: b"))
    assert "the prompts differ" in shown.run().err


def test_the_command_without_an_output_path_finds_its_answers(
    shown: Shown, tmp_path: Path, monkeypatch, capsys
) -> None:
    monkeypatch.chdir(tmp_path)
    words = ["--tasks", "shown", "--include_path", str(shown.folder), "--model", "dummy"]
    assert main(words) == 0
    shown.write(YAML, OTHER_RULE)
    capsys.readouterr()
    assert main(words) == 0
    assert NOTE in capsys.readouterr().out and len(list((tmp_path / "runs").iterdir())) == 1
    shown.write(YAML, CODE.replace('doc["q"]', 'doc["q"] + "!"'))
    assert main(words) == 0
    assert len(list((tmp_path / "runs").iterdir())) == 2, "another prompt is another run"


def test_scoring_that_breaks_off_leaves_no_numbers_of_the_older_rule(shown: Shown, monkeypatch) -> None:
    first = shown.run()
    before = first.results
    shown.write(YAML, OTHER_RULE)

    def dies(*_args: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("mm_eval.run.assemble", dies)
        shown.run()
    assert not (first.folder / "results.json").exists() and not (first.folder / "report.html").exists()
    again = shown.run()
    assert again.code == 0 and again.results["results"]["shown"] != before["results"]["shown"]
    shown.write()
    with monkeypatch.context() as patch:  # and back: the folder was made by this rule, and its numbers by the other
        patch.setattr("mm_eval.run.assemble", dies)
        shown.run()
    assert not (first.folder / "results.json").exists()


def test_mm_eval_score_says_it_too(shown: Shown) -> None:
    first = shown.run()
    shown.write(YAML, OTHER_RULE)
    assert NOTE in shown.command("score", first.folder).out


def test_a_group_that_aggregates_otherwise_goes_on(shown: Shown) -> None:
    group = "group: pair\ntask: [shown]\naggregate_metric_list: [{metric: hit, weight_by_size: %s}]\n"
    command = ("--tasks", "pair", "--include_path", shown.folder, "--model", "dummy")
    (shown.folder / "pair.yaml").write_text(group % "true")
    assert shown.command(*command).code == 0
    (shown.folder / "pair.yaml").write_text(group % "false")
    again = shown.command(*command)
    assert again.code == 0 and "nothing was requested" in again.out
