"""The release table: models in columns, the best in bold, reported numbers beside ours, several models from one file."""

import csv
import io
import json
from dataclasses import replace

import pytest
import yaml

from mm_eval.results.recorded import RecordedRun
from mm_eval.values.safe import csv_cell
from mm_eval.verbs.exports.hub import model_index
from mm_eval.verbs.report.release.numbers import read_reference, release_table
from mm_eval.verbs.report.release.text import as_csv, as_latex, as_markdown

REFERENCE = """
reported:
  - {model: good, task: mme, metric: mme_perception_score, value: 1880, tolerance: 30, source: "arXiv:1, table 2"}
  - {model: bad, task: mme, metric: mme_perception_score, value: 1900, tolerance: 30, source: "arXiv:2"}
  - {model: Other|7B, task: mme, metric: mme_cognition_score, value: 801.5, source: "its <b>card</b>"}
"""


@pytest.fixture
def table(perfect, worse, tmp_path):
    (tmp_path / "reference.yaml").write_text(REFERENCE)
    runs = [RecordedRun.read(perfect, "good"), RecordedRun.read(worse, "bad")]
    return release_table(runs, read_reference(str(tmp_path / "reference.yaml")))


@pytest.mark.full
def test_markdown_has_the_best_in_bold_and_says_what_matches(table, perfect):
    score = json.loads((perfect / "results.json").read_text())["results"]["mme"]["mme_perception_score,none"]
    lines = as_markdown(table, intervals=True).splitlines()
    assert lines[0] == "| benchmark | good | bad | Other\\|7B | difference | p | p (Holm) |"
    assert f"**{score:.2f}** ± " in lines[2] and "(matches 1880.00)" in lines[2] and "(off by -" in lines[2]
    assert "**801.50** *" in lines[3] and "**800.00**" not in lines[3]
    notes = "\n".join(lines[4:])
    assert (
        "arXiv:1, table 2" in notes
        and "&lt;b>card" in notes
        and "Sample data" in notes
        and "not measured by us" in notes
    )
    assert "±" not in "\n".join(as_markdown(table).splitlines()[:4])


@pytest.mark.full
def test_latex_escapes_names_and_balances(table):
    text = as_latex(table, intervals=True)
    assert r"mme\_perception\_score" in text and r"\textbf{" in text and r"{\small $\pm$ " in text
    assert text.count("{") == text.count("}") and r"\begin{tabular}{lrrrrrr}" in text
    assert "\x00" not in text and "\x01" not in text


def test_csv_has_intervals_and_no_cell_is_a_formula(table):
    rows = list(csv.DictReader(io.StringIO(as_csv(table))))
    first = rows[0]
    assert float(first["low"]) < float(first["value"]) < float(first["high"]) and first["best"] == "1"
    assert {row["source"] for row in rows} == {"ours", "as reported"}
    assert [csv_cell(text) for text in ("=1+1", "@x", "-2", "+1", "mme")] == ["'=1+1", "'@x", "'-2", "'+1", "mme"]


NAME = "Ünï|cödé_模型 *100%* & $x^2~{a}\\b#1 `[x](y)` <i>\n\x1b[31m"


def test_a_strange_name_is_text_in_every_format(perfect, worse):
    table = release_table([RecordedRun.read(perfect, NAME), RecordedRun.read(worse, "=1+1")])
    head = as_markdown(table).splitlines()[0].removesuffix(" difference | p | p (Holm) |")
    assert head == r"| benchmark | Ünï\|cödé_模型 \*100%\* &amp; $x^2~{a}\\b#1 \`\[x\](y)\` &lt;i> \\x1b\[31m | =1+1 |"
    latex = as_latex(table)
    assert (
        r"Ünï\textbar{}cödé\_模型 *100\%* \& \$x\textasciicircum{}2\textasciitilde{}\{a\}\textbackslash{}b\#1" in latex
    )
    assert r"\textless{}i\textgreater{}" in latex
    assert len(list(csv.reader(io.StringIO(as_csv(table))))) == 1 + 2 * len(table.rows) and "\n'=1+1" not in as_csv(
        table
    )
    assert ",'=1+1," in as_csv(table)
    for text in (as_markdown(table), latex, as_csv(table)):
        assert "\x1b" not in text


