"""PerceptionBench's schema: one to three drawings at marks in the question, as data URLs."""

import base64
from typing import Any

from datasets import Sequence, Value
from PIL import Image as Pillow

from samples import Row, Sample, page, png
from samples._math import bars, clock, dots
from samples.babyvision import grid, row_of

TEXT = Value("string")
FEATURES: dict[str, Any] = {
    "index": Value("int64"), "answer": TEXT, "problem": TEXT, "hint": TEXT, "image": Sequence(TEXT),
    "error_category": TEXT, "source_bmk": TEXT, "source_idx": Value("int64"),
}  # fmt: skip
COUNT, DETAIL = "visual_counting_error", "fine_grained_recognition_error"
QUESTIONS: list[tuple[list[Pillow.Image], str, str, str]] = [
    ([dots(8)], "<|image_1|>How many dots are there?", "8", COUNT),
    ([page("MM EVAL\n2026")], "<|image_1|>Which year is written here?", "2026", "ocr_error"),
    ([dots(3), dots(5)], "First: <|image_1|> second: <|image_2|> Which of them has more dots?", "the second", COUNT),
    ([dots(4), dots(2)], "Compare <|image_2|> with <|image_1|>. How many dots has the first of them?", "2", COUNT),
    ([clock(3, 0), clock(9, 0)], "What time is it on the first clock?<|image_1|>", '{"answer": "3:00"}', DETAIL),
    ([bars([3, 7], ["a", "b"])], "<|image_1|>Which bar is higher?", "b", DETAIL),
    ([grid(3, (2, 2))], "<|image_1|>In which row is the shape that differs?", "2", DETAIL),
    ([row_of(["star", "circle"]), row_of(["circle", "star"]), dots(1)],
     "<|image_1|><|image_2|>In which picture stands the circle left of the star?", "the second", "spatial_relation_error"),
]  # fmt: skip


def samples() -> list[Sample]:
    """The only split."""
    rows: list[Row] = []
    for number, (pictures, problem, answer, kind) in enumerate(QUESTIONS):
        shown = ["data:image/png;base64," + base64.b64encode(png(each)["bytes"]).decode("ascii") for each in pictures]
        rows.append({
            "index": number, "answer": answer, "problem": problem, "hint": "", "image": shown, "error_category": kind,
            "source_bmk": "NA", "source_idx": None,
        })  # fmt: skip
    return [Sample("moonshotai/PerceptionBench", "train", FEATURES, rows)]
