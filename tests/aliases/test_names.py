"""Names of tasks and groups of the other suites."""

from __future__ import annotations

from pathlib import Path

import pytest

from mm_eval.aliases.names import SAME, find
from mm_eval.config.manager import TaskManager
from mm_eval.values.errors import ConfigError
from tests.sets import each_of

MANAGER = TaskManager()


@pytest.mark.full
@each_of("name", sorted(SAME))
def test_every_name_loads_and_says_what_it_is(name: str) -> None:
    loaded = MANAGER.load([name])
    assert loaded.tasks
    assert any(note.startswith(f"{name} is ") for note in loaded.notes) or name in MANAGER.entries


@each_of(
    ("name", "roots"),
    [
        ("docvqa", ["docvqa_val", "docvqa_test"]),
        ("mmbench_en", ["mmbench_en_dev"]),
        ("hrbench", ["hrbench4k", "hrbench8k"]),
        ("arc", ["arc_easy", "arc_challenge"]),
        ("pope_adv", ["pope"]),
        ("refcoco_bbox_rec_testA", ["refcoco_testA"]),
        ("mmlu_anatomy_generative", ["mmlu_anatomy"]),
        ("bbh_cot_fewshot_snarks", ["bbh_snarks"]),
        ("mmmu_val_accounting", ["mmmu_val"]),
        ("CCOCR_MultiLanOcr_Arabic", ["cc_ocr_multi_lan_ocr"]),
        ("MathVerse_MINI_Vision_Only", ["mathverse_testmini_vision_only"]),
        ("ScreenSpot_Pro_CAD", ["screenspot_pro"]),
        ("Video-MME_64frame_subs", ["videomme_w_subtitle"]),
        ("Video-MME_8frame", ["videomme"]),
        ("MMMU_DEV_VAL", ["mmmu_val"]),
        ("inspect_evals/mmmu_open", ["mmmu_val"]),
    ],
)
def test_what_a_name_is_here(name: str, roots: list[str]) -> None:
    assert MANAGER.load([name]).roots == roots


def test_a_difference_is_a_note_of_the_run() -> None:
    assert MANAGER.load(["MMBench_DEV_EN"]).notes == [
        "MMBench_DEV_EN is mmbench_en_dev here: circular accuracy by rules; mmbench_en_dev_judged asks a judge"
    ]
    assert MANAGER.load(["mme"]).notes == []


@each_of(
    ("name", "said"),
    [
        ("mathvista_test", "the answers of the test split are not public"),
        ("docvqa_val_lite", "docvqa_val is the whole; --limit N"),
        ("docvqa_val_reasoning", "docvqa_val has the same documents"),
        ("videomme_no_visual", "videomme --blind"),
        ("refcoco_bbox_val", "captions of regions"),
        ("screenspot_reg_test", "`screenspot` here asks where it is"),
        ("leaderboard_musr", "Parts that are: ifeval"),
        ("arc_de", "another language"),
        ("voicebench_sd-qa_usa", "--include_path .../lmms_eval/tasks/voicebench"),
        ("lambada_openai", "--include_path .../lm_eval/tasks/lambada"),
        ("afrimmlu_direct_amh_prompt_1", "a benchmark of lm-eval"),
        ("AMBER", "a benchmark of VLMEvalKit"),
        ("inspect_evals/gaia", "a task of inspect_evals"),
    ],
)
def test_a_name_without_a_counterpart_says_what_to_write(name: str, said: str) -> None:
    with pytest.raises(ConfigError) as raised:
        MANAGER.load([name])
    assert said in str(raised.value)


@each_of("name", ["mmee", "popee", "mmmu_vall", "docvqa_vall", "nothing"])
def test_a_typo_is_no_name_of_others(name: str) -> None:
    assert find(name, TaskManager().entries) is None
    with pytest.raises(ConfigError, match="unknown task, group or tag"):
        MANAGER.load([name])


def test_a_task_of_the_user_comes_first(tmp_path: Path) -> None:
    (tmp_path / "docvqa.yaml").write_text(
        "task: docvqa\ndataset_path: json\ntest_split: test\ndoc_to_text: a\ndoc_to_target: b\n"
    )
    loaded = TaskManager(include_path=tmp_path).load(["docvqa"])
    assert loaded.roots == ["docvqa"]
    assert not loaded.notes


def test_names_of_others_hide_no_name_of_ours() -> None:
    known = set(MANAGER.entries)
    assert {name for name in SAME if name in known} <= {"flickr30k", "countbench"}


@each_of(
    ("name", "ours"),
    [
        ("seed_bench", "seedbench"), ("SEED-Bench", "seedbench"), ("video_mme", "videomme"), ("ocr_bench", "ocrbench"),
        ("mm_vet", "mmvet"), ("realworld_qa", "realworldqa"), ("okvqa", "ok_vqa"), ("POPE", "pope"), ("ai-2d", "ai2d"),
        ("vizwiz", "vizwiz_vqa_val"), ("charades", "charades_sta"), ("longvideobench", "longvideobench_val_v"),
        ("coco_caption", "coco2017_cap_val"), ("llava_bench", "llava_in_the_wild"), ("mmsi", "mmsi_bench"),
        ("hallusionbench", "hallusion_bench_image"), ("hallusion-bench-image", "hallusion_bench_image"),
    ],
)  # fmt: skip
def test_another_spelling_is_taken_with_a_note(name: str, ours: str) -> None:
    loaded = MANAGER.load([name])
    assert ours in {*loaded.tasks, *loaded.groups}, list(loaded.tasks)
    assert any(note.startswith(f"{name} is {ours} here") for note in loaded.notes)


def test_a_spelling_of_two_names_is_not_guessed() -> None:
    assert find("some_task", {"sometask", "some-task"}) is None
