"""`doubt`: golds that several unlike models contradict, with a probability that allows for mistakes which models share."""

import json
import random
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.doubt import CASES, Case, coded, drawn
from mm_eval.cli import main
from mm_eval.results.recorded import RecordedRun
from mm_eval.verbs.doubt.answers import Said, in_form_of, joined, normalised
from mm_eval.verbs.doubt.dawid_skene import MISSING, fit, independent
from mm_eval.verbs.doubt.doubt import doubt
from tests.recorded import in_page, ran
from tests.sets import each_of

WRONG = (5, 50, 100, 150, 200)
MODELS = {"alpha-7b": 0.9, "beta-7b": 0.85, "gamma-7b": 0.8, "delta-2b": 0.75}


@pytest.fixture(scope="module")
def runs(base, dummy_run):
    """Four models on SEED-Bench's sample, who believe another option of five documents."""
    rows = [json.loads(line) for line in (dummy_run / "samples" / "seedbench.jsonl").read_text().splitlines()]
    folders = []
    for seed, (name, ability) in enumerate(MODELS.items()):
        chance, path = random.Random(seed), base / f"{name}.jsonl"
        with path.open("w") as file:
            for row in rows:
                others = [letter for letter in "ABCD" if letter != row["target"]]
                truth = others[row["doc_id"] % 3] if row["doc_id"] in WRONG else row["target"]
                said = truth if chance.random() < ability else chance.choice([o for o in "ABCD" if o != truth])
                file.write(json.dumps({"task": "seedbench", "doc_id": row["doc_id"], "resps": [said]}) + "\n")
        words = ["--tasks", "seedbench", "--model", "replay", "--model_args", f"path={path}", "--name", name]
        folders.append(ran(base / "doubt" / name, *words))
    return folders


def test_golds_that_unlike_models_contradict_are_first(runs):
    found = doubt([RecordedRun.read(folder) for folder in runs])
    assert {each.doc_id for each in found.documents[:5]} == set(WRONG)
    first = found.documents[0]
    assert first.probability > 0.9 and first.target == first.instead and first.target != first.gold
    assert len(set(found.families)) == 4 and 3 < found.expected < 9
    abilities = found.fitted["seedbench"].abilities
    assert abilities == pytest.approx(list(MODELS.values()), abs=0.08)


def test_models_that_repeat_each_other_are_one_voice():
    """Six models of one family that mostly say what one of them says, taken for six voices, would put more golds in doubt."""
    answers, is_wrong, families = drawn(Case("", (6, 1, 1), copying=(0.8, 0.9)), np.random.default_rng(0))
    options = np.full(len(answers), 4)
    known, apart = fit(answers, options, families, 0.03), fit(answers, options, range(8), 0.03)
    assert known.copying >= 0.6 and apart.copying == 0
    assert apart.probabilities.sum() > 1.2 * known.probabilities.sum()
    assert known.probabilities.sum() == pytest.approx(is_wrong.sum(), rel=0.35)


def test_families_are_known_by_name_by_the_user_and_by_mistakes_that_agree(runs):
    read = [RecordedRun.read(folder) for folder in runs]
    assert doubt(read, together=[[0, 2]]).why_family == {0: "--family"}
    named = doubt(
        [
            replace(run, request={**run.request, "name": f"alpha {place}", "model_args": {}})
            for place, run in enumerate(read)
        ]
    )
    assert set(named.families) == {0} and named.why_family == {0: "names"}
    assert any("of one family" in note or "1 family" in note for note in named.notes)
    folders = [runs[0], runs[1], runs[2], runs[3]]
    twins = doubt(
        [*read, *(replace(RecordedRun.read(folder), name=f"other{place}") for place, folder in enumerate(folders[3:]))]
    )
    assert twins.families[3] == twins.families[4]


def test_text_json_and_page_say_the_same(cli, runs, tmp_path):
    page = tmp_path / "golds.html"
    words = ["doubt", *map(str, runs), "--most", "3", "--html", str(page)]
    out = cli(*words).out
    assert "seedbench" in out and "not listed:" in out and max(map(len, out.split("\n\n")[1].splitlines())) <= 80
    found = json.loads(cli(*words, "--format", "json").out)
    documents = in_page(page, "data")["documents"]
    assert [each["line"]["doc_id"] for each in documents] == [each["doc_id"] for each in found["documents"]]
    assert documents[0]["line"] == {key: found["documents"][0][key] for key in ("task", "doc_id", "gold", "data")}
    assert set(in_page(page, "media")) == {digest for each in documents for digest in each["images"]}


