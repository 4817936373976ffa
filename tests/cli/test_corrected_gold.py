"""`score` scores a run whose data has a corrected gold since, and refuses one with another question, in whichever doc."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from mm_eval.engine.own_runs import key_file
from tests.sets import few

DOCS = 40
"""More than the 32 docs whose prompts run.json knows."""
YAML = """task: graded
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl, train: shots.jsonl}}
test_split: test
doc_to_text: "{{q}}"
doc_to_target: a
metric_list: [{metric: exact_match}]
"""
SHOTS = "fewshot_split: train\nnum_fewshot: 1\n"
CHOICES = YAML.replace("doc_to_target: a\n", "doc_to_target: a\ndoc_to_choice: c\n").replace("exact_match", "acc") + (
    "output_type: multiple_choice\n"
)
PICTURES = YAML + "doc_to_visual: !function utils.shown\n"
UTILS = (
    "from PIL import Image\n\n\ndef shown(doc):\n    return [Image.open(doc['p'], formats=['PNG']).convert('RGB')]\n"
)


class Graded:
    def __init__(self, folder: Path, cli: Callable[..., Any], yaml: str, *model: str) -> None:
        self.folder, self.cli = folder, cli
        (folder / "graded.yaml").write_text(yaml)
        (folder / "utils.py").write_text(UTILS)
        Image.new("RGB", (8, 8), (200, 0, 0)).save(folder / "p.png")
        self.rows = [
            {
                "q": f"Question {n}?",
                "a": "y" if "doc_to_choice" in yaml else "wrong",
                "c": ["x", "y"],
                "p": str(folder / "p.png"),
            }
            for n in range(DOCS)
        ]
        self.shots = [{"q": "Shot?", "a": "shot"}]
        self.write()
        self.ran = cli("--tasks", "graded", "--include_path", folder, *model)
        assert self.ran.code == 0, self.ran.err

    def write(self) -> None:
        for name, rows in (("rows", self.rows), ("shots", self.shots)):
            (self.folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    def score(self) -> Any:
        self.write()
        return self.cli("score", self.ran.folder)


@pytest.fixture
def graded(tmp_path: Path, cli: Callable[..., Any]) -> Callable[..., Graded]:
    folder = tmp_path / "task"
    folder.mkdir()
    return lambda yaml=YAML, *model: Graded(folder, cli, yaml, *(model or ("--model", "dummy")))


@pytest.mark.parametrize("yaml", few([YAML, YAML + SHOTS, CHOICES, PICTURES], at=[0, 3]))
def test_a_corrected_gold_is_scored_with_a_note(graded: Callable[..., Graded], yaml: str) -> None:
    run = graded(yaml)
    before = [row["scores"] for row in run.ran.samples("graded")]
    run.rows[35]["a"] = "x" if "doc_to_choice" in yaml else run.ran.samples("graded")[35]["resps"][0]
    scored = run.score()
    asked = DOCS * (2 if "doc_to_choice" in yaml else 1)
    assert scored.code == 0, scored.err
    assert f"the data of graded has changed since the run, and none of its {asked} questions" in scored.out
    after = [row["scores"] for row in scored.samples("graded")]
    assert [n for n in range(DOCS) if before[n] != after[n]] == [35]


def test_a_doc_that_failed_for_its_gold_stays_failed_and_the_others_are_scored(
    cli: Callable[..., Any], tmp_path: Path
) -> None:
    """Its question was never asked, so it is none that has changed."""
    (tmp_path / "graded.yaml").write_text(CHOICES)
    rows = [{"q": f"Question {n}?", "a": "y" if n < 2 else "typo", "c": ["x", "y"]} for n in range(3)]

    def write() -> None:
        (tmp_path / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))

    write()
    (tmp_path / "shots.jsonl").write_text(json.dumps(rows[1]) + "\n")
    ran = cli("--tasks", "graded", "--include_path", tmp_path, "--model", "dummy")
    assert ran.code == 3 and "1 of 3 documents failed" in ran.out + ran.err
    before = [row["scores"] for row in ran.samples("graded")]
    rows[2]["a"], rows[1]["a"] = "y", "x"
    write()
    scored = cli("score", ran.folder)
    assert scored.code == 3 and "and none of its 4 questions" in scored.out, scored.err
    after = [row["scores"] for row in scored.samples("graded")]
    assert after[2] == {} and after[1] != before[1] and after[0] == before[0]


@pytest.mark.parametrize(
    ("yaml", "change"),
    few(
        [
            (YAML, lambda run: run.rows[35].update(q="Another?")),
            (CHOICES, lambda run: run.rows[35].update(c=["x", "z"])),
            (PICTURES, lambda run: run.rows[35].update(p=str(run.folder / "o.png"))),
            (YAML + SHOTS, lambda run: run.shots[0].update(a="another")),
            (YAML, lambda run: run.rows.append(run.rows[0])),
            (YAML, lambda run: run.rows.pop()),
        ],
        at=[0, 2, 4],
    ),
)
def test_changed_questions_stay_refused(
    graded: Callable[..., Graded], yaml: str, change: Callable[[Graded], Any]
) -> None:
    run = graded(yaml)
    Image.new("RGB", (8, 8), (0, 200, 0)).save(run.folder / "o.png")
    run.rows[3]["a"] = "corrected" if "doc_to_choice" not in yaml else "x"
    change(run)
    before = (run.ran.folder / "results.json").read_bytes()
    refused = run.score()
    assert refused.code == 2 and refused.err.count("\n") == 1, refused.err
    assert "is not what the run was requested" in refused.err
    assert (run.ran.folder / "results.json").read_bytes() == before


def test_a_run_of_somebody_else_makes_no_model(graded: Callable[..., Graded]) -> None:
    run = graded()
    key = key_file()
    assert key is not None
    stored = json.loads((run.ran.folder / "run.json").read_text())
    stored["mark"] = "0" * 64
    (run.ran.folder / "run.json").write_text(json.dumps(stored))
    run.rows[0]["a"] = "corrected"
    run.write()
    refused = run.cli("score", run.ran.folder, "--include_path", run.folder)
    assert refused.code == 2 and "can be compared by whoever made the run" in refused.err


@pytest.mark.full
def test_the_prompts_of_a_checkpoint_are_compared_without_its_weights(graded: Callable[..., Graded]) -> None:
    run = graded(
        PICTURES.replace("metric_list", "generation_kwargs: {max_new_tokens: 2}\nmetric_list"), "--model", "tiny-llava"
    )
    run.rows[35]["a"] = "corrected"
    scored = run.score()
    assert scored.code == 0 and "none of its 40 questions" in scored.out, scored.err
    run.rows[35]["q"] = "Another?"
    assert "The question of doc 35 is another one" in run.score().err
