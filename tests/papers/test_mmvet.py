"""MM-Vet: the recorded grades of LLaVA-1.5 give all numbers of the recorded tables; the prompt is the authors'."""

import ast
import csv
import re
from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.mmvet.utils import judge_prompt

from tests.conftest import ROOT
from tests.papers.judged import replay_judged
from tests.papers.recordings import Recording, prompts_of, tiny_picture, verdict, write_table

COMMIT = "32cebc3809441cc40d8ac7b2855d148308741f2a"
FOLDER = "playground/data/eval/mm-vet"
MODELS = ("llava-v1.5-13b", "llava-v1.5-7b")
QUESTIONS = Recording("haotian-liu/LLaVA", COMMIT, f"{FOLDER}/llava-mm-vet.jsonl")
RESULTS = Recording("haotian-liu/LLaVA", COMMIT, f"{FOLDER}/results")
EVALUATOR = Recording("yuweihao/MM-Vet", "acde843e02dae30047bb456ee4a8ab28dee7e0ae", "mm-vet_evaluator.py")
CAPABILITIES = dict(zip("rokgsm", ("rec", "ocr", "know", "gen", "spat", "math"), strict=True))
ASKED = """
om*3 osm*4 om rosm om*2 osm*2 om*4 rs os*2 rs ros*3 rs os*2 oks ro ros rks*2 os ros os*2 ros os o os*3 osm os*2 osm*3 os*2 osm*2
os ro osm os*8 osm rs r rs os ro om r*3 ros o r*4 rk ro r rk*3 r*3 o*10 rk oks*2 os rk*4 r*14 rs r rs r rs r*3 rs*2 r rs*2 r*5
rkg*10 rokg*6 rkg rokg rkg rokg rkg*50 rogs*4 ogs*2 rogs*4
"""
"""The capabilities of the 218 questions by first letters, x*n for n questions: from mm-vet.json, which is not recorded."""
PUBLISHED = {"llava-v1.5-13b": 36.3, "llava-v1.5-7b": 31.1}
"""The totals of three gradings."""


def capabilities() -> list[list[str]]:
    """The capabilities of each question."""
    found: list[list[str]] = []
    for word in ASKED.split():
        letters, _, times = word.partition("*")
        found += [[CAPABILITIES[letter] for letter in letters]] * int(times or 1)
    return found


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data root with the 218 questions. Their answers are not recorded, and the recorded grades need none."""
    from datasets import Image, Value

    folder, text = tmp_path_factory.mktemp("mmvet"), Value("string")
    names = ("question_id", "question", "answer", "image_source", "capability")
    rows = [
        {
            "question_id": f"v1_{row['question_id']}",
            "question": row["text"],
            "answer": "?",
            "image_source": "web",
            "capability": ",".join(asked),
            "image": tiny_picture(),
        }
        for row, asked in zip(QUESTIONS.jsonl(), capabilities(), strict=True)
    ]
    write_table(folder, "lmms-lab/MMVet", "test", rows, features={**dict.fromkeys(names, text), "image": Image()})
    return folder


def recorded(name: str) -> Recording:
    """A file of the folder of results."""
    return Recording(RESULTS.repository, COMMIT, f"{RESULTS.path}/{name}")


def table(model: str, kind: str, runs: int) -> dict[frozenset[str], float]:
    """A model's row of a table of results: {capabilities: percent}; the total under "total"."""
    rows = list(csv.reader(recorded(f"{model}_gpt-4-{kind}-{runs}runs.csv").text().splitlines()))
    own = next(dict(zip(rows[0], row, strict=True)) for row in rows if row[0] == model)
    return {frozenset(name.split("_")): float(value) for name, value in own.items() if name not in ("", "std", "runs")}


