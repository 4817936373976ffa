"""TVBench: two questions on one video for each of its ten tasks; two tasks ask about a part of it. Videos are in zip archives."""

from typing import Any

from samples import Row, Sample, rng
from samples._movies import ACTIONS, movie, questions, story, zipped

TASKS = (
    "action_count", "object_count", "action_sequence", "object_shuffle", "scene_transition", "action_localization",
    "action_antonym", "unexpected_action", "egocentric_sequence", "moving_direction",
)  # fmt: skip
PARTS = ("action_sequence", "action_localization")


def features(config: str) -> dict[str, Any]:
    """The hub's columns."""
    from datasets import Sequence, Value

    text, seconds = Value("string"), Value("float64")
    times = {"start": seconds, "end": seconds} if config in PARTS else {}
    return {"video": text, "question": text, "candidates": Sequence(text), "answer": text, **times}


def samples() -> list[Sample]:
    """Two questions for each configuration; an archive for each task, and for egocentric_sequence one for each source."""
    made = []
    for number, config in enumerate(TASKS):
        found = story("tvbench", config, actions=2 if config in PARTS else 1)
        is_ego = config == "egocentric_sequence"
        name = "walk_1/video_0.mp4" if is_ego else f"video_{number}.mp4"
        rows = list[Row]()
        for place in range(2):
            stream = rng("tvbench", config, place)
            if config in PARTS:
                action = found.actions[place]
                options = [action, *stream.sample([each for each in ACTIONS if each != action], 1 + place)]
                stream.shuffle(options)
                row = {
                    "question": f"What does the {found.shape} do in this part?",
                    "candidates": options,
                    "answer": action,
                }
                rows.append({"video": name, **row, "start": float(place), "end": place + 1.0})
            else:
                asked = questions(found, stream, 4)[(0, 3)[place]]
                row = {"question": asked.text, "candidates": list(asked.options), "answer": asked.options[asked.right]}
                rows.append({"video": name, **row})
        archive = "egocentric_sequence/walk_1" if is_ego else config
        files = {f"video/{archive}.zip": zipped({name: movie(found)})}
        made.append(Sample("FunAILab/TVBench", "train", features(config), rows, config, files))
    return made
