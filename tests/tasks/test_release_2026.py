"""The group release_2026: its members, no average, and what it says without a judge."""

import shlex
from pathlib import Path
from typing import Any

import pytest

import tests.judge.server as scripted
from mm_eval.config.manager import TaskManager
from mm_eval.judge.judges import names_by_rule
from tests.judge.server import serving

GROUP = "release_2026"
BY_RULE = [
    "mmmu_pro_standard",
    "mmmu_pro_vision",
    "omnidocbench",
    "mathvision_test",
    "zerobench",
    "videomme",
    "video_mmmu",
    "lvbench",
    "screenspot_pro",
    "mathvista_testmini",
    "realworldqa",
    "erqa",
]
JUDGED = ["charxiv_val_reasoning", "babyvision", "hle", "mmvu_val", "simplevqa", "worldvqa"]


def test_its_members_and_no_average() -> None:
    loaded = TaskManager().load([GROUP])
    assert set(loaded.group_map[GROUP]) == {*BY_RULE, *JUDGED} and len(loaded.group_map[GROUP]) == 18
    assert loaded.groups[GROUP].aggregate_metric_list == ()
    assert [
        name for name in loaded.group_map[GROUP] if any(loaded.tasks[leaf].judge for leaf in loaded.leaves(name))
    ] == JUDGED


def test_omnidocbench_is_version_1_5() -> None:
    assert TaskManager().load(["omnidocbench"]).tasks["omnidocbench"].metadata["version"] == 1.5


def test_without_a_judge_it_ends_and_prints_the_command_of_the_members_by_rule(cli: Any, tmp_path: Path) -> None:
    words = ["--tasks", GROUP, "--model", "dummy", "--sample", "--limit", "1", "--output_path", tmp_path / "run"]
    ran = cli(*words)
    assert ran.code == 2 and not (tmp_path / "run").exists()
    command = shlex.split(ran.err.partition("Those by rule alone: `")[2].partition("`")[0])
    assert command[:3] == ["mm-eval", "--tasks", ",".join(BY_RULE)] and "--sample" in command, ran.err


def test_groups_within_groups_keep_what_needs_no_judge(tmp_path: Path) -> None:
    (tmp_path / "all.yaml").write_text(
        "group: own\ntask:\n  - mme\n  - group: inner\n    task: [pope, simplevqa]\n  - group: whole\n    task: [ai2d, erqa]\n"
    )
    loaded = TaskManager(tmp_path).load(["own", "simplevqa", "mmstar"])
    found = names_by_rule(loaded)
    assert [name.rpartition("::")[2] for name in found] == ["mme", "pope", "whole", "mmstar"]
    assert names_by_rule(TaskManager().load(["simplevqa"])) == []


@pytest.mark.full
def test_the_whole_group_with_a_judge(cli: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scripted, "replied", lambda text, prompt: reply_to(prompt))
    with serving() as server:
        judge = ["--judge", "openai", "--judge_args", f"base_url={server.url},model=j", "--judge_preflight", "false"]
        words = [
            "--tasks",
            GROUP,
            "--model",
            "dummy",
            "--sample",
            "--limit",
            2,
            *judge,
            "--output_path",
            tmp_path / "run",
        ]
        ran = cli(*words)
        asked = sum(server.asked.values())
        assert ran.code == 0, ran.out + ran.err
        assert cli(*words).code == 0 and sum(server.asked.values()) == asked
    rows = ran.results["results"]
    assert all(rows[name]["judge_failed"] == 0 for name in JUDGED)
    assert not [key for key in ran.results.get("groups", {}).get(GROUP, {}) if "," in key]


def reply_to(prompt: str) -> str:
    """What each judge asks for, whatever it is shown."""
    said = {
        "careful and strict evaluator": "True",
        "precise and unambiguous [correct_answer]": "correct: yes\nconfidence: 50",
        "expert judge specialized": "Label: Correct",
        "预测答案": '{"预测答案0": "正确"}',
        "Model Response to the Question": '{"extracted_answer": "x", "correct": true}',
    }
    return next((reply for words, reply in said.items() if words in prompt), '{"extracted_answer": "x", "score": 1}')
