"""Releases that stop when they are decided: the same docs in lockstep, nothing asked twice, no stopped number without a mark."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deciding import skilled
from tests.deciding.skilled import calls
from tests.folders import edited, results_of

SKILLED = Path(skilled.__file__)


def a_model(name: str, folder: Path, knows: float, **args: Any) -> dict[str, Any]:
    return {
        "model": "skilled",
        "name": name,
        "model_args": {"knows": knows, "log": str(folder / f"{name}.log"), **args},
    }


def write_release(folder: Path, models: list[dict[str, Any]], **more: Any) -> Path:
    release = {
        "output_path": str(folder / "out"),
        "tasks": ["seedbench"],
        "sample": True,
        "no_report": True,
        "stop_when": "decided",
        "parallel": 1,
        "models": models,
        **more,
    }
    (folder / "release.yaml").write_text(yaml.safe_dump(release))
    return folder / "release.yaml"


def results(folder: Path, name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "out" / name / "results.json").read_text())
    return found


def two_that_differ(folder: Path, **args: Any) -> list[dict[str, Any]]:
    return [a_model("good", folder, 0.95, **args), a_model("bad", folder, 0.4, seed=1)]


@pytest.mark.full
def test_a_release_stops_when_it_is_decided_and_says_so_everywhere(cli, tmp_path: Path) -> None:
    done = cli("run", "--config", write_release(tmp_path, two_that_differ(tmp_path), no_report=False))
    assert done.code == 0, done.err
    found = {name: results(tmp_path, name) for name in ("good", "bad")}
    rows = {name: each["results"]["seedbench"] for name, each in found.items()}
    docs = rows["good"]["n"]
    assert docs == rows["bad"]["n"] < found["good"]["n-samples"]["seedbench"]["original"]
    for name, row in rows.items():
        [warning] = [said for said in row["warnings"] if "stopped" in said]
        assert row["stopped"].startswith("stopped after ") and row["stopped"].endswith("of the documents: decided")
        assert found[name]["run"]["in_part"]["seedbench"][0] == docs
        samples = (tmp_path / "out" / name / "samples" / "seedbench.jsonl").read_text().splitlines()
        assert len(samples) == docs and "not_requested" not in row
        assert docs <= len(calls(tmp_path / f"{name}.log")) < 252, "a model is at most a quarter of the documents ahead"
        assert warning in " ".join(done.out.split()) and row["stopped"] in done.out
    key = next(key for key in rows["good"]["intervals_after_looking"])
    low, high = rows["good"]["intervals_after_looking"][key]
    stderr = rows["good"][key.replace(",", "_stderr,")]
    assert high - low > 2 * 2.2 * stderr or high == 1.0, "wider than the usual interval"
    [comparison] = found["good"]["looks"]["comparisons"]
    assert comparison["ended"] == "differs" and comparison["difference"] < 0 and comparison["spent"] < 0.05
    assert comparison["looks"][-1]["p"] <= comparison["looks"][-1]["level"]
    assert all(look["p"] > look["level"] for look in comparison["looks"][:-1])
    assert found["bad"]["looks"]["comparisons"] == [comparison]
    page = (tmp_path / "out" / "release.html").read_text()
    assert (
        rows["good"]["stopped"] in page
        and rows["good"]["stopped"] in (tmp_path / "out" / "good" / "report.html").read_text()
    )
    compared = cli("compare", tmp_path / "out" / "good", tmp_path / "out" / "bad")
    assert rows["good"]["stopped"] in compared.out


@pytest.mark.full
def test_the_command_without_the_option_goes_on_and_nothing_is_asked_twice(cli, tmp_path: Path) -> None:
    path = write_release(tmp_path, two_that_differ(tmp_path))
    assert cli("run", "--config", path).code == 0
    stopped = {name: calls(tmp_path / f"{name}.log") for name in ("good", "bad")}
    first = results(tmp_path, "good")
    again = cli("run", "--config", path)
    assert again.code == 0 and {name: calls(tmp_path / f"{name}.log") for name in stopped} == stopped
    assert results_of(tmp_path / "out" / "good") == json.dumps({k: v for k, v in first.items() if k != "run"})
    scored = cli("score", tmp_path / "out" / "good")
    assert scored.code == 0 and first["results"]["seedbench"]["stopped"] in scored.out
    assert results(tmp_path, "good")["results"] == first["results"]
    content = yaml.safe_load(path.read_text())
    del content["stop_when"]
    path.write_text(yaml.safe_dump(content))
    whole = cli("run", "--config", path)
    assert whole.code == 0 and "stopped after" not in whole.out
    for name in stopped:
        asked = calls(tmp_path / f"{name}.log")
        assert (
            sorted(asked) == sorted(set(asked)) and len(asked) == results(tmp_path, name)["results"]["seedbench"]["n"]
        )
        assert "looks" not in results(tmp_path, name) and not (tmp_path / "out" / name / "looks.json").exists()


@pytest.mark.parametrize("dies", [30, *(pytest.param(each, marks=pytest.mark.full) for each in (2, 50))])
def test_killed_between_looks_it_goes_on_and_decides_the_same(cli, tmp_path: Path, dies: int) -> None:
    (tmp_path / "whole").mkdir()
    assert cli("run", "--config", write_release(tmp_path / "whole", two_that_differ(tmp_path / "whole"))).code == 0
    path = write_release(tmp_path, two_that_differ(tmp_path, dies=dies))
    killed = subprocess.run([sys.executable, str(SKILLED), "run", "--config", str(path)], capture_output=True)
    assert killed.returncode == -9
    assert cli("run", "--config", write_release(tmp_path, two_that_differ(tmp_path))).code == 0
    for name in ("good", "bad"):
        asked = calls(tmp_path / f"{name}.log")
        assert len(asked) - len(set(asked)) <= 1, "the request that died is asked again, and no other"
        assert results_of(tmp_path / "out" / name) == results_of(tmp_path / "whole" / "out" / name)


@pytest.mark.full
def test_in_turns_an_answer_that_failed_in_a_look_decides_for_no_model_once_another_has_read_it(
    cli, tmp_path: Path
) -> None:
    """Both come to one comparison. The next launch asks for what failed, and old looks decide nothing in it."""
    path = write_release(tmp_path, two_that_differ(tmp_path, flaky=3), looks=40)
    assert cli("run", "--config", path).code == 3
    compared = {name: results(tmp_path, name)["looks"]["comparisons"] for name in ("good", "bad")}
    assert compared["good"] == compared["bad"]
    assert compared["good"][0]["looks"][-1]["docs"] < results(tmp_path, "bad")["results"]["seedbench"]["n"]
    for look in (tmp_path / "out" / "bad" / "looks").iterdir():  # as an older version of the task's code scored
        look.write_text(look.read_text().replace(", 1.0,", ", 0.0,"))
    assert cli("run", "--config", path).code == 0
    compared = {name: results(tmp_path, name)["looks"]["comparisons"] for name in ("good", "bad")}
    assert compared["good"] == compared["bad"]
    assert compared["bad"][0]["looks"][0]["docs"] > 0


@pytest.mark.full
def test_equal_models_go_on_to_all_docs_and_a_margin_ends_them(cli, tmp_path: Path) -> None:
    alike = [a_model("one", tmp_path, 0.8), a_model("two", tmp_path, 0.8)]
    done = cli("run", "--config", write_release(tmp_path, alike))
    assert done.code == 0 and "stopped after" not in done.out
    found = results(tmp_path, "one")
    assert found["looks"]["comparisons"][0]["ended"] == "all docs" and not found["looks"]["rows"]
    assert "stopped" not in found["results"]["seedbench"]
    done = cli("run", "--config", write_release(tmp_path, alike), "--margin", "15")
    assert done.code == 0, done.err
    found = results(tmp_path, "one")
    [comparison] = found["looks"]["comparisons"]
    assert (
        comparison["ended"] == "equivalent" and -0.15 <= comparison["interval"][0] <= comparison["interval"][1] <= 0.15
    )
    assert found["results"]["seedbench"]["n"] < found["n-samples"]["seedbench"]["original"]


@pytest.mark.full
def test_models_stop_one_by_one_and_each_is_tested_against_the_reference_only(cli, tmp_path: Path) -> None:
    models = [
        a_model("ours", tmp_path, 0.9),
        a_model("like", tmp_path, 0.9, seed=2),
        a_model("bad", tmp_path, 0.3, seed=3),
    ]
    path = write_release(tmp_path, models, pairs={"reference": "ours"})
    assert cli("run", "--config", path).code == 0
    rows = {name: results(tmp_path, name)["results"]["seedbench"] for name in ("ours", "like", "bad")}
    assert "stopped" in rows["bad"] and "stopped" not in rows["ours"] and "stopped" not in rows["like"]
    [comparison] = results(tmp_path, "bad")["looks"]["comparisons"]
    assert (comparison["first"], comparison["second"]) == ("ours", "bad")
    assert len(results(tmp_path, "ours")["looks"]["comparisons"]) == 2


@pytest.mark.full
def test_a_model_that_fails_leaves_the_others_undecided_and_later_they_go_on(cli, tmp_path: Path) -> None:
    path = write_release(tmp_path, two_that_differ(tmp_path, fails=3))
    done = cli("run", "--config", path)
    assert done.code == 3 and "good failed, so the comparison is not decided" in done.out
    assert cli("run", "--config", write_release(tmp_path, two_that_differ(tmp_path))).code == 0
    assert results(tmp_path, "bad")["looks"]["comparisons"][0]["ended"] == "differs"
    asked = calls(tmp_path / "bad.log")
    assert len(asked) == len(set(asked))


@pytest.mark.full
def test_side_by_side_the_decision_is_the_same(cli, tmp_path: Path) -> None:
    """Each model in a process of its own, at speeds of their own."""
    (tmp_path / "turn").mkdir()
    assert cli("run", "--config", write_release(tmp_path / "turn", two_that_differ(tmp_path / "turn"))).code == 0
    answers = []
    for name, share in (("good", 0.95), ("bad", 0.4)):
        whole = cli(
            "run", "--tasks", "seedbench", "--sample", "--model", "skilled", "--no_report",
            "--model_args", f"knows={share},seed={1 if name == 'bad' else 0}", "--output_path", tmp_path / "whole" / name,
        )  # fmt: skip
        assert whole.code == 0
        answers.append(
            {"model": "replay", "name": name, "model_args": {"path": str(tmp_path / "whole" / name / "samples")}}
        )
    path = write_release(tmp_path, answers, parallel=2)
    done = subprocess.run(
        [sys.executable, "-m", "mm_eval", "run", "--config", str(path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    for name in ("good", "bad"):
        beside, turn = (results(folder, name) for folder in (tmp_path, tmp_path / "turn"))
        assert (
            beside["looks"] == turn["looks"]
            and beside["results"]["seedbench"]["n"] == turn["results"]["seedbench"]["n"]
        )


@pytest.mark.full
def test_more_requests_in_flight_than_a_look_has_docs_block_nothing(cli, tmp_path: Path) -> None:
    """A look of 12 docs, 40 in flight: the model asks on while the answers of earlier looks come in, and stops soon after."""
    path = write_release(tmp_path, two_that_differ(tmp_path, in_flight=40))
    assert cli("run", "--config", path).code == 0
    docs = results(tmp_path, "good")["results"]["seedbench"]["n"]
    assert docs == results(tmp_path, "bad")["results"]["seedbench"]["n"]
    narrow = cli(
        "run", "--tasks", "seedbench", "--sample", "--model", "skilled", "--no_report", "--until_interval", "8",
        "--model_args", f"knows=0.9,in_flight=40,log={tmp_path / 'one.log'}", "--output_path", tmp_path / "one",
    )  # fmt: skip
    assert narrow.code == 0
    n = narrow.results["results"]["seedbench"]["n"]
    assert n <= len(calls(tmp_path / "one.log")) <= n + 40 + 3, "beyond the decision only what was in flight"


@pytest.mark.full
def test_one_model_runs_until_its_interval_is_narrow(cli, tmp_path: Path) -> None:
    options = (
        "run",
        "--tasks",
        "seedbench",
        "--sample",
        "--model",
        "skilled",
        "--model_args",
        "knows=0.9",
        "--no_report",
    )
    done = cli(*options, "--until_interval", "8", "--output_path", tmp_path / "run")
    assert done.code == 0, done.err
    row = done.results["results"]["seedbench"]
    assert row["n"] < done.results["n-samples"]["seedbench"]["original"] and "known well enough" in row["stopped"]
    low, high = next(iter(row["intervals_after_looking"].values()))
    assert (high - low) / 2 <= 0.08
    wide = cli(*options, "--until_interval", "0.5", "--output_path", tmp_path / "wide")
    assert wide.code == 0 and "stopped" not in wide.results["results"]["seedbench"]
    for again in (wide, cli("score", tmp_path / "wide")):
        assert "note: seedbench: all documents were asked, and half its interval is" in again.out + again.err
        assert "above --until_interval 0.5" in again.out + again.err
    whole = cli(*options, "--output_path", tmp_path / "run")
    assert whole.code == 0 and "stopped" not in whole.results["results"]["seedbench"] and "looks" not in whole.results


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"pairs": {"reference": "goood"}}, "Did you mean 'good'"),
        ({"pairs": "both"}, "all or {reference: NAME}"),
        ({"stop_when": "soon"}, "decided"),
        ({"until_interval": 1}, "can't be combined"),
        ({"predict_only": True}, "nothing is decided"),
        ({"looks": 0}, "a count from 1 to 100"),
        ({"alpha": 0.7}, "below 0.5"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_asked(cli, tmp_path, change, said) -> None:
    done = cli("run", "--config", write_release(tmp_path, two_that_differ(tmp_path), **change))
    assert done.code == 2 and said in done.err
    assert not calls(tmp_path / "good.log")


def test_a_comparison_needs_models_and_stated_pairs(cli, tmp_path: Path) -> None:
    three = [*two_that_differ(tmp_path), a_model("third", tmp_path, 0.5)]
    done = cli("run", "--config", write_release(tmp_path, three))
    assert done.code == 2 and "which of 3 models are compared?" in done.err
    alone = cli("run", "--config", write_release(tmp_path, three[:2]), "--only", "good")
    assert alone.code == 2 and "a comparison needs two models" in alone.err
    plain = cli("run", "--tasks", "seedbench", "--sample", "--stop_when", "decided")
    assert plain.code == 2 and "needs the models of a release" in plain.err
    other = [three[0], {**three[1], "limit": 10}]
    assert "must answer the same documents" in cli("run", "--config", write_release(tmp_path, other)).err


@pytest.mark.full
def test_what_cannot_be_stopped_says_so(cli, tmp_path: Path) -> None:
    """BLEU is a number of the corpus: alone it is refused; beside another task all of its docs are asked."""
    (tmp_path / "docs.jsonl").write_text("".join(json.dumps({"q": f"{n}?", "a": "Yes"}) + "\n" for n in range(30)))
    (tmp_path / "words.yaml").write_text(
        f"task: words\ndataset_path: json\ndataset_kwargs: {{data_files: {tmp_path / 'docs.jsonl'}}}\ntest_split: train\n"
        "output_type: generate_until\ndoc_to_text: q\ndoc_to_target: a\nmetric_list: [{metric: bleu}]\n"
    )
    path = write_release(tmp_path, two_that_differ(tmp_path), tasks=["words"], include_path=str(tmp_path))
    refused = cli("run", "--config", path)
    assert refused.code == 2 and "bleu is a number of the whole corpus" in refused.err
    path = write_release(tmp_path, two_that_differ(tmp_path), tasks=["words", "seedbench"], include_path=str(tmp_path))
    done = cli("run", "--config", path)
    assert done.code == 0, done.err
    found = results(tmp_path, "good")["results"]
    assert found["words"]["n"] == 30 and "stopped" not in found["words"] and "stopped" in found["seedbench"]


@pytest.mark.full
def test_a_damaged_record_is_one_clear_error(cli, tmp_path: Path) -> None:
    assert cli("run", "--config", write_release(tmp_path, two_that_differ(tmp_path))).code == 0
    with edited(tmp_path / "out" / "good" / "looks.json") as content:
        content["docs"]["seedbench"].append(10**6)
    done = cli("score", tmp_path / "out" / "good")
    assert done.code == 2 and "looks.json" in done.err
