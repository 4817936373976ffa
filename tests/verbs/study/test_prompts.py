"""`prompts`: the same model under several blocks, in one process, resumable, with a verdict."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from mm_eval.models.dummy import Dummy

from mm_eval.values.types import MetricKey
from mm_eval.verbs.study.prompts import Prompts
from mm_eval.verbs.study.variants_text import render
from tests.processes import HANGS
from tests.recorded import answers_with, in_page, ran


@pytest.fixture
def mine(tmp_path):
    path = tmp_path / "mine.yaml"
    path.write_text('mine: {post_prompt: " Say yes or no."}\nmme:\n  of_mme: {post_prompt: "!"}\n')
    return path


def test_every_block_is_asked_by_one_model_and_compared_with_the_first(cli, tmp_path, mine, monkeypatch):
    prepared = []
    monkeypatch.setattr(Dummy, "prepare", lambda self: prepared.append(self))
    out = tmp_path / "trial"
    words = [
        "prompts",
        "--tasks",
        "mme,seedbench",
        "--model",
        "dummy",
        "--sample",
        "--prompt_file",
        mine,
        "--keys",
        "default,qwen_vl,mine,of_mme",
        "--limit",
        "60",
    ]
    done = cli(*words, "--output_path", out)
    assert done.code == 0, done.err
    assert len(prepared) == 1
    order = ["default", "qwen_vl", "mine", "of_mme"]
    asked = {
        path.name: json.loads((path / "samples/mme.jsonl").read_text().splitlines()[0])
        for path in sorted((out / "dummy").iterdir(), key=lambda path: order.index(path.name))
    }
    assert list(asked) == order
    assert asked["mine"]["prompt"].endswith("? Say yes or no.") and asked["qwen_vl"]["prompt"].endswith("? Answer:")
    assert asked["of_mme"]["prompt"].endswith("?!")
    data, rows = in_page(out / "prompts.html", "data"), in_page(out / "prompts.html", "rows")
    assert len(rows) == 120 and data["own"] == "default" and data["beside"] == ["qwen_vl", "mine", "of_mme"]
    assert rows[0]["w"][1]["p"].endswith("? Say yes or no.") and "p" not in rows[60]["w"][2], "asked as with default"
    titles = [section["title"] for section in data["sections"]]
    assert titles == ["dummy: mme", "dummy: seedbench"] and [fact["name"] for fact in data["facts"]] == list(asked)
    blocks = [row["cells"][1] for row in data["sections"][1]["tables"][0]["rows"]][:4]
    assert blocks[:3] == ["default = of_mme", "qwen_vl", "mine"]
    table = data["sections"][1]["tables"][0]
    first, lost = table["rows"][:2], [name for name, *_ in table["head"]].index("lost")
    assert first[0]["cells"][0] == "seed_all" and "part" not in first[0], (
        "the main number is first, the others are behind a button"
    )
    assert first[1]["cells"][lost]["count"], "documents are counted beside the number that is shown"
    assert str(out / "prompts.html") in done.out
    assert "default = of_mme" in done.out and "seedbench has no block 'of_mme'" in done.out
    assert "vs default" in done.out and "p (Holm)" in done.out and "unparsed" in done.out
    again = cli(*words, "--output_path", out)
    assert again.out == done.out
    assert all(len(list((folder / "journal").iterdir())) == 1 for folder in (out / "dummy").iterdir()), (
        "nothing is asked twice"
    )


def test_blocks_share_a_cache_and_each_has_its_limit_of_failures(cli, tmp_path):
    words = ["prompts", "--tasks", "mme", "--sample", "--keys", "default,qwen_vl", "--limit", "6"]
    cached = ["--model", "dummy", "--use_cache", tmp_path / "cache"]
    outs = []
    for name in ("one", "two"):
        done = cli(*words, *cached, "--output_path", tmp_path / name)
        assert done.code == 0, done.err
        rows = [json.loads(line) for path in sorted((tmp_path / name).rglob("journal/*.jsonl")) for line in path.open()]
        outs.append([row["attempts"] for row in rows if row["kind"] == "answer"])
    assert outs == [[1] * 12, [0] * 12]
    (tmp_path / "none.jsonl").write_text("")
    failing = ["--model", "replay", "--model_args", f"path={tmp_path / 'none.jsonl'}", "--fail_on_error", "2"]
    done = cli(*words, *failing, "--output_path", tmp_path / "three")
    assert done.code == 3
    for key in ("default", "qwen_vl"):
        [journal] = (tmp_path / "three" / "replay" / key / "journal").glob("*.jsonl")
        assert len([line for line in journal.open() if '"error"' in line]) == 2


def test_json_holds_what_the_table_says(cli, tmp_path):
    words = ["prompts", "--tasks", "mme", "--model", "dummy", "--sample", "--keys", "qwen_vl,default", "--limit", "40"]
    done = cli(*words, "--output_path", tmp_path / "trial", "--format", "json")
    [model] = json.loads(done.out)["models"]
    assert model["baseline"] == "qwen_vl" and json.loads((tmp_path / "trial/prompts.json").read_text())["models"] == [
        model
    ]
    [change] = [change for change in model["blocks"]["default"]["changes"] if change["metric"].startswith("mme_p")]
    a, b = (model["blocks"][key]["numbers"]["mme"][change["metric"]]["value"] for key in ("qwen_vl", "default"))
    assert change["difference"]["value"] == pytest.approx(b - a)


def trial_of(folders):
    """Recorded answers as if each run had been asked with the block that it is called by."""
    trial = Prompts.read("recorded", folders)
    for key, run in trial.runs.items():
        run.results.run.prompts["mme"]["key"] = key
    return trial


@pytest.mark.full
def test_a_better_block_is_called_better(perfect, worse, base, mme_rows):
    path = answers_with(base / "bit.jsonl", mme_rows, set(range(21)))
    bit = ran(base / "bit", "--tasks", "mme", "--model", "replay", "--model_args", f"path={path}")
    trial = trial_of({"worse": worse, "perfect": perfect, "bit": bit})
    text = render([trial, trial])
    assert "perfect is better than worse on mme (mme_perception_score) by" in text and "(p <0.001)" in text
    assert "McNemar p" in text
    assert (
        "On mme (mme_cognition_score) perfect, bit show no significant difference from worse with 120 documents."
        in text
    )
    assert trial.best("mme", MetricKey("mme_perception_score", "none")) == ["perfect"]
    assert trial.best("mme", MetricKey("mme_cognition_score", "none")) == []
    close = render([trial_of({"perfect": perfect, "bit": bit})])
    assert "show no significant difference with 300 documents; about" in close and "would be needed" in close


@pytest.mark.full
def test_several_models_make_a_matrix(cli, tmp_path):
    words = ["prompts", "--tasks", "mme", "--model", "dummy", "--model", "dummy", "--sample", "--limit", "30"]
    done = cli(*words, "--output_path", tmp_path / "trial")
    assert done.code == 0 and {path.name for path in (tmp_path / "trial").iterdir()} == {
        "dummy",
        "dummy_",
        "prompts.html",
        "prompts.json",
    }
    data, rows = in_page(tmp_path / "trial/prompts.html", "data"), in_page(tmp_path / "trial/prompts.html", "rows")
    assert data["models"] == ["dummy", "dummy'"] and [row["m"] for row in rows] == [0] * 30 + [1] * 30
    assert [section["title"] for section in data["sections"]] == ["dummy: mme", "dummy': mme"]
    assert [(row["task"], row["model"]) for row in data["heat"]] == [("mme", "dummy"), ("mme", "dummy'")]
    matrix = done.out[done.out.index("mme mme_perception_score") :]
    assert matrix.splitlines()[2].startswith("dummy ") and matrix.splitlines()[3].startswith("dummy'")


@pytest.mark.parametrize(
    ("extra", "said"),
    [
        (["--keys", "default,qwen_v"], "Did you mean 'qwen_vl'"),
        (["--keys", "default"], "two different prompt keys"),
        (["--keys", "default,default"], "two different prompt keys"),
        (["--prompt_key", "qwen_vl"], "--keys default,qwen_vl"),
        (["--prompt_file", "nowhere.yaml"], "nowhere.yaml"),
        (["--model_args", "a=1", "--model_args", "b=2"], "give one of each"),
    ],
)
def test_mistakes_are_told_before_anything_is_asked(cli, tmp_path, extra, said):
    done = cli("prompts", "--tasks", "mme", "--model", "dummy", "--sample", *extra, "--output_path", tmp_path / "trial")
    assert done.code == 2 and said in done.err
    assert not (tmp_path / "trial").exists()


def test_validate_checks_every_block_of_a_task(cli, tmp_path):
    whole = Path(__file__).parents[3] / "tasks/mme/mme.yaml"
    blocks = "model_specific_prompt_kwargs:\n  default: {post_prompt: ''}\n  qwen_vl: {post_promtp: ' A:'}\n"
    (tmp_path / "typo.yaml").write_text(f"include: {whole}\ntask: typo\n{blocks}")
    done = cli("validate", "typo", "--sample", "--include_path", tmp_path)
    assert done.code == 2 and "'post_promtp'" in done.out and "'qwen_vl'" in done.out and "typo.yaml:5" in done.out


def test_a_misspelt_key_in_a_block_of_ones_own_is_an_error(cli, tmp_path):
    (tmp_path / "mine.yaml").write_text('mine: {post_promtp: "!"}\n')
    words = ["prompts", "--tasks", "mme", "--model", "dummy", "--sample", "--prompt_file", tmp_path / "mine.yaml"]
    done = cli(*words, "--output_path", tmp_path / "trial")
    assert done.code == 2 and "mine.yaml:1: nothing" in done.err
    assert "'post_promtp'" in done.err and "'post_prompt'" in done.err
    assert not (tmp_path / "trial").exists()


def test_blocks_with_equal_requests_are_one_row_and_one_hypothesis(cli, tmp_path):
    """MME's three blocks of Qwen have one text: three tests of it would hide what one shows."""
    words = ["prompts", "--tasks", "mme", "--model", "dummy", "--sample", "--limit", "40", "--format", "json"]
    alone = cli(*words, "--keys", "default,qwen2_vl", "--output_path", tmp_path / "alone")
    both = cli(*words, "--keys", "default,qwen2_vl,qwen2_5_vl,qwen3_vl", "--output_path", tmp_path / "both")
    [one], [several] = (json.loads(done.out)["models"] for done in (alone, both))
    p_values = [each["p_holm"] for each in one["blocks"]["qwen2_vl"]["changes"]]
    assert any(p is not None and p < 1 for p in p_values)
    for key in ("qwen2_vl", "qwen2_5_vl", "qwen3_vl"):
        assert [each["p_holm"] for each in several["blocks"][key]["changes"]] == p_values, key
    assert several["blocks"]["qwen3_vl"]["same_as"] == {"mme": "qwen2_vl"} and not one["blocks"]["qwen2_vl"]["same_as"]
    text = cli(*words[:-2], "--keys", "default,qwen2_vl,qwen2_5_vl,qwen3_vl", "--output_path", tmp_path / "both").out
    assert [line.split("  ")[0] for line in text.splitlines() if line.startswith("qwen2_vl = ")] == [
        "qwen2_vl = qwen2_5_vl = qwen3_vl"
    ]
    assert "qwen2_vl, qwen2_5_vl, qwen3_vl ask the same on mme: 40 of 40 requests are equal." in text


