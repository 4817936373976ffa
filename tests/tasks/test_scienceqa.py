"""ScienceQA: prompts, hard answers by LLaVA's rule and by lmms-eval's, questions without a picture, the classes by hand."""

from pathlib import Path

import pytest

from tests.sets import few
from tests.tasks.of_sample import read_one_doc, replay, text_of

TASKS = ("scienceqa", "scienceqa_img", "scienceqa_lmms", "scienceqa_img_lmms")
HINT = "A season is a part of the year with its own weather."
QUESTION, OPTIONS = "Which season does the picture most likely show?", "A. summer\nB. winter\n"
LETTER = "Answer with the option's letter from the given choices directly."
QWEN = f"Hint: {HINT}\nQuestion: {QUESTION}\nOptions:\n{OPTIONS}"
PROMPTS = {
    None: f"Context: {HINT}\n{QUESTION}\n{OPTIONS}{LETTER}",
    "qwen_vl": f"Context: {HINT}\nQuestion: {QUESTION}\nOptions: {OPTIONS}Answer:",
    "internvl": f"{HINT}\n{QUESTION}\n{OPTIONS}{LETTER}",
    "qwen2_5_vl": f"{QWEN}Please select the correct answer from the options above. \n",
    "qwen3_vl": f"{QWEN}Please select the correct answer from the options above. \n",
    "qwen_custom": f"{QWEN}Please select the correct answer from the options above.",
    "qwen3_custom": f"{QWEN}Answer with the option letter only.",
}
WITHOUT_HINT = {  # of the sample's third question
    None: f"Which word describes this place?\nA. wet\nB. dry\n{LETTER}",
    "qwen_vl": "Context: N/A\nQuestion: Which word describes this place?\nOptions: A. wet\nB. dry\nAnswer:",
    "qwen2_5_vl": "Question: Which word describes this place?\nOptions:\nA. wet\nB. dry\n"
    "Please select the correct answer from the options above. \n",
}
HARD = [  # on the first question, gold B of A and B: by LLaVA's rule, by lmms-eval's; None is unparsed
    ("B", 1, 1),
    (" B\n", 1, 1),
    ("B. winter", 1, 1),
    ("The answer is B.", 1, None),
    ("Snow falls in winter.\nThe answer is B. BECAUSE: it is cold.", 1, None),
    ("The answer is BLUE", 1, None),
    ("A", 0, 0),
    ("A. summer", 0, 0),
    ("The answer is A.", 0, None),
    ("A. The answer is B.", 0, 0),
    ("b", None, 1),
    ("B.", None, 1),
    ("B.winter", None, 1),
    ("B)", None, None),
    ("(B)", None, None),
    ("The answer is B", None, None),
    ("The answer is (B).", None, None),
    ("the answer is B.", None, None),
    ("The answer is A. No, wait. The answer is B.", None, None),
    ("C", None, None),
    ("The answer is F.", None, None),
    ("winter", None, None),
    ("答案是B", None, None),
    ("I cannot tell.", None, None),
    ("", None, None),
    ("<think>Not A.</think>B", 1, 1),
    ("<think>The answer is B.", None, None),
]


def prompt(cli, folder: Path, key: str | None, doc: int) -> str:
    ran = replay(cli, folder, "scienceqa", ["A"] * 14, *(["--prompt_key", key] if key else []))
    assert ran.code == 0, ran.err
    return text_of(ran.samples("scienceqa")[doc]["prompt"])


@pytest.mark.parametrize("key", few(PROMPTS, at=[0, 2, 4]))
def test_the_prompts(cli, tmp_path: Path, key: str | None) -> None:
    assert prompt(cli, tmp_path, key, 0) == PROMPTS[key]


@pytest.mark.parametrize("key", few(WITHOUT_HINT, at=[0]))
def test_the_prompts_of_a_question_without_hint(cli, tmp_path: Path, key: str | None) -> None:
    assert prompt(cli, tmp_path, key, 2) == WITHOUT_HINT[key]


@pytest.mark.parametrize(("task", "column"), [("scienceqa_img", 1), ("scienceqa_img_lmms", 2)])
def test_hard_answers(cli, tmp_path: Path, task: str, column: int) -> None:
    file = "lmms-lab/ScienceQA/ScienceQA-IMG/test-00000-of-00001.parquet"
    ran = read_one_doc(cli, tmp_path, task, file, 0, [row[0] for row in HARD])
    found = {}
    for (answer, *_), row in zip(HARD, ran.samples(task), strict=True):
        assert row["target"] == "B" and row["doc"]["choices"] == ["summer", "winter"]
        unread = row["rules"]["none"] in (["unparsed"], ["truncated"])
        found[answer] = None if unread else int(row["scores"]["acc,none"])
        assert not (unread and row["scores"]["acc,none"])
    assert found == {row[0]: row[column] for row in HARD}
    counts = ran.results["results"][task]
    assert counts["unparsed"] + counts["truncated"] == sum(row[column] is None for row in HARD)


def test_the_classes(cli, tmp_path: Path) -> None:
    ran = replay(cli, tmp_path, "scienceqa", ["B"] * 14)
    rows = ran.samples("scienceqa")
    right = [row["target"] == "B" for row in rows]
    assert ran.results["results"]["scienceqa"]["acc,none"] == sum(right) / 14
    levels = ran.results["categories"]["scienceqa"]
    sizes = {level: {name: row["n"] for name, row in found.items()} for level, found in levels.items()}
    assert sizes["subject"] == {"NAT": 7, "SOC": 3, "LAN": 4}
    assert sizes["context"] == {"TXT": 5, "IMG": 8, "NO": 4}  # three questions have both a text and a picture
    assert sizes["grades"] == {"G1-6": 9, "G7-12": 5}
    assert len(sizes["topic"]) == 12
    language = [hit for row, hit in zip(rows, right, strict=True) if row["doc"]["subject"] == "language science"]
    assert levels["subject"]["LAN"]["acc,none"] == sum(language) / 4
    pictures = right[:8]
    assert levels["context"]["IMG"]["acc,none"] == sum(pictures) / 8
    assert [bool(row.get("images")) for row in rows] == [True] * 8 + [False] * 6
