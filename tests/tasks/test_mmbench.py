"""MMBench: prompts, circular and vanilla accuracy, cut groups, and the TSV files of v1.1."""

import base64
import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from tests.sets import few
from tests.tasks.of_sample import read_one_doc, replay, text_of

TASKS = ("mmbench_en_dev", "mmbench_cn_dev", "mmbench_en_dev_v11", "mmbench_cn_dev_v11")
LETTER = "Answer with the option's letter from the given choices directly."
QWEN = "Hint: The picture shows a traffic light.\nQuestion: What should a driver do here?\nOptions:\nA. stop\nB. drive on\n"
LLAVA = "The picture shows a traffic light.\nWhat should a driver do here?\nA. stop\nB. drive on\n"
PROMPTS = {
    None: f"{QWEN}Please select the correct answer from the options above. \n",
    "llava": LLAVA + LETTER,
    "internvl": LLAVA + LETTER,
    "qwen_vl": LLAVA + LETTER,
    "qwen2_vl": f"{QWEN}Please select the correct answer from the options above.",
    "qwen2_5_vl": f"{QWEN}Please select the correct answer from the options above. \n",
    "qwen3_vl": f"{QWEN}Please select the correct answer from the options above. \n",
    "qwen_custom": f"{QWEN}Please select the correct answer from the options above.",
    "qwen3_custom": f"{QWEN}Answer with the option letter only.",
}
QWEN_CN = "Hint: 图片中有一个交通信号灯。\nQuestion: 司机在这里应该怎么做？\nOptions:\nA. 停车\nB. 继续行驶\n"
LLAVA_CN = "图片中有一个交通信号灯。\n司机在这里应该怎么做？\nA. 停车\nB. 继续行驶\n"
CHINESE = {
    None: f"{QWEN_CN}Please select the correct answer from the options above. \n",
    "llava": f"{LLAVA_CN}请直接回答选项字母。",
    "internvl": f"{LLAVA_CN}请直接回答选项字母。",
    "qwen2_5_vl": f"{QWEN_CN}Please select the correct answer from the options above. \n",
    "qwen_custom": f"{QWEN_CN}请直接回答选项字母。",
    "qwen3_custom": f"{QWEN_CN}Answer with the option letter only.",
}
QUESTION = 4  # the sample's row with two options and a hint


def prompts(cli: Any, tmp_path: Path, task: str, key: str | None) -> list[str]:
    ran = replay(cli, tmp_path, task, ["A"] * 17, *(["--prompt_key", key] if key else []))
    assert ran.code == 0, ran.err
    return [row["prompt"] for row in ran.samples(task)]


@pytest.mark.parametrize("key", few(PROMPTS, at=[0, 1, 6]))
@pytest.mark.parametrize("task", few(["mmbench_en_dev", "mmbench_en_dev_v11"], "mmbench_en_dev_v11"))
def test_the_english_prompts(cli, tmp_path: Path, task: str, key: str | None) -> None:
    assert text_of(prompts(cli, tmp_path, task, key)[QUESTION]) == PROMPTS[key]


@pytest.mark.parametrize("key", few(CHINESE, at=[0, 1, 5]))
def test_the_chinese_prompts(cli, tmp_path: Path, key: str | None) -> None:
    assert text_of(prompts(cli, tmp_path, "mmbench_cn_dev", key)[QUESTION]) == CHINESE[key]


def test_a_missing_hint_and_missing_options_are_not_shown(cli, tmp_path: Path) -> None:
    for text in map(text_of, prompts(cli, tmp_path, "mmbench_en_dev", None)):
        assert "nan" not in text and "None" not in text and ("Hint" in text) == ("driver" in text)


def test_circular_and_vanilla_accuracy(cli, tmp_path: Path) -> None:
    ran = replay(cli, tmp_path, "mmbench_en_dev", ["A"] * 17)
    gold = [row["target"] for row in ran.samples("mmbench_en_dev")]
    wrong_in_a_rotation = [
        *gold[:5],
        "B" if gold[5] == "A" else "A",
        *gold[6:],
    ]  # the second row of the two-way question
    unread = [*wrong_in_a_rotation[:6], "I can't tell.", *wrong_in_a_rotation[7:]]  # question 3, as written
    ran = replay(cli, tmp_path, "mmbench_en_dev", unread, "--output_path", tmp_path / "second")
    row = ran.results["results"]["mmbench_en_dev"]
    assert row["circular_acc,none"] == 4 / 6
    assert row["vanilla_0,none"] == 5 / 6
    assert row["vanilla_all,none"] == 15 / 17
    assert row["unparsed"] == 1 and row["n"] == 17


