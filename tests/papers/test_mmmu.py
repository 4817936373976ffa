"""MMMU and MMMU-Pro: the recorded answers of LLaVA-1.5-13B, Qwen-VL and GPT-4o give the numbers of the benchmarks' scripts."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.papers.recordings import Recording, tiny_picture, write_answers, write_table

COMMIT = "bb0b95a945998d91dfef37e969e07d49d1139438"
REPOSITORY = "MMMU-Benchmark/MMMU"
GOLD = Recording(REPOSITORY, COMMIT, "mmmu/answer_dict_val.json")
OUTPUTS = {
    "llava": Recording(REPOSITORY, COMMIT, "mmmu/example_outputs/llava1.5_13b"),
    "qwen_vl": Recording(REPOSITORY, COMMIT, "mmmu/example_outputs/qwen_vl"),
}
PRO = {
    ("standard", "cot"): Recording(REPOSITORY, COMMIT, "mmmu-pro/output/gpt-4o_standard(10 options)_cot.jsonl"),
    ("standard", "direct"): Recording(REPOSITORY, COMMIT, "mmmu-pro/output/gpt-4o_standard(10 options)_direct.jsonl"),
    ("vision", "cot"): Recording(REPOSITORY, COMMIT, "mmmu-pro/output/gpt-4o_vision_cot.jsonl"),
    ("vision", "direct"): Recording(REPOSITORY, COMMIT, "mmmu-pro/output/gpt-4o_vision_direct.jsonl"),
}
HITS = {  # of 30 in each subject, in the order of CAT_SHORT2LONG, by the script's own run on these files
    "llava": [
        8,
        15,
        10,
        18,
        16,
        15,
        7,
        6,
        12,
        6,
        18,
        11,
        7,
        6,
        11,
        4,
        12,
        17,
        22,
        10,
        5,
        12,
        10,
        5,
        11,
        8,
        9,
        11,
        12,
        16,
    ],
    "qwen_vl": [
        12,
        12,
        9,
        14,
        17,
        10,
        11,
        8,
        9,
        7,
        18,
        6,
        7,
        6,
        13,
        9,
        6,
        12,
        24,
        8,
        9,
        10,
        10,
        10,
        11,
        13,
        10,
        8,
        13,
        13,
    ],
}
DISCIPLINES = {"Art and Design": 120, "Business": 150, "Science": 150, "Health and Medicine": 150,
               "Humanities and Social Science": 120, "Tech and Engineering": 210}  # fmt: skip


def gold_rows(outputs: dict[str, dict[str, Any]]) -> list[dict[str, Any]]:
    """The questions in the hub's schema, in the order of the answer file; the outputs have the options."""
    rows = []
    for name, gold in GOLD.json().items():
        answer, texts = gold["ground_truth"], list(outputs[name].get("index2ans", {}).values())
        pictures = {f"image_{n}": tiny_picture() if n == 1 else None for n in range(1, 8)}
        rows.append({
            "id": name, "question": "<image 1> What is it?", "options": str(texts), "explanation": "", **pictures,
            "img_type": "['Photographs']", "answer": answer if isinstance(answer, str) else str(answer),
            "topic_difficulty": "Easy", "subfield": "",
            "question_type": "multiple-choice" if gold["question_type"] == "multiple-choice" else "open",
        })  # fmt: skip
    return rows


def features(standard: bool = True) -> dict[str, Any]:
    from datasets import Image, Value

    last = ("img_type", "answer", "topic_difficulty", "question_type", "subfield")
    pictures = {f"image_{n}": Image() for n in range(1, 8)}
    return {
        **dict.fromkeys(("id", "question", "options", "explanation"), Value("string")),
        **pictures,
        **dict.fromkeys(last if standard else (*last[:3], "subject"), Value("string")),
    }


def outputs_of(model: str) -> dict[str, dict[str, Any]]:
    """Each answer with its options, by the question's id."""
    from json import loads

    files = sorted(OUTPUTS[model].fetched().glob("*/output.json"))
    return {each["id"]: each for file in files for each in loads(file.read_text(encoding="utf-8"))}