def test_a_block_that_asks_what_default_does_is_no_row_of_its_own(cli, tmp_path):
    (tmp_path / "mine.yaml").write_text('mine: {pre_prompt: ""}\n')
    words = ["prompts", "--tasks", "mme", "--model", "dummy", "--sample", "--limit", "5", "--keys", "default,mine"]
    done = cli(*words, "--prompt_file", tmp_path / "mine.yaml", "--output_path", tmp_path / "out")
    assert done.code == 0 and "default = mine" in done.out
    assert "default, mine ask the same on mme: 5 of 5 requests are equal." in done.out
    assert "score the same" not in done.out


def test_the_verdict_of_each_model_comes_first(perfect, worse, base, mme_rows):
    def advice(**folders):
        return Prompts.read("M", folders).advice()

    assert advice(default=worse, mine=perfect) == "M: use mine, +800.00 ± 86.29 on mme over default."
    said = advice(default=perfect, mine=worse)
    assert said.startswith("M: use default: no other prompt is significantly better on mme; worse are mine (-800.00 ±")
    assert advice(default=perfect, mine=perfect) == "M: the prompts are equal on mme."


@pytest.mark.full
def test_the_terminal_shows_the_verdict_first_within_80_columns(cli, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    words = ["prompts", "--tasks", "mme,seedbench", "--sample", "--limit", "20", "--output_path", tmp_path / "out"]
    models = ["--model", "dummy", "--model", "dummy", "--model_args", "", "--model_args", ""]
    lines = cli(*words, *models).out.splitlines()
    assert lines[0].startswith("dummy: use ") and any(line.startswith("dummy': use ") for line in lines[:6])
    assert [line for line in lines if len(line) > 80 and "/" not in line] == []


UNREAD = """
task: unread
dataset_path: json
dataset_kwargs: {data_files: {test: rows.jsonl}}
test_split: test
doc_to_text: TEXT
doc_to_target: answer
metric_list: [{metric: exact_match}]
model_specific_prompt_kwargs:
  default: {}
  mine: {post_prompt: " B"}
"""


@pytest.mark.parametrize("text", ["question", '"{{ question }}"', '"{{ question }}{{ pre_prompt }}"'])
def test_a_block_that_no_template_reads_is_an_error_of_each_command(cli, tmp_path, monkeypatch, text):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rows.jsonl").write_text('{"question": "q?", "answer": "a"}\n')
    (tmp_path / "unread.yaml").write_text(UNREAD.replace("TEXT", text))
    for verb in (["validate", "unread"], ["--tasks", "unread"], ["prompts", "--tasks", "unread"]):
        model = [] if verb[0] == "validate" else ["--model", "dummy"]
        done = cli(*verb, "--include_path", ".", *model)
        assert done.code == 2, verb
        said = "unread.yaml:11: nothing in unread reads the key 'post_prompt' of the prompt block 'mine'"
        assert said in done.out + done.err, verb
    assert not (tmp_path / "runs").exists() and not (tmp_path / "run").exists()


@pytest.mark.full
def test_of_several_processes_one_tells(tmp_path):
    words = ["--tasks", "mme", "--model", "dummy", "--sample", "--limit", "20", "--keys", "default,qwen_vl"]
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc_per_node", "2", "-m", "mm_eval"]
    done = subprocess.run(
        [*launcher, "prompts", *words, "--output_path", str(tmp_path / "trial")],
        env={**os.environ, "ACCELERATE_USE_CPU": "true", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=HANGS,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("page with the flips") == 1 and (tmp_path / "trial/prompts.html").exists()
    assert len(list((tmp_path / "trial/dummy/qwen_vl/journal").iterdir())) == 2
