"""LogicVista: the letters that GPT-4 found give the published numbers; the raw answers give those by rules."""

import ast
import csv
import io
from pathlib import Path
from typing import Any

import pytest

from tests.papers.recordings import Recording, tiny_picture, write_answers, write_table

REPOSITORY, COMMIT = "Yijia-Xiao/LogicVista", "e5795f17189ce1243231250af7d8c112ae2c5a57"
GOLD = Recording(REPOSITORY, COMMIT, "data/dataset.json")
HITS = {  # of 448: the published number, that by rules from the raw answers, and how many of those no rule reads
    "BLIP2": (96, 95, 29), "GIT": (19, 17, 382), "GIT-large": (29, 21, 343), "GPT4": (146, 147, 9), "LLAVA13B": (108, 108, 0),
    "LLAVA7B": (131, 121, 54), "LLAVANEXT-7B-vicuna": (106, 106, 0), "deplot": (1, 1, 0),
    "instructBLIP-vicuna-7B": (67, 61, 159), "matcha-base": (2, 2, 397), "miniGPTvicuna13B": (67, 45, 235),
    "miniGPTvicuna7B": (50, 31, 264), "otter9B": (106, 102, 65), "pix2struct": (40, 38, 100),
}  # fmt: skip
RESULTS = {
    model: Recording(REPOSITORY, COMMIT, f"eval/results/{model}-accuracy-results.csv") for model in HITS
}  # fmt: skip


def features() -> dict[str, Any]:
    from datasets import Image, Sequence, Value

    return {
        "image": Image(),
        "question": Value("string"),
        "answer": Value("string"),
        "skill": Sequence(Value("string")),
    }


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("logicvista")
    rows = [
        {"image": tiny_picture(), **{key: row[key] for key in ("question", "answer", "skill")}}
        for row in GOLD.json().values()
    ]
    write_table(folder, "lscpku/LogicVista", "test", rows, features=features())
    return folder


@pytest.mark.parametrize("model", HITS)
def test_the_recorded_letters_and_the_raw_answers(cli: Any, tmp_path: Path, root: Path, model: str) -> None:
    csv.field_size_limit(2**24)
    recorded = list(csv.DictReader(io.StringIO(RESULTS[model].text())))
    published = [int(float(row["match?"])) for row in recorded]
    assert [row["id"] for row in recorded] == [f"v1_{n}" for n in range(448)]
    letters = [", ".join(ast.literal_eval(row[f"{model} answer extracted"])) for row in recorded]
    raw = [row[f"{model} answer raw"] for row in recorded]
    by_rules = []
    for name, said in (("letters", letters), ("raw", raw)):
        answers = write_answers(tmp_path / f"{name}.jsonl", {"logicvista": said})
        ran = cli(
            "--tasks", "logicvista", "--model", "replay", "--model_args", f"path={answers}", "--data_root", root,
            "--output_path", tmp_path / name,
        )  # fmt: skip
        assert ran.code == 0, ran.err
        by_rules.append(ran)
    of_letters, of_raw = by_rules
    assert [row["scores"]["acc_rules,none"] for row in of_letters.samples("logicvista")] == published
    skills = of_letters.results["categories"]["logicvista"]["skill"]
    for skill, found in skills.items():
        own = [right for right, row in zip(published, recorded, strict=True) if skill in row["reasoning skill"]]
        assert (found["n"], found["acc_rules,none"]) == (len(own), pytest.approx(sum(own) / len(own)))
    assert len(skills) == 5
    found = of_raw.results["results"]["logicvista"]
    hits = (sum(published), round(448 * found["acc_rules,none"]), found["unparsed"])
    assert hits == HITS[model]
    assert found["unparsed_share,none"] == pytest.approx(hits[2] / 448)
