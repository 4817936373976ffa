"""code-davinci-002 on BIG-Bench Hard: the prompts and the counts of its 6,511 recorded outputs."""

import json
import re
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from mm_eval.config.manager import TaskManager
from tests.conftest import Ran
from tests.papers.recordings import Recording, write_answers, write_table

COMMIT = "9ee07bd481feebf959a6b59d61ea57bdcf30964d"
DATA = Recording("suzgunmirac/BIG-Bench-Hard", COMMIT, "bbh")
OUTPUTS = Recording("suzgunmirac/BIG-Bench-Hard", COMMIT, "code-davinci-002-outputs/code-davinci-002-cot")
RIGHT = {"bbh": 4816, "bbh_lm_eval": 4813}
OTHERWISE = {"bbh": {}, "bbh_lm_eval": {"dyck_languages": (139, 142)}}
"""Subtasks in which a rule gives another count than the published one."""
SPACED = "sports_understanding"
"""Its recorded examples have a space, not a line end, before their reasoning; lm-eval's have a line end as in all others."""


def mean_of_23(right: dict[str, int], sizes: dict[str, int]) -> float:
    """The mean accuracy of the paper's tasks: three, five and seven objects are one task."""
    by_task: dict[str, list[float]] = defaultdict(list)
    for name, count in right.items():
        by_task[re.sub("_(three|five|seven)_objects$", "", name)].append(count / sizes[name])
    assert len(by_task) == 23
    return fmean(map(fmean, by_task.values()))


@pytest.mark.slow
@pytest.mark.parametrize("rule", RIGHT)
def test_code_davinci_002(cli: Callable[..., Ran], tmp_path: Path, rule: str) -> None:
    stated = TaskManager().load(["bbh"]).tasks["bbh_snarks"].generation_kwargs["until"]
    stops = re.compile("|".join(map(re.escape, stated)))
    said: dict[str, list[str]] = {}
    asked: dict[str, list[str]] = {}
    published: dict[str, int] = {}
    sizes: dict[str, int] = {}
    for path in sorted(DATA.fetched().glob("*.json")):
        gold: list[Any] = json.loads(path.read_text())["examples"]
        write_table(tmp_path, "SaylorTwift/bbh", "test", gold, config=path.stem)
        name = OUTPUTS.fetched() / f"{path.stem}_few_shot_template_0-255000"
        rows = json.loads(name.with_suffix(".json").read_text())["outputs"]
        said[path.stem] = [stops.split(row["prediction"])[0] for row in rows]
        asked[path.stem] = [row["input"] for row in rows]
        accuracy = json.loads(Path(f"{name}_eval_metrics.jsonl").read_text().splitlines()[0])["accuracy"]
        published[path.stem], sizes[path.stem] = round(accuracy * len(gold) / 100), len(gold)
    assert len(said) == 27
    answers = write_answers(tmp_path / "answers.jsonl", {f"bbh_{name}": each for name, each in said.items()})
    ran = cli("--tasks", rule, "--model", "replay", "--model_args", f"path={answers}", "--data_root", tmp_path)
    assert ran.code == 0, ran.err
    prompts_with_other_text = []
    for name, count in published.items():
        rows = ran.samples(f"bbh_{name}")
        found = sum(row["scores"]["exact_match,get-answer"] for row in rows)
        assert (found, count) == OTHERWISE[rule].get(name, (count, count)), name
        for row, prompt in zip(rows, asked[name], strict=True):
            if name == SPACED:
                prompt = re.sub(r"(step by step\.) (?=\S)", r"\1\n", prompt)
            if row["prompt"] != f"{prompt}\n":
                prompts_with_other_text.append((name, row["doc_id"]))
    assert [name for name, _ in prompts_with_other_text] == ["snarks"], "the data file breaks off in a question"
    group = ran.results["groups"][rule]
    assert group["exact_match,get-answer"] == pytest.approx(RIGHT[rule] / 6511, abs=1e-12)
    if rule == "bbh":
        assert group["mean_of_23_tasks,none"] == pytest.approx(mean_of_23(published, sizes), abs=1e-12)
