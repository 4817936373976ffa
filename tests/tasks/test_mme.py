"""MME's numbers are the benchmark's own, to the last digit, and each has a standard error."""

import json
import math
import random
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from mm_eval.cli import main
from tests.conftest import Ran
from tests.folders import results_of

PERCEPTION, COGNITION = 963.6114445778311, 249.64285714285714


def scored(lavin: tuple[Path, Path], answers: Path, folder: Path) -> Ran:
    """A run of all of MME with recorded answers."""
    words = ("--tasks", "mme", "--model", "replay", "--model_args", f"path={answers}", "--data_root", str(lavin[0]))
    with redirect_stdout(StringIO()) as out:
        code = main([*words, "--output_path", str(folder), "--no_report"])
    return Ran(code, out.getvalue(), "", folder)


@pytest.fixture(scope="module")
def recorded(lavin: tuple[Path, Path], tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """LaVIN's own answers, scored once for all tests that read the numbers."""
    return scored(lavin, lavin[1], tmp_path_factory.mktemp("recorded") / "run")


def test_the_papers_numbers_come_out_of_recorded_answers(recorded: Ran) -> None:
    row = recorded.results["results"]["mme"]
    assert recorded.code == 0
    assert row["mme_perception_score,none"] == pytest.approx(PERCEPTION, abs=1e-9)
    assert row["mme_cognition_score,none"] == pytest.approx(COGNITION, abs=1e-9)
    assert (row["n"], row["failed"], row["truncated"]) == (2374, 0, 0)
    unread = sum(
        1
        for sample in recorded.samples("mme")
        if not any(label in sample["resps"][0].strip().lower()[:4] for label in ("yes", "no"))
    )
    assert row["unparsed"] == unread > 0, "what no rule can read is counted, not hidden"
    categories = [key for key in row if key.endswith(",none") and "_stderr" not in key and "mme_" not in key]
    assert len([key for key in categories if not key.startswith("unparsed")]) == 14
    assert sum(row[key] for key in categories) == pytest.approx(PERCEPTION + COGNITION)
    assert "963.61" in recorded.out and "249.64" in recorded.out
    exact = {"perception": 28.952611399509, "cognition": 13.789247673129}  # each picture left out by itself
    for part, stderr in exact.items():
        assert row[f"mme_{part}_score_stderr,none"] == pytest.approx(stderr, rel=1e-9)


def test_every_mme_number_has_a_standard_error_that_a_bootstrap_confirms(recorded: Ran) -> None:
    row = recorded.results["results"]["mme"]
    for key in [
        key for key in row if key.endswith(",none") and "_stderr" not in key and not key.startswith("unparsed")
    ]:
        metric, _, pipeline = key.partition(",")
        assert isinstance(row[f"{metric}_stderr,{pipeline}"], float), key
    pictures: dict[str, dict[str, list[float]]] = {}
    for sample in recorded.samples("mme"):
        doc, score = sample["doc"], sample["scores"].get("mme_cognition_score,none")
        if score is not None:
            pictures.setdefault(doc["category"], {}).setdefault(doc["question_id"], []).append(score["score"])
    draw, totals = random.Random(0), []
    for _ in range(2000):  # pictures drawn within each category, as the score groups by it
        total = 0.0
        for of_category in pictures.values():
            drawn = draw.choices(list(of_category.values()), k=len(of_category))
            scores = [score for picture in drawn for score in picture]
            total += 100 * sum(scores) / len(scores) + 100 * sum(map(all, drawn)) / len(drawn)
        totals.append(total)
    mean = sum(totals) / len(totals)
    bootstrap = math.sqrt(sum((total - mean) ** 2 for total in totals) / (len(totals) - 1))
    assert row["mme_cognition_score_stderr,none"] == pytest.approx(bootstrap, rel=0.1)


@pytest.mark.full
def test_a_run_scores_the_same_from_its_own_samples(recorded: Ran, lavin: tuple[Path, Path], tmp_path: Path) -> None:
    again = scored(lavin, recorded.folder / "samples" / "mme.jsonl", tmp_path / "again")
    assert results_of(recorded.folder) == results_of(again.folder)


GUIDE_YAML = """
dataset_path: lmms-lab/MME
dataset_kwargs:
  token: True
task: "mme_guide"
test_split: test
output_type: generate_until
doc_to_visual: !function utils.mme_doc_to_visual
doc_to_text: !function utils.mme_doc_to_text
doc_to_target: "answer"
generation_kwargs:
  max_new_tokens: 16
  temperature: 0
  top_p: 0
  num_beams: 1
  do_sample: false
# The return value of process_results will be used by metrics
process_results: !function utils.mme_process_results
# Note that the metric name can be either a registed metric function (such as the case for GQA) or a key name
metric_list:
  - metric: mme_percetion_score
    aggregation: !function utils.mme_aggregate_results
    higher_is_better: true
  - metric: mme_cognition_score
    aggregation: !function utils.mme_aggregate_results
    higher_is_better: true
model_specific_prompt_kwargs:
  default:
    pre_prompt: ""
    post_prompt: "\\nAnswer the question using a single word or phrase."
  qwen_vl:
    pre_prompt: ""
    post_prompt: " Answer:"
metadata:
  - version: 0.0
"""


@pytest.mark.full
def test_the_task_guides_yaml_loads_unchanged_with_its_misspelt_metric(cli, lavin, tmp_path: Path) -> None:
    root, answers = lavin
    folder = tmp_path / "guide"
    folder.mkdir()
    (folder / "mme.yaml").write_text(GUIDE_YAML)
    utils = Path(__file__).parents[2] / "tasks" / "mme" / "utils.py"
    (folder / "utils.py").write_text(utils.read_text())
    recorded = tmp_path / "recorded.jsonl"
    recorded.write_text(answers.read_text().replace('"task": "mme"', '"task": "mme_guide"'))
    ran = cli(
        *("--tasks", "mme_guide", "--include_path", folder, "--model", "replay", "--model_args", f"path={recorded}"),
        *("--data_root", root),
    )
    assert ran.code == 0, ran.err
    assert ran.results["results"]["mme_guide"]["mme_perception_score,none"] == pytest.approx(PERCEPTION)
    assert ran.results["versions"]["mme_guide"] == 0.0


def test_a_category_without_docs_is_left_out_and_odd_pictures_still_score(cli, tmp_path: Path) -> None:
    ran = cli("--tasks", "mme", "--model", "dummy", "--sample", "--limit", "3")
    row = ran.results["results"]["mme"]
    assert "existence,none" in row and "color,none" not in row
    assert row["n"] == 3


def test_a_picture_with_another_number_of_questions_is_noted_and_counts(cli, tmp_path: Path, caplog) -> None:
    from tests.cli.test_bad_input import data_root, picture

    root = data_root(tmp_path, [picture()] * 3, question_id=["color/0.png"] * 3, answer=["Yes", "Yes", "No"])
    answers = tmp_path / "answers.jsonl"
    answers.write_text("\n".join(json.dumps({"task": "mme", "doc_id": n, "resps": ["Yes"]}) for n in range(3)))
    ran = cli("--tasks", "mme", "--model", "replay", "--model_args", f"path={answers}", "--data_root", root)
    assert ran.code == 0 and "1 pictures have other than two questions" in caplog.text
    assert ran.results["results"]["mme"]["color,none"] == pytest.approx(200 / 3), (
        "accuracy counts, accuracy+ needs all three"
    )


@pytest.mark.parametrize("key", ["qwen_vl", None])
def test_the_prompt_of_each_model_family(cli, key: str | None) -> None:
    extra = ["--prompt_key", key] if key else []
    ran = cli("show", "mme", "--sample", "--model", "dummy", "--doc", "0", *extra)
    assert ran.code == 0
    assert "Please answer yes or no" not in ran.out
    ending = " Answer:" if key else "\nAnswer the question using a single word or phrase."
    assert f"?{ending}\n" in ran.out


def test_an_unknown_prompt_key_is_an_error(cli) -> None:
    ran = cli("--tasks", "mme", "--model", "dummy", "--sample", "--prompt_key", "qwen_v")
    assert ran.code == 2 and "Did you mean 'qwen_vl'" in ran.err
