"""AI2D: prompts, hard answers by our letter rule and by lmms-eval's, and the index that the hub has as text."""

from pathlib import Path

import pytest

from tests.tasks.of_sample import read_one_doc, replay, text_of

TASKS = ("ai2d", "ai2d_no_mask", "ai2d_lmms")
OPTIONS = "A. grass\nB. the hare\nC. nothing\nD. the sun\n"
DEFAULT = f"What does the fox eat?\n{OPTIONS}Answer with the option's letter from the given choices directly."
QWEN = f"Question: What does the fox eat?\nOptions:\n{OPTIONS}"
PROMPTS = {
    None: DEFAULT,
    "qwen2_vl": f"{QWEN}Please select the correct answer from the options above.",
    "qwen2_5_vl": f"{QWEN}Please select the correct answer from the options above. \n",
    "qwen3_vl": f"{QWEN}Please select the correct answer from the options above. \n",
    "qwen_custom": f"{QWEN}Please select the correct answer from the options above.",
    "qwen3_custom": f"{QWEN}Answer with the option letter only.",
}
HARD = [  # on that question, gold B: by mcq_letter, by lmms-eval's rule; None is unparsed
    ("B", 1, 1),
    ("b", 1, 1),
    ("B.", 1, 1),
    ("(B)", 1, 1),
    ("(b)", 1, 1),
    ("B. the hare", 1, 1),
    ("B. C is wrong", 1, 1),
    ("B the hare", 1, None),
    ("The answer is (B).", 1, None),
    ("The answer is B", 1, None),
    ("Answer: B because A is wrong", 1, None),
    ("**B**", 1, 1),
    ("\\boxed{B}", 1, None),
    ("Option B", 1, None),
    ("the hare", 1, None),
    ("It eats the hare, as the arrow shows.", 1, None),
    ("Between (A) and (B), I choose B", 1, None),
    ("答案是B", 1, None),
    ("C", 0, 0),
    ("A fox eats many things.", None, None),
    ("A or B", None, None),
    ("I cannot answer this question, sorry about that", None, None),
    ("", None, None),
    ("<think>It is A.</think>\nB", 1, 1),
    ("<think>It is B, I think", None, None),
]


@pytest.mark.parametrize("key", PROMPTS)
def test_the_prompts(cli, tmp_path: Path, key: str | None) -> None:
    for task in ("ai2d", "ai2d_no_mask"):
        ran = replay(
            cli,
            tmp_path,
            task,
            ["A"],
            "--limit",
            1,
            "--output_path",
            tmp_path / task,
            *(["--prompt_key", key] * bool(key)),
        )
        assert text_of(ran.samples(task)[0]["prompt"]) == PROMPTS[key]


@pytest.mark.parametrize(("task", "column"), [("ai2d", 1), ("ai2d_lmms", 2)])
def test_hard_answers(cli, tmp_path: Path, task: str, column: int) -> None:
    file = "lmms-lab/ai2d/default/test-00000-of-00001.parquet"
    ran = read_one_doc(cli, tmp_path, task, file, 0, [row[0] for row in HARD])
    found = {}
    for (answer, *_), row in zip(HARD, ran.samples(task), strict=True):
        assert row["target"] == "B" and row["doc"]["answer"] == "1"
        unread = row["rules"]["none"] in (["unparsed"], ["truncated"])
        found[answer] = None if unread else int(row["scores"]["acc,none"])
        assert not (unread and row["scores"]["acc,none"])
    assert found == {row[0]: row[column] for row in HARD}
    assert ran.results["results"][task]["acc,none"] == sum(row[column] or 0 for row in HARD) / len(HARD)
