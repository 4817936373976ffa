"""Local judges answer on workers, and videos travel as the frames that were chosen."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

JUDGED = ("--tasks", "mmvet", "--limit", "6", "--judge", "tiny-llava")


def test_a_local_judge_answers_on_workers_after_the_models_have_ended(start: Callable[..., Any]) -> None:
    words = (*JUDGED, "--judge_preflight", "false")
    one, fleet = start(*words, workers=0, name="one"), start(*words, workers=2, name="fleet")
    one.end(3), fleet.end(3)  # the tiny model's verdicts can't be read
    assert fleet.content() == one.content()
    assert len([row for row in fleet.answers() if row["kind"] == "judge"]) >= 6


def test_a_local_judge_is_tried_on_a_cluster_that_the_model_fills(start: Callable[..., Any]) -> None:
    said = start(*JUDGED, workers=2).end(2)
    assert "the judge tiny-llava" in said


def test_videos_travel_as_the_chosen_frames(start: Callable[..., Any], tmp_path: Path) -> None:
    av = pytest.importorskip("av")
    from PIL import Image

    data = tmp_path / "tasks"
    data.mkdir()
    for number in range(3):
        with av.open(str(data / f"{number}.mp4"), "w") as file:
            stream = file.add_stream("mpeg4", rate=10)
            stream.width = stream.height = 64
            for frame in range(20):
                picture = Image.new("RGB", (64, 64), (80 * number, 12 * frame, 90))
                for packet in stream.encode(av.VideoFrame.from_image(picture)):
                    file.mux(packet)
            for packet in stream.encode():
                file.mux(packet)
    rows = "\n".join(f'{{"q": "Is it red?", "a": "No", "v": "{number}.mp4"}}' for number in range(3))
    (data / "rows.jsonl").write_text(rows)
    (data / "utils.py").write_text(
        "from mm_eval import Video\nfrom pathlib import Path\n\n"
        "def video(doc):\n    return [Video(Path(__file__).parent / doc['v'])]\n"
    )
    (data / "clips.yaml").write_text(
        f"task: clips\ndataset_path: json\ndataset_kwargs: {{data_files: {{test: {data}/rows.jsonl}}}}\ntest_split: test\n"
        "output_type: generate_until\ndoc_to_visual: !function utils.video\ndoc_to_text: q\ndoc_to_target: a\n"
        "metric_list: [{metric: exact_match}]\ngeneration_kwargs: {max_new_tokens: 4}\n"
    )
    words = ("--tasks", "clips", "--include_path", data, "--video", "frames=4", "--model", "tiny-llava")
    one, fleet = start(*words, workers=0, name="one"), start(*words, workers=1, name="fleet")
    one.end(), fleet.end()
    assert fleet.content() == one.content()
    seen = start(*words[:-2], workers=1, name="seen", watch=1)
    seen.end()
    assert len(seen.noted("ask")) == 3
    assert not [path for _, path in seen.noted("open") if path.endswith(".mp4")]
