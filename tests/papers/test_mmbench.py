"""LLaVA-1.5 on MMBench: 67.7 (13B) in arXiv:2310.03744, from recorded answers and the answer key that was uploaded with them.

The key has no hints and no categories. It is of the dev file of 2023-07-12, with 1,176 questions in 4,377 rows.
"""

import math
from pathlib import Path
from typing import Any

import pytest

from tests.papers.recordings import Recording, tiny_picture, verdict, write_answers, write_table
from tests.papers.spreadsheet import rows_of

LLAVA = "32cebc3809441cc40d8ac7b2855d148308741f2a"
KEY = Recording(
    "haotian-liu/LLaVA",
    LLAVA,
    "playground/data/eval/mmbench/answers_upload/mmbench_dev_20230712/llava-v1.5-13b.xlsx",
)
ANSWERS = Recording(
    "haotian-liu/LLaVA", LLAVA, "playground/data/eval/mmbench/answers/mmbench_dev_20230712/llava-v1.5-13b.jsonl"
)


def gold(index_as_text: bool) -> list[dict[str, Any]]:
    """The rows of the answer key in the hub's schema."""
    found = []
    for row in rows_of(KEY.fetched()):
        options = {letter: row[letter] or "nan" for letter in "ABCD"}
        number = int(row["index"])
        found.append(
            {"index": str(number) if index_as_text else number, "question": row["question"], "hint": "nan"}
            | {"answer": row["answer"], **options, "category": "unknown", "image": tiny_picture(), "source": "nan"}
            | {"L2-category": "unknown", "comment": "nan", "split": row["split"]}
        )
    return found


@pytest.mark.parametrize(("task", "config"), [("mmbench_en_dev", "en"), ("mmbench_cn_dev", "cn")])
def test_llava_1_5_13b(cli, tmp_path: Path, task: str, config: str) -> None:
    rows, answers = gold(index_as_text=config == "en"), {row["question_id"]: row["text"] for row in ANSWERS.jsonl()}
    features = _features(config)
    write_table(tmp_path, "lmms-lab/MMBench", "dev", rows, config, features)
    replayed = write_answers(tmp_path / "answers.jsonl", {task: [answers[int(row["index"])] for row in rows]})
    words = ("--tasks", task, "--model", "replay", "--model_args", f"path={replayed}", "--data_root", tmp_path)
    ran = cli(*words, "--protocol", "llava-1.5", "--name", "llava-v1.5-13b")
    assert ran.code == 0, ran.err
    if config == "en":
        assert verdict(ran.results, task) == "matches"
    else:  # the English answers under the Chinese task: its number is that of another language
        assert verdict(ran.results, task) == "off by +4.09 (more than sampling error)"
    found = ran.results["results"][task]
    assert found["n"] == 4377 and found["unparsed"] == 0
    assert found["circular_acc,none"] == pytest.approx(796 / 1176)  # 67.69; printed 67.7
    assert found["vanilla_0,none"] == pytest.approx(887 / 1176)  # 75.43
    share = 796 / 1176
    assert found["circular_acc_stderr,none"] == pytest.approx(math.sqrt(share * (1 - share) / 1175))


def _features(config: str) -> dict[str, Any]:
    from datasets import Image, Value

    text = Value("string")
    columns = (
        "question",
        "hint",
        "answer",
        "A",
        "B",
        "C",
        "D",
        "category",
        "image",
        "source",
        "L2-category",
        "comment",
        "split",
    )
    index = text if config == "en" else Value("int64")
    return {"index": index} | {name: Image() if name == "image" else text for name in columns}
