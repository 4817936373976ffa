"""SimpleVQA: prompts in two languages, pictures as base64, three grades, and the harmonic mean by hand."""

import base64
import io
import json
import re
import shutil

import numpy as np
import pyarrow.parquet as pq
import pytest
from mm_eval.tasks.simplevqa.utils import correct_of_attempted, f1, judge_prompt, verdict
from PIL import Image

from mm_eval.data.media import picture_digest
from tests.sets import each_of, few
from tests.tasks.answers import prompt
from tests.tasks.judged import JUDGE, judged, write_replies
from tests.tasks.of_sample import DATA

TASK = "simplevqa"
RIGHT, WRONG, NONE = (f'```json\n{{"预测答案0": "{grade}"}}\n```' for grade in ("正确", "错误", "未尝试"))
ENGLISH = (
    "If you are a computer vision expert, please understand the picture and answer the question below. The answer must be a "
    "short named entity:\n## Now let's ask the question:\nWhat is the capital of the country with this flag?\n"
)
CHINESE = (
    "假如你是一个计算机视觉专家，请理解图片内容，并回答给出的问题，要求只能回答一个命名实体：\n## 下面我们提出问题: \n"
    "使用这面国旗的国家的首都是哪里？\n"
)


def test_the_prompts(cli) -> None:
    assert prompt(cli, TASK) + "\n" == ENGLISH or prompt(cli, TASK) == ENGLISH
    assert CHINESE.strip() in prompt(cli, TASK, doc=4)
    short = "\nAnswer with a short phrase only."
    assert prompt(cli, TASK, "qwen3_vl") == "What is the capital of the country with this flag?"
    assert prompt(cli, TASK, "qwen3_custom") == f"Question: What is the capital of the country with this flag?{short}"
    assert prompt(cli, TASK, "qwen3_custom", 4) == f"Question: 使用这面国旗的国家的首都是哪里？{short}"


def test_the_judge_gets_question_answer_and_prediction() -> None:
    text = judge_prompt({"question": "Who {is} it?", "answer": "A\\B"}, "C {x}")
    assert text.startswith("请根据给定问题、标准答案和模型预测的答案来评估模型的回答是否正确。")
    assert (
        "问题: Who {is} it? \n" in text and "正确答案: A\\B \n" in text and "预测答案: \n[预测答案0]：C {x} \n" in text
    )
    assert '{\n                "预测答案0": "整体结论' in text


@each_of(
    ("reply", "value"),
    [
        (RIGHT, 1),
        (WRONG, -1),
        (NONE, 0),
        ('{"预测答案0": " **正确** "}', 1),
        ('{"预测答案0": "【错误】"}', -1),
        ("正确", 1),
        ("未尝试。", 0),
        ('{"预测答案0": {"reasoning": "x", "conclusion": "错误"}}', -1),
        ('{"预测答案0": "部分正确"}', None),
        ("A", None),
        ("", None),
        ('{"预测答案0": "正确"', None),
        ('{"预测答案0": "正确", "预测答案1": "错误"}', None),
        ('{"预测答案1": "正确"}', None),
        ('{"预测答案0": "正确", "预测答案0": "错误"}', None),
        ("不正确", None),
        ("正确或错误", None),
        ('{"预测答案0": 1}', None),
        ("CORRECT", None),
        ('{"预测答案0": null}', None),
        (f"{RIGHT}\n{WRONG}", None),
    ],
)
def test_replies(reply: str, value: int | None) -> None:
    assert verdict(reply) == value


def test_the_harmonic_mean_of_what_is_correct_and_correct_of_the_attempted() -> None:
    grades = [1, 1, 1, 0, 0, -1, 1, 0]
    assert correct_of_attempted(grades) == pytest.approx(4 / 5)
    assert f1(grades) == pytest.approx(2 * (4 / 8) * (4 / 5) / (4 / 8 + 4 / 5))
    assert f1([0, 0]) == f1([-1]) == f1([]) == 0 and f1([1]) == 1


def test_a_run_without_chinese_questions(cli, tmp_path) -> None:
    asked = (
        "--tasks",
        TASK,
        "--model",
        "dummy",
        "--sample",
        "--limit",
        4,
        "--no_judge",
        "--output_path",
        tmp_path / "run",
    )
    assert cli(*asked).code == 0


def test_a_judged_run_by_hand(cli, tmp_path) -> None:
    answers = ["Paris", "Italy", "unknown", "", "莫斯科", "四点", "月份", "法语"]
    ran = judged(cli, tmp_path, TASK, answers, [RIGHT, WRONG, NONE, None, RIGHT, WRONG, "?", RIGHT], code=3)
    row = ran.results["results"][TASK]
    names = ("is_correct", "is_incorrect", "is_not_attempted", "accuracy_given_attempted", "f1")
    assert [row[f"{name},none"] for name in names] == pytest.approx([3 / 7, 2 / 7, 2 / 7, 3 / 5, 0.5])
    assert row["judge_failed"] == 1 and all(isinstance(row[f"{name}_stderr,none"], float) for name in names)
    low, high = row["judge_bounds"]  # of f1, the first metric: the failed one incorrect, then correct
    assert low == pytest.approx(f1([1, -1, 0, 0, 1, -1, -1, 1])) and high == pytest.approx(
        f1([1, -1, 0, 0, 1, -1, 1, 1])
    )
    found = ran.results["categories"][TASK]["language"]
    assert list(found) == ["Chinese", "English"] and found["English"]["is_correct,none"] == pytest.approx(1 / 4)


