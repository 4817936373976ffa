"""Numbers of two judges: compare refuses them, the release table sets them apart, both unless the user asks for them together."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from mm_eval.results.judged import RecordedJudge, judge_of, judges_differ, lines, name_numbers
from mm_eval.results.recorded import RecordedRun
from mm_eval.scoring.run_results import Results
from mm_eval.scoring.task_scores import Scores
from mm_eval.values.errors import ConfigError
from mm_eval.values.types import MetricKey, Number
from mm_eval.verbs.exports.hub import model_index
from mm_eval.verbs.report.release.numbers import read_reference, release_table
from mm_eval.verbs.report.release.ranking import set_apart_by_judge
from mm_eval.verbs.report.release.text import as_csv, as_latex, as_markdown
from mm_eval.verbs.study.compare import compare
from tests.folders import edited
from tests.results.judged import OFFICIAL, judge, judged_run
from tests.sets import each_of


def passes(share):
    return lambda place, row: float(row["doc_id"] % 10 < 10 * share)


@pytest.fixture
def folders(perfect, tmp_path):
    """Three runs: two by gpt-4o, one by another judge that is more generous."""
    return {
        "a": judged_run(perfect, tmp_path / "a", [judge()], passes(0.5)),
        "b": judged_run(perfect, tmp_path / "b", [judge()], passes(0.6)),
        "kind": judged_run(perfect, tmp_path / "kind", [judge("llama")], passes(0.9)),
    }


def runs(folders, *names):
    return [RecordedRun.read(folders[name], name) for name in names]


@each_of(
    ("changed", "said"),
    [
        ({}, ""),
        ({"repeats": 3, "preflight": "skipped", "models": {"gpt-4o": 7}}, ""),
        ({"name": "gpt-4-turbo", "model": "gpt-4-turbo"}, "gpt-4o and gpt-4-turbo"),
        ({"model": "/b/gpt-4o"}, "gpt-4o (gpt-4o) and gpt-4o (/b/gpt-4o)"),
        ({"adapter": "replay"}, "gpt-4o through openai and gpt-4o through replay"),
        ({"models": {"gpt-4o-2024-11-20": 420}}, "gpt-4o and gpt-4o (gpt-4o-2024-11-20)"),
        ({"prompt_digest": "ffff"}, "gpt-4o with different prompts or functions"),
        ({"options": {"temperature": 1}}, "gpt-4o with different options"),
    ],
)
def test_what_makes_another_judge(changed, said):
    assert RecordedJudge.read(judge()).difference(RecordedJudge.read(judge(**changed))) == said


def test_a_run_judged_by_two_versions_is_by_one_judge_with_no_other_run():
    mixed = RecordedJudge.read(judge(models={"gpt-4o-2024-08-06": 20, "gpt-4o-2024-11-20": 400}))
    assert "gpt-4o-2024-08-06: 20, gpt-4o-2024-11-20: 400" in mixed.difference(mixed)
    assert judges_differ({"t": mixed}, {}) == f"{mixed.described()} and no judge"


def test_only_the_metrics_of_the_judge_are_judged():
    results = Results(
        judges={"t": [judge(), judge("llama")]},
        configs={"t": {"judge": [{}, {"metric_list": [{"metric": "judge_score"}]}]}},
    )
    acc = MetricKey("acc", "none")
    keys = (MetricKey("judge_score", "none"), MetricKey("judge_score@llama", "none"), acc)
    named = {key: judge_of(results, "t", key.metric) for key in keys}
    assert [found and found.name for found in named.values()] == ["gpt-4o", "llama", None]
    results.configs["t"]["judge"] = {"extracts": True}
    assert judge_of(results, "t", "acc").name == "gpt-4o"
    assert judge_of(Results(judges={"t": []}), "t", "acc") is None and judge_of(Results(), "t", "acc") is None


@pytest.mark.full
def test_compare_pairs_numbers_of_one_judge_only(folders):
    [comparison] = compare(runs(folders, "a", "b"))
    assert [str(change.key) for change in comparison.changes] == ["judge_score,none"] and not comparison.differs
    [refused] = compare(runs(folders, "a", "kind"))
    assert refused.changes == [] and list(refused.two_judges) == [("mme", MetricKey("judge_score", "none"))]
    assert "mme: two judges gave judge_score: gpt-4o and llama; not compared" in refused.differs
    [mixed] = compare(runs(folders, "a", "kind"), mix_judges=True)
    assert [str(change.key) for change in mixed.changes] == ["judge_score,none"] and mixed.two_judges == {}
    assert "mme: two judges gave judge_score: gpt-4o and llama; compared all the same (--mix_judges)" in mixed.differs


def test_compare_on_the_command_line_says_why_and_how_to_go_on(cli, folders):
    refused = cli("compare", folders["a"], folders["kind"])
    assert refused.code == 2 and "gpt-4o and llama" in refused.err
    assert "--mix_judges" in refused.err and "score RUN --judge" in refused.err
    mixed = cli("compare", folders["a"], folders["kind"], "--mix_judges")
    assert mixed.code == 0 and "(--mix_judges)" in mixed.out and "B against A: better on mme" in mixed.out
    assert cli("compare", folders["a"], folders["b"]).code == 0


def test_numbers_of_one_benchmark_by_one_judge_are_one_line(folders):
    table = release_table(runs(folders, "a", "b"))
    row = table.rows["mme", "judge_score"]
    table.rows["mme", "second"] = dict(row)
    assert set_apart_by_judge(table, False) == [
        f"mme: judged by gpt-4o, official {OFFICIAL}: not comparable with published scores."
    ]
    table.rows["mme", "third"] = {name: replace(found, judge="", judges={}) for name, found in row.items()}
    [said] = set_apart_by_judge(table, False)
    assert said.startswith("mme (judge_score), mme (second): judged by gpt-4o")


def test_the_release_table_ranks_the_numbers_of_one_judge_only(folders):
    table = release_table(runs(folders, "a", "b", "kind"))
    row = table.rows["mme", "judge_score"]
    assert {model: (found.best, found.set_apart) for model, found in row.items()} == {
        "a": (False, False),
        "b": (False, False),  # ahead of a, but a better number stands beside it
        "kind": (False, True),
    }
    assert {model: found.rank for model, found in row.items()} == {"a": 2, "b": 1, "kind": None}
    text = as_markdown(table)
    assert "| mme | 50.0 | 60.0 | 90.0 ‡ |" in text and "‡ measured differently from the rest of its row" in text
    assert f"mme: judged by gpt-4o, official {OFFICIAL}: not comparable with published scores." in text
    assert "kind, mme: judged by llama: not ranked with the others." in text
    assert "‡" in as_latex(table)
    lines = as_csv(table).splitlines()
    assert lines[0].endswith(",judge,ranked") and lines[3].endswith(",llama,0") and lines[1].endswith(",gpt-4o,1")


def test_judges_are_mixed_where_asked_and_the_notes_say_so(cli, folders):
    table = release_table(runs(folders, "a", "kind"), mix_judges=True)
    assert table.rows["mme", "judge_score"]["kind"].best
    mixed = cli("report", folders["a"], folders["kind"], "--format", "md", "--mix_judges").out
    assert "**90.0**" in mixed and "judged by llama: ranked together all the same (--mix_judges)" in mixed
    assert "**" not in cli("report", folders["a"], folders["kind"], "--format", "md").out.split("\n")[2]


def test_a_blind_run_stays_apart_where_judges_are_mixed(folders):
    seeing, blind = runs(folders, "a", "kind")
    blind.spec["blind"] = "without"
    row = release_table([seeing, blind], mix_judges=True).rows["mme", "judge_score"]
    assert {found.run.name: found.set_apart for found in row.values()} == {"a": False, "kind": True}


@pytest.mark.parametrize(
    ("stated", "apart"),
    [("", True), ("judge: gpt-4o-2024-05-13", True), ("judge: gpt-4o", False)],
)
def test_a_reported_number_is_by_the_official_judge_unless_it_says_otherwise(folders, tmp_path, stated, apart):
    entry = f"task: mme, value: 0.7, source: x{', ' + stated if stated else ''}"
    (tmp_path / "r.yaml").write_text(f"reported: [{{model: other, {entry}}}, {{model: a, {entry}}}]")
    table = release_table(runs(folders, "a"), read_reference(str(tmp_path / "r.yaml")))
    row = table.rows["mme", "judge_score"]
    assert row["other"].set_apart == apart and row["other"].best != apart
    assert bool(row["a"].verdict) != apart, "a number of another judge neither matches nor is off"
    notes = " ".join(table.notes)
    assert ("not compared with ours" in notes) == apart


@pytest.mark.full
def test_a_number_that_needs_no_judge_is_not_compared_with_a_judged_one(perfect, worse, tmp_path):
    """The same metric by rules in one run and by a judge in the other."""
    judged = judged_run(perfect, tmp_path / "judged", [judge()], passes(0.5))
    ruled = judged_run(worse, tmp_path / "ruled", [judge()], passes(0.5))
    with edited(ruled / "results.json") as results:
        del results["judges"]
    both = [RecordedRun.read(judged, "judged"), RecordedRun.read(ruled, "ruled")]
    [comparison] = compare(both)
    assert not comparison.changes and "gpt-4o and no judge" in comparison.differs[-1]
    assert release_table(both).rows["mme", "judge_score"]["ruled"].set_apart


def test_docs_without_a_verdict_are_a_flaw_and_a_hub_card_names_the_judge(perfect, tmp_path):
    folder = judged_run(
        perfect, tmp_path / "some", [judge()], lambda place, row: None if row["doc_id"] < 5 else 1.0, failed=5
    )
    run = RecordedRun.read(folder, "m")
    assert "m, mme: 5 of 420 documents have no verdict." in release_table([run]).notes
    assert model_index([run])[0]["results"][0]["metrics"][0]["name"] == "judge_score (judged by gpt-4o)"


def test_a_group_with_a_task_of_two_judges_has_no_difference(folders):
    pair = runs(folders, "a", "kind")
    for run in pair:
        run.results.rows["both"] = Scores("both", numbers=[Number(MetricKey("judge_score", "none"), 0.5)])
        run.results.members["both"] = ["mme"]
    assert compare(pair)[0].changes == []


def test_a_wrong_judge_of_a_reference_is_an_error(tmp_path):
    (tmp_path / "r.yaml").write_text("reported: [{model: a, task: mme, value: 1, source: x, judge: [1]}]")
    with pytest.raises(ConfigError, match="`judge` is"):
        read_reference(str(tmp_path / "r.yaml"))


def test_another_address_or_fingerprint_is_no_other_judge():
    here = {"models": {"gpt-4o (fp_1)": 3, "gpt-4o (fp_2)": 4}, "options": {"args": {"base_url": "a", "timeout": 3}}}
    there = {"models": {"gpt-4o (fp_9)": 7}, "options": {"args": {"base_url": "b"}}}
    assert RecordedJudge.read(judge(**here)).difference(RecordedJudge.read(judge(**there))) == ""
    warm = {**there, "options": {"args": {"extra_body": {"top_p": 0.5}}}}
    assert "options" in RecordedJudge.read(judge(**here)).difference(RecordedJudge.read(judge(**warm)))


def test_a_further_judges_number_is_a_row_of_its_own_however_many_docs_it_could_not_judge(perfect, tmp_path):
    def some(place, row):
        return 1.0 if place == 0 or row["doc_id"] > 9 else None

    run = RecordedRun.read(judged_run(perfect, tmp_path / "two", [judge(), judge("llama")], some), "m")
    assert set(release_table([run]).rows) == {("mme", "judge_score"), ("mme", "judge_score@llama")}


def test_a_dash_in_the_table_says_that_nobody_judged_or_nothing_could_be_read(perfect, tmp_path):
    blind = judged_run(perfect, tmp_path / "blind", [judge()], lambda place, row: None, failed=420)
    unjudged = judged_run(perfect, tmp_path / "unjudged", [judge()], lambda place, row: None)
    with edited(unjudged / "results.json") as results:
        results["judges"]["mme"] = []
    notes = release_table([RecordedRun.read(blind, "blind"), RecordedRun.read(unjudged, "unjudged")]).notes
    assert (
        "blind, mme: no document has a verdict that could be read." in notes and "unjudged, mme: not judged." in notes
    )


def test_a_number_says_which_judge_gave_it():
    names = ("judge_score", "judge_score@llama", "acc")
    rows = {each: Scores(each, each, [Number(MetricKey(name, "none"), 0.5) for name in names]) for each in ("t", "G")}
    results = Results(
        rows,
        {"G": ["t"]},
        judges={"t": [judge(), judge("llama")]},
        configs={"t": {"judge": {"metric_list": [{"metric": "judge_score"}]}}},
    )
    name_numbers(results)
    assert [number.judge for name in ("t", "G") for number in rows[name].numbers] == ["gpt-4o", "llama", ""] * 2


def test_the_judge_of_a_number_is_there_again_when_the_folder_is_read(folders):
    [run] = runs(folders, "kind")
    assert {number.judge for row in run.results.rows.values() for number in row.numbers} == {"llama"}


@pytest.mark.parametrize(
    ("models", "name", "is_official"),
    [
        ({f"{OFFICIAL} (fp_1)": 2, f"{OFFICIAL} (fp_2)": 1}, "gpt-4o", True),
        ({OFFICIAL: 2, "gpt-4o-2024-08-06": 1}, OFFICIAL, False),
        ({}, OFFICIAL, True),
        ({}, "mine", False),
    ],
)
def test_the_footer_and_the_page_say_alike_whether_the_official_judge_answered(models, name, is_official) -> None:
    entry = {"name": name, "model": OFFICIAL, "models": models, "official": OFFICIAL}
    judge = RecordedJudge.read(entry)
    assert judge.is_official is is_official and ("the official judge" in judge.sentence()) is is_official
    [line] = lines(SimpleNamespace(judges={"mme": [entry]}))  # type: ignore[arg-type]
    assert ("not comparable" in line) is not is_official
