"""DynaMath's schema: one question in ten variants and one in two, one variant a split."""

from datasets import Image, Value

from samples import Row, Sample, png
from samples._math import bars, parabola

HUB_ID = "DynaMath/DynaMath_Sample"
TEXT = Value("string")
FEATURES = {
    "id": TEXT,
    "question": TEXT,
    "image": TEXT,
    "decoded_image": Image(),
    "ground_truth": TEXT,
    "answer_type": TEXT,
    "subject": TEXT,
    "knowledge_level": TEXT,
}


def _rows(variant: int) -> list[Row]:
    lowest = (variant % 5) - 2.5
    tall = variant % 3
    heights = [4, 5, 6]
    heights[tall] = 9
    made = [
        ("What is the smallest value of this function?", parabola(1, lowest), f"{lowest:.3f}", "float",
         "analytic     geometry", "high school"),
        ("Which bar is the tallest? choice: (A) left (B) middle (C) right", bars(heights, list("PQR")), "ABC"[tall],
         "multiple choice",
         "statistics", "elementary school"),
    ]  # fmt: skip
    if variant == 1:
        made[1] = (
            "What is written below the tallest bar?",
            bars(heights, list("PQR")),
            "PQR"[tall],
            "text",
            "statistics",
            "elementary school",
        )
    made = made if variant <= 2 else made[:1]  # ten files of two questions would be too large
    return [
        {
            "id": str(number),
            "question": question,
            "image": f"image/image{number}.png",
            "decoded_image": png(picture.quantize(8)),
            "ground_truth": answer,
            "answer_type": kind,
            "subject": subject,
            "knowledge_level": level,
        }
        for number, (question, picture, answer, kind, subject, level) in enumerate(made, 1)
    ]


def samples() -> list[Sample]:
    return [Sample(HUB_ID, f"sample_variant{variant}", FEATURES, _rows(variant)) for variant in range(1, 11)]
