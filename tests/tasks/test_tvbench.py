"""TVBench: prompts, the parts of videos, where the videos are, and the two means."""

import json
from pathlib import Path
from typing import Any

import pytest
from mm_eval.tasks.tvbench.utils import part, whole

from mm_eval.config.manager import TaskManager
from tests.tasks.answers import prompt

BEFORE = (
    "Carefully watch the video and pay attention to the cause and sequence of events, the detail and movement of objects, and "
    "the action and pose of persons. Based on your observations, select the best option that accurately addresses the question.\n"
    "Question: What does the star do in this part?\nOptions:\n(A) grows\n(B) moves up\nOnly give the best option."
)
NAMES = [name.rpartition("::")[2] for name in TaskManager().load("tvbench").tasks]


def test_the_prompts(cli: Any) -> None:
    assert prompt(cli, "tvbench_action_sequence") == f"{BEFORE}\nBest option:("
    assert prompt(cli, "tvbench_action_sequence", "direct") == BEFORE


def test_two_tasks_show_a_part_of_a_video() -> None:
    doc = {"video": "a.mp4", "start": 1, "end": 2.5}
    [shown] = part(doc, {"folder": "action_sequence"})
    assert (shown.path, shown.start, shown.end) == ("action_sequence/a.mp4", 1.0, 2.5)
    [shown] = whole({"video": "walk/a.mp4"}, {"folder": ""})
    assert (shown.path, shown.start, shown.end) == ("walk/a.mp4", None, None)
    asked = {name: str(task.doc_to_visual) for name, task in TaskManager().load("tvbench").tasks.items()}
    parts = {name.rpartition("::")[2] for name, visual in asked.items() if visual.endswith("utils.part")}
    assert parts == {"tvbench_action_sequence", "tvbench_action_localization"}


def test_the_average_is_over_tasks_and_the_notebook_s_number_over_questions(cli: Any, tmp_path: Path) -> None:
    """One question of the first task and two of each other: the means differ."""
    rows = [{"task": name, "doc_id": number, "resps": [said]} for name in NAMES for number, said in enumerate("AB")]
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    ran = cli("--tasks", "tvbench", "--sample", "--model", "replay", "--model_args", f"path={path}", "--output_path",
              tmp_path / "run", "--samples", '{"tvbench_action_count": [0]}')  # fmt: skip
    assert ran.code == 0, ran.err
    each = [ran.results["results"][name]["acc,none"] for name in NAMES]
    group, right = ran.results["groups"]["tvbench"], sum(each) * 2 - each[0]
    assert len(NAMES) == 10 and group["n"] == 19 and 0 < right < 19
    assert group["task_mean,none"] == pytest.approx(sum(each) / 10)
    assert group["acc,none"] == pytest.approx(right / 19) != group["task_mean,none"]
