"""MME-RealWorld, also in full and in Chinese: the prompt, the authors' rule for letters, tasks, domains and abilities."""

import pytest

from tests.tasks.made_up import MadeUp, categories, prompt

LITE = MadeUp("mme_realworld_lite", "yifanzhang114/MME-RealWorld-lite-lmms-eval", "train")
OPTIONS = ["(A) 13", "(B) 90", "(C) seventy", "(D) 6", "(E) The image does not feature the buses"]
END = (
    "\nSelect the best answer to the above multiple-choice question based on the image. Respond with only the letter "
    "(A, B, C, D, or E) of the correct option.\nThe best answer is:"
)


def test_the_prompt(cli) -> None:
    question, _, rest = prompt(cli, "mme_realworld_lite").partition(" The choices are listed below: \n")
    listed = rest.removesuffix(END).split("\n")
    assert question.endswith("?") and rest.endswith(END)
    assert [line[:4] for line in listed] == [f"({letter}) " for letter in "ABCDE"]


def test_families_have_the_prompt_of_vlmevalkit(cli) -> None:
    asked = prompt(cli, "mme_realworld_lite", "qwen3_vl")
    assert " The choices are listed below:\n(A) " in asked and asked.endswith(
        " of the correct option. \nThe best answer is:"
    )
    assert prompt(cli, "mmerealworld_cn", "internvl").endswith("（A, B, C, D 或 E）。\n最佳答案为：")


HARD = [  # answer, the letter that the script finds, read
    ("B", "B"),
    ("(B)", "B"),
    ("B.", "B"),
    ("The answer is (B).", "B"),
    ("The best answer is: B", "B"),
    ("The best option is B", "B"),
    ("the answer is b", None),
    ("Answer: B", "A"),
    ("Answer: C because B is wrong", "A"),
    ("**B**", "B"),
    ("\\boxed{B}", "B"),
    ("Both are plausible", "B"),
    ("B and C", "B"),
    ("I can't see any buses.", None),
    ("Can't say", "C"),
    ("90", "B"),
    ("seventy", "C"),
    ("The image does not feature the buses", "E"),
    ("9", "B"),
    ("答案是B", "B"),
    ("", None),
    ("<think>B", None),
    ("<think>C?</think>B", "B"),
    ("it is not possible to say how many there are in this one", None),
]


def test_hard_answers(cli, tmp_path) -> None:
    for right in "ABCE":
        folder = tmp_path / right
        folder.mkdir()
        docs = [{"multi-choice options": OPTIONS, "answer": right} for _ in HARD]
        ran = LITE.run(cli, folder, docs, [answer for answer, _ in HARD])
        rows = ran.samples("mme_realworld_lite")
        found = [row["scores"]["mme_realworld_score,none"] for row in rows]
        assert found == [float(letter == right) for _, letter in HARD]
        read = [row["rules"]["none"][0] not in ("unparsed", "truncated") for row in rows]
        assert read == [letter is not None for _, letter in HARD]


def test_tasks_domains_and_abilities(cli, tmp_path) -> None:
    kinds = [
        ("Perception/Monitoring", "Vehicle/Attribute/color"),
        ("Perception/Monitoring", "vehicle/attribute/shape"),
        ("Perception/Remote Sensing", "Count"),
        ("Reasoning/Monitoring", "intention"),
    ]
    docs = [{"multi-choice options": OPTIONS, "answer": "A", "category": c, "l2-category": name} for c, name in kinds]
    ran = LITE.run(cli, tmp_path, docs, ["A", "B", "A", "A"])
    row, key = ran.results["results"]["mme_realworld_lite"], "mme_realworld_score,none"
    assert row[key] == 0.75 and row["average_of_subtasks,none"] == pytest.approx((0.5 + 1 + 1) / 3)
    of = {level: categories(ran, "mme_realworld_lite", level, key) for level in ("task", "subtask", "l2-category")}
    assert of["task"] == {"Perception": pytest.approx(2 / 3), "Reasoning": 1}
    assert of["subtask"] == {"Monitoring": pytest.approx(2 / 3), "Remote Sensing": 1}
    assert of["l2-category"] == {"vehicle/attribute": 0.5, "count": 1, "intention": 1}


CHINESE = MadeUp("mmerealworld_cn", "yifanzhang114/MME-RealWorld-CN-Lmms-eval", "train")


def test_the_whole_asks_as_the_lite_version_does_and_the_chinese_one_in_chinese(cli) -> None:
    assert prompt(cli, "mmerealworld").endswith(END) and " The choices are listed below: \n(A) " in prompt(
        cli, "mmerealworld"
    )
    assert prompt(cli, "mmerealworld_cn") == (
        "几点关门？ 选项如下所示:\n(A) 17点\n(B) 9点\n(C) 8点\n(D) 18点\n(E) 图片中没有"
        "\n根据图像选择上述多项选择题的最佳答案。只需回答正确选项的字母（A, B, C, D 或 E）。\n 最佳答案为："
    )


def test_chinese_answers(cli, tmp_path) -> None:
    answers = ["A", "答案是B", "（C）", "17点", "图片中没有", "二十一点", "最佳答案为：D"]
    options = ["（A） 17点", "（B） 9点", "（C） 8点", "（D） 18点", "（E） 图片中没有"]
    for right in "ABCDE":
        (tmp_path / right).mkdir()
        docs = [{"multi-choice options": options, "answer": right}] * len(answers)
        found = CHINESE.scores(cli, tmp_path / right, docs, answers, "mme_realworld_score,none")
        assert found == [float(right == letter) for letter in ("A", "B", "C", "A", "E", None, "D")]
