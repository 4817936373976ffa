"""`gate`: GO, NO-GO or UNDECIDED by the bounds of each loss, never by what was measured alone."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from mm_eval.cli import main
from mm_eval.deciding.policy import GO, NO_GO, UNDECIDED, read_policy
from mm_eval.results.recorded import RecordedRun
from mm_eval.values.distributions import t_quantile
from mm_eval.verbs.gate.gate import BROKEN, HOLDS, OPEN, gate
from mm_eval.verbs.study.compare import compare
from mm_eval.verbs.study.one_sided import upper_end
from tests.recorded import ran
from tests.sets import few


@pytest.fixture
def policy(tmp_path):
    """Writes a policy, and reads it."""

    def write(text: str):
        (tmp_path / "policy.yaml").write_text(text)
        return read_policy(str(tmp_path / "policy.yaml"))

    return write


@pytest.fixture(scope="module")
def runs(perfect, worse):
    return RecordedRun.read(worse), RecordedRun.read(perfect)


@pytest.mark.parametrize(
    ("allowed", "verdict", "state"), few([(1900, GO, HOLDS), (5, NO_GO, BROKEN), (790, UNDECIDED, OPEN)], at=[0, 1])
)
def test_the_bounds_decide(policy, runs, allowed, verdict, state):
    found = gate(policy(f"mme: {{loss: {allowed}}}"), *runs)
    [checked] = found.checked
    assert (found.verdict, checked.state, found.level) == (verdict, state, 0.05)
    [comparison] = compare([runs[1], runs[0]])
    change = next(each for each in comparison.changes if each.main)
    assert checked.loss is not None and checked.loss.value == pytest.approx(-change.difference.value)
    reach = t_quantile(0.95, change.difference.freedom) * change.difference.stderr * change.difference.lacking
    assert (checked.low, checked.high) == pytest.approx((checked.loss.value - reach, checked.loss.value + reach))
    assert checked.low < 790 < checked.high


@pytest.mark.full
def test_alpha_is_shared_by_the_clauses_that_decide_and_an_advisory_one_never_does(policy, dummy_run, base):
    run = RecordedRun.read(dummy_run)
    found = gate(policy("alpha: 0.1\ndefault: {loss: 5}"), run, run)
    assert [each.name for each in found.checked] == ["mme", "seedbench"] and found.level == 0.05
    found = gate(policy("alpha: 0.1\nmme: {loss: 5, advisory: true}\nseedbench: {loss: 5}"), run, run)
    assert found.level == 0.1 and [each.name for each in found.deciding] == ["seedbench"]
    other = ran(base / "dummy with 2", "--tasks", "mme,seedbench", "--model", "dummy", "--seed", "2")
    text = "mme: {loss: 2000}\nseedbench: {loss: 0"
    by_seedbench = gate(policy(text + "}"), RecordedRun.read(other), run)
    without = gate(policy(text + ", advisory: true}"), RecordedRun.read(other), run)
    assert (by_seedbench.verdict, without.verdict) == (UNDECIDED, GO)


def test_equal_answers_to_few_documents_prove_no_small_loss(policy, dummy_run):
    """0 of 252 documents changed: the loss is below 1.2 points, which does not show that it is below .5."""
    run = RecordedRun.read(dummy_run)
    small, large = (gate(policy(f"seedbench: {{loss: {loss}}}"), run, run) for loss in (0.5, 5))
    assert (small.verdict, large.verdict) == (UNDECIDED, GO)
    [checked] = small.checked
    assert checked.loss is not None and checked.loss.value == 0 and checked.high is not None and checked.high > 0.01
    assert checked.needed_without_loss is not None and checked.needed_without_loss > 252


def test_a_loss_in_percent_is_of_the_references_number(policy, runs):
    found = gate(policy("mme: {loss: 10, unit: percent}"), *runs)
    [checked] = found.checked
    assert checked.change is not None and checked.margin == pytest.approx(checked.change.first.value / 10)


def replayed(base: Path, run: Path, task: str, without: range) -> Path:
    """A run with the recorded answers of another one, in which some documents failed."""
    folder = base / f"{task} without {len(without)}"
    if not folder.exists():
        rows = [json.loads(line) for line in (run / f"samples/{task}.jsonl").read_text().splitlines()]
        answers = base / f"{folder.name}.jsonl"
        kept = [
            {"task": task, "doc_id": row["doc_id"], "resps": row["resps"]}
            for row in rows
            if row["doc_id"] not in without
        ]
        answers.write_text("".join(json.dumps(row) + "\n" for row in kept))
        words = ["--tasks", task, "--sample", "--model", "replay", "--model_args", f"path={answers}"]
        assert main([*words, "--output_path", str(folder)]) == 3
    return folder


def test_documents_without_a_score_may_have_been_lost(policy, perfect, base):
    """40 of 420 documents failed in the run. MME's points have no known worst case, so the clause stays open."""
    folder = replayed(base, perfect, "mme", range(20, 60))
    found = gate(policy("mme: {loss: 1900}"), RecordedRun.read(folder), RecordedRun.read(perfect))
    [checked] = found.checked
    assert found.verdict == UNDECIDED and checked.missing == 40 and "40 documents have no score" in checked.why