@pytest.mark.parametrize(
    "missing", few([{"resps": [""], "ended": "filtered"}, {"resps": ["<think>a capital"]}], at=[0])
)
def test_a_missing_answer_is_incorrect_and_an_empty_one_is_not_attempted(cli, tmp_path, missing) -> None:
    """A filter, or a cap that ends the reasoning, must not give a better f1 than wrong answers do."""
    names = ("is_correct", "is_incorrect", "is_not_attempted", "accuracy_given_attempted", "f1")

    def shares(rows: list[dict], replies: list[str | None]) -> tuple[list[float], dict]:
        path = tmp_path / f"answers-{len(list(tmp_path.iterdir()))}.jsonl"
        path.write_text("".join(json.dumps({"task": TASK, "doc_id": n, **row}) + "\n" for n, row in enumerate(rows)))
        replied = write_replies(tmp_path / f"{path.stem}-replies.jsonl", TASK, replies)
        asked = ("--judge", "replay", "--judge_args", f"path={replied},name={JUDGE}", "--sample")
        words = ("--tasks", TASK, "--model", "replay", "--model_args", f"path={path}")
        ran = cli(*words, *asked, "--output_path", tmp_path / path.stem)
        assert ran.code == 0, ran.err
        row = ran.results["results"][TASK]
        return [row[f"{name},none"] for name in names], row

    right = [{"resps": ["Paris"]}] * 4
    lost, row = shares([*right, *[missing] * 4], [*[RIGHT] * 4, *[None] * 4])
    wrong, _ = shares([*right, *[{"resps": ["Rome"]}] * 4], [*[RIGHT] * 4, *[WRONG] * 4])
    empty, _ = shares([*right, *[{"resps": [""]}] * 4], [*[RIGHT] * 4, *[None] * 4])
    assert lost == wrong == [0.5, 0.5, 0, 0.5, 0.5] and empty[:3] == [0.5, 0, 0.5] and empty[-1] > lost[-1]
    assert row["unanswered"] == 4 and row["value_without_unanswered"]["f1,none"] == 1


def test_its_examples_hold(cli) -> None:
    assert cli("validate", TASK, "--sample").code == 0


def test_a_broken_picture_fails_one_doc(cli, tmp_path) -> None:
    root = tmp_path / "root"
    shutil.copytree(DATA / "m-a-p", root / "m-a-p")
    [file] = (root / "m-a-p" / "SimpleVQA").rglob("*.parquet")
    table = pq.read_table(file)
    pictures = ["no base64", "bm8gcGljdHVyZQ==", None, *table["image"].to_pylist()[3:]]
    place = table.column_names.index("image")
    pq.write_table(table.set_column(place, table.field("image"), [pictures]), file)
    ran = judged(cli, tmp_path, TASK, ["x"] * 8, [RIGHT] * 8, data=("--data_root", root), code=3)
    row = ran.results["results"][TASK]
    assert (row["n"], row["failed"], row["judge_failed"], row["is_correct,none"]) == (8, 3, 0, 1.0)
    assert [bool(sample["scores"]) for sample in ran.samples(TASK)] == [False] * 3 + [True] * 5


def test_pictures_in_base64_are_of_any_format_upright_and_of_8_bits(cli, tmp_path) -> None:
    """Also the name of a file below the data's folder, in place of base64."""
    wide = Image.new("RGB", (60, 40), "green")
    grey = Image.fromarray(np.full((40, 60), 65534, np.uint16))
    files = [io.BytesIO() for _ in range(5)]
    for number, kind in enumerate(("JPEG", "AVIF", "JPEG2000", "PNG", "TIFF")):
        exif = Image.Exif()
        exif[0x0112] = 6
        turned = {} if kind in ("JPEG2000", "PNG") else {"exif": exif}
        (grey if kind == "PNG" else wide).save(files[number], kind, **turned)
    root = tmp_path / "root"
    shutil.copytree(DATA / "m-a-p", root / "m-a-p")
    [file] = (root / "m-a-p" / "SimpleVQA").rglob("*.parquet")
    (root / "m-a-p" / "SimpleVQA" / "own.avif").write_bytes(files[1].getvalue())
    table = pq.read_table(file)
    pictures = [base64.b64encode(each.getvalue()).decode() for each in files] + ["own.avif"]
    pictures += table["image"].to_pylist()[len(pictures) :]
    pq.write_table(table.set_column(table.column_names.index("image"), table.field("image"), [pictures]), file)
    shown = []
    for number in range(6):
        ran = cli("show", TASK, "--data_root", root, "--model", "dummy", "--doc", number)
        assert ran.code == 0, ran.err
        shown.append(re.search(r"picture 0: (\d+ x \d+) +sha256 ([0-9a-f]+)", ran.out).groups())
    assert [size for size, _ in shown] == ["40 x 60", "40 x 60", "60 x 40", "60 x 40", "40 x 60", "40 x 60"]
    assert picture_digest(Image.new("RGB", (60, 40), "white")).startswith(shown[3][1])
