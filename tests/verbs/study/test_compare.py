"""`compare`: paired by doc, clustered by picture, and what was asked differently is said before any number."""

import json

import pytest

from mm_eval.results.number_text import rounded
from mm_eval.results.recorded import RecordedRun, headline_keys
from mm_eval.scoring.metrics.stderr import mean_stderr
from mm_eval.values.distributions import holm
from mm_eval.verbs.report.release.numbers import release_table
from mm_eval.verbs.study import compare_text
from mm_eval.verbs.study.compare import compare, count_kinds, verdict
from tests.recorded import answers_with, in_page, ran


def test_flips_and_differences_are_those_that_were_made(perfect, worse):
    [comparison] = compare([RecordedRun.read(perfect), RecordedRun.read(worse)])
    changes = {str(change.key): change for change in comparison.changes}
    total = changes["mme_perception_score,none"]
    assert total.flips.gained == tuple(range(10)) and total.flips.lost == tuple(range(20, 150))
    results = [json.loads((folder / "results.json").read_text())["results"]["mme"] for folder in (perfect, worse)]
    for key, change in changes.items():
        assert change.first.value == pytest.approx(results[0][key]) and change.second.value == pytest.approx(
            results[1][key]
        )
        assert change.difference.value == pytest.approx(results[1][key] - results[0][key])
        assert change.first.stderr == pytest.approx(results[0][key.replace(",", "_stderr,")])
    assert total.told_apart and total.difference.interval[1] < 0 and total.difference.clusters == 150
    assert "worse" in verdict(total, "B", "A")
    assert changes["mme_cognition_score,none"].difference.p_value == 1
    assert "score the same" in verdict(changes["mme_cognition_score,none"], "B", "A")
    assert comparison.differs == [] and comparison.answers == {"mme": (140, 420)}


@pytest.mark.full
def test_the_difference_of_means_is_clustered_by_the_recorded_picture(dummy_run, base):
    other = ran(base / "dummy-seed", "--tasks", "seedbench", "--model", "dummy", "--seed", "1")
    [comparison] = compare([RecordedRun.read(dummy_run), RecordedRun.read(other)])
    [change] = [change for change in comparison.changes if str(change.key) == "seed_all,none"]
    rows = [
        [json.loads(line) for line in (f / "samples/seedbench.jsonl").read_text().splitlines()]
        for f in (dummy_run, other)
    ]
    changed = [b["scores"]["seed_all,none"] - a["scores"]["seed_all,none"] for a, b in zip(*rows, strict=True)]
    clusters = [json.dumps(row["cluster"]) for row in rows[0]]
    assert len(set(clusters)) < len(clusters)
    assert change.difference.stderr == pytest.approx(mean_stderr(changed, clusters))
    assert [said for said in comparison.differs if "seed differs" in said]
    assert any("in one of the runs only: mme" in said for said in comparison.differs)


def test_what_was_asked_differently_stands_above_the_numbers(cli, dummy_run, base):
    other = ran(
        base / "dummy-qwen", "--tasks", "mme,seedbench", "--model", "dummy", "--prompt_key", "qwen_vl", "--limit", "100"
    )
    done = cli("compare", dummy_run, other)
    assert done.code == 0
    said, table = done.out.index("the prompt differs"), done.out.index("95% interval")
    assert said < table and done.out.index("different documents were asked") < table
    assert "152 documents are not the same in both runs, or in one only" in done.out  # of SEED-Bench's 252
    assert "Documents needed to show a difference as large as seen: " in done.out and " now)" in done.out
    assert "show no significant difference on" not in done.out, "the first line says it, and no sentence again"