@pytest.mark.full
def test_missing_shares_widen_the_bounds(policy, dummy_run, base):
    """Whatever the 26 documents without an answer would score, the bounds hold."""
    run, folder = RecordedRun.read(dummy_run), replayed(base, dummy_run, "seedbench", range(26))
    [whole] = gate(policy("seedbench: {loss: 5}"), run, run).checked
    [part] = gate(policy("seedbench: {loss: 5}"), RecordedRun.read(folder), run).checked
    assert whole.state == HOLDS and part.state == OPEN and part.missing == 26
    assert part.high == pytest.approx(226 / 252 * upper_end(part.loss, 0.05) + 26 / 252)


def test_documents_that_one_run_did_not_ask_may_have_been_lost(policy, dummy_run, base):
    """A run of the first 100 documents, on either side, is no GO for all 252."""
    limited = ran(base / "limited", "--tasks", "seedbench", "--model", "dummy", "--limit", "100")
    sides = RecordedRun.read(limited), RecordedRun.read(dummy_run)
    for run, reference in (sides, sides[::-1]):
        [checked] = gate(policy("seedbench: {loss: 25}"), run, reference).checked
        assert (checked.state, checked.missing) == (OPEN, 152)
        assert checked.high == pytest.approx(100 / 252 * upper_end(checked.loss, 0.05) + 152 / 252)
    [checked] = gate(policy("seedbench: {loss: 25}"), sides[0], sides[0]).checked
    assert (checked.state, checked.missing) == (HOLDS, 0)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("alpha: 2\nmme: {loss: 1}", r"policy\.yaml:1: `alpha` is 2; a number above 0"),
        ("mme: {los: 1}", r"policy\.yaml:1: unknown key 'los'.*'loss'"),
        ("mme: 3", r"policy\.yaml:1: the clause of mme is 3; a mapping is needed"),
        ("mme: {unit: points}", r"policy\.yaml:1: the clause of mme states no `loss`"),
        ("alpha: 0.1", r"states no loss of any benchmark"),
        ("mme: {loss: 1, advisory: true}", r"every clause is advisory"),
        ("undecided: no\nmme: {loss: 1}", r"policy\.yaml:1: `undecided` is False; one of go, no-go, undecided"),
        ("mmee: {loss: 1}", r"policy\.yaml:1: neither run has a benchmark 'mmee'.*'mme'"),
        ("mme: {loss: 1, metric: acc}", r"policy\.yaml:1: mme has no metric 'acc'"),
        ("mme: {loss: -1}", r"policy\.yaml:1: `loss` is -1; a number from 0"),
    ],
)
def test_a_mistake_in_a_policy_has_its_line(cli, tmp_path, perfect, text, said):
    (tmp_path / "policy.yaml").write_text(text)
    done = cli("gate", tmp_path / "policy.yaml", perfect, "--against", perfect)
    assert done.code == 2 and re.search(said, " ".join(done.err.split())), done.err
    assert ("states no loss of any" in said) == (
        "states no loss of any" in done.err
    )  # no second complaint that is untrue


@pytest.mark.parametrize(("outcome", "code"), few([("undecided", 3), ("go", 0), ("no-go", 1)], at=[0]))
def test_the_policy_says_what_undecided_means(cli, tmp_path, perfect, worse, outcome, code):
    (tmp_path / "policy.yaml").write_text(f"undecided: {outcome}\nmme: {{loss: 790}}")
    done = cli("gate", tmp_path / "policy.yaml", worse, "--against", perfect, "--format", "json")
    found = json.loads(done.out)
    assert done.code == code and (found["verdict"], found["evidence"]) == (outcome, "undecided")


def test_every_form_says_the_same(cli, tmp_path, perfect, worse):
    (tmp_path / "policy.yaml").write_text("mme: {loss: 20}")
    words = ("gate", tmp_path / "policy.yaml", worse, "--against", perfect)
    text, js, md, junit = (cli(*words, "--format", each) for each in ("text", "json", "markdown", "junit"))
    assert [each.code for each in (text, js, md, junit)] == [1] * 4
    assert text.out.startswith("NO-GO: mme loses ") and json.loads(js.out)["said"] == text.out.splitlines()[0]
    assert md.out.startswith("## NO-GO\n") and "| mme |" in md.out
    suite = ElementTree.fromstring(junit.out)
    assert suite.get("failures") == "1" and suite.find("testcase/failure").get("message").startswith("mme loses ")
    table = [line for line in text.out.splitlines() if line.startswith("mme ")]
    assert len(table) == 1 and len(table[0]) <= 80


