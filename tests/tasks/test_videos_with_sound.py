"""WorldSense, Daily-Omni and Video-MME with sound: their letters, their prompts, and that the video's sound is heard.

The letters of WorldSense equal extract_characters_regex of VLMEvalKit at e8e78f0 on 20,000 made answers.
"""

from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.daily_omni.utils import process_results

from tests.sets import each_of
from tests.tasks.answers import answered, prompt

ANSWERS = [("B", 1), ("b) the dog", 1), (" B.", 1), ("The answer is B", 0), ("(B)", 0), ("", 0), ("A", 0)]


@each_of(("answer", "score"), ANSWERS)
def test_daily_omni_reads_the_first_character(answer: str, score: int) -> None:
    assert process_results({"Answer": "B"}, [answer])["acc"] == score


def test_the_prompts(cli: Any) -> None:
    shown = prompt(cli, "daily_omni")
    assert "\nYour task is to accurately answer multiple-choice questions" in shown
    assert "\nChoices: ['A. " in shown and "Don't generate any other text.\n" in shown
    shown = prompt(cli, "worldsense")
    assert "These are the frames of a video and the corresponding audio. Select the best answer" in shown
    assert "\nQuestion: " in shown and shown.rstrip().endswith("Answer:")


@pytest.mark.parametrize("task", ["worldsense", "daily_omni", "videomme_audio"])
def test_a_question_has_its_video_and_the_videos_sound(cli: Any, task: str) -> None:
    shown = cli("show", task, "--sample", "--model", "dummy", "--doc", 1)
    assert shown.code == 0 and "<image>\n<audio>\n" in shown.out, shown.out


def test_the_numbers_of_a_run(cli: Any, tmp_path: Path) -> None:
    ran = answered(cli, tmp_path, "worldsense", ["The answer is A", "b", "C", "D.", "none", ""])
    rows = ran.samples("worldsense")
    said = ["A", "", "C", "D", "", ""]
    row = ran.results["results"]["worldsense"]
    right = sum(one["target"] == letter for one, letter in zip(rows, said, strict=True))
    assert row["acc,none"] == pytest.approx(right / 6) and row["unparsed"] == 3