def test_abilities_are_scored_by_question(cli, tmp_path: Path) -> None:
    ran = replay(cli, tmp_path, "mmbench_en_dev", ["A"] * 17)
    gold = [row["target"] for row in ran.samples("mmbench_en_dev")]
    said = [*gold[:8], "D", *gold[9:]]  # one of the three rows of the poster is wrong
    for task in ("mmbench_en_dev", "mmbench_en_dev_v11"):
        ran = replay(cli, tmp_path, task, said, "--output_path", tmp_path / task)
        levels = ran.results["categories"][task]
        found = {
            name: (row["circular_acc,none"], row["vanilla_0,none"], row["n"])
            for name, row in levels["L2-category"].items()
        }
        sizes = {"CP": 4, "FP-S": 3, "FP-C": 2, "AR": 2, "LR": 4, "RR": 2}
        assert found == {name: (float(name != "FP-S"), 1.0, size) for name, size in sizes.items()}
        assert list(found) == list(sizes)
        assert levels["category"]["ocr"]["vanilla_all,none"] == 2 / 3


def test_a_limit_takes_whole_questions_and_a_part_of_one_has_no_number(cli, tmp_path: Path) -> None:
    ran = replay(cli, tmp_path, "mmbench_en_dev", ["A"] * 17)
    gold = [row["target"] for row in ran.samples("mmbench_en_dev")]
    wrong = ["B" if gold[0] == "A" else "A", *gold[1:]]
    for answers, found in ((gold, 1.0), (wrong, 0.0)):
        one = replay(cli, tmp_path, "mmbench_en_dev", answers, "--limit", 1, "--output_path", tmp_path / f"one{found}")
        assert one.code == 0 and one.results["results"]["mmbench_en_dev"]["circular_acc,none"] == found
        assert len(one.samples("mmbench_en_dev")) == 4
    chosen = ("--samples", '{"mmbench_en_dev": [0, 1, 2]}', "--output_path", tmp_path / "part")
    part = replay(cli, tmp_path, "mmbench_en_dev", gold, *chosen)
    assert part.code == 0 and part.results["results"]["mmbench_en_dev"]["circular_acc,none"] is None
    assert "no question has all of its rotations" in part.out + part.err


HARD = [  # on the options A. a beach, B. a forest, C. a city, D. a farm in some rotation; L: the gold letter, W: a wrong one
    ("{L}", "right"),
    ("{L}. {text}", "right"),
    ("({L})", "right"),
    ("The answer is ({L}).", "right"),
    ("**{L}**", "right"),
    ("\\boxed{{{L}}}", "right"),
    ("Option {L}", "right"),
    ("{text}", "right"),
    ("The correct answer is **{L}**. Here is why: there is sand, and the sea lies behind it.", "right"),
    ("<think>A or B?</think>{L}", "right"),
    ("<think>A or B? I would say {L}", "unparsed"),  # thinking that never ends
    ("{W}", "wrong"),
    ("The answer is {W}.", "wrong"),
    ("Answer: {L} because {W} is wrong", "unparsed"),
    ("{L} or {W}", "unparsed"),
    ("答案是{L}", "unparsed"),
    ("I'm sorry, but I can't help with that.", "unparsed"),
    ("E", "unparsed"),
    ("", "unparsed"),
]


READ_BY_OURS = ("Answer: {L} because {W} is wrong", "答案是{L}")


@pytest.mark.parametrize("task", ["mmbench_en_dev", "mmbench_en_dev_mcq_letter"])
def test_hard_answers_are_read_by_the_official_rule_without_judge_or_by_ours(cli, tmp_path: Path, task: str) -> None:
    gold, text = "B", "a beach"  # of the sample's first row
    said = [answer.format(L=gold, W="D", text=text) for answer, _ in HARD]
    wanted = [verdict for _, verdict in HARD]
    if task != "mmbench_en_dev":
        wanted = ["right" if answer in READ_BY_OURS else verdict for answer, verdict in HARD]
    ran = read_one_doc(cli, tmp_path, task, "lmms-lab/MMBench/en/dev-00000-of-00001.parquet", 0, said)
    found = []
    for row in ran.samples(task):
        assert row["target"] == gold and row["doc"][gold] == text
        score, unread = row["scores"]["vanilla_0,none"], row["rules"]["none"] in (["unparsed"], ["truncated"])
        found.append("unparsed" if unread else "right" if score else "wrong")
        assert not (unread and score)
    assert list(zip(said, found, strict=True)) == list(zip(said, wanted, strict=True))