def test_a_benchmark_that_one_run_lacks_is_undecided(cli, tmp_path, perfect, dummy_run):
    (tmp_path / "policy.yaml").write_text("mme: {loss: 2000}\nseedbench: {loss: 1}")
    done = cli("gate", tmp_path / "policy.yaml", perfect, "--against", dummy_run)
    assert done.code == 3 and "has no score for it" in " ".join(done.out.split())


def test_the_reference_is_needed(cli, tmp_path, perfect):
    (tmp_path / "policy.yaml").write_text("mme: {loss: 20}")
    done = cli("gate", tmp_path / "policy.yaml", perfect)
    assert done.code == 2 and "--against" in done.err


def test_a_plan_says_which_clauses_the_documents_can_decide(cli, tmp_path):
    (tmp_path / "policy.yaml").write_text("mmstar: {loss: 4}\nblink: {loss: 0.5}")
    done = cli("plan", "--tasks", "mmstar,blink", "--policy", tmp_path / "policy.yaml", "--format", "json")
    rows = {each["benchmark"]: each for each in json.loads(done.out)["clauses"]}
    assert done.code == 0 and rows["blink"]["enough"] == "no" and rows["mmstar"]["enough"] != "no"
    reach = 1.959964 + 0.841621  # one-sided .05 / 2, and a power of .8
    assert rows["blink"]["documents_needed"][0] == pytest.approx((reach * 38.7298 / 0.5) ** 2, abs=2)


@pytest.fixture(scope="module")
def release(tmp_path_factory) -> Path:
    """Two models under a policy that ends each comparison."""
    folder = tmp_path_factory.mktemp("release")
    (folder / "policy.yaml").write_text("default: {loss: 5}\nmme: {loss: 100}")
    (folder / "release.yaml").write_text(
        f"output_path: {folder}/out\ntasks: [mme, seedbench]\nsample: true\nstop_when: decided\n"
        f"gate: {folder}/policy.yaml\npairs: {{reference: ours}}\nmodels:\n"
        "  - {model: tiny-llava, name: ours}\n  - {model: dummy, name: guesses}\n"
    )
    assert main(["run", "--config", str(folder / "release.yaml")]) == 0
    return folder


@pytest.mark.full
def test_a_release_stops_when_the_policy_is_decided_and_the_gate_agrees(release, cli):
    out = release / "out"
    results = json.loads((out / "guesses/results.json").read_text())
    [mme, seedbench] = results["looks"]["comparisons"]
    assert mme["ended"] == seedbench["ended"] == "loses more than allowed" and mme["allowed"] == 100
    assert results["looks"]["rows"]["mme"]["share"] < 0.5
    done = cli("gate", release / "policy.yaml", out / "guesses", "--against", out / "ours", "--format", "json")
    clauses = {each["benchmark"]: each for each in json.loads(done.out)["clauses"]}
    assert done.code == 1 and clauses["mme"]["at_least"] == pytest.approx(-mme["interval"][1])
    swapped = cli("gate", release / "policy.yaml", out / "ours", "--against", out / "guesses", "--format", "json")
    assert swapped.code == 3 and all(each["state"] == "undecided" for each in json.loads(swapped.out)["clauses"])
    (release / "stricter.yaml").write_text("alpha: 0.001\ndefault: {loss: 5}")
    done = cli("gate", release / "stricter.yaml", out / "guesses", "--against", out / "ours")
    assert done.code == 3 and "stopped by a policy with a larger alpha" in " ".join(done.out.split())


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("gate: {policy}", "pairs"),
        ("gate: {policy}\npairs: {{reference: a}}\nmargin: 1", "can't be combined"),
    ],
)
def test_what_a_release_must_state_with_a_policy(cli, tmp_path, line, said):
    (tmp_path / "policy.yaml").write_text("default: {loss: 5}")
    (tmp_path / "release.yaml").write_text(
        f"output_path: {tmp_path}/out\ntasks: [mme]\nsample: true\nstop_when: decided\n"
        + line.format(policy=tmp_path / "policy.yaml")
        + "\nmodels:\n  - {model: dummy, name: a}\n  - {model: dummy, name: b}\n"
    )
    done = cli("run", "--config", tmp_path / "release.yaml")
    assert done.code == 2 and said in done.err


def test_a_policy_without_stop_when_is_refused(cli, tmp_path):
    (tmp_path / "policy.yaml").write_text("default: {loss: 5}")
    done = cli("run", "--tasks", "mme", "--sample", "--model", "dummy", "--gate", tmp_path / "policy.yaml")
    assert done.code == 2 and "--stop_when decided" in done.err
