"""OCRBench: prompts, containment, hits of 1000 and of each type."""

import io

import pytest
from PIL import Image

from tests.tasks.made_up import QWEN2, QWEN3, SHORT, MadeUp, categories, prompt

OCRBENCH = MadeUp("ocrbench", "echo840/OCRBench", "test")
READ = "what is written in the image?"


@pytest.mark.parametrize(
    ("key", "ending"),
    [
        (None, ""),
        ("qwen2_vl", QWEN2),
        ("qwen2_5_vl", ""),
        ("qwen3_vl", ""),
        ("qwen_custom", QWEN2),
        ("qwen3_custom", QWEN3),
        ("internvl", SHORT),
    ],
)
def test_the_prompt_of_each_model_family(cli, key: str | None, ending: str) -> None:
    assert prompt(cli, "ocrbench", key) == READ + ending


FORMULA = "\\frac { 9 - 1 } { 2 } = 4\n"
HARD = [
    ("IIIT5K", ["CENTRE"], "centre", 1),
    ("IIIT5K", ["CENTRE"], "The word is 'Centred'.", 1),
    ("IIIT5K", ["CENTRE"], "center", 0),
    ("ORAND", ["12"], "no 12", 1),
    ("ORAND", ["1"], "no 12", 1),
    ("STVQA", ["old town", "old town square"], "Old\nTown", 1),
    ("STVQA", ["old town"], "Old  Town", 0),
    ("SROIE", ["1,234.50"], "$1,234.50", 1),
    ("SROIE", ["1,234.50"], "1234.50", 0),
    ("SROIE", ["25 %"], "25%", 0),
    ("docVQA", ["yes"], "yes, there is no dog", 1),
    ("docVQA", ["b"], "The answer is (B).", 1),
    ("ESTVQA_cn", ["出口"], "出口在左边", 1),
    ("ESTVQA_cn", ["A１"], "A1", 0),
    ("IAM", ["letters"], "I cannot read it.", 0),
    ("IAM", ["letters"], "<think>Letters or litters?</think>letters", 1),
    ("IAM", ["letters"], "<think>letters", 0),
    ("HME100k", [FORMULA], "$\\frac{9-1}{2}=4$", 1),
    ("HME100k", [FORMULA], "\\boxed{\\frac{9-1}{2} = 4}", 1),
    ("HME100k", ["A B"], "ab", 0),
    ("HME100k", ["A B"], "A\nB", 1),
    ("IAM", ["A B"], "ab", 0),
]


def test_hard_answers(cli, tmp_path) -> None:
    docs = [{"dataset": dataset, "answer": gold} for dataset, gold, _, _ in HARD]
    found = OCRBENCH.scores(cli, tmp_path, docs, [row[2] for row in HARD], "hits,none")
    assert found == [row[3] for row in HARD]


TYPES = {
    "Regular Text Recognition": 50,
    "Irregular Text Recognition": 50,
    "Artistic Text Recognition": 50,
    "Handwriting Recognition": 50,
    "Digit String Recognition": 50,
    "Non-Semantic Text Recognition": 50,
    "Scene Text-centric VQA": 200,
    "Doc-oriented VQA": 200,
    "Key Information Extraction": 200,
    "Handwritten Mathematical Expression Recognition": 100,
}


def picture(number: int) -> dict[str, object]:
    """A picture that no other number has, since docs with one picture are one cluster."""
    file = io.BytesIO()
    Image.new("RGB", (1, 1), (number % 256, number // 256, 0)).save(file, "PNG")
    return {"bytes": file.getvalue(), "path": None}


@pytest.mark.full
def test_a_full_run_counts_hits_of_1000_and_of_each_type(cli, tmp_path) -> None:
    kinds = [kind for kind, size in TYPES.items() for _ in range(size)]
    docs = [
        {"question_type": kind, "answer": ["ok"], "dataset": "IAM", "image": picture(n)} for n, kind in enumerate(kinds)
    ]
    answers = ["OK" if n % 3 else "no" for n in range(1000)]
    ran = OCRBENCH.run(cli, tmp_path, docs, answers)
    row = ran.results["results"]["ocrbench"]
    assert row["ocrbench_score,none"] == row["hits,none"] == 666 and row["ocrbench_accuracy,none"] == 0.666
    assert row["ocrbench_score_stderr,none"] == pytest.approx(row["hits_stderr,none"], rel=0.01)
    by_type = categories(ran, "ocrbench", "question_type", "hits,none")
    right = {kind: sum(a == "OK" for a, k in zip(answers, kinds, strict=True) if k == kind) for kind in TYPES}
    assert list(by_type.items()) == list(right.items())
    sections = categories(ran, "ocrbench", "section", "hits,none")
    assert sections["Text Recognition"] == sum(list(right.values())[:6]) == 200 and len(sections) == 5
    assert categories(ran, "ocrbench", "section", "n")["Text Recognition"] == 300


def test_with_a_limit_the_score_is_still_of_1000(cli, tmp_path) -> None:
    docs = [{"answer": ["ok"]}] * 10
    answers = ["ok", "no", "ok", "ok"] + ["ok"] * 6
    row = OCRBENCH.run(cli, tmp_path, docs, answers, options=["--limit", 4]).results["results"]["ocrbench"]
    assert (row["ocrbench_score,none"], row["hits,none"], row["n"]) == (750, 3, 4)