def grade(cli: Any, root: Path, folder: Path, model: str, runs: int) -> dict[frozenset[str], float]:
    """A model's recorded grades, of one run or of three: {capabilities: percent}, for each alone, together, and in all."""
    grades = recorded(f"{model}_gpt-4-grade-{runs}runs.json").json()
    answers = list(recorded(f"{model}.json").json().values())
    folder.joinpath("several.yaml").write_text(
        f"include: {ROOT}/tasks/mmvet/mmvet.yaml\ntask: several\njudge: {{repeats: {runs}}}\n"
    )
    replies = [each["content"] for each in grades.values()]
    ran = replay_judged(cli, root, folder, "several", answers, replies, "--include_path", folder)
    assert ran.code == 0, ran.err
    row = ran.results["results"]["several"]
    assert ran.results["judges"]["several"][0]["repeats"] == runs
    assert row["judge_failed"] == 0 and row["judge_bounds"] is None
    levels = ran.results["categories"]["several"]
    shown = {
        "recognition": "rec",
        "OCR": "ocr",
        "knowledge": "know",
        "language generation": "gen",
        "spatial awareness": "spat",
    }
    found = {frozenset({"total"}): row["judge_score,none"]}
    for name, numbers in levels["integration"].items():
        found[frozenset(name.split("_"))] = numbers["judge_score,none"]
    alone = {
        frozenset({"one", shown.get(name, name)}): n["judge_score,none"] for name, n in levels["capability"].items()
    }
    return found | alone


def check(found: dict[frozenset[str], float], model: str, runs: int) -> None:
    """That all numbers of both recorded tables are these, to their one decimal."""
    alone = {asked if "total" in asked else asked | {"one"}: n for asked, n in table(model, "cap-score", runs).items()}
    wanted = table(model, "cap-int-score", runs) | alone
    assert len(wanted) == 23 and set(found) == set(wanted)
    assert {asked: round(n, 1) for asked, n in found.items()} == wanted


def test_the_capabilities_are_those_of_the_benchmark() -> None:
    asked = capabilities()
    assert len(asked) == 218
    sizes = {name: sum(name in each for each in asked) for name in CAPABILITIES.values()}
    assert sizes == {"rec": 150, "ocr": 96, "know": 84, "gen": 80, "spat": 75, "math": 26}


def test_llava_7b_in_one_run(cli, root: Path, tmp_path: Path) -> None:
    check(grade(cli, root, tmp_path, "llava-v1.5-7b", 1), "llava-v1.5-7b", 1)


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_the_mean_of_three_runs(cli, root: Path, tmp_path: Path, model: str) -> None:
    found = grade(cli, root, tmp_path, model, 3)
    check(found, model, 3)
    assert round(found[frozenset({"total"})], 1) == PUBLISHED[model]


@pytest.mark.slow
def test_llava_13b_in_one_run(cli, root: Path, tmp_path: Path) -> None:
    check(grade(cli, root, tmp_path, "llava-v1.5-13b", 1), "llava-v1.5-13b", 1)


def test_llava_13b_matches_its_protocol(cli, root: Path, tmp_path: Path) -> None:
    model = "llava-v1.5-13b"
    grades, answers = recorded(f"{model}_gpt-4-grade-1runs.json").json(), recorded(f"{model}.json").json()
    replies, under = [each["content"][0] for each in grades.values()], ("--protocol", "llava-1.5", "--name", model)
    ran = replay_judged(cli, root, tmp_path, "mmvet", list(answers.values()), replies, *under, judge_name="gpt-4-0613")
    assert ran.code == 0, ran.err
    assert verdict(ran.results, "mmvet") == "matches"
    assert prompts_of(ran, "mmvet") == [row["text"] for row in QUESTIONS.jsonl()]
    ran = cli("score", tmp_path / "run")  # the journal alone gives the same verdict
    assert ran.code == 0 and "1 matches, 0 off, 0 not comparable" in ran.out


def test_the_prompt_is_the_evaluator_s() -> None:
    stated = re.search(r'^prompt = (""".*?""")', EVALUATOR.text(), re.DOTALL | re.MULTILINE)
    assert stated
    doc = {"question": "What is x?", "answer": "1<AND>2<OR>3"}
    assert judge_prompt(doc, "one") == f"{ast.literal_eval(stated[1])}\nWhat is x? | 1 <AND> 2 <OR> 3 | one | "