def subject_of(name: str) -> str:
    return name.split("_", 1)[1].rsplit("_", 1)[0]


@pytest.mark.parametrize(("model", "hits", "drawn"), [("llava", 330, 2), ("qwen_vl", 325, 48)])
@pytest.mark.parametrize("order", ["by subject", "shuffled"])
def test_the_example_outputs_give_the_scripts_numbers(
    cli: Any, tmp_path: Path, model: str, hits: int, drawn: int, order: str
) -> None:
    outputs = outputs_of(model)
    rows = gold_rows(outputs)
    assert Counter(row["question_type"] for row in rows) == {"multiple-choice": 847, "open": 53}
    if order == "shuffled":
        random.Random(7).shuffle(rows)
        write_table(tmp_path, "lmms-lab/MMMU", "validation", rows, features=features())
    else:
        for subject in dict.fromkeys(subject_of(row["id"]) for row in rows):
            own = [row for row in rows if subject_of(row["id"]) == subject]
            write_table(tmp_path, "MMMU/MMMU", "validation", own, subject, features())
    answers = write_answers(tmp_path / "a.jsonl", {"mmmu_val": [outputs[row["id"]]["response"] for row in rows]})
    ran = cli("--tasks", "mmmu_val", "--model", "replay", "--model_args", f"path={answers}", "--data_root", tmp_path)
    assert ran.code == 0, ran.err
    found = ran.results["results"]["mmmu_val"]
    assert (found["mmmu_acc,none"], found["unparsed"], found["n"]) == (hits / 900, drawn, 900)
    assert f"{100 * found['mmmu_acc,none']:.2f}" == {"llava": "36.67", "qwen_vl": "36.11"}[model]
    levels = ran.results["categories"]["mmmu_val"]
    subjects = {name: round(each["mmmu_acc,none"] * 30) for name, each in levels["subject"].items()}
    assert [subjects[name] for name in sorted(subjects)] == HITS[model]
    assert {name: each["n"] for name, each in levels["discipline"].items()} == DISCIPLINES


@pytest.mark.parametrize(("setting", "mode"), PRO)
def test_gpt_4os_outputs_give_their_recorded_verdicts(cli: Any, tmp_path: Path, setting: str, mode: str) -> None:
    from datasets import Image, Value

    recorded = PRO[setting, mode].jsonl()
    task, text = f"mmmu_pro_{setting}", Value("string")
    if setting == "vision":
        schema = {"id": text, "image": Image(), "options": text, "answer": text, "subject": text}
        rows = [{"image": tiny_picture(), **{key: row[key] for key in schema if key != "image"}} for row in recorded]
        write_table(tmp_path, "MMMU/MMMU_Pro", "test", rows, "vision", schema)
    else:
        schema = features(standard=False)
        shown = {f"image_{n}": tiny_picture() if n == 1 else None for n in range(1, 8)}
        rows = [{**shown, **{key: row[key] for key in schema if key in row}} for row in recorded]
        write_table(tmp_path, "MMMU/MMMU_Pro", "test", rows, "standard (10 options)", schema)
    said = [row["response"] if isinstance(row["response"], str) else "" for row in recorded]
    answers = write_answers(tmp_path / "a.jsonl", {task: said})
    ran = cli("--tasks", task, "--model", "replay", "--model_args", f"path={answers}", "--data_root", tmp_path)
    assert ran.code == 0, ran.err
    drawn = {"standard cot": 0, "standard direct": 7, "vision cot": 3, "vision direct": 48}[f"{setting} {mode}"]
    found = ran.results["results"][task]
    assert found["unparsed"] == drawn
    wanted = {"standard cot": 55.03, "standard direct": 40.12, "vision cot": 50.06, "vision direct": 42.43}
    assert round(100 * found["mmmu_acc,none"], 2) == wanted[f"{setting} {mode}"]
    for row, before in zip(ran.samples(task), recorded, strict=True):
        if row["rules"]["none"] != ["unparsed"]:
            assert row["filtered_resps"]["none"] == [before["pred_indexs"]]
            assert row["scores"]["mmmu_acc,none"] == before["if_right"]
