"""MME: the recorded answers of LLaVA-1.5-13B give the 1531.3 points of perception that its authors print."""

import json
from pathlib import Path

import pytest

from tests.conftest import RECORDED
from tests.papers.recordings import Recording, prompts_of, verdict, write_answers

COMMIT = "32cebc3809441cc40d8ac7b2855d148308741f2a"
ANSWERS = Recording("haotian-liu/LLaVA", COMMIT, "playground/data/eval/MME/answers/llava-v1.5-13b.jsonl")
INSTRUCTION = "\nAnswer the question using a single word or phrase."


def test_llava_13b_matches_its_protocol(cli, lavin: tuple[Path, Path], tmp_path: Path) -> None:
    root, _ = lavin
    said = {(row["question_id"].replace("/images/", "/"), row["prompt"]): row["text"] for row in ANSWERS.jsonl()}
    gold = [json.loads(line) for line in RECORDED.read_text(encoding="utf-8").splitlines()]
    asked = [
        (row["question_id"], row["question"].replace(" Please answer yes or no.", "").strip() + INSTRUCTION)
        for row in gold
    ]
    answers = write_answers(tmp_path / "answers.jsonl", {"mme": [said[each] for each in asked]})
    words = ("--tasks", "mme", "--model", "replay", "--model_args", f"path={answers}", "--data_root", root)
    ran = cli(*words, "--protocol", "llava-1.5", "--name", "llava-v1.5-13b")
    assert ran.code == 0, ran.err
    row = ran.results["results"]["mme"]
    assert row["mme_perception_score,none"] == pytest.approx(1531.32, abs=0.005)
    assert row["mme_cognition_score,none"] == pytest.approx(295.36, abs=0.005)
    assert verdict(ran.results, "mme") == "matches"
    shown = [prompt.replace(" \n", "\n") for prompt in prompts_of(ran, "mme")]  # 13 questions end in a blank on the hub
    assert shown == [prompt for _, prompt in asked]
