"""MVBench: two questions on two videos for each of its 20 tasks; the videos stand in folders and archives by their source."""

from typing import Any

from samples import Row, Sample, rng
from samples._movies import movie, questions, story, zipped

FOLDERS = {
    "action_sequence": "star/Charades_segment", "action_prediction": "star/Charades_segment",
    "action_antonym": "ssv2_video_mp4", "fine_grained_action": "Moments_in_Time_Raw/videos",
    "unexpected_action": "FunQA_test/test", "object_existence": "clevrer/video_validation",
    "object_interaction": "star/Charades_segment", "object_shuffle": "perception/videos",
    "moving_direction": "clevrer/video_validation", "action_localization": "sta/sta_video_segment",
    "scene_transition": "scene_qa/video", "action_count": "perception/videos",
    "moving_count": "clevrer/video_validation", "moving_attribute": "clevrer/video_validation",
    "state_change": "perception/videos", "fine_grained_pose": "nturgbd_convert",
    "character_order": "perception/videos", "egocentric_navigation": "vlnqa",
    "episodic_reasoning": "tvqa/video_fps3_hq_segment", "counterfactual_inference": "clevrer/video_validation",
}  # fmt: skip


def features() -> dict[str, Any]:
    """The hub's columns."""
    from datasets import Sequence, Value

    text = Value("string")
    return {"video": text, "question": text, "candidates": Sequence(text), "answer": text}


def samples() -> list[Sample]:
    """Two questions for each configuration. Every source has a video_0.mp4 of its own."""
    movies: dict[str, dict[str, bytes]] = {}
    stories = {}
    for folder in dict.fromkeys(FOLDERS.values()):
        stories[folder] = [story("mvbench", folder, place, actions=1 + place) for place in range(2)]
        movies[folder] = {f"video_{place}.mp4": movie(each) for place, each in enumerate(stories[folder])}
    made = []
    for number, (config, folder) in enumerate(FOLDERS.items()):
        rows = list[Row]()
        for place, found in enumerate(stories[folder]):
            asked = questions(found, rng("mvbench", config, place), 3 + place)[
                number % 5 if place else 3 * (number % 2)
            ]
            candidates = list(asked.options)
            row = {"video": f"video_{place}.mp4", "question": asked.text, "answer": asked.options[asked.right]}
            rows.append({**row, "candidates": candidates})
        made.append(Sample("OpenGVLab/MVBench", "train", features(), rows, config))
    plain = [folder for folder in movies if folder.startswith(("clevrer", "vlnqa"))]
    files = {f"video/{folder}/{name}": content for folder in plain for name, content in movies[folder].items()}
    for source in dict.fromkeys(folder.partition("/")[0] for folder in movies if folder not in plain):
        inside = {folder: some for folder, some in movies.items() if folder.partition("/")[0] == source}
        members = {f"{folder}/{name}": content for folder, some in inside.items() for name, content in some.items()}
        files[f"video/{source}.zip"] = zipped(members)
    made[0].files.update(files)
    return made