@pytest.mark.full
def test_a_table_written_as_html_is_a_page(cli, perfect, worse, tmp_path):
    done = cli("report", perfect, worse, "--format", "html", "--output", tmp_path / "table.html")
    assert done.code == 0 and done.out.strip() == str(tmp_path / "table.html"), "the page is never printed"
    text = (tmp_path / "table.html").read_text()
    assert text.startswith("<!DOCTYPE html>") and '<meta charset="utf-8">' in text


@pytest.mark.full
def test_a_page_without_a_name_is_release_html(cli, perfect, worse, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert cli("report", perfect, worse).out.strip() == "release.html" and (tmp_path / "release.html").is_file()


def test_runs_of_one_model_are_one_column_where_they_do_not_overlap(perfect, worse):
    assert release_table([RecordedRun.read(perfect, "m"), RecordedRun.read(worse, "m")]).columns == ["m", "m (worse)"]


@pytest.mark.full
@pytest.mark.parametrize(
    ("variables", "column"),
    [
        ({"enable_thinking": False}, "tiny (no thinking)"),
        ('{"enable_thinking": true}', "tiny (thinking)"),
        ({"thinking": True}, "tiny (thinking)"),
        ({"enable_thinking": "auto"}, "tiny"),
        (None, "tiny"),
    ],
)
def test_a_model_that_thinks_has_a_column_of_its_own(perfect, variables, column):
    run = RecordedRun.read(perfect)
    args = {"pretrained": "org/tiny", "chat_template_kwargs": variables}
    thinking = replace(run, request={**run.request, "name": None, "model_args": args})
    plain = replace(run, request={**run.request, "name": "other"})
    assert release_table([thinking, plain]).columns == [column, "other"]


@pytest.mark.parametrize(
    ("entry", "said"),
    [
        ("{model: good, task: mme, value: 1, source: x}", "say which `metric`"),
        ("{model: good, task: mne, value: 1, source: x}", "Did you mean 'mme'"),
        ("{model: good, task: mme, value: 1}", "'source' is missing"),
        ("{model: good, task: mme, valeu: 1, source: x}", "Did you mean 'value'?"),
        *(
            (f"{{model: good, task: mme, value: {value}, source: x}}", "numbers")
            for value in ("high", ".inf", ".nan", "true", "[1]", "1e400", "9" * 400, "{a: 1}")
        ),
        ("{model: good, task: mme, value: 1, tolerance: .nan, source: x}", "`tolerance` is nan"),
        ("{model: [good], task: mme, value: 1, source: x}", "`model` is ['good']"),
        ("{model: good, task: mme, metric: {a: b}, value: 1, source: x}", "`metric` is"),
    ],
)
def test_a_reference_that_says_too_little_is_an_error(cli, perfect, tmp_path, entry, said):
    (tmp_path / "reference.yaml").write_text(f"reported:\n  - {entry}\n")
    done = cli("report", perfect, "--format", "md", "--reference", tmp_path / "reference.yaml")
    assert done.code == 2 and said in done.err


def test_model_index_is_the_hubs(cli, perfect, tmp_path):
    assert cli("report", perfect, "--format", "md", "--model_index", tmp_path / "card.yaml").code == 0
    [entry] = yaml.safe_load((tmp_path / "card.yaml").read_text())["model-index"]
    [result] = entry["results"]
    assert entry == model_index([RecordedRun.read(perfect)])[0]
    assert result["task"] == {"type": "image-text-to-text"} and result["dataset"]["type"] == "lmms-lab/MME"
    assert result["metrics"][0]["type"] == "mme_perception_score" and result["metrics"][0]["value"] > 1500


CONFIG = """
output_path: {out}
tasks: [mme, seedbench]
sample: true
limit: 20
models:
  - {{model: dummy, name: A, prompt_key: qwen_vl}}
  - {{model: dummy, name: B/7B, tasks: mme, seed: 1}}
"""


@pytest.mark.full
def test_several_models_from_one_file_and_again(cli, tmp_path):
    path = tmp_path / "release.yaml"
    path.write_text(CONFIG.format(out=tmp_path / "release"))
    done = cli("run", "--config", path)
    assert done.code == 0, done.err
    assert "| benchmark | A | B/7B | difference |" in done.out and "| seedbench" in done.out
    folders = {
        folder.name: json.loads((folder / "run.json").read_text()) for folder in (tmp_path / "release").glob("*/")
    }
    assert folders.keys() == {"A", "B_7B"}
    assert folders["A"]["spec"]["tasks"]["mme"]["prompt"]["key"] == "qwen_vl" and folders["A"]["spec"]["seed"] == 0
    assert list(folders["B_7B"]["spec"]["tasks"]) == ["mme"] and folders["B_7B"]["spec"]["seed"] == 1
    page = tmp_path / "release" / "release.html"
    assert f"page: {page}" in done.out and "A/report.html" in page.read_text()
    again = cli("run", "--config", path)
    assert again.out.count("\n  finished already: nothing was requested") == 2, "each model says so"
    assert again.out.replace("\n  finished already: nothing was requested", "") == done.out
    table = cli("report", *sorted((tmp_path / "release").iterdir()), "--format", "md")
    assert table.out.startswith("| benchmark | A | B/7B | difference |"), (
        "the names of the file, which the folders remember"
    )
    assert all(len(list((folder / "journal").iterdir())) == 1 for folder in (tmp_path / "release").glob("*/"))


def test_a_model_of_the_file_has_its_own_cache_and_limit_of_failures(cli, tmp_path):
    """What one model was asked is not asked again under another name; the other model's limit of failures is its own."""
    (tmp_path / "none.jsonl").write_text("")
    models = [
        {"model": "dummy", "name": "first", "use_cache": str(tmp_path / "cache")},
        {"model": "dummy", "name": "again", "use_cache": str(tmp_path / "cache")},
        {"model": "replay", "name": "empty", "model_args": {"path": str(tmp_path / "none.jsonl")}, "fail_on_error": 2},
    ]
    config = {"output_path": str(tmp_path / "out"), "tasks": ["mme"], "sample": True, "limit": 6, "models": models}
    (tmp_path / "release.yaml").write_text(yaml.safe_dump(config))
    done = cli("run", "--config", tmp_path / "release.yaml")
    assert done.code == 3 and "stopped early" in done.out
    records = {
        name: [json.loads(line) for path in (tmp_path / "out" / name / "journal").iterdir() for line in path.open()]
        for name in ("first", "again", "empty")
    }
    attempts = {name: [row["attempts"] for row in rows if row["kind"] == "answer"] for name, rows in records.items()}
    assert attempts["first"] == [1] * 6 and attempts["again"] == [0] * 6, "0: out of the cache"
    assert len([row for row in records["empty"] if row["kind"] == "error"]) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("tasks: [mme]\nmodel: [{model: dummy}]", "Did you mean 'models'"),
        ("tasks: [mme]\nmodels: [{model: dummy, promt_key: x}]", "Did you mean 'prompt_key'"),
        ("tasks: [mme]\nmodels: [{name: x}]", "model 1"),
        ("tasks: [mme]\nmodels: [{model: dummy}, {model: dummy}]", "two models are called 'dummy'"),
        ("models: [{model: dummy}]", "`tasks`"),
        ("tasks: [mme]\nmodels: []", "`models:`"),
        ("tasks: [mme]\nmodels: [{model: dummy, name: a/b}, {model: dummy, name: a b}]", "'a/b' and 'a b'"),
        ("tasks: [mme]\nlimit: ten\nmodels: [{model: dummy}]", "`limit` is 'ten'"),
        ("tasks: [mme]\nmodels: [{model: dummy, fail_on_error: -1}]", "`fail_on_error` is -1"),
        ("tasks: [mme]\nmodels: [{model: dummy, use_cache: 3}]", "`use_cache` is 3; a path is needed"),
        ("tasks: [mme]\nmodels: [{model: dummy, sample: 'no'}]", "true or false is needed"),
        ("tasks: [mme]\nmodels: [{model: dummy, batch_size: 0}]", "auto or a count from 1"),
        ("tasks: [mme]\nmodels: [{model: dummy, samples: {mme: 3}}]", "{task: [doc ids]}"),
        ("tasks: [mme]\nmodels: [{model: dummy, model_args: pretrained}]", "where name=value is needed"),
        (
            "tasks: [mme]\nmodels:\n  - dummy\n  - {model: dummy, nmae: x}",
            "release.yaml:4: model 2: unknown key 'nmae'",
        ),
        ("tasks: [mme]\nmodles: [dummy]", "release.yaml:2: unknown key 'modles'. Did you mean 'models'"),
        ("tasks: [mme]\nModels: [dummy]", "release.yaml:2: unknown key 'Models'. Did you mean 'models'"),
    ],
)
def test_a_wrong_release_file_is_told_before_anything_is_asked(cli, tmp_path, text, said):
    (tmp_path / "release.yaml").write_text(text)
    done = cli("run", "--config", tmp_path / "release.yaml", "--output_path", tmp_path / "out")
    assert done.code == 2 and said in done.err and not (tmp_path / "out").exists()