@each_of(
    ("words", "said"),
    [
        ([0], "at least two runs are needed"),
        ([0, 0], "is named twice"),
        ([0, 1, "--tasks", "mmee"], "no run has a task 'mmee'"),
        ([0, 1, "--family", "alpha-7b,nobody"], "'nobody' is none of the runs"),
        ([0, 1, "--prior", "0.7"], "--prior is '0.7'"),
        ([0, 1, "--at_least", "2"], "--at_least is '2'"),
        ([0, 1, "--most", "0"], "--most is '0'"),
    ],
)
def test_wrong_commands_are_one_sentence(runs, capsys, words, said):
    assert main(["doubt", *(str(runs[word]) if isinstance(word, int) else word for word in words)]) == 2
    assert said in capsys.readouterr().err


def test_runs_of_other_tasks_share_nothing(cli, runs, perfect_mme):
    found = cli("doubt", runs[0], perfect_mme)
    assert found.code == 2 and not found.out and "share no document" in found.err


@pytest.fixture(scope="module")
def perfect_mme(base):
    return ran(base / "mme alone", "--tasks", "mme", "--model", "dummy", "--limit", "2")


@each_of(
    ("gold", "said", "choices", "form"),
    [
        ("Yes", Said("no", "no", False), None, "No"),
        ("(B)", Said("c", "c", False), None, "(C)"),
        (2, Said("0", "a cat", False), ["a cat", "b", "c"], 0),
        ([1, 2], Said("0", "a cat", False), ["a cat", "b", "c"], [0]),
        (12, Said("14", "14", False), None, 14),
        (12, Said("many", "many", False), None, None),
        (["red", "crimson"], Said("dark blue", "dark blue", False), None, ["dark blue"]),
    ],
)
def test_another_answer_is_given_in_the_form_of_the_gold(gold, said, choices, form):
    assert in_form_of(gold, said, choices) == form


@each_of(("text", "plain"), [(" The  Cat. ", "the cat"), ("(B)", "b"), ("３", "3"), ("?", "?"), ("", "")])
def test_texts_are_compared_without_case_space_and_punctuation(text, plain):
    assert normalised(text) == plain


def test_sets_that_overlap_are_one_family():
    assert joined([{0, 2}, {2, 3}, {1}], 5) == [0, 1, 0, 0, 2]


def stated_and_true(case: Case, repetitions: int, way):
    pairs = []
    for seed in range(repetitions):
        answers, is_wrong, families = drawn(case, np.random.default_rng(seed))
        pairs.append((way(answers, np.full(case.docs, case.options), families), is_wrong))
    return (np.concatenate([pair[place] for pair in pairs]) for place in (0, 1))


@pytest.mark.full
def test_probabilities_hold_for_models_that_make_mistakes_together():
    """Of golds that are called wrong most are; by a model of independent mistakes far fewer are than it says."""
    case = replace(CASES[1], docs=400)
    stated, wrong = stated_and_true(case, 2, lambda *given: fit(*given, case.stated).probabilities)
    sure = stated > 0.5
    assert wrong[sure].mean() > stated[sure].mean() - 0.2
    alone, _ = stated_and_true(case, 2, lambda answers, options, families: independent(answers, options, case.stated))
    assert wrong[alone > 0.5].mean() < alone[alone > 0.5].mean() - 0.4


def test_answers_that_lack_change_nothing_and_a_silent_model_says_nothing():
    answers, _, families = drawn(Case("", (1,) * 4, docs=200), np.random.default_rng(1))
    options = np.full(200, 4)
    silent = np.column_stack([answers, np.full(200, MISSING)])
    before, after = (fit(each, options, range(each.shape[1]), 0.03).probabilities for each in (answers, silent))
    assert before == pytest.approx(after, abs=1e-9)
    assert fit(np.zeros((3, 2), dtype=np.int64), np.full(3, 4), [0, 1], 0.03).probabilities.max() < 0.03


def test_codes_are_in_the_order_of_votes():
    assert coded(np.array([[2, 2, 1, 0]]), np.array([0])).tolist() == [[1, 1, 2, 0]]