def test_a_tsv_file_of_v11_in_a_data_root_is_read(cli, tmp_path: Path) -> None:
    folder = tmp_path / "opencompass" / "MMBench_DEV_EN_V11"
    folder.mkdir(parents=True)
    pictures = []
    for color in ("red", "blue"):
        buffer = io.BytesIO()
        Image.new("RGB", (40, 30), color).save(buffer, "PNG")
        pictures.append(base64.b64encode(buffer.getvalue()).decode())
    head = [
        "index",
        "question",
        "hint",
        *"ABCD",
        "answer",
        "category",
        "image",
        "source",
        "l2-category",
        "comment",
        "split",
    ]
    rows = [
        [
            1,
            "Which colour?",
            "",
            "red",
            "blue",
            "",
            "",
            "A",
            "colour",
            pictures[0],
            "own",
            "coarse_perception",
            "",
            "dev",
        ],
        [2, "How many?", "look", "3", "4", "", "", "B", "count", pictures[1], "own", "logic_reasoning", "", "dev"],
        [
            1000001,
            "Which colour?",
            "",
            "blue",
            "red",
            "",
            "",
            "B",
            "colour",
            "1",
            "own",
            "coarse_perception",
            "",
            "dev",
        ],
        [1000002, "How many?", "look", "4", "3", "", "", "A", "count", "2", "own", "logic_reasoning", "", "dev"],
    ]
    with (folder / "MMBench_DEV_EN_V11.tsv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter="\t").writerows([head, *rows])
    ran = replay(cli, tmp_path, "mmbench_en_dev_v11", ["A", "B", "red", "B"], "--data_root", tmp_path, "--offline")
    assert ran.code == 0, ran.err
    found = ran.results["results"]["mmbench_en_dev_v11"]
    assert (found["circular_acc,none"], found["vanilla_0,none"], found["vanilla_all,none"]) == (0.5, 1.0, 0.75)
    samples = ran.samples("mmbench_en_dev_v11")
    assert text_of(samples[3]["prompt"]).startswith("Hint: look\nQuestion: How many?\nOptions:\nA. 4\nB. 3\nPlease")
    assert samples[0].get("images") == samples[2].get("images") and "base64" not in json.dumps(samples[0])


def test_a_picture_of_a_tsv_file_that_cannot_be_read_costs_its_own_rows_only(cli, tmp_path: Path) -> None:
    folder = tmp_path / "opencompass" / "MMBench_DEV_EN_V11"
    folder.mkdir(parents=True)
    buffer = io.BytesIO()
    Image.new("RGB", (40, 30), "red").save(buffer, "PNG")
    pictures = [base64.b64encode(buffer.getvalue()).decode(), "x" * 101, "77"]  # the last names a row that is not there
    head = [
        "index",
        "question",
        "hint",
        *"ABCD",
        "answer",
        "category",
        "image",
        "source",
        "l2-category",
        "comment",
        "split",
    ]
    rows = [
        [
            k * 1_000_000 + n,
            f"Question {n}?",
            "",
            "one",
            "two",
            "",
            "",
            "A",
            "x",
            pictures[n] if k == 0 else n,
            "",
            "",
            "",
            "dev",
        ]
        for k in range(2)
        for n in range(3)
    ]
    with (folder / "MMBench_DEV_EN_V11.tsv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file, delimiter="\t").writerows([head, *rows])
    ran = cli("show", "mmbench_en_dev_v11", "--data_root", tmp_path, "--doc", 3, "--model", "dummy")
    assert ran.code == 0 and "40 x 30" in ran.out, ran.err
    ran = cli("--tasks", "mmbench_en_dev_v11", "--model", "dummy", "--data_root", tmp_path)
    assert ran.results["results"]["mmbench_en_dev_v11"]["failed"] == 4, ran.err