def test_docs_that_are_not_the_same_are_not_paired(perfect, worse, base):
    """A doc id names a doc only within its data: row 3 of other data is another question."""
    import shutil

    changed = base / "changed"
    shutil.copytree(worse, changed)
    lines = (changed / "samples/mme.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines]
    rows[30]["doc"]["question"] = "Another question?"
    (changed / "samples/mme.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    [comparison] = compare([RecordedRun.read(perfect), RecordedRun.read(changed)])
    total = comparison.changes[0]
    assert 30 not in total.flips.lost and len(total.flips.lost) == 129
    assert any("1 document is not the same" in said for said in comparison.differs)


def test_runs_that_were_scored_by_other_rules_say_so(perfect):
    """A changed function of the task gave equal answers another number, and nothing said why."""
    first, other = (RecordedRun.read(perfect) for _ in range(2))
    assert compare([first, other])[0].differs == []
    other.results.run.facts["scored_by"] = {"mme": "another"}
    other.results.run.facts["mm_eval"] = "0.0.1"
    versions, rules = compare([first, other])[0].differs
    assert versions.startswith("they were scored by two versions of mm-eval") and "0.0.1" in versions
    assert rules.startswith("the rules of scoring differ on mme") and "mm-eval score" in rules
    stated = other.spec["tasks"]["mme"]["config"]
    other.spec["tasks"]["mme"]["config"] = {**stated, "stated": {**stated["stated"], "repeats": 2}}
    assert "the task's config differs on mme: repeats" in compare([first, other])[0].differs


def test_other_marks_around_the_reasoning_are_named(cli, base):
    """They alone may make all answers of a run right or wrong, and nothing said so."""
    answers = base / "muse.jsonl"
    rows = [
        {"task": "mme", "doc_id": n, "resps": [f"<muse>No. Or yes?</muse>{'Yes' if n % 2 else 'No'}"]} for n in range(4)
    ]
    answers.write_text("\n".join(map(json.dumps, rows)))
    words = ["--tasks", "mme", "--sample", "--model", "replay", "--model_args", f"path={answers}", "--limit", "4"]
    cut, whole = ran(base / "muse-cut", *words, "--reasoning_tags", "<muse>,</muse>"), ran(base / "muse-whole", *words)
    said = "the marks around the reasoning differ: <muse> </muse> and those of known models"
    assert compare([RecordedRun.read(cut), RecordedRun.read(whole)])[0].differs == [said]
    assert cli("score", whole, "--reasoning_tags", '[["<muse>", "</muse>"]]').code == 0
    assert compare([RecordedRun.read(cut), RecordedRun.read(whole)])[0].differs == []


def test_the_verdict_comes_first_with_names_and_the_table_fits_80_columns(cli, perfect, worse, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    first, *rest = cli("compare", perfect, worse).out.splitlines()
    assert first.startswith("worse.jsonl against perfect.jsonl: worse on mme (-800.00 ± 86.29, p <0.001)")
    assert [line for line in rest if len(line) > 80 and "/" not in line] == [], "only a path may be longer"
    [head] = [line for line in rest if line.startswith("task ")]
    assert head.split()[:4] == ["task", "perfect.jsonl", "worse.jsonl", "difference"]
    same = cli("compare", perfect, perfect).out.splitlines()[0]
    assert same == "B against A: no significant difference on mme.", "two runs of one name have letters"


def test_docs_that_failed_in_either_run_are_counted(perfect, base):
    import shutil

    folders = [base / "failed-a", base / "failed-b"]
    for folder, failed in zip(folders, ((3, 4), (4, 5, 6)), strict=True):
        shutil.copytree(perfect, folder)
        rows = [json.loads(line) for line in (perfect / "samples/mme.jsonl").read_text().splitlines()]
        for doc_id in failed:
            rows[doc_id]["status"] = "failed"
        (folder / "samples/mme.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    [comparison] = compare([RecordedRun.read(folder) for folder in folders])
    assert any(said == "mme: 3 documents failed in one of the runs: left out of both" for said in comparison.differs)


def test_docs_without_an_answer_yet_are_neither_failed_nor_answered_otherwise(perfect, base):
    """Of a run that was interrupted, 228 documents "failed", and all without an answer were "answered in other words"."""
    import shutil

    folder = base / "interrupted"
    shutil.copytree(perfect, folder)
    rows = [json.loads(line) for line in (folder / "samples/mme.jsonl").read_text().splitlines()]
    for row in rows[3:10]:
        row.update(status="not requested", resps=[], scores={}, error={"owner": "run", "what": "not requested"})
    (folder / "samples/mme.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    [comparison] = compare([RecordedRun.read(perfect), RecordedRun.read(folder)])
    assert any("mme: 7 documents have no answer yet in one of the runs" in said for said in comparison.differs)
    assert not any("failed" in said for said in comparison.differs)
    assert comparison.answers["mme"] == (0, len(rows) - 7)


def test_other_pictures_in_other_data_are_named(perfect, base):
    import shutil

    changed = base / "repainted"
    shutil.copytree(perfect, changed)
    rows = [json.loads(line) for line in (changed / "samples/mme.jsonl").read_text().splitlines()]
    rows[7]["images"] = ["0" * 64]
    (changed / "samples/mme.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    first, other = RecordedRun.read(perfect), RecordedRun.read(changed)
    other.spec["tasks"]["mme"]["data"] = "another revision"
    differs = compare([first, other])[0].differs
    assert "mme: 1 document of 420 showed other pictures" in differs


def test_white_space_around_an_answer_is_no_other_word(perfect, base):
    import shutil

    changed = base / "spaced"
    shutil.copytree(perfect, changed)
    rows = [json.loads(line) for line in (changed / "samples/mme.jsonl").read_text().splitlines()]
    for row in rows[:20]:
        row["resps"] = [f" {said}\n" for said in row["resps"]]
    rows[0]["resps"] = ["something else"]
    (changed / "samples/mme.jsonl").write_text("\n".join(json.dumps(row) for row in rows))
    [comparison] = compare([RecordedRun.read(perfect), RecordedRun.read(changed)])
    assert comparison.answers == {"mme": (1, 420)}


@pytest.mark.full
def test_several_runs_are_corrected_for_their_number(perfect, worse, mme_rows, base):
    path = answers_with(base / "third.jsonl", mme_rows, set(range(22)))
    third = ran(base / "third", "--tasks", "mme", "--model", "replay", "--model_args", f"path={path}")
    compared = compare([RecordedRun.read(folder) for folder in (perfect, worse, third)])
    main = [comparison.changes[0] for comparison in compared]
    others = [change for comparison in compared for change in comparison.changes[1:]]
    assert [c.main for c in main] == [True] * 2 and len(others) == 30 and not any(c.main for c in others)
    for family in (main, others):
        assert [c.corrected for c in family] == pytest.approx(holm([c.difference.p_value for c in family]))
    assert compared[0].changes[0].corrected == pytest.approx(2 * compared[0].changes[0].difference.p_value)


@pytest.mark.full
def test_other_forms_of_a_number_and_those_without_a_direction_are_in_no_family(base, cli):
    """OCRBench prints hits, their share and 1000 times it; POPE the share of yes."""
    folders = [
        ran(base / f"forms-{seed}", "--tasks", "ocrbench,pope", "--model", "dummy", "--seed", str(seed))
        for seed in (0, 1)
    ]
    [comparison] = compare([RecordedRun.read(folder) for folder in folders])
    changes = {change.key.metric: change for change in comparison.changes}
    assert [str(changes[name].copy_of) for name in ("hits", "ocrbench_accuracy")] == ["ocrbench_score,none"] * 2
    assert changes["hits"].corrected is None and changes["yes_rate"].corrected is None
    main = [change for change in comparison.changes if change.main]
    assert [change.key.metric for change in main] == ["ocrbench_score", "f1_mean"]
    assert [c.corrected for c in main] == pytest.approx(holm([c.difference.p_value for c in main]))
    table = release_table([RecordedRun.read(folder, name) for folder, name in zip(folders, "ab", strict=True)])
    for form in (("ocrbench", "hits"), ("ocrbench", "ocrbench_accuracy")):
        assert table.copies[form] == ("ocrbench", "ocrbench_score") and form not in table.below(
            ("ocrbench", "ocrbench_score")
        )
    short, every = cli("compare", *folders).out, cli("compare", *folders, "--categories").out
    assert "recall" not in short and "  recall" in every and "hits" not in every
    assert "more metrics. Use --categories" in short
    assert max(map(len, short.split("95% interval")[1].split("\n\n")[0].splitlines())) <= 80


def test_no_flip_in_few_docs_is_an_interval_and_not_a_point(perfect, worse, cli):
    [comparison] = compare([RecordedRun.read(perfect), RecordedRun.read(worse)])
    same = next(c for c in comparison.changes if str(c.key) == "code_reasoning,none")
    room = 200 * (1 - 0.025 ** (1 / same.difference.clusters))
    assert same.difference.interval == pytest.approx((-room, room)) and same.difference.p_value == 1.0
    out = cli("compare", perfect, worse, "--categories").out
    assert f"[-{room:.2f}, +{room:.2f}] †" in out and "[0.00, 0.00]" not in out
    assert "† exact 95% interval" in out


def test_headlines_are_the_numbers_that_are_no_part_of_another(perfect, dummy_run):
    assert [*map(str, headline_keys(RecordedRun.read(perfect).tasks["mme"]))] == [
        "mme_perception_score,none",
        "mme_cognition_score,none",
    ]
    seed = headline_keys(RecordedRun.read(dummy_run).tasks["seedbench"])
    assert [*map(str, seed)] == ["seed_image,none", "seed_video,none", "seed_all,none"]
    assert [rounded(n) for n in (7, 93, 917, 1001)] == [7, 93, 920, 1100]


def test_the_page_names_the_runs_whose_answers_are_to_be_looked_at(cli, perfect, dummy_run, tmp_path):
    """No letters, where the runs have different names."""
    assert cli("compare", perfect, dummy_run, "--tasks", "mme", "--html", tmp_path / "page.html").code == 0
    titles = [each["title"] for each in in_page(tmp_path / "page.html", "data")["differs"]]
    assert titles[0] == "dummy: look at the answers first"


def test_json_is_for_programs_and_text_links_into_the_report(cli, perfect, worse):
    found = json.loads(cli("compare", perfect, worse, "--format", "json").out)
    change = found["compared"][0]["changes"][0]
    assert change["mcnemar"]["gained"] == list(range(10)) and change["difference"]["interval"][1] < 0
    text = cli("compare", perfect, worse, "--flips", "2").out
    assert "lost: 20, 21, ... (130)" in text and f"{worse}/report.html#mme/20" in text


def test_a_groups_difference_is_that_of_its_tasks_together(base):
    runs = [ran(base / f"mmlu-{seed}", "--tasks", "mmlu", "--model", "dummy", "--seed", str(seed)) for seed in (0, 1)]
    [comparison] = compare([RecordedRun.read(folder) for folder in runs])
    changes = {change.task: change for change in comparison.changes if str(change.key) == "acc,none"}
    numbers = [json.loads((folder / "results.json").read_text())["groups"]["mmlu"] for folder in runs]
    total = changes["mmlu"]
    assert total.first.value == pytest.approx(numbers[0]["acc,none"]) and total.first.stderr == pytest.approx(
        numbers[0]["acc_stderr,none"]
    )
    assert total.difference.value == pytest.approx(numbers[1]["acc,none"] - numbers[0]["acc,none"])
    tasks = [change for change in comparison.changes if change.task.startswith("mmlu_") and change.flips is not None]
    docs = sum(change.difference.n for change in tasks)
    pooled = sum((change.difference.n / docs * change.difference.stderr) ** 2 for change in tasks) ** 0.5
    assert total.difference.stderr == pytest.approx(pooled) and total.difference.n == docs
    assert [change.task for change in comparison.changes if change.headline] == ["mmlu"]


def test_the_page_holds_the_table_and_every_sample_with_both_answers(cli, perfect, worse, tmp_path):
    page = tmp_path / "new" / "compared.html"
    before = (worse / "report.html").read_bytes()
    done = cli("compare", perfect, worse, "--html", page)
    assert done.code == 0 and f"page: {page}" in done.out and f"{page}#mme/20" in done.out
    assert (worse / "report.html").read_bytes() == before, "a run's own report stays what it was"
    data, rows = in_page(page, "data"), in_page(page, "rows")
    [section] = data["sections"]
    table = section["tables"][0]
    first = dict(zip((name for name, *_ in table["head"]), table["rows"][0]["cells"], strict=True))
    assert (first["task"], first["metric"], first["documents"]) == ("mme", "mme_perception_score", "300")
    assert first["lost"]["docs"] == {"mme": list(range(20, 150))} and first["gained"]["count"] == 10
    assert first["difference"].endswith(" *") and table["rows"][0]["marked"] and first["p (Holm)"] == "<0.001"
    assert "worse.jsonl is worse than perfect.jsonl on mme" in section["said"][0]
    assert [row.get("part", False) for row in table["rows"]] == [False] * 2 + [True] * 14
    assert len(rows) == 420 and rows[20]["ok"] is True and rows[20]["w"][0]["ok"] is False
    assert rows[20]["a"] != rows[20]["w"][0]["a"] and data["beside"] == ["worse.jsonl"], "by its name"
    assert data["facts"][0]["link"].endswith("perfect/report.html")


def test_a_page_that_cannot_be_written_is_one_sentence(cli, perfect, worse, tmp_path):
    (tmp_path / "file").touch()
    done = cli("compare", perfect, worse, "--html", tmp_path / "file" / "page.html")
    assert done.code not in (0, 1) and "can't be written" in done.err and "Traceback" not in done.err


def test_mistakes_are_one_sentence(cli, perfect, dummy_run, tmp_path):
    assert cli("compare", perfect).code == 2
    missing = cli("compare", perfect, tmp_path)
    assert missing.code == 2 and "run.json" in missing.err and str(tmp_path) in missing.err
    unknown = cli("compare", perfect, dummy_run, "--tasks", "mne")
    assert unknown.code == 2 and "Did you mean 'mme'?" in unknown.err


def test_a_number_whose_function_is_gone_is_named_and_not_dropped(perfect, worse, monkeypatch):
    """MME's sums are made by the task's own function from what its docs scored, which is not a number."""
    runs = [RecordedRun.read(perfect), RecordedRun.read(worse)]
    for run in runs:
        monkeypatch.setitem(vars(run), "aggregations", {})  # as where the task files were moved away
    [comparison] = compare(runs)
    assert not [change for change in comparison.changes if change.key.metric.startswith("mme_")]
    [said] = comparison.differs
    assert said.startswith("mme: mme_perception_score, ") and "can't be compared" in said


def test_a_number_whose_function_fails_on_pairs_is_named(perfect, worse, monkeypatch):
    def fails(*args, **options):
        raise TypeError("unhashable type: 'list'")

    monkeypatch.setattr("mm_eval.results.changes.paired_difference", fails)
    runs = [RecordedRun.read(folder) for folder in (perfect, worse)]
    assert "can't be compared" in " ".join(compare(runs)[0].differs)


@pytest.mark.slow
def test_every_shipped_task_can_be_compared(cli, tmp_path):
    """The task's own functions get what they returned back from JSON, where a tuple is a list."""
    folders = [tmp_path / "0", tmp_path / "1"]
    for seed, folder in enumerate(folders):
        words = (
            "--tasks",
            "*",
            "--sample",
            "--no_report",
            "--no_judge",
            "--model",
            "dummy",
            "--model_args",
            f"seed={seed}",
        )
        assert cli(*words, "--output_path", folder).code == 0
    [comparison] = compare([RecordedRun.read(folder) for folder in folders], categories=True)
    assert len({change.task for change in comparison.changes}) > 80
    assert not [said for said in comparison.differs if "can't be compared" in said]


@pytest.mark.full
def test_filtered_refused_and_truncated_docs_are_named_with_the_flips_that_they_make(cli, perfect, mme_rows, base):
    """Counted in both runs over the docs that both have, in the terminal, in JSON and on the page."""
    path = answers_with(base / "missing.jsonl", mme_rows, set(range(20)))
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    for doc_id, ended in {0: "filtered", 30: "filtered", 31: "refused", 32: "length", 33: "length"}.items():
        rows[doc_id].update(ended=[ended], resps=["" if ended == "length" else rows[doc_id]["resps"][0]])
    rows[34]["ended"] = ["length"]  # cut, and right
    path.write_text("\n".join(map(json.dumps, rows)))
    missing = ran(base / "missing", "--tasks", "mme", "--model", "replay", "--model_args", f"path={path}")
    [comparison] = compare([RecordedRun.read(perfect), RecordedRun.read(missing)])
    assert comparison.changes[0].flips.lost == (30, 31, 32, 33)
    counts = {"filtered": 2, "refused": 1, "truncated": 3}
    assert [count_kinds(kinds) for kinds in comparison.kinds["mme"]] == [{}, counts]
    page = base / "missing.html"
    said = cli("compare", perfect, missing, "--html", page).out
    of_all = (
        "mme: of 420 documents in both, perfect.jsonl has none filtered, refused or truncated; "
        "missing.jsonl has 2 filtered, 1 refused, 3 truncated"
    )
    of_lost = "of the 4 documents lost in mme_perception_score, in missing.jsonl: 1 filtered, 1 refused, 2 truncated"
    assert of_all in said and of_lost in said
    [section] = in_page(page, "data")["sections"]
    assert of_all in section["said"] and f"  {of_lost}" in section["said"]
    [found] = json.loads(cli("compare", perfect, missing, "--format", "json").out)["compared"]
    assert found["kinds"] == {"mme": {"first": {}, "second": counts}}
    [other_way] = compare([RecordedRun.read(missing), RecordedRun.read(perfect)])
    assert [count_kinds(kinds) for kinds in other_way.kinds["mme"]] == [counts, {}]
    [same] = compare([RecordedRun.read(perfect), RecordedRun.read(perfect)])
    assert same.kinds == {}


def test_all_wrong_against_all_right_has_a_verdict(base, mme_rows):
    """0 of 20 against 20 of 20: no doc varies, and nothing is clearer."""
    folders = []
    for name, wrong in (("all", set(range(20))), ("none", set())):
        path = answers_with(base / f"edge-{name}.jsonl", mme_rows, wrong)
        words = ("--tasks", "mme", "--model", "replay", "--model_args", f"path={path}", "--limit", "20")
        folders.append(ran(base / f"edge-{name}", *words))
    [comparison] = compare([RecordedRun.read(folder) for folder in folders])
    [change] = [change for change in comparison.changes if change.main]
    found = change.difference
    clusters = found.clusters
    assert found.value == 200 and found.interval[1] == 200 and 0 < found.interval[0] < 100
    assert found.p_value == pytest.approx(2 ** (1 - clusters)) and change.told_apart
    assert verdict(change, "B", "A").startswith("B is better than A on mme (mme_perception_score) by 200.00 [")


def test_mcnemars_test_is_named_where_it_says_otherwise(base, mme_rows):
    """10 of 10 documents flipped, of 5 pictures: the paired test counts pictures, and 5 are too few; 8 of 8 of 4 likewise."""
    folders = []
    for name, wrong in (("few-all", set(range(10))), ("few-none", set())):
        path = answers_with(base / f"{name}.jsonl", mme_rows, wrong)
        words = ("--tasks", "mme", "--model", "replay", "--model_args", f"path={path}", "--limit", "10")
        folders.append(ran(base / name, *words))
    runs = [RecordedRun.read(folder) for folder in folders]
    [comparison] = compare(runs)
    [change] = [change for change in comparison.changes if change.main]
    said = "McNemar's exact test, which takes documents as independent, gives p = 0.002."
    assert not change.told_apart and verdict(change, "B", "A").endswith(said)
    assert said in compare_text.render(runs[0], [comparison])


def test_frames_of_videos_are_no_difference_where_none_was_shown(base):
    folders = [
        ran(
            base / f"rule-{n}",
            "--tasks",
            "mme,mvbench_action_sequence",
            "--model",
            "dummy",
            "--limit",
            "3",
            "--video",
            rule,
        )
        for n, rule in enumerate(("frames=2,ends", "frames=4,ends"))
    ]
    [comparison] = compare([RecordedRun.read(folder) for folder in folders])
    [said] = [said for said in comparison.differs if said.startswith("the prompt differs")]
    assert said.startswith("the prompt differs on mvbench_action_sequence: ") and "frames=4" in said
    notes = release_table([RecordedRun.read(folder, name) for folder, name in zip(folders, "ab", strict=True)]).notes
    assert (
        sum(
            note.startswith("On 1 benchmark (mvbench_action_sequence) the models differ in the prompt")
            for note in notes
        )
        == 1
    )


def test_one_run_is_compared_where_it_has_a_task_with_and_without_python(cli, tmp_path, monkeypatch):
    """The names say which belongs to which. No model calls here, so no sandbox is started."""
    from tests.sandbox.there import why_not

    if why := why_not():
        pytest.skip(why)
    monkeypatch.setattr("mm_eval.sandbox.check.refuse_if_open", lambda sandbox: None)
    ran = cli("--tasks", "mme,mme@python", "--sample", "--limit", 8, "--model", "dummy", "--no_report")
    assert ran.code == 0 and "mme@python" in ran.out
    compared = cli("compare", ran.folder)
    assert compared.code == 0 and "mme and mme@python: python gained 1 document, lost 3" in compared.out
    assert "with 0.0 calls a document, code in 0 of 8 documents" in compared.out
    assert compared.out.count("mme and mme@python: ") == 1  # the sum of MME is its one category here: no second number
    assert "sample data, mme is mme@python here)" in compared.out and "warning: B" not in compared.out
    tools = ("--tasks", "vstar_tools,vstar_tools@python", "--output_path", tmp_path / "tools")
    looks = cli(*tools, "--sample", "--limit", 2, "--model", "dummy", "--no_report")
    monkeypatch.setattr(
        "mm_eval.verbs.study.compare.said_of", lambda first, run, task, key, named: f"gains in {key.label}"
    )
    said = cli("compare", looks.folder).out
    assert "\ngains in acc\n" in said and "gains in calls" not in said, said  # a count has no better end
    plain = cli(
        "--tasks", "mme", "--sample", "--limit", 8, "--model", "dummy", "--no_report", "--output_path", tmp_path / "p"
    )
    assert cli("compare", plain.folder).code == 2