def test_a_reference_of_an_unknown_model_is_an_error(cli, perfect, tmp_path):
    entry = "{model: perfect.json, task: mme, metric: mme_perception_score, value: 1, source: x}"
    (tmp_path / "reference.yaml").write_text(f"reported:\n  - {entry}\n")
    done = cli("report", perfect, "--format", "md", "--reference", tmp_path / "reference.yaml")
    assert done.code == 2 and "no run of the table has that name. Did you mean 'perfect.jsonl'?" in done.err


def test_a_release_file_may_be_short_and_names_its_page(cli, tmp_path):
    (tmp_path / "answers.jsonl").write_text('{"task": "mme", "doc_id": 0, "resps": ["Yes"]}\n')
    models = f"- dummy\n- model: replay\n  name: B\n  model_args: path={tmp_path}/answers.jsonl\n"
    text = f"title: Our release\ntasks: [mme]\nsample: true\nlimit: 1\nmodels:\n{models}"
    (tmp_path / "release.yaml").write_text(text)
    done = cli("run", "--config", tmp_path / "release.yaml", "--output_path", tmp_path / "out")
    assert done.code == 0, done.err
    assert (tmp_path / "out/dummy/run.json").exists() and (tmp_path / "out/B/run.json").exists()
    assert "<title>Our release" in (tmp_path / "out/release.html").read_text().replace("<title>\n", "<title>")


