"""MMStar: prompts, the benchmark's letter rule, lmms-eval's variant, categories by hand."""

from pathlib import Path

import pytest

from tests.tasks.of_sample import read_one_doc, replay, text_of

QUESTION = "Which place does the picture show?\nOptions: A: a beach, B: a forest, C: a city, D: a farm"
LETTER = "Answer with the option's letter from the given choices directly"
PROMPTS = {
    None: f"{QUESTION}\n{LETTER}.",
    "llava": f"{QUESTION}\n{LETTER}",
    "qwen2_5_vl": f"Question: {QUESTION}\nPlease select the correct answer from the options above. \n",
    "qwen3_vl": f"Question: {QUESTION}\nPlease select the correct answer from the options above. \n",
    "qwen_custom": f"Question: {QUESTION}\nPlease select the correct answer from the options above.",
    "qwen3_custom": f"Question: {QUESTION}\nAnswer with the option letter only.",
}
HARD = [  # on a question with the gold answer B: by the benchmark's rule, by lmms-eval's
    ("B", 1, 1),
    ("b", 1, None),
    ("(B)", 1, 1),
    ("(b) a forest", 1, None),
    ("B. a forest", 1, 1),
    ("B: a forest", 1, 1),
    ("Option B", 1, 1),
    ("option\nB", 1, 1),
    ("The answer is B.", 1, 1),
    ("Both are fine", 1, 1),
    ("Because of light", 1, 1),
    ("The answer is (B).", None, 1),
    ("Answer: B", 0, 1),
    ("**B**", None, 1),
    ("\\boxed{B}", None, 1),
    ("The correct answer is B", None, 1),
    ("答案是B", None, 1),
    ("A dog, so B", 0, 0),
    ("C", 0, 0),
    ("Cannot tell", 0, 0),
    ("I can't help with that.", None, None),
    ("", None, None),
    ("<think>It is not A.</think>B", 1, 1),
    ("<think>It is B, I think", None, None),
]


@pytest.mark.parametrize("key", PROMPTS)
def test_the_prompts(cli, tmp_path: Path, key: str | None) -> None:
    ran = replay(cli, tmp_path, "mmstar", ["A"], "--limit", 1, *(["--prompt_key", key] if key else []))
    assert text_of(ran.samples("mmstar")[0]["prompt"]) == PROMPTS[key]


@pytest.mark.parametrize(("task", "column"), [("mmstar", 1), ("mmstar_lmms", 2)])
def test_hard_answers(cli, tmp_path: Path, task: str, column: int) -> None:
    file, doc = "Lin-Chen/MMStar/default/val-00000-of-00001.parquet", 1
    ran = read_one_doc(cli, tmp_path, task, file, doc, [row[0] for row in HARD])
    found = {}
    for (answer, *_), row in zip(HARD, ran.samples(task), strict=True):
        assert row["target"] == "B"
        (score,) = row["scores"].values()
        score = score[1] if task == "mmstar_lmms" else score
        found[answer] = None if row["rules"]["none"] in (["unparsed"], ["truncated"]) else int(score)
        assert found[answer] is not None or score == 0
    assert found == {row[0]: row[column] for row in HARD}


def test_the_average_is_over_questions_and_lmms_evals_over_finer_categories(cli, tmp_path: Path) -> None:
    ran = replay(cli, tmp_path, "mmstar", ["A"] * 12)
    rows = ran.samples("mmstar")
    first = ["A" if row["target"] == "A" else "X" for row in rows]
    right = sum(answer == "A" for answer in first)
    assert ran.results["results"]["mmstar"]["acc,none"] == right / 12
    coarse = [row for row in rows if row["doc"]["category"] == "coarse perception"]
    found = ran.results["categories"]["mmstar"]["category"]["Coarse perception"]
    assert (found["acc,none"], found["n"]) == (sum(row["target"] == "A" for row in coarse) / 2, 2)
    lmms = replay(cli, tmp_path, "mmstar_lmms", ["A"] * 12, "--output_path", tmp_path / "lmms")
    finer: dict[str, list[bool]] = {}
    for row in rows:
        finer.setdefault(row["doc"]["l2_category"], []).append(row["target"] == "A")
    means = [sum(hits) / len(hits) for hits in finer.values()]
    assert lmms.results["results"]["mmstar_lmms"]["average,none"] == pytest.approx(sum(means) / len(means))