@pytest.mark.full
def test_a_run_of_some_docs_is_told_wherever_its_numbers_are(cli, tmp_path):
    ran = cli("--tasks", "mme,seedbench", "--model", "dummy", "--sample", "--samples", '{"mme": [3, 5]}')
    assert "note: only 2 of 420 documents of mme were requested; these scores are not benchmark results" in ran.out
    assert "note: 1 of 14 categories of mme was asked; the others add nothing to its scores" in ran.out
    run = RecordedRun.read(ran.folder)
    assert "dummy: 2 of 420 documents of mme, not a benchmark result." in as_markdown(release_table([run]))
    names = [result["dataset"]["name"] for result in model_index([run])[0]["results"]]
    assert names == ["mme (sample data, 2 of 420 documents)", "seedbench (sample data)"]


def test_what_stands_after_a_number_is_said(table):
    said = "± is half of the 95% interval."
    assert said in as_markdown(table, intervals=True) and said not in as_markdown(table)
    assert "% ± is half of the 95% interval." in as_latex(table, intervals=True)


def test_a_note_names_the_column_that_it_is_about(perfect, worse):
    runs = [RecordedRun.read(folder, "one") for folder in (perfect, worse)]
    for number, run in enumerate(runs):
        run.results.rows["mme"].warnings = [f"look at {number}"]
    table = release_table(runs)
    notes = [note for note in table.notes if "look at" in note]
    assert notes == [f"{column}: mme: look at {number}" for number, column in enumerate(table.columns)]
    assert len(set(table.columns)) == 2


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--tasks", "mmstar"], "`tasks: 'mme,seedbench'`"),
        (["--limit", "5"], "`limit: 20`"),
        (["--seed", "3"], "model 2"),
    ],
)
def test_an_option_that_the_file_contradicts_is_refused(cli, tmp_path, words, said):
    path = tmp_path / "release.yaml"
    path.write_text(CONFIG.format(out=tmp_path / "out").replace("limit: 20", "limit: 20\nseed: 3"))
    done = cli("run", "--config", path, *words)
    assert done.code == 2 and words[0] in done.err and said in done.err and not (tmp_path / "out").exists()


def test_an_option_that_the_file_states_alike_or_not_at_all_holds(cli, tmp_path):
    path = tmp_path / "release.yaml"
    path.write_text(CONFIG.format(out=tmp_path / "out").replace(", tasks: mme, seed: 1", ""))
    done = cli("run", "--config", path, "--tasks", "mme,seedbench", "--limit", "20", "--seed", "2", "--only", "A")
    assert done.code == 0, done.err
    assert json.loads((tmp_path / "out" / "A" / "run.json").read_text())["spec"]["seed"] == 2
